"""NameResolver: resolve an id or name, as people write it, to a node or edge of a graph."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

from pydantic import ValidationError

from kgcheck.errors import AmbiguousName, UnknownName
from kgcheck.graph.names import How, NameIndex, NameLink, folded, tokens
from kgcheck.graph.store import GraphStore
from kgcheck.graph.symmetry import edges_stating
from kgcheck.model import Ref, Triple, Value
from kgcheck.profile.lexicon import Lexicon, compiled, load_lexicon, phrase
from kgcheck.profile.schema import Label, Pattern, Schema
from kgcheck.questions.reading import LONGEST_QUESTION, phrase_shapes
from kgcheck.reference.names import SnapshotNames

_SHOWN = 8
_TRIED = 8
"""Phrases for relations in one text, the longest, of which the ends are looked up."""

_WORD = "word"
"""Example word: an id form that it fits says nothing, such as that of symbols."""


class TakenBy(IntEnum):
    """Ways of taking a text for a node; the lower, the surer."""

    IN_GRAPH = 0
    ISSUED = 1
    ID = 2
    NAME = 3
    SYNONYM = 4
    SOURCE = 5
    FORM = 6


_WORDS = {TakenBy.ID: "id", TakenBy.NAME: "name", TakenBy.SYNONYM: "synonym", TakenBy.SOURCE: "name in a source"}
_BY_HOW = {How.ID: TakenBy.ID, How.NAME: TakenBy.NAME, How.SYNONYM: TakenBy.SYNONYM}


class Taken(Value):
    """A text, and the node that it was taken for.

    >>> str(Taken(text="asthma", ref=Ref(label="Disease", id="DOID:2841"), way=TakenBy.NAME))
    'asthma taken for Disease DOID:2841 (name)'
    """

    text: str
    ref: Ref
    way: TakenBy

    def __str__(self) -> str:
        return f"{self.text} taken for {self.ref} ({_WORDS.get(self.way, 'id')})"

    def as_row(self) -> dict[str, str]:
        """The text, the label and the id of the node, and by what it was found."""
        return {"text": self.text, **self.ref.model_dump(), "by": _WORDS.get(self.way, "id")}


def taken_names(ends: Iterable[Taken]) -> tuple[Taken, ...]:
    """Those whose text is not the id itself."""
    return tuple(taken for taken in ends if taken.text != taken.ref.id)


class TakenEdge(NamedTuple):
    """A relation, and what its ends were taken for."""

    pattern: Pattern
    head: Taken
    tail: Taken

    @property
    def triple(self) -> Triple:
        """The edge."""
        return Triple(head=self.head.ref, relation=self.pattern.type, tail=self.tail.ref)


EdgeWords = tuple[Pattern, str, str]
"""A relation, and the texts at its head and its tail."""


class NameResolver:
    """Takes texts to nodes.

    What the graph holds as an id, and what its authority issued once, stands for itself. Else it is a name that one
    node of the graph has, or a source knows, or else an id by its form.
    """

    def __init__(
        self,
        schema: Schema,
        store: GraphStore | None,
        source: SnapshotNames | None = None,
        index: Callable[[], NameIndex] | None = None,
    ) -> None:
        self.schema = schema
        self._store = store
        self._source = source
        self._open_index = index
        self._meant: dict[tuple[str, str], tuple[Taken, ...]] = {}

    @cached_property
    def _index(self) -> NameIndex | None:
        if self._open_index:
            return self._open_index()
        return NameIndex.from_store(self._store) if self._store else None

    def label(self, text: str) -> str:
        """The label that a text names, by itself or by the only noun that it is; else the text."""
        if text in self.schema.label_names:
            return text
        labels = [label for label, noun in self._nouns.items() if noun.fullmatch(f"{text} ")]
        return labels[0] if len(labels) == 1 else text

    def resolve(self, label: str, text: str) -> Taken:
        """The node of a label that a text is taken for."""
        found = self.meant(label, text)
        if len(found) > 1:
            raise self._several(found)
        if not found:
            raise self._unknown([label], text)
        return found[0]

    def meant(self, label: str, text: str) -> tuple[Taken, ...]:
        """The nodes of a label that a text may mean, all of them as surely as any."""
        plain = " ".join(text.split())
        if (label, plain) not in self._meant:
            self._meant[label, plain] = self._look_up(self.schema.label(label), plain)
        return self._meant[label, plain]

    def _look_up(self, spec: Label, plain: str) -> tuple[Taken, ...]:
        if (ref := self._ref_if_any(spec.name, plain)) is None:
            return ()
        if standing := self._standing(spec.name, plain):
            return (standing,)
        named = self._index.meant(plain, [spec.name]) if self._index else ()
        found = self._one_of_isoforms(spec, [Taken(text=plain, ref=c.ref, way=_BY_HOW[c.how]) for c in named])
        is_plainly_id = (is_id := spec.matches(plain)) and not spec.matches(_WORD)
        if is_plainly_id:
            # An id that the graph lacks may be a cross-reference of another node.
            found = tuple(taken for taken in found if taken.way is TakenBy.NAME)
        elif not found and self._source:
            refs = [Ref(label=spec.name, id=id_) for id_ in self._source.named(spec, plain)]
            found = self._one_of_isoforms(spec, [Taken(text=plain, ref=one, way=TakenBy.SOURCE) for one in refs])
        if not found and is_id:
            return (Taken(text=plain, ref=ref, way=TakenBy.FORM),)
        # After what the label is called, as in: the gene TP53.
        noun = self._nouns[spec.name].match(plain)
        return found or (self.meant(spec.name, plain[noun.end() :]) if noun else ())

    def in_graph(self, label: str, text: str) -> tuple[Taken, ...]:
        """The nodes of a label in the graph that a text may mean, all of them as surely as any."""
        found = self.meant(label, text)
        refs = [taken.ref.id for taken in found]
        there = self._store.nodes(self.schema.label(label), refs) if self._store and refs else {}
        return tuple(taken for taken in found if taken.ref.id in there)

    def anywhere(self, text: str) -> tuple[Taken, ...]:
        """The nodes of any label that a text names: after a label, by id, or by name; none that is not in the graph."""
        first, _, rest = text.partition(" ")
        if first in self.schema.label_names and rest and (found := self.in_graph(first, rest)):
            return found
        by_label = [found for label in self.schema.label_names if (found := self.in_graph(label, text))]
        surest = min((found[0].way for found in by_label), default=TakenBy.FORM)
        # A symbol is the id of a gene and the name of its protein.
        kept = sorted((f for f in by_label if f[0].way <= max(surest, TakenBy.NAME)), key=lambda found: found[0].way)
        if several := next((found for found in kept if len(found) > 1), None):
            raise self._several(several)
        return tuple(taken for found in kept for taken in found)

    def links(self, text: str) -> list[NameLink]:
        """The longest names at every word of a text; they may overlap."""
        return self._index.links(tokens(text)) if self._index else []

    def mentioned(self, text: str) -> tuple[Ref, ...]:
        """Nodes that papers call by a name which stands in a text, the longest names first."""
        found: dict[Ref, None] = {}
        for link in sorted(self.links(text), key=lambda link: link.start - link.end):
            nodes = [c.ref for c in link.candidates if self.schema.label(c.ref.label).in_papers]
            found |= dict.fromkeys(nodes)
        return tuple(found)

    def edge(self, ways: Iterable[EdgeWords]) -> TakenEdge:
        """The edge that is meant by the texts at its ends, of the relations that it may be of."""
        wanted = list(ways)
        standing_edges: list[TakenEdge] = []
        for pattern, head, tail in wanted:
            one, other = self._standing(pattern.head, head), self._standing(pattern.tail, tail)
            standing_edges += [TakenEdge(pattern, one, other)] if one and other else []
        if standing_edges:
            return self._one_edge(standing_edges)
        found: list[TakenEdge] = []
        several: list[tuple[TakenBy, tuple[Taken, ...]]] = []
        for pattern, head, tail in wanted:
            heads, tails = self.meant(pattern.head, head), self.meant(pattern.tail, tail)
            if len(heads) == 1 and len(tails) == 1:
                found.append(TakenEdge(pattern, heads[0], tails[0]))
            elif heads and tails:
                several.append((max(heads[0].way, tails[0].way), heads if len(heads) > 1 else tails))
        surest = min((max(edge.head.way, edge.tail.way) for edge in found), default=TakenBy.FORM)
        if several and (most := min(several, key=lambda one: one[0]))[0] <= surest:
            raise self._several(most[1])
        if not found:
            raise self._unknown_end(wanted)
        return self._one_edge(found)

    def edge_in(self, text: str) -> TakenEdge | None:
        """The edge that words state: HEAD RELATION TAIL, the relation as the schema or the lexicon says it.

        None where no words of it stand for a relation.
        """
        error: UnknownName | AmbiguousName | None = None
        for ways in self._readings(text):
            try:
                return self.edge(ways)
            except (UnknownName, AmbiguousName) as caught:
                error = error or caught
        if error:
            raise error
        return None

    def _readings(self, text: str) -> Iterator[list[EdgeWords]]:
        """Yield the readings of a text as edges, by where the words for the relation stand; longest first."""
        if len(text) > LONGEST_QUESTION:
            return
        low = text.lower() if len(text.lower()) == len(text) else text
        spans: dict[tuple[int, int], dict[tuple[str, str, str], EdgeWords]] = {}
        for shape, relation, is_backward in self._shapes:
            for match in shape.finditer(low):
                ends = text[: match.start()].strip(), text[match.end() :].strip(" \t\n?.")
                if all(ends):
                    head, tail = ends[::-1] if is_backward else ends
                    ways = spans.setdefault(match.span(), {})
                    for pattern in self.schema.patterns(relation):
                        ways[str(pattern), head, tail] = (pattern, head, tail)
        for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span))[:_TRIED]:
            yield list(spans[start, end].values())

    @cached_property
    def _lexicon(self) -> Lexicon:
        return load_lexicon(self.schema)

    @cached_property
    def _shapes(self) -> list[tuple[re.Pattern[str], str, bool]]:
        types = self.schema.relation_types
        named = [(compiled(phrase(re.escape(t.lower()).replace("_", "[_ ]"))), t, False) for t in types]
        return named + phrase_shapes(self._lexicon)

    @cached_property
    def _nouns(self) -> dict[str, re.Pattern[str]]:
        words = {label.name: label.nouns for label in self._lexicon.labels}
        return {
            label: compiled(rf"(?i)(?:the )?(?:{'|'.join([re.escape(label), *words.get(label, ())])}) ")
            for label in self.schema.label_names
        }

    def _standing(self, label: str, text: str) -> Taken | None:
        """A text that is an id in the graph, or that its authority issued, or took back."""
        ref = self._ref_if_any(label, text := " ".join(text.split()))
        if ref is None:
            return None
        if self._store and self._store.node(ref) is not None:
            return Taken(text=text, ref=ref, way=TakenBy.IN_GRAPH)
        return Taken(text=text, ref=ref, way=TakenBy.ISSUED) if self._source and self._source.issued(ref) else None

    def _one_of_isoforms(self, spec: Label, found: Sequence[Taken]) -> tuple[Taken, ...]:
        """The entry, or its first isoform, where only isoforms of one entry are meant."""
        if not spec.isoforms or len({spec.base_id(taken.ref.id) for taken in found}) != 1:
            return tuple(found)
        return (min(found, key=lambda taken: (len(taken.ref.id), taken.ref.id)),)

    @staticmethod
    def _ref_if_any(label: str, text: str) -> Ref | None:
        try:
            return Ref(label=label, id=text)
        except ValidationError:
            return None

    def _one_edge(self, found: Sequence[TakenEdge]) -> TakenEdge:
        """Choose among several edges the one that the graph has; else the surest."""
        store = self._store
        stated = [edge for edge in found if store and edges_stating(store, edge.triple)] if len(found) > 1 else []
        ranks = [max(edge.head.way, edge.tail.way) for edge in stated or found]
        best = [edge for rank, edge in zip(ranks, stated or found, strict=True) if rank == min(ranks)]
        if len(best) > 1 and min(ranks) < TakenBy.FORM:
            shown = "; ".join(f"{e.head.ref} {e.pattern.type} {e.tail.ref}" for e in best[:_SHOWN])
            words = f"{best[0].head.text} {best[0].pattern.type} {best[0].tail.text}"
            raise AmbiguousName(f"{words!r} may mean several edges", f"name the ends by their ids: {shown}")
        return best[0]

    def _several(self, found: Sequence[Taken]) -> AmbiguousName:
        label, text = self.schema.label(found[0].ref.label), found[0].text
        ids = [taken.ref.id for taken in found]
        nodes = self._store.nodes(label, ids[:_SHOWN]) if self._store else {}
        shown = [f"{i} ({name})" if (name := nodes.get(i, {}).get("name")) else i for i in ids[:_SHOWN]]
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        return AmbiguousName(
            f"several {label.name} nodes are called {text!r}", f"name one by its id: {', '.join(shown)}{more}"
        )

    def _unknown_end(self, wanted: Sequence[EdgeWords]) -> UnknownName:
        ends = [end for pattern, head, tail in wanted for end in ((pattern.head, head), (pattern.tail, tail))]
        unknown = [(label, text) for label, text in ends if not self.meant(label, text)]
        known = {text for label, text in ends if (label, text) not in unknown}
        text = next((text for _, text in unknown if text not in known), unknown[0][1])
        return self._unknown(list(dict.fromkeys(label for label, one in ends if one == text)), text)

    def _unknown(self, labels: Sequence[str], text: str) -> UnknownName:
        near = self._index.nearest(text, labels) if self._index and folded(text) else []
        examples = ", ".join(self.schema.label(label).id_example for label in labels)
        hint = f"did you mean {' or '.join(near)}?" if near else f"name it by its id, which looks like {examples}"
        return UnknownName(f"{' or '.join(labels)} called", text, [], hint)
