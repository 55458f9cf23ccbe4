"""Hold every option of questions made from a graph against graph and snapshot, by statements of its own.

``python -m benchmarks.graph_questions STORE SNAPSHOT`` makes 200 questions and counts: right options that the snapshot
states, distractors that nothing states or implies (no edge between the two nodes in the direction that is asked, in the
graph or in any source; no way over narrower terms).
"""

import argparse
import re
from collections import Counter
from pathlib import Path

import duckdb
from rich.console import Console

from kgcheck.bench.graph_questions import GraphQuestionMaker
from kgcheck.bench.question_sets import BenchQuestion
from kgcheck.bench.truth import Truths
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.profile.schema import load_schema
from kgcheck.questions.answer import Questions
from kgcheck.report.safe_console import RowTable

_ID = re.compile(r"\(([^()\s]+)\)$")


class Statements:
    """Every statement of graph and snapshot, read anew."""

    def __init__(self, store: EmbeddedStore, snapshot: Path) -> None:
        self.pairs: set[tuple[str, str]] = set()
        self.parents: dict[str, set[str]] = {}
        for pattern in store.schema.relations:
            for table in store.scan_edges(pattern.ends_alone):
                for head, tail in zip(table.column("head").to_pylist(), table.column("tail").to_pylist(), strict=True):
                    self.add(head, tail, parent=pattern.hierarchy)
        with duckdb.connect(str(snapshot), read_only=True) as db:
            rows = db.execute("SELECT relation, head, tail, head_now, tail_now FROM link WHERE NOT negated").fetchall()
        self.linked = {
            (a, b) for _, head, tail, now, then in rows for a in (head, now) for b in (tail, then) if a and b
        }
        for relation, head, tail, *_ in rows:
            self.add(head, tail, parent=relation == "parent")
        self.pairs |= self.linked

    def add(self, head: str, tail: str, *, parent: bool) -> None:
        """Add a statement."""
        self.pairs.add((head, tail))
        if parent:
            self.parents.setdefault(head, set()).add(tail)

    def above(self, node: str) -> set[str]:
        """Ancestors of a term."""
        found: set[str] = set()
        left = [node]
        while left:
            left += (new := self.parents.get(left.pop(), set()) - found)
            found |= new
        return found

    def is_true(self, question: BenchQuestion, node: str, other: str) -> bool:
        """Tell whether anything states, or implies, that a node has another as its neighbour."""
        if " HAS_PARENT " in question.category:
            upwards = "parents" in question.question
            return other in self.above(node) if upwards else node in self.above(other)
        both = [(a, b) for a, b in self.pairs if node in (a, b)]
        neighbours = {b if a == node else a for a, b in both}
        return other in neighbours or any(other in self.above(n) for n in neighbours)


def main() -> None:
    """Make, check, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts: dict[str, Counter[str]] = {"right options": Counter(), "distractors": Counter()}
    with EmbeddedStore(given.store, load_schema()) as store, Truths(given.snapshot) as truths:
        ask = Questions(store).ask
        questions = GraphQuestionMaker(store, truths, ask, given.seed).make(given.count)
        statements = Statements(store, given.snapshot)
        for question in questions:
            for letter, text in question.options.items():
                found = _ID.search(text)
                node, other = question.entities[0], found[1] if found else text
                if letter in question.right:
                    is_right, kind = bool({(node, other), (other, node)} & statements.linked), "right options"
                else:
                    is_right, kind = not statements.is_true(question, node, other), "distractors"
                counts[kind]["right" if is_right else "WRONG"] += 1
    rows = [(kind, str(found["right"]), str(found["WRONG"])) for kind, found in counts.items()]
    Console(width=120).print(RowTable((f"of {len(questions)} questions", "right", "WRONG"), rows))


if __name__ == "__main__":
    main()
