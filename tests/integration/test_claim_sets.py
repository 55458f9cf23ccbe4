"""Claim sets that are joined over one corpus, and questions that become claims."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.bench.scv import as_claim, read_items
from kgcheck.model import Stance
from tests.support.audits import kgcheck


@pytest.mark.parametrize(
    ("question", "claim"),
    [
        ("Does cold air reduce wheezing in horses?", "Cold air reduces wheezing in horses."),
        ("Does IL-6 vary with age?", "IL-6 varies with age."),
        ("Does the stall have an effect on sleep?", "The stall has an effect on sleep."),
        ("Can cold air help horses with asthma?", "Cold air can help horses with asthma."),
        ("Is sleep less strongly associated with light?", "Sleep is less strongly associated with light."),
        ("Are mRNA levels of p53 predictive of sleep?", "mRNA levels of p53 are predictive of sleep."),
        ("Does β-catenin matter?", "β-catenin matters."),
    ],
)  # fmt: skip
def test_a_question_becomes_the_claim_that_a_yes_affirms(question: str, claim: str) -> None:
    assert as_claim(question) == claim


@pytest.mark.parametrize(
    "question",
    [
        "Does an increase in light affect sleep?",  # two words can be the verb
        "Is there a link between light and sleep?",
        "Does light really affect sleep?",
        "Do we affect sleep?",
        "Sleep in horses: does light affect it?",
        "Should light be reduced?",
        "Does affect predict?",
        "Is effective?",
        "?",
        "",
    ],
)
def test_a_question_whose_verb_is_not_plain_is_left_out(question: str) -> None:
    assert as_claim(question) is None


@given(st.lists(st.sampled_from("does is can the light affect effective sleep of in not a reduces ; mRNA".split())))
def test_a_claim_has_the_words_of_its_question_in_any_case(words: list[str]) -> None:
    claim = as_claim(" ".join(words) + "?")
    if claim is None:
        return
    stems = [re.sub(r"e?s$", "", word.casefold()) for word in words if word != "does"]
    assert sorted(re.sub(r"e?s$", "", word) for word in claim[:-1].casefold().split()) == sorted(stems)


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(r)}\n" for r in records))
    return path


@pytest.fixture
def index(tmp_path: Path) -> Path:
    notes = [{"id": f"n{n}", "title": "Horses", "abstract": f"Cold air was given to {n} horses."} for n in range(1, 31)]
    corpus = write(tmp_path / "notes.jsonl", *notes)
    assert kgcheck("corpus", "add", corpus, "--index", tmp_path / "papers", "--model", "none").code == 0
    return tmp_path / "papers"


def test_sets_are_joined_over_one_index(index: Path, tmp_path: Path) -> None:
    one = write(
        tmp_path / "one.jsonl",
        {"id": "a", "claim": "Does cold air affect horses?", "label": "yes", "documents": ["n1"]},
        {"id": "b", "claim": "Horses sleep: why?", "label": "no", "documents": ["n1"]},
        {"id": "c", "claim": "Horses sleep.", "label": "no", "documents": ["n2", "gone"]},
        {"id": "d", "claim": "Horses run.", "documents": ["n2"]},
    )
    two = write(
        tmp_path / "two.jsonl",
        {"id": "a", "claim": "Cold air affects horses.", "verdict": "Refute", "evidence": ["n3"]},
        *({"id": n, "claim": f"Horse {n} sleeps.", "verdict": "NEI", "evidence": [f"n{n}"]} for n in range(4, 31)),
    )
    out, dev = tmp_path / "test.jsonl", tmp_path / "dev.jsonl"
    said = kgcheck("bench", "claims", one, two, "--index", index, "--out", out, "--dev", dev)

    assert said.code == 0, said.err
    for why in ("questions whose claim is not plain", "whose papers are not all in the index", "without a label",
                "that were there already"):  # fmt: skip
        assert f"1 item left out: {why}" in said.err
    items = {item.id: item for item in (*read_items(dev), *read_items(out))}
    assert len(items) == 28
    assert (items["one:a"].claim, items["one:a"].label) == ("Cold air affects horses.", Stance.SUPPORTS)
    assert items["two:4"].label is Stance.SILENT
    assert len(read_items(dev)) == 3
    assert not {d for i in read_items(dev) for d in i.documents} & {d for i in read_items(out) for d in i.documents}
    batch = kgcheck("batch", "scv", dev, "--index", index, "--scope", "match", "--out", tmp_path / "b")
    assert batch.code == 0


def test_no_claim_is_left(index: Path, tmp_path: Path) -> None:
    claims = write(tmp_path / "c.jsonl", {"id": "a", "claim": "Horses sleep.", "label": "yes", "documents": ["x"]})
    said = kgcheck("bench", "claims", claims, "--index", index, "--out", tmp_path / "out.jsonl")

    assert said.refuses("no claim is left")
    assert not (tmp_path / "out.jsonl").exists()


def test_two_files_of_one_name_are_refused(index: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    record = {"id": "a", "claim": "Horses sleep.", "label": "yes", "documents": ["n1"]}
    files = [write(folder / "c.jsonl", record) for folder in (tmp_path, tmp_path / "other")]

    assert kgcheck("bench", "claims", *files, "--index", index, "--out", tmp_path / "out.jsonl").refuses(
        "two files are called c"
    )


def test_published_questions_become_claims(shared_data: Path) -> None:
    questions = [item.claim for item in read_items(shared_data / "pubmedqa" / "pqal_train.json")]
    made = [claim for question in questions if (claim := as_claim(question))]

    assert len(questions) == 500
    # All of them were read: each says what a yes affirms (one has a wrong number of its verb).
    assert len(made) == 199
