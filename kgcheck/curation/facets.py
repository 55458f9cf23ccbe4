"""Facets: count a run's findings by state, decision, reason, label and more; list new ones.

They are counted once for a run that is finished, and kept: what a filter leaves is added up from that, and only what
people decided about is counted again after each decision. Who asks while they are being counted waits for that.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date
from threading import Condition
from typing import Any, NamedTuple

from cachetools import LRUCache, cached
from sqlalchemy import ColumnElement, Connection, Select, func, literal, select

from kgcheck import clock
from kgcheck.curation.compare import SETTLED, ComparedFinding, diff_of
from kgcheck.curation.findings import FACETS, FindingFilter, FindingList, list_findings
from kgcheck.curation.thresholds import Counted
from kgcheck.ledger.causes import CONSEQUENCE, cause_of
from kgcheck.ledger.comparisons import COMPARISON, ComparedPart, ComparisonState, RunComparison, comparison_of
from kgcheck.ledger.decisions import DECISION, DecisionState, decided_about, state_column
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.tables import FINDING, KEY, OPEN_SEVERITIES, PLACE, RUN
from kgcheck.model import CheckType, Outcome, Tally, TallyMark, Target, kept_reason

_COLUMNS = ("outcome", "type", "reason", "subject_label", "object_label", "relation")


class FacetKind(NamedTuple):
    """Values by which findings are counted together."""

    is_there: bool
    """The run has it; else it is one that the run did not find again."""
    state: str
    decision: str
    outcome: str
    type: str
    reason: str
    subject_label: str
    object_label: str | None
    relation: str | None

    @property
    def mark(self) -> TallyMark:
        return TallyMark.of(CheckType(self.type), Outcome(self.outcome))

    def choices(self, facet: str) -> frozenset[str]:
        """Under which choices of a facet it stands."""
        if facet == "labels":
            return frozenset(filter(None, (self.subject_label, self.object_label)))
        if facet == "graph":
            return frozenset([self.mark.graph.value] if self.mark.graph else [])
        value: str | None = getattr(self, facet.removesuffix("s"))
        return frozenset([value] if value else [])


class FindingCounts(NamedTuple):
    """Findings by kind, and of those that follow from another one of the run, by their own kind and that one's."""

    findings: Counter[FacetKind]
    followed: Counter[tuple[FacetKind, FacetKind]]


class Facets:
    """Number of findings of a list, and number that each choice would leave."""

    def __init__(self, counts: FindingCounts, wanted: FindingFilter) -> None:
        self.kinds = counts.findings
        self.pairs = Counter[tuple[FacetKind, FacetKind]]() if wanted.shows_all else counts.followed
        """Number of findings of each kind that follow from those of another, in the list or not."""
        self._wanted = {name: frozenset(map(str, getattr(wanted, name))) for name in FACETS}

    @property
    def total(self) -> int:
        return self._shown().total()

    @property
    def followed(self) -> int:
        """Number of further findings that follow from one of the list, and stand under it."""
        return sum(n for kinds, n in self.pairs.items() if all(self._fits(kind, "") for kind in kinds))

    @property
    def marks(self) -> Counter[TallyMark]:
        found = Counter[TallyMark]()
        for kind, count in self._shown().items():
            found[kind.mark] += count
        return found

    @property
    def wrong(self) -> Counter[tuple[str, str, str]]:
        """Number of findings on what the graph has wrongly or lacks, by mark, place and reason."""
        found = Counter[tuple[str, str, str]]()
        for kind, count in self._shown().items():
            if not kind.mark.severity:
                place = Target(label=kind.subject_label, relation=kind.relation, object_label=kind.object_label)
                found[kind.mark.value, f"{kind.type} {place}", kind.reason] += count
        return found

    def _shown(self) -> Counter[FacetKind]:
        found = Counter({kind: count for kind, count in self.kinds.items() if self._fits(kind, "")})
        for (kind, cause), count in self.pairs.items():
            if self._fits(kind, "") and self._fits(cause, ""):
                found[kind] -= count
        return +found

    def of(self, facet: str) -> dict[str, int]:
        """The choices of a facet: how many each has under the other filters of the list, the most first."""
        found = Counter[str]()
        for kind, count in self.kinds.items():
            if self._fits(kind, facet):
                for choice in kind.choices(facet):
                    found[choice] += count
        for (kind, cause), count in self.pairs.items():
            if self._fits(kind, facet) and self._fits(cause, facet):
                for choice in kind.choices(facet) & cause.choices(facet):
                    found[choice] -= count
        found = +found
        chosen = dict.fromkeys(sorted(self._wanted[facet]), 0)
        return chosen | dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def _fits(self, kind: FacetKind, apart_from: str) -> bool:
        if not kind.is_there and not self._wanted["states"] and apart_from != "states":
            return False
        return all(
            name == apart_from or not values or not values.isdisjoint(kind.choices(name))
            for name, values in self._wanted.items()
        )


def facets_of(findings: FindingList) -> Facets:
    """Count a list by what it can be filtered by."""
    diff, wanted = findings.diff, findings.wanted
    shared = {"text": wanted.text, "node": wanted.node, "cause": wanted.cause}
    with diff.opened() as ledger, ledger.database.reading() as connection:
        newest = connection.scalar(select(func.max(DECISION.c.number))) or 0
        edition = connection.execute(_edition(diff.after.id)).one()
    key: tuple[Any, ...] = (str(ledger.where), *diff.pair, *shared.values(), *edition)
    # What is under way changes: nothing of it is kept.
    key = key if diff.after.finished else (*key, clock.exact_now())
    narrowed, day = FindingList(diff, FindingFilter(**shared)), clock.today()
    everything, decided = _counted_once(key, narrowed, None), _counted_once((*key, newest, day), narrowed, day)
    found, followed = everything.findings + decided.findings, everything.followed + decided.followed
    # What is decided stands among everything as if nothing were.
    for kind, count in decided.findings.items():
        found[_open(kind)] -= count
    for (kind, cause), count in decided.followed.items():
        followed[_open(kind), _open(cause)] -= count
    return Facets(FindingCounts(+found, +followed), wanted)


def _open(kind: FacetKind) -> FacetKind:
    """The kind of a finding as if nothing were decided about it."""
    return kind._replace(decision=DecisionState.OPEN.value)


def _edition(run: str) -> Select[Any]:
    """Key of the state of a run: other once its findings, or those compared, are rewritten or removed."""
    number = select(RUN.c.number).where(RUN.c.id == run).scalar_subquery()
    compared = select(COMPARISON.c.before, COMPARISON.c.at).where(COMPARISON.c.run == run).subquery()
    return select(
        select(func.max(FINDING.c.number)).where(FINDING.c.run == run).scalar_subquery(),
        select(func.count()).where(RUN.c.number <= number).scalar_subquery(),
        select(compared.c.before).scalar_subquery(),
        select(compared.c.at).scalar_subquery(),
    )


@cached(LRUCache(128), key=lambda key, findings, day: key, condition=Condition())
def _counted_once(key: tuple[Any, ...], findings: FindingList, day: date | None) -> FindingCounts:
    """All findings, as if nothing were decided; with a day those that somebody decided about, as they stand on it."""
    found, followed = Counter[FacetKind](), Counter[tuple[FacetKind, FacetKind]]()
    diff = findings.diff
    with diff.opened() as ledger, ledger.database.reading() as connection:
        comparison = comparison_of(connection, diff.pair)
        here, lost = diff.parts(connection, fingerprints=decided_about(diff.after.id) if day else None)
        if findings.wanted.is_empty and not day:
            found += _by_places(connection, comparison)
        else:
            found += _of_part(connection, findings, here, day)
        found += _of_part(connection, findings, lost, day)
        for is_there in (True, False) if diff.before else (True,):
            link = CONSEQUENCE.alias()
            own = comparison.join(link, link.c.fingerprint, "own", is_there=is_there)
            cause = comparison.join(own.rows, link.c.cause, "cause", is_there=is_there)
            run = diff.after.id if is_there else own.of.c.run
            query = select(link.c.run).select_from(cause.rows).where(link.c.run == run)
            query = query.where(*(findings.condition(connection, part) for part in (own, cause)))
            if day:
                about = decided_about(diff.after.id if is_there else None)
                query = query.where(link.c.fingerprint.in_(about))
            columns = _kind_of(own, day)
            for *row, count in _grouped(connection, query, [*columns, *_kind_of(cause, day)]):
                kinds = row[: len(columns)], row[len(columns) :]
                followed[FacetKind(is_there, *kinds[0]), FacetKind(is_there, *kinds[1])] += count
    return FindingCounts(found, followed)


def _of_part(connection: Connection, findings: FindingList, part: ComparedPart, day: date | None) -> Counter[FacetKind]:
    query = part.select().order_by(None).where(findings.condition(connection, part))
    if day and not part.is_there:
        query = query.where(part.of.c.fingerprint.in_(decided_about(None)))
    rows = _grouped(connection, query, _kind_of(part, day))
    return Counter({FacetKind(part.is_there, *kind): count for *kind, count in rows})


def _kind_of(part: ComparedPart, day: date | None) -> list[ColumnElement[Any]]:
    """The columns of a FacetKind; without a day nothing is decided."""
    decision = state_column(part.of, part.basis, day) if day else literal(DecisionState.OPEN.value)
    table = FINDING if part.of is PLACE else part.of
    return [part.state, decision, *(table.c[name] for name in _COLUMNS)]


def _grouped(connection: Connection, query: Select[Any], columns: Iterable[ColumnElement[Any]]) -> Sequence[Any]:
    """Columns of the rows of a select, each combination once, with the number of its rows behind them."""
    named = (column.label(f"column_{number}") for number, column in enumerate(columns))
    kinds = query.with_only_columns(*named).subquery("kind")
    return connection.execute(select(*kinds.c, func.count()).group_by(*kinds.c)).all()


def _by_places(connection: Connection, comparison: RunComparison) -> Counter[FacetKind]:
    """All findings of a run, with no row of a finding but of those that are in another state than most."""
    found, (after, most) = Counter[FacetKind](), (comparison.pair.after, comparison.most)
    open_ = DecisionState.OPEN.value
    columns = [PLACE.c["severity" if name == "outcome" else name] for name in _COLUMNS]
    every = select(*columns, func.count()).where(PLACE.c.run == after, PLACE.c.severity.in_(OPEN_SEVERITIES))
    for severity, type_, *kind, count in connection.execute(every.group_by(*columns)):
        outcome = next(o for o in Outcome if TallyMark.of(CheckType(type_), o).severity == severity)
        found[FacetKind(True, most.value, open_, outcome.value, type_, *kind)] += count
    if most is ComparisonState.NEW:
        return found
    of_finding, became = [FINDING.c[name] for name in _COLUMNS], comparison.rows()
    same = (KEY.c.run == after) & (KEY.c.fingerprint == became.c.fingerprint)
    others = select(became.c.state, *of_finding, func.count()).select_from(became).join(KEY, same)
    others = others.join(FINDING, FINDING.c.number == KEY.c.finding)
    others = others.where(became.c.run == after, became.c.is_there).group_by(became.c.state, *of_finding)
    for state, *kind, count in connection.execute(others):
        found[FacetKind(True, state, open_, *kind)] += count
        found[FacetKind(True, most.value, open_, *kind)] -= count
    return +found


class NewFindings(NamedTuple):
    """New and reopened findings of a run: how many of each kind, and some of them, the worst first."""

    counted: list[Counted]
    total: int
    examples: list[ComparedFinding]


def counted_of(tallies: Iterable[Tally]) -> list[Counted]:
    """Every task of a run."""
    return [
        Counted(t.type, _labels(t.target.label, t.target.object_label), t.target.relation, t.outcome, t.reason, t.count)
        for t in tallies
    ]


def settled(ledger: Ledger, run: Run) -> list[Counted]:
    """Findings of a run that do not fail it by themselves.

    They were rejected as they are, or deferred to a later day, or they follow from one that was not.
    """
    facets = facets_of(list_findings(ledger, run))
    of_themselves = [
        _counted(kind, n) for kind, n in facets.kinds.items() if kind.is_there and kind.decision in SETTLED
    ]
    return of_themselves + _followed_kinds(facets, lambda kind: kind.decision not in SETTLED)


def new_findings(ledger: Ledger, run: Run, shown: int) -> NewFindings:
    """Count findings new against the run before of the same store and options, or back after a decision."""
    diff = diff_of(ledger, after=run)
    with ledger.database.reading() as connection:
        found, _ = diff.parts(connection)
        is_new = diff.unsettled(found, clock.today())
        query = select(*_KIND, func.count().label("count_")).select_from(found.rows).where(found.where, is_new)
        counted = [_counted(row, row.count_) for row in connection.execute(query.group_by(*_KIND))]
        is_cause = cause_of(found.of.c.run, found.of.c.fingerprint).is_(None)
        rows = found.select().where(is_new).limit(shown)
        examples = connection.execute(rows.where(is_cause)).all() or connection.execute(rows).all()
    # What follows from something that is new is taken off again.
    followed = _followed_kinds(facets_of(list_findings(ledger, run)), _is_new)
    counted += [replace(one, count=-one.count) for one in followed]
    return NewFindings(counted, sum(c.count for c in counted), list(diff.read(ledger, examples)))


def _is_new(kind: FacetKind) -> bool:
    came_back = kind.state == ComparisonState.CHANGED and kind.decision == DecisionState.REOPENED
    return kind.decision not in SETTLED and (kind.state == ComparisonState.NEW or came_back)


def _followed_kinds(facets: Facets, counts: Callable[[FacetKind], bool]) -> list[Counted]:
    return [
        replace(_counted(kind, count), cause=_counted(cause, count))
        for (kind, cause), count in facets.pairs.items()
        if kind.is_there and counts(kind) and counts(cause)
    ]


_KIND = [FINDING.c[name] for name in ("type", "subject_label", "object_label", "relation", "outcome", "reason")]


def _counted(kind: Any, count: int) -> Counted:
    labels = _labels(kind.subject_label, kind.object_label)
    reason = kept_reason(kind.type, kind.reason)
    return Counted(CheckType(kind.type), labels, kind.relation, Outcome(kind.outcome), reason, count)


def _labels(*names: str | None) -> tuple[str, ...]:
    return tuple(name for name in names if name)


def example_rows(examples: Sequence[ComparedFinding]) -> tuple[dict[str, str], ...]:
    """Findings as messages show them."""
    rows = []
    for one in examples:
        finding, change = one.finding, one.finding.change
        proposal = " ".join(filter(None, (change.kind.value.replace("_", " "), change.to))) if change else ""
        decision = one.decided.decision
        is_reopened = one.decided.state is DecisionState.REOPENED
        was = f", reopened: {decision.action.value} by {decision.by}" if is_reopened and decision else ""
        rows.append(
            {
                "finding": finding.fingerprint[:8],
                "outcome": finding.mark.value,
                "reason": finding.verdict.reason.value + was,
                "what": str(finding.task),
                "names": ", ".join(filter(None, finding.names)),
                "proposal": proposal,
            }
        )
    return tuple(rows)
