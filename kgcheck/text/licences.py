"""Licences of assertion: the words that may stand around a statement about two names.

A statement counts where every word that could doubt it, ask it, set it as a condition or take it back is known not to.
The words of ``corpus/verifier/licences.toml`` are those that papers use to tell what they found. Any other word, be it
"rumour" or one that nobody thought of, silences the statement, unless it stands in a clause about something else.
"""

import re
from collections.abc import Collection, Sequence
from functools import cache, lru_cache

from kgcheck.text.clauses import ONE, TWO, Clause, clauses_of, is_finite
from kgcheck.text.tokens import is_symbol
from kgcheck.text.words import is_in, pattern_of_list, stemmer, verifier_rules, words_of_list

_BRITISH = re.compile(r"is(e|es|ed|ing|ation|ations)$")
_EMBEDDING = ("which", "who", "whose", "whom", "where", "that")
_REPORTS = ("suggesting", "indicating", "implying")
_REFERS = frozenset(("this", "that", "these", "those"))
_ASKS = frozenset(("how", "whether", "why", "what"))
_MODALS = frozenset(("may", "might", "could", "can"))
_REPORTED = frozenset(("reported", "others", "shown", "known"))
_TIMES = ("until", "before")
_WAYS = frozenset(("by", "through", "via"))
_ARTICLES = frozenset(("a", "an", "the"))
_NO_NAMES = ("ed", "ing", "ly", "ive", "ical", "able", "ible", "ful", "less", "ous", "ory", "ary")
_BEFORE_NAMES = frozenset("of in with by from on for and or to between against after during".split())
_AFTER_NAMES = _BEFORE_NAMES | frozenset("is are was were at as which that into through via".split())
_AFTER_SAMPLES = ("in", "and", "with", "to", "by", "at")
_SHORT = 4
"""Letters of a word; unknown ones that have fewer are names, too."""

_SUBJECT = 3
"""Words of a clause after both names that show if it speaks of what was said."""

_NEAR = 3
"""Words after a denial within which another word takes it back: "no one doubts"."""


def is_licensed(words: Sequence[str], names: Collection[str] = (), *, denied: bool = False) -> bool:
    """Tell if all words around two names may stand in an assertion.

    Args:
        words: The words of a sentence with marks for two names.
        names: Words of it that are written as proper names.
        denied: What is asserted is a denial, so that further denials do not take it back.
    """
    start, end = sorted((words.index(ONE), words.index(TWO)))
    found = clauses_of(words)
    holding = [k for k, clause in enumerate(found) if start in clause.places or end in clause.places]
    if not holding or _is_set_apart(words, found[holding[0]].opener):
        return False
    first, last = holding[0], holding[-1]
    while first and found[first].opener in _EMBEDDING:
        first -= 1
        if any(is_in("denies", words[i]) for i in found[first].places):
            return False
    own = words[min(found[first].places, default=0) :]
    if (own[0] == "to" and own[1] != "date") or (not denied and _is_spoken_of(own)):
        return False
    read: list[str] = []
    for k, clause in enumerate(found):
        own = [words[i] for i in clause.places]
        if k < first or (k > last and (denied or _is_aside(words, clause, own))):
            if any(is_in("conditions", w) for w in (clause.opener, *own)):
                return False
            continue
        if any(not (words[i] in names or _may_stand(words, i, denied=denied)) for i in clause.places):
            return False
        if clause.opener in _TIMES or (own and clause.places[0] > end and not denied and _denies(clause, own)):
            return False
        read += own
    text = " ".join(read)
    return not _phrases("left_open").search(text) and (denied or not _phrases("taken_back").search(text))


def _is_set_apart(words: Sequence[str], opener: str) -> bool:
    """Tell if a sentence asks, supposes, has a heading of doubt, or sets two names against what it goes on to say."""
    start, end = sorted((words.index(ONE), words.index(TWO)))
    heading = [w.lower() for w in words[: words.index(":")]] if ":" in words[1:4] else []
    if is_in("inverts", words[0]) or "?" in _until_stop(words[end:]) or not all(map(is_known, heading)):
        return True
    if opener in ("although", "though", "while"):
        # "although A was reported to bind B"
        return bool(_REPORTED & set(words[:end]))
    return opener == "unlike" and "," in words[start:end]


def _denies(clause: Clause, own: Sequence[str]) -> bool:
    """Tell if a clause after both names denies, and is not of when or why: "when C is not there"."""
    if clause.opener in ("when", "because", "since") or not any(is_in("denies", w) for w in own):
        return False
    # "but not in C"
    contrast = own[0] == "not" and not any(is_finite(own, i) for i in range(len(own)))
    return not contrast or bool(_phrases("left_open").search(" ".join(own)))


def _until_stop(words: Sequence[str]) -> Sequence[str]:
    return words[: next((i for i, w in enumerate(words) if w in (";", ".")), len(words))]


def _is_spoken_of(words: Sequence[str]) -> bool:
    """Tell if what two names are in is only spoken of: "evidence that A binds B is lacking", "a test for A with B"."""
    start, end = sorted((words.index(ONE), words.index(TWO)))
    following = _until_stop(words[end:])
    affirmed = any(is_in("affirms", w) and not is_in("auxiliaries", w) for w in following)
    doubted = not affirmed or any(is_in("denies", w) for w in following)
    linked = any(is_finite(words, i) for i in range(start + 1, end))
    for i in range(start if linked else end):
        before, noun = words[i - 1] if i else "", next((w for w in words[i + 1 : i + 3] if w not in _ARTICLES), "")
        if is_finite(words, i) or is_in("finds", words[i]) or words[i] == "we":
            doubted = False
        if doubted and ((words[i] == "that" and i) or (is_in("sources", words[i]) and words[i + 1] == "of")):
            return True
        if words[i] == "for" and _relates(noun) and not (is_in("affirms", before) or is_in("sources", before)):
            return True
    return False


def _is_aside(words: Sequence[str], clause: Clause, own: Sequence[str]) -> bool:
    """Tell if a clause after both names tells of something else than what was said of them."""
    rest = [w for w in own if not w.endswith("ly") and w not in (",", "and", "but", "also", "then", "thus")]
    if not rest or clause.opener in _REPORTS:
        return True
    before = words[clause.places[0] - 2] if clause.places[0] > 1 else ""
    if is_in("relatives", clause.opener) and before not in (",", ONE, TWO):
        # "in patients who do not smoke"
        return not (is_in("said_before", before) or is_in("sources", before))
    if clause.opener == "and" and (rest[0] in _MODALS or rest[0] in ("that", "suggest", "suggests")):
        return True
    if any(w.startswith(("mechanis", "function")) for w in rest[: _SUBJECT + 1]):
        # "but the mechanism is unclear"
        return True
    if _REFERS & set(rest[:_SUBJECT]):
        return False
    question = next((i for i, w in enumerate(rest) if w in _ASKS), len(rest))
    if question < len(rest):
        # "but how it acts is unclear"
        return not any(w in _REFERS or is_in("said_before", w) for w in rest[question:])
    related = any(_relates(w) for w in rest)
    if rest[0] in ("it", "they") or is_finite(["", *rest], 1):
        # "but does not bind C": something else is said of the same subject.
        return related
    return any(is_symbol(w) for w in own)


def _may_stand(words: Sequence[str], at: int, *, denied: bool) -> bool:
    """Tell if a word, where it stands, is known to leave an assertion one."""
    word, before, following = words[at], words[max(0, at - _NEAR) : at], words[at + 1 : at + 3]
    if is_in("looked_at", word):
        return _is_sample_word(before, following)
    if is_known(word) or is_in("denies", word) or (denied and (word == "could" or is_in("argues", word))):
        return True
    if (following[:1] == ["-"] and following[-1].isdigit()) or [*before[-1:], word] == ["more", "likely"]:
        return True
    if _is_name(word, before, following):
        return True
    if {"mechanism", "mechanisms"} & set(following) and _WAYS & set(before):
        return True
    if following[:1] and following[0] in _WAYS and is_in("doubts_way", word):
        return True
    return any(is_in("denies", w) for w in before) and (is_in("no_denial", word) or is_in("undoubts", word))


def _is_sample_word(before: Sequence[str], following: Sequence[str]) -> bool:
    """Tell if a word only says which things were looked at: "in the samples tested", "the analysed samples"."""
    if following[:1] == ["that"] or before[-1:] == ["we"] or is_in("auxiliaries", "".join(before[-1:])):
        return following[:1] == ["that"]
    return before[-1:] in (["the"], ["all"], ["any"]) or not following or following[0] in (*".,;", *_AFTER_SAMPLES)


def _relates(word: str) -> bool:
    return bool(pattern_of_list("cues", "relates").match(word))


@lru_cache(100_000)
def is_known(word: str) -> bool:
    """Tell if a word is a name, a number, one by which papers assert, or one that has the form of a term."""
    if len(word) < _SHORT or not word.isalpha() or is_symbol(word):
        return word not in words_of_list("licences", "barred")
    if is_barred(word):
        return False
    listed = words_of_list("licences", "words")
    return has_form_of_term(word) or key_of(word) in listed or (word.endswith("ly") and key_of(word[:-2]) in listed)


@lru_cache(100_000)
def is_barred(word: str) -> bool:
    """Tell if a word is one of those that doubt, ask, expect or take back."""
    return word in words_of_list("licences", "never") or key_of(word) in _barred()


@cache
def _barred() -> frozenset[str]:
    return frozenset(key_of(word) for word in words_of_list("licences", "barred"))


def _is_name(word: str, before: Sequence[str], following: Sequence[str]) -> bool:
    """Tell if an unknown word stands where names do: "treated with diazinon", "diazinon treatment", "uveo-retinal"."""
    if is_barred(word) or word.endswith(_NO_NAMES):
        return False
    after = following[0] if following else "."
    heads = words_of_list("licences", "heads")
    if after == "-" or after in heads or after.removesuffix("s") in heads:
        return True
    ends = not after[0].isalnum() or after in _AFTER_NAMES
    return ends and len(before) > 1 and before[-1] in _BEFORE_NAMES


def key_of(word: str) -> str:
    """The form in which a word is listed: an adverb as it is written, any other by its stem."""
    return word if word.endswith("ly") else str(stemmer().stemWord(_BRITISH.sub(r"iz\1", word)))


def has_form_of_term(word: str) -> bool:
    """Tell if a word ends as terms of the field do: "cardiomyopathy", "ubiquitinates"."""
    return bool(_terms().search(word))


@cache
def _phrases(name: str) -> re.Pattern[str]:
    return re.compile("|".join(verifier_rules("licences")[name]))


@cache
def _terms() -> re.Pattern[str]:
    return re.compile(rf"[a-z]{{3}}(?:{'|'.join(verifier_rules('licences')['endings'])})$")
