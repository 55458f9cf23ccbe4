"""``kgcheck bench make``: who says what is true, what is put into the graph by which name, and what that costs."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from kgcheck.bench.items import Item, read_items, seeded
from kgcheck.bench.make import BenchMaker, ItemDraft
from kgcheck.bench.truth import Truths
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.model import Ref
from kgcheck.profile.schema import load_schema
from tests.support.audits import Said, demo, kgcheck

CKG = load_schema()


def make(tmp_path: Path, *arguments: object) -> tuple[Said, list[Item]]:
    out = tmp_path / "set.jsonl"
    made = kgcheck("bench", "make", "--store", demo().store, "--reference", demo().reference, "--out", out, *arguments)
    return made, read_items(out, CKG) if out.exists() else []


def test_no_more_items_are_built_than_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Item] = []
    original = ItemDraft.item

    def item(self: ItemDraft, truth_from: str = "") -> Item:
        built.append(original(self, truth_from))
        return built[-1]

    monkeypatch.setattr(ItemDraft, "item", item)
    with EmbeddedStore(demo().store, CKG) as store, Truths(demo().reference) as truths:
        made = BenchMaker(store, truths).make(4)

    assert len(built) == len(made.items) == 20


@pytest.mark.slow
def test_every_error_is_named_and_shows_in_the_graph_of_its_item() -> None:
    with EmbeddedStore(demo().store, CKG) as store, Truths(demo().reference) as truths:
        items = [i for seed in range(4) for i in BenchMaker(store, truths, seed).make(60).items]
        for item in (i for i in items if i.seed):
            seed, one = item.seed, seeded(store, item.seed)
            assert seed is not None
            assert bool(item.truth.error) == (item.label == "refute")
            match seed.kind:
                case "rename_node":
                    ref = Ref(label=item.check[1], id=item.check[2])
                    assert (store.node(ref), one.node(ref) is not None) == (None, True)
                case "set_value":
                    assert seed.ref is not None
                    assert seed.attribute is not None
                    assert (one.node(seed.ref) or {})[seed.attribute] == seed.value
                case _:
                    assert seed.triple is not None
                    asked = seed.triple
                    if seed.kind == "move_edge":
                        asked = asked.model_copy(update={"tail": Ref(label=asked.tail.label, id=seed.to or "")})
                        assert store.edges(asked) == []
                        assert one.edges(seed.triple) == []
                    assert bool(one.edges(asked)) == (seed.kind != "drop_edge")

    assert {i.truth.error for i in items} >= {"wrong value", "dropped edge", "made-up edge", "re-pointed edge"}


def test_a_set_that_its_own_judge_made_says_so(tmp_path: Path) -> None:
    said, items = make(tmp_path, "--per-type", 2)

    assert said.code == 0
    assert "the same snapshot says what is true and judges" in said.err
    assert {i.truth.truth_from for i in items} == {demo().reference.name}


def test_the_snapshot_that_judges_is_no_other_one(tmp_path: Path) -> None:
    said, items = make(tmp_path, "--per-type", 2, "--truth-from", demo().reference)

    assert (said.code, items) == (2, [])
    assert "is the snapshot that judges" in said.err


@pytest.mark.slow
def test_another_snapshot_says_what_is_true(tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    shutil.copyfile(demo().reference, other)
    said, items = make(tmp_path, "--per-type", 4, "--truth-from", other)
    assert said.code == 0
    assert "there they are not independent" in said.err
    assert {i.truth.truth_from for i in items} == {"other.duckdb"}

    # Another release, in which everything has another name.
    with duckdb.connect(str(other)) as database:
        database.execute("UPDATE release SET sha256 = sha256 || 'x'")
        database.execute("UPDATE value SET value = value || ' of another release'")
    said, items = make(tmp_path, "--per-type", 40, "--truth-from", other)
    assert said.code == 0
    assert "independent" not in said.err
    assert not [i for i in items if i.type == "attribute" and i.label == "support" and not i.seed]


def test_a_file_of_labelled_facts_says_what_is_true(tmp_path: Path) -> None:
    with EmbeddedStore(demo().store, CKG) as store:
        pattern = CKG.pattern("Protein", "ACTS_ON", "Protein")
        (table,) = store.scan_edges(pattern)
        stated = [(e["head"], e["tail"]) for e in table.slice(0, 4).to_pylist()]
        (nodes,) = store.scan_nodes(CKG.label("Disease"))
        diseases = nodes.slice(0, 2).to_pylist()
    facts = [
        {"check": [stated[0][0], "ACTS_ON", stated[0][1]], "holds": True, "source": "people", "record": "sheet 1"},
        {"check": [stated[1][0], "ACTS_ON", stated[1][1]], "holds": False},
        {"check": ["existence", "Disease", diseases[0]["id"]], "holds": True},
        {"check": ["existence", "Disease", diseases[1]["id"]], "holds": False},
        {"check": ["attribute", "Disease", diseases[0]["id"], "name"], "value": diseases[0]["name"]},
        {"check": ["attribute", "Disease", diseases[1]["id"], "name"], "value": "another name"},
    ]
    path = tmp_path / "facts.jsonl"
    path.write_text("".join(f"{json.dumps(fact)}\n" for fact in facts))

    said, items = make(tmp_path, "--per-type", 2, "--truth-from", path)

    assert said.code == 0, said.err
    right = {i.check: i.label for i in items if not i.seed}
    assert (
        right.items()
        <= {
            (stated[0][0], "ACTS_ON", stated[0][1]): "support",
            (stated[1][0], "ACTS_ON", stated[1][1]): "refute",
            ("existence", "Disease", diseases[0]["id"]): "support",
            ("existence", "Disease", diseases[1]["id"]): "refute",
            ("attribute", "Disease", diseases[0]["id"], "name"): "support",
            ("attribute", "Disease", diseases[1]["id"], "name"): "refute",
        }.items()
    )
    assert {i.truth.truth_from for i in items} == {"facts.jsonl"}
    assert len(items) >= 4


@pytest.mark.parametrize(
    "row",
    [{"check": ["P1"]}, {"check": ["existence", "Nothing", "x"]}, {"check": ["attribute", "Disease", "x", "name"]}],
)
def test_a_file_that_holds_no_facts(tmp_path: Path, row: dict[str, object]) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_text(json.dumps(row))

    said, _ = make(tmp_path, "--truth-from", path)

    assert said.code == 2
    assert "facts.jsonl, fact 1" in said.err
    assert make(tmp_path, "--truth-from", tmp_path / "none.jsonl")[0].code == 2
