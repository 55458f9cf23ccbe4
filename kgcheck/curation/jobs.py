"""One run of a job: begun once in the world, kept alive, tried again by its own rule, and written down as it ended."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_exception, retry_if_result, stop_after_attempt, wait_exponential

from kgcheck import clock
from kgcheck.curation.config import Retention, RetryRule, duration
from kgcheck.curation.thresholds import Crossed, Severity
from kgcheck.errors import EXIT_INCOMPLETE, JobUnderWay, KgcheckError, StoreLocked
from kgcheck.ledger.leases import Lease
from kgcheck.ledger.work import WorkItem, WorkState, WorkTable, taken_over
from kgcheck.ledger.workers import this_worker

LEASE = timedelta(minutes=5)
"""How long a run counts as alive without a sign: machines whose clocks differ by more must not share a ledger."""

SIGN_EVERY_S = 30.0
"""How often it gives one."""

EXAMPLES = 10
"""What is new that a message shows."""


@dataclass(frozen=True)
class JobWork:
    """What the work of a job came to."""

    severity: Severity
    message: str
    run: str | None = None
    """The id of its audit."""
    unfinished: bool = False
    """Something was away: the same work can go on later."""
    new: int = 0
    """Findings that are new or reopened."""
    crossed: tuple[Crossed, ...] = ()
    examples: tuple[Mapping[str, Any], ...] = ()
    """Some of the new findings, the worst first."""
    reports: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)

    def as_result(self) -> dict[str, Any]:
        """What the ledger keeps of it."""
        return {
            "new": self.new,
            "thresholds": [c.model_dump(mode="json") for c in self.crossed],
            "reports": list(self.reports),
            "notes": list(self.notes),
            **self.figures,
        }


@dataclass(frozen=True)
class Delivery:
    """What became of a notification."""

    name: str
    sent: bool
    why: str = ""

    def as_row(self) -> dict[str, Any]:
        """As the ledger keeps it."""
        return {"name": self.name, "sent": self.sent, "why": self.why}


Task = Callable[[WorkItem, Lease], JobWork]
"""Does the work of a job, or goes on with it."""

Notify = Callable[[WorkItem, JobWork, str], list[Delivery]]
"""Sends what is to be sent of a run; the last argument is empty, or why the run failed."""


def perform(
    runs: WorkTable,
    name: str,
    rule: RetryRule,
    work: Task,
    notify: Notify,
    *,
    planned: datetime | None = None,
) -> tuple[WorkItem, JobWork]:
    """Run a job that is not under way elsewhere."""
    run = runs.begin(name, this_worker(), clock.now(), LEASE, planned)
    with Lease(runs, run, LEASE).keep(SIGN_EVERY_S) as lease:
        try:
            done = _try(runs, run, rule, work, lease)
        except BaseException as error:
            if lease.lost.is_set():
                raise JobUnderWay(*taken_over(run)) from error
            if isinstance(error, KgcheckError):
                _failed(runs, run, error, notify)
            else:
                runs.finish(run, WorkState.INTERRUPTED, clock.now(), message=f"interrupted: {type(error).__name__}")
            raise
        result = done.as_result()
        # Before anything is sent: whoever sees a message finds the run.
        if not runs.change(run, run=done.run, message=done.message, result=result):
            raise JobUnderWay(*taken_over(run))
        result["notifications"] = [d.as_row() for d in notify(run, done, "")]
        ended = runs.finish(
            run, WorkState.DONE, clock.now(), severity=done.severity.value, message=done.message, result=result
        )
    return ended, done


def _try(runs: WorkTable, run: WorkItem, rule: RetryRule, work: Task, lease: Lease) -> JobWork:
    def count(state: RetryCallState) -> None:
        if state.attempt_number > 1:
            runs.change(run, attempt=state.attempt_number)

    def is_worth_it(error: BaseException) -> bool:
        away = isinstance(error, KgcheckError) and (
            error.exit_code == EXIT_INCOMPLETE or isinstance(error, StoreLocked)
        )
        return away or (rule.on == "any" and isinstance(error, KgcheckError))

    wait = duration(rule.wait).total_seconds()
    retrying = Retrying(
        stop=stop_after_attempt(rule.times + 1),
        wait=wait_exponential(multiplier=wait, max=duration(rule.longest).total_seconds()),
        retry=retry_if_exception(is_worth_it) | retry_if_result(lambda done: done.unfinished),
        sleep=lease.sleep,
        before=count,
        # The last word is that of the last attempt: its result, or its error.
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
    )
    done: JobWork = retrying(work, run, lease)
    return done


def _failed(runs: WorkTable, run: WorkItem, error: KgcheckError, notify: Notify) -> None:
    severity = Severity.UNAVAILABLE if error.exit_code == EXIT_INCOMPLETE else Severity.ERROR
    text = error.in_one_line
    sent = notify(run, JobWork(severity, error.message), text)
    result = {**runs.get(run.number).result, "notifications": [d.as_row() for d in sent]}
    runs.finish(run, WorkState.FAILED, clock.now(), severity=severity.value, message=text, result=result)


def open_since(runs: WorkTable, run: WorkItem) -> tuple[datetime, dict[str, Any]]:
    """Since when the work of a job stands open: that of the runs before that did not end well, and of this one."""
    since = run.created
    noted: dict[str, Any] = {}
    for row in runs.history(run.job):
        if row.number > run.number:
            continue
        if row.number < run.number and row.state is WorkState.DONE and not row.result.get("unfinished"):
            break
        since, noted = row.created, {**row.result, **noted}
    return since, noted


def old_runs(rule: Retention, history: Sequence[WorkItem], moment: datetime) -> set[str]:
    """Audits of a job that its rule does not keep."""
    began: dict[str, datetime] = {}
    for run in history:
        if run.run:
            began.setdefault(run.run, run.created)
    old = set(list(began)[rule.runs :]) if rule.runs is not None else set()
    if rule.age is not None:
        old |= {name for name, at in began.items() if at < moment - duration(rule.age)}
    return old
