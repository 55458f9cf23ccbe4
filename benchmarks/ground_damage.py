"""Makes copies of papers with known faults: ``python -m benchmarks.ground_damage FOLDER --set held --reference FILE``.

The first 20 usable research articles of the PLOS files, by their names, are the set ``held``, the next 20 are
``tuning``, and what is left ``others``. A copy has up to four faults, each in a paragraph or an entry of the list of
its own; none of them touches what another touches. ``faults.jsonl`` names each with its kind, place, and what stood
there before and stands there now, ``copies.jsonl`` each file with the undamaged one beside it. What a fault is and
which of the targets it hits, a seed decides.
"""

import argparse
import json
import random
import re
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lxml import etree

from benchmarks.ground_entries import works_of
from benchmarks.ground_facts import Facts, Statement
from benchmarks.ground_faults import Edited, Fact, Fault, Target, Work
from benchmarks.ground_jats import FORMS, Paper
from benchmarks.ground_sentences import MARK, damage, ends, insert_after, places_of, results_of

QUOTAS = {
    "marker_out_of_range": 42,
    "doi": 40,
    "year": 42,
    "title": 42,
    "invented": 40,
    "retracted": 36,
    "number_results": 42,
    "number_text": 36,
    "old_symbol": 40,
    "denied": 60,
    "exchanged": 60,
    "moved_citation": 40,
    "author": 42,
}
"""Faults of each kind that are made of a set, where it has places for as many; numbers are one kind in two ways."""

SETS = ("held", "tuning", "others")

PAPERS = 20
TOGETHER = 4
"""Faults in a copy, at most."""

TRUE_FACTS = 3
"""Sentences of facts in a copy that are left as they are, beside those that are damaged."""

_FORMS = ("jats", "jats", "markdown", "jats", "text")


class Maker:
    """Writes the files of a set.

    Args:
        papers: Those of the set.
        works: Entries of all papers.
        facts: Of the graph.
        retracted: PMIDs.
        folder: For the files.
        seed: Of what is chosen.
    """

    def __init__(
        self,
        papers: list[Paper],
        works: list[Work],
        facts: Facts,
        retracted: list[str],
        folder: Path,
        seed: int = 17,
    ) -> None:
        self.papers, self.works, self.facts, self.retracted, self.folder = papers, works, facts, retracted, folder
        self.of = random.Random(seed)  # noqa: S311
        self.faults: list[Fault] = []
        self.copies: list[dict[str, Any]] = []

    def make(self, quotas: dict[str, int]) -> None:
        """Write undamaged papers, damaged copies, and the two lists.

        Args:
            quotas: Faults of each kind.
        """
        for number, paper in enumerate(self.papers):
            results = self.folder / "results" / f"{paper.name}.json"
            results.parent.mkdir(parents=True, exist_ok=True)
            if found := results_of(paper):
                results.write_text(json.dumps(found, indent=1), encoding="utf-8")
                self._write(paper, f"{paper.name}-results", "jats", "undamaged", results=f"results/{results.name}")
            for form in ("jats", ("markdown", "text")[number % 2]):
                self._write(paper, f"{paper.name}-{form}", form, "undamaged")
        left = self._damage_places({k: n for k, n in quotas.items() if k not in ("denied", "exchanged")})
        self._damage_facts(quotas.get("denied", 0), quotas.get("exchanged", 0), left.get("old_symbol", 0))
        for name, rows in (("faults", [asdict(f) for f in self.faults]), ("copies", self.copies)):
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            (self.folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")

    def _write(self, paper: Paper, name: str, form: str, group: str, **more: Any) -> None:
        path = Path(group) / f"{name}.{FORMS[form]}"
        (self.folder / group).mkdir(parents=True, exist_ok=True)
        paper.write(self.folder / path, form)
        self.copies.append(
            {
                "copy": name,
                "file": str(path),
                "paper": paper.name,
                "form": form,
                "group": group,
                "entries": len(paper.references),
                **more,
            }
        )

    def _damage_places(self, quotas: dict[str, int]) -> dict[str, int]:
        """Faults of what the papers have.

        Returns:
            How many of each kind could not be made.
        """
        queues: dict[str, list[tuple[str, Target]]] = defaultdict(list)
        left: dict[str, int] = {}
        for kind, quota in quotas.items():
            waiting = {p.name: list(places_of(kind, p, self.facts)) for p in self.papers}
            for targets in waiting.values():
                self.of.shuffle(targets)
            left[kind] = quota // 2 if kind == "old_symbol" else quota
            while left[kind] and any(waiting.values()):
                for name, targets in waiting.items():
                    if targets and left[kind]:
                        queues[name].append((kind, targets.pop()))
                        left[kind] -= 1
            left[kind] += quota - quota // 2 if kind == "old_symbol" else 0
        for paper in self.papers:
            queue = queues[paper.name]
            self.of.shuffle(queue)
            number = 0
            while queue:
                number += 1
                self._damage_copy(paper, number, queue)
        return left

    def _damage_copy(self, paper: Paper, number: int, queue: list[tuple[str, Target]]) -> None:
        """A copy with the next faults that go together: no kind twice, no place twice."""
        edited = Edited(paper, self.of, [w for w in self.works if w.paper != paper.name], self.retracted)
        form = _FORMS[(number + self.papers.index(paper)) % len(_FORMS)]
        taken: set[tuple[str, int]] = set()
        made: list[Fault] = []
        kinds: set[str] = set()
        for kind, target in list(queue):
            numbers_too = kind.startswith("number") and any(k.startswith("number") for k in kinds)
            if len(made) == TOGETHER or kind in kinds or numbers_too or target.places & taken:
                continue
            if form != "jats" and target.variant == "link":
                target.variant = "number"
            queue.remove((kind, target))
            if fault := damage(edited, kind, target):
                made.append(fault)
                kinds.add(kind)
                taken |= target.places | {("entry", n - 1) for n in fault.touched}
        if not made:
            return
        name = f"{paper.name}-{number:02}"
        results = {"results": f"results/{paper.name}.json"} if "number_results" in kinds else {}
        self._write(edited.paper, name, form, "damaged", twin=f"{paper.name}-jats", **results)
        self._note(made, name)

    def _note(self, made: list[Fault], name: str) -> None:
        for fault in made:
            fault.id, fault.copy = f"F{len(self.faults) + 1:03}", name
            self.faults.append(fault)

    def _damage_facts(self, denied: int, exchanged: int, old_symbols: int) -> None:
        """Copies with inserted sentences, and the same copies with some of them damaged."""
        kinds = [
            k for k, n in (("denied", denied), ("exchanged", exchanged), ("old_symbol", old_symbols)) for _ in range(n)
        ]
        self.of.shuffle(kinds)
        number = 0
        while kinds:
            paper = self.papers[number % len(self.papers)]
            number += 1
            these, kinds = kinds[:TOGETHER], kinds[TOGETHER:]
            plan = [*these, *([""] * TRUE_FACTS)]
            statements = [
                self.facts.statement(self.of, set(self.facts.previous) if k == "old_symbol" else None) for k in plan
            ]
            marked = [self.of.random() < 0.5 for _ in plan]
            places = self._places_for(paper, len(plan))
            texts = [s.text for s in statements]
            damaged = [self._damaged(k, s) for k, s in zip(plan, statements, strict=True)]
            form, name = _FORMS[number % len(_FORMS)], f"{paper.name}-facts-{number:02}"
            self._write(
                self._inserted(paper, places, texts, marked),
                name,
                form,
                "with_facts",
                facts=[
                    asdict(Fact(s.text, s.relation, s.edges, s.phrasing, m))
                    for s, m in zip(statements, marked, strict=True)
                ],
            )
            copied = self._inserted(paper, places, [text for text, _ in damaged], marked)
            true = [n for n, kind in enumerate(plan) if not kind]
            self._write(
                copied,
                f"{name}-damaged",
                form,
                "damaged",
                twin=name,
                facts=[
                    asdict(
                        Fact(texts[n], statements[n].relation, statements[n].edges, statements[n].phrasing, marked[n])
                    )
                    for n in true
                ],
            )
            made = [
                Fault(kind, f"{s.relation} {s.phrasing}", "sentence", s.text, text, text, text, text)
                for kind, s, (text, _) in zip(plan, statements, damaged, strict=True)
                if kind
            ]
            self._note(made, f"{name}-damaged")

    def _damaged(self, kind: str, statement: Statement) -> tuple[str, str]:
        """The sentence, damaged, and what was put in."""
        if kind == "denied":
            return self.facts.denied(statement), ""
        if kind == "exchanged":
            return self.facts.exchanged(self.of, statement)
        if kind == "old_symbol":
            old = self.facts.previous[statement.names["a"]]
            return re.sub(rf"(?<![\w-]){re.escape(statement.names['a'])}(?![\w-])", old, statement.text), old
        return statement.text, ""

    def _places_for(self, paper: Paper, wanted: int) -> list[int]:
        """Paragraphs to insert into: those of the discussion, then others, each once."""
        order = {"discussion": 0, "conclusion": 0, "introduction": 1}
        passages = [p for p in paper.passages if ends(p)]
        self.of.shuffle(passages)
        return [p.number for p in sorted(passages, key=lambda p: order.get(p.section, 2))][:wanted]

    def _inserted(self, paper: Paper, places: list[int], texts: list[str], marked: list[bool]) -> Paper:
        """A copy with a sentence at the end of each of some paragraphs."""
        made = paper.copied()
        passages = {p.number: p for p in made.passages}
        known = {str(r.get("id")) for r in made.references}
        marks = [
            m
            for m in made.tree.iterfind(".//body//xref[@ref-type='bibr']")
            if MARK.fullmatch(m.text or "") and m.get("rid") in known
        ]
        for number, text, mark in zip(places, texts, marked, strict=True):
            slot = [s for s in passages[number].slots if s.text.strip()][-1]
            at, end = slot.start + len(slot.text.rstrip()), slot.start + len(slot.text)
            if not mark:
                slot.replace(at, end, f" {text}.")
                continue
            cited = marks[(number * 7) % len(marks)]
            added = etree.Element("xref", {"ref-type": "bibr", "rid": cited.get("rid")})
            added.text = cited.text
            within = "[" in cited.text
            slot.replace(at, end, f" {text} " if within else f" {text} [")
            insert_after(slot, added, "." if within else "].")
        return made


def papers_of(data: Path, chosen: str) -> list[Paper]:
    """The papers of a set.

    Args:
        data: The shared data.
        chosen: One of SETS, or ``all``.

    Returns:
        Papers by their names.
    """
    usable = [p for f in sorted((data / "fulltext" / "plos").glob("*.xml")) if (p := Paper(f)).usable]
    sets = {"held": usable[:PAPERS], "tuning": usable[PAPERS : 2 * PAPERS], "others": usable[2 * PAPERS :]}
    return {**sets, "all": usable}[chosen]


def make(data: Path, chosen: str, reference: Path, folder: Path, draw: int = 1) -> Maker:
    """Write all copies of a set.

    Args:
        data: The shared data.
        chosen: One of SETS.
        reference: The snapshot that confirms facts.
        folder: For the files.
        draw: Another number makes other faults of the same papers.

    Returns:
        What was written.
    """
    retracted = [w for w in (data / "literature" / "pubmed_retractions.tsv").read_text().split() if w.isdigit()]
    facts = Facts(data, reference, "held" if chosen == "held" else "tuning")
    # Two sets are two draws: nothing that is learned of the one holds of the other by chance.
    seed = 17 + SETS.index(chosen) + 100 * (draw - 1)
    maker = Maker(papers_of(data, chosen), works_of(papers_of(data, "all")), facts, retracted, folder, seed)
    maker.make(QUOTAS)
    return maker


def main() -> None:
    """Write a set and print how many faults of each kind it has."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--set", choices=SETS, default="tuning", dest="chosen")
    parser.add_argument("--draw", type=int, default=1, help="another number: other faults of the same papers")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--reference", type=Path, required=True, help="the snapshot that confirms facts")
    asked = parser.parse_args()
    made = make(asked.data, asked.chosen, asked.reference, asked.folder, asked.draw)
    counts: dict[str, int] = defaultdict(int)
    for fault in made.faults:
        counts[fault.kind] += 1
    print(f"{len(made.faults)} faults in {len({f.copy for f in made.faults})} copies: {dict(counts)}")  # noqa: T201


if __name__ == "__main__":
    main()
