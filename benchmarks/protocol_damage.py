"""Measures ``kgcheck protocol check`` on protocols with known faults.

``python -m benchmarks.protocol_damage --folder DIR`` designs protocols with rules alone from methods of PLOS papers,
for objectives made of papers' titles, over the graph of ``../shared/data/ckg_import``. Each copy has one fault of one
kind at one place, which a seed draws. Found: an alarm that the undamaged protocol does not have, about the damaged
step, fact, passage or data set. Silent: no such alarm. WRONG: a new alarm that is about something else, and follows
from nothing that was changed.
"""

import argparse
import contextlib
import copy
import io
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from benchmarks.ground import Worlds
from benchmarks.protocol_faults import KINDS, Damage, Draw, Protocol, steps_of
from kgcheck.cli.main import run


class Tally:
    """What became of faults, by kind."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self.silent: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = defaultdict(list)

    def add(self, kind: str, name: str, before: Protocol, after: Protocol, damage: Damage) -> None:
        """Count one copy.

        Args:
            kind: Of its fault.
            name: Of the copy.
            before: The check of the undamaged protocol.
            after: That of the copy.
            damage: What was damaged.
        """
        known = {_key(r) for r in before["remarks"]}
        new = [r for r in after["remarks"] if r["state"] not in ("holds", "open") and _key(r) not in known]
        # What stands as a fact and was never judged is open: that is what it has to be.
        looked = [r for r in after["remarks"] if r["state"] == "open" and _key(r) not in known]
        hit = [r for r in (*new, *looked) if {r.get("step", ""), r.get("about", "")} & damage.about]
        astray = [
            r
            for r in new
            if not {r.get("step", ""), r.get("about", "")} & (damage.about | damage.follows)
            and r["remark"] != "follows_fallen"
        ]
        (self.found if hit else self.silent)[kind] += 1
        if astray:
            self.wrong[kind] += 1
        seen = sorted({r["remark"] for r in hit}) or ["silent"]
        self.examples[kind].append(f"{name}: {', '.join(seen)}{'; astray: ' + astray[0]['remark'] if astray else ''}")

    def table(self) -> str:
        """A table in Markdown."""
        rows = [
            f"| {kind} | {n} | {self.found[kind]} | {self.silent[kind]} | {self.wrong[kind]} |"
            for kind in KINDS
            if (n := self.found[kind] + self.silent[kind])
        ]
        found, silent = self.found.total(), self.silent.total()
        total = f"| all | {found + silent} | {found} | {silent} | {self.wrong.total()} |"
        return "\n".join(
            ("| fault | copies | found | silent | WRONG |", "| --- | --- | --- | --- | --- |", *rows, total)
        )


def _key(remark: Protocol) -> tuple[str, str, str]:
    return remark["remark"], remark.get("step", ""), remark.get("about", "")


def output_of(arguments: list[str]) -> str:
    """What a command prints; it may end with findings, or with what could not be looked at."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run(arguments)
    if code not in (0, 1, 3):
        raise SystemExit(f"kgcheck {' '.join(arguments)}: exit code {code}")
    return out.getvalue()


def designed(folder: Path, worlds: Worlds, data: Path, count: int, draw: Draw) -> Iterator[Path]:
    """Protocols for objectives made of papers' titles, from the methods of other papers.

    Args:
        folder: For them.
        worlds: The graph with its ledger.
        data: The shared data.
        count: How many.
        draw: Chooses papers.

    Yields:
        Folders with a ``protocol.json``.
    """
    papers = sorted((data / "fulltext" / "plos").glob("*.xml"))
    draw.shuffle(papers)
    genes = _genes(data)
    made = 0
    for number, paper in enumerate(papers):
        if made == count:
            return
        text = paper.read_text(encoding="utf-8")
        symbols = Counter(s for s in re.findall(r"\b[A-Z][A-Z0-9]{2,7}\b", text) if s in genes)
        about = [symbol for symbol, times in symbols.most_common(4) if times >= 5]
        title = re.search(r"<article-title>(.*?)</article-title>", text, re.DOTALL)
        if len(about) < 2 or title is None:
            continue
        made += 1
        out = folder / f"p{number:02d}"
        yield out
        if (out / "protocol.json").exists():
            continue
        out.mkdir(parents=True, exist_ok=True)
        words = re.sub(r"<[^>]+>|\s+|\"|\\", " ", title[1]).strip()
        names = ", ".join(f'"{gene}"' for gene in about)
        objective = f'title = "{words[:250]}"\nobjective = "{words[:400]}"\nabout = [{names}]\n'
        (out / "objective.toml").write_text(objective, encoding="utf-8")
        chosen = [paper, *draw.sample(papers, 4)]
        reports = []
        for place, one in enumerate(chosen):
            report = out / f"report{place}.json"
            report.write_text(output_of(["protocol", "report", str(one), "--format", "json"]), encoding="utf-8")
            reports += ["--reports", str(report)]
        where = ["--store", str(worlds.store), "--reference", str(worlds.reference), "--ledger", str(worlds.ledger)]
        output_of(["protocol", "design", str(out / "objective.toml"), "--out", str(out), *where, *reports])


def _genes(data: Path) -> set[str]:
    lines = (data / "ckg_import" / "databases" / "Gene.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return {line.split("\t")[0] for line in lines}


def main() -> None:
    """Design, damage, check, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="for the worlds, the protocols and the copies")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--protocols", type=int, default=12)
    parser.add_argument("--copies", type=int, default=3, help="of each kind and protocol")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--examples", action="store_true", help="print what was found of every copy")
    asked = parser.parse_args()
    worlds, draw = Worlds(asked.folder / "worlds", asked.data), random.Random(asked.seed)  # noqa: S311
    worlds.make()
    index = asked.folder / "papers"
    if not index.exists():
        output_of(["corpus", "add", str(asked.data / "fulltext" / "plos"), "--index", str(index), "--model", "none"])
    ends = ["--store", str(worlds.store), "--reference", str(worlds.reference), "--ledger", str(worlds.ledger)]
    ends += ["--bibliography", str(worlds.bibliography), "--literature", str(index), "--offline", "--format", "json"]
    refuted = _refuted(worlds)
    ids = _retracted(asked.data)
    tally, alarms = Tally(), Counter[str]()
    protocols = [*designed(asked.folder / "designed", worlds, asked.data, asked.protocols, draw)]
    for folder in protocols:
        whole = json.loads((folder / "protocol.json").read_text(encoding="utf-8"))
        before = _checked(folder / "protocol.json", ends)
        alarms.update(r["remark"] for r in before["remarks"] if r["state"] not in ("holds", "open"))
        for kind, damaging in KINDS.items():
            for number in range(asked.copies):
                damaged = copy.deepcopy(whole)
                more = {"fact_refuted": (refuted,), "retracted": (ids,)}.get(kind, ())
                damage = damaging(damaged, draw, *more)
                if damage is None or damaged == whole:
                    continue
                file = folder / f"{kind}-{number}.json"
                file.write_text(json.dumps(damaged), encoding="utf-8")
                tally.add(kind, f"{folder.name}-{number}", before, _checked(file, ends), damage)
    steps = sum(len(steps_of(json.loads((p / "protocol.json").read_text(encoding="utf-8")))) for p in protocols)
    shown = ", ".join(f"{name} {n}" for name, n in alarms.most_common()) or "none"
    sys.stdout.write(f"{tally.table()}\n\n{len(protocols)} protocols of {steps} steps, undamaged: alarms {shown}\n")
    if asked.examples:
        for kind, lines in tally.examples.items():
            sys.stdout.write(f"\n{kind}\n" + "".join(f"- {line}\n" for line in lines))


def _checked(file: Path, ends: list[str]) -> Protocol:
    return dict(json.loads(output_of(["protocol", "check", str(file), *ends]))["protocols"][0])


def _refuted(worlds: Worlds) -> list[Protocol]:
    """Tasks of edges that the audit refuted."""
    where = ["--ledger", str(worlds.ledger), "--format", "jsonl", "--limit", "400"]
    found = output_of(["findings", "--outcome", "refuted", "--type", "triple", *where]).splitlines()
    rows = [json.loads(line) for line in found]
    ends = [{end: {k: row[end][k] for k in ("label", "id")} for end in ("subject", "object")} for row in rows]
    return [{"type": "triple", "relation": row["relation"], **end} for row, end in zip(rows, ends, strict=True)]


def _retracted(data: Path) -> list[str]:
    lines = (data / "literature" / "pubmed_retractions.tsv").read_text(encoding="utf-8").splitlines()
    return [f"PMID:{pmid}" for line in lines[:400] if (pmid := line.split("\t")[0].strip()).isdigit()]


if __name__ == "__main__":
    main()
