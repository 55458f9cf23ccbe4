"""``kgcheck demo``: load, audit and report a small graph of real facts."""

from collections import defaultdict
from collections.abc import Callable
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath
from kgcheck.cli.output import note, result, show_or_write
from kgcheck.errors import InputError
from kgcheck.plurals import how_many
from kgcheck.progress import NoProgress
from kgcheck.resources import resource_dir

if TYPE_CHECKING:
    from kgcheck.model import CheckType, Finding
    from kgcheck.workspace import Workspace

_LEFT = ("graph.lbdb", "graph.lbdb.wal", "ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm")
"""Files that an earlier demo leaves and this one makes anew."""


@click.command("demo")
@click.option(
    "--out",
    type=FilePath(file_okay=False),
    default=Path("kgcheck-demo"),
    show_default=True,
    help="Folder for the graph, the snapshot, the ledger and the reports; what an earlier demo left there is replaced.",
)
@click.option("--store", help="Load the graph here instead, e.g. into an empty Neo4j; the environment is not asked.")
@click.option("--limit", type=click.IntRange(min=0), default=3, show_default=True, help="Show so many findings.")
@click.option("--protocol", is_flag=True, help="Design two protocols on what was verified, too, and check them.")
def demo(out: Path, store: str | None, limit: int, protocol: bool) -> None:
    """Load a small graph of real facts, audit it against pinned references, and write an HTML and a Markdown report.

    Ends with 0 although it finds what is wrong: that is what it is for. The commands it stands for are printed.
    """
    from kgcheck.cli.console import RichProgress, errors
    from kgcheck.literature.corpus import Corpus
    from kgcheck.literature.search import choose_model
    from kgcheck.report.tables import deciding, evidence_line, proposal, summary_lines, what_of
    from kgcheck.settings import read_settings
    from kgcheck.workspace import Workspace

    target, snapshot, index = store or str(out / "graph.lbdb"), out / "reference.duckdb", out / "literature"
    settings, console = read_settings(home=out), errors()
    # The steps are shown one by one already: bars that go away again are enough.
    progress = RichProgress() if console.is_terminal else NoProgress()
    _clear(out)

    def show_step(step: str) -> None:
        console.print(f"$ {step}", style="bold", soft_wrap=True)

    with Workspace(
        store=target,
        reference=snapshot,
        literature=index,
        ledger=settings.ledger_file,
        settings=settings,
        progress=progress,
    ) as workspace:
        demo = workspace.schema.folder / "demo"
        show_step(f"kgcheck load {demo / 'import'} --store {target}")
        workspace.load(demo / "import", quarantine=out / "quarantine.jsonl")
        show_step(f"kgcheck reference build {demo / 'reference'} --out {snapshot}")
        workspace.build_reference(demo / "reference")
        notes = resource_dir("corpus") / "demo" / "notes.jsonl"
        show_step(f"kgcheck corpus add {notes} --index {index}")
        model, why = choose_model(None, None)
        if why:
            note(why)
        with Corpus(index, create=True, progress=progress) as corpus:
            corpus.add([notes])
            corpus.build(model)
        options = f"--store {target} --reference {snapshot} --literature {index} --ledger {workspace.ledger}"
        show_step(f"kgcheck audit {options}")
        audit = workspace.audit()
        note(f"{summary_lines(audit.run, audit.tallies)[0]}; papers speak of {how_many(len(audit.papers), 'edge')}")
        by_type: defaultdict[CheckType, list[Finding]] = defaultdict(list)
        for finding in workspace.findings(audit.run):
            by_type[finding.task.type].append(finding)
        # Of each type of check in turn.
        for finding in islice(filter(None, chain.from_iterable(zip_longest(*by_type.values()))), limit):
            observed = "; ".join(filter(None, (evidence_line(deciding(finding)[0]), proposal(finding.change))))
            reason = f"{finding.fingerprint[:8]} {finding.mark.value} {finding.verdict.reason.value}"
            result(f"{reason}: {what_of(finding)}; {observed}")
        for name, format_ in (("report.md", "markdown"), ("report.html", "html")):
            workspace.report(audit.run, format_, output=out / name)
        result(f"report: {(out / name).resolve()}")
        if protocol:
            for objective in sorted((demo / "protocols").glob("*.toml")):
                _design(workspace, objective, out / "protocols" / objective.stem, show_step)
    note(f"next: open the report, or kgcheck explain FINDING --ledger {settings.ledger_file}")


def _design(workspace: "Workspace", objective: Path, folder: Path, show_step: Callable[[str], None]) -> None:
    from kgcheck.protocols.protocol import FILE, read_objective
    from kgcheck.protocols.rendering import checks_table

    options = f"--store {workspace.store} --ledger {workspace.ledger} --literature {workspace.literature}"
    show_step(f"kgcheck protocol design {objective} --out {folder} {options}")
    made = workspace.design_protocol(read_objective(objective), folder).protocol
    note(*made.notes)
    show_step(f"kgcheck protocol check {folder / FILE} {options} --reference {workspace.reference}")
    (checked,), _ = workspace.check_protocols([folder / FILE])
    show_or_write(checks_table([checked]), None)
    result(f"protocol: {(folder / 'protocol.html').resolve()}")


def _clear(out: Path) -> None:
    import shutil

    if (out / "literature" / "documents.sqlite").is_file():
        shutil.rmtree(out / "literature", ignore_errors=True)

    for name in _LEFT:
        try:
            (out / name).unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot replace {out / name}: {error.strerror}", "name another folder with --out"
            ) from error
