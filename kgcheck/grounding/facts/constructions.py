"""The constructions in which a sentence relates things: "A binds B", "A and B interact", "no binding of A to B".

Each reads two groups of names that stand next to each other, and every word that belongs to what is stated of them: one
that is not known, and nothing is read.
"""

from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

from kgcheck.grounding.facts.phrases import Group, NamePhrases, is_thing, thing_at

_LONGEST_PREDICATE = 14
"""Words between two names that belong to one statement."""

_WITHIN = ("in", "within", "inside", "at")

_AFTERWARDS = 6
"""Words behind the second name that belong to the statement: "B is where A resides"."""


class Statement(NamedTuple):
    """Two groups of things, by their places, that a sentence relates."""

    ones: tuple[int, ...]
    twos: tuple[int, ...]
    denied: bool
    aspect: bool


class _Stretch(NamedTuple):
    """What the words of a stretch add to a statement: those that relate, and how often it is denied."""

    cues: tuple[str, ...] = ()
    denials: int = 0
    partial: bool = False
    aspect: bool = False
    equates: bool = False
    """Whether a verb is in it that makes of one side what the other is, or has: is, includes."""

    def joined(self, other: "_Stretch") -> "_Stretch":
        """Both together."""
        return _Stretch(
            self.cues + other.cues,
            self.denials + other.denials,
            self.partial or other.partial,
            self.aspect or other.aspect,
            self.equates or other.equates,
        )


class Grammar(NamePhrases):
    """The constructions in which one form is stated."""

    def statements(self, tokens: Sequence[str], heads: Set[int], tails: Set[int]) -> Iterator[Statement]:
        """What a sentence states, as far as this form has words for it.

        Args:
            tokens: Of the sentence.
            heads: The things that may be heads of such an edge.
            tails: Those that may be tails.

        Yields:
            Each statement.
        """
        if self._cue is None or not (self._locates or any(self._is_cue(token) for token in tokens)):
            return
        groups = list(self._groups(tokens, heads, tails))
        for place, group in enumerate(groups):
            if group.is_pair:
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

    def _stretch(self, tokens: Sequence[str], first: int, last: int) -> _Stretch | None:
        """What some words add; None where one of them is not known, or leaves it open."""
        cues: list[str] = []
        denials, partial, aspect, equates = 0, False, False, False
        at = first
        while at < last:
            token = tokens[at]
            following = tokens[at + 1] if at + 1 < len(tokens) else ""
            if self._words.clouding.match(token) and not self._is_cue(token):
                return None
            if self._is_cue(token):
                denials += token in self._denying
                cues.append(token)
            elif self._is("negations", token):
                if self._is("no_denials", following):
                    at += 2
                    continue
                if self._is("unsure_denials", following):
                    return None
                denials += 1
            elif self._locates and self._is("equating", token) and following in _WITHIN:
                cues.append("located")
            elif not self._is_known(token):
                return None
            partial = partial or self._is("partial", token)
            aspect = aspect or (self._is("aspects", token) and not self._is("kinds", token))
            equates = equates or self._is("equating", token)
            at += 1
        return _Stretch(tuple(cues), denials, partial, aspect, equates)

    def _stated(
        self, tokens: Sequence[str], place: tuple[int, int], ones: Group, twos: Group, read: _Stretch
    ) -> Iterator[Statement]:
        """A statement of two groups, where it is affirmed, or denied of both as such."""
        if not read.cues or read.denials > 1:
            return
        if read.denials and (read.partial or not self._may_deny(tokens, *place, read.cues)):
            return
        pairs = [(ones.things, twos.things)]
        if "respectively" in tokens[place[1] : place[1] + 3]:
            if len(ones.things) != len(twos.things):
                return
            pairs = [((one,), (two,)) for one, two in zip(ones.things, twos.things, strict=True)]
        for first, second in pairs:
            yield Statement(first, second, bool(read.denials), read.aspect)

    # A binds B; the partners of A include B; B is where A resides

    def _clause(self, tokens: Sequence[str], one: Group, rest: Sequence[Group], *, alike: bool) -> Iterator[Statement]:
        two = rest[0]
        subject = self._subject_of(tokens, one)
        if subject is None:
            return
        begin, before = subject
        first = self._relative(tokens, self._aspects(tokens, one.end)[0])
        if not first < two.begin or two.begin - first > _LONGEST_PREDICATE:
            return
        follows = tokens[first + 1]
        if self._is("prepositions", tokens[first]) or (
            self._is("nouns", tokens[first]) and self._is("prepositions", follows)
        ):
            # "A in B", "A localization of B": no verb.
            return
        between = self._stretch(tokens, first, two.begin)
        if between is None or self._joins_at_end(tokens, first, two.begin):
            return
        if alike and before.cues and not (between.equates and all(self._is("equating", c) for c in between.cues)):
            # "Partners of A bind B": it is they that do.
            return
        if between.denials and tokens[first - 1] == "that":
            # "A that does not bind B": some of it.
            return
        if alike and any(self._is_object(tokens, first, at) for at in range(first, two.begin)):
            # "A inhibits binding of B": to something else.
            return
        end, after = self._after(tokens, two.end)
        if tokens[:begin] == ["that"] and any(self._is("negations", t) for t in tokens[end:]):
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
        aspect = after or self._aspects(tokens, one.end)[1] or self._aspects(tokens, two.end)[1]
        read = read._replace(aspect=read.aspect or aspect)
        stated = list(self._stated(tokens, (begin, end), one, two, read))
        yield from stated
        if stated:
            yield from self._further(tokens, begin, one, rest, read)

    def _is_object(self, tokens: Sequence[str], first: int, at: int) -> bool:
        """Whether a noun that relates is what another word does something to: "inhibits the binding of"."""
        if not (at > first and self._is("nouns", tokens[at]) and self._is_cue(tokens[at]) and tokens[at + 1] == "of"):
            return False
        verbs = [t for t in tokens[first:at] if self._is("changing", t) or not self._is("nouns", t)]
        return any(self._is("changing", t) or self._is_cue(t) for t in verbs)

    def _subject_of(self, tokens: Sequence[str], one: Group) -> tuple[int, _Stretch] | None:
        """Where a subject begins whose name a group is, and what it adds; None where it is none."""
        begin, aspect = self._subject(tokens, one.begin)
        if begin is not None:
            matrix = self._matrix(tokens, begin)
            return None if matrix is None else (begin, _Stretch(denials=matrix, aspect=aspect))
        place = one.begin
        while place and one.begin - place < _LONGEST_PREDICATE and self._is_known_or_relates(tokens[place - 1]):
            place -= 1
        while place < one.begin and not (place == 0 or self._is("openings", tokens[place - 1])):
            place += 1
        read = self._stretch(tokens, place, one.begin) if place < one.begin else None
        matrix = self._matrix(tokens, place)
        before = self._before_small(tokens, one.begin)
        if read is None or matrix is None or (before == one.begin and not self._is_cue(tokens[before - 1])):
            return None
        # What is part of a name for a thing relates nothing: "susceptibility to B depends on A".
        cues = tuple(cue for cue in read.cues if not self._is("kinds_of_terms", cue))
        return place, read.joined(_Stretch(denials=matrix))._replace(cues=cues)

    def _matrix(self, tokens: Sequence[str], begin: int) -> int | None:
        """How often what a statement depends on denies it, as "no evidence that"; None where it leaves it open."""
        if self._is_clouded(tokens[:begin]):
            return None
        if begin and tokens[begin - 1] == "neither":
            return 1
        before = tokens[max(0, begin - 8) : begin]
        if not before or before[-1] not in ("that", "for", "of", "no"):
            return 0
        denials = [at for at, token in enumerate(before) if self._is("negations", token)]
        if not denials:
            return 0
        if before[-1] == "no":
            return 1
        return 1 if any(self._is("evidence", token) for token in before[denials[0] :]) else None

    def _behind(self, tokens: Sequence[str], at: int) -> tuple[int, _Stretch] | None:
        """What stands behind the second name and still belongs to the statement, up to the end of the clause."""
        end = at
        while end < len(tokens) and not self._is("stops", tokens[end]):
            end += 1
        if end - at > _AFTERWARDS:
            return None
        read = self._stretch(tokens, at, end) if end > at else None
        return (end, read) if read else None

    def _further(
        self, tokens: Sequence[str], begin: int, one: Group, rest: Sequence[Group], read: _Stretch
    ) -> Iterator[Statement]:
        """What a second verb adds, or "but not"."""
        for earlier, later in pairwise(rest):
            words = [at for at in range(earlier.end, later.begin) if tokens[at] != ","]
            if not later.things or len(words) < 2 or tokens[words[0]] not in ("but", "and"):
                return
            end, after = self._after(tokens, later.end)
            if not self._may_follow(tokens, end):
                return
            first = words[1]
            if tokens[first] == "not" and self._stretch(tokens, first + 1, later.begin) == _Stretch():
                turned = read._replace(denials=1 - read.denials)
                yield from self._stated(tokens, (begin, end), one, later, turned)
                continue
            added = self._stretch(tokens, first, later.begin)
            if added is None or not added.cues or self._is("prepositions", tokens[first]):
                return
            added = added._replace(aspect=added.aspect or read.aspect or after)
            yield from self._stated(tokens, (begin, end), one, later, added)

    # In B, A is expressed

    def _fronted(self, tokens: Sequence[str], one: Group, two: Group) -> Iterator[Statement]:
        begin = one.begin
        while begin and self._is_known(tokens[begin - 1]) and not self._is("stops", tokens[begin - 1]):
            begin -= 1
        if tokens[begin] not in (*_WITHIN, "during", "throughout", "for", "among"):
            return
        if begin and not self._is("openings", tokens[begin - 1]):
            return
        first = self._after(tokens, one.end)[0]
        if tokens[first : first + 1] != [","]:
            return
        matrix, between = self._matrix(tokens, begin), self._stretch(tokens, first + 1, two.begin)
        behind = self._behind(tokens, self._aspects(tokens, two.end)[0])
        if matrix is None or between is None or behind is None:
            return
        end, read = behind
        if between.cues and not self._found(tokens, self._aspects(tokens, two.end)[0]):
            return
        read = between.joined(read)
        aspect = read.aspect or self._aspects(tokens, two.end)[1]
        yield from self._stated(tokens, (begin, end), one, two, read._replace(aspect=aspect))

    # A and B interact

    def _mutually(self, tokens: Sequence[str], both: Group) -> Iterator[Statement]:
        begin, aspect = self._subject(tokens, both.begin)
        if begin is None or aspect or self._aspects(tokens, both.end)[1]:
            return
        matrix, end = self._matrix(tokens, begin), both.end
        while end < len(tokens) and not self._is("stops", tokens[end]):
            if tokens[end] in ("with", "to", "of") and tokens[end + 1 : end + 3] != ["each", "other"]:
                return
            end += 1
            if self._words.mutual.match(tokens[end - 1]):
                while end < len(tokens) and self._words.mutual.match(tokens[end]):
                    end += 1
                break
        read = self._stretch(tokens, both.end, end)
        if matrix is None or read is None or not any(self._words.mutual.match(c) for c in read.cues):
            return
        if tokens[end : end + 3] in (["with", "each", "other"], ["to", "each", "other"]):
            end += 3
        following = tokens[end] if end < len(tokens) else "."
        if following in ("with", "to", "-", "of") or not (self._is("followers", following) or following == "together"):
            return
        one, two = both.halves
        yield from self._stated(tokens, (begin, end), one, two, read._replace(denials=read.denials + matrix))

    # binding of A to B was not seen; A's role in B is established

    def _nominal(self, tokens: Sequence[str], groups: Sequence[Group]) -> Iterator[Statement]:
        """A noun that relates what follows it: "no binding of A to B", "an association was found between A and B"."""
        at_place = {group.begin: number for number, group in enumerate(groups)}
        for at, token in enumerate(tokens):
            if not (self._is("nouns", token) and self._is_cue(token)) or (at and is_thing(tokens[at - 1])):
                continue
            found = self._found(tokens, at + 1)
            link = found or at + 1
            if link >= len(tokens) or tokens[link] not in ("between", "of", "for", "by", "with", "in", "to"):
                continue
            first = self._past_small(tokens, link)
            one = groups[at_place[first]] if first in at_place else None
            if one is None or not one.things:
                continue
            if one.is_pair and (tokens[link] == "between" or not self._leads_on(tokens, one.end)):
                yield from self._related(tokens, (at, first), *one.halves, one.end, is_found=bool(found))
                continue
            second = self._past_small(tokens, one.end)
            if tokens[link] == "between" and tokens[second : second + 1] == ["and"]:
                second = self._past_small(tokens, second + 1)
            if second in at_place and groups[at_place[second]].things and self._leads_on(tokens, one.end):
                two = groups[at_place[second]]
                yield from self._related(tokens, (at, first), one, two, two.end, is_found=bool(found))

    def _possessive(self, tokens: Sequence[str], one: Group, two: Group) -> Iterator[Statement]:
        """In "A's role in B is established", and in "A expression in B was seen"."""
        if self._possessed and tokens[one.end] == "of" and self._past_small(tokens, one.end) == two.begin:
            # "The activity of A is known": the name itself is the noun.
            begin = self._before_small(tokens, one.begin)
            yield from self._related(tokens, (one.begin, one.end), one, two, two.end, begin=begin, cues=("has",))
            return
        first = one.end + (tokens[one.end] == "'s")
        noun = next((at for at in range(first, two.begin) if self._is("nouns", tokens[at])), -1)
        if noun < 0 or not self._is_cue(tokens[noun]) or self._past_small(tokens, noun + 1) != two.begin:
            return
        begin, _ = self._subject(tokens, one.begin)
        if begin is None and not self._before_noun(tokens, one.begin)[2]:
            return
        if all(self._is("auxiliaries", t) or self._is("noun_modifiers", t) for t in tokens[first:noun]):
            place = one.begin if begin is None else begin
            yield from self._related(tokens, (noun, two.begin), one, two, two.end, begin=place)

    def _compound(self, tokens: Sequence[str], at: int) -> Iterator[Statement]:
        """In "the A-B interaction was confirmed"."""
        if not (self._is("nouns", tokens[at]) and self._is_cue(tokens[at])) or at < 3:
            return
        if tokens[at - 2] in ("-", "/") and is_thing(tokens[at - 1]) and is_thing(tokens[at - 3]):
            one, two = (Group(n, n + 1, (thing_at(tokens[n]),)) for n in (at - 3, at - 1))
            yield from self._related(tokens, (at, at + 1), one, two, at + 1, begin=at - 3)

    def _related(
        self,
        tokens: Sequence[str],
        stretch: tuple[int, int],
        one: Group,
        two: Group,
        end: int,
        *,
        begin: int | None = None,
        is_found: bool = False,
        cues: tuple[str, ...] = (),
    ) -> Iterator[Statement]:
        """What a noun says of two things: only where it was found, or not found, is anything stated."""
        begin, denied, finding = self._before_noun(tokens, stretch[0] if begin is None else begin)
        read = _Stretch(cues) if cues else self._stretch(tokens, *stretch)
        matrix = self._matrix(tokens, begin)
        end, aspect = self._after(tokens, end)
        found = self._found(tokens, end)
        if read is None or matrix is None or not (found or finding or is_found):
            return
        behind = tokens[end : found or end]
        if self._is_clouded(behind) or not self._may_follow(tokens, found or end):
            return
        aspect = aspect or read.aspect or self._wraps(tokens, one.end, two.begin)
        read = read._replace(
            denials=read.denials + denied + matrix + sum(self._is("negations", t) for t in behind), aspect=aspect
        )
        yield from self._stated(tokens, (begin, found or end), one, two, read)

    # We detected A in B

    def _found_in(self, tokens: Sequence[str], one: Group, two: Group) -> Iterator[Statement]:
        """A verb before both, of people, studies or what relates, and a preposition between the two things."""
        if one.end == two.begin:
            return
        begin = self._before_small(tokens, one.begin)
        if not begin or self._is("prepositions", tokens[begin - 1]) or tokens[one.end] in ("and", ","):
            return
        place = begin
        while place and self._is_known_or_relates(tokens[place - 1]) and not self._is("stops", tokens[place - 1]):
            if tokens[place - 1] in ("that", "which", "and", "but"):
                break
            place -= 1
        if place and not self._is("stops", tokens[place - 1]) and tokens[place - 1] not in ("that", "and", "but"):
            return
        subject = tokens[place : begin - 1]
        if not any(self._is("people", t) or (self._is("nouns", t) and self._is_cue(t)) for t in subject):
            return
        small = self._past_small(tokens, one.end) == two.begin
        if not (small and self._is_cue(tokens[begin - 1])) and "as" not in tokens[one.end : two.begin]:
            return
        end, aspect = self._after(tokens, two.end)
        matrix, read = self._matrix(tokens, place), self._stretch(tokens, place, begin)
        between = self._stretch(tokens, one.end, two.begin)
        if matrix is not None and read is not None and between is not None and self._may_follow(tokens, end):
            read = read.joined(between)
            read = read._replace(denials=read.denials + matrix, aspect=read.aspect or aspect)
            yield from self._stated(tokens, (place, end), one, two, read)

    def _before_noun(self, tokens: Sequence[str], at: int) -> tuple[int, int, bool]:
        """Where what is said of a noun begins, how often it is denied there, and whether it was found."""
        denied, place = 0, at
        while place and (
            self._is("noun_modifiers", tokens[place - 1])
            or self._is("negations", tokens[place - 1])
            or tokens[place - 1] in ("lack", "absence")
        ):
            denied += self._is("negations", tokens[place - 1]) or tokens[place - 1] == "absence"
            place -= 1
        is_found = False
        if place and self._is("finding", tokens[place - 1]):
            is_found = True
            while place and (
                self._is("finding", tokens[place - 1])
                or self._is("negations", tokens[place - 1])
                or self._is("people", tokens[place - 1])
                or tokens[place - 1] in ("did", "could", "have", "has", "there", "was")
            ):
                denied += self._is("negations", tokens[place - 1])
                place -= 1
        return place, denied, is_found

    def _found(self, tokens: Sequence[str], at: int) -> int:
        """Where "was not observed" and the like ends that begins at a place; 0 where there is none."""
        place = at
        while place < len(tokens) and place - at < 8:
            if self._is("found", tokens[place]) and place > at:
                return place + 1
            if not (
                self._is("auxiliaries", tokens[place])
                or self._is("negations", tokens[place])
                or tokens[place] in ("could", "exists", "exist", "beyond", "by", "now", "without")
            ):
                return 0
            place += 1
        return 0
