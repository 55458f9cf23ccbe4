"""``kgcheck protocol score``: the five measures of a protocol, by BioResearcher's formulas."""

from pathlib import Path

import click

from kgcheck.cli.options import FilePath, brain_options, profile_option, table_or_json_option
from kgcheck.cli.output import json_result, note


@click.command("score")
@click.argument("file", type=FilePath(dir_okay=False))
@brain_options()
@click.option("--judge", "judges", multiple=True, metavar="MODEL", help="With --brain llm: a judge; may be repeated.")
@profile_option()
@table_or_json_option()
def command(
    file: Path,
    brain: str,
    tokens: int | None,
    money: float | None,
    judges: tuple[str, ...],
    profile: str,
    format_: str,
) -> None:
    """Measure the protocol FILE (protocol.json): completeness, detail, correctness, logic, structure; their sum.

    With --brain rules nobody judges: there are no measures then, only what can be counted, and it says so. Several
    judges are averaged. --tokens and --money are for all of them.

    Exit codes: 0 measured; 2 usage or configuration; 3 a model did not answer in form, or its budget is spent.
    """
    from kgcheck.cli.console import RichProgress, results
    from kgcheck.protocols.checking.rendering import quality_table
    from kgcheck.workspace import Workspace

    with Workspace(profile=profile, brain=brain, progress=RichProgress()) as workspace:
        quality, notes = workspace.score_protocol(file, judges=judges, tokens=tokens, money=money)
    for line in notes:
        note(line)
    if format_ == "json":
        json_result(quality.model_dump(mode="json"))
    else:
        results().print(quality_table(quality))
    for line in quality.missing:
        note(line)
