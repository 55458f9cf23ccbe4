"""Read kgcheck's own fact tables (a TSV each, docs/snapshot.md) into a snapshot."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import duckdb

from kgcheck.errors import InputFormat, InputMissing
from kgcheck.profile.catalogue import State
from kgcheck.profile.reference_files import SnapshotWords
from kgcheck.providers.tsv import check_file, first_words, open_tsv
from kgcheck.quoting import identifier, literal

COLUMNS = {
    "releases": ("source", "release", "released", "name", "licence", "url_template", "coverage"),
    "entity": ("source", "release", "id", "namespace", "state", "name", "successors", "candidates", "detail", "record"),
    "value": ("source", "release", "id", "attribute", "value", "status", "record"),
    "link": ("source", "release", "relation", "head", "tail", "score", "negated", "record"),
    "covered": ("source", "release", "relation", "id"),
}
"""The tables of a facts folder and the columns that each needs; others are ignored."""

STATUSES = ("current", "former", "synonym")
COVERAGES = ("complete", "listed")

AddRelease = Callable[[dict[str, object]], int]
"""Takes a row of ``release`` without its number, gives the number."""


def add_facts(db: duckdb.DuckDBPyConnection, folder: Path, words: SnapshotWords, add_release: AddRelease) -> None:
    """Add the rows of a facts folder to a snapshot that is being built."""
    for name in COLUMNS:
        _open(db, folder, name)
    for name, (wrong, row_text) in _faults(words).items():
        rows = db.execute(f"SELECT {row_text} FROM {_view(name)} WHERE {wrong} LIMIT 1").fetchall()
        if rows:
            raise InputFormat(f"{folder / name}.tsv holds a row that is no fact: {rows[0][0]}", "see docs/snapshot.md")
    _refuse_repeated_releases(db, folder)
    _add_releases(db, folder, add_release)
    _refuse_unknown_releases(db, folder)
    _insert(db)


def _view(name: str) -> str:
    return identifier(f"facts {name}")


def _open(db: duckdb.DuckDBPyConnection, folder: Path, name: str) -> None:
    path = folder / f"{name}.tsv"
    if not path.is_file():
        raise InputMissing(f"{folder} lacks {name}.tsv", f"a facts folder holds {', '.join(COLUMNS)}, each as .tsv")
    check_file(path, whole_lines=False)
    open_tsv(db, f"facts {name}", path)
    try:
        db.execute(f"SELECT {', '.join(identifier(c) for c in COLUMNS[name])} FROM {_view(name)} LIMIT 0").fetchall()
    except duckdb.BinderException as error:
        raise InputFormat(
            f"{path} has another header: {first_words(error)}", f"it needs the columns {', '.join(COLUMNS[name])}"
        ) from error


def _faults(words: SnapshotWords) -> dict[str, tuple[str, str]]:
    """By table: a condition that no row may meet, and an expression that tells the row."""
    lacks = "coalesce({0}, '') = ''"
    none_of = "coalesce({0}, '') NOT IN ({1})"

    def fault(name: str, *conditions: str) -> tuple[str, str]:
        needed = [lacks.format(c) for c in COLUMNS[name] if c in _NEEDED]
        row_text = " || ' ' || ".join(f"coalesce({c}, '(no {c})')" for c in COLUMNS[name][:6])
        return " OR ".join([*needed, *conditions]), row_text

    def listed(names: object) -> str:
        return ", ".join(literal(str(n)) for n in names)  # type: ignore[attr-defined]

    relation = none_of.format("relation", listed(words.links))
    return {
        "releases": fault("releases", none_of.format("coverage", listed(COVERAGES))),
        "entity": fault(
            "entity",
            none_of.format("state", listed(State)),
            *(
                f"source = {literal(source)} AND coalesce(namespace, '') NOT IN ('', {listed(known)})"
                for source, known in words.namespaces.items()
            ),
        ),
        "value": fault("value", none_of.format("status", listed(STATUSES))),
        "link": fault(
            "link",
            relation,
            "coalesce(negated, 'false') NOT IN ('true', 'false')",
            "score IS NOT NULL AND NOT coalesce(isfinite(try_cast(score AS DOUBLE)), false)",
        ),
        # A channel of a source follows after a space, see kgcheck.evidence.edges.
        "covered": fault("covered", none_of.format("split_part(relation, ' ', 1)", listed(words.links))),
    }


_NEEDED = ("source", "release", "id", "attribute", "value", "relation", "head", "tail")


def _refuse_repeated_releases(db: duckdb.DuckDBPyConnection, folder: Path) -> None:
    rows = db.execute(
        f"SELECT source, release, count(*) AS n FROM {_view('releases')} GROUP BY ALL HAVING n > 1 ORDER BY ALL"
    ).fetchall()
    if rows:
        raise InputFormat(
            f"{folder}/releases.tsv lists {rows[0][0]} {rows[0][1]} {rows[0][2]} times", "list each release once"
        )


def _add_releases(db: duckdb.DuckDBPyConnection, folder: Path, add_release: AddRelease) -> None:
    stated = db.execute(f"SELECT {', '.join(COLUMNS['releases'])} FROM {_view('releases')}").fetchall()
    if not stated:
        raise InputFormat(
            f"{folder}/releases.tsv lists no release", "list one at least: source, release, date and licence"
        )
    db.execute(
        "CREATE OR REPLACE TEMP TABLE known (source VARCHAR, release VARCHAR, id INTEGER, complete BOOLEAN)"
    ).fetchall()
    digest = _digest(folder)
    for source, release, released, name, licence, url, coverage in stated:
        number = add_release(
            {
                "source": source,
                "name": name or source,
                "release": release,
                "released": released or "",
                "licence": licence or "",
                "url_template": url or "",
                "file": f"{folder.name}/*.tsv",
                "sha256": digest,
            }
        )
        db.execute(
            "INSERT INTO known VALUES (?, ?, ?, ?)", [source, release, number, coverage == "complete"]
        ).fetchall()


def _digest(folder: Path) -> str:
    """One SHA-256 over all tables, so that a change of any is seen."""
    digest = hashlib.sha256()
    for name in COLUMNS:
        digest.update((folder / f"{name}.tsv").read_bytes())
    return digest.hexdigest()


def _refuse_unknown_releases(db: duckdb.DuckDBPyConnection, folder: Path) -> None:
    for name in list(COLUMNS)[1:]:
        stray = db.execute(
            f"SELECT source, release FROM {_view(name)} ANTI JOIN known USING (source, release) LIMIT 1"
        ).fetchall()
        if stray:
            raise InputFormat(
                f"{folder / name}.tsv names {stray[0][0]} {stray[0][1]}, which releases.tsv does not list",
                "add it to releases.tsv",
            )


def _insert(db: duckdb.DuckDBPyConnection) -> None:
    listed = "list_filter(string_split(coalesce({0}, ''), '|'), lambda x: x <> '') AS {0}"
    db.execute(f"""
        INSERT INTO entity BY NAME
        SELECT k.id AS release_id, f.source, f.id, namespace, state, name, {listed.format("successors")},
               {listed.format("candidates")}, detail, record
        FROM {_view("entity")} f JOIN known k USING (source, release);
        INSERT INTO value BY NAME
        SELECT k.id AS release_id, f.source, f.id, attribute, value, status, record
        FROM {_view("value")} f JOIN known k USING (source, release);
        INSERT INTO link BY NAME
        SELECT k.id AS release_id, f.source, relation, head, tail, score::DOUBLE AS score,
               coalesce(negated = 'true', false) AS negated, record
        FROM {_view("link")} f JOIN known k USING (source, release);
        INSERT INTO covered BY NAME
        SELECT k.id AS release_id, f.source, relation AS topic, f.id
        FROM {_view("covered")} f JOIN known k USING (source, release);
        INSERT INTO topic
        SELECT DISTINCT k.id, k.source, t.topic, k.complete
        FROM known k JOIN (
            SELECT release_id, topic FROM covered UNION SELECT release_id, relation FROM link
            UNION SELECT release_id, 'entity' FROM entity UNION SELECT release_id, 'value' FROM value
        ) t ON t.release_id = k.id""").fetchall()
