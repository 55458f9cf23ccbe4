"""FileStore: graph files in their owners' forms as a graph store that is only read."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl, urlencode

import duckdb
import pyarrow as pa

from kgcheck import clock
from kgcheck.choices import FILES
from kgcheck.duck import working_database
from kgcheck.errors import ConfigurationError, StoreError, UsageError
from kgcheck.forms.columns import COLUMNS
from kgcheck.forms.draft import MISSING_NODE, draft_schema
from kgcheck.forms.read import ReadFile, ReadFiles, read_files
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables
from kgcheck.graph.open import check_address
from kgcheck.graph.store import (
    MOST_HOPS,
    OWNERS,
    Counts,
    Direction,
    Ends,
    Hop,
    Properties,
    Reading,
    StatedElement,
    StrayEdge,
    edge_schema,
    node_schema,
    read_hops,
    with_as_text,
)
from kgcheck.model import Ref, Triple
from kgcheck.outputs import temporary_folder
from kgcheck.profile.reference_files import shared_recipes
from kgcheck.profile.schema import Holder, Label, Pattern, Schema, empty_schema
from kgcheck.progress import NoProgress, Progress
from kgcheck.quoting import identifier, literal
from kgcheck.settings import Settings
from kgcheck.standards.biolink import PREFIX
from kgcheck.standards.bioregistry import registry

_ROWS = 100_000
_SHOWN = 5
_NAMESPACES = """SELECT split_part(id, ':', 1) AS prefix, count(*) AS n FROM label_by_id
    WHERE regexp_matches(id, '^[A-Za-z][A-Za-z0-9_.-]*:[^/]') AND NOT regexp_full_match(id, {without})
    GROUP BY ALL ORDER BY n DESC, prefix"""
"""SQL for the prefixes of ids that have not some form, with their number."""

_OWNER = f"coalesce({', '.join(f'properties[{literal(name)}]' for name in OWNERS)})"
_MOST_PARTS = 200
_RELATIONS = ("w.relation", "e.relation", "r.plain")
_GRAPH_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class DraftedStore:
    """A graph of any kind, read whole into a temporary database, with a schema that is drafted from it.

    It answers what an audit asks; there is nothing to load into, and no Cypher.
    """

    backend = "files"
    with_retired = False

    def __init__(
        self,
        name: str,
        reading: Callable[[duckdb.DuckDBPyConnection, Path], ReadFiles],
        settings: Settings,
        schema: Schema | None = None,
    ) -> None:
        self.name = name
        with ExitStack() as opening:
            scratch = opening.enter_context(temporary_folder())
            self._db = opening.enter_context(working_database(settings))
            self.files = reading(self._db, scratch)
            shown = ", ".join(file.name for file in self.files.files[:3])
            drafted = draft_schema(self.files.tables, shown, self.files.digest[:12])
            self._open = opening.pop_all()
        self.schema = schema or drafted
        self._drafted = drafted
        self._numbers = {str(pattern): number for number, pattern in enumerate(drafted.relations)}
        rows = self._db.execute("SELECT 'label', * FROM label_property UNION ALL SELECT 'edge', * FROM edge_property")
        self._stated = {(kind, holder, plain): stated for kind, holder, stated, plain in rows.fetchall()}

    def profile(self) -> tuple[Schema, list[str]]:
        """The schema of a profile for the graph, and what it cannot have."""
        return self.schema, []

    # What an audit reads

    def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
        yield from self._tables(
            f"SELECT id{self._columns(label)}, NULL::VARCHAR[] AS as_text FROM labelled_node"
            f" WHERE label = {literal(label.name)}",
            with_as_text(node_schema(label)),
        )

    def scan_edges(self, pattern: Pattern) -> Iterator[pa.Table]:
        yield from self._tables(
            f"SELECT head, tail{self._columns(pattern)}, NULL::VARCHAR[] AS as_text FROM labelled_edge"
            f" WHERE pattern = {self._number(pattern)}",
            with_as_text(edge_schema(pattern)),
        )

    def counts(self) -> Counts:
        nodes = dict.fromkeys(self.schema.label_names, 0)
        found = self._db.execute("SELECT label, count(*) FROM labelled_node GROUP BY label").fetchall()
        nodes |= {label: n for label, n in found if label in nodes}
        by_number = self._edges_by_pattern()
        edges = {str(p): by_number.get(self._number(p), 0) for p in self.schema.relations}
        return Counts(nodes=nodes, edges=edges)

    def meta(self) -> dict[str, str]:
        return {}

    def state(self) -> str | None:
        return self.files.digest

    def store_id(self) -> str:
        return hashlib.sha256(self.name.encode()).hexdigest()[:32]

    def unknown(self) -> dict[str, int]:
        """See GraphStore: what files have, and a profile that is named for them does not describe."""
        found = Counter[str]()
        for label, n in self._db.execute(
            "SELECT label, count(*) FROM labelled_node GROUP BY ALL ORDER BY ALL"
        ).fetchall():
            if label not in self.schema.label_names:
                found[f"label {label}"] += n
        for number, n in self._edges_by_pattern().items():
            relation = self._drafted.relations[number].type
            if relation not in self.schema.relation_types:
                found[f"relation {relation}"] += n
        return dict(found)

    def stray_edges(self, limit: int) -> list[StrayEdge]:
        known = set(map(str, self.schema.relations))
        found: list[StrayEdge] = []
        for number, pattern in enumerate(self._drafted.relations):
            if str(pattern) in known or pattern.type not in self.schema.relation_types:
                continue
            rows = self._rows(
                f"SELECT head, tail FROM labelled_edge WHERE pattern = {number} ORDER BY ALL LIMIT ?", [limit]
            )
            ends = {"head_label": pattern.head, "relation": pattern.type, "tail_label": pattern.tail}
            found += [StrayEdge(head_id=row["head"], tail_id=row["tail"], **ends) for row in rows]
        return found[:limit]

    def _edges_by_pattern(self) -> dict[int, int]:
        return dict(self._db.execute("SELECT pattern, count(*) FROM labelled_edge GROUP BY pattern").fetchall())

    def ids(self) -> pa.Table:
        """The ids of all nodes, with their labels."""
        return self._db.sql("SELECT label, id FROM labelled_node").to_arrow_table()

    def day(self) -> str:
        """The day on which the graph was as it is."""
        return clock.now().date().isoformat()

    def unlooked(self) -> list[str]:
        """Say how many edges and which ids no source was asked about, and how ontologies that list some are had."""
        forms = {one.pattern for label in self.schema.labels for one in label.authorities if one.pattern}
        rows = self._db.execute(_NAMESPACES.format(without=literal("|".join(sorted(forms))))).fetchall()
        ids = f", nor whether the ids exist ({', '.join(f'{prefix} {n:,}' for prefix, n in rows[:5])}" if rows else ""
        more = f"{ids}{', ...' if len(rows) > 5 else ''})" if ids else ""
        edges = self.counts().total_edges
        lines = [f"not looked at: whether {edges:,} edges hold{more}: no source is known for them (docs/forms.md)"]
        if listed := [(source, n) for prefix, n in rows if (source := _listing(prefix))][:_SHOWN]:
            counted = ", ".join(f"{name} {n:,}" for name, n in listed)
            fetch = " ".join(f"--source {name}" for name, _ in listed)
            lines.append(
                f"such ids are listed ({counted}): kgcheck reference fetch sources/ {fetch}; kgcheck reference build "
                "sources/ --out reference.duckdb; kgcheck audit ... --reference reference.duckdb"
            )
        return lines

    # Single nodes and edges

    def node(self, ref: Ref) -> Properties | None:
        return self.nodes(self.schema.label(ref.label), [ref.id]).get(ref.id)

    def nodes(self, label: Label, ids: list[str]) -> dict[str, Properties]:
        select = f"SELECT id{self._columns(label)} FROM labelled_node"
        rows = self._rows(f"{select} WHERE label = ? AND list_contains(?, id) ORDER BY ALL", [label.name, ids])
        found: dict[str, Properties] = {}
        for row in rows:
            found.setdefault(row["id"], {name: value for name, value in row.items() if value is not None})
        return found

    def edges(self, triple: Triple) -> list[Properties]:
        pattern = self.schema.pattern(triple.head.label, triple.relation, triple.tail.label)
        rows = self._rows(
            f"SELECT head{self._columns(pattern)} FROM labelled_edge WHERE pattern = ? AND head = ? AND tail = ?"
            " ORDER BY ALL",
            [self._number(pattern), triple.head.id, triple.tail.id],
        )
        return [{n: v for n, v in row.items() if v is not None and n in pattern.properties} for row in rows]

    def neighbours(self, ref: Ref, pattern: Pattern, direction: Direction, limit: int) -> list[str]:
        here, there = ("head", "tail") if direction == "out" else ("tail", "head")
        rows = self._rows(
            f"SELECT DISTINCT {there} AS id FROM labelled_edge WHERE pattern = ? AND {here} = ? ORDER BY 1 LIMIT ?",
            [self._number(pattern), ref.id, limit],
        )
        return [row["id"] for row in rows]

    def hops(self, ids: list[str], pattern: Pattern, direction: Direction) -> list[Hop]:
        here, there = ("head", "tail") if direction == "out" else ("tail", "head")
        found = self._db.execute(
            f"SELECT {here}, {there}{self._columns(pattern)} FROM labelled_edge"
            f" WHERE pattern = ? AND list_contains(?, {here}) LIMIT ?",
            [self._number(pattern), ids, MOST_HOPS + 1],
        ).fetchall()
        return read_hops(found, pattern)

    # What its owner stated

    def parts(self) -> dict[str, int]:
        sources = f"SELECT {_OWNER} AS source, count(*) AS n FROM edge GROUP BY ALL ORDER BY n DESC, source"
        found: dict[str, int] = {}
        for part, select in (("source", sources), ("namespace", _NAMESPACES.format(without="''"))):
            rows = self._db.execute(f"{select} LIMIT {_MOST_PARTS + 1}").fetchall()
            # Of very many, some would come and go with the limit.
            found |= {f"{part} {name or '(none)'}": n for name, n in rows} if len(rows) <= _MOST_PARTS else {}
        return found

    def stated_nodes(self, ids: Sequence[str]) -> dict[str, list[StatedElement]]:
        rows = self._rows(
            f"""
            WITH wanted AS (SELECT DISTINCT unnest(?::VARCHAR[]) AS id),
            ends AS (SELECT head AS id, file, line FROM edge UNION ALL SELECT tail, file, line FROM edge),
            edged AS (
                SELECT id, min(struct_pack(file, line)) AS place FROM ends SEMI JOIN wanted USING (id) GROUP BY id)
            SELECT id, label, labels, properties, coalesce(file, place.file) AS file,
                   coalesce(line, place.line) AS line, label <> {literal(MISSING_NODE)} AS is_listed
            FROM wanted JOIN label_by_id USING (id) LEFT JOIN node USING (id) LEFT JOIN edged USING (id)
            ORDER BY id, node.file, node.line
            """,
            [ids],
        )
        found: dict[str, list[StatedElement]] = {}
        for row in rows:
            properties = {"category": "|".join(row["labels"] or ()), **(row["properties"] or {})}
            ref, place = Ref(label=row["label"], id=row["id"]), self._place(row)
            found.setdefault(ref.id, []).append(StatedElement(ref, None, None, properties, place, row["is_listed"]))
        return found

    def stated_edges(self, edges: Sequence[Ends]) -> dict[Ends, list[StatedElement]]:
        """See StatingStore; a predicate is the same with the prefix of Biolink and without."""
        wanted, stated, named = (f"regexp_replace({name}, '^{PREFIX}', '')" for name in _RELATIONS)
        rows = self._rows(
            f"""
            SELECT w.*, r.plain, h.label AS head_label, t.label AS tail_label, e.properties, e.file, e.line
            FROM (SELECT unnest(?::VARCHAR[]) AS head, unnest(?::VARCHAR[]) AS relation, unnest(?::VARCHAR[]) AS tail) w
            JOIN edge e ON e.head = w.head AND e.tail = w.tail JOIN relation_name r ON r.stated = e.kind
            JOIN label_by_id h ON h.id = e.head JOIN label_by_id t ON t.id = e.tail
            WHERE {wanted} IN ({stated}, {named}) ORDER BY e.file, e.line
            """,
            list(map(list, zip(*edges, strict=True))),
        )
        found: dict[Ends, list[StatedElement]] = {}
        for row in rows:
            ends = Ref(label=row["head_label"], id=row["head"]), Ref(label=row["tail_label"], id=row["tail"])
            edge = StatedElement(ends[0], row["plain"], ends[1], row["properties"], self._place(row))
            found.setdefault((row["head"], row["relation"], row["tail"]), []).append(edge)
        return found

    def _place(self, row: Mapping[str, Any]) -> str:
        name = next((file.name for file in self.files.files if file.number == row["file"]), "")
        return f"{name}, line {row['line']}" if name and row["line"] else name

    # What files cannot do

    def query(self, reading: Reading, limit: int, timeout_s: float) -> list[Properties]:
        """Refuse it: files have no Cypher."""
        hint = "load the graph: kgcheck load DIR --store graph.lbdb"
        raise StoreError(f"a question in Cypher needs a graph store, and {self.name} is only read", hint)

    def close(self) -> None:
        """Remove the temporary database."""
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _number(self, pattern: Pattern) -> int:
        return self._numbers.get(str(pattern), -1)

    def _columns(self, holder: Holder) -> str:
        """SQL for the properties of a label or a pattern, by their names in the schema."""
        of = ("label", holder.name) if isinstance(holder, Label) else ("edge", str(self._number(holder)))
        stated = {plain: self._stated.get((*of, plain), plain) for plain in holder.properties}
        return "".join(f", properties[{literal(name)}] AS {identifier(plain)}" for plain, name in stated.items())

    def _tables(self, statement: str, schema: pa.Schema) -> Iterator[pa.Table]:
        # A cursor of its own: others may read while this one is under way.
        with self._db.cursor() as cursor:
            for batch in cursor.sql(statement).to_arrow_reader(_ROWS):
                yield pa.Table.from_batches([batch]).cast(schema)

    def _rows(self, statement: str, parameters: list[Any]) -> list[Mapping[str, Any]]:
        with self._db.cursor() as cursor:
            found = cursor.execute(statement, parameters)
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


class FileStore(DraftedStore):
    """A graph in files of their owners' forms, read where they lie."""

    def __init__(
        self,
        paths: Sequence[Path],
        settings: Settings,
        progress: Progress | None = None,
        *,
        schema: Schema | None = None,
        release_of: str = "",
        columns: Mapping[str, str] | None = None,
    ) -> None:
        """Read files; ``release_of`` names the graph of which they are a release, to be compared with others of it.

        ``columns`` are names of columns of tables, each with the column of KGX that it is: subject, id, ...
        """
        name = files_name([str(path.absolute()) for path in paths], release_of, columns)
        self._release_of = release_of
        self._paths = paths
        shown = progress or NoProgress()
        super().__init__(name, lambda db, scratch: read_files(paths, db, scratch, shown, columns), settings, schema)

    def day(self) -> str:
        """The day on which the newest of the files was written."""
        files = (file for path in self._paths for file in (path.rglob("*") if path.is_dir() else [path]))
        newest = max(file.stat().st_mtime for file in files if file.is_file())
        return datetime.fromtimestamp(newest, UTC).date().isoformat()

    def store_id(self) -> str:
        """See GraphStore: of a release of a graph that is named, that of all its releases."""
        return hashlib.sha256((self._release_of or self.name).encode()).hexdigest()[:32]


class ServerCopy(DraftedStore):
    """A copy of a graph of any kind on a Neo4j server, which is only read."""

    backend = "neo4j"

    def __init__(self, address: str, settings: Settings, progress: Progress | None = None) -> None:
        from kgcheck.forms.server import read_server
        from kgcheck.graph.neo4j import Neo4jStore

        def reading(db: duckdb.DuckDBPyConnection, scratch: Path) -> ReadFiles:
            check_address(address)
            source, tables = Source(address, scratch), GraphTables(db)
            with Neo4jStore(address, empty_schema(), settings, any_profile=True) as store:
                self._id, self._state = store.store_id(), store.state()
                self._graph = read_server(store, source, tables, progress or NoProgress())
            counts = tables.count("node"), tables.count("edge")
            return ReadFiles(tables, (ReadFile(address, "Neo4j", *counts),), self._state or "")

        super().__init__(address, reading, settings)

    def profile(self) -> tuple[Schema, list[str]]:
        """See DraftedStore; names, keys and types are those of the server."""
        from kgcheck.forms.server import server_schema

        schema, left_out = server_schema(self.files.tables, self._drafted, self._graph)
        if not schema.labels:
            raise ConfigurationError(
                f"no label of {self.name} has a key: {'; '.join(left_out[:3])}",
                "a profile needs a property by which nodes are told apart",
            )
        return schema, left_out

    def store_id(self) -> str:
        return self._id

    def state(self) -> str | None:
        return self._state


def _listing(prefix: str) -> str:
    """The source to be fetched that lists the ids of a prefix, if one is known."""
    if not (known := registry().find(prefix)):
        return ""
    fetched = {r.curie: r.source for r in shared_recipes() if r.obtain or any(file.url for file in r.files)}
    return fetched.get(known.prefix) or (known.prefix if known.ontology else "")


class GraphFiles(NamedTuple):
    """Files and folders of a graph, the graph of which they are a release, and what columns of tables are taken for."""

    paths: tuple[Path, ...] = ()
    release_of: str = ""
    columns: Mapping[str, str] = MappingProxyType({})


def files_name(paths: Iterable[str], release_of: str = "", columns: Mapping[str, str] | None = None) -> str:
    """Name of a store that is graph files; a release of a graph that is named has that name before an @."""
    if release_of and not _GRAPH_NAME.fullmatch(release_of):
        raise UsageError(f"{release_of!r} is no name of a graph", "use letters, digits, _ . and -")
    taken = {role: name for name, role in (columns or {}).items()}
    return (
        FILES + (f"{release_of}@" if release_of else "") + ",".join(paths) + (f"#{urlencode(taken)}" if taken else "")
    )


def graph_files(name: str) -> GraphFiles:
    """The files that a store's name stands for; none where the name is that of a graph store.

    >>> graph_files("files:monarch@/data/v2,/data/x.tsv").paths, graph_files("graph.lbdb").paths
    ((PosixPath('/data/v2'), PosixPath('/data/x.tsv')), ())
    >>> dict(graph_files("files:pairs.csv#subject=gene+A&object=drug").columns)
    {'gene A': 'subject', 'drug': 'object'}
    """
    if not name.startswith(FILES):
        return GraphFiles()
    whole, release_of = name.removeprefix(FILES), ""
    before, sign, after = whole.rpartition("#")
    taken = dict(parse_qsl(after)) if sign else {}
    columns = {column: role for role, column in taken.items()} if taken and set(taken) <= {*COLUMNS} else {}
    whole = before if columns else whole
    before, sign, after = whole.partition("@")
    if sign and after.startswith("/") and _GRAPH_NAME.fullmatch(before):
        whole, release_of = after, before
    # A comma may be part of a name.
    parts = (whole,) if Path(whole).exists() else whole.split(",")
    return GraphFiles(tuple(map(Path, parts)), release_of, columns)
