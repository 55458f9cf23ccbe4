"""An audit of what changed since an earlier run is equal to one of everything."""

import copy
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgcheck.audit.carrying import since
from kgcheck.audit.plan import AuditOptions
from kgcheck.audit.run import Audit, store_place
from kgcheck.ledger.ledger import Ledger
from kgcheck.profile.catalogue import State
from kgcheck.reference.facts import STATUSES
from tests.support.audits import Audited, MemoryStore, comparable, of_run
from tests.support.facts import SCHEMA, SETTINGS, Facts
from tests.support.snapshots import CROWDS, GENES, MANY, PROTEINS, TERMS, crowded_snapshots, snapshots

_OF_THE_RELEASE = ("release", "retrieved_at", "pinned_at")
_ODD = (" P10002", "P10003-2", "XX1")


def equal(full: Audited, part: Audited) -> None:
    """The same findings and counts, but for which run and which release they name."""
    assert findings_of(full) == findings_of(part)
    assert comparable(full)[1] == comparable(part)[1]
    assert not any(finding.carried_from for finding in full.findings)


def findings_of(audit: Audited) -> list[str]:
    found = []
    for finding in audit.findings:
        row = finding.as_row()
        row.pop("carried_from", None)
        del row["run"]
        for evidence in row["evidence"]:
            for name in _OF_THE_RELEASE:
                evidence.pop(name, None)
        row["evidence"].sort(key=repr)
        found.append(repr(row))
    return sorted(found)


def crowded_graph() -> MemoryStore:
    """Every third edge that the generated snapshots may speak of, and nodes that are written in odd ways."""
    proteins = sorted({*MANY, *PROTEINS, *_ODD})
    ids = {"Protein": proteins, "Biological_process": TERMS, "Gene": (*GENES, "CC1")}
    nodes = {
        label: [
            {"id": i, "name": f"name of {i}", **({"gene_name": GENES[0]} if label == "Protein" else {})} for i in some
        ]
        for label, some in ids.items()
    }
    edges: dict[str, list[dict[str, Any]]] = {}
    for pattern in SCHEMA.relations:
        if pattern.type in CROWDS and {pattern.head, pattern.tail} <= ids.keys():
            pairs = [pair for n, pair in enumerate(product(ids[pattern.head], ids[pattern.tail])) if n % 3 == 0]
            named = {
                name: "STRING" if name == "source" else 0.4
                for name in pattern.properties
                if name in ("source", "score")
            }
            edges[str(pattern)] = [{"head": head, "tail": tail, **named} for head, tail in pairs]
    return MemoryStore(nodes, edges, name="crowded")


@st.composite
def newer(draw: st.DrawFn, facts: Facts) -> Facts:
    """The same releases a little later: some rows are gone, some say something else."""
    later = copy.deepcopy(facts)
    places = [
        (r, table, n)
        for r in later._releases
        for table in r.rows
        if table != "releases"
        for n in range(len(r.rows[table]))
    ]
    for release, table, number in draw(st.lists(st.sampled_from(places), max_size=4)) if places else ():
        row = release.rows[table][number]
        row.clear() if draw(st.booleans()) else row.update(draw(_OTHER[table]))
    for release in later._releases:
        for table, rows in release.rows.items():
            release.rows[table] = [row for row in rows if row]
    return later


_OTHER: dict[str, st.SearchStrategy[dict[str, str]]] = {
    "link": st.sampled_from(
        [
            {"score": "0.4"},
            {"score": "0.1"},
            {"negated": "true"},
            {"record": "another"},
            {"tail": TERMS[0]},
            {"tail": MANY[0]},
        ]
    ),
    "entity": st.sampled_from(
        [{"state": state.value, "successors": now} for state in State for now in ("", PROTEINS[0], TERMS[1])]
        + [{"name": "another"}]
    ),
    "value": st.sampled_from([{"value": "another"}, *({"status": status} for status in STATUSES)]),
    "covered": st.sampled_from([{"id": i} for i in (*PROTEINS, *TERMS)]),
}


@st.composite
def pairs_of_snapshots(draw: st.DrawFn) -> tuple[Facts, Facts]:
    facts = draw(st.one_of(snapshots(), crowded_snapshots().map(lambda made: made[1])))
    facts.release("diseases").covers("ASSOCIATED_WITH", PROTEINS[0])
    facts.release("pubmed", "gone").entity("PMID:1", state="withdrawn")
    return facts, draw(newer(facts))


def assert_equal_to_everything(folder: Path, older: Facts, later: Facts, **options: Any) -> Counter[str]:
    """Audit a graph with one snapshot, then with the other: everything, and what changed."""
    store, asked = crowded_graph(), AuditOptions(**options)
    first, second = older.build(folder / "older"), later.build(folder / "newer")
    with Ledger(folder / "ledger.sqlite") as ledger:
        former = Audit(store, first, ledger, SETTINGS).start(asked)
        full = Audit(store, second, ledger, SETTINGS).start(asked)
        found = since(ledger, former.id, asked, store_place(store), SCHEMA)
        part = Audit(store, second, ledger, SETTINGS).start(asked, found)
        equal(of_run(ledger, full), of_run(ledger, part))
        assert part.made_with["since"] == former.id
        done = ledger.done(part)
    return Counter(piece.rsplit("#", 1)[1] for piece in done)


@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(pairs_of_snapshots())
def test_what_changed_is_equal_to_everything(
    tmp_path_factory: pytest.TempPathFactory, pair: tuple[Facts, Facts]
) -> None:
    assert_equal_to_everything(tmp_path_factory.mktemp("generated"), *pair)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(pairs_of_snapshots(), st.booleans())
def test_what_changed_is_equal_to_everything_in_many_snapshots(
    tmp_path_factory: pytest.TempPathFactory, pair: tuple[Facts, Facts], keep_all: bool
) -> None:
    assert_equal_to_everything(tmp_path_factory.mktemp("generated"), *pair, keep_all=keep_all, unfold=keep_all)
