"""Split a sentence into clauses, and complete the clause that relates two names."""

from collections.abc import Sequence
from typing import NamedTuple

from kgcheck.text.words import is_in

ONE, TWO = "Xone1", "Xtwo2"
"""Marks for two names among the words of a sentence."""

_STOPS = frozenset((";", ":", "\u2014", ".", "?"))
_PREPOSITIONS = frozenset("by with in to from for on at of between".split())
_STANDS_FOR = frozenset(("it", "they", "its", "their"))
_OBJECTS = frozenset(("the", "a", "an", "its", "their", "both", ONE, TWO))
_NO_VERBS = frozenset("as thus plus versus across towards besides whereas unless cells mutants proteins".split())
_SUBJECT = 10
"""Words that a subject may have before its verb."""

_NEAR_RELATIVE = 4
_APPOSED = frozenset((", a", ", an", ", the", "is a", "is an", "is the", "are the"))


class Clause(NamedTuple):
    """The words of a clause by their places, and the word or mark with which it was opened."""

    places: tuple[int, ...]
    opener: str


def clauses_of(words: Sequence[str]) -> list[Clause]:
    """Cut the words of a sentence into clauses.

    >>> [[w for w in ("a binds b but not c".split()[i] for i in clause.places)] for clause in clauses_of(
    ...     "a binds b but not c".split())]
    [['a', 'binds', 'b'], ['not', 'c']]
    """
    found: list[tuple[list[int], str]] = [([], "")]
    current, goes_back = 0, -1
    has_verb = False
    for i, word in enumerate(words):
        opener = _opener(words, i, has_verb=has_verb, after_contrast=is_in("contrasts", found[current][1]))
        own = [words[k] for k in found[current][0][:1]]
        if goes_back >= 0 and word == "," and _may_be_verb(words, i + 1):
            # What was put in ends, and the sentence goes on: "A, which is long, binds B".
            current, goes_back, has_verb = goes_back, -1, False
        elif goes_back >= 0 and own == ["not"] and is_finite(words, i):
            # "A but not C binds B"
            found[goes_back][0].append(i)
            current, goes_back = goes_back, -1
        elif opener:
            put_in = i > 0 and (words[i - 1] == "," or (word, *words[i + 1 : i + 2]) == ("but", "not"))
            if put_in and (opener == "relative" or (opener == "contrast" and not has_verb)):
                goes_back = current
            found.append(([], word))
            current, has_verb = len(found) - 1, False
        else:
            found[current][0].append(i)
        # "We show that": what follows has a verb of its own.
        has_verb = word != "that" and (has_verb or is_finite(words, i))
    return [Clause(tuple(places), opener) for places, opener in found]


def _opener(words: Sequence[str], i: int, *, has_verb: bool, after_contrast: bool) -> str:
    """The kind of the clause that a word or mark opens, or nothing."""
    word, following = words[i], words[i + 1] if i + 1 < len(words) else ""
    if word in _STOPS:
        return "stop"
    before = words[i - 1] if i else ""
    goes_on = (word, following) == ("yet", "to") or (word == "rather" and following != "than")
    # "not yet", ", however,": adverbs
    adverb = (word == "yet" and is_in("denies", before)) or (word == "however" and before == following == ",")
    set_against = before == "," and " ".join(words[i : i + 3]) in (
        "in contrast to",
        "in contrast with",
        "as opposed to",
    )
    if set_against or (is_in("contrasts", word) and word != before and not (goes_on or adverb)):
        return "contrast"
    if is_in("relatives", word) or (
        word == "that" and _verb_at(words, i + 1) and i and not is_in("finds", words[i - 1])
    ):
        return "relative"
    if is_in("begins", word) and (has_verb or i == 0 or following.endswith("ing")):
        return "begins"
    if word not in (",", "and", "or") or following in ("and", "or", "but"):
        return ""
    opens = has_verb and (_begins_clause(words, i + 1) or (word == "and" and following == "that"))
    if word == "," and has_verb and after_contrast:
        # "Although C is small, A bound to B": what was set against the sentence ends.
        opens = opens or any(is_in("verbs", w) for w in words[i + 1 : i + _SUBJECT])
    return "joined" if opens or (is_in("pronouns", following) and _verb_at(words, i + 2)) else ""


def _begins_clause(words: Sequence[str], at: int) -> bool:
    """Tell if a finite verb stands at a place, or a subject with one."""
    if at >= len(words):
        return False
    if (is_in("pronouns", words[at]) and words[at] not in ("its", "their")) or _verb_at(words, at):
        return True
    joined = False
    for i in range(at, min(at + _SUBJECT, len(words))):
        if is_finite(words, i):
            return words[i - 1] != "and"
        if words[i] == "and" and not joined:
            joined = True
        elif words[i] in _STOPS or words[i] in (",", "and", "or", "that", "to") or is_in("relatives", words[i]):
            return False
    return False


def _verb_at(words: Sequence[str], at: int) -> bool:
    """Tell if a finite verb stands at a place, an adverb before it or not."""
    while at < len(words) and (
        words[at].endswith("ly") or words[at] in ("also", "then", "still", "never", "thus", "therefore")
    ):
        at += 1
    return at < len(words) and is_finite(words, at)


def _may_be_verb(words: Sequence[str], at: int) -> bool:
    """Tell if a verb may stand at a place after what was put in: "A, which is long, contribute to B"."""
    if _verb_at(words, at) or at >= len(words):
        return at < len(words)
    while words[at].endswith("ly") and at + 1 < len(words):
        at += 1
    return is_in("verbs", words[at]) and not words[at].endswith(("ing", "ed", "ion", "ions"))


def is_finite(words: Sequence[str], at: int) -> bool:
    """Tell if a word is a verb that has a subject, as far as its form and its neighbours tell."""
    word, before = words[at], words[at - 1] if at else ""
    following = words[at + 1] if at + 1 < len(words) else ""
    if is_in("auxiliaries", word):
        return True
    if word.endswith("s") and word not in _NO_VERBS and before in (ONE, TWO) and following in _OBJECTS:
        # "A silences B"
        return True
    if not is_in("verbs", word) or word.endswith(
        ("ing", "ion", "ions", "ment", "ance", "or", "ors", "ive", "ity", "er")
    ):
        return False
    if before in ("we", "they", "which", "that", "who", "it") or (before == "and" and following == "that"):
        return True
    if is_in("determiners", before) or before == "-" or not before:
        return False
    if word.endswith("ed") or word in ("bound", "led", "found"):
        return following not in _PREPOSITIONS
    if word.endswith("s"):
        return following != "of"
    subject = next((w for w in reversed(words[:at]) if not w.endswith("ly") and w != "also"), "")
    return subject.endswith("s") or subject in (ONE, TWO)


def clause_of_pair(words: Sequence[str]) -> list[str]:
    """The clause that has two names, completed where one shares a subject or verb; empty where they stand apart."""
    found = clauses_of(words)
    marks = [next((k for k, c in enumerate(found) if words.index(mark) in c.places), -1) for mark in (ONE, TWO)]
    if marks[0] == marks[1]:
        return _words(words, found[marks[0]])
    if min(marks) < 0 or "." in words[slice(*sorted(words.index(mark) for mark in (ONE, TWO)))]:
        return []
    first, second = sorted((ONE, TWO), key=words.index)
    x, y = (marks[(ONE, TWO).index(mark)] for mark in (first, second))
    earlier, later = _words(words, found[x]), _words(words, found[y])
    subject, predicate = _parts(later)
    if x > y and found[x].opener == "but" and earlier[:1] == ["not"] and second in predicate:
        # "C, but not A, binds B"
        return [first, "not", *predicate]
    if x > y or any(_verbless_or_own(_words(words, found[k])) for k in range(x + 1, y)):
        return []
    opener = found[y].opener
    subject, predicate = _parts(earlier)
    if (is_in("relatives", opener) or opener == "that") and later[:1] not in (["it"], ["they"]):
        return _relative_clause(earlier, later, first, min(found[y].places, default=0) - 1 - words.index(first))
    own, rest = _parts(later)
    if not rest:
        without = (
            opener in _STOPS
            or opener in ("except", "unlike", "rather", "in", "as")
            or (opener == "instead" and later[0] == "of")
        )
        return [] if without else _elliptic(earlier, later, opener)
    if second in own and len(rest) <= 3 and any(is_in("denies", w) for w in rest) and first in predicate:
        # "C was a risk factor for B while A was not."
        return [second, "not", *(w for w in predicate if not is_in("denies", w))]
    if first not in subject:
        return []
    if not own or all(w.endswith("ly") or w in ("also", "then", "still", "instead") or is_in("denies", w) for w in own):
        return [*subject, *later]
    if own[0] in _STANDS_FOR:
        return [first, *own[1:], *rest]
    return []


def _relative_clause(earlier: list[str], later: list[str], name: str, gap: int) -> list[str]:
    """Complete a relative clause, so many words after a name, with the name or the words that it follows."""
    at = earlier.index(name)
    following = " ".join(earlier[at + 1 : at + 3])
    apposed = following in _APPOSED and ("of" not in earlier[at:] or earlier[-1] in ("family", "superfamily", "class"))
    if apposed and not any(is_in("denies", w) or is_finite(earlier, i) for i, w in enumerate(earlier) if i > at + 1):
        # "A, a kinase of the family that binds B"
        return [name, *later]
    if gap > _NEAR_RELATIVE:
        # "A causes C, which is a B"
        is_kind = later[:1] in (["is"], ["are"]) and later[1:2] in (["a"], ["an"], ["the"])
        return [*earlier, ",", *later[1:]] if is_kind else []
    if any(is_in("denies", w) for w in earlier[max(0, at - 1) : at]):
        return []
    return [*_phrase(earlier, name), *later]


def _phrase(clause: list[str], name: str) -> list[str]:
    """The end of a clause from a few words before a name on: "mutants of A", as far as no verb or denial is there."""
    at = start = clause.index(name)
    while (
        start
        and at - start < _NEAR_RELATIVE
        and not (is_finite(clause, start - 1) or is_in("denies", clause[start - 1]))
    ):
        start -= 1
    return clause[start:]


def _verbless_or_own(clause: Sequence[str]) -> bool:
    """Tell if a clause between two others has a subject of its own, so that neither is left out after it."""
    own, rest = _parts(clause)
    return bool(own and rest and own[0] not in _STANDS_FOR)


def _elliptic(earlier: list[str], later: list[str], opener: str) -> list[str]:
    """A clause with what is set beside one of its parts: "A binds C but not B", "A does not bind C but B"."""
    denied = any(is_in("denies", w) for w in later)
    turned = any(
        is_in("denies", w) and not is_in("no_denial", n) for w, n in zip(earlier, [*earlier[1:], ""], strict=True)
    )
    if opener in ("but", "instead", "although", "though") and turned and not denied:
        earlier = [w for w in earlier if not is_in("denies", w)]
    return [*earlier, *later]


def _parts(clause: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words before the first finite verb of a clause, and the rest."""
    reported = clause.index("that") + 1 if "that" in clause[:_SUBJECT] else 0
    at = next((i for i in range(reported, len(clause)) if is_finite(clause, i)), len(clause))
    if clause[:1] and clause[0].endswith("ed") and is_finite(["it", *clause], 1):
        # "and displayed": the subject is left out.
        at = 0
    return list(clause[:at]), list(clause[at:])


def _words(words: Sequence[str], clause: Clause) -> list[str]:
    return [words[i] for i in clause.places]
