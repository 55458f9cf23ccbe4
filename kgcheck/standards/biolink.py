"""Classes and slots of the Biolink model: ancestors, ends of predicates, flags."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from kgcheck.standards.tables import Standard, standard, tables

PREFIX = "biolink:"

_METACLASS = "OntologyClass"
"""Nodes are instances of other classes, and of this one wherever they come from an ontology, by its own description."""


@dataclass(frozen=True, kw_only=True)
class _Term:
    """A class or a slot; ``name`` is the local part of its CURIE."""

    name: str
    is_a: str = ""
    mixins: tuple[str, ...] = ()
    mixin: bool = False
    abstract: bool = False
    deprecated: bool = False

    @property
    def curie(self) -> str:
        return PREFIX + self.name


@dataclass(frozen=True, kw_only=True)
class Category(_Term):
    """A class of the model; ``aliases`` are other words for it."""

    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Predicate(_Term):
    """A slot of the model; a predicate is one that joins two nodes.

    ``domain`` and ``range`` are names of classes; where it states none, `Model.end` has that of what it is a kind of.
    ``inverse`` is named by either of two slots. ``canonical`` is the one of them that the model asks for.
    """

    domain: str = ""
    range: str = ""
    inverse: str = ""
    symmetric: bool = False
    canonical: bool = False
    required: bool = False
    is_predicate: bool = False


class Model:
    """A release of the Biolink model."""

    def __init__(
        self, categories: Iterable[Category], slots: Iterable[Predicate], prefixes: Iterable[str], release: Standard
    ) -> None:
        self.release = release
        self.categories: Mapping[str, Category] = {one.name: one for one in categories}
        self.slots: Mapping[str, Predicate] = {one.name: one for one in slots}
        self.prefixes = frozenset(prefixes)
        """Prefixes of CURIEs as the model spells them."""

    def category(self, name: str) -> Category | None:
        """A class by its CURIE, or by the local part of it.

        >>> model().category("biolink:BiologicalEntity").abstract, model().category("biolink:Genes")
        (True, None)
        """
        return self.categories.get(name.removeprefix(PREFIX))

    def predicate(self, name: str) -> Predicate | None:
        """A predicate by its CURIE, or by the local part of it; None for any other slot.

        >>> model().predicate("biolink:interacts_with").symmetric, model().predicate("biolink:category")
        (True, None)
        """
        found = self.slots.get(name.removeprefix(PREFIX))
        return found if found and found.is_predicate else None

    def ancestors(self, term: _Term) -> frozenset[str]:
        """Names of a term and of all that it is a kind of, mixins and theirs included."""
        known: Mapping[str, _Term] = self.slots if isinstance(term, Predicate) else self.categories
        found: set[str] = set()
        left = [term.name]
        while left:
            if (name := left.pop()) not in found:
                found.add(name)
                one = known.get(name)
                left += [one.is_a, *one.mixins] if one else []
        return frozenset(found - {""})

    def end(self, predicate: Predicate, role: str) -> Category | None:
        """The class of the ``domain`` or the ``range`` of a predicate, stated by it or by the nearest it is a kind of.

        >>> model().end(model().predicate("gene_product_of"), "range").name
        'Gene'
        """
        seen: set[str] = set()
        slot: Predicate | None = predicate
        while slot and slot.name not in seen:
            seen.add(slot.name)
            if stated := getattr(slot, role):
                return self.categories.get(stated)
            slot = self.slots.get(slot.is_a)
        return None

    def is_contradicted(self, predicate: Predicate, role: str, stated: Category) -> bool:
        """Tell whether the model breaks the end of a predicate itself: a narrower one has an end that cannot be of it.

        >>> m, found = model(), model().category("Occurrent")
        >>> [m.is_contradicted(m.predicate(name), "domain", found) for name in ("catalyzes", "precedes")]
        [True, False]
        """
        stating = {one for one in self.ancestors(predicate) if one in self.slots}
        stating = {one for one in stating if getattr(self.slots[one], role) == stated.name}
        narrower = (one for one in self.slots.values() if not stating.isdisjoint(self.ancestors(one)))
        ends = (self.categories.get(getattr(one, role)) for one in narrower)
        return any(end and not self.may_be(end, stated) for end in ends)

    def may_be(self, category: Category, stated: Category) -> bool:
        """Tell whether a node of a category may be of another: some class is a kind of both, by a mixin or otherwise.

        What is abstract, a mixin or deprecated says too little to tell; any node may be a class of an ontology.

        >>> m = model()
        >>> [m.may_be(m.category(name), m.category("Gene")) for name in ("Gene", "NamedThing", "Disease")]
        [True, True, False]
        """
        if category.abstract or category.mixin or category.deprecated or stated.name == _METACLASS:
            return True
        return any({category.name, stated.name} <= above for above in self._above)

    def inverse(self, predicate: Predicate) -> Predicate | None:
        """The predicate that says the same in the other direction, whichever of the two names the other.

        >>> model().inverse(model().predicate("affects")).name
        'affected_by'
        """
        return self.slots.get(self._inverses.get(predicate.name, ""))

    def canonical(self, predicate: Predicate) -> Predicate | None:
        """The inverse that the model asks for in place of a predicate; None where it may stay.

        >>> model().canonical(model().predicate("affected_by")).name, model().canonical(model().predicate("affects"))
        ('affects', None)
        """
        inverse = self.inverse(predicate)
        return inverse if inverse and inverse.canonical and not predicate.canonical else None

    def most_specific(self, categories: Sequence[str]) -> str | None:
        """The most specific of the categories of a node, which may name all ancestors, as it is written there.

        Classes of their own come before mixins and abstract ones, and what the model does not know comes last; of
        several that are no kinds of each other, the first. None where there are none.

        >>> model().most_specific(["biolink:NamedThing", "biolink:Gene", "biolink:BiologicalEntity"])
        'biolink:Gene'
        """
        known = [(name, found) for name in categories if (found := self.category(name))]
        classes = [(name, one) for name, one in known if not (one.mixin or one.abstract)] or known
        above = {ancestor for _, one in classes for ancestor in self.ancestors(one) - {one.name}}
        return next((name for name, one in classes if one.name not in above), categories[0] if categories else None)

    @cached_property
    def _above(self) -> list[frozenset[str]]:
        return [self.ancestors(one) for one in self.categories.values()]

    @cached_property
    def _inverses(self) -> dict[str, str]:
        stated = {one.name: one.inverse for one in self.slots.values() if one.inverse}
        return {other: name for name, other in reversed(stated.items())} | stated


@cache
def model() -> Model:
    """The Biolink model, of the release that is shipped."""
    found = tables("biolink")
    categories = (Category(**_hashable(one)) for one in found["classes"])
    slots = (Predicate(**_hashable(one)) for one in found["slots"])
    return Model(categories, slots, found["prefixes"], standard("biolink"))


def _hashable(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}


def primary_labels(sets: Iterable[tuple[Sequence[str], int]]) -> dict[tuple[str, ...], str]:
    """Choose one of the labels that nodes carry together, by sets of labels and the number of nodes of each.

    The most specific class, where they are classes of the model or are named by its prefix; else the rarest label.

    >>> primary_labels([(["Entity", "Gene"], 5), (["Entity", "Drug"], 7)])
    {('Entity', 'Gene'): 'Gene', ('Entity', 'Drug'): 'Drug'}
    """
    sets = [(labels, n) for labels, n in sets if labels]
    carried = Counter[str]()
    for labels, n in sets:
        carried.update(dict.fromkeys(labels, n))
    chosen: dict[tuple[str, ...], str] = {}
    for labels, _ in sets:
        are_classes = any(one.startswith(PREFIX) for one in labels) or all(map(model().category, labels))
        specific = model().most_specific(labels) if len(labels) > 1 and are_classes else None
        chosen[tuple(labels)] = specific or min(labels, key=lambda label: (carried[label], label))
    return chosen
