"""Citations in running text: every form that is one, and what only looks like it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck.grounding.manuscript import Block, Marker
from kgcheck.grounding.manuscripts.markers import with_markers
from kgcheck.literature.papers import CitedWork
from tests.support import quick_of
from tests.support.spent import spent

NUMBERED = tuple(CitedWork(key=f"r{n}", label=str(n)) for n in range(1, 13))
NAMED = (
    CitedWork(key="lee", authors=("Lee AB", "Chan C", "Roe D"), year=2020, text="Lee AB (2020)"),
    CitedWork(key="chan-a", authors=("Chan C",), year=2019, text="Chan C (2019a)"),
    CitedWork(key="chan-b", authors=("Chan C",), year=2019, text="Chan C (2019b)"),
    CitedWork(key="berg", authors=("van den Berg J", "O'Neill K"), year=1999, text="van den Berg J"),
    CitedWork(key="who", authors=("World Health Organization",), year=2015, text="WHO"),
)


def marks(text: str, references: tuple[CitedWork, ...] = NUMBERED) -> list[tuple[str, tuple[str, ...]]]:
    (block,) = with_markers([Block(text=text)], references)
    return [(text[m.start : m.end], m.keys) for m in block.markers]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A binds B [3,5; 7].", [("[3,5; 7]", ("r3", "r5", "r7"))]),
        ("A binds B [3\u20135].", [("[3\u20135]", ("r3", "r4", "r5"))]),
        ("A binds B [2]-[5].", [("[2]-[5]", ("r2", "r3", "r4", "r5"))]),
        ("A binds B [1],[2], also C[3].", [("[1]", ("r1",)), ("[2]", ("r2",))]),
        ("A binds B [see 3, 4, p. 12].", [("[see 3, 4, p. 12]", ("r3", "r4"))]),
        ("A binds B [99].", [("[99]", ("99",))]),
        ("As in ref. 7 and [8], A binds B.", [("7", ("r7",)), ("[8]", ("r8",))]),
        ("A binds B.\xb3,\u2074 C does not.", [("\xb3,\u2074", ("r3", "r4"))]),
        ("It binds kinases\xb2\u2013\u2074 at night.", [("\xb2\u2013\u2074", ("r2", "r3", "r4"))]),
    ],
)
def test_numbers(text: str, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    assert marks(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(see Lee et al. 2020; Chan, 2019a)", [("Lee et al. 2020", ("lee",)), ("Chan, 2019a", ("chan-a",))]),
        ("As Chan (2019a,b) found.", [("Chan (2019a,b)", ("chan-a", "chan-b"))]),
        ("Van den Berg and O'Neill (1999) saw it.", [("Van den Berg and O'Neill (1999)", ("berg",))]),
        ("(World Health Organization, 2015)", [("World Health Organization, 2015", ("who",))]),
        (
            "Known (Zorn et al., 1987), and Lee et al. (2020) agree.",
            [("Zorn et al., 1987", ("Zorn 1987",)), ("Lee et al. (2020)", ("lee",))],
        ),
        # The years of a life, and two works.
        ("As Chan (1874\u20131938) found, and Lee (1901-1977) denied.", []),
    ],
)
def test_authors_and_years(text: str, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    assert marks(text, NAMED) == expected


NONE = (
    "(Fig. 3)|(Figure 2A)|[Ca2+]|95% CI [1.2, 3.4]|a 95% CI of [1, 3]|in (2020)|[sic]|p53 [1 mM]|x[3]|a_i[2]|[2020]"
    "|the interval [2, 8]|[n = 3]|[n=3]|5 [2-9]|Eq. [3]|[0, 1]|[3H]thymidine|[1]benzothiophene|values of [10, 12] mm"
    "|y = [4]|[14]-year-old|(March 2020)|(Excel, 2007)|[007]|10\u2076 cells|20 m\xb2|5 s\u207b\xb9|\xb9\u2074C|R\xb2"
    "|x \u2208 [1, 4]|f()[2]|(3)|[500, 900]"
)


@pytest.mark.parametrize("words", NONE.split("|"))
def test_what_is_no_citation(words: str) -> None:
    # Beside citations of the same form, which the text is known by.
    assert marks(f"A binds B [1] and C [2]. It was {words} there.") == [("[1]", ("r1",)), ("[2]", ("r2",))]
    assert len(marks(f"Seen early\xb9, then late\xb2, then never\xb3. It was {words} there.")) == 3
    assert not [m for m in marks(f"Known (Lee et al., 2020). It was {words} there.", NAMED)[1:]]


def test_a_text_has_one_form() -> None:
    numbered = "(1) First B, then (2) C binds D. Seen (3, 5) and again (1\u20134), but not elsewhere (7), (8)."

    assert [m for m, _ in marks(numbered)] == ["(3, 5)", "(1\u20134)", "(7)", "(8)"]
    assert marks(numbered + " As known [1]. And [2].")[-2:] == [("[1]", ("r1",)), ("[2]", ("r2",))]


def test_what_is_marked_up_is_kept_and_a_bare_number_beside_it_is_found() -> None:
    text = "A binds B [1, 99], and code[2]."
    draft = Block(text=text, markers=(Marker(start=11, end=12, keys=("r1",)),), barred=((23, 30),))
    (block,) = with_markers([draft], NUMBERED)

    assert [(text[m.start : m.end], m.keys) for m in block.markers] == [("1", ("r1",)), ("99", ("99",))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A binds B.\xb9 C does not.", ["A binds B.\xb9", "C does not."]),
        ("A binds B.[1] C does not.", ["A binds B.[1]", "C does not."]),
        ("A binds B. [1] C does not.", ["A binds B. [1]", "C does not."]),
        ("As Lee et al. [1] Found it was so.", ["As Lee et al. [1]", "Found it was so."]),
    ],
)
def test_a_citation_after_the_full_stop_belongs_before_it(text: str, expected: list[str]) -> None:
    (block,) = with_markers([Block(text=text)], NUMBERED)

    assert [text[a:b] for a, b in block.spans][: len(expected)] in (expected, [text])
    assert all(any(a <= m.start and m.end <= b for a, b in block.spans) for m in block.markers)


PIECES = st.sampled_from("[1]|[2, 3]|[|]|(|)|Lee| et al.|, |2020|; |. |\xb9|\xb2,\xb3| and |A binds B|-| ".split("|"))


@given(st.lists(PIECES, max_size=40).map("".join))
@settings(max_examples=150, deadline=None)
def test_any_text_keeps_its_words_and_cuts_no_citation(text: str) -> None:
    if not text.strip():
        return
    for references in (NUMBERED, NAMED):
        (block,) = with_markers([Block(text=text)], references)
        assert [m.start for m in block.markers] == sorted(m.start for m in block.markers)
        assert all(a.end <= b.start for a, b in zip(block.markers, block.markers[1:], strict=False))
        assert all(any(a <= m.start and m.end <= b for a, b in block.spans) for m in block.markers)
        assert re.sub(r"\s", "", "".join(text[a:b] for a, b in block.spans)) == re.sub(r"\s", "", text)


PUMPED = "[1]-|[1,|(Lee, 2020; |(|Lee and |van der |\xb2,|Lee (2020) |A. B. |10.5555/|ref. 1, ".split("|")


@pytest.mark.parametrize("piece", quick_of(PUMPED, "[1]-", "(Lee, 2020; "))
def test_long_texts_take_no_longer_than_they_are(piece: str) -> None:
    text = piece * (100_000 // len(piece))

    assert spent(lambda: [with_markers([Block(text=text)], r)[0].spans for r in (NUMBERED, NAMED)]) < 5
