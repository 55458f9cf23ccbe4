"""``kgcheck explain``: one finding with all its evidence, or what audits found of an edge."""

from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import table_or_json_option, workspace_options
from kgcheck.cli.output import show

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("explain")
@click.argument("words", nargs=-1, required=True, metavar="FINDING|EDGE")
@workspace_options("store", "profile", "ledger", progress=False)
@table_or_json_option()
def command(workspace: "Workspace", words: tuple[str, ...], format_: str) -> None:
    """Show FINDING: what was checked, the verdict, and all evidence.

    It is a fingerprint, the beginning of one, or what was checked: existence LABEL ID, attribute LABEL ID NAME.

    Or show what the newest audit that looked at EDGE found: "P04637 ACTS_ON Q00987". That ends with 0 where it is
    supported, 1 where it is refuted or cannot be told, and 3 where nobody has looked or could.
    """
    named = " ".join(words)
    is_check = named.split()[:1] in (["existence"], ["attribute"])
    if len(named.split()) > 1 and not is_check:
        click.get_current_context().exit(_explain_edge(workspace, named, format_))
    from kgcheck.curation.forms import decision_line
    from kgcheck.report.tables import explain_finding

    found = workspace.finding(named)
    decided, state = workspace.decided(found), workspace.state_of(found)
    row = decided.model_dump(mode="json")
    shown = found.as_row() | {"state": state, "decision_state": row["state"], "decision": row["decision"]}
    show(format_, shown, explain_finding(found, state or "", decision_line(decided)))


def _explain_edge(workspace: "Workspace", edge: str, format_: str) -> int:
    from kgcheck.report.tables import verified_table

    found = workspace.verified(edge)
    show(format_, found.model_dump(mode="json") if found else None, verified_table(edge, found))
    return {"supported": 0, "unavailable": 3}.get(found.outcome.value if found else "unavailable", 1)
