"""The judge of answers: facts, states, the rubric, choices, and agreement of judges; all words are our own."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.bench.answer_judge import (
    FactState,
    JudgedFact,
    agreement,
    atomic_facts,
    judge_by_model,
    judge_by_rules,
    score_choice,
    score_of,
)
from kgcheck.llm.client import ChatClient
from kgcheck.settings import Settings
from tests.support.chat_server import MODEL, Say, chat_server, stubborn

RIGHT = (
    "Expression of ZNX1 and ZNX2 increased in 40% of the hepatocytes after fasting, while expression of QPR7 decreased."
    " Kupffer cells lost the receptor TLY3."
)


def states(answer: str, right: str = RIGHT, question: str = "") -> list[str]:
    return [fact.state.value for fact in judge_by_rules(right, answer, question).facts]


def test_a_right_answer_has_every_fact_and_more_is_free() -> None:
    whole = judge_by_rules(RIGHT, RIGHT)
    more = judge_by_rules(RIGHT, f"{RIGHT} Neutrophils of the spleen were smaller in old rats.")

    assert (whole.score, {f.state for f in whole.facts}, len(whole.facts)) == (5, {FactState.FULL}, 3)
    assert (more.score, more.facts) == (5, whole.facts)


@pytest.mark.parametrize(
    ("answer", "expected", "score"),
    [
        (RIGHT.replace(" and ZNX2", ""), ["partial", "full", "full"], 4),
        (RIGHT.partition(" Kupffer")[0], ["full", "full", "missing"], 3),
        (RIGHT.replace("QPR7 decreased", "QPR7 increased"), ["full", "contradicted", "full"], 3),
        (RIGHT.replace("increased", "did not increase"), ["contradicted", "full", "full"], 3),
        (RIGHT.replace("40%", "80%"), ["contradicted", "full", "full"], 3),
        ("Nothing was measured in the kidney of these birds.", ["missing", "missing", "missing"], 1),
        ("", ["missing", "missing", "missing"], 1),
    ],
)
def test_what_is_dropped_denied_or_changed_lowers_the_score(answer: str, expected: list[str], score: int) -> None:
    assert states(answer) == expected
    assert judge_by_rules(RIGHT, answer).score == score


def test_the_question_need_not_be_said_again() -> None:
    right, question = (
        "In old newts, the number of ZNX1 cells is higher.",
        "How does the number of ZNX1 cells change in old newts?",
    )

    assert states("It is higher; ZNX1 cells are more.", right, question) == ["full"]
    assert states("It is lower; ZNX1 cells are fewer.", right, question) == ["contradicted"]


def test_an_answer_from_memory_is_charged() -> None:
    right = "ZNX1 is higher in the liver of fasting mice."
    recalled = judge_by_rules(right, "It is well known that ZNX1 is higher in the liver of fasting mice.")

    assert (recalled.score, recalled.from_memory) == (3, 1)


def test_names_are_facts_one_by_one() -> None:
    judged = judge_by_rules("", "ALB1 and CDK9 are linked, but QPR7 is not.", names=("ALB1", "CDK9", "QPR7", "ALB"))

    assert [f.state.value for f in judged.facts] == ["full", "full", "contradicted", "missing"]


def test_the_facts_of_a_sentence_have_each_a_verb() -> None:
    assert atomic_facts("In old newts, A1 was higher, whereas B2 was lower.") == [
        "In old newts, A1 was higher",
        "B2 was lower",
    ]


@given(st.lists(st.sampled_from(FactState), min_size=1, max_size=12))
def test_the_score_is_5_only_where_all_is_there(found: list[FactState]) -> None:
    facts = [JudgedFact(fact="a", state=state) for state in found]
    score = score_of(facts)

    assert (score == 5) == ({*found} == {FactState.FULL})
    assert score <= 3 or FactState.CONTRADICTED not in found
    better = [JudgedFact(fact="a", state=FactState.FULL), *facts[1:]]
    assert score_of(better) >= score


@given(st.sets(st.sampled_from("ABCD"), min_size=1), st.sets(st.sampled_from("ABCD")))
def test_choices_are_scored_as_sets(right: set[str], chosen: set[str]) -> None:
    score = score_choice(right, chosen)

    assert (score["accuracy"] == 1) == (right == chosen)
    assert (score["recall"] == 1) == (right <= chosen)
    assert score["precision"] == (len(right & chosen) / len(chosen) if chosen else 0)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=3, max_size=40))
def test_agreement_is_that_of_the_formulas(pairs: list[tuple[int, int]]) -> None:
    one, two = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    found = agreement(one, two)

    weights = (np.subtract.outer(np.arange(5), np.arange(5)) / 4.0) ** 2
    table = np.zeros((5, 5))
    for a, b in pairs:
        table[a - 1, b - 1] += 1
    chance = np.outer(table.sum(1), table.sum(0)) / len(pairs)
    expected = (weights * chance).sum()
    assert found["kappa"] == (round(1 - (weights * table).sum() / expected, 4) if expected else None)
    assert found["within_one"] == round(sum(abs(a - b) <= 1 for a, b in pairs) / len(pairs), 4)
    if len({*one}) > 1 and len({*two}) > 1:
        stats = pytest.importorskip("scipy.stats")
        assert found["spearman"] == pytest.approx(stats.spearmanr(one, two).statistic, abs=1e-4)
    else:
        assert found["spearman"] is None


def test_a_model_judges_only_by_words_of_the_answer() -> None:
    right = "ABC1 rises. DEF2 falls. GHI3 is high. JKL4 is low."
    facts = [
        {"number": 1, "state": "full", "quote": "ABC1 rises"},
        {"number": 2, "state": "full", "quote": "DEF2 falls"},
        {"number": 3, "state": "full"},
        {"number": 9, "state": "full", "quote": "ABC1 rises"},
    ]
    with (
        chat_server(stubborn(Say(json.dumps({"facts": facts})))) as server,
        ChatClient(Settings(llm_base_url=server.url, llm_model=MODEL)) as client,
    ):
        judged = judge_by_model("Judge.", "What changes?", right, "ABC1 rises in all.", client)

    assert [f.fact for f in judged.facts] == ["ABC1 rises", "DEF2 falls", "GHI3 is high", "JKL4 is low"]
    assert [f.state.value for f in judged.facts] == ["full", "missing", "missing", "missing"]
    assert judged.score == 2
