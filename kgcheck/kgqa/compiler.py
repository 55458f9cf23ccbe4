"""From mentions to a plan: nouns and names are joined by the relations that the schema has between them.

The first noun is what is asked for. Every later mention is joined to the variable before it, or, where the schema has
no way, to an earlier one. A relation that exists more than once between two labels must be said in words.
"""

from itertools import product

from kgcheck.errors import NotUnderstood
from kgcheck.graph.schema import Pattern, Schema
from kgcheck.kgqa.lexicon import Lexicon
from kgcheck.kgqa.linking import Candidate, NameIndex
from kgcheck.kgqa.nodes import Direction, Node, NodeMaker, Way, told
from kgcheck.kgqa.plan import MOST_HOPS, Anchor, Plan, Step, Variable
from kgcheck.kgqa.reading import Name, Noun, Phrase, Reader, Reading
from kgcheck.model import Ref


class Compiler:
    """Makes plans from questions.

    Args:
        schema: Profile.
        lexicon: Its words.
        index: Names of the graph.
    """

    def __init__(self, schema: Schema, lexicon: Lexicon, index: NameIndex) -> None:
        self._schema = schema
        self._lexicon = lexicon
        self._reader = Reader(lexicon, index)

    def compile(self, question: str) -> Plan:
        """Understand a question.

        Args:
            question: In words.

        Returns:
            What it asks of the graph.

        Raises:
            NotUnderstood: It cannot be read, and why.
        """
        forms = self._reader.forms(question.strip())
        for form in forms[:-1]:
            try:
                return _Compilation(self._schema, self._lexicon, self._reader.read(form)).plan()
            except NotUnderstood:
                continue
        return _Compilation(self._schema, self._lexicon, self._reader.read(forms[-1])).plan()


class _Compilation:
    """One question under way."""

    def __init__(self, schema: Schema, lexicon: Lexicon, reading: Reading) -> None:
        self._schema = schema
        self._lexicon = lexicon
        self._reading = reading
        self._phrases = [m for m in reading.mentions if isinstance(m, Phrase)]
        self._used: set[int] = set()
        self._notes: list[str] = []
        self._ways: list[tuple[int, Way]] = []

    def plan(self) -> Plan:
        nodes = NodeMaker(self._schema, self._lexicon, self._reading).nodes()
        target = self._target(nodes)
        self._join_all(target, nodes)
        self._place_filters(target, nodes)
        plan = Plan(target=self._variable(target), count=self._reading.count, notes=tuple(self._notes))
        if not plan.target.groups and not plan.count:
            raise NotUnderstood("the question names nothing that is in the graph", "name a node by its id or its name")
        if not _is_anchored(plan.target) and plan.target.groups:
            raise NotUnderstood("a part of the question names nothing that is in the graph", "name nodes by id or name")
        if plan.target.hops > MOST_HOPS:
            raise NotUnderstood(f"the question is {plan.target.hops} steps long", f"at most {MOST_HOPS} can be asked")
        return plan

    def _target(self, nodes: list[Node]) -> Node:
        """The first noun that stands for itself; else the other end of the relation that is said."""
        first_said = self._reading.mentions[0] if self._reading.mentions else None
        if isinstance(first_said, Phrase) and nodes and not self._reading.count:
            # "Who interacts with ...": what is asked for has no noun.
            target = Node(Noun(0, 0, ""), ())
            nodes.insert(0, target)
            return target
        for node in nodes:
            if not node.is_named:
                return node
        if not nodes or not self._phrases:
            raise NotUnderstood("the question does not say what is asked for", "ask for genes, proteins, diseases, ...")
        labels = {
            end
            for node, phrase in product(nodes, self._phrases)
            for relation, _ in phrase.readings
            if not self._lexicon.relation(relation).either or len(nodes) == 1
            for p in self._schema.patterns(relation)
            for end, other in ((p.head, p.tail), (p.tail, p.head))
            if other in node.labels
        }
        target = Node(Noun(-1, -1, ""), tuple(sorted(labels)))
        if len(labels) != 1:
            raise NotUnderstood("the question does not say what is asked for", "ask for genes, proteins, diseases, ...")
        nodes.insert(0, target)
        return target

    # --- relations -----------------------------------------------------------------------------------

    def _join_all(self, target: Node, nodes: list[Node]) -> None:
        """Join every node to the variable before it, or to an earlier one."""
        variables = [target]
        before: list[Node] = []
        for node in nodes:
            if node is target:
                continue
            if node.start < target.start:
                before.append(node)
                continue
            if not self._join(node, variables, before):
                raise NotUnderstood(
                    f"the graph has no way from {told(variables[-1])} to {told(node)} that the question names",
                    "say how they are related",
                )
            if not node.is_named and not any(node is v for v in variables):
                variables.append(node)
        for node in before:
            if not self._join(node, variables[:1], []):
                raise NotUnderstood(f"the graph has no way from {told(target)} to {told(node)}", "say how")

    def _join(self, node: Node, variables: list[Node], before: list[Node]) -> bool:
        for allow_hidden in (False, True):
            for variable in reversed(variables):
                ways = self._ways_between(variable, node, hidden=allow_hidden)
                if ways:
                    self._add(variable, ways)
                    return True
            if not node.is_named and self._is_same(node, variables):
                return True
        return False

    def _is_same(self, node: Node, variables: list[Node]) -> bool:
        """Whether a noun only names a variable again: "and its modification site"."""
        for variable in variables:
            if node.labels and set(node.labels) & set(variable.labels):
                variable.labels = tuple(label for label in variable.labels if label in node.labels)
                return True
        return False

    def _add(self, variable: Node, ways: list[Way]) -> None:
        at = variable
        for way in ways:
            at.ways.append(way)
            self._ways.append((way.to.start, way))
            at = way.to

    def _ways_between(self, variable: Node, node: Node, *, hidden: bool) -> list[Way]:
        """The relations from a variable to a node: as said, else as the schema has them, else through others."""
        if hidden:
            return self._hidden(variable, node)
        for role_node in (variable, node):
            noun = role_node.mention if isinstance(role_node.mention, Noun) else None
            if noun and noun.relation and noun.start not in self._used:
                ways = self._by_role(variable, node, noun)
                if ways:
                    return ways
        for phrase in self._phrases_for(variable, node):
            for relation, backward in phrase.readings:
                way = self._said(variable, node, phrase, relation, backward)
                if way:
                    return [way]
        for pattern in self._schema.relations:
            if not self._lexicon.relation(pattern.type).words_needed:
                way = self._plain(variable, node, pattern)
                if way:
                    return [way]
        return []

    def _phrases_for(self, variable: Node, node: Node) -> list[Phrase]:
        """Phrases between the two, then those after both, then those before both; each stands for one relation."""
        free = [p for p in self._phrases if p.start not in self._used]
        first, last = sorted((variable.start, node.start))
        between = [p for p in free if first <= p.start < last]
        after = [p for p in free if p.start > last]
        # The nearest one between: an earlier one belongs to a node before.
        return [*reversed(between), *after, *(p for p in free if p.start < first)]

    def _said(self, variable: Node, node: Node, phrase: Phrase, relation: str, backward: bool) -> Way | None:
        either = self._lexicon.relation(relation).either
        needed = self._lexicon.relation(relation).words_needed
        later = node if node.start > variable.start else variable
        earlier = variable if later is node else node
        subject = later if phrase.start > later.start else earlier
        for pattern in self._schema.patterns(relation):
            if pattern.head == pattern.tail:
                if not (self._may(variable, pattern.head) and self._may(node, pattern.tail)):
                    continue
                out = (subject is variable) != backward
                self._used.add(phrase.start)
                _narrow(variable, pattern.head, node, pattern.tail)
                return Way(pattern, "either" if either else "out" if out else "in", node)
            way = self._plain(variable, node, pattern)
            if way:
                if needed or phrase.start < max(variable.start, node.start):
                    self._used.add(phrase.start)
                return way
        return None

    def _by_role(self, variable: Node, node: Node, noun: Noun) -> list[Way]:
        """The relation that a noun such as "partners" carries, to what it is "of"."""
        relation = noun.relation or ""
        either = self._lexicon.relation(relation).either
        noun_is_variable = variable.mention is noun
        for pattern in self._schema.patterns(relation):
            of_noun, of_other = (pattern.tail, pattern.head) if noun.role == "tail" else (pattern.head, pattern.tail)
            at_variable, at_node = (of_noun, of_other) if noun_is_variable else (of_other, of_noun)
            if not (self._may(variable, at_variable) and self._may(node, at_node)):
                continue
            self._used.add(noun.start)
            _narrow(variable, at_variable, node, at_node)
            variable_is_head = (noun.role == "head") == noun_is_variable
            direction: Direction = "either" if either else "out" if variable_is_head else "in"
            steps = [Node(Noun(node.start, node.start, ""), (at_node,)) for _ in range(noun.steps - 1)]
            return [Way(pattern, direction, to) for to in (*steps, node)]
        return []

    def _plain(self, variable: Node, node: Node, pattern: Pattern) -> Way | None:
        """A relation between two different labels, whose direction the schema gives."""
        if pattern.head == pattern.tail:
            return None
        for direction, here, there in (("out", pattern.head, pattern.tail), ("in", pattern.tail, pattern.head)):
            if self._may(variable, here) and self._may(node, there):
                _narrow(variable, here, node, there)
                return Way(pattern, "out" if direction == "out" else "in", node)
        return None

    def _hidden(self, variable: Node, node: Node) -> list[Way]:
        """The one shortest way through labels that nobody named, by relations that need no words."""
        usable = [
            p for p in self._schema.relations if p.head != p.tail and not self._lexicon.relation(p.type).words_needed
        ]
        ends = [(a, b) for a in self._labels(variable) for b in self._labels(node) if a != b]
        for middle in dict.fromkeys(label for p in usable for label in (p.head, p.tail)):
            for here, there in ends:
                first = next((p for p in usable if {p.head, p.tail} == {here, middle}), None)
                second = next((p for p in usable if {p.head, p.tail} == {middle, there}), None)
                if first and second and middle not in (here, there):
                    _narrow(variable, here, node, there)
                    between = Node(Noun(node.start, node.start, ""), (middle,))
                    self._notes.append(f"{here} and {there} are joined through {middle}")
                    one: Direction = "out" if first.head == here else "in"
                    two: Direction = "out" if second.head == middle else "in"
                    return [Way(first, one, between), Way(second, two, node)]
        return []

    def _labels(self, node: Node) -> tuple[str, ...]:
        return node.labels or tuple(self._schema.label_names)

    def _may(self, node: Node, label: str) -> bool:
        return not node.labels or label in node.labels

    # --- filters and the plan ------------------------------------------------------------------------

    def _place_filters(self, target: Node, nodes: list[Node]) -> None:
        """Each filter to the nearest relation or variable before it that has the property, else to any."""
        variables = [n for n in [target, *nodes] if not n.is_named]
        for position, condition in self._reading.filters:
            ways = [(at, w) for at, w in self._ways if condition.property in w.pattern.properties]
            holders = [n for n in variables if condition.property in self._schema.label(self._labels(n)[0]).properties]
            if ways:
                min(ways, key=lambda pair: (pair[0] > position, abs(position - pair[0])))[1].filters.append(condition)
            elif holders:
                holders[0].filters.append(condition)
            else:
                raise NotUnderstood(f"nothing in the question has a {condition.property}", "leave that condition out")

    def _variable(self, node: Node) -> Variable:
        if len(node.labels) != 1:
            raise NotUnderstood(f"{node.mention.text!r} may mean nodes of several labels", "name what it is of")
        groups: list[tuple[Step, ...]] = []
        for way in node.ways:
            groups += self._steps(way)
        ends = node.mention.ends if isinstance(node.mention, Noun) else None
        return Variable(label=node.labels[0], groups=tuple(groups), filters=tuple(node.filters), ends=ends)

    def _steps(self, way: Way) -> list[tuple[Step, ...]]:
        """The groups of steps that a relation makes: one for each name of an "and", one for all of an "or"."""

        def step(to: Anchor | Variable) -> Step:
            return Step(pattern=way.pattern, direction=way.direction, filters=tuple(way.filters), to=to)

        if not way.to.is_named:
            return [(step(self._variable(way.to)),)]
        steps = [step(self._anchor(name, way.to.labels[0])) for name in way.to.names]
        return [tuple(steps)] if way.to.mode == "or" else [(s,) for s in steps]

    def _anchor(self, name: Name, label: str) -> Anchor:
        meant: list[Candidate] = [c for c in name.candidates if c.ref.label == label]
        refs: tuple[Ref, ...] = tuple(c.ref for c in meant)
        if len(refs) > 1:
            self._notes.append(f"{name.text} names {len(refs)} {label} nodes; all are meant")
        return Anchor(refs=refs, said=name.text)


def _narrow(one: Node, label: str, other: Node, other_label: str) -> None:
    """Settle the labels of both ends of a relation."""
    one.labels, other.labels = (label,), (other_label,)


def _is_anchored(variable: Variable) -> bool:
    """Whether every way from a variable ends at nodes that the question names."""
    steps = [step for group in variable.groups for step in group]
    return bool(steps) and all(isinstance(s.to, Anchor) or _is_anchored(s.to) for s in steps)
