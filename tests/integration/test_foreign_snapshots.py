"""Snapshots that somebody else made, or that are damaged: refused by name, and nothing of this machine is read."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from kgcheck.bench.truth import Truths
from kgcheck.cli.main import run
from kgcheck.errors import KgcheckError, SnapshotError
from kgcheck.evidence.source import SnapshotSource
from kgcheck.reference.difference import compare_snapshots
from kgcheck.reference.names import SnapshotNames
from kgcheck.reference.overlay import attach_snapshot
from kgcheck.reference.snapshot import Snapshot
from tests.support import quick_of
from tests.support.audits import demo
from tests.support.facts import SCHEMA, SETTINGS, world

SECRET = "s3cret of this machine"
TABLES = "meta release topic covered entity value link lifecycle ancestor".split()
BUILTINS = ("lower", "coalesce_", "list_contains", "array_to_string", "string_split", "count", "concat_ws")


def _with(statement: str) -> Callable[[Path, Path], None]:
    def change(snapshot: Path, secret: Path) -> None:
        with duckdb.connect(str(snapshot)) as db:
            db.execute(statement.replace("SECRET", str(secret))).fetchall()

    return change


def _view_instead_of(table: str) -> Callable[[Path, Path], None]:
    def change(snapshot: Path, secret: Path) -> None:
        with duckdb.connect(str(snapshot)) as db:
            columns = [c[0] for c in db.execute(f"SELECT * FROM {table} LIMIT 0").description]
            db.execute(f"ALTER TABLE {table} RENAME TO kept").fetchall()
            read = f"(SELECT content FROM read_text('{secret}'))"
            typed = [
                f"CASE WHEN typeof({c}) = 'VARCHAR' THEN coalesce({c}::VARCHAR, {read}) END AS {c}"
                if c in ("name", "licence", "value", "record")
                else c
                for c in columns
            ]
            db.execute(f"CREATE VIEW {table} AS SELECT {', '.join(typed)} FROM kept").fetchall()

    return change


ATTACKS: dict[str, Callable[[Path, Path], None]] = {
    **{f"view {table}": _view_instead_of(table) for table in TABLES},
    **{f"macro {name}": _with(f"CREATE MACRO {name}(x) AS 'shadow'") for name in BUILTINS},
    "view beside": _with("CREATE VIEW other AS FROM read_text('SECRET')"),
    "table macro": _with("CREATE MACRO releases() AS TABLE FROM read_text('SECRET')"),
    "trigger": _with(
        "CREATE TRIGGER other AFTER INSERT ON value REFERENCING NEW TABLE AS added FOR EACH STATEMENT "
        "INSERT INTO meta SELECT 'key', content FROM added, read_text('SECRET')"
    ),
    "sequence": _with("CREATE SEQUENCE counted"),
    "schema": _with("CREATE SCHEMA other; CREATE TABLE other.value (x INT)"),
    "type": _with("CREATE TYPE mood AS ENUM ('a')"),
    "table beside": _with("CREATE TABLE other (x INT)"),
    "default": _with("ALTER TABLE value ALTER attribute SET DEFAULT upper('x')"),
    "column beside": _with("ALTER TABLE value ADD COLUMN other VARCHAR"),
    "column of another type": _with("ALTER TABLE link ALTER score TYPE VARCHAR"),
    "column of another name": _with("ALTER TABLE link RENAME score TO scores"),
    "column lacks": _with("ALTER TABLE value DROP record"),
    "table lacks": _with("DROP TABLE ancestor"),
    "no meta": _with("DROP TABLE meta"),
    "index over an expression": _with("CREATE INDEX odd ON value ((lower(value)))"),
    "generated column": _with(
        "ALTER TABLE topic RENAME TO kept; CREATE TABLE topic (release_id INTEGER, source VARCHAR, "
        "topic VARCHAR AS (upper(source)), complete BOOLEAN); DROP TABLE kept"
    ),
    "constraint": _with(
        "DROP TABLE ancestor; CREATE TABLE ancestor (ontology VARCHAR CHECK (length(ontology) > 0), id VARCHAR, "
        "ancestor VARCHAR)"
    ),
    "log beside": lambda snapshot, secret: snapshot.with_name(snapshot.name + ".wal").symlink_to(secret),
}


ALIKE = {f"view {table}" for table in TABLES[1:]} | {f"macro {name}" for name in BUILTINS[1:]}
"""The same is done to one table or function after the other."""


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text(SECRET, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return world().build(tmp_path_factory.mktemp("good"))


@pytest.fixture
def bad(tmp_path: Path, good: Path, secret: Path, attack: str) -> Path:
    path = tmp_path / "bad.duckdb"
    shutil.copy(good, path)
    ATTACKS[attack](path, secret)
    return path


@pytest.mark.parametrize("attack", quick_of(ATTACKS, "view value", *ATTACKS.keys() - ALIKE))
def test_snapshot_that_holds_more_or_less_than_a_snapshot_is_refused_by_name(bad: Path, attack: str) -> None:
    with duckdb.connect() as db, pytest.raises(SnapshotError) as caught:
        attach_snapshot(db, bad)
    assert str(bad) in caught.value.message
    assert caught.value.hint
    assert SECRET not in caught.value.message
    if attack.startswith(("view", "macro")):
        kind, name = attack.replace("beside", "other").split()
        assert f"it holds the {kind} {name!r}" in caught.value.message


# The quick ones might read it without being asked.
@pytest.mark.parametrize(
    "attack", quick_of(ATTACKS, "view value", "view beside", "table macro", "trigger", "log beside")
)
def test_such_a_snapshot_is_refused_on_the_command_line(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reference", "show", str(bad)]) == 2
    shown = capsys.readouterr()
    assert SECRET not in shown.out + shown.err
    assert "fault in kgcheck" not in shown.err


@pytest.mark.slow
def test_every_way_to_open_a_snapshot_refuses_a_view(
    tmp_path: Path, good: Path, secret: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, store = tmp_path / "bad.duckdb", demo().store
    shutil.copy(good, bad)
    ATTACKS["view value"](bad, secret)

    for use in (
        lambda: Snapshot(bad, SCHEMA),
        lambda: SnapshotSource(bad, SCHEMA, SETTINGS),
        lambda: SnapshotNames(bad, SCHEMA),
        lambda: Truths(bad),
        lambda: compare_snapshots(good, bad, SCHEMA),
    ):
        with pytest.raises(SnapshotError, match="it holds the view 'value'"):
            use()
    over = ["--store", str(store), "--reference", str(bad)]
    for arguments in (
        ["reference", "diff", str(good), str(bad)],
        ["audit", *over, "--ledger", str(tmp_path / "l.sqlite")],
        ["check", "existence", "Protein", "P04637", *over, "--ledger", str(tmp_path / "l.sqlite")],
        ["bench", "make", *over, "--out", str(tmp_path / "b.jsonl")],
    ):
        assert run(arguments) == 2, arguments
    shown = capsys.readouterr()
    assert shown.err.count("holds the view 'value'") == 4
    assert SECRET not in shown.out + shown.err


def test_a_snapshot_that_was_opened_is_looked_at_again_after_a_change(tmp_path: Path, good: Path, secret: Path) -> None:
    snapshot, other = tmp_path / "reference.duckdb", tmp_path / "other.duckdb"
    shutil.copy(good, snapshot)
    shutil.copy(good, other)
    Snapshot(snapshot, SCHEMA).close()
    before = snapshot.stat()

    ATTACKS["view value"](snapshot, secret)
    os.utime(snapshot, ns=(before.st_atime_ns, before.st_mtime_ns))

    with pytest.raises(SnapshotError, match="it holds the view 'value'"):
        Snapshot(snapshot, SCHEMA)
    other.replace(snapshot)
    Snapshot(snapshot, SCHEMA).close()


def test_nothing_else_is_read_by_a_connection_that_has_a_snapshot(tmp_path: Path, good: Path, secret: Path) -> None:
    with duckdb.connect() as db:
        attach_snapshot(db, good)
        for statement in (
            f"FROM read_text('{secret}')",
            f"FROM read_csv('{secret}')",
            f"FROM '{secret}'",
            f"FROM glob('{tmp_path}/*')",
            f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
            f"ATTACH '{tmp_path / 'new.duckdb'}' AS new",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SET enable_external_access = true",
            f"SET allowed_paths = ['{secret}']",
            "FROM read_csv('https://127.0.0.1:1/x.csv')",
            "FROM here",
        ):
            here = db  # noqa: F841 a name that DuckDB for Python would look up
            with pytest.raises(duckdb.Error):
                db.execute(statement).fetchall()
        assert db.execute("SELECT count(*) FROM ref.release").fetchall()[0][0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret.txt"]


def test_snapshot_behind_a_link_is_one(tmp_path: Path, good: Path) -> None:
    link = tmp_path / "link.duckdb"
    link.symlink_to(good)

    with Snapshot(link, SCHEMA) as snapshot:
        assert snapshot.releases()


# damage


@pytest.mark.slow
def test_snapshot_that_is_cut_short_or_garbled_is_told(
    tmp_path: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = good.read_bytes()
    places = range(4096, len(whole), max(len(whole) // 6, 1))
    cases = {
        "one byte short": whole[:-1],
        "half": whole[: len(whole) // 2],
        "header": whole[:4096],
        "empty": b"",
        "text": b"no database\n",
        **{f"garbled at {n}": whole[:n] + os.urandom(64) + whole[n + 64 :] for n in places},
    }
    told = 0
    for name, content in cases.items():
        bad = tmp_path / "bad.duckdb"
        bad.write_bytes(content)
        code = run(["reference", "diff", str(good), str(bad)])
        said = capsys.readouterr().err
        assert "fault in kgcheck" not in said, (name, said)
        assert code in (0, 2), name
        if code:
            told += 1
            assert str(bad) in said, (name, said)
            assert len(said.strip().splitlines()) == 2, (name, said)
        try:
            source = SnapshotSource(bad, SCHEMA, SETTINGS)
            source.stated("uniprot", "P04637")
            source.retracted(["PMID:1"])
        except KgcheckError as error:
            assert str(bad) in error.message  # noqa: PT017
    assert told >= 5
