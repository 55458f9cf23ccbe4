"""Whether a sentence may be about human genes: a symbol in a sentence about mice, or in a paper about yeast, may not.

A graph of one species is asked about that species alone. A sentence that names another organism and no human is left
alone; so is every sentence without the word human of a manuscript whose title or abstract names an organism in which
symbols are written as human ones are (yeast, plants, bacteria, flies, worms, viruses) and nothing human.
"""

import re

from kgcheck.grounding.manuscript import Manuscript
from kgcheck.grounding.words import statement_words

_WORD = re.compile(r"[a-z][a-z0-9]+")


class HumanText:
    """What of a manuscript may be about human genes.

    Args:
        manuscript: The text.
    """

    def __init__(self, manuscript: Manuscript) -> None:
        self._names = statement_words().species
        front = [manuscript.title, *(b.text for b in manuscript.blocks if b.section == "abstract")]
        words = set(_WORD.findall(" ".join(front).lower()))
        self._is_of_others = bool(words & self._names.alike) and not words & self._names.human

    def allows(self, sentence: str) -> bool:
        """Whether a sentence may be about human genes."""
        words = set(_WORD.findall(sentence.lower()))
        if words & self._names.human:
            return True
        return not self._is_of_others and not words & self._names.others
