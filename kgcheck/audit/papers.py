"""Papers: ask a literature index about an audit's edges, those least confirmed first."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kgcheck.audit.judging import least_decided
from kgcheck.audit.plan import Piece, Unit
from kgcheck.evidence.working_tables import WorkingTables
from kgcheck.model import INFORMS, Evidence, Outcome, Ref, Stance, Triple
from kgcheck.plurals import how_many
from kgcheck.profile.claims import form_of
from kgcheck.reference.retractions import counted, retracted_among

if TYPE_CHECKING:
    # It takes a while to be imported, and few audits look into papers.
    from kgcheck.literature.edge_reader import TripleReader

MOST_EDGES = 2_000
"""Edges of a run about which papers are read, at most."""


class PapersOnEdge(NamedTuple):
    """Evidence from papers on an edge, beside the outcome by the references alone."""

    triple: Triple
    before: Outcome
    evidence: tuple[Evidence, ...]


class Papers:
    """Asks the papers of an index about the edges of a run. Silence is evidence too, and changes no verdict."""

    def __init__(self, reader: "TripleReader", limit: int = MOST_EDGES) -> None:
        self.reader = reader
        self._left = limit
        self.found: list[PapersOnEdge] = []
        self.edges_read = 0
        self._failed = Counter[str]()

    def skip(self, unit: Unit, tasks: int) -> None:
        """Count edges that an interrupted run has asked about: a resumed run asks no more than an undisturbed one."""
        if self.reads(unit):
            self._left -= min(max(self._left, 0), tasks)

    def add(self, tables: WorkingTables, pieces: Iterable[Piece]) -> bool:
        """Add what papers say of the judged tasks of pieces to the table ``evidence``, or that they are silent."""
        to_read = {task: (triple, outcome) for piece in pieces for task, triple, outcome in self._next(tables, piece)}
        if not to_read:
            return False
        failed = dict[Triple, str]()
        evidence = self.reader.evidence_of_many((triple for triple, _ in to_read.values()), failed)
        self._failed.update(failed.values())
        observations: dict[int, tuple[Evidence, ...]] = {}
        for task, (triple, outcome) in to_read.items():
            if triple in failed:
                continue
            observed = counted(evidence.get(triple, ()), partial(retracted_among, tables.db))
            observations[task] = observed
            if spoken := tuple(e for e in observed if e.stance is not Stance.SILENT):
                self.found.append(PapersOnEdge(triple, outcome, spoken))
        tables.add_observations(observations)
        return any(observations.values())

    def notes(self) -> list[str]:
        """Tell how many edges papers were asked about, how many they speak of, and how many they decide."""
        spoken = len(self.found)
        deciding = sum(any(e.about != INFORMS for e in one.evidence) for one in self.found)
        read = f"papers were asked about {self.edges_read:,} edges and speak of {spoken:,}"
        notes = [f"{read}; of {spoken - deciding:,} they only inform"] if deciding < spoken else [read]
        return notes + [f"papers on {how_many(n, 'edge')} were not judged: {why}" for why, n in self._failed.items()]

    def _next(self, tables: WorkingTables, piece: Piece) -> Iterator[tuple[int, Triple, Outcome]]:
        """The tasks of a piece about which papers are to be read, as far as the limit allows."""
        pattern = piece.unit.pattern
        if pattern is None or self._left <= 0 or not self.reads(piece.unit):
            return
        rows = least_decided(tables.db, piece, self._left)
        self._left -= len(rows)
        self.edges_read += len(rows)
        for task, head, tail, outcome in rows:
            ends = {"head": Ref(label=pattern.head, id=head), "tail": Ref(label=pattern.tail, id=tail)}
            yield task, Triple(relation=pattern.type, **ends), outcome

    def reads(self, unit: Unit) -> bool:
        """Tell whether papers are searched about such tasks: edges are said in words, and their scores are not."""
        if unit.pattern is None or unit.attribute or not unit.type.asks_sources:
            return False
        head, tail = Ref(label=unit.pattern.head, id="x"), Ref(label=unit.pattern.tail, id="x")
        return form_of(Triple(head=head, relation=unit.pattern.type, tail=tail), self.reader.schema) is not None
