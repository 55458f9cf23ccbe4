"""A language model that nobody scripted, end to end: too weak to reason, so that all it says is caught or borne out.

The checker reads the conversations as they went over the wire, and knows nothing of the code that made them. What a
model may take is small, so that all of it ends within minutes on two cores; on a machine that is busy with other work
limits end it sooner.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT
from tests.support.answers import assert_rests_on_results
from tests.support.audits import Said, demo, kgcheck
from tests.support.literature import build_index, papers
from tests.support.real_model import MODELS, Served, Wire, absent, served

pytestmark = pytest.mark.slow

MOST_TOKENS = 48
"""Of one answer: such models seldom end by themselves."""

REQUEST_S = 20
"""Of one answer; a model is given up after that."""

TEST_S = 120
"""Of one test, whatever hangs."""

SMOLLM2 = pytest.mark.parametrize("model", ["smollm2"], indirect=True)
EVERY_MODEL = pytest.mark.parametrize("model", MODELS, indirect=True)

CHECKED = "MGEA5 TRANSLATED_INTO O60502"
QUESTIONS = {"Which protein is O60502?": ["O60502"], "How many diseases is GDF3 associated with?": 1}


@pytest.fixture(scope="module")
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A model in a process of its own, one for all tests."""
    if reason := absent(request.param):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with served(request.param, tmp_path_factory.mktemp("model"), MOST_TOKENS) as server:
        yield server


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands keep what they keep where the test runs."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def wire(model: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """A model behind a wire that keeps what is said; the test that takes too long fails."""
    pytest.importorskip("openai", reason="the extra llm is not installed")
    assert model.process.poll() is None, "the model has ended"

    def over(*_: object) -> None:
        pytest.fail(f"not done after {TEST_S} s")

    wire = Wire(model.url, REQUEST_S + 1)
    monkeypatch.setenv("KGCHECK_LLM_BASE_URL", wire.url)
    monkeypatch.setenv("KGCHECK_LLM_MODEL", "small")
    monkeypatch.setenv("KGCHECK_LLM_TIMEOUT_S", str(REQUEST_S))
    monkeypatch.setenv("KGCHECK_LLM_RETRIES", "0")
    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(TEST_S)
    yield wire
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    wire.stop()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_index(tmp_path_factory.mktemp("papers"), papers())


def ended(said: Said, *codes: int) -> None:
    """It came to an end that its help names, without a traceback."""
    assert said.code in codes, said.err
    assert "Traceback" not in said.err
    assert "fault in kgcheck" not in said.err


def within(wire: Wire, most: int, *, items: int = 1) -> None:
    """The model was asked, and not once more after it had taken so many tokens; each answer is as short as wanted."""
    assert wire.requests
    # Each item ends with the answer that takes it over the limit.
    assert sum(sorted(wire.tokens)[:-items]) < most * items
    assert all(answer["usage"]["completion_tokens"] <= MOST_TOKENS for answer in wire.answers)


@SMOLLM2
def test_ask(wire: Wire) -> None:
    question, most = next(iter(QUESTIONS)), 2000
    said = kgcheck("ask", question, "--store", demo().store, "--brain", "llm", "--tokens", most, "--format", "json")

    ended(said, 0, 2, 3)
    within(wire, most)
    if said.out:
        answer = json.loads(said.out)
        assert_rests_on_results(answer, question, wire.conversation(question))
        if said.code:
            assert not {"count", "holds"} & set(answer)
            assert not answer["found"]


@SMOLLM2
def test_check(wire: Wire) -> None:
    most, turns = 2500, 8
    where = ("check", CHECKED, "--store", demo().store, "--reference", demo().reference, "--format", "json")
    said = kgcheck(*where, "--brain", "llm", "--turns", turns, "--tokens", most, "--seconds", 40)

    ended(said, 0, 1, 3)
    within(wire, most)
    assert len(wire.requests) <= turns
    if said.out:
        verdict = json.loads(said.out)
        # A verdict rests on evidence, and evidence on a look-up; whoever asked for that, it is the one of the rules.
        if verdict["outcome"] in ("supported", "refuted"):
            assert any("reference_look_up" in json.dumps(answer["choices"]) for answer in wire.answers)
            rules = json.loads(kgcheck(*where).out)
            assert (verdict["outcome"], verdict["evidence"]) == (rules["outcome"], rules["evidence"])


@EVERY_MODEL
def test_verify(wire: Wire, index: Path) -> None:
    most = 2000
    arguments = ("verify", "Kinase A binds kinase B.", "--index", index, "--verifier", "llm", "--document", "p1")
    said = kgcheck(*arguments, "--tokens", most, "--format", "json")

    ended(said, 0, 1, 3)
    within(wire, most)
    if said.out:
        opinions_rest_on_quotes(json.loads(said.out)["opinions"])


def opinions_rest_on_quotes(opinions: list[dict[str, Any]]) -> None:
    """Whoever is not silent quotes a clause of the paper, word by word."""
    abstracts = {d.ids[0]: d.abstract for d in papers()}
    for opinion in opinions:
        assert opinion["stance"] == "silent" or opinion["quotes"]
        for quote in opinion["quotes"]:
            assert quote["text"] in abstracts[opinion["document"]]
            assert len(quote["text"].split()) >= 6


def results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


@SMOLLM2
def test_batch_kgcheck(wire: Wire, tmp_path: Path) -> None:
    checks = [
        {"id": "1", "type": "existence", "check": ["existence", "Protein", "O60502"], "label": "support"},
        {"id": "2", "type": "existence", "check": ["existence", "Protein", "P0XXXX"], "label": "refute"},
    ]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, checks)))
    most, out = 1000, tmp_path / "out"
    where = ("--store", demo().store, "--reference", demo().reference)
    said = kgcheck("batch", "kgcheck", tmp_path / "c.jsonl", *where, "--brain", "llm", "--tokens", most, "--out", out)

    ended(said, 0, 3)
    within(wire, most, items=2)
    assert {r["id"] for r in results(out)} == {"1", "2"}
    looked = any("reference_look_up" in json.dumps(answer["choices"]) for answer in wire.answers)
    for result in results(out):
        assert not result.get("answer") or (looked and result["evidence"])


STARTS = """
import os, sys
from pathlib import Path
from tests.support.real_model import served
with served("smollm2", Path(sys.argv[1])) as server:
    print(server.process.pid, flush=True)
    os._exit(1)
"""


def test_a_model_ends_with_those_who_started_it(tmp_path: Path) -> None:
    if reason := absent("smollm2"):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    done = subprocess.run(
        [sys.executable, "-c", STARTS, tmp_path], cwd=ROOT, capture_output=True, text=True, timeout=TEST_S, check=False
    )

    assert done.returncode == 1, done.stderr
    until = time.monotonic() + 30
    while (left := serves(int(done.stdout))) and time.monotonic() < until:
        time.sleep(0.2)
    assert not left


def serves(pid: int) -> bool:
    """Whether a process is there and is a model; its number may by now be another's."""
    try:
        return "real_model" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False
