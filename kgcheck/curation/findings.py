"""List a run's findings with states and decisions, filtered and paged; find one by fingerprint."""

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime
from enum import StrEnum
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import BeforeValidator, Field, ValidationError, WithJsonSchema, model_validator
from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    and_,
    func,
    or_,
    select,
    true,
    tuple_,
)

from kgcheck import clock
from kgcheck.choices import chosen
from kgcheck.curation.compare import ComparedFinding, RunDiff, diff_of
from kgcheck.curation.decisions import Decisions
from kgcheck.errors import UnknownName, UsageError
from kgcheck.inputs import wrong_parts
from kgcheck.ledger.bulk_insert import number_of
from kgcheck.ledger.causes import CONSEQUENCE, consequences_of
from kgcheck.ledger.comparisons import FEW, ComparedPart, ComparisonState, RunComparison, comparison_of
from kgcheck.ledger.decisions import DECISION, Action, DecisionState, decided_about, state_column
from kgcheck.ledger.ledger import Ledger, Run, of_any_run, of_graph_states, of_outcomes
from kgcheck.ledger.rows import finding_of
from kgcheck.ledger.tables import FINDING, KEY, OPEN_SEVERITIES, PLACE, RUN, SHOWN_ORDER, TALLY
from kgcheck.model import Change, CheckType, Finding, GraphState, Outcome, Reason, Value, all_reasons

if TYPE_CHECKING:
    from kgcheck.questions.resolver import NameResolver

_NOT_THERE = (ComparisonState.FIXED, ComparisonState.GONE, ComparisonState.UNCHECKED)
"""States of findings that a run has not; of the last one it may have some."""

_SEARCHED = ("subject_id", "subject_name", "object_id", "object_name", "value", "change_to")


LINE = r"^[^\x00-\x1f\x7f]*$"
_TEXT = r"^[^\x00]*$"
_DAY = re.compile(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")


def _whole_day(value: Any) -> Any:
    """A day as text: pydantic would take a number for seconds since 1970, too."""
    if isinstance(value, int | float) or (isinstance(value, str) and not _DAY.match(value)):
        raise ValueError("a day is written as 2027-01-31")
    return value


Day = Annotated[
    date, BeforeValidator(_whole_day), WithJsonSchema({"type": "string", "format": "date", "pattern": _DAY.pattern})
]
Word = Annotated[str, Field(min_length=1, max_length=200, pattern=LINE)]
_RULE_NAME = "^[a-z][a-z0-9_]*$"
RuleName = Annotated[str, Field(max_length=64, pattern=_RULE_NAME)]
KeptReason = Annotated[Reason | RuleName, Field(union_mode="left_to_right")]
"""A reason, or that of a rule which is not installed any more and whose findings a ledger has."""

_SOME, _MANY = 10, 100


class FindingFilter(Value):
    """Filter of findings: what is left out means any, and of several values of one field one is enough.

    Options of commands, parameters of HTTP and arguments of tools are those of this model.
    """

    states: tuple[ComparisonState, ...] = Field(
        default=(),
        max_length=_SOME,
        description="what became of it since the run before; fixed and gone are no findings of the run any more",
    )
    decisions: tuple[DecisionState, ...] = Field(
        default=(), max_length=_SOME, description="where it stands by what was decided"
    )
    outcomes: tuple[Outcome, ...] = Field(default=(), max_length=_SOME, description="what sources say of it")
    graph: tuple[GraphState, ...] = Field(
        default=(), max_length=_SOME, description="what that means for the graph: lacks_it, has_it_wrongly"
    )
    types: tuple[CheckType, ...] = Field(default=(), max_length=_SOME, description="what was checked")
    reasons: tuple[KeptReason, ...] = Field(default=(), max_length=_MANY, description="why the outcome is what it is")
    labels: tuple[Word, ...] = Field(default=(), max_length=_MANY, description="of a node, or of an end of an edge")
    relations: tuple[Word, ...] = Field(default=(), max_length=_MANY, description="of the edge")
    cause: Annotated[str, Field(pattern="^[0-9a-f]{16}$")] | None = Field(
        default=None, description="what follows from the finding of this fingerprint"
    )
    unfold: bool = Field(default=False, description="also what follows from a finding of the list, by itself")
    node: Annotated[str, Field(min_length=3, max_length=800, pattern=LINE)] | None = Field(
        default=None, description="about this node, by label and id, or an edge of it"
    )
    text: Annotated[str, Field(max_length=2_000, pattern=LINE)] | None = Field(
        default=None, description="part of an id, a name, a value or a proposed value", examples=["TP53"]
    )

    @model_validator(mode="before")
    @classmethod
    def _of_missing_edges(cls, values: Any) -> Any:
        """Until 0.2 an edge that sources state and the graph lacks was called refuted."""
        if not isinstance(values, dict):
            return values
        reasons, types = (tuple(map(str, values.get(name) or ())) for name in ("reasons", "types"))
        outcomes = tuple(map(str, values.get("outcomes") or ()))
        if outcomes == (Outcome.REFUTED,) and (types == (CheckType.POTENTIAL,) or reasons == (Reason.EDGE_MISSING,)):
            return {**values, "outcomes": (), "graph": (GraphState.LACKS_IT,)}
        return values

    @property
    def is_empty(self) -> bool:
        return self == FindingFilter()

    @property
    def shows_all(self) -> bool:
        """Tell whether the consequences of a finding are listed by themselves."""
        return self.unfold or self.cause is not None

    def check(self, run: Run) -> None:
        relations = {pattern.split(" ")[1] for pattern in run.edges}
        for kind, wanted, known in (("label", self.labels, run.nodes), ("relation", self.relations, relations)):
            for name in wanted:
                if name not in known:
                    raise UnknownName(kind, name, known, "" if known else "the graph of the run has none")


ChosenValue = Annotated[str, Field(min_length=1, max_length=2_000, pattern=_TEXT)]
"""An id or a value, of what is proposed, that a person chose."""


class DecisionOptions(Value):
    """Decision to be made: bodies of HTTP and arguments of tools are those of this model."""

    action: Action = Field(
        description="accept: it is right, repair it; reject: a false alarm; defer: until a day; reopen: take the"
        " decision back"
    )
    choose: ChosenValue | None = Field(default=None, description="with accept: of what is proposed, this id or value")
    note: str = Field(default="", max_length=10_000, pattern=_TEXT, description="why; shown wherever the decision is")
    until: Day | None = Field(default=None, description="with defer: the day on which it comes back")

    @property
    def options(self) -> dict[str, Any]:
        """These fields alone, as Workspace.decide takes them."""
        return {name: getattr(self, name) for name in DecisionOptions.model_fields}


NOT_REJECTED = tuple(state for state in DecisionState if state is not DecisionState.REJECTED)
"""Decision states that somebody is still to see: all but findings rejected as false alarms."""

FACETS = tuple(name for name, field in FindingFilter.model_fields.items() if field.default == ())
"""Fields by which a list can be narrowed, each with its choices."""


def wanted(**filters: Any) -> FindingFilter:
    """A filter of names as a person gives them."""
    found = {name: value for name, value in filters.items() if value}
    for name in FACETS & found.keys():
        (kind, _) = get_args(FindingFilter.model_fields[name].annotation)
        names = tuple(map(str, found[name]))
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            names = tuple(chosen(_CALLED.get(name, name.removesuffix("s")), value, list(kind)) for value in names)
        elif name == "reasons":
            names = tuple(v if re.fullmatch(_RULE_NAME, v) else chosen("reason", v, list(all_reasons())) for v in names)
        found[name] = names
    try:
        return FindingFilter(**found)
    except ValidationError as error:
        raise UsageError(wrong_parts(error), "change the filter, or leave it out") from None


_CALLED = {"types": "check type", "graph": "state of the graph"}


class FindingList:
    """The findings of a run; where their states are asked for, those that it did not find again, too.

    What follows from a finding of the list is not listed beside it, unless unfolded: it is counted there.
    """

    def __init__(self, diff: RunDiff, wanted: FindingFilter) -> None:
        wanted.check(diff.after)
        self.run = diff.after
        self.diff = diff
        self.wanted = wanted
        self._today = clock.today()
        if lost := [reason for reason in wanted.reasons if not isinstance(reason, Reason)]:
            self._check_kept(lost)

    def _check_kept(self, reasons: list[str]) -> None:
        """Refuse reasons of rules that are neither installed nor of any finding."""
        with self.diff.opened() as ledger, ledger.database.reading() as connection:
            of_runs = TALLY.c.run.in_([self.run.id, self.diff.before_id])
            kept = set(connection.scalars(select(TALLY.c.reason).where(of_runs)))
        for reason in reasons:
            if reason not in kept:
                raise UnknownName("reason", reason, [*map(str, all_reasons()), *sorted(kept)])

    def page(self, after: str | None = None, limit: int | None = None) -> Iterator[ComparedFinding]:
        """Findings of the run in the order of reports, then those that it did not find again."""
        with self.diff.opened() as ledger, ledger.database.reading() as connection:
            left = limit
            for part in self._parts(connection, ledger.finding(after).fingerprint if after else None):
                if left == 0:
                    return
                for one in self.diff.read(ledger, connection.execute(part.limit(left))):
                    left = None if left is None else left - 1
                    yield one

    def count(self) -> int:
        with self.diff.opened() as ledger, ledger.database.reading() as connection:
            parts = [part.order_by(None).with_only_columns(func.count()) for part in self._parts(connection, None)]
            return sum(connection.execute(part).scalar_one() for part in parts)

    def _parts(self, connection: Connection, after: str | None) -> Iterator[Select[Any]]:
        states, place = set(self.wanted.states), None
        comparison = comparison_of(connection, self.diff.pair)
        if not states or states - set(_NOT_THERE[:2]):
            number = number_of(self.run.id, after).scalar_subquery()
            columns = (FINDING.c[column.name] for column in SHOWN_ORDER)
            row = connection.execute(select(*columns).where(FINDING.c.number == number)).first() if after else None
            place = tuple(row) if row else None
            if place or not after:
                here = comparison.present(self.wanted.states, self._decided(connection))
                query = self._listed(connection, comparison, here)
                if here.of is PLACE and self.wanted.reasons:
                    yield from self._by_reason(query, place)
                else:
                    yield query.where(tuple_(*here.order) > tuple_(*place)) if place else query
        if states & set(_NOT_THERE):
            lost = comparison.absent()
            query = self._listed(connection, comparison, lost)
            yield query.where(lost.order[0] > after) if after and not place else query

    def _listed(self, connection: Connection, comparison: RunComparison, part: ComparedPart) -> Select[Any]:
        """Those of a part that fit, but for those that follow from another one of the list."""
        query = part.select().where(self.condition(connection, part))
        if self.wanted.shows_all:
            return query
        link, of = CONSEQUENCE.alias(), part.of
        under = select(link.c.run).where(link.c.run == of.c.run, link.c.fingerprint == of.c.fingerprint)
        if not self.wanted.is_empty:
            cause = comparison.join(link, link.c.cause, "cause", is_there=part.is_there)
            under = under.select_from(cause.rows).where(self.condition(connection, cause))
        return query.where(~under.exists())

    def _by_reason(self, query: Select[Any], here: tuple[Any, ...] | None) -> Iterator[Select[Any]]:
        """Split a select into parts by reason, in the same order: nobody goes through findings of other reasons."""
        reasons = sorted({str(reason) for reason in self.wanted.reasons})
        for severity, kind in product(OPEN_SEVERITIES, sorted(CheckType)):
            # Potential edges are ranked before they are told apart by their reasons, cited papers by two ranks alone.
            ranks = (0.0, 1.0) if kind is CheckType.EVIDENCE else (0.0,)
            each = [(0.0, rank, reason) for rank in ranks for reason in reasons]
            for same in [()] if kind is CheckType.POTENTIAL else each:
                place = (severity, kind.value, *same)
                begun = here[: len(place)] if here else ()
                if place < begun:
                    continue
                count = len(place)
                part = query.where(*(column == value for column, value in zip(SHOWN_ORDER, place, strict=False)))
                if here and place == begun:
                    part = part.where(tuple_(*SHOWN_ORDER[count:]) > tuple_(*here[count:]))
                yield part

    def _decided(self, connection: Connection) -> CompoundSelect[tuple[str]] | None:
        """Select the decided findings, if all that is wanted is among them, and they are few."""
        if not self.wanted.decisions or DecisionState.OPEN in self.wanted.decisions:
            return None
        few = (connection.scalar(select(func.max(DECISION.c.number))) or 0) <= FEW
        return decided_about(self.run.id) if few else None

    def condition(self, connection: Connection, part: ComparedPart) -> ColumnElement[bool]:
        """Condition that a finding fits the filter."""
        wanted, table, found = self.wanted, part.of, part.of.c
        named: tuple[tuple[ColumnElement[Any], list[Any]], ...] = (
            (part.state, [one.value for one in wanted.states]),
            (found.type, [one.value for one in wanted.types]),
            (found.reason, [str(one) for one in wanted.reasons]),
        )
        # Each twice: with one value alone SQLite takes the column for a constant, no longer sees that the rows are in
        # the order that is wanted, and sorts a million of them for a page of fifty.
        conditions: list[ColumnElement[bool]] = [column.in_(values * 2) for column, values in named if values]
        if wanted.outcomes:
            conditions.append(of_outcomes(table, wanted.outcomes))
        if wanted.graph:
            conditions.append(of_graph_states(table, wanted.graph))
        if wanted.labels:
            conditions.append(found.subject_label.in_(wanted.labels) | found.object_label.in_(wanted.labels))
        if wanted.relations:
            conditions.append(found.relation.in_(wanted.relations))
        if wanted.cause:
            follows = select(CONSEQUENCE.c.fingerprint).where(
                CONSEQUENCE.c.run == self.run.id, CONSEQUENCE.c.cause == wanted.cause
            )
            conditions.append(found.fingerprint.in_(follows))
        # Of places, ids and texts stand with the findings.
        texts = FINDING if table is PLACE else table
        if wanted.text:
            parts = [_contains(connection, texts.c[name], wanted.text) for name in _SEARCHED]
            paper = _contains(connection, texts.c.attribute, wanted.text)
            parts.append((texts.c.type == CheckType.EVIDENCE.value) & paper)
            conditions.append(or_(*parts, found.fingerprint.startswith(wanted.text.lower(), autoescape=True)))
        if wanted.node:
            label, _, name = wanted.node.partition(" ")
            ends = (("subject_label", "subject_id"), ("object_label", "object_id"))
            conditions.append(or_(*((texts.c[end] == label) & (texts.c[id_] == name) for end, id_ in ends)))
        if wanted.decisions:
            if DecisionState.OPEN not in wanted.decisions:
                # Most findings are those that nobody decided about.
                conditions.append(found.fingerprint.in_(decided_about(None)))
            decided = state_column(table, part.basis, self._today)
            conditions.append(decided.in_([decision.value for decision in wanted.decisions]))
        return and_(true(), *conditions)


class FindingPage:
    """A page of a list; when it has been gone through, it knows where the next one begins."""

    def __init__(self, findings: FindingList, after: str | None = None, limit: int | None = None) -> None:
        self.run = findings.run.id
        self.next: str | None = None
        self.count = 0
        self._findings = findings
        self._after = after
        self._limit = limit

    def __iter__(self) -> Iterator[ComparedFinding]:
        last = None
        more = None if self._limit is None else self._limit + 1
        for place, one in enumerate(self._findings.page(self._after, more), 1):
            if self._limit is not None and place > self._limit:
                self.next = last
                return
            last = one.fingerprint
            self.count = place
            yield one


def _contains(connection: Connection, column: ColumnElement[Any], text: str) -> ColumnElement[bool]:
    # The LIKE of SQLite takes no notice of case by itself, and without lower() it takes half the time.
    contains = column.contains if connection.dialect.name == "sqlite" else column.icontains
    return contains(text, autoescape=True)


def list_findings(
    ledger: Ledger, run: str | Run = "latest", before: str | Run | None = None, **filters: Any
) -> FindingList:
    """The findings of a run, compared with an earlier one, that fit filters as a person gives them."""
    return FindingList(diff_of(ledger, before, run), wanted(**filters))


class Occurrence(Value):
    """A run that has a finding, and what it was there."""

    run: str
    started: datetime
    outcome: Outcome
    reason: Reason
    confidence: float
    value: str | None = Field(default=None, description="what the graph said")
    change: Change | None = Field(default=None, description="what was proposed")


def find(ledger: Ledger, name: str, resolver: "Callable[[], NameResolver]") -> Finding:
    """The finding of a fingerprint, its beginning, or the words of a check, in the newest run that has it."""
    if " " not in name.strip():
        return ledger.finding(name)
    # Lists need neither DuckDB nor Arrow, which take a while to be imported.
    from kgcheck.agents.request import resolve_request

    request = resolve_request([name], resolver())
    known = ledger.known([task.fingerprint for task in request.tasks])
    if not known:
        raise UnknownName("finding about", request.text, [], "kgcheck check looks now; kgcheck findings lists them all")
    return max(map(ledger.finding, sorted(known)), key=lambda finding: finding.run)


def known_finding(ledger: Ledger, fingerprint: str) -> ComparedFinding:
    """The finding of a fingerprint, or its beginning, in the newest run that has it, and where it stands now."""
    finding = ledger.finding(fingerprint)
    decisions = Decisions(ledger)
    bases = decisions.bases([finding])
    name = finding.fingerprint
    decided = decisions.beside([finding])
    with ledger.database.reading() as connection:
        consequences = consequences_of(connection, finding.run, [name])
    return ComparedFinding(
        fingerprint=name,
        finding=finding,
        state=_state(ledger, name, finding.run),
        decided=decided[name],
        consequences=consequences[name],
        basis=bases[name],
    )


def occurrences(ledger: Ledger, fingerprint: str, limit: int) -> list[Occurrence]:
    """The runs that have a finding, the newest first."""
    name = ledger.finding(fingerprint).fingerprint
    numbers = select(KEY.c.finding).where(of_any_run(KEY.c.fingerprint == name))
    query = select(FINDING, RUN.c.started.label("run_started")).join(RUN, RUN.c.id == FINDING.c.run)
    query = query.where(FINDING.c.number.in_(numbers))
    query = query.order_by(RUN.c.number.desc()).limit(limit)
    with ledger.database.reading() as connection:
        rows = connection.execute(query).all()
    found = []
    for row in rows:
        finding = finding_of(row)
        found.append(
            Occurrence(
                run=finding.run,
                started=row.run_started,
                outcome=finding.verdict.outcome,
                reason=finding.verdict.reason,
                confidence=finding.verdict.confidence,
                value=finding.task.value,
                change=finding.change,
            )
        )
    return found


def _state(ledger: Ledger, fingerprint: str, run: str) -> ComparisonState | None:
    runs = ledger.runs()
    store = next(r.store_id for r in runs if r.id == run)
    newest = next((r for r in runs if r.store_id == store and not r.is_check), None)
    return diff_of(ledger, after=newest).state_of(fingerprint) if newest else None
