"""The real reference files against the real import directory: what is stale is found, and counted from the files."""

import csv
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import duckdb
import pytest

from kgcheck.audit.run import Audit
from kgcheck.curation.applied import curated_in
from kgcheck.curation.decisions import Decisions, decide
from kgcheck.curation.patch_maker import Wanted, make_patch
from kgcheck.curation.patches import apply_patch, undo_patch
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.loading.load import load_directory
from kgcheck.loading.manifest import graph_dates
from kgcheck.model import ChangeKind, CheckTask, CheckType, Finding, Outcome, Reason, Ref, Tally
from kgcheck.options import AuditOptions, LoadOptions
from kgcheck.reference.build import build_snapshot
from tests.integration.test_evidence import assert_both_ways_agree
from tests.support.facts import SCHEMA, SETTINGS, existence, triple, verdicts_on

pytestmark = pytest.mark.slow

REFUTED = Outcome.REFUTED
SAMPLED = 4
"""Tasks of each label, pattern and reason that are judged one by one, too."""


class Real(NamedTuple):
    """The data, and what the audit came to."""

    data: Path
    folder: Path
    run: Run
    tallies: list[Tally]
    findings: dict[str, Finding]
    snapshot: Path
    tasks: list[CheckTask]
    dates: dict[str, str]

    def counted(self, target: str, reason: Reason) -> int:
        return sum(t.count for t in self.tallies if (str(t.target), t.reason) == (target, reason))


@pytest.fixture(scope="module")
def real(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Real:
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
            findings = {f.task.fingerprint: f for f in ledger.findings(run)}
            tallies = ledger.tallies(run)
        dates = graph_dates(store.meta(), SCHEMA)
        tasks = _some_tasks(store)
    return Real(shared_data, folder, run, tallies, findings, snapshot, tasks, dates)


def _some_tasks(store: EmbeddedStore) -> list[CheckTask]:
    """Some nodes of every label and some edges of every pattern of the graph, by a seed."""
    chosen = random.Random(20)  # noqa: S311
    tasks: list[CheckTask] = []
    for label in SCHEMA.labels:
        ids = sorted({i for table in store.scan_nodes(label) for i in table["id"].to_pylist()})
        tasks += [existence(f"{label.name} {i}") for i in chosen.sample(ids, min(len(ids), SAMPLED))]
    for pattern in SCHEMA.relations:
        tables = list(store.scan_edges(pattern))
        pairs = sorted(
            {both for t in tables for both in zip(*(t[c].to_pylist() for c in ("head", "tail")), strict=True)}
        )
        for head, tail in chosen.sample(pairs, min(len(pairs), SAMPLED)):
            tasks.append(triple(f"{pattern.head} {head}", pattern.type, f"{pattern.tail} {tail}"))
    return tasks


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
        ("existence", "id_secondary"): 274,
        ("existence", "id_obsolete"): 3131,
        ("existence", "wrong_namespace"): 1,
        ("existence", "reference_older"): 1,
        ("triple", "conflicting_evidence"): 1,
        ("triple", "edge_unsupported"): 789,
        ("triple", "endpoint_deleted"): 2981,
        ("triple", "endpoint_merged"): 2171,
        ("triple", "parent_indirect"): 156,
        ("triple", "reference_older"): 1,
    }


CHECKED_BY_HAND = [
    ("Molecular_function GO:0102116", Reason.ID_OBSOLETE),
    ("Biological_process GO:0002506", Reason.WRONG_NAMESPACE),
    ("Disease DOID:4369", Reason.ID_OBSOLETE),
    ("Tissue BTO:0005766", Reason.ID_OBSOLETE),
    ("Gene EOLA1", Reason.REFERENCE_OLDER),
    ("P12814 ASSOCIATED_WITH GO:0051271", Reason.ENDPOINT_DELETED),
    ("P27144 ASSOCIATED_WITH GO:0004017", Reason.CONFLICTING_EVIDENCE),
    ("SPAAR TRANSLATED_INTO A0A1B0GVQ0", Reason.REFERENCE_OLDER),
    ("DOID:1700 HAS_PARENT DOID:0050735", Reason.EDGE_UNSUPPORTED),
    ("DOID:3939 HAS_PARENT DOID:201", Reason.ENDPOINT_DELETED),
]
"""Each compared with the lines of the files: rows of GO, DO and BTO, HGNC's entries, GOA's NOT of PMID 11485571."""


def test_findings_that_were_checked_by_hand(real: Real) -> None:
    named = {str(f.task): f for f in real.findings.values()}

    assert [(name, named[name].verdict.reason) for name, _ in CHECKED_BY_HAND] == CHECKED_BY_HAND


def test_the_whole_graph_and_single_checks_end_alike(real: Real) -> None:
    patterns = {t.relation and (t.subject.label, t.relation, t.object and t.object.label) for t in real.tasks}
    assert len(patterns) > 15
    found = [real.findings[task] for task in chosen_findings(real)]
    asked = [*real.tasks, *(f.task for f in found)]

    for task, single in zip(asked, verdicts_on(real.snapshot, asked, real.dates), strict=True):
        bulk = real.findings.get(task.fingerprint)
        if bulk is None:
            # What is supported, or nobody could look at, is counted and makes no finding.
            assert single.outcome in (Outcome.SUPPORTED, Outcome.UNAVAILABLE), task
        else:
            told = (single.outcome, single.reason, single.confidence, single.note)
            assert told == (bulk.verdict.outcome, bulk.verdict.reason, bulk.verdict.confidence, bulk.verdict.note), task
            assert {e.record for e in single.evidence} == {e.record for e in bulk.verdict.evidence}, task
    assert {f.verdict.reason for f in found} == {f.verdict.reason for f in real.findings.values()}


def chosen_findings(real: Real) -> list[str]:
    """Some findings of every reason, by a seed."""
    chosen = random.Random(21)  # noqa: S311
    by_reason: dict[Reason, list[str]] = {}
    for fingerprint, found in sorted(real.findings.items()):
        by_reason.setdefault(found.verdict.reason, []).append(fingerprint)
    return [name for names in by_reason.values() for name in chosen.sample(names, min(len(names), SAMPLED))]


def test_edges_that_the_graph_lacks_end_alike_in_both_ways(real: Real) -> None:
    edges = [t for t in real.tasks if t.relation]

    assert_both_ways_agree(real.snapshot, [t.model_copy(update={"type": CheckType.POTENTIAL}) for t in edges])


def test_annotations_of_the_same_files_are_confirmed(real: Real) -> None:
    for target in ("Protein ASSOCIATED_WITH Tissue", "Protein ASSOCIATED_WITH Disease"):
        refuted = {t.reason for t in real.tallies if str(t.target) == target and t.outcome is REFUTED}
        assert refuted == {Reason.ENDPOINT_DELETED}
        assert real.counted(target, Reason.CONFIRMED) > 19_000


def visible(store: EmbeddedStore) -> dict[str, tuple[int, int]]:
    """By label and pattern, how many rows a reader sees, and a sum over what stands in them, in whatever order."""
    found = {}
    scans = [(label.name, store.scan_nodes(label)) for label in SCHEMA.labels]
    scans += [(str(pattern), store.scan_edges(pattern)) for pattern in SCHEMA.relations]
    with duckdb.connect() as db:
        for name, tables in scans:
            sums = []
            for table in tables:
                db.register("piece", table)
                sums += db.execute("SELECT count(*), coalesce(sum(hash(p)::HUGEINT), 0) FROM piece p").fetchall()
            found[name] = (sum(n for n, _ in sums), sum(total for _, total in sums))
    return found


def some_to_accept(findings: list[Finding], each: int, seed: int) -> list[tuple[Finding, str | None]]:
    """Findings of every kind, by a seed, with a candidate where a person must choose."""
    chosen = random.Random(seed)  # noqa: S311
    kinds: dict[tuple[str, ...], list[Finding]] = {}
    for one in sorted(findings, key=lambda f: f.fingerprint):
        if one.change:
            kinds.setdefault((one.task.type.value, one.verdict.reason.value, one.change.kind.value), []).append(one)
    some = [one for of_kind in kinds.values() for one in chosen.sample(of_kind, min(len(of_kind), each))]
    choices = [
        (one, chosen.choice(one.change.candidates) if one.change.candidates else None) for one in some if one.change
    ]
    return [(one, to) for one, to in choices if to or (one.change and one.change.kind is not ChangeKind.REVIEW)]


@pytest.mark.nightly
def test_hundreds_of_accepted_repairs_survive_a_reload(real: Real, tmp_path: Path) -> None:
    shutil.copy(real.folder / "graph.lbdb", tmp_path)
    imported, quarantine = real.data / "ckg_import", tmp_path / "quarantine.jsonl"
    with (
        EmbeddedStore(tmp_path / "graph.lbdb", SCHEMA, create=True) as store,
        Ledger(real.folder / "ledger.sqlite") as ledger,
    ):
        store.prepare_records()
        narrow = AuditOptions(types=(CheckType.ATTRIBUTE, CheckType.POTENTIAL), labels=("Biological_process",))
        runs = [real.run, Audit(store, real.snapshot, ledger, SETTINGS).start(narrow)]
        wanted = []
        for seed, run in enumerate(runs):
            for one, to in some_to_accept(list(ledger.findings(run)), 60, seed):
                decide(ledger, [one], "accept", by="tester", chosen=to)
            wanted += [Wanted(one, decision.chosen) for one, decision in Decisions(ledger).accepted(run)]
        unpatched = visible(store)
        made = make_patch(wanted, runs[-1].id, store, tmp_path / "patch", by="tester")
        assert made.patch
        done = {f"{o.kind} {'node' if isinstance(o.what, Ref) else 'edge'}" for o in made.patch.operations}
        both = {f"{kind} {what}" for kind in ("repoint", "retire") for what in ("node", "edge")}
        assert done == both | {"set_value node", "merge node", "add_edge edge"}
        assert len(made.patch.operations) > 400

        assert apply_patch(made.patch, store, by="tester").conflicts == ()
        patched = visible(store)

        again = load_directory(
            imported,
            store,
            SETTINGS,
            quarantine=quarantine,
            options=LoadOptions(full=True, prune=True),
            curated=curated_in(store),
        )
        assert (again.settled, again.total("loaded"), again.total("changed")) == ((), 0, 0)
        assert visible(store) == patched != unpatched
        assert undo_patch(made.patch, store, by="tester").conflicts == ()
        assert visible(store) == unpatched
