"""Read kgcheck's own fact tables (a TSV each, docs/snapshot.md) into a snapshot."""

import hashlib
from collections.abc import Callable, Iterable
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

_NEEDED = ("source", "release", "id", "attribute", "value", "relation", "head", "tail")

STATUSES = ("current", "former", "synonym")
COVERAGES = ("complete", "listed")

AddRelease = Callable[[dict[str, object]], int]
"""Takes a row of ``release`` without its number, gives the number."""


def add_facts(db: duckdb.DuckDBPyConnection, folder: Path, words: SnapshotWords, add_release: AddRelease) -> None:
    """Add the rows of a facts folder to a snapshot that is being built."""
    digest = hashlib.sha256()
    for name, columns in COLUMNS.items():
        path = folder / f"{name}.tsv"
        if not path.is_file():
            raise InputMissing(
                f"{folder} lacks {path.name}", f"a facts folder holds {', '.join(COLUMNS)}, each as .tsv"
            )
        check_file(path, whole_lines=False)
        open_tsv(db, f"facts {name}", path)
        try:
            db.execute(f"SELECT {', '.join(map(identifier, columns))} FROM {_view(name)} LIMIT 0").fetchall()
        except duckdb.BinderException as error:
            raise InputFormat(
                f"{path} has another header: {first_words(error)}", f"it needs the columns {', '.join(columns)}"
            ) from error
        # Over all tables, so that a change of any is seen.
        digest.update(path.read_bytes())
    for name, faults in _faults(words).items():
        lacking = [f"coalesce({column}, '') = ''" for column in COLUMNS[name] if column in _NEEDED]
        shown = " || ' ' || ".join(f"coalesce({c}, '(no {c})')" for c in COLUMNS[name][:6])
        wrong = " OR ".join((*lacking, *faults))
        if rows := db.execute(f"SELECT {shown} FROM {_view(name)} WHERE {wrong} LIMIT 1").fetchall():
            raise InputFormat(f"{folder / name}.tsv holds a row that is no fact: {rows[0][0]}", "see docs/snapshot.md")
    _add_releases(db, folder, digest.hexdigest(), add_release)
    for name in list(COLUMNS)[1:]:
        stray = f"SELECT source, release FROM {_view(name)} ANTI JOIN known USING (source, release) LIMIT 1"
        for source, release in db.execute(stray).fetchall():
            raise InputFormat(
                f"{folder / name}.tsv names {source} {release}, which releases.tsv does not list",
                "add it to releases.tsv",
            )
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


def _view(name: str) -> str:
    return identifier(f"facts {name}")


def _faults(words: SnapshotWords) -> dict[str, tuple[str, ...]]:
    """By table, conditions that no row may meet."""

    def none_of(column: str, known: Iterable[str]) -> str:
        return f"coalesce({column}, '') NOT IN ({', '.join(map(literal, known))})"

    namespaces = (
        f"source = {literal(source)} AND {none_of('namespace', ('', *known))}"
        for source, known in words.namespaces.items()
    )
    return {
        "releases": (none_of("coverage", COVERAGES),),
        "entity": (none_of("state", State), *namespaces),
        "value": (none_of("status", STATUSES),),
        "link": (
            none_of("relation", words.links),
            "coalesce(negated, 'false') NOT IN ('true', 'false')",
            "score IS NOT NULL AND NOT coalesce(isfinite(try_cast(score AS DOUBLE)), false)",
        ),
        # A channel of a source follows after a space, see kgcheck.evidence.edges.
        "covered": (none_of("split_part(relation, ' ', 1)", words.links),),
    }


def _add_releases(db: duckdb.DuckDBPyConnection, folder: Path, digest: str, add_release: AddRelease) -> None:
    """Table ``known``: the releases that are listed, with the number that each was given."""
    again = f"SELECT source, release, count(*) AS n FROM {_view('releases')} GROUP BY ALL HAVING n > 1 ORDER BY ALL"
    for source, release, times in db.execute(again).fetchall():
        raise InputFormat(f"{folder}/releases.tsv lists {source} {release} {times} times", "list each release once")
    stated = db.execute(f"SELECT {', '.join(COLUMNS['releases'])} FROM {_view('releases')}").fetchall()
    if not stated:
        raise InputFormat(
            f"{folder}/releases.tsv lists no release", "list one at least: source, release, date and licence"
        )
    db.execute(
        "CREATE OR REPLACE TEMP TABLE known (source VARCHAR, release VARCHAR, id INTEGER, complete BOOLEAN)"
    ).fetchall()
    for source, release, released, name, licence, url, coverage in stated:
        row = {"source": source, "name": name or source, "release": release, "released": released or ""}
        row |= {"licence": licence or "", "url_template": url or "", "file": f"{folder.name}/*.tsv", "sha256": digest}
        known = [source, release, add_release(row), coverage == "complete"]
        db.execute("INSERT INTO known VALUES (?, ?, ?, ?)", known).fetchall()
