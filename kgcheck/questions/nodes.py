"""Nouns and names of a question as nodes to be joined: "the gene TP53" is one, "A and B" is one of two names."""

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from kgcheck.errors import NotUnderstood
from kgcheck.profile.lexicon import Lexicon, changes_meaning
from kgcheck.profile.schema import Pattern, Schema
from kgcheck.questions.plan import Filter
from kgcheck.questions.reading import Mention, Name, Noun, Phrase, QuestionReading

Direction = Literal["out", "in", "either"]

_IS_A = re.compile(r"^\s+(?:(?:is|are|was|were|be)\s+)?(?:indeed\s+)?(?:an?|the|one of the|among the)\s+$")
_ARE = re.compile(r"^\s+(?:that\s+|which\s+)?(?:is|are|was|were)\s+(?:an?|the|one of the|among the|also|known)?\s*$")
_OWN = re.compile(r"^(?:'s|\u2019s|')?\s*$")
_OF = re.compile(r"^\s+of\s+(?:the\s+)?$")
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
        """Whether the question names its nodes."""
        return bool(self.names)

    @property
    def start(self) -> int:
        return self.mention.start

    @property
    def end(self) -> int:
        """Where its words end."""
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
    """Makes the nodes of one question."""

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
        """Whether a noun right after a name says what it is: "tear gland tissue", "is MDM2 a target of"."""
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
        if _OF.match(self._reading.text[node.end : named.start].lower()):
            within = {p.head for p in self._schema.patterns(noun.relation) if p.head == p.tail}
            node.labels = tuple(label for label in named.labels if label in within)

    def _merged(self, nodes: list[Node]) -> list[Node]:
        """Nouns beside each other that mean the same: the PDB ids of the structures."""
        merged: list[Node] = []
        for node in nodes:
            before = merged[-1] if merged else None
            if before and isinstance(before.mention, Noun) and isinstance(node.mention, Noun) and not before.is_named:
                same = before.labels == node.labels and not before.mention.relation and not node.mention.relation
                if same and not self._joins_itself(node, before):
                    continue
                if node.mention.relation and not before.mention.relation and self._is_predicate(before, node):
                    node.labels = tuple(i for i in before.labels if not node.labels or i in node.labels)
                    merged[-1] = node
                    continue
            merged.append(node)
        return merged

    def _is_predicate(self, before: Node, node: Node) -> bool:
        """Whether a noun says what the one before it is: "which protein is the product of"."""
        fits = not node.labels or not before.labels or set(node.labels) & set(before.labels)
        return bool(fits) and bool(_ARE.match(self._reading.between(before.mention, node.mention)))

    def _joins_itself(self, node: Node, before: Node) -> bool:
        """Whether a relation between nodes of one label is said around two nouns of that label."""
        for label in node.labels:
            for pattern in self._schema.relations:
                if pattern.head == pattern.tail == label and self._is_mentioned(pattern.type):
                    return True
        return False

    def _is_mentioned(self, relation: str) -> bool:
        return any(r == relation for p in self._phrases for r, _ in p.readings)

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
        """Whether "any of" or "either" stands right before a name."""
        before = [m.end for m in self._reading.mentions if m.end <= name.start]
        return any(s.kind == "either" and max(before, default=0) <= s.start < name.start for s in self._reading.scoped)


def node_text(node: Node) -> str:
    """The node as the question says it."""
    mention: Mention = node.mention
    return repr(mention.text) if mention.text else " or ".join(node.labels)
