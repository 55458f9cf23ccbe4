"""Messages about runs of jobs: by apprise to mail, chats and webhooks, from a template, where there is reason to."""

import logging
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from kgcheck.cleartext import NAMED, is_cleartext_host
from kgcheck.curation.config import NotificationEntry
from kgcheck.curation.jobs import Delivery, JobWork
from kgcheck.curation.thresholds import Severity
from kgcheck.ledger.work import WorkItem
from kgcheck.redact import HIDDEN, redact
from kgcheck.visible import visible

LONGEST_S = 60.0
"""Seconds that one notification may take."""

_LONGEST_VALUE = 2_000
_SHORTEST_SECRET = 4
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
    folder: Path,
    run: WorkItem,
    done: JobWork,
    failure: str = "",
    *,
    cleartext_hosts: str = "",
) -> list[Delivery]:
    """Send the messages of a run that there is reason for."""
    return [
        _send(name, entries[name], folder, run, done, failure, cleartext_hosts)
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


def message_of(template: Path | None, run: WorkItem, done: JobWork, failure: str = "") -> tuple[str, str]:
    """The subject and the text of a message."""
    values = {
        "job": run.job,
        "severity": done.severity.value,
        "message": done.message,
        "failure": failure,
        "new": done.new,
        "thresholds": [str(one) for one in done.crossed if one.severity is not Severity.OK],
        "examples": done.examples,
        "reports": done.reports,
        "notes": done.notes,
        "number": run.number,
        "attempt": run.attempt,
        "planned": run.planned,
        "started": run.started,
        "worker": run.worker,
        "audit": done.run,
    }
    # Every value becomes plain text on its way out, in templates of users, too.
    language = SandboxedEnvironment(finalize=plain, undefined=StrictUndefined, autoescape=False)
    built_in = (resources.files("kgcheck.curation") / "templates" / "message.txt").read_text(encoding="utf-8")
    title = plain(f"kgcheck: {run.job}: {'failed' if failure else done.severity.value}")
    if done.new:
        title += f", {done.new} new"
    if template is None:
        return title, language.from_string(built_in).render(values)
    try:
        return title, language.from_string(template.read_text(encoding="utf-8")).render(values)
    except (OSError, ValueError, TypeError, ArithmeticError, TemplateError) as error:
        wrong = plain(f"the template {template.name} cannot be used: {error}")
        return title, f"{language.from_string(built_in).render(values)}\n{wrong}\n"


def _send(
    name: str, entry: NotificationEntry, folder: Path, run: WorkItem, done: JobWork, failure: str, cleartext_hosts: str
) -> Delivery:
    address = os.environ.get(entry.address_env, "").strip()
    if not address:
        return Delivery(name, sent=False, why=f"the environment has no {entry.address_env}")
    try:
        import apprise
    except ImportError:
        return Delivery(name, sent=False, why="notifications need the extra 'jobs': pip install 'kgcheck[jobs]'")
    title, text = message_of(folder / entry.template if entry.template else None, run, done, failure)
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
        if len(part) >= _SHORTEST_SECRET:
            text = text.replace(part, HIDDEN)
    return visible(redact(" ".join(text.split())))[:500]
