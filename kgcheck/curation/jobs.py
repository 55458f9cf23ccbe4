"""Do a job's work by its rules: retries, outcome in the ledger, notifications, old runs to drop."""

import logging
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import unquote

from jinja2 import Environment, PackageLoader, StrictUndefined
from tenacity import RetryCallState, Retrying, retry_if_exception, retry_if_result, stop_after_attempt, wait_exponential

from kgcheck.cleartext import NAMED, is_cleartext_host
from kgcheck.curation.project import NotificationEntry, Retention, RetryRule, duration
from kgcheck.curation.thresholds import Crossed, Severity
from kgcheck.errors import EXIT_INCOMPLETE, KgcheckError, StoreLocked
from kgcheck.ledger.work import Lease, WorkItem, WorkState, WorkTable
from kgcheck.redact import HIDDEN, redact
from kgcheck.visible import visible

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


class Delivery(NamedTuple):
    """Result of sending a notification."""

    name: str
    sent: bool
    why: str = ""


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
        lease.note(severity=severity.value, result=lease.work.result | {"notifications": [d._asdict() for d in sent]})
        raise
    result = done.as_result()
    # Before anything is sent: whoever sees a message finds the run.
    lease.note(run=done.run, severity=done.severity.value, message=done.message, result=result)
    sent = notify(lease.work, done, "")
    lease.note(result=result | {"notifications": [d._asdict() for d in sent]})
    return done


def _try(lease: Lease, rule: RetryRule, work: Callable[[], JobWork]) -> JobWork:
    first = lease.work.attempt

    def count(state: RetryCallState) -> None:
        if state.attempt_number > 1:
            lease.note(attempt=first + state.attempt_number - 1)

    def is_worth_it(error: BaseException) -> bool:
        if not isinstance(error, KgcheckError):
            return False
        return rule.on == "any" or error.exit_code == EXIT_INCOMPLETE or isinstance(error, StoreLocked)

    wait, longest = (duration(text).total_seconds() for text in (rule.wait, rule.longest))
    retrying = Retrying(
        stop=stop_after_attempt(rule.times + 1),
        wait=wait_exponential(multiplier=wait, max=longest),
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


LONGEST_S = 60.0
"""Seconds that one notification may take."""

_LONGEST_VALUE = 2_000
_MARKS = str.maketrans({"<": "\u2039", "@": "\uff20", "`": "'", "[": "(", "]": ")"})
"""Characters that chats and mail programs take for markup, a link, or a call to everybody."""


def plain(value: object) -> str:
    r"""A value as text that is nothing but text to whoever shows it: names may come from anybody.

    >>> plain("[all](x) `now` \x1b")
    "(all)(x) 'now' \\x1b"
    """
    if value is None:
        return ""
    text = redact(str(value))
    return visible(text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} ...").translate(_MARKS)


def notify(
    entries: Mapping[str, NotificationEntry],
    names: Sequence[str],
    run: WorkItem,
    done: JobWork,
    failure: str = "",
    *,
    cleartext_hosts: str = "",
) -> list[Delivery]:
    """Send the messages of a run that there is reason for."""
    return [
        _send(name, entries[name], run, done, failure, cleartext_hosts)
        for name in dict.fromkeys(names)
        if occasions(done, failure) & set(entries[name].when)
    ]


def occasions(done: JobWork, failure: str) -> set[str]:
    """The reasons that there are to send something."""
    found = {"always"}
    if failure:
        return found | {"failed"} | ({"unavailable"} if done.severity is Severity.UNAVAILABLE else set())
    if done.severity is not Severity.OK:
        found.add(done.severity.value)
    if done.new:
        found.add("new")
    return found


def message_of(run: WorkItem, done: JobWork, failure: str = "") -> tuple[str, str]:
    """The subject and the text of a message."""
    crossed = [str(one) for one in done.crossed if one.severity is not Severity.OK]
    # Every value becomes plain text on its way out.
    language = Environment(  # noqa: S701
        loader=PackageLoader("kgcheck.curation"), finalize=plain, undefined=StrictUndefined
    )
    title = plain(f"kgcheck: {run.job}: {'failed' if failure else done.severity.value}")
    if done.new:
        title += f", {done.new} new"
    return title, language.get_template("message.txt").render(run=run, done=done, failure=failure, thresholds=crossed)


def _send(
    name: str, entry: NotificationEntry, run: WorkItem, done: JobWork, failure: str, cleartext_hosts: str
) -> Delivery:
    address = os.environ.get(entry.address_env, "").strip()
    if not address:
        return Delivery(name, sent=False, why=f"the environment has no {entry.address_env}")
    try:
        import apprise
    except ImportError:
        return Delivery(name, sent=False, why="notifications need the extra 'jobs': pip install 'kgcheck[jobs]'")
    title, text = message_of(run, done, failure)
    kind = {"ok": "success", "warn": "warning", "unavailable": "warning"}.get(done.severity.value, "failure")
    with apprise.LogCapture(level=logging.WARNING, fmt="%(message)s") as log, warnings.catch_warnings():  # type: ignore[no-untyped-call]
        # It imports all of its plug-ins, and some of them what Python is about to drop.
        warnings.simplefilter("ignore", DeprecationWarning)
        sender = apprise.Apprise()
        try:
            if not sender.add(address):
                return Delivery(name, sent=False, why=f"{entry.address_env} is no address that apprise knows")
            if any(_is_in_the_clear(plugin, cleartext_hosts) for plugin in sender):
                why = f"{entry.address_env} would send a secret in the clear: write its scheme with TLS, or {NAMED}"
                return Delivery(name, sent=False, why=why)
            form = apprise.NotifyFormat.TEXT
            sent = bool(sender.notify(text, title, kind, body_format=form, timeout=LONGEST_S))
        except Exception as error:
            return Delivery(name, sent=False, why=_without(f"{type(error).__name__}: {error}", address))
        why = "" if sent else _without(log.getvalue(), address) or "it could not be sent"
    return Delivery(name, sent=sent, why=why)


def _is_in_the_clear(plugin: Any, cleartext_hosts: str) -> bool:
    """Tell whether a plug-in of apprise sends without TLS where it may not; any part of a web address may be secret."""
    is_mail = hasattr(plugin, "smtp_host")
    if plugin.secure or not plugin.protocol or (is_mail and not plugin.password):
        return False
    host = str((plugin.smtp_host if is_mail else plugin.host) or "localhost")
    return not is_cleartext_host(host.strip("[]"), cleartext_hosts)


def _without(text: str, address: str) -> str:
    """Remove all parts of an address from a plug-in's log, in one line: the secret may be anywhere in it."""
    parts = {part for word in (address, unquote(address)) for part in re.split(r"[:/@?&=#,\s]+", word)}
    for part in sorted(parts, key=len, reverse=True):
        if len(part) >= 4:
            text = text.replace(part, HIDDEN)
    return visible(redact(" ".join(text.split())))[:500]
