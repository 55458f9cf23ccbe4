"""What a sentence states of the things that it names: edges, affirmed or denied. Rules over words, no model.

Only plain statements are read: who, a word that relates, and whom, with nothing between that this module does not
know. "A binds B", "binding of A to B was not seen", "A and B interact", "mutations in A cause B", "A binds B but not
C". A question, a hedge, what was tested, what others claim, and what is said of a part of a thing state nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from kgcheck.grounding.named import NamedThing, without_marks
from kgcheck.grounding.words import StatementWords, beginning, statement_words
from kgcheck.profile.claims import ClaimForm

_TOKEN = re.compile(r"\u00a7\d+|n't\b|[^\W_]+(?:[-'.][^\W_]+)*|[^\s\w]")
_BRACKET = re.compile(r"\([^()]{0,200}\)")
_LONGEST = 1_500
"""Characters of a sentence; a longer one is no sentence."""

_MOST_THINGS = 40
_GROUP = 6
"""Things that stand beside each other in a list and are all meant; of more, none is."""

_MUTUAL = ("interact", "bind", "bound", "associat", "complex")


class StatedEdge(NamedTuple):
    """That one thing has to do with another, or has not.

    Attributes:
        form: Of the profile, with the labels and the relation.
        head: The thing that is the head.
        tail: The thing that is the tail.
        denied: Whether the sentence denies it.
        loose: Whether things that the rules do not know stand between: it is then good enough to find what is right,
            and not to call something wrong.
    """

    form: ClaimForm
    head: NamedThing
    tail: NamedThing
    denied: bool
    loose: bool = False


class _Statement(NamedTuple):
    """Two groups of things, by their places, that a sentence relates."""

    ones: tuple[int, ...]
    twos: tuple[int, ...]
    denied: bool
    aspect: bool


class SentenceReader:
    """Reads sentences for statements of some forms.

    Args:
        forms: How the profile puts edges into words.
    """

    def __init__(self, forms: Sequence[ClaimForm]) -> None:
        words = statement_words()
        self._words = words
        self._grammars = [(form, _Grammar(form, words)) for form in forms]

    def read(self, text: str, things: Sequence[NamedThing]) -> list[StatedEdge]:
        """What a sentence states.

        Args:
            text: The sentence.
            things: What it names.

        Returns:
            Its edges, each once for every form that it may be of.
        """
        if len(text) > _LONGEST or not 2 <= len(things) <= _MOST_THINGS or text.rstrip().endswith("?"):
            return []
        tokens = _tokens(text, things)
        found: list[StatedEdge] = []
        for form, grammar in self._grammars:
            heads = {i for i, thing in enumerate(things) if form.head in thing.ids}
            tails = {i for i, thing in enumerate(things) if form.tail in thing.ids}
            if not heads or not tails or len(heads | tails) < 2:
                continue
            for statement in grammar.statements(tokens):
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


class _Grammar:
    """The constructions in which one form is stated.

    Args:
        form: The form.
        words: The lists of words.
    """

    def __init__(self, form: ClaimForm, words: StatementWords) -> None:
        self._words, self._lists = words, words.lists
        cues = [f"{cue}*" for cue in form.cues if " " not in cue]
        cues += [f"{word}*" for cue in form.cues for word in words.same.get(cue, ())]
        self._cue = beginning(cues) if cues else None
        self._denying = {
            word for word, of in words.denying.items() if any(c.startswith(tuple(of)) for c in form.cues)
        }
        self._mutual = any(cue.startswith(_MUTUAL[:3]) for cue in form.cues)

    def statements(self, tokens: Sequence[str]) -> Iterator[_Statement]:
        """What the tokens of a sentence state, as far as this form has words for it."""
        if self._cue is None:
            return
        for reader in (self._active, self._mutually, self._nominal):
            yield from reader(tokens)

    def _is(self, name: str, token: str) -> bool:
        return token in self._lists[name]

    def _is_cue(self, token: str) -> bool:
        return bool(self._cue and self._cue.match(token)) or token in self._denying

    # A binds B

    def _active(self, tokens: Sequence[str]) -> Iterator[_Statement]:
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
            neither = begin > 0 and tokens[begin - 1] == "neither"
            end = self._relative(tokens, end)
            yield from self._predicate(tokens, begin, end, ones, aspect=aspect or after, neither=neither)

    def _predicate(
        self, tokens: Sequence[str], begin: int, at: int, ones: tuple[int, ...], *, aspect: bool, neither: bool
    ) -> Iterator[_Statement]:
        """The word that relates, and whom, from a place on; then what a second verb, or "but not", adds."""
        first, denials, related = at, int(neither), False
        cues: list[str] = []
        while at < len(tokens) and at - first <= 14:
            token = tokens[at]
            if token.startswith("\u00a7"):
                break
            if self._is("negations", token):
                following = tokens[at + 1] if at + 1 < len(tokens) else ""
                if self._is("no_denials", following):
                    at += 2
                    continue
                if self._is("unsure_denials", following):
                    return
                denials += 1
            elif self._is_cue(token):
                denials += token in self._denying
                cues.append(token)
                related = True
            elif not (self._is("links" if related else "auxiliaries", token) or self._is("determiners", token)
                      or (related and self._is("auxiliaries", token)) or self._is("aspects", token)
                      or self._is("aspect_links", token)):
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
        yield _Statement(ones, twos, denied, aspect or after)
        for third, is_denied in self._but_not(tokens, end):
            yield _Statement(ones, third, is_denied != denied, aspect or after)

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

    def _mutually(self, tokens: Sequence[str]) -> Iterator[_Statement]:
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
                yield _Statement((one,), (two,), denied, aspect=False)

    # binding of A to B was not seen

    def _nominal(self, tokens: Sequence[str]) -> Iterator[_Statement]:
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
            yield _Statement(ones, twos, bool(neg), aspect)

    def _compound(self, tokens: Sequence[str], at: int) -> Iterator[_Statement]:
        """"the A-B interaction was confirmed"."""
        if at < 3 or tokens[at - 2] not in ("-", "/") or not tokens[at - 3].startswith("\u00a7"):
            return
        begin, denied, is_found = self._before_noun(tokens, at - 3)
        after = self._found(tokens, at + 1)
        if not (after or is_found) or self._is_clouded(tokens[:begin]):
            return
        neg = denied + sum(self._is("negations", t) for t in tokens[at : after or at])
        if neg > 1 or (neg and not self._may_deny(tokens, begin, after or at, [tokens[at]])):
            return
        yield _Statement((_place(tokens[at - 3]),), (_place(tokens[at - 1]),), bool(neg), aspect=False)

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
            if not (self._is("determiners", word) or self._is("kinds", word) or self._is("aspects", word)
                    or self._is("aspect_links", word)):
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
        while place and (self._is("noun_modifiers", tokens[place - 1]) or self._is("negations", tokens[place - 1])
                         or tokens[place - 1] in ("lack", "absence")):
            denied += self._is("negations", tokens[place - 1]) or tokens[place - 1] == "absence"
            place -= 1
        is_found = False
        if place and self._is("finding", tokens[place - 1]):
            is_found = True
            while place and (self._is("finding", tokens[place - 1]) or self._is("negations", tokens[place - 1])
                             or tokens[place - 1] in ("did", "could", "have", "has", "we", "there", "was")):
                denied += self._is("negations", tokens[place - 1])
                place -= 1
        return place, denied, is_found

    def _found(self, tokens: Sequence[str], at: int) -> int:
        """Where "was not observed" and the like ends that begins at a place; 0 where there is none."""
        place = at
        while place < len(tokens) and place - at < 8:
            if self._is("found", tokens[place]) and place > at:
                return place + 1
            if not (self._is("auxiliaries", tokens[place]) or self._is("negations", tokens[place])
                    or tokens[place] in ("could", "exists", "exist")):
                return 0
            place += 1
        return 0

    # What stands beside a name

    def _group(self, tokens: Sequence[str], at: int) -> tuple[tuple[int, ...], int] | None:
        """The things of a list that begins at a place, and where it ends."""
        if at >= len(tokens) or not tokens[at].startswith("\u00a7"):
            return None
        found, place = [_place(tokens[at])], self._past_kinds(tokens, at + 1)
        while True:
            following = place
            while following < len(tokens) and following - place < 3 and tokens[following] in _JOINS:
                following += 1
            while following < len(tokens) and following > place and self._is("determiners", tokens[following]):
                following += 1
            if following == place or following >= len(tokens) or not tokens[following].startswith("\u00a7"):
                break
            found.append(_place(tokens[following]))
            place = self._past_kinds(tokens, following + 1)
        if len(found) > _GROUP or self._is_part(tokens, place):
            return None
        return tuple(found), place

    def _in_group(self, tokens: Sequence[str], at: int) -> bool:
        """Whether the thing at a place goes on with a list."""
        place = at - 1
        while place >= 0 and (tokens[place] in _JOINS or self._is("kinds", tokens[place])
                              or self._is("determiners", tokens[place])):
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
        """Where a subject begins whose name is at a place, if it is one, and whether it is of an aspect of the thing."""
        place, aspect = at, False
        while place and (self._is("determiners", tokens[place - 1]) or self._is("kinds", tokens[place - 1])):
            place -= 1
        if place > 1 and tokens[place - 1] in ("of", "in", "at", "for") and self._is("aspects", tokens[place - 2]):
            place, aspect = place - 2, True
            while place and (self._is("determiners", tokens[place - 1]) or self._is("aspects", tokens[place - 1])
                             or tokens[place - 1] in ("genetic", "germline", "somatic", "common", "rare", "and", "or",
                                                      "loss-of-function", "increased", "reduced", "inherited")):
                place -= 1
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


_JOINS = frozenset((",", "and", "or", "nor", "/"))


def _place(token: str) -> int:
    return int(token[1:])


def _tokens(text: str, things: Sequence[NamedThing]) -> list[str]:
    """The words of a sentence in lower case, with a mark for each thing; what stands in brackets is left out."""
    pieces, at = [], 0
    for number, thing in enumerate(things):
        pieces += [text[at : thing.start].lower(), f" \u00a7{number} "]
        at = thing.end
    joined = "".join([*pieces, text[at:].lower()])
    bare = _BRACKET.sub(" ", without_marks(joined))
    found: list[str] = []
    for token in _TOKEN.findall(bare):
        if token.endswith(("n't", "n\u2019t")) and len(token) > len("n't"):
            found += [token[:-3], "not"]
        else:
            found.append(token)
    # "as well as" joins as "and" does.
    text_of = " ".join(found).replace(" as well as ", " and ").replace(" together with ", " and ")
    return text_of.split(" ") if text_of else []
