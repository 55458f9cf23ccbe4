"""A language model that nobody scripted, end to end: too weak to reason, so that all it says is caught or borne out.

The checker reads the conversations as they went over the wire, and knows nothing of the code that made them.
"""

import json
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.answers import assert_rests_on_results
from tests.support.audits import Said, demo, kgcheck
from tests.support.literature import build_index, papers
from tests.support.real_model import MODELS, absent, served

pytestmark = pytest.mark.slow

MOST_TOKENS = 64
"""Of one answer: such models seldom end by themselves."""


class Wire:
    """Passes requests on to a model, and keeps what went both ways."""

    def __init__(self, target: str) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answers: list[dict[str, Any]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _passes_on(self, target))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _passes_on(wire: Wire, target: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            wire.requests.append(json.loads(raw))
            address = target + self.path.removeprefix("/v1")
            asked = urllib.request.Request(address, raw, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(asked, timeout=600) as answer:
                    status, body = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                status, body = error.code, error.read()
            if status == 200:
                wire.answers.append(json.loads(body))
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on stderr."""

    return Handler


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A model behind a wire that keeps what is said."""
    if reason := absent(request.param):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with served(request.param, tmp_path_factory.mktemp("model"), MOST_TOKENS) as server:
        wire = Wire(server.url)
        yield wire
        wire.stop()


@pytest.fixture
def wire(model: Wire, monkeypatch: pytest.MonkeyPatch) -> Wire:
    pytest.importorskip("openai", reason="the extra llm is not installed")
    model.requests.clear()
    model.answers.clear()
    monkeypatch.setenv("KGCHECK_LLM_BASE_URL", model.url)
    monkeypatch.setenv("KGCHECK_LLM_MODEL", "small")
    monkeypatch.setenv("KGCHECK_LLM_TIMEOUT_S", "300")
    monkeypatch.setenv("KGCHECK_LLM_RETRIES", "0")
    return model


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_index(tmp_path_factory.mktemp("papers"), papers())


def ended(said: Said) -> None:
    """It came to an end that is documented, without a traceback."""
    assert said.code in (0, 1, 2, 3), said.err
    assert "Traceback" not in said.err
    assert "fault in kgcheck" not in said.err


def tokens(wire: Wire) -> int:
    return sum(answer["usage"]["total_tokens"] for answer in wire.answers)


@pytest.mark.parametrize("question", ["Which protein is O60502?", "How many diseases is GDF3 associated with?"])
def test_ask(wire: Wire, question: str) -> None:
    said = kgcheck("ask", question, "--store", demo().store, "--brain", "llm", "--tokens", 6000, "--format", "json")

    ended(said)
    last = wire.answers[-1]["usage"]["total_tokens"] if wire.answers else 0
    assert tokens(wire) - last < 6000
    assert len(wire.requests) <= 15
    if said.out:
        answer = json.loads(said.out)
        assert_rests_on_results(answer, question, wire.requests[-1]["messages"])
        if said.code:
            assert not {"count", "holds"} & set(answer)
            assert not answer["found"]


def test_check(wire: Wire) -> None:
    where = ("--store", demo().store, "--reference", demo().reference)
    said = kgcheck("check", "MGEA5 TRANSLATED_INTO O60502", *where, "--brain", "llm", "--turns", 8, "--tokens", 6000)

    ended(said)
    assert len(wire.requests) <= 8
    # A verdict is made of evidence; without a look-up in a source there is none.
    looked = any('"reference_look_up"' in json.dumps(m.get("tool_calls") or m) for m in wire.requests[-1]["messages"])
    assert "supported" not in said.out or looked


def test_verify(wire: Wire, index: Path) -> None:
    arguments = ("verify", "Kinase A binds kinase B.", "--index", index, "--verifier", "llm", "--document", "p1")
    said = kgcheck(*arguments, "--tokens", 4000, "--format", "json")

    ended(said)
    if said.out:
        abstract = next(d.abstract for d in papers() if d.ids == ("p1",))
        for opinion in json.loads(said.out)["opinions"]:
            assert opinion["stance"] == "silent" or opinion["quotes"]
            assert all(q["text"] in abstract and len(q["text"].split()) >= 4 for q in opinion["quotes"])


def test_batches(wire: Wire, index: Path, tmp_path: Path) -> None:
    question = "Which protein is O60502?"
    questions = [{"question": question, "type": "t", "answer": ["O60502"]}]
    (tmp_path / "q.json").write_text(json.dumps(questions))
    checks = [{"id": "1", "type": "existence", "check": ["existence", "Protein", "O60502"], "label": "support"}]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, checks)))
    (tmp_path / "v.jsonl").write_text(json.dumps({"id": "1", "claim": "Kinase A binds kinase B.", "label": "yes"}))
    graph = ("--store", demo().store, "--brain", "llm", "--tokens", 3000)
    runs = (
        ("kgqa", tmp_path / "q.json", *graph, "--out", tmp_path / "kgqa"),
        ("kgcheck", tmp_path / "c.jsonl", *graph, "--reference", demo().reference, "--out", tmp_path / "kgcheck"),
        (
            "scv",
            tmp_path / "v.jsonl",
            "--index",
            index,
            "--verifier",
            "llm",
            "--tokens",
            3000,
            "--out",
            tmp_path / "scv",
        ),
    )
    for run in runs:
        wire.requests.clear()
        ended(kgcheck("batch", *run))
        results = [json.loads(line) for line in (tmp_path / run[0] / "results.jsonl").read_text().splitlines()]
        assert len(results) == 1
        if run[0] == "kgqa" and results[0].get("status") == "answered":
            shown = {"found": [{"ref": {"id": a["id"]}} for a in results[0]["answers"]], "count": results[0]["count"]}
            assert_rests_on_results(shown, question, wire.requests[-1]["messages"])
