"""Measures ``kgcheck ground`` on papers with known faults: ``python -m benchmarks.ground --folder DIR``.

Makes the worlds (a graph with its references and its ledger, a bibliography of all works that the PLOS papers cite) and
the damaged copies, or uses those that are there; checks every copy in one process; prints the tables. What counts as
found stands in benchmarks/ground_score.py.
"""

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.ground_damage import SETS, make
from benchmarks.ground_score import Score, tables
from benchmarks.timing import spent
from kgcheck.cli.main import run


def main() -> None:
    """Make what is missing, check, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="for the worlds, the copies and the reports")
    parser.add_argument("--set", choices=SETS, default="tuning", dest="chosen")
    parser.add_argument("--draw", type=int, default=1, help="another number: other faults of the same papers")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth copy, for a quick look")
    parser.add_argument("--match", default="", help="only copies whose names have this in them")
    parser.add_argument("--score", action="store_true", help="print the tables of the reports that are there")
    parser.add_argument("--unknown", action="store_true", help="a bibliography that lacks the papers' own references")
    asked = parser.parse_args()
    worlds = Worlds(asked.folder / "worlds", asked.data)
    folder = asked.folder / (asked.chosen if asked.draw == 1 else f"{asked.chosen}-{asked.draw}")
    if not asked.score:
        worlds.make()
    if not (folder / "copies.jsonl").exists():
        make(asked.data, asked.chosen, worlds.reference, folder, asked.draw)
    copies = [json.loads(line) for line in (folder / "copies.jsonl").read_text(encoding="utf-8").splitlines()]
    copies = [copy for copy in copies if asked.match in copy["copy"]][:: asked.every]
    if asked.unknown:
        worlds.without({copy["paper"] for copy in copies})
        copies = [copy for copy in copies if copy["group"] == "undamaged" and not copy.get("results")]
    reports = folder / ("reports-unknown" if asked.unknown else "reports")
    if not asked.score:
        check(copies, folder, reports, worlds)
    sys.stdout.write(scored(copies, folder, reports))


class Worlds:
    """What the copies are checked against.

    Args:
        folder: For the files.
        data: The shared data.
    """

    def __init__(self, folder: Path, data: Path) -> None:
        self._folder, self._data = folder, data
        self.store, self.reference = folder / "graph.lbdb", folder / "reference.duckdb"
        self.ledger, self.bibliography = folder / "ledger.sqlite", folder / "bibliography.duckdb"

    def make(self) -> None:
        """Make those that are missing."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if not self.store.exists():
            loaded = ("--store", str(self.store), "--quarantine", str(self._folder / "quarantine"))
            spent("kgcheck", "load", str(self._data / "ckg_import"), *loaded)
        if not self.reference.exists():
            spent("kgcheck", "reference", "build", str(self._data), "--out", str(self.reference))
        if not self.ledger.exists():
            where = ("--store", str(self.store), "--reference", str(self.reference), "--ledger", str(self.ledger))
            run_json = str(self._folder / "run.json")
            spent("kgcheck", "audit", *where, "--format", "json", "--limit", "0", "--out", run_json, allowed=(1,))
        papers = self._data / "fulltext" / "plos"
        if not self.bibliography.exists():
            self._build(self.bibliography, sorted(papers.glob("*.xml")))

    def without(self, papers: set[str]) -> None:
        """Use a bibliography that has not read these papers: it knows of their references what others cite, too.

        Args:
            papers: Names.
        """
        self.bibliography = self._folder / "bibliography-others.duckdb"
        files = sorted((self._data / "fulltext" / "plos").glob("*.xml"))
        if not self.bibliography.exists():
            self._build(self.bibliography, [f for f in files if f.stem.removeprefix("journal.") not in papers])

    def _build(self, snapshot: Path, files: list[Path]) -> None:
        sources = self._folder / f"{snapshot.stem}-sources"
        sources.mkdir(exist_ok=True)
        for file in files:
            shutil.copy(file, sources)
        kind = ("--kind", "bibliography", "--retractions", str(self._data / "literature" / "pubmed_retractions.tsv"))
        spent("kgcheck", "reference", "build", str(sources), *kind, "--out", str(snapshot))

    def arguments(self) -> list[str]:
        """Options of the command."""
        named = {
            "--store": self.store,
            "--reference": self.reference,
            "--ledger": self.ledger,
            "--bibliography": self.bibliography,
        }
        return [*(word for pair in named.items() for word in map(str, pair)), "--offline", "--format", "json"]


def check(copies: list[dict[str, Any]], folder: Path, reports: Path, worlds: Worlds) -> None:
    """Check copies one after the other in this process, and keep what is said of each.

    Args:
        copies: Lines of copies.jsonl.
        folder: Of the set.
        reports: For the reports, each with the seconds and the processor time that it took.
        worlds: What they are checked against.
    """
    reports.mkdir(parents=True, exist_ok=True)
    # In any order: the tables of a run that was cut off are of all kinds of copies.
    for number, copy in enumerate(random.Random(1).sample(copies, len(copies))):  # noqa: S311
        results = ["--results", str(folder / copy["results"])] if copy.get("results") else []
        out = io.StringIO()
        started, cpu = time.perf_counter(), _processor_seconds()
        with contextlib.redirect_stdout(out):
            code = run(["ground", str(folder / copy["file"]), *worlds.arguments(), *results])
        took = {"seconds": time.perf_counter() - started, "cpu": _processor_seconds() - cpu, "first": number == 0}
        report = json.loads(out.getvalue()) if code in (0, 1, 3) and out.getvalue() else None
        kept = {"code": code, **took, "report": report}
        (reports / f"{copy['copy']}.json").write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")
        sys.stderr.write(f"{number + 1} of {len(copies)}: {copy['copy']}, exit code {code}, {took['cpu']:.1f} s\n")


def _processor_seconds() -> float:
    """Of this process and of the programs that it ran, as pandoc."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def scored(copies: list[dict[str, Any]], folder: Path, reports: Path) -> str:
    """The tables.

    Args:
        copies: Lines of copies.jsonl.
        folder: Of the set.
        reports: As they were kept.

    Returns:
        Markdown.
    """
    faults: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (folder / "faults.jsonl").read_text(encoding="utf-8").splitlines():
        faults[json.loads(line)["copy"]].append(json.loads(line))
    score, times, failed = Score(), defaultdict(list), []
    for copy in copies:
        path = reports / f"{copy['copy']}.json"
        if not path.exists():
            continue
        kept = json.loads(path.read_text(encoding="utf-8"))
        # A report that was not given has no sentence and no entry: all its faults count as not read.
        report = kept["report"] or {"sentences": [], "references": []}
        if kept["report"] is None:
            failed.append(f"{copy['copy']} (exit code {kept['code']})")
        elif not kept["first"]:
            times[copy["form"]].append((kept["seconds"], kept["cpu"]))
        if copy["group"] == "damaged":
            score.damaged(copy, faults[copy["copy"]], report)
        elif kept["report"]:
            score.undamaged(copy, report)
    text = tables(score)
    for form, taken in times.items():
        seconds, cpu = zip(*taken, strict=True)
        text += (
            f"\n{form}: {len(taken)} files, median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s; "
        )
        text += f"processor time {statistics.median(cpu):.2f} s, longest {max(cpu):.2f} s"
    return text + ("\nno report: " + ", ".join(failed) if failed else "") + "\n"


if __name__ == "__main__":
    main()
