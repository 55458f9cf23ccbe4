"""Batches of claims: the published form of BioKGBench, and what a language model may spend on them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgcheck.bench.metrics import measure
from kgcheck.bench.scv import read_items
from kgcheck.errors import InputFormat
from kgcheck.model import Stance
from tests.support.audits import Said, kgcheck
from tests.support.chat_server import Asked, Say, chat_server
from tests.support.literature import build_index, papers

# BioKGBench's SCV


def lines(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(r)}\n" for r in records), encoding="utf-8")
    return path


def biokgbench(folder: Path) -> tuple[Path, Path]:
    """A corpus and claims of our own in the form that the benchmark's loader and scorer read."""
    corpus = lines(
        folder / "merged_corpus.jsonl",
        {"pmid": 11, "title": "Folate", "abstract": "A deficiency of folate increases homocysteine in the blood."},
        {"pmid": 12, "title": "Anticoagulation", "abstract": "Anticoagulation after trauma is not safe at all."},
        {"pmid": 13, "title": "Sleep", "abstract": "Mice slept. Light was on."},
    )
    claims = lines(
        folder / "dev.jsonl",
        {"claim": "A deficiency of folate increases homocysteine.", "verdict": "Supports", "evidence": [11]},
        {"claim": "Anticoagulation after trauma is safe.", "verdict": "REFUTES", "evidence": ["12"]},
        {"claim": "Zebrafish are blue at night.", "verdict": "Not enough info", "evidence": [13]},
    )
    return corpus, claims


def test_the_form_of_biokgbench_is_read(tmp_path: Path) -> None:
    _, claims = biokgbench(tmp_path)
    first, second, third = read_items(claims)

    assert [i.label for i in (first, second, third)] == [Stance.SUPPORTS, Stance.CONTRADICTS, Stance.SILENT]
    assert [i.documents for i in (first, second, third)] == [("11",), ("12",), ("13",)]
    assert [(g.document, g.sentences, g.words) for g in first.gold] == [("11", (), "")]
    assert [i.id for i in (first, second, third)] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("verdict", "meant"),
    [
        *(("Support supports SUPPORTED".split(), Stance.SUPPORTS),),
        *(("Refute refuted REFUTES Unsupported unsupports".split(), Stance.CONTRADICTS),),
        *((["NEI", "Unsure", "UNRELATED", "Not Enough Information"], Stance.SILENT),),
    ],
)
def test_every_published_spelling_of_a_verdict_is_known(tmp_path: Path, verdict: list[str], meant: Stance) -> None:
    file = lines(tmp_path / "a.jsonl", *({"claim": "x", "verdict": v, "evidence": []} for v in verdict))

    assert {i.label for i in read_items(file)} == {meant}


def test_other_forms_of_its_evidence_are_taken(tmp_path: Path) -> None:
    words = {"claim": "x", "verdict": "Support", "evidence": ["7", "Words of a paper that say so."]}
    (mixed,) = read_items(lines(tmp_path / "a.jsonl", words))
    (nested,) = read_items(lines(tmp_path / "b.jsonl", {"claim": "x", "verdict": "NEI", "evidence": [{"doc_id": 3}]}))
    (tmp_path / "c.json").write_text(json.dumps([{"claim": "x", "verdict": "Refute", "evidence": None}]))
    (listed,) = read_items(tmp_path / "c.json")

    assert mixed.documents == ("7",)
    assert [(g.document, g.words) for g in mixed.gold] == [("", "Words of a paper that say so."), ("7", "")]
    assert (nested.documents, nested.gold) == ((), ())
    assert (listed.documents, listed.label) == ((), Stance.CONTRADICTS)
    with pytest.raises(InputFormat, match="'perhaps' is no label"):
        read_items(lines(tmp_path / "d.jsonl", {"claim": "x", "verdict": "perhaps", "evidence": []}))


@pytest.mark.parametrize("scope", ["corpus", "documents"])
def test_biokgbench_is_run_end_to_end(tmp_path: Path, scope: str) -> None:
    corpus, claims = biokgbench(tmp_path)
    folder, out = tmp_path / "index", tmp_path / "out"
    assert kgcheck("corpus", "add", corpus, "--index", folder, "--model", "none").code == 0
    said = kgcheck("batch", "scv", claims, "--index", folder, "--scope", scope, "--out", out, "--format", "json")
    metrics = json.loads(said.out)

    assert said.code == 0, said.err
    assert (metrics["labelled"], metrics["errors"]) == (3, 0)
    assert metrics["confusion"]["supports"]["supports"] == 1
    assert metrics["confusion"]["contradicts"]["contradicts"] == 1
    assert metrics["right_quotes"] == 1.0
    texts = {"11": "A deficiency of folate", "12": "Anticoagulation after"}
    for result in map(json.loads, (out / "results.jsonl").read_text().splitlines()):
        for opinion in result["opinions"]:
            assert opinion["quotes"][0]["text"].startswith(texts.get(opinion["document"], ""))


def test_a_quote_of_another_paper_is_not_right(tmp_path: Path) -> None:
    (item, *_) = read_items(biokgbench(tmp_path)[1])

    def quoting(document: str) -> dict[str, Any]:
        quote = {"start": 0, "end": 1, "text": "A"}
        return {"answer": "supports", "probability": 0.9, "opinions": [{"document": document, "quotes": [quote]}]}

    assert measure([item], {"1": quoting("11")}).right_quotes == 1.0
    assert measure([item], {"1": quoting("13")}).right_quotes == 0.0


# What a language model may spend


def answer(asked: Asked) -> Say:
    sent = json.loads(str(asked.messages[1]["content"]))["papers"][0]["sentences"][0]["words"]
    opinion = {"paper": 1, "stance": "supports", "probability": 0.9, "quotes": [{"sentence": 1, "words": sent}]}
    return Say(text=json.dumps({"opinions": [opinion]}))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_index(tmp_path_factory.mktemp("index") / "index", papers())


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Asked]]:
    """What the endpoint was asked."""
    pytest.importorskip("openai", reason="the extra llm is not installed")
    asked: list[Asked] = []

    def play(request: Asked) -> Say:
        asked.append(request)
        return answer(request)

    with chat_server(play) as server:
        monkeypatch.setenv("KGCHECK_LLM_BASE_URL", server.url)
        monkeypatch.setenv("KGCHECK_LLM_MODEL", "test")
        yield asked


def claims_of(folder: Path, count: int) -> Path:
    # What the paper that is found first says: a quote about another kinase, or one that only asks, would not count.
    records = ({"id": str(n), "claim": "Kinase A binds kinase B in yeast.", "label": "yes"} for n in range(count))
    return lines(folder / "claims.jsonl", *records)


def scv(index: Path, folder: Path, count: int, *options: object) -> Said:
    file = claims_of(folder, count)
    common = ("--index", index, "--verifier", "llm", "--top", "1", "--out", folder / "out", "--format", "json")
    return kgcheck("batch", "scv", file, *common, *options)


def results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out" / "results.jsonl").read_text().splitlines()]


def test_a_spent_budget_leaves_claims_open_and_the_batch_goes_on(
    index: Path, tmp_path: Path, endpoint: list[Asked]
) -> None:
    one = scv(index, tmp_path, 1)
    taken = int(one.err.split(" tokens in 1 calls")[0].split()[-1].replace(",", ""))
    assert (one.code, taken > 0) == (0, True)

    # Two claims fit; the limit is looked at before each call.
    first = scv(index, tmp_path, 5, "--total-tokens", taken + taken // 2)
    assert first.code == 3
    assert "2 of 5 claims are open: run the same command again" in first.err
    metrics = json.loads(first.out)
    assert (metrics["claims"], metrics["errors"]) == (3, 0)
    assert [r["id"] for r in results(tmp_path)] == ["0", "1", "2"]

    again = scv(index, tmp_path, 5)
    assert (again.code, "2 done now, 3 before" in again.err) == (0, True)
    assert [r["id"] for r in results(tmp_path)] == ["0", "1", "2", "3", "4"]
    assert len(endpoint) == 5


def test_a_claim_that_takes_too_much_ends_with_an_error_and_is_tried_again(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="the extra llm is not installed")

    # The first answers are useless, so that the model is asked again and again.
    with chat_server(lambda asked: answer(asked) if asked.number > 2 else Say(text="I think so.")) as server:
        monkeypatch.setenv("KGCHECK_LLM_BASE_URL", server.url)
        monkeypatch.setenv("KGCHECK_LLM_MODEL", "test")
        said = scv(index, tmp_path, 1, "--tokens", "1")
        assert said.code == 3
        assert "stopped after" in results(tmp_path)[-1]["error"]
        again = scv(index, tmp_path, 1)

    assert again.code == 0, again.err
    assert results(tmp_path)[-1]["answer"] == "supports"


def test_a_single_claim_has_limits_too(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="the extra llm is not installed")
    arguments = ("verify", "Kinase A binds kinase B.", "--index", index, "--verifier", "llm", "--document", "p1")

    with chat_server(lambda asked: Say(text="I think so.") if asked.number < 3 else answer(asked)) as server:
        monkeypatch.setenv("KGCHECK_LLM_BASE_URL", server.url)
        monkeypatch.setenv("KGCHECK_LLM_MODEL", "test")
        stopped = kgcheck(*arguments, "--tokens", "1", "--format", "json")
        told = kgcheck(*arguments, "--money", "1", "--format", "json")
        enough = kgcheck(*arguments, "--tokens", "100000", "--format", "json")

    assert (stopped.code, stopped.out) == (3, "")
    assert "the model was stopped after" in stopped.err
    assert "tokens in 1 calls" in stopped.err
    assert (told.code, "no prices are set" in told.err) == (2, True)
    assert (enough.code, json.loads(enough.out)["stance"]) == (0, "supports")
