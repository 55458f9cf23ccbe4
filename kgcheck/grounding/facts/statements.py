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


class Grammar(NamedTuple):
    """The words by which one form is stated."""

    form: ClaimForm
    words: StatementWords
    cue: re.Pattern[str] | None
    denying: frozenset[str]
    locates: bool
    possessed: bool

    @classmethod
    def of(cls, form: ClaimForm, words: StatementWords) -> "Grammar":
        cues = [f"{cue}*" for cue in form.cues if " " not in cue]
        cues += [f"{word}*" for cue in form.cues for word in words.same.get(cue, ())]
        denying = (w for w, own in words.denying.items() if any(c.startswith(tuple(own)) for c in form.cues))
        locates = any(cue.startswith(("locat", "present")) for cue in form.cues)
        possessed = any(cue.startswith("activit") for cue in form.cues)
        return cls(form, words, beginning(cues) if cues else None, frozenset(denying), locates, possessed)

    def relates(self, token: str) -> bool:
        """Tell whether a word says that things are related, or that they are not."""
        return bool(self.cue and self.cue.match(token)) or token in self.denying


class Clauses:
    """The constructions in which one form is stated: "A binds B", "A and B interact", "no binding of A to B".

    Each reads two groups of names that stand next to each other, and every word that belongs to what is stated of them:
    one that is not known, and nothing is read.
    """

    def __init__(self, grammar: Grammar, tokens: Sequence[str], heads: Set[int], tails: Set[int]) -> None:
        self._grammar, self._words, self._heads, self._tails = grammar, grammar.words, heads, tails
        # Behind the last word there is an empty one, which is in no list.
        self._tokens, self._size = [*tokens, "", ""], len(tokens)
        self._relates = grammar.relates

    def statements(self) -> Iterator[Statement]:
        """Find what a sentence states, as far as the form has words for it."""
        if self._grammar.cue is None or not (self._grammar.locates or any(map(self._relates, self._tokens))):
            return
        groups = list(self._groups())
        for place, group in enumerate(groups):
            if len(group.things) == 2:
                yield from self._mutually(group)
            if place + 1 < len(groups) and group.things and groups[place + 1].things:
                yield from self._clause(group, groups[place + 1 :])
                for construction in (self._fronted, self._possessive, self._found_in):
                    yield from construction(group, groups[place + 1])
        yield from self._nominal(groups)
        for at in range(3, self._size):
            # "The A-B interaction was confirmed"
            one, joint, two = self._tokens[at - 3 : at]
            if self._is_noun(at) and joint in ("-", "/") and _is_thing(one) and _is_thing(two):
                first, second = (NameGroup(n, n + 1, (_thing_at(self._tokens[n]),)) for n in (at - 3, at - 1))
                yield from self._related((at, at + 1), first, second, at + 1, begin=at - 3)

    # A binds B; the partners of A include B; B is where A resides

    def _clause(self, one: NameGroup, rest: Sequence[NameGroup]) -> Iterator[Statement]:
        two, subject, alike = rest[0], self._subject_of(one), self._heads == self._tails
        if subject is None:
            return
        begin, before = subject
        first = self._past(one.end, "aspects", "kinds")
        if self._tokens[first] == "," and self._tokens[first + 1] in ("which", "who"):
            first += 2
        elif self._tokens[first] in ("which", "that"):
            first += 1
        if not 0 < two.begin - first <= _LONGEST_PREDICATE:
            return
        if self._at(first, "prepositions") or (self._at(first, "nouns") and self._at(first + 1, "prepositions")):
            # "A in B", "A localization of B": no verb.
            return
        between = self._stretch(first, two.begin)
        last = max(first, self._before(two.begin, "determiners", "kinds"))
        if between is None or (last > first and self._tokens[last - 1] in _JOINS):
            # "A binds them, and B"
            return
        if alike and before.cues and not (between.equates and all(self._is(c, "equating") for c in between.cues)):
            # "Partners of A bind B": it is they that do.
            return
        if between.denials and self._tokens[first - 1] == "that":
            # "A that does not bind B": some of it.
            return
        if alike and any(self._is_object(first, at) for at in range(first, two.begin)):
            # "A inhibits binding of B": to something else.
            return
        end, after = self._after(two.end)
        if self._tokens[:begin] == ["that"] and any(self._is(t, "negations") for t in self._tokens[end:]):
            # "That A binds B is not true."
            return
        if before.cues and not between.cues and not between.equates:
            return
        read = before.joined(between)
        if not self._may_follow(end) or not read.cues:
            behind = self._behind(two.end) if between.equates else None
            if behind is None:
                return
            end, read = behind[0], read.joined(behind[1])
        aspect = after or self._at(one.end, "aspects", "kinds") or self._at(two.end, "aspects", "kinds")
        read = read._replace(aspect=read.aspect or aspect)
        stated = list(self._stated((begin, end), one, two, read))
        yield from stated
        if stated:
            yield from self._further(begin, one, rest, read)

    def _is_object(self, first: int, at: int) -> bool:
        """Recognise a noun that another word does something to: "inhibits the binding of"."""
        if not (at > first and self._is_noun(at) and self._tokens[at + 1] == "of"):
            return False
        verbs = [t for t in self._tokens[first:at] if self._is(t, "changing") or not self._is(t, "nouns")]
        return any(self._is(t, "changing") or self._relates(t) for t in verbs)

    def _subject_of(self, one: NameGroup) -> tuple[int, Stretch] | None:
        """Find where a subject begins whose name a group is, and what it adds; None where it is none."""
        begin, aspect = self._subject(one.begin)
        if begin is not None:
            matrix = self._matrix(begin)
            return None if matrix is None else (begin, Stretch(denials=matrix, aspect=aspect))
        place = one.begin
        while place and one.begin - place < _LONGEST_PREDICATE and self._is_known_or_relates(self._tokens[place - 1]):
            place -= 1
        while 0 < place < one.begin and not self._at(place - 1, "openings"):
            place += 1
        read = self._stretch(place, one.begin) if place < one.begin else None
        matrix = self._matrix(place)
        before = self._before(one.begin, *_SMALL)
        if read is None or matrix is None or (before == one.begin and not self._relates(self._tokens[before - 1])):
            return None
        # What is part of a name for a thing relates nothing: "susceptibility to B depends on A".
        cues = tuple(cue for cue in read.cues if not self._is(cue, "kinds_of_terms"))
        return place, read.joined(Stretch(denials=matrix))._replace(cues=cues)

    def _further(self, begin: int, one: NameGroup, rest: Sequence[NameGroup], read: Stretch) -> Iterator[Statement]:
        """Read what a second verb adds, or "but not"."""
        for earlier, later in pairwise(rest):
            words = [at for at in range(earlier.end, later.begin) if self._tokens[at] != ","]
            if not later.things or len(words) < 2 or self._tokens[words[0]] not in ("but", "and"):
                return
            end, after = self._after(later.end)
            if not self._may_follow(end):
                return
            first = words[1]
            if self._tokens[first] == "not" and self._stretch(first + 1, later.begin) == Stretch():
                turned = read._replace(denials=1 - read.denials)
                yield from self._stated((begin, end), one, later, turned)
                continue
            added = self._stretch(first, later.begin)
            if added is None or not added.cues or self._at(first, "prepositions"):
                return
            added = added._replace(aspect=added.aspect or read.aspect or after)
            yield from self._stated((begin, end), one, later, added)

    # In B, A is expressed

    def _fronted(self, one: NameGroup, two: NameGroup) -> Iterator[Statement]:
        begin = one.begin
        while begin and self._is_known(self._tokens[begin - 1]) and not self._at(begin - 1, "stops"):
            begin -= 1
        if self._tokens[begin] not in (*_WITHIN, "during", "throughout", "for", "among"):
            return
        if begin and not self._at(begin - 1, "openings"):
            return
        first, last = self._after(one.end)[0], self._past(two.end, "aspects", "kinds")
        if self._tokens[first] != "," or self._matrix(begin) is None:
            return
        between, behind = self._stretch(first + 1, two.begin), self._behind(last)
        if between is None or behind is None or (between.cues and not self._found(last)):
            return
        read = between.joined(behind[1])
        aspect = read.aspect or self._at(two.end, "aspects", "kinds")
        yield from self._stated((begin, behind[0]), one, two, read._replace(aspect=aspect))

    # A and B interact

    def _mutually(self, pair: NameGroup) -> Iterator[Statement]:
        begin, aspect = self._subject(pair.begin)
        if begin is None or aspect or self._at(pair.end, "aspects", "kinds"):
            return
        matrix, end, mutual = self._matrix(begin), pair.end, self._words.mutual
        while end < self._size and not self._at(end, "stops"):
            if self._tokens[end] in ("with", "to", "of") and self._tokens[end + 1 : end + 3] != ["each", "other"]:
                return
            end += 1
            if mutual.match(self._tokens[end - 1]) and not mutual.match(self._tokens[end]):
                break
        read = self._stretch(pair.end, end)
        if matrix is None or read is None or not any(mutual.match(c) for c in read.cues):
            return
        if self._tokens[end : end + 3] in (["with", "each", "other"], ["to", "each", "other"]):
            end += 3
        following = self._tokens[end]
        if following in ("with", "to", "-", "of") or not (following == "together" or self._may_follow(end)):
            return
        one, two = pair.halves
        yield from self._stated((begin, end), one, two, read._replace(denials=read.denials + matrix))

    # We detected A in B

    def _found_in(self, one: NameGroup, two: NameGroup) -> Iterator[Statement]:
        """A verb before both, of people, studies or what relates, and a preposition between the two things."""
        if one.end == two.begin:
            return
        begin = self._before(one.begin, *_SMALL)
        if not begin or self._at(begin - 1, "prepositions") or self._tokens[one.end] in ("and", ","):
            return
        place = begin
        while place and self._is_known_or_relates(self._tokens[place - 1]) and not self._at(place - 1, "stops"):
            if self._tokens[place - 1] in ("that", "which", "and", "but"):
                break
            place -= 1
        if place and not self._at(place - 1, "stops") and self._tokens[place - 1] not in ("that", "and", "but"):
            return
        subject = self._tokens[place : begin - 1]
        if not any(self._is(t, "people") or (self._is(t, "nouns") and self._relates(t)) for t in subject):
            return
        small = self._past(one.end, *_SMALL) == two.begin
        if not (small and self._relates(self._tokens[begin - 1])) and "as" not in self._tokens[one.end : two.begin]:
            return
        end, aspect = self._after(two.end)
        matrix, read = self._matrix(place), self._stretch(place, begin)
        between = self._stretch(one.end, two.begin)
        if matrix is not None and read is not None and between is not None and self._may_follow(end):
            read = read.joined(between).joined(Stretch(denials=matrix, aspect=aspect))
            yield from self._stated((place, end), one, two, read)

    # By a noun: only where it was found, or not, is anything stated

    def _nominal(self, groups: Sequence[NameGroup]) -> Iterator[Statement]:
        """A noun that relates what follows it: "no binding of A to B", "an association was found between A and B"."""
        at_place = {group.begin: number for number, group in enumerate(groups)}
        for at in range(self._size):
            if not self._is_noun(at) or (at and _is_thing(self._tokens[at - 1])):
                continue
            found = self._found(at + 1)
            link = found or at + 1
            if self._tokens[link] not in ("between", "of", "for", "by", "with", "in", "to"):
                continue
            first = self._past(link, *_SMALL)
            one = groups[at_place[first]] if first in at_place else None
            if one is None or not one.things:
                continue
            if len(one.things) == 2 and (self._tokens[link] == "between" or not self._leads_on(one.end)):
                yield from self._related((at, first), *one.halves, one.end, is_found=bool(found))
                continue
            second = self._past(one.end, *_SMALL)
            if self._tokens[link] == "between" and self._tokens[second] == "and":
                second = self._past(second + 1, *_SMALL)
            if second in at_place and groups[at_place[second]].things and self._leads_on(one.end):
                two = groups[at_place[second]]
                yield from self._related((at, first), one, two, two.end, is_found=bool(found))

    def _possessive(self, one: NameGroup, two: NameGroup) -> Iterator[Statement]:
        """In "A's role in B is established", and in "A expression in B was seen"."""
        if self._grammar.possessed and self._tokens[one.end] == "of" and self._past(one.end, *_SMALL) == two.begin:
            # "The activity of A is known": the name itself is the noun.
            begin = self._before(one.begin, *_SMALL)
            yield from self._related((one.begin, one.end), one, two, two.end, begin=begin, cues=("has",))
            return
        first = one.end + (self._tokens[one.end] == "'s")
        noun = next((at for at in range(first, two.begin) if self._at(at, "nouns")), -1)
        if noun < 0 or not self._is_noun(noun) or self._past(noun + 1, *_SMALL) != two.begin:
            return
        subject, _ = self._subject(one.begin)
        if subject is None and not self._before_noun(one.begin)[2]:
            return
        if all(self._is(t, "auxiliaries", "noun_modifiers") for t in self._tokens[first:noun]):
            place = one.begin if subject is None else subject
            yield from self._related((noun, two.begin), one, two, two.end, begin=place)

    def _related(
        self,
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
        begin, denied, finding = self._before_noun(stretch[0] if begin is None else begin)
        read = Stretch(cues) if cues else self._stretch(*stretch)
        matrix = self._matrix(begin)
        end, aspect = self._after(end)
        found = self._found(end)
        if read is None or matrix is None or not (found or finding or is_found):
            return
        behind = self._tokens[end : found or end]
        if self._is_clouded(behind) or not self._may_follow(found or end):
            return
        between = self._tokens[one.end : two.begin]
        aspect = aspect or any(self._is(t, "aspects") and not self._is(t, "kinds") for t in between)
        denied += matrix + sum(self._is(t, "negations") for t in behind)
        read = read.joined(Stretch(denials=denied, aspect=aspect))
        yield from self._stated((begin, found or end), one, two, read)

    def _before_noun(self, at: int) -> tuple[int, int, bool]:
        """Find where what is said of a noun begins, how often it is denied there, and if it was found."""
        denied, is_found = 0, False
        while at:
            token = self._tokens[at - 1]
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

    def _found(self, at: int) -> int:
        """Find the end of "was not observed" and the like that begins at a place; 0 where there is none."""
        for place, token in enumerate(self._tokens[at : at + 8], at):
            if self._is(token, "found") and place > at:
                return place + 1
            others = ("could", "exists", "exist", "beyond", "by", "now", "without")
            if not (self._is(token, "auxiliaries", "negations") or token in others):
                break
        return 0

    # Stretches of words

    def _stretch(self, first: int, last: int) -> Stretch | None:
        """Read what some words add; None where one of them is not known, or leaves it open."""
        cues: list[str] = []
        denials, partial, aspect, equates = 0, False, False, False
        at = first
        while at < last:
            token, following = self._tokens[at], self._tokens[at + 1]
            if self._words.clouding.match(token) and not self._relates(token):
                return None
            if self._relates(token):
                denials += token in self._grammar.denying
                cues.append(token)
            elif self._is(token, "negations"):
                if self._is(following, "no_denials"):
                    at += 2
                    continue
                if self._is(following, "unsure_denials"):
                    return None
                denials += 1
            elif self._grammar.locates and self._is(token, "equating") and following in _WITHIN:
                cues.append("located")
            elif not self._is_known(token):
                return None
            partial = partial or self._is(token, "partial")
            aspect = aspect or (self._is(token, "aspects") and not self._is(token, "kinds"))
            equates = equates or self._is(token, "equating")
            at += 1
        return Stretch(tuple(cues), denials, partial, aspect, equates)

    def _stated(self, place: tuple[int, int], ones: NameGroup, twos: NameGroup, read: Stretch) -> Iterator[Statement]:
        """A statement of two groups, where it is affirmed, or denied of both as such."""
        if not read.cues or read.denials > 1:
            return
        if read.denials:
            # A denial is of both things as such, by a word whose denial says that they are unrelated.
            beside = [*self._tokens[max(0, place[0] - 8) : place[0]], *self._tokens[place[1] : place[1] + 8]]
            conditional = any(self._words.conditions.match(token) for token in beside)
            telling = [cue for cue in read.cues if not self._is(cue, "aspects")]
            if read.partial or conditional or any(self._words.undeniable.match(cue) for cue in telling):
                return
        pairs = [(ones.things, twos.things)]
        if "respectively" in self._tokens[place[1] : place[1] + 3]:
            if len(ones.things) != len(twos.things):
                return
            pairs = [((one,), (two,)) for one, two in zip(ones.things, twos.things, strict=True)]
        for first, second in pairs:
            yield Statement(first, second, bool(read.denials), read.aspect)

    def _matrix(self, begin: int) -> int | None:
        """Count the denials that a statement depends on ("no evidence that"); None where it is left open."""
        if self._is_clouded(self._tokens[:begin]):
            return None
        if begin and self._tokens[begin - 1] == "neither":
            return 1
        before = self._tokens[max(0, begin - 8) : begin]
        if not before or before[-1] not in ("that", "for", "of", "no"):
            return 0
        denials = [at for at, token in enumerate(before) if self._is(token, "negations")]
        if not denials:
            return 0
        if before[-1] == "no":
            return 1
        return 1 if any(self._is(token, "evidence") for token in before[denials[0] :]) else None

    def _behind(self, at: int) -> tuple[int, Stretch] | None:
        """Read what stands behind the second name up to the end of the clause, where it belongs to the statement."""
        end = next((n for n in range(at, self._size) if self._at(n, "stops")), self._size)
        read = self._stretch(at, end) if 0 < end - at <= _AFTERWARDS else None
        return (end, read) if read else None

    # What stands beside names

    def _is(self, token: str, *lists: str) -> bool:
        return any(token in self._words.lists[name] for name in lists)

    def _at(self, place: int, *lists: str) -> bool:
        return self._is(self._tokens[place], *lists)

    def _is_noun(self, at: int) -> bool:
        """Recognise a noun that says that things are related: "binding"."""
        return self._at(at, "nouns") and self._relates(self._tokens[at])

    def _past(self, at: int, *lists: str) -> int:
        """The place behind the words of some lists that stand from a place on."""
        while self._at(at, *lists):
            at += 1
        return at

    def _before(self, at: int, *lists: str) -> int:
        """The place where the words of some lists begin that stand up to a place."""
        while at and self._at(at - 1, *lists):
            at -= 1
        return at

    def _is_known(self, token: str) -> bool:
        """Tell whether a word may stand in a statement and changes nothing."""
        return token in self._words.known or token.endswith("ly")

    def _is_known_or_relates(self, token: str) -> bool:
        return self._is_known(token) or self._relates(token) or self._is(token, "negations")

    def _leads_on(self, at: int) -> bool:
        """Tell whether a second thing follows the first, behind "with", "to", "and" or "in"."""
        at = self._past(at, "aspects", "kinds")
        return self._tokens[at] == "and" or self._at(at, "prepositions")

    def _groups(self) -> Iterator[NameGroup]:
        """The lists of names of a sentence, in order."""
        end = 0
        for at in range(self._size):
            if at >= end and _is_thing(self._tokens[at]):
                yield (group := self._group(at))
                end = group.end

    def _group(self, at: int) -> NameGroup:
        """The things of the list that begins at a place; those between commas only are a list up to its "and"."""
        found, place = [_thing_at(self._tokens[at])], self._past(at + 1, "kinds")
        whole = (1, place)
        while True:
            following = place
            while following - place < 3 and self._tokens[following] in _JOINS:
                following += 1
            joins = set(self._tokens[place:following]) - {","}
            if following > place:
                following = self._past(following, "determiners")
            if following == place or not _is_thing(self._tokens[following]):
                break
            other = _thing_at(self._tokens[following])
            if not joins and not any(found[0] in kind and other in kind for kind in (self._heads, self._tails)):
                # "In B, A is expressed"
                break
            found.append(other)
            place = self._past(following + 1, "kinds")
            whole = (len(found), place) if joins else whole
        count, place = whole
        is_term = found[0] in self._tails and found[0] not in self._heads
        behind = self._tokens[self._after(place)[0] if is_term else place]
        # What follows a name may make it part of another thing: "A inhibitor", "A-induced".
        is_part = self._is(behind, "parts") or behind in ("-", "/") or _is_thing(behind)
        return NameGroup(at, place, tuple(found[:count]) if count <= _GROUP and not is_part else ())

    def _subject(self, at: int) -> tuple[int | None, bool]:
        """Find where a subject begins whose name is at a place, if it is one, and if an aspect of it is meant."""
        place, aspect = self._before(at, "determiners", "kinds", "kinds_of_terms"), False
        if place > 1 and self._tokens[place - 1] in ("of", "in", "at", "for") and self._at(place - 2, "aspects"):
            place, aspect = self._before(place - 2, "determiners", "aspects", "wrapping"), True
        begins = place - 1 if place and self._tokens[place - 1] == "no" else place
        if not begins or self._at(begins - 1, "openings") or self._tokens[place - 1] in ("neither", "both"):
            return place, aspect
        return None, aspect

    def _after(self, at: int) -> tuple[int, bool]:
        """Past what may follow the second name and changes nothing; whether an aspect of it is meant."""
        end = self._past(at, "kinds_of_terms", "aspects")
        return end, any(self._is(t, "aspects") for t in self._tokens[at:end])

    def _may_follow(self, at: int) -> bool:
        return at >= self._size or self._at(at, "followers")

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
        self._grammars = [Grammar.of(form, statement_words()) for form in forms]

    def read(self, text: str, things: Sequence[NamedThing]) -> list[StatedEdge]:
        """List what a sentence states."""
        if len(text) > LONGEST or not 2 <= len(things) <= _MOST_THINGS or text.rstrip().endswith("?"):
            return []
        # What names everything of a kind names nothing in particular: disease, molecular function.
        named = {i: thing for i, thing in enumerate(things) if thing.text.lower() not in statement_words().general}
        tokens: dict[frozenset[int], list[str]] = {}
        found: list[StatedEdge] = []
        for grammar in self._grammars:
            form = grammar.form
            heads = {i for i, thing in named.items() if form.head in thing.ids}
            tails = {i for i, thing in named.items() if form.tail in thing.ids}
            ends = frozenset(heads | tails)
            if not heads or not tails or len(ends) < 2:
                continue
            if ends not in tokens:
                # What is neither is a word like others: "cells need A for B".
                tokens[ends] = _tokens(text, [(i, things[i]) for i in sorted(ends)])
            for statement in Clauses(grammar, tokens[ends], heads, tails).statements():
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
