"""Assertion status of a statement about two names: stated, denied, left open, or apart.

The clause that has both names is found, and completed where one of them shares its subject or verb; then the words of
relation and the denials that reach them are read. What is asserted so counts only where it is licensed: where every
word that could doubt it, ask it, set it as a condition or take it back is known not to. Any word that is not in
``corpus/verifier/licences.toml``, be it "rumour" or one that nobody thought of, silences a statement, unless it stands
in a clause about something else.
"""

import re
from collections.abc import Callable, Collection, Sequence
from enum import Enum
from functools import cache, lru_cache
from typing import NamedTuple

from kgcheck.text.words import is_in, is_symbol, pattern_of_list, stemmer, tokenize, verifier_rules, words_of_list

ONE, TWO = "Xone1", "Xtwo2"  # marks for two names among the words of a sentence
_LONGEST = 1_000
"""Most words of a sentence that is read; of a longer one nothing is told, and time would grow with its square."""


class Assertion(Enum):
    """Assertion status of a statement in a sentence."""

    STATED = "stated"
    DENIED = "denied"
    OPEN = "open"
    APART = "apart"


class PairReading(NamedTuple):
    """Assertion status of a statement about two names, and the words of the clause that has both."""

    assertion: Assertion
    clause: tuple[str, ...]


def read_pair(
    sentence: str, one: tuple[int, int], two: tuple[int, int], relates: re.Pattern[str], *, unlike: bool = False
) -> PairReading:
    """Tell what a sentence does with the statement that names at two places are in a relation, by its words.

    ``unlike`` says that the two are of different kinds, such as a gene and a disease.
    """
    words = pair_words(sentence, one, two)
    if ONE not in words or TWO not in words or len(words) > _LONGEST:
        return PairReading(Assertion.APART, ())
    clause = clause_of_pair(words)
    if not clause:
        return PairReading(Assertion.APART, ())
    assertion = _Pair(clause, relates, unlike=unlike).assertion()
    if assertion is not Assertion.APART:
        tokens = [token for token in tokenize(sentence) if token.word.isalpha()]
        # Words with a capital within a sentence are names; not where most have one, as in a title.
        capital = [token.word for token in tokens[1:] if sentence[token.start].isupper()]
        names = frozenset(capital) if len(capital) * 3 < len(tokens) else frozenset()
        if not _is_licensed(words, names, denied=assertion is Assertion.DENIED):
            assertion = Assertion.OPEN
    return PairReading(assertion, tuple(clause))


def pair_words(sentence: str, one: tuple[int, int], two: tuple[int, int]) -> list[str]:
    """The words of a sentence with marks for two names, without what is put in brackets and names neither."""
    found: list[str] = []
    opened: list[int] = []
    for token in tokenize(sentence):
        mark = next((m for m, (a, b) in ((ONE, one), (TWO, two)) if token.start < b and a < token.end), "")
        if mark:
            if mark not in found[-1:]:
                found.append(mark)
        elif token.word == "(":
            opened.append(len(found))
        elif token.word == ")":
            start = opened.pop() if opened else len(found)
            if ONE not in found[start:] and TWO not in found[start:]:
                del found[start:]
        else:
            found.append(token.word)
    return found


def _any_in(name: str, words: Sequence[str]) -> bool:
    return any(is_in(name, word) for word in words)


_STOPS = frozenset((";", ":", "\u2014", ".", "?"))
_PREPOSITIONS = frozenset("by with in to from for on at of between".split())
_STANDS_FOR = frozenset(("it", "they", "its", "their"))
_OBJECTS = frozenset(("the", "a", "an", "its", "their", "both", ONE, TWO))
_NO_VERBS = frozenset("as thus plus versus across towards besides whereas unless cells mutants proteins".split())
_NO_VERB_ENDINGS = ("ing", "ion", "ions", "ment", "ance", "or", "ors", "ive", "ity", "er")
_ADVERBS = ("also", "then", "still")
_SUBJECT = 10  # words that a subject may have before its verb
_NEAR_RELATIVE = 4
_APPOSED = frozenset((", a", ", an", ", the", "is a", "is an", "is the", "are the"))


class Clause(NamedTuple):
    """The words of a clause by their places, and the word or mark with which it was opened."""

    places: tuple[int, ...]
    opener: str

    def words(self, words: Sequence[str]) -> list[str]:
        return [words[i] for i in self.places]


def clauses_of(words: Sequence[str]) -> list[Clause]:
    """Cut the words of a sentence into clauses.

    >>> words = "a binds b but not c".split()
    >>> [clause.words(words) for clause in clauses_of(words)]
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
    word, following = words[i], words[i + 1] if i + 1 < len(words) else ""
    if word in _STOPS:
        return "stop"
    before = words[i - 1] if i else ""
    goes_on = (word, following) == ("yet", "to") or (word == "rather" and following != "than")
    # "not yet", ", however,": adverbs
    adverb = (word == "yet" and is_in("denies", before)) or (word == "however" and before == following == ",")
    phrase = " ".join(words[i : i + 3])
    set_against = before == "," and phrase in ("in contrast to", "in contrast with", "as opposed to")
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
        opens = opens or _any_in("verbs", words[i + 1 : i + _SUBJECT])
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
    while at < len(words) and (words[at].endswith("ly") or words[at] in (*_ADVERBS, "never", "thus", "therefore")):
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
    if not is_in("verbs", word) or word.endswith(_NO_VERB_ENDINGS):
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
    first, second = sorted((ONE, TWO), key=words.index)
    x, y = (next((k for k, c in enumerate(found) if words.index(mark) in c.places), -1) for mark in (first, second))
    if x == y:
        return found[x].words(words)
    if min(x, y) < 0 or "." in words[words.index(first) : words.index(second)]:
        return []
    earlier, later = found[x].words(words), found[y].words(words)
    if x > y and found[x].opener == "but" and earlier[:1] == ["not"] and second in (predicate := _parts(later)[1]):
        # "C, but not A, binds B"
        return [first, "not", *predicate]
    between = [_parts(found[k].words(words)) for k in range(x + 1, y)]
    if x > y or any(own and rest and own[0] not in _STANDS_FOR for own, rest in between):
        return []
    opener = found[y].opener
    subject, predicate = _parts(earlier)
    if (is_in("relatives", opener) or opener == "that") and later[:1] not in (["it"], ["they"]):
        return _relative_clause(earlier, later, first, min(found[y].places, default=0) - 1 - words.index(first))
    own, rest = _parts(later)
    if not rest:
        without = opener in _STOPS or opener in ("except", "unlike", "rather", "in", "as")
        return [] if without or (opener == "instead" and later[0] == "of") else _elliptic(earlier, later, opener)
    if second in own and len(rest) <= 3 and _any_in("denies", rest) and first in predicate:
        # "C was a risk factor for B while A was not."
        return [second, "not", *(w for w in predicate if not is_in("denies", w))]
    if first not in subject:
        return []
    if all(w.endswith("ly") or w in (*_ADVERBS, "instead") or is_in("denies", w) for w in own):
        return [*subject, *later]
    return [first, *own[1:], *rest] if own[0] in _STANDS_FOR else []


def _relative_clause(earlier: list[str], later: list[str], name: str, gap: int) -> list[str]:
    """Complete a relative clause, so many words after a name, with the name or the words that it follows."""
    at = earlier.index(name)
    apposed = " ".join(earlier[at + 1 : at + 3]) in _APPOSED
    apposed = apposed and ("of" not in earlier[at:] or earlier[-1] in ("family", "superfamily", "class"))
    if apposed and not any(is_in("denies", earlier[i]) or is_finite(earlier, i) for i in range(at + 2, len(earlier))):
        # "A, a kinase of the family that binds B"
        return [name, *later]
    if gap > _NEAR_RELATIVE:
        # "A causes C, which is a B"
        is_kind = later[:1] in (["is"], ["are"]) and later[1:2] in (["a"], ["an"], ["the"])
        return [*earlier, ",", *later[1:]] if is_kind else []
    if _any_in("denies", earlier[max(0, at - 1) : at]):
        return []
    # With some words before the name: "mutants of A", as far as no verb or denial is there.
    start = at
    while start and at - start < _NEAR_RELATIVE:
        if is_finite(earlier, start - 1) or is_in("denies", earlier[start - 1]):
            break
        start -= 1
    return [*earlier[start:], *later]


def _elliptic(earlier: list[str], later: list[str], opener: str) -> list[str]:
    """A clause with what is set beside one of its parts: "A binds C but not B", "A does not bind C but B"."""
    following = [*earlier[1:], ""]
    turned = any(is_in("denies", w) and not is_in("no_denial", n) for w, n in zip(earlier, following, strict=True))
    if opener in ("but", "instead", "although", "though") and turned and not _any_in("denies", later):
        earlier = [w for w in earlier if not is_in("denies", w)]
    return [*earlier, *later]


def _parts(clause: list[str]) -> tuple[list[str], list[str]]:
    if clause and clause[0].endswith("ed") and is_finite(["it", *clause], 1):
        # "and displayed": the subject is left out.
        return [], clause
    reported = clause.index("that") + 1 if "that" in clause[:_SUBJECT] else 0
    at = next((i for i in range(reported, len(clause)) if is_finite(clause, i)), len(clause))
    return clause[:at], clause[at:]


_LIST = frozenset((",", "and", "or", "/", "-", "nor", "both", "either", "(", ")", "as", "well", "the"))
_BEFORE, _AFTER = 9, 8  # words before and after two names among which a word of relation belongs to them
_OBJECT = 9  # words after a denial within which its object is, of two of a kind
_SUBJECTLESS = frozenset(("not", "n't", "cannot", "never", "fails", "failed", "fail"))
_SMALL = frozenset(("not", "n't", "never", "any", "be", "been"))
_BE = frozenset("is are was were be been has have".split())
_COMPLEMENTS = (["in"], ["from"], ["of"], ["by"], ["for"])
"""Prepositions that follow an adjective of denial: "absent from", "negative for"."""


class _Pair:
    """Two names in a clause, the words of relation and the denials that reach them."""

    def __init__(self, clause: Sequence[str], relates: re.Pattern[str], *, unlike: bool) -> None:
        self._clause = clause
        self._relates = relates
        self._unlike = unlike
        self._a, self._b = sorted((clause.index(ONE), clause.index(TWO)))
        self._listed = all(w in _LIST for w in clause[self._a + 1 : self._b])

    def assertion(self) -> Assertion:
        clause = self._clause
        alias = not self._unlike and self._b == self._a + 1
        if alias or "respectively" in clause or self._is_left_out() or self._is_place():
            return Assertion.APART
        denials = [i for i, word in enumerate(clause) if is_in("denies", word) and self._is_denial(i)]
        if denials[:1] == [0] and clause[0] in _SUBJECTLESS:
            # The subject of a clause that begins so is left out, and is neither of the two.
            return Assertion.APART
        reach = [i for i in denials if self._reaches(i)]
        if not reach:
            stated = self._linked(self._relates.match) and not self._only_named()
            return Assertion.STATED if stated else Assertion.APART
        if len(reach) > 1:
            # One may take back the other: "not independent of", "no study failed to".
            outright = ("not", "n't", "no", "nor", "excluded", "ruled")
            turned = len(reach) == 2 and clause[reach[1]] not in outright and self._linked(self._is_relation)
            return Assertion.STATED if turned else Assertion.APART
        return Assertion.DENIED if self._is_plain(reach[0]) else Assertion.APART

    def _verb_in(self, start: int, end: int) -> int:
        return next((i for i in range(start, end) if is_finite(self._clause, i)), 0)

    def _only_named(self) -> bool:
        """Tell if a relation is spoken of and not stated: "little is known of the role of A in B"."""
        clause, a, b = self._clause, self._a, self._b
        if self._verb_in(a + 1, b):
            return False
        return _any_in("abstract", clause[max(0, a - _BEFORE) : b]) and not _any_in("affirms", clause)

    def _is_place(self) -> bool:
        """Tell if the first name is only where something else does a thing to the second: "in A, C lowered B"."""
        clause, a, b = self._clause, self._a, self._b
        if clause[0] not in ("in", "within", "among") or "," not in clause[a:b]:
            return False
        start = clause.index(",", a) + 1
        return self._verb_in(start, b) > start and not is_in("pronouns", clause[start])

    def _is_left_out(self) -> bool:
        """Tell if the second name is told to be away: "in people without B"."""
        clause, a, b = self._clause, self._a, self._b
        for i in range(max(a, b - 4), b):
            if is_in("takes_away", clause[i]) and clause[i - 1] not in (*_BE, "by", "to", "from"):
                return True
        excluded = ("including", "excluding", "counting")
        near = (i for place in (a, b) for i in range(max(1, place - 3), place))
        return any(clause[i] in excluded and is_in("denies", clause[i - 1]) for i in near)

    def _is_denial(self, at: int) -> bool:
        clause, word = self._clause, self._clause[at]
        before, following = clause[at - 1] if at else "", clause[at + 1 : at + 4]
        if _any_in("no_denial", following[:2]):
            return False
        if is_in("takes_away", word):
            if before in _BE:
                return True
            after = [w for w in following if w not in ("of", "any", "a", "an", "the")]
            named = after[:1] in ([ONE], [TWO])
            return any(is_in("relates_denied", w) or is_in("observed", w) for w in after[named : named + 1])
        if is_in("adjectives", word):
            # "were A-negative"
            end = at - 2 if before == "-" else at
            earlier = next((w for w in reversed(clause[:end]) if not w.endswith("ly")), "")
            return earlier in _BE or earlier.startswith("remain") or following[:1] in _COMPLEMENTS
        if word == "against":
            return _any_in("argues", clause[max(0, at - 4) : at])
        if is_in("equals", word):
            versus = word == "equally" or {before, *clause[max(0, at - 3) : at]} & _BE
            return self._unlike and bool(versus) and following[:1] != ["to"] and _any_in("others", clause)
        if word in ("rule", "ruled"):
            return "out" in following
        if word.startswith("independent"):
            return self._is_independent(at) or (following[:1] == ["of"] and (self._a < at or is_in("denies", before)))
        if word == "unrelated":
            return following[:1] == ["to"] or before in _BE
        return word != "nor" or not any(w in ("neither", "not", "no") for w in clause[:at])

    def _is_independent(self, at: int) -> bool:
        """Tell if a word says that something goes without one of the two: "A-independent", "independently of A"."""
        before, after = self._clause[max(0, at - 2) : at], self._clause[at + 1 : at + 3]
        without = any(before == [mark, "-"] or after == ["of", mark] for mark in (ONE, TWO))
        return without and self._clause[at].startswith("independent")

    def _reaches(self, at: int) -> bool:
        clause, a, b = self._clause, self._a, self._b
        if at < a or self._is_independent(at):
            return True
        if at < b:
            return not self._listed or clause[at] in ("not", "nor", "no", "without")
        verb = self._verb_in(a + 1, b)
        follows = clause[at + 1 : at + 4]
        if is_in("forward", clause[at]):
            # "Screening of A in B revealed no mutations"
            compared = self._unlike and _any_in("more", follows[:1])
            return compared or (is_in("finds", clause[at - 1]) and _any_in("relates_denied", follows) and not verb)
        if verb:
            return False
        # "Binding of A to B did not alter growth" denies nothing of the two.
        other = _any_in("something_else", follows[:2]) or follows[:1] == ["of"]
        return self._listed or not other or _any_in("observed", follows[:1])

    def _is_plain(self, at: int) -> bool:
        """Tell if a denial is outright, and of the relation of the two."""
        clause, a, b = self._clause, self._a, self._b
        if at < a and self._is_independent(at):
            return False
        near = clause[max(0, min(a, at) - 5) : max(b, at) + 6]
        qualified = _any_in("partly", clause[at + 1 : at + 5]) if self._unlike else _any_in("qualifies", near)
        if qualified or clause[at - 1 : at] == ["or"]:
            return False
        if any(w in ("absence", "without", "unless", "except") for w in near if w != clause[at]):
            return False
        of = not self._unlike and clause[b + 1 : b + 2] == ["of"] and clause[b - 1] != "-"
        if of or clause[b + 1 : b + 2] == ["-"]:
            return False
        if at > b and self._listed:
            follows = clause[at : at + 5]
            return _any_in("mutual", follows) and not {"with", "to"} & set(follows)
        # "binding of A to B was not seen", "no binding of A to B was seen", "A does not bind B"
        denied = self._is_seen(at) if at > b else self._denied_before(at) if at < a else self._denied_between(at)
        return denied and self._linked(self._is_relation)

    def _denied_before(self, at: int) -> bool:
        clause, a, b = self._clause, self._a, self._b
        reach = clause[at + 1 : a]
        effect = any(w == "on" and is_in("effects", reach[i - 1]) for i, w in enumerate(reach) if i)
        if effect or any(self._is_other_verb(w) for w in reach) or ("between" in reach and "and" not in clause[a:b]):
            return False
        if self._verb_in(a + 1, b):
            outright = is_in("forward", clause[at]) or clause[at] in ("unlikely", "nor") or "that" in reach
            return not is_in("takes_away", clause[at]) and (self._unlike or outright)
        if not self._unlike and "in" in clause[a:b]:
            return False
        ends = self._verb_in(b + 1, len(clause))
        return not ends or self._is_seen(ends)

    def _denied_between(self, at: int) -> bool:
        clause, b = self._clause, self._b
        between = "between" in clause[at:b] and not (self._unlike and is_in("relates_denied", clause[at + 1]))
        if between or sum(is_finite(clause, i) for i in range(at + 1, b)) > 1:
            return False
        if any(clause[i] == "and" and is_in("verbs", clause[i + 1]) for i in range(at, b)):
            # "had no effect on C and increased B"
            return False
        effects = (i for i in range(at, b - 1) if is_in("effects", clause[i]) and clause[i + 1] == "of")
        if any(b > i + 3 for i in effects):
            return False
        apart = "," in clause[at:b] or "in" in clause[b - 2 : b] or "of" in clause[at : b - 2]
        return self._unlike or (b - at <= _OBJECT and not apart)

    def _is_seen(self, at: int) -> bool:
        """Tell if what is said from a place on is no more than that a thing is seen, or not."""
        rest = [w for w in self._clause[at:] if not (is_in("auxiliaries", w) or w.endswith("ly") or w in _SMALL)]
        return _any_in("observed", rest[:1]) and rest[1:2] not in (["with"], ["to"], ["by"], ["of"], ["that"])

    def _is_other_verb(self, word: str) -> bool:
        found = self._is_relation(word) or is_in("observed", word) or is_in("finds", word)
        return is_in("something_else", word) or (is_in("verbs", word) and not found)

    def _is_relation(self, word: str) -> bool:
        return bool(self._relates.match(word)) or is_in("relates_denied", word)

    def _linked(self, matches: Callable[[str], object]) -> bool:
        clause, a, b = self._clause, self._a, self._b
        if any(map(matches, clause[a + 1 : b])):
            return True
        before = [w for w in clause[max(0, a - _BEFORE) : a] if matches(w)]
        after = [w for w in clause[b + 1 : b + _AFTER] if matches(w)]
        if not self._listed:
            return bool(before or after)
        together = not {"between", "of", "by"}.isdisjoint(clause[max(0, a - 4) : a])
        mutual = together and any(is_in("mutual", w) or w.endswith(("mer", "mers")) for w in before)
        return mutual or any(is_in("mutual", w) or w.endswith(("mer", "mers", "ed")) for w in after)


_BRITISH = re.compile(r"is(e|es|ed|ing|ation|ations)$")
_EMBEDDING = ("which", "who", "whose", "whom", "where", "that")
_REPORTS = ("suggesting", "indicating", "implying")
_REFERS = frozenset(("this", "that", "these", "those"))
_ASKS = frozenset(("how", "whether", "why", "what"))
_MODALS = frozenset(("may", "might", "could", "can"))
_REPORTED = frozenset(("reported", "others", "shown", "known"))
_WAYS = frozenset(("by", "through", "via"))
_NO_NAMES = ("ed", "ing", "ly", "ive", "ical", "able", "ible", "ful", "less", "ous", "ory", "ary")
_BEFORE_NAMES = frozenset("of in with by from on for and or to between against after during".split())
_AFTER_NAMES = _BEFORE_NAMES | frozenset("is are was were at as which that into through via".split())
_AFTER_SAMPLES = ("in", "and", "with", "to", "by", "at")
_SHORT = 4  # letters of a word; unknown ones that have fewer are names, too
_FIRST = 3  # words of a clause after both names that show if it speaks of what was said
_NEAR = 3  # words after a denial within which another word takes it back: "no one doubts"


def _is_licensed(words: Sequence[str], names: Collection[str], *, denied: bool) -> bool:
    """Tell if all words around two names may stand in an assertion, or in a denial.

    ``names`` are words that are written as proper names.
    """
    start, end = sorted((words.index(ONE), words.index(TWO)))
    found = clauses_of(words)
    holding = [k for k, clause in enumerate(found) if start in clause.places or end in clause.places]
    if not holding or _is_set_apart(words, start, end, found[holding[0]].opener):
        return False
    first, last = holding[0], holding[-1]
    while first and found[first].opener in _EMBEDDING:
        first -= 1
        if _any_in("denies", found[first].words(words)):
            return False
    own = words[min(found[first].places, default=0) :]
    if (own[0] == "to" and own[1] != "date") or (not denied and _is_spoken_of(own)):
        return False
    read: list[str] = []
    for k, clause in enumerate(found):
        own = clause.words(words)
        if k < first or (k > last and (denied or _is_aside(words, clause, own))):
            if _any_in("conditions", (clause.opener, *own)):
                return False
            continue
        if any(not (words[i] in names or _may_stand(words, i, denied=denied)) for i in clause.places):
            return False
        if clause.opener in ("until", "before"):
            return False
        if own and clause.places[0] > end and not denied and _denies(clause.opener, own):
            return False
        read += own
    text = " ".join(read)
    return not _phrases("left_open").search(text) and (denied or not _phrases("taken_back").search(text))


def _is_set_apart(words: Sequence[str], start: int, end: int, opener: str) -> bool:
    """Tell if a sentence asks, supposes, has a heading of doubt, or sets two names against what it goes on to say."""
    heading = [w.lower() for w in words[: words.index(":")]] if ":" in words[1:4] else []
    if is_in("inverts", words[0]) or "?" in _until_stop(words[end:]) or not all(map(is_known, heading)):
        return True
    if opener in ("although", "though", "while"):
        # "although A was reported to bind B"
        return bool(_REPORTED & set(words[:end]))
    return opener == "unlike" and "," in words[start:end]


def _denies(opener: str, own: Sequence[str]) -> bool:
    """Tell if a clause after both names denies, and is not of when or why: "when C is not there"."""
    if opener in ("when", "because", "since") or not _any_in("denies", own):
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
    doubted = not affirmed or _any_in("denies", following)
    linked = any(is_finite(words, i) for i in range(start + 1, end))
    for i in range(start if linked else end):
        before = words[i - 1] if i else ""
        noun = next((w for w in words[i + 1 : i + 3] if w not in ("a", "an", "the")), "")
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
    if any(w.startswith(("mechanis", "function")) for w in rest[: _FIRST + 1]):
        # "but the mechanism is unclear"
        return True
    if _REFERS & set(rest[:_FIRST]):
        return False
    question = next((i for i, w in enumerate(rest) if w in _ASKS), len(rest))
    if question < len(rest):
        # "but how it acts is unclear"
        return not any(w in _REFERS or is_in("said_before", w) for w in rest[question:])
    if rest[0] in ("it", "they") or is_finite(["", *rest], 1):
        # "but does not bind C": something else is said of the same subject.
        return any(map(_relates, rest))
    return any(map(is_symbol, own))


def _may_stand(words: Sequence[str], at: int, *, denied: bool) -> bool:
    word, before, following = words[at], words[max(0, at - _NEAR) : at], words[at + 1 : at + 3]
    if is_in("looked_at", word):
        # Of which things were looked at: "in the samples tested", "the analysed samples".
        if following[:1] == ["that"]:
            return True
        if before[-1:] == ["we"] or is_in("auxiliaries", "".join(before[-1:])):
            return False
        return before[-1:] in (["the"], ["all"], ["any"]) or not following or following[0] in (*".,;", *_AFTER_SAMPLES)
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
    return _any_in("denies", before) and (is_in("no_denial", word) or is_in("undoubts", word))


def _relates(word: str) -> bool:
    return bool(pattern_of_list("cues", "relates").match(word))


@lru_cache(100_000)
def is_known(word: str) -> bool:
    """Tell if a word is a name, a number, one by which papers assert, or one that has the form of a term."""
    if len(word) < _SHORT or not word.isalpha() or is_symbol(word):
        return word not in words_of_list("licences", "barred")
    if _is_barred(word):
        return False
    listed = words_of_list("licences", "words")
    return has_form_of_term(word) or key_of(word) in listed or (word.endswith("ly") and key_of(word[:-2]) in listed)


@lru_cache(100_000)
def _is_barred(word: str) -> bool:
    return word in words_of_list("licences", "never") or key_of(word) in _barred()


@cache
def _barred() -> frozenset[str]:
    return frozenset(map(key_of, words_of_list("licences", "barred")))


def _is_name(word: str, before: Sequence[str], following: Sequence[str]) -> bool:
    """Tell if an unknown word stands where names do: "treated with diazinon", "diazinon treatment", "uveo-retinal"."""
    if _is_barred(word) or word.endswith(_NO_NAMES):
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
