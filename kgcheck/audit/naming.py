"""NodeNames: look up names of nodes (TP53) in the graph and put them into findings as recorded."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from operator import itemgetter

import duckdb
import pyarrow as pa

from kgcheck.duck import insert_arrow
from kgcheck.graph.store import NO_ID, GraphStore
from kgcheck.model import Finding, Ref

_TOGETHER = 5_000
_LONGEST = 200
_KEPT = 200_000
"""Names in memory: most findings of a run are about the same nodes."""

_FEW = 500
"""So many nodes are asked for by their ids, however few there are of their label."""

_OF_ALL = 20
"""Nodes of a label per wanted one, below which reading all is quicker than asking for each."""


class NodeNames:
    """Names of the nodes of a graph, each read once."""

    def __init__(self, store: GraphStore, counts: Mapping[str, int] | None = None) -> None:
        self._store = store
        self._counts = counts or {}
        self._whole: set[str] = set()
        self._labels = {
            label.name: label.model_copy(update={"properties": {"name": label.properties["name"]}})
            for label in store.schema.labels
            if "name" in label.properties
        }
        self._known: dict[Ref, str | None] = {}

    def beside(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        rest = iter(findings)
        while batch := list(islice(rest, _TOGETHER)):
            if len(self._known) > _KEPT:
                self._known.clear()
            by_label: dict[str, set[str]] = defaultdict(set)
            for ref in (ref for f in batch for ref in (f.task.subject, f.task.object) if ref):
                if ref not in self._known and ref.label in self._labels:
                    by_label[ref.label].add(ref.id)
            for label, ids in by_label.items():
                named = self._named(label, ids).items()
                self._known |= {Ref.model_construct(label=label, id=id_): name for id_, name in named}
            for finding in batch:
                ends = (finding.task.subject, finding.task.object)
                head, tail = (self._known.get(ref) if ref else None for ref in ends)
                yield finding.model_copy(update={"names": (head, tail)})

    def put(self, db: duckdb.DuckDBPyConnection, wanted: str) -> None:
        """Put what the graph calls the nodes of a select of label and id into the table ``node_name``, each once."""
        db.execute("CREATE TEMP TABLE IF NOT EXISTS node_name (label VARCHAR, id VARCHAR, name VARCHAR)").fetchall()
        rows = db.execute(
            f"""
            SELECT DISTINCT label, id FROM ({wanted}) AS wanted(label, id) ANTI JOIN node_name USING (label, id)
            WHERE list_contains($labels, label) ORDER BY ALL
            """,
            {"labels": [name for name in self._labels if name not in self._whole]},
        ).fetchall()
        stated: list[tuple[str, str, str | None]] = []
        for label, of_label in groupby(rows, key=itemgetter(0)):
            ids = [id_ for _, id_ in of_label]
            if _FEW < len(ids) and self._counts.get(label, 0) < _OF_ALL * len(ids):
                self._put_all(db, label)
                continue
            for start in range(0, len(ids), _TOGETHER):
                stated += ((label, *named) for named in self._named(label, ids[start : start + _TOGETHER]).items())
        if stated:
            columns = dict(zip(("label", "id", "name"), zip(*stated, strict=True), strict=True))
            insert_arrow(db, "node_name", pa.table(columns, pa.schema((c, pa.string()) for c in columns)))

    def _put_all(self, db: duckdb.DuckDBPyConnection, label: str) -> None:
        db.execute("CREATE OR REPLACE TEMP TABLE stated_name (id VARCHAR, name VARCHAR)").fetchall()
        for scanned in self._store.scan_nodes(self._labels[label]):
            insert_arrow(db, "stated_name", scanned.select(["id", "name"]))
        # Of nodes that share an id, the first name counts, as it does where they are asked for.
        db.execute(
            f"""
            INSERT INTO node_name
            SELECT $label, id, nullif(left(min(name), {_LONGEST}), '') FROM stated_name WHERE id <> $none
            AND id NOT IN (SELECT id FROM node_name WHERE label = $label) GROUP BY id
            """,
            {"label": label, "none": NO_ID},
        ).fetchall()
        self._whole.add(label)

    def _named(self, label: str, ids: Iterable[str]) -> dict[str, str | None]:
        nodes = self._store.nodes(self._labels[label], sorted(ids))
        names = {id_: nodes.get(id_, {}).get("name") for id_ in ids}
        return {id_: str(name)[:_LONGEST] if name else None for id_, name in names.items()}
