"""What changed since an earlier run, on a generated graph: nodes and releases that are others, and no link."""

import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.changed_since import change_nodes, change_releases, compare
from benchmarks.generate import generate
from kgcheck.audit.carrying import since
from kgcheck.audit.run import Audit
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.loading.load import load_directory
from kgcheck.model import CheckType
from kgcheck.options import AuditOptions
from kgcheck.reference.build import build_snapshot
from kgcheck.settings import Settings
from tests.support.facts import SCHEMA

OPTIONS = AuditOptions(types=(CheckType.EXISTENCE, CheckType.ATTRIBUTE, CheckType.TRIPLE))


def audit(store: EmbeddedStore, snapshot: Path, ledger: Path, older: Path | None = None) -> Run:
    with Ledger(ledger) as kept:
        former = since(kept, str(older), OPTIONS, store) if older else None
        return Audit(store, snapshot, kept, Settings()).start(OPTIONS, former)


@pytest.mark.slow
def test_other_nodes_and_newer_releases_are_equal_to_everything(tmp_path: Path) -> None:
    generate(tmp_path / "import", 60_000, reference=tmp_path / "facts")
    # Of attributes, too, the older snapshot knows some values.
    change_nodes(tmp_path / "facts", tmp_path / "0", 5)
    change_nodes(tmp_path / "0", tmp_path / "1", 40)
    change_releases(tmp_path / "1", tmp_path / "2", 100)
    snapshots = [tmp_path / f"{number}.duckdb" for number in range(3)]
    for snapshot in snapshots:
        build_snapshot(snapshot.with_suffix(""), snapshot, SCHEMA, Settings())
    with EmbeddedStore(tmp_path / "graph.lbdb", SCHEMA, create=True) as store:
        load_directory(tmp_path / "import", store, Settings(), quarantine=tmp_path / "quarantine.jsonl")
        before = audit(store, snapshots[0], tmp_path / "part.sqlite")
        for older, newer in pairwise(snapshots):
            shutil.copy(tmp_path / "part.sqlite", tmp_path / "full.sqlite")
            audit(store, newer, tmp_path / "full.sqlite")
            part = audit(store, newer, tmp_path / "part.sqlite", older)
            assert part.made_with["since"] == before.id
            checked, findings = compare(tmp_path / "full.sqlite", tmp_path / "part.sqlite")
            assert checked > 15_000
            assert findings > 100
            before = part
