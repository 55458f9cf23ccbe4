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
from kgcheck.bench.truth import Truths
from kgcheck.errors import InputFormat, InputMissing
from kgcheck.evidence.source import SnapshotSource
from kgcheck.graph.embedded import EmbeddedStore
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


def test_an_edge_whose_order_means_nothing_is_one_item(tmp_path: Path) -> None:
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
def test_several_workers_with_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "many.json"
    words = (team_scripts.HEAD[1], team_scripts.RELATION, team_scripts.TAIL[1])
    file.write_text(json.dumps([{"id": f"m{n}", "check": words, "label": "refute"} for n in range(12)]))
    with chat_server(team_scripts.agents(conclusion=team_scripts.conclude("supported"))) as server:
        monkeypatch.setenv("KGCHECK_LLM_BASE_URL", server.url)
        monkeypatch.setenv("KGCHECK_LLM_MODEL", "scripted")
        where = ("--store", demo().store, "--reference", demo().reference, "--out", tmp_path / "b")
        said = kgcheck("batch", "kgcheck", file, *where, "--brain", "llm", "--workers", 4, "--format", "json")

    found = json.loads(said.out)["all"]
    assert (said.code, found["items"], found["exact_match"], found["tool_path"]) == (0, 12, 100, 100)
    assert found["tokens"] > 0
    assert not any(request["parallel_tool_calls"] for request in server.requests)
    held = by_id(tmp_path / "b" / "results.jsonl")
    assert {line["concluded"] for line in held.values()} == {"supported"}
    assert len({json.dumps(line | {"id": "", "item": ""}, sort_keys=True) for line in held.values()}) == 1


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
