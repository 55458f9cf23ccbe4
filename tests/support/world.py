"""UniProt and STRING on loopback together, with a handful of proteins, and checks that ask them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kgcheck.audit.run import Audit
from kgcheck.checks.verdicts import verdict
from kgcheck.context import live_sources
from kgcheck.evidence.source import SnapshotSource
from kgcheck.ledger.ledger import Ledger
from kgcheck.model import CheckTask, Verdict
from kgcheck.options import AuditOptions
from kgcheck.settings import Settings
from tests.support import loopback
from tests.support.audits import Audited, of_run
from tests.support.facts import SCHEMA
from tests.support.loopback import Loopback
from tests.support.services import StringServer, UniProtServer, entry


class World:
    """Both services, and the settings to ask them."""

    def __init__(self, uniprot: Loopback, string: Loopback, api: Path, folder: Path) -> None:
        self.uniprot = UniProtServer(uniprot, api)
        self.string = StringServer(string, api)
        self.folder = folder

    def settings(self, **more: Any) -> Settings:
        given: dict[str, Any] = {
            "uniprot_url": self.uniprot.server.url,
            "string_url": self.string.server.url,
            "uniprot_calls_per_s": 1e6,
            "string_calls_per_s": 1e6,
            "cache_dir": self.folder / "cache",
            "http_attempts": 1,
            "http_wait_s": 0,
            "http_pause_s": 0,
            **loopback.limits(),
            "http_max_mb": 5,
            "duckdb_threads": 1,
        }
        return Settings(**(given | more))

    def environment(self, patch: pytest.MonkeyPatch, **more: Any) -> None:
        """The same settings, for command lines."""
        chosen = self.settings(**more)
        for name in (
            "uniprot_url",
            "string_url",
            "uniprot_calls_per_s",
            "string_calls_per_s",
            "cache_dir",
            "http_attempts",
            "http_pause_s",
            "http_timeout_s",
            "http_total_s",
        ):
            patch.setenv(f"KGCHECK_{name.upper()}", str(getattr(chosen, name)))

    def verdicts(self, tasks: list[CheckTask], snapshot: Path | None = None, **more: Any) -> list[Verdict]:
        chosen = self.settings(**more)
        with (
            live_sources(SCHEMA, chosen, wanted=True) as live,
            SnapshotSource(snapshot, SCHEMA, chosen, live) as source,
        ):
            return [verdict(task.type, *source.observe(task)) for task in tasks]

    def verdict(self, task: CheckTask, snapshot: Path | None = None, **more: Any) -> Verdict:
        return self.verdicts([task], snapshot, **more)[0]

    def audit(
        self,
        store: Any,
        ledger: Path,
        snapshot: Path | None = None,
        *,
        resume: bool = False,
        settings: dict[str, Any] | None = None,
        **options: Any,
    ) -> Audited:
        chosen = self.settings(home=self.folder / "home", **(settings or {}))
        with Ledger(ledger) as kept, live_sources(SCHEMA, chosen, wanted=True) as live:
            audit = Audit(store, snapshot, kept, chosen, live=live)
            asked = AuditOptions(**({"live": True} | options))
            return of_run(kept, audit.resume(kept.cut_off()) if resume else audit.start(asked))

    @property
    def calls(self) -> int:
        return len(self.uniprot.server.calls) + len(self.string.server.calls)


@contextmanager
def running(shared_data: Path, folder: Path) -> Iterator[World]:
    with Loopback() as uniprot, Loopback() as string:
        made = World(uniprot, string, shared_data / "api", folder)
        made.uniprot.add(
            entry(
                "P10001",
                genes=[{"geneName": {"value": "GEN1"}, "synonyms": [{"value": "OLD1"}]}],
                proteinDescription={"recommendedName": {"fullName": {"value": "Protein one"}}},
                uniProtKBCrossReferences=[
                    {"database": "PDB", "id": "1TUP", "properties": []},
                    {"database": "GO", "id": "GO:0000011"},
                    {"database": "Reactome", "id": "R-HSA-1"},
                    {"database": "STRING", "id": "9606.E1"},
                ],
                comments=[
                    {
                        "commentType": "INTERACTION",
                        "interactions": [
                            {
                                "interactantOne": {"uniProtKBAccession": "P10001"},
                                "interactantTwo": {"uniProtKBAccession": "P10002"},
                            }
                        ],
                    }
                ],
                features=[
                    {
                        "type": "Modified residue",
                        "location": {"start": {"value": 2}, "end": {"value": 2}},
                        "description": "Phosphoserine; by X",
                    }
                ],
            ),
            *(entry(f"P1000{n}") for n in range(2, 6)),
        )
        made.string.knows(P10001="9606.E1", P10002="9606.E2", P10003="9606.E3", P21802="9606.E9", P10005="9606.E1")
        made.string.link("9606.E1", "9606.E2", 0.7)
        made.string.link("9606.E3", "9606.E1", 0.399)
        made.string.link("9606.E1", "9606.E9", 0.9)
        made.string.link("9606.E2", "9606.E3", 0.5, physical=True)
        yield made
