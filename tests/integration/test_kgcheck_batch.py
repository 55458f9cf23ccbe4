"""Benchmark sets: made, checked for leaks, run in batches, killed and gone on with."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kgcheck.agents.request import TaskType
from kgcheck.bench.items import Item, Truth, read_items, request_of
from kgcheck.bench.kgcheck import Checker, metrics
from kgcheck.bench.make import BenchMaker, leaks
from kgcheck.bench.overlay_store import Seed, seeded
from kgcheck.bench.truth import Truths
from kgcheck.errors import InputFormat, InputMissing
from kgcheck.evidence.source import SnapshotSource
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.symmetry import edges_stating
from kgcheck.model import Ref, Triple
from kgcheck.profile.folder import profile_dir
from kgcheck.profile.schema import load_schema
from kgcheck.settings import Settings
from tests.support import PYTHONPATH, team_scripts
from tests.support.audits import MemoryStore, demo, kgcheck
from tests.support.chat_server import chat_server
from tests.support.facts import Facts

CKG = load_schema()
COMMITTED = profile_dir("ckg") / "demo" / "kgcheck_bench.jsonl"


def run(items: list[Item], store: Path, reference: Path) -> list[dict[str, Any]]:
    with EmbeddedStore(store, CKG) as opened, SnapshotSource(reference, CKG, Settings()) as source:
        checker = Checker(opened, source)
        return [{"id": item.id, **checker.work(item)} for item in items]


@pytest.fixture(scope="module")
def alone() -> list[dict[str, Any]]:
    """What the rules make of each item of the committed set."""
    return run(read_items(COMMITTED, CKG), demo().store, demo().reference)


def test_the_committed_set_is_what_the_demo_gives() -> None:
    with EmbeddedStore(demo().store, CKG) as store, Truths(demo().reference) as truths:
        made = BenchMaker(store, truths).make(40)

    assert list(made.items) == read_items(COMMITTED, CKG)
    assert leaks(made.items) == []
    assert {item.truth.origin for item in made.items} == {"real", "seeded"}
    assert {item.type for item in made.items} == set(TaskType)


@pytest.mark.slow
def test_rules_on_the_committed_set(alone: list[dict[str, Any]]) -> None:
    found = metrics(alone)
    for kind in ("existence", "attribute", "interaction", "relation"):
        assert found[kind].exact_match >= 95, kind
    assert found["all"].executability >= 95
    assert found["all"].tool_path == 100


@pytest.mark.parametrize(
    ("changed", "leak"),
    [
        ({"instruction": "The answer is refute."}, "has its answer in its words"),
        ({"label": "support"}, "is not balanced"),
        ({"id": "again"}, "is asked 2 times"),
    ],
)
def test_leaks_are_found(changed: dict[str, str], leak: str) -> None:
    items = read_items(COMMITTED, CKG)
    refute = next(i for i in items if i.label == "refute")
    other = Item.model_validate(refute.model_dump() | changed)
    found = leaks([*(i for i in items if i != refute or changed.get("id")), other])

    assert any(leak in f for f in found)


# --- items


PAPER_EDGE = (
    "Please check the relationship in the knowledge graph from the node of type \u2019Protein\u2019 with id "
    "\u2019P04637\u2019 to the node of type \u2019{}\u2019 with id \u2019{}\u2019. If it is correct, respond so."
)


@pytest.mark.parametrize(
    ("text", "asked", "kind"),
    [
        (PAPER_EDGE.format("Protein", "Q00987"), ("P04637", "ACTS_ON", "Q00987"), "interaction"),
        (PAPER_EDGE.format("Tissue", "BTO:0000142"), ("P04637", "ASSOCIATED_WITH", "BTO:0000142"), "relation"),
        ("Check if the 'name' attribute of the node with type Protein and id P1Q2R3 is right.", None, "attribute"),
        ("Does the node with the type 'Protein' and the id 'A2RUG3' exist?", None, "existence"),
    ],
)
def test_instructions_as_the_paper_has_them(
    tmp_path: Path, text: str, asked: tuple[str, ...] | None, kind: str
) -> None:
    path = tmp_path / "items.json"
    path.write_text(json.dumps([{"instruction": text, "label": "support"}]))

    (item,) = read_items(path, CKG)
    request = request_of(item, CKG)

    assert item.type == kind
    if asked:
        assert (request.subject, request.relation, request.object) == asked
    else:
        assert request.type == kind


@pytest.mark.parametrize(
    "row",
    [
        "{",
        "[]",
        '[{"label": "support"}]',
        '[{"label": "maybe", "check": ["existence", "Protein", "P1"]}]',
        '[{"label": "support", "check": ["existence", "Planet", "P1"]}]',
        '[{"label": "support", "instruction": "Is it all right?"}]',
        "[{\"label\": \"support\", \"instruction\": \"type 'Gene' with id 'A' to type 'Tissue' with id 'B'\"}]",
    ],
)
def test_files_that_hold_what_is_no_item(tmp_path: Path, row: str) -> None:
    path = tmp_path / "items.json"
    path.write_text(row)

    with pytest.raises(InputFormat, match=r"items\.json"):
        read_items(path, CKG)
    with pytest.raises(InputMissing):
        read_items(tmp_path / "none.json", CKG)


def test_a_seed_changes_the_graph_for_its_item_alone() -> None:
    with EmbeddedStore(demo().store, CKG) as store:
        pattern = CKG.pattern("Gene", "TRANSLATED_INTO", "Protein")
        pair, other = (table.slice(n, 1).to_pylist()[0] for table in store.scan_edges(pattern) for n in (0, 1))
        head, tail = Ref(label="Gene", id=pair["head"]), Ref(label="Protein", id=pair["tail"])
        triple = Triple(head=head, relation="TRANSLATED_INTO", tail=tail)
        value = Seed(kind="set_value", ref=tail, attribute="name", value="WRONG")
        before = store.edges(triple)

        assert before
        assert seeded(store, Seed(kind="drop_edge", triple=triple)).edges(triple) == []
        assert (seeded(store, value).node(tail) or {})["name"] == "WRONG"
        assert seeded(store, value).nodes(CKG.label("Protein"), [tail.id])[tail.id]["name"] == "WRONG"
        assert seeded(store, None) is store
        assert store.edges(triple) == before
        backwards = Triple(head=head, relation="TRANSLATED_INTO", tail=Ref(label="Protein", id=other["tail"]))
        assert len(seeded(store, Seed(kind="add_edge", triple=backwards)).edges(backwards)) == 1


def test_an_edge_whose_order_means_nothing_is_one_item_and_dropped_in_both_orders(tmp_path: Path) -> None:
    pattern = CKG.pattern("Protein", "ACTS_ON", "Protein")
    proteins = [f"P1000{n}" for n in range(1, 4)]
    nodes = {"Protein": [{"id": i, "name": i} for i in proteins]}
    edges = [{"head": "P10002", "tail": "P10001", "score": 0.9}, {"head": "P10001", "tail": "P10002", "score": 0.9}]
    string = (facts := Facts()).release("string", complete=True).link("ACTS_ON", "P10001", "P10002", 0.9)
    string.link("ACTS_ON", "P10003", "P10001", 0.9).link("ACTS_ON", "P10001", "P10003", 0.1)
    string.link("ACTS_ON", "P10003", "P10002", 0.9)
    store = MemoryStore(nodes, {str(pattern): edges})
    with Truths(facts.build(tmp_path)) as truths:
        links = truths.links(pattern, "string", 0.4)
        made = BenchMaker(store, truths).make(40)

    assert set(links.linked) == {("P10001", "P10002"), ("P10002", "P10003")}
    assert links.denied == {("P10001", "P10003")}
    asked = [frozenset((item.check[0], item.check[2])) for item in made.items if item.type is TaskType.INTERACTION]
    assert sorted(map(sorted, asked)) == [["P10001", "P10002"], ["P10002", "P10003"]]
    one, other = (Ref(label="Protein", id=i) for i in proteins[:2])
    there, back = (Triple(head=a, relation="ACTS_ON", tail=b) for a, b in ((one, other), (other, one)))
    dropped = seeded(store, Seed(kind="drop_edge", triple=there))
    assert edges_stating(dropped, there) == edges_stating(dropped, back) == []
    added = Triple(head=one, relation="ACTS_ON", tail=Ref(label="Protein", id="P10003"))
    assert len(edges_stating(seeded(store, Seed(kind="add_edge", triple=added)), added)) == 1
    assert len(edges_stating(store, back)) == 2


def test_an_item_without_a_conclusion_is_not_executable() -> None:
    item = Item(id="x", type=TaskType.EXISTENCE, check=("P1", "ACTS_ON", "P2"), label="support", truth=Truth())

    (result,) = run([item], demo().store, demo().reference)

    assert result["answer"] is None
    found = metrics([result, {"error": "down"}])
    assert (found["all"].exact_match, found["all"].executability, found["all"].right_source) == (0, 0, None)


# --- the command line


@pytest.mark.slow
def test_bench_and_batch_on_the_command_line(tmp_path: Path) -> None:
    out, where = tmp_path / "set.jsonl", ("--store", demo().store, "--reference", demo().reference)
    made = kgcheck("bench", "make", *where, "--out", out, "--per-type", 4)
    said = kgcheck("batch", "kgcheck", out, *where, "--out", tmp_path / "b", "--format", "json")
    again = kgcheck("batch", "kgcheck", out, *where, "--out", tmp_path / "b", "--format", "json")

    assert (made.code, said.code, again.code) == (0, 0, 0)
    assert json.loads(said.out)["all"]["items"] == 20
    assert again.out == said.out
    assert "0 done now, 20 before" in again.err
    other = kgcheck("batch", "kgcheck", out, "--store", demo().store, "--out", tmp_path / "b")
    assert other.refuses(f"{tmp_path / 'b'} holds a batch with other options: reference")


def by_id(path: Path) -> dict[str, dict[str, Any]]:
    held: dict[str, dict[str, Any]] = {line["id"]: line for line in map(json.loads, path.read_text().splitlines())}
    for line in held.values():
        line["score"].pop("seconds", None)
    return held


@pytest.mark.slow
def test_several_workers_come_to_what_one_does(tmp_path: Path) -> None:
    where = ("--store", demo().store)
    some = tmp_path / "some.jsonl"
    some.write_text("".join(COMMITTED.read_text().splitlines(keepends=True)[::5]))
    for workers in (1, 4):
        checks, questions = tmp_path / f"c{workers}", tmp_path / f"q{workers}"
        several = ("--workers", workers, "--format", "json")
        said = kgcheck("batch", "kgcheck", some, *where, "--reference", demo().reference, "--out", checks, *several)
        assert said.code == 0
        file = tmp_path / "q.json"
        file.write_text(json.dumps([{"question": q, "answer": []} for q in _QUESTIONS]))
        assert kgcheck("batch", "kgqa", file, *where, "--out", questions, *several).code == 0

    for kind in ("c", "q"):
        one, four = (by_id(tmp_path / f"{kind}{n}" / "results.jsonl") for n in (1, 4))
        assert one == four


@pytest.mark.slow
def test_several_workers_with_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "many.json"
    words = (team_scripts.HEAD[1], team_scripts.RELATION, team_scripts.TAIL[1])
    file.write_text(json.dumps([{"id": f"m{n}", "check": words, "label": "refute"} for n in range(12)]))
    with chat_server(team_scripts.agents()) as server:
        monkeypatch.setenv("KGCHECK_LLM_BASE_URL", server.url)
        monkeypatch.setenv("KGCHECK_LLM_MODEL", "scripted")
        where = ("--store", demo().store, "--reference", demo().reference, "--out", tmp_path / "b")
        said = kgcheck("batch", "kgcheck", file, *where, "--brain", "llm", "--workers", 4, "--format", "json")

    found = json.loads(said.out)["all"]
    assert (said.code, found["items"], found["exact_match"], found["tool_path"]) == (0, 12, 100, 100)
    held = by_id(tmp_path / "b" / "results.jsonl")
    assert len({json.dumps(line | {"id": "", "item": ""}, sort_keys=True) for line in held.values()}) == 1


_QUESTIONS = [
    f"{what} {protein}?"
    for what in ("Which diseases are associated with", "How many structures are there of", "Which genes encode")
    for protein in ("P04637", "O60502", "A0A286YF18", "P17980")
]


def test_batch_with_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "one.json"
    words = (team_scripts.HEAD[1], team_scripts.RELATION, team_scripts.TAIL[1])
    file.write_text(json.dumps([{"check": words, "label": "refute"}]))
    with chat_server(team_scripts.agents(conclusion=team_scripts.conclude("supported"))) as server:
        monkeypatch.setenv("KGCHECK_LLM_BASE_URL", server.url)
        monkeypatch.setenv("KGCHECK_LLM_MODEL", "scripted")
        where = ("--store", demo().store, "--reference", demo().reference, "--out", tmp_path / "b")
        said = kgcheck("batch", "kgcheck", file, *where, "--brain", "llm", "--format", "json")

    found = json.loads(said.out)["all"]
    assert (said.code, found["exact_match"], found["tool_path"]) == (0, 100, 100)
    assert found["tokens"] > 0
    assert not any(request["parallel_tool_calls"] for request in server.requests)
    assert json.loads((tmp_path / "b" / "results.jsonl").read_text())["concluded"] == "supported"


@pytest.mark.slow
def test_a_batch_killed_three_times_has_each_item_once(tmp_path: Path) -> None:
    questions = [
        {"id": f"q{n}", "question": f"Which pathways is {p} annotated in with a score above {n}?", "answer": None}
        if n % 7 == 0
        else {"id": f"q{n}", "question": f"Which {what} are associated with {p}?", "answer": None}
        for n, (p, what) in enumerate(
            (p, what) for what in ("diseases", "tissues", "molecular functions", "processes") * 65 for p in _PROTEINS
        )
    ][:1000]
    (tmp_path / "q.json").write_text(json.dumps(questions))
    command = ["kgqa", str(tmp_path / "q.json"), "--store", str(demo().store), "--out", str(tmp_path / "out")]

    check_killed(command, tmp_path / "out" / "results.jsonl", [str(q["id"]) for q in questions])


@pytest.mark.nightly
@pytest.mark.slow
def test_a_killed_batch_of_checks_with_two_workers_has_each_item_once(
    alone: list[dict[str, Any]], tmp_path: Path
) -> None:
    committed = read_items(COMMITTED, CKG)
    # Every item once, and the rest of the thousand are of the kind that takes half the time of the others.
    nodes = [item for item in committed if item.type is TaskType.EXISTENCE]
    chosen = committed + [nodes[n % len(nodes)] for n in range(1000 - len(committed))]
    random.Random(3).shuffle(chosen)  # noqa: S311
    items = [item.model_copy(update={"id": f"i{n}"}) for n, item in enumerate(chosen)]
    (tmp_path / "i.jsonl").write_text("".join(f"{item.model_dump_json()}\n" for item in items))
    command = ["kgcheck", str(tmp_path / "i.jsonl"), "--store", str(demo().store), "--workers", "2"]
    command += ["--reference", str(demo().reference), "--out", str(tmp_path / "out")]

    check_killed(command, tmp_path / "out" / "results.jsonl", [item.id for item in items])

    held = {name: line["answer"] for name, line in by_id(tmp_path / "out" / "results.jsonl").items()}
    answers = {r["id"]: r["answer"] for r in alone}
    assert held == {f"i{n}": answers[item.id] for n, item in enumerate(chosen)}


def check_killed(command: list[str], results: Path, wanted: list[str]) -> None:
    """Kill a batch three times where chance wills it, let it end, and look for each item once."""
    chance = random.Random(7)  # noqa: S311
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
    whole = [sys.executable, "-m", "kgcheck", "batch", *command]
    for killed in range(3):
        child = subprocess.Popen(whole, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        least = killed * 250 + chance.randint(1, 240)
        while child.poll() is None and (not results.exists() or results.read_bytes().count(b"\n") < least):
            time.sleep(0.002)
        child.send_signal(signal.SIGKILL)
        child.wait()
    done = results.read_bytes().count(b"\n")
    subprocess.run(whole, env=environment, check=True, capture_output=True)

    ids = [json.loads(line)["id"] for line in results.read_text().splitlines()]
    assert done < 1000
    assert Counter(ids) == Counter(wanted)
    assert len(ids) == 1000


_PROTEINS = ("P04637", "P38398", "P00533", "P01116")
