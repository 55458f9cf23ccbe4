"""Write findings with states and decisions as a table, JSON, JSON Lines or CSV."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from kgcheck.curation.compare import ComparedFinding
from kgcheck.errors import InputError
from kgcheck.ledger.decisions import Decision
from kgcheck.outputs import replacing, write_hint
from kgcheck.report.safe_console import RowTable, as_text
from kgcheck.report.sheets import COLUMNS, csv_lines, finding_cells
from kgcheck.report.tables import followed_words, proposal, what_of
from kgcheck.visible import as_json

_CURATED = (
    "state",
    "why",
    "decision_state",
    "decision",
    "chosen",
    "decided_by",
    "decided_at",
    "until",
    "decision_note",
)

Head = Callable[[], dict[str, Any]]


def findings_table(findings: Iterable[ComparedFinding]) -> RenderableType:
    """One row a finding: what became of it, what was decided, what it is, and what is proposed."""
    rows = []
    for one in findings:
        finding, decision = one.finding, one.decided.decision
        outcome, reason = finding.mark.value, finding.verdict.reason.value
        what = f"{finding.task.type.value} {what_of(finding)}{followed_words(one.consequences)}"
        proposed = proposal(finding.change)
        if decision:
            proposed = f"chosen: {decision.chosen}" if decision.chosen else proposed
        shown = (one.fingerprint[:8], str(one.state or ""), one.decided.state.value, outcome, reason, what, proposed)
        because = "; ".join(filter(None, (one.why, one.decided.words)))
        rows.append((*shown, because))
    columns = ("finding", "state", "decision", "outcome", "reason", "what", "proposal", "why")
    return RowTable(columns, rows, keys=columns[:5])


def history_table(decisions: Iterable[Decision]) -> RenderableType:
    """Decisions, one row each."""
    rows = []
    for one in decisions:
        was = ", ".join(filter(None, (one.about, one.reason, one.proposed)))
        when = f"{one.at:%Y-%m-%d %H:%M:%S}"
        chosen, until = one.chosen or "", str(one.until or "")
        rows.append((when, one.by, one.action.value, chosen, until, one.fingerprint[:8], was, one.note))
    columns = ("when", "by", "decided", "chosen", "until", "finding", "as it was", "note")
    return RowTable(columns, rows, keys=("when", "by", "decided", "until", "finding"))


def text_of(findings: Iterable[ComparedFinding], format_: str, head: Head = dict) -> Iterator[str]:
    """Findings as text, in pieces."""
    match format_:
        case "json":
            rows = [one.as_row() for one in findings]
            yield as_json({**head(), "findings": rows}, indent=2) + "\n"
        case "jsonl":
            for one in findings:
                yield f"{as_json(one.as_row())}\n"
        case "csv":
            cells = ((*finding_cells(one.finding), *_curated(one)) for one in findings)
            yield from csv_lines(chain([(*COLUMNS, *_CURATED)], cells))
        case _:
            yield as_text(findings_table(findings))


def write(findings: Iterable[ComparedFinding], format_: str, path: Path, head: Head = dict) -> None:
    """Write findings to a file, whole or not at all."""
    is_stream = path.exists() and not path.is_file() and not path.is_dir()
    try:
        with nullcontext(path) if is_stream else replacing(path) as place, place.open("w", encoding="utf-8") as file:
            file.writelines(text_of(findings, format_, head))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}", write_hint(error)) from error


def _curated(one: ComparedFinding) -> tuple[str, ...]:
    decision = one.decided.decision
    texts = (str(one.state or ""), one.why, one.decided.state.value)
    if not decision:
        return *texts, *[""] * (len(_CURATED) - len(texts))
    until = str(decision.until or "")
    done = (decision.action.value, decision.chosen or "", decision.by, decision.at.isoformat(), until, decision.note)
    return *texts, *done
