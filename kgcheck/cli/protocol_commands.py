"""``kgcheck protocol``: protocols of dry-lab studies from papers and facts, their mistakes, quality and programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.choices import STUDY_STATES
from kgcheck.cli.options import (
    FilePath,
    format_options,
    literature_option,
    live_option,
    options_of,
    out_folder_option,
    table_or_json_option,
    workspace_options,
)
from kgcheck.cli.output import note, result, show_or_write
from kgcheck.cli.output import show as show_result
from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE, UsageError
from kgcheck.inputs import read_whole
from kgcheck.options import Spending
from kgcheck.plurals import how_many
from kgcheck.protocols.programs.sandbox import ProgramLimits
from kgcheck.protocols.protocol import FILE, read_objective, read_protocol
from kgcheck.visible import as_json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from kgcheck.protocols.search.run import StudySearch
    from kgcheck.workspace import Workspace


@click.command("search")
@click.argument("objective", type=FilePath(dir_okay=False))
@out_folder_option("Folder of the result; goes on there.")
@workspace_options(
    *("store", "reference", "profile", "brain", "offline"),
    literature=literature_option("Index of papers, searched where no service can be looked at.", configured=False),
)
@options_of(Spending, "spending")
@table_or_json_option()
def search(workspace: "Workspace", spending: Spending, objective: Path, out: Path, format_: str) -> None:
    """Search papers and data sets for OBJECTIVE (TOML): five queries with synonyms, ten results each and place.

    Each paper gets a degree of helpfulness from one to five, and four and up are kept, whole where PMC has them under
    an open licence; each data set is usable or not. All with reasons, in search.json. By rules, or by a model with
    --brain llm. What was cut off goes on with the same command: no question is asked twice.

    Exit codes: 0 done; 2 usage or configuration; 3 a place could not be looked at, or the model did not answer.
    """
    from rich.console import Group

    from kgcheck.protocols.search.run import SEARCH_FILE, search_studies

    wanted = read_objective(objective)
    found, notes = search_studies(workspace, wanted, out, spending=spending)
    note(*notes)
    for missed in found.unsearched:
        note(f"{missed.place}, query {missed.query}: could not be looked at: {missed.reason}")
    show_result(format_, found.model_dump(mode="json"), Group(*_search_tables(found)))
    if format_ == "table":
        kept = f"{len(found.kept):,} of {how_many(len(found.papers), 'paper')} kept"
        usable = f"{len(found.usable):,} of {len(found.data_sets):,} data sets usable"
        result(f"{how_many(len(found.queries), 'query', 'queries')}; {kept}, {usable}: {out / SEARCH_FILE}")
    if found.unsearched:
        click.get_current_context().exit(EXIT_INCOMPLETE)


def _search_tables(found: "StudySearch") -> "tuple[RenderableType, RenderableType]":
    from kgcheck.report.safe_console import RowTable

    paper_columns = ("degree", "paper", "year", "whole", "title", "why")
    set_columns = ("data set", "species", "assay", "samples", "title", "why")
    papers, sets = [], []
    for one in found.kept:
        whole, year = "yes" if one.whole else "", str(one.paper.year or "")
        papers.append((str(one.degree), one.paper.id, year, whole, one.paper.title, "; ".join(one.reasons)))
    for found_set in found.usable:
        s, why = found_set.data_set, "; ".join(found_set.reasons)
        sets.append((s.id, ", ".join(s.species), s.assay, str(s.samples or ""), s.title, why))
    return RowTable(paper_columns, papers, keys=paper_columns[:4]), RowTable(set_columns, sets, keys=set_columns[:1])


@click.command("report")
@click.argument("place", metavar="PAPER|INDEX", type=FilePath(exists=True))
@click.option("--paper", "papers", multiple=True, help="Only the paper with this id; may be repeated.")
@click.option(
    "--objective",
    "objective_file",
    type=FilePath(dir_okay=False),
    help="TOML file of an objective: how much of each section it can use, 1 to 5.",
)
@format_options(("table", "json", "markdown"))
def report(place: Path, papers: tuple[str, ...], objective_file: Path | None, format_: str, out: Path | None) -> None:
    """Report what a PAPER did, or the papers of an INDEX: steps, settings, software, statistics and data sets.

    Each step is a sentence of the methods as it stands there; what it names is read by rules.

    Exit codes: 0 written; 2 usage or configuration.
    """
    from kgcheck.protocols.rendering import details, reports_table
    from kgcheck.protocols.reports.papers import report_papers
    from kgcheck.report.documents import page

    objective = read_objective(objective_file) if objective_file else None
    reports, notes = report_papers(place, papers=papers, objective=objective)
    note(*notes)
    if format_ == "json":
        show_or_write(as_json([report.model_dump(mode="json") for report in reports], indent=2) + "\n", out)
    elif format_ == "markdown":
        show_or_write(page("experimental_report", "markdown", reports=reports, details=details), out)
    else:
        show_or_write(reports_table(reports), out)


@click.command("design")
@click.argument("objective", type=FilePath(dir_okay=False))
@out_folder_option("Folder of the protocol and its transcript; goes on there.")
@workspace_options(
    *("store", "reference", "ledger", "profile", "brain"),
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
    from kgcheck.protocols.design.material import read_reports

    wanted, given = read_objective(objective), read_reports(reports)
    made = workspace.design_protocol(wanted, out, papers=papers, reports=given, search=search, **dict(spending))
    note(*made.protocol.notes, *made.notes)
    steps = sum(1 for _ in made.protocol.steps)
    result(f"{how_many(len(made.protocol.sections), 'section')}, {how_many(steps, 'step')}: {out / FILE}")
    if made.unavailable:
        click.get_current_context().exit(EXIT_INCOMPLETE)


@click.command("replay")
@click.argument("folder", type=FilePath(file_okay=False))
def replay(folder: Path) -> None:
    """Design the protocol of FOLDER again: no model, no graph, no paper. Nothing is written.

    Exit codes: 0 the same bytes; 1 another protocol; 2 there is no whole design in FOLDER.
    """
    from kgcheck.protocols.design.designs import design_again

    protocol, same = design_again(folder)
    steps = sum(1 for _ in protocol.steps)
    what = "the same bytes" if same else "another protocol"
    result(f"{how_many(len(protocol.sections), 'section')}, {how_many(steps, 'step')}: {what} as {folder / FILE}")
    click.get_current_context().exit(EXIT_CLEAN if same else EXIT_FINDINGS)


CHECK_FORMS = ("table", "json", "markdown")


@click.command("check")
@click.argument("files", nargs=-1, required=True, type=FilePath(dir_okay=False))
@workspace_options(
    *("store", "reference", "ledger", "profile", "offline"),
    literature=literature_option("Literature index in which papers are looked up.", configured=False),
    live=live_option("Ask Crossref, PubMed and the repositories of data sets, too."),
)
@click.option(
    "--bibliography", type=FilePath(dir_okay=False), help="Made by kgcheck reference build --kind bibliography."
)
@click.option(
    "--fail-on",
    type=click.Choice(STUDY_STATES),
    default="wrong",
    show_default=True,
    help="Least state of a remark that makes the exit code 1.",
)
@format_options(CHECK_FORMS)
def check(
    workspace: "Workspace",
    files: tuple[Path, ...],
    bibliography: Path | None,
    fail_on: str,
    format_: str,
    out: Path | None,
) -> None:
    """See which steps of protocols FILES (protocol.json) fell, and what is wrong or lacking in them.

    Facts are held against the newest audits of --ledger and the graph of --store, papers against retractions, steps
    against each other and against the values of their sources; what was not looked at is shown.

    Exit codes: 0 clean, 1 remarks at or over --fail-on, 2 usage or configuration, 3 something could not be looked at.
    """
    from kgcheck.protocols.rendering import checks_table, rendered_checks

    found, notes = workspace.check_protocols(files, bibliography=bibliography)
    note(*notes)
    codes = {checked.exit_code(fail_on) for checked in found}
    # A remark outweighs what could not be looked at.
    code = 1 if 1 in codes else max(codes)
    show_or_write(checks_table(found) if format_ == "table" else rendered_checks(found, format_), out)
    for what, why in {what: why for checked in found for what, why in checked.not_looked.items()}.items():
        note(f"{what} not looked at: {why}")
    click.get_current_context().exit(code)


@click.command("score")
@click.argument("file", type=FilePath(dir_okay=False))
@workspace_options("brain", "profile")
@options_of(Spending, "spending")
@click.option("--judge", "judges", multiple=True, metavar="MODEL", help="With --brain llm: a judge; may be repeated.")
@table_or_json_option()
def score(workspace: "Workspace", spending: Spending, file: Path, judges: tuple[str, ...], format_: str) -> None:
    """Measure the protocol FILE (protocol.json): completeness, detail, correctness, logic, structure; their sum.

    With --brain rules nobody judges: there are no measures then, only what can be counted, and it says so. Several
    judges are averaged. --tokens and --money are for all of them.

    Exit codes: 0 measured; 2 usage or configuration; 3 a model did not answer in form, or its budget is spent.
    """
    from kgcheck.protocols.rendering import quality_table

    quality, notes = workspace.score_protocol(file, judges=judges, **dict(spending))
    note(*notes)
    show_result(format_, quality.model_dump(mode="json"), quality_table(quality))
    note(*quality.missing)


_MAX_ROWS_SHOWN = 3
"""Rows of each table that are shown; the files have all."""


@click.command("run")
@click.argument("protocol", type=FilePath(), required=False)
@click.option("--analysis", help="Run this ready analysis instead; `list` shows them.")
@click.option("--genes", multiple=True, help="Names or ids, with commas between; or @FILE, one a line.")
@click.option("--target", default="", help="What a gene set is held against, e.g. a disease, by id or name.")
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter of --analysis.")
@click.option("--step", "only", default="", help="Run this step alone, e.g. S1.2.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of random numbers.")
@click.option("--programs", type=FilePath(file_okay=False), help="Folder of programs: S1.2.py, S1.3.R, ...")
@click.option("--input", "inputs", multiple=True, metavar="NAME=FILE", help="An input that no step makes.")
@click.option(
    "--seconds", type=click.FloatRange(min=1, max=86_400), default=600, show_default=True, help="A program's."
)
@click.option("--memory", type=click.IntRange(min=256), default=4096, show_default=True, help="A program's, in MiB.")
@click.option("--out", type=FilePath(file_okay=False), help="Folder of the results.")
@workspace_options("store", "profile", "ledger", "brain", progress=False)
@options_of(Spending, "spending")
def run(
    workspace: "Workspace",
    protocol: Path | None,
    analysis: str | None,
    genes: tuple[str, ...],
    target: str,
    parameters: tuple[str, ...],
    seed: int,
    inputs: tuple[str, ...],
    seconds: float,
    memory: int,
    out: Path | None,
    **how: Any,
) -> None:
    """Run the steps of PROTOCOL, each into a folder of --out: ready analyses and programs; or one --analysis.

    Analyses read the graph without the edges that audits in the ledger refuted. Programs come from --programs or, with
    --brain llm, from a model, and run in a sandbox. Each folder gets results.json, which kgcheck ground --results
    reads, and what was recorded of programs. A step that was run before with the same things is kept.

    Exit codes: 0 all ran; 1 a step did not; 2 usage or configuration; 3 the graph or the model could not be reached.
    """
    from kgcheck.protocols.programs.analyses import ready_analyses, write_result
    from kgcheck.protocols.programs.steps import RunOptions, analyse, program_figures, run_steps

    if analysis == "list":
        for ready in ready_analyses().values():
            result(f"{ready.name}: {ready.title} ({', '.join(ready.parameters)})")
        return
    if (protocol is None) == (analysis is None):
        raise UsageError("name a protocol or an --analysis, and not both", "kgcheck protocol run --help")
    if out is None:
        raise UsageError("no folder for the results is named", "name one with --out")
    given = [read_whole(Path(text[1:])).splitlines() if text.startswith("@") else text.split(",") for text in genes]
    names = tuple(dict.fromkeys(name.strip() for some in given for name in some if name.strip()))
    if protocol is None:
        found = analyse(workspace, analysis or "", names, target=target, parameters=_pairs(parameters), seed=seed)
        write_result(found, out)
        note(*found.notes, *found.dropped)
        left_out = how_many(found.left_out, "refuted edge")
        result(f"{how_many(len(found.genes), 'gene')}; {how_many(found.edges, 'edge')}; {left_out} left out")
        for title, figure in found.figures.items():
            result(f"{title}: {figure.value:,} {figure.unit}".rstrip())
        for table in found.tables:
            for row in table.rows[:_MAX_ROWS_SHOWN]:
                result(f"  {table.name}: {row[1]} ({row[0]}), adjusted p {row[5]:.3g}")
        result(out / "results.json")
        return
    files = {name: Path(file) for name, file in _pairs(inputs).items()}
    limits = ProgramLimits(seconds=seconds, processor_seconds=max(1, int(seconds)), memory_mib=memory)
    options = RunOptions(genes=names, target=target, seed=seed, inputs=files, limits=limits, **how)
    states, records = [], []
    for outcome in run_steps(workspace, read_protocol(protocol), out, options):
        where = f" {outcome.folder}" if outcome.folder else ""
        result(f"{outcome.step} {outcome.state}{where}{': ' if outcome.message else ''}{outcome.message}")
        note(*outcome.notes)
        states.append(outcome.state)
        records += [outcome.record] if outcome.record else []
    result(", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)))
    if records:
        result(program_figures(records))
    click.get_current_context().exit(EXIT_FINDINGS if "failed" in states else EXIT_CLEAN)


def _pairs(given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{text!r} sets no parameter", "write NAME=VALUE")
        found[name.strip()] = value.strip()
    return found
