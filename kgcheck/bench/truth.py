"""Ground truth for benchmarks, from a snapshot or a file of facts: id states, values and links."""

from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pydantic import Field, ValidationError

from kgcheck.agents.request import parse_request
from kgcheck.bench.kgqa import read_rows
from kgcheck.closing import Closing
from kgcheck.duck import connected
from kgcheck.errors import InputFormat, KgcheckError, UsageError
from kgcheck.graph.symmetry import unordered
from kgcheck.model import Value
from kgcheck.profile.catalogue import STATE_REASONS, State
from kgcheck.profile.schema import Label, Pattern, Schema
from kgcheck.reference.snapshot import attach_snapshots, damage_named

GONE = "gone"
"""State of an id of which a person says that it is no more, without a reason."""


class TrueState(NamedTuple):
    """State of an id: how it is now, its name, and what its source would say is wrong with it."""

    state: str
    name: str | None
    record: str
    source: str = ""

    @property
    def is_known(self) -> bool:
        """True where it is known what a verdict about it should be."""
        return bool(self.reason) or self.state == GONE

    @property
    def reason(self) -> str:
        """The reason that a verdict about it should give."""
        return STATE_REASONS[State(self.state)].value if self.state in set(State) else ""


class Links(NamedTuple):
    """Links of one source for a relation, and the ids of which it lists every one."""

    linked: dict[tuple[str, str], str]
    denied: frozenset[tuple[str, str]]
    covered: tuple[frozenset[str], ...]
    complete: bool
    refuted: frozenset[tuple[str, str]] = frozenset()

    def lists(self, head: str, tail: str, *, both_ends: bool) -> bool:
        """Tell whether a release would have the link if there were one."""
        if self.complete:
            return True
        inside = all if both_ends else any
        return any(inside(end in ids for end in (head, tail)) for ids in self.covered)


def in_one_order(pattern: Pattern, pair: tuple[str, str]) -> tuple[str, str]:
    """A pair as `Links` has it."""
    return (min(pair), max(pair)) if pattern.symmetric else pair


class TruthSource(Protocol):
    """Source of truth."""

    name: str

    def lives(self, label: Label) -> dict[str, TrueState]:
        """Ids of a label at the authority that issues them."""

    def values(self, label: Label, source: str, attribute: str) -> dict[str, str]:
        """The one right value of an attribute by id."""

    def links(self, pattern: Pattern, source: str, threshold: float | None) -> Links:
        """Links of a relation."""


class Truths(Closing):
    """A snapshot read for what is plainly true."""

    def __init__(self, snapshot: Path) -> None:
        self.name = snapshot.name
        self._path = snapshot
        self._db = connected()
        attach_snapshots(self._db, {"ref": snapshot})

    def close(self) -> None:
        self._db.close()

    def _rows(self, statement: str, parameters: dict[str, str]) -> list[tuple[Any, ...]]:
        with damage_named(self._path):
            return self._db.execute(statement, parameters).fetchall()

    def lives(self, label: Label) -> dict[str, TrueState]:
        """Ids of a label at the authority that issues them; those that it files under another label are left out."""
        if label.site or label.shares_ids_with:
            # What the authority lists are the ids of another label.
            return {}
        rows = self._rows(
            """
            SELECT id, state, name, coalesce(nullif(record, ''), id) FROM ref.lifecycle
            WHERE source = $source AND ($namespace = '' OR coalesce(namespace, '') IN ('', $namespace))
            """,
            {"source": label.authority.source, "namespace": label.authority.namespace or ""},
        )
        return {id_: TrueState(state, name, record) for id_, state, name, record in rows}

    def values(self, label: Label, source: str, attribute: str) -> dict[str, str]:
        """The one current value of an attribute by id; ids of which several are stated are left out."""
        rows = self._rows(
            """
            SELECT id, any_value(value) FROM ref.value
            WHERE source = $source AND attribute = $attribute AND status = 'current'
            GROUP BY id HAVING count(DISTINCT value) = 1
            """,
            {"source": source, "attribute": attribute},
        )
        return dict(rows)

    def links(self, pattern: Pattern, source: str, threshold: float | None) -> Links:
        """Links of a source for a relation. A pair on which its releases or its orders disagree is in neither set."""
        link = next((check.link for check in pattern.checks if check.source == source), pattern.type)
        known = {"source": source, "relation": link}
        rows = self._rows(
            f"""
            SELECT head, tail, min(coalesce(score, 1)), max(coalesce(score, 1)), bool_or(negated),
                   min(coalesce(nullif(record, ''), head || ' ' || tail))
            FROM (SELECT {unordered(pattern)}, score, negated, record FROM ref.link
                  WHERE source = $source AND relation = $relation)
            GROUP BY head, tail
            """,
            known,
        )
        least = threshold or 0.0
        linked = {(h, t): record for h, t, low, _, no, record in rows if low >= least and not no}
        denied = frozenset((h, t) for h, t, low, high, no, _ in rows if low < least or no)
        covered: dict[int, set[str]] = defaultdict(set)
        for release, id_ in self._rows(
            "SELECT release_id, id FROM ref.covered WHERE source = $source AND topic = $relation", known
        ):
            covered[release].add(id_)
        topics = self._rows(
            "SELECT bool_or(complete) FROM ref.topic WHERE source = $source AND topic = $relation", known
        )
        complete = bool(topics[0][0]) if topics else False
        return Links(linked, denied, tuple(frozenset(ids) for ids in covered.values()), complete)

    def shared_with(self, other: Path) -> list[str]:
        """Sources of which another snapshot was built from the very same file."""
        with connected() as db, damage_named(other):
            attach_snapshots(db, {"ref": self._path, "other": other})
            rows = db.execute(
                "SELECT DISTINCT source FROM ref.release JOIN other.release USING (source, sha256) ORDER BY source"
            ).fetchall()
        return [source for (source,) in rows]


class Fact(Value):
    """A line of a file of labelled facts: one thing of the outside world, and whether it is so.

    ``check`` are the words of ``kgcheck check``: an edge, ``existence LABEL ID`` or ``attribute LABEL ID NAME``;
    ``value`` is the right value of an attribute.
    """

    check: tuple[str, ...] = Field(min_length=3, max_length=4)
    holds: bool = True
    value: str | None = None
    source: str = ""
    record: str = ""


class LabelledFacts:
    """A file of labelled facts, JSON lines or a JSON list of `Fact`."""

    def __init__(self, path: Path, schema: Schema) -> None:
        self.name = path.name
        self._lives: dict[str, dict[str, TrueState]] = defaultdict(dict)
        self._values: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        self._links: dict[str, dict[tuple[str, str], Fact]] = defaultdict(dict)
        for number, row in enumerate(read_rows(path), 1):
            try:
                self._add(Fact.model_validate(row), schema)
            except (ValidationError, KgcheckError) as error:
                why = error.message if isinstance(error, KgcheckError) else str(error.errors()[0]["msg"])
                raise InputFormat(f"{path}, fact {number}: {why}", "see docs/agents.md") from error

    def _add(self, fact: Fact, schema: Schema) -> None:
        match fact.check:
            case ("existence", label, id_):
                state = "current" if fact.holds else GONE
                self._lives[schema.label(label).name][id_] = TrueState(state, None, fact.record, fact.source)
            case ("attribute", label, id_, name):
                if name not in schema.label(label).properties or fact.value is None:
                    raise UsageError(
                        f"an attribute of {label} and its value are wanted, not {name!r}",
                        "name a property of the label, and give its value",
                    )
                self._values[label, name][id_] = fact.value
            case (head, relation, tail):
                for pattern in parse_request((head, relation, tail), schema).patterns:
                    self._links[str(pattern)][in_one_order(pattern, (head, tail))] = fact
            case _:
                raise UsageError(
                    f"{' '.join(fact.check)!r} is no check",
                    "write it in the words of kgcheck check",
                )

    def lives(self, label: Label) -> dict[str, TrueState]:
        return self._lives[label.name]

    def values(self, label: Label, source: str, attribute: str) -> dict[str, str]:
        checked = [
            name for name, check in label.attributes.items() if check.reference == attribute and check.source == source
        ]
        return {i: v for name in checked for i, v in self._values[label.name, name].items()}

    def links(self, pattern: Pattern, source: str, threshold: float | None) -> Links:
        """See TruthSource; the file decides, whatever the source of the check and its threshold."""
        facts = self._links[str(pattern)]
        linked = {pair: fact.record or " ".join(pair) for pair, fact in facts.items() if fact.holds}
        refuted = frozenset(pair for pair, fact in facts.items() if not fact.holds)
        return Links(linked, frozenset(), (), False, refuted)
