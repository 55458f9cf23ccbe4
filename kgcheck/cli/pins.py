"""``kgcheck pin``: keep in a file what must or must not be in a graph."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck import clock
from kgcheck.choices import PINS_FILE
from kgcheck.cli.options import Configured, FilePath, table_or_json_option, workspace_options
from kgcheck.cli.output import note, result, show_rows
from kgcheck.errors import InputMissing, UsageError
from kgcheck.ledger.accounts import whoami
from kgcheck.model import CheckType
from kgcheck.pins import COLUMNS, SOURCE, add_pin, make_pin, read_pins
from kgcheck.rules import ALL

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace

_PINS = click.option(
    "--pins",
    cls=Configured,
    field="pins",
    type=FilePath(dir_okay=False),
    default=PINS_FILE,
    show_default=True,
    help="The file of pins.",
)


@click.group("pin")
def pin() -> None:
    """Keep what must or must not be in a graph, for every later audit.

    The file of pins belongs into the repository of whoever builds the graph. An audit that finds it in the working
    directory or beside the graph holds every pin, and needs no ledger for it.
    """


@pin.command("add")
@click.argument("kind", type=click.Choice(("must", "must_not")))
@click.argument("words", nargs=-1, metavar="SUBJECT [PREDICATE OBJECT]")
@click.option("--property", "property_", default="", metavar="NAME", help="With --value: of a value of SUBJECT.")
@click.option("--value", default="", help="The value that must or must not be.")
@click.option("--finding", help="Instead of SUBJECT: what this finding is about, by its fingerprint or its beginning.")
@click.option("--because", default="", help="The record that says so, such as PMID:12345, or a reason.")
@click.option("--by", envvar="KGCHECK_BY", help="Who decides [default: KGCHECK_BY, or the user of the system].")
@_PINS
@workspace_options("ledger", progress=False)
def pin_add(
    workspace: "Workspace",
    kind: str,
    words: tuple[str, ...],
    property_: str,
    value: str,
    finding: str | None,
    because: str,
    by: str | None,
    pins: Path,
) -> None:
    """Pin an edge, a node (SUBJECT alone) or a value of a node: it must be in the graph, or must_not.

    Of a FINDING, the pin is of its edge, of its value, or of its node; what was noted when it was decided, or else the
    record of its evidence, is the reason unless --because gives one.
    """
    fields = dict(zip(("subject", "predicate", "object"), words, strict=False))
    fields |= {"property": property_, "value": value}
    if bool(words) == bool(finding) or len(words) not in (0, 1, 3):
        raise UsageError("name SUBJECT, or SUBJECT PREDICATE OBJECT, or a finding", "kgcheck pin add --help")
    if finding:
        stated = _of_finding(workspace, finding)
        fields, because = stated | {name: text for name, text in fields.items() if text}, because or stated["because"]
    made = {"pin": kind, "because": because, "by": by or whoami(), "date": clock.today().isoformat()}
    added = make_pin(fields | made)
    add_pin(pins, added)
    result(f"{added}: {added.why()}")
    note(f"kept in {pins}: every later audit holds it")


def _of_finding(workspace: "Workspace", name: str) -> dict[str, str]:
    from kgcheck.audit.structure import GRAPH_SOURCE

    found = workspace.finding(name)
    task, decision = found.task, workspace.known_finding(found.fingerprint).decided.decision
    if task.subject.id == ALL or (task.attribute and task.object):
        raise UsageError(
            f"finding {found.fingerprint} is of many, or of a property of an edge",
            "name SUBJECT, or audit with --unfold",
        )
    # The graph is no record of what it should be.
    outside = (one for one in found.verdict.evidence if one.source not in (GRAPH_SOURCE, SOURCE))
    records = [f"{one.source} {one.release} {one.record}" for one in outside][:1]
    fields = {"subject": task.subject.id, "because": (decision.note if decision else "") or " ".join(records)}
    if task.relation and task.object:
        return fields | {"predicate": task.relation, "object": task.object.id}
    # What a structure rule says of a property is no value of it.
    is_value = task.type is CheckType.ATTRIBUTE and task.attribute and task.value
    return fields | ({"property": str(task.attribute), "value": str(task.value)} if is_value else {})


@pin.command("list")
@_PINS
@table_or_json_option()
def pin_list(pins: Path, format_: str) -> None:
    """List the pins of a file, which is looked at as a whole."""
    if not pins.exists():
        raise InputMissing(f"there is no file {pins}", "kgcheck pin add makes it; --pins names another")
    rows = [one.model_dump() for one in read_pins(pins)]
    show_rows(format_, rows, COLUMNS)
