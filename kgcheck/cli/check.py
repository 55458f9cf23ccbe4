"""``kgcheck check``: one node, attribute or edge, by the agent team."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.literature import literature_option
from kgcheck.cli.options import ledger_option, profile_option, reference_option, store_option

if TYPE_CHECKING:
    from kgcheck.agents.team import Checked
    from kgcheck.agents.transcript import Transcript
    from kgcheck.model import Finding, Tally


@click.command("check")
@click.argument("what", nargs=-1, required=True)
@store_option()
@reference_option()
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
    """Check WHAT: "HEAD RELATION TAIL", existence LABEL ID, or attribute LABEL ID NAME.

    Ids or names: "P04637 ACTS_ON Q00987", existence Protein Q00015, attribute Gene TP53 name.
    """
    import json

    from kgcheck.agents.brains.rules import RulesBrain
    from kgcheck.agents.request import parse_request
    from kgcheck.agents.team import Budget, Team
    from kgcheck.agents.toolbox import Toolbox
    from kgcheck.agents.transcript import Transcript
    from kgcheck.audit.ledger import Ledger, Run, new_run_id, now
    from kgcheck.audit.run import listed_releases, store_place
    from kgcheck.cli.console import results
    from kgcheck.cli.environment import read_schema, read_settings
    from kgcheck.cli.literature import with_papers
    from kgcheck.cli.show import exit_code
    from kgcheck.graph.open import open_store
    from kgcheck.report.tables import explain_finding
    from kgcheck.sources.observe import SnapshotSource

    settings, schema = read_settings(), read_schema(asked["profile"])
    request = parse_request(what, schema)
    reference: Path | None = asked["reference"]
    started, name, transcript = now(), new_run_id(), Transcript()
    kept_at = settings.home / "transcripts" / f"{name}.jsonl"
    with (
        open_store(asked["store"], schema, settings) as opened,
        SnapshotSource(reference, schema, settings) as source,
        Ledger(asked["ledger"] or settings.ledger) as kept,
        with_papers(asked["index"], opened, source, reference, settings) as asking,
    ):
        budget = Budget(turns=asked["turns"], seconds=asked["seconds"])
        try:
            checked = Team(Toolbox(opened, asking), RulesBrain(schema), budget).check(request, transcript)
        finally:
            _keep_transcript(transcript, kept_at, shown=asked["show_transcript"])
        run = Run(
            id=name,
            started=started,
            store=store_place(opened),
            profile=schema.profile.name,
            reference=str(reference.resolve()) if reference else None,
            releases=listed_releases(reference, schema),
            options={"check": request.text, "transcript": str(kept_at.resolve())},
        )
        finding, tally = _finding(checked, name), _tally(checked)
        kept.keep(run, finding, tally)
    if asked["format_"] == "json":
        click.echo(json.dumps(finding.as_row(), indent=2))
    else:
        results().print(explain_finding(finding))
    click.get_current_context().exit(exit_code([tally], asked["fail_on"]))


def _keep_transcript(transcript: "Transcript", path: Path, *, shown: bool) -> None:
    from kgcheck.cli.console import errors
    from kgcheck.cli.show import write
    from kgcheck.report.tables import transcript_lines

    if transcript.events:
        write(path, transcript.as_jsonl())
    if shown:
        for line in transcript_lines(transcript):
            errors().print(line, soft_wrap=True, markup=False)


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
    from kgcheck.model import Tally

    return Tally(
        type=checked.task.type,
        target=str(checked.task),
        outcome=checked.verdict.outcome,
        reason=checked.verdict.reason,
        sources=", ".join(sorted({e.source for e in checked.verdict.evidence})),
        count=1,
    )
