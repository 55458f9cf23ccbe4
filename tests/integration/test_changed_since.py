"""An audit of what changed since an earlier run is equal to one of everything."""

import copy
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from sqlalchemy import select

from kgcheck.audit.carrying import since
from kgcheck.audit.run import Audit
from kgcheck.curation.compare import diff_of
from kgcheck.errors import UnknownName, UsageError
from kgcheck.graph.neo4j import Neo4jStore
from kgcheck.graph.store import edge_schema, node_schema
from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.ledger.database import Database
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.retention import forget
from kgcheck.ledger.tables import FINDING
from kgcheck.ledger.verified import KEPT_TYPES, VerifiedFiles, VerifiedReader
from kgcheck.model import CheckTask, CheckType
from kgcheck.options import AuditOptions
from kgcheck.profile.catalogue import State
from kgcheck.reference.facts import STATUSES
from kgcheck.reference.snapshot import FORMAT_VERSION
from kgcheck.settings import Settings
from tests.support.audits import Audited, MemoryStore, comparable, of_run
from tests.support.facts import SCHEMA, SETTINGS, Facts, of_format
from tests.support.neo4j_fixtures import Neo4jTarget
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


def crowded_graph(step: int = 3) -> MemoryStore:
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
            pairs = [pair for n, pair in enumerate(product(ids[pattern.head], ids[pattern.tail])) if n % step == 0]
            named = {
                name: "STRING" if name == "source" else 0.4
                for name in pattern.properties
                if name in ("source", "score")
            }
            edges[str(pattern)] = [{"head": head, "tail": tail, **named} for head, tail in pairs]
    return MemoryStore(nodes, edges, name="crowded")


@st.composite
def newer(draw: st.DrawFn, facts: Facts) -> Facts:
    """The same sources a little later: rows are gone, new, or say something else; a release is another, or one more."""
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
        if not row:
            # It is gone already.
            continue
        match draw(st.sampled_from(("gone", "other", "added"))):
            case "gone":
                row.clear()
            case "other":
                row.update(draw(_OTHER[table]))
            case _:
                release.rows[table].append(row | draw(_OTHER[table]))
    for release in later._releases:
        for table, rows in release.rows.items():
            release.rows[table] = [row for row in rows if row]
    match draw(st.sampled_from((*["none"] * 4, "named", "dated", "added"))):
        case "named":
            release = draw(st.sampled_from(later._releases))
            for row in (row for rows in release.rows.values() for row in rows):
                row["release"] += " again"
        case "dated":
            draw(st.sampled_from(later._releases)).rows["releases"][0]["released"] = "2026-02-01"
        case "added":
            one = later.release("uniprot", "added", draw(st.sampled_from(("2015", "2026-03-01"))))
            one.entity(draw(st.sampled_from(PROTEINS)), "Protein", draw(st.sampled_from(list(State))))
            one.link("ASSOCIATED_WITH", MANY[0], draw(st.sampled_from(TERMS)))
        case _:
            pass
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
def three_snapshots(draw: st.DrawFn) -> tuple[Facts, Facts, Facts]:
    facts = draw(st.one_of(snapshots(), crowded_snapshots().map(lambda made: made[1])))
    facts.release("diseases").covers("ASSOCIATED_WITH", PROTEINS[0])
    facts.release("pubmed", "gone").entity("PMID:1", state="withdrawn")
    return facts, (later := draw(newer(facts))), draw(newer(later))


@dataclass(frozen=True)
class Twice:
    """A run of a graph with an older snapshot, and one of everything with a newer one."""

    folder: Path
    store: MemoryStore
    older: Path
    newer: Path
    former: str
    options: AuditOptions

    @cached_property
    def full(self) -> Audited:
        """Everything with the newer one."""
        with Ledger(self.folder / "ledger.sqlite") as ledger:
            return of_run(ledger, Audit(self.store, self.newer, ledger, SETTINGS).start(self.options))

    @cached_property
    def part(self) -> Audited:
        """What changed since the older one, once for all tests that only read it."""
        return self.audit()

    def audit(self, store: MemoryStore | None = None, name: str = "", **options: Any) -> Audited:
        """What changed since the older one."""
        asked = AuditOptions(**options) if options else self.options
        with Ledger(self.folder / "ledger.sqlite") as ledger:
            graph = store or self.store
            found = since(ledger, name or self.former, asked, graph)
            return of_run(ledger, Audit(graph, self.newer, ledger, SETTINGS).start(asked, found))


def some_facts(*, moved: bool = False, release: str = "r1", released: str = "2026-01-01") -> Facts:
    """A few facts about the crowded graph; a little later, two of them are others."""
    facts = Facts()
    ids = facts.release("uniprot", release, released, complete=True)
    state = "merged" if moved else "current"
    ids.entities("Protein", *MANY[:4], *PROTEINS).entity(MANY[4], "Protein", state, now=MANY[:1])
    for number, protein in enumerate(MANY[:5]):
        ids.value(protein, "gene_name", GENES[number % 2])
        for other in MANY[number:5]:
            facts.release("string", f"{release} {protein} {other}", released).link("ACTS_ON", protein, other, 0.9)
    last = facts.release("goa", release, released).link("ASSOCIATED_WITH", MANY[0], TERMS[0])
    last.covers("ASSOCIATED_WITH", *MANY[:5]).link("ASSOCIATED_WITH", MANY[1], TERMS[1 if moved else 2])
    return facts


def begun(folder: Path, older: Path, newer: Path, options: AuditOptions) -> Twice:
    """Audit the crowded graph with the older snapshot."""
    store = crowded_graph()
    with Ledger(folder / "ledger.sqlite") as ledger:
        former = Audit(store, older, ledger, SETTINGS).start(options)
    return Twice(folder, store, older, newer, former.id, options)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    """The newer one is for later."""
    folder = tmp_path_factory.mktemp("twice")
    older, later = (some_facts(moved=moved).build(folder / str(moved)) for moved in (False, True))
    return begun(folder, older, later, AuditOptions())


@pytest.fixture(scope="module")
def twice(once: Twice) -> Twice:
    assert once.full
    return once


@pytest.fixture
def of_ids(once: Twice, tmp_path: Path) -> Twice:
    """The same graph and snapshots, and a ledger of its own; for what is told of a run whatever it checks."""
    return begun(tmp_path, once.older, once.newer, AuditOptions(types=(CheckType.EXISTENCE,)))


@pytest.mark.slow
def test_what_was_carried_names_the_run_that_made_it(twice: Twice) -> None:
    part = twice.part
    equal(twice.full, part)
    by_run = Counter(finding.carried_from for finding in part.findings)

    assert set(by_run) == {None, twice.former}
    assert by_run[twice.former] > by_run[None] > 0
    rows = [finding.as_row() for finding in part.findings]
    assert sum("carried_from" in row for row in rows) == by_run[twice.former]
    # What is carried on keeps the run that made it.
    again = twice.audit(name=part.run.id)
    equal(twice.full, again)
    assert {f.carried_from for f in again.findings} <= {None, twice.former, part.run.id}
    assert twice.former in {f.carried_from for f in again.findings}


@pytest.mark.slow
@pytest.mark.parametrize(("older", "newer"), [(5, 7), (6, 7), (7, 6), (6, 6)])
def test_snapshots_of_earlier_formats_tell_as_much(twice: Twice, tmp_path: Path, older: int, newer: int) -> None:
    before, after = twice.older, twice.newer
    before = of_format(older, before, tmp_path / "older.duckdb") if older < FORMAT_VERSION else before
    after = of_format(newer, after, tmp_path / "newer.duckdb") if newer < FORMAT_VERSION else after
    shutil.copytree(twice.folder, tmp_path / "copied", ignore=shutil.ignore_patterns("*.duckdb"))
    asked = twice.options
    with Ledger(tmp_path / "copied" / "ledger.sqlite") as ledger:
        name = twice.former if before == twice.older else Audit(twice.store, before, ledger, SETTINGS).start(asked).id
        found = since(ledger, name, asked, twice.store)
        part = Audit(twice.store, after, ledger, SETTINGS).start(asked, found)
        equal(twice.full, of_run(ledger, part))
        assert part.made_with["since"] == name


@pytest.mark.slow
def test_a_relation_of_which_most_is_touched_is_looked_at_as_a_whole(
    twice: Twice, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {f.fingerprint for f in twice.part.findings if f.carried_from}
    monkeypatch.setattr("kgcheck.audit.since._MANY_TASKS", 0)
    part = twice.audit()
    equal(twice.full, part)
    carried = {f.fingerprint for f in part.findings if f.carried_from}
    assert carried < few
    assert {f.task.type for f in part.findings if f.fingerprint in few - carried} == {CheckType.TRIPLE}


@pytest.mark.slow
def test_the_snapshot_names_the_run_that_looked_into_it(twice: Twice) -> None:
    moved = twice.folder / "kept.duckdb"
    shutil.copy(twice.older, moved)
    part = twice.audit(name=str(moved))

    equal(twice.full, part)
    assert part.run.made_with["since"] == twice.former
    # Nothing has changed since the newest run that looked into the newer one: all of it is carried.
    same = twice.audit(name=str(twice.newer))
    equal(twice.full, same)
    assert None not in {
        finding.carried_from for finding in same.findings if finding.task.type is not CheckType.STRUCTURE
    }


@pytest.mark.slow
def test_another_graph_is_checked_as_a_whole(of_ids: Twice) -> None:
    other = crowded_graph(step=4)
    part = of_ids.audit(other)

    assert part.run.warnings[-1] == f"everything was checked: the graph has changed since run {of_ids.former}"
    assert "since" not in part.run.made_with
    assert not any(finding.carried_from for finding in part.findings)
    mute = crowded_graph()
    mute.state = lambda: None  # type: ignore[method-assign]
    assert "does not say whether the graph has changed" in of_ids.audit(mute).run.warnings[-1]


@pytest.mark.slow
def test_a_run_that_kept_nothing_of_how_it_was_made_is_not_gone_on_from(of_ids: Twice) -> None:
    with Ledger(of_ids.folder / "ledger.sqlite") as ledger:
        former = ledger.run(of_ids.former)
        for changed, why in (
            ({}, "did not keep"),
            ({**former.made_with, "kgcheck": "0.0.1"}, "by kgcheck 0.0.1"),
            ({**former.made_with, "profile": "x"}, "the profile has changed"),
        ):
            ledger.note(former.model_copy(update={"made_with": changed}))
            assert why in of_ids.audit().run.warnings[-1]
        ledger.note(former)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"types": (CheckType.TRIPLE,)}, "types was"),
        ({"labels": ("Protein",)}, "labels was [] and is ['Protein']"),
        ({"threshold": 0.7}, "threshold was None and is 0.7"),
        ({"graph_date": "2020"}, "graph_date was None and is '2020'"),
        ({"keep_all": True}, "keep_all was False and is True"),
        ({"sample": 5}, "--sample cannot be given with --changed-since"),
        ({"live": True}, "--live cannot be given"),
        ({"team_budget": 1}, "--team-budget cannot be given"),
        ({"literature": "papers"}, "--literature cannot be given"),
    ],
)
def test_other_options_are_refused(once: Twice, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        once.audit(**options)


def test_a_run_that_cannot_be_gone_on_from_is_refused(once: Twice, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no run 'none'"):
        once.audit(name="none")
    with pytest.raises(UsageError, match="no finished run of crowded looked into"):
        once.audit(name=str(some_facts(release="r2").build(tmp_path / "other")))
    with pytest.raises(UsageError, match="is of the store that was at crowded"):
        once.audit(MemoryStore({}, {}, name="elsewhere"))
    with Ledger(once.folder / "ledger.sqlite") as ledger:
        former = ledger.run(once.former)
        for changed, message in (
            ({"finished": None}, "is no finished audit"),
            ({"reference": None}, "had no reference"),
            ({"reference": str(tmp_path / "gone")}, "is not at"),
            ({"reference": str(once.newer)}, "is not the snapshot any more"),
        ):
            ledger.note(former.model_copy(update=changed))
            with pytest.raises(UsageError, match=message):
                once.audit()
        ledger.note(former)


@pytest.mark.slow
def test_a_run_that_was_cut_off_goes_on_with_nothing_lost_or_doubled(
    twice: Twice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(twice.folder / "ledger.sqlite", tmp_path / "ledger.sqlite")
    writing, left = Database.writing, [0]

    @contextmanager
    def failing(self: Database, **how: Any) -> Iterator[Any]:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        with writing(self, **how) as connection:
            yield connection

    monkeypatch.setattr(Database, "writing", failing)
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        asked = twice.options
        found = since(ledger, twice.former, asked, twice.store)
        audit = Audit(twice.store, twice.newer, ledger, SETTINGS)
        for first in (9, 30):
            left[0] = first
            with pytest.raises(KeyboardInterrupt):
                audit.start(asked, found)
            for second in (4, 0):
                left[0] = second
                begun = ledger.cut_off()
                with suppress(KeyboardInterrupt):
                    audit.resume(begun)
            part = of_run(ledger, ledger.run(begun.id))
            assert part.run.finished
            equal(twice.full, part)


@pytest.mark.slow
def test_a_source_with_other_releases_is_looked_at_as_a_whole(twice: Twice, tmp_path: Path) -> None:
    more = some_facts(moved=True)
    more.release("goa", "r2", "2026-02-01").link("ASSOCIATED_WITH", MANY[2], TERMS[0])
    done = assert_equal_to_everything(tmp_path, some_facts(), more)
    with Ledger(twice.folder / "ledger.sqlite") as ledger:
        others = Counter(piece.rsplit("#", 1)[1] for piece in ledger.done(twice.part.run))

    assert others["carried"] > done["carried"] > 0


def assert_equal_to_everything(
    folder: Path, older: Facts, *later: Facts, limits: Settings = SETTINGS, **options: Any
) -> Counter[str]:
    """Audit a graph with one snapshot, then with each later one: everything, and what changed since the run before."""
    store, asked = crowded_graph(), AuditOptions(**options)
    first = older.build(folder / "older")
    places = [folder / name for name in ("full", "part")]
    for place in places:
        place.mkdir()
    with Ledger(places[0] / "ledger.sqlite") as ledger:
        former = Audit(store, first, ledger, limits).start(asked)
    shutil.copytree(places[0], places[1], dirs_exist_ok=True)
    done: Counter[str] = Counter()
    with Ledger(places[0] / "ledger.sqlite") as ledger, Ledger(places[1] / "ledger.sqlite") as other:
        for number, facts in enumerate(later):
            snapshot = facts.build(folder / f"later {number}")
            full = Audit(store, snapshot, ledger, limits).start(asked)
            found = since(other, former.id, asked, store)
            part = Audit(store, snapshot, other, limits).start(asked, found)
            equal(of_run(ledger, full), of_run(other, part))
            assert part.made_with["since"] == former.id
            assert states(ledger, full) == states(other, part)
            if limits.keep_verified:
                assert_verified_alike(store, (ledger, full), (other, part))
            done += Counter(piece.rsplit("#", 1)[1] for piece in other.done(part))
            former = part
    return done


def states(ledger: Ledger, run: Run) -> dict[str, ComparisonState]:
    """What became of each finding since the run before."""
    diff = diff_of(ledger, after=run)
    with ledger.database.reading() as connection:
        known = set(connection.scalars(select(FINDING.c.fingerprint)))
    found = diff.states(known)
    assert Counter(found.values()) == +diff.counts
    return found


def assert_verified_alike(store: MemoryStore, full: tuple[Ledger, Run], part: tuple[Ledger, Run]) -> Counter[str]:
    """Of every node, attribute and edge the same is known; what was carried over, from the run that judged it."""
    readers = [VerifiedReader(ledger, VerifiedFiles.of(ledger, Path("unused"))) for ledger, _ in (full, part)]
    runs: Counter[str] = Counter()
    started = {run.id: run.started for run in part[0].runs()}
    for task in tasks_of(store):
        one, other = (reader.of(task) for reader in readers)
        assert one is not None
        assert other is not None
        assert one.run == full[1].id
        assert (one.outcome, one.reason, one.source) == (other.outcome, other.reason, other.source), task
        assert other.at == started[other.run]
        runs[other.run] += 1
    return runs


def tasks_of(store: MemoryStore) -> Iterator[CheckTask]:
    """What is kept as verified of everything in a graph."""
    for label in SCHEMA.labels:
        for table in store.scan_nodes(label):
            for row in table.to_pylist():
                node = SCHEMA.ref(label.name, row["id"])
                if label.authority.source:
                    yield CheckTask(type=CheckType.EXISTENCE, subject=node)
                for name in label.attributes:
                    yield CheckTask(type=CheckType.ATTRIBUTE, subject=node, attribute=name)
    for pattern in SCHEMA.relations:
        for table in store.scan_edges(pattern):
            for row in table.to_pylist():
                ends = SCHEMA.ref(pattern.head, row["head"]), SCHEMA.ref(pattern.tail, row["tail"])
                yield CheckTask(type=CheckType.TRIPLE, subject=ends[0], relation=pattern.type, object=ends[1])


@pytest.mark.slow
def test_what_was_carried_is_verified_by_the_run_that_judged_it(tmp_path: Path) -> None:
    store, asked = crowded_graph(), AuditOptions(types=tuple(KEPT_TYPES))
    one, other = (some_facts(moved=moved).build(tmp_path / str(moved)) for moved in (False, True))
    with Ledger(tmp_path / "full.sqlite") as alone, Ledger(tmp_path / "ledger.sqlite") as ledger:
        full = Audit(store, other, alone, SETTINGS).start(asked)
        first = Audit(store, one, ledger, SETTINGS).start(asked)
        as_first = of_run(ledger, first)
        # It is later, and looked into something else than what is carried on.
        Audit(store, other, ledger, SETTINGS).start(asked)

        def carried_on(former: Run, snapshot: Path) -> Run:
            found = since(ledger, former.id, asked, store)
            return Audit(store, snapshot, ledger, SETTINGS).start(asked, found)

        again = carried_on(carried_on(first, one), other)
        runs = assert_verified_alike(store, (alone, full), (ledger, again))
        assert set(runs) == {first.id, again.id}
        assert runs[first.id] > runs[again.id] > 0
        # What was carried stays when the run that judged it is forgotten.
        files = VerifiedFiles.of(ledger, Path("unused"))
        files.remove(first.id)
        forget(ledger.database, [first.id])
        reader = VerifiedReader(ledger, files)
        assert runs == Counter(found.run for task in tasks_of(store) if (found := reader.of(task)))
        # How a task ended last counts, not how it ended in the run that its kind was carried from.
        equal(as_first, of_run(ledger, carried_on(again, one)))


@pytest.mark.slow
def test_a_run_of_everything_and_one_of_what_changed_compare_as_the_same(twice: Twice) -> None:
    part = twice.part
    with Ledger(twice.folder / "ledger.sqlite") as ledger:
        former = ledger.run(twice.former)
        against_full = diff_of(ledger, twice.full.run, part.run)
        known = {finding.fingerprint for finding in [*ledger.findings(former), *part.findings]}
        as_part, as_full = (diff_of(ledger, former, run).states(known) for run in (part.run, twice.full.run))
        counts = +against_full.counts

    assert set(counts) == {ComparisonState.STILL}
    assert as_part == as_full
    assert {ComparisonState.NEW, ComparisonState.STILL, ComparisonState.FIXED} <= set(as_full.values())


@pytest.mark.slow
def test_a_graph_in_neo4j_is_known_to_be_the_same(ready_neo4j: Neo4jTarget, tmp_path: Path) -> None:
    graph, asked = crowded_graph(step=11), AuditOptions(types=(CheckType.TRIPLE, CheckType.EXISTENCE))
    labels, patterns = SCHEMA.labels, SCHEMA.relations
    older = some_facts().build(tmp_path / "older")
    newer = some_facts(moved=True, release="r2").build(tmp_path / "newer")
    opened = partial(Neo4jStore, ready_neo4j.uri, SCHEMA, Settings(neo4j_password=SecretStr(ready_neo4j.password)))
    with opened(create=True) as store:
        store.prepare()
        for label in labels:
            for rows in graph.scan_nodes(label):
                store.add_nodes(label, rows.select(node_schema(label).names))
        for pattern in patterns:
            for rows in graph.scan_edges(pattern):
                store.add_edges(pattern, rows.select(edge_schema(pattern).names))
    with opened() as store, Ledger(tmp_path / "ledger.sqlite") as ledger, Ledger(tmp_path / "full.sqlite") as alone:
        former = Audit(store, older, ledger, SETTINGS).start(asked)
        found = since(ledger, former.id, asked, store)
        part = Audit(store, newer, ledger, SETTINGS).start(asked, found)
        equal(of_run(alone, Audit(store, newer, alone, SETTINGS).start(asked)), of_run(ledger, part))
        assert part.made_with["since"] == former.id
        assert any(finding.carried_from for finding in ledger.findings(part))
        with opened(create=True) as other:
            other.add_nodes(labels[0], pa.Table.from_pylist([{"id": "X"}], node_schema(labels[0])))
        again = Audit(store, newer, ledger, SETTINGS).start(asked, found)
        assert "since" not in again.made_with
        assert any(f"the graph has changed since run {former.id}" in warning for warning in again.warnings)


@pytest.mark.slow
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(three_snapshots(), st.booleans(), st.booleans())
def test_what_changed_is_equal_to_everything_in_many_snapshots(
    tmp_path_factory: pytest.TempPathFactory,
    facts: tuple[Facts, Facts, Facts],
    keep_all: bool,
    keep_verified: bool,
) -> None:
    folder = tmp_path_factory.mktemp("generated")
    kept = SETTINGS.model_copy(update={"keep_verified": keep_verified})
    assert_equal_to_everything(folder, *facts, limits=kept, keep_all=keep_all, unfold=keep_all)
