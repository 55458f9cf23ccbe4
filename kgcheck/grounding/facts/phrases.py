"""What stands beside the names of a sentence: lists, kinds, aspects, what opens and what clouds a statement."""

from collections.abc import Iterable, Sequence

from kgcheck.grounding.facts.words import StatementWords, beginning
from kgcheck.profile.claims import ClaimForm

_GROUP = 6
"""Things that stand beside each other in a list and are all meant; of more, none is."""

_JOINS = frozenset((",", "and", "or", "nor", "/"))


class NamePhrases:
    """Reads what stands beside names, for statements of one form.

    Args:
        form: The form.
        words: The lists of words.
    """

    def __init__(self, form: ClaimForm, words: StatementWords) -> None:
        self._words, self._lists = words, words.lists
        cues = [f"{cue}*" for cue in form.cues if " " not in cue]
        cues += [f"{word}*" for cue in form.cues for word in words.same.get(cue, ())]
        self._cue = beginning(cues) if cues else None
        self._denying = {word for word, of in words.denying.items() if any(c.startswith(tuple(of)) for c in form.cues)}
        self._mutual = any(cue.startswith(("interact", "bind", "bound")) for cue in form.cues)

    def _is(self, name: str, token: str) -> bool:
        return token in self._lists[name]

    def _is_cue(self, token: str) -> bool:
        return bool(self._cue and self._cue.match(token)) or token in self._denying

    def _group(self, tokens: Sequence[str], at: int) -> tuple[tuple[int, ...], int] | None:
        """The things of a list that begins at a place, and where it ends."""
        if at >= len(tokens) or not tokens[at].startswith("\u00a7"):
            return None
        found, place = [thing_at(tokens[at])], self._past_kinds(tokens, at + 1)
        while True:
            following = place
            while following < len(tokens) and following - place < 3 and tokens[following] in _JOINS:
                following += 1
            while following < len(tokens) and following > place and self._is("determiners", tokens[following]):
                following += 1
            if following == place or following >= len(tokens) or not tokens[following].startswith("\u00a7"):
                break
            found.append(thing_at(tokens[following]))
            place = self._past_kinds(tokens, following + 1)
        if len(found) > _GROUP or self._is_part(tokens, place):
            return None
        return tuple(found), place

    def _in_group(self, tokens: Sequence[str], at: int) -> bool:
        """Whether the thing at a place goes on with a list."""
        place = at - 1
        while place >= 0 and (
            tokens[place] in _JOINS or self._is("kinds", tokens[place]) or self._is("determiners", tokens[place])
        ):
            place -= 1
        return place >= 0 and tokens[place].startswith("\u00a7")

    def _past_kinds(self, tokens: Sequence[str], at: int) -> int:
        while at < len(tokens) and self._is("kinds", tokens[at]):
            at += 1
        return at

    def _is_part(self, tokens: Sequence[str], at: int) -> bool:
        """Whether what follows a name makes it part of another thing: "A inhibitor", "A-induced"."""
        if at >= len(tokens):
            return False
        return self._is("parts", tokens[at]) or tokens[at] in ("-", "/") or tokens[at].startswith("\u00a7")

    def _subject(self, tokens: Sequence[str], at: int) -> tuple[int | None, bool]:
        """Where a subject begins whose name is at a place, if it is one; whether an aspect of the thing is meant."""
        place, aspect = at, False
        while place and (self._is("determiners", tokens[place - 1]) or self._is("kinds", tokens[place - 1])):
            place -= 1
        if place > 1 and tokens[place - 1] in ("of", "in", "at", "for") and self._is("aspects", tokens[place - 2]):
            place, aspect = place - 2, True
            while place and (
                self._is("determiners", tokens[place - 1])
                or self._is("aspects", tokens[place - 1])
                or tokens[place - 1]
                in (
                    "genetic",
                    "germline",
                    "somatic",
                    "common",
                    "rare",
                    "and",
                    "or",
                    "loss-of-function",
                    "increased",
                    "reduced",
                    "inherited",
                )
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
        return all(self._words.deniable.match(cue) or cue in self._denying for cue in cues)


def thing_at(token: str) -> int:
    """The place of the thing that a token stands for."""
    return int(token[1:])
