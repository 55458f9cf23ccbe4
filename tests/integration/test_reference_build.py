"""Building a snapshot from the real files of providers, against counts of their lines."""

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from kgcheck.audit.judging import judge_tasks
from kgcheck.evidence.nodes import EvidenceJoin
from kgcheck.model import CheckType, Outcome
from kgcheck.reference.build import build_snapshot
from kgcheck.reference.snapshot import Snapshot, SourceRelease
from tests.support.facts import SCHEMA, SETTINGS, existence, verdict_on

pytestmark = pytest.mark.slow

Rows = list[tuple[Any, ...]]
Stanza = dict[str, list[str]]
TABLES = ("release", "topic", "covered", "entity", "value", "link", "lifecycle", "ancestor")


def query(snapshot: Path, sql: str, *values: object) -> Rows:
    with duckdb.connect(str(snapshot), read_only=True) as db:
        return db.execute(sql, list(values)).fetchall()


def ids(snapshot: Path, source: str, state: str) -> set[str]:
    return {r[0] for r in query(snapshot, "SELECT id FROM lifecycle WHERE source = ? AND state = ?", source, state)}


@pytest.fixture(scope="module")
def real(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    snapshot = tmp_path_factory.mktemp("real") / "reference.duckdb"
    build_snapshot(shared_data, snapshot, SCHEMA, SETTINGS)
    return snapshot


@pytest.fixture(scope="module")
def releases(real: Path) -> dict[str, SourceRelease]:
    with Snapshot(real, SCHEMA) as snapshot:
        # HGNC's file is also read by the recipe that serves graphs whose ids are CURIEs.
        return {release.file: release for release in snapshot.releases() if release.source != "hgnc_id"}


def stanzas(path: Path, prefix: str) -> Iterator[Stanza]:
    """The terms of an OBO file: values by tag."""
    for block in re.split(r"\n\[", path.read_text(encoding="utf-8"))[1:]:
        if block.startswith("Term]"):
            term: Stanza = {}
            for line in block.splitlines()[1:]:
                tag, _, value = line.strip().partition(": ")
                term.setdefault(tag, []).append(value)
            if term["id"][0].startswith(prefix):
                yield term


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def test_hgnc(real: Path, shared_data: Path) -> None:
    rows = table(shared_data / "ckg_sources/hgnc_entries_2017.tsv")
    approved = {r["Approved Symbol"] for r in rows if r["Status"] == "Approved"}
    withdrawn = {r["Approved Symbol"].removesuffix("~withdrawn") for r in rows if r["Status"] != "Approved"} - approved
    aliases = {a for r in rows if r["Status"] == "Approved" for a in r["Synonyms"].split(", ") if a}

    assert ids(real, "hgnc", "current") == approved
    assert ids(real, "hgnc", "withdrawn") == withdrawn
    assert ids(real, "hgnc", "alias") == aliases - approved - withdrawn
    assert (len(approved), len(rows)) == (40_602, 44_996)


def test_hgnc_names_every_symbol_to_see_instead(real: Path, shared_data: Path) -> None:
    rows = table(shared_data / "ckg_sources/hgnc_entries_2017.tsv")
    approved = {r["Approved Symbol"] for r in rows if r["Status"] == "Approved"}
    told: dict[str, set[str]] = {}
    for row in rows:
        symbol, _, withdrawn = row["Approved Symbol"].partition("~")
        named = row["Approved Name"].removeprefix("symbol withdrawn, see ")
        if withdrawn and named != row["Approved Name"]:
            told.setdefault(symbol, set()).update(named.replace(" and ", ", ").split(", "))
    plain = {symbol: new for symbol, new in told.items() if new <= approved and symbol not in approved}
    stored: dict[str, set[str]] = {
        i: set(s) for i, s in query(real, "SELECT id, successors FROM lifecycle WHERE source = 'hgnc'")
    }

    assert plain["EIF4F"] == {"EIF4E", "EIF4A2", "EIF4G1"}
    assert {symbol: stored[symbol] for symbol in plain} == plain


ROOT_OF_DISEASES = "DOID:4"
"""It has no row in the release of 2026, which lists terms with a parent; as their parent it is there."""


def test_disease_ontology_of_two_years(real: Path, shared_data: Path) -> None:
    old = list(stanzas(shared_data / "ontologies/HumanDO_2016.obo", "DOID:"))
    now = {r["id"] for r in table(shared_data / "ontologies/HumanDO_2026.tsv")} | {ROOT_OF_DISEASES}
    live = {t["id"][0] for t in old if "is_obsolete" not in t}
    obsolete = {t["id"][0] for t in old if "is_obsolete" in t}
    secondary = {a for t in old for a in t.get("alt_id", [])}

    assert ids(real, "do", "current") == now
    assert ids(real, "do", "dropped") == live - now
    assert ids(real, "do", "obsolete") == obsolete - now - live
    assert ids(real, "do", "secondary") == secondary - obsolete - now - live


def test_links_of_the_old_disease_ontology_no_longer_count(real: Path, releases: dict[str, SourceRelease]) -> None:
    assert "link" not in releases["ontologies/HumanDO_2016.obo"].rows
    assert releases["ontologies/HumanDO_2026.tsv"].rows["link"] == 12_296


def test_brenda_and_psi_mod(real: Path, shared_data: Path) -> None:
    for source, name, prefix in (("bto", "bto.obo", "BTO:"), ("psimod", "PSI-MOD.obo", "MOD:")):
        terms = list(stanzas(shared_data / "ontologies" / name, prefix))
        live = {t["id"][0] for t in terms if "is_obsolete" not in t}
        parents = {(t["id"][0], p.split()[0]) for t in terms if t["id"][0] in live for p in t.get("is_a", [])}

        assert ids(real, source, "current") == live
        assert ids(real, source, "obsolete") == {t["id"][0] for t in terms} - live
        assert set(query(real, "SELECT head, tail FROM link WHERE source = ?", source)) == parents


def test_psi_mod_names_what_replaces_a_term(real: Path, shared_data: Path) -> None:
    told = {}
    terms = list(stanzas(shared_data / "ontologies/PSI-MOD.obo", "MOD:"))
    live = {t["id"][0] for t in terms if "is_obsolete" not in t}
    for term in terms:
        remapped = [x.split('"')[1] for x in term.get("xref", []) if x.startswith("Remap:")]
        if term["id"][0] not in live and remapped and set(remapped) <= live:
            told[term["id"][0]] = remapped
    stored: dict[str, list[str]] = dict(
        query(real, "SELECT id, successors FROM lifecycle WHERE source = 'psimod' AND len(successors) > 0")
    )

    assert told["MOD:00415"] == ["MOD:00696"]
    assert {i: stored[i] for i in told} == told


def test_gene_ontology_by_namespace(real: Path, shared_data: Path) -> None:
    lines = (shared_data / "ckg_sources/go_terms_unipept_2024-06.tsv").read_text(encoding="utf-8").splitlines()
    told = Counter(
        (line.split("\t")[2].replace(" ", "_"), line.split("\t")[3].startswith("obsolete ")) for line in lines
    )
    stored = query(
        real, "SELECT namespace, state = 'obsolete', count(*) FROM lifecycle WHERE source = 'go' GROUP BY ALL"
    )

    assert {(namespace, gone): n for namespace, gone, n in stored} == told
    assert told["biological_process", False] + told["biological_process", True] == 32_905


def test_uniprot_entries(real: Path, shared_data: Path) -> None:
    text = (shared_data / "api/uniprot_flat_sample_10.txt").read_text(encoding="utf-8")
    entries = text.split("\n//\n")[:-1]
    accessions = [re.findall(r"\b\w+(?=;)", " ".join(re.findall(r"^AC   (.*)", e, re.M))) for e in entries]
    known = "Phosphoserine|Phosphothreonine|Phosphotyrosine|N-acetylmethionine|N6-acetyllysine"
    # Terms of diseases and tissues come from comments, see test_reference_providers.
    counted = (
        "SELECT relation, count(*) FROM link WHERE source = 'uniprot' AND NOT regexp_matches(tail, '^(BTO|DOID):')"
    )
    links: dict[str, int] = dict(query(real, f"{counted} GROUP BY ALL"))

    assert ids(real, "uniprot", "current") == {a[0] for a in accessions}
    assert query(
        real, "SELECT id, successors[1] FROM lifecycle WHERE source = 'uniprot' AND state = 'merged' ORDER BY id"
    ) == (sorted((secondary, a[0]) for a in accessions for secondary in a[1:]))
    assert len(accessions) == links["sequence"] == 10
    assert links["structure"] == len(re.findall(r"^DR   PDB;", text, re.M))
    assert links["go_annotation"] == len(re.findall(r"^DR   GO;", text, re.M))
    assert links["pathway"] == len(re.findall(r"^DR   Reactome;", text, re.M))
    assert links["modified_site"] == len(re.findall(rf'^FT   MOD_RES .*\n.*/note="(?:{known})', text, re.M)) == 16


def test_stale_diseases_on_the_edges_of_a_graph(real: Path, shared_data: Path) -> None:
    now = {r["id"] for r in table(shared_data / "ontologies/HumanDO_2026.tsv")} | {ROOT_OF_DISEASES}
    edges = table(shared_data / "ckg_import/databases/Protein_Disease_associated_with_integrated.tsv")
    stale = [r for r in edges if r["END_ID"].startswith("DOID:") and r["END_ID"] not in now]
    pairs = sorted({(r["START_ID"], r["END_ID"]) for r in edges if r["END_ID"].startswith("DOID:")})
    disease, protein = SCHEMA.label("Disease"), SCHEMA.label("Protein")

    with duckdb.connect() as db:
        join = EvidenceJoin(db, real)
        listed = pa.table({"head": [p[0] for p in pairs], "tail": [p[1] for p in pairs]})
        db.register("pairs", listed)
        join.tables.add("task", "SELECT row_number() OVER () AS task, * FROM pairs")
        join.edges(SCHEMA.pattern("Protein", "ASSOCIATED_WITH", "Disease"), protein, disease)
        judge_tasks(db, CheckType.TRIPLE)
        found = db.execute(
            "SELECT count(*), count(DISTINCT tail) FROM judged JOIN task USING (task) WHERE outcome = 'refuted'"
        ).fetchall()

    assert (len(stale), len({r["END_ID"] for r in stale})) == (478, 12)
    assert found == [(394, 12)]
    for identifier in {r["END_ID"] for r in stale}:
        assert verdict_on(real, existence(f"Disease {identifier}")).outcome is Outcome.REFUTED


def test_every_file_is_pinned(real: Path, releases: dict[str, SourceRelease], shared_data: Path) -> None:
    for file, release in releases.items():
        assert release.sha256 == hashlib.sha256((shared_data / file).read_bytes()).hexdigest()
        assert release.name
        assert release.licence
        assert release.release
    told = {(r.source, r.release, r.released) for r in releases.values()}

    assert told >= {
        ("bto", "2021-10-26", "2021-10-23"),
        ("do", "2015-05-14", "2015-05-14"),
        ("do", "2026 (version not stated)", "2026"),
        ("psimod", "1.031.6", "2021-06-13"),
        ("uniprot", "entries up to 2021-02-10", "2021-02-10"),
        ("hgnc", "2017-02", "2017-02"),
    }


def test_network_export_with_another_cut_off_covers_nothing(real: Path) -> None:
    covering = query(
        real, "SELECT DISTINCT file FROM covered JOIN release ON release.id = release_id WHERE topic = 'association'"
    )

    assert {Path(str(file)).name.split("_")[0] for (file,) in covering} == {"dsx", "fert", "wsmm"}


def test_building_twice_gives_the_same(real: Path, shared_data: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.duckdb"
    build_snapshot(shared_data, again, SCHEMA, SETTINGS)

    with duckdb.connect() as db:
        db.execute(f"ATTACH '{real}' AS a (READ_ONLY); ATTACH '{again}' AS b (READ_ONLY)")
        for name in TABLES:
            columns = "* EXCLUDE (built_at, retrieved_at)" if name == "release" else "*"
            different = f"(SELECT {columns} FROM a.{name} EXCEPT ALL SELECT {columns} FROM b.{name})"
            counted = f"SELECT (SELECT count(*) FROM a.{name}) - (SELECT count(*) FROM b.{name})"
            assert db.execute(f"FROM {different}").fetchall() == []
            assert db.execute(counted).fetchall() == [(0,)]
