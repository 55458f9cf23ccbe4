"""What a sentence states of the things that it names: edges, affirmed or denied. Rules over words, no model.

Only plain statements are read: who, a word that relates, and whom, with nothing between that this module does not
know. "A binds B", "binding of A to B was not seen", "A and B interact", "mutations in A cause B", "A binds B but not
C". A question, a hedge, what was tested, what others claim, and what is said of a part of a thing state nothing.
"""

import re
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from kgcheck.grounding.facts.constructions import Grammar
from kgcheck.grounding.facts.named import NamedThing, without_marks
from kgcheck.grounding.facts.phrases import is_thing
from kgcheck.grounding.facts.words import statement_words
from kgcheck.profile.claims import ClaimForm

_TOKEN = re.compile(r"\u00a7\d+|(?<=\s)'s\b|n't\b|[^\W_]+(?:[-'.][^\W_]+)*|[^\s\w]")
_JOINED = re.compile(r"(\u00a7\d+) (?:together|along) with ")
_BRACKET = re.compile(r"\([^()]{0,200}\)")
LONGEST = 1_500
"""Characters of a sentence; a longer one is no sentence."""

_MOST_THINGS = 40

_ASIDE = 14
"""Words of what is told beside."""


class StatedEdge(NamedTuple):
    """That one thing has to do with another, or has not."""

    form: ClaimForm
    head: NamedThing
    tail: NamedThing
    denied: bool
    model: str = ""


class SentenceReader:
    """Reads sentences for statements of some forms."""

    def __init__(self, forms: Sequence[ClaimForm]) -> None:
        self._words = statement_words()
        self._grammars = [(form, Grammar(form, self._words)) for form in forms]

    def read(self, text: str, things: Sequence[NamedThing]) -> list[StatedEdge]:
        """What a sentence states."""
        if len(text) > LONGEST or not 2 <= len(things) <= _MOST_THINGS or text.rstrip().endswith("?"):
            return []
        named = {i: thing for i, thing in enumerate(things) if not self._is_word(thing)}
        tokens: dict[frozenset[int], list[str]] = {}
        found: list[StatedEdge] = []
        for form, grammar in self._grammars:
            heads = {i for i, thing in named.items() if form.head in thing.ids}
            tails = {i for i, thing in named.items() if form.tail in thing.ids}
            both = frozenset(heads | tails)
            if not heads or not tails or len(both) < 2:
                continue
            if both not in tokens:
                # What is neither is a word like others: "cells need A for B".
                tokens[both] = _tokens(text, [(i, things[i]) for i in sorted(both)])
            for statement in grammar.statements(tokens[both], heads, tails):
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

    def _is_word(self, thing: NamedThing) -> bool:
        """Whether it names everything of a kind, and nothing in particular: disease, molecular function."""
        return thing.text.lower() in self._words.general


def _tokens(text: str, things: Sequence[tuple[int, NamedThing]]) -> list[str]:
    """The words of a sentence in lower case, with a mark for each thing; what stands in brackets is left out."""
    pieces, at = [], 0
    for number, thing in things:
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
    # "as well as" joins as "and" does; so does "together with" behind a name.
    text_of = _JOINED.sub(r"\1 and ", " ".join(found).replace(" as well as ", " and "))
    return _without_asides(text_of.split(" ")) if text_of else []


def _without_asides(tokens: list[str]) -> list[str]:
    """Without what is told beside, between commas, of a thing: "A, whose regulation is complex, binds B"."""
    found: list[str] = []
    at = 0
    while at < len(tokens):
        opens = tokens[at] == "," and tokens[at + 1 : at + 2] and tokens[at + 1] in statement_words().lists["asides"]
        end = next((i for i in range(at + 2, min(len(tokens), at + _ASIDE)) if tokens[i] == ","), 0) if opens else 0
        if end and not any(is_thing(word) or word == "and" for word in tokens[at + 1 : end + 2]):
            at = end + 1
        else:
            found.append(tokens[at])
            at += 1
    return found
