"""``kgcheck protocol run``: run what the steps of a protocol say, or one ready analysis."""

from pathlib import Path

import click

from kgcheck.cli.options import ledger_option, profile_option, store_option
from kgcheck.cli.output import note, result
from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, UsageError


@click.command("run")
@click.argument("protocol", type=click.Path(path_type=Path), required=False)
@click.option("--analysis", help="Run this ready analysis instead; `list` shows them.")
@click.option("--genes", multiple=True, help="Names or ids, with commas between; or @FILE, one a line.")
@click.option("--target", default="", help="What a gene set is held against, e.g. a disease, by id or name.")
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter of --analysis.")
@click.option("--step", default="", help="Run this step alone, e.g. S1.2.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of random numbers.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder of the results.")
@store_option()
@profile_option()
@ledger_option()
def command(
    protocol: Path | None,
    analysis: str | None,
    genes: tuple[str, ...],
    target: str,
    parameters: tuple[str, ...],
    step: str,
    seed: int,
    out: Path | None,
    store: str | None,
    profile: str,
    ledger: str | None,
) -> None:
    """Run the steps of PROTOCOL that name a ready analysis, each into a folder of --out, or one --analysis.

    Only edges count that no audit in the ledger refuted. Each folder gets results.json, which kgcheck ground --results
    reads, and its tables. A step that was run before over the same graph is kept.

    Exit codes: 0 all ran; 1 a step did not; 2 usage or configuration; 3 the graph could not be reached.
    """
    from kgcheck.protocols.programs.analyses import ready_analyses, write_result
    from kgcheck.protocols.protocol_file import read_protocol
    from kgcheck.workspace import Workspace
    from kgcheck.workspace.protocol_programs import analyse, run_steps

    if analysis == "list":
        for ready in ready_analyses().values():
            result(f"{ready.name}: {ready.title} ({', '.join(ready.parameters)})")
        return
    if (protocol is None) == (analysis is None):
        raise UsageError("name a protocol or an --analysis, and not both", "kgcheck protocol run --help")
    if out is None:
        raise UsageError("name a folder for the results with --out")
    names = _names(genes)
    with Workspace(store=store, profile=profile, ledger=ledger) as workspace:
        if analysis is not None:
            numbers = dict(_pair(text) for text in parameters)
            found = analyse(workspace, analysis, names, target=target, parameters=numbers, seed=seed)
            write_result(found, out)
            for text in found.notes:
                note(text)
            for name in (*found.unknown, *found.several):
                note(f"{name} is {'unknown' if name in found.unknown else 'the name of several nodes'}: left out")
            result(f"{len(found.genes):,} genes; {found.edges:,} edges; {found.left_out:,} refuted edges left out")
            for title, figure in found.figures.items():
                result(f"{title}: {figure.value:,} {figure.unit}".rstrip())
            for table in found.tables:
                for row in table.rows[:3]:
                    result(f"  {table.name}: {row[1]} ({row[0]}), adjusted p {row[5]:.3g}")
            result(out / "results.json")
            return
        assert protocol is not None  # noqa: S101 checked above
        code = EXIT_CLEAN
        for outcome in run_steps(
            workspace, read_protocol(protocol), out, only=step, genes=names, target=target, seed=seed
        ):
            where = f" {outcome.folder / 'results.json'}" if outcome.folder else f": {outcome.message}"
            result(f"{outcome.step} {outcome.state}{where}")
            code = EXIT_FINDINGS if outcome.state == "failed" else code
    click.get_current_context().exit(code)


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
