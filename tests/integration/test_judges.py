"""Judges of papers over the command line: measured on labelled evidence, they decide or inform by that."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from kgcheck.curation.project import AuditJob
from kgcheck.errors import BudgetExceeded, BudgetSpent
from kgcheck.ledger.accounts import Role, Users
from kgcheck.ledger.calibrations import CalibrationTable
from kgcheck.ledger.ledger import Ledger
from kgcheck.literature.documents import Document
from kgcheck.literature.edge_reader import TripleReader
from kgcheck.literature.embed import Embedder
from kgcheck.literature.judges import Judge, Judges
from kgcheck.literature.names import StoreNames
from kgcheck.literature.search import LiteratureIndex
from kgcheck.literature.trained_verifier import cosines
from kgcheck.literature.verify import Opinion, Probabilities, quote_at
from kgcheck.mcp.guards import Asking
from kgcheck.mcp.server import make_server
from kgcheck.model import Ref, Triple
from kgcheck.profile.folder import profile_dir
from kgcheck.profile.schema import load_schema
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
from kgcheck.workspace.tasks import AuditWanted
from tests.support.api import served
from tests.support.audits import MemoryStore, Said, demo, kgcheck
from tests.support.chat_server import MODEL, Asked, ChatServer, Fail, Move, Say, chat_server
from tests.support.literature import build_index, packaged_model
from tests.support.mcp import given, talk

pytest.importorskip("openai", reason="the extra llm is not installed")

LACKING = "P00441 ASSOCIATED_WITH DOID:4450"
"""An edge that the demo lacks, and of which its references do not speak: SOD1 and renal cell carcinoma."""

UNSUPPORTED = "P04035 ACTS_ON P29597"
"""An edge of the demo that a closed source does not have: HMGCR and TYK2."""

NOTES = (
    "We studied families. Mutations of SOD1 are associated with renal cell carcinoma. HMGCR interacts with TYK2.",
    "We read 40 charts. SOD1 is associated with renal cell carcinoma in adults. HMGCR binds to TYK2 directly.",
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    notes = [Document(ids=(f"n:{n}",), title=f"Note {n}", abstract=text) for n, text in enumerate(NOTES, 1)]
    return build_index(tmp_path_factory.mktemp("notes") / "index", notes)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    with chat_server(says("supports")) as running:
        monkeypatch.setenv("KGCHECK_LLM_BASE_URL", running.url)
        monkeypatch.setenv("KGCHECK_LLM_MODEL", MODEL)
        monkeypatch.setenv("KGCHECK_LLM_RETRIES", "0")
        yield running


def says(stance: str, model: str = MODEL, words: str | None = None) -> Callable[[Asked], Move]:
    """A model that takes one stance on each paper, and quotes its first sentence, or other words."""

    def play(asked: Asked) -> Move:
        sent = json.loads(str(asked.messages[-1]["content"]))["papers"]
        opinions = [
            {
                "paper": paper["paper"],
                "stance": stance,
                "probability": 0.97,
                "quotes": [{"sentence": 1, "words": words or paper["sentences"][0]["words"]}],
            }
            for paper in sent
        ]
        return Say(text=json.dumps({"opinions": opinions}), model=model)

    return play


def labelled(path: Path, right: int, cases: int, relation: str = "Protein ASSOCIATED_WITH Disease") -> Path:
    """Labelled evidence in one cell: all of it reads alike, and so much of it is labelled as support."""
    rows = [
        {
            "id": f"e{n}",
            "head": f"GEN{n}",
            "tail": "asthma",
            "relation": relation,
            "passages": [f"GEN{n} is associated with asthma."],
            "label": "supports" if n < right else "silent",
        }
        for n in range(cases)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def measured(folder: Path, right: int, cases: int, *more: object) -> Said:
    file = labelled(folder / f"evidence{right}.jsonl", right, cases)
    out = folder / f"measured{right}"
    return kgcheck("bench", "judge", file, "--ledger", folder / "l.sqlite", "--out", out, "--workers", 4, *more)


def checked(folder: Path, index: Path, edge: str, *more: object) -> tuple[dict[str, Any], list[dict[str, Any]], Said]:
    """A check: its finding, what papers say there, and the whole of it."""
    places = ("--store", demo().store, "--reference", demo().reference, "--literature", index)
    said = kgcheck("check", edge, *places, "--ledger", folder / "l.sqlite", "--format", "json", *more)
    found = json.loads(said.out)
    return found, [e for e in found["evidence"] if e["source"] == "literature" and e["stance"] != "silent"], said


def weights(papers: list[dict[str, Any]]) -> set[str]:
    return {e["weight"].partition(":")[0] for e in papers}


# --- A language model, scripted


@pytest.mark.slow
@pytest.mark.parametrize(("right", "decides"), [(240, False), (380, True)])
def test_a_judge_of_060_precision_never_decides_and_one_of_095_does(
    server: ChatServer, index: Path, tmp_path: Path, right: int, decides: bool
) -> None:
    made = measured(tmp_path, right, 400, "--verifier", "llm", "--format", "json")
    assert made.code == 0, made.err
    calibration = json.loads(made.out)
    assert [(c["cases"], c["right"]) for c in calibration["cells"]] == [(400, right)]
    assert (calibration["judge"], calibration["model"], calibration["items"]) == ("llm", MODEL, 400)
    assert calibration["tokens"] > 0
    listed = kgcheck("bench", "judges", "--ledger", tmp_path / "l.sqlite", "--format", "json")
    assert [c for c in json.loads(listed.out) if c["judge"] == "llm"] == [calibration]

    found, papers, _ = checked(tmp_path, index, LACKING, "--verifier", "llm")
    assert found["outcome"] == ("supported" if decides else "unavailable")
    assert weights(papers) == {"decides" if decides else "informs"}
    assert all(f"{right} of 400 are right" in e["weight"] for e in papers)
    assert len(papers) == 2
    # Nor does it turn what a closed source says.
    found, papers, _ = checked(tmp_path, index, UNSUPPORTED, "--verifier", "llm")
    assert (found["outcome"] == "supported", weights(papers)) == (decides, {"decides" if decides else "informs"})


def test_an_endpoint_that_changes_its_model_counts_by_none(
    server: ChatServer, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert measured(tmp_path, 60, 60, "--verifier", "llm").code == 0
    assert weights(checked(tmp_path, index, LACKING, "--verifier", "llm")[1]) == {"decides"}
    server.script = says("supports", model="scripted-2")
    _, papers, _ = checked(tmp_path, index, LACKING, "--verifier", "llm")
    assert all("of the model scripted, and not of scripted-2" in e["weight"] for e in papers)
    assert weights(papers) == {"informs"}
    # Another prompt: what is asked beside claim and papers.
    server.script = says("supports")
    monkeypatch.setenv("KGCHECK_LLM_REASONING_EFFORT", "high")
    _, papers, _ = checked(tmp_path, index, LACKING, "--verifier", "llm")
    assert all("the calibration is of another prompt" in e["weight"] for e in papers)


def test_what_two_models_answered_is_no_measurement(server: ChatServer, tmp_path: Path) -> None:
    server.script = lambda asked: says("supports", model=f"scripted-{asked.number % 2}")(asked)
    said = measured(tmp_path, 6, 6, "--verifier", "llm")
    assert (said.code, said.out) == (3, "")
    assert "not kept: the endpoint answered by several models: scripted-0, scripted-1" in said.err
    with Ledger(tmp_path / "l.sqlite") as ledger:
        assert CalibrationTable(ledger.database).all() == []


def test_a_measurement_goes_on_and_is_kept_when_it_is_whole(server: ChatServer, tmp_path: Path) -> None:
    play = server.script
    server.script = lambda asked: play(asked) if asked.number <= 3 else Fail(500, "down")
    said = measured(tmp_path, 6, 6, "--verifier", "llm", "--workers", 1)
    assert (said.code, "ended with an error" in said.err) == (3, True)
    before = len(server.requests)
    server.script = play
    said = measured(tmp_path, 6, 6, "--verifier", "llm", "--format", "json")
    assert (said.code, json.loads(said.out)["items"], len(server.requests) - before) == (0, 6, 3)
    with Ledger(tmp_path / "l.sqlite") as ledger:
        (kept,) = CalibrationTable(ledger.database).all()
    assert (kept.items, kept.tokens) == (6, None)


def test_the_same_evidence_in_another_file_counts_once_and_other_words_begin_anew(tmp_path: Path) -> None:
    ledger, out = ("--ledger", tmp_path / "l.sqlite"), ("--out", tmp_path / "m")
    file = labelled(tmp_path / "a.jsonl", 5, 6)
    rows = [json.loads(line) | {"claim": "It is so."} for line in file.read_text(encoding="utf-8").splitlines()]
    again = [row | {"id": f"again{n}"} for n, row in enumerate(reversed(rows))]
    for name, listed in (("b.jsonl", rows), ("c.jsonl", again)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in listed), encoding="utf-8")
        assert kgcheck("bench", "judge", tmp_path / name, *ledger, *out).code == 0
    with Ledger(tmp_path / "l.sqlite") as opened:
        (kept,) = CalibrationTable(opened.database).all()
    assert kept.evidence.startswith("c.jsonl ")
    profile = shutil.copytree(profile_dir("ckg"), tmp_path / "other")
    said = kgcheck("bench", "judge", tmp_path / "c.jsonl", *ledger, *out, "--profile", profile)
    assert said.refuses(f"{tmp_path / 'm'} holds a batch with other options: profile")


def test_a_calibration_that_nobody_measured_is_not_used(server: ChatServer, index: Path, tmp_path: Path) -> None:
    assert measured(tmp_path, 60, 60, "--verifier", "llm").code == 0
    with closing(sqlite3.connect(tmp_path / "l.sqlite")) as db, db:
        db.execute("""UPDATE calibration SET cells = replace(cells, '"right":60', '"right":61')""")
    _, papers, said = checked(tmp_path, index, LACKING, "--verifier", "llm")
    assert weights(papers) == {"informs"}
    assert "holds a calibration that cannot be read" in said.err


def test_several_judges_must_agree(server: ChatServer, index: Path, tmp_path: Path) -> None:
    assert measured(tmp_path, 60, 60, "--verifier", "llm").code == 0
    both = ("--verifier", "llm", "--verifier", "trained")
    found, papers, _ = checked(tmp_path, index, LACKING, *both)
    assert (found["outcome"], weights(papers)) == ("supported", {"decides"})
    assert all("trained decides" in e["weight"] and "llm decides" in e["weight"] for e in papers)
    # Of interactions the trained judge was not measured to be right often enough.
    assert weights(checked(tmp_path, index, UNSUPPORTED, *both)[1]) == {"informs"}
    server.script = says("contradicts")
    found, papers, _ = checked(tmp_path, index, LACKING, *both)
    assert (papers, found["outcome"]) == ([], "unavailable")


def test_an_audit_goes_by_the_same(server: ChatServer, index: Path, tmp_path: Path) -> None:
    assert measured(tmp_path, 60, 60, "--verifier", "llm").code == 0
    places = ("--store", demo().store, "--reference", demo().reference, "--literature", index)
    scope = ("--type", "triple", "--id", "P04035", "--keep-all", "--ledger", tmp_path / "l.sqlite")

    def audit(*more: object) -> tuple[dict[str, Any], Said]:
        said = kgcheck("audit", *scope, *places, "--verifier", "llm", "--format", "jsonl", *more)
        (row,) = (r for line in said.out.splitlines() if "P29597" in line and (r := json.loads(line)))
        return row, said

    row, said = audit()
    assert (row["outcome"], weights([e for e in row["evidence"] if e["weight"]])) == ("supported", {"decides"})
    assert "papers: " in said.err
    row, _ = audit("--trust", "0.99")
    assert (row["outcome"], weights([e for e in row["evidence"] if e["weight"]])) == ("refuted", {"informs"})
    # The report and the page of a finding say which of the two it was.
    assert kgcheck("report", "--ledger", tmp_path / "l.sqlite", "--out", tmp_path / "report.html").code == 0
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<small>informs</small>" in report
    assert "informs: where it supports" in report
    # A model that answers nonsense: the references stand alone, and it is told.
    server.script = lambda asked: Say(text="well, perhaps")
    row, said = audit()
    assert (row["outcome"], [e for e in row["evidence"] if e["source"] == "literature"]) == ("refuted", [])
    assert "papers on 1 edge were not judged: the model scripted gave no usable answer" in said.err


class Stopped:
    """A verifier whose budget is spent after one edge, or that takes too much for the second one alone."""

    name, finds_names = "llm", True

    def __init__(self, error: type[BudgetExceeded] = BudgetSpent) -> None:
        self.calls, self.error = 0, error

    def judge(self, claim: str, documents: Sequence[Document]) -> list[Opinion]:
        self.calls += 1
        if self.calls == 2 or (self.calls > 1 and self.error is BudgetSpent):
            raise self.error("the model was stopped after 5 tokens", "raise the limit")
        chances = Probabilities(supports=0.9, contradicts=0.05, silent=0.05)
        return [Opinion.on(d, chances, quotes=[quote_at(d, span) for span in d.spans]) for d in documents]


def test_what_a_spent_budget_leaves_open_is_no_silence(index: Path) -> None:
    named = {"P1": "HMGCR", "P2": "TYK2", "P3": "SOD1"}
    store = MemoryStore({"Protein": [{"id": i, "name": name} for i, name in named.items()]}, {})
    ends = {name: Ref(label="Protein", id=i) for i, name in named.items()}
    edges = [Triple(head=ends["HMGCR"], relation="ACTS_ON", tail=ends["TYK2"])]
    edges += [Triple(head=ends["TYK2"], relation="ACTS_ON", tail=ends["HMGCR"])]
    edges += [Triple(head=ends["SOD1"], relation="ACTS_ON", tail=ends["TYK2"])]
    failed: dict[Triple, str] = {}
    verifier = Stopped()
    with LiteratureIndex(index) as opened:
        reader = TripleReader(opened, Judges([Judge("llm", "m", "p", verifier)]), StoreNames(store), load_schema())
        found = reader.evidence_of_many(edges, failed)
        with pytest.raises(BudgetSpent):
            reader.evidence(edges[1])
    assert list(found) == edges[:1]
    assert failed == dict.fromkeys(edges[1:], "the model was stopped after 5 tokens")
    assert verifier.calls == 3
    # One edge that takes more than it may leaves the others theirs.
    with LiteratureIndex(index) as opened:
        one = Judge("llm", "m", "p", Stopped(BudgetExceeded))
        reader = TripleReader(opened, Judges([one]), StoreNames(store), load_schema())
        found = reader.evidence_of_many(edges, failed := {})
    assert (list(found), list(failed)) == ([edges[0], edges[2]], [edges[1]])


# --- A model of inference


def test_a_model_of_inference_is_a_judge_of_its_own(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inference = pytest.importorskip("tests.support.inference", reason="the extra papers is not installed")
    monkeypatch.setenv("KGCHECK_INFERENCE", str(inference.model_folder(tmp_path / "tiny")))
    rows = labelled(tmp_path / "agreed.jsonl", 60, 60).read_text(encoding="utf-8")
    file = tmp_path / "agreed.jsonl"
    file.write_text(rows.replace("asthma.", "asthma and agrees."), encoding="utf-8")
    made = kgcheck("bench", "judge", file, "--verifier", "inference", "--ledger", tmp_path / "l.sqlite", cwd=tmp_path)
    assert made.code == 0, made.err
    notes = ["Mutations of SOD1 are associated with renal cell carcinoma, and all agrees."]
    papers = [Document(ids=(f"a:{n}",), abstract=text) for n, text in enumerate(notes)]
    agreeing = build_index(tmp_path / "index", papers)
    found, read, _ = checked(tmp_path, agreeing, LACKING, "--verifier", "inference")
    assert (found["outcome"], weights(read)) == ("supported", {"decides"})
    assert "60 of 60 are right" in read[0]["weight"]
    # It reads as it was measured, without the vectors of an index.
    embedders: list[object] = []

    def noted(claim: str, documents: Sequence[Document], embedder: Embedder | None) -> object:
        embedders.append(embedder)
        return cosines(claim, documents, embedder)

    monkeypatch.setattr("kgcheck.literature.trained_verifier.cosines", noted)
    with_vectors = build_index(tmp_path / "vectors", papers, packaged_model())
    _, again, _ = checked(tmp_path, with_vectors, LACKING, "--verifier", "inference")
    assert ([e["weight"] for e in again], embedders) == ([read[0]["weight"]], [None])
    # The text without the word that the model goes by.
    _, read, _ = checked(tmp_path, index, LACKING, "--verifier", "inference")
    assert read == []


# --- The trained one, and what is wrong


def test_the_trained_judge_decides_of_diseases_and_informs_of_interactions(index: Path, tmp_path: Path) -> None:
    found, papers, _ = checked(tmp_path, index, LACKING)
    assert (found["outcome"], found["graph"], weights(papers)) == ("supported", "lacks_it", {"decides"})
    found, papers, _ = checked(tmp_path, index, UNSUPPORTED)
    assert (found["outcome"], found["graph"], weights(papers)) == ("refuted", "has_it_wrongly", {"informs"})
    # In a list, a finding is shown with what it rests on.
    places = ("--store", demo().store, "--reference", demo().reference, "--literature", index)
    said = kgcheck("audit", "--type", "triple", "--id", "P04035", *places, "--ledger", tmp_path / "l.sqlite")
    assert "string web-dsx" in said.out
    assert "papers were asked about 7 edges and speak of 1; of 1 they only inform" in said.err
    found, papers, _ = checked(tmp_path, index, UNSUPPORTED, "--trust", "0.7", "--verifier", "trained")
    assert (found["outcome"], weights(papers)) == ("supported", {"decides"})


# --- The other doors


def test_http_takes_judges_and_a_trust(index: Path, tmp_path: Path) -> None:
    with served(tmp_path, literature=str(index)) as client:
        ends = {}
        for more in ({}, {"verifiers": ["trained"], "trust": 0.7}):
            answer = client.post("/v1/check", json={"what": UNSUPPORTED, **more})
            assert answer.status_code == 200, answer.text
            ends[len(more)] = answer.json()["outcome"]
        wrong = client.post("/v1/check", json={"what": UNSUPPORTED, "verifiers": ["oracle"]})
    assert ends == {0: "refuted", 2: "supported"}
    assert (wrong.status_code, "there is no verifier" in wrong.text) == (422, True)


def test_mcp_takes_judges_and_a_trust(index: Path, tmp_path: Path) -> None:
    places: dict[str, Any] = {"store": demo().store, "reference": demo().reference, "ledger": tmp_path / "l.sqlite"}
    with Workspace(**places, literature=index, settings=Settings(home=tmp_path)) as workspace:
        server = make_server(workspace, Asking(Role.VIEWER, "ada"))

        async def work(client: Client) -> list[dict[str, Any]]:
            plain = {"what": UNSUPPORTED}
            trusting = plain | {"verifiers": ["trained"], "trust": 0.7}
            return [given(await client.call_tool("check", one)) for one in (plain, trusting)]

        first, second = talk(server, work)
    assert "informs: where it supports gene-gene" in json.dumps(first)
    assert "decides: where it supports gene-gene" in json.dumps(second)


def test_a_language_model_is_for_curators(server: ChatServer, index: Path, tmp_path: Path) -> None:
    with served(tmp_path, literature=str(index)) as client:
        with Ledger(tmp_path / "ledger.sqlite") as ledger:
            token, _ = Users(ledger.database).add("vera", Role.VIEWER, by="ada")
        client.headers["authorization"] = f"Bearer {token}"
        answer = client.post("/v1/check", json={"what": UNSUPPORTED, "verifiers": ["llm"]})
    assert (answer.status_code, "a language model needs the role curator" in answer.text) == (403, True)
    places: dict[str, Any] = {"store": demo().store, "reference": demo().reference, "ledger": tmp_path / "l.sqlite"}
    with Workspace(**places, literature=index, settings=Settings(home=tmp_path)) as workspace:
        tools = make_server(workspace, Asking(Role.VIEWER, "ada"))

        async def work(client: Client) -> Any:
            return await client.call_tool("check", {"what": UNSUPPORTED, "verifiers": ["llm"]})

        refused = talk(tools, work)
    assert refused.is_error
    assert server.requests == []


def test_jobs_and_tasks_take_judges_and_a_trust() -> None:
    judging = {"verifiers": ["llm"], "trust": 0.95}
    audit, job = AuditWanted.model_validate(judging).scope, AuditJob.model_validate({"kind": "audit", **judging}).scope
    assert {(one.verifiers, one.trust) for one in (audit, job)} == {(("llm",), 0.95)}


def test_a_benchmark_counts_papers_as_they_are_judged(server: ChatServer, index: Path, tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text(json.dumps({"label": "support", "check": [UNSUPPORTED]}) + "\n", encoding="utf-8")
    places = ("--store", demo().store, "--reference", demo().reference, "--literature", index)
    said = kgcheck("batch", "kgcheck", file, *places, "--verifier", "llm", "--out", tmp_path / "b")
    assert said.code == 0, said.err
    assert "papers count as llm judges them, as published" in said.err
    (result,) = map(json.loads, (tmp_path / "b" / "results.jsonl").read_text().splitlines())
    assert result["outcome"] == "supported"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", UNSUPPORTED, "--verifier", "trained"), "a verifier judges papers, and none are named"),
        (("check", UNSUPPORTED, "--literature", "INDEX", "--verifier", "inference"), "no model of inference is named"),
        (("bench", "judge", "CLAIMS"), "CLAIMS is no labelled evidence of edges"),
    ],
)
def test_what_is_wrong_is_refused(index: Path, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    claims = tmp_path / "claims.jsonl"
    claims.write_text('{"id": "1", "claim": "A is B.", "label": "supports"}\n', encoding="utf-8")
    places = {"INDEX": index, "CLAIMS": claims}
    graph = ("--store", demo().store) if arguments[0] == "check" else ("--ledger", tmp_path / "l.sqlite")
    said = kgcheck(*(places.get(a, a) for a in arguments), *graph, cwd=tmp_path)
    assert said.refuses(message.replace("CLAIMS", str(claims)))
