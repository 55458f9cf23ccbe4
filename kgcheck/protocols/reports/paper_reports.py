"""Experimental reports of the papers of a file or an index, by rules or with a model."""

from collections.abc import Sequence
from pathlib import Path

from kgcheck.llm.budget import Limits, spent_note, total_meter
from kgcheck.options import Spending
from kgcheck.protocols.protocol import Objective
from kgcheck.protocols.report import ExperimentalReport
from kgcheck.protocols.reports.analysis import analyse_all
from kgcheck.protocols.reports.experimental import experimental_report
from kgcheck.protocols.reports.reading import whole_papers
from kgcheck.settings import read_settings


def report_papers(
    place: Path,
    *,
    papers: Sequence[str] = (),
    objective: Objective | None = None,
    brain: str = "rules",
    spending: Spending | None = None,
) -> tuple[tuple[ExperimentalReport, ...], tuple[str, ...]]:
    """Read what the papers of a file or an index did; with an objective, how referable each section is for it."""
    notes: list[str] = []
    found = whole_papers(place, papers, notes)
    if brain == "rules":
        reports = tuple(experimental_report(f.paper, retracted=f.retracted, url=f.url) for f in found)
    else:
        from kgcheck.llm.client import ChatClient
        from kgcheck.protocols.reports.by_model import report_by_model

        settings = read_settings()
        spent, limits = total_meter(settings), Limits.of(spending or Spending())
        with ChatClient(settings) as client:
            reports = tuple(
                report_by_model(f.paper, client, limits, spent, retracted=f.retracted, url=f.url) for f in found
            )
        dropped = sum(r.dropped for r in reports)
        notes += [
            *spent_note(spent),
            f"{dropped:,} steps of the model were dropped: the papers do not have their words",
        ]
    if objective is not None:
        reports = analyse_all(reports, objective)
    return reports, tuple(notes)
