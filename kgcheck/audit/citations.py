"""EdgeCitations: evidence on whether the papers that edges cite bear them, from an index and lists of retractions."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from kgcheck.audit.graph_copy import GraphCopy
from kgcheck.audit.plan import Piece
from kgcheck.errors import BudgetExceeded, BudgetSpent, ModelAnswer, ModelContext, ModelUnavailable
from kgcheck.evidence.working_tables import WorkingTables
from kgcheck.literature.documents import SOURCE
from kgcheck.model import INFORMS, Evidence, Reason, Ref, Stance, Tier, Triple, World
from kgcheck.profile.schema import Pattern
from kgcheck.reference.retractions import SOURCE as RETRACTIONS
from kgcheck.reference.retractions import retracted_among

if TYPE_CHECKING:
    # It takes a while to be imported, and few audits look into papers.
    from kgcheck.literature.edge_reader import TripleReader
    from kgcheck.literature.pairs import EdgeClaim

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
        cited = self._cited(tables, pattern)
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
                other = read(same_digits) if (same_digits := _with_same_digits(paper)) else None
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

    def _cited(self, tables: WorkingTables, pattern: Pattern) -> dict[tuple[str, str], set[str]]:
        """All papers that the edges of the present tasks cite, those of other tasks among them."""
        cited = f"FROM {self._copy.cited(pattern)} SEMI JOIN task USING (head, tail)"
        found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for head, tail, paper in tables.db.execute(cited).fetchall():
            found[head, tail].add(paper)
        return found

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
        found = {paper: _withdrawn(name, *releases[0]) for name in listed for paper in by_pubmed[name]}
        if self._reader:
            left = [paper for paper in papers if paper not in found]
            found |= self._reader.retracted(left)
        return found


def _with_same_digits(paper: str) -> str:
    """The id of another kind with the same digits, which is often written for it; none of a DOI."""
    pairs = ((prefix, other) for prefix, other in _DIGITS.items() if paper.startswith(prefix))
    return next((other + paper.removeprefix(prefix) for prefix, other in pairs), "")


def _triple(pattern: Pattern, head: str, tail: str) -> Triple:
    return Triple(head=Ref(label=pattern.head, id=head), relation=pattern.type, tail=Ref(label=pattern.tail, id=tail))


def _withdrawn(record: str, release: str, retrieved_at: datetime) -> Evidence:
    return Evidence(
        source=RETRACTIONS,
        release=release,
        record=record,
        retrieved_at=retrieved_at.replace(tzinfo=retrieved_at.tzinfo or UTC),
        stance=Stance.SILENT,
        world=World.OPEN,
        tier=Tier.CURATED,
        value="a retracted publication",
    )
