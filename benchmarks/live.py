"""``python -m benchmarks.live``: how many calls live checks take, against both services on loopback.

Needs ../shared/data/api. The services answer at once, so the seconds are kgcheck's own work and the pace that it keeps
(STRING: one call a second).
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from kgcheck.audit.run import Audit
from kgcheck.context import live_sources
from kgcheck.ledger.ledger import Ledger
from kgcheck.model import CheckType
from kgcheck.options import AuditOptions
from kgcheck.profile.schema import load_schema
from kgcheck.settings import Settings
from tests.support import ROOT
from tests.support.audits import MemoryStore
from tests.support.loopback import Loopback
from tests.support.services import StringServer, UniProtServer, entry

SCHEMA = load_schema()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--api", type=Path, default=ROOT.parent / "shared" / "data" / "api")
    api = parser.parse_args(arguments).api
    table = Table("what", "calls of UniProt", "calls of STRING", "seconds", box=None)
    with Loopback() as one, Loopback() as other, tempfile.TemporaryDirectory() as name:
        uniprot, string = UniProtServer(one, api), StringServer(other, api)
        accessions = [f"P{n:05}" for n in range(10_000, 14_000)]
        uniprot.add(*map(entry, accessions))
        string.knows(**{a: f"9606.{a}" for a in accessions})
        nodes = {"Protein": [{"id": a} for a in accessions[:1000]]}
        pairs = [{"head": a, "tail": b} for a, b in zip(accessions[::2], accessions[1::2], strict=True)]
        ends = {"Protein": [{"id": a} for a in accessions]}
        settings = Settings(
            uniprot_url=one.url, string_url=other.url, cache_dir=Path(name) / "cache", home=Path(name) / "home"
        )
        for what, store, kind in (
            ("1,000 accessions, existence", MemoryStore(nodes, {}), CheckType.EXISTENCE),
            ("2,000 pairs, ACTS_ON, and the life of 4,000 ends", _pairs(ends, pairs), CheckType.TRIPLE),
        ):
            for again in ("", ", again"):
                before = len(one.calls), len(other.calls)
                seconds = _audit(store, settings, Path(name) / f"{kind}{again}.sqlite", kind)
                calls = len(one.calls) - before[0], len(other.calls) - before[1]
                table.add_row(what + again, *map(str, calls), f"{seconds:.1f}")
    Console().print(table)


def _pairs(nodes: Any, pairs: Any) -> MemoryStore:
    return MemoryStore(nodes, {"Protein ACTS_ON Protein": pairs})


def _audit(store: MemoryStore, settings: Settings, ledger: Path, kind: CheckType) -> float:
    started = time.perf_counter()
    with Ledger(ledger) as kept, live_sources(SCHEMA, settings, wanted=True) as live:
        Audit(store, None, kept, settings, live=live).start(AuditOptions(types=(kind,), live=True))
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
