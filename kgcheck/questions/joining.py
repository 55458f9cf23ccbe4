"""Join the nouns and names of a question by relations of the schema, for the query plan."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kgcheck.errors import NotUnderstood
from kgcheck.profile.lexicon import Lexicon, any_phrase, changes_meaning, compiled
from kgcheck.profile.schema import Pattern, Schema
from kgcheck.questions.plan import Direction, Filter
from kgcheck.questions.reading import Mention, Name, Noun, Phrase, QuestionReading

_IS_A = re.compile(r"^\s+(?:(?:is|are|was|were|be)\s+)?(?:indeed\s+)?(?:an?|the|one of the|among the)\s+$")
_COPULA = re.compile(r"^\s+(?:that\s+|which\s+)?(?:is|are|was|were)\s+(?:an?|the|one of the|among the|also|known)?\s*$")
_OWN = re.compile(r"^(?:'s|\u2019s|')?\s*$")
_OF_THE = re.compile(r"^\s+of\s+(?:the\s+)?$")
_ANY = re.compile(r"(?<![\w-])(?:an?|any|some|one or more|no|have|has|having|with)\s+(?:\w+\s+)?$")


@dataclass
class Node:
    """A noun or a group of names, while it is being joined."""

    mention: Noun | Name
    labels: tuple[str, ...]
    names: tuple[Name, ...] = ()
    mode: str = ""
    ways: "list[Way]" = field(default_factory=list)
    filters: list[Filter] = field(default_factory=list)
    noun: Noun | None = None
    is_any: bool = False

    @property
    def is_named(self) -> bool:
        return bool(self.names)

    @property
    def start(self) -> int:
        return self.mention.start

    @property
    def end(self) -> int:
        return max(self.mention.end, *(name.end for name in self.names)) if self.names else self.mention.end


@dataclass
class Way:
    """One relation from a variable to another node; through labels that nobody named, if need be."""

    pattern: Pattern
    direction: Direction
    to: Node
    filters: list[Filter] = field(default_factory=list)
    phrase: Phrase | None = None
    negated: bool = False
    alternative: bool = False
    times: Filter | None = None


class NodeMaker:
    """Nodes of one question, as they are made."""

    def __init__(self, schema: Schema, lexicon: Lexicon, reading: QuestionReading) -> None:
        self._schema = schema
        self._lexicon = lexicon
        self._reading = reading
        self._phrases = [m for m in reading.mentions if isinstance(m, Phrase)]

    def nodes(self) -> list[Node]:
        """Nouns and names, with "the gene TP53" as one node and "A and B" as one group."""
        nodes: list[Node] = []
        mentions = [m for m in self._reading.mentions if not isinstance(m, Phrase)]
        position = 0
        while position < len(mentions):
            mention = mentions[position]
            position += 1
            after = mentions[position] if position < len(mentions) else None
            if isinstance(mention, Name):
                kind = after if isinstance(after, Noun) and self._is_kind(mention, after) else None
                position += kind is not None
                if kind and kind.relation:
                    labels = kind.labels or tuple(dict.fromkeys(c.ref.label for c in mention.candidates))
                    nodes.append(Node(kind, labels, (mention,)))
                else:
                    nodes.append(self._named(mention, kind))
                continue
            if isinstance(after, Name) and not mention.relation and self._is_apposition(mention, after):
                nodes.append(self._named(after, mention))
                position += 1
            else:
                before = self._reading.text[: mention.start].lower()
                nodes.append(Node(mention, mention.labels, is_any=bool(_ANY.search(before))))
        found = self._turned(self._grouped(self._merged(nodes)))
        self._check_beside(found)
        return found

    def _check_beside(self, nodes: list[Node]) -> None:
        """Refuse two nouns side by side that no relation joins: they are one noun that nobody knows."""
        for one, other in pairwise(nodes):
            if one.is_named or other.is_named or self._reading.text[one.end : other.start].strip():
                continue
            joined = any(
                {p.head, p.tail} == {a, b} for p in self._schema.relations for a in one.labels for b in other.labels
            )
            if one.labels and other.labels and not joined:
                between = self._reading.text[one.start : other.end]
                raise NotUnderstood(f"I did not understand: {between!r}", "ask with other words")

    def _named(self, name: Name, noun: Noun | None) -> Node:
        labels = tuple(dict.fromkeys(c.ref.label for c in name.candidates))
        if (
            noun
            and noun.ends
            and not all(noun.ends[0] == "id" and c.ref.id.endswith(noun.ends[1]) for c in name.candidates)
        ):
            # "the Reactome pathway R-HSA-1": nobody has looked whether it is one.
            raise NotUnderstood(*changes_meaning(noun.text))
        if noun:
            labels = tuple(label for label in labels if label in noun.labels)
        return Node(name, labels, (name,), noun=noun)

    def _is_kind(self, name: Name, noun: Noun) -> bool:
        """Recognise a noun after a name that says its kind: "tear gland tissue", "is MDM2 a target of"."""
        gap = self._reading.between(name, noun)
        fits = any(c.ref.label in noun.labels for c in name.candidates)
        if _IS_A.match(gap):
            return fits or (bool(noun.relation) and not noun.labels)
        return not gap.strip() and not noun.relation and fits

    def _is_apposition(self, noun: Noun, name: Name) -> bool:
        gap = self._reading.between(noun, name).split()
        allowed = set(" ".join(self._lexicon.words.apposition).replace("(", " ").replace(")", " ").split())
        phrases = any(noun.end <= p.start < name.start for p in self._phrases)
        fits = any(c.ref.label in noun.labels for c in name.candidates)
        return fits and not phrases and all(w.strip("\"':,") in allowed | {""} for w in gap)

    def _turned(self, nodes: list[Node]) -> list[Node]:
        """As if "TP53 partners" were "partners of TP53"."""
        turned = list(nodes)
        for n, (one, other) in enumerate(pairwise(nodes)):
            self._narrow(one, other)
            noun = other.mention
            if one.is_named and not other.is_named and isinstance(noun, Noun) and noun.relation:
                if _OWN.match(self._reading.text[one.end : other.start].lower()):
                    turned[n], turned[n + 1] = other, one
        return turned

    def _narrow(self, node: Node, named: Node) -> None:
        """A subtype of a disease is a disease."""
        noun = node.mention
        if node.is_named or node.labels or not named.is_named or not (isinstance(noun, Noun) and noun.relation):
            return
        if _OF_THE.match(self._reading.text[node.end : named.start].lower()):
            within = {p.head for p in self._schema.patterns(noun.relation) if p.head == p.tail}
            node.labels = tuple(label for label in named.labels if label in within)

    def _merged(self, nodes: list[Node]) -> list[Node]:
        """Nouns beside each other that mean the same: the PDB ids of the structures."""
        merged: list[Node] = []
        for node in nodes:
            before = merged[-1] if merged else None
            if before and isinstance(before.mention, Noun) and isinstance(node.mention, Noun) and not before.is_named:
                same = before.labels == node.labels and not before.mention.relation and not node.mention.relation
                if same and not self._joins_itself(node):
                    continue
                if node.mention.relation and not before.mention.relation and self._is_predicate(before, node):
                    node.labels = tuple(i for i in before.labels if not node.labels or i in node.labels)
                    merged[-1] = node
                    continue
            merged.append(node)
        return merged

    def _is_predicate(self, before: Node, node: Node) -> bool:
        """Recognise a noun that says what the one before it is: "which protein is the product of"."""
        fits = not node.labels or not before.labels or set(node.labels) & set(before.labels)
        return bool(fits) and bool(_COPULA.match(self._reading.between(before.mention, node.mention)))

    def _joins_itself(self, node: Node) -> bool:
        """Tell whether a relation between nodes of one label is said around two nouns of that label."""
        relations = {relation for phrase in self._phrases for relation, _ in phrase.readings}
        return any(p.head == p.tail and p.head in node.labels and p.type in relations for p in self._schema.relations)

    def _grouped(self, nodes: list[Node]) -> list[Node]:
        """Names joined by "and", "or" and commas, of a label in common."""
        grouped: list[Node] = []
        for node in nodes:
            before = grouped[-1] if grouped else None
            if before and before.is_named and node.is_named:
                joined = self._reading.joined(before.names[-1], node.noun or node.names[0])
                common = tuple(label for label in before.labels if label in node.labels)
                if joined and common:
                    mode = joined if joined == "or" or not before.mode else before.mode
                    before.names, before.labels = (*before.names, *node.names), common
                    before.mode = "or" if self._is_any_of(before.names[0]) else mode
                    continue
            grouped.append(node)
        return grouped

    def _is_any_of(self, name: Name) -> bool:
        before = [m.end for m in self._reading.mentions if m.end <= name.start]
        return any(s.kind == "either" and max(before, default=0) <= s.start < name.start for s in self._reading.scoped)


def node_text(node: Node) -> str:
    """The node as the question says it."""
    mention: Mention = node.mention
    return repr(mention.text) if mention.text else " or ".join(node.labels)


Step = tuple[Pattern, Direction, str]
"""A relation, its direction seen from the near end, and the label at the far end."""


_MOST_SHOWN = 8
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
    """Joints between the nodes of one question."""

    def __init__(self, schema: Schema, lexicon: Lexicon, reading: QuestionReading) -> None:
        self._schema = schema
        self._lexicon = lexicon
        self._reading = reading
        self._phrases = [m for m in reading.mentions if isinstance(m, Phrase)]
        self._used: set[int] = set()
        self._related = compiled(any_phrase(lexicon.words.related))
        self._involved = compiled(any_phrase(lexicon.words.involved))
        self.notes: list[str] = []
        self.ways: list[tuple[Node, Way]] = []

    @property
    def unused(self) -> list[Phrase]:
        """Phrases that no relation of the plan stands for."""
        used = {way.pattern.type for _, way in self.ways if not self._lexicon.draft}
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
                    self._how(variables[-1], node),
                )
            if not node.is_named and not any(node is v for v in variables):
                variables.append(node)
        for node in before:
            if not self._join(node, variables[:1]):
                raise NotUnderstood(
                    f"the graph has no way from {node_text(target)} to {node_text(node)}", self._how(target, node)
                )
        for phrase in self.unused if not self._lexicon.draft else ():
            self._join_again(phrase)

    def _how(self, one: Node, other: Node) -> str:
        """Hint at the relations that there are between two nodes."""
        ends = [(a, b) for a in self._labels(one) for b in self._labels(other)]
        found = dict.fromkeys(p.type for p in self._schema.relations if {(p.head, p.tail), (p.tail, p.head)} & {*ends})
        return f"say how they are related{f': {_listed(found)}' if found else ''}"

    def _join_again(self, phrase: Phrase) -> None:
        """A second relation to the same name: "that A acts on but does not interact with"."""
        for variable, way in list(self.ways):
            before = way.phrase
            if not before or before.end > phrase.start or not way.to.is_named or way.to.start > before.start:
                continue
            gap = self._unmarked(before.end, phrase.start)
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
        if self._lexicon.draft:
            joined = any(self._join_by_name(variable, node) for variable in order)
            return joined or (not node.is_named and self._is_same(node, variables))
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
        """Tell whether a node belongs to the target: "proteins that bind A are in B", "... and have B"."""
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
        """Recognise a noun that only names a variable again: "and its modification site"."""
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
        """Look for an "or" between a relation and the one before it."""
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

    # --- by a draft of the words, which has no order ---------------------------------------------------

    def _join_by_name(self, variable: Node, node: Node) -> bool:
        """Join a node by what is said of it, or by the noun that it is."""
        for phrase in self._phrases_for(variable, node):
            if steps := self._named_steps(variable, node, phrase):
                self._used.add(phrase.start)
                self._add_all(variable, node, steps, phrase)
                return True
        for holder in (variable, node):
            noun = holder.mention
            if isinstance(noun, Noun) and noun.relation and noun.start not in self._used:
                out = (holder is variable) == (noun.role == "head")
                if steps := self._fitting(variable, node, noun.relation, out):
                    self._used.add(noun.start)
                    self._add_all(variable, node, steps, noun)
                    return True
        if inherited := self._inherited(variable, node):
            self._add(variable, [inherited])
            return True
        return False

    def _named_steps(self, variable: Node, node: Node, phrase: Phrase) -> list[Step]:
        """The steps that a phrase may mean.

        One that any relation may be called by means those that are called so, or else all, or the only one that there
        is, if it does not say of what kind.
        """
        of_variable = self._subject(variable, node, phrase) is variable
        readings = [(relation, of_variable != backward) for relation, backward in phrase.readings]
        if self._related.fullmatch(phrase.text) or self._involved.fullmatch(phrase.text):
            words = {relation: self._lexicon.relation(relation) for relation, _ in readings}
            own = {name for name, w in words.items() if compiled(any_phrase(w.forward)).fullmatch(phrase.text)}
            found = [step for r in readings if r[0] in own for step in self._fitting(variable, node, *r)]
            any_relation = [step for r in readings for step in self._fitting(variable, node, *r)]
            is_open = self._involved.fullmatch(phrase.text) and not found
            if is_open and len({pattern.type for pattern, _, _ in any_relation}) > 1:
                raise self._several(phrase, any_relation)
            return found or any_relation
        return [step for r in readings for step in self._fitting(variable, node, *r)]

    def _fitting(self, variable: Node, node: Node, relation: str, out: bool) -> list[Step]:
        """The steps of a relation between two nodes, seen from the variable."""
        found: list[Step] = []
        for pattern in self._schema.patterns(relation):
            near, far = (pattern.head, pattern.tail) if out else (pattern.tail, pattern.head)
            if self._may(variable, near) and self._may(node, far):
                is_mutual = near == far and self._lexicon.relation(relation).mutual
                found.append((pattern, "either" if is_mutual else "out" if out else "in", far))
        return found

    def _add_all(self, variable: Node, node: Node, steps: Sequence[Step], mention: Phrase | Noun) -> None:
        """Add the steps that words name, any of which will do; they must join the same labels."""
        steps = list({(str(step[0]), step[1]): step for step in steps}.values())
        ends = {(pattern.head if pattern.tail == far else pattern.tail, far) for pattern, _, far in steps}
        if len(ends) > 1 or (len(steps) > 1 and (self._reading.marks or node.mode == "and" or not node.is_named)):
            raise self._several(mention, steps)
        ((near, far),) = ends
        _narrow(variable, near, node, far)
        phrase = mention if isinstance(mention, Phrase) else None
        for number, (pattern, direction, _) in enumerate(steps):
            self._add(variable, [Way(pattern, direction, node, phrase=phrase)])
            variable.ways[-1].alternative |= number > 0

    def _several(self, mention: Phrase | Noun, steps: Sequence[Step]) -> NotUnderstood:
        shown = _listed(dict.fromkeys(str(pattern) for pattern, _, _ in steps))
        return NotUnderstood(f"{mention.text!r} may mean several relations", f"say which, and of what: {shown}")

    def _is_of_other(self, role_node: Node, node: Node) -> bool:
        """Tell whether a noun such as "partners" is of what follows it, not of the variable before it."""
        if role_node is not node:
            return False
        before = self._reading.text[: node.start].lower()
        return bool(_OF.match(self._reading.text[node.end :].lower()) or _ARE.search(before))

    def _is_ambiguous(self, variable: Node, node: Node, pattern: Pattern) -> bool:
        """Tell whether a name may be a node of the variable's own label, so that nothing says that it is another's."""
        return node.is_named and not node.noun and pattern.head in node.labels and pattern.tail in node.labels

    def _inherited(self, variable: Node, node: Node) -> Way | None:
        """The relation of the name before, where nothing new is said: "that bind A but not B"."""
        if not node.is_named or not variable.ways:
            return None
        before = variable.ways[-1]
        end = before.to.end
        if not before.to.is_named or end > node.start or not set(before.to.labels) & set(node.labels):
            return None
        if self._lexicon.draft and before.alternative:
            return None
        gap = self._unmarked(end, node.start)
        gap = gap.replace(node.noun.text, " ") if node.noun else gap
        now, then = _PREPOSITION.search(gap), _PREPOSITION.search(self._reading.text[: before.to.start].lower())
        if not _LINKING.match(gap) or (now and then and now[1] != then[1]):
            return None
        node.labels = before.to.labels
        return Way(before.pattern, before.direction, node)

    def _unmarked(self, start: int, end: int) -> str:
        """A part of the question without the marks in it."""
        gap = self._reading.text[start:end].lower()
        for mark in self._reading.marks:
            if start <= mark.start and mark.end <= end:
                gap = gap.replace(mark.text, " ")
        return gap

    def _phrases_for(self, variable: Node, node: Node) -> list[Phrase]:
        """Phrases between the two, then those after both, then those before both; each stands for one relation."""
        free = [p for p in self._phrases if p.start not in self._used]
        first, last = sorted((variable.start, node.start))
        between = [p for p in free if first <= p.start < last]
        after = [p for p in free if p.start > last and not self._is_for_later(variable, node, p)]
        # The nearest one between: an earlier one belongs to a node before.
        return [*reversed(between), *after, *(p for p in free if p.start < first)]

    def _is_for_later(self, variable: Node, node: Node, phrase: Phrase) -> bool:
        """Tell whether a phrase after two nodes is of a third one: "residues of A that are phosphorylated by B"."""
        earlier, later = (variable, node) if variable.start < node.start else (node, variable)
        if not _GENITIVE.match(self._reading.text[earlier.end : later.start].lower()):
            return False
        return any(not isinstance(m, Phrase) and m.start > phrase.start for m in self._reading.mentions)

    def _subject(self, variable: Node, node: Node, phrase: Phrase) -> Node:
        """Choose the node of which a phrase is said."""
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
                turned = [(pattern.head, pattern.tail), (pattern.tail, pattern.head)]
                flips = any(self._may(variable, a) and self._may(node, b) for a, b in turned)
                if not (variable.labels and node.labels and flips):
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
            given = (variable, node, named, near, phrase)
            if ways := self._ways_before(*given) or self._ways_after(*given):
                return ways
        return []

    def _ways_before(self, variable: Node, node: Node, named: Step, near: str, mention: Phrase | Noun) -> list[Way]:
        """A relation whose near end stands for the variable."""
        for start, steps in self._standing_for(self._labels(variable), (near,)) if self._may(node, named[2]) else ():
            self._used.add(mention.start)
            return self._way_along([*steps, named], start, variable, node, mention)
        return []

    def _ways_after(self, variable: Node, node: Node, named: Step, near: str, mention: Phrase | Noun) -> list[Way]:
        """A relation whose far end stands for the node."""
        for _, steps in self._standing_for((named[2],), self._labels(node)) if self._may(variable, near) else ():
            self._used.add(mention.start)
            return self._way_along([named, *steps], near, variable, node, mention)
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
                between = [Node(Noun(node.start, node.start, ""), (at_node,)) for _ in range(noun.steps - 1)]
                return [Way(pattern, direction, to) for to in (*between, node)]
            if noun.steps == 1 and (node if noun_is_variable else variable).labels:
                through = self._ways_after if noun_is_variable else self._ways_before
                if ways := through(variable, node, (pattern, direction, at_node), at_variable, noun):
                    return ways
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

    def _routes(self, starts: tuple[str, ...], ends: tuple[str, ...], most: int) -> Iterator[tuple[str, list[Step]]]:
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

    def _standing_for(self, starts: tuple[str, ...], ends: tuple[str, ...]) -> list[tuple[str, list[Step]]]:
        """One relation between things that are said for each other, as a gene for its protein."""
        routes = self._routes(starts, ends, 1)
        return [(start, steps) for start, steps in routes if self._lexicon.relation(steps[0][0].type).stands_for]

    def _hidden(self, variable: Node, node: Node) -> list[Way]:
        """The shortest way through labels that nobody named, by relations that need no words."""
        for most in range(2, _MOST_HIDDEN + 1 if variable.labels and node.labels else 2):
            for start, steps in self._routes(self._labels(variable), self._labels(node), most):
                if len(steps) > 1:
                    return self._way_along(steps, start, variable, node, None)
        return []

    def _way_along(
        self, steps: list[Step], start: str, variable: Node, node: Node, mention: Phrase | Noun | None
    ) -> list[Way]:
        _narrow(variable, start, node, steps[-1][2])
        middle = [Node(Noun(node.start, node.start, ""), (label,)) for _, _, label in steps[:-1]]
        if middle:
            between = " and ".join(label for _, _, label in steps[:-1])
            self.notes.append(f"{start} and {steps[-1][2]} are joined through {between}")
        ways = [Way(p, direction, to) for (p, direction, _), to in zip(steps, [*middle, node], strict=True)]
        ways[0].phrase = mention if isinstance(mention, Phrase) else None
        return ways

    def _labels(self, node: Node) -> tuple[str, ...]:
        return node.labels or tuple(self._schema.label_names)

    def _may(self, node: Node, label: str) -> bool:
        return not node.labels or label in node.labels


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    return "; ".join(shown[:_MOST_SHOWN]) + ("; ..." if len(shown) > _MOST_SHOWN else "")


def _ends(way: Way) -> list[int]:
    return [way.to.end, *(end for after in way.to.ways for end in _ends(after))]


def _narrow(one: Node, label: str, other: Node, other_label: str) -> None:
    """Settle the labels of both ends of a relation."""
    one.labels, other.labels = (label,), (other_label,)
