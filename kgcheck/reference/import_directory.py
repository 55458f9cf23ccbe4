"""Build an import directory (files.toml) from a snapshot: the nodes, properties and edges that its sources state.

The same lines of graph.toml decide as in an audit: who issues the ids of a label, who states an attribute, whose links
make an edge. What a source denies, or says to be gone, is left out.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from kgcheck import __version__, clock
from kgcheck.duck import allow, working_database
from kgcheck.errors import InputError, UsageError
from kgcheck.inputs import sha256_of
from kgcheck.loading.manifest import MANIFEST, SNAPSHOT_MADE, UNFINISHED, made_by_build
from kgcheck.locks import lock_open_file
from kgcheck.model import Value
from kgcheck.outputs import make_folder, temporary_folder, write_hint, write_text
from kgcheck.profile.catalogue import AttributeCheck, EdgeCheck
from kgcheck.profile.import_files import PLACE, EdgeFile, NodeFile, Recipe
from kgcheck.profile.patterns import anchored
from kgcheck.profile.schema import Label, Pattern, Schema
from kgcheck.progress import Progress
from kgcheck.providers.tsv import first_words
from kgcheck.quoting import identifier, literal
from kgcheck.reference.build import build_snapshot
from kgcheck.reference.ids_sql import OF_ONE_SEQUENCE, base, filed_elsewhere, part_of_id, sequence
from kgcheck.reference.snapshot import (
    SourceRelease,
    attach_snapshots,
    damage_named,
    refuse_unserved,
    releases_of,
    sources_of,
)
from kgcheck.settings import Settings

SNAPSHOT = "reference.duckdb"
"""Snapshot in a directory that was built from files."""

_MAKER = f"kgcheck {__version__}"

_SCORE = r"regexp_replace(score::VARCHAR, '\.0$', '')"

_CHANNEL = r"\(([^()]+)\)$"
"""Channel of a source, at the end of a record: ``ENSP00000269305 knowledge (UniProtKB-KW)``."""


class BuiltFile(Value):
    """A file of a directory that was built."""

    file: str
    target: str
    rows: int
    sources: tuple[str, ...]
    unfilled: tuple[str, ...] = ()
    """Properties that no source fills."""


class BuiltDirectory(Value):
    """An import directory that was built from a snapshot.

    Attributes:
        left_out: Pairs that are no edges, for an end is no node or a source denies them, by file and why.
    """

    folder: Path
    snapshot: Path
    files: tuple[BuiltFile, ...]
    left_out: dict[str, dict[str, int]]

    @property
    def nodes(self) -> int:
        return sum(file.rows for file in self.files if " " not in file.target)

    @property
    def edges(self) -> int:
        return sum(file.rows for file in self.files) - self.nodes


def build_import(
    sources: Path,
    out: Path,
    schema: Schema,
    recipe: Recipe,
    settings: Settings,
    progress: Progress,
    releases: Mapping[str, str] | None = None,
) -> BuiltDirectory:
    """Build the files of an import directory from a snapshot, and a manifest that names the source of each.

    Of a folder of providers' files a snapshot is built first, which stays in the directory. All of it takes the place
    of an earlier build's when it is written; until the last file has, the manifest says that the directory is not
    finished, and no load takes it. ``releases`` are those of sources whose files do not state them.

    Raises:
        UsageError: The folder is somebody else's, or another build writes there.
        SnapshotError: The snapshot cannot be read or written, or has no source of the profile.
        InputError: The folder cannot be written.
    """
    makes_snapshot = not sources.is_file()
    _refuse_folder(out, recipe, makes_snapshot=makes_snapshot)
    try:
        make_folder(out)
        with _alone(out), temporary_folder(out) as partial:
            snapshot = partial / SNAPSHOT if makes_snapshot else sources
            if makes_snapshot:
                build_snapshot(sources, snapshot, schema, settings, releases=releases, progress=progress)
            stated = releases_of(snapshot, schema)
            with working_database(settings) as db, damage_named(snapshot):
                allow(db, partial)
                attach_snapshots(db, {"ref": snapshot})
                refuse_unserved(sources_of(db, snapshot), snapshot, schema)
                files, left_out = _Build(db, schema, recipe, stated, out).write(partial, progress)
            made = {"made_by": _MAKER, SNAPSHOT_MADE: makes_snapshot or made_by_build(out, snapshot=True)}
            manifest = made | _manifest(files, stated, partial)
            write_text(out / MANIFEST, json.dumps(made | {UNFINISHED: True}) + "\n")
            for name in (*recipe.by_file, *([SNAPSHOT] if makes_snapshot else [])):
                make_folder((out / name).parent)
                os.replace(partial / name, out / name)
            write_text(out / MANIFEST, json.dumps(manifest, indent=1) + "\n")
    except OSError as error:
        raise _unwritable(out, error) from error
    snapshot = out / SNAPSHOT if makes_snapshot else sources
    return BuiltDirectory(folder=out, snapshot=snapshot, files=files, left_out=left_out)


def _refuse_folder(out: Path, recipe: Recipe, *, makes_snapshot: bool) -> None:
    """Refuse a folder with files that no build made, before anything is written."""
    foreign = [] if made_by_build(out) else [*recipe.by_file, MANIFEST]
    if makes_snapshot and not made_by_build(out, snapshot=True):
        foreign.append(SNAPSHOT)
    if present := [name for name in foreign if (out / name).exists()]:
        raise UsageError(f"{out} has a {present[0]} that kgcheck build did not make", "name a new folder with --out")


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keep other builds out of the folder."""
    descriptor = os.open(out, os.O_RDONLY)
    try:
        if not lock_open_file(descriptor, exclusive=True):
            raise UsageError(f"another build writes in {out}", "wait for it, or name another folder with --out")
        yield
    finally:
        os.close(descriptor)


def _unwritable(out: Path, error: OSError | duckdb.Error) -> InputError:
    why = error.strerror if isinstance(error, OSError) else first_words(error)
    return InputError(f"cannot write {out}: {why}", write_hint(error, "another --out"))


@dataclass(eq=False)
class _Build:
    db: duckdb.DuckDBPyConnection
    schema: Schema
    recipe: Recipe
    releases: Sequence[SourceRelease]
    out: Path

    def __post_init__(self) -> None:
        self._sources = {release.source for release in self.releases}
        listed = "SELECT DISTINCT source FROM ref.topic WHERE topic = 'entity' AND complete"
        self._complete = {str(source) for (source,) in self.db.execute(listed).fetchall()}

    def write(self, partial: Path, progress: Progress) -> tuple[tuple[BuiltFile, ...], dict[str, dict[str, int]]]:
        """Write every file of the recipe into a folder; return the files, and the pairs left out by file and why."""
        files: list[BuiltFile] = []
        left_out: dict[str, dict[str, int]] = {}
        with progress.step("building the import directory", len(self.recipe.files)) as step:
            self._list_ids()
            for edges in self.recipe.edges:
                pattern = self.schema.pattern(edges.head, edges.relation, edges.tail)
                if causes := self._select_edges(edges, pattern):
                    left_out[edges.file] = causes
                files.append(self._write_edges(edges, pattern, partial / edges.file))
                step.advance()
            for nodes in self.recipe.nodes:
                files.append(self._write_nodes(nodes, self.schema.label(nodes.label), partial / nodes.file))
                step.advance()
        order = [entry.file for entry in self.recipe.files]
        files.sort(key=lambda file: order.index(file.file))
        return tuple(files), left_out

    def _list_ids(self) -> None:
        """Tables ``ids <label>``, what the authority lists, and ``named <label>``, what edges will name."""
        for label in self.schema.labels:
            issuer = label.authority
            namespace = f"AND namespace = {literal(issuer.namespace)}" if issuer.namespace else ""
            self.db.execute(f"""
                CREATE TEMP TABLE {_ids(label)} AS SELECT DISTINCT id, source FROM ref.lifecycle
                WHERE source = {_issuer(label, "id")} AND state = 'current'
                  AND regexp_full_match(id, {literal(label.id_pattern)}) {namespace};
                CREATE TEMP TABLE {_named(label)} (id VARCHAR, source VARCHAR)""").fetchall()

    def _is_node(self, label: Label, column: str) -> str:
        """SQL for whether an end is a node: its authority lists it, or cannot be said to lack it."""
        listed = f"{column} IN (SELECT id FROM {_ids(label)})"
        if label.authority.namespace:
            return listed
        known = "SELECT id FROM ref.lifecycle WHERE source = {}"
        if label.site:
            # A part of what its authority lists: gone where that is.
            gone = f"{known.format(literal(label.authority.source))} AND state <> 'current'"
            unlisted = f"{base(label, column)} NOT IN ({gone})"
        else:
            lists = [
                f"({is_issued} AND {base(label, column)} NOT IN ({known.format(literal(source))}))"
                for source, is_issued in _issuers(label, column).items()
                if source not in self._complete
            ]
            unlisted = f"({' OR '.join(lists) or 'false'})"
        return f"({listed} OR {unlisted} AND regexp_full_match({column}, {literal(label.id_pattern)}))"

    def _select_edges(self, entry: EdgeFile, pattern: Pattern) -> dict[str, int]:
        """Fill table ``edge``: head, tail, score and what it cites; count the pairs that are left out, by why.

        A pair is taken from the first of the sources that states it.
        """
        head, tail = self.schema.label(pattern.head), self.schema.label(pattern.tail)
        columns = "head VARCHAR, tail VARCHAR, score DOUBLE, cited VARCHAR, source VARCHAR"
        self.db.execute(f"CREATE OR REPLACE TEMP TABLE edge ({columns})").fetchall()
        pairs = ", ".join(f"({literal(check.source)}, {literal(check.link)})" for check in pattern.checks)
        denied = f"NOT retracted AND {f'(source, relation) IN ({pairs})' if pairs else 'false'}"
        self.db.execute(f"""
            CREATE OR REPLACE TEMP TABLE denied AS
            SELECT DISTINCT {_ends(pattern)} FROM ref.link WHERE negated AND {denied}""").fetchall()
        left_out = Counter[str]()
        wanted = entry.sources or {check.source: check.source for check in pattern.checks}
        checked = ((*one, check) for one in wanted.items() for check in pattern.checks if check.source == one[0])
        for source, cited, check in checked:
            links = self._links(check, pattern, cited)
            enough = f"coalesce(score >= {check.threshold}, true)" if check.threshold is not None else "true"
            self.db.execute(f"""
                CREATE OR REPLACE TEMP TABLE candidate AS
                WITH stated AS (
                    SELECT head, tail, max_by(score, [recency, score]) AS score, cited FROM ({links}) GROUP BY ALL
                    HAVING bool_or(NOT retracted AND {enough}))
                SELECT s.*, {self._is_node(head, "s.head")} AND {self._is_node(tail, "s.tail")} AS has_nodes,
                       d.head IS NOT NULL AS is_denied
                FROM stated s LEFT JOIN denied d ON d.head = s.head AND d.tail = s.tail;
                INSERT INTO edge SELECT head, tail, score, cited, {literal(source)} FROM candidate c
                WHERE has_nodes AND NOT is_denied
                  AND NOT EXISTS (FROM edge e WHERE e.head = c.head AND e.tail = c.tail)""").fetchall()
            left_out.update(self._left_out(head, tail))
        for end, label in (("head", head), ("tail", tail)):
            self.db.execute(
                f"INSERT INTO {_named(label)} SELECT DISTINCT {end}, source FROM edge "
                f"WHERE {end} NOT IN (SELECT id FROM {_named(label)})"
            ).fetchall()
        return dict(left_out)

    def _left_out(self, head: Label, tail: Label) -> dict[str, int]:
        """Count candidates that are no edges, by why, but for those of another pattern of the same links."""
        elsewhere = f"{self._is_elsewhere(head, 'head')} OR {self._is_elsewhere(tail, 'tail')}"
        patterns = {"head": literal(head.id_pattern), "tail": literal(tail.id_pattern)}
        formed = " AND ".join(f"regexp_full_match({end}, {pattern})" for end, pattern in patterns.items())
        return dict(
            self.db.execute(f"""
                SELECT CASE WHEN has_nodes THEN 'a denial' WHEN {formed} THEN 'an id that is not current'
                            ELSE 'an id of another form' END AS why, count(*)
                FROM candidate WHERE (has_nodes AND is_denied) OR NOT (has_nodes OR is_denied OR {elsewhere})
                GROUP BY why ORDER BY why""").fetchall()
        )

    def _is_elsewhere(self, label: Label, column: str) -> str:
        """SQL for whether an end is of another namespace; one that is of none counts once, with the first label."""
        if not label.authority.namespace:
            return "false"
        source = literal(label.authority.source)
        filed = f"SELECT id FROM ref.lifecycle WHERE source = {source} AND coalesce(namespace, '') <> ''"
        elsewhere = f"{column} IN ({filed} AND {filed_elsewhere(label, 'lifecycle')})"
        first = next(other for other in self.schema.labels if other.authority.source == label.authority.source)
        return elsewhere if label is first else f"({elsewhere} OR {column} NOT IN ({filed}))"

    def _links(self, check: EdgeCheck, pattern: Pattern, cited: str) -> str:
        """A select of the links that state an edge: head, tail, score, recency, retracted, and what an edge cites.

        A record that several releases state counts as the newest has it.
        """
        cites = literal(cited)
        if check.channels:
            channel = f"nullif(regexp_extract(record, {literal(_CHANNEL)}, 1), '')"
            cites = f"coalesce({cites} || ' (' || {channel} || ')', {cites})"
        loop = "AND head_now <> tail_now" if pattern.head == pattern.tail and not pattern.loops else ""
        of_source = f"source = {literal(check.source)} AND relation = {literal(check.link)}"
        ((releases,),) = self.db.execute(
            f"SELECT count(DISTINCT release_id) FROM ref.link WHERE {of_source}"
        ).fetchall()
        # A link of either order is one where order means nothing, and so are two records that name the ends.
        record = "array_to_string(list_sort(string_split(record, ' ')), ' ')" if pattern.symmetric else "record"
        best = "recency DESC, score DESC NULLS LAST"
        newest = f"QUALIFY row_number() OVER (PARTITION BY head, tail, key ORDER BY {best}) = 1"
        return f"""
        SELECT * FROM (
            SELECT {_ends(pattern)}, score, recency, retracted, {record} AS key, {cites} AS cited
            FROM ref.link l JOIN (SELECT id, recency FROM ref.release) r ON r.id = l.release_id
            WHERE {of_source} AND NOT negated {loop})
        {newest if releases > 1 else ""}"""

    def _write_edges(self, entry: EdgeFile, pattern: Pattern, path: Path) -> BuiltFile:
        columns = {entry.from_column: "head", entry.to_column: "tail", **_constants(entry, None)}
        unfilled = []
        for name, column in entry.properties.items():
            if column in columns:
                continue
            columns[column] = {"score": _SCORE, "source": "cited"}.get(name, "NULL")
            if columns[column] == "NULL":
                unfilled.append(name)
        rows = self._copy(columns, "FROM edge", path)
        found = self.db.execute("SELECT DISTINCT source FROM edge ORDER BY 1").fetchall()
        return _built(entry, rows, [str(source) for (source,) in found], unfilled)

    def _write_nodes(self, entry: NodeFile, label: Label, path: Path) -> BuiltFile:
        issuer = _issuer(label, "id")
        issued = f"AND {issuer} IN ({', '.join(map(literal, entry.sources))})" if entry.sources else ""
        linked = f"AND id IN (SELECT id FROM {_named(label)})" if entry.linked else ""
        self.db.execute(f"""
            CREATE OR REPLACE TEMP TABLE node AS
            SELECT id, min(source) AS source FROM (
                SELECT * FROM {_ids(label)} WHERE true {issued} {linked}
                UNION ALL
                SELECT id, source FROM {_named(label)} WHERE id NOT IN (SELECT id FROM {_ids(label)}) {issued})
            GROUP BY id""").fetchall()
        columns = {entry.id: "id", **_constants(entry, label)}
        joins, unfilled, sources = [], [], set[str]()
        for name, column in entry.properties.items():
            if column in columns:
                continue
            check = self._stating(entry, label, name)
            if name == "source" and entry.sources:
                cited = " ".join(f"WHEN {literal(s)} THEN {literal(c)}" for s, c in entry.sources.items())
                columns[column] = f"CASE {issuer} {cited} END"
            elif label.species and label.species.property == name and label.species.form and label.species.codes:
                code = f"regexp_extract(id, {literal(anchored(label.species.form))}, 1)"
                cases = (f"WHEN {literal(of)} THEN {literal(ids[0])}" for of, ids in label.species.codes.items())
                columns[column] = f"CASE {code} {' '.join(cases)} END"
            elif check and (stating := self._read_values(label, name, check)):
                joins.append(f"LEFT JOIN {identifier(f'values {name}')} USING (id)")
                columns[column] = identifier(f"value {name}")
                sources |= stating
            else:
                columns[column] = "NULL"
                unfilled.append(name)
        rows = self._copy(columns, f"FROM node {' '.join(joins)}", path)
        found = {str(source) for (source,) in self.db.execute("SELECT DISTINCT source FROM node").fetchall()}
        return _built(entry, rows, sorted((found | sources) & self._sources if rows else []), unfilled)

    def _stating(self, entry: NodeFile, label: Label, name: str) -> AttributeCheck | None:
        """The check that tells where the value of a property stands; other names are the synonyms of the first name."""
        if name in entry.values:
            issuer = next(iter(entry.sources), label.authority.source)
            return AttributeCheck(source=issuer, reference=entry.values[name])
        if name in label.attributes:
            return label.attributes[name]
        if name in label.names and label.properties[name].type == "strings" and "name" in label.attributes:
            return label.attributes["name"].model_copy(update={"every": True, "otherwise": None})
        return None

    def _read_values(self, label: Label, name: str, check: AttributeCheck) -> set[str]:
        """Table ``values <property>``: the value of each node, as an audit reads it; the sources that state any."""
        known_by = sequence if check.reference in OF_ONE_SEQUENCE else base
        statuses = "('current', 'synonym')" if check.every else "('current')"
        stated = f"""
        SELECT n.id, v.value, 1 AS place FROM node n
        JOIN (SELECT v.*, r.recency, max(r.recency) FILTER (status = 'current') OVER (PARTITION BY v.id) AS newest
              FROM ref.value v JOIN ref.release r ON r.id = v.release_id
              WHERE v.source = {literal(check.source)} AND v.attribute = {literal(check.reference)}) v
        ON v.id = {known_by(label, "n.id")} AND v.recency = v.newest AND v.status IN {statuses}"""
        if check.otherwise:
            stated += f"""
            UNION ALL SELECT n.id, l.head_now, 2 FROM node n JOIN ref.link l ON l.tail_now = {base(label, "n.id")}
            WHERE l.source = {literal(check.otherwise.source)} AND l.relation = {literal(check.otherwise.link)}
              AND NOT l.negated AND NOT l.retracted"""
        self.db.execute(f"""
            CREATE OR REPLACE TEMP TABLE stated_value AS
            SELECT * FROM ({stated}) QUALIFY place = min(place) OVER (PARTITION BY id)""").fetchall()
        separator, value = literal(self.recipe.format.list_separator), "min(value)"
        if label.properties[name].type == "strings":
            # A name with the separator in it would be read as two.
            whole = f"FILTER (NOT contains(value, {separator}))"
            value = f"string_agg(DISTINCT value, {separator} ORDER BY value) {whole}"
        self.db.execute(f"""
            CREATE OR REPLACE TEMP TABLE {identifier(f"values {name}")} AS
            SELECT id, {value} AS {identifier(f"value {name}")} FROM stated_value GROUP BY id""").fetchall()
        of_place = {1: check.source, 2: check.otherwise.source if check.otherwise else ""}
        return {of_place[place] for (place,) in self.db.execute("SELECT DISTINCT place FROM stated_value").fetchall()}

    def _copy(self, columns: dict[str, str], source: str, path: Path) -> int:
        path.parent.mkdir(parents=True, exist_ok=True)
        # One record a line: what would end a line or a field is a space, and so is what no load takes.
        plain = r"regexp_replace({}, '[\t\r\n\x00]+', ' ', 'g') AS {}"
        cells = ", ".join(plain.format(value, identifier(name)) for name, value in columns.items())
        form = "FORMAT csv, DELIMITER '\t', HEADER true, NULL ''"
        select = f"SELECT {cells} {source} ORDER BY ALL"
        try:
            ((rows,),) = self.db.execute(f"COPY ({select}) TO {literal(str(path))} ({form})").fetchall()
        except duckdb.IOException as error:
            # Else it is the working database that is full.
            if str(path) not in str(error):
                raise
            raise _unwritable(self.out, error) from error
        return int(rows)


def _issuers(label: Label, column: str) -> dict[str, str]:
    """By source that issues ids of a label: SQL for whether an id is of its form."""
    issuer = label.authority
    if not issuer.other:
        return {issuer.source: "true"}
    of_source = f"regexp_full_match({column}, {literal(issuer.pattern or '.*')})"
    return {issuer.source: of_source, issuer.other: f"NOT {of_source}"}


def _issuer(label: Label, column: str) -> str:
    """SQL for the source that issues an id."""
    issuers = _issuers(label, column).items()
    cases = " ".join(f"WHEN {is_issued} THEN {literal(source)}" for source, is_issued in issuers)
    return f"CASE {cases} END"


def _ends(pattern: Pattern) -> str:
    """SQL for the ends of a link today, in one order where order means nothing."""
    if pattern.symmetric:
        return "least(head_now, tail_now) AS head, greatest(head_now, tail_now) AS tail"
    return "head_now AS head, tail_now AS tail"


def _constants(entry: NodeFile | EdgeFile, label: Label | None) -> dict[str, str]:
    """SQL for the columns of constants."""

    def value(text: str) -> str:
        pieces = [literal(part) for part in PLACE.split(text)]
        for number, name in enumerate(PLACE.findall(text)):
            pieces[2 * number + 1] = part_of_id(label, "id", name) if label and name != "id" else "id"
        return " || ".join(pieces)

    return {column: value(text) for column, text in entry.constants.items()}


def _built(entry: NodeFile | EdgeFile, rows: int, sources: Sequence[str], unfilled: Sequence[str]) -> BuiltFile:
    unfilled = tuple(unfilled if rows else ())
    return BuiltFile(file=entry.file, target=entry.target, rows=rows, sources=tuple(sources), unfilled=unfilled)


def _ids(label: Label) -> str:
    return identifier(f"ids {label.name}")


def _named(label: Label) -> str:
    return identifier(f"named {label.name}")


def _manifest(files: Sequence[BuiltFile], releases: Sequence[SourceRelease], folder: Path) -> dict[str, object]:
    def origin(release: SourceRelease) -> dict[str, str]:
        return {
            "name": release.name,
            "version": " ".join(filter(None, (release.release, f"({release.released})" if release.released else ""))),
            "licence": release.licence,
            "source": release.source,
            "file": release.file,
            "sha256": release.sha256,
        }

    return {
        "made_at": clock.now().isoformat(),
        "files": {
            file.file: {
                "target": file.target,
                "rows": file.rows,
                "sha256": sha256_of(folder / file.file),
                "sources": [origin(release) for release in releases if release.source in file.sources],
            }
            for file in files
        },
    }
