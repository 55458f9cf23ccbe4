"""The usual order of steps and usual values: what is found, what is left alone, and hostile texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.protocol_checks import order_score
from kgcheck.protocols.checking.order import likely_order, order_agreement
from kgcheck.protocols.checking.remarks import usual_remarks
from tests.support.protocols import protocol, step
from tests.support.spent import spent

STUDY = [
    "Design the study and choose the criteria.",
    "Prepare the medium and sterilize it.",
    "Seed the cells and let them grow.",
    "Treat the cells.",
    "Collect the cells and lyse them.",
    "Centrifuge the lysate.",
    "Discard the supernatant and resuspend the pellet.",
    "Amplify the cDNA by PCR.",
    "Analyze the data and plot the results.",
]


@given(st.permutations(STUDY))
def test_a_plain_study_is_put_in_order_from_any_order(steps: list[str]) -> None:
    assert [steps[n] for n in likely_order(steps)] == STUDY
    assert order_agreement(steps) == pytest.approx((order_score(steps, STUDY).tau + 1) / 2)


@given(st.lists(st.text(max_size=60) | st.sampled_from(STUDY), max_size=12))
def test_an_order_has_every_step_once(steps: list[str]) -> None:
    assert sorted(likely_order(steps)) == list(range(len(steps)))


def test_marks_of_order() -> None:
    assert likely_order(["Day 3: do it.", "Day 1: do it.", "Day 2: do it."]) == [1, 2, 0]
    assert likely_order(["Then do it.", "First, do it."]) == [1, 0]


def odd_values(text: str) -> list[str]:
    found = usual_remarks(protocol(step(1, text)))
    return [r.note.partition(";")[0] for r in found]


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("Use an FDR of 0.5.", ["FDR 0.5"]),
        ("Keep an adjusted p-value below 0.3.", ["adjusted p-value 0.3"]),
        ("Take 5 permutations.", ["permutations 5"]),
        ("Use an FDR of 5%.", []),
        ("Use an FDR (5 tests).", []),
        ("Take 1,000 permutations at an FDR below 0.05.", []),
    ],
)
def test_values_outside_what_is_usual(text: str, odd: list[str]) -> None:
    assert odd_values(text) == odd


@pytest.mark.parametrize(
    "text",
    ["1" * 50_000, "1 " * 25_000, "FDR " * 10_000, "10 mM " * 9_000, "the ed " * 8_000, "day 1 " * 9_000, "(" * 50_000,
     "1,111" * 10_000, "1.1" * 16_000, "°C" * 25_000, "cells centrifuge 5 g " * 2_000],
)  # fmt: skip
def test_hostile_texts_take_no_time(text: str) -> None:
    steps = [text + str(n) for n in range(5)]

    assert spent(lambda: (odd_values(text), likely_order(steps))) < 2
