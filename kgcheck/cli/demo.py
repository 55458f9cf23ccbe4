"""``kgcheck demo``: the main job on a small graph of real facts."""

from pathlib import Path

import click

from kgcheck.cli.options import FilePath
from kgcheck.cli.output import result, say

_EVERYTHING = 1_000
"""More findings than the demo has."""

_LEFT = ("graph.lbdb", "graph.lbdb.wal", "ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm")
"""What an earlier demo leaves and this one makes anew."""


@click.command("demo")
@click.option(
    "--out",
    type=FilePath(file_okay=False),
    default=Path("kgcheck-demo"),
    show_default=True,
    help="Folder for the graph, the snapshot, the ledger and the reports; what an earlier demo left there is replaced.",
)
@click.option("--store", help="Load the graph here instead, e.g. into an empty Neo4j; the environment is not asked.")
@click.option("--limit", type=click.IntRange(min=0), help="Show at most so many findings.")
def command(out: Path, store: str | None, limit: int | None) -> None:
    """Load a small graph of real facts, audit it against pinned references, and write an HTML and a Markdown report.

    Ends with 0 although it finds what is wrong: that is what it is for. The commands it stands for are printed.
    """
    from kgcheck.audit.papers import Papers
    from kgcheck.audit.plan import AuditOptions
    from kgcheck.audit.run import Audit
    from kgcheck.cli.console import RichProgress, errors, results
    from kgcheck.cli.environment import read_settings
    from kgcheck.cli.literature import open_papers, told_table
    from kgcheck.cli.show import show_run
    from kgcheck.graph.open import open_store
    from kgcheck.ledger.ledger import Ledger
    from kgcheck.literature.corpus import Corpus
    from kgcheck.loading.process import load_into
    from kgcheck.outputs import write_text
    from kgcheck.profile.schema import load_schema
    from kgcheck.reference.build import build_snapshot
    from kgcheck.report.render import render
    from kgcheck.resources import resource_dir

    settings, schema, progress = read_settings(home=out), load_schema(), RichProgress()
    demo = schema.folder / "demo"
    target, snapshot = store or str(out / "graph.lbdb"), out / "reference.duckdb"
    console = errors()
    _clear(out)

    def told(step: str) -> None:
        console.print(f"$ {step}", style="bold", soft_wrap=True)

    told(f"kgcheck load {demo / 'import'} --store {target}")
    summary = load_into(
        target, demo / "import", schema, settings, quarantine=out / "quarantine.jsonl", progress=progress
    )
    say(f"{summary.nodes:,} nodes, {summary.edges:,} edges, {summary.quarantined:,} rows quarantined")
    told(f"kgcheck reference build {demo / 'reference'} --out {snapshot}")
    build_snapshot(demo / "reference", snapshot, schema, settings, progress=progress)
    notes, index = resource_dir("corpus") / "demo" / "notes.jsonl", out / "literature"
    told(f"kgcheck corpus add {notes} --index {index} --model none")
    with Corpus(index, create=True, progress=progress) as corpus:
        corpus.add([notes])
        corpus.build(None)
    told(f"kgcheck audit --store {target} --reference {snapshot} --literature {index} --ledger {settings.ledger}")
    with (
        Ledger(settings.ledger) as ledger,
        open_store(target, schema, settings) as opened,
        open_papers(index, opened, snapshot, settings) as reader,
    ):
        papers = Papers(reader) if reader else None
        run = Audit(opened, snapshot, ledger, settings, progress, papers=papers).start(
            AuditOptions(literature=str(index.resolve()))
        )
        show_run(ledger, run, "table", None, limit if limit is not None else _EVERYTHING)
        for name, format_ in (("report.html", "html"), ("report.md", "markdown")):
            write_text(out / name, render(ledger, run, format_))
            result(f"report: {(out / name).resolve()}")
        if papers:
            results().print(told_table(papers.found))
    finding = f"kgcheck explain FINDING --ledger {settings.ledger}"
    say(f"next: open the HTML report, or {finding}")


def _clear(out: Path) -> None:
    """Remove what an earlier demo left, and nothing else."""
    import shutil

    from kgcheck.errors import InputError

    if (out / "literature" / "documents.sqlite").is_file():
        shutil.rmtree(out / "literature", ignore_errors=True)

    for name in _LEFT:
        try:
            (out / name).unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot replace {out / name}: {error.strerror}", "name another folder with --out"
            ) from error
