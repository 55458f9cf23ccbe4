"""Read the edges that a sentence states or denies between named nodes.

Only plain statements are read: who, a word that relates, and whom, with nothing between that this module does not know.
A question, a hedge, what was tested, what others claim, and what is said of a part of a thing state nothing.
"""

import re
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise, product
from typing import NamedTuple

from kgcheck.grounding.facts.named import NamedThing, StatementWords, beginning, statement_words, without_marks
from kgcheck.profile.claims import ClaimForm

_TOKEN = re.compile(r"\u00a7\d+|(?<=\s)'s\b|n't\b|[^\W_]+(?:[-'.][^\W_]+)*|[^\s\w]")
_JOINED = re.compile(r"(\u00a7\d+) (?:together|along) with ")
_BRACKET = re.compile(r"\([^()]{0,200}\)")
LONGEST = 1_500  # characters of a sentence; a longer one is no sentence
_MOST_THINGS = 40
_ASIDE = 14  # words of what is told beside
_GROUP = 6  # things that stand beside each other in a list and are all meant; of more, none is


class NameGroup(NamedTuple):
    """Names in a list, by their places; none where they are part of other things, or too many."""

    begin: int
    end: int
    things: tuple[int, ...]

    @property
    def halves(self) -> tuple["NameGroup", "NameGroup"]:
        return self._replace(things=self.things[:1]), self._replace(things=self.things[1:])


_JOINS = frozenset((",", "and", "or", "nor", "/"))
_WITHIN = ("in", "within", "inside", "at")  # words with which what is somewhere goes on
_AFTERWARDS = 6  # words behind the second name that belong to the statement: "B is where A resides"


class Statement(NamedTuple):
    """Two groups of things, by their places, that a sentence relates."""

    ones: tuple[int, ...]
    twos: tuple[int, ...]
    denied: bool
    aspect: bool


class Stretch(NamedTuple):
    """Contribution of a stretch of words to a statement: those that relate, and how often it is denied."""

    cues: tuple[str, ...] = ()
    denials: int = 0
    partial: bool = False
    aspect: bool = False
    equates: bool = False  # by a verb that makes of one side what the other is, or has: is, includes

    def joined(self, other: "Stretch") -> "Stretch":
        either = (one or two for one, two in zip(self[2:], other[2:], strict=True))
        return Stretch(self.cues + other.cues, self.denials + other.denials, *either)


# Lists of words that may stand around a name.
_SMALL = ("determiners", "kinds", "aspects", "aspect_links", "prepositions")
_LONGEST_PREDICATE = 14  # words between two names that belong to one statement


class Grammar:
    """The constructions in which one form is stated: "A binds B", "A and B interact", "no binding of A to B".

    Each reads two groups of names that stand next to each other, and every word that belongs to what is stated of them:
    one that is not known, and nothing is read.
    """

    def __init__(self, form: ClaimForm, words: StatementWords) -> None:
        self._words = words
        cues = [f"{cue}*" for cue in form.cues if " " not in cue]
        cues += [f"{word}*" for cue in form.cues for word in words.same.get(cue, ())]
        self._cue = beginning(cues) if cues else None
        self._denying = {w for w, cues in words.denying.items() if any(c.startswith(tuple(cues)) for c in form.cues)}
        self._locates = any(cue.startswith(("locat", "present")) for cue in form.cues)
        self._possessed = any(cue.startswith("activit") for cue in form.cues)

    def statements(self, tokens: Sequence[str], heads: Set[int], tails: Set[int]) -> Iterator[Statement]:
        """Find what a sentence states, as far as this form has words for it."""
        if self._cue is None or not (self._locates or any(self._is_cue(token) for token in tokens)):
            return
        groups = list(self._groups(tokens, heads, tails))
        for place, group in enumerate(groups):
            if len(group.things) == 2:
                yield from self._mutually(tokens, group)
            if place + 1 < len(groups) and group.things and groups[place + 1].things:
                following = groups[place + 1]
                yield from self._clause(tokens, group, groups[place + 1 :], alike=heads == tails)
                yield from self._fronted(tokens, group, following)
                yield from self._possessive(tokens, group, following)
                yield from self._found_in(tokens, group, following)
        yield from self._nominal(tokens, groups)
        for at in range(len(tokens)):
            yield from self._compound(tokens, at)

    # A binds B; the partners of A include B; B is where A resides

    def _clause(
        self, tokens: Sequence[str], one: NameGroup, rest: Sequence[NameGroup], *, alike: bool
    ) -> Iterator[Statement]:
        two, subject = rest[0], self._subject_of(tokens, one)
        if subject is None:
            return
        begin, before = subject
        first = self._past(tokens, one.end, "aspects", "kinds")
        if list(tokens[first : first + 2]) in ([",", "which"], [",", "who"]):
            first += 2
        elif tokens[first : first + 1] in (["which"], ["that"]):
            first += 1
        if not first < two.begin or two.begin - first > _LONGEST_PREDICATE:
            return
        is_noun = self._is(tokens[first], "nouns") and self._is(tokens[first + 1], "prepositions")
        if is_noun or self._is(tokens[first], "prepositions"):
            # "A in B", "A localization of B": no verb.
            return
        between = self._stretch(tokens, first, two.begin)
        last = max(first, self._before(tokens, two.begin, "determiners", "kinds"))
        if between is None or (last > first and tokens[last - 1] in _JOINS):
            # "A binds them, and B"
            return
        if alike and before.cues and not (between.equates and all(self._is(c, "equating") for c in between.cues)):
            # "Partners of A bind B": it is they that do.
            return
        if between.denials and tokens[first - 1] == "that":
            # "A that does not bind B": some of it.
            return
        if alike and any(self._is_object(tokens, first, at) for at in range(first, two.begin)):
            # "A inhibits binding of B": to something else.
            return
        end, after = self._after(tokens, two.end)
        if tokens[:begin] == ["that"] and any(self._is(t, "negations") for t in tokens[end:]):
            # "That A binds B is not true."
            return
        if before.cues and not between.cues and not between.equates:
            return
        read = before.joined(between)
        if not self._may_follow(tokens, end) or not read.cues:
            behind = self._behind(tokens, two.end) if between.equates else None
            if behind is None:
                return
            end, more = behind
            read = read.joined(more)
        aspect = after or self._has_aspect(tokens, one.end) or self._has_aspect(tokens, two.end)
        read = read._replace(aspect=read.aspect or aspect)
        stated = list(self._stated(tokens, (begin, end), one, two, read))
        yield from stated
        if stated:
            yield from self._further(tokens, begin, one, rest, read)

    def _is_object(self, tokens: Sequence[str], first: int, at: int) -> bool:
        """Recognise a noun that another word does something to: "inhibits the binding of"."""
        if not (at > first and self._is(tokens[at], "nouns") and self._is_cue(tokens[at]) and tokens[at + 1] == "of"):
            return False
        verbs = [t for t in tokens[first:at] if self._is(t, "changing") or not self._is(t, "nouns")]
        return any(self._is(t, "changing") or self._is_cue(t) for t in verbs)

    def _subject_of(self, tokens: Sequence[str], one: NameGroup) -> tuple[int, Stretch] | None:
        """Find where a subject begins whose name a group is, and what it adds; None where it is none."""
        begin, aspect = self._subject(tokens, one.begin)
        if begin is not None:
            matrix = self._matrix(tokens, begin)
            return None if matrix is None else (begin, Stretch(denials=matrix, aspect=aspect))
        place = one.begin
        while place and one.begin - place < _LONGEST_PREDICATE and self._is_known_or_relates(tokens[place - 1]):
            place -= 1
        while 0 < place < one.begin and not self._is(tokens[place - 1], "openings"):
            place += 1
        read = self._stretch(tokens, place, one.begin) if place < one.begin else None
        matrix = self._matrix(tokens, place)
        before = self._before(tokens, one.begin, *_SMALL)
        if read is None or matrix is None or (before == one.begin and not self._is_cue(tokens[before - 1])):
            return None
        # What is part of a name for a thing relates nothing: "susceptibility to B depends on A".
        cues = tuple(cue for cue in read.cues if not self._is(cue, "kinds_of_terms"))
        return place, read.joined(Stretch(denials=matrix))._replace(cues=cues)

    def _further(
        self, tokens: Sequence[str], begin: int, one: NameGroup, rest: Sequence[NameGroup], read: Stretch
    ) -> Iterator[Statement]:
        """Read what a second verb adds, or "but not"."""
        for earlier, later in pairwise(rest):
            words = [at for at in range(earlier.end, later.begin) if tokens[at] != ","]
            if not later.things or len(words) < 2 or tokens[words[0]] not in ("but", "and"):
                return
            end, after = self._after(tokens, later.end)
            if not self._may_follow(tokens, end):
                return
            first = words[1]
            if tokens[first] == "not" and self._stretch(tokens, first + 1, later.begin) == Stretch():
                turned = read._replace(denials=1 - read.denials)
                yield from self._stated(tokens, (begin, end), one, later, turned)
                continue
            added = self._stretch(tokens, first, later.begin)
            if added is None or not added.cues or self._is(tokens[first], "prepositions"):
                return
            added = added._replace(aspect=added.aspect or read.aspect or after)
            yield from self._stated(tokens, (begin, end), one, later, added)

    # In B, A is expressed

    def _fronted(self, tokens: Sequence[str], one: NameGroup, two: NameGroup) -> Iterator[Statement]:
        begin = one.begin
        while begin and self._is_known(tokens[begin - 1]) and not self._is(tokens[begin - 1], "stops"):
            begin -= 1
        if tokens[begin] not in (*_WITHIN, "during", "throughout", "for", "among"):
            return
        if begin and not self._is(tokens[begin - 1], "openings"):
            return
        first, last = self._after(tokens, one.end)[0], self._past(tokens, two.end, "aspects", "kinds")
        if tokens[first : first + 1] != [","] or self._matrix(tokens, begin) is None:
            return
        between, behind = self._stretch(tokens, first + 1, two.begin), self._behind(tokens, last)
        if between is None or behind is None or (between.cues and not self._found(tokens, last)):
            return
        read = between.joined(behind[1])
        aspect = read.aspect or self._has_aspect(tokens, two.end)
        yield from self._stated(tokens, (begin, behind[0]), one, two, read._replace(aspect=aspect))

    # A and B interact

    def _mutually(self, tokens: Sequence[str], pair: NameGroup) -> Iterator[Statement]:
        begin, aspect = self._subject(tokens, pair.begin)
        if begin is None or aspect or self._has_aspect(tokens, pair.end):
            return
        matrix, end, mutual = self._matrix(tokens, begin), pair.end, self._words.mutual
        while end < len(tokens) and not self._is(tokens[end], "stops"):
            if tokens[end] in ("with", "to", "of") and tokens[end + 1 : end + 3] != ["each", "other"]:
                return
            end += 1
            if mutual.match(tokens[end - 1]) and not (end < len(tokens) and mutual.match(tokens[end])):
                break
        read = self._stretch(tokens, pair.end, end)
        if matrix is None or read is None or not any(mutual.match(c) for c in read.cues):
            return
        if tokens[end : end + 3] in (["with", "each", "other"], ["to", "each", "other"]):
            end += 3
        if tokens[end : end + 1] != ["together"] and not self._may_follow(tokens, end):
            return
        if tokens[end : end + 1] in (["with"], ["to"], ["-"], ["of"]):
            return
        one, two = pair.halves
        yield from self._stated(tokens, (begin, end), one, two, read._replace(denials=read.denials + matrix))

    # We detected A in B

    def _found_in(self, tokens: Sequence[str], one: NameGroup, two: NameGroup) -> Iterator[Statement]:
        """A verb before both, of people, studies or what relates, and a preposition between the two things."""
        if one.end == two.begin:
            return
        begin = self._before(tokens, one.begin, *_SMALL)
        if not begin or self._is(tokens[begin - 1], "prepositions") or tokens[one.end] in ("and", ","):
            return
        place = begin
        while place and self._is_known_or_relates(tokens[place - 1]) and not self._is(tokens[place - 1], "stops"):
            if tokens[place - 1] in ("that", "which", "and", "but"):
                break
            place -= 1
        if place and not self._is(tokens[place - 1], "stops") and tokens[place - 1] not in ("that", "and", "but"):
            return
        subject = tokens[place : begin - 1]
        if not any(self._is(t, "people") or (self._is(t, "nouns") and self._is_cue(t)) for t in subject):
            return
        small = self._past(tokens, one.end, *_SMALL) == two.begin
        if not (small and self._is_cue(tokens[begin - 1])) and "as" not in tokens[one.end : two.begin]:
            return
        end, aspect = self._after(tokens, two.end)
        matrix, read = self._matrix(tokens, place), self._stretch(tokens, place, begin)
        between = self._stretch(tokens, one.end, two.begin)
        if matrix is not None and read is not None and between is not None and self._may_follow(tokens, end):
            read = read.joined(between).joined(Stretch(denials=matrix, aspect=aspect))
            yield from self._stated(tokens, (place, end), one, two, read)

    # By a noun: only where it was found, or not, is anything stated

    def _nominal(self, tokens: Sequence[str], groups: Sequence[NameGroup]) -> Iterator[Statement]:
        """A noun that relates what follows it: "no binding of A to B", "an association was found between A and B"."""
        at_place = {group.begin: number for number, group in enumerate(groups)}
        for at, token in enumerate(tokens):
            if not (self._is(token, "nouns") and self._is_cue(token)) or (at and _is_thing(tokens[at - 1])):
                continue
            found = self._found(tokens, at + 1)
            link = found or at + 1
            if link >= len(tokens) or tokens[link] not in ("between", "of", "for", "by", "with", "in", "to"):
                continue
            first = self._past(tokens, link, *_SMALL)
            one = groups[at_place[first]] if first in at_place else None
            if one is None or not one.things:
                continue
            if len(one.things) == 2 and (tokens[link] == "between" or not self._leads_on(tokens, one.end)):
                yield from self._related(tokens, (at, first), *one.halves, one.end, is_found=bool(found))
                continue
            second = self._past(tokens, one.end, *_SMALL)
            if tokens[link] == "between" and tokens[second : second + 1] == ["and"]:
                second = self._past(tokens, second + 1, *_SMALL)
            if second in at_place and groups[at_place[second]].things and self._leads_on(tokens, one.end):
                two = groups[at_place[second]]
                yield from self._related(tokens, (at, first), one, two, two.end, is_found=bool(found))

    def _possessive(self, tokens: Sequence[str], one: NameGroup, two: NameGroup) -> Iterator[Statement]:
        """In "A's role in B is established", and in "A expression in B was seen"."""
        if self._possessed and tokens[one.end] == "of" and self._past(tokens, one.end, *_SMALL) == two.begin:
            # "The activity of A is known": the name itself is the noun.
            begin = self._before(tokens, one.begin, *_SMALL)
            yield from self._related(tokens, (one.begin, one.end), one, two, two.end, begin=begin, cues=("has",))
            return
        first = one.end + (tokens[one.end] == "'s")
        noun = next((at for at in range(first, two.begin) if self._is(tokens[at], "nouns")), -1)
        if noun < 0 or not self._is_cue(tokens[noun]) or self._past(tokens, noun + 1, *_SMALL) != two.begin:
            return
        subject, _ = self._subject(tokens, one.begin)
        if subject is None and not self._before_noun(tokens, one.begin)[2]:
            return
        if all(self._is(t, "auxiliaries", "noun_modifiers") for t in tokens[first:noun]):
            place = one.begin if subject is None else subject
            yield from self._related(tokens, (noun, two.begin), one, two, two.end, begin=place)

    def _compound(self, tokens: Sequence[str], at: int) -> Iterator[Statement]:
        """In "the A-B interaction was confirmed"."""
        if not (self._is(tokens[at], "nouns") and self._is_cue(tokens[at])) or at < 3:
            return
        if tokens[at - 2] in ("-", "/") and _is_thing(tokens[at - 1]) and _is_thing(tokens[at - 3]):
            one, two = (NameGroup(n, n + 1, (_thing_at(tokens[n]),)) for n in (at - 3, at - 1))
            yield from self._related(tokens, (at, at + 1), one, two, at + 1, begin=at - 3)

    def _related(
        self,
        tokens: Sequence[str],
        stretch: tuple[int, int],
        one: NameGroup,
        two: NameGroup,
        end: int,
        *,
        begin: int | None = None,
        is_found: bool = False,
        cues: tuple[str, ...] = (),
    ) -> Iterator[Statement]:
        """State what a noun says of two things, where it was found, or not found."""
        begin, denied, finding = self._before_noun(tokens, stretch[0] if begin is None else begin)
        read = Stretch(cues) if cues else self._stretch(tokens, *stretch)
        matrix = self._matrix(tokens, begin)
        end, aspect = self._after(tokens, end)
        found = self._found(tokens, end)
        if read is None or matrix is None or not (found or finding or is_found):
            return
        behind = tokens[end : found or end]
        if self._is_clouded(behind) or not self._may_follow(tokens, found or end):
            return
        between = tokens[one.end : two.begin]
        aspect = aspect or any(self._is(t, "aspects") and not self._is(t, "kinds") for t in between)
        denied += matrix + sum(self._is(t, "negations") for t in behind)
        read = read.joined(Stretch(denials=denied, aspect=aspect))
        yield from self._stated(tokens, (begin, found or end), one, two, read)

    def _before_noun(self, tokens: Sequence[str], at: int) -> tuple[int, int, bool]:
        """Find where what is said of a noun begins, how often it is denied there, and if it was found."""
        denied, is_found = 0, False
        while at:
            token = tokens[at - 1]
            if not is_found and (self._is(token, "noun_modifiers", "negations") or token in ("lack", "absence")):
                denied += self._is(token, "negations") or token in ("absence",)
            elif self._is(token, "finding"):
                is_found = True
            elif is_found and (
                self._is(token, "negations", "people") or token in ("did", "could", "have", "has", "there", "was")
            ):
                denied += self._is(token, "negations")
            else:
                break
            at -= 1
        return at, denied, is_found

    def _found(self, tokens: Sequence[str], at: int) -> int:
        """Find the end of "was not observed" and the like that begins at a place; 0 where there is none."""
        for place, token in enumerate(tokens[at : at + 8], at):
            if self._is(token, "found") and place > at:
                return place + 1
            others = ("could", "exists", "exist", "beyond", "by", "now", "without")
            if not (self._is(token, "auxiliaries", "negations") or token in others):
                break
        return 0

    # Stretches of words

    def _stretch(self, tokens: Sequence[str], first: int, last: int) -> Stretch | None:
        """Read what some words add; None where one of them is not known, or leaves it open."""
        cues: list[str] = []
        denials, partial, aspect, equates = 0, False, False, False
        at = first
        while at < last:
            token, following = tokens[at], (*tokens[at + 1 : at + 2], "")[0]
            if self._words.clouding.match(token) and not self._is_cue(token):
                return None
            if self._is_cue(token):
                denials += token in self._denying
                cues.append(token)
            elif self._is(token, "negations"):
                if self._is(following, "no_denials"):
                    at += 2
                    continue
                if self._is(following, "unsure_denials"):
                    return None
                denials += 1
            elif self._locates and self._is(token, "equating") and following in _WITHIN:
                cues.append("located")
            elif not self._is_known(token):
                return None
            partial = partial or self._is(token, "partial")
            aspect = aspect or (self._is(token, "aspects") and not self._is(token, "kinds"))
            equates = equates or self._is(token, "equating")
            at += 1
        return Stretch(tuple(cues), denials, partial, aspect, equates)

    def _stated(
        self, tokens: Sequence[str], place: tuple[int, int], ones: NameGroup, twos: NameGroup, read: Stretch
    ) -> Iterator[Statement]:
        """A statement of two groups, where it is affirmed, or denied of both as such."""
        if not read.cues or read.denials > 1:
            return
        if read.denials:
            # A denial is of both things as such, by a word whose denial says that they are unrelated.
            beside = [*tokens[max(0, place[0] - 8) : place[0]], *tokens[place[1] : place[1] + 8]]
            conditional = any(self._words.conditions.match(token) for token in beside)
            telling = [cue for cue in read.cues if not self._is(cue, "aspects")]
            if read.partial or conditional or any(self._words.undeniable.match(cue) for cue in telling):
                return
        pairs = [(ones.things, twos.things)]
        if "respectively" in tokens[place[1] : place[1] + 3]:
            if len(ones.things) != len(twos.things):
                return
            pairs = [((one,), (two,)) for one, two in zip(ones.things, twos.things, strict=True)]
        for first, second in pairs:
            yield Statement(first, second, bool(read.denials), read.aspect)

    def _matrix(self, tokens: Sequence[str], begin: int) -> int | None:
        """Count the denials that a statement depends on ("no evidence that"); None where it is left open."""
        if self._is_clouded(tokens[:begin]):
            return None
        if begin and tokens[begin - 1] == "neither":
            return 1
        before = tokens[max(0, begin - 8) : begin]
        if not before or before[-1] not in ("that", "for", "of", "no"):
            return 0
        denials = [at for at, token in enumerate(before) if self._is(token, "negations")]
        if not denials:
            return 0
        if before[-1] == "no":
            return 1
        return 1 if any(self._is(token, "evidence") for token in before[denials[0] :]) else None

    def _behind(self, tokens: Sequence[str], at: int) -> tuple[int, Stretch] | None:
        """Read what stands behind the second name up to the end of the clause, where it belongs to the statement."""
        end = next((n for n in range(at, len(tokens)) if self._is(tokens[n], "stops")), len(tokens))
        read = self._stretch(tokens, at, end) if 0 < end - at <= _AFTERWARDS else None
        return (end, read) if read else None

    # What stands beside names

    def _is(self, token: str, *lists: str) -> bool:
        return any(token in self._words.lists[name] for name in lists)

    def _past(self, tokens: Sequence[str], at: int, *lists: str) -> int:
        """The place behind the words of some lists that stand from a place on."""
        while at < len(tokens) and self._is(tokens[at], *lists):
            at += 1
        return at

    def _before(self, tokens: Sequence[str], at: int, *lists: str) -> int:
        """The place where the words of some lists begin that stand up to a place."""
        while at and self._is(tokens[at - 1], *lists):
            at -= 1
        return at

    def _is_cue(self, token: str) -> bool:
        return bool(self._cue and self._cue.match(token)) or token in self._denying

    def _is_known(self, token: str) -> bool:
        """Tell whether a word may stand in a statement and changes nothing."""
        return token in self._words.known or token.endswith("ly")

    def _is_known_or_relates(self, token: str) -> bool:
        return self._is_known(token) or self._is_cue(token) or self._is(token, "negations")

    def _leads_on(self, tokens: Sequence[str], at: int) -> bool:
        """Tell whether a second thing follows the first, behind "with", "to", "and" or "in"."""
        at = self._past(tokens, at, "aspects", "kinds")
        return at < len(tokens) and (tokens[at] == "and" or self._is(tokens[at], "prepositions"))

    def _groups(self, tokens: Sequence[str], heads: Set[int], tails: Set[int]) -> Iterator[NameGroup]:
        """The lists of names of a sentence, in order."""
        at = 0
        while at < len(tokens):
            if _is_thing(tokens[at]):
                group = self._group(tokens, at, heads, tails)
                yield group
                at = group.end
            else:
                at += 1

    def _group(self, tokens: Sequence[str], at: int, heads: Set[int], tails: Set[int]) -> NameGroup:
        """The things of the list that begins at a place; those between commas only are a list up to its "and"."""
        found, place = [_thing_at(tokens[at])], self._past(tokens, at + 1, "kinds")
        whole = (1, place)
        while True:
            following = place
            while following < len(tokens) and following - place < 3 and tokens[following] in _JOINS:
                following += 1
            joins = set(tokens[place:following]) - {","}
            if following > place:
                following = self._past(tokens, following, "determiners")
            if following == place or following >= len(tokens) or not _is_thing(tokens[following]):
                break
            other = _thing_at(tokens[following])
            if not joins and not any(found[0] in kind and other in kind for kind in (heads, tails)):
                # "In B, A is expressed"
                break
            found.append(other)
            place = self._past(tokens, following + 1, "kinds")
            whole = (len(found), place) if joins else whole
        count, place = whole
        is_term = found[0] in tails and found[0] not in heads
        after = self._after(tokens, place)[0] if is_term else place
        behind = tokens[after] if after < len(tokens) else ""
        # What follows a name may make it part of another thing: "A inhibitor", "A-induced".
        is_part = self._is(behind, "parts") or behind in ("-", "/") or _is_thing(behind)
        return NameGroup(at, place, tuple(found[:count]) if count <= _GROUP and not is_part else ())

    def _subject(self, tokens: Sequence[str], at: int) -> tuple[int | None, bool]:
        """Find where a subject begins whose name is at a place, if it is one, and if an aspect of it is meant."""
        place, aspect = self._before(tokens, at, "determiners", "kinds", "kinds_of_terms"), False
        if place > 1 and tokens[place - 1] in ("of", "in", "at", "for") and self._is(tokens[place - 2], "aspects"):
            place, aspect = self._before(tokens, place - 2, "determiners", "aspects", "wrapping"), True
        begins = place - 1 if place and tokens[place - 1] == "no" else place
        if not begins or self._is(tokens[begins - 1], "openings") or tokens[place - 1] in ("neither", "both"):
            return place, aspect
        return None, aspect

    def _has_aspect(self, tokens: Sequence[str], at: int) -> bool:
        return at < len(tokens) and self._is(tokens[at], "aspects", "kinds")

    def _after(self, tokens: Sequence[str], at: int) -> tuple[int, bool]:
        """Past what may follow the second name and changes nothing; whether an aspect of it is meant."""
        end = self._past(tokens, at, "kinds_of_terms", "aspects")
        return end, any(self._is(t, "aspects") for t in tokens[at:end])

    def _may_follow(self, tokens: Sequence[str], at: int) -> bool:
        return at >= len(tokens) or self._is(tokens[at], "followers")

    def _is_clouded(self, tokens: Sequence[str]) -> bool:
        return any(self._words.clouding.match(token) for token in tokens)


def _thing_at(token: str) -> int:
    return int(token[1:])


def _is_thing(token: str) -> bool:
    return token.startswith("\u00a7")


class StatedEdge(NamedTuple):
    """Edge that a sentence states or denies between two things."""

    form: ClaimForm
    head: NamedThing
    tail: NamedThing
    denied: bool


class SentenceReader:
    """Reader of sentences for statements of some forms."""

    def __init__(self, forms: Sequence[ClaimForm]) -> None:
        self._grammars = [(form, Grammar(form, statement_words())) for form in forms]

    def read(self, text: str, things: Sequence[NamedThing]) -> list[StatedEdge]:
        """List what a sentence states."""
        if len(text) > LONGEST or not 2 <= len(things) <= _MOST_THINGS or text.rstrip().endswith("?"):
            return []
        # What names everything of a kind names nothing in particular: disease, molecular function.
        named = {i: thing for i, thing in enumerate(things) if thing.text.lower() not in statement_words().general}
        tokens: dict[frozenset[int], list[str]] = {}
        found: list[StatedEdge] = []
        for form, grammar in self._grammars:
            heads = {i for i, thing in named.items() if form.head in thing.ids}
            tails = {i for i, thing in named.items() if form.tail in thing.ids}
            ends = frozenset(heads | tails)
            if not heads or not tails or len(ends) < 2:
                continue
            if ends not in tokens:
                # What is neither is a word like others: "cells need A for B".
                tokens[ends] = _tokens(text, [(i, things[i]) for i in sorted(ends)])
            for statement in grammar.statements(tokens[ends], heads, tails):
                alike = form.head == form.tail
                if alike and statement.aspect:
                    continue
                for one, two in product(statement.ones, statement.twos):
                    if one in heads and two in tails:
                        head, tail = one, two
                    elif two in heads and one in tails and not alike:
                        head, tail = two, one
                    else:
                        continue
                    if head != tail and things[head].ids.get(form.head) != things[tail].ids.get(form.head):
                        found.append(StatedEdge(form, things[head], things[tail], statement.denied))
        return found


def _tokens(text: str, things: Sequence[tuple[int, NamedThing]]) -> list[str]:
    """The words of a sentence in lower case, with a mark for each thing; what stands in brackets is left out."""
    pieces, at = [], 0
    for number, thing in things:
        pieces += [text[at : thing.start].lower(), f" \u00a7{number} "]
        at = thing.end
    joined = "".join([*pieces, text[at:].lower()])
    tokens = _TOKEN.findall(_BRACKET.sub(" ", without_marks(joined)))
    words = " ".join(re.sub(r"(?<=.)n['\u2019]t$", " not", token) for token in tokens)
    # "as well as" joins as "and" does; so does "together with" behind a name.
    words = _JOINED.sub(r"\1 and ", words.replace(" as well as ", " and "))
    return _without_asides(words.split(" ")) if words else []


def _without_asides(tokens: list[str]) -> list[str]:
    """Without what is told beside, between commas, of a thing: "A, whose regulation is complex, binds B"."""
    found: list[str] = []
    at = 0
    while at < len(tokens):
        opens = tokens[at] == "," and tokens[at + 1 : at + 2] and tokens[at + 1] in statement_words().lists["asides"]
        end = next((i for i in range(at + 2, min(len(tokens), at + _ASIDE)) if tokens[i] == ","), 0) if opens else 0
        if end and not any(_is_thing(word) or word == "and" for word in tokens[at + 1 : end + 2]):
            at = end + 1
        else:
            found.append(tokens[at])
            at += 1
    return found
