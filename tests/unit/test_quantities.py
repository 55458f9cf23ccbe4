"""Numbers of a sentence: what they are of, and what is none."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.grounding.quantities import quantities
from tests.support import quick_of
from tests.support.spent import spent


def found(text: str) -> list[tuple[str, str]]:
    return [(f"{q.value:f}", q.unit) for q in quantities(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in 12.5% of 1,204 mice", [("12.5", "%"), ("1204", "")]),
        ("12 to 14 weeks", [("12", "week"), ("14", "week")]),
        ("5\u20137 mg/kg", [("5", "mg/kg"), ("7", "mg/kg")]),
        ("rose 2.3-fold", [("2.3", "fold")]),
        ("3.2 \u00d7 10\u22125 M", [("0.000032", "M")]),
        ("1e-3 of 1.2 million", [("0.001", ""), ("1200000.0", "")]),
        ("by \u22120.35 (\u22120.4 to 0.1)", [("-0.35", ""), ("-0.4", ""), ("0.1", "")]),
        ("2\u00b75 kg (2\u00b710\u20133\u00b715)", [("2.5", "kg"), ("2.10", ""), ("3.15", "")]),
        ("3\u00b710^4 and 3\u00b7105", [("30000", ""), ("300000", "")]),
        ("a 4-year-old at 37\u00b0C", [("4", "year"), ("37", "\u00b0C")]),
    ],
)
def test_numbers_have_value_and_unit(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    "as Fig. 3 and Table 2 show|IL-6, p53, H3K4me3, 3T3 cells and 5-HT|since 2010|version 2.0.1 at 192.168.0.1"
    "|chromosome 21, exon 7|95% CI|no. 007".split("|"),
)
def test_what_measures_nothing_is_no_quantity(text: str) -> None:
    assert found(text) == []


def test_signs_of_comparison_are_kept_and_numbers_of_citations_are_not() -> None:
    text = "p < 0.001, more than 5 mice, r \u2265 0.7, n = 3 [4,5]"

    assert [q.comparator for q in quantities(text, [(text.index("["), len(text))])] == ["<", ">", "\u2265", "="]


@given(st.decimals(min_value=1, max_value=999_999, places=2), st.sampled_from(["%", " mg", "-fold", " weeks", ""]))
def test_a_number_that_is_written_is_read_again(value: Decimal, unit: str) -> None:
    text = f"The score was {value:,}{unit} in both groups."

    (quantity,) = quantities(text)

    assert quantity.value == value
    assert text[quantity.start : quantity.number_end] == f"{value:,}"


PIECES = ["1", "1,", "1 - ", "9.9.", "10 \u00d7 10 \u00d7 ", "1 to ", "- -1", "(1", "0.0e", "1\u00b710"]


@pytest.mark.parametrize("piece", quick_of(PIECES, "1,", "1 - ", "(1"))
def test_long_texts_take_time_by_their_length(piece: str) -> None:
    once = spent(lambda: quantities(piece * 2_000))

    assert spent(lambda: quantities(piece * 16_000)) < 40 * max(once, 0.01)
