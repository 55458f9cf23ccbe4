"""Two snapshots are compared as if every row of both were looked at."""

from functools import cache
from pathlib import Path

import duckdb
import pytest

from kgcheck.reference.difference import compare_snapshots
from tests.support.facts import SCHEMA, Facts
from tests.support.snapshots import TERMS

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
def test_two_snapshots_are_compared_as_if_every_row_were_looked_at(snapshots: dict[str, Path]) -> None:
    older = snapshots["nothing"]
    pairs = [(older, older)]
    pairs += [pair for newer in snapshots.values() if newer != older for pair in ((older, newer), (newer, older))]
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
