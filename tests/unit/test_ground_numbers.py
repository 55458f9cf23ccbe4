"""Numbers of a manuscript against its results: by what the words about them name."""

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.choices import SectionKind
from kgcheck.errors import InputFormat
from kgcheck.grounding.manuscript import Block, Manuscript, Table
from kgcheck.grounding.numbers import check_numbers
from kgcheck.grounding.remarks import Remark, SentenceState
from kgcheck.grounding.results import Results, read_results
from tests.support.manuscripts import manuscript as made
from tests.support.spent import spent

RESULTS = """{
  "recovery": {"treated": {"value": 71.25, "unit": "%"}, "control": {"value": 48.5, "unit": "%"}},
  "cohort": {"mice": 240, "weeks_of_treatment": 12},
  "recovery_difference_p": 0.0004,
  "response_ratio": 0.35
}"""


def manuscript(abstract: str, results: str = "") -> Manuscript:
    texts: list[tuple[SectionKind, str]] = [("abstract", abstract), ("results", results)]
    return made(Block(section=kind, text=text) for kind, text in texts if text)


def results_in(folder: Path, text: str = RESULTS) -> Results:
    path = folder / "results.json"
    path.write_text(text, encoding="utf-8")
    return read_results(path)


def remarks(tmp_path: Path, abstract: str) -> list[tuple[Remark, str, str]]:
    return [(r.remark, r.stated, r.found) for r in check_numbers(manuscript(abstract), results_in(tmp_path))]


V, D, U = Remark.NUMBER_VERIFIED, Remark.NUMBER_DIFFERS, Remark.NUMBER_UNKNOWN


@pytest.mark.parametrize(
    ("abstract", "expected"),
    [
        ("Recovery was seen in 71.3% of treated mice.", (V, "71.3%", "71.25 %")),
        ("Recovery was seen in 71% of treated mice.", (V, "71%", "71.25 %")),
        ("We followed 240 mice of one cohort.", (V, "240", "240")),
        ("The difference in recovery was clear (p < 0.001).", (V, "< 0.001", "0.0004")),
        ("The response fell by 35%.", (V, "35%", "0.35")),
        ("Recovery was seen in 73.1% of treated mice.", (D, "73.1%", "71.25 %")),
        # It is the number of the other group.
        ("Recovery was seen in 48.5% of treated mice.", (D, "48.5%", "71.25 %")),
        ("We followed 420 mice of one cohort.", (D, "420", "240")),
        # Thousands of times as much, and one digit.
        ("The recovery difference was clear (p = 7.0004).", (D, "7.0004", "0.0004")),
        ("The oven stood at 63 degrees.", (U, "63", "")),
    ],
)
def test_a_number_is_held_against_the_result_that_its_words_name(
    tmp_path: Path, abstract: str, expected: tuple[Remark, str, str]
) -> None:
    assert remarks(tmp_path, abstract) == [expected]


def test_a_repair_has_the_decimals_of_the_text(tmp_path: Path) -> None:
    text = "Recovery was seen in 73.1% of treated mice."

    (remarked,) = check_numbers(manuscript(text), results_in(tmp_path))

    assert remarked.repair
    repaired = text[: remarked.repair.start] + remarked.repair.to + text[remarked.repair.end :]
    # Half a step is rounded to the even digit, as in the rounding of Python and of statistics.
    assert repaired == "Recovery was seen in 71.2% of treated mice."


def test_without_results_the_own_ones_are_no_proof() -> None:
    body = "Recovery was seen in 71.3% of the treated mice, and in 48.5% of the others."

    same = check_numbers(manuscript("Recovery was seen in 71.3% of treated mice.", body))
    other = check_numbers(manuscript("Recovery was seen in 17.3% of treated mice.", body))

    assert [(r.remark, r.state) for r in same] == [(Remark.NUMBER_VERIFIED, SentenceState.SUPPORTED)]
    assert [(r.remark, r.state) for r in other] == [(Remark.NUMBER_DIFFERS, SentenceState.UNSUPPORTED)]
    assert other[0].evidence[0].quote == body


BODY = "Of 129 women, telomeres were shorter in 48.5%, and copies fewer (r = 0.39, p = 0.0007)."


@pytest.mark.parametrize(
    ("abstract", "differing"),
    [
        ("Copies fell in 129 women (48.5%; r = 0.39, p = 0.0007).", []),
        # The others stand beside another number in the text.
        ("Copies fell in 129 women (48.5%; r = 0.79, p = 0.0007).", [("0.79", "0.39")]),
        ("Copies fell in 192 women (48.5%; r = 0.39, p = 0.0007).", [("192", "129")]),
        # One is enough for what can be no probability.
        ("Copies fell (r = 0.39, p = 3.0007).", [("3.0007", "0.0007")]),
        ("Nothing of the 17 tests was of use.", []),
    ],
)
def test_the_numbers_beside_it_show_a_slip(abstract: str, differing: list[tuple[str, str]]) -> None:
    found = [r for r in check_numbers(manuscript(abstract, BODY)) if r.remark is Remark.NUMBER_DIFFERS]

    assert [(r.stated, r.found) for r in found] == differing
    assert all(r.state is SentenceState.UNSUPPORTED for r in found)


def test_a_number_that_the_text_has_nowhere_else_is_unsupported() -> None:
    found = check_numbers(manuscript("Of 640 women, one in 16 (6.3%) fell ill; 129 did not.", BODY))

    # A share of two counts of its sentence is none of its own.
    assert [(r.remark, r.stated, r.state) for r in found if r.stated != "129"] == [
        (Remark.NUMBER_UNKNOWN, "640", SentenceState.UNSUPPORTED),
        (Remark.NUMBER_UNKNOWN, "16", SentenceState.UNSUPPORTED),
    ]


def test_what_a_table_may_have_that_could_not_be_read_is_not_checkable() -> None:
    plain = manuscript("Of 640 women 17 fell ill.", f"{BODY} Table 1 has the others.")
    image, cells = Table(label="Table 1"), Table(label="Table 1", rows=(("ill", "17"),))

    seen = check_numbers(plain.model_copy(update={"tables": (image,)}))
    read = check_numbers(plain.model_copy(update={"tables": (cells,)}))

    assert {(r.stated, r.state) for r in seen} == {
        ("640", SentenceState.NOT_CHECKABLE),
        ("17", SentenceState.NOT_CHECKABLE),
    }
    assert ("640", SentenceState.UNSUPPORTED) in {(r.stated, r.state) for r in read}


def test_one_companion_shows_no_slip_of_what_a_table_may_have() -> None:
    body = "For weight as a number the ratio of bread was 1.02 (0.87 to 1.19) and 1.17. Table 1 has the others."
    plain = manuscript("The ratio was 1.17 for loaves with yeast, and 1.08 for bread of those that fell.", body)
    read = plain.model_copy(update={"tables": (Table(label="Table 1", rows=(("ill", "17"),)),)})

    assert {r.state for r in check_numbers(read) if r.stated == "1.08"} == {SentenceState.UNSUPPORTED}
    assert {r.state for r in check_numbers(plain) if r.stated == "1.08"} == {SentenceState.NOT_CHECKABLE}


def test_a_file_of_some_results_tells_nothing_of_others(tmp_path: Path) -> None:
    text = manuscript("The oven stood at 63 degrees, and once at 65.", "The oven stood at 63 degrees.")

    assert [(r.stated, r.remark, r.state) for r in check_numbers(text, results_in(tmp_path))] == [
        ("63", Remark.NUMBER_UNKNOWN, SentenceState.NOT_CHECKABLE),
        ("65", Remark.NUMBER_UNKNOWN, SentenceState.UNSUPPORTED),
    ]


def test_what_another_number_turns_out_to_be_leaves_a_number_its_own_result(tmp_path: Path) -> None:
    results = results_in(tmp_path, '{"loaf_warm": 1.5, "loaf_warm_highest": 1.56}')
    text = manuscript("The warm loaf rose 1.50. A warm loaf had 1.56.")

    # By its words 1.56 would be the first one, which is said to be 1.5 already.
    assert [(r.stated, r.found, r.remark) for r in check_numbers(text, results)] == [
        ("1.50", "1.5", Remark.NUMBER_VERIFIED),
        ("1.56", "1.56", Remark.NUMBER_VERIFIED),
    ]


def test_decimal_points_above_the_line_are_those_on_it() -> None:
    raised = "Loaves rose by \u22121\u00b755 (\u22122\u00b741 to \u22120\u00b770), 12 of 48 (25\u00b70%) much."
    found = check_numbers(manuscript("Loaves rose by \u22121.55 (\u22122.41 to \u22120.70).", raised))

    assert {r.remark for r in found} <= {Remark.NUMBER_VERIFIED}
    assert check_numbers(manuscript("Loaves rose by \u22121.55.", "They rose by \u22121\u00b765."))[0].stated.endswith(
        "1.55"
    )


@pytest.mark.parametrize("stated", ["0.0601", "0.801", "7.0004"])
def test_a_bound_that_is_no_level_is_not_right_of_all_below_it(tmp_path: Path, stated: str) -> None:
    assert Remark.NUMBER_VERIFIED not in {r for r, _, _ in remarks(tmp_path, f"The recovery differs (p < {stated}).")}


@pytest.mark.parametrize(
    ("text", "differing"),
    [
        ("We saw it in 12 of 48 mice (25%), 7/9 (78%) and 31.0% (9 of 29).", []),
        ("We saw it in 10 out of 55 patients (67%).", [("67%", "18.2%")]),
        ("We saw it in two out of 15 patients (83%), and in Three of the 12 (25%).", [("83%", "13.3%")]),
        ("We saw it in one of 15 mice, 40% of rats, and in two of 12 regions (80% of cells).", []),
        ("We saw it in 12/48 = 52% and in 41% [9 of 29].", [("52%", "25.0%"), ("41%", "31.0%")]),
        # Of an interval, a ratio and a bound nothing is told.
        ("It rose by 3 of 4 (95% CI 1 to 5), in 9 of 3 (30%), and in <5% (1/90).", []),
    ],
)
def test_percentages_are_held_against_their_counts(text: str, differing: list[tuple[str, str]]) -> None:
    found = check_numbers(made([Block(section="discussion", text=text)]))

    assert [(r.stated, r.found) for r in found] == differing
    assert all(r.state is SentenceState.CONTRADICTED and text[r.start : r.end] in r.stated for r in found)


def test_a_number_that_the_text_has_elsewhere_is_no_slip() -> None:
    blocks = manuscript("In 30 women, recovery was seen in 71.3%.", "Recovery was seen in 15 women.").blocks
    known = made((*blocks, Block(section="methods", text="We asked 30 women.")))

    assert Remark.NUMBER_DIFFERS not in {r.remark for r in check_numbers(known)}


@given(st.decimals(min_value=1, max_value=1_400, places=3), st.integers(0, 2))
def test_what_rounding_gives_never_differs(value: Decimal, places: int) -> None:
    text = f"Recovery was seen in {value:.{places}f} of treated mice."
    results = f'{{"recovery": {{"treated": {value}}}}}'

    with TemporaryDirectory() as folder:
        found = check_numbers(manuscript(text), results_in(Path(folder), results))

    assert [r.remark for r in found] == [Remark.NUMBER_VERIFIED]


@pytest.mark.parametrize(
    "text",
    ["{}", '{"a": "b"}', "[", "[" * 5_000, '{"a": true}', '{"a": NaN}', '{"a": 1e999999}', '{"a": 1e%s}' % ("9" * 30)],
)
def test_a_file_without_results_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputFormat, match=r"results\.json"):
        results_in(tmp_path, text)


def _list(count: int, a_sentence: int, number: Callable[[int], str]) -> str:
    """Sentences about numbers that are called alike."""
    rows = ([f"{number(i + n)} mice" for n in range(a_sentence)] for i in range(0, count, a_sentence))
    return " ".join(f"We saw growth of {', '.join(row)} in cells." for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fewest", "a_sentence", "stated", "there"),
    [
        (600, 30, lambda n: str(1_000 + n % 97), lambda n: str(1_001 + n % 89)),
        (600, 30, lambda n: str(2 + n * 7), lambda n: str(3 + n * 7)),
        (600, 1, lambda n: str(1_000 + n), lambda n: str(1_001 + n)),
        # Of these each is equal to hundreds.
        (300, 2, lambda n: f"{9.5 + n % 100 / 100:.2f}", lambda n: "10"),
        (600, 2, lambda n: f"< {90 + n % 9}.{n}", lambda n: f"{10 + n % 80}.5"),
        (600, 600, lambda n: str(100 + n), lambda n: str(101 + n)),
    ],
    ids=("alike", "spread", "one a sentence", "rounded", "bounds", "lists"),
)
def test_many_numbers_take_time_in_proportion(
    fewest: int, a_sentence: int, stated: Callable[[int], str], there: Callable[[int], str]
) -> None:
    took = []
    for count in (fewest, 2 * fewest, 4 * fewest):
        text = manuscript(_list(count, min(a_sentence, 30), stated), _list(count, a_sentence, there))
        assert text.sentences
        took.append(spent(partial(check_numbers, text)))

    # In proportion it is 4, by the square 16.
    assert took[2] < 8 * max(took[0], 0.05), took


@pytest.mark.parametrize(
    ("abstract", "results"),
    [
        ("The tool has 5 dimensions.", "Scores changed by -5.33 points."),
        ("We used 3 mice (P > 0.05).", "The correlation was r = 0.5 in 3 rats."),
        ("Scores of pain changed by 5.33 points.", "Scores of pain changed by \u22125.33 points."),
        ("Scores of pain were 36.5 points.", "Scores of pain were 37 points."),
        # A number with more digits is not rounded.
        ("Yields of both ovens differ (p = 3.000).", "Yields of both ovens differ (p = 0.003; 3 loaves)."),
        ("We treated 128 mice with gout.", "Doses of 128 were given against gout."),
    ],
)
def test_what_is_equal_by_chance_supports_nothing(abstract: str, results: str) -> None:
    assert Remark.NUMBER_VERIFIED not in {r.remark for r in check_numbers(manuscript(abstract, results))}


def test_the_weakest_number_of_a_sentence_decides() -> None:
    results = "Zinc lowered relapse of gout in 128 treated mice."
    (whole,) = check_numbers(manuscript("Relapse of gout fell in 128 mice with zinc.", results))
    partly = check_numbers(manuscript("Relapse of gout fell in 128 mice with zinc, by 3 points.", results))

    assert (whole.remark, whole.state) == (Remark.NUMBER_VERIFIED, SentenceState.SUPPORTED)
    assert SentenceState.SUPPORTED not in {r.state for r in partly}


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("With 40 U of insulin, BCAA fell to 93.", Remark.NUMBER_DIFFERS),
        ("BCAA fell in the 40 U experiment.", None),
        ("With insulin, 93 of the samples were used.", Remark.NUMBER_UNKNOWN),
    ],
)
def test_a_result_is_contradicted_only_where_row_and_column_are_named(
    tmp_path: Path, text: str, remark: Remark | None
) -> None:
    against = results_in(tmp_path, '{"BCAA": {"40 U insulin": 107, "10 U insulin": 161}}')
    found = [r.remark for r in check_numbers(manuscript(text), against) if r.stated.startswith("93")]

    assert found == ([remark] if remark else [])
