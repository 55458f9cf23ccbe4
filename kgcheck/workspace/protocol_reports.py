"""Experimental reports of the papers of a file or an index, by rules or with a model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kgcheck.workspace.opening import Spending, read_settings, spent_note, total_meter

if TYPE_CHECKING:
    from kgcheck.protocols.protocol import Objective
    from kgcheck.protocols.report import ExperimentalReport


def report_papers(
    place: Path,
    *,
    papers: Sequence[str] = (),
    objective: "Objective | None" = None,
    brain: str = "rules",
    tokens: int | None = None,
    money: float | None = None,
) -> "tuple[tuple[ExperimentalReport, ...], tuple[str, ...]]":
    """What papers did.

    Args:
        place: A file of whole papers, or the folder of an index.
        papers: Ids of those that are wanted; none for all.
        objective: With it, each section gets its referability and a suggestion.
        brain: rules, or llm: a model chooses the steps, which must be words of the paper.
        tokens: Most tokens that the model may take for a paper.
        money: Most money that the model may cost for a paper.

    Returns:
        A report a paper, and notes.

    Raises:
        KgcheckError: The place cannot be read, a paper is not there, or the model failed.
    """
    from kgcheck.protocols.reports.analysis import analyse_all
    from kgcheck.protocols.reports.experimental import experimental_report
    from kgcheck.protocols.reports.reading import whole_papers

    notes: list[str] = []
    found = whole_papers(place, papers, notes)
    if brain == "rules":
        reports = tuple(experimental_report(f.paper, retracted=f.retracted, url=f.url) for f in found)
    else:
        from kgcheck.llm.client import ChatClient
        from kgcheck.protocols.reports.by_model import report_by_model

        settings = read_settings()
        spent, limits = total_meter(settings), Spending(tokens, money).limits()
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
