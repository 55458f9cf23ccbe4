"""What stretches of a sentence add to a statement of two groups of names, and when that is one."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kgcheck.grounding.facts.phrases import NameGroup, NamePhrases

WITHIN = ("in", "within", "inside", "at")
"""Words with which what is somewhere goes on."""

_AFTERWARDS = 6
"""Words behind the second name that belong to the statement: "B is where A resides"."""


class Statement(NamedTuple):
    """Two groups of things, by their places, that a sentence relates."""

    ones: tuple[int, ...]
    twos: tuple[int, ...]
    denied: bool
    aspect: bool


class Stretch(NamedTuple):
    """What the words of a stretch add to a statement: those that relate, and how often it is denied."""

    cues: tuple[str, ...] = ()
    denials: int = 0
    partial: bool = False
    aspect: bool = False
    equates: bool = False
    """Whether a verb is in it that makes of one side what the other is, or has: is, includes."""

    def joined(self, other: "Stretch") -> "Stretch":
        """Both together."""
        return Stretch(
            self.cues + other.cues,
            self.denials + other.denials,
            self.partial or other.partial,
            self.aspect or other.aspect,
            self.equates or other.equates,
        )


class StretchReader(NamePhrases):
    """Reads the words beside names for what they add to a statement of one form."""

    def _stretch(self, tokens: Sequence[str], first: int, last: int) -> Stretch | None:
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
            elif self._locates and self._is("equating", token) and following in WITHIN:
                cues.append("located")
            elif not self._is_known(token):
                return None
            partial = partial or self._is("partial", token)
            aspect = aspect or (self._is("aspects", token) and not self._is("kinds", token))
            equates = equates or self._is("equating", token)
            at += 1
        return Stretch(tuple(cues), denials, partial, aspect, equates)

    def _stated(
        self, tokens: Sequence[str], place: tuple[int, int], ones: NameGroup, twos: NameGroup, read: Stretch
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

    def _behind(self, tokens: Sequence[str], at: int) -> tuple[int, Stretch] | None:
        """What stands behind the second name and still belongs to the statement, up to the end of the clause."""
        end = at
        while end < len(tokens) and not self._is("stops", tokens[end]):
            end += 1
        if end - at > _AFTERWARDS:
            return None
        read = self._stretch(tokens, at, end) if end > at else None
        return (end, read) if read else None
