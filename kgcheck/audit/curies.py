"""CURIEs of a graph: its node ids by prefix, and the names of its labels and relations in Biolink."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple
from weakref import WeakKeyDictionary

from kgcheck.model import Ref
from kgcheck.plurals import folded, how_many
from kgcheck.profile.schema import Label, Pattern, Schema
from kgcheck.quoting import identifier, literal
from kgcheck.rules import ALL, RuleGraph, RuleHit, patterns_by_relation
from kgcheck.standards import biolink, bioregistry
from kgcheck.standards.biolink import Category, Predicate

DOUBTED_SHARE = 0.01
"""Share of a prefix's ids above which those that miss its pattern make that doubted, and are not wrong themselves."""

_BEYOND_CHANCE = 1.645
"""Standard errors above that share before it counts as more, 5 % one-sided: one id of 40 makes no doubt."""

_EXAMPLES = 10
"""Ids that miss a doubted pattern, as a finding names them."""

_NEARLY_ALL, _MANY, _FEW = 0.95, 0.25, 5
"""Share of CURIEs, share of known ones, and ids for each prefix, of a graph with prefixes of its own."""

_MOST_PREFIXES = 10_000
"""Prefixes of one label that are told apart; the rest are ids that are names of something."""

# An IRI (`http://…`) is none.
_CURIE = r"^[A-Za-z_][A-Za-z0-9_.+-]*:(?:[^/]|/[^/]|/?$)"
_LOCAL = "substr(id, strpos(id, ':') + 1)"
_PREFIX = "split_part(id, ':', 1)"
_EMPTY_PART = f"({_LOCAL} = '' OR starts_with({_LOCAL}, ':'))"

_CATEGORY = "category"
"""Property in which a graph in KGX form may keep all categories of a node, and not only the one that is its label."""

_NOT_WRITTEN = r"[\s\p{Z}\x{FFFD}\x00-\x1f]"
"""Spaces, and control characters, which a copy of a graph shows as U+FFFD."""


class Namespace(NamedTuple):
    """The ids of a graph that have a prefix in one spelling.

    ``label`` is the first that has one, ``record`` the entry of the Bioregistry, and ``biolink`` are the spellings of
    the Biolink model.
    """

    spelled: str
    label: str
    ids: int
    example: str
    record: bioregistry.Prefix | None
    biolink: tuple[str, ...]

    @property
    def is_known(self) -> bool:
        return self.record is not None or bool(self.biolink)

    @property
    def key(self) -> str:
        """The same for all spellings of a prefix."""
        return self.record.prefix if self.record else self.spelled.casefold()

    @property
    def counted(self) -> str:
        return f"{how_many(self.ids, 'id')}, e.g. {self.example}"

    def hit(self, detail: str) -> RuleHit:
        record = self.record.prefix if self.record else ""
        return RuleHit(Ref(label=self.label, id=ALL), None, None, detail, record, self.spelled)


class Misfits(NamedTuple):
    """Ids of a prefix, in whatever spelling, that have not its form; without those that have an empty part."""

    record: bioregistry.Prefix
    label: str
    missing: int
    ids: int
    examples: tuple[str, ...]

    @property
    def is_of_another(self) -> bool:
        """Tell whether no id has the form, so that the prefix may mean something else here."""
        return self.missing == self.ids

    @property
    def is_doubt(self) -> bool:
        """Tell whether so many ids miss the pattern that it is the pattern that is doubted."""
        return is_doubted(self.missing, self.ids)


def is_doubted(missing: int, ids: int) -> bool:
    """Tell whether more ids have not a form than a few by mistake."""
    expected = DOUBTED_SHARE * ids
    return missing - expected > _BEYOND_CHANCE * sqrt(expected * (1 - DOUBTED_SHARE))


@dataclass(frozen=True)
class Curies:
    """The ids of a graph by prefix.

    ``is_of_curies``: most ids have a prefix that is known, those left out that have an empty one; or nearly all have
    one of a few prefixes, of many of them known; or most have any, in a graph of Biolink, whose ids are CURIEs. Of
    another graph an id with a colon may be the name of something.
    """

    namespaces: tuple[Namespace, ...]
    is_of_curies: bool


_FOUND: WeakKeyDictionary[RuleGraph, Curies] = WeakKeyDictionary()
_MISSED: WeakKeyDictionary[RuleGraph, list[Misfits]] = WeakKeyDictionary()


def curies(graph: RuleGraph) -> Curies:
    """The node ids of a graph by prefix, counted once for all rules."""
    if graph not in _FOUND:
        _FOUND[graph] = _counted(graph)
    return _FOUND[graph]


def _counted(graph: RuleGraph) -> Curies:
    ids = 0
    found: dict[str, tuple[str, int, str]] = {}
    for label in graph.labels:
        table = graph.nodes(label)
        ((count,),) = graph.select(f"SELECT count(*) FROM {table} WHERE NOT starts_with(id, ':')")
        ids += count
        rows = graph.select(f"""
            SELECT {_PREFIX} AS prefix, count(*) AS ids, min(id) FROM {table}
            WHERE regexp_matches(id, {literal(_CURIE)})
            GROUP BY ALL ORDER BY ids DESC, prefix LIMIT {_MOST_PREFIXES}""")
        for spelled, count, example in rows:
            first, before, shown = found.get(spelled, (label.name, 0, example))
            found[spelled] = first, before + count, shown
    namespaces = [_namespace(spelled, *found[spelled]) for spelled in sorted(found)]
    known = sum(one.ids for one in namespaces if one.is_known)
    shaped = sum(one.ids for one in namespaces)
    by_few = shaped >= _NEARLY_ALL * ids and len(namespaces) * _FEW <= ids and known >= _MANY * ids
    most = shaped if _follows_biolink(graph) else known
    return Curies(tuple(namespaces), most * 2 > ids or by_few)


def _follows_biolink(graph: RuleGraph) -> bool:
    """Tell whether most nodes have a category of Biolink, so that their ids are CURIEs."""
    of_biolink = sum(count for label, count in graph.now.nodes.items() if label.startswith(biolink.PREFIX))
    return of_biolink * 2 > sum(graph.now.nodes.values())


def _namespace(spelled: str, label: str, count: int, example: str) -> Namespace:
    record = bioregistry.registry().find(spelled)
    return Namespace(spelled, label, count, example, record, _spellings(spelled, record))


def _spellings(spelled: str, record: bioregistry.Prefix | None) -> tuple[str, ...]:
    """The spellings of a prefix in the Biolink model."""
    names = {name.casefold() for name in (spelled, *(record.spellings if record else ()))}
    return tuple(sorted(name for name in biolink.model().prefixes if name.casefold() in names))


def misfits(graph: RuleGraph) -> list[Misfits]:
    """Prefixes with ids that have not their form, in order, counted once for all rules."""
    if graph not in _MISSED:
        _MISSED[graph] = _counted_misfits(graph)
    return _MISSED[graph]


def _counted_misfits(graph: RuleGraph) -> list[Misfits]:
    counted: dict[str, Misfits] = {}
    for label, select in _with_form(graph):
        for spelled, missing, ids, examples in graph.select(f"""
            SELECT prefix, count(*) FILTER (misfit), count(*), min(id, {_EXAMPLES}) FILTER (misfit)
            FROM ({select}) WHERE NOT empty_part GROUP BY prefix ORDER BY prefix"""):
            record = bioregistry.registry().find(spelled)
            if record is None:
                continue
            one = counted.get(record.prefix) or Misfits(record, label.name, 0, 0, ())
            shown = (*one.examples, *(examples or ()))[:_EXAMPLES]
            first = one.label if one.missing else label.name
            counted[record.prefix] = Misfits(record, first, one.missing + missing, one.ids + ids, shown)
    found = [counted[prefix] for prefix in sorted(counted) if counted[prefix].missing]
    if curies(graph).is_of_curies:
        return found
    # Names of things may begin as a prefix does: only where most of its ids have its form is it that prefix.
    return [one for one in found if one.missing * 2 < one.ids]


def invalid_ids(graph: RuleGraph) -> Iterator[tuple[Label, str, bioregistry.Prefix]]:
    """Ids that have not the form of their prefix, where that is not doubted, or have an empty part after it."""
    judged = {one.record.prefix for one in misfits(graph) if not one.is_doubt}
    empty_too = curies(graph).is_of_curies
    for label, select in _with_form(graph):
        for node_id, spelled, is_empty in graph.select(f"""
            SELECT id, prefix, empty_part FROM ({select}) WHERE misfit ORDER BY id"""):
            record = bioregistry.registry().find(spelled)
            if record and (empty_too if is_empty else record.prefix in judged):
                yield label, node_id, record


def _with_form(graph: RuleGraph) -> Iterator[tuple[Label, str]]:
    """By label, a select of its ids whose prefix has a pattern: id, prefix, misfit, empty_part."""
    cases: list[str] = []
    for one in curies(graph).namespaces:
        if one.record and (misfit := bioregistry.registry().misfit(one.record, "local")):
            cases.append(f"WHEN {literal(one.spelled)} THEN {misfit}")
    if not cases:
        return
    for label in graph.labels:
        yield (
            label,
            f"""
            SELECT id, prefix, empty_part, CASE prefix {" ".join(cases)} END AS misfit FROM (
                SELECT id, {_PREFIX} AS prefix, {_LOCAL} AS local, {_EMPTY_PART} AS empty_part
                FROM {graph.nodes(label)} WHERE regexp_matches(id, {literal(_CURIE)}))
            WHERE misfit IS NOT NULL""",
        )


def malformed_curies(graph: RuleGraph, label: Label) -> str | None:
    """A select of the ids of a label that are no CURIEs, in a graph whose ids are."""
    found = curies(graph)
    if not found.is_of_curies:
        return None
    with_form = {one.spelled for one in found.namespaces if one.record and one.record.pattern}
    is_stated = _follows_biolink(graph)
    others = [one.spelled for one in found.namespaces if (one.is_known or is_stated) and one.spelled not in with_form]
    # A pattern that is doubted tells of no id.
    doubted = {one.record.prefix for one in misfits(graph) if one.is_doubt}
    doubtful = [one.spelled for one in found.namespaces if one.record and one.record.prefix in doubted]
    spaced = f"{_PREFIX} IN ({', '.join(map(literal, [*others, *doubtful]))})" if others or doubtful else "false"
    # Where a pattern says what an id looks like, invalid_local_id tells.
    shapeless = f"{_PREFIX} IN ({', '.join(map(literal, others))})" if others else "false"
    return f"""
        SELECT id, NULL, NULL, CASE
            WHEN starts_with(id, ':') THEN 'no prefix before the first colon'
            WHEN {str(is_stated).lower()} AND id NOT LIKE '%:%' THEN 'no prefix'
            WHEN {shapeless} AND {_EMPTY_PART} THEN 'an empty part after the prefix'
            WHEN {spaced} AND NOT {_EMPTY_PART} AND regexp_matches(id, {literal(_NOT_WRITTEN)})
                THEN 'a space or a control character' END AS wrong
        FROM {graph.nodes(label)} WHERE wrong IS NOT NULL"""


def without_prefix(graph: RuleGraph, label: Label) -> str | None:
    """A select of the ids of a label that have no prefix, where nearly all others of it are CURIEs."""
    # In a graph of Biolink it is no CURIE, which is told as such.
    if _follows_biolink(graph):
        return None
    if not curies(graph).is_of_curies:
        return None
    table = graph.nodes(label)
    ((shaped, ids),) = graph.select(
        f"SELECT count(*) FILTER (regexp_matches(id, {literal(_CURIE)})), count(*) FROM {table}"
    )
    # Of few ids, one that has none is more than a twentieth.
    if shaped * 2 <= ids or (ids - shaped > 1 and shaped < _NEARLY_ALL * ids):
        return None
    return f"SELECT id, NULL, NULL, 'no prefix' FROM {table} WHERE strpos(id, ':') = 0"


def curie_of(name: str, schema: Schema) -> str | None:
    """The CURIE in Biolink of a label or a relation; None where it is not to be looked for there."""
    from kgcheck.forms.draft import without_number

    name = without_number(name)
    if ":" in name:
        return name if schema.profile.standards and name.startswith(biolink.PREFIX) else None
    return biolink.PREFIX + name if "biolink" in schema.profile.standards else None


def meant(curie: str) -> str:
    """Name the term that differs in case and joints alone, in words; else nothing."""
    model = biolink.model()
    bare = folded(curie)
    predicates = [slot for slot in model.slots.values() if slot.is_predicate]
    known: list[Category | Predicate] = [*model.categories.values(), *predicates]
    alike = [term.curie for term in known if folded(term.name) == bare and term.curie != curie]
    return f" ({' and '.join(alike)} is one)" if alike else ""


def categories(graph: RuleGraph) -> Iterator[tuple[Label, str, Category | None]]:
    """Labels that have nodes and a CURIE in Biolink, each with the class, where there is one."""
    for label in graph.labels:
        if curie := curie_of(label.name, graph.schema):
            yield label, curie, biolink.model().category(curie)


def stated_categories(graph: RuleGraph) -> dict[str, tuple[Label, int]]:
    """CURIEs in a property ``category``, where nodes have one, each with the first label and the number of nodes."""
    found: dict[str, tuple[Label, int]] = {}
    for label in graph.labels:
        if not graph.schema.profile.standards or _CATEGORY not in label.properties:
            continue
        value = identifier(_CATEGORY)
        several = value if label.properties[_CATEGORY].type == "strings" else f"string_split({value}, '|')"
        for name, count in graph.select(f"""
            SELECT name, count(*) FROM (SELECT unnest(list_distinct({several})) AS name FROM {graph.nodes(label)})
            WHERE trim(name) <> '' GROUP BY name ORDER BY name"""):
            if curie := curie_of(name, graph.schema):
                first, before = found.get(curie, (label, 0))
                found[curie] = first, before + count
    return found


def predicates(graph: RuleGraph) -> Iterator[tuple[list[Pattern], str, Predicate | None]]:
    """Relations that have edges and a CURIE in Biolink, each with its patterns and the predicate, if there is one."""
    for name, patterns in patterns_by_relation(graph).items():
        if curie := curie_of(name, graph.schema):
            yield patterns, curie, biolink.model().predicate(curie)


def biolink_patterns(graph: RuleGraph) -> Sequence[Pattern]:
    """Patterns whose edges follow Biolink: all of a graph that does, else those that are named by its prefix."""
    if "biolink" in graph.schema.profile.standards:
        return graph.patterns
    return [pattern for pattern in graph.patterns if curie_of(pattern.type, graph.schema)]


def hit_without(graph: RuleGraph, name: str) -> RuleHit | None:
    """A hit of all edges of Biolink that have no value of a property, over the graph; None where all have one."""
    patterns = biolink_patterns(graph)
    missing: list[tuple[Pattern, int]] = []
    for pattern in patterns:
        count = graph.now.edges.get(str(pattern), 0)
        if name in pattern.properties:
            where = f"coalesce(trim(CAST({identifier(name)} AS VARCHAR)), '') IN ('', '[]')"
            ((count,),) = graph.select(f"SELECT count(*) FROM {graph.edges(pattern)} WHERE {where}")
        if count:
            missing.append((pattern, count))
    if not missing:
        return None
    total = sum(graph.now.edges.get(str(pattern), 0) for pattern in patterns)
    first, _ = missing[0]
    ends = Ref(label=first.head, id=ALL), Ref(label=first.tail, id=ALL)
    share = f"{sum(number for _, number in missing):,} of {total:,} edges"
    return RuleHit(ends[0], first.type, ends[1], f"{share} have no {name}, which {biolink_release()} asks for", name)


def hit_of_label(graph: RuleGraph, label: Label, detail: str, record: str = "") -> RuleHit:
    """A hit of all nodes of a label, with their number."""
    count = how_many(graph.now.nodes.get(label.name, 0), "node")
    return RuleHit(Ref(label=label.name, id=ALL), None, None, f"{detail}; {count}", record)


def hit_of_relation(
    graph: RuleGraph, patterns: Sequence[Pattern], detail: str, record: str = "", among: int | None = None
) -> RuleHit:
    """A hit of all edges of some patterns, with their number, if need be among others; it stands at the first one."""
    edges = sum(graph.now.edges.get(str(pattern), 0) for pattern in patterns)
    count = f"{edges:,} of {among:,} edges" if among else how_many(edges, "edge")
    ends = Ref(label=patterns[0].head, id=ALL), Ref(label=patterns[0].tail, id=ALL)
    return RuleHit(ends[0], patterns[0].type, ends[1], f"{detail}; {count}", record)


def biolink_release() -> str:
    """The Biolink model and its release, in words."""
    return f"Biolink {biolink.model().release.release}"
