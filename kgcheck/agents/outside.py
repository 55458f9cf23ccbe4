"""Agent tools for UniProt entries, STRING links and papers, and evidence from papers on edges.

A tool whose source is not there says so; it never says that nothing was found. With papers, what an index says of an
edge is evidence of the tier `text`, beside that of the reference sources.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from kgcheck.agents.tool_types import AccessionArguments, LiteratureArguments, LiteratureResult, PairArguments
from kgcheck.errors import UnknownName
from kgcheck.evidence.lookups import EntryResult, LifecycleResult, PairResult, SourceLookups
from kgcheck.evidence.source import Observed, ReferenceSource, SnapshotSource
from kgcheck.literature.documents import SOURCE
from kgcheck.model import CheckTask, Reason
from kgcheck.profile.schema import Schema
from kgcheck.reference.retractions import counted

if TYPE_CHECKING:
    from kgcheck.literature.edge_reader import TripleReader
    from kgcheck.reference.live import LiveReference


_MISSING = Reason.REFERENCE_MISSING
_NO_SOURCE = "no reference source was given"
_NO_INDEX = "no literature index was given: see --literature"


class Outside:
    """Look-ups of what is there; each says by itself what is not."""

    def __init__(self, lookups: SourceLookups | None = None, reader: "TripleReader | None" = None) -> None:
        self.lookups = lookups
        self.reader = reader

    def reference_entry(self, wanted: AccessionArguments) -> EntryResult:
        """Look up the entry of an identifier."""
        if self.lookups:
            return self.lookups.entry(wanted.accession)
        return EntryResult(accession=wanted.accession, status="not_available", reason=_MISSING, why=_NO_SOURCE)

    def id_lifecycle(self, wanted: AccessionArguments) -> LifecycleResult:
        """Look up what became of an identifier."""
        if self.lookups:
            return self.lookups.lifecycle(wanted.accession)
        return LifecycleResult(accession=wanted.accession, status="not_available", reason=_MISSING, why=_NO_SOURCE)

    def network_link(self, wanted: PairArguments) -> PairResult:
        """Look up whether a network links two identifiers."""
        if self.lookups:
            return self.lookups.pair(wanted.one, wanted.other, wanted.network)
        return PairResult(**wanted.model_dump(), status="not_available", reason=_MISSING, why=_NO_SOURCE)

    def literature_search(self, wanted: LiteratureArguments) -> LiteratureResult:
        """Sentences of papers that say something like an edge."""
        if self.reader is None:
            return LiteratureResult(triple=wanted.triple, status="not_available", reason=_MISSING, why=_NO_INDEX)
        try:
            found = self.reader.passages(wanted.triple)
        except UnknownName as error:
            why = error.in_one_line
            return LiteratureResult(
                triple=wanted.triple, source=SOURCE, status="not_available", reason=Reason.NOT_COVERED, why=why
            )
        return LiteratureResult(
            triple=wanted.triple,
            status="found" if found.passages else "nothing_found",
            why="" if found.passages else "no sentence of this index names both ends and says such a thing",
            source=SOURCE,
            release=found.release,
            retrieved_at=found.built_at,
            claim=found.claim,
            passages=found.passages,
            retracted=found.retracted,
        )


class ListsRetractions(ReferenceSource, Protocol):
    """A reference source that knows of retracted papers."""

    def retracted(self, papers: Iterable[str]) -> set[str]:
        """Return those of some papers that were retracted."""


class WithLiterature:
    """The reference sources, and the papers of an index about edges; retracted ones do not count."""

    def __init__(self, source: ListsRetractions, reader: "TripleReader") -> None:
        self._source = source
        self._reader = reader

    def observe(self, task: CheckTask, cited: Sequence[str] = ()) -> Observed:
        evidence, gaps = self._source.observe(task, cited)
        triple = task.edge
        if triple is None:
            return evidence, gaps
        return evidence + counted(self._reader.evidence(triple), self._source.retracted), gaps


def with_papers(
    source: SnapshotSource, schema: Schema, live: "LiveReference | None", reader: "TripleReader | None"
) -> tuple[ReferenceSource, Outside]:
    """Return the sources of a team: evidence by one path, and the look-ups beside it."""
    sources = WithLiterature(source, reader) if reader else source
    return sources, Outside(SourceLookups(source, schema, live), reader)
