"""``kgcheck ground``: a manuscript against the graph, papers, its citations and its results."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.choices import GROUND_FORMS
from kgcheck.cli.options import FilePath, format_options, given, manuscript_options, options_of
from kgcheck.cli.output import note, show_or_write
from kgcheck.options import GroundLimits, TextOptions

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


def _limits(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, int]:
    """``NAME=COUNT`` as a dictionary; the names are those of remarks and of states."""
    from kgcheck.grounding.remarks import LIMITED

    found: dict[str, int] = {}
    for value in values:
        name, _, count = value.partition("=")
        if name not in LIMITED or not (count.isascii() and count.isdigit()):
            raise click.BadParameter(f"{value!r} is not NAME=COUNT; the names are {', '.join(LIMITED)}")
        found[name] = int(count)
    return found


@click.command("ground")
@manuscript_options("brain")
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
@click.option("--fix", type=FilePath(dir_okay=False), help="Write what could be repaired to this file, as a diff.")
@format_options(("table", *GROUND_FORMS), folder=True)
def command(
    workspace: "Workspace",
    options: TextOptions,
    limits: GroundLimits,
    file: Path,
    fix: Path | None,
    format_: str,
    out: Path | None,
) -> None:
    """Tell what each sentence of FILE rests on, and which of its citations and numbers are wrong.

    FILE is Markdown, LaTeX, docx, JATS, PDF or plain text. Sentences are held against the graph of --store, papers,
    their own citations and the canonical results, each as far as it is named; what was not looked at is shown. With
    --brain llm a model reads the sentences in which the rules find nothing; what it reads verifies and contradicts
    nothing. --tokens and --money are for the whole manuscript.

    Exit codes: 0 clean, 1 remarks at or over --fail-on or over a limit, 2 usage or configuration, 3 something could not
    be looked at.
    """
    from kgcheck.grounding.rendering import ground_table, rendered, repairs_diff
    from kgcheck.outputs import write_text

    found, notes = workspace.ground(file, **dict(options))
    for line in notes:
        note(line)
    code = found.exit_code(limits)
    if fix:
        diff, left = repairs_diff(found, file)
        write_text(fix, diff)
        note(f"{diff.count(chr(10) + '@@')} places are changed in {fix}; git apply or patch puts them in")
        for line in left:
            note(line)
    if out and (out.is_dir() or not (out.suffix or given("format_"))):
        for name, form in (("json", "json"), ("html", "html"), ("md", "markdown"), ("sarif", "sarif")):
            write_text(out / f"ground.{name}", rendered(found, form, code))
    else:
        show_or_write(ground_table(found) if format_ == "table" else rendered(found, format_, code), out)
    for what, why in found.not_looked.items():
        note(f"{what} were not looked at: {why}" if what.endswith("s") else f"the {what} was not looked at: {why}")
    for line in found.exceeded(limits):
        note(line)
    click.get_current_context().exit(code)
