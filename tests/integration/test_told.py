"""What a person is told beside the verdicts: what was not looked at, what is what, how old, and where to look."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck import clock
from kgcheck.audit.plan import Unit, make_plan, sources_of
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.reads import unknown_names
from kgcheck.graph.store import META_LABEL, Counts
from kgcheck.ledger.ledger import Ledger
from kgcheck.model import CheckType, Outcome
from kgcheck.options import AuditOptions
from kgcheck.profile.schema import load_schema
from kgcheck.report.render import COLUMNS, STANDING, findings_csv
from tests.integration.import_directory import DISEASES, GENES, PARENTS, ImportDirectory
from tests.support.audits import MemoryStore, audited, demo, demo_audit, demo_audited, kgcheck
from tests.support.facts import Facts
from tests.support.reports import RUN, Page, finding, tally, written

CKG = load_schema()


# --- what the profile does not know


def test_unknown_labels_relations_and_properties_are_counted() -> None:
    nodes = [
        (["Protein"], ["id", "name", "colour"], 3),
        (["Protein"], ["id", "colour", "smell"], 2),
        (["Drug"], ["id", "dose"], 7),
        (["Protein", "Old"], ["id"], 1),
        ([META_LABEL], ["key", "value"], 4),
    ]
    edges = [(["ACTS_ON"], ["score", "weight"], 5), (["TREATS"], ["dose"], 9), (["ACTS_ON"], ["source"], 8)]

    assert unknown_names(CKG, nodes, edges) == {
        "label Drug": 7,
        "label Old": 1,
        "relation TREATS": 9,
        "property ACTS_ON.weight": 5,
        "property Protein.colour": 5,
        "property Protein.smell": 2,
    }


def test_an_embedded_store_tells_tables_and_columns_that_the_profile_lacks(tmp_path: Path) -> None:
    import ladybug

    with ladybug.Database(str(tmp_path / "g.lbdb")) as db, ladybug.Connection(db) as c:
        for text in (
            "CREATE NODE TABLE Gene(id STRING PRIMARY KEY, name STRING, family STRING, synonyms STRING[],"
            " taxid STRING, colour STRING)",
            "CREATE NODE TABLE `my Drug`(id STRING PRIMARY KEY, dose DOUBLE)",
            "CREATE REL TABLE TREATS(FROM `my Drug` TO Gene, dose DOUBLE)",
            "CREATE (:Gene {id: 'TP53', colour: 'red'})",
            "CREATE (:Gene {id: 'MDM2'})",
            "CREATE (:`my Drug` {id: 'd'})",
            "MATCH (a:`my Drug`), (b:Gene) CREATE (a)-[:TREATS]->(b)",
        ):
            c.execute(text)

    with EmbeddedStore(tmp_path / "g.lbdb", CKG) as store:
        assert store.unknown() == {"label my Drug": 1, "relation TREATS": 2, "property Gene.colour": 1}


def test_run_report_and_json_tell_what_is_unknown(tmp_path: Path) -> None:
    class Other(MemoryStore):
        def unknown(self) -> dict[str, int]:
            return {"label Drug": 1234, "property Protein.colour": 2}

    store = Other({"Protein": [{"id": "P04637"}]}, {})
    audited(store, tmp_path / "l.sqlite", types=(CheckType.STRUCTURE,))

    assert (
        "  the profile does not know: label Drug: 1,234\n" in kgcheck("report", "--ledger", tmp_path / "l.sqlite").err
    )
    run = json.loads(kgcheck("report", "--format", "json", "--ledger", tmp_path / "l.sqlite").out)["run"]
    assert run["unknown"] == {"label Drug": 1234, "property Protein.colour": 2}
    html = kgcheck("report", "--format", "html", "--ledger", tmp_path / "l.sqlite").out
    assert "label Drug: 1,234" in Page(html).text
    assert "| label Drug | 1,234 |" in kgcheck("report", "--format", "markdown", "--ledger", tmp_path / "l.sqlite").out


# --- which run, and how it is shown


def test_warnings_are_folded() -> None:
    run = RUN.model_copy(update={"warnings": ("one is old", "two is old")})
    page = Page(written("html", run=run))
    text = written("markdown", run=run)

    assert "2 warnings" in page.text
    assert page.tags["details"] > Page(written("html")).tags["details"]
    assert "<details><summary>2 warnings</summary>\n\n- one is old\n- two is old\n\n</details>" in text


@pytest.mark.parametrize(("counted", "told"), [(1, "1 checked so far, 1 refuted."), (0, "Nothing was checked yet.")])
def test_words_stay_apart_in_a_report_of_a_run_that_goes_on(counted: int, told: str) -> None:
    tallies = [tally(counted, Outcome.REFUTED)] if counted else []
    run = RUN.model_copy(update={"finished": None})

    assert told in written("markdown", [], tallies, run)
    assert told in " ".join(Page(written("html", [], tallies, run)).text.split())
    assert "No finding yet." in written("markdown", [], tallies, run)


def test_names_stand_beside_ids_everywhere(tmp_path: Path) -> None:
    where = ("--store", demo().store, "--reference", demo().reference)
    said = kgcheck("report", "--limit", 93, cwd=demo_audit())
    rows = [f.as_row() for f in demo_audited().findings if f.task.object]

    assert "P02649 ACTS_ON P05067 (APOE, APP)" in " ".join(said.out.split())
    assert ("APOE", "APP") in {(r["subject"].get("name"), r["object"].get("name")) for r in rows}
    for form in ("html", "markdown", "csv"):
        assert "APOE" in kgcheck("report", "--format", form, cwd=demo_audit()).out
    checked = kgcheck("check", "P02649 ACTS_ON P05067", "--format", "json", *where, cwd=tmp_path)
    assert json.loads(checked.out)["object"]["name"] == "APP"


@pytest.mark.parametrize(
    ("edge", "outcome", "graph", "code"),
    [
        ("P02649 ACTS_ON P05067", "supported", "lacks_it", 1),
        ("DOID:9120 HAS_PARENT DOID:10652", "refuted", "rightly_absent", 0),
        ("DOID:9120 HAS_PARENT DOID:0060158", "refuted", "has_it_wrongly", 1),
    ],
)
def test_a_check_tells_of_the_statement_and_beside_it_of_the_graph(
    tmp_path: Path, edge: str, outcome: str, graph: str, code: int
) -> None:
    where = ("--store", demo().store, "--reference", demo().reference)
    checked = kgcheck("check", edge, "--format", "json", *where, cwd=tmp_path)
    told = json.loads(checked.out)

    assert (told["outcome"], told["graph"], checked.code) == (outcome, graph, code)


def test_links_of_string_lead_to_the_pair() -> None:
    rows = [f.as_row() for f in demo_audited().findings if f.task.relation == "ACTS_ON"]
    urls = {e["url"]: r for r in rows for e in r["evidence"] if e["source"] == "string"}

    assert urls
    for url, row in urls.items():
        assert url.startswith("https://string-db.org/cgi/network?identifiers=")
        assert {row["subject"]["id"], row["object"]["id"]} == set(url.split("=")[1].split("&")[0].split("%0d"))
    assert next(iter(urls)).replace("&", "&amp;") in kgcheck("report", "--format", "html", cwd=demo_audit()).out


# --- CSV


@given(st.text(st.sampled_from("=+-@\t\r\n ,;\"'a1\u202e\x1b\uff1d"), max_size=8))
def test_no_cell_of_csv_is_a_formula(text: str) -> None:
    name = "x" + "".join(c for c in text if ord(c) >= 32)
    (header, row) = csv.reader(io.StringIO(findings_csv([finding(name[1:] or "x", said=text, value=text, label=text)])))

    assert tuple(header) == COLUMNS + STANDING
    assert len(row) == len(COLUMNS + STANDING)
    assert not [cell for cell in row if cell.lstrip()[:1] in ("=", "+", "-", "@", "\uff1d")]
    assert not [cell for cell in row if any(ord(c) < 32 or c == "\u202e" for c in cell)]


# --- how old


def test_sources_of_a_plan() -> None:
    counts = Counts(nodes={"Gene": 1, "Protein": 1}, edges={"Gene TRANSLATED_INTO Protein": 1})

    def asked(*types: CheckType) -> set[str]:
        return sources_of(make_plan(AuditOptions(types=types), CKG, counts), CKG)

    assert asked(CheckType.STRUCTURE) == set()
    # The papers that edges cite are no source of a snapshot, and no service has them for a team.
    assert sources_of([Unit(type=CheckType.EVIDENCE, pattern=CKG.relations[0])], CKG) == set()
    assert asked(CheckType.EXISTENCE) == {"hgnc", "uniprot"}
    assert {"hgnc", "uniprot"} <= asked(CheckType.TRIPLE)
    assert "string" not in asked(CheckType.TRIPLE, CheckType.ATTRIBUTE)


@pytest.mark.slow
def test_evidence_says_when_its_file_was_fetched_and_when_that_was_pinned(tmp_path: Path) -> None:
    facts = Facts()
    facts.release("uniprot").entity("P04637", "Protein", "deleted")
    folder = facts.write(tmp_path / "facts")
    for path in folder.iterdir():
        os.utime(path, (1_600_000_000, 1_600_000_000))
    assert kgcheck("reference", "build", tmp_path, "--out", tmp_path / "r.duckdb").code == 0
    audited(MemoryStore({"Protein": [{"id": "P04637"}]}, {}), tmp_path / "l.sqlite", tmp_path / "r.duckdb")

    with Ledger(tmp_path / "l.sqlite") as ledger:
        (found,) = [f for f in ledger.findings(ledger.run("latest")) if f.task.type is CheckType.EXISTENCE]
    (evidence,) = found.verdict.evidence
    assert evidence.retrieved_at == datetime(2020, 9, 13, 12, 26, 40, tzinfo=UTC)
    assert evidence.pinned_at
    assert (clock.exact_now() - evidence.pinned_at).total_seconds() < 3600
    said = kgcheck("explain", found.fingerprint, "--ledger", tmp_path / "l.sqlite").out
    assert "2020-09-13, pinned 20" in " ".join(said.split())


# --- files that may be cut


@pytest.mark.slow
def test_a_last_line_without_its_end_is_warned_about(tmp_path: Path) -> None:
    directory = ImportDirectory(tmp_path / "import")
    directory.write(GENES, directory.row(GENES, ID="TP53", name="tumor protein p53"))
    path = tmp_path / "import" / GENES
    assert "warning" not in kgcheck("load", directory.folder, "--store", tmp_path / "a.lbdb", cwd=tmp_path).err

    cut = path.read_bytes().rstrip()[:-1]
    for name, content in ((path.name, cut), (f"{path.name}.gz", gzip.compress(cut))):
        path.unlink()
        path = path.with_name(name)
        path.write_bytes(content)
        said = kgcheck("load", directory.folder, "--store", tmp_path / f"{len(name)}.lbdb", cwd=tmp_path)

        assert f"warning: {GENES}: its last line has no line end: it may be cut inside its last field\n" in said.err


def test_a_file_of_its_header_alone_that_costs_edges_is_warned_about(tmp_path: Path) -> None:
    directory = ImportDirectory(tmp_path / "import")
    directory.write(PARENTS, *(directory.row(PARENTS, start=f"DOID:{n}", end="DOID:4") for n in (1, 2)))

    said = kgcheck("load", directory.folder, "--store", tmp_path / "g.lbdb", "--format", "json", cwd=tmp_path)

    assert json.loads(said.out)["warnings"] == [f"{DISEASES}: no row but the header, and 2 edges end at a Disease"]
