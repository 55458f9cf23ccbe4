"""CURIEs of a graph: its node ids by prefix, and the names of its labels and relations in Biolink."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import sqrt
from typing import NamedTuple

from kgcheck.model import Ref
from kgcheck.plurals import folded, how_many
from kgcheck.profile.schema import Label, Pattern
from kgcheck.quoting import identifier, literal
from kgcheck.rules import RuleGraph, RuleHit, all_of
from kgcheck.standards import biolink, bioregistry
from kgcheck.standards.biolink import Category, Predicate

_DOUBTED_SHARE = 0.01
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
_IS_CURIE = f"regexp_matches(id, {literal(_CURIE)})"
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
        return RuleHit(all_of(self.label), None, None, detail, record, self.spelled)


class Misfits(NamedTuple):
    """Ids of a prefix, in whatever spelling, that have not its form; without those that have an empty part.

    ``is_doubt``: so many that it is the pattern that is doubted. ``is_of_another``: no id has the form, so that the
    prefix may mean something else here.
    """

    record: bioregistry.Prefix
    label: str
    missing: int
    ids: int
    examples: tuple[str, ...]

    @property
    def is_of_another(self) -> bool:
        return self.missing == self.ids

    @property
    def is_doubt(self) -> bool:
        return Curies.is_doubted(self.missing, self.ids)


class Curies:
    """The ids of a graph by prefix, and its names in Biolink; what is counted, is counted once for all rules."""

    def __init__(self, graph: RuleGraph) -> None:
        self._graph = graph
        self._standards = graph.schema.profile.standards
        self.model = biolink.model()
        self.release = f"Biolink {self.model.release.release}"

    @staticmethod
    def is_doubted(missing: int, ids: int) -> bool:
        """Tell whether more ids have not a form than a few by mistake."""
        expected = _DOUBTED_SHARE * ids
        return missing - expected > _BEYOND_CHANCE * sqrt(expected * (1 - _DOUBTED_SHARE))

    @cached_property
    def namespaces(self) -> list[Namespace]:
        """The prefixes of a graph that follows the Bioregistry."""
        found: dict[str, tuple[str, int, str]] = {}
        for label in self._graph.labels if "bioregistry" in self._standards else ():
            rows = self._graph.select(f"""
                SELECT {_PREFIX} AS prefix, count(*) AS ids, min(id) FROM {self._graph.nodes(label)}
                WHERE {_IS_CURIE} GROUP BY ALL ORDER BY ids DESC, prefix LIMIT {_MOST_PREFIXES}""")
            for spelled, count, example in rows:
                first, before, shown = found.get(spelled, (label.name, 0, example))
                found[spelled] = first, before + count, shown
        namespaces = []
        for spelled in sorted(found):
            record = bioregistry.registry().find(spelled)
            names = {name.casefold() for name in (spelled, *(record.spellings if record else ()))}
            of_biolink = tuple(sorted(name for name in self.model.prefixes if name.casefold() in names))
            namespaces.append(Namespace(spelled, *found[spelled], record, of_biolink))
        return namespaces

    @cached_property
    def is_of_curies(self) -> bool:
        """Tell whether most ids of a graph that follows the Bioregistry are CURIEs.

        Most have a prefix that is known, those left out that have an empty one; or nearly all have one of a few
        prefixes, of many of them known; or most have any, in a graph of Biolink, whose ids are CURIEs. Of another graph
        an id with a colon may be the name of something.
        """
        if "bioregistry" not in self._standards:
            return False
        tables = " UNION ALL ".join(f"SELECT id FROM {self._graph.nodes(label)}" for label in self._graph.labels)
        named = f"SELECT count(*) FROM ({tables}) WHERE NOT starts_with(id, ':')"
        ((ids,),) = self._graph.select(named) if tables else [(0,)]
        known = sum(one.ids for one in self.namespaces if one.is_known)
        shaped = sum(one.ids for one in self.namespaces)
        by_few = shaped >= _NEARLY_ALL * ids and len(self.namespaces) * _FEW <= ids and known >= _MANY * ids
        return (shaped if self._follows_biolink else known) * 2 > ids or by_few

    @property
    def _follows_biolink(self) -> bool:
        """Tell whether most nodes have a category of Biolink, so that their ids are CURIEs."""
        nodes = self._graph.now.nodes
        of_biolink = sum(count for label, count in nodes.items() if label.startswith(biolink.PREFIX))
        return of_biolink * 2 > sum(nodes.values())

    @cached_property
    def misfits(self) -> list[Misfits]:
        """Prefixes with ids that have not their form, in order."""
        counted: dict[str, Misfits] = {}
        records = {one.spelled: one.record for one in self.namespaces if one.record}
        for label, select in self._with_form():
            for spelled, missing, ids, examples in self._graph.select(f"""
                SELECT prefix, count(*) FILTER (misfit), count(*), min(id, {_EXAMPLES}) FILTER (misfit)
                FROM ({select}) WHERE NOT empty_part GROUP BY prefix ORDER BY prefix"""):
                record = records[spelled]
                one = counted.get(record.prefix) or Misfits(record, label.name, 0, 0, ())
                shown = (*one.examples, *(examples or ()))[:_EXAMPLES]
                first = one.label if one.missing else label.name
                counted[record.prefix] = Misfits(record, first, one.missing + missing, one.ids + ids, shown)
        found = [counted[prefix] for prefix in sorted(counted) if counted[prefix].missing]
        # Names of things may begin as a prefix does: only where most of its ids have its form is it that prefix.
        return [one for one in found if self.is_of_curies or one.missing * 2 < one.ids]

    def invalid_ids(self) -> Iterator[RuleHit]:
        """Ids that have not the form of their prefix, where that is not doubted, or have an empty part after it."""
        judged = {one.record.prefix for one in self.misfits if not one.is_doubt}
        records = {one.spelled: one.record for one in self.namespaces if one.record}
        for label, select in self._with_form():
            for node_id, spelled, is_empty in self._graph.select(f"""
                SELECT id, prefix, empty_part FROM ({select}) WHERE misfit ORDER BY id"""):
                record = records[spelled]
                if self.is_of_curies if is_empty else record.prefix in judged:
                    local = node_id.partition(":")[2]
                    detail = f"{local} does not match {record.pattern}, the form of ids of {record.preferred}"
                    yield RuleHit(Ref(label=label.name, id=node_id), None, None, detail, record.prefix)

    def _with_form(self) -> Iterator[tuple[Label, str]]:
        """By label, a select of its ids whose prefix has a pattern: id, prefix, misfit, empty_part."""
        cases: list[str] = []
        for one in self.namespaces:
            if one.record and (misfit := bioregistry.registry().misfit(one.record, "local")):
                cases.append(f"WHEN {literal(one.spelled)} THEN {misfit}")
        for label in self._graph.labels if cases else ():
            parts = f"""
                SELECT id, {_PREFIX} AS prefix, {_LOCAL} AS local, {_EMPTY_PART} AS empty_part
                FROM {self._graph.nodes(label)} WHERE {_IS_CURIE}"""
            misfit = f"CASE prefix {' '.join(cases)} END AS misfit"
            yield label, f"SELECT id, prefix, empty_part, {misfit} FROM ({parts}) WHERE misfit IS NOT NULL"

    def malformed(self, label: Label) -> str | None:
        """A select of the ids of a label that are no CURIEs, in a graph whose ids are."""
        if not self.is_of_curies:
            return None
        is_stated, names = self._follows_biolink, self.namespaces
        # Where a pattern says what an id looks like, invalid_local_id tells; one that is doubted tells of no id.
        doubted = {one.record.prefix for one in self.misfits if one.is_doubt}
        others = [n.spelled for n in names if (n.is_known or is_stated) and not (n.record and n.record.pattern)]
        doubtful = [n.spelled for n in names if n.record and n.record.prefix in doubted]

        def is_any_of(prefixes: list[str]) -> str:
            return f"{_PREFIX} IN ({', '.join(map(literal, prefixes))})" if prefixes else "false"

        return f"""
            SELECT id, NULL, NULL, CASE
                WHEN starts_with(id, ':') THEN 'no prefix before the first colon'
                WHEN {str(is_stated).lower()} AND id NOT LIKE '%:%' THEN 'no prefix'
                WHEN {is_any_of(others)} AND {_EMPTY_PART} THEN 'an empty part after the prefix'
                WHEN {is_any_of([*others, *doubtful])} AND NOT {_EMPTY_PART}
                    AND regexp_matches(id, {literal(_NOT_WRITTEN)}) THEN 'a space or a control character' END AS wrong
            FROM {self._graph.nodes(label)} WHERE wrong IS NOT NULL"""

    def without_prefix(self, label: Label) -> str | None:
        """A select of the ids of a label that have no prefix, where nearly all others of it are CURIEs."""
        # In a graph of Biolink it is no CURIE, which is told as such.
        if self._follows_biolink or not self.is_of_curies:
            return None
        table = self._graph.nodes(label)
        ((shaped, ids),) = self._graph.select(f"SELECT count(*) FILTER ({_IS_CURIE}), count(*) FROM {table}")
        # Of few ids, one that has none is more than a twentieth.
        if shaped * 2 <= ids or (ids - shaped > 1 and shaped < _NEARLY_ALL * ids):
            return None
        return f"SELECT id, NULL, NULL, 'no prefix' FROM {table} WHERE strpos(id, ':') = 0"

    def curie_of(self, name: str) -> str | None:
        """The CURIE in Biolink of a label or a relation; None where it is not to be looked for there."""
        from kgcheck.forms.draft import without_number

        name = without_number(name)
        if ":" in name:
            return name if self._standards and name.startswith(biolink.PREFIX) else None
        return biolink.PREFIX + name if "biolink" in self._standards else None

    def meant(self, curie: str) -> str:
        """Name the term that differs in case and joints alone, in words; else nothing."""
        predicates = [slot for slot in self.model.slots.values() if slot.is_predicate]
        known: list[Category | Predicate] = [*self.model.categories.values(), *predicates]
        bare = folded(curie)
        alike = [term.curie for term in known if folded(term.name) == bare and term.curie != curie]
        return f" ({' and '.join(alike)} is one)" if alike else ""

    def categories(self) -> Iterator[tuple[Label, str, Category | None]]:
        """Labels that have nodes and a CURIE in Biolink, each with the class, where there is one."""
        for label in self._graph.labels:
            if curie := self.curie_of(label.name):
                yield label, curie, self.model.category(curie)

    def stated_categories(self) -> dict[str, tuple[Label, int]]:
        """CURIEs in a property ``category``, each with the first label and the number of nodes."""
        found: dict[str, tuple[Label, int]] = {}
        for label in self._graph.labels if self._standards else ():
            if _CATEGORY not in label.properties:
                continue
            value = identifier(_CATEGORY)
            several = value if label.properties[_CATEGORY].type == "strings" else f"string_split({value}, '|')"
            for name, count in self._graph.select(f"""
                SELECT name, count(*)
                FROM (SELECT unnest(list_distinct({several})) AS name FROM {self._graph.nodes(label)})
                WHERE trim(name) <> '' GROUP BY name ORDER BY name"""):
                if curie := self.curie_of(name):
                    first, before = found.get(curie, (label, 0))
                    found[curie] = first, before + count
        return found

    def predicates(self) -> Iterator[tuple[Sequence[Pattern], str, Predicate | None]]:
        """Relations that have edges and a CURIE in Biolink, each with its patterns and the predicate, if there is."""
        for name, patterns in self._graph.patterns_by_relation().items():
            if curie := self.curie_of(name):
                yield patterns, curie, self.model.predicate(curie)

    def hits_without(self, *names: str, named: bool = False) -> Iterator[RuleHit]:
        """A hit of all edges of Biolink that lack a value of a property, for each property that any lacks."""
        graph = self._graph
        patterns = [p for p in graph.patterns if "biolink" in self._standards or self.curie_of(p.type)]
        for name in names:
            empty = f"coalesce(trim(CAST({identifier(name)} AS VARCHAR)), '') IN ('', '[]')"
            lacking: list[tuple[Pattern, int]] = []
            for pattern in patterns:
                count = graph.count([pattern])
                if name in pattern.properties:
                    ((count,),) = graph.select(f"SELECT count(*) FROM {graph.edges(pattern)} WHERE {empty}")
                if count:
                    lacking.append((pattern, count))
            if lacking:
                share = f"{sum(count for _, count in lacking):,} of {graph.count(patterns):,} edges"
                detail = f"{share} have no {name}, which {self.release} asks for"
                first, _ = lacking[0]
                ends = all_of(first.head), all_of(first.tail)
                yield RuleHit(ends[0], first.type, ends[1], detail, name, name if named else None)
