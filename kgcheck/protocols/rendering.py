"""Render protocols as Markdown and HTML; tables and pages of checks, scores and reports."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kgcheck.outputs import write_text
from kgcheck.plurals import how_many
from kgcheck.protocols.checking.check import CheckedProtocol
from kgcheck.protocols.checking.remarks import CheckRules, StudyRemarked, StudyState
from kgcheck.protocols.protocol import ExperimentalReport, ReportStep, StudyProtocol, StudyStep
from kgcheck.report.documents import page
from kgcheck.report.safe_console import RowTable, cell
from kgcheck.visible import as_json, visible

if TYPE_CHECKING:
    from kgcheck.protocols.checking.quality import StudyQuality


def protocol_page(protocol: StudyProtocol, form: str) -> str:
    """A protocol to read."""
    used = protocol.steps_by_ground()
    return page("protocol", form, own="protocol", protocol=protocol, used=used, details=_details)


def _details(step: StudyStep) -> list[tuple[str, str]]:
    lists = {
        "Takes": [i.name for i in step.inputs],
        "Makes": [i.name for i in step.outputs],
        "Parameters": [f"{p.name}: {p.value}" for p in step.parameters],
        "Tools": [f"{t.name} {t.version or '(no version named)'}" for t in step.tools],
        "Statistics": [*step.statistics],
        "Data sets": [*step.data_sets],
        "Control": [step.control] if step.control else [],
        "Ready analysis": [step.analysis] if step.analysis else [],
        "Why": [step.rationale] if step.rationale else [],
    }
    return [(name, "; ".join(values)) for name, values in lists.items() if values]


def write(protocol: StudyProtocol, folder: Path) -> None:
    """Write a protocol: ``protocol.json``, ``protocol.md`` and ``protocol.html``."""
    write_text(folder / "protocol.json", protocol.model_dump_json(indent=2) + "\n")
    write_text(folder / "protocol.md", protocol_page(protocol, "markdown"))
    write_text(folder / "protocol.html", protocol_page(protocol, "html"))


_MARKS = {StudyState.FALLEN: "red", StudyState.WRONG: "red", StudyState.LACKING: "yellow"}


def rendered_checks(found: Sequence[CheckedProtocol], form: str) -> str:
    """Render the results of protocol checks as text."""
    if form == "json":
        return as_json({"protocols": [checked.as_row() for checked in found]}, indent=2) + "\n"
    words = CheckRules.shipped().remarks
    return page("protocol_check", form, protocols=found, words=words, summary=summary, state_of=_state)


def summary(checked: CheckedProtocol) -> str:
    """Count the steps and remarks of a protocol in one line."""
    counts = ", ".join(f"{checked.counts[state]:,} {state.value}" for state in StudyState if checked.counts[state])
    return f"{checked.name}: {how_many(checked.steps, 'step')}; remarks: {counts or 'none'}"


def checks_table(found: Sequence[CheckedProtocol]) -> RenderableType:
    """Steps that fell and every remark that somebody should look at, of each protocol, for the terminal."""
    return Group(*map(_checked_table, found))


def _checked_table(checked: CheckedProtocol) -> RenderableType:
    rows, lines = [], [summary(checked)]
    for remark in checked.alarms:
        what = f"{CheckRules.shipped().remarks[remark.remark].means}: {remark.note}"
        state = cell(_state(remark), _MARKS.get(remark.state, ""))
        rows.append((remark.step or "protocol", state, what, remark.repair))
    table = RowTable(("step", "state", "what", "to do"), rows, keys=("step", "state"))
    for fell in checked.fallen:
        used = f"; what comes of it is used by {', '.join(fell.downstream)}" if fell.downstream else ""
        lines.append(f"{fell.step} fell: {', '.join(fell.because)}{used}")
    return Group(*(Text(visible(line)) for line in lines), *((table,) if rows else ()))


def quality_table(quality: "StudyQuality") -> RenderableType:
    """The measures of a protocol by judge, and what is counted, for the terminal; what is not there is a dash."""
    judges = (*map(visible, quality.by_judge), "average")
    rows = [
        (name, *(f"{one[name]:.3f}" for one in quality.by_judge.values()), "-" if value is None else f"{value:.3f}")
        for name, value in quality.measures.items()
    ]
    table = RowTable(("measure", *judges), rows, keys=("measure",), numbers=judges)
    counts = quality.counts
    lines = [
        f"overall {'none' if quality.overall is None else f'{quality.overall:.3f}'}",
        f"{how_many(counts.steps, 'step')} of {counts.sentences:.2f} sentences; brevity penalty {counts.brevity:.3f}",
        *(f"{name}: {share:.2f}" for name, share in counts.built.items()),
    ]
    return Group(table, *map(Text, lines))


def _state(remark: StudyRemarked) -> str:
    return "could not look" if remark.unavailable else remark.state.value


def reports_table(reports: Sequence[ExperimentalReport]) -> RenderableType:
    """Each paper with its sections and steps."""
    return Group(*(Group(*_report_parts(report)) for report in reports))


def _report_parts(report: ExperimentalReport) -> Iterator[RenderableType]:
    marks = (
        "RETRACTED" if report.retracted else "",
        report.paper,
        report.title,
        f"({report.year})" if report.year else "",
        f"[{', '.join(report.species)}]" if report.species else "",
        f"- {report.note}" if report.note else "",
    )
    yield cell(" ".join(filter(None, marks)), "bold")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "", "step", "in the paper's words", "names"):
        table.add_column(name, overflow="fold")
    for section in report.sections:
        value = "" if section.referability is None else f"{section.referability}/5"
        table.add_row(value, "", cell(section.heading, "bold"), cell(section.suggestion, "dim"))
        for step, words in zip(section.steps, section.outline, strict=False):
            kind = "dry" if step.dry else ""
            table.add_row(str(step.number), kind, cell(words), cell(step.text), cell(details(step)))
        for text in section.results:
            table.add_row("", "", cell("result"), cell(text, "dim"))
    yield table


def details(step: ReportStep) -> str:
    """The settings, software, statistics and data sets that a step of a report names."""
    kinds = {
        "settings": [f"{p.name} {p.written}" for p in step.parameters],
        "software": [t.written for t in step.tools],
        "statistics": step.statistics,
        "data": list(dict.fromkeys(d.id for d in step.data_sets)),
    }
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names)
