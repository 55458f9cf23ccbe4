"""``kgcheck audit`` and ``rules``: audits of graphs, and the rules of structure that they apply."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.choices import DEFAULT_STORE, DRAFT, THRESHOLDS
from kgcheck.cli.options import (
    columns_option,
    fail_on_option,
    format_options,
    given,
    live_option,
    open_workspace,
    options_of,
    part_options,
    shown_limit_option,
    table_or_json_option,
)
from kgcheck.cli.output import note, show, show_rows
from kgcheck.curation.project_file import audit_thresholds
from kgcheck.curation.thresholds import Crossed, Severity, judge
from kgcheck.errors import EXIT_FINDINGS, NAME_THERE, InputMissing, UnknownName, UsageError
from kgcheck.options import AuditScope
from kgcheck.pins import SOURCE as PINS
from kgcheck.pins import read_pins
from kgcheck.plurals import how_many
from kgcheck.profile.folder import profile_dir
from kgcheck.rules import Rule, structure_rules

if TYPE_CHECKING:
    from kgcheck.ledger.ledger import Run
    from kgcheck.workspace import Workspace
    from kgcheck.workspace.results import AuditResult


TYPES = ("existence", "attribute", "triple", "potential", "structure", "evidence")

_SHOWN_PINS = 20
_LATEST = "(latest)"
_OF_THE_RUN = (*AuditScope.model_fields, "live", "brain", "literature", "pins", "changed_since")
"""Options that a run keeps, and that cannot change when it goes on."""


@click.command("audit")
@click.argument("files", nargs=-1, metavar="[FILES]...")
@click.option(
    "--release-of",
    metavar="NAME",
    default="",
    help="FILES are a release of the graph NAME: they are compared with the release before, and --fail-on new fails "
    "where it became worse.",
)
@columns_option()
@part_options(
    *("store", "reference", "offline", "literature", "pins", "ledger", "profile", "brain"),
    live=live_option("Spot checks: ask UniProt and STRING, too, of at most 20,000 checks; no snapshot is needed."),
)
@options_of(
    AuditScope,
    "scope",
    types=click.option(
        "--type", "types", multiple=True, type=click.Choice((*TYPES, "all")), default=("all",), show_default=True
    ),
)
@shown_limit_option()
@fail_on_option(THRESHOLDS, configured=True)
@click.option(
    "--changed-since",
    metavar="RUN|SNAPSHOT",
    help="Read a graph on a server from what that finished audit kept of it, or the newest that looked into that "
    "snapshot, unless the graph has changed; everything is judged again.",
)
@click.option(
    "--resume",
    is_flag=False,
    flag_value=_LATEST,
    default=None,
    metavar="[RUN]",
    help="Go on with a run that was cut off, on its own store and references; the latest such run, unless named.",
)
@format_options()
def audit(
    files: tuple[str, ...],
    release_of: str,
    columns: dict[str, str],
    parts: dict[str, Any],
    scope: AuditScope,
    changed_since: str | None,
    resume: str | None,
    fail_on: str,
    **form: Any,
) -> None:
    """Check the nodes, attributes and edges of a graph, and keep every finding with its evidence in the ledger.

    FILES are a graph in its owner's form, recognised by content (KGX, neo4j-admin, RDF, OBO, any edge table, ...) and
    only read, or the address of a server; --store names one that was loaded.

    What was rejected, or deferred to a later day, does not count (kgcheck decide).

    Exit codes: 0 clean, 1 findings at or over --fail-on or over a threshold of kgcheck.toml, 2 usage or configuration,
    3 nothing found, but a source was unavailable.
    """
    from kgcheck.cli.show import show_run

    if (release_of or columns) and not files:
        option = "--release-of" if release_of else "--column"
        raise UsageError(f"{option} is about FILES, and none are named", "name the files, too")
    if files:
        if parts["store"] and given("store"):
            raise UsageError("FILES are the graph, and --store names another one", "leave one of them out")
        parts["store"] = _store_of_files(files, release_of, columns)
        # A profile of that name is one that somebody named, and no default.
        parts["profile"] = str(profile_dir(parts["profile"])) if given("profile") else DRAFT
    begun: Run | None = None
    if resume:
        changed = [o for o in click.get_current_context().command.params if o.name in _OF_THE_RUN and given(o.name)]
        if changed:
            listed = ", ".join(o.opts[0] for o in changed)
            raise UsageError(f"a run goes on as it began: {listed} cannot be given with --resume", "leave it out")
        with open_workspace({"ledger": parts["ledger"]}) as workspace:
            begun = workspace.cut_off(None if resume == _LATEST else resume)
        if not (parts["store"] and given("store")):
            parts["store"] = _store_of(begun, parts["store"])
        if not given("reference"):
            parts["reference"] = begun.reference
        if not given("profile"):
            parts["profile"] = begun.profile
        parts["brain"] = begun.options.get("brain", "rules")
    with open_workspace(parts) as workspace:
        # A wrong pin is refused before a large graph is read.
        pins = read_pins(workspace.pins) if workspace.pins else ()
        note(*workspace.recognised())
        audit = workspace.resume(begun) if begun else workspace.audit(scope, changed_since=changed_since)
        note(*audit.notes)
        if workspace.pins:
            note(*_pin_lines(workspace, audit.run, len(pins)))
        crossed = _crossed(workspace, audit)
        is_over = any(one.severity is Severity.ERROR for one in crossed)
        code = EXIT_FINDINGS if is_over else audit.exit_code(fail_on)
        form |= {"fail_on": fail_on, "exit_code": code, "crossed": crossed}
        show_run(workspace, audit.run, audit.tallies, **form)
        if files:
            note("next: kgcheck explain FINDING; kgcheck report --out report.html; docs/forms.md")
    click.get_current_context().exit(code)


def _crossed(workspace: "Workspace", audit: "AuditResult") -> "list[Crossed]":
    """Measure an audit with the thresholds of kgcheck.toml; what crosses one is noted."""
    from kgcheck.curation.facets import counted_of, new_findings, settled

    if not (thresholds := audit_thresholds()):
        return []
    with workspace.reading() as ledger:
        new, done = new_findings(ledger, audit.run, 0).counted, settled(ledger, audit.run)
    crossed = judge(thresholds, counted_of(audit.tallies), new, done)
    note(*(f"{one} (kgcheck.toml)" for one in crossed if one.severity is not Severity.OK))
    return crossed


def _pin_lines(workspace: "Workspace", run: "Run", count: int) -> list[str]:
    """Lines on the pins of a run, first of all on those that the graph does not keep."""
    reasons = [rule.name for rule in structure_rules().values() if rule.source == PINS]
    if "structure" not in run.options["types"]:
        return [f"{workspace.pins}: not looked at: pins are held with --type structure"]
    found = [one.finding for one in workspace.list_findings(run.id, reasons=reasons).page()]
    kept = f"{len(found):,} not kept" if found else "all kept"
    if any(run.options.get(name) for name in ("labels", "relations", "ids", "without_rules")):
        kept += ", as far as they were looked at"
    shown = [f"{f.task}: {f.task.value}" for f in found[:_SHOWN_PINS]]
    return [f"{workspace.pins}: {how_many(count, 'pin')}, {kept}", *shown]


def _store_of_files(files: Sequence[str], release_of: str, columns: dict[str, str]) -> str:
    """Name the store that files are, or a server; an address may hold a password, and is not shown."""
    from kgcheck.forms.store import files_name
    from kgcheck.graph.open import is_address

    addresses = [name for name in files if is_address(name)]
    if addresses and len(files) > 1:
        raise UsageError("the address of a server is a graph of its own", "audit it apart from other FILES")
    if addresses and (release_of or columns):
        raise UsageError("--release-of and --column are for files, and this is a server", "leave them out")
    if missing := [name for name in files if not addresses and not Path(name).exists()]:
        raise InputMissing(f"there is no file {missing[0]}", NAME_THERE)
    return addresses[0] if addresses else files_name(map(os.path.abspath, files), release_of, columns)


def _store_of(run: "Run", named: str | None) -> str:
    """The store of a run that goes on, where the command line names none.

    A file is opened as the ledger names it. A server gets the password of the environment, so that the person must have
    named it: a ledger may come from anybody.
    """
    from kgcheck.graph.open import is_address

    if is_address(run.store) and run.store != named:
        raise UsageError(
            f"run {run.id} is of the server {run.store}, and only the ledger says so: it would get your password",
            f"if that is your server, name it: --store {run.store}",
        )
    if run.store != (named or DEFAULT_STORE):
        note(f"going on with the store {run.store}, where the run began")
    return run.store


@click.group("rules", invoke_without_command=True)
@table_or_json_option()
@click.pass_context
def rules(context: click.Context, format_: str) -> None:
    """List the structure rules: faults that a graph shows by itself.

    A rule or a group of them is left out with audit --without-rule NAME, or without_rules = ["NAME"] of a job.
    """
    if context.invoked_subcommand:
        return
    rows = [_row(rule) for rule in structure_rules().values()]
    listed = [
        row | {"rule": rule.name, "outcome": rule.outcome_words, "in words (groups)": f"{rule.words} ({_groups(row)})"}
        for rule, row in zip(structure_rules().values(), rows, strict=True)
    ]
    show_rows(format_, rows, ("rule", "outcome", "in words (groups)"), listed)


@rules.command("show")
@click.argument("name")
@table_or_json_option()
def rules_show(name: str, format_: str) -> None:
    """Explain the rule NAME: what breaks it, with an example, and how that is repaired."""
    from kgcheck.report.safe_console import facts_table

    rules = structure_rules()
    if name not in rules:
        raise UnknownName("rule", name, list(rules))
    row = _row(rules[name])
    facts = {
        "rule": f"{name}: {row['words']}",
        "breaks it": row["meaning"],
        "wrong": row["bad"],
        "right": row["good"],
        "outcome": rules[name].outcome_words,
        "repair": row["repair"] or "none is proposed",
        "groups": _groups(row),
    }
    show(format_, row, facts_table(facts.items()))


def _groups(row: dict[str, Any]) -> str:
    return ", ".join(row["groups"])


def _row(rule: "Rule") -> dict[str, Any]:
    names = ("name", "words", "meaning", "groups", "bad", "good", "is_folded", "outcome", "source", "is_remark")
    row = {name: getattr(rule, name) for name in names}
    return row | {"source": rule.source or None, "repair": rule.repair.value if rule.is_fault else None}
