"""Hashes of links, kept in a snapshot: those of its rows, told apart by their maker, and not needed to read one."""

import shutil
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck.errors import SnapshotError
from kgcheck.reference.hashes import HASHED_BY, LINK, are_hashed_alike, find_differing, hash_of
from kgcheck.reference.snapshot import Snapshot, attach_snapshots
from tests.support.facts import SCHEMA, Facts, of_format_5, world

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


def test_snapshots_without_hashes_are_read_and_others_of_their_form_are_not(tmp_path: Path) -> None:
    new = facts().build(tmp_path / "new")
    old = of_format_5(new, tmp_path / "old.duckdb")
    with Snapshot(old, SCHEMA) as one, Snapshot(new, SCHEMA) as other:
        assert one.releases() == other.releases()
        one.check()
    for copied, statement in (
        (new, "UPDATE meta SET value = '5' WHERE key = 'format'"),
        (old, "UPDATE meta SET value = '6' WHERE key = 'format'"),
        (new, "UPDATE meta SET value = '7' WHERE key = 'format'"),
        (new, "UPDATE meta SET value = '4' WHERE key = 'format'"),
    ):
        bad = tmp_path / "bad.duckdb"
        shutil.copy(copied, bad)
        with duckdb.connect(str(bad)) as db:
            db.execute(statement).fetchall()
        with pytest.raises(SnapshotError):
            Snapshot(bad, SCHEMA)


def test_only_hashes_of_one_maker_are_compared(tmp_path: Path) -> None:
    new = facts().build(tmp_path / "new")
    old = of_format_5(new, tmp_path / "old.duckdb")
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


# Few parts, and few hashes in each, so that the same stand on both sides, and several times.
HASHES = st.lists(st.builds(lambda part, rest: (part << 48) + rest, st.integers(0, 3), st.integers(0, 4)), max_size=12)


@settings(max_examples=40, deadline=None)
@given(HASHES, HASHES)
def test_what_differs_is_what_one_side_alone_has(older: list[int], newer: list[int]) -> None:
    sides = {"older": older, "newer": newer}
    with duckdb.connect() as db:
        for side, hashes in sides.items():
            numbered = "unnest(range(len($hashes))) AS number, unnest($hashes)::UBIGINT AS hash"
            db.execute(f"CREATE TABLE {side} AS SELECT {numbered}", {"hashes": hashes}).fetchall()
        find_differing(db, {side: f"FROM {side}" for side in sides})
        found = {side: db.execute(f"SELECT {side} FROM differing WHERE {side} NOTNULL").fetchall() for side in sides}
    for side, other in (("older", newer), ("newer", older)):
        alone = [number for number, hash_ in enumerate(sides[side]) if hash_ not in other]
        assert Counter(number for (number,) in found[side]) == Counter(alone)
