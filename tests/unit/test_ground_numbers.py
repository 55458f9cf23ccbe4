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


V, D, U = Remark.NUMBER_VERIFIED, Remark.NUMBER_DIFFERS, Remark.NUMBER_UNKNOWN
SUPPORTED, UNSUPPORTED, OPEN = SentenceState.SUPPORTED, SentenceState.UNSUPPORTED, SentenceState.NOT_CHECKABLE
LOAVES = '{"loaf_warm": 1.5, "loaf_warm_highest": 1.56}'
OVENS = '{"oven heat north": 5.55, "oven heat south": 7.77, "others": {"yeast": 1, "salt": 2, "flour": 3, "milk": 4}}'
INSULIN = '{"BCAA": {"40 U insulin": 107, "10 U insulin": 161}}'


@pytest.mark.parametrize(
    ("abstract", "results", "expected"),
    [
        ("Recovery was seen in 71.3% of treated mice.", RESULTS, [(V, "71.3%", "71.25 %")]),
        ("Recovery was seen in 71% of treated mice.", RESULTS, [(V, "71%", "71.25 %")]),
        ("We followed 240 mice of one cohort.", RESULTS, [(V, "240", "240")]),
        ("The difference in recovery was clear (p < 0.001).", RESULTS, [(V, "< 0.001", "0.0004")]),
        ("The response fell by 35%.", RESULTS, [(V, "35%", "0.35")]),
        ("Recovery was seen in 73.1% of treated mice.", RESULTS, [(D, "73.1%", "71.25 %")]),
        # It is the number of the other group.
        ("Recovery was seen in 48.5% of treated mice.", RESULTS, [(D, "48.5%", "71.25 %")]),
        ("We followed 420 mice of one cohort.", RESULTS, [(D, "420", "240")]),
        # Thousands of times as much, and one digit.
        ("The recovery difference was clear (p = 7.0004).", RESULTS, [(D, "7.0004", "0.0004")]),
        # A bound that is no level is not right of all below it.
        ("The recovery differs (p < 0.0601).", RESULTS, [(U, "< 0.0601", "")]),
        ("The oven stood at 63 degrees.", RESULTS, [(U, "63", "")]),
        # Its words name another result still better.
        ("The oven heat in the south was 5.55.", OVENS, [(D, "5.55", "7.77")]),
        # By its words 1.56 would be the first one, which is said to be 1.5 already.
        ("The warm loaf rose 1.50. A warm loaf had 1.56.", LOAVES, [(V, "1.50", "1.5"), (V, "1.56", "1.56")]),
    ],
)
def test_a_number_is_held_against_the_result_that_its_words_name(
    tmp_path: Path, abstract: str, results: str, expected: list[tuple[Remark, str, str]]
) -> None:
    found = check_numbers(manuscript(abstract), results_in(tmp_path, results))

    assert [(r.remark, r.stated, r.found) for r in found] == expected


@pytest.mark.parametrize(
    ("text", "remark"),
    [("With 40 U of insulin, BCAA fell to 93.", [D]), ("With insulin, 93 of the samples were used.", [U])],
)
def test_a_result_is_contradicted_only_where_row_and_column_are_named(
    tmp_path: Path, text: str, remark: list[Remark]
) -> None:
    found = check_numbers(manuscript(text), results_in(tmp_path, INSULIN))

    assert [r.remark for r in found if r.stated.startswith("93")] == remark


def test_a_repair_has_the_decimals_of_the_text(tmp_path: Path) -> None:
    text = "Recovery was seen in 73.1% of treated mice."

    (remarked,) = check_numbers(manuscript(text), results_in(tmp_path))

    assert remarked.repair
    repaired = text[: remarked.repair.start] + remarked.repair.to + text[remarked.repair.end :]
    # Half a step is rounded to the even digit, as in the rounding of Python and of statistics.
    assert repaired == "Recovery was seen in 71.2% of treated mice."


def test_a_file_of_some_results_tells_nothing_of_others(tmp_path: Path) -> None:
    text = manuscript("The oven stood at 63 degrees, and once at 65.", "The oven stood at 63 degrees.")

    found = [(r.stated, r.remark, r.state) for r in check_numbers(text, results_in(tmp_path))]
    assert found == [("63", U, OPEN), ("65", U, UNSUPPORTED)]


BODY = "Of 129 women, telomeres were shorter in 48.5%, and copies fewer (r = 0.39, p = 0.0007)."
MICE = "Recovery was seen in 71.3% of the treated mice, and in 48.5% of the others."
RAISED = "Loaves rose by \u22121\u00b755 (\u22122\u00b741 to \u22120\u00b770), 12 of 48 (25\u00b70%) much."
ZINC = "Zinc lowered relapse of gout in 128 treated mice."


@pytest.mark.parametrize(
    ("abstract", "body", "expected"),
    [
        # Without a file the own results are no proof.
        ("Recovery was seen in 71.3% of treated mice.", MICE, [(V, "71.3%", SUPPORTED)]),
        ("Recovery was seen in 17.3% of treated mice.", MICE, [(D, "17.3%", UNSUPPORTED)]),
        # The others stand beside another number in the text.
        ("Copies fell in 129 women (48.5%; r = 0.79, p = 0.0007).", BODY, [(D, "0.79", UNSUPPORTED)]),
        ("Copies fell in 192 women (48.5%; r = 0.39, p = 0.0007).", BODY, [(D, "192", UNSUPPORTED)]),
        # One is enough for what can be no probability.
        ("Copies fell (r = 0.39, p = 3.0007).", BODY, [(D, "3.0007", UNSUPPORTED)]),
        ("Nothing of the 17 tests was of use.", BODY, [(U, "17", UNSUPPORTED)]),
        # A share of two counts of its sentence is none of its own.
        ("Of 640 women, one in 16 (6.3%) fell ill.", BODY, [(U, "640", UNSUPPORTED), (U, "16", UNSUPPORTED)]),
        # Points above the line are those on it.
        ("Loaves rose by \u22121.65.", RAISED, [(D, "\u22121.65", UNSUPPORTED)]),
        # A number with more digits is not rounded.
        ("Both ovens differ (p = 3.000).", "Both ovens differ (p = 0.003; 3 loaves).", [(D, "3.000", UNSUPPORTED)]),
        # The weakest number of a sentence decides.
        ("Relapse of gout fell in 128 mice with zinc.", ZINC, [(V, "128", SUPPORTED)]),
        ("Relapse of gout fell in 128 mice, by 3.", ZINC, [(U, "3", UNSUPPORTED)]),
        # What is equal by chance supports nothing.
        ("The tool has 5 dimensions.", "Scores changed by -5.33 points.", [(U, "5", UNSUPPORTED)]),
        ("We used 3 mice (P > 0.05).", "The correlation was r = 0.5 in 3 rats.", []),
        ("Scores of pain changed by 5.33 points.", "Scores of pain changed by \u22125.33 points.", []),
        ("Scores of pain were 36.5 points.", "Scores of pain were 37 points.", []),
        ("We treated 128 mice with gout.", "Doses of 128 were given against gout.", []),
    ],
)
def test_without_a_file_a_number_is_held_against_the_rest_of_the_text(
    abstract: str, body: str, expected: list[tuple[Remark, str, SentenceState]]
) -> None:
    found = [r for r in check_numbers(manuscript(abstract, body)) if r.state is not OPEN]

    assert [(r.remark, r.stated, r.state) for r in found] == expected
    assert all(r.evidence[0].quote == body for r in found if r.remark is D)


def test_what_a_table_may_have_that_could_not_be_read_is_not_checkable() -> None:
    plain = manuscript("Of 640 women 17 fell ill.", f"{BODY} Table 1 has the others.")
    image, cells = Table(label="Table 1"), Table(label="Table 1", rows=(("ill", "17"),))

    seen = check_numbers(plain.model_copy(update={"tables": (image,)}))
    read = check_numbers(plain.model_copy(update={"tables": (cells,)}))

    assert {(r.stated, r.state) for r in seen} == {("640", OPEN), ("17", OPEN)}
    assert ("640", UNSUPPORTED) in {(r.stated, r.state) for r in read}


def test_one_companion_shows_no_slip_of_what_a_table_may_have() -> None:
    body = "For weight as a number the ratio of bread was 1.02 (0.87 to 1.19) and 1.17. Table 1 has the others."
    plain = manuscript("The ratio was 1.17 for loaves with yeast, and 1.08 for bread of those that fell.", body)
    read = plain.model_copy(update={"tables": (Table(label="Table 1", rows=(("ill", "17"),)),)})

    assert {r.state for r in check_numbers(read) if r.stated == "1.08"} == {UNSUPPORTED}
    assert {r.state for r in check_numbers(plain) if r.stated == "1.08"} == {OPEN}


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
