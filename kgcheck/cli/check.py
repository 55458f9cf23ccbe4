"""``kgcheck check``: one node, attribute or edge, by the agent team."""

from pathlib import Path

import click

from kgcheck.cli.options import ledger_option, profile_option, reference_option, store_option


@click.command("check")
@click.argument("what", nargs=-1, required=True)
@store_option()
@reference_option()
@click.option("--transcript", "show_transcript", is_flag=True, help="Print what each agent did, on stderr.")
@click.option("--turns", type=click.IntRange(min=1), default=30, show_default=True, help="Most turns of all agents together.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), default=60.0, show_default=True)
@click.option("--fail-on", type=click.Choice(("refuted", "insufficient", "never")), default="refuted", show_default=True)
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
@ledger_option()
@profile_option()
@click.pass_context
def command(
    ctx: click.Context,
    what: tuple[str, ...],
    store: str,
    reference: Path | None,
    show_transcript: bool,
    turns: int,
    seconds: float,
    fail_on: str,
    format_: str,
    ledger: Path | None,
    profile: str,
) -> None:
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
    from kgcheck.cli.console import errors, results
    from kgcheck.cli.show import exit_code, write
    from kgcheck.graph.open import open_store
    from kgcheck.graph.schema import load_schema
    from kgcheck.model import Finding, Tally
    from kgcheck.report.tables import explain_finding, transcript_lines
    from kgcheck.settings import Settings
    from kgcheck.sources.observe import SnapshotSource

    settings = Settings()
    schema = load_schema(profile)
    request = parse_request(what, schema)
    transcript = Transcript()
    started, name = now(), new_run_id()
    kept_at = settings.home / "transcripts" / f"{name}.jsonl"
    with (
        Ledger(ledger or settings.ledger) as kept,
        open_store(store, schema, settings) as opened,
        SnapshotSource(reference, schema, settings) as source,
    ):
        try:
            team = Team(Toolbox(opened, source), RulesBrain(schema), Budget(turns=turns, seconds=seconds))
            checked = team.check(request, transcript)
        finally:
            if transcript.events:
                write(kept_at, transcript.as_jsonl())
            if show_transcript:
                for line in transcript_lines(transcript):
                    errors().print(line, soft_wrap=True, markup=False)
        run = Run(
            id=name,
            started=started,
            store=opened.name,
            profile=profile,
            reference=str(reference) if reference else None,
            options={"check": request.text, "transcript": str(kept_at)},
        )
        finding = Finding(
            run=name,
            fingerprint=checked.task.fingerprint,
            task=checked.task,
            verdict=checked.verdict,
            change=checked.change,
        )
        tally = Tally(
            type=checked.task.type,
            target=str(checked.task),
            outcome=checked.verdict.outcome,
            reason=checked.verdict.reason,
            sources=", ".join(sorted({e.source for e in checked.verdict.evidence})),
            count=1,
        )
        kept.start(run)
        kept.record(run, "check", [finding], [tally])
        kept.finish(run)
    if format_ == "json":
        click.echo(json.dumps(finding.as_row(), indent=2))
    else:
        results().print(explain_finding(finding))
    ctx.exit(exit_code([tally], fail_on))
