"""What both stores do with a patch: every operation, its conflicts, and that undoing gives the same graph back."""

import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, cast

import neo4j
import pytest

from kgcheck.checks.verdicts import verdict as judged
from kgcheck.curation.operations import Operation, Patch, in_words
from kgcheck.curation.patch_maker import Wanted, fitting, operation_for, patch_of, statements_of
from kgcheck.curation.patches import PatchOutcome, apply_patch, check_patch, patches_in, recorded_in, undo_patch
from kgcheck.curation.steps import DraftGraph
from kgcheck.errors import StoreSchema, UsageError
from kgcheck.graph.changes import StoreChanges
from kgcheck.graph.open import OpenedStore
from kgcheck.graph.queries import Catalogue, pattern_places
from kgcheck.ledger.patches import PatchState
from kgcheck.model import Change, ChangeKind, CheckTask, CheckType, Finding, Reason, Stance, Tier, World
from kgcheck.progress import CallbackProgress
from tests.contract.conftest import on_server
from tests.contract.stores import Embedded, Official, Opener
from tests.support import quick_of
from tests.support.audits import audited, comparable
from tests.support.contents import content_digest
from tests.support.neo4j_fixtures import SLOWLY_ON_NEO4J, Neo4jTarget
from tests.support.patches import (
    CKG,
    FINDING,
    HOSTILE,
    HOSTILE_ID,
    WRITABLE,
    add_edge,
    edge,
    graph_file,
    in_disease,
    made,
    merge,
    node_of,
    of_gene,
    properties_of,
    put_edges,
    put_graph,
    put_nodes,
    ref,
    repoint,
    retire,
    set_value,
    why,
)
from tests.unit.test_verdicts import told


@pytest.fixture(params=["embedded", "neo4j"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenedStore]:
    opener: Opener
    if request.param == "embedded":
        opener = Embedded(tmp_path / "graph.lbdb")
        shutil.copy(graph_file(), opener.path)
    else:
        opener = on_server(request, "neo4j", ready=True)
    with opener(create=True) as opened:
        if request.param == "neo4j":
            put_graph(opened)
        yield cast(OpenedStore, opened)


OPERATIONS: dict[str, list[Operation]] = {
    "value of a node": [set_value(ref("A"), "name", WRITABLE)],
    "value where there is none": [set_value(ref("D"), "synonyms", ["x", WRITABLE])],
    "two values of one node": [set_value(ref("A"), "name", "new"), set_value(ref("A"), "taxid", "1")],
    "value of an edge": [set_value(edge("A", "C"), "score", 0.9, was=0.5)],
    "other end": [repoint(edge("A", "D"), "C", "tail")],
    "other head": [repoint(of_gene("G1", "A"), "G2", "head")],
    "other id": [repoint(ref("A"), "NEW")],
    "hostile id": [repoint(ref("A"), f"{WRITABLE}!")],
    "of a hostile id": [repoint(ref(HOSTILE_ID), "NEW")],
    "merge": [merge(ref("A"), ref("B"))],
    "merge into a hostile id": [merge(ref("C"), ref(HOSTILE_ID))],
    "two merges": [merge(ref("A"), ref("B")), merge(ref("B"), ref("C"))],
    "retired node": [retire(ref("A"))],
    "retired edges": [retire(edge("A", "D"))],
    "all but one": [retire(edge("A", "D"), but_one=True)],
    "new edge": [add_edge(edge("D", "C"), source=WRITABLE, score=0.125)],
    "new edge where one was retired, either way": [
        retire(edge("A", "C")),
        retire(edge("C", "A")),
        add_edge(edge("A", "C"), source="x"),
    ],
    "an edge and then its node": [repoint(edge("C", "A"), "B", "tail"), merge(ref("A"), ref("B"))],
}


AWAY = ("merge", "other id", "all but one", "retired node", "two merges")


@SLOWLY_ON_NEO4J
def test_undo_gives_back_the_graph_exactly(store: OpenedStore) -> None:
    before = content_digest(store)
    for name, delete in [*((name, False) for name in OPERATIONS), *((name, True) for name in AWAY)]:
        patch = made(store, *OPERATIONS[name])

        applied = apply_patch(patch, store, by=HOSTILE, delete=delete)
        between = content_digest(store)
        again = apply_patch(patch, store, by="other", delete=delete)
        undone = undo_patch(patch, store, by="x")

        number = len(patch.operations)
        assert (applied.done, applied.before, applied.conflicts) == (number, 0, ()), name
        assert between != before, name
        assert (again.done, again.before, again.conflicts) == (0, number, ()), name
        assert (undone.done, undone.conflicts) == (number, ()), name
        assert content_digest(store) == before, (name, delete)
        assert patches_in(store)[patch.id].state is PatchState.UNDONE, name


@pytest.mark.slow
def test_merge_moves_every_edge_and_folds_what_becomes_the_same(store: OpenedStore) -> None:
    apply_patch(made(store, merge(ref("A"), ref("B"))), store, by="x")

    gone = node_of(store, ref("A"))
    assert gone
    assert gone.properties["kgcheck_retired"] == FINDING
    # By one source: folded, with what both say; by another one: beside it.
    assert properties_of(store, edge("B", "C")) == [
        {"action": "activation; binding", "directionality": "yes", "score": 0.75, "source": "STRING"},
        {"score": 0.25, "source": "other"},
    ]
    assert properties_of(store, in_disease("B", "DOID:1")) == [
        {"evidence_type": "CURATED; TEXT", "number_publications": 3, "score": 0.1, "source": "s"}
    ]
    # Those of A alone are no more the same than they were.
    assert properties_of(store, edge("B", "D")) == [{"score": 0.1, "source": "STRING"}] * 3
    assert properties_of(store, in_disease("B", "DOID:2")) == [{"score": 1.0}]
    assert properties_of(store, edge("C", "B")) == [{}]
    assert properties_of(store, of_gene("G1", "B")) == [{"source": "HGNC"}]
    assert properties_of(store, of_gene("G2", "B")) == [{"source": "HGNC"}]
    # A loop is no fault where the profile says so.
    loops = [{"score": 1e-300}, {"source": "STRING"}] if CKG.pattern("Protein", "ACTS_ON", "Protein").loops else []
    assert properties_of(store, edge("B", "B")) == loops
    assert properties_of(store, edge("A", "C")) == []
    assert len(properties_of(store, edge("A", "C"), retired=True)) == 2


def test_a_patch_says_what_becomes_of_edges_that_meet_others_or_would_loop(store: OpenedStore) -> None:
    put_edges(store, (edge("D", "B"), {"source": "STRING", "score": 0.2, "action": "reaction"}))
    merged, moved = merge(ref("A"), ref("B")), repoint(edge("A", "D"), "B", "head")
    patch = made(store, moved)

    assert [in_words(o) for o in patch.operations] == [
        "re-point the head of A ACTS_ON D to B (3 edges, each folded into one that is there already)"
    ]
    # In whichever order the edge is stated that is there already, where order means nothing.
    apply_patch(patch, store, by="x")
    assert properties_of(store, edge("B", "D")) == []
    assert properties_of(store, edge("D", "B")) == [{"action": "reaction", "score": 0.2, "source": "STRING"}]
    met = "2 edges, each folded into one that is there already; 2 edges, each retired, for it would lead from a node"
    assert [in_words(o) for o in made(store, merged).operations] == [
        f"merge Protein A into Protein B ({met} to itself)"
    ]
    with store.statements(write=False) as run:
        _, misfits = fitting([add_edge(edge("B", "D"), source="x")], DraftGraph(StoreChanges(store, run)))
    assert [why for _, why in misfits] == ["the edge B ACTS_ON D is there already"]


def test_what_two_edges_say_alike_is_said_once(store: OpenedStore) -> None:
    put_nodes(store, "Protein", {"id": "N1"}, {"id": "N2"})
    said = {"source": "STRING", "score": 0.2, "action": "binding; reaction"}
    put_edges(store, *((edge(head, "D"), said) for head in ("N1", "N2")))

    apply_patch(made(store, merge(ref("N1"), ref("N2"))), store, by="x")

    assert properties_of(store, edge("N2", "D")) == [said]


def test_an_edge_that_would_lead_from_a_node_to_itself_is_retired(store: OpenedStore) -> None:
    found = told(Stance.CONTRADICTS, Tier.OWNER, World.CLOSED, reason=Reason.ENDPOINT_MERGED, about="head")
    verdict = judged(CheckType.TRIPLE, [found.model_copy(update={"candidates": ("B", "C")})])
    task = CheckTask(type=CheckType.TRIPLE, subject=ref("A"), relation="ACTS_ON", object=ref("B"))
    change = Change(kind=ChangeKind.REVIEW, candidates=("B", "C"), because="endpoint merged")
    finding = Finding(run="run", fingerprint=task.fingerprint, task=task, verdict=verdict, change=change)
    with store.statements(write=False) as run:
        chosen = [operation_for(Wanted(finding, to), StoreChanges(store, run)) for to in ("B", "C")]

    assert [in_words(o) for o in chosen] == ["retire the edge A ACTS_ON B", "re-point the head of A ACTS_ON B to C"]


def test_what_is_done_is_stamped_and_written_down_in_the_store(store: OpenedStore) -> None:
    patch = made(store, set_value(ref("A"), "name", "new", finding="f" * 16), retire(edge("A", "D")))
    meta = store.meta()

    apply_patch(patch, store, by="Anna")

    node = node_of(store, ref("A"))
    assert node
    marks = {k: v for k, v in node.properties.items() if k.startswith("kgcheck_")}
    record = patches_in(store)[patch.id]
    assert marks == {"kgcheck_changed": "f" * 16, "kgcheck_changed_at": record.at, "kgcheck_changed_by": "Anna"}
    assert (record.digest, record.state, record.operations) == (patch.header.digest, PatchState.APPLIED, 2)
    assert [(r.number, r.operation, r.by) for r in recorded_in(store, patch.id)] == [
        (1, patch.operations[0], "Anna"), (2, patch.operations[1], "Anna"),
    ]  # fmt: skip
    assert store.meta() == meta


CHANGES: dict[str, tuple[Operation, Operation, str]] = {
    "value": (set_value(ref("A"), "name", "new"), set_value(ref("A"), "taxid", "1"), "Protein A is"),
    "edge": (
        set_value(edge("A", "C"), "score", 1.0, was=0.5),
        set_value(edge("A", "C"), "action", "x", was="binding"),
        "A ACTS_ON C is",
    ),
    "merged": (merge(ref("A"), ref("B")), set_value(ref("A"), "name", "x"), "Protein A is"),
    "into": (merge(ref("A"), ref("B")), set_value(ref("B"), "name", "x"), "Protein B is"),
    "edge of it": (
        merge(ref("A"), ref("B")),
        set_value(of_gene("G1", "A"), "source", "x", was="HGNC"),
        "edges of Protein A is",
    ),
    "met": (
        merge(ref("A"), ref("B")),
        set_value(edge("B", "C"), "score", 0.0, was=0.75),
        "edges of Protein B that they meet is",
    ),
    "retired": (retire(edge("A", "D")), retire(edge("A", "D"), but_one=True), "A ACTS_ON D is"),
    "end": (repoint(edge("A", "D"), "C", "tail"), retire(ref("C")), "Protein C is"),
    "new": (add_edge(edge("D", "C")), retire(ref("D")), "Protein D is"),
    "new id": (repoint(ref("C"), "NEW"), repoint(ref("D"), "NEW"), "Protein NEW is"),
}
"""An operation, what somebody else does before it, and what the conflict names."""


@pytest.mark.slow
@SLOWLY_ON_NEO4J
def test_what_has_changed_since_is_a_conflict_and_the_rest_is_done(store: OpenedStore) -> None:
    untouched = content_digest(store)
    for name, (operation, other, message) in CHANGES.items():
        patch = made(store, operation, set_value(ref("DOID:2", "Disease"), "name", "other"))
        others = made(store, other)
        apply_patch(others, store, by="somebody")
        before = content_digest(store)

        checked = check_patch(patch, store)
        assert content_digest(store) == before, name
        applied = apply_patch(patch, store, by="x")

        assert why(checked.conflicts) == why(applied.conflicts), name
        assert [c.number for c in applied.conflicts] == [1], name
        assert applied.conflicts[0].why == f"{message} not as it was when the patch was made", name
        assert (checked.done, applied.done) == (1, 1), name
        assert undo_patch(patch, store, by="x").done == 1, name
        assert content_digest(store) == before, name
        undo_patch(others, store, by="somebody")
        assert content_digest(store) == untouched, name


def test_an_earlier_mark_is_no_conflict_and_comes_back(store: OpenedStore) -> None:
    first = made(store, set_value(ref("A"), "name", "one", finding="1" * 16))
    apply_patch(first, store, by="x")
    second = made(store, set_value(ref("A"), "taxid", "1", finding="2" * 16))
    between = content_digest(store)
    apply_patch(second, store, by="x")

    # What the second did stands above the first.
    assert why(undo_patch(first, store, by="x").conflicts) == ["Protein A is not as it was"]
    with pytest.raises(UsageError, match="is not finished"):
        apply_patch(first, store, by="x")
    undo_patch(second, store, by="x")
    assert content_digest(store) == between
    assert undo_patch(first, store, by="x").conflicts == ()


def test_a_patch_for_another_store_or_profile_is_refused(store: OpenedStore) -> None:
    patch = made(store, set_value(ref("A"), "name", "one"))
    elsewhere = patch._replace(header=patch.header.model_copy(update={"store": "/other", "store_id": "another"}))
    of_other = patch._replace(header=patch.header.model_copy(update={"profile": "kgx 1"}))
    before = content_digest(store)

    acts: list[Callable[[Patch], object]] = [
        lambda p: apply_patch(p, store, by="x"),
        lambda p: undo_patch(p, store, by="x"),
        lambda p: check_patch(p, store),
    ]
    for act in acts:
        with pytest.raises(UsageError, match="is for the store that was at /other, and"):
            act(elsewhere)
        with pytest.raises(StoreSchema, match="of the profile kgx 1, not ckg 1"):
            act(of_other)
    with pytest.raises(UsageError, match="nothing of the patch"):
        undo_patch(patch, store, by="x")
    assert content_digest(store) == before


MISFITS: list[tuple[Operation, str]] = [
    (set_value(ref("nowhere"), "name", "x"), "Protein nowhere is not there"),
    (set_value(edge("A", "C"), "score", 1.0, was=0.123), "no edge A ACTS_ON C has the score that is wrong"),
    (merge(ref("A"), ref("nowhere")), "Protein nowhere is not there"),
    (merge(ref("A"), ref("A")), "Protein A is that node already"),
    (repoint(ref("A"), "B"), "Protein B is there already"),
    (repoint(edge("A", "C"), "nowhere", "tail"), "Protein nowhere is not there"),
    (repoint(edge("A", "C"), "C", "tail"), "A ACTS_ON C has that end already"),
    (retire(edge("D", "A")), "the edge D ACTS_ON A is not there"),
    (retire(edge("A", "C"), but_one=True), "no two edges A ACTS_ON C are alike"),
    (add_edge(edge("A", "C")), "the edge A ACTS_ON C is there already"),
    (add_edge(edge("A", "nowhere")), "Protein nowhere is not there"),
]


def test_what_does_not_fit_says_why(store: OpenedStore) -> None:
    with store.statements(write=False) as run:
        drafted, misfits = fitting([operation for operation, _ in MISFITS], DraftGraph(StoreChanges(store, run)))
    assert drafted == []
    assert misfits == MISFITS


# --- what only a server can hold ---------------------------------------------------------------------


@pytest.fixture
def server(ready_neo4j: Neo4jTarget) -> Iterator[tuple[Official, OpenedStore]]:
    official = Official(ready_neo4j)
    with official(create=True) as opened:
        put_graph(opened)
        yield official, cast(OpenedStore, opened)


def statements_in(text: str) -> list[str]:
    """The statements of a file of Cypher."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
    return [statement for statement in body.split(";\n") if statement.strip()]


@pytest.mark.parametrize("name", quick_of(CHANGES, "value", "edge", "retired"))
def test_cypher_for_people_does_nothing_where_the_graph_is_another(
    name: str, server: tuple[Official, OpenedStore]
) -> None:
    official, store = server
    operation, other, _ = CHANGES[name]
    with store.statements(write=False) as run:
        drafted, _ = fitting([operation], DraftGraph(StoreChanges(store, run)))
    patch = patch_of([d.operation for d in drafted], store, "run", by="x")
    text, parameters = statements_of(patch, [d.watched for d in drafted], CKG)
    apply_patch(made(store, other), store, by="x")
    before = content_digest(store)

    def run_all(transaction: neo4j.ManagedTransaction) -> None:
        for statement in statements_in(text):
            transaction.run(cast(Any, statement), parameters | {"at": "now", "by": "x"}).consume()

    with official.target.driver() as driver, driver.session() as session:
        with pytest.raises(neo4j.exceptions.ClientError, match="/ by zero"):
            session.execute_write(run_all)

    assert content_digest(store) == before


WRITTEN_OUT = ("two values of one node", "all but one", "other end", "two merges", "new edge")


@pytest.mark.parametrize("name", quick_of(WRITTEN_OUT, "two values of one node", "new edge"))
def test_cypher_for_people_does_the_same(name: str, server: tuple[Official, OpenedStore]) -> None:
    official, store = server
    with store.statements(write=False) as run:
        drafted, misfits = fitting(OPERATIONS[name], DraftGraph(StoreChanges(store, run)))
    assert misfits == []
    patch = patch_of([d.operation for d in drafted], store, "run", by="x")
    apply_patch(patch, store, by=HOSTILE)
    applied, at = content_digest(store), patches_in(store)[patch.id].at
    undo_patch(patch, store, by="x")

    text, parameters = statements_of(patch, [d.watched for d in drafted], CKG)
    with official.target.driver() as driver:
        for statement in statements_in(text):
            driver.execute_query(cast(Any, statement), parameters | {"at": at, "by": HOSTILE})
    assert content_digest(store) == applied


ONE_EDGE = (
    "edges_between",
    "remove_edges",
    "remove_one_edge",
    "update_lock_between",
    "update_one_edge",
    "update_patched_edge",
    "whole_edges",
)


@pytest.mark.parametrize("name", ONE_EDGE)
def test_no_statement_about_the_edges_of_two_nodes_goes_through_all_of_a_hub(
    name: str, server: tuple[Official, OpenedStore]
) -> None:
    official, _ = server
    places = pattern_places(CKG.pattern("Protein", "ACTS_ON", "Protein"))
    places |= {"edges_between": {"where": ""}, "remove_edges": {"same": ""}}.get(name, {})
    parameters = {"head_id": "A", "tail_id": "C", "key": "", "values": {}, "rows": [], "at": "", "by": ""}
    text = Catalogue("neo4j", CKG.labels).text(name, **places)

    with official.target.driver() as driver:
        plan = driver.execute_query(cast(Any, f"EXPLAIN {text}"), parameters).summary.plan

    def operators(step: dict[str, Any]) -> Iterator[str]:
        yield step["operatorType"]
        for child in step.get("children", ()):
            yield from operators(child)

    assert plan
    found = list(operators(plan))
    assert any("IndexSeek" in operator for operator in found)
    assert not any("Expand(All)" in operator for operator in found), found


@pytest.mark.slow
def test_two_who_apply_a_patch_at_once_do_it_once(server: tuple[Official, OpenedStore]) -> None:
    official, store = server
    before = content_digest(store)
    operations = [set_value(ref(i), "name", f"new {n}") for n in range(40) for i in ("A", "B")]
    patch = made(store, *operations, merge(ref("A"), ref("B")))

    def apply(by: str) -> PatchOutcome:
        with official(create=True) as opened:
            return apply_patch(patch, cast(OpenedStore, opened), by=by)

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(apply, ("Anna", "Bert")))

    number = len(patch.operations)
    assert sum(outcome.done for outcome in outcomes) == number
    assert [outcome.done + outcome.before for outcome in outcomes] == [number, number]
    assert [outcome.conflicts for outcome in outcomes] == [(), ()]
    assert undo_patch(patch, store, by="x").done == number
    assert content_digest(store) == before


@pytest.mark.slow
def test_an_audit_beside_a_patch_is_of_one_graph_or_says_so(
    server: tuple[Official, OpenedStore], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    official, store = server
    monkeypatch.setattr("kgcheck.curation.patches.MOST_STEPS", 1)
    before = content_digest(store)
    patch = made(store, merge(ref("A"), ref("B")), retire(edge("C", "B")), repoint(ref("C"), "bad id"))
    numbers = count()

    def audit() -> tuple[bool, list[str]]:
        with official() as opened:
            found = audited(opened, tmp_path / f"{next(numbers)}.sqlite", types=(CheckType.STRUCTURE,))
            return found.run.is_mixed, comparable(found)[0]

    def there_and_back(after_each: Callable[[], None]) -> tuple[int, int]:
        with official(create=True) as opened:
            progress = CallbackProgress(lambda _step, _done, _total: after_each())
            own = cast(OpenedStore, opened)
            done = apply_patch(patch, own, by="x", progress=progress).done
            return done, undo_patch(patch, own, by="x", progress=progress).done

    between: list[tuple[bool, list[str]]] = []
    there_and_back(lambda: between.append(audit()))
    with ThreadPoolExecutor(1) as pool:
        going = [pool.submit(there_and_back, lambda: time.sleep(0.2)) for _ in range(4)]
        beside = []
        while not going[-1].done():
            beside.append(audit())

    # Before the first transaction, and after each of three, there and back.
    assert [is_mixed for is_mixed, _ in between] == [False] * 8
    known = [found for _, found in between]
    assert [found for is_mixed, found in beside if not is_mixed and found not in known] == []
    assert any(is_mixed for is_mixed, _ in beside)
    assert [ended.result() for ended in going] == [(3, 3)] * 4
    assert content_digest(store) == before


@pytest.mark.parametrize(
    ("statement", "operation", "message"),
    [
        ("MATCH (n:Protein {id: 'A'}) SET n:Odd", repoint(ref("A"), "NEW"), "has a label that"),
        ("MATCH (n:Protein {id: 'A'}) SET n.day = date('2024-01-02')", repoint(ref("A"), "NEW"), "cannot be written"),
        ("MATCH (n:Protein {id: 'A'}) CREATE (n)-[:ODD]->(n)", merge(ref("A"), ref("B")), "edges of a kind that"),
        ("MATCH (n:Protein {id: 'A'}) CREATE (n)<-[:ACTS_ON]-(:Odd)", retire(ref("A")), "edges of a kind that"),
        ("MATCH (n:Protein {id: 'A'}) CREATE (n)<-[:ACTS_ON]-(:Protein {id: 5})", retire(ref("A")), "id is no text"),
        (
            "DROP CONSTRAINT kgcheck_Protein_id; CREATE (:Protein {id: 'A'})",
            set_value(ref("A"), "name", "x"),
            "2 nodes are Protein A",
        ),
    ],
)
def test_what_cannot_be_undone_exactly_is_not_done(
    server: tuple[Official, OpenedStore], statement: str, operation: Operation, message: str
) -> None:
    official, store = server
    for one in statement.split("; "):
        official.run(one)
    with store.statements(write=False) as run:
        _, ((_, why),) = fitting([operation], DraftGraph(StoreChanges(store, run)))
    assert message in why


@pytest.mark.slow
def test_what_a_patch_has_read_is_held(server: tuple[Official, OpenedStore]) -> None:
    official, store = server

    def is_free(statement: str) -> bool:
        """Whether somebody else can do this meanwhile."""
        with official.target.driver() as driver, driver.session() as session:
            try:
                with session.begin_transaction(timeout=5) as transaction:
                    transaction.run(cast(Any, statement)).consume()
                    transaction.rollback()
            except neo4j.exceptions.Neo4jError:
                return False
            return True

    changing = (
        "MATCH (n:Protein {id: 'A'}) SET n.name = 'x'",
        "MATCH (:Protein {id: 'A'})-[r:ACTS_ON]->(:Protein {id: 'C'}) SET r.score = 1.0",
        "MATCH (:Gene {id: 'G2'})-[r]->(:Protein {id: 'B'}) SET r.source = 'x'",
        "MATCH (:Protein {id: 'C'})-[r:ACTS_ON]->(:Protein {id: 'A'}) SET r.score = 1.0",
    )
    before = content_digest(store)
    with store.statements(write=True) as run, ThreadPoolExecutor(len(changing)) as pool:
        changes = StoreChanges(store, run)
        changes.lock([ref("A")])
        changes.edges(edge("A", "C"))
        changes.edges_of(ref("B"))
        free = list(pool.map(is_free, changing))

    # The last one is of an end, but nobody has read it: of a hub there are millions.
    assert free == [False, False, False, True]
    assert content_digest(store) == before
    assert all(map(is_free, changing))
