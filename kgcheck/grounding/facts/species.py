"""Whether a sentence may be about human genes: a symbol in a sentence about mice, or in a paper about yeast, may not.

A graph of one species is asked about that species alone. A sentence that names another organism and no human is left
alone. In a manuscript whose title or abstract names nothing human, but an organism in which symbols are written as
human ones are (yeast, plants, bacteria, flies, worms, viruses), so is every sentence without the word human that names
a symbol which the manuscript uses throughout: it is that of its own organism.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from kgcheck.grounding.facts.named import NamedThing
from kgcheck.grounding.facts.words import statement_words
from kgcheck.grounding.manuscript import Manuscript

_WORD = re.compile(r"[a-z][a-z0-9]+")
_OFTEN = 3
"""Sentences that name a symbol which a manuscript uses throughout."""


class HumanText:
    """What of a manuscript may be about human genes."""

    def __init__(self, manuscript: Manuscript, things: Mapping[int, Sequence[NamedThing]]) -> None:
        self._names = statement_words().species
        front = [manuscript.title, *(b.text for b in manuscript.blocks if b.section == "abstract")]
        words = set(_WORD.findall(" ".join(front).lower()))
        is_of_others = bool(words & self._names.alike) and not words & self._names.human
        used = Counter(text for named in things.values() for text in {thing.text for thing in named})
        self._own = {text for text, count in used.items() if count >= _OFTEN and is_of_others and not text.islower()}

    def allows(self, sentence: str, things: Sequence[NamedThing]) -> bool:
        """Whether a sentence may be about human genes."""
        for thing in reversed(things):
            if " " in thing.text:
                sentence = sentence[: thing.start] + sentence[thing.end :]
        words = set(_WORD.findall(sentence.lower()))
        if words & self._names.human:
            return True
        return not words & self._names.others and not any(thing.text in self._own for thing in things)
