"""Write a run, a list of findings or decisions to stdout or a file, in the format that was asked for."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from kgcheck.cli.console import results
from kgcheck.cli.output import note, text_result
from kgcheck.curation.compare import ComparedFinding
from kgcheck.curation.findings import NOT_REJECTED
from kgcheck.errors import InputError
from kgcheck.ledger.decisions import Decision
from kgcheck.ledger.ledger import Run
from kgcheck.model import Tally
from kgcheck.outputs import replacing, write_hint
from kgcheck.report.render import COLUMNS, csv_lines, finding_cells
from kgcheck.report.safe_console import RowTable, as_text
from kgcheck.report.tables import findings_table, followed_words, proposal, summary_lines, what_of, wrong_lines
from kgcheck.visible import as_json
from kgcheck.workspace import Workspace

TABLE_LIMIT = 50
"""Findings that a terminal shows unless more are asked for."""


def most_shown(limit: int | None, format_: str) -> int | None:
    """Findings to show: as many as are asked for, else the first of a table, and all in other forms."""
    return TABLE_LIMIT if limit is None and format_ == "table" else limit


def show_run(
    workspace: Workspace,
    run: Run,
    tallies: Sequence[Tally],
    *,
    format_: str = "table",
    out: Path | None = None,
    limit: int | None = None,
    **fails: Any,
) -> None:
    """Write a run to stdout or a file; what fails is as `Workspace.report` has it."""
    listed = None if run.is_check else workspace.facets(workspace.list_findings(run))
    if out is not None:
        workspace.report(run, format_, output=out, limit=limit, **fails)
    elif format_ == "table":
        most = TABLE_LIMIT if limit is None else limit
        if run.is_check:
            shown, follow = list(workspace.findings(run, limit=most + 1)), dict[str, int]()
        else:
            compared = list(workspace.list_findings(run, decisions=NOT_REJECTED).page(limit=most + 1))
            shown = [one.finding for one in compared]
            follow = {one.fingerprint: one.consequences for one in compared}
        results().print(findings_table(shown[:most], follow))
        if limit is None and len(shown) > most:
            note(f"these are the first {most} findings; all: kgcheck report {run.id} --out findings.csv")
            note(*wrong_lines(run, listed.wrong if listed else Counter()))
    else:
        text_result(workspace.report(run, format_, limit=limit, **fails))
    note(*summary_lines(run, tallies, (listed.total, listed.followed) if listed else None))


Head = Callable[[], dict[str, Any]]


def show_listed(
    findings: Iterable[ComparedFinding], format_: str, out: Path | None = None, *, head: Head = dict
) -> None:
    """Write findings with what became of them and what was decided to stdout, or to a file: whole or not at all."""
    if out is None and format_ == "table":
        results().print(compared_table(findings))
    elif out is None:
        for text in text_of(findings, format_, head):
            text_result(text)
    else:
        is_stream = out.exists() and not out.is_file() and not out.is_dir()
        try:
            with nullcontext(out) if is_stream else replacing(out) as place, place.open("w", encoding="utf-8") as file:
                file.writelines(text_of(findings, format_, head))
        except OSError as error:
            raise InputError(f"cannot write {out}: {error.strerror or error}", write_hint(error)) from error


_CURATED = "state why decision_state decision chosen decided_by decided_at until decision_note".split()


def compared_table(findings: Iterable[ComparedFinding]) -> RenderableType:
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
            yield as_text(compared_table(findings))


def _curated(one: ComparedFinding) -> tuple[str, ...]:
    decision = one.decided.decision
    texts = (str(one.state or ""), one.why, one.decided.state.value)
    if not decision:
        return *texts, *[""] * (len(_CURATED) - len(texts))
    until = str(decision.until or "")
    done = (decision.action.value, decision.chosen or "", decision.by, decision.at.isoformat(), until, decision.note)
    return *texts, *done
