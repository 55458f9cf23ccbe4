"""What every graph store must do alike: the embedded one, Neo4j, and a py2neo Graph on the same server."""

from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgcheck.errors import (
    BudgetExceeded,
    StoreError,
    StoreMissing,
    StoreSchema,
    StoreUnguarded,
    UnknownName,
    UsageError,
)
from kgcheck.graph import embedded, neo4j, server
from kgcheck.graph import store as stores
from kgcheck.graph.reading import read_statement
from kgcheck.graph.store import DONE, LOAD, STATE, UNDER_WAY, Direction, GraphStore, Properties, Reading, check_format
from kgcheck.model import Ref, Triple
from kgcheck.profile.schema import Pattern
from tests.contract.stores import (
    ACTS_ON,
    CKG,
    DISEASE,
    HAS_PARENT,
    IN_DISEASE,
    PROTEIN,
    SEQUENCE,
    Official,
    Opener,
    add_nodes,
    all_edges,
    all_nodes,
    edges_table,
    in_order,
    nodes_table,
    triple,
)
from tests.support import examples, quick_of

# --- empty, prepared and described -----------------------------------------------------------------


@pytest.mark.parametrize("prepared", [False, True])
def test_an_empty_store_answers_every_read(opener: Opener, prepared: bool) -> None:
    ref = Ref(label="Protein", id="P04637")
    with opener(create=True) as store:
        if prepared:
            store.prepare()
        assert store.node(ref) is None
        assert store.nodes(PROTEIN, ["P04637", "Q1"]) == {}
        assert store.edges(triple("P1", ACTS_ON, "P2")) == []
        assert store.neighbours(ref, ACTS_ON, "out", 5) == []
        assert store.hops(["P04637"], ACTS_ON, "in") == []
        assert all_nodes(store, PROTEIN) == []
        assert all_edges(store, ACTS_ON) == []
        assert store.stray_edges(5) == []
        assert store.unknown() == {}
        assert store.meta() == {}
        assert (store.counts().total_nodes, store.counts().total_edges) == (0, 0)


def test_prepare_may_be_repeated_and_keeps_what_is_there(opener: Opener) -> None:
    with opener(create=True) as store:
        store.prepare()
        add_nodes(store, PROTEIN, "P1")
        store.prepare()
    with opener(create=True) as store:
        store.prepare()
        assert all_nodes(store, PROTEIN) == [{"id": "P1"}]


def test_a_store_that_holds_nothing_cannot_be_opened_for_reading(opener: Opener) -> None:
    with pytest.raises(StoreMissing) as caught:
        opener()
    assert "kgcheck load" in caught.value.hint
    with opener(create=True):
        pass
    with pytest.raises(StoreMissing):
        opener()


def test_a_graph_can_be_read_after_it_was_closed(ready: Opener) -> None:
    with ready(create=True) as store:
        store.prepare()
        add_nodes(store, PROTEIN, "P1")
    with ready() as store:
        assert store.node(Ref(label="Protein", id="P1")) == {"id": "P1"}


def test_meta_is_kept_replaced_and_not_counted_as_a_node(ready: Opener) -> None:
    with ready(create=True) as store:
        store.prepare()
        store.set_meta("profile_version", "1")
        store.set_meta("profile", "ckg")
        store.set_meta("loaded", "{'\"`\\ \n ü}")
        store.set_meta("loaded", "again '\"`\\ \n ü")
        assert store.counts().total_nodes == 0
    with ready() as store:
        assert store.meta() == {"profile": "ckg", "profile_version": "1", "loaded": "again '\"`\\ \n ü"}


@pytest.mark.parametrize("change", [{"name": "other"}, {"version": 2}])
@pytest.mark.parametrize("create", [False, True])
def test_a_store_of_another_profile_is_refused(ready: Opener, change: dict[str, Any], create: bool) -> None:
    with ready(create=True) as store:
        store.prepare()
        store.set_meta("profile_version", "1")
        store.set_meta("profile", "ckg")
    other = CKG.model_copy(update={"profile": CKG.profile.model_copy(update=change)})
    with pytest.raises(StoreSchema, match=r"profile 'ckg' version 1, not '(other|ckg)' version [12]") as caught:
        ready(other, create=create)
    assert "--profile" in caught.value.hint


@pytest.mark.parametrize("create", [False, True])
def test_a_store_of_another_format_is_refused_and_one_of_none_is_of_the_first(ready: Opener, create: bool) -> None:
    with ready(create=True) as store:
        store.prepare()
        check_format("g", store.meta())
        store.set_meta("format", "1")
    with ready(create=True) as store:
        store.set_meta("format", "2")
    with pytest.raises(StoreSchema, match=r"is of format '2', and this kgcheck knows 1") as caught:
        ready(create=create)
    assert "the kgcheck that loaded it" in caught.value.hint
    for other in ("99", "", "one", "1.0", " 1", "x" * 1_000):
        with pytest.raises(StoreSchema, match=r"is of format '.{0,20}', and"):
            check_format("g", {"format": other})


def test_a_store_whose_profile_was_only_half_written_down_can_be_loaded(ready: Opener) -> None:
    with ready(create=True) as store:
        store.prepare()
        store.set_meta("profile_version", "1")
    with ready(create=True) as store:
        assert store.meta() == {"profile_version": "1"}


def test_a_half_loaded_graph_is_refused_to_readers_and_given_to_the_loader(ready: Opener) -> None:
    with ready(create=True) as store:
        store.prepare()
        store.set_meta(LOAD, UNDER_WAY)
    with pytest.raises(StoreError, match="not finished") as caught:
        ready()
    assert "kgcheck load again" in caught.value.hint
    with ready(create=True) as store:
        store.set_meta(LOAD, DONE)
    with ready() as store:
        assert store.meta() == {LOAD: DONE}


def test_reading_cannot_write(ready: Opener) -> None:
    with ready(create=True) as store:
        store.prepare()
        add_nodes(store, PROTEIN, "P1")
    statement = "MATCH (n:`Protein`) SET n.`name` = 'x'"
    with ready() as store:
        with pytest.raises(StoreError):
            list(store._read(statement, {}) if hasattr(store, "_read") else store._rows(statement))  # type: ignore[attr-defined]
        assert all_nodes(store, PROTEIN) == [{"id": "P1"}]


# --- nodes and edges -------------------------------------------------------------------------------


def test_nodes_keep_text_lists_numbers_and_nulls(store: GraphStore) -> None:
    full: Properties = {
        "id": "P1",
        "name": "TP53",
        "synonyms": ["p53", "", "a,b"],
        "description": "  spaces ",
        "taxid": "9606",
    }
    store.add_nodes(PROTEIN, nodes_table(PROTEIN, full, {"id": "P2", "name": ""}, {"id": "P3"}))
    store.add_nodes(SEQUENCE, nodes_table(SEQUENCE, {"id": "P1", "sequence": "MEEP", "size": 4}))
    assert store.node(Ref(label="Protein", id="P1")) == full
    assert store.node(Ref(label="Protein", id="P3")) == {"id": "P3"}
    assert store.nodes(PROTEIN, ["P2", "P9", "P2"]) == {"P2": {"id": "P2", "name": ""}}
    assert store.nodes(PROTEIN, []) == {}
    assert store.node(Ref(label="Amino_acid_sequence", id="P1")) == {"id": "P1", "sequence": "MEEP", "size": 4}
    assert all_nodes(store, PROTEIN) == in_order([full, {"id": "P2", "name": ""}, {"id": "P3"}])
    assert store.counts().nodes["Protein"] == 3


def test_an_update_sets_and_takes_away_and_leaves_others_alone(store: GraphStore) -> None:
    store.add_nodes(PROTEIN, nodes_table(PROTEIN, *({"id": i, "name": "old", "taxid": "9606"} for i in "abc")))
    changed: list[Properties] = [
        {"id": "a", "name": "new", "synonyms": ["x"]},
        {"id": "c", "name": "old", "taxid": "1"},
    ]
    store.update_nodes(PROTEIN, nodes_table(PROTEIN, *changed))
    assert all_nodes(store, PROTEIN) == in_order([*changed, {"id": "b", "name": "old", "taxid": "9606"}])


def test_parallel_edges_are_kept_and_numbers_are_exact(store: GraphStore) -> None:
    add_nodes(store, PROTEIN, "P1", "P2")
    add_nodes(store, DISEASE, "DOID:1")
    acts: list[Properties] = [
        {"head": "P1", "tail": "P2", "score": 0.1 + 0.2, "action": "binding"},
        {"head": "P1", "tail": "P2", "score": -1.0},
        {"head": "P1", "tail": "P2"},
        {"head": "P2", "tail": "P1", "score": 5e-324},
        {"head": "P2", "tail": "P2", "score": 1.7976931348623157e308},
    ]
    store.add_edges(ACTS_ON, edges_table(ACTS_ON, *acts))
    ill: Properties = {"head": "P1", "tail": "DOID:1", "score": 3.0, "number_publications": 2**62 + 1}
    store.add_edges(IN_DISEASE, edges_table(IN_DISEASE, ill))
    assert in_order(store.edges(triple("P1", ACTS_ON, "P2"))) == in_order(
        [{"score": 0.1 + 0.2, "action": "binding"}, {"score": -1.0}, {}]
    )
    assert store.edges(triple("P1", IN_DISEASE, "DOID:1")) == [{"score": 3.0, "number_publications": 2**62 + 1}]
    assert all_edges(store, ACTS_ON) == in_order(acts)
    assert all_edges(store, IN_DISEASE) == [ill]
    counts = store.counts()
    assert (counts.edges[str(ACTS_ON)], counts.edges[str(IN_DISEASE)], counts.total_edges) == (5, 1, 6)


def test_the_state_is_another_after_any_change_and_the_same_after_none(opener: Opener, store: GraphStore) -> None:
    add_nodes(store, PROTEIN, "P1")
    store.close()
    seen: list[str | None] = []
    for name in (None, None, "other"):
        if name:
            with opener(create=True) as again:
                again.update_nodes(PROTEIN, nodes_table(PROTEIN, {"id": "P1", "name": name}))
        with opener() as again:
            assert all_nodes(again, PROTEIN)
            seen.append(again.state())
    if store.backend == "py2neo":
        assert seen == [None] * 3
    else:
        assert seen[0]
        assert seen[0] == seen[1] != seen[2]


def test_a_change_gives_its_label_or_pattern_a_fresh_state_and_no_other(opener: Opener, store: GraphStore) -> None:
    def states() -> dict[str, str]:
        return {key: value for key, value in store._identity().items() if key.startswith(STATE)}  # type: ignore[attr-defined]

    name, before = store.store_id(), states()
    assert before.keys() == {STATE + n for n in (*CKG.label_names, *map(str, CKG.relations))}
    add_nodes(store, PROTEIN, "P1", "P2")
    nodes = states()
    store.add_edges(ACTS_ON, edges_table(ACTS_ON, {"head": "P1", "tail": "P2"}))
    edges = states()
    store.remove_edges(ACTS_ON, edges_table(ACTS_ON, {"head": "P1", "tail": "P2"}))
    again = states()

    assert {key for key in before if before[key] != nodes[key]} == {f"{STATE}Protein"}
    assert {key for key in before if nodes[key] != edges[key]} == {f"{STATE}{ACTS_ON}"}
    assert len({before[f"{STATE}{ACTS_ON}"], edges[f"{STATE}{ACTS_ON}"], again[f"{STATE}{ACTS_ON}"]}) == 3
    store.prepare()
    assert (store.store_id(), states()) == (name, again)
    assert STATE not in "".join(store.meta())


def test_a_store_has_no_state_while_it_is_changed_and_after_a_change_that_broke_off(store: GraphStore) -> None:
    def broken_off() -> None:
        with store.changing(["Protein", "Gene"]):
            assert store.state() is None
            add_nodes(store, PROTEIN, "P1")
            assert store.state() is None
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert store.state() is None
    store.prepare()
    assert (store.state() is None) == (store.backend == "py2neo")
    store.set_meta(LOAD, UNDER_WAY)
    assert store.state() is None


def test_a_graph_that_somebody_else_filled_is_named_by_its_database_and_nothing_is_written(server: Official) -> None:
    server.run("CREATE (:Protein {id: 'P1'})")
    with server() as opened:
        name, state = opened.store_id(), opened.state()
        assert name.startswith("neo4j:")
        assert (opened.store_id(), opened.state()) == (name, state)
        assert opened.meta() == opened._identity() == {}  # type: ignore[attr-defined]
        server.run("MATCH (p:Protein) SET p.name = 'other'")
        assert (opened.backend == "py2neo") or opened.state() not in (None, state)
    with server(create=True) as opened:
        opened.prepare()
        assert opened.store_id() == name


@pytest.mark.slow
def test_just_the_edges_that_state_it_are_taken_away(store: GraphStore) -> None:
    add_nodes(store, PROTEIN, "P1", "P2", "P3")
    acts: list[Properties] = [
        {"head": "P1", "tail": "P2", "score": 0.1 + 0.2, "action": "binding"},
        {"head": "P1", "tail": "P2", "score": 0.1 + 0.2},
        {"head": "P1", "tail": "P2", "score": 0.1 + 0.2},
        {"head": "P1", "tail": "P2"},
        {"head": "P2", "tail": "P2", "score": -1.0},
        {"head": "P3", "tail": "P1", "score": -1.0},
    ]
    store.add_edges(ACTS_ON, edges_table(ACTS_ON, *acts))
    store.remove_edges(ACTS_ON, edges_table(ACTS_ON, acts[1], acts[4]))
    assert all_edges(store, ACTS_ON) == in_order([acts[0], acts[3], acts[5]])
    store.remove_edges(ACTS_ON, edges_table(ACTS_ON, acts[3]))
    assert all_edges(store, ACTS_ON) == in_order([acts[0], acts[5]])
    add_nodes(store, DISEASE, "DOID:1")
    ill: list[Properties] = [{"head": "P1", "tail": "DOID:1", "number_publications": n} for n in (2**62 + 1, 2**62 + 2)]
    store.add_edges(IN_DISEASE, edges_table(IN_DISEASE, *ill))
    store.remove_edges(IN_DISEASE, edges_table(IN_DISEASE, ill[0]))
    assert all_edges(store, IN_DISEASE) == ill[1:]


def test_a_node_without_edges_can_be_taken_away_and_no_other(store: GraphStore) -> None:
    add_nodes(store, PROTEIN, "P1", "P2", "P3")
    store.add_edges(ACTS_ON, edges_table(ACTS_ON, {"head": "P1", "tail": "P2"}))
    store.remove_nodes(PROTEIN, nodes_table(PROTEIN, {"id": "P3"}))
    assert [row["id"] for row in all_nodes(store, PROTEIN)] == ["P1", "P2"]
    with pytest.raises(StoreError):
        store.remove_nodes(PROTEIN, nodes_table(PROTEIN, {"id": "P2"}))
    assert [row["id"] for row in all_nodes(store, PROTEIN)] == ["P1", "P2"]
    assert store.counts().total_edges == 1


@pytest.mark.slow
def test_edges_between_few_nodes_are_all_written_whatever_is_under_way(store: GraphStore) -> None:
    ids = [f"P{i}" for i in range(40)]
    add_nodes(store, PROTEIN, *ids)
    everyone: list[Properties] = [{"head": a, "tail": b} for a in ids for b in ids]
    rows = edges_table(ACTS_ON, *everyone * 10)
    store.add_edges(ACTS_ON, rows)
    assert store.counts().edges[str(ACTS_ON)] == len(rows) == 16_000
    assert all_edges(store, ACTS_ON) == in_order(everyone * 10)


def test_edges_without_properties(store: GraphStore) -> None:
    add_nodes(store, DISEASE, "DOID:1", "DOID:2")
    store.add_edges(HAS_PARENT, edges_table(HAS_PARENT, {"head": "DOID:1", "tail": "DOID:2"}))
    assert store.edges(triple("DOID:1", HAS_PARENT, "DOID:2")) == [{}]
    assert all_edges(store, HAS_PARENT) == [{"head": "DOID:1", "tail": "DOID:2"}]


def test_neighbours_in_both_directions_in_order_and_once(store: GraphStore) -> None:
    add_nodes(store, PROTEIN, "hub", *(f"n{i}" for i in range(5)))
    out = [{"head": "hub", "tail": f"n{i}"} for i in (3, 1, 2, 1)]
    store.add_edges(ACTS_ON, edges_table(ACTS_ON, *out, {"head": "n4", "tail": "hub"}, {"head": "hub", "tail": "hub"}))
    hub = Ref(label="Protein", id="hub")
    assert store.neighbours(hub, ACTS_ON, "out", 10) == ["hub", "n1", "n2", "n3"]
    assert store.neighbours(hub, ACTS_ON, "out", 2) == ["hub", "n1"]
    assert store.neighbours(hub, ACTS_ON, "in", 10) == ["hub", "n4"]
    assert store.neighbours(hub, ACTS_ON, "in", 0) == []


@pytest.mark.parametrize("many", [0, 150])
def test_hops_are_every_edge_with_its_properties(store: GraphStore, many: int) -> None:
    others = [f"x{i}" for i in range(many)]
    add_nodes(store, PROTEIN, "a", "b", "c", *others)
    edges = [("a", "b", 0.5), ("a", "b", 0.7), ("c", "b", None), ("b", "b", 0.9)]
    store.add_edges(ACTS_ON, edges_table(ACTS_ON, *({"head": h, "tail": t, "score": s} for h, t, s in edges)))

    def taken(*ids: str, to: Direction) -> list[tuple[str, str, float | None]]:
        hops = store.hops([*ids, *others], ACTS_ON, to)
        return sorted(((h.start, h.end, h.properties.get("score")) for h in hops), key=str)

    assert taken("a", "c", "nobody", to="out") == [("a", "b", 0.5), ("a", "b", 0.7), ("c", "b", None)]
    assert taken("b", to="in") == [("b", "a", 0.5), ("b", "a", 0.7), ("b", "b", 0.9), ("b", "c", None)]
    assert taken("a", to="in") == []
    assert store.hops([], ACTS_ON, "out") == []


@pytest.mark.parametrize("many", [0, 150])
def test_no_more_hops_are_read_than_may_be_taken(store: GraphStore, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    add_nodes(store, PROTEIN, "hub", *(f"n{i}" for i in range(6)))
    store.add_edges(ACTS_ON, edges_table(ACTS_ON, *({"head": "hub", "tail": f"n{i}"} for i in range(6))))
    read = []
    monkeypatch.setattr(stores, "plain", lambda present, properties: read.append(present))
    for module in (stores, embedded, server):
        monkeypatch.setattr(module, "MOST_HOPS", 2)

    with pytest.raises(BudgetExceeded, match="more than 2 edges"):
        store.hops(["hub", *(f"x{i}" for i in range(many))], ACTS_ON, "out")
    assert len(read) == 3


def test_a_scan_can_read_the_ends_of_edges_alone(store: GraphStore) -> None:
    add_nodes(store, PROTEIN, "a", "b")
    edges = [{"head": h, "tail": t, "score": s} for h, t, s in (("a", "b", 0.5), ("a", "b", 0.7), ("b", "a", None))]
    store.add_edges(ACTS_ON, edges_table(ACTS_ON, *edges))
    ends = [{"head": h, "tail": t} for h, t in (("a", "b"), ("a", "b"), ("b", "a"))]
    assert all_edges(store, ACTS_ON.ends_alone) == in_order(ends)


def test_one_id_on_two_labels_is_two_nodes(store: GraphStore) -> None:
    add_nodes(store, PROTEIN, "P1", "P2")
    add_nodes(store, SEQUENCE, "P1")
    pattern = CKG.pattern("Protein", "HAS_SEQUENCE", "Amino_acid_sequence")
    store.add_edges(pattern, edges_table(pattern, {"head": "P1", "tail": "P1"}))
    assert store.neighbours(Ref(label="Protein", id="P1"), pattern, "out", 5) == ["P1"]
    assert store.neighbours(Ref(label="Amino_acid_sequence", id="P1"), pattern, "in", 5) == ["P1"]


def test_a_name_that_is_not_in_the_schema_never_reaches_the_store(store: GraphStore) -> None:
    with pytest.raises(UnknownName):
        store.node(Ref(label="Protein`) DETACH DELETE n //", id="P1"))
    with pytest.raises(UnknownName):
        store.edges(Triple(head=Ref(label="Protein", id="a"), relation="KILLS", tail=Ref(label="Protein", id="b")))


@pytest.mark.parametrize("opener", quick_of(["embedded", "neo4j", "py2neo"], "embedded", "neo4j"), indirect=True)
@pytest.mark.parametrize("pattern", [ACTS_ON, IN_DISEASE])
def test_the_edges_of_a_hub_come_in_parts(store: GraphStore, pattern: Pattern, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [f"n{i}" for i in range(9)]
    for label in dict.fromkeys((pattern.head, pattern.tail)):
        add_nodes(store, store.schema.label(label), "hub", *ids)
    edges = [{"head": "hub", "tail": i, "score": 0.5} for i in (*ids, "n3")] + [{"head": "n1", "tail": "n2"}]
    store.add_edges(pattern, edges_table(pattern, *edges, *({"head": i, "tail": "hub"} for i in ids)))
    at_once = all_edges(store, pattern)
    monkeypatch.setattr(server, "HUB_EDGES", 2)
    monkeypatch.setattr(server, "SCAN_ROWS", 4)

    sizes = [table.num_rows for table in store.scan_edges(pattern)]

    assert all_edges(store, pattern) == at_once
    assert sum(sizes) == len(edges) + len(ids)
    if store.backend != "embedded":
        assert max(sizes) <= 5


@pytest.mark.parametrize("opener", quick_of(["embedded", "neo4j", "py2neo"], "embedded"), indirect=True)
def test_thousands_of_rows(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    # A server takes and gives them in six parts, the last one not full.
    monkeypatch.setattr(store, "_batch_rows", 1_500, raising=False)
    monkeypatch.setattr(server, "SCAN_ROWS", 1_500)
    ids = [f"P{i:05}" for i in range(8_000)]
    add_nodes(store, PROTEIN, *ids)
    edges = [{"head": a, "tail": b, "score": 0.5} for a, b in zip(ids, ids[1:] + ids[:1], strict=True)]
    store.add_edges(ACTS_ON, edges_table(ACTS_ON, *edges))
    assert len(store.nodes(PROTEIN, ids[::2])) == 4_000
    assert sorted(i for t in store.scan_nodes(PROTEIN) for i in t["id"].to_pylist()) == ids
    assert sum(t.num_rows for t in store.scan_edges(ACTS_ON)) == 8_000
    changed = nodes_table(PROTEIN, *({"id": i, "name": i.lower()} for i in ids))
    store.update_nodes(PROTEIN, changed)
    assert store.nodes(PROTEIN, ["P07999"])["P07999"]["name"] == "p07999"


@pytest.mark.parametrize("opener", quick_of(["embedded", "neo4j", "py2neo"], "embedded"), indirect=True)
def test_a_scan_that_is_given_up_leaves_the_store_usable(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    # A server is asked for more of them while most are not given out yet.
    monkeypatch.setattr(server, "SCAN_ROWS", 2_500)
    monkeypatch.setattr(neo4j, "_FETCH_ROWS", 500)
    add_nodes(store, PROTEIN, *(f"P{i}" for i in range(12_000)))
    tables = store.scan_nodes(PROTEIN)
    first = next(tables)
    assert first.num_rows > 0
    tables.close()  # type: ignore[attr-defined]
    assert store.counts().nodes["Protein"] == 12_000
    for _ in store.scan_nodes(PROTEIN):
        break
    assert store.node(Ref(label="Protein", id="P11999")) == {"id": "P11999"}


# --- whatever stands in an id or a value -----------------------------------------------------------

TRICKY = st.sampled_from(
    [
        *("'", '"', "`", "\\", "\\'", "$id", "{", "}", "//", "/*", "--", ";", "\\u0041", "é", "e\u0301", "𝄞", "\u2028"),
        *("null", "') DETACH DELETE n //"),
    ]
)
VISIBLE = st.characters(exclude_categories=["Cs", "Cc"])
IDS = st.lists(TRICKY | st.text(VISIBLE, max_size=8), min_size=1, max_size=6).map("".join).filter(bool)
TEXTS = st.lists(TRICKY | st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=6).map("".join)
PROPERTIES = st.fixed_dictionaries(
    {"name": TEXTS},
    optional={"description": TEXTS, "taxid": TEXTS, "synonyms": st.lists(TEXTS, min_size=1, max_size=3)},
)
EDGE = st.fixed_dictionaries(
    {},
    optional={
        "source": TEXTS,
        "evidence_type": TEXTS,
        "score": st.floats(allow_nan=False, allow_infinity=False),
        "number_publications": st.integers(-(2**63), 2**63 - 1),
    },
)


@pytest.mark.slow
def test_any_id_and_any_value_comes_back_through_every_query(store: GraphStore) -> None:
    numbers = count()

    @settings(max_examples=examples(24), suppress_health_check=[HealthCheck.too_slow])
    @given(ids=st.lists(IDS, min_size=2, max_size=2, unique=True), values=PROPERTIES, edge=EDGE, again=PROPERTIES)
    def check(ids: list[str], values: Properties, edge: Properties, again: Properties) -> None:
        # One store for all examples, so each must have ids of its own.
        head, tail = (f"{next(numbers)}{i}" for i in ids)
        store.add_nodes(PROTEIN, nodes_table(PROTEIN, {"id": head} | values))
        add_nodes(store, DISEASE, tail)
        store.add_edges(IN_DISEASE, edges_table(IN_DISEASE, {"head": head, "tail": tail} | edge))
        node = Ref(label="Protein", id=head)
        assert store.node(node) == {"id": head} | values
        assert store.edges(triple(head, IN_DISEASE, tail)) == [edge]
        assert store.neighbours(node, IN_DISEASE, "out", 5) == [tail]
        assert store.neighbours(Ref(label="Disease", id=tail), IN_DISEASE, "in", 5) == [head]
        assert {"id": head} | values in all_nodes(store, PROTEIN)
        assert {"head": head, "tail": tail} | edge in all_edges(store, IN_DISEASE)
        store.update_nodes(PROTEIN, nodes_table(PROTEIN, {"id": head} | again))
        assert store.nodes(PROTEIN, [head]) == {head: {"id": head} | again}
        store.set_meta(head, values["name"])
        assert store.meta()[head] == values["name"]

    check()


def test_a_reading_query_from_outside(ready: Opener) -> None:
    with ready(create=True) as store:
        store.prepare()
        add_nodes(store, PROTEIN, "a", "b", "c")
    with ready() as store:
        reading = read_statement("MATCH (p:Protein) RETURN p.id AS id, p ORDER BY id", store.schema, store.backend)
        if store.backend == "py2neo":
            with pytest.raises(StoreUnguarded, match="limits neither time nor rows"):
                store.query(reading, 2, 5.0)
            return
        rows = store.query(reading, 2, 5.0)
        assert [row["id"] for row in rows] == ["a", "b"]
        assert rows[0]["p"]["id"] == "a"
        with pytest.raises(StoreError):
            store.query(Reading("MATCH (p:Protein RETURN p", {}, ("p",)), 2, 5.0)


def test_a_query_from_outside_cannot_write(ready: Opener) -> None:
    with ready(create=True) as store:
        store.prepare()
        add_nodes(store, PROTEIN, "a")
    with ready() as store:
        with pytest.raises((StoreError, UsageError)):
            store.query(Reading("MATCH (p:Protein) SET p.name = 'changed' RETURN p.id", {}, ("p.id",)), 2, 5.0)
        assert all_nodes(store, PROTEIN) == [{"id": "a"}]
