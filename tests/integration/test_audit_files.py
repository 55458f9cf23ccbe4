"""``kgcheck audit FILES``: graphs in their owners' forms, without a profile or a load."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from pyarrow import parquet

from kgcheck import Workspace
from kgcheck.errors import StoreError, UsageError
from kgcheck.forms.draft import MISSING_NODE, NODE
from kgcheck.forms.store import FileStore, graph_files
from kgcheck.graph.store import Reading
from kgcheck.model import Outcome, Ref, Triple
from kgcheck.settings import Settings
from kgcheck.standards.biolink import model
from tests.support import ROOT
from tests.support.audits import kgcheck
from tests.support.neo4j_fixtures import Neo4jTarget

NODES = """id\tcategory\tname\tin_taxon
HGNC:11998\tbiolink:NamedThing|biolink:Gene\tTP53\tNCBITaxon:9606
HGNC:1101\tbiolink:NamedThing|biolink:Gene\tBRCA2\tNCBITaxon:9606
MONDO:0007254\tbiolink:Disease\tbreast cancer\t
MONDO:0018875\tbiolink:Disease\tLi-Fraumeni syndrome\t
MONDO:0007255\tbiolink:Disease\tbreast cancer
"""
EDGES = """id\tsubject\tpredicate\tobject\tprimary_knowledge_source
e1\tHGNC:11998\tbiolink:gene_associated_with_condition\tMONDO:0018875\tinfores:omim
e2\tHGNC:1101\tbiolink:gene_associated_with_condition\tMONDO:0007254\tinfores:omim
e3\tHGNC:1101\tbiolink:gene_associated_with_condition\tMONDO:0007254\tinfores:omim
e4\tHGNC:1101\tbiolink:gene_associated_with_condition\tMONDO:9999999\tinfores:omim
e5\tMONDO:0018875\tbiolink:subclass_of\tMONDO:0018875\tinfores:mondo
e6\tHGNC:1101\tbiolink:interacts_with\tHGNC:1101\tinfores:intact
e7\tHGNC:1101\tbiolink:is_linked_to\tHGNC:11998\tinfores:intact
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KGCHECK_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    folder = tmp_path / "graph"
    folder.mkdir()
    (folder / "monarch_nodes.tsv").write_text(NODES, encoding="utf-8")
    (folder / "monarch_edges.tsv").write_text(EDGES, encoding="utf-8")
    return folder


def audited(*arguments: object, cwd: Path) -> tuple[int, dict[str, Any], str]:
    said = kgcheck("audit", *arguments, "--format", "json", cwd=cwd)
    return said.code, json.loads(said.out), said.err


def reasons(report: dict[str, Any], outcome: str = "refuted") -> Counter[str]:
    return Counter(f["reason"] for f in report["findings"] if f["outcome"] == outcome)


def test_a_folder_is_recognised_and_audited_where_it_lies(graph: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in graph.iterdir()}

    code, report, err = audited("graph", cwd=tmp_path)

    assert code == 1
    assert reasons(report) == {"dangling_edge": 1, "parallel_duplicate": 1, "unknown_predicate": 1}
    assert reasons(report, "insufficient")["unexplained_loop"] == 2
    assert reasons(report, "insufficient")["shared_name"] == 1
    assert "monarch_edges.tsv: KGX, edges, 0 nodes, 7 edges" in err
    assert "monarch_nodes.tsv: KGX, nodes, 5 nodes, 0 edges" in err
    assert "not looked at: whether 7 edges hold, nor whether the ids exist (MONDO 4, HGNC 2)" in err
    assert {path: path.read_bytes() for path in graph.iterdir()} == before
    (dangling,) = (f for f in report["findings"] if f["reason"] == "dangling_edge")
    assert (dangling["subject"]["id"], dangling["object"]["label"]) == ("HGNC:1101", MISSING_NODE)


def test_a_name_in_two_spellings_is_told_by_the_rarer_one(graph: Path, tmp_path: Path) -> None:
    nodes, edges = graph / "monarch_nodes.tsv", graph / "monarch_edges.tsv"
    nodes.write_text(NODES + "MONDO:0000001\tbiolink:DISEASE\tdisease\n", encoding="utf-8")
    edges.write_text(
        EDGES + "e8\tMONDO:0018875\tbiolink:subclass of\tMONDO:0000001\tinfores:mondo\n"
        "e9\tMONDO:0007254\tbiolink:subclass_of\tMONDO:0000001\tinfores:mondo\n",
        encoding="utf-8",
    )

    _, report, err = audited("graph", cwd=tmp_path)

    told = {f["value"] for f in report["findings"] if f["reason"] == "two_spellings"}
    assert told == {
        "biolink:DISEASE beside biolink:Disease (3); 1 node",
        "biolink:subclass_of__2 beside biolink:subclass_of (2); 1 edge",
    }
    (unknown,) = (f for f in report["findings"] if f["reason"] == "unknown_category")
    assert unknown["value"].startswith("biolink:DISEASE is no class")
    assert reasons(report)["unknown_predicate"] == 1, "of is_linked_to, and of none that is told apart by a number"
    assert "relation 'biolink:subclass of' (1) beside 'biolink:subclass_of' (2): told apart as" in err


def test_what_was_found_is_explained_decided_and_compared_as_in_any_graph(graph: Path, tmp_path: Path) -> None:
    _, first, _ = audited("graph", cwd=tmp_path)
    loops = [f for f in first["findings"] if f["reason"] == "unexplained_loop"]
    loop = next(f for f in loops if f["relation"] == "biolink:subclass_of")
    assert "MONDO:0018875" in kgcheck("explain", loop["fingerprint"], cwd=tmp_path).out

    edges = graph / "monarch_edges.tsv"
    edges.write_text(EDGES.replace("e5\tMONDO:0018875", "e5\tMONDO:0007254"), encoding="utf-8")
    _, second, _ = audited("graph", cwd=tmp_path)

    diff = json.loads(kgcheck("diff", first["run"]["id"], second["run"]["id"], "--format", "json", cwd=tmp_path).out)
    assert reasons(second, "insufficient")["unexplained_loop"] == 1
    assert [f["fingerprint"] for f in diff["findings"] if f["state"] in ("fixed", "gone")] == [loop["fingerprint"]]


def test_rows_that_cannot_be_read_are_kept_and_too_many_end_with_3(graph: Path, home: Path, tmp_path: Path) -> None:
    (graph / "monarch_edges.tsv").write_text(
        "subject\tpredicate\tobject\nHGNC:11998\tbiolink:related_to\tMONDO:0007254\n"
        "HGNC:1101\tbiolink:related_to\tMONDO:0018875\nHGNC:1101\t\tMONDO:0018875\nHGNC:1101\tp\tMONDO:0018875\tx\n",
        encoding="utf-8",
    )
    code, _, err = audited("graph", "--fail-on", "never", cwd=tmp_path)

    assert code == 3
    assert "2 rows in quarantine: 1 field_count, 1 no_end" in err
    assert "2 of 9 rows cannot be read, more than a tenth" in err
    (kept,) = home.glob("quarantine-*.jsonl")
    rows = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    assert [(row["line"], row["reason"]) for row in rows] == [(4, "no_end"), (5, "field_count")]


AFFECTS = "subject\tpredicate\tobject\nHGNC:1\tbiolink:affects\tHGNC:2\n"
SSSOM = "subject_id\tpredicate_id\tobject_id\tpredicate_modifier\tmapping_justification\n" + "".join(
    f"MONDO:{n}\tskos:exactMatch\tDOID:{to}\t{denied}\tsemapv:x\n" for n, to, denied in ((1, 1, "Not"), (2, 2, ""))
)
# Files by name; nodes, edges and refuted reasons that a run tells of; what it says.
Small = tuple[dict[str, str], dict[str, int], dict[str, int], dict[str, int], str]
SMALL: dict[str, Small] = {
    "edges without nodes": (
        {"pairs.csv": "from,to,kind\na,b,x\nb,c,x\nb,c,x\n"},
        *({NODE: 3}, {"Node edge Node": 3}, {"parallel_duplicate": 1}),
        "pairs.csv: from as head, to as tail, no relation",
    ),
    "negated statements": (
        {"e.tsv": "subject\tpredicate\tobject\tnegated\nA:1\tp\tB:1\tTrue\nA:1\tp\tB:2\tFalse\n"},
        *({NODE: 2}, {"Node p Node": 1}, {}),
        "e.tsv: 1 statement that something does not hold: no edges",
    ),
    "a node of which something is denied alone": (
        {"a.sssom.tsv": SSSOM},
        *({NODE: 4}, {"Node skos:exactMatch Node": 1}, {}),
        "1 statement that something does not hold",
    ),
    "no header": (
        {"Binds-part000.csv": "g1;g2;Binds\ng1;g3;Binds\n"},
        *({NODE: 3}, {"Node Binds Node": 2}, {}),
        "no header is there for Binds-part000.csv: what a column holds is a guess",
    ),
    "names that no schema has": (
        {"kg.csv": "relation,x_id,x_type,y_id,y_type\ndrug protein,DB1,drug,10,gene/protein\n"},
        *({"drug": 1, "gene_protein": 1}, {"drug drug_protein gene_protein": 1}, {}, ""),
    ),
    "names of files and signs in comments": (
        {
            "citation_edges.tsv": AFFECTS,
            "edges.tsv": f"# by\u2028# us\n{AFFECTS}HGNC:1\tx:y\tHGNC:3\n",
            "README.md": "x",
        },
        *({NODE: 3}, {"Node biolink:affects Node": 2, "Node x:y Node": 1}, {"parallel_duplicate": 1}, ""),
    ),
    "one id under two categories": (
        {"nodes.tsv": "id\tcategory\nHGNC:1\tx:Gene\nHGNC:1\tx:Protein\nHGNC:2\tx:Gene\n", "edges.tsv": AFFECTS},
        *({"x:Gene": 2, "x:Protein": 1}, {"x:Gene biolink:affects x:Gene": 1}, {"id_on_two_labels": 1}, ""),
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_small_graph(name: str, tmp_path: Path) -> None:
    files, nodes, edges, found, told = SMALL[name]
    (tmp_path / "in").mkdir()
    for file, text in files.items():
        (tmp_path / "in" / file).write_text(text, encoding="utf-8")

    _, report, err = audited("in", cwd=tmp_path)

    assert (report["run"]["nodes"], report["run"]["edges"]) == (nodes, edges)
    kinds = "dangling_edge", "parallel_duplicate", "orphan_node", "id_on_two_labels"
    assert {kind: n for kind, n in Counter(f["reason"] for f in report["findings"]).items() if kind in kinds} == found
    assert told in err


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("a.tsv", "", "a.tsv is empty"),
        ("a.txt", "no graph at all\n", "a.txt is of no form that is known"),
        ("a.csv", "city,country\nBonn,Germany\n", "a.csv: no two columns are known as the ends of an edge"),
        ("a.tsv", "id\tcategory\n", "a.tsv holds no nodes and no edges"),
    ],
)
def test_what_is_no_graph_is_one_clear_line(name: str, text: str, wrong: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")

    said = kgcheck("audit", name, cwd=tmp_path)

    assert said.refuses(wrong)
    assert "Traceback" not in said.err


def test_among_others_a_file_of_no_form_is_left_out_and_the_audit_is_incomplete(graph: Path, tmp_path: Path) -> None:
    (graph / "notes.txt").write_text("no graph at all\n", encoding="utf-8")

    code, report, err = audited("graph", "--fail-on", "never", cwd=tmp_path)

    assert (code, len(report["findings"]) > 3) == (3, True)
    assert "notes.txt is of no form that is known" in err


def test_files_and_a_store_are_not_both_the_graph(graph: Path, tmp_path: Path) -> None:
    assert kgcheck("audit", "graph", "--store", "x.lbdb", cwd=tmp_path).refuses("FILES are the graph")
    assert kgcheck("audit", "graph", "none.tsv", cwd=tmp_path).refuses("there is no file none.tsv")
    assert kgcheck("audit", "graph", "--type", "triple", cwd=tmp_path).refuses("nothing decides triple")


def test_files_are_only_read(graph: Path, tmp_path: Path) -> None:
    audited("graph", cwd=tmp_path)
    assert kgcheck("decide", "--reason", "parallel_duplicate", "--yes", "accept", cwd=tmp_path).code == 0

    said = kgcheck("patch", "make", "--accepted", "--store", f"files:{graph}", "--out", "p.json", cwd=tmp_path)

    assert said.refuses(f"files:{graph} are files, which are only read")


def test_a_run_over_files_that_was_cut_off_goes_on(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kgcheck.audit.worker import Worker

    def cut(self: Worker, *arguments: object) -> None:
        raise StoreError("cut off", "")

    with monkeypatch.context() as patched:
        patched.setattr(Worker, "compare", cut)
        patched.setattr(Worker, "finish", cut)
        assert kgcheck("audit", "graph", cwd=tmp_path).code == 2
    code, report, _ = audited("graph", "--resume", cwd=tmp_path)

    assert (code, reasons(report)["dangling_edge"]) == (1, 1)


def test_a_store_of_files_answers_what_a_graph_store_does(graph: Path) -> None:
    with FileStore([graph], Settings()) as store:
        gene, disease = store.schema.label("biolink:Gene"), store.schema.label("biolink:Disease")
        pattern = store.schema.pattern("biolink:Gene", "biolink:gene_associated_with_condition", "biolink:Disease")
        tp53, cancer = Ref(label=gene.name, id="HGNC:11998"), Ref(label=disease.name, id="MONDO:0018875")

        stated = {"category": "biolink:NamedThing|biolink:Gene", "in_taxon": "NCBITaxon:9606"}
        assert store.node(tp53) == {"id": "HGNC:11998", "name": "TP53", **stated}
        assert store.node(Ref(label=gene.name, id="HGNC:5")) is None
        assert store.neighbours(tp53, pattern, "out", 5) == ["MONDO:0018875"]
        assert store.neighbours(cancer, pattern, "in", 5) == ["HGNC:11998"]
        edge = Triple(head=tp53, relation=pattern.type, tail=cancer)
        assert store.edges(edge) == [{"primary_knowledge_source": "infores:omim"}]
        assert [hop.end for hop in store.hops(["HGNC:11998"], pattern, "out")] == ["MONDO:0018875"]
        assert store.counts().total_edges == 7
        named, state = store.store_id(), store.state()
        with pytest.raises(StoreError, match="needs a graph store"):
            store.query(Reading("", {}, ()), 1, 1.0)
    (graph / "monarch_edges.tsv").write_text(EDGES.replace("e7", "e8"), encoding="utf-8")
    with FileStore([graph], Settings()) as changed:
        assert changed.store_id() == named
        assert changed.state() != state


def test_a_workspace_takes_files_too(graph: Path) -> None:
    with Workspace(store=f"files:{graph}") as workspace:
        result = workspace.audit()

        assert result.outcomes[Outcome.REFUTED] == 3
        assert any("not looked at" in note for note in result.notes)
        with pytest.raises(UsageError, match="nothing decides"):
            workspace.audit(["triple"])


def test_a_comma_may_be_part_of_the_name_of_a_file(graph: Path, tmp_path: Path) -> None:
    (tmp_path / "a,b.tsv").write_text("x", encoding="utf-8")

    assert graph_files(str(graph)).paths == graph_files("bolt://localhost").paths == ()
    assert graph_files(f"files:{tmp_path / 'a,b.tsv'}").paths == (tmp_path / "a,b.tsv",)
    both = (graph / "monarch_nodes.tsv", graph / "monarch_edges.tsv")
    assert graph_files(f"files:{both[0]},{both[1]}").paths == both


def test_columns_are_what_somebody_says_they_are(tmp_path: Path) -> None:
    rows = ["drug name\tscore\tindication", "aspirin\t1\tpain", "ibuprofen\t2\tpain", "aspirin\t3\tfever"]
    (tmp_path / "a.tsv").write_text("\n".join(rows), encoding="utf-8")
    named = ("--column", "subject=drug name", "--column", "object=indication")

    code, report, _ = audited("a.tsv", *named, "--fail-on", "never", cwd=tmp_path)
    other = kgcheck("audit", "a.tsv", *named, "--column", "predicate=kind", cwd=tmp_path)
    drafted = kgcheck("profile", "init", "a.tsv", *named, "--out", "mine", cwd=tmp_path)

    assert (code, sum(report["run"]["nodes"].values()), sum(report["run"]["edges"].values())) == (0, 4, 3)
    assert (other.code, "no table has a column 'kind'" in other.err) == (2, True)
    assert (drafted.code, (tmp_path / "mine/graph.toml").exists()) == (0, True)
    with Workspace(store=report["run"]["store"], ledger=tmp_path / "l.sqlite") as workspace:
        assert workspace.graph.counts().total_edges == 3


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("subject=gene", "no table that could be read has a column 'gene'; bad.tsv"),
        *((wrong, "is not ROLE=NAME") for wrong in ("drug", "subject", "head=drug", "subject=", "=drug")),
    ],
)
def test_a_column_that_is_none_is_told(column: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "good.tsv").write_text("subject\tpredicate\tobject\nA:1\tx:y\tB:1\n")
    (tmp_path / "in" / "bad.tsv").write_bytes(b"gene\tdrug\nA:1\tB:1\t3\n\x00\xff\n")

    done = kgcheck("audit", "in", "--column", column, cwd=tmp_path)

    assert (done.code, told in done.err) == (2, True)


def test_a_release_is_compared_with_the_one_before(graph: Path, tmp_path: Path) -> None:
    newer = tmp_path / "newer"
    shutil.copytree(graph, newer)
    edges = (
        EDGES.partition("e7")[0]
        .replace("e3\t", "e3\tHGNC:11998\tbiolink:affects\tMONDO:8888888\tx\ne9\t")
        .replace("e5\tMONDO:0018875", "e5\tMONDO:0007254")
    )
    (newer / "monarch_edges.tsv").write_text(edges, encoding="utf-8")
    named = ("--release-of", "monarch", "--fail-on", "new")

    first, _, _ = audited("graph", *named, cwd=tmp_path)
    again, _, _ = audited("graph", *named, cwd=tmp_path)
    worse, _, _ = audited("newer", *named, cwd=tmp_path)

    assert (first, again, worse) == (1, 0, 1)
    diff = json.loads(kgcheck("diff", "--format", "json", cwd=tmp_path).out)
    states = {(f["reason"], f["state"]) for f in diff["findings"]}
    assert ("dangling_edge", "new") in states
    assert ("unexplained_loop", "gone") in states
    counted = {(row["part"], row["name"]): (row["before"], row["after"]) for row in diff["parts"]}
    assert counted == {
        ("edges", f"biolink:Gene biolink:affects {MISSING_NODE}"): (0, 1),
        ("edges", "biolink:Gene biolink:is_linked_to biolink:Gene"): (1, 0),
        ("source", "infores:intact"): (2, 1),
        ("source", "x"): (0, 1),
        ("namespace", "MONDO"): (4, 5),
    }
    assert diff["parts"][0]["after"] == 0, "what vanished comes first"
    assert "| source | x | 0 | 1 |" in kgcheck("report", "--format", "markdown", cwd=tmp_path).out
    assert "source infores:intact</th><td>2</td><td>1</td>" in kgcheck("report", "--format", "html", cwd=tmp_path).out
    assert "infores:intact" in kgcheck("diff", cwd=tmp_path).out
    assert kgcheck("audit", "graph", "--release-of", "a/b", cwd=tmp_path).refuses("'a/b' is no name of a graph")


def test_limits_stand_in_kgcheck_toml(graph: Path, tmp_path: Path) -> None:
    limits = '[audit]\nfail_on = "never"\n[[audit.thresholds]]\nreason = "dangling_edge"\nerror_if = "> {}"\n'
    ends, crossed = [], []
    for most in (1, 0):
        (tmp_path / "kgcheck.toml").write_text(limits.format(most), encoding="utf-8")
        said = kgcheck("audit", "graph", "--format", "junit", cwd=tmp_path)
        ends.append(said.code)
        crossed.append(said.out.count('type="threshold"'))
        assert "--fail-on never (kgcheck.toml)" in said.err
        assert ("error: 1 refuted dangling_edge" in said.err) == (most == 0)
        assert said.out.count("<failure") == crossed[-1]

    assert (ends, crossed) == ([0, 1], [0, 1])
    assert kgcheck("audit", "graph", "--fail-on", "refuted", cwd=tmp_path).code == 1
    (tmp_path / "kgcheck.toml").write_text('[audit]\nfail_on = "all"\n', encoding="utf-8")
    refused = kgcheck("audit", "graph", cwd=tmp_path)
    assert (refused.code, "audit.fail_on: there is no threshold 'all'" in refused.err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ("--release-of", "monarch"),
        ("--column", "subject=a"),
        ("bolt://neo4j:hunter2@localhost:1", "--column", "subject=a"),
        ("bolt://neo4j:hunter2@localhost:1", "--release-of", "monarch"),
        ("bolt://neo4j:hunter2@localhost:1", "graph"),
        ("graph", "bolt://neo4j:hunter2@localhost:1", "bolt://localhost:2"),
    ],
)
def test_files_and_addresses_that_do_not_go_together(words: tuple[str, ...], graph: Path, tmp_path: Path) -> None:
    done = kgcheck("audit", *words, cwd=tmp_path)

    assert (done.code, done.out) == (2, "")
    assert "hunter2" not in done.err
    assert any(word in done.err for word in ("--release-of", "--column", "address"))


def test_the_draft_of_files_is_a_profile_to_be_edited(graph: Path, tmp_path: Path) -> None:
    said = kgcheck("profile", "init", "graph", "--out", "mine", cwd=tmp_path)
    assert (said.code, "wrote mine/graph.toml: a draft: 3 labels, 5 relation patterns" in said.err) == (0, True)
    assert kgcheck("profile", "validate", "mine", cwd=tmp_path).code == 0
    _, first, _ = audited("graph", "--ledger", "a.sqlite", cwd=tmp_path)
    _, same, _ = audited("graph", "--profile", "./mine", "--ledger", "b.sqlite", cwd=tmp_path)
    assert [f["fingerprint"] for f in first["findings"]] == [f["fingerprint"] for f in same["findings"]]

    profile = tmp_path / "mine" / "graph.toml"
    told, known = (f'tail = "biolink:Gene"\nloops = {loops}' for loops in ('"unknown"', "true"))
    profile.write_text(profile.read_text(encoding="utf-8").replace(told, known), encoding="utf-8")
    _, edited, _ = audited("graph", "--profile", "./mine", "--ledger", "b.sqlite", cwd=tmp_path)

    assert reasons(edited, "insufficient")["unexplained_loop"] == 1


def test_numbers_are_ids_in_their_space_alone(tmp_path: Path) -> None:
    folder = tmp_path / "import"
    folder.mkdir()
    (folder / "genes.csv").write_text("id:ID(Gene),name\n1,TP53\n2,BRCA2\n", encoding="utf-8")
    (folder / "films.csv").write_text("id:ID(Film),name\n1,Metropolis\n", encoding="utf-8")
    (folder / "seen.csv").write_text(":START_ID(Gene),:END_ID(Film)\n1,1\n2,2\n", encoding="utf-8")

    _, report, _ = audited("import", cwd=tmp_path)

    assert report["run"]["nodes"] == {"films": 1, "genes": 2, MISSING_NODE: 0}
    ((wrong,),) = ([f for f in report["findings"] if f["outcome"] == "refuted"],)
    assert (wrong["reason"], wrong["object"]["id"]) == ("dangling_edge", "Film/2")
    assert reasons(report, "insufficient")["id_on_two_labels"] == 0


@pytest.mark.slow
def test_a_graph_on_a_server_has_the_findings_of_its_files(
    clean_neo4j: Neo4jTarget, graph: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its nodes carry every ancestor of their category as labels, as Biolink's loaders write them."""
    monkeypatch.setenv("KGCHECK_NEO4J_USER", clean_neo4j.user)
    monkeypatch.setenv("KGCHECK_NEO4J_PASSWORD", clean_neo4j.password)
    rows = list(csv.DictReader(NODES.splitlines(), delimiter="\t", restval=""))
    with clean_neo4j.driver() as driver:
        for row in rows:
            category = model().category(row["category"].rpartition("|")[2])
            assert category
            labels = ":".join(f"`biolink:{name}`" for name in sorted(model().ancestors(category)))
            stated = {key: row[key] for key in ("id", "name", "in_taxon") if row[key]}
            driver.execute_query(f"CREATE (n:{labels}) SET n = $stated", stated=stated)
        for edge in csv.DictReader(EDGES.splitlines(), delimiter="\t"):
            driver.execute_query(
                f"MATCH (a {{id: $head}}), (b {{id: $tail}}) CREATE (a)-[r:`{edge['predicate']}`]->(b)"
                " SET r.primary_knowledge_source = $source",
                head=edge["subject"],
                tail=edge["object"],
                source=edge["primary_knowledge_source"],
            )
        before = driver.execute_query("MATCH (n) RETURN count(n) AS n")[0][0]["n"]

    _, files, _ = audited("graph", "--ledger", "a.sqlite", cwd=tmp_path)
    code, server, err = audited(clean_neo4j.uri, "--ledger", "b.sqlite", cwd=tmp_path)

    pinned = "MONDO:0018875", "--because", "PMID:1"
    kgcheck("pin", "add", "must_not", "HGNC:11998", "gene_associated_with_condition", *pinned, cwd=tmp_path)
    _, again, _ = audited(clean_neo4j.uri, "--ledger", "c.sqlite", cwd=tmp_path)
    (returned,) = (f["value"] for f in again["findings"] if f["reason"] == "pinned_returned")
    assert returned.startswith(f"mended, returned ({clean_neo4j.uri}, of infores:omim); must not be: PMID:1")

    assert code == 1
    found = {f["fingerprint"] for f in server["findings"]}
    # A server has no edge to a node that is not there.
    assert found == {f["fingerprint"] for f in files["findings"] if f["reason"] != "dangling_edge"}
    assert "Neo4j, 5 nodes, 6 edges" in err
    assert "ids: id of 2 sets of labels" in err
    with clean_neo4j.driver() as driver:
        assert driver.execute_query("MATCH (n) RETURN count(n) AS n")[0][0]["n"] == before

    question = "Which genes are associated with Li-Fraumeni syndrome?"
    asked = kgcheck("ask", question, "--store", clean_neo4j.uri, "--format", "json")

    assert [found["ref"]["id"] for found in json.loads(asked.out)["found"]] == ["HGNC:11998"]


def test_questions_about_files_are_answered_in_their_own_words(graph: Path, tmp_path: Path) -> None:
    files = f"files:{graph / 'monarch_nodes.tsv'},{graph / 'monarch_edges.tsv'}"
    question = "Which conditions are associated with BRCA2?"

    asked = kgcheck("ask", question, "--store", files, "--format", "json")

    (found,) = json.loads(asked.out)["found"]
    assert found["ref"] == {"label": "biolink:Disease", "id": "MONDO:0007254"}
    assert found["path"][0]["triple"]["relation"] == "biolink:gene_associated_with_condition"
    assert found["path"][0]["properties"]["primary_knowledge_source"] == "infores:omim"
    assert asked.err.count("the words for this graph are a draft") == 1
    assert "'drugs', 'treat'" in kgcheck("ask", "Which drugs treat BRCA2?", "--store", files).err

    drafted = kgcheck("profile", "init", graph, "--out", tmp_path / "mine")
    words = tmp_path / "mine" / "lexicon.toml"
    text = words.read_text(encoding="utf-8")
    words.write_text(text.replace('"diseases"', '"diseases", "illnesses"'), encoding="utf-8")
    mine = ("--store", files, "--profile", tmp_path / "mine", "--format", "json")
    again = kgcheck("ask", question.replace("conditions", "illnesses"), *mine)

    assert drafted.code == again.code == 0
    assert json.loads(again.out)["found"] == json.loads(asked.out)["found"]
    assert "draft" not in again.err


def test_files_that_are_named_as_a_store_are_refused_with_their_name(graph: Path) -> None:
    for place in (graph, graph / "monarch_nodes.tsv"):
        assert f"graph files are named files:{place}" in kgcheck("ask", "What is BRCA2?", "--store", place).err


def test_the_action_audits_what_it_is_given_and_ends_as_the_audit_does(graph: Path, tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    audit = action["runs"]["steps"][1]
    command = tmp_path / "kgcheck" / "bin" / "kgcheck"
    command.parent.mkdir(parents=True)
    command.symlink_to(Path(sys.executable).with_name("kgcheck"))
    assert {text.strip("${ }") for text in audit["env"].values()} == {f"inputs.{key}" for key in action["inputs"]}
    given = {"FILES": f"\n{graph / 'monarch_nodes.tsv'}\n{graph / 'monarch_edges.tsv'}\n", "RELEASE_OF": "monarch"}
    given |= {"FAIL_ON": "new", "LEDGER": "a.sqlite", "SARIF": "out.sarif", "RUNNER_TEMP": str(tmp_path)}

    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert kgcheck(*hook["entry"].split()[1:], "graph", cwd=tmp_path).code == 1

    codes = [
        subprocess.run(["bash", "-e", "-c", audit["run"]], cwd=tmp_path, env=os.environ | given, check=False).returncode
        for _ in range(2)
    ]

    assert codes == [1, 0]
    assert json.loads((tmp_path / "out.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"


def test_what_several_documents_say_of_a_node_is_put_together(tmp_path: Path) -> None:
    head = "@prefix ex: <http://x.test/> .\n@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    (tmp_path / "1.ttl").write_text(head + "ex:a ex:knows ex:b .", encoding="utf-8")
    (tmp_path / "2.ttl").write_text(head + 'ex:b a ex:Gene ; rdfs:label "B" .', encoding="utf-8")

    with FileStore([tmp_path / "1.ttl", tmp_path / "2.ttl"], Settings()) as store:
        (gene,) = (label for label in store.schema.labels if label.name.endswith("Gene"))
        ((row,),) = (table.to_pylist() for table in store.scan_nodes(gene))

    assert row["name"] == "B"


def test_what_a_profile_does_not_know_of_files_is_told(graph: Path, tmp_path: Path) -> None:
    kgcheck("profile", "init", "graph", "--out", "mine", cwd=tmp_path)
    (graph / "monarch_nodes.tsv").write_text(NODES + "HP:0000118\tbiolink:PhenotypicFeature\tx\t\n", encoding="utf-8")
    (graph / "monarch_edges.tsv").write_text(
        EDGES + "e8\tHGNC:1101\tbiolink:affects\tHP:0000118\tx\n", encoding="utf-8"
    )

    _, report, _ = audited("graph", "--profile", "./mine", cwd=tmp_path)

    assert report["run"]["unknown"] == {"label biolink:PhenotypicFeature": 1, "relation biolink:affects": 1}


def test_a_parquet_file_is_the_one_of_its_name_and_lists_are_lists(tmp_path: Path) -> None:
    nodes = {"id": ["HGNC:1", "HGNC:2"], "category": [["biolink:NamedThing", "biolink:Gene"]] * 2}
    parquet.write_table(pa.table(nodes), tmp_path / "nodes.parquet")
    for name, head in (("edges[12].parquet", "HGNC:1"), ("edges1.parquet", "HGNC:9")):
        parquet.write_table(
            pa.table({"subject": [head], "predicate": ["biolink:affects"], "object": ["HGNC:2"]}), tmp_path / name
        )

    _, report, _ = audited("nodes.parquet", "edges[12].parquet", cwd=tmp_path)

    assert report["run"]["nodes"] == {"biolink:Gene": 2}
    assert reasons(report) == {}


def test_columns_that_are_not_looked_at_are_told(tmp_path: Path) -> None:
    columns = [f"a{n:03}" for n in range(252)]
    row = ["A", "p", "B", *("none" if name in ("a200", "a251") else "x" for name in columns)]
    (tmp_path / "edges.tsv").write_text(
        "\t".join(["subject", "predicate", "object", *columns]) + "\n" + "\t".join(row) + "\n", encoding="utf-8"
    )

    _, report, err = audited("edges.tsv", cwd=tmp_path)

    (found,) = [f for f in report["findings"] if f["reason"] == "placeholder_value"]
    assert "a200=none" in found["value"]
    assert "a251" not in found["value"]
    assert "p: 2 of 252 properties are not looked at: a250, a251" in err


def test_columns_that_rules_ask_for_are_read_among_many(tmp_path: Path) -> None:
    columns = [f"a{n}" for n in range(400)]
    stated = {"primary_knowledge_source": "infores:x", "knowledge_level": "not_provided", "agent_type": "manual_agent"}
    head = ["subject", "predicate", "object", *columns, *stated]
    row = ["HGNC:1101", "biolink:affects", "HGNC:11998", *("x" for _ in columns), *stated.values()]
    (tmp_path / "edges.tsv").write_text("\t".join(head) + "\n" + "\t".join(row) + "\n", encoding="utf-8")
    (tmp_path / "nodes.tsv").write_text("id\tcategory\nHGNC:1101\tbiolink:Gene\nHGNC:11998\tbiolink:Gene\n", "utf-8")

    _, report, _ = audited("edges.tsv", "nodes.tsv", cwd=tmp_path)

    assert not [f for f in report["findings"] if f["reason"].startswith("missing_knowledge")]
