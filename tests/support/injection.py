"""Errors put into a real-shaped import directory, each with what an audit ought to say of it and propose.

A kind is a function that changes the directory in one place and tells what it did. Places are drawn by a seed among the
facts that the references support, so the truth is what stood there before. No two errors touch one node.
"""

import csv
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import duckdb

from kgcheck.checks.verdicts import verdict
from kgcheck.evidence.source import SnapshotSource
from kgcheck.model import CheckTask, CheckType, Finding, Outcome, Ref
from kgcheck.profile.import_files import NodeFile, load_recipe
from kgcheck.profile.schema import Pattern, Schema

T = TypeVar("T")
Key = tuple[str, ...]
Row = dict[str, str]


def key_of(task: CheckTask) -> Key:
    """What a finding is about: type, the ids and the relation, and the attribute or the rule."""
    other = task.object.id if task.object else ""
    return (task.type.value, task.subject.id, task.relation or "", other, task.rule or "", task.attribute or "")


def node_key(kind: str, identifier: str, *, rule: str = "", attribute: str = "", other: str = "") -> Key:
    """The key of a finding about a node."""
    return (kind, identifier, "", other, rule, attribute)


def edge_key(kind: str, head: str, relation: str, tail: str, *, rule: str = "", attribute: str = "") -> Key:
    """The key of a finding about an edge."""
    return (kind, head, relation, tail, rule, attribute)


class Expected(NamedTuple):
    """A finding that ought to be made. ``change`` and ``to``: the right proposal; None where any will do."""

    key: Key
    reasons: tuple[str, ...]
    change: str | None = None
    to: str | None = None


class Injected(NamedTuple):
    """One error: what ought to be found, the reason of a quarantined row instead, and what follows from it.

    No finding at all is right for a harmless change: then ``expected`` and ``quarantined`` are empty. ``also`` are
    reasons that findings about ``about`` may have besides.
    """

    kind: str
    expected: tuple[Expected, ...] = ()
    quarantined: str = ""
    about: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    renamed: tuple[tuple[str, str], ...] = ()
    """Ids that the graph has now, each with the one before."""


class NotHere(Exception):
    """The directory or the references have no place for the kind."""


ENDS = frozenset({"endpoint_merged", "endpoint_deleted", "endpoint_malformed", "endpoint_unknown"})


class Directory:
    """An import directory in memory."""

    def __init__(self, folder: Path, schema: Schema) -> None:
        self.schema = schema
        self._headers: dict[str, list[str]] = {}
        self.rows: dict[str, list[Row]] = {}
        self._at: dict[tuple[str, str], list[tuple[Pattern, Row]]] | None = None
        self.recipe = {f.file: f for f in load_recipe(schema).files}
        for name in self.recipe:
            with suppress(FileNotFoundError), (folder / name).open(encoding="utf-8", newline="") as stream:
                reader = csv.reader(stream, delimiter="\t")
                self._headers[name] = next(reader)
                self.rows[name] = [dict(zip(self._headers[name], row, strict=True)) for row in reader]

    def write(self, folder: Path) -> None:
        """Write every file."""
        for name, rows in self.rows.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with (folder / name).open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
                writer.writerow(self._headers[name])
                # A row may be too short on purpose.
                writer.writerows([row[c] for c in self._headers[name] if c in row] for row in rows)

    def nodes(self, label: str) -> list[Row]:
        """Rows of the nodes of a label, in the first of its files."""
        return self.rows[self._node_file(label)]

    def edges(self, pattern: str) -> list[Row]:
        """Rows of the edges of a pattern, of all its files; to be changed in place only."""
        return [row for name in self._edge_files(pattern) for row in self.rows[name]]

    def add_edge(self, pattern: str, row: Row) -> None:
        """Add an edge, in the file whose columns fit."""
        name = next(n for n in self._edge_files(pattern) if set(self._headers[n]) == set(row))
        self.rows[name].append(row)

    def drop(self, row: Row) -> None:
        """Take a row out."""
        for name, rows in self.rows.items():
            self.rows[name] = [held for held in rows if held is not row]

    def edges_at(self, label: str, identifier: str) -> list[tuple[Pattern, Row]]:
        """Edges that name a node, each with its pattern; of those that the folder had."""
        if self._at is None:
            self._at = {}
            for pattern in self.schema.relations:
                for row in self.edges(str(pattern)):
                    for end in {(pattern.head, row["START_ID"]), (pattern.tail, row["END_ID"])}:
                        self._at.setdefault(end, []).append((pattern, row))
        return self._at.get((label, identifier), [])

    def rename(self, label: str, old: str, new: str) -> None:
        """Give a node another id, also where edges name it."""
        for row in self.nodes(label):
            if row["ID"] == old:
                row["ID"] = new
        for pattern, row in self.edges_at(label, old):
            for column, end in (("START_ID", pattern.head), ("END_ID", pattern.tail)):
                if end == label and row[column] == old:
                    row[column] = new

    def _node_file(self, label: str) -> str:
        return next(n for n, f in self.recipe.items() if isinstance(f, NodeFile) and f.label == label)

    def _edge_files(self, pattern: str) -> list[str]:
        files = [(n, f) for n, f in self.recipe.items() if not isinstance(f, NodeFile) and n in self.rows]
        return [n for n, f in files if f"{f.head} {f.relation} {f.tail}" == pattern]


class Ground:
    """Where errors are put: the directory, what the references say, and the findings without any error."""

    def __init__(
        self,
        directory: Directory,
        source: SnapshotSource,
        db: duckdb.DuckDBPyConnection,
        baseline: list[Finding],
        seed: int,
    ) -> None:
        self.directory = directory
        self.db = db
        self._source = source
        self._links: dict[str, set[tuple[str, str]]] = {}
        self._random = random.Random(seed)  # noqa: S311
        self.used = {i for f in baseline for i in _ids(f) if f.mark.severity == 0}

    def drawn(self, items: list[T]) -> list[T]:
        """All items, in an order that the seed makes."""
        return self._random.sample(items, len(items))

    def free(self, *ids: str) -> bool:
        """Whether no finding and no error is about any of these ids."""
        return not self.used & set(ids)

    def take(self, *ids: str) -> frozenset[str]:
        """Keep these ids for one error."""
        self.used |= set(ids)
        return frozenset(ids)

    def holds(self, task: CheckTask) -> bool:
        """Whether the references support a task."""
        return verdict(task.type, *self._source.observe(task)).outcome is Outcome.SUPPORTED

    def known(self, label: str, identifier: str) -> bool:
        """Whether the references support a node's id."""
        return self.holds(CheckTask(type=CheckType.EXISTENCE, subject=Ref(label=label, id=identifier)))

    def node(self, label: str, attribute: str = "") -> Row:
        """A node whose id (or value) the references support; the caller takes it."""
        spec = self.directory.schema.label(label)
        if attribute:
            check = spec.attributes[attribute]
            known = "SELECT DISTINCT id FROM value WHERE source = ? AND attribute = ?"
            rows = self.db.execute(known, [check.source, check.reference]).fetchall()
            held = {row[0] for row in rows}
        for row in self.drawn(self.directory.nodes(label)):
            # To ask the references about each of many takes long, and most have no value there.
            if attribute and row["ID"] not in held and spec.base_id(row["ID"]) not in held:
                continue
            task = CheckTask(
                type=CheckType.ATTRIBUTE if attribute else CheckType.EXISTENCE,
                subject=Ref(label=label, id=row["ID"]),
                attribute=attribute or None,
                value=row[attribute].replace(",", "; ") or None if attribute else None,
            )
            if self.free(row["ID"]) and self.holds(task):
                return row
        raise NotHere

    def edge(self, pattern: Pattern, where: Callable[[Row], bool] = lambda row: True) -> Row:
        """An edge that the references support; the caller takes it."""
        for row in self.drawn(self.stated_edges(pattern)):
            if self.free(row["START_ID"], row["END_ID"]) and where(row) and self.holds(triple(pattern, row)):
                return row
        raise NotHere

    def stated_edges(self, pattern: Pattern) -> list[Row]:
        """Edges between nodes that are there, of which some source has a link: to ask about all takes hours."""
        if str(pattern) not in self._links:
            links = self.db.execute(
                "SELECT DISTINCT head_now, tail_now FROM link WHERE list_contains(?, [source, relation])",
                [[[check.source, check.link] for check in pattern.checks]],
            ).fetchall()
            turned = ((tail, head) for head, tail in links) if pattern.symmetric else ()
            heads, tails = ({row["ID"] for row in self.directory.nodes(end)} for end in (pattern.head, pattern.tail))
            self._links[str(pattern)] = {(h, t) for h, t in (*links, *turned) if h in heads and t in tails}
        stated = self._links[str(pattern)]
        return [row for row in self.directory.edges(str(pattern)) if (row["START_ID"], row["END_ID"]) in stated]

    def any_edge(self, pattern: Pattern) -> Row:
        """An edge, whatever the references say."""
        for row in self.drawn(self.directory.edges(str(pattern))):
            if self.free(row["START_ID"], row["END_ID"]):
                return row
        raise NotHere

    def former_ids(self, source: str, states: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Ids that one current id has replaced, each with it."""
        rows = self.db.execute(
            """
            SELECT l.id, l.successors[1] FROM lifecycle l WHERE source = ? AND list_contains(?, state)
            AND len(successors) = 1 AND successors[1] IN (SELECT id FROM lifecycle WHERE source = l.source
            AND state = 'current') ORDER BY ALL
            """,
            [source, list(states)],
        ).fetchall()
        yield from self.drawn(rows)

    def gone_ids(self, label: str, source: str, states: tuple[str, ...]) -> list[tuple[str, list[str], list[str]]]:
        """Ids of a label without one replacement, each with what replaces it and what may."""
        namespace = self.directory.schema.label(label).authority.namespace
        return self.drawn(
            self.db.execute(
                "SELECT id, successors, candidates FROM lifecycle WHERE source = $1 AND list_contains($2, state)"
                " AND ($3::VARCHAR IS NULL OR coalesce(namespace, $3) = $3) AND len(successors) <> 1 ORDER BY ALL",
                [source, list(states), namespace],
            ).fetchall()
        )

    def edges_of(self, label: str, identifier: str) -> list[tuple[Pattern, Row]]:
        """Edges that name a node."""
        return self.directory.edges_at(label, identifier)


def triple(pattern: Pattern, row: Row) -> CheckTask:
    """The task of an edge."""
    head, tail = Ref(label=pattern.head, id=row["START_ID"]), Ref(label=pattern.tail, id=row["END_ID"])
    return CheckTask(type=CheckType.TRIPLE, subject=head, relation=pattern.type, object=tail)


def _ids(finding: Finding) -> set[str]:
    task = finding.task
    return {task.subject.id} | ({task.object.id} if task.object else set())


class Counted(NamedTuple):
    """How a kind did. ``wrong``: found with another reason; ``proposed``: of those with a right proposal to make."""

    injected: int
    right: int
    silent: int
    wrong: int
    proposals: int
    proposed: int


class Scores(NamedTuple):
    """How an audit did: by kind, and findings that no error explains."""

    kinds: dict[str, Counted]
    unexplained: list[Finding]
    explained: int
    missed: list[str]

    def of(self, kinds: set[str]) -> Counted:
        """The sum over some kinds."""
        return Counted(*(sum(values) for values in zip(*(self.kinds[k] for k in sorted(kinds)), strict=True)))

    @property
    def precision(self) -> float:
        """Findings that errors explain, of all that the audit without errors did not make."""
        return self.explained / max(self.explained + len(self.unexplained), 1)


def score(errors: list[Injected], before: list[Finding], after: list[Finding], rejected: dict[str, int]) -> Scores:
    """Compare what was found with what was injected."""
    old = {(key_of(f.task), f.verdict.reason) for f in before}
    before_that = dict(pair for error in errors for pair in error.renamed)

    def held_before(f: Finding) -> bool:
        key = key_of(f.task)
        under_old_ids = tuple(before_that.get(part, part) for part in key)
        return bool({(key, f.verdict.reason), (under_old_ids, f.verdict.reason)} & old)

    new = [f for f in after if not held_before(f)]
    by_key = {key_of(f.task): f for f in new}
    wanted = {e.key: set(e.reasons) for error in errors for e in error.expected}
    follows: dict[str, set[str]] = {}
    for error in errors:
        for identifier in error.about:
            follows.setdefault(identifier, set()).update(error.also)
    left = dict(rejected)
    kinds: dict[str, list[Counted]] = {}
    missed = []
    for error in errors:
        said, proposals, proposed = "right", 0, 0
        if error.quarantined:
            said = "right" if left.get(error.quarantined, 0) else "silent"
            left[error.quarantined] = left.get(error.quarantined, 0) - 1
        for want in error.expected:
            found = by_key.get(want.key)
            if found is None or found.verdict.reason.value not in want.reasons:
                said = "wrong" if found else "silent"
                missed.append(f"{error.kind}: {want.key}: {found.verdict.reason.value if found else 'silent'}")
            elif want.change:
                proposals += 1
                if _proposes(found, want):
                    proposed += 1
                else:
                    missed.append(f"{error.kind}: {want.key}: proposes {found.change}, not {want.change} {want.to}")
        row = Counted(1, said == "right", said == "silent", said == "wrong", proposals, proposed)
        kinds.setdefault(error.kind, []).append(row)
    unexplained = [
        f
        for f in new
        if f.verdict.reason.value not in wanted.get(key_of(f.task), set())
        and not any(f.verdict.reason.value in follows.get(i, ()) for i in _ids(f))
    ]
    totals = {kind: Counted(*(sum(v) for v in zip(*rows, strict=True))) for kind, rows in kinds.items()}
    return Scores(totals, unexplained, len(new) - len(unexplained), missed)


def _proposes(found: Finding, want: Expected) -> bool:
    change = found.change
    if change is None or change.kind.value != want.change:
        return False
    return want.to is None or want.to == change.to or want.to in change.candidates
