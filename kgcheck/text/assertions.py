"""Assertion status of a statement about two names: stated, denied, left open, or apart."""

import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from kgcheck.text.clauses import ONE, TWO, clause_of_pair, is_finite
from kgcheck.text.licences import is_licensed
from kgcheck.text.tokens import tokenize
from kgcheck.text.words import is_in

_LIST = frozenset((",", "and", "or", "/", "-", "nor", "both", "either", "(", ")", "as", "well", "the"))
_BEFORE, _AFTER = 9, 8
"""Words before and after two names among which a word of relation belongs to them."""

_OBJECT = 9
"""Words after a denial within which its object is, of two of a kind."""

_LONGEST = 1_000
"""Most words of a sentence that is read; of a longer one nothing is told, and time would grow with its square."""

_SUBJECTLESS = frozenset(("not", "n't", "cannot", "never", "fails", "failed", "fail"))
_SMALL = frozenset(("not", "n't", "never", "any", "be", "been"))
_BE = frozenset("is are was were be been has have".split())
_COMPLEMENTS = (["in"], ["from"], ["of"], ["by"], ["for"])
"""Prepositions that follow an adjective of denial: "absent from", "negative for"."""


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
    """Tell what a sentence does with the statement that two names are in a relation.

    Args:
        sentence: A sentence.
        one: Where the one name is.
        two: Where the other is.
        relates: Words of the relation, matched from their beginning.
        unlike: The two are of different kinds, such as a gene and a disease.
    """
    words = pair_words(sentence, one, two)
    if ONE not in words or TWO not in words or len(words) > _LONGEST:
        return PairReading(Assertion.APART, ())
    clause = clause_of_pair(words)
    if not clause:
        return PairReading(Assertion.APART, ())
    assertion = _Pair(clause, relates, unlike=unlike).assertion()
    if assertion is not Assertion.APART:
        denied = assertion is Assertion.DENIED
        assertion = assertion if is_licensed(words, _proper_names(sentence), denied=denied) else Assertion.OPEN
    return PairReading(assertion, tuple(clause))


def _proper_names(sentence: str) -> frozenset[str]:
    """Words that are written with a capital within a sentence; none where most are, as in a title."""
    tokens = [token for token in tokenize(sentence) if token.word.isalpha()]
    names = [token.word for token in tokens[1:] if sentence[token.start].isupper()]
    return frozenset(names) if len(names) * 3 < len(tokens) else frozenset()


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


class _Pair:
    """Two names in a clause, the words of relation and the denials that reach them."""

    def __init__(self, clause: Sequence[str], relates: re.Pattern[str], *, unlike: bool) -> None:
        self._clause = clause
        self._relates = relates
        self._unlike = unlike
        self._a, self._b = sorted((clause.index(ONE), clause.index(TWO)))
        between = clause[self._a + 1 : self._b]
        self._listed = all(w in _LIST for w in between)

    def assertion(self) -> Assertion:
        alias = not self._unlike and self._b == self._a + 1
        if alias or "respectively" in self._clause or self._is_left_out() or self._is_place():
            return Assertion.APART
        denials = [i for i, word in enumerate(self._clause) if is_in("denies", word) and self._is_denial(i)]
        if denials[:1] == [0] and self._clause[0] in _SUBJECTLESS:
            # The subject of a clause that begins so is left out, and is neither of the two.
            return Assertion.APART
        reach = [i for i in denials if self._reaches(i)]
        if not reach:
            stated = self._linked(self._relates.match) and not self._only_named()
            return Assertion.STATED if stated else Assertion.APART
        if len(reach) > 1:
            return Assertion.STATED if self._turns_back(reach) else Assertion.APART
        return Assertion.DENIED if self._is_plain(reach[0]) else Assertion.APART

    def _only_named(self) -> bool:
        """Tell if a relation is spoken of and not stated: "little is known of the role of A in B"."""
        clause, a, b = self._clause, self._a, self._b
        if any(is_finite(clause, i) for i in range(a + 1, b)):
            return False
        nouns = [w for w in clause[max(0, a - _BEFORE) : b] if is_in("abstract", w)]
        return bool(nouns) and not any(is_in("affirms", w) for w in clause)

    def _is_place(self) -> bool:
        """Tell if the first name is only where something else does a thing to the second: "in A, C lowered B"."""
        clause, a, b = self._clause, self._a, self._b
        if clause[0] not in ("in", "within", "among") or "," not in clause[a:b]:
            return False
        start = clause.index(",", a) + 1
        verb = next((i for i in range(start, b) if is_finite(clause, i)), start)
        return verb > start and not is_in("pronouns", clause[start])

    def _is_left_out(self) -> bool:
        """Tell if the second name is told to be away: "in people without B"."""
        clause = self._clause
        near = range(max(self._a, self._b - 4), self._b)
        away = [i for i in near if is_in("takes_away", clause[i]) and clause[i - 1] not in (*_BE, "by", "to", "from")]
        excluded = ("including", "excluding", "counting")
        return bool(away) or any(
            self._clause[i] in excluded and is_in("denies", self._clause[i - 1])
            for place in (self._a, self._b)
            for i in range(max(1, place - 3), place)
        )

    def _is_denial(self, at: int) -> bool:
        clause, word = self._clause, self._clause[at]
        before, following = clause[at - 1] if at else "", clause[at + 1 : at + 4]
        if any(is_in("no_denial", w) for w in following[:2]):
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
            return any(is_in("argues", w) for w in clause[max(0, at - 4) : at])
        if is_in("equals", word):
            versus = word == "equally" or {before, *clause[max(0, at - 3) : at]} & _BE
            return self._unlike and bool(versus) and following[:1] != ["to"] and any(is_in("others", w) for w in clause)
        if word in ("rule", "ruled"):
            return "out" in following
        if word.startswith("independent"):
            return self._is_independent(at) or (following[:1] == ["of"] and (self._a < at or is_in("denies", before)))
        if word == "unrelated":
            return following[:1] == ["to"] or before in _BE
        if word == "nor":
            return not any(w in ("neither", "not", "no") for w in clause[:at])
        return True

    def _is_independent(self, at: int) -> bool:
        """Tell if a word says that something goes without one of the two: "A-independent", "independently of A"."""
        before, after = self._clause[max(0, at - 2) : at], self._clause[at + 1 : at + 3]
        without = any(before == [mark, "-"] or after == ["of", mark] for mark in (ONE, TWO))
        return without and self._clause[at].startswith("independent")

    def _reaches(self, at: int) -> bool:
        """Tell if a denial reaches what is said of the two."""
        clause, a, b = self._clause, self._a, self._b
        if at < a or self._is_independent(at):
            return True
        if at < b:
            return not self._listed or clause[at] in ("not", "nor", "no", "without")
        if is_in("forward", clause[at]):
            # "Screening of A in B revealed no mutations"
            follows = clause[at + 1 : at + 4]
            compared = self._unlike and any(is_in("more", w) for w in follows[:1])
            found = is_in("finds", clause[at - 1]) and any(is_in("relates_denied", w) for w in follows)
            return compared or (found and not any(is_finite(clause, i) for i in range(a + 1, b)))
        if any(is_finite(clause, i) for i in range(a + 1, b)):
            return False
        # "Binding of A to B did not alter growth" denies nothing of the two.
        follows = clause[at + 1 : at + 5]
        other = any(is_in("something_else", w) for w in follows[:2]) or clause[at + 1 : at + 2] == ["of"]
        return self._listed or not other or any(is_in("observed", w) for w in follows[:1])

    def _turns_back(self, reach: Sequence[int]) -> bool:
        """Tell if one denial takes back another: "not independent of", "no study failed to"."""
        words = [self._clause[i] for i in reach]
        outright = ("not", "n't", "no", "nor", "excluded", "ruled")
        return len(words) == 2 and words[1] not in outright and self._linked(self._is_relation)

    def _is_plain(self, at: int) -> bool:
        """Tell if a denial is outright, and of the relation of the two."""
        clause, a, b = self._clause, self._a, self._b
        if at < a and self._is_independent(at):
            return False
        near = clause[max(0, min(a, at) - 5) : max(b, at) + 6]
        follows = clause[at + 1 : at + 5]
        qualifies = "partly" if self._unlike else "qualifies"
        if any(is_in(qualifies, w) for w in (follows if self._unlike else near)) or clause[at - 1 : at] == ["or"]:
            return False
        if any(w in ("absence", "without", "unless", "except") for w in near if w != clause[at]):
            return False
        if clause[b + 1 : b + 2] == ["-"] or (
            not self._unlike and clause[b + 1 : b + 2] == ["of"] and clause[b - 1] != "-"
        ):
            return False
        if at > b:
            return self._denied_after(at)
        return (self._denied_before(at) if at < a else self._denied_between(at)) and self._linked(self._is_relation)

    def _denied_before(self, at: int) -> bool:
        """Tell if a denial before both is of their relation: "no binding of A to B was seen"."""
        clause, a, b = self._clause, self._a, self._b
        reach = clause[at + 1 : a]
        effect = any(w == "on" and is_in("effects", reach[i - 1]) for i, w in enumerate(reach) if i)
        if effect or any(self._is_other_verb(w) for w in reach) or ("between" in reach and "and" not in clause[a:b]):
            return False
        verb = next((i for i in range(a + 1, b) if is_finite(clause, i)), 0)
        if verb:
            outright = is_in("forward", clause[at]) or clause[at] in ("unlikely", "nor") or "that" in reach
            return not is_in("takes_away", clause[at]) and (self._unlike or outright)
        if not self._unlike and "in" in clause[a:b]:
            return False
        ends = next((i for i in range(b + 1, len(clause)) if is_finite(clause, i)), 0)
        return not ends or self._is_seen(ends)

    def _denied_between(self, at: int) -> bool:
        """Tell if a denial between both is of their relation: "A does not bind B"."""
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
        if self._unlike:
            return True
        apart = "," in clause[at:b] or "in" in clause[b - 2 : b] or "of" in clause[at : b - 2]
        return b - at <= _OBJECT and not apart

    def _denied_after(self, at: int) -> bool:
        """Tell if a denial after both is of their relation: "binding of A to B was not seen"."""
        clause = self._clause
        if self._listed:
            follows = clause[at : at + 5]
            return any(is_in("mutual", w) for w in follows) and not {"with", "to"} & set(follows)
        return self._is_seen(at) and self._linked(self._is_relation)

    def _is_seen(self, at: int) -> bool:
        """Tell if what is said from a place on is no more than that a thing is seen, or not."""
        rest = [w for w in self._clause[at:] if not (is_in("auxiliaries", w) or w.endswith("ly") or w in _SMALL)]
        return (
            bool(rest) and is_in("observed", rest[0]) and rest[1:2] not in (["with"], ["to"], ["by"], ["of"], ["that"])
        )

    def _is_other_verb(self, word: str) -> bool:
        """Tell if a word is a verb of something else than relation and finding."""
        if is_in("something_else", word):
            return True
        return is_in("verbs", word) and not (self._is_relation(word) or is_in("observed", word) or is_in("finds", word))

    def _is_relation(self, word: str) -> bool:
        return bool(self._relates.match(word)) or is_in("relates_denied", word)

    def _linked(self, matches: Callable[[str], object]) -> bool:
        """Tell if a word of relation stands where it belongs to both names."""
        clause, a, b = self._clause, self._a, self._b
        if any(matches(w) for w in clause[a + 1 : b]):
            return True
        before = [i for i in range(max(0, a - _BEFORE), a) if matches(clause[i])]
        after = [i for i in range(b + 1, min(len(clause), b + _AFTER)) if matches(clause[i])]
        if self._listed:
            together = {"between", "of", "by"} & set(clause[max(0, a - 4) : a])
            mutual = [i for i in before if is_in("mutual", clause[i]) or clause[i].endswith(("mer", "mers"))]
            joined = [i for i in after if is_in("mutual", clause[i]) or clause[i].endswith(("mer", "mers", "ed"))]
            return bool((mutual and together) or joined)
        return bool(before or after)
