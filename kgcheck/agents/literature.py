"""Reference sources with papers beside them: what an index says of an edge is evidence of the tier `text`."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from kgcheck.agents.outside import Outside
from kgcheck.evidence.lookups import SourceLookups
from kgcheck.evidence.source import LiveSource, Observed, ReferenceSource, SnapshotSource
from kgcheck.model import CheckTask, CheckType, Triple
from kgcheck.profile.schema import Schema
from kgcheck.reference.retractions import counted

if TYPE_CHECKING:
    from kgcheck.literature.edge_reader import TripleReader


class ListsRetractions(ReferenceSource, Protocol):
    """A reference source that knows of retracted papers."""

    def retracted(self, papers: Iterable[str]) -> set[str]:
        """Which of some papers were retracted."""


class WithLiterature:
    """Asks the reference sources, and the papers of an index about edges; retracted ones do not count.

    Args:
        source: The reference sources.
        reader: The papers.
    """

    def __init__(self, source: ListsRetractions, reader: "TripleReader") -> None:
        self._source = source
        self._reader = reader

    def observe(self, task: CheckTask, cited: Sequence[str] = ()) -> Observed:
        """See ReferenceSource."""
        evidence, gaps = self._source.observe(task, cited)
        triple = triple_of(task)
        if triple is None:
            return evidence, gaps
        return evidence + counted(self._reader.evidence(triple), self._source.retracted), gaps


def triple_of(task: CheckTask) -> Triple | None:
    """The edge that a task is about, or None."""
    if task.type not in (CheckType.TRIPLE, CheckType.POTENTIAL) or not task.object or not task.relation:
        return None
    return Triple(head=task.subject, relation=task.relation, tail=task.object)


def with_papers(
    source: SnapshotSource, schema: Schema, live: LiveSource | None, reader: "TripleReader | None"
) -> tuple[ReferenceSource, Outside]:
    """What a team asks: evidence by one path, and the look-ups beside it.

    Args:
        source: The snapshot, and services over it.
        schema: Profile.
        live: The same services, or None.
        reader: Papers, or None.

    Returns:
        The sources of evidence, and what shows entries, pairs and papers.
    """
    asking = WithLiterature(source, reader) if reader else source
    return asking, Outside(SourceLookups(source, schema, live), reader)
