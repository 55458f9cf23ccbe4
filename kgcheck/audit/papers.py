"""Papers on the edges of an audit: what an index says of them, and whether the papers that they cite bear them."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kgcheck.audit.graph_copy import GraphCopy
from kgcheck.audit.judging import least_decided
from kgcheck.audit.plan import Piece, Unit
from kgcheck.errors import BudgetExceeded, BudgetSpent, ModelAnswer, ModelContext, ModelUnavailable
from kgcheck.evidence.working_tables import WorkingTables
from kgcheck.literature.documents import SOURCE
from kgcheck.model import INFORMS, Evidence, Outcome, Reason, Ref, Stance, Tier, Triple, World
from kgcheck.plurals import how_many
from kgcheck.profile.claims import form_of
from kgcheck.profile.schema import Pattern
from kgcheck.reference.retractions import SOURCE as RETRACTIONS
from kgcheck.reference.retractions import counted, retracted_among

if TYPE_CHECKING:
    # It takes a while to be imported, and few audits look into papers.
    from kgcheck.literature.edge_reader import TripleReader
    from kgcheck.literature.pairs import EdgeClaim

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
        to_read: dict[int, tuple[Triple, Outcome]] = {}
        for piece in pieces:
            if piece.unit.pattern and self._left > 0 and self.reads(piece.unit):
                rows = least_decided(tables.db, piece, self._left)
                self._left -= len(rows)
                self.edges_read += len(rows)
                edges = ((task, _triple(piece.unit.pattern, head, tail), outcome) for task, head, tail, outcome in rows)
                to_read |= {task: (triple, outcome) for task, triple, outcome in edges}
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

    def reads(self, unit: Unit) -> bool:
        """Tell whether papers are searched about such tasks: edges are said in words, and their scores are not."""
        if unit.pattern is None or unit.attribute or not unit.type.asks_sources:
            return False
        return form_of(_triple(unit.pattern, "x", "x"), self.reader.schema) is not None


_DIGITS = {"pmid:": "pmc:PMC", "pmc:PMC": "pmid:"}
"""Prefixes of ids of which the one is often written for the other."""


class EdgeCitations:
    """Reads the papers that edges cite. One that is not at hand is a gap, never silence."""

    def __init__(self, reader: "TripleReader | None", copy: GraphCopy) -> None:
        self._reader = reader
        self._copy = copy
        self._stopped: Reason | None = None

    def add(self, tables: WorkingTables, piece: Piece) -> None:
        """Add what the papers of the tasks of a piece say of their edges, or why they could not be read."""
        pattern = piece.unit.pattern
        assert pattern  # noqa: S101  (every unit of this type has one)
        rows = tables.db.execute(
            "SELECT task, head, tail, value FROM task WHERE task BETWEEN ? AND ? ORDER BY task",
            [piece.first, piece.last],
        ).fetchall()
        # All papers that the edges of the present tasks cite, those of other tasks among them.
        cited: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        select = f"FROM {self._copy.cited(pattern)} SEMI JOIN task USING (head, tail)"
        for head, tail, paper in tables.db.execute(select).fetchall():
            cited[head, tail].add(paper)
        gone = self._retracted(tables, {paper for papers in cited.values() for paper in papers})
        edges = {(head, tail): _triple(pattern, head, tail) for _, head, tail, _ in rows}
        claims = self._reader.claims(edges.values()) if self._reader else {}
        observations: dict[int, tuple[Evidence, ...]] = {}
        gaps: defaultdict[Reason, list[int]] = defaultdict(list)
        for task, head, tail, paper in rows:
            if paper in gone:
                alone = cited[head, tail] <= gone.keys()
                reason = Reason.RETRACTED_EVIDENCE if alone else Reason.CITATION_RETRACTED
                observations[task] = (gone[paper].model_copy(update={"reason": reason}),)
                continue
            found = self._read(edges[head, tail], claims, paper)
            if isinstance(found, Evidence):
                observations[task] = (found,)
            else:
                gaps[found].append(task)
        tables.add_observations(observations)
        for cause, tasks in gaps.items():
            tables.add(
                "gap",
                "SELECT unnest($tasks::BIGINT[]) AS task, $source AS source, $cause AS cause",
                {"tasks": tasks, "source": SOURCE, "cause": cause.value},
            )

    def _read(
        self, triple: Triple, claims: "dict[Triple, tuple[EdgeClaim, tuple[str, ...]]]", paper: str
    ) -> Evidence | Reason:
        """Evidence of a paper, or why it could not be read."""
        if self._stopped:
            return self._stopped
        if self._reader is None or triple not in claims:
            return Reason.NOT_COVERED
        read = partial(self._reader.citation, triple, *claims[triple])
        try:
            found = read(paper)
            if found is None or found.reason is Reason.CITATION_OFF_TOPIC:
                kind = next((prefix for prefix in _DIGITS if paper.startswith(prefix)), "")
                other = read(_DIGITS[kind] + paper.removeprefix(kind)) if kind else None
                if other and other.stance is Stance.SUPPORTS:
                    changed = {"about": INFORMS, "reason": Reason.CITATION_MISTAKEN, "candidates": (other.record,)}
                    return other.model_copy(update=changed)
        except (ModelAnswer, ModelContext):
            return Reason.SOURCE_REFUSED
        except (ModelUnavailable, BudgetExceeded) as error:
            why = Reason.BUDGET_SPENT if isinstance(error, BudgetExceeded) else Reason.SOURCE_UNAVAILABLE
            if isinstance(error, ModelUnavailable | BudgetSpent):
                self._stopped = why
            return why
        return found or Reason.NOT_COVERED

    def _retracted(self, tables: WorkingTables, papers: Iterable[str]) -> dict[str, Evidence]:
        """Evidence of each retracted paper, from the snapshot or the index."""
        by_pubmed: defaultdict[str, list[str]] = defaultdict(list)
        for paper in papers:
            # What is listed by its PMID may be cited by its DOI.
            for name in {paper, *(self._reader.ids_of(paper) if self._reader else ())}:
                if name.startswith("pmid:"):
                    by_pubmed[f"PMID:{name.removeprefix('pmid:')}"].append(paper)
        listed = retracted_among(tables.db, by_pubmed) if by_pubmed else set()
        releases = tables.db.execute(
            "SELECT release, retrieved_at FROM ref.release WHERE source = ? ORDER BY id DESC LIMIT 1", [RETRACTIONS]
        ).fetchall()
        found: dict[str, Evidence] = {}
        for name in listed:
            ((release, at),) = releases
            withdrawn = Evidence(
                source=RETRACTIONS,
                release=release,
                record=name,
                retrieved_at=at.replace(tzinfo=at.tzinfo or UTC),
                stance=Stance.SILENT,
                world=World.OPEN,
                tier=Tier.CURATED,
                value="a retracted publication",
            )
            found |= dict.fromkeys(by_pubmed[name], withdrawn)
        if self._reader:
            left = [paper for paper in papers if paper not in found]
            found |= self._reader.retracted(left)
        return found


def _triple(pattern: Pattern, head: str, tail: str) -> Triple:
    return Triple(head=Ref(label=pattern.head, id=head), relation=pattern.type, tail=Ref(label=pattern.tail, id=tail))
