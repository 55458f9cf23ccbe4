"""``kgcheck brief``: a grounded fact sheet about a node or a topic."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import format_options, literature_option, options_of, workspace_options
from kgcheck.cli.output import note, show_or_write
from kgcheck.options import Spending
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("brief")
@click.argument("what", nargs=-1, required=True)
@workspace_options(
    "store", "profile", "ledger", "brain", progress=False, literature=literature_option(configured=False)
)
@options_of(Spending, "spending")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Most facts of a node.")
@format_options(("markdown", "html", "json"))
def command(
    workspace: "Workspace",
    spending: Spending,
    what: tuple[str, ...],
    limit: int,
    format_: str,
    out: Path | None,
) -> None:
    """Write what is known of WHAT: a node ("Protein P00441", P00441, SOD1), or a topic that names nodes.

    Verified facts, what papers of --literature state and deny, what is contested, refuted, missing or open: each
    sentence ends in what it rests on. With --brain llm, the same facts as prose, too.

    Exit codes: 0 written; 2 usage or configuration; 3 the model was stopped by --tokens or --money, or did not answer.
    """
    from kgcheck.report.documents import page
    from kgcheck.visible import as_json

    brief = workspace.brief(" ".join(what), limit=limit, **dict(spending))
    for text in brief.notes:
        note(text)
    if brief.model:
        kept = how_many(len(brief.prose), "sentence")
        note(f"{kept} of {brief.model}, and {len(brief.dropped):,} that were thrown away")
    row = as_json(brief.model_dump(mode="json"), indent=2)
    show_or_write(f"{row}\n" if format_ == "json" else page("brief", format_, brief=brief), out)
