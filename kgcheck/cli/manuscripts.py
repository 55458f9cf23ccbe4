"""``kgcheck ground``, ``brief``, ``score``, ``improve``, ``export``: check and edit manuscripts."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.choices import GROUND_FORMS
from kgcheck.cli.options import (
    FilePath,
    format_options,
    given,
    literature_option,
    manuscript_options,
    options_of,
    out_folder_option,
    table_or_json_option,
    workspace_options,
)
from kgcheck.cli.output import note, result, show, show_or_write, text_result
from kgcheck.grounding.remarks import LIMITED
from kgcheck.options import GroundLimits, TextOptions
from kgcheck.outputs import write_text
from kgcheck.visible import as_json

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


def _limits(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, int]:
    """``NAME=COUNT`` as a dictionary; the names are those of remarks and of states."""
    found: dict[str, int] = {}
    for value in values:
        name, _, count = value.partition("=")
        if name not in LIMITED or not (count.isascii() and count.isdigit()):
            raise click.BadParameter(f"{value!r} is not NAME=COUNT; the names are {', '.join(LIMITED)}")
        found[name] = int(count)
    return found


@click.command("ground")
@manuscript_options(models=False)
@options_of(
    GroundLimits,
    "limits",
    most=click.option(
        "--max",
        "most",
        multiple=True,
        metavar="NAME=COUNT",
        callback=_limits,
        help="At most so many of a remark, or sentences in a state, as number_differs=0; may be repeated.",
    ),
    coverage=click.option(
        "--min-coverage",
        "coverage",
        type=click.FloatRange(0, 1),
        help="Least share of the references that the text cites.",
    ),
)
@format_options(("table", *GROUND_FORMS), folder=True)
def ground(
    workspace: "Workspace", options: TextOptions, limits: GroundLimits, file: Path, format_: str, out: Path | None
) -> None:
    """Tell what each sentence of FILE rests on, and which of its citations and numbers are wrong.

    FILE is Markdown, LaTeX, docx, JATS, PDF or plain text. Sentences are held against the graph of --store, papers,
    their own citations and the canonical results, each as far as it is named; what was not looked at is shown.

    Exit codes: 0 clean, 1 remarks at or over --fail-on or over a limit, 2 usage or configuration, 3 something could not
    be looked at.
    """
    from kgcheck.grounding.rendering import ground_table, rendered

    found, notes = workspace.ground(file, **dict(options))
    note(*notes)
    code = found.exit_code(limits)
    if out and (out.is_dir() or not (out.suffix or given("format_"))):
        for name, form in (("json", "json"), ("html", "html"), ("md", "markdown")):
            write_text(out / f"ground.{name}", rendered(found, form))
    else:
        show_or_write(ground_table(found) if format_ == "table" else rendered(found, format_), out)
    for what, why in found.not_looked.items():
        note(f"{what} were not looked at: {why}" if what.endswith("s") else f"the {what} was not looked at: {why}")
    note(*found.exceeded(limits))
    click.get_current_context().exit(code)


@click.command("brief")
@click.argument("what", nargs=-1, required=True)
@workspace_options("store", "profile", "ledger", progress=False, literature=literature_option(configured=False))
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Most facts of a node.")
@format_options(("markdown", "html", "json"))
def brief(workspace: "Workspace", what: tuple[str, ...], limit: int, format_: str, out: Path | None) -> None:
    """Write what is known of WHAT: a node ("Protein P00441", P00441, SOD1), or a topic that names nodes.

    Verified facts, what papers of --literature state and deny, what is contested, refuted, missing or open: each
    sentence ends in what it rests on.

    Exit codes: 0 written; 2 usage or configuration.
    """
    from kgcheck.report.documents import page

    brief = workspace.brief(" ".join(what), limit=limit)
    note(*brief.notes)
    row = as_json(brief.model_dump(mode="json"), indent=2)
    show_or_write(f"{row}\n" if format_ == "json" else page("brief", format_, brief=brief), out)


@click.command("score")
@manuscript_options("brain")
@click.option("--before", type=FilePath(dir_okay=False), help="JSON of an earlier score: what is unchanged is kept.")
@table_or_json_option()
def score(workspace: "Workspace", options: TextOptions, file: Path, before: Path | None, format_: str) -> None:
    """Score FILE in eight dimensions: a judge (55 %), a corpus (25 %), what can be counted (20 %), less a penalty.

    With --brain rules nobody judges: there is no overall score then and no grade, and it says so. --tokens and --money
    are for the whole manuscript.

    Exit codes: 0 scored; 2 usage or configuration; 3 the model did not answer in form, or its budget is spent.
    """
    from kgcheck.grounding.rendering import score_table

    card, notes = workspace.score(file, before=before, **dict(options))
    note(*notes)
    show(format_, card.model_dump(mode="json"), score_table(card))
    note(*card.missing)


@click.command("improve")
@manuscript_options(brain="llm")
@out_folder_option("Folder of the rounds and the best text; goes on there.")
@click.option(
    "--rounds", type=click.IntRange(1, 1_000), default=12, show_default=True, help="With those that are done."
)
def improve(workspace: "Workspace", options: TextOptions, file: Path, out: Path, rounds: int) -> None:
    """Improve FILE (Markdown): a judge scores it, a worker writes one section again, and a better text is kept.

    Both are models: KGCHECK_LLM_MODEL and so on is the judge, KGCHECK_LLM_WORKER_MODEL and so on the worker, where it
    is another one. FILE is never changed. --tokens and --money are for all rounds together, with those of earlier
    calls; the same command goes on where one was stopped.

    Exit codes: 0 all rounds are done; 2 usage or configuration; 3 the budget is spent, or a model did not answer.
    """
    from kgcheck.grounding.improvement_log import log_table

    log, notes = workspace.improve(file, out, rounds=rounds, **dict(options))
    note(*notes)
    for line in log.start.card.missing if log.start else ():
        note(line)
    text_result(log_table(log.start, log.rounds))
    result(f"best: {log.folder / 'best.md'}")


@click.command("export")
@click.argument("file", type=FilePath(dir_okay=False))
@click.option(
    "--out",
    required=True,
    type=FilePath(dir_okay=False),
    help="Where to write: .tex, .pdf, .docx or .html tells the form.",
)
@click.option(
    "--references", type=FilePath(dir_okay=False), help="BibTeX, CSL JSON or RIS; its keys are cited as [@key]."
)
@click.option("--style", type=FilePath(dir_okay=False), help="A CSL style [default: author and year]")
def export(file: Path, out: Path, references: Path | None, style: Path | None) -> None:
    """Write FILE (Markdown) in another form, with its references set by a citation style.

    A PDF holds the figures that lie in FILE's folder. Raw LaTeX, HTML and Typst are shown as they stand, and not run.

    Exit codes: 0 written, 2 usage or a file that cannot be used.
    """
    from kgcheck.grounding.export import export

    note(*export(file, out, references, style))
    note(f"written to {out}")
