"""``kgcheck check``: one node, attribute or edge, by the agent team."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.literature import literature_option
from kgcheck.cli.options import (
    brain_options,
    graph_date_option,
    ledger_option,
    offline_option,
    profile_option,
    reference_option,
    store_option,
)
from kgcheck.cli.output import json_result, live_text, say

if TYPE_CHECKING:
    from kgcheck.agents.team import Checked
    from kgcheck.agents.transcript import Event, Transcript
    from kgcheck.model import Finding, Tally


@click.command("check")
@click.argument("what", nargs=-1, required=True)
@store_option()
@reference_option()
@click.option("--live", is_flag=True, help="Ask UniProt and STRING, too; what they say comes before the snapshot.")
@offline_option()
@graph_date_option()
@click.option("--transcript", "show_transcript", is_flag=True, help="Print what each agent did, on stderr.")
@click.option(
    "--turns", type=click.IntRange(min=1), default=30, show_default=True, help="Most turns of all agents together."
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Most seconds that a check may take.",
)
@brain_options()
@click.option(
    "--fail-on",
    type=click.Choice(("refuted", "insufficient", "never")),
    default="refuted",
    show_default=True,
    help="Least outcome that makes the exit code 1.",
)
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
@literature_option()
@ledger_option()
@profile_option()
def command(what: tuple[str, ...], **asked: Any) -> None:
    """Check WHAT: an edge, HEAD RELATION TAIL; existence LABEL ID; attribute LABEL ID NAME, or attribute and an edge.

    Ids or names: "P04637 ACTS_ON Q00987", existence Protein Q00015, attribute Gene TP53 name,
    attribute P04637 ACTS_ON Q00987 score.
    """
    from kgcheck.agents.outside import with_papers
    from kgcheck.agents.request import parse_request
    from kgcheck.agents.team import Budget, CheckStopped, Team
    from kgcheck.agents.toolbox import Toolbox
    from kgcheck.agents.transcript import Transcript
    from kgcheck.audit.naming import NodeNames
    from kgcheck.audit.run import pinned_releases, store_place
    from kgcheck.cli.brains import open_brain
    from kgcheck.cli.console import results
    from kgcheck.cli.environment import live_sources, read_schema, reading_settings
    from kgcheck.cli.literature import open_papers
    from kgcheck.cli.show import exit_code
    from kgcheck.evidence.source import SnapshotSource
    from kgcheck.graph.open import open_store
    from kgcheck.ledger.ledger import Ledger, Run, new_run_id, now
    from kgcheck.loading.manifest import graph_dates
    from kgcheck.report.tables import explain_finding

    settings, schema = reading_settings(offline=asked["offline"]), read_schema(asked["profile"])
    request = parse_request(what, schema)
    reference: Path | None = asked["reference"]
    started, name = now(), new_run_id()
    live_text = _Live() if asked["show_transcript"] else None
    transcript = Transcript(live_text.show if live_text else None)
    kept_at = settings.home / "transcripts" / f"{name}.jsonl"
    with (
        open_store(asked["store"], schema, settings) as opened,
        live_sources(schema, settings, wanted=asked["live"]) as live,
        SnapshotSource(
            reference, schema, settings, live, graph_dates(opened.meta(), schema, asked["graph_date"])
        ) as source,
        Ledger(asked["ledger"] or settings.ledger) as kept,
        open_papers(asked["index"], opened, reference, settings) as reader,
        open_brain(asked["brain"], schema, settings, asked, live_text.hear if live_text else None) as brain,
    ):
        budget = Budget(turns=asked["turns"], seconds=asked["seconds"])
        toolbox = Toolbox(opened, *with_papers(source, schema, live, reader))
        try:
            checked = Team(toolbox, brain, budget).check(request, transcript)
        except CheckStopped as stopped:
            say(f"{stopped.message}: {stopped.hint}")
            checked = stopped.checked
        finally:
            _keep_transcript(transcript, kept_at)
        run = Run(
            id=name,
            started=started,
            store=store_place(opened),
            profile=schema.address,
            reference=str(reference.resolve()) if reference else None,
            releases=pinned_releases(reference, schema),
            options={"check": request.text, "transcript": str(kept_at.resolve())},
        ).with_live(live.releases if live else {})
        for name_of_source, failure in (live.failures | live.refusals if live else {}).items():
            say(f"{name_of_source}: {failure}")
        for warning in run.warnings:
            say(f"warning: {warning}")
        (finding,), tally = NodeNames(opened).beside([_finding(checked, name)]), _tally(checked)
        kept.keep(run, finding, tally)
    if asked["brain"] == "llm":
        say(_told(checked, transcript))
    if asked["format_"] == "json":
        json_result(finding.as_row())
    else:
        results().print(explain_finding(finding))
    click.get_current_context().exit(exit_code([tally], asked["fail_on"]))


def _keep_transcript(transcript: "Transcript", path: Path) -> None:
    from kgcheck.outputs import write_text

    if transcript.events:
        write_text(path, transcript.as_jsonl())


class _Live:
    """Events as they happen on stderr, and what a model says as it says it."""

    def __init__(self) -> None:
        self._mid_line = False

    def hear(self, text: str) -> None:
        """Show a piece of text."""
        if shown := live_text(text):
            self._mid_line = not shown.endswith("\n")

    def show(self, event: "Event") -> None:
        """Show an event, on a line of its own."""
        from kgcheck.report.tables import transcript_line

        if self._mid_line:
            say("")
            self._mid_line = False
        say(transcript_line(event))


def _told(checked: "Checked", transcript: "Transcript") -> str:
    """What a model took, and whether it would have said something else."""
    tokens, costs = sum(e.tokens for e in transcript.events), [e.cost for e in transcript.events if e.cost is not None]
    text = f"{tokens:,} tokens{f', {sum(costs):.4f} in money' if costs else ''}"
    if checked.differs and checked.concluded:
        text += f"; the model concluded {checked.concluded.value}, the evidence says {checked.verdict.outcome.value}"
    return text


def _finding(checked: "Checked", run: str) -> "Finding":
    from kgcheck.model import Finding

    return Finding(
        run=run,
        fingerprint=checked.task.fingerprint,
        task=checked.task,
        verdict=checked.verdict,
        change=checked.change,
    )


def _tally(checked: "Checked") -> "Tally":
    from kgcheck.model import Tally, Target

    return Tally(
        type=checked.task.type,
        target=Target.of(checked.task),
        outcome=checked.verdict.outcome,
        reason=checked.verdict.reason,
        sources=tuple(sorted({e.source for e in checked.verdict.evidence})),
        count=1,
    )
