"""One run of a job: begun once in the world, kept alive, tried again by its own rule, and written down as it ended."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_exception, retry_if_result, stop_after_attempt, wait_exponential

from kgcheck.closing import Closing
from kgcheck.curation.config import Retention, RetryRule, duration
from kgcheck.curation.thresholds import Crossed, Severity
from kgcheck.errors import EXIT_INCOMPLETE, JobUnderWay, KgcheckError, LedgerError, StoreLocked
from kgcheck.ledger.jobs import JobRun, JobRuns, JobState, taken_over
from kgcheck.ledger.ledger import now
from kgcheck.ledger.workers import this_worker
from kgcheck.progress import Progress, ProgressStep

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


Work = Callable[[JobRun, "Lease"], JobWork]
"""Does the work of a job, or goes on with it."""

Notify = Callable[[JobRun, JobWork, str], list[Delivery]]
"""Sends what is to be sent of a run; the last argument is empty, or why the run failed."""


class Lease(Closing):
    """Says from time to time that a run is alive, from a thread of its own."""

    def __init__(self, runs: JobRuns, run: JobRun, length: timedelta = LEASE, every: float = SIGN_EVERY_S) -> None:
        self._runs = runs
        self._run = run
        self._length = length
        self._every = every
        self._ended = threading.Event()
        self._lost = threading.Event()
        self._thread = threading.Thread(target=self._give_signs, name=f"lease of {run.job}", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Refuse to go on with a run that has been taken over."""
        if self._lost.is_set():
            raise JobUnderWay(*taken_over(self._run))

    def sleep(self, seconds: float) -> None:
        """Wait, but no longer than the run is one's own."""
        self._lost.wait(seconds)
        self.check()

    def close(self) -> None:
        """Give no more signs."""
        self._ended.set()
        self._thread.join()

    def watch(self, progress: Progress) -> Progress:
        """Progress at whose steps the run is looked after."""
        return _Watched(progress, self)

    def _give_signs(self) -> None:
        while not self._ended.wait(self._every):
            try:
                if not self._runs.sign(self._run, now() + self._length):
                    self._lost.set()
                    return
            except LedgerError:
                # Who cannot write to the ledger cannot take over either: the next sign may come through.
                continue


class _Watched:
    def __init__(self, progress: Progress, lease: Lease) -> None:
        self._progress = progress
        self._lease = lease

    @contextmanager
    def step(self, description: str, total: int | None = None) -> Iterator[ProgressStep]:
        self._lease.check()
        with self._progress.step(description, total) as step:
            yield _WatchedStep(step, self._lease)


class _WatchedStep:
    def __init__(self, step: ProgressStep, lease: Lease) -> None:
        self._step = step
        self._lease = lease

    def advance(self, amount: int = 1) -> None:
        self._lease.check()
        self._step.advance(amount)


def perform(
    runs: JobRuns,
    name: str,
    rule: RetryRule,
    work: Work,
    notify: Notify,
    *,
    planned: datetime | None = None,
) -> tuple[JobRun, JobWork]:
    """Run a job that is not under way elsewhere."""
    run = runs.begin(name, this_worker(), now(), LEASE, planned)
    with Lease(runs, run) as lease:
        try:
            done = _try(runs, run, rule, work, lease)
        except KgcheckError as error:
            lease.check()
            _failed(runs, run, error, notify)
            raise
        except BaseException as error:
            runs.finish(run, JobState.INTERRUPTED, now(), message=f"interrupted: {type(error).__name__}")
            raise
        result = done.as_result()
        # Before anything is sent: whoever sees a message finds the run.
        if not runs.note(run, run=done.run, message=done.message, result=result):
            raise JobUnderWay(*taken_over(run))
        result["notifications"] = [d.as_row() for d in notify(run, done, "")]
        ended = runs.finish(
            run, JobState.DONE, now(), severity=done.severity.value, message=done.message, result=result
        )
    return ended, done


def _try(runs: JobRuns, run: JobRun, rule: RetryRule, work: Work, lease: Lease) -> JobWork:
    def count(state: RetryCallState) -> None:
        if state.attempt_number > 1:
            runs.note(run, attempt=state.attempt_number)

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


def _failed(runs: JobRuns, run: JobRun, error: KgcheckError, notify: Notify) -> None:
    severity = Severity.UNAVAILABLE if error.exit_code == EXIT_INCOMPLETE else Severity.ERROR
    text = error.in_one_line
    sent = notify(run, JobWork(severity, error.message), text)
    result = {**runs.get(run.number).result, "notifications": [d.as_row() for d in sent]}
    runs.finish(run, JobState.FAILED, now(), severity=severity.value, message=text, result=result)


def open_since(runs: JobRuns, run: JobRun) -> tuple[datetime, dict[str, Any]]:
    """Since when the work of a job stands open: that of the runs before that did not end well, and of this one."""
    since: datetime = run.started
    noted: dict[str, Any] = {}
    for row in runs.history(run.job):
        if row.number > run.number:
            continue
        if row.number < run.number and row.state is JobState.DONE and not row.result.get("unfinished"):
            break
        since, noted = row.started, {**row.result, **noted}
    return since, noted


def old_runs(rule: Retention, history: Sequence[JobRun], moment: datetime) -> set[str]:
    """Audits of a job that its rule does not keep."""
    began: dict[str, datetime] = {}
    for run in history:
        if run.run:
            began.setdefault(run.run, run.started)
    old = set(list(began)[rule.runs :]) if rule.runs is not None else set()
    if rule.age is not None:
        old |= {name for name, at in began.items() if at < moment - duration(rule.age)}
    return old
