"""The work of one run of a job: tried again by the rule of the job, and told to those who are to hear of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_exception, retry_if_result, stop_after_attempt, wait_exponential

from kgcheck.curation.config import Retention, RetryRule, duration
from kgcheck.curation.thresholds import Crossed, Severity
from kgcheck.errors import EXIT_INCOMPLETE, KgcheckError, StoreLocked
from kgcheck.ledger.leases import Lease
from kgcheck.ledger.work import WorkItem, WorkState, WorkTable

EXAMPLES = 10
"""Most new findings that a message shows."""


@dataclass(frozen=True)
class JobWork:
    """Result of the work of a job."""

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
        return {
            "new": self.new,
            "thresholds": [c.model_dump(mode="json") for c in self.crossed],
            "reports": list(self.reports),
            "notes": list(self.notes),
            **self.figures,
        }


@dataclass(frozen=True)
class Delivery:
    """Result of sending a notification."""

    name: str
    sent: bool
    why: str = ""

    def as_row(self) -> dict[str, Any]:
        return {"name": self.name, "sent": self.sent, "why": self.why}


Notify = Callable[[WorkItem, JobWork, str], list[Delivery]]
"""Sends what is to be sent of a run; the last argument is empty, or why the run failed."""


def work_by_rule(lease: Lease, rule: RetryRule, work: Callable[[], JobWork], notify: Notify) -> JobWork:
    """Do the work of a job, note in the ledger what it came to, and send what is to be sent of it."""
    try:
        done = _try(lease, rule, work)
    except KgcheckError as error:
        severity = Severity.UNAVAILABLE if error.exit_code == EXIT_INCOMPLETE else Severity.ERROR
        lease.check()
        sent = notify(lease.work, JobWork(severity, error.message), error.in_one_line)
        lease.note(severity=severity.value, result=lease.work.result | {"notifications": [d.as_row() for d in sent]})
        raise
    result = done.as_result()
    # Before anything is sent: whoever sees a message finds the run.
    lease.note(run=done.run, severity=done.severity.value, message=done.message, result=result)
    sent = notify(lease.work, done, "")
    lease.note(result=result | {"notifications": [d.as_row() for d in sent]})
    return done


def _try(lease: Lease, rule: RetryRule, work: Callable[[], JobWork]) -> JobWork:
    first = lease.work.attempt

    def count(state: RetryCallState) -> None:
        if state.attempt_number > 1:
            lease.note(attempt=first + state.attempt_number - 1)

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
    done: JobWork = retrying(work)
    return done


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
