"""Compile a read question to a query plan: target, joins, conditions, negations and order."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product

from kgcheck.errors import NotUnderstood
from kgcheck.graph.names import NameIndex
from kgcheck.profile.lexicon import Lexicon, changes_meaning
from kgcheck.profile.schema import Schema
from kgcheck.questions.joining import Joiner, Node, NodeMaker, Way
from kgcheck.questions.plan import MOST_HOPS, Anchor, Filter, Plan, PlanStep, Rank, Variable, many_of
from kgcheck.questions.reading import Mark, Name, Noun, Phrase, QuestionReading, Reader

_PAIR = 2
_MIXED = re.compile(r"\b(?:and|as well as|together with)\b|&")
_OR = re.compile(r"\bor\b")
_PREPOSITION = re.compile(r"\b(?:in|within|on|at|by|with|to|from|for)\s+$")
_AND = re.compile(r"\band\b")


class Scope:
    """Scoped words of one question, as the plan settles them."""

    def __init__(
        self, reading: QuestionReading, nodes: Sequence[Node], target: Node, ways: Sequence[tuple[Node, Way]]
    ) -> None:
        self._reading = reading
        self._target = target
        self._ways = ways
        self._groups = [n for n in nodes if len(n.names) >= _PAIR]

    def check(self) -> None:
        """Refuse a question with a word that means nothing where it stands."""
        settled: dict[str, Callable[[Mark], bool]] = {
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
        """Recognise a noun that only says again what is asked for: "... Just tell me the PDB id."."""
        return isinstance(mention, Noun) and not mention.relation and set(mention.labels) <= set(self._target.labels)

    def _next(self, at: int) -> Noun | Name | Phrase | None:
        return next((m for m in self._reading.mentions if m.start >= at), None)

    def _is_or(self, word: Mark) -> bool:
        """Between the names of a group, or before another relation that will do as well."""
        for group in self._groups:
            if group.mode == "or" and group.names[0].end <= word.start and word.end <= group.names[-1].start:
                return True
        after = self._next(word.end)
        return any(
            way.alternative and (after is way.phrase or after is way.to.mention or after in way.to.names)
            for _, way in self._ways
        )

    def _is_either(self, word: Mark) -> bool:
        after = self._next(word.end)
        if isinstance(after, Noun) and word.text.startswith("any"):
            return True
        if any(g.mode == "or" and after is g.names[0] for g in self._groups):
            return True
        alternatives = [s for s in self._reading.scoped if s.kind == "or" and s.start >= word.end]
        return isinstance(after, Phrase) and any(self._is_or(s) for s in alternatives)

    def _touches(self, word: Mark, group: Node) -> bool:
        """Tell whether a word stands right before or after the names of a group, of which all are meant."""
        if group.mode == "or" or any(way.negated and way.to is group for _, way in self._ways):
            return False
        before = [m for m in self._reading.mentions if m.end <= word.start]
        beside = bool(before) and before[-1].end == group.end
        return beside or self._next(word.end) in (group.names[0], group.noun)

    def _is_both(self, word: Mark) -> bool:
        if any(len(g.names) == _PAIR and self._touches(word, g) for g in self._groups):
            return True
        wanted = [way for node, way in self._ways if node is self._target and not way.negated and not way.alternative]
        joined = bool(_AND.search(self._reading.text[word.end :].lower()))
        by_phrase = isinstance(self._next(word.end), Phrase)
        return by_phrase and joined and len(wanted) == _PAIR and all(w.to.start >= word.end for w in wanted)

    def _is_shared(self, word: Mark) -> bool:
        """Settle "the same": of several names, or of the target and a name, as in "in the same pathway as A"."""
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

    def _is_every(self, word: Mark) -> bool:
        """Before what is asked for, of which all are given anyway; or before names of which all are meant."""
        after = self._next(word.end)
        if any(after is g.names[0] and self._touches(word, g) for g in self._groups):
            return True
        return not self._reading.whether and self._is_before_target(word)

    def _is_distinct(self, word: Mark) -> bool:
        """Settle "different": what is given, or counted, is never the same twice."""
        if any(m.kind == "amount" and m.end <= word.start and not self._reading.text[m.end : word.start].strip()
               for m in self._reading.marks):  # fmt: skip
            return True
        return not self._reading.whether and self._is_before_target(word)

    def _is_before_target(self, word: Mark) -> bool:
        """Tell whether a word stands before the target, with nothing but names between them."""
        noun = self._target.mention
        if self._target.is_named or not isinstance(noun, Noun) or not noun.text or noun.start < word.end:
            return False
        earlier = [m for m in self._reading.mentions if not isinstance(m, Name) and m.start < noun.start]
        return not earlier and not _PREPOSITION.search(self._reading.text[: word.start].lower())


_SECOND = re.compile(r"^\W*+\w.*(?:[,;.?]|\band)\s+(?:in\s+)?(?:which|what|how many)\s+$", re.DOTALL)
_COUNTS = re.compile(r"^\s*(?:(?:of|the|its|their|an?|different|distinct|various|such|annotated|known)\s+){0,3}$")
_AN = re.compile(r"\s+an?\s")
_NOTHING = "the question names nothing that is in the graph"


class Compiler:
    """Compiler of questions to plans."""

    def __init__(self, schema: Schema, lexicon: Lexicon, index: NameIndex) -> None:
        self._schema = schema
        self._lexicon = lexicon
        self._reader = Reader(lexicon, index)

    def compile(self, question: str) -> list[Plan]:
        """Understand a question; one that only names nodes of several labels asks for those of each."""
        forms = self._reader.forms(question)
        for form in forms[:-1]:
            with suppress(NotUnderstood):
                return self._plans(form)
        return self._plans(forms[-1])

    def _plans(self, form: str) -> list[Plan]:
        reading = self._reader.read(form)
        named = reading.mentions[0] if reading.describes else None
        labels = dict.fromkeys(c.ref.label for c in named.candidates) if isinstance(named, Name) else {}
        if not isinstance(named, Name) or len(labels) < 2:
            return [_Compilation(self._schema, self._lexicon, reading).plan()]
        note = f"{named.text} names nodes of several labels; all are meant"
        names = [replace(named, candidates=tuple(c for c in named.candidates if c.ref.label == i)) for i in labels]
        readings = [replace(reading, mentions=[name]) for name in names]
        return [_Compilation(self._schema, self._lexicon, one, note).plan() for one in readings]


class _Compilation:
    def __init__(self, schema: Schema, lexicon: Lexicon, reading: QuestionReading, *notes: str) -> None:
        self._schema = schema
        self._lexicon = lexicon
        self._reading = reading
        self._phrases = [m for m in reading.mentions if isinstance(m, Phrase)]
        self._joiner = Joiner(schema, lexicon, reading)
        self._notes = self._joiner.notes
        self._notes += notes
        self._ranked: Way | None = None

    def plan(self) -> Plan:
        nodes = NodeMaker(self._schema, self._lexicon, self._reading).nodes()
        target = self._target(nodes)
        mentioned = list(nodes)
        excluded = self._excluded(target, nodes)
        self._joiner.join_all(target, nodes)
        self._check_used(nodes)
        self._place_filters(target, nodes)
        for mark in [m for m in self._reading.marks if m.kind == "amount"]:
            way = self._counted(mark, nodes)
            way.times = Filter(property="number", comparison=mark.comparison, value=float(mark.number))
        self._place_negations(nodes)
        Scope(self._reading, mentioned, target, self._joiner.ways).check()
        rank = self._rank(target)
        variable = self._variable(target)
        if excluded:
            variable = variable.model_copy(update={"excluded": tuple(excluded)})
        plan = Plan(
            target=variable,
            count=self._reading.count,
            whether=self._reading.whether,
            every=target.is_named and target.mode != "or",
            rank=rank,
            notes=tuple(self._notes),
        )
        self._check(plan, nodes)
        return plan

    def _check(self, plan: Plan, nodes: list[Node]) -> None:
        """Refuse a plan that asks for everything, for too much at once, or for what makes no sense."""
        reading, target = self._reading, plan.target
        if plan.target.hops > MOST_HOPS:
            raise NotUnderstood(f"the question is {plan.target.hops} steps long", f"at most {MOST_HOPS} can be asked")
        if plan.whether and (plan.rank or (target.among and target.without)):
            raise NotUnderstood("a yes or no question with this condition is not supported", "ask which nodes have it")
        if reading.common and len(target.steps) < 2 and not plan.whether:
            raise NotUnderstood("what several unnamed nodes have in common cannot be asked", "name the nodes")
        if plan.rank and plan.count:
            raise NotUnderstood("the number of the first few is no question", "leave out how many")
        if _is_anchored(target) or target.among or plan.count or plan.rank:
            return
        has_condition = reading.marks or (any(n.is_any for n in nodes if n.ways or not n.is_named) and target.groups)
        if not has_condition:
            raise NotUnderstood(_NOTHING, "name a node by its id or its name")

    def _check_used(self, nodes: list[Node]) -> None:
        """Refuse to go on where words that stand for a relation had no part in the plan."""
        for phrase in [p for p in self._joiner.unused if not self._is_filler(p)]:
            raise NotUnderstood(f"I did not understand: {phrase.text!r}", "say between which things it is")
        used = {way.pattern.type for _, way in self._joiner.ways}
        for node in nodes:
            noun = node.mention if isinstance(node.mention, Noun) and not node.mention.soft else None
            if noun and noun.relation and noun.relation not in used:
                raise NotUnderstood(f"I did not understand: {noun.text!r}", "say of which node")
            earlier = any(n is not node and n.start < node.start and n.mention.text for n in nodes)
            if noun and earlier and _SECOND.search(self._reading.text[: node.start].lower()):
                raise NotUnderstood("more than one thing is asked for", "ask one question at a time")

    def _is_filler(self, phrase: Phrase) -> bool:
        return set(phrase.text.split()) <= self._lexicon.words.ignored

    # --- what is asked for ---------------------------------------------------------------------------

    def _target(self, nodes: list[Node]) -> Node:
        """The first noun that stands for itself; else the other end of the relation that is said."""
        reading = self._reading
        if reading.whether:
            self._drop_kind(nodes)
        unnamed = [n for n in nodes if not n.is_named]
        if reading.describes:
            return nodes[0]
        if reading.whether and nodes and (not unnamed or any(m.kind == "amount" for m in reading.marks)):
            return self._subject(nodes)
        first = reading.mentions[0] if reading.mentions else None
        if (
            isinstance(first, Phrase)
            and first.start > 0
            and not self._is_filler(first)
            and nodes
            and not reading.count
            and not reading.whether
        ):
            # "Who interacts with ...": what is asked for has no noun.
            target = Node(Noun(0, 0, ""), ())
            nodes.insert(0, target)
            return target
        if unnamed:
            return unnamed[0]
        if not nodes or not self._phrases:
            raise self._no_target()
        labels = {
            end
            for node, phrase in product(nodes, self._phrases)
            for relation, backward in phrase.readings
            if not self._lexicon.relation(relation).mutual or len(nodes) == 1
            for p in self._schema.patterns(relation)
            # "What does A act on?" is about the tails of A, "Who acts on A?" about its heads.
            for end, other in (((p.tail, p.head),) if (node.start < phrase.start) != backward else ((p.head, p.tail),))
            if other in node.labels
        }
        target = Node(Noun(-1, -1, ""), tuple(sorted(labels)))
        if len(labels) != 1:
            raise self._no_target()
        nodes.insert(0, target)
        return target

    def _no_target(self) -> NotUnderstood:
        some = ", ".join(many_of(label) for label in self._schema.label_names[:3])
        return NotUnderstood("the question does not say what is asked for", f"ask for {some}, ...")

    def _drop_kind(self, nodes: list[Node]) -> None:
        """Drop the noun of "is A a nuclear protein", which only says the kind of A."""
        first = nodes[0] if nodes and nodes[0].is_named else None
        if first is None or not _AN.match(self._reading.text[first.end :].lower()):
            return
        for node in nodes[1:]:
            shared = tuple(label for label in first.labels if label in node.labels)
            if not node.is_named and shared and isinstance(node.mention, Noun) and not node.mention.relation:
                first.labels = shared
                nodes.remove(node)
                return

    def _subject(self, nodes: list[Node]) -> Node:
        """Choose the subject of a yes or no question: its first name. "Do A and B interact": A is, of B."""
        named = next((n for n in nodes if n.is_named), None)
        if named is None:
            raise NotUnderstood(_NOTHING, "name a node by its id or its name")
        if len(nodes) == 1 and len(named.names) == 2 and self._phrases and not named.ways:
            other = Node(named.names[1], named.labels, named.names[1:], noun=named.noun)
            named.names, named.mode = named.names[:1], ""
            nodes.insert(1, other)
        return named

    def _excluded(self, target: Node, nodes: list[Node]) -> list[Anchor]:
        """Nodes that are not wanted: "other than TP53"."""
        found: list[Anchor] = []
        for mark in [m for m in self._reading.marks if m.kind == "except"]:
            node = self._next(mark, nodes)
            shared = [label for label in node.labels if label in target.labels] if node and node.is_named else []
            between = node and any(mark.end <= p.start < node.start for p in self._phrases)
            if node and node is not target and len(shared) == 1 and not between:
                nodes.remove(node)
                found += [self._anchor(name, shared[0]) for name in node.names]
        return found

    def _next(self, mark: Mark, nodes: list[Node]) -> Node | None:
        return min((n for n in nodes if n.start >= mark.end), key=lambda n: n.start, default=None)

    # --- marks and filters ---------------------------------------------------------------------------

    def _place_filters(self, target: Node, nodes: list[Node]) -> None:
        """Each filter to the nearest relation or variable before it that has the property, else to any."""
        variables = [n for n in [target, *nodes] if not n.is_named]
        for position, condition in self._reading.filters:
            ways = [(w.to.start, w) for _, w in self._joiner.ways if condition.property in w.pattern.properties]
            holders = [
                n for n in variables if n.labels and condition.property in self._schema.label(n.labels[0]).properties
            ]
            if ways:
                min(ways, key=lambda pair: (pair[0] > position, abs(position - pair[0])))[1].filters.append(condition)
            elif holders:
                holders[0].filters.append(condition)
            else:
                raise NotUnderstood(f"nothing in the question has a {condition.property}", "leave that condition out")

    def _counted(self, mark: Mark, nodes: list[Node]) -> Way:
        node = self._next(mark, nodes)
        between = self._reading.text[mark.end : node.start].lower() if node else ""
        way = next((w for _, w in self._joiner.ways if w.to is node), None)
        if node is None or node.is_named or way is None or not _COUNTS.match(between):
            raise NotUnderstood(f"I did not understand: {mark.text!r}", "say of what")
        return way

    def _place_negations(self, nodes: list[Node]) -> None:
        """Each "not" to the relation whose phrase follows it, else to the node that follows it, else the last name."""
        gone = [m for m in self._reading.marks if m.kind == "except" and not self._is_exclusion(m, nodes)]
        for mark in [*(m for m in self._reading.marks if m.kind == "not"), *gone]:
            way = self._denied(mark, nodes)
            if way is None or way.negated or way.times:
                raise NotUnderstood(f"I did not understand: {mark.text!r}", "say what it denies")
            way.negated = True

    def _is_exclusion(self, mark: Mark, nodes: list[Node]) -> bool:
        """Tell whether the node after a mark was taken out of the question, so that it is no answer."""
        names = [m for m in self._reading.mentions if isinstance(m, Name) and m.start >= mark.end]
        return bool(names) and not any(names[0] in n.names for n in nodes)

    def _denied(self, mark: Mark, nodes: list[Node]) -> Way | None:
        ways = [way for _, way in self._joiner.ways]
        after = [m for m in self._reading.mentions if m.start >= mark.end]
        if after and isinstance(after[0], Phrase):
            named = [w for w in ways if w.phrase is after[0]]
            if named:
                return named[0]
        node = self._next(mark, nodes)
        if node is not None:
            firsts = [w for w in ways if w.to is node or _leads_to(w, node)]
            return firsts[0] if firsts else None
        rest = set(re.findall(r"\w+", self._reading.text[mark.end :].lower()))
        if "both" in rest or not rest <= self._lexicon.words.ignored:
            return None
        before = [w for w in ways if w.to.is_named and w.to.start < mark.start]
        return max(before, key=lambda w: w.to.start, default=None)

    def _rank(self, target: Node) -> Rank | None:
        marks = self._reading.marks
        by = [m for m in marks if m.kind in ("most", "best")]
        top = next((m for m in marks if m.kind == "top"), None)
        top = top or next((m for m in marks if m.kind == "few" and by), None)
        few = next((m for m in marks if m.kind == "few"), None)
        if few and (not by or top is not few):
            raise NotUnderstood(
                f"I did not understand: {few.text!r}", "say which come first, as in: with the highest score"
            )
        if not by and not top:
            return None
        if len(by) > 1 or len([m for m in marks if m.kind == "top"]) > 1:
            raise NotUnderstood("more than one order is asked for", "ask for one")
        limit = top.number if top else 1
        if limit < 1:
            raise NotUnderstood("I did not understand: 0", "ask for at least one")
        if by and by[0].kind == "most":
            way = self._counted(by[0], [w.to for w in target.ways])
            target.ways.remove(way)
            if way.negated or way.times:
                raise NotUnderstood(f"I did not understand: {by[0].text!r}", "leave out the other condition")
            return Rank(step=self._step(way, self._variable(way.to)), descending=by[0].descending, limit=limit)
        name = by[0].property if by else "score"
        if not by:
            self._notes.append("ranked by score")
        return self._rank_by(target, name, by[0].descending if by else True, limit)

    def _rank_by(self, target: Node, name: str, descending: bool, limit: int) -> Rank:
        for way in target.ways:
            properties = way.pattern.properties
            if name in properties and not way.negated:
                to = self._step(way, self._variable(way.to)) if not way.to.is_named else self._steps(way)[0][0]
                return Rank(step=to, property=name, descending=descending, limit=limit)
        if target.labels and name in self._schema.label(target.labels[0]).properties:
            return Rank(property=name, descending=descending, limit=limit)
        for way in target.ways:
            if not way.to.is_named and name in self._schema.label(way.to.labels[0]).properties:
                return Rank(
                    step=self._step(way, self._variable(way.to)), property=name, descending=descending, limit=limit
                )
        raise NotUnderstood(f"nothing in the question has a {name} to rank by", "say what the order is of")

    # --- the plan ------------------------------------------------------------------------------------

    def _variable(self, node: Node) -> Variable:
        if len(node.labels) != 1:
            raise NotUnderstood(f"{node.mention.text!r} may mean nodes of several labels", "name what it is of")
        groups: list[tuple[PlanStep, ...]] = []
        without: list[PlanStep] = []
        for way in node.ways:
            made = self._steps(way)
            if way.negated:
                without += [step for group in made for step in group]
            elif way.alternative and groups:
                groups[-1] = (*groups[-1], *made[0])
                groups += made[1:]
            else:
                groups += made
        ends = node.mention.ends if isinstance(node.mention, Noun) else None
        among = tuple(self._anchor(name, node.labels[0]) for name in node.names)
        return Variable(
            label=node.labels[0],
            groups=tuple(groups),
            without=tuple(without),
            filters=tuple(node.filters),
            ends=ends,
            among=among,
        )

    def _step(self, way: Way, to: Anchor | Variable) -> PlanStep:
        """A relation as a step. A symmetric one goes either way, but for edges that state a direction."""
        one_way_values = self._lexicon.relation(way.pattern.type).one_way
        one_way = [Filter(property=name, comparison="=", value=value) for name, value in one_way_values.items()]
        return PlanStep(
            pattern=way.pattern,
            direction="either" if way.pattern.symmetric else way.direction,
            wanted_direction=way.direction,
            one_way=one_way[0] if one_way else None,
            filters=tuple(way.filters),
            to=to,
            times=way.times,
        )

    def _steps(self, way: Way) -> list[tuple[PlanStep, ...]]:
        """The groups of steps that a relation makes: one for each name of an "and", one for all of an "or"."""
        if not way.to.is_named:
            return [(self._step(way, self._variable(way.to)),)]
        steps = [self._step(way, self._anchor(name, way.to.labels[0])) for name in way.to.names]
        return [tuple(steps)] if way.to.mode == "or" else [(s,) for s in steps]

    def _anchor(self, name: Name, label: str) -> Anchor:
        refs = tuple(c.ref for c in name.candidates if c.ref.label == label)
        note = f"{name.text} names {len(refs)} {label} nodes; all are meant"
        if len(refs) > 1 and note not in self._notes:
            self._notes.append(note)
        return Anchor(refs=refs, text=name.text)


def _leads_to(way: Way, node: Node) -> bool:
    """Tell whether a way goes to a node through labels that nobody named."""
    return (
        not way.to.is_named
        and way.to.mention.text == ""
        and any(w.to is node or _leads_to(w, node) for w in way.to.ways)
    )


def _is_anchored(variable: Variable) -> bool:
    """Tell whether some way from a variable ends at nodes that the question names."""
    if variable.ends or variable.filters:
        return True
    return any(isinstance(s.to, Anchor) or _is_anchored(s.to) for s in variable.steps)
