"""The papers of a workspace: the index, the names by which papers call things, and what reads them."""

from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgcheck.errors import StoreMissing, UsageError
from kgcheck.workspace.curating import Curating

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgcheck.literature.edge_reader import TripleReader
    from kgcheck.literature.names import Names
    from kgcheck.literature.search import LiteratureIndex


class ReadingPapers(Curating):
    """What opens the papers of a workspace; see Workspace."""

    def index(self, notes: list[str], folder: Path | None = None) -> "LiteratureIndex":
        """The literature index, open.

        Args:
            notes: Gets what is to be noted of how it is searched.
            folder: Another one than that of the workspace.

        Returns:
            The index.

        Raises:
            UsageError: None is named.
        """
        place = folder or self.literature
        if place is None:
            raise UsageError("no papers are named", "name the folder of a literature index: literature=")
        index, note = self._opened.get(f"index {place}", lambda: _opened_index(place))
        if note:
            notes.append(note)
        return index

    def paper_reader(self, notes: list[str], folder: Path | None = None) -> "TripleReader | None":
        """What reads papers about edges with the trained verifier; None where no papers are named."""
        from kgcheck.literature.trained_verifier import TrainedVerifier

        if not (folder or self.literature):
            return None
        index = self.index(notes, folder)
        return self._edge_reader(index, TrainedVerifier(index.embedder))

    def names(self) -> "Names":
        """Names from the graph, where there is one, and from the snapshot, where one is named."""
        from kgcheck.literature.names import AllNames, Names, StoreNames
        from kgcheck.reference.names import SnapshotNames

        places: list[Names] = []
        try:
            places.append(StoreNames(self.graph))
        except StoreMissing:
            # The default store need not be there to search for synonyms of the snapshot.
            if self._store_is_named:
                raise
        if reference := self.reference:
            known = self._opened.get("names", lambda: closing(SnapshotNames(reference, self.schema)))
            places.append(known)
        return AllNames(places)

    def _edge_reader(self, index: "LiteratureIndex", verifier: Any) -> "TripleReader":
        from kgcheck.literature.edge_reader import TripleReader

        return TripleReader(index, verifier, self.names(), self.schema)


@contextmanager
def _opened_index(folder: Path) -> "Iterator[tuple[LiteratureIndex, str]]":
    from kgcheck.literature.search import open_index

    index, note = open_index(folder)
    with index:
        yield index, note
