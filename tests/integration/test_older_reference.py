"""A source cannot refute what it is too old to know: one by one, in an audit, from the manifest and by option."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kgcheck.checks.repair import propose
from kgcheck.checks.verdicts import verdict
from kgcheck.evidence.source import SnapshotSource
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.store import DONE, LOAD
from kgcheck.loading.load import load_directory
from kgcheck.loading.manifest import graph_dates
from kgcheck.model import ChangeKind, CheckTask, CheckType, Outcome, Reason, Stance
from kgcheck.profile.folder import profile_dir
from tests.integration.import_directory import CKG
from tests.support.audits import MemoryStore, audited, kgcheck
from tests.support.facts import SCHEMA, SETTINGS, Facts, attribute, existence, potential, triple, verdicts_on

NEWER = {name: "2024" for name in ("Gene", "Protein", "Gene TRANSLATED_INTO Protein", "Protein ACTS_ON Protein")}
OLDER = (Outcome.INSUFFICIENT, Reason.REFERENCE_OLDER)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    facts = Facts()
    hgnc = facts.release("hgnc", "2017-02", "2017-02", complete=True).entities("Gene", "TP53", "OGA")
    hgnc.entity("MGEA5", "Gene", "previous", now=["OGA"]).entity("A12M1", "Gene", "withdrawn")
    # What is the symbol of CXorf40A today was an alias of it. Some list takes over what a spreadsheet made of SEP15.
    hgnc.entities("Gene", "CXorf40A", "SELENOF").link("TRANSLATED_INTO", "CXorf40A", "Q8TE69")
    hgnc.entity("EOLA1", "Gene", "alias", now=["CXorf40A"]).entity("Sep-15", "Gene", "alias", now=["SELENOF"])
    hgnc.value("TP53", "name", "tumor protein p53").value("TP53", "name", "p53 protein", "former")
    hgnc.link("TRANSLATED_INTO", "TP53", "P04637").link("TRANSLATED_INTO", "OGA", "O60502")
    string = facts.release("string", "11", "2019", complete=True).covers("ACTS_ON", "P04637", "O60502")
    string.link("ACTS_ON", "P04637", "O60502", 0.9)
    return facts.build(tmp_path_factory.mktemp("older"))


SCORE = {"type": CheckType.ATTRIBUTE, "attribute": "score", "value": "0.5"}
# A task, why it is refuted in a graph of no date, and how it ends in a newer graph where that is otherwise.
TASKS: dict[str, tuple[CheckTask, str, tuple[Outcome, Reason] | None]] = {
    "a name that is newer": (attribute("Gene TP53", "name", "tumour protein 53"), "value_mismatch", OLDER),
    "a former name": (attribute("Gene TP53", "name", "p53 protein"), "value_outdated", OLDER),
    "a letter that looks Latin": (attribute("Gene TP53", "name", "tumor prоtein p53"), "value_mismatch", None),  # noqa: RUF001
    "a name with Greek letters": (attribute("Gene TP53", "name", "TNFα protein"), "value_mismatch", OLDER),  # noqa: RUF001
    "a name made a date": (attribute("Gene TP53", "name", "Sep-02"), "value_mismatch", None),
    "an empty name": (attribute("Gene TP53", "name", None), "value_missing", None),
    "a symbol that was an alias": (existence("Gene EOLA1"), "id_alias", OLDER),
    "a symbol that was a former one": (existence("Gene MGEA5"), "id_previous", OLDER),
    "an alias made a date": (existence("Gene Sep-15"), "id_alias", None),
    "a symbol made a date": (existence("Gene Mar-01"), "malformed_id", None),
    "a symbol made a number": (existence("Gene 44256"), "malformed_id", None),
    "a symbol in Cyrillic letters": (existence("Gene ТР53"), "malformed_id", None),  # noqa: RUF001
    "a symbol that is newer": (existence("Gene NEW1"), "unknown_id", OLDER),
    "a withdrawn symbol": (existence("Gene A12M1"), "id_withdrawn", None),
    "a symbol in another case": (existence("Gene Tp53"), "unknown_id", None),
    "an edge of what was an alias": (
        triple("Gene EOLA1", "TRANSLATED_INTO", "Protein Q8TE69"),
        *("endpoint_merged", (Outcome.SUPPORTED, Reason.CONFIRMED)),
    ),
    "another of its edges": (triple("Gene EOLA1", "TRANSLATED_INTO", "Protein P04637"), "endpoint_merged", OLDER),
    "an edge of a date": (triple("Gene Sep-02", "TRANSLATED_INTO", "Protein P04637"), "endpoint_malformed", None),
    "an edge of a newer symbol": (triple("Gene NEW1", "TRANSLATED_INTO", "Protein P04637"), "endpoint_unknown", OLDER),
    "an edge of known ends": (triple("Gene TP53", "TRANSLATED_INTO", "Protein O60502"), "edge_unsupported", None),
    "a potential edge": (potential("Gene NEW1", "TRANSLATED_INTO", "Protein P04637"), "not_found_elsewhere", OLDER),
    "a score": (
        triple("Protein P04637", "ACTS_ON", "Protein O60502").model_copy(update=SCORE),
        *("value_mismatch", OLDER),
    ),
}


Outcomes = list[tuple[Outcome, Reason]]


def outcomes(snapshot: Path, tasks: Iterable[CheckTask], dates: dict[str, str]) -> Outcomes:
    return [(judged.outcome, judged.reason) for judged in verdicts_on(snapshot, tasks, dates)]


def outcome_of(snapshot: Path, task: CheckTask, dates: dict[str, str]) -> tuple[Outcome, Reason]:
    return outcomes(snapshot, [task], dates)[0]


@pytest.fixture(scope="module")
def outcomes_by_task(snapshot: Path) -> dict[str, Outcomes]:
    """How each task ends: for a graph of no date, a newer one and an older one."""
    tasks = [task for task, _, _ in TASKS.values()]
    ages: tuple[dict[str, str], ...] = ({}, NEWER, dict.fromkeys(NEWER, "2016-12-31"))
    graphs = [outcomes(snapshot, tasks, dates) for dates in ages]
    return {name: list(found) for name, *found in zip(TASKS, *graphs, strict=True)}


@pytest.mark.parametrize("name", TASKS)
def test_only_what_the_release_never_knew_is_left_open(outcomes_by_task: dict[str, Outcomes], name: str) -> None:
    _, reason, dated = TASKS[name]
    undated = Outcome.REFUTED, Reason(reason)

    assert outcomes_by_task[name] == [undated, dated or undated, undated]


def test_dates_are_compared_as_far_as_both_go(snapshot: Path) -> None:
    task = TASKS["a name that is newer"][0]

    for date in ("2017", "2017-02", "2017-02-28", "2017-01"):
        assert outcome_of(snapshot, task, {"Gene": date}) == (Outcome.REFUTED, Reason.VALUE_MISMATCH)
    assert outcome_of(snapshot, task, {"Gene": "2017-03"}) == OLDER


def test_what_is_too_old_is_shown(snapshot: Path) -> None:
    with SnapshotSource(snapshot, SCHEMA, SETTINGS, None, NEWER) as source:
        evidence, _ = source.observe(existence("Gene NEW1"))

    assert [(e.stance, e.value) for e in evidence] == [(Stance.SILENT, "not in this release, and the graph is of 2024")]


@pytest.mark.slow
@pytest.mark.parametrize("date", [None, "2024"])
def test_an_audit_ends_as_single_checks_do(snapshot: Path, tmp_path: Path, date: str | None) -> None:
    nodes: dict[str, list[dict[str, Any]]] = {
        "Gene": [{"id": i, "name": "tumour protein 53"} for i in ("TP53", "NEW1", "A12M1", "Tp53")],
        "Protein": [{"id": i, "name": "TP53"} for i in ("P04637", "O60502")],
    }
    edges: dict[str, list[dict[str, Any]]] = {
        "Gene TRANSLATED_INTO Protein": [
            {"head": h, "tail": t, "source": "HGNC"}
            for h, t in (("NEW1", "P04637"), ("TP53", "O60502"), ("TP53", "P04637"), ("Tp53", "P04637"))
        ],
        "Protein ACTS_ON Protein": [{"head": "P04637", "tail": "O60502", "score": 0.5, "source": "STRING"}],
    }
    types = (CheckType.EXISTENCE, CheckType.ATTRIBUTE, CheckType.TRIPLE)
    store = MemoryStore(nodes, edges)
    audit = audited(store, tmp_path / "l.sqlite", snapshot, types=types, keep_all=True, graph_date=date)

    dates = graph_dates({}, SCHEMA, date)
    assert len(audit.findings) > 10
    with SnapshotSource(snapshot, SCHEMA, SETTINGS, None, dates) as source:
        for finding in audit.findings:
            alone = verdict(finding.task.type, *source.observe(finding.task))
            found = (finding.verdict.outcome, finding.verdict.reason)
            assert found == (alone.outcome, alone.reason), finding.task


@pytest.mark.slow
def test_dates_come_from_the_manifest_of_the_directory(tmp_path: Path) -> None:
    files = {"databases/Gene.tsv": ["2017-02", "2024 (NeurIPS D&B)"], "ontologies/Tissue.tsv": ["2021_01", "release 7"]}
    folder = tmp_path / "import"
    for path in (profile_dir("ckg") / "demo" / "import").rglob("*.tsv"):
        copy = folder / path.relative_to(profile_dir("ckg") / "demo" / "import")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    stated = {f: {"sources": [{"name": "x", "version": v} for v in versions]} for f, versions in files.items()}
    (folder / "manifest.json").write_text(json.dumps({"files": stated}))
    with EmbeddedStore(tmp_path / "graph.lbdb", CKG, create=True) as store:
        load_directory(folder, store, SETTINGS, quarantine=tmp_path / "q.jsonl")

        assert graph_dates(store.meta(), CKG) == {"Gene": "2024", "Tissue": "2021"}
        assert graph_dates(store.meta(), CKG, "2025-01")["Disease"] == "2025-01"


def test_a_graph_that_says_nothing_has_no_dates() -> None:
    assert graph_dates({}, CKG) == {}
    assert graph_dates({LOAD: DONE, "loaded": "{}"}, CKG) == {}


@pytest.mark.parametrize("date", ["yesterday", "24", "2024-13", "2024-06-99"])
def test_what_is_no_date_is_refused(date: str) -> None:
    assert kgcheck("audit", "--graph-date", date).code == 2


def test_letters_that_only_look_latin_are_brought_back(snapshot: Path) -> None:
    task = existence("Gene ТР53")  # noqa: RUF001
    with SnapshotSource(snapshot, SCHEMA, SETTINGS, None, NEWER) as source:
        change = propose(task, verdict(task.type, *source.observe(task)))

    assert change
    assert (change.kind, change.to) == (ChangeKind.REPOINT, "TP53")


def test_a_later_list_that_lacks_a_name_speaks(tmp_path: Path) -> None:
    facts = Facts()
    facts.release("hgnc", "2017-02", "2017-02", complete=True).entities("Gene", "CXorf40A").entity(
        "EOLA1", "Gene", "alias", now=["CXorf40A"]
    )
    facts.release("hgnc", "2025", "2025", complete=True).entities("Gene", "CXorf40A")
    found = facts.build(tmp_path)

    assert outcome_of(found, existence("Gene EOLA1"), NEWER) == (Outcome.REFUTED, Reason.ID_ALIAS)
    assert outcome_of(found, existence("Gene EOLA1"), {"Gene": "2026"}) == OLDER


NAMES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "both dated": (
        {"2016": "former name", "2020": "name of today"},
        {"name of today": "confirmed", "former name": "value_outdated", "neither": "value_mismatch"},
    ),
    "one undated": (
        {"2020": "dated name", "": "undated name"},
        {"dated name": "confirmed", "undated name": "conflicting_evidence", "neither": "value_mismatch"},
    ),
    "both undated": (
        {"": "one name", " ": "other name"},
        {"one name": "confirmed", "other name": "confirmed", "neither": "value_mismatch"},
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_of_two_releases_the_newer_one_speaks_and_one_without_a_date_never_beats_one_with_a_date(
    tmp_path: Path, name: str
) -> None:
    releases, expected = NAMES[name]
    facts = Facts()
    for date, stated in releases.items():
        release = facts.release("reactome", f"of {stated}", date.strip(), complete=True)
        release.entities("Pathway", "R-HSA-1").value("R-HSA-1", "name", stated)
    snapshot = facts.build(tmp_path)

    tasks = {value: attribute("Pathway R-HSA-1", "name", value) for value in expected}
    for value, found in zip(tasks, verdicts_on(snapshot, tasks.values()), strict=True):
        assert found.reason == expected[value]
        # Whoever supports a name states it.
        assert all(e.release == f"of {value}" for e in found.evidence if e.stance is Stance.SUPPORTS)
