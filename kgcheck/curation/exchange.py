"""Decisions as a file that is kept in git and exchanged: TOML for people, or JSON lines.

One entry a decision, sorted by finding and time, so that what two people add to different findings merges by itself,
and what they decide about one finding stands side by side.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from kgcheck import clock
from kgcheck.curation.decisions import Action, Decision, Decisions
from kgcheck.errors import InputFormat, UsageError
from kgcheck.inputs import parse_json, read_whole, wrong_parts
from kgcheck.ledger.ledger import Ledger
from kgcheck.model import Value
from kgcheck.outputs import write_text
from kgcheck.visible import HIDDEN, as_json

_ORDER = ("fingerprint", "basis", "action", "chosen", "until", "by", "at", "note", "about", "reason", "proposed", "run")
_DIGITS = r"^[0-9a-f]{16}$"
_MARK = re.compile(r"^(<{7}|={7}|>{7})( |$)", re.MULTILINE)
_HIDDEN = re.compile(f"[{HIDDEN}]")
_MOST_MISTAKES = 10
_HEAD = "# Decisions about findings of kgcheck, one entry each; kgcheck decisions import takes them over.\n"


class ExchangedDecision(Value):
    """A decision as a file has it."""

    fingerprint: str = Field(pattern=_DIGITS)
    basis: str = Field(pattern=_DIGITS)
    action: Action
    chosen: str | None = None
    until: date | None = None
    by: str = Field(min_length=1, max_length=10_000)
    at: datetime
    note: str = Field(default="", max_length=10_000)
    about: str = ""
    reason: str = ""
    proposed: str = ""
    run: str = ""


class Imported(Value):
    """Result of an import."""

    added: tuple[Decision, ...] = ()
    known: int = Field(default=0, description="that the ledger had already")
    overruled: tuple[tuple[Decision, Decision], ...] = Field(
        default=(), description="added, but a newer one of the ledger about the same counts; each with that one"
    )
    overruling: tuple[tuple[Decision, Decision], ...] = Field(
        default=(), description="added, and newer than another one of the ledger about the same; each with that one"
    )
    unknown: tuple[Decision, ...] = Field(default=(), description="about findings that no run of the ledger has")
    quarantine: Path | None = None

    @property
    def lines(self) -> list[str]:
        lines = [f"conflict: {_shown(one)}: not in force, {_shown(other)} is newer" for one, other in self.overruled]
        lines += [f"conflict: {_shown(one)}: in force now, over {_shown(other)}" for one, other in self.overruling]
        lines += [f"no such finding: {_shown(one)}: kept in {self.quarantine}" for one in self.unknown]
        conflicts = len(self.overruled) + len(self.overruling)
        numbers = f"{len(self.added):,} added, {self.known:,} known, {conflicts:,} in conflict"
        return [*lines, f"{numbers}, {len(self.unknown):,} about no finding of this ledger"]


def export_decisions(ledger: Ledger, path: Path) -> int:
    """Write every decision of a ledger to a file, in an order that does not depend on the ledger."""
    _check_name(path)
    found = _sorted(ledger)
    write_text(path, _text(found, path.suffix))
    return len(found)


def decisions_text(ledger: Ledger, form: str) -> str:
    """Return the text that `export_decisions` writes: toml or jsonl."""
    return _text(_sorted(ledger), f".{form}")


def _sorted(ledger: Ledger) -> list[Decision]:
    return sorted(Decisions(ledger).table.all(), key=lambda d: tuple(str(part) for part in (*d.key[:2], d.at, d.key)))


def import_decisions(ledger: Ledger, path: Path, quarantine: Path) -> Imported:
    """Add the decisions of a file to a ledger; what it has already is left as it is."""
    _check_name(path)
    stated = _read(path)
    decisions, there = Decisions(ledger), ledger.known(sorted({d.fingerprint for d in stated}))
    old = list(decisions.table.of(there))
    keys = {one.key for one in old}
    new = list({d.key: d for d in stated if d.key not in keys}.values())
    unknown = [d for d in new if d.fingerprint not in there]
    if unknown:
        _keep(unknown, quarantine)
    # Between two ledgers only time tells which decision is the newer one; within one, it is the one that came last.
    newest: dict[str | tuple[str, str], Decision] = {
        key: one for one in old for key in (one.fingerprint, (one.fingerprint, one.basis))
    }
    later, earlier = list[Decision](), list[Decision]()
    for one in sorted((d for d in new if d.fingerprint in there), key=lambda d: d.at):
        last = newest.get((one.fingerprint, one.basis)) or newest.get(one.fingerprint)
        (earlier if last and last.at > one.at else later).append(one)
    added = decisions.table.add(later, overruled=earlier)
    overruled, overruling = list[tuple[Decision, Decision]](), list[tuple[Decision, Decision]]()
    for one in {(d.fingerprint, d.basis): d for d in added}.values():
        last = newest.get((one.fingerprint, one.basis))
        if last and (last.action, last.chosen, last.until) != (one.action, one.chosen, one.until):
            (overruled if last.at > one.at else overruling).append((one, last))
    return Imported(
        added=tuple(added),
        known=len(stated) - len(new),
        overruled=tuple(overruled),
        overruling=tuple(overruling),
        unknown=tuple(unknown),
        quarantine=quarantine if unknown else None,
    )


def _check_name(path: Path) -> None:
    if path.suffix not in (".toml", ".jsonl"):
        raise UsageError(f"{path} is no name for decisions", "end it in .toml or .jsonl")


def _text(decisions: Iterable[Decision], suffix: str) -> str:
    rows = ({name: value for name in _ORDER if (value := getattr(d, name)) not in (None, "")} for d in decisions)
    if suffix == ".jsonl":
        return "".join(as_json({name: _plain(value) for name, value in row.items()}) + "\n" for row in rows)
    blocks = ("".join(f"{name} = {_toml(value)}\n" for name, value in row.items()) for row in rows)
    return _HEAD + "".join(f"\n[[decision]]\n{block}" for block in blocks)


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _toml(value: Any) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    # A text of JSON is one of TOML; what a reader would not see is spelt out.
    return _HIDDEN.sub(lambda m: f"\\U{ord(m[0]):08x}", json.dumps(str(value), ensure_ascii=False))


def _read(path: Path) -> list[Decision]:
    text = read_whole(path)
    if found := _MARK.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise InputFormat(f"{path} holds a conflict of git in line {line}", "solve it there first: keep both entries")
    mistakes: list[str] = []
    decisions = []
    soon = clock.now() + timedelta(days=1)
    for where, stated in _entries(path, text):
        try:
            entry = ExchangedDecision.model_validate(stated)
        except ValidationError as error:
            mistakes.append(f"{where}: {wrong_parts(error, 1)}")
            continue
        if entry.at.tzinfo is None:
            mistakes.append(f"{where}: at: the time names no zone: end it in Z")
        elif entry.at > soon:
            mistakes.append(f"{where}: at: {entry.at.isoformat()} is not yet")
        elif (entry.action is Action.DEFER) != (entry.until is not None):
            mistakes.append(f"{where}: until: a deferral has a day, and nothing else has")
        else:
            decisions.append(Decision(**dict(entry)))
    if mistakes:
        more = f"; and {len(mistakes) - _MOST_MISTAKES} more" if mistakes[_MOST_MISTAKES:] else ""
        shown = "; ".join(mistakes[:_MOST_MISTAKES])
        raise InputFormat(f"{path} is wrong: {shown}{more}", "nothing was taken over")
    return decisions


def _entries(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    if path.suffix == ".jsonl":
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    yield f"line {number}", parse_json(line)
                except ValueError as error:
                    raise InputFormat(
                        f"{path}, line {number}, is no JSON: {error}",
                        "correct the line, or export it again: kgcheck decisions export",
                    ) from None
        return
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputFormat(
            f"{path} is no TOML: {error}", "correct it, or export it again: kgcheck decisions export"
        ) from None
    stated = tables.pop("decision", [])
    if tables or not isinstance(stated, list):
        raise InputFormat(
            f"{path} is no file of decisions: it is not a list of [[decision]]", "see kgcheck decisions export"
        )
    for number, entry in enumerate(stated, 1):
        yield f"entry {number}", entry


def _keep(unknown: Iterable[Decision], quarantine: Path) -> None:
    """Add decisions to the quarantine file, each once."""
    kept = read_whole(quarantine).splitlines() if quarantine.exists() else []
    lines = _text(unknown, ".jsonl").splitlines()
    write_text(quarantine, "".join(f"{line}\n" for line in dict.fromkeys([*kept, *lines])))


def _shown(one: Decision) -> str:
    chosen = f" {one.chosen!r}" if one.chosen else ""
    return f"{one.fingerprint[:8]} {one.action.value}{chosen} by {one.by} on {one.at:%Y-%m-%d %H:%M}"
