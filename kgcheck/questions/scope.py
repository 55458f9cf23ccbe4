"""Words whose meaning hangs on what they stand beside: or, either, both, the same, all, different.

Each must have got its meaning from the plan; one that has none changes what is asked without changing the answer, so
that the question is refused by its name.
"""

import re
from collections.abc import Sequence

from kgcheck.errors import NotUnderstood
from kgcheck.profile.lexicon import changes_meaning
from kgcheck.questions.modifiers import Scoped
from kgcheck.questions.nodes import Node, Way
from kgcheck.questions.reading import Name, Noun, Phrase, QuestionReading

_PAIR = 2
_MIXED = re.compile(r"\b(?:and|as well as|together with)\b|&")
_OR = re.compile(r"\bor\b")
_PREPOSITION = re.compile(r"\b(?:in|within|on|at|by|with|to|from|for)\s+$")
_AND = re.compile(r"\band\b")


class Scope:
    """Settles the scoped words of one question."""

    def __init__(
        self, reading: QuestionReading, nodes: Sequence[Node], target: Node, ways: Sequence[tuple[Node, Way]]
    ) -> None:
        self._reading = reading
        self._target = target
        self._ways = ways
        self._groups = [n for n in nodes if len(n.names) >= _PAIR]

    def check(self) -> None:
        """Refuse a question with a word that means nothing where it stands."""
        settled = {
            "or": self._is_or,
            "either": self._is_either,
            "both": self._is_both,
            "shared": self._is_shared,
            "every": self._is_every,
            "distinct": self._is_distinct,
        }
        for word in self._reading.scoped:
            if not settled[word.kind](word):
                raise NotUnderstood(*changes_meaning(word.text))
        self._check_mixed()
        self._check_one()

    def _check_mixed(self) -> None:
        """Refuse "A or B and C", which may mean two things."""
        for group in self._groups:
            gaps = [self._reading.between(a, b) for a, b in zip(group.names, group.names[1:], strict=False)]
            if any(map(_OR.search, gaps)) and any(map(_MIXED.search, gaps)):
                raise NotUnderstood("'and' and 'or' between the same names may mean two things", "ask two questions")

    def _check_one(self) -> None:
        """Refuse a second question after the first: "Which genes ...? Give the proteins."."""
        text = self._reading.text.lower()
        nouns = [m for m in self._reading.mentions if isinstance(m, Noun) and m.text]
        for end in re.finditer(r"\?|[:;]\s*(?:and\s+)?(?:which|what|how many)\b", text):
            before = [m for m in nouns if m.end <= end.start()]
            after = [m for m in self._reading.mentions if m.start >= end.end() and not self._is_target_again(m)]
            if after and (before or text[end.start()] == "?"):
                raise NotUnderstood("more than one thing is asked for", "ask one question at a time")

    def _is_target_again(self, mention: Noun | Name | Phrase) -> bool:
        """Whether a noun only says again what is asked for: "... Just tell me the PDB id."."""
        return isinstance(mention, Noun) and not mention.relation and set(mention.labels) <= set(self._target.labels)

    def _next(self, at: int) -> Noun | Name | Phrase | None:
        return next((m for m in self._reading.mentions if m.start >= at), None)

    def _is_or(self, word: Scoped) -> bool:
        """Between the names of a group, or before another relation that will do as well."""
        for group in self._groups:
            if group.mode == "or" and group.names[0].end <= word.start and word.end <= group.names[-1].start:
                return True
        after = self._next(word.end)
        return any(
            way.alternative and (after is way.phrase or after is way.to.mention or after in way.to.names)
            for _, way in self._ways
        )

    def _is_either(self, word: Scoped) -> bool:
        after = self._next(word.end)
        if isinstance(after, Noun) and word.text.startswith("any"):
            return True
        if any(g.mode == "or" and after is g.names[0] for g in self._groups):
            return True
        alternatives = [s for s in self._reading.scoped if s.kind == "or" and s.start >= word.end]
        return isinstance(after, Phrase) and any(self._is_or(s) for s in alternatives)

    def _touches(self, word: Scoped, group: Node) -> bool:
        """Whether a word stands right before or right after the names of a group, of which all are meant."""
        if group.mode == "or" or any(way.negated and way.to is group for _, way in self._ways):
            return False
        before = [m for m in self._reading.mentions if m.end <= word.start]
        beside = bool(before) and before[-1].end == group.end
        return beside or self._next(word.end) in (group.names[0], group.noun)

    def _is_both(self, word: Scoped) -> bool:
        if any(len(g.names) == _PAIR and self._touches(word, g) for g in self._groups):
            return True
        wanted = [way for node, way in self._ways if node is self._target and not way.negated and not way.alternative]
        joined = bool(_AND.search(self._reading.text[word.end :].lower()))
        by_phrase = isinstance(self._next(word.end), Phrase)
        return by_phrase and joined and len(wanted) == _PAIR and all(w.to.start >= word.end for w in wanted)

    def _is_shared(self, word: Scoped) -> bool:
        """Of several names, or of what is asked for and a name: "proteins in the same pathway as A"."""
        after = self._next(word.end)
        for group in self._groups:
            if self._touches(word, group):
                return True
            belongs = any(way.to is group and node.mention is after and not way.negated for node, way in self._ways)
            if belongs and group.mode != "or":
                return True
        for node, way in self._ways:
            if way.to.mention is after and not way.to.is_named and len(way.to.ways) == 1 and not way.negated:
                (back,) = way.to.ways
                if back.pattern == way.pattern and back.to.is_named and back.to.labels == node.labels:
                    return not back.negated
        return False

    def _is_every(self, word: Scoped) -> bool:
        """Before what is asked for, of which all are given anyway; or before names of which all are meant."""
        after = self._next(word.end)
        if any(after is g.names[0] and self._touches(word, g) for g in self._groups):
            return True
        return not self._reading.whether and self._is_before_target(word)

    def _is_distinct(self, word: Scoped) -> bool:
        """What is given, or counted, is never the same twice."""
        if any(m.kind == "amount" and m.end <= word.start and not self._reading.text[m.end : word.start].strip()
               for m in self._reading.marks):  # fmt: skip
            return True
        return not self._reading.whether and self._is_before_target(word)

    def _is_before_target(self, word: Scoped) -> bool:
        """Whether a word stands before what is asked for, with nothing but names between them."""
        noun = self._target.mention
        if self._target.is_named or not isinstance(noun, Noun) or not noun.text or noun.start < word.end:
            return False
        earlier = [m for m in self._reading.mentions if not isinstance(m, Name) and m.start < noun.start]
        return not earlier and not _PREPOSITION.search(self._reading.text[: word.start].lower())
