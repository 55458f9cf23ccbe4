"""``kgcheck brief``: a grounded fact sheet about a node or a topic."""

from pathlib import Path

import click

from kgcheck.cli.options import (
    brain_options,
    format_options,
    ledger_option,
    literature_option,
    profile_option,
    store_option,
)
from kgcheck.cli.output import json_result, note, text_result
from kgcheck.plurals import how_many


@click.command("brief")
@click.argument("what", nargs=-1, required=True)
@store_option()
@profile_option()
@ledger_option()
@literature_option(configured=False)
@brain_options()
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Most facts of a node.")
@format_options(("markdown", "html", "json"))
def command(
    what: tuple[str, ...],
    store: str | None,
    profile: str,
    ledger: str | None,
    index: Path | None,
    brain: str,
    tokens: int | None,
    money: float | None,
    limit: int,
    format_: str,
    output: Path | None,
) -> None:
    """Write what is known of WHAT: a node ("Protein P00441", P00441, SOD1), or a topic that names nodes.

    Verified facts, what papers of --literature state and deny, what is contested, refuted, missing or open: each
    sentence ends in what it rests on. With --brain llm, the same facts as prose, too.

    Exit codes: 0 written; 2 usage or configuration; 3 the model was stopped by --tokens or --money, or did not answer.
    """
    from kgcheck.outputs import write_text
    from kgcheck.report.documents import page
    from kgcheck.workspace import Workspace

    with Workspace(store=store, profile=profile, ledger=ledger, literature=index, brain=brain) as workspace:
        brief = workspace.brief(" ".join(what), limit=limit, tokens=tokens, money=money)
    for text in brief.notes:
        note(text)
    if brief.model:
        kept = how_many(len(brief.prose), "sentence")
        note(f"{kept} of {brief.model}, and {len(brief.dropped):,} that were thrown away")
    if format_ == "json" and output is None:
        json_result(brief.model_dump(mode="json"))
        return
    text = brief.model_dump_json(indent=2) + "\n" if format_ == "json" else page("brief", format_, brief=brief)
    if output is not None:
        write_text(output, text)
    else:
        text_result(text)
