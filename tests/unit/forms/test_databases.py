"""Graphs in database files: SQLite and DuckDB, of a test's own and a real one."""

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgcheck.duck import connected
from kgcheck.errors import InputFormat, KgcheckError
from kgcheck.forms import databases
from kgcheck.forms.databases import FORMS
from kgcheck.forms.form import GraphForm
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables
from tests.support.graph_files import ReadGraph

KGX = """
CREATE TABLE nodes (id VARCHAR, category VARCHAR, name VARCHAR);
INSERT INTO nodes VALUES ('A:1', 'biolink:Gene|biolink:Protein', 'a'), ('A:2', NULL, NULL), ('', 'x', 'no id');
CREATE TABLE edges (id VARCHAR, subject VARCHAR, predicate VARCHAR, object VARCHAR, negated VARCHAR, n INTEGER);
INSERT INTO edges VALUES ('e1', 'A:1', 'biolink:x', 'A:2', 'false', 1), ('e2', 'A:1', 'biolink:x', 'A:2', 'True', 1),
    ('e3', NULL, 'biolink:x', 'A:2', NULL, 1), ('e4', 'A:2', '', 'A:2', NULL, 1);
CREATE VIEW denormalized_edges AS SELECT * FROM edges;
CREATE TABLE closure (subject_id VARCHAR, object_id VARCHAR);
"""


def sqlite(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script)
    return path


def duck(path: Path, script: str) -> Path:
    with connected(str(path)) as db:
        db.execute(script).fetchall()
    return path


MAKERS = pytest.mark.parametrize("make", [sqlite, duck])
Make = Callable[[Path, str], Path]


@MAKERS
def test_tables_of_kgx(tmp_path: Path, make: Make) -> None:
    graph = ReadGraph(FORMS, make(tmp_path / "kg.db", KGX))

    assert graph.form.name == ("SQLite" if make is sqlite else "DuckDB")
    assert graph.nodes == {"A:1": (["biolink:Gene", "biolink:Protein"], {"name": "a"}), "A:2": ([], {})}
    assert graph.edges == [("A:1", "biolink:x", "A:2")]
    assert graph.rows("SELECT properties FROM edge") == [({"id": "e1", "n": "1"},)]
    assert graph.tables.negated == {"kg.db": 1}
    assert graph.tables.lists_nodes
    rejected = [reason for _, reason, _ in graph.rejected]
    assert len(rejected) == 3
    assert set(rejected) == {"no_end", "no_id"}


@MAKERS
def test_each_rejected_row_counts(tmp_path: Path, make: Make) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
    graph = ReadGraph(
        FORMS,
        make(
            tmp_path / "kg.db",
            "CREATE TABLE edges (subject VARCHAR, predicate VARCHAR, object VARCHAR);"
            f"INSERT INTO edges {numbers} SELECT CASE WHEN i % 2 = 0 THEN 'A:1' END, 'x', 'A:2' FROM n",
        ),
    )

    assert len(graph.rejected) == 1_500
    assert graph.tables.count("edge") == 1_500


@MAKERS
def test_a_table_of_edges_alone_under_another_name(tmp_path: Path, make: Make) -> None:
    script = """CREATE TABLE "od""d names" (head VARCHAR, "a ' b" VARCHAR, tail VARCHAR);
        INSERT INTO "od""d names" VALUES ('A', 'c', 'B'); CREATE TABLE other (x INTEGER)"""
    graph = ReadGraph(FORMS, make(tmp_path / "kg.db", script))

    assert graph.edges == [("A", "edge", "B")]
    assert not graph.tables.lists_nodes
    assert graph.rows("SELECT properties FROM edge") == [({"a ' b": "c"},)]


@MAKERS
def test_what_cannot_be_told_apart_is_refused(tmp_path: Path, make: Make) -> None:
    two = "CREATE TABLE a (head INTEGER, tail INTEGER); CREATE TABLE b (head INTEGER, tail INTEGER)"
    with pytest.raises(InputFormat, match="several tables that may be meant: a, b"):
        ReadGraph(FORMS, make(tmp_path / "two.db", two))
    # Views are not read: they may run anything.
    view = "CREATE TABLE x (y INTEGER); CREATE VIEW edges AS SELECT 1 AS subject, 2 AS predicate, 3 AS object"
    with pytest.raises(InputFormat, match="no table of edges; its tables: x"):
        ReadGraph(FORMS, make(tmp_path / "none.db", view))


def test_columns_of_lists_and_structs(tmp_path: Path) -> None:
    path = duck(tmp_path / "kg.duckdb", """
        CREATE TABLE nodes (id VARCHAR, category VARCHAR[], xref VARCHAR[], deep STRUCT(a INTEGER), wide INTEGER[][]);
        INSERT INTO nodes VALUES ('A', ['x', 'y', ''], ['p', 'q'], {a: 1}, [[1], [2]]), ('B', NULL, [], NULL, NULL);
        CREATE TABLE edges (subject VARCHAR, predicate VARCHAR, object VARCHAR)""")  # fmt: skip
    graph = ReadGraph(FORMS, path)

    assert graph.nodes == {"A": (["x", "y"], {"xref": "p|q", "deep": '{"a":1}', "wide": "[[1],[2]]"}), "B": ([], {})}


def test_what_sqlite_lets_stand_is_read_or_rejected(tmp_path: Path) -> None:
    path = sqlite(tmp_path / "kg.db", """
        CREATE TABLE edges (subject, predicate, object, p);
        INSERT INTO edges VALUES (1, 'x', x'41', 2.5), ('A', x'ff00', CAST(x'41ff' AS TEXT), NULL), (1.5, 'x', 2, 3);
        """)  # fmt: skip
    graph = ReadGraph(FORMS, path)

    assert graph.edges == [("1", "x", "41"), ("1.5", "x", "2"), ("A", "ff00", "A\\xff")]
    assert graph.rejected == []


def test_a_file_that_takes_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sqlite(tmp_path / "kg.db", KGX)
    with closing(sqlite3.connect(path)) as db:
        db.executemany("INSERT INTO edges (subject, predicate, object) VALUES (?, 'x', 'y')", [("a",)] * 50_000)
        db.commit()
    monkeypatch.setattr(databases, "_STEPS_A_BYTE", 0)
    monkeypatch.setattr(databases, "_EVERY", 1_000)

    with pytest.raises(InputFormat, match="interrupted"):
        ReadGraph(FORMS, path)


SEMANTIC = """
CREATE TABLE statements (stanza TEXT, subject TEXT, predicate TEXT, object TEXT, value TEXT, datatype TEXT);
CREATE VIEW edge AS SELECT 1 AS subject, 2 AS predicate, 3 AS object;
INSERT INTO statements (subject, predicate, object, value) VALUES
    ('GO:1', 'rdf:type', 'owl:Class', NULL), ('GO:1', 'rdfs:label', NULL, 'one'),
    ('GO:1', 'owl:deprecated', NULL, 'true'), ('GO:1', 'IAO:0000115', NULL, 'A part.'),
    ('GO:1', 'oio:hasExactSynonym', NULL, 's1'),
    ('GO:1', 'oio:hasBroadSynonym', NULL, 's2'), ('GO:1', 'IAO:0100001', 'GO:2', NULL),
    ('GO:1', 'owl:equivalentClass', '_:g3', NULL),
    ('GO:1', 'rdfs:subClassOf', 'GO:2', NULL), ('GO:1', 'rdfs:subClassOf', '_:g1', NULL),
    ('_:g1', 'rdf:type', 'owl:Restriction', NULL), ('_:g1', 'owl:onProperty', 'BFO:0000050', NULL),
    ('_:g1', 'owl:someValuesFrom', 'GO:3', NULL),
    ('_:g2', 'rdf:type', 'owl:Class', NULL), ('_:g2', 'rdfs:subClassOf', 'GO:2', NULL),
    ('BFO:0000050', 'rdf:type', 'owl:ObjectProperty', NULL), ('BFO:0000050', 'rdfs:subPropertyOf', 'RO:1', NULL),
    ('<http://x.org/i>', 'rdf:type', 'owl:NamedIndividual', NULL), ('<http://x.org/i>', 'rdf:type', 'GO:1', NULL),
    ('obo:go.owl', 'rdf:type', 'owl:Ontology', NULL), ('obo:go.owl', 'dcterms:title', NULL, 'GO');
"""


def test_semantic_sql(tmp_path: Path) -> None:
    graph = ReadGraph(FORMS, sqlite(tmp_path / "go.db", SEMANTIC))

    assert graph.form.name == "SQLite (semantic-sql)"
    assert graph.nodes == {
        "GO:1": (["Class"], {
            "name": "one", "deprecated": "true", "definition": "A part.", "synonyms": "s1|s2", "IAO:0100001": "GO:2",
        }),
        "BFO:0000050": (["Property"], {}),
        "http://x.org/i": (["Individual"], {}),
    }  # fmt: skip
    assert graph.edges == [
        ("BFO:0000050", "rdfs:subPropertyOf", "RO:1"),
        ("GO:1", "BFO:0000050", "GO:3"),
        ("GO:1", "rdfs:subClassOf", "GO:2"),
        ("http://x.org/i", "rdf:type", "GO:1"),
    ]
    assert graph.tables.notes == ["go.db: read without 1 edge of classes that have no name"]
    assert not graph.tables.lists_nodes


@pytest.mark.parametrize("begin", [b"SQLite format 3\0", b"\0" * 8 + b"DUCK"])
def test_a_file_cut_off_behind_its_beginning_is_refused(tmp_path: Path, begin: bytes) -> None:
    path = tmp_path / "kg.db"
    path.write_bytes(begin + b"\1" * 600)

    with pytest.raises(InputFormat, match="cannot be read as a") as caught:
        ReadGraph(FORMS, path)
    assert caught.value.hint


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[bytes, GraphForm]]:
    folder = tmp_path_factory.mktemp("whole")
    scripts = {"kgx": KGX, "semantic": SEMANTIC}
    return [
        (sqlite(folder / name, script).read_bytes(), form)
        for (name, script), form in zip(scripts.items(), (FORMS[1], FORMS[0]), strict=True)
    ]


@given(place=st.integers(16, 12_000), put=st.binary(min_size=1, max_size=40))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_damage_to_sqlite_ends_in_tables_or_an_error_for_people(
    tmp_path: Path, whole_files: list[tuple[bytes, GraphForm]], place: int, put: bytes
) -> None:
    path = tmp_path / "kg.db"
    for whole, form in whole_files:
        at = place % len(whole)
        path.write_bytes(whole[:at] + put + whole[at + len(put) :])
        with suppress(KgcheckError), connected() as db:
            form.read([Source("kg.db", path)], GraphTables(db))


@pytest.mark.parametrize("statement", ["SELECT hex('a')", "ATTACH ':memory:' AS b", "PRAGMA query_only = OFF"])
def test_sqlite_runs_nothing_but_reading(tmp_path: Path, statement: str) -> None:
    path = sqlite(tmp_path / "kg.db", KGX)
    with pytest.raises(InputFormat, match="not authorized"), databases._sqlite(Source("kg.db", path)) as db:
        db.execute(statement).fetchall()


def test_duckdb_reads_no_other_file(tmp_path: Path) -> None:
    path, other = duck(tmp_path / "kg.db", KGX), tmp_path / "other.txt"
    other.write_text("secret")
    with pytest.raises(InputFormat, match="cannot be read"), databases._duckdb(Source("kg.db", path)) as db:
        db.execute(f"SELECT * FROM read_text('{other}')").fetchall()


def test_a_file_is_left_as_it_is(tmp_path: Path) -> None:
    for make, script in ((sqlite, "PRAGMA journal_mode = WAL;" + KGX), (duck, KGX)):
        path = make(tmp_path / f"{make.__name__}.db", script)
        before = path.read_bytes()
        ReadGraph(FORMS, path)
        assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["duck.db", "sqlite.db"]


def test_a_generated_column_runs_nothing(tmp_path: Path) -> None:
    path = sqlite(tmp_path / "kg.db", """
        CREATE TABLE edges (subject TEXT, predicate TEXT, object TEXT, bad TEXT AS (hex(zeroblob(100000000))));
        INSERT INTO edges VALUES ('A', 'x', 'B');""")  # fmt: skip

    assert ReadGraph(FORMS, path).edges == [("A", "x", "B")]
