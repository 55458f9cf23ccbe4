"""English sentences: clauses, what is stated of two names, denied, or left open; and whole sentences of all kinds."""

import json
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.pair_sentences import judge
from kgcheck.literature.documents import Span
from kgcheck.model import Stance
from kgcheck.resources import resource_dir
from kgcheck.text.assertions import Assertion, clauses_of, is_known, read_pair
from kgcheck.text.words import tokenize, word_pattern, words_of_list
from tests.support import ROOT, examples

RELATES = word_pattern(["bind", "bound", "interact", "associat", "caus", "mutat", "complex", "phosphorylat"])


def sentences(name: str) -> list[dict[str, str]]:
    lines = (ROOT / "tests" / "support" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def read_of(rows: list[dict[str, str]]) -> list[tuple[str, str, Stance]]:
    keys = ("sentence", "e1", "e1_type", "e2", "e2_type", "relation")
    return [(row["label"], row["kind"], judge(*(row[k] for k in keys))) for row in rows]


def asserted(text: str, *, unlike: bool = False, one: str = "STK5", two: str = "ABL9") -> Assertion:
    places: list[Span] = [(text.index(name), text.index(name) + len(name)) for name in (one, two)]
    return read_pair(text, places[0], places[1], RELATES, unlike=unlike).assertion


def test_tokens_stand_where_they_are_in_the_text() -> None:
    text = "STK5 wasn't bound (Fig. 2). ABL9-null cells didn't grow."

    assert [text[t.start : t.end].lower() for t in tokenize(text)] == [t.word.lower() for t in tokenize(text)]
    assert [t.word for t in tokenize(text)][:4] == ["STK5", "was", "n't", "bound"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("X1 binds X2.", 1),
        ("X1 binds X2, X3 and X4.", 1),
        ("X1 binds X2 but not X3.", 2),
        ("X1, which is long, binds X2.", 2),
        ("X1 binds X2 and does not bind X3.", 2),
        ("Although X1 is small, X1 bound to X2.", 2),
    ],
)
def test_clauses(text: str, count: int) -> None:
    words = [token.word for token in tokenize(text) if token.word != "."]

    assert len([c for c in clauses_of(words) if c.places]) == count


@pytest.mark.parametrize(
    "text",
    [
        "ABL9 is bound by STK5.",
        "The STK5-ABL9 complex was solved.",
        "The loss was not independent of the binding of STK5 to ABL9.",
        "STK5 binds not only GRB7 but also ABL9.",
        "STK5 failed to bind GRB7 but bound ABL9.",
        "STK5, which is not a kinase, binds ABL9.",
        "STK5 binds ABL9, whereas GRB7 does not bind it.",
        "Although GRB7 did not change, STK5 bound to ABL9.",
        "Whether GRB7 matters is unclear, but STK5 binds ABL9.",
        "Artifacts were removed; STK5 binds ABL9.",
        "MYTH showed that STK5 binds ABL9.",
    ],
)
def test_what_is_stated(text: str) -> None:
    assert asserted(text) is Assertion.STATED


@pytest.mark.parametrize(
    "text",
    [
        "STK5 binds GRB7 but not ABL9.",
        "STK5 binds GRB7 and does not bind ABL9.",
        "GRB7 binds ABL9, while STK5 does not.",
        "STK5 is large; it does not bind ABL9.",
        "Neither GRB7 nor STK5 binds ABL9.",
        "Binding of STK5 to ABL9 was never seen.",
        "Phosphorylation of ABL9 occurred independently of STK5, as others saw.",
    ],
)
def test_what_is_denied(text: str) -> None:
    assert asserted(text) is Assertion.DENIED


@pytest.mark.parametrize(
    "text",
    [
        "If STK5 bound ABL9, cells would die.",
        "Were STK5 to bind ABL9, cells would die.",
        "Does STK5 bind ABL9?",
        "We asked whether STK5 binds ABL9.",
        "STK5 may bind ABL9.",
        "That STK5 binds ABL9 remains controversial.",
        "STK5 was reported to bind ABL9, but the results could not be replicated.",
        "The paper in which STK5 bound ABL9 was retracted.",
        "Contrary to the claim that STK5 binds ABL9, nothing was seen.",
        "RETRACTED: STK5 binds ABL9.",
        "RETRACTED ARTICLE: STK5 binds ABL9.",
        "We withdraw our conclusion that STK5 binds ABL9.",
        "Evidence that STK5 binds ABL9 is at best indirect.",
        "Unlike STK5, GRB7 binds ABL9.",
    ],
)
def test_what_is_left_open(text: str) -> None:
    assert asserted(text) is Assertion.OPEN


@pytest.mark.parametrize(
    "text",
    [
        "STK5 binds GRB7, and ABL9 binds actin.",
        "STK5 and GRB7 bind ABL9 and actin, respectively.",
        "STK5 mutations cause gout in mice without ABL9.",
        "Mutant STK5 does not bind ABL9.",
        "STK5 did not alter the binding of GRB7 to ABL9.",
        "In cells with STK5, GRB7 lowered the binding of ABL9.",
        "To study the binding of STK5 to ABL9, we made cells.",
        "ABL9 is phosphorylated in several cells in an STK5-independent manner.",
    ],
)
def test_what_is_said_of_something_else(text: str) -> None:
    assert asserted(text) is Assertion.APART


def test_an_association_that_is_no_common_cause_is_not_denied() -> None:
    assert asserted("STK5 mutations are not associated with ABL9.", unlike=True) is Assertion.DENIED
    assert asserted("STK5 mutations are not a common cause of ABL9.", unlike=True) is Assertion.APART


@pytest.mark.parametrize(
    "text",
    [
        "Rumour has it that STK5 binds ABL9.",
        "STK5 is touted as a partner that binds ABL9.",
        "STK5 refuses to bind ABL9.",
        "An interaction of STK5 with ABL9 is conjectural.",
        "The model presupposes that STK5 binds ABL9.",
        "STK5 bound ABL9 at first, but the second gel told a different story.",
        "STK5 was linked to the binding of ABL9; the signal evaporated in larger samples.",
        "STK5 bound ABL9 in yeast, a finding that did not carry over to neurons.",
        "Although STK5 was reported to bind ABL9, we saw no binding.",
        "Evidence that STK5 binds ABL9 is lacking.",
        "An assay for the interaction of STK5 with ABL9 was developed.",
        "STK5 binds ABL9 no better than albumin does.",
        "STK5 mutations are as common in ABL9 as in controls.",
        "STK5 variants were genotyped in patients with ABL9 mutations.",
        "We designed mutants to probe the interaction of STK5 with ABL9.",
    ],
)
def test_what_no_licence_covers_is_not_stated(text: str) -> None:
    assert asserted(text) is not Assertion.STATED


@pytest.mark.parametrize(
    "text",
    [
        "STK5 was shown to bind ABL9.",
        "No one doubts that STK5 binds ABL9.",
        "STK5 binds ABL9 by an unknown mechanism.",
        "STK5 binds ABL9, but how it does so is unclear.",
        "STK5 binds ABL9 and may also bind GRB7.",
        "STK5 bound ABL9 in all samples tested.",
        "We searched for partners, and we found that STK5 binds ABL9.",
        "STK5 but not GRB7 bound ABL9.",
        "STK5 silences the ABL9 gene and binds it.",
        "Cardiomyopathy of Fabry patients results from binding of STK5 to ABL9.",
    ],
)
def test_what_a_licence_covers_is_stated(text: str) -> None:
    assert asserted(text) is Assertion.STATED


@settings(max_examples=examples(300))
@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=9), st.integers(1, 5))
def test_an_unknown_word_silences_a_statement(word: str, at: int) -> None:
    words = "We show that STK5 directly binds ABL9".split()
    text = " ".join([*words[:at], word, *words[at:]])

    assert is_known(word) or asserted(text) is not Assertion.STATED


def test_no_word_that_is_barred_is_licensed() -> None:
    barred = words_of_list("licences", "barred") | words_of_list("licences", "never")

    assert len(barred) > 400
    assert [word for word in barred if is_known(word)] == []


def test_sentences_of_all_kinds() -> None:
    # Our own, by which the lists were made: in-sample. Others are measured by benchmarks.pair_sentences.
    read = read_of(sentences("pair_sentences.jsonl"))
    support = [stance for label, _, stance in read if label == "support"]
    denials = [stance for label, _, stance in read if label == "contradict"]

    assert len(read) >= 417
    assert [kind for label, kind, s in read if label != "support" and s is Stance.SUPPORTS] in ([], ["comention"])
    assert Stance.CONTRADICTS not in support
    assert support.count(Stance.SUPPORTS) >= 0.9 * len(support)
    assert denials.count(Stance.CONTRADICTS) >= 0.9 * len(denials)


def test_sentences_with_words_that_no_list_has() -> None:
    # Written before the licences, or to find their holes; four of 333 are still taken for support.
    read = read_of(sentences("unlicensed_sentences.jsonl"))
    others = [stance for label, kind, stance in read if label != "support" and kind != "comention"]
    support = [stance for label, _, stance in read if label == "support"]

    assert len(others) == 333
    assert others.count(Stance.SUPPORTS) <= 4
    assert support.count(Stance.SUPPORTS) >= 0.85 * len(support)


LISTS = tomllib.loads((resource_dir("corpus") / "verifier" / "scopes.toml").read_text(encoding="utf-8"))
WORDS = sorted(
    {word.rstrip(".") for words in LISTS.values() for word in words} | set(",;:.?()-/") | {"and", "if", "GRB7"}
)


@settings(max_examples=examples(1_500))
@given(*(st.lists(st.sampled_from(WORDS), max_size=6) for _ in range(3)), st.booleans(), st.booleans())
def test_any_words_are_read(
    before: list[str], between: list[str], after: list[str], turned: bool, unlike: bool
) -> None:
    names = ("ABL9", "STK5") if turned else ("STK5", "ABL9")
    text = " ".join([*before, names[0], *between, names[1], *after])

    assert asserted(text, unlike=unlike) in Assertion


@pytest.mark.parametrize("joint", ["", "-", "of", "to", "not", "that", ",", ":"])
def test_every_word_is_read_at_every_end(joint: str) -> None:
    for word in WORDS:
        put_in = f"{joint} {word} {joint}"
        for text in (f"{put_in} STK5 ABL9", f"STK5 {put_in} ABL9", f"STK5 binds ABL9 {put_in}", f"STK5 ABL9 {put_in}"):
            assert asserted(text) in Assertion


@pytest.mark.parametrize("put_in", [", which ", "small ", "binds and ", "- ", "not only "])
def test_a_sentence_without_an_end_says_nothing(put_in: str) -> None:
    assert asserted(f"STK5 {put_in * 20_000}binds ABL9.") is Assertion.APART
