"""Recipes that somebody else made: a select asks the file and the snapshot, and a pattern stays in its folder."""

import shutil
from itertools import product
from pathlib import Path

import pytest
from pydantic import ValidationError

from kgcheck.errors import ConfigurationError, InputError, KgcheckError, SnapshotError
from kgcheck.evidence.source import SnapshotSource
from kgcheck.profile.import_files import NodeFile
from kgcheck.profile.reference_files import ReferenceFile, ReferenceRecipe, RowSelect, load_reference_recipes
from kgcheck.reference import build
from kgcheck.reference.selects import refusal
from tests.support.facts import SCHEMA, SETTINGS, world

SECRET = "s3cret of this machine"
READERS = (
    *("read_text('{s}')", "read_blob('{s}')", "read_csv('{s}')", "read_json('{s}')", "read_parquet('{s}')"),
    *("glob('{d}/*')", "'{s}'", "read_csv('https://127.0.0.1:1/x.csv')", "query('SELECT 1')", "duckdb_settings()"),
    *("duckdb_secrets()", "sniff_csv('{s}')", "parquet_metadata('{s}')", "query_table('file')", "range(1000000000)"),
    *("information_schema.tables", "duckdb_tables", "sqlite_master", "(SHOW TABLES)", "(DESCRIBE file)"),
)
FRAMES = (
    "SELECT * FROM {r}",
    "FROM {r}",
    "SELECT a AS id FROM file WHERE EXISTS (FROM {r})",
    "SELECT (SELECT count(*) FROM {r}) AS id FROM file",
    "WITH x AS (FROM {r}) SELECT a AS id FROM file, x",
    "SELECT a AS id FROM file UNION ALL SELECT 'x' FROM {r}",
    "SELECT a AS id FROM file f JOIN {r} ON true",
    "SELECT list_transform([1], lambda x: (SELECT count(*) FROM {r})) AS id FROM file",
)
STATEMENTS = (
    "COPY (SELECT 1) TO '{d}/written'",
    "WITH x AS (COPY (SELECT 1) TO '{d}/written') SELECT a AS id FROM file",
    "WITH x AS (INSERT INTO value VALUES (1) RETURNING *) SELECT a AS id FROM file",
    "ATTACH '{d}/written' AS x",
    "SELECT a AS id FROM file); ATTACH '{d}/written' AS x; SELECT * FROM (FROM file",
    "SELECT a AS id FROM file); COPY (SELECT 1) TO '{d}/written' --",
    "SELECT a AS id FROM file; COPY (SELECT 1) TO '{d}/written'",
    *("INSTALL httpfs", "LOAD httpfs", "SET lock_configuration = false", "PRAGMA version", "EXPLAIN SELECT 1", ""),
    "SELECT getenv('HOME') AS id FROM file",
    "SELECT current_setting('home_directory') AS id FROM file",
    "SELECT getvariable('x') AS id FROM file",
    "SELECT write_log('x') AS id FROM file",
    "SELECT nextval('x') AS id FROM file",
    "SELECT other.lower(a) AS id FROM file",
    "WITH RECURSIVE x AS (SELECT 1 AS a UNION ALL SELECT a FROM x) SELECT a AS id FROM x",
)
ESCAPES = [*(f.replace("{r}", r) for f, r in product(FRAMES, READERS)), *STATEMENTS]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.tsv").write_text("a\tb\n1\t2\n")
    return tmp_path / "in"


def _recipe(select: str, glob: str = "a.tsv") -> ReferenceRecipe:
    file = ReferenceFile(
        glob=glob, format="tsv", release="1", topics={"entity": False}, rows=(RowSelect(table="entity", select=select),)
    )
    return ReferenceRecipe(source="go", name="GO", licence="CC0", files=(file,))


@pytest.mark.parametrize("escape", ESCAPES)
def test_select_that_leaves_the_file_and_the_snapshot_is_refused(escape: str) -> None:
    assert refusal(escape.format(s="/secret", d="/folder"))


def test_selects_of_the_profile_are_taken() -> None:
    selects = [r.select for recipe in load_reference_recipes(SCHEMA) for f in recipe.files for r in f.rows]

    assert len(selects) > 30
    assert [why for s in selects if (why := refusal(s))] == []


def test_refused_select_builds_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = _recipe(f"SELECT content AS id FROM read_text('{folder.parent / 'secret'}')")
    monkeypatch.setattr(build, "load_reference_recipes", lambda schema: [recipe])

    with pytest.raises(ConfigurationError, match=r"recipe of 'go' is refused: it reads read_text"):
        build.build_snapshot(folder, folder.parent / "x.duckdb", SCHEMA, SETTINGS)

    assert sorted(p.name for p in folder.parent.iterdir()) == ["in", "secret"]


@pytest.mark.parametrize("escape", ["SELECT content AS id FROM read_text('{s}')", *STATEMENTS[:7]])
def test_select_that_nobody_refused_still_reaches_nothing(
    folder: Path, escape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second wall: what the first would let through runs in a database that reaches no other file."""
    secret = folder.parent / "secret"
    recipe = _recipe(escape.format(s=secret, d=folder.parent))
    monkeypatch.setattr(build, "load_reference_recipes", lambda schema: [recipe])
    monkeypatch.setattr(build, "refusal", lambda select: "")

    with pytest.raises(Exception) as caught:  # noqa: PT011 DuckDB's own errors, too
        build.build_snapshot(folder, folder.parent / "x.duckdb", SCHEMA, SETTINGS)

    assert SECRET not in str(caught.value)
    assert sorted(p.name for p in folder.parent.iterdir()) == ["in", "secret"]


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret", "~/x", "..", "", "a\\b", "a\0b"])
def test_name_that_leads_out_of_the_folder_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        ReferenceFile(glob=name, format="tsv")
    if name:
        with pytest.raises(ValidationError):
            ReferenceFile(glob="a.tsv", format="tsv", save_as=name)
    with pytest.raises(ValidationError):
        NodeFile(file=name, label="Protein", id="ID")


def test_link_that_leads_out_of_the_folder_is_refused(folder: Path) -> None:
    (folder / "bto.obo").symlink_to(folder.parent / "secret")

    with pytest.raises(InputError, match=r"bto\.obo leads out of"):
        build.build_snapshot(folder, folder.parent / "x.duckdb", SCHEMA, SETTINGS)


def test_link_of_a_facts_folder_is_refused(folder: Path) -> None:
    facts = world().write(folder / "facts")
    (facts / "value.tsv").unlink()
    (facts / "value.tsv").symlink_to(folder.parent / "secret")

    with pytest.raises(KgcheckError, match=r"value\.tsv leads out of"):
        build.build_snapshot(folder, folder.parent / "x.duckdb", SCHEMA, SETTINGS)


@pytest.mark.slow
def test_folder_whose_name_is_a_pattern_is_read(tmp_path: Path) -> None:
    for name in ("[x] {a,b}", "**'s", "what?"):
        folder = tmp_path / name
        world().write(folder)
        out = (tmp_path if "?" in name else folder) / "x.duckdb"
        assert len(build.build_snapshot(folder, out, SCHEMA, SETTINGS)) == 1
        shutil.copy(out, folder / "y.duckdb")
        with SnapshotSource(folder / "y.duckdb", SCHEMA, SETTINGS) as source:
            assert source.stated("uniprot", "P04637")


def test_place_in_which_duckdb_cannot_write_is_refused(folder: Path) -> None:
    world().write(folder)
    with pytest.raises(SnapshotError, match="question mark"):
        build.build_snapshot(folder, folder / "what?" / "x.duckdb", SCHEMA, SETTINGS)
