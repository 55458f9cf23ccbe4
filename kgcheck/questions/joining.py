"""Joins the nodes of a question by the relations that the schema has between them.

Every mention is joined to the variable before it, or, where the schema has no way, to an earlier one. A relation that
exists more than once between two labels must be said in words; one that is said between the wrong labels goes through
the label in between, where there is one.
"""

import re
from collections.abc import Iterator

from kgcheck.errors import NotUnderstood
from kgcheck.profile.lexicon import Lexicon
from kgcheck.profile.schema import Pattern, Schema
from kgcheck.questions.nodes import Direction, Node, Way, node_text
from kgcheck.questions.reading import Noun, Phrase, QuestionReading

Step = tuple[Pattern, Direction, str]
"""A relation, its direction seen from the near end, and the label at the far end."""


class Routes:
    """Finds them."""

    def __init__(self, schema: Schema, lexicon: Lexicon) -> None:
        self._schema = schema
        self._lexicon = lexicon

    def between(self, starts: tuple[str, ...], ends: tuple[str, ...], most: int) -> Iterator[tuple[str, list[Step]]]:
        """Ways from one label to another of at most so many relations that need no words; none visits a label twice."""
        usable = [
            p for p in self._schema.relations if p.head != p.tail and not self._lexicon.relation(p.type).words_needed
        ]
        ways: list[tuple[str, list[Step]]] = [(start, []) for start in starts]
        for _ in range(most):
            longer: list[tuple[str, list[Step]]] = []
            for start, steps in ways:
                here = steps[-1][2] if steps else start
                seen = {start, *(label for _, _, label in steps)}
                for p in usable:
                    if here not in (p.head, p.tail):
                        continue
                    there, direction = (p.tail, "out") if p.head == here else (p.head, "in")
                    if there not in seen:
                        step: Step = (p, "out" if direction == "out" else "in", there)
                        longer.append((start, [*steps, step]))
            yield from ((start, steps) for start, steps in longer if steps[-1][2] in ends)
            ways = longer

    def same(self, starts: tuple[str, ...], ends: tuple[str, ...]) -> list[tuple[str, list[Step]]]:
        """One relation between things that are said for each other, as a gene for its protein."""
        routes = self.between(starts, ends, 1)
        return [(start, steps) for start, steps in routes if self._lexicon.relation(steps[0][0].type).stands_for]


_MOST_HIDDEN = 3
"""Relations of a way through labels that nobody named."""

_ARE = re.compile(r"\b(?:is|are|was|were)\s+(?:(?:an?|the|also|known)\s+)*$")
_OF = re.compile(r"^\s+(?:of|for)\b")
_OR = re.compile(r"^[\s,]*(?:or|and/or)(?:\s+(?:that|which|who|are|is|have|has|else|those|to|with|in|the|also))*\s*$")
_GENITIVE = re.compile(r"^(?:'s)?\s+(?:(?:of|in|on|from|for|at|within|the|human|protein|gene|a|an)\s+)*$")
_PREPOSITION = re.compile(r"\b(with|to|in|by|on|of|from)\s+(?:(?:the|both|either|protein|gene)\s+)*$")
_MAIN = re.compile(
    r"(?:^|\s)(?:and|or|but|also|,)?\s*(?:also\s+)?(?:is|are|was|were|has|have|do|does|been)\s*(?:also\s*)?$"
)
_RELATIVE = re.compile(r"\b(?:that|which|who|whose|where)\b")
_LINKING = re.compile(
    r"^[\s,]*(?:(?:and|or|but|not|nor|also|neither|either|both|except|for|excluding|without|by|to|with|on|in|of|the)[\s,]*)*$"
)


class Joiner:
    """Joins the nodes of one question."""

    def __init__(self, schema: Schema, lexicon: Lexicon, reading: QuestionReading) -> None:
        self._schema = schema
        self._lexicon = lexicon
        self._reading = reading
        self._routes = Routes(schema, lexicon)
        self._phrases = [m for m in reading.mentions if isinstance(m, Phrase)]
        self._used: set[int] = set()
        self.notes: list[str] = []
        self.ways: list[tuple[Node, Way]] = []

    @property
    def unused(self) -> list[Phrase]:
        """Phrases that no relation of the plan stands for."""
        used = {way.pattern.type for _, way in self.ways}
        return [
            p
            for p in self._phrases
            if p.start not in self._used and not any(relation in used for relation, _ in p.readings)
        ]

    def join_all(self, target: Node, nodes: list[Node]) -> None:
        """Join every node to the variable before it, or to an earlier one."""
        variables = [target]
        before: list[Node] = []
        owned = isinstance(target.mention, Noun) and bool(target.mention.relation)
        for node in nodes:
            if node is target:
                continue
            if node.start < target.start and not owned:
                before.append(node)
                continue
            if not self._join(node, variables):
                raise NotUnderstood(
                    f"the graph has no way from {node_text(variables[-1])} to {node_text(node)} that the question"
                    " names",
                    "say how they are related",
                )
            if not node.is_named and not any(node is v for v in variables):
                variables.append(node)
        for node in before:
            if not self._join(node, variables[:1]):
                raise NotUnderstood(f"the graph has no way from {node_text(target)} to {node_text(node)}", "say how")
        for phrase in self.unused:
            self._join_again(phrase)

    def _join_again(self, phrase: Phrase) -> None:
        """A second relation to the same name: "that A acts on but does not interact with"."""
        for variable, way in list(self.ways):
            before = way.phrase
            if not before or before.end > phrase.start or not way.to.is_named or way.to.start > before.start:
                continue
            gap = self._reading.text[before.end : phrase.start].lower()
            for mark in self._reading.marks:
                if before.end <= mark.start and mark.end <= phrase.start:
                    gap = gap.replace(mark.text, " ")
            if not _LINKING.match(gap):
                continue
            again = Node(way.to.mention, way.to.labels, way.to.names, way.to.mode, noun=way.to.noun)
            for relation, backward in phrase.readings:
                second = self._direct_way(variable, again, phrase, relation, backward)
                if second:
                    second.phrase = phrase
                    second.alternative = bool(_OR.match(gap))
                    variable.ways.append(second)
                    self.ways.append((variable, second))
                    return

    def _join(self, node: Node, variables: list[Node]) -> bool:
        order = list(reversed(variables))
        if len(variables) > 1 and self._is_main(node, variables):
            order = [variables[0], *order[:-1]]
        for hidden in (False, True):
            for variable in order:
                ways = self._ways_between(variable, node, hidden=hidden)
                if ways:
                    self._add(variable, ways)
                    return True
            if not node.is_named and self._is_same(node, variables):
                return True
        return False

    def _is_main(self, node: Node, variables: list[Node]) -> bool:
        """Whether a node belongs to what is asked for: "proteins that bind A are in B", "... and have B"."""
        last = max(
            (way.to.end for _, way in self.ways if way.to.mention.text and way.to.end <= node.start), default=None
        )
        if last is None:
            return False
        phrase = next((p for p in self._phrases if last <= p.start < node.start), None)
        gap = self._reading.text[last : phrase.start if phrase else node.start].lower()
        if phrase and re.match(r"(?:is|are|was|were|has|have)\s", phrase.text):
            gap += " are"
        return bool(_MAIN.search(gap)) and not _RELATIVE.search(gap) and variables[0].start < last

    def _is_same(self, node: Node, variables: list[Node]) -> bool:
        """Whether a noun only names a variable again: "and its modification site"."""
        for variable in variables:
            if node.labels and set(node.labels) & set(variable.labels):
                variable.labels = tuple(label for label in variable.labels if label in node.labels)
                return True
        return False

    def _add(self, variable: Node, ways: list[Way]) -> None:
        ways[0].alternative = self._is_alternative(variable, ways)
        at = variable
        for way in ways:
            at.ways.append(way)
            self.ways.append((at, way))
            at = way.to

    def _is_alternative(self, variable: Node, ways: list[Way]) -> bool:
        """Whether an "or" stands between a relation and the one before it."""
        if not variable.ways:
            return False
        before, node, phrase = variable.ways[-1], ways[-1].to, ways[-1].phrase or ways[0].phrase
        end = max(_ends(before))
        start = phrase.start if phrase and end <= phrase.start < node.start else node.start
        return end <= start and bool(_OR.match(self._reading.text[end:start].lower()))

    # --- one way -------------------------------------------------------------------------------------

    def _ways_between(self, variable: Node, node: Node, *, hidden: bool) -> list[Way]:  # noqa: C901, PLR0912
        """The relations from a variable to a node: as said, else as the schema has them, else through others."""
        phrases = self._phrases_for(variable, node)
        if hidden:
            for phrase in phrases:
                for relation, backward in phrase.readings:
                    ways = self._far_ways(variable, node, phrase, relation, backward)
                    if ways:
                        return ways
            return self._hidden(variable, node)
        for role_node in (variable, node):
            noun = role_node.mention if isinstance(role_node.mention, Noun) else None
            if noun and noun.relation and noun.start not in self._used and not self._is_of_other(role_node, node):
                ways = self._by_role(variable, node, noun)
                if ways:
                    return ways
        for phrase in phrases:
            for relation, backward in phrase.readings:
                way = self._direct_way(variable, node, phrase, relation, backward)
                if way:
                    way.phrase = phrase
                    return [way]
        inherited = self._inherited(variable, node)
        if inherited:
            return [inherited]
        first, last = sorted((variable.start, node.start))
        for phrase in [p for p in phrases if first <= p.start < last]:
            ways = self._far_ways(variable, node, phrase, *phrase.readings[0])
            if ways:
                return ways
        for pattern in self._schema.relations:
            if not self._lexicon.relation(pattern.type).words_needed and not self._is_ambiguous(
                variable, node, pattern
            ):
                way = self._plain(variable, node, pattern)
                if way:
                    return [way]
        return []

    def _is_of_other(self, role_node: Node, node: Node) -> bool:
        """Whether a noun such as "partners" is of what follows it, not of the variable before it."""
        if role_node is not node:
            return False
        before = self._reading.text[: node.start].lower()
        return bool(_OF.match(self._reading.text[node.end :].lower()) or _ARE.search(before))

    def _is_ambiguous(self, variable: Node, node: Node, pattern: Pattern) -> bool:
        """Whether a name may be a node of the variable's own label, so that nothing says that it is of another."""
        return node.is_named and not node.noun and pattern.head in node.labels and pattern.tail in node.labels

    def _inherited(self, variable: Node, node: Node) -> Way | None:
        """The relation of the name before, where nothing new is said: "that bind A but not B"."""
        if not node.is_named or not variable.ways:
            return None
        before = variable.ways[-1]
        end = before.to.end
        if not before.to.is_named or end > node.start or not set(before.to.labels) & set(node.labels):
            return None
        gap = self._reading.text[end : node.start].lower()
        for mark in self._reading.marks:
            if end <= mark.start and mark.end <= node.start:
                gap = gap.replace(mark.text, " ")
        gap = gap.replace(node.noun.text, " ") if node.noun else gap
        now, then = _PREPOSITION.search(gap), _PREPOSITION.search(self._reading.text[: before.to.start].lower())
        if not _LINKING.match(gap) or (now and then and now[1] != then[1]):
            return None
        node.labels = before.to.labels
        return Way(before.pattern, before.direction, node)

    def _phrases_for(self, variable: Node, node: Node) -> list[Phrase]:
        """Phrases between the two, then those after both, then those before both; each stands for one relation."""
        free = [p for p in self._phrases if p.start not in self._used]
        first, last = sorted((variable.start, node.start))
        between = [p for p in free if first <= p.start < last]
        after = [p for p in free if p.start > last and not self._is_for_later(variable, node, p)]
        # The nearest one between: an earlier one belongs to a node before.
        return [*reversed(between), *after, *(p for p in free if p.start < first)]

    def _is_for_later(self, variable: Node, node: Node, phrase: Phrase) -> bool:
        """Whether a phrase after two nodes is about a third one: "residues of A that are phosphorylated by B"."""
        earlier, later = (variable, node) if variable.start < node.start else (node, variable)
        if not _GENITIVE.match(self._reading.text[earlier.end : later.start].lower()):
            return False
        return any(not isinstance(m, Phrase) and m.start > phrase.start for m in self._reading.mentions)

    def _subject(self, variable: Node, node: Node, phrase: Phrase) -> Node:
        """Which of the two a phrase is said of."""
        earlier, later = (variable, node) if variable.start < node.start else (node, variable)
        return later if phrase.start > later.start else earlier

    def _direct_way(self, variable: Node, node: Node, phrase: Phrase, relation: str, backward: bool) -> Way | None:
        words = self._lexicon.relation(relation)
        subject = self._subject(variable, node, phrase)
        out = (subject is variable) != backward
        if not variable.labels and not words.words_needed:
            return self._way_of_anything(variable, node, relation, out)
        for pattern in self._schema.patterns(relation):
            head, tail = (variable, node) if out else (node, variable)
            if pattern.head == pattern.tail:
                if not (self._may(variable, pattern.head) and self._may(node, pattern.tail)):
                    continue
                self._used.add(phrase.start)
                _narrow(variable, pattern.head, node, pattern.tail)
                return Way(pattern, "either" if words.mutual else "out" if out else "in", node)
            if words.words_needed and not (self._may(head, pattern.head) and self._may(tail, pattern.tail)):
                # Said of other labels: perhaps there is a way through one in between.
                if not (variable.labels and node.labels) or not self._flips(variable, node, pattern):
                    continue
            elif words.words_needed:
                self._used.add(phrase.start)
                _narrow(head, pattern.head, tail, pattern.tail)
                return Way(pattern, "out" if out else "in", node)
            way = self._plain(variable, node, pattern)
            if way:
                if words.words_needed or phrase.start < max(variable.start, node.start):
                    self._used.add(phrase.start)
                return way
        return None

    def _way_of_anything(self, variable: Node, node: Node, relation: str, out: bool) -> Way | None:
        """A relation of what has no noun, if only one of its label pairs fits: "What is encoded by TP53?"."""
        fits = [p for p in self._schema.patterns(relation) if self._may(node, p.tail if out else p.head)]
        if len(fits) != 1 or not node.labels:
            return None
        ends = (fits[0].head, fits[0].tail) if out else (fits[0].tail, fits[0].head)
        _narrow(variable, ends[0], node, ends[1])
        return Way(fits[0], "out" if out else "in", node)

    def _flips(self, variable: Node, node: Node, pattern: Pattern) -> bool:
        return any(
            self._may(variable, a) and self._may(node, b)
            for a, b in ((pattern.head, pattern.tail), (pattern.tail, pattern.head))
        )

    def _far_ways(self, variable: Node, node: Node, phrase: Phrase, relation: str, backward: bool) -> list[Way]:
        """A relation that is said of two nodes, one of which only has it through a label in between."""
        words = self._lexicon.relation(relation)
        if not words.words_needed:
            return []
        out = (self._subject(variable, node, phrase) is variable) != backward
        for pattern in self._schema.patterns(relation):
            near, far = (pattern.head, pattern.tail) if out else (pattern.tail, pattern.head)
            direction: Direction = "either" if words.mutual else "out" if out else "in"
            named: Step = (pattern, direction, far)
            for route in self._routes.same(self._labels(variable), (near,)) if self._may(node, far) else ():
                self._used.add(phrase.start)
                return self._way_along([*route[1], named], route[0], variable, node, phrase)
            for route in self._routes.same((far,), self._labels(node)) if self._may(variable, near) else ():
                self._used.add(phrase.start)
                return self._way_along([named, *route[1]], near, variable, node, phrase)
        return []

    def _by_role(self, variable: Node, node: Node, noun: Noun) -> list[Way]:
        """The relation that a noun such as "partners" carries, to what it is "of"."""
        relation = noun.relation or ""
        either = self._lexicon.relation(relation).mutual
        noun_is_variable = variable.mention is noun
        for pattern in self._schema.patterns(relation):
            of_noun, of_other = (pattern.tail, pattern.head) if noun.role == "tail" else (pattern.head, pattern.tail)
            at_variable, at_node = (of_noun, of_other) if noun_is_variable else (of_other, of_noun)
            variable_is_head = (noun.role == "head") == noun_is_variable
            direction: Direction = "either" if either else "out" if variable_is_head else "in"
            if self._may(variable, at_variable) and self._may(node, at_node):
                self._used.add(noun.start)
                _narrow(variable, at_variable, node, at_node)
                steps = [Node(Noun(node.start, node.start, ""), (at_node,)) for _ in range(noun.steps - 1)]
                return [Way(pattern, direction, to) for to in (*steps, node)]
            other, end = (node, at_node) if noun_is_variable else (variable, at_variable)
            if noun.steps == 1 and self._may(variable if noun_is_variable else node, of_noun) and other.labels:
                named: Step = (pattern, direction, at_node)
                if noun_is_variable:
                    for route in self._routes.same((end,), other.labels):
                        self._used.add(noun.start)
                        return self._way_along([named, *route[1]], at_variable, variable, node, None)
                for route in self._routes.same(other.labels, (end,)) if not noun_is_variable else ():
                    self._used.add(noun.start)
                    return self._way_along([*route[1], named], route[0], variable, node, None)
        return []

    def _plain(self, variable: Node, node: Node, pattern: Pattern) -> Way | None:
        """A relation between two different labels, whose direction the schema gives."""
        if pattern.head == pattern.tail or not (variable.labels and node.labels):
            return None
        for direction, here, there in (("out", pattern.head, pattern.tail), ("in", pattern.tail, pattern.head)):
            if self._may(variable, here) and self._may(node, there):
                _narrow(variable, here, node, there)
                return Way(pattern, "out" if direction == "out" else "in", node)
        return None

    # --- through labels that nobody named ------------------------------------------------------------

    def _hidden(self, variable: Node, node: Node) -> list[Way]:
        """The shortest way through labels that nobody named, by relations that need no words."""
        for most in range(2, _MOST_HIDDEN + 1 if variable.labels and node.labels else 2):
            for start, steps in self._routes.between(self._labels(variable), self._labels(node), most):
                if len(steps) > 1:
                    return self._way_along(steps, start, variable, node, None)
        return []

    def _way_along(self, steps: list[Step], start: str, variable: Node, node: Node, phrase: Phrase | None) -> list[Way]:
        _narrow(variable, start, node, steps[-1][2])
        middle = [Node(Noun(node.start, node.start, ""), (label,)) for _, _, label in steps[:-1]]
        if middle:
            between = " and ".join(label for _, _, label in steps[:-1])
            self.notes.append(f"{start} and {steps[-1][2]} are joined through {between}")
        ways = [Way(p, direction, to) for (p, direction, _), to in zip(steps, [*middle, node], strict=True)]
        ways[0].phrase = phrase
        return ways

    def _labels(self, node: Node) -> tuple[str, ...]:
        return node.labels or tuple(self._schema.label_names)

    def _may(self, node: Node, label: str) -> bool:
        return not node.labels or label in node.labels


def _ends(way: Way) -> list[int]:
    return [way.to.end, *(end for after in way.to.ways for end in _ends(after))]


def _narrow(one: Node, label: str, other: Node, other_label: str) -> None:
    """Settle the labels of both ends of a relation."""
    one.labels, other.labels = (label,), (other_label,)
