"""SCV as BioKGBench ran it: one prompt, one answer, its words folded, and the scopes of its table 13."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgcheck.bench.metrics import measure
from kgcheck.bench.scv import read_items
from tests.support.audits import Said, kgcheck
from tests.support.chat_server import Asked, Move, Say, chat_server

CLAIMS = [
    {"id": "a", "claim": "A deficiency of folate increases homocysteine.", "verdict": "Supports", "evidence": [11]},
    {"id": "b", "claim": "Anticoagulation after trauma is safe.", "verdict": "REFUTES", "evidence": [12]},
    {"id": "c", "claim": "Zebrafish are blue at night.", "verdict": "NEI", "evidence": [13]},
]
CORPUS = [
    {"pmid": 11, "title": "Folate", "abstract": "A deficiency of folate increases homocysteine in the blood."},
    {"pmid": 12, "title": "Anticoagulation", "abstract": "Anticoagulation after trauma is not safe at all."},
    {"pmid": 13, "title": "Sleep", "abstract": "Mice slept. Zebrafish swam. Light was on."},
    {"pmid": 14, "title": "More folate", "abstract": "Homocysteine and folate were measured after trauma at night."},
]


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(r)}\n" for r in records))
    return path


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    corpus = lines(folder / "merged_corpus.jsonl", CORPUS)
    assert kgcheck("corpus", "add", corpus, "--index", folder / "index", "--model", "none").code == 0
    return folder / "index"


Run = Callable[..., tuple[Said, list[Asked]]]


@pytest.fixture
def run(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    pytest.importorskip("openai", reason="the extra llm is not installed")
    claims = lines(tmp_path / "dev.jsonl", CLAIMS)

    def ran(script: Callable[[Asked], Move], *options: object) -> tuple[Said, list[Asked]]:
        asked: list[Asked] = []

        def play(one: Asked) -> Move:
            asked.append(one)
            return script(one)

        with chat_server(play) as server:
            monkeypatch.setenv("KGCHECK_LLM_BASE_URL", server.url)
            monkeypatch.setenv("KGCHECK_LLM_MODEL", "test")
            command = ("batch", "scv", claims, "--index", index, "--protocol", "biokgbench", "--out", tmp_path / "b")
            return kgcheck(*command, *options, "--format", "json"), asked

    return ran


def sent(asked: Asked) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(str(asked.messages[1]["content"]))
    return found


def reader(asked: Asked) -> Say:
    """Quotes the whole of the first passage, and takes the side that its words take."""
    text = sent(asked)["passages"][0]["text"]
    side = {"A": "Supported", "An": "UNSUPPORTS"}.get(text.split("ticoagulation")[0].split()[0], "Unrelated")
    return Say(json.dumps({"answer": side, "quotes": [text]}))


def results(folder: Path) -> dict[str, dict[str, Any]]:
    return {r["id"]: r for r in map(json.loads, (folder / "results.jsonl").read_text().splitlines())}


def test_one_prompt_and_one_answer_a_claim(run: Run, tmp_path: Path) -> None:
    said, asked = run(reader)

    metrics = json.loads(said.out)
    assert said.code == 0, said.err
    assert len(asked) == 3
    assert [len(sent(one)["passages"]) for one in asked] == [2, 2, 2]
    assert not any("response_format" in one.body for one in asked)
    assert (metrics["accuracy"], metrics["error_rate"], metrics["calibration_error"]) == (1, 0, None)
    # The claim without enough information is answered without a side: no right quote, as the benchmark counts.
    assert metrics["right_quotes_of_all"] == pytest.approx(2 / 3, abs=1e-4)
    quoted = results(tmp_path / "b")["a"]["opinions"]
    assert [(o["document"], o["quotes"][0]["start"]) for o in quoted] == [("11", 0)]


@pytest.mark.parametrize(
    ("answer", "folded"),
    [
        ("SUPPORTS", "supports"), ("supported", "supports"), ("REFUTES", "contradicts"), ("Refuted", "contradicts"),
        ("Unsupports", "contradicts"), ("unsupported", "contradicts"), ("Unsure", "silent"), ("UNRELATED", "silent"),
        ("Support", "error"), ("The claim is supported", "error"), ("", "error"),
    ],
)  # fmt: skip
def test_answers_are_folded_and_any_other_is_an_error(run: Run, tmp_path: Path, answer: str, folded: str) -> None:
    run(lambda asked: Say(json.dumps({"answer": answer, "quotes": []})), "--limit", 1)

    assert results(tmp_path / "b")["a"]["answer"] == folded


@pytest.mark.parametrize("text", ["SUPPORTS", '{"quotes": []}', '{"answer": "SUPPORTS", "quotes": "all of it"}', ""])
def test_what_is_not_in_the_form_is_an_error_that_stays(run: Run, tmp_path: Path, text: str) -> None:
    first, asked = run(lambda _: Say(text))
    again, more = run(reader)

    metrics = json.loads(first.out)
    assert (first.code, metrics["errors"], metrics["accuracy"], len(asked)) == (0, 3, 0, 3)
    assert (len(more), json.loads(again.out)) == (0, metrics)


def test_a_quote_that_no_passage_holds_is_not_right(run: Run, tmp_path: Path) -> None:
    made_up = {"answer": "SUPPORTS", "quotes": ["Folate deficiency raises homocysteine."]}
    said, _ = run(lambda _: Say(json.dumps(made_up)), "--limit", 1)

    metrics = json.loads(said.out)
    assert (metrics["accuracy"], metrics["quoted"], metrics["right_quotes"]) == (1, 1, 0)
    assert metrics["right_quotes_of_all"] == 0
    assert results(tmp_path / "b")["a"]["opinions"][0]["document"] == ""


def test_the_three_scopes_side_by_side(run: Run, tmp_path: Path) -> None:
    said, asked = run(reader, "--scope", "each", "--repeat", 2)

    found = json.loads(said.out)
    assert said.code == 0, said.err
    assert list(found["mean"]) == list(found["spread"]) == ["all", "partial", "match"]
    documents = [sorted(p["text"] for p in sent(one)["passages"]) for one in asked]
    assert len(asked) == 18
    assert any(CORPUS[3]["abstract"] in texts for texts in documents[:6])
    assert not any(CORPUS[3]["abstract"] in texts for texts in documents[6:])
    assert {len(texts) for texts in documents[12:]} == {1}
    assert (tmp_path / "b" / "match" / "run-2" / "report.md").exists()


def test_scopes_are_compared_without_a_key_by_the_trained_verifier(index: Path, tmp_path: Path) -> None:
    command = ("batch", "scv", lines(tmp_path / "dev.jsonl", CLAIMS), "--index", index, "--out", tmp_path / "b")
    said = kgcheck(*command, "--scope", "each")
    one = kgcheck(*command[:-1], tmp_path / "one", "--scope", "partial", "--format", "json")

    rows = [line.split() for line in said.out.splitlines()]
    assert rows[0] == ["scope", "accuracy", "right", "quotes", "error"]
    assert [row[0] for row in rows[1:]] == ["all", "partial", "match"]
    accuracy = float(rows[2][1].rstrip("%")) / 100
    assert json.loads(one.out)["accuracy"] == pytest.approx(accuracy, abs=1e-3)


def test_claims_that_name_no_document_have_no_partial_scope(index: Path, tmp_path: Path) -> None:
    claims = lines(tmp_path / "c.jsonl", [{"id": "a", "claim": "Mice sleep.", "label": "supports"}])
    said = kgcheck("batch", "scv", claims, "--index", index, "--scope", "partial", "--out", tmp_path / "b")

    assert said.code == 3
    assert "no claim of the file names a document" in (tmp_path / "b" / "results.jsonl").read_text()


def test_quotes_of_answers_that_take_no_side_are_not_counted(tmp_path: Path) -> None:
    items = read_items(lines(tmp_path / "dev.jsonl", CLAIMS))
    quote = {"document": "13", "quotes": [{"start": 0, "end": 4, "text": "Mice"}]}
    silent = {"answer": "silent", "opinions": [quote]}

    found = measure(items, {"c": silent})
    assert (found.right_quotes, found.right_quotes_of_all) == (1, 0)
    assert measure(items, {"c": silent | {"answer": "supports"}}).right_quotes_of_all == 1
