"""The real reference files against the real import directory: what is stale is found, and counted from the files."""

import csv
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kgcheck.audit.ledger import Ledger
from kgcheck.audit.plan import AuditOptions
from kgcheck.audit.run import Audit
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.load import load_directory
from kgcheck.model import CheckType, Finding, Outcome, Reason, Tally
from kgcheck.sources.build import build_snapshot
from tests.support.facts import SCHEMA, SETTINGS

pytestmark = pytest.mark.slow

REFUTED = Outcome.REFUTED


class Real(NamedTuple):
    """The data, and what the audit came to."""

    data: Path
    tallies: list[Tally]
    findings: dict[str, Finding]

    def counted(self, target: str, reason: Reason) -> int:
        return sum(t.count for t in self.tallies if (t.target, t.reason) == (target, reason))


@pytest.fixture(scope="module")
def real(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    folder = tmp_path_factory.mktemp("real")
    for name in ("ckg_sources", "ontologies"):
        shutil.copytree(shared_data / name, folder / "in" / name)
    shutil.copy(shared_data / "literature" / "pubmed_retractions.tsv", folder / "in")
    snapshot = folder / "reference.duckdb"
    build_snapshot(folder / "in", snapshot, SCHEMA, SETTINGS)
    with EmbeddedStore(folder / "graph.lbdb", SCHEMA, create=True) as store:
        load_directory(shared_data / "ckg_import", store, SETTINGS, quarantine=folder / "quarantine.jsonl")
        with Ledger(folder / "ledger.sqlite") as ledger:
            asked = AuditOptions(types=(CheckType.EXISTENCE, CheckType.TRIPLE))
            run = Audit(store, snapshot, ledger, SETTINGS).start(asked)
            findings = {str(f.task): f for f in ledger.findings(run)}
            yield Real(shared_data, ledger.tallies(run), findings)


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream, delimiter="\t"))


def test_diseases_that_the_ontology_of_2026_no_longer_has(real: Real) -> None:
    listed = {field for row in _rows(real.data / "ontologies" / "HumanDO_2026.tsv") for field in row[:1]}
    edges = _rows(real.data / "ckg_import" / "databases" / "Protein_Disease_associated_with_integrated.tsv")[1:]
    gone = {(row[0], row[1]) for row in edges if row[1].startswith("DOID:") and row[1] not in listed}
    # The root has no row of its own, but names its children.
    without_root = {pair for pair in gone if pair[1] != "DOID:4"}

    assert len({disease for _, disease in gone}) == 13
    assert real.counted("Protein ASSOCIATED_WITH Disease", Reason.ENDPOINT_DELETED) == len(without_root)


def test_go_annotations_with_terms_that_are_obsolete_now(real: Real) -> None:
    terms = _rows(real.data / "ckg_sources" / "go_terms_unipept_2024-06.tsv")
    obsolete = {row[1] for row in terms if row[3].startswith("obsolete ")}
    for label in ("Biological_process", "Molecular_function", "Cellular_component"):
        edges = _rows(real.data / "ckg_import" / "databases" / f"{label}_associated_with.tsv")[1:]
        pairs = {(row[0], row[1]) for row in edges}
        gone = {pair for pair in pairs if pair[1] in obsolete}

        assert real.counted(f"Protein ASSOCIATED_WITH {label}", Reason.ENDPOINT_DELETED) == len(gone)


def test_counts_by_reason(real: Real) -> None:
    counts = Counter[tuple[str, str]]()
    for t in real.tallies:
        if t.outcome in (REFUTED, Outcome.INSUFFICIENT):
            counts[t.type.value, t.reason.value] += t.count

    assert counts == {
        ("existence", "term_obsolete"): 3131,
        ("existence", "wrong_namespace"): 1,
        ("existence", "symbol_alias"): 1,
        ("triple", "endpoint_deleted"): 2981,
        ("triple", "edge_unsupported"): 946,
        ("triple", "endpoint_merged"): 1,
        ("triple", "conflicting_evidence"): 1,
    }


CHECKED_BY_HAND = [
    ("Molecular_function GO:0102116", Reason.TERM_OBSOLETE),
    ("Biological_process GO:0002506", Reason.WRONG_NAMESPACE),
    ("Disease DOID:4369", Reason.TERM_OBSOLETE),
    ("Tissue BTO:0005766", Reason.TERM_OBSOLETE),
    ("Gene EOLA1", Reason.SYMBOL_ALIAS),
    ("P12814 ASSOCIATED_WITH GO:0051271", Reason.ENDPOINT_DELETED),
    ("P27144 ASSOCIATED_WITH GO:0004017", Reason.CONFLICTING_EVIDENCE),
    ("EOLA1 TRANSLATED_INTO Q8TE69", Reason.ENDPOINT_MERGED),
    ("SPAAR TRANSLATED_INTO A0A1B0GVQ0", Reason.EDGE_UNSUPPORTED),
    ("DOID:1700 HAS_PARENT DOID:0050735", Reason.EDGE_UNSUPPORTED),
    ("DOID:3939 HAS_PARENT DOID:201", Reason.ENDPOINT_DELETED),
]
"""Each compared with the lines of the files: rows of GO, DO and BTO, HGNC's entries, GOA's NOT of PMID 11485571."""


def test_findings_that_were_checked_by_hand(real: Real) -> None:
    assert [(name, real.findings[name].verdict.reason) for name, _ in CHECKED_BY_HAND] == CHECKED_BY_HAND


def test_annotations_of_the_same_files_are_confirmed(real: Real) -> None:
    for target in ("Protein ASSOCIATED_WITH Tissue", "Protein ASSOCIATED_WITH Disease"):
        refuted = {t.reason for t in real.tallies if t.target == target and t.outcome is REFUTED}
        assert refuted == {Reason.ENDPOINT_DELETED}
        assert real.counted(target, Reason.CONFIRMED) > 19_000
