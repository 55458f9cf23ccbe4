"""Judge answers to questions: atomic facts and a score of 1 to 5 by the rubric, choices, agreement of judges.

A fact of the right answer is there in full, in part, missing, or contradicted. By rules, the claim verifier's own parts
decide: its named things and numbers, its denials and its words for more and less. A model only says the state of each
fact and where the answer has it; the score is counted from the states, as ``corpus/bench/judge.toml`` has it.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pydantic import BaseModel, Field

from kgcheck.literature.arguments import Argument, arguments, content_of, is_named, missing
from kgcheck.literature.documents import sentences
from kgcheck.literature.features import words_of
from kgcheck.literature.lexical import stems
from kgcheck.literature.polarity import Numbers, significance
from kgcheck.llm.forms import messages_of
from kgcheck.model import Value
from kgcheck.profile.toml_files import read_value
from kgcheck.resources import resource_dir
from kgcheck.text.assertions import clauses_of, is_finite
from kgcheck.text.words import pattern_of_list, tokenize, word_pattern, words_of_list

if TYPE_CHECKING:
    from kgcheck.llm.budget import Meter
    from kgcheck.llm.client import ChatClient

MOST_FACTS = 60
"""Facts of one answer that are looked at."""

_FULL, _PARTLY, _SAME = 0.6, 0.34, 0.6
"""Shares of the words of a fact: at which it is there, there in part, and spoken of at all."""

_LEAST_NEW = 2
"""Words that a fact says beside the question, from which on these alone are looked for."""


class FactState(StrEnum):
    """State of a fact of the right answer in another answer."""

    FULL = "full"
    PARTIAL = "partial"
    MISSING = "missing"
    CONTRADICTED = "contradicted"


class JudgedFact(Value):
    """A fact of the right answer, and its state in another one."""

    fact: str
    state: FactState
    quote: str = Field(default="", description="words of the answer on which the state rests")


class JudgedAnswer(Value):
    """Judgement of an answer to an open question."""

    score: int = Field(ge=1, le=5)
    facts: tuple[JudgedFact, ...]
    from_memory: int = Field(default=0, description="facts that the answer has from memory, by its own words")


class _FactReading(NamedTuple):
    """One statement of a text: its things, content words, direction and denial."""

    text: str
    things: tuple[Argument, ...]
    stems: frozenset[str]
    ways: tuple[int, ...]
    denied: bool
    without: bool


def atomic_facts(text: str) -> list[str]:
    """Cut a text into statements: its clauses, each with a verb, and what is joined in opposite directions.

    >>> atomic_facts("A1 was increased, while B2 was reduced. C3 is high.")
    ['A1 was increased', 'B2 was reduced', 'C3 is high']
    """
    found: list[str] = []
    for start, end in sentences(text):
        sentence = text[start:end]
        tokens = list(tokenize(sentence))
        words, pieces = [token.word for token in tokens], list[tuple[int, int]]()
        for clause in clauses_of(words):
            own = [words[i] for i in clause.places]
            if not own:
                continue
            begin, finish = tokens[clause.places[0]].start, tokens[clause.places[-1]].end
            # What only says more of the clause before goes on with it, and what follows words that state nothing.
            goes_on = clause.opener not in _PARTING or not _has_verb(own)
            if pieces and (goes_on or not _states(sentence[slice(*pieces[-1])])):
                begin = pieces.pop()[0]
            pieces.append((begin, max(finish, begin)))
        found += [sentence[begin:finish] for begin, finish in pieces]
    return [part for piece in found for part in _parted(piece)][:MOST_FACTS]


_PARTING = frozenset(("while", "whereas", "but", "and", ",", ";", ":", ".", "however", "although", "though", "or"))
_JOINED = re.compile(r",? and (?=[a-z]+(?:ed|ing)? )")
_FOLLOWS = re.compile(r", (?=(?:indicat|suggest|lead|result|reveal|reflect|highlight|support)ing\b)")


def _states(text: str) -> bool:
    return bool(_ways(text)) or _has_verb([token.word for token in tokenize(text)])


def _has_verb(words: Sequence[str]) -> bool:
    return any(is_finite(words, i) for i in range(len(words)))


def _parted(piece: str) -> list[str]:
    """Part what follows from a statement, and what "and" joins in opposite directions: "rises in A and reduced B"."""
    if follows := _FOLLOWS.search(piece):
        return [*_parted(piece[: follows.start()]), *_parted(piece[follows.end() :])]
    for joint in _JOINED.finditer(piece):
        left, right = piece[: joint.start()], piece[joint.end() :]
        if _ways(left) and _ways(right) and not set(_ways(left)) & set(_ways(right)):
            return [left, *_parted(right)]
    return [piece]


def judge_by_rules(right: str, answer: str, question: str = "", names: Sequence[str] = ()) -> JudgedAnswer:
    """Judge an answer; ``names`` are facts known one by one, each the name of a thing that the answer must give.

    An answer need not say again what the question says, nor spell out what either text explains.
    """
    units = [_read(unit) for unit in atomic_facts(answer)]
    if names:
        facts = [_named(name, units) for name in names]
    else:
        facts = [_judged(_read(fact), units, question, f"{right} {answer}") for fact in atomic_facts(right)]
    recalled = sum(bool(f.quote and _rules().patterns["memory"].search(f.quote)) for f in facts)
    return JudgedAnswer(score=score_of(facts, recalled), facts=tuple(facts), from_memory=recalled)


class StatedFact(BaseModel):
    """State of one fact, as a model says it."""

    number: int
    state: FactState
    quote: str = ""


class StatedFacts(BaseModel):
    """The form of a model's answer."""

    facts: list[StatedFact]


def judge_by_model(
    task: str, question: str, right: str, answer: str, client: "ChatClient", meter: "Meter | None" = None
) -> JudgedAnswer:
    """Judge an answer by a model, which says the states of the facts of the right answer and nothing else.

    A fact that it does not speak of, or says is there and does not quote from the answer, is missing.
    """
    wanted = atomic_facts(right) or [right]
    content = {"question": question, "right_answer": right, "facts": dict(enumerate(wanted, 1)), "answer": answer}
    stated, _ = client.answer(messages_of(task, content), StatedFacts, meter=meter, temperature=0)
    quoted = {one.number: one for one in stated.facts if one.quote.strip() and one.quote in answer}
    facts = [
        JudgedFact(fact=fact, state=one.state, quote=one.quote) if (one := quoted.get(number)) else _missing(fact)
        for number, fact in enumerate(wanted, 1)
    ]
    return JudgedAnswer(score=score_of(facts), facts=tuple(facts))


def _missing(fact: str) -> JudgedFact:
    return JudgedFact(fact=fact, state=FactState.MISSING)


def score_choice(right: Collection[str], chosen: Collection[str]) -> dict[str, float]:
    """Score the letters that were chosen: all right and no other, and the shares.

    >>> score_choice(("A", "B"), ("A", "C"))
    {'accuracy': 0.0, 'precision': 0.5, 'recall': 0.5}
    """
    hits, found = len({*right} & {*chosen}), len({*chosen})
    whole = float({*right} == {*chosen})
    return {"accuracy": whole, "precision": hits / found if found else 0.0, "recall": hits / len({*right})}


def agreement(one: Sequence[float], two: Sequence[float]) -> dict[str, float | None]:
    """Compare two judges: Spearman, Cohen's kappa weighted by squares, the share within one point.

    None where it cannot be told: a judge that gives every answer the same score ranks nothing.

    >>> agreement([1, 2, 3, 4], [1, 2, 4, 5])
    {'answers': 4, 'spearman': 1.0, 'kappa': 0.875, 'within_one': 1.0}
    """
    first, second = np.array(one, dtype=float), np.array(two, dtype=float)
    found: dict[str, float | None] = {"answers": len(first), "spearman": None, "kappa": None, "within_one": None}
    if not len(first):
        return found
    if all(np.ptp(values) > 0 for values in (first, second)):
        ranked: Numbers = np.corrcoef([_ranks(first), _ranks(second)])
        found["spearman"] = round(float(ranked[0, 1]), 4)
    if expected := float(np.mean((first[:, None] - second[None, :]) ** 2)):
        found["kappa"] = round(1 - float(np.mean((first - second) ** 2)) / expected, 4)
    return found | {"within_one": round(float(np.mean(np.abs(first - second) <= 1)), 4)}


def _ranks(values: Numbers) -> Numbers:
    """Ranks from 1, of equal values their mean."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    means: Numbers = np.cumsum(counts) - (counts - 1) / 2
    ranks: Numbers = means[inverse]
    return ranks


def score_of(facts: Sequence[JudgedFact], from_memory: int = 0) -> int:
    """Score an answer by the states of its facts.

    >>> states = [FactState.FULL, FactState.FULL, FactState.PARTIAL]
    >>> score_of([JudgedFact(fact="a", state=state) for state in states])
    4
    """
    counts, rules = Counter(fact.state for fact in facts), _rules()
    there = counts[FactState.FULL] + counts[FactState.PARTIAL] / 2
    share = there / len(facts) if facts else 0.0
    score = (
        5 if share == 1 else next((n for n, least in sorted(rules.scores.items(), reverse=True) if share >= least), 1)
    )
    if wrong := counts[FactState.CONTRADICTED]:
        score = 1 if wrong >= there else min(score, rules.most["contradicted"])
    if 2 * from_memory > len(facts):
        score = min(score, rules.most["from_memory"])
    return score


def _judged(fact: _FactReading, units: Sequence[_FactReading], question: str, explained: str) -> JudgedFact:
    known = words_of(question).content
    new = fact.stems - known
    wanted, known = (new, frozenset()) if len(new) >= _LEAST_NEW else (fact.stems, known)
    covered = [(_coverage(fact, wanted, unit, known), unit) for unit in units]
    for share, unit in sorted(covered, key=lambda pair: -pair[0]):
        if share >= _SAME and _contradicts(fact, unit) and not any(s >= share and _agrees(fact, u) for s, u in covered):
            return JudgedFact(fact=fact.text, state=FactState.CONTRADICTED, quote=unit.text)
    agreeing = [(share, unit) for share, unit in covered if share >= _PARTLY and _agrees(fact, unit)]
    if agreeing:
        _, best = max(agreeing, key=lambda pair: pair[0])
        there = [unit.text for _, unit in agreeing]
        whole = best._replace(text=" ; ".join(there), stems=frozenset[str]().union(*(u.stems for _, u in agreeing)))
        if _coverage(fact, wanted, whole, known) >= _FULL and not missing(fact.text, [*there, question], explained):
            return JudgedFact(fact=fact.text, state=FactState.FULL, quote=best.text)
    share, best = max(covered, key=lambda pair: pair[0], default=(0.0, fact))
    if share < _PARTLY or _contradicts(fact, best):
        return _missing(fact.text)
    return JudgedFact(fact=fact.text, state=FactState.PARTIAL, quote=best.text)


def _named(name: str, units: Sequence[_FactReading]) -> JudgedFact:
    """Judge whether an answer gives a thing: named, or named only where something is denied."""
    form = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE)
    naming = [unit for unit in units if form.search(unit.text)]
    if not naming:
        return _missing(name)
    plain = next((unit for unit in naming if not unit.denied), None)
    state = FactState.FULL if plain else FactState.CONTRADICTED
    return JudgedFact(fact=name, state=state, quote=(plain or naming[0]).text)


def _coverage(fact: _FactReading, wanted: frozenset[str], unit: _FactReading, known: frozenset[str]) -> float:
    """Share of a fact that a statement speaks of: of the words that are wanted, and its named things, each as two.

    What is known is not said again by who speaks of the fact at all.
    """
    content = content_of(unit.text)
    named = [thing for thing in fact.things if thing.kind in ("name", "label")]
    names = sum(is_named(thing, content) for thing in named)
    speaks = names if named else wanted & unit.stems
    return (len(wanted & (unit.stems | known if speaks else unit.stems)) + 2 * names) / max(
        len(wanted) + 2 * len(named), 1
    )


def _contradicts(fact: _FactReading, unit: _FactReading) -> bool:
    if fact.without != unit.without:
        # Of those without a thing another is said than of those with it.
        return False
    lacking, other = Counter(fact.ways) - Counter(unit.ways), Counter(unit.ways) - Counter(fact.ways)
    opposite = any(-way in other for way in lacking)
    if opposite != (fact.denied != unit.denied):
        return True
    called = {significance(fact.text), significance(unit.text)}
    return called == {True, False} or _other_number(fact, unit)


def _agrees(fact: _FactReading, unit: _FactReading) -> bool:
    return fact.without == unit.without and set(fact.ways) <= set(unit.ways) and not _contradicts(fact, unit)


def _other_number(fact: _FactReading, unit: _FactReading) -> bool:
    """Tell whether a statement has another number where a fact has one, in the same unit."""
    numbers = [thing for thing in fact.things if thing.kind == "number"]
    content = content_of(unit.text)
    lacking = [n for n in numbers if not is_named(n, content)]
    units = {_unit(n) for n in lacking}
    others = [thing for thing in unit.things if thing.kind == "number" and _unit(thing) in units]
    there = content_of(fact.text)
    return bool(lacking) and any(not is_named(other, there) for other in others)


def _unit(number: Argument) -> str:
    return next(iter(number.forms)).partition("|")[2]


@lru_cache(4_096)
def _read(text: str) -> _FactReading:
    words, plain = words_of(text), stems(words_of_list("arguments", "common"))
    denied = sum(token.kind in ("deny", "deny_all") for clause in words.clauses for token in clause) % 2
    directions = {stem for stem in words.content if _direction(stem)}
    without = bool(re.search(r"\b(?:without|lacking|except|aside from)\b", text.lower()))
    return _FactReading(text, arguments(text), words.content - directions - plain, _ways(text), bool(denied), without)


def _ways(text: str) -> tuple[int, ...]:
    """Directions of a statement in the order of its words: 1 for more, -1 for less."""
    found = (_direction(word) for word in re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", text.lower()))
    return tuple(way for way in found if way)


@lru_cache(100_000)
def _direction(word: str) -> int:
    own = _rules().patterns
    if own["neither"].match(word):
        return 0
    more = pattern_of_list("cues", "more").match(word) or own["more"].match(word)
    less = pattern_of_list("cues", "less").match(word) or own["less"].match(word)
    return bool(more) - bool(less)


class _JudgeRules(Value):
    scores: dict[int, float]
    most: dict[str, int]
    words: dict[str, list[str]]

    @cached_property
    def patterns(self) -> dict[str, re.Pattern[str]]:
        """Patterns of the beginnings of words, by list; of memory, of whole phrases."""
        found = {name: word_pattern(self.words[name]) for name in ("more", "less", "neither")}
        return found | {"memory": re.compile(rf"\b(?:{'|'.join(self.words['memory'])})\b", re.IGNORECASE)}


@cache
def _rules() -> _JudgeRules:
    return read_value(resource_dir("corpus") / "bench" / "judge.toml", _JudgeRules)
