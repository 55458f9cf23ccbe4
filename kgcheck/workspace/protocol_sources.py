"""What papers and data sets a protocol is designed from: files, an index, reports, and what a search found."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kgcheck.errors import InputFormat

if TYPE_CHECKING:
    from kgcheck.literature.search import LiteratureIndex
    from kgcheck.protocols.protocol import Objective, StudyDataSet
    from kgcheck.protocols.report import ExperimentalReport
    from kgcheck.protocols.reports.reading import PaperFound
    from kgcheck.protocols.search.found import StudySearch
    from kgcheck.workspace.workspace import Workspace

MOST_PAPERS = 10
"""Papers of an index that fit an objective best, which are read."""


class StudySources(NamedTuple):
    """Reports of papers, data sets, notes, and the sources that could not be looked at."""

    reports: "tuple[ExperimentalReport, ...]"
    data_sets: "tuple[StudyDataSet, ...]"
    notes: tuple[str, ...]
    unavailable: tuple[str, ...]


def study_sources(
    workspace: "Workspace",
    objective: "Objective",
    *,
    papers: Sequence[Path] = (),
    reports: "Sequence[ExperimentalReport]" = (),
    search: Path | None = None,
) -> StudySources:
    """Gather what a protocol is designed from.

    Args:
        workspace: Its index of papers is searched; where it is live, accessions that papers name are looked up.
        objective: What the protocol is for; it says how referable each section is.
        papers: Files of whole papers.
        reports: What was read of papers before.
        search: Folder of a search for this objective.

    Returns:
        Reports with their referability, data sets, and notes.

    Raises:
        InputFormat: A file has something else, or the search was for another objective.
    """
    from kgcheck.protocols.design.material import named_data_sets
    from kgcheck.protocols.reports.analysis import analyse_all
    from kgcheck.protocols.reports.experimental import experimental_report
    from kgcheck.protocols.reports.reading import PaperFound, whole_papers

    notes: list[str] = []
    unavailable: list[str] = []
    found: list[PaperFound] = [one for file in papers for one in whole_papers(file, (), notes)]
    index = workspace.index(notes) if workspace.literature else None
    if index is not None:
        found += _of_index(index, objective, notes)
    data_sets: dict[str, StudyDataSet] = {}
    if search is not None:
        searched = _read_search(search, objective)
        found += [PaperFound(p.paper, p.paper.retracted, "") for p in searched.kept if p.whole]
        data_sets |= {one.data_set.id: one.data_set for one in searched.usable}
        unavailable += [f"{u.place} could not be looked at: {u.reason}" for u in searched.unsearched]
        notes += searched.notes
    read = {one.paper.id: one for one in reversed(found)}
    made = [experimental_report(one.paper, retracted=one.retracted, url=one.url) for one in reversed(read.values())]
    given = {report.paper for report in made}
    made += [report for report in reports if report.paper not in given]
    judged = analyse_all(made, objective, index.embedder if index else None)
    named = {one.id: one for one in named_data_sets(judged)}
    if workspace.live and (lacking := [i for i in named if i not in data_sets]):
        from kgcheck.protocols.search.look_up import look_up
        from kgcheck.providers.http import Http

        with Http(workspace.settings) as http:
            looked = look_up(lacking, http)
        named |= {one.id: one for one in looked}
        unavailable += [f"{one.id} could not be looked up" for one in looked if one.state == "not_looked"]
    return StudySources(judged, tuple((named | data_sets).values()), tuple(notes), tuple(dict.fromkeys(unavailable)))


def _of_index(index: "LiteratureIndex", objective: "Objective", notes: list[str]) -> "Iterator[PaperFound]":
    """The whole papers of an index that fit an objective best."""
    from kgcheck.protocols.reports.reading import whole_papers

    hits = index.search(objective.text, limit=MOST_PAPERS)
    ids = list(dict.fromkeys(hit.document.paper_id for hit in hits))
    whole = [id_ for id_ in ids if index.store.paper(id_) is not None]
    if len(whole) < len(ids):
        notes.append(
            f"papers of which the index has the abstract alone, so that no method is read: {len(ids) - len(whole)}"
        )
    return whole_papers(index.folder, whole, notes) if whole else iter(())


def _read_search(folder: Path, objective: "Objective") -> "StudySearch":
    from kgcheck.protocols.protocol import read_formatted
    from kgcheck.protocols.search.found import StudySearch
    from kgcheck.protocols.search.run import SEARCH_FILE

    file = folder / SEARCH_FILE
    found = read_formatted(file, StudySearch, "search", "name a folder of kgcheck protocol search")
    if found.objective != objective:
        raise InputFormat(f"{file} was a search for another objective", "search again, into another folder")
    return found
