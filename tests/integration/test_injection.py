"""How many of the errors that are put into a graph are found, for the right reason, with the right repair.

The demo is small, so a kind has few places there; the import directory of real data has many. Both print a table.
"""

import json
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest

from kgcheck.audit.run import Audit
from kgcheck.evidence.source import SnapshotSource
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.ledger.ledger import Ledger
from kgcheck.loading.load import load_directory
from kgcheck.memory import collection_paused
from kgcheck.model import Finding
from kgcheck.options import AuditOptions
from kgcheck.profile.folder import profile_dir
from kgcheck.reference.build import build_snapshot
from tests.support.errors_to_inject import DECIDABLE, HARMLESS, UNDECIDABLE
from tests.support.facts import SCHEMA, SETTINGS
from tests.support.injection import Directory, Ground, Injected, NotHere, Scores, score

SEED = 20261122
LONG_AGO = "1990"
"""Errors are put where the references say what stood there, so these count as no older than the graph. What one that is
older leaves open (`reference_older`, by rule), tests/integration/test_older_reference.py says."""
RECALL, PRECISION, PROPOSALS = 0.99, 0.99, 0.95


def _audit(imports: Path, snapshot: Path, work: Path) -> tuple[list[Finding], Counter[str]]:
    """Findings of an import directory, and the rows that the loader set aside, by reason."""
    work.mkdir()
    quarantine = work / "quarantine.jsonl"
    with EmbeddedStore(work / "graph.lbdb", SCHEMA, create=True) as store:
        load_directory(imports, store, SETTINGS, quarantine=quarantine)
        with Ledger(work / "ledger.sqlite") as ledger:
            run = Audit(store, snapshot, ledger, SETTINGS).start(AuditOptions(unfold=True, graph_date=LONG_AGO))
            found = list(ledger.findings(run))
    lines = quarantine.read_text().splitlines() if quarantine.exists() else []
    return found, Counter(json.loads(line)["reason"] for line in lines)


def _inject(ground: Ground, most: int) -> list[Injected]:
    """At most so many errors of each kind, a kind with few places first."""
    errors = []
    for make in (*DECIDABLE.values(), *UNDECIDABLE.values(), *HARMLESS.values()):
        with suppress(NotHere):
            for _ in range(most):
                errors.append(make(ground))
    return errors


@collection_paused()
def measured(imports: Path, snapshot: Path, work: Path, most: int) -> Scores:
    """Inject, load, audit and compare."""
    before, set_aside = _audit(imports, snapshot, work / "before")
    directory = Directory(imports, SCHEMA)
    with SnapshotSource(snapshot, SCHEMA, SETTINGS) as source, duckdb.connect(str(snapshot), read_only=True) as db:
        errors = _inject(Ground(directory, source, db, before, SEED), most)
    directory.write(work / "import")
    with suppress(FileNotFoundError):
        shutil.copy(imports / "manifest.json", work / "import")
    after, rejected = _audit(work / "import", snapshot, work / "after")
    rejected.subtract(set_aside)
    return score(errors, before, after, rejected)


def report(scores: Scores) -> str:
    """The scores as a table."""
    lines = [f"{'kind':28} {'n':>4} {'right':>6} {'silent':>6} {'wrong':>6} {'proposals':>10}"]
    for title, kinds in (("", DECIDABLE), ("not decidable:", UNDECIDABLE), ("harmless:", HARMLESS)):
        lines += [title] if title else []
        for kind in kinds:
            n = scores.kinds.get(kind)
            lines.append(
                f"{kind:28} {n.injected:4} {n.right:6} {n.silent:6} {n.wrong:6} {n.proposed:4} of {n.proposals}"
                if n
                else f"{kind:28}    0"
            )
    n = scores.of(set(DECIDABLE) & set(scores.kinds))
    lines += [
        f"decidable: {len(set(DECIDABLE) & set(scores.kinds))} kinds, {n.injected} errors: "
        f"recall {n.right / n.injected:.3f}, precision {scores.precision:.3f}, "
        f"right proposals {n.proposed / n.proposals:.3f} ({n.proposed} of {n.proposals})",
        *(f"  missed: {line}" for line in scores.missed[:60]),
        *(
            f"  unexplained: {f.task} {f.task.attribute or ''} {f.verdict.reason.value}"
            for f in scores.unexplained[:60]
        ),
    ]
    return "\n".join(lines)


def check(scores: Scores, kinds: int) -> None:
    """Fail below the goals, or with fewer kinds than are wanted."""
    told = report(scores)
    print(told)  # noqa: T201
    present = set(DECIDABLE) & set(scores.kinds)
    n = scores.of(present)
    assert len(present) >= kinds, told
    assert n.right >= RECALL * n.injected, told
    assert scores.precision >= PRECISION, told
    assert n.proposed >= PROPOSALS * n.proposals, told


@pytest.mark.slow
def test_errors_in_the_demo_are_found(tmp_path: Path) -> None:
    demo = profile_dir("ckg") / "demo"
    build_snapshot(demo / "reference", tmp_path / "reference.duckdb", SCHEMA, SETTINGS)
    check(measured(demo / "import", tmp_path / "reference.duckdb", tmp_path, most=2), kinds=30)


@pytest.mark.nightly
@pytest.mark.slow
def test_errors_in_real_data_are_found(shared_data: Path, tmp_path: Path) -> None:
    for name in ("ckg_sources", "ontologies"):
        shutil.copytree(shared_data / name, tmp_path / "in" / name)
    shutil.copy(shared_data / "api" / "uniprot_flat_sample_10.txt", tmp_path / "in")
    shutil.copytree(profile_dir("ckg") / "demo" / "reference", tmp_path / "in" / "facts")
    build_snapshot(tmp_path / "in", tmp_path / "reference.duckdb", SCHEMA, SETTINGS)
    check(measured(shared_data / "ckg_import", tmp_path / "reference.duckdb", tmp_path, most=4), kinds=40)
