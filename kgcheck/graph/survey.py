"""Survey a graph of unknown profile: labels, properties, candidate keys and relations."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kgcheck.graph.marks import MARKS
from kgcheck.graph.open import is_address, open_store
from kgcheck.graph.queries import is_name, quoted
from kgcheck.graph.store import META_LABEL, SurveyedStore
from kgcheck.profile.schema import KeyType, PropertyType, empty_schema
from kgcheck.profile.survey import GraphSurvey, LabelSurvey, PropertySurvey, RelationSurvey
from kgcheck.progress import NoProgress, Progress
from kgcheck.settings import Settings
from kgcheck.standards.biolink import primary_labels

SAMPLE = 1_000
"""Nodes of a label, or edges of a pattern, whose values are looked at."""

_SHOWN_IDS = 200
_KEY_TYPES: dict[str, tuple[int, KeyType, type]] = {"string": (0, "string", str), "integer": (1, "integer", int)}
"""Types of properties that can be keys: which come first, and what a driver gives."""

_INTERNAL = ("_id", "_label", "_src", "_dst", *MARKS)


def survey(store: str, settings: Settings, progress: Progress | None = None) -> GraphSurvey:
    """Look at a graph of any profile; nothing is written to it."""
    with open_store(store, empty_schema(), settings, any_profile=True) as opened:
        shown = store if is_address(store) else str(Path(store).absolute())
        return _Survey(opened, shown, progress or NoProgress()).run()


class _Survey:
    def __init__(self, store: SurveyedStore, name: str, progress: Progress) -> None:
        self._store = store
        self._name = name
        self._progress = progress
        self._left_out: list[str] = []

    def run(self) -> GraphSurvey:
        sets = [(sorted(labels), n) for labels, n in self._store.label_sets() if META_LABEL not in labels]
        kind = primary_labels(sets)
        nodes = Counter[str]()
        also: dict[str, set[str]] = {}
        above = _also_carried(kind)
        for labels, n in sets:
            if not labels:
                self._left_out.append(f"{n:,} nodes without a label")
                continue
            name = kind[tuple(labels)]
            if name in above:
                # A scan of that label would read those others, too.
                shown = " and ".join(sorted(above[name])[:2])
                self._left_out.append(f"{n:,} nodes of {', '.join(labels)} alone, which nodes of {shown} are, too")
                continue
            nodes[name] += n
            others = set(labels) - {name}
            also[name] = also[name] & others if name in also else others
        joined = Counter[tuple[str, str, str]]()
        for relation, heads, tails, n in self._store.relation_ends():
            if heads and tails and META_LABEL not in (*heads, *tails):
                joined[relation, kind[tuple(sorted(heads))], kind[tuple(sorted(tails))]] += n
        with self._progress.step(f"looking at {self._name}", len(nodes) + len(joined)) as step:
            found: list[LabelSurvey] = []
            for name, n in nodes.items():
                found += self._label(name, n, also[name])
                step.advance()
            known = {label.name for label in found}
            relations: list[RelationSurvey] = []
            for (relation, head, tail), n in joined.items():
                relations += self._relation(relation, head, tail, n) if {head, tail} <= known else []
                step.advance()
        return GraphSurvey(
            store=self._name,
            profile=self._store.meta().get("profile", ""),
            labels=tuple(sorted(found, key=lambda s: s.name)),
            relations=tuple(sorted(relations, key=lambda r: (r.type, r.head, r.tail))),
            left_out=tuple(self._left_out),
            own_keys=is_address(self._name),
        )

    def _label(self, name: str, nodes: int, also: set[str]) -> list[LabelSurvey]:
        if not is_name(name):
            self._left_out.append(f"label {name!r}, {nodes:,} nodes: not a plain name")
            return []
        sample = [_plain(row[0]) for row in self._store.survey("survey_nodes", {"label": quoted(name)}, limit=SAMPLE)]
        properties = self._properties(f"label {name}", sample)
        key, kind = self._key(name, properties, sample)
        ids = tuple(str(node[key]) for node in sample[:_SHOWN_IDS]) if key else ()
        return [
            LabelSurvey(
                name=name,
                nodes=nodes,
                also=tuple(sorted(filter(is_name, also))),
                key=key,
                key_type=kind,
                ids=ids,
                properties=tuple(p for p in properties if p.name != key),
            )
        ]

    def _key(
        self, label: str, properties: Sequence[PropertySurvey], sample: Sequence[Mapping[str, Any]]
    ) -> tuple[str, KeyType]:
        """The property by which nodes of a label are told apart: texts first, `id` before others that are called so."""
        whole = [p for p in properties if p.type in _KEY_TYPES and p.filled == len(sample)]
        for p in sorted(whole, key=lambda p: (_KEY_TYPES[p.type][0], likeness_to_id(p.name))):
            (_, kind, wanted), name = _KEY_TYPES[p.type], p.name
            if likeness_to_id(name)[0] > 2 or any(type(node[name]) is not wanted for node in sample):
                continue
            places = {"label": quoted(label), "property": quoted(name)}
            ((n, filled, different),) = self._store.survey("survey_key", places)
            if n == filled == different:
                return name, kind
        return "", "string"

    def _relation(self, relation: str, head: str, tail: str, edges: int) -> list[RelationSurvey]:
        if not is_name(relation):
            self._left_out.append(f"relation {relation!r} from {head} to {tail}, {edges:,} edges: not a plain name")
            return []
        places = {"head": quoted(head), "relation": quoted(relation)}
        rows = self._store.survey("survey_edges", places | {"tail": quoted(tail)}, limit=SAMPLE)
        sample = [_plain(row[0]) for row in rows]
        loops = mutual = 0
        if head == tail:
            loops = int(next(iter(self._store.survey("survey_loops", places)))[0])
            mutual = int(next(iter(self._store.survey("survey_mutual", places)))[0]) - loops
        properties = tuple(self._properties(f"relation {relation}", sample))
        found = RelationSurvey(type=relation, head=head, tail=tail, edges=edges, properties=properties)
        return [found.model_copy(update={"loops": loops, "mutual": max(0, mutual)})]

    def _properties(self, owner: str, sample: Sequence[Mapping[str, Any]]) -> list[PropertySurvey]:
        found = []
        for name in dict.fromkeys(name for values in sample for name in values):
            values = [v[name] for v in sample if v.get(name) is not None]
            if not is_name(name) or ":" in name:
                self._left_out.append(f"property {name!r} of {owner}: not a plain name")
            elif values:
                found.append(PropertySurvey(name=name, type=_type_of(values), filled=len(values)))
        return found


def _also_carried(kind: Mapping[tuple[str, ...], str]) -> dict[str, set[str]]:
    """Labels that say most of some nodes, and that nodes of other kinds carry besides: by label, those kinds."""
    found: dict[str, set[str]] = {}
    for labels, name in kind.items():
        for other in set(labels) - {name}:
            found.setdefault(other, set()).add(name)
    return {label: kinds for label, kinds in found.items() if label in kind.values()}


def likeness_to_id(name: str) -> tuple[int, str]:
    """Rank a property by its name, 0 the most like an id, 3 not at all; the name itself comes second."""
    lower = name.lower()
    if lower == "id":
        return 0, name
    if lower in ("identifier", "curie", "accession", "key", "uri"):
        return 1, name
    return (2 if lower.endswith(("id", "_identifier", "curie", "accession")) else 3), name


def _plain(value: Any) -> dict[str, Any]:
    return {name: v for name, v in dict(value).items() if name.lower() not in _INTERNAL}


def _type_of(values: Iterable[Any]) -> PropertyType:
    kinds = {type(value) for value in values}
    if kinds <= {list, tuple}:
        return "strings"
    if kinds <= {int}:
        return "integer"
    return "number" if kinds <= {int, float} else "string"
