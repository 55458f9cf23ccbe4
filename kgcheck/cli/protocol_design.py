"""``kgcheck protocol search``, ``report``, ``design``, ``show`` and ``replay``: protocols from papers and facts."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import (
    PARTS,
    FilePath,
    format_options,
    literature_option,
    live_option,
    options_of,
    table_or_json_option,
    workspace_options,
)
from kgcheck.cli.output import json_result, note, result, show_or_write
from kgcheck.options import Spending
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.protocols.search.run import SearchPlace, StudySearch
    from kgcheck.workspace import Workspace


@click.command("search")
@click.argument("objective", type=FilePath(dir_okay=False))
@click.option("--out", required=True, type=FilePath(file_okay=False), help="Folder of the result; goes on there.")
@click.option(
    "--place",
    "places",
    multiple=True,
    type=click.Choice(("pubmed", "pmc", "europepmc", "geo")),
    help="Where to search; may be given again [default: pubmed, pmc, geo]",
)
@workspace_options(
    "store",
    "reference",
    "profile",
    "brain",
    "offline",
    literature=literature_option("Index of papers, searched where no service can be looked at.", configured=False),
)
@options_of(Spending, "spending")
@table_or_json_option()
def search(
    workspace: "Workspace",
    spending: Spending,
    objective: Path,
    out: Path,
    places: "tuple[SearchPlace, ...]",
    format_: str,
) -> None:
    """Search papers and data sets for OBJECTIVE (TOML): five queries with synonyms, ten results each and place.

    Each paper gets a degree of helpfulness from one to five, and four and up are kept, whole where PMC has them under
    an open licence; each data set is usable or not. All with reasons, in search.json. By rules, or by a model with
    --brain llm. What was cut off goes on with the same command: no question is asked twice.

    Exit codes: 0 done; 2 usage or configuration; 3 a place could not be looked at, or the model did not answer.
    """
    from kgcheck.errors import EXIT_INCOMPLETE
    from kgcheck.protocols.protocol import read_objective
    from kgcheck.protocols.search.run import search_studies

    wanted = read_objective(objective)
    found, notes = search_studies(workspace, wanted, out, places=places, spending=spending)
    note(*notes)
    for missed in found.unsearched:
        note(f"{missed.place}, query {missed.query}: could not be looked at: {missed.reason}")
    if format_ == "json":
        json_result(found.model_dump(mode="json"))
    else:
        _show_search(found, out)
    if found.unsearched:
        click.get_current_context().exit(EXIT_INCOMPLETE)


_PAPERS = ("degree", "paper", "year", "whole", "title", "why")

_SETS = ("data set", "species", "assay", "samples", "title", "why")


def _show_search(found: "StudySearch", out: Path) -> None:
    from kgcheck.cli.console import results
    from kgcheck.protocols.search.run import SEARCH_FILE
    from kgcheck.report.safe_console import RowTable

    papers = [
        (
            *(str(one.degree), one.paper.id, str(one.paper.year or ""), "yes" if one.whole else ""),
            *(one.paper.title, "; ".join(one.reasons)),
        )
        for one in found.kept
    ]
    results().print(RowTable(_PAPERS, papers, keys=_PAPERS[:4]))
    sets = []
    for one in found.usable:
        s = one.data_set
        sets.append((s.id, ", ".join(s.species), s.assay, str(s.samples or ""), s.title, "; ".join(one.reasons)))
    results().print(RowTable(_SETS, sets, keys=_SETS[:1]))
    result(
        f"{how_many(len(found.queries), 'query', 'queries')}; "
        f"{len(found.kept):,} of {how_many(len(found.papers), 'paper')} kept, "
        f"{len(found.usable):,} of {len(found.data_sets):,} data sets usable: {out / SEARCH_FILE}"
    )


@click.command("report")
@click.argument("place", metavar="PAPER|INDEX", type=FilePath(exists=True))
@click.option("--paper", "papers", multiple=True, help="Only the paper with this id; may be repeated.")
@click.option(
    "--objective",
    "objective_file",
    type=FilePath(dir_okay=False),
    help="TOML file of an objective: how much of each section it can use, 1 to 5.",
)
@PARTS["brain"]
@options_of(Spending, "spending")
@format_options(("table", "json", "markdown"))
def report(
    place: Path,
    papers: tuple[str, ...],
    objective_file: Path | None,
    brain: str,
    spending: Spending,
    format_: str,
    out: Path | None,
) -> None:
    """Report what a PAPER did, or the papers of an INDEX: steps, settings, software, statistics and data sets.

    Each step is a sentence of the methods as it stands there; what it names is read by rules. With --brain llm, a model
    chooses the sentences, and those that the paper does not have word for word are dropped.

    Exit codes: 0 written; 2 usage or configuration; 3 the model was stopped by --tokens or --money, or did not answer.
    """
    from kgcheck.protocols.protocol import read_objective
    from kgcheck.protocols.rendering import details, reports_table
    from kgcheck.protocols.reports.papers import report_papers
    from kgcheck.report.documents import page
    from kgcheck.visible import as_json

    objective = read_objective(objective_file) if objective_file else None
    reports, notes = report_papers(place, papers=papers, objective=objective, brain=brain, spending=spending)
    note(*notes)
    match format_:
        case "json":
            show_or_write(as_json([report.model_dump(mode="json") for report in reports], indent=2) + "\n", out)
        case "markdown":
            show_or_write(page("experimental_report", "markdown", reports=reports, details=details), out)
        case _:
            show_or_write(reports_table(reports), out)


@click.command("design")
@click.argument("objective", type=FilePath(dir_okay=False))
@click.option(
    "--out",
    required=True,
    type=FilePath(file_okay=False),
    help="Folder of the protocol and its transcript; goes on there.",
)
@workspace_options(
    "store",
    "reference",
    "ledger",
    "profile",
    "brain",
    literature=literature_option("Literature index: its whole papers that fit best are read.", configured=False),
    live=live_option("Look up the data sets that papers name."),
)
@click.option(
    "--papers", multiple=True, type=FilePath(dir_okay=False), help="A file of whole papers; may be given again."
)
@click.option(
    "--reports",
    multiple=True,
    type=FilePath(dir_okay=False),
    help="Reports of papers, made by kgcheck protocol report --format json; may be given again.",
)
@click.option("--search", type=FilePath(file_okay=False), help="Folder of kgcheck protocol search: what it kept.")
@options_of(Spending, "spending")
def design(
    workspace: "Workspace",
    spending: Spending,
    objective: Path,
    out: Path,
    papers: tuple[Path, ...],
    reports: tuple[Path, ...],
    search: Path | None,
) -> None:
    """Design a protocol for OBJECTIVE (TOML), and write protocol.json, its pages and its transcript.

    Each step names the passages of papers and the verified facts that it rests on. With --brain llm, a model writes and
    reviews; what its passages and facts do not bear out is thrown away. --tokens and --money count with earlier calls;
    the same command goes on where one was stopped.

    Exit codes: 0 designed; 2 usage or configuration; 3 a source was away, the budget is spent, or a model did not
    answer.
    """
    from kgcheck.errors import EXIT_INCOMPLETE
    from kgcheck.protocols.design.material import read_reports
    from kgcheck.protocols.protocol import read_objective

    wanted, given = read_objective(objective), read_reports(reports)
    made = workspace.design_protocol(wanted, out, papers=papers, reports=given, search=search, **dict(spending))
    note(*made.protocol.notes)
    steps = sum(1 for _ in made.protocol.steps)
    result(f"{how_many(len(made.protocol.sections), 'section')}, {how_many(steps, 'step')}: {out / 'protocol.json'}")
    if made.unavailable:
        click.get_current_context().exit(EXIT_INCOMPLETE)


_COLUMNS = ("step", "what to do", "takes", "makes", "rests on", "analysis")


@click.command("show")
@click.argument("file", type=FilePath(dir_okay=False))
@click.option("--step", help="Only this step, e.g. S3.1, with the words and facts that it rests on.")
@table_or_json_option()
def show(file: Path, step: str | None, format_: str) -> None:
    """Show the protocol in FILE (protocol.json): its steps, and what each rests on."""
    from kgcheck.cli.console import results
    from kgcheck.errors import UnknownName
    from kgcheck.protocols.protocol import grounds_rows, read_protocol, step_rows
    from kgcheck.report.tables import rows_table

    protocol = read_protocol(file)
    steps = [own for own in protocol.steps if step in (None, own.id)]
    if not steps:
        raise UnknownName("step", step or "", [own.id for own in protocol.steps])
    if format_ == "json":
        json_result((steps[0] if step else protocol).model_dump_json(indent=2))
        return
    result(protocol.objective.title)
    results().print(rows_table(step_rows(steps), _COLUMNS))
    if step:
        results().print(rows_table(grounds_rows(protocol, steps[0]), ("id", "what it rests on", "where")))
    note(*protocol.notes)


@click.command("replay")
@click.argument("folder", type=FilePath(file_okay=False))
def replay(folder: Path) -> None:
    """Design the protocol of FOLDER again: no model, no graph, no paper. Nothing is written.

    Exit codes: 0 the same bytes; 1 another protocol; 2 there is no whole design in FOLDER.
    """
    from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS
    from kgcheck.protocols.design.designs import FILE, design_again

    protocol, same = design_again(folder)
    steps = sum(1 for _ in protocol.steps)
    what = "the same bytes" if same else "another protocol"
    result(f"{how_many(len(protocol.sections), 'section')}, {how_many(steps, 'step')}: {what} as {folder / FILE}")
    click.get_current_context().exit(EXIT_CLEAN if same else EXIT_FINDINGS)
