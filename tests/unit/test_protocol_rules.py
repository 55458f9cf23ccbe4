"""The usual order of steps and usual values: what is found, what is left alone, and hostile texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from benchmarks.protocol_checks import MARKS_ALONE, order_score
from kgcheck.protocols.checking.check import StudyWorlds, check_protocol
from kgcheck.protocols.checking.order import likely_order, order_agreement
from kgcheck.protocols.checking.remarks import odd_values, odd_words
from kgcheck.protocols.design.material import DesignRules, DesignTemperatures
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
    assert sorted(likely_order(steps, MARKS_ALONE)) == list(range(len(steps)))


def test_marks_of_order() -> None:
    assert likely_order(["Day 3: do it.", "Day 1: do it.", "Day 2: do it."], MARKS_ALONE) == [1, 2, 0]
    assert likely_order(["Finally, do it.", "First, do it."], MARKS_ALONE) == [1, 0]


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("Lyse them with 10 mM PMSF.", ["10 mM"]),
        ("Lyse them with 1 mM PMSF and 10 mM NaCl.", []),
        ("Lyse them with PMSF (1 mM); add 10 mM EDTA.", []),
        ("Adjust the pH to 7.4, then to a pH of 17.", ["17"]),
        ("Store the slides at 40 °C.", ["40 °C"]),
        ("Store the slides at -80 °C.", []),
        ("Use an FDR of 0.5.", ["0.5"]),
        ("Use an FDR of 5%.", []),
        ("Take 1,000 permutations.", []),
        ("Take 5 permutations.", ["5"]),
        ("Add 10 mM of a thing that nobody knows.", []),
    ],
)
def test_values_outside_what_is_usual(text: str, odd: list[str]) -> None:
    assert [value.written for value in odd_values(text)] == odd


def test_a_step_and_its_rationale() -> None:
    assert odd_words("Use a primary antibody, then a secondary antibody.", "Show the primary antibody.") == []
    assert odd_words("Add sodium chloride.", "Add sodium.") == []
    study = protocol(step(1, "Give it orally, with 10 mM IPTG.", rationale="Intravenous delivery."))
    found = check_protocol(study, StudyWorlds(), name="p")
    assert {r.remark.value for r in found.remarks} >= {"value_unusual", "rationale_differs"}


@pytest.mark.parametrize(
    "text",
    ["1" * 50_000, "1 " * 25_000, "PMSF " * 10_000, "10 mM " * 9_000, "the ed " * 8_000, "day 1 " * 9_000, "(" * 50_000,
     "1,111" * 10_000, "1.1" * 16_000, "°C" * 25_000, "cells centrifuge 5 g " * 2_000],
)  # fmt: skip
def test_hostile_texts_take_no_time(text: str) -> None:
    steps = [text + str(n) for n in range(5)]

    assert spent(lambda: (odd_values(text), odd_words(text, text), likely_order(steps))) < 2


@pytest.mark.parametrize(("role", "temperature"), [("designer", -0.1), ("reviewer", 2.1)])
def test_a_temperature_out_of_bounds_is_refused(role: str, temperature: float) -> None:
    shipped = DesignRules.shipped().temperatures.model_dump()

    with pytest.raises(ValidationError, match=role):
        DesignTemperatures.model_validate(shipped | {role: temperature})
