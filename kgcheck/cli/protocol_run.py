"""``kgcheck protocol run``: run the steps of a protocol in a sandbox, or one ready analysis."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath, options_of, workspace_options
from kgcheck.cli.output import note, result
from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, UsageError
from kgcheck.options import Spending
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.protocols.programs.steps import RunOptions
    from kgcheck.workspace import Workspace

_SHOWN = 3
"""Rows of each table that are shown; the files have all."""


@click.command("run")
@click.argument("protocol", type=FilePath(), required=False)
@click.option("--analysis", help="Run this ready analysis instead; `list` shows them.")
@click.option("--genes", multiple=True, help="Names or ids, with commas between; or @FILE, one a line.")
@click.option("--target", default="", help="What a gene set is held against, e.g. a disease, by id or name.")
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter of --analysis.")
@click.option("--step", default="", help="Run this step alone, e.g. S1.2.")
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
def command(
    workspace: "Workspace",
    spending: Spending,
    protocol: Path | None,
    analysis: str | None,
    genes: tuple[str, ...],
    target: str,
    parameters: tuple[str, ...],
    step: str,
    seed: int,
    programs: Path | None,
    inputs: tuple[str, ...],
    seconds: float,
    memory: int,
    out: Path | None,
) -> None:
    """Run the steps of PROTOCOL, each into a folder of --out: ready analyses and programs; or one --analysis.

    Analyses read the graph without the edges that audits in the ledger refuted. Programs come from --programs or, with
    --brain llm, from a model, and run in a sandbox. Each folder gets results.json, which kgcheck ground --results
    reads, and what was recorded of programs. A step that was run before with the same things is kept.

    Exit codes: 0 all ran; 1 a step did not; 2 usage or configuration; 3 the graph or the model could not be reached.
    """
    from kgcheck.protocols.programs.analyses import ready_analyses

    if analysis == "list":
        for ready in ready_analyses().values():
            result(f"{ready.name}: {ready.title} ({', '.join(ready.parameters)})")
        return
    out = _checked(protocol, analysis, out)
    names = _names(genes)
    if protocol is None:
        numbers = dict(_pair(text) for text in parameters)
        _show_analysis(workspace, analysis or "", names, target, numbers, seed, out)
        return
    from kgcheck.protocols.programs.sandbox import ProgramLimits
    from kgcheck.protocols.programs.steps import RunOptions

    options = RunOptions(
        only=step,
        genes=names,
        target=target,
        seed=seed,
        programs=programs,
        inputs={name: Path(file) for name, file in map(_pair, inputs)},
        limits=ProgramLimits(seconds=seconds, processor_seconds=max(1, int(seconds)), memory_mib=memory),
        spending=spending,
    )
    failed = _run(workspace, protocol, out, options)
    click.get_current_context().exit(EXIT_FINDINGS if failed else EXIT_CLEAN)


def _checked(protocol: Path | None, analysis: str | None, out: Path | None) -> Path:
    if (protocol is None) == (analysis is None):
        raise UsageError("name a protocol or an --analysis, and not both", "kgcheck protocol run --help")
    if out is None:
        raise UsageError("no folder for the results is named", "name one with --out")
    return out


def _run(workspace: "Workspace", protocol: Path, out: Path, options: "RunOptions") -> bool:
    from kgcheck.protocols.programs.steps import program_figures, run_steps
    from kgcheck.protocols.protocol import read_protocol

    states, records = [], []
    for outcome in run_steps(workspace, read_protocol(protocol), out, options):
        where = f" {outcome.folder}" if outcome.folder else ""
        result(f"{outcome.step} {outcome.state}{where}{': ' if outcome.message else ''}{outcome.message}")
        states.append(outcome.state)
        records += [outcome.record] if outcome.record else []
    result(", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)))
    if records:
        figures = program_figures(records)
        levels = ", ".join(f"{count} of level {level}" for level, count in figures.levels.items())
        result(f"{figures.successes} of {figures.tasks} programs succeeded{'; errors: ' if levels else ''}{levels}")
    return "failed" in states


def _show_analysis(
    workspace: "Workspace",
    name: str,
    genes: tuple[str, ...],
    target: str,
    parameters: dict[str, str],
    seed: int,
    out: Path,
) -> None:
    from kgcheck.protocols.programs.analyses import write_result
    from kgcheck.protocols.programs.steps import analyse

    found = analyse(workspace, name, genes, target=target, parameters=parameters, seed=seed)
    write_result(found, out)
    for text in found.notes:
        note(text)
    for gene in (*found.unknown, *found.several):
        note(f"{gene} is {'unknown' if gene in found.unknown else 'the name of several nodes'}: left out")
    left_out = how_many(found.left_out, "refuted edge")
    result(f"{how_many(len(found.genes), 'gene')}; {how_many(found.edges, 'edge')}; {left_out} left out")
    for title, figure in found.figures.items():
        result(f"{title}: {figure.value:,} {figure.unit}".rstrip())
    for table in found.tables:
        for row in table.rows[:_SHOWN]:
            result(f"  {table.name}: {row[1]} ({row[0]}), adjusted p {row[5]:.3g}")
    result(out / "results.json")


def _names(given: tuple[str, ...]) -> tuple[str, ...]:
    from kgcheck.inputs import read_whole

    names: list[str] = []
    for text in given:
        names += read_whole(Path(text[1:])).splitlines() if text.startswith("@") else text.split(",")
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{text!r} sets no parameter", "write NAME=VALUE")
    return name.strip(), value.strip()
