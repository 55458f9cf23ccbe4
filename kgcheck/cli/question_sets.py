"""``kgcheck bench insights, sign, code, questions, filter, grade, agree, export``: from papers and graphs to grades."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.batches import DEV, bench, write_set
from kgcheck.cli.options import FilePath, options_of, table_or_json_option, workspace_options
from kgcheck.cli.output import note, result, show
from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE, UsageError
from kgcheck.options import CodeOptions, TotalSpending, WorkerOptions
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.bench.insights import SignState
    from kgcheck.llm.client import ChatClient
    from kgcheck.workspace import Workspace

_DOMAIN = click.option(
    "--domain",
    default="biology",
    show_default=True,
    help="Field whose words, examples and prompts are taken: a name, or a folder as ./mine.",
)
_OUT = click.option("--out", type=FilePath(dir_okay=False), required=True, help="JSON lines file to write.")
_DATA = click.option("--data", type=FilePath(file_okay=False), help="Folder with the data [default: that of FILE]")
_STATES = ("validated", "in_part", "adjusted", "rejected", "outside_tools")


@contextmanager
def _model(workspace: "Workspace", notes: list[str]) -> "Iterator[ChatClient | None]":
    """Open the model of a workspace whose brain is one."""
    if workspace.brain != "llm":
        yield None
        return
    from kgcheck.llm.client import ChatClient

    with ChatClient(workspace.settings, notes) as client:
        yield client


@bench.command("insights")
@click.argument("papers", type=FilePath(dir_okay=False), nargs=-1, required=True)
@workspace_options("brain")
@options_of(TotalSpending)
@_DOMAIN
@click.option("--against", type=FilePath(dir_okay=False), help="Findings of experts, a line each, to compare with.")
@_OUT
def bench_insights(
    workspace: "Workspace",
    options: TotalSpending,
    papers: tuple[Path, ...],
    domain: str,
    against: Path | None,
    out: Path,
) -> None:
    """Extract the insights of PAPERS: summary, techniques, and words of the paper that bear it.

    What a paper does not have word for word is thrown away, as is what is generic or has no result.
    """
    from kgcheck.bench.insights import Domain, extract, papers_in, relation_rows
    from kgcheck.bench.question_sets import write_models
    from kgcheck.llm.budget import spent_note, total_meter
    from kgcheck.report.tables import rows_table

    refused: list[str] = []
    spent, notes = total_meter(workspace.settings, options.total), list[str]()
    with _model(workspace, notes) as client:
        made = extract(papers_in(papers, refused), Domain.read(domain), refused, client, spent)
    write_models(out, made)
    note(*refused, *notes, *spent_note(spent))
    if against and (rows := relation_rows(made, against)):
        show("table", rows, rows_table(rows, tuple(rows[0])))
    note(f"{how_many(len(made), 'insight')}: {out}; {len(refused)} refused; kgcheck bench sign is next")


@bench.command("sign")
@click.argument("file", type=FilePath())
@click.argument("insight", required=False)
@click.option("--as", "state", type=click.Choice(_STATES), help="What the person says of it.")
@click.option("--by", help="Who says so.")
@click.option("--reason", default="", help="Why it is rejected, or wants tools from outside.")
@click.option("--part", "parts", multiple=True, help="A part that is validated, where not all is; may be repeated.")
@click.option("--summary", default="", help="The summary as adjusted.")
def bench_sign(file: Path, insight: str | None, state: "SignState | None", by: str | None, **judged: Any) -> None:
    """Sign one INSIGHT of FILE, or without one show those that are not signed as they stand."""
    from kgcheck.bench.insights import Insight, sign
    from kgcheck.bench.question_sets import read_models, write_models

    insights = read_models(file, Insight)
    if insight is None:
        left = [one for one in insights if not one.is_signed]
        for one in left:
            for line in (f"{one.id}  {one.paper}", f"  {one.summary}", f"  grounding: {one.grounding}"):
                result(line)
        note(f"{how_many(len(left), 'insight')} of {len(insights)} to sign")
        return
    if state is None or not by:
        raise UsageError("a signature says what, and by whom", "add --as and --by")
    write_models(file, sign(insights, insight, state, by, **judged))
    note(f"{insight}: {state}")


@bench.command("code")
@click.argument("repository", type=FilePath(file_okay=False))
@click.option("--insights", type=FilePath(dir_okay=False), required=True, help="File of kgcheck bench insights.")
@click.option("--out", type=FilePath(file_okay=False), required=True, help="Folder of descriptions and workflows.")
@options_of(CodeOptions, "code")
@workspace_options("brain")
@options_of(TotalSpending)
@_DOMAIN
@table_or_json_option()
def bench_code(
    workspace: "Workspace",
    options: TotalSpending,
    code: CodeOptions,
    repository: Path,
    insights: Path,
    out: Path,
    domain: str,
    format_: str,
) -> None:
    """Describe the scripts of REPOSITORY, match them to insights, and compose a workflow for each.

    With --run its steps are run, without a network, and each number of the insight is equal, differs, or was not
    produced. A repository without a licence is not run; a workflow by a model only once it lies in --out, to be read.

    Exit codes: 0 nothing differs; 1 a number differs; 2 usage or configuration; 3 a script could not be run.
    """
    from kgcheck.bench.insights import Domain
    from kgcheck.llm.budget import spent_note, total_meter
    from kgcheck.protocols.programs.reproduction import check_code
    from kgcheck.protocols.programs.scripts import CodeModel
    from kgcheck.report.tables import rows_table

    notes: list[str] = []
    spent = total_meter(workspace.settings, options.total)
    with _model(workspace, notes) as client:
        model = CodeModel(Domain.read(domain), client, spent, notes) if client else None
        rows, incomplete = check_code(repository, insights, out, code, model, notes)
    note(*notes, *spent_note(spent))
    if rows:
        show(format_, rows, rows_table(rows, tuple(rows[0])))
    differs = any(row.get("state") == "differs" for row in rows)
    click.get_current_context().exit(EXIT_FINDINGS if differs else EXIT_INCOMPLETE if incomplete else EXIT_CLEAN)


@bench.command("questions")
@click.argument("insights", type=FilePath(), required=False)
@workspace_options("store", "profile", "reference")
@options_of(TotalSpending)
@_DOMAIN
@click.option("--count", type=click.IntRange(min=1), default=200, show_default=True, help="Questions from the graph.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random choice.")
@click.option("--outside-tools", is_flag=True, help="Ask about the insights that were rejected for want of such.")
@click.option("--since", type=int, help="Cut-off: only insights of papers of this year or later.")
@DEV
@_OUT
def bench_questions(
    workspace: "Workspace",
    options: TotalSpending,
    insights: Path | None,
    domain: str,
    count: int,
    seed: int,
    outside_tools: bool,
    since: int | None,
    dev: Path | None,
    out: Path,
) -> None:
    """Make questions: on signed INSIGHTS by a model, or from the graph, where a reference bears the whole answer."""
    from kgcheck.bench.question_runs import graph_questions, insight_questions

    if insights:
        made, notes = insight_questions(
            workspace, insights, domain, options.total, outside_tools=outside_tools, since=since
        )
    else:
        made, notes = graph_questions(workspace, count, seed)
    note(*notes)
    write_set(made, lambda question: question.subjects, out, dev, seed)


@bench.command("grade")
@click.argument("file", type=FilePath())
@click.argument("runs", type=FilePath(file_okay=False), nargs=-1, required=True)
@workspace_options()
@options_of(WorkerOptions)
@_DOMAIN
@click.option("--judge", type=click.Choice(("rules", "llm")), default="rules", show_default=True)
@click.option("--categories", is_flag=True, help="Rows by category, too.")
@click.option("--bands", is_flag=True, help="Compare the first run with each other one, in bands of its score.")
@click.option("--failures", is_flag=True, help="Count the wrong answers of agents by what their transcripts show.")
@table_or_json_option()
def bench_grade(
    workspace: "Workspace",
    options: WorkerOptions,
    file: Path,
    runs: tuple[Path, ...],
    domain: str,
    judge: str,
    categories: bool,
    bands: bool,
    failures: bool,
    format_: str,
) -> None:
    """Grade RUNS of kgcheck batch set over FILE: open answers 1 to 5 by atomic facts, choices by what was chosen."""
    from kgcheck.bench.question_runs import band_rows, failure_rows, grade, score_rows
    from kgcheck.bench.question_sets import read_set
    from kgcheck.report.tables import rows_table

    graded, found = grade(workspace, file, runs, options, judge, domain)
    notes = [*found]
    if failures:
        rows = failure_rows(graded, read_set(file), notes)
    elif bands:
        rows = [row for other in graded[1:] for row in band_rows(graded[0], other)]
    else:
        rows = score_rows(graded, by_category=categories)
    note(*notes)
    if not rows:
        raise UsageError(
            "nothing can be shown of these runs", "name two for --bands, or one of an agent for --failures"
        )
    show(format_, rows, rows_table(rows, tuple(rows[0])))
    if any(len(one.scores) < len(one.results) or any("error" in r for r in one.results.values()) for one in graded):
        note("some answers are missing and count as wrong, or have no score; the same commands go on with them")
        click.get_current_context().exit(EXIT_INCOMPLETE)


@bench.command("filter")
@click.argument("file", type=FilePath())
@workspace_options()
@options_of(WorkerOptions)
@_DOMAIN
@click.option(
    "--closed-book", "runs", multiple=True, type=FilePath(file_okay=False), help="Run of a model without the data."
)
@click.option("--judge", type=click.Choice(("rules", "llm")), default="rules", show_default=True)
@click.option("--largest-mb", type=click.FloatRange(min=0), help="A Lite set: no questions with more data, in MB.")
@_DATA
@_OUT
def bench_filter(
    workspace: "Workspace",
    options: WorkerOptions,
    file: Path,
    domain: str,
    runs: tuple[Path, ...],
    judge: str,
    largest_mb: float | None,
    data: Path | None,
    out: Path,
) -> None:
    """Leave out of FILE what all --closed-book runs knew without the data, and questions that ask the same."""
    from kgcheck.bench.question_runs import filter_set, grade, refuse_given_data
    from kgcheck.bench.question_sets import data_bytes, read_set, write_models

    questions = read_set(file)
    most = None if largest_mb is None else largest_mb * 1_000_000
    large = [q.id for q in questions if most is not None and data_bytes(q, data or file.parent) > most]
    refuse_given_data(runs)
    graded, graded_notes = grade(workspace, file, runs, options, judge, domain) if runs else ([], ())
    notes = [*graded_notes]
    left, removed = filter_set(questions, graded, notes, large)
    if not runs:
        notes.append("closed book: not run; name two runs of kgcheck batch set --by model with --closed-book")
    write_models(out, left)
    note(*removed, *notes, f"{how_many(len(left), 'question')} left, {len(removed)} removed: {out}")


@bench.command("agree")
@click.argument("scores", type=FilePath(dir_okay=False), nargs=-1, required=True)
@table_or_json_option()
def bench_agree(scores: tuple[Path, ...], format_: str) -> None:
    """Compare judges, or people, with the first of SCORES: files of kgcheck bench grade, or of id and score 1 to 5.

    A line of people's has scores instead of score, a list or by person: their mode and median are compared.
    """
    from kgcheck.bench.question_runs import agreement_rows
    from kgcheck.report.tables import rows_table

    rows = agreement_rows(scores)
    if not rows:
        raise UsageError("one judge alone agrees with nobody", "name two files of scores or more")
    show(format_, rows, rows_table(rows, tuple(rows[0])))


@bench.command("export")
@click.argument("file", type=FilePath())
@click.argument("folder", type=FilePath(file_okay=False))
@click.option(
    "--as", "form", type=click.Choice(("heureka", "inspect", "lm-eval")), default="heureka", show_default=True
)
def bench_export(file: Path, folder: Path, form: str) -> None:
    """Write the set FILE to FOLDER as HeurekaBench has it (oeq.json, mcq.json), or as tasks of another harness."""
    from kgcheck.bench.question_sets import read_set, write_heureka, write_tasks

    questions = read_set(file)
    for path in write_heureka(folder, questions) if form == "heureka" else write_tasks(folder, questions, form):
        result(path)


@bench.command("describe")
@click.argument("file", type=FilePath())
@click.argument("folder", type=FilePath(file_okay=False))
@workspace_options("reference")
@click.option("--name", default="", help="Name of the set [default: that of FILE]")
@click.option("--licence", default="", help="Licence of the set, as an address or a name.")
@click.option("--creator", default="", help="Who made it.")
@click.option("--url", default="", help="Where it is published.")
@click.option("--dev", type=FilePath(dir_okay=False), help="The dev part, to look for what is in both.")
@click.option("--insights", type=FilePath(dir_okay=False), help="The insights, with their signatures.")
@click.option("--closed-book", "runs", multiple=True, type=FilePath(file_okay=False), help="Run of a model alone.")
@_DATA
def bench_describe(
    workspace: "Workspace",
    file: Path,
    folder: Path,
    dev: Path | None,
    insights: Path | None,
    runs: tuple[Path, ...],
    data: Path | None,
    **stated: str,
) -> None:
    """Describe the set FILE in FOLDER: its questions, a data sheet (README.md) and Croissant metadata.

    Every statement is counted from the files that are named, or is what an option states; the rest is "not stated".
    """
    from kgcheck.bench.descriptions import write_description

    for path in write_description(workspace, file, folder, stated, dev, insights, runs, data or file.parent):
        result(path)
