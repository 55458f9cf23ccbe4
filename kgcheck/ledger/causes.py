"""Root causes: link each finding of a run to the one that it follows from, and count those.

An edge whose end is obsolete follows from the finding of that node: it is a consequence. Causes are found once, when a
run ends. A consequence names its root, never another consequence, and a finding without a row here is a cause itself.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    ForeignKey,
    FromClause,
    Index,
    ScalarSelect,
    String,
    Table,
    delete,
    func,
    insert,
    select,
)

from kgcheck.ledger.rows import batches
from kgcheck.ledger.tables import FINDING, METADATA, OPEN_SEVERITIES, PLACE, PLACED
from kgcheck.model import CheckType, Reason
from kgcheck.rules import CauseKind, structure_rules

CONSEQUENCE = Table(
    "consequence",
    METADATA,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("fingerprint", String, primary_key=True),
    Column("cause", String, nullable=False, comment="fingerprint of the finding of the run that it follows from"),
    Index("consequence_by_cause", "run", "cause", "fingerprint"),
    sqlite_with_rowid=False,
)

_ENDPOINTS = (Reason.ENDPOINT_DELETED, Reason.ENDPOINT_MALFORMED, Reason.ENDPOINT_UNKNOWN, Reason.ENDPOINT_MERGED)
_VALUES = (Reason.VALUE_MISSING, Reason.VALUE_OUTDATED, Reason.VALUE_MISMATCH)

_FOLLOW: dict[CauseKind, tuple[Reason, ...]] = {
    CauseKind.NODE: (*_ENDPOINTS, *_VALUES, Reason.EDGE_MISSING, Reason.EDGE_UNSUPPORTED, Reason.UNMAPPED_IDENTIFIER),
    CauseKind.SAME_OF_NODE: (Reason.REFERENCE_OLDER,),
    CauseKind.EDGE: _VALUES,
}
"""Reasons of checks that follow from another finding; a structure rule states it of its own."""


def reasons_following(kind: CauseKind) -> frozenset[str]:
    """The reasons that follow from findings of a kind."""
    of_rules = (name for name, rule in structure_rules().items() if kind in rule.follows)
    return frozenset((*_FOLLOW.get(kind, ()), *of_rules))


_REASON_OF_ENDPOINT = {
    Reason.MALFORMED_ID: Reason.ENDPOINT_MALFORMED,
    Reason.UNKNOWN_ID: Reason.ENDPOINT_UNKNOWN,
    **dict.fromkeys(
        (
            *(Reason.ID_MERGED, Reason.ID_SECONDARY, Reason.ID_PREVIOUS, Reason.ID_ALIAS),
            *(Reason.ID_SUPERSEDED, Reason.WRONG_NAMESPACE),
        ),
        Reason.ENDPOINT_MERGED,
    ),
}
"""Reason of an edge by that of the id of its end; of ids that are gone, ENDPOINT_DELETED."""


class _Row(NamedTuple):
    """Columns of a finding that are looked at, quicker to name than those of a row of SQLAlchemy."""

    subject_label: str
    subject_id: str
    relation: str | None
    object_label: str | None
    object_id: str | None
    fingerprint: str
    type: str
    reason: str
    severity: int
    attribute: str | None
    value: str | None

    @property
    def element(self) -> tuple[str, str, str | None, str | None, str | None]:
        return self[:5]


_ByElement = Mapping[tuple[str, str, str | None, str | None, str | None], list[_Row]]
_Nodes = Mapping[tuple[str | None, str | None], _Row]
_TOGETHER = 5_000


def link_causes(connection: Connection, run: str, same_ids: Mapping[str, Sequence[str]] | None = None) -> int:
    """Find the causes of the findings of a run, in place of those that were found before, and count what follows.

    Of labels whose ids are those of others an accession that is gone is one cause: `same_ids` names both.
    """
    connection.execute(delete(CONSEQUENCE).where(CONSEQUENCE.c.run == run))
    count = 0
    for some in batches(_Linker(connection, run, same_ids or {}).links()):
        rows = [{"run": run, "fingerprint": fingerprint, "cause": cause} for fingerprint, cause in some]
        connection.execute(insert(CONSEQUENCE), rows)
        count += len(rows)
    return count


class _Linker:
    """Links the findings of a run to their causes: those of nodes first, for other causes may follow from them."""

    def __init__(self, connection: Connection, run: str, same_ids: Mapping[str, Sequence[str]]) -> None:
        self._connection = connection
        self._run = run
        self._same_ids = same_ids
        self._reasons = {kind: reasons_following(kind) for kind in CauseKind}
        self._roots: dict[str, str] = {}
        """The cause of each consequence that may be taken for a cause itself."""

    def links(self) -> Iterator[tuple[str, str]]:
        """Fingerprints, each with that of its cause."""
        of_id = (PLACE.c.type == CheckType.EXISTENCE.value) | (PLACE.c.reason == Reason.MALFORMED_ID.value)
        nodes: _Nodes = {(row.subject_label, row.subject_id): row for row in self._rows(None, of_id)}
        reasons = self._reasons
        for (label, identifier), node in nodes.items():
            same = (nodes.get((owner, identifier)) for owner in self._same_ids.get(label or "", ()))
            if cause := next((one for one in same if one and (one.severity == 0) == (node.severity == 0)), None):
                yield self._link(node.fingerprint, cause.fingerprint)
        groups: dict[tuple[str | None, ...], list[tuple[str, str]]] = {}
        by_element = {row.element: list[_Row]() for row in self._rows(reasons[CauseKind.VALUE])}
        attribute = CheckType.ATTRIBUTE.value
        is_attribute = PLACE.c.type == attribute
        of_edge = is_attribute & PLACE.c.relation.is_not(None)
        of_edges = {row.element: list[_Row]() for row in self._rows(reasons[CauseKind.EDGE], of_edge)}
        labels = {label for label, _ in nodes}
        may_follow = PLACE.c.subject_label.in_(labels) | PLACE.c.object_label.in_(labels) | is_attribute
        may_follow |= PLACE.c.reason.in_(list(reasons[CauseKind.GROUP]))
        may_follow &= PLACE.c.type != CheckType.EXISTENCE.value
        of_nodes = reasons[CauseKind.NODE] | reasons[CauseKind.SAME_OF_NODE] | reasons[CauseKind.NAMESPACE]
        for row in self._rows(of_nodes, may_follow):
            if end := self._of_node(row, nodes):
                yield self._link(row.fingerprint, end)
            elif row.reason in reasons[CauseKind.GROUP] and row.object_id is not None:
                group = row.reason, row.subject_label, row.subject_id, row.object_label
                groups.setdefault(group, []).append((row.object_id, row.fingerprint))
            elif row.type == attribute and row.element in of_edges:
                of_edges[row.element].append(row)
            if row.type == attribute and row.severity == 0 and row.element in by_element:
                by_element[row.element].append(row)
        if any(of_edges.values()):
            for edge in self._rows(None, PLACE.c.type == CheckType.TRIPLE.value, PLACE.c.severity == 0):
                yield from (self._link(row.fingerprint, edge.fingerprint) for row in of_edges.get(edge.element, ()))
        yield from self._of_values(by_element)
        for pairs in groups.values():
            (_, first), *rest = sorted(pairs)
            yield from ((fingerprint, first) for _, fingerprint in rest)

    def _link(self, fingerprint: str, cause: str) -> tuple[str, str]:
        root = self._roots.get(cause, cause)
        self._roots[fingerprint] = root
        return fingerprint, root

    def _of_node(self, row: _Row, nodes: _Nodes) -> str | None:
        """The finding of a node that another follows from: of two ends, that which the edge speaks of, or the head."""
        ends = nodes.get((row.subject_label, row.subject_id)), nodes.get((row.object_label, row.object_id))
        if ends == (None, None):
            return None
        found = [node for node in ends if node and self._follows(row.reason, node)]
        spoken = [n for n in found if _REASON_OF_ENDPOINT.get(Reason(n.reason), Reason.ENDPOINT_DELETED) == row.reason]
        return next((node.fingerprint for node in (*spoken, *found)), None)

    def _follows(self, reason: str, node: _Row) -> bool:
        if reason in self._reasons[CauseKind.NODE]:
            return node.severity == 0
        return node.reason == (Reason.WRONG_NAMESPACE if reason in self._reasons[CauseKind.NAMESPACE] else reason)

    def _of_values(self, by_element: _ByElement) -> Iterator[tuple[str, str]]:
        for row in self._rows(self._reasons[CauseKind.VALUE]):
            for stated in by_element[row.element]:
                names_it = row.attribute is None and (row.value or "").startswith(f"{stated.attribute} is ")
                if row.attribute == stated.attribute or names_it:
                    yield self._link(row.fingerprint, stated.fingerprint)
                    break

    def _rows(self, reasons: Collection[str] | None, *more: ColumnElement[bool]) -> Iterator[_Row]:
        """Findings by their places: of those that are left out, no row is read."""
        query = select(*(FINDING.c[name] for name in _Row._fields)).select_from(PLACED)
        query = query.where(PLACE.c.run == self._run, PLACE.c.severity.in_(OPEN_SEVERITIES), *more)
        if reasons is not None:
            query = query.where(PLACE.c.reason.in_(list(map(str, reasons))))
        return map(_Row._make, self._connection.execute(query.execution_options(yield_per=_TOGETHER)))


def cause_of(run: ColumnElement[Any], fingerprint: ColumnElement[Any]) -> ScalarSelect[Any]:
    """The fingerprint of the cause of a finding, as SQL; NULL where it is none's consequence."""
    of = CONSEQUENCE.alias()
    one = select(of.c.cause).where(of.c.run == run, of.c.fingerprint == fingerprint)
    return one.correlate_except(of).scalar_subquery()


def count_consequences(found: FromClause) -> ScalarSelect[int]:
    """Count the findings that follow from one, as SQL."""
    of = CONSEQUENCE.alias()
    follow = select(func.count()).where(of.c.run == found.c.run, of.c.cause == found.c.fingerprint)
    return follow.correlate_except(of).scalar_subquery()


FOUND = (*FINDING.columns, cause_of(FINDING.c.run, FINDING.c.fingerprint).label("cause"))
"""The columns that a finding is made of: a select of them is what `finding_of` reads."""


def consequences_of(connection: Connection, run: str, causes: Sequence[str] | None = None) -> Counter[str]:
    """Count the consequences of findings of a run, by fingerprint; those that have none are left out."""
    query = select(CONSEQUENCE.c.cause, func.count()).where(CONSEQUENCE.c.run == run).group_by(CONSEQUENCE.c.cause)
    query = query if causes is None else query.where(CONSEQUENCE.c.cause.in_(causes))
    return Counter({cause: count for cause, count in connection.execute(query)})
