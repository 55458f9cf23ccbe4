"""GraphExtract: cache a Neo4j graph's nodes and edges as Parquet while the graph is unchanged.

An audit of millions of edges spends most of its time waiting for the server. While nothing shows that the graph is
another, its extract says the same, and is read in a fraction of that time.
"""

from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from pathlib import Path
from shutil import rmtree

import pyarrow as pa

from kgcheck import __version__
from kgcheck.errors import StoreError
from kgcheck.graph.store import GraphStore
from kgcheck.outputs import make_folder, replacing
from kgcheck.profile.schema import Label, Pattern


class _GraphMoved(Exception):
    """The graph changed while it was read."""


class GraphExtract:
    """Scans a graph, keeps what was read, and with `reuse` reads it from there while the graph is in the same state.

    A store without a state is scanned and nothing is kept: nothing would show that it is the same.
    """

    def __init__(self, store: GraphStore, folder: Path, *, reuse: bool) -> None:
        self.schema = store.schema
        self._store = store
        self._reuse = reuse
        self._written: set[Path] = set()
        self._state = store.state()
        # A profile says how values are read, and a later kgcheck may read them otherwise.
        read_as = "\n".join((__version__, store.schema.digest, self._state or ""))
        self._of_store = folder / _digest(store.store_id())
        self._folder = self._of_store / _digest(read_as)

    def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
        return self._scan(f"{label.name} {sorted(label.properties)}", self._store.scan_nodes(label))

    def scan_edges(self, pattern: Pattern) -> Iterator[pa.Table]:
        return self._scan(f"{pattern} {sorted(pattern.properties)}", self._store.scan_edges(pattern))

    def _scan(self, name: str, scanned: Iterator[pa.Table]) -> Iterator[pa.Table]:
        path = self._folder / f"{_digest(name)}.parquet"
        if not self._state:
            return scanned
        if not path.exists():
            return self._keep(path, scanned)
        return _read(path) if self._reuse or path in self._written else scanned

    def _keep(self, path: Path, scanned: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Write what is scanned, and keep it if the graph did not change meanwhile."""
        import pyarrow.parquet as pq

        first = next(scanned, None)
        if first is None:
            return
        try:
            if not self._folder.exists():
                # Those of other states are of no more use.
                rmtree(self._of_store, ignore_errors=True)
                make_folder(self._folder, secret=True)
            with (
                suppress(_GraphMoved),
                replacing(path, secret=True) as partial,
                pq.ParquetWriter(partial, first.schema) as writer,
            ):
                for rows in chain([first], scanned):
                    writer.write_table(rows)
                    yield rows
                if self._store.state() != self._state:
                    raise _GraphMoved
                self._written.add(path)
        except OSError as error:
            hint = "free disk space, or keep nothing: KGCHECK_KEEP_EXTRACT=false"
            raise StoreError(f"cannot keep what was read of the graph in {path.parent}: {error}", hint) from error


def _read(path: Path) -> Iterator[pa.Table]:
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                yield file.read_row_group(number)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{path} cannot be read: {error}", "it is damaged: remove it, and audit again") from error


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]
