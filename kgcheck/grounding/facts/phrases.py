"""What stands beside the names of a sentence: lists, kinds, aspects, what opens and what clouds a statement."""

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from kgcheck.grounding.facts.words import StatementWords, beginning
from kgcheck.profile.claims import ClaimForm

_GROUP = 6
"""Things that stand beside each other in a list and are all meant; of more, none is."""


class NameGroup(NamedTuple):
    """Names in a list, by their places; none where they are part of other things, or too many."""

    begin: int
    end: int
    things: tuple[int, ...]

    @property
    def is_pair(self) -> bool:
        """Whether they are two."""
        return len(self.things) == 2

    @property
    def halves(self) -> tuple["NameGroup", "NameGroup"]:
        """The first, and the others."""
        return self._replace(things=self.things[:1]), self._replace(things=self.things[1:])


_JOINS = frozenset((",", "and", "or", "nor", "/"))


class NamePhrases:
    """Reads what stands beside names, for statements of one form."""

    def __init__(self, form: ClaimForm, words: StatementWords) -> None:
        self._words, self._lists = words, words.lists
        cues = [f"{cue}*" for cue in form.cues if " " not in cue]
        cues += [f"{word}*" for cue in form.cues for word in words.same.get(cue, ())]
        self._cue = beginning(cues) if cues else None
        self._denying = {word for word, of in words.denying.items() if any(c.startswith(tuple(of)) for c in form.cues)}
        self._locates = any(cue.startswith(("locat", "present")) for cue in form.cues)
        self._possessed = any(cue.startswith("activit") for cue in form.cues)

    def _is(self, name: str, token: str) -> bool:
        return token in self._lists[name]

    def _is_cue(self, token: str) -> bool:
        return bool(self._cue and self._cue.match(token)) or token in self._denying

    def _is_known(self, token: str) -> bool:
        """Whether a word may stand in a statement and changes nothing."""
        return token in self._words.known or token.endswith("ly")

    def _is_known_or_relates(self, token: str) -> bool:
        return self._is_known(token) or self._is_cue(token) or self._is("negations", token)

    def _is_small(self, token: str) -> bool:
        return any(self._is(n, token) for n in ("determiners", "kinds", "aspects", "aspect_links", "prepositions"))

    def _past_small(self, tokens: Sequence[str], at: int) -> int:
        while at < len(tokens) and self._is_small(tokens[at]):
            at += 1
        return at

    def _before_small(self, tokens: Sequence[str], at: int) -> int:
        while at and self._is_small(tokens[at - 1]):
            at -= 1
        return at

    def _leads_on(self, tokens: Sequence[str], at: int) -> bool:
        """Whether a second thing follows the first, behind "with", "to", "and" or "in"."""
        at = self._aspects(tokens, at)[0]
        return at < len(tokens) and (tokens[at] == "and" or self._is("prepositions", tokens[at]))

    def _wraps(self, tokens: Sequence[str], first: int, last: int) -> bool:
        """Whether an aspect of a thing is meant."""
        return any(self._is("aspects", t) and not self._is("kinds", t) for t in tokens[first:last])

    def _joins_at_end(self, tokens: Sequence[str], first: int, last: int) -> bool:
        """Whether the name behind a stretch is joined to something else than the one before: "A binds them, and B"."""
        while last > first and (self._is("determiners", tokens[last - 1]) or self._is("kinds", tokens[last - 1])):
            last -= 1
        return last > first and tokens[last - 1] in _JOINS

    def _groups(self, tokens: Sequence[str], heads: Set[int], tails: Set[int]) -> Iterator[NameGroup]:
        """The lists of names of a sentence, in order."""
        at = 0
        while at < len(tokens):
            if is_thing(tokens[at]):
                group = self._group(tokens, at, heads, tails)
                yield group
                at = group.end
            else:
                at += 1

    def _group(self, tokens: Sequence[str], at: int, heads: Set[int], tails: Set[int]) -> NameGroup:
        """The things of the list that begins at a place; those between commas only are a list up to its "and"."""
        found, place = [thing_at(tokens[at])], self._past_kinds(tokens, at + 1)
        whole = (1, place)
        while True:
            following = place
            while following < len(tokens) and following - place < 3 and tokens[following] in _JOINS:
                following += 1
            joins = set(tokens[place:following]) - {","}
            while following < len(tokens) and following > place and self._is("determiners", tokens[following]):
                following += 1
            if following == place or following >= len(tokens) or not is_thing(tokens[following]):
                break
            other = thing_at(tokens[following])
            if not joins and not any(found[0] in kind and other in kind for kind in (heads, tails)):
                # "In B, A is expressed"
                break
            found.append(other)
            place = self._past_kinds(tokens, following + 1)
            whole = (len(found), place) if joins else whole
        count, place = whole
        is_term = found[0] in tails and found[0] not in heads
        after = self._after(tokens, place)[0] if is_term else place
        meant = count <= _GROUP and not self._is_part(tokens, after)
        return NameGroup(at, place, tuple(found[:count]) if meant else ())

    def _past_kinds(self, tokens: Sequence[str], at: int) -> int:
        while at < len(tokens) and self._is("kinds", tokens[at]):
            at += 1
        return at

    def _is_part(self, tokens: Sequence[str], at: int) -> bool:
        """Whether what follows a name makes it part of another thing: "A inhibitor", "A-induced"."""
        if at >= len(tokens):
            return False
        return self._is("parts", tokens[at]) or tokens[at] in ("-", "/") or is_thing(tokens[at])

    def _subject(self, tokens: Sequence[str], at: int) -> tuple[int | None, bool]:
        """Where a subject begins whose name is at a place, if it is one; whether an aspect of the thing is meant."""
        place, aspect = at, False
        while place and any(self._is(n, tokens[place - 1]) for n in ("determiners", "kinds", "kinds_of_terms")):
            place -= 1
        if place > 1 and tokens[place - 1] in ("of", "in", "at", "for") and self._is("aspects", tokens[place - 2]):
            place, aspect = place - 2, True
            while place and (
                self._is("determiners", tokens[place - 1])
                or self._is("aspects", tokens[place - 1])
                or self._is("wrapping", tokens[place - 1])
            ):
                place -= 1
        if place and tokens[place - 1] == "no" and (place == 1 or self._is("openings", tokens[place - 2])):
            return place, aspect
        if not place or self._is("openings", tokens[place - 1]) or tokens[place - 1] in ("neither", "both"):
            return place, aspect
        return None, aspect

    def _aspects(self, tokens: Sequence[str], at: int) -> tuple[int, bool]:
        first = at
        while at < len(tokens) and (self._is("aspects", tokens[at]) or self._is("kinds", tokens[at])):
            at += 1
        return at, at > first

    def _after(self, tokens: Sequence[str], at: int) -> tuple[int, bool]:
        """Past what may follow the second name and changes nothing; whether an aspect of it is meant."""
        first = at
        while at < len(tokens) and (self._is("kinds_of_terms", tokens[at]) or self._is("aspects", tokens[at])):
            at += 1
        return at, any(self._is("aspects", t) for t in tokens[first:at])

    def _relative(self, tokens: Sequence[str], at: int) -> int:
        """Past ", which" after a name."""
        if tokens[at : at + 1] == [","] and tokens[at + 1 : at + 2] in (["which"], ["who"]):
            return at + 2
        if tokens[at : at + 1] in (["which"], ["that"]):
            return at + 1
        return at

    def _may_follow(self, tokens: Sequence[str], at: int) -> bool:
        return at >= len(tokens) or self._is("followers", tokens[at])

    def _is_clouded(self, tokens: Sequence[str]) -> bool:
        return any(self._words.clouding.match(token) for token in tokens)

    def _may_deny(self, tokens: Sequence[str], begin: int, end: int, cues: Iterable[str]) -> bool:
        """Whether a denial is of both things as such, by a word whose denial says that they are unrelated."""
        beside = [*tokens[max(0, begin - 8) : begin], *tokens[end : end + 8]]
        if any(self._words.conditions.match(token) for token in beside):
            return False
        return not any(self._words.undeniable.match(cue) for cue in cues if not self._is("aspects", cue))


def thing_at(token: str) -> int:
    """The place of the thing that a token stands for."""
    return int(token[1:])


def is_thing(token: str) -> bool:
    """Whether a token stands for a thing."""
    return token.startswith("\u00a7")
