"""Statements by a noun: "no binding of A to B was seen", "A's role in B is established", "the A-B interaction"."""

from collections.abc import Iterator, Sequence

from kgcheck.grounding.facts.phrases import NameGroup, is_thing, thing_at
from kgcheck.grounding.facts.stretches import Statement, Stretch, StretchReader


class NounStatements(StretchReader):
    """The constructions in which a noun relates two things. Only where it was found, or not, is anything stated."""

    def _nominal(self, tokens: Sequence[str], groups: Sequence[NameGroup]) -> Iterator[Statement]:
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

    def _possessive(self, tokens: Sequence[str], one: NameGroup, two: NameGroup) -> Iterator[Statement]:
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
        subject, _ = self._subject(tokens, one.begin)
        if subject is None and not self._before_noun(tokens, one.begin)[2]:
            return
        if all(self._is("auxiliaries", t) or self._is("noun_modifiers", t) for t in tokens[first:noun]):
            place = one.begin if subject is None else subject
            yield from self._related(tokens, (noun, two.begin), one, two, two.end, begin=place)

    def _compound(self, tokens: Sequence[str], at: int) -> Iterator[Statement]:
        """In "the A-B interaction was confirmed"."""
        if not (self._is("nouns", tokens[at]) and self._is_cue(tokens[at])) or at < 3:
            return
        if tokens[at - 2] in ("-", "/") and is_thing(tokens[at - 1]) and is_thing(tokens[at - 3]):
            one, two = (NameGroup(n, n + 1, (thing_at(tokens[n]),)) for n in (at - 3, at - 1))
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
        """What a noun says of two things: only where it was found, or not found, is anything stated."""
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
        aspect = aspect or read.aspect or self._wraps(tokens, one.end, two.begin)
        read = read._replace(
            denials=read.denials + denied + matrix + sum(self._is("negations", t) for t in behind), aspect=aspect
        )
        yield from self._stated(tokens, (begin, found or end), one, two, read)

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
