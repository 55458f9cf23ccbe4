"""Experimental reports as tables for a terminal."""

from rich.console import Group, RenderableType
from rich.table import Table

from kgcheck.protocols.protocol import StepParameter
from kgcheck.protocols.report import ExperimentalReport, ReportStep
from kgcheck.report.cells import cell


def reports_table(reports: tuple[ExperimentalReport, ...]) -> RenderableType:
    """Each paper with its sections and steps."""
    return Group(*(part for report in reports for part in (cell(headline(report), "bold"), _steps(report))))


def headline(report: ExperimentalReport) -> str:
    """A paper in a line, with what there is to warn of."""
    marks = (
        "RETRACTED" if report.retracted else "",
        report.paper,
        report.title,
        f"({report.year})" if report.year else "",
        f"[{', '.join(report.species)}]" if report.species else "",
        f"- {report.note}" if report.note else "",
    )
    return " ".join(filter(None, marks))


def setting(parameter: StepParameter) -> str:
    """A setting for people: `FDR < 0.05`."""
    sign = "" if parameter.comparator == "=" else f"{parameter.comparator} "
    return f"{parameter.name} {sign}{parameter.value}"


def details(step: ReportStep) -> str:
    """List the details that a step names: settings, software, statistics, data sets."""
    kinds = {
        "settings": [setting(p) for p in step.parameters],
        "software": [f"{t.name} {t.version}".strip() for t in step.tools],
        "statistics": step.statistics,
        "data": list(dict.fromkeys(d.id for d in step.data_sets)),
    }
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names)


def _steps(report: ExperimentalReport) -> Table:
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
    return table
