"""Every regular expression against texts that are made from it to be hard: work grows with the text, not its square."""

import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from kgcheck.graph.names import NameIndex
from kgcheck.profile.lexicon import load_lexicon
from kgcheck.profile.schema import load_schema
from kgcheck.questions.reading import LONGEST_QUESTION, Reader, filter_shapes
from tests.support.pumping import Attack, Expression, attacks, expressions, expressions_in, seconds

SHORT, LONG = 4_000, 16_000
"""Characters; four times the text takes sixteen times the work where each place is begun at anew."""

NOTICED = 0.0015
"""Seconds of processor time for the short text that are looked into: a linear search takes a tenth of it."""

LIMIT = 0.25

TIMES = 5
"""Measurements of which the least counts: other programs disturb one of a few milliseconds on a busy machine."""

READS_TEXT = ("literature", "grounding", "providers", "llm", "redact", "visible", "protocols.reports", "reference")
"""What reads text from outside."""

_QUESTIONS = "kgcheck.questions"
BOUNDED = {
    _QUESTIONS: LONGEST_QUESTION,
    # A place in the last characters of a line.
    "kgcheck.grounding.manuscripts.reference_lists._BROKEN": 300,
    # What stands right before a number.
    "kgcheck.grounding.consistency._QUANTITY": 60,
}
"""Expressions that are given no more than so many characters, by where they stand: these are to take LIMIT at most."""


def hard(found: Expression) -> tuple[str, Attack] | None:
    """A text that is hard for an expression, and the method by which it is; None where none is."""
    bound = next((most for where, most in BOUNDED.items() if found.where.startswith(where)), None)
    kinds = {m if m in ("match", "fullmatch") else "search" for m in found.methods}
    for method in kinds:
        for attack in attacks(found.pattern):
            text = attack.text(bound or SHORT)
            if found.where.startswith(_QUESTIONS):
                # As a question comes to them: with one space where it had more.
                text = " ".join(text.split())
            before = seconds(found.pattern, method, text, limit=LIMIT)
            if before < (LIMIT if bound else NOTICED):
                continue
            before, after = (
                min(seconds(found.pattern, method, pumped, limit=LIMIT) for _ in range(TIMES))
                for pumped in (text, text if bound else attack.text(LONG))
            )
            if before >= (LIMIT if bound else NOTICED) and (after >= LIMIT or after > 8 * before):
                return method, attack
    return None


@pytest.fixture(scope="module")
def alone() -> Iterator[ProcessPoolExecutor]:
    """A process without the threads that other tests left: the signal that ends a search may meet any of them."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


def told(alone: ProcessPoolExecutor, found: list[Expression]) -> list[str]:
    texts = alone.map(hard, found, chunksize=20)
    return [f"{one.where} {one.pattern.pattern!r}: {text}" for one, text in zip(found, texts, strict=True) if text]


@pytest.mark.parametrize("pattern", [r"-*x-*y", r"\s+$", "(a+)+b", "(a|a)*b", r"\(.*?\)!", "(?=.*x)a"])
def test_what_is_hard_is_found(pattern: str, alone: ProcessPoolExecutor) -> None:
    assert told(alone, [Expression("made up", re.compile(pattern), frozenset({"search"}))])


@pytest.mark.parametrize(
    "pattern", [r"(?<!-)-++x", r"(?<!\s)\s+$", "(?<!a)(?>a+)+b", r"\([^()]*\)!", "a{1,20}b", "[a-z]+"]
)
def test_what_is_not_hard_is_not(pattern: str, alone: ProcessPoolExecutor) -> None:
    assert not told(alone, [Expression("made up", re.compile(pattern), frozenset({"search"}))])


@pytest.mark.slow
def test_what_reads_text_from_outside_takes_time_that_grows_with_it(alone: ProcessPoolExecutor) -> None:
    assert told(alone, expressions(*READS_TEXT)) == []


@pytest.mark.nightly
@pytest.mark.slow
def test_all_expressions_take_time_that_grows_with_the_text(alone: ProcessPoolExecutor) -> None:
    assert told(alone, expressions()) == []


@pytest.mark.slow
def test_questions_are_short_enough_for_the_phrases_of_a_profile(alone: ProcessPoolExecutor) -> None:
    schema = load_schema()
    lexicon = load_lexicon(schema)
    reader = Reader(lexicon, NameIndex(schema, lambda label: (), lexicon))
    filters = [shape for prop in lexicon.properties for shape in filter_shapes(prop, lexicon.comparisons)]
    # All phrases are made alike: some of them stand for all.
    found = expressions_in((reader, filters), "kgcheck.questions.Reader")[::10]

    assert len(found) > 20
    assert told(alone, found) == []
