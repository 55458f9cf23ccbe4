"""The constructions in which a sentence relates things: "A binds B", "A and B interact", "no binding of A to B".

Each reads two groups of names that stand next to each other, and every word that belongs to what is stated of them: one
that is not known, and nothing is read.
"""

from collections.abc import Iterator, Sequence, Set
from itertools import pairwise

from kgcheck.grounding.facts.nouns import NounStatements
from kgcheck.grounding.facts.phrases import NameGroup
from kgcheck.grounding.facts.stretches import WITHIN, Statement, Stretch

_LONGEST_PREDICATE = 14
"""Words between two names that belong to one statement."""


class Grammar(NounStatements):
    """The constructions in which one form is stated."""

    def statements(self, tokens: Sequence[str], heads: Set[int], tails: Set[int]) -> Iterator[Statement]:
        """What a sentence states, as far as this form has words for it."""
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

    # A binds B; the partners of A include B; B is where A resides

    def _clause(
        self, tokens: Sequence[str], one: NameGroup, rest: Sequence[NameGroup], *, alike: bool
    ) -> Iterator[Statement]:
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

    def _subject_of(self, tokens: Sequence[str], one: NameGroup) -> tuple[int, Stretch] | None:
        """Where a subject begins whose name a group is, and what it adds; None where it is none."""
        begin, aspect = self._subject(tokens, one.begin)
        if begin is not None:
            matrix = self._matrix(tokens, begin)
            return None if matrix is None else (begin, Stretch(denials=matrix, aspect=aspect))
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
        return place, read.joined(Stretch(denials=matrix))._replace(cues=cues)

    def _further(
        self, tokens: Sequence[str], begin: int, one: NameGroup, rest: Sequence[NameGroup], read: Stretch
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
            if tokens[first] == "not" and self._stretch(tokens, first + 1, later.begin) == Stretch():
                turned = read._replace(denials=1 - read.denials)
                yield from self._stated(tokens, (begin, end), one, later, turned)
                continue
            added = self._stretch(tokens, first, later.begin)
            if added is None or not added.cues or self._is("prepositions", tokens[first]):
                return
            added = added._replace(aspect=added.aspect or read.aspect or after)
            yield from self._stated(tokens, (begin, end), one, later, added)

    # In B, A is expressed

    def _fronted(self, tokens: Sequence[str], one: NameGroup, two: NameGroup) -> Iterator[Statement]:
        begin = one.begin
        while begin and self._is_known(tokens[begin - 1]) and not self._is("stops", tokens[begin - 1]):
            begin -= 1
        if tokens[begin] not in (*WITHIN, "during", "throughout", "for", "among"):
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

    def _mutually(self, tokens: Sequence[str], both: NameGroup) -> Iterator[Statement]:
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

    # We detected A in B

    def _found_in(self, tokens: Sequence[str], one: NameGroup, two: NameGroup) -> Iterator[Statement]:
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
