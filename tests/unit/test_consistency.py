"""Statements of a manuscript against its own numbers, and against what it says elsewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.choices import SectionKind
from kgcheck.grounding.consistency import check_consistency
from kgcheck.grounding.manuscript import Block, Manuscript
from kgcheck.grounding.remarks import Remark, Remarked, SentenceState
from tests.support.manuscripts import manuscript
from tests.support.spent import spent

WHOLE = "We treated mice with zinc and counted their cells each week until the end of the trial."


Part = tuple[SectionKind, str]


def of_parts(*parts: Part) -> Manuscript:
    return manuscript(Block(section=kind, text=text) for kind, text in parts)


def found(*parts: Part) -> list[tuple[Remark, str, str]]:
    return [(r.remark, r.stated, r.found) for r in check_consistency(of_parts(*parts))]


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("Weight was not significantly different between the groups (p = 0.003).", Remark.SIGNIFICANCE_DIFFERS),
        ("There was no difference in weight between the groups (P < 0.001).", Remark.SIGNIFICANCE_DIFFERS),
        ("Weight was significantly higher in treated mice (p = 0.41).", Remark.SIGNIFICANCE_DIFFERS),
        ("Weight increased from 31.5 g to 24.2 g in treated mice.", Remark.DIRECTION_DIFFERS),
        ("Counts were lower in treated mice (45.2) than in controls (31.8).", Remark.DIRECTION_DIFFERS),
        ("Zinc was tied to an increased risk of relapse (OR 0.62).", Remark.DIRECTION_DIFFERS),
    ],
)
def test_words_that_the_numbers_of_their_sentence_deny_are_remarked(text: str, remark: Remark) -> None:
    (remarked,) = check_consistency(of_parts(("results", text)))

    assert (remarked.remark, remarked.state) == (remark, SentenceState.UNSUPPORTED)
    assert remarked.evidence[0].quote == text
    assert text[remarked.start : remarked.end] == remarked.stated


@pytest.mark.parametrize(
    "text",
    [
        "Weight was significantly different between the groups (p = 0.003).",
        "Weight was not significantly different between the groups (p = 0.41).",
        "There was no difference in weight (p = 0.2), but counts differed (p = 0.001).",
        "A marginally significant difference was seen (p = 0.07).",
        "The level of significance was set at p < 0.05.",
        "Weight increased from 24.2 g to 31.5 g in treated mice.",
        "Weight decreased from 31.5 g to 24.2 g.",
        "The fit was improved to 4.9 (range from -6.1 to -8.1).",
        "Counts were higher in treated mice (45.2) than in controls (31.8).",
        "Counts did not increase from 45 to 31 days.",
        "Emissions were reduced from 2033 to 2150 in both worlds.",
        "The term is reduced to its square where the dose is small, so that the kinetics of the whole can be written "
        "as a product, which is the same as changing the rate from 2 h to 2.5 h.",
        "Zinc was tied to a reduced risk of relapse (OR 0.62).",
        "Zinc and weight were negatively correlated (r = -0.42).",
        "The mice were kept at a temperature of 37 °C throughout.",
        "At the age of 12 weeks 30 mg were given.",
    ],
)
def test_words_that_agree_with_their_numbers_are_not(text: str) -> None:
    assert found(("results", text)) == []


def test_one_number_in_two_units_of_a_kind_is_remarked() -> None:
    text = "Mice received rapamycin at a dose of 250 {} every other day."
    other = "Rapamycin was given to mice at a dose of 250 mg every other day for long."

    assert found(("abstract", other), ("results", text.format("mg"))) == []
    assert (Remark.UNIT_DIFFERS, "250 g", "250 mg") in found(("abstract", other), ("results", text.format("g")))


def test_a_symbol_of_which_two_signs_changed_places_is_remarked() -> None:
    often = "BRCA1 binds PALB2. BRCA1 is cut, and BRCA1 is lost."

    assert found(("results", f"{often} Loss of BRAC1 was seen.")) == [(Remark.SYMBOL_MISSPELT, "BRAC1", "BRCA1")]
    # Two digits make another gene.
    assert found(("results", "CDK14 and CDK14 and CDK14 were seen, and CDK41, too.")) == []


@given(st.lists(st.tuples(st.sampled_from(("abstract", "results")), st.text(min_size=1, max_size=200)), max_size=4))
def test_any_text_is_read(blocks: list[Part]) -> None:
    text = of_parts(*(block for block in blocks if block[1].strip()))
    remarks: list[Remarked] = check_consistency(text)

    assert all(r.stated == text.sentences[(r.sentence or 0) - 1].text[r.start : r.end] for r in remarks)


def test_long_texts_take_no_longer_than_they_are() -> None:
    sentence = "Zinc lowered relapse to {}% of {} mice, OR 0.62, p = 0.003, from 61.9 to 34.7, than controls (31.8)."
    results = " ".join(sentence.format(n / 10, n) for n in range(100, 220))

    assert spent(lambda: found(("abstract", WHOLE), ("results", results), ("discussion", results))) < 5
