"""The constructions in which a sentence relates things: "A binds B", "A and B interact", "no binding of A to B"."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kgcheck.grounding.facts.phrases import NamePhrases, thing_at

_MUTUAL = ("interact", "bind", "bound", "associat", "complex")


class Statement(NamedTuple):
    """Two groups of things, by their places, that a sentence relates."""

    ones: tuple[int, ...]
    twos: tuple[int, ...]
    denied: bool
    aspect: bool


class Grammar(NamePhrases):
    """The constructions in which one form is stated."""

    def statements(self, tokens: Sequence[str]) -> Iterator[Statement]:
        """What the tokens of a sentence state, as far as this form has words for it."""
        if self._cue is None:
            return
        for reader in (self._active, self._mutually, self._nominal):
            yield from reader(tokens)

    # A binds B

    def _active(self, tokens: Sequence[str]) -> Iterator[Statement]:
        for at, token in enumerate(tokens):
            if not token.startswith("\u00a7"):
                continue
            if at and tokens[at - 1] in ("and", "or", "nor", ",", "-", "/") and self._in_group(tokens, at):
                continue
            group = self._group(tokens, at)
            if group is None:
                continue
            ones, end = group
            begin, aspect = self._subject(tokens, at)
            if begin is None or self._is_clouded(tokens[:begin]):
                continue
            end, after = self._aspects(tokens, end)
            neither = begin > 0 and tokens[begin - 1] in ("neither", "no")
            end = self._relative(tokens, end)
            yield from self._predicate(tokens, begin, end, ones, aspect=aspect or after, neither=neither)

    def _predicate(
        self, tokens: Sequence[str], begin: int, at: int, ones: tuple[int, ...], *, aspect: bool, neither: bool
    ) -> Iterator[Statement]:
        """The word that relates, and whom, from a place on; then what a second verb, or "but not", adds."""
        if at < len(tokens) and self._is("nouns", tokens[at]):
            # "A localization of B": a noun after a name, and no verb.
            return
        first, denials, related = at, int(neither), False
        cues: list[str] = []
        while at < len(tokens) and at - first <= 14:
            token = tokens[at]
            if token.startswith("\u00a7"):
                break
            if self._is_cue(token):
                denials += token in self._denying
                cues.append(token)
                related = True
            elif self._is("negations", token):
                following = tokens[at + 1] if at + 1 < len(tokens) else ""
                if self._is("no_denials", following):
                    at += 2
                    continue
                if self._is("unsure_denials", following):
                    return
                denials += 1
            elif not (
                self._is("links" if related else "auxiliaries", token)
                or self._is("determiners", token)
                or (related and self._is("auxiliaries", token))
                or self._is("aspects", token)
                or self._is("aspect_links", token)
            ):
                return
            elif self._is("aspects", token):
                aspect = True
            at += 1
        if not related or at >= len(tokens) or at == first:
            return
        group = self._group(tokens, at)
        if group is None or denials > 1:
            return
        twos, end = group
        end, after = self._after(tokens, end)
        if not self._may_follow(tokens, end):
            return
        denied = denials == 1
        if denied and not self._may_deny(tokens, begin, end, cues):
            return
        yield Statement(ones, twos, denied, aspect or after)
        for third, is_denied in self._but_not(tokens, end):
            yield Statement(ones, third, is_denied != denied, aspect or after)

    def _but_not(self, tokens: Sequence[str], at: int) -> Iterator[tuple[tuple[int, ...], bool]]:
        rest = [t for t in tokens[at : at + 8] if t != ","]
        skipped = sum(t == "," for t in tokens[at : at + 2])
        if rest[:2] in (["but", "not"], ["and", "not"]):
            place = at + skipped + 2
            while place < len(tokens) and (self._is("links", tokens[place]) or self._is("determiners", tokens[place])):
                place += 1
            group = self._group(tokens, place)
            if group and self._may_follow(tokens, self._after(tokens, group[1])[0]):
                yield group[0], True

    # A and B interact

    def _mutually(self, tokens: Sequence[str]) -> Iterator[Statement]:
        if not self._mutual:
            return
        for at, token in enumerate(tokens):
            group = self._group(tokens, at) if token.startswith("\u00a7") else None
            if group is None or len(group[0]) != 2:
                continue
            begin, aspect = self._subject(tokens, at)
            if begin is None or aspect or self._is_clouded(tokens[:begin]):
                continue
            (one, two), place = group
            denials, related = int(begin > 0 and tokens[begin - 1] == "neither"), ""
            while place < len(tokens):
                token = tokens[place]
                if self._is("negations", token):
                    following = tokens[place + 1] if place + 1 < len(tokens) else ""
                    if self._is("no_denials", following) or self._is("unsure_denials", following):
                        break
                    denials += 1
                elif token.startswith(_MUTUAL) and self._is_cue(token):
                    related = token
                elif not (self._is("auxiliaries", token) or self._is("determiners", token)):
                    break
                place += 1
            rest = [*tokens[place : place + 3], "", "", ""]
            if rest[:3] == ["with", "each", "other"] or rest[:3] == ["to", "each", "other"]:
                rest = [*tokens[place + 3 : place + 4], "."]
            if not related or denials > 1 or rest[0] in ("with", "to", "-", "of") or rest[0].startswith("\u00a7"):
                continue
            if rest[0] and not self._is("followers", rest[0]) and rest[0] not in ("together", "here"):
                continue
            denied = denials == 1
            if not denied or self._may_deny(tokens, begin, place, [related]):
                yield Statement((one,), (two,), denied, aspect=False)

    # binding of A to B was not seen

    def _nominal(self, tokens: Sequence[str]) -> Iterator[Statement]:
        for at, token in enumerate(tokens):
            if not (self._is("nouns", token) and self._is_cue(token)):
                continue
            if at and tokens[at - 1].startswith("\u00a7"):
                yield from self._compound(tokens, at)
                continue
            place, found = at + 1, self._found(tokens, at + 1)
            place = found or place
            if place >= len(tokens) or tokens[place] not in ("between", "of", "for", "by"):
                continue
            pair = self._pair(tokens, place)
            if pair is None:
                continue
            ones, twos, aspect, end = pair
            begin, denied, is_found = self._before_noun(tokens, at)
            if self._is_clouded(tokens[:begin]):
                continue
            after = self._found(tokens, end)
            if not (found or after or is_found):
                continue
            neg = sum(self._is("negations", t) for t in tokens[min(place, end) : after or end])
            neg += sum(self._is("negations", t) for t in tokens[at:place]) + denied
            if neg > 1 or (not after and not self._may_follow(tokens, end)):
                continue
            if neg and not self._may_deny(tokens, begin, after or end, [token]):
                continue
            yield Statement(ones, twos, bool(neg), aspect)

    def _compound(self, tokens: Sequence[str], at: int) -> Iterator[Statement]:
        """In "the A-B interaction was confirmed"."""
        if at < 3 or tokens[at - 2] not in ("-", "/") or not tokens[at - 3].startswith("\u00a7"):
            return
        begin, denied, is_found = self._before_noun(tokens, at - 3)
        after = self._found(tokens, at + 1)
        if not (after or is_found) or self._is_clouded(tokens[:begin]):
            return
        neg = denied + sum(self._is("negations", t) for t in tokens[at : after or at])
        if neg > 1 or (neg and not self._may_deny(tokens, begin, after or at, [tokens[at]])):
            return
        yield Statement((thing_at(tokens[at - 3]),), (thing_at(tokens[at - 1]),), bool(neg), aspect=False)

    def _pair(self, tokens: Sequence[str], at: int) -> tuple[tuple[int, ...], tuple[int, ...], bool, int] | None:
        """Two things after "between", or after "of": the second one behind "with", "to", "and" or "in"."""
        between, place, aspect = tokens[at] == "between", at + 1, False
        while place < len(tokens) and not tokens[place].startswith("\u00a7"):
            word = tokens[place]
            if self._is("aspects", word):
                aspect = True
            elif not (self._is("determiners", word) or self._is("kinds", word) or self._is("aspect_links", word)):
                return None
            place += 1
        group = self._group(tokens, place)
        if group is None:
            return None
        ones, end = group
        if len(ones) == 2 and (between or not self._may_be_second(tokens, end)):
            return ones[:1], ones[1:], aspect, self._after(tokens, end)[0]
        end, more = self._aspects(tokens, end)
        if between and tokens[end : end + 1] != ["and"]:
            return None
        if not self._may_be_second(tokens, end):
            return None
        place = end + 1
        while place < len(tokens) and not tokens[place].startswith("\u00a7"):
            word = tokens[place]
            aspect = aspect or self._is("aspects", word)
            if not (
                self._is("determiners", word)
                or self._is("kinds", word)
                or self._is("aspects", word)
                or self._is("aspect_links", word)
            ):
                return None
            place += 1
        second = self._group(tokens, place)
        if second is None:
            return None
        return ones, second[0], aspect or more, self._after(tokens, second[1])[0]

    def _may_be_second(self, tokens: Sequence[str], at: int) -> bool:
        return at < len(tokens) and tokens[at] in ("with", "to", "and", "in", "on", "into", "within", "at", "for", "by")

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
                or tokens[place - 1] in ("did", "could", "have", "has", "we", "there", "was")
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
                or tokens[place] in ("could", "exists", "exist")
            ):
                return 0
            place += 1
        return 0
