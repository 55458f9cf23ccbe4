"""Hashes of links, kept in a snapshot: those of its rows, told apart by their maker, and not needed to read one."""

import shutil
from collections import Counter
from functools import cache
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck.errors import SnapshotError
from kgcheck.reference.difference import compare_snapshots
from kgcheck.reference.hashes import (
    HASHED_BY,
    LINK,
    are_hashed_alike,
    digests_of,
    find_differing,
    hash_of,
    have_digests,
)
from kgcheck.reference.snapshot import Snapshot, attach_snapshots
from tests.support import examples
from tests.support.facts import SCHEMA, Facts, of_format, world
from tests.support.snapshots import TERMS

SIDES = ("older", "newer")
GO_SOURCES = ("goa", "uniprot")
PROTEINS = [f"P0000{n}" for n in range(6)]


def facts(*, first: str = "2020") -> Facts:
    """Links of several releases, of which some count no more; numbers of releases are others where one is first."""
    made = Facts()
    made.release("hgnc", first, first)
    old = made.release("string", "old", "2021").link("ACTS_ON", PROTEINS[0], PROTEINS[1], 0.5)
    old.covers("ACTS_ON", *PROTEINS).link("ACTS_ON", PROTEINS[2], PROTEINS[3], 0.25)
    new = made.release("string", "new", "2022").link("ACTS_ON", PROTEINS[0], PROTEINS[1], 0.75)
    new.covers("ACTS_ON", *PROTEINS).link("ACTS_ON", PROTEINS[4], PROTEINS[5], None)
    return made


def test_every_link_has_the_hash_of_what_it_states(tmp_path: Path) -> None:
    for snapshot in (world().build(tmp_path / "world"), facts().build(tmp_path / "facts")):
        with duckdb.connect(str(snapshot), read_only=True) as db:
            releases: dict[str, list[int]] = {}
            for source, number in db.execute("SELECT source, id FROM release ORDER BY id").fetchall():
                releases.setdefault(source, []).append(number)
            linked = db.execute("SELECT source, count(*) FROM link GROUP BY source").fetchall()
            assert linked
            for source, count in linked:
                same = f"SELECT count(*) FROM link WHERE source = ? AND hash = {hash_of(LINK, releases[source])}"
                assert db.execute(same, [source]).fetchall() == [(count,)]


def test_a_release_is_known_by_its_place_among_those_of_its_source(tmp_path: Path) -> None:
    hashes = []
    for name, made in {"one": facts(), "other": facts(first="2019")}.items():
        made.release("zzz" if name == "one" else "aaa", "r", "2020")
        with duckdb.connect(str(made.build(tmp_path / name)), read_only=True) as db:
            hashes.append(db.execute("SELECT hash FROM link ORDER BY hash").fetchall())
    assert hashes[0] == hashes[1]
    assert len(set(hashes[0])) == len(hashes[0]) > 1


@pytest.mark.slow
def test_snapshots_without_hashes_are_read_and_others_of_their_form_are_not(tmp_path: Path) -> None:
    new = facts().build(tmp_path / "new")
    old = of_format(5, new, tmp_path / "old.duckdb")
    six = of_format(6, new, tmp_path / "six.duckdb")
    for earlier in (old, six):
        with Snapshot(earlier, SCHEMA) as one, Snapshot(new, SCHEMA) as other:
            assert one.releases() == other.releases()
            one.check()
    for copied, statement in (
        *((new, f"UPDATE meta SET value = '{version}' WHERE key = 'format'") for version in (4, 5, 6, 8)),
        *((old, f"UPDATE meta SET value = '{version}' WHERE key = 'format'") for version in (4, 6, 7)),
        *((six, f"UPDATE meta SET value = '{version}' WHERE key = 'format'") for version in (5, 7)),
    ):
        bad = tmp_path / "bad.duckdb"
        shutil.copy(copied, bad)
        with duckdb.connect(str(bad)) as db:
            db.execute(statement).fetchall()
        with pytest.raises(SnapshotError):
            Snapshot(bad, SCHEMA)


@pytest.mark.slow
def test_only_hashes_of_one_maker_are_compared(tmp_path: Path) -> None:
    new = facts().build(tmp_path / "new")
    old = of_format(5, new, tmp_path / "old.duckdb")
    others = {}
    for name, statement in {
        "maker": f"UPDATE meta SET value = 'DuckDB 0' WHERE key = '{HASHED_BY}'",
        "lacking": "UPDATE link SET hash = NULL WHERE rowid = (SELECT min(rowid) FROM link)",
    }.items():
        others[name] = tmp_path / f"{name}.duckdb"
        shutil.copy(new, others[name])
        with duckdb.connect(str(others[name])) as db:
            db.execute(statement).fetchall()
    for pair, alike in (
        ((new, new), True),
        ((old, new), False),
        ((old, old), False),
        ((new, others["maker"]), False),
        ((others["lacking"], new), False),
    ):
        with duckdb.connect() as db:
            attach_snapshots(db, dict(zip(("older", "newer"), pair, strict=True)))
            assert are_hashed_alike(db, ("older", "newer")) is alike, pair


def other(what: str) -> Facts:
    """More of them; or a little later."""
    made = facts()
    hgnc, old, new = made._releases
    links = new.rows["link"]
    goa, uniprot = (made.release(source, "one").link("ASSOCIATED_WITH", PROTEINS[0], TERMS[0]) for source in GO_SOURCES)
    goa.link("ASSOCIATED_WITH", PROTEINS[1], TERMS[1])
    match what:
        case "score alone":
            links[0]["score"] = "0.7"
        case "another source":
            uniprot.link("ASSOCIATED_WITH", PROTEINS[1], TERMS[1])
            goa.rows["link"].pop()
        case "one more":
            new.link("ACTS_ON", PROTEINS[5], PROTEINS[1], 0.5)
        case "one less":
            del links[1]
        case "one twice":
            links.append(dict(links[0]))
        case "turned":
            links[1]["head"], links[1]["tail"] = links[1]["tail"], links[1]["head"]
        case "an id":
            hgnc.entity("HGNC:1", "Gene", "current")
        case "a value":
            hgnc.value("HGNC:1", "name", "one")
        case "covered":
            old.covers("ACTS_ON", "P99999")
        case "a parent":
            made.release("reactome", "one").link("HAS_PARENT", "R-HSA-2", "R-HSA-1")
    return made


OTHERS = (
    *("nothing", "score alone", "another source", "one more", "one less", "one twice", "turned"),
    *("an id", "a value", "covered", "a parent"),
)


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("others")
    return {what: other(what).build(folder / what) for what in OTHERS}


@pytest.mark.slow
def test_digests_tell_what_all_hashes_tell(snapshots: dict[str, Path]) -> None:
    older, unlike = snapshots["nothing"], set[str]()
    for what, newer in snapshots.items():
        with duckdb.connect() as db:
            attach_snapshots(db, {"older": older, "newer": newer})
            assert are_hashed_alike(db, SIDES)
            assert have_digests(db, SIDES)
            for source in ("hgnc", "string", "reactome", *GO_SOURCES):
                rows = {s: f"SELECT rowid AS number, hash FROM {s}.link WHERE source = '{source}'" for s in SIDES}
                find_differing(db, rows)
                told = Counter(db.execute("FROM differing").fetchall())
                find_differing(db, rows, {s: digests_of(s, "link", source) for s in SIDES})
                assert Counter(db.execute("FROM differing").fetchall()) == told
                unlike |= {what} if told else set()
                for table in ("lifecycle", "value", "covered"):
                    stating = {s: stated(db, s, table, source) for s in SIDES}
                    same = {s: db.execute(digests_of(s, table, source)).fetchall() for s in SIDES}
                    assert (same["older"] == same["newer"]) == (stating["older"] == stating["newer"]), (what, table)
                    unlike |= {what} if stating["older"] != stating["newer"] else set()
                of_it = "SELECT id, ancestor FROM {}.ancestor WHERE ontology = '" + source + "' ORDER BY ALL"
                above = [db.execute(of_it.format(s)).fetchall() for s in SIDES]
                same = {s: db.execute(digests_of(s, "ancestor", source)).fetchall() for s in SIDES}
                assert (same["older"] == same["newer"]) == (above[0] == above[1]), what
                unlike |= {what} if above[0] != above[1] else set()
    assert unlike == set(OTHERS) - {"nothing", "one twice"}


@pytest.mark.slow
def test_two_snapshots_are_compared_as_if_every_row_were_looked_at(snapshots: dict[str, Path], tmp_path: Path) -> None:
    older = snapshots["nothing"]
    pairs = [(older, older)]
    pairs += [pair for newer in snapshots.values() if newer != older for pair in ((older, newer), (newer, older))]
    for version in (5, 6):
        earlier = of_format(version, snapshots["score alone"], tmp_path / f"{version}.duckdb")
        pairs += [(older, earlier), (earlier, older)]
    unlike = 0
    for before, after in pairs:
        changes = compare_snapshots(before, after, SCHEMA)
        found = {(c.table, c.source): (c.before, c.after, c.added, c.removed, c.changed) for c in changes}
        assert found == compared(before, after)
        assert all(len(c.examples) == min(c.added, 5) + min(c.removed, 5) + min(c.changed, 5) for c in changes)
        unlike += any(c.examples for c in changes)
    # What covers more, or the same once more, is no other row.
    assert unlike == len(pairs) - 1 - 2 * len({"one twice", "covered"})


def compared(before: Path, after: Path) -> dict[tuple[str, str], tuple[int, ...]]:
    """What a comparison should count, by table and source, from all rows of both snapshots."""
    rows = rows_of(before), rows_of(after)
    counts: dict[tuple[str, str], tuple[int, ...]] = {}
    for key in rows[0] | rows[1]:
        old, new = (side.get(key, {}) for side in rows)
        changed = sum(old[name] != new[name] for name in old.keys() & new.keys())
        counts[key] = len(old), len(new), len(new.keys() - old), len(old.keys() - new), changed
    return counts


@cache
def rows_of(snapshot: Path) -> dict[tuple[str, str], dict[str, set[str]]]:
    """What is stated of each thing that a row names, by table and source."""
    named = {"lifecycle": "row(id)", "value": "row(id, attribute, value)", "link": "row(relation, head, tail)"}
    content = {"lifecycle": "row(state, successors)", "value": "row(status)", "link": "row(negated, score)"}
    rows: dict[tuple[str, str], dict[str, set[str]]] = {}
    with duckdb.connect(str(snapshot), read_only=True) as db:
        for table in named:
            select = f"SELECT source, {named[table]}::VARCHAR, {content[table]}::VARCHAR FROM {table}"
            for source, name, stating in db.execute(select).fetchall():
                rows.setdefault((table, source), {}).setdefault(name, set()).add(stating)
    return rows


def stated(db: duckdb.DuckDBPyConnection, side: str, table: str, source: str) -> list[tuple[object, ...]]:
    """What a source's rows state, but for the numbers of releases."""
    rows = f"SELECT * EXCLUDE (release_id) FROM {side}.{table} WHERE source = '{source}'"
    return sorted(db.execute(rows).fetchall(), key=repr)


# Few parts, and few hashes in each, so that the same stand on both sides, and several times.
HASHES = st.lists(st.builds(lambda part, rest: (part << 48) + rest, st.integers(0, 3), st.integers(0, 4)), max_size=12)


@settings(max_examples=examples(40), deadline=None)
@given(HASHES, HASHES, st.booleans())
def test_what_differs_is_what_one_side_alone_has(older: list[int], newer: list[int], has_digests: bool) -> None:
    summed = (
        "SELECT (hash >> 48)::USMALLINT AS part, count(*) AS row_count, sum(hash(hash)) AS total FROM {} GROUP BY part"
    )
    digests = {side: summed.format(side) for side in SIDES}
    sides = {"older": older, "newer": newer}
    with duckdb.connect() as db:
        for side, hashes in sides.items():
            numbered = "unnest(range(len($hashes))) AS number, unnest($hashes)::UBIGINT AS hash"
            db.execute(f"CREATE TABLE {side} AS SELECT {numbered}", {"hashes": hashes}).fetchall()
        find_differing(db, {side: f"FROM {side}" for side in sides}, digests if has_digests else None)
        found = {side: db.execute(f"SELECT {side} FROM differing WHERE {side} NOTNULL").fetchall() for side in sides}
    for side, other in (("older", newer), ("newer", older)):
        alone = [number for number, hash_ in enumerate(sides[side]) if hash_ not in other]
        assert Counter(number for (number,) in found[side]) == Counter(alone)
