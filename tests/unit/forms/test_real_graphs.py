"""Graphs of others in their own forms, read whole: the counts of their truths, and what a few of them are known for."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kgcheck.duck import connected
from kgcheck.errors import InputFormat
from kgcheck.forms.read import ReadFiles, read_files
from kgcheck.progress import NoProgress

FORMS, KGX = "foreign/forms/{}/files/{}", "foreign/kgx/{}"
GRAPHS = [
    (FORMS.format("bel_conib", "boland2018.bel.nodelink.json"), "node-link JSON", 200, 400),
    (FORMS.format("bel_conib", "prasad2019.bel.nodelink.json"), "node-link JSON", 320, 719),
    (FORMS.format("cytoscape_gal", "gal.json"), "Cytoscape JSON", 331, 362),
    (FORMS.format("go_nucleus", "go-nucleus.cx"), "CX", 318, 459),
    (FORMS.format("go_nucleus", "go-nucleus.db"), "SQLite (semantic-sql)", 300, 452),
    (FORMS.format("go_nucleus", "go-nucleus.json"), "OBO Graph JSON", 318, 465),
    (FORMS.format("go_nucleus", "go-nucleus.obo"), "OBO", 273, 340),
    (FORMS.format("go_nucleus", "go-nucleus.owl.gz"), "OWL, RDF/XML", 204, 336),
    (FORMS.format("go_nucleus", "go-nucleus.owl.ttl.gz"), "OWL, Turtle", 204, 336),
    (FORMS.format("graphml_opcendo", "network.graphml"), "GraphML", 23, 29),
    (FORMS.format("nanopub_bel", "pubmed16679305.nanopubs.trig"), "RDF, TriG", 59, 64),
    (FORMS.format("nanopub_bel", "pubmed9202001.nanopubs.trig"), "RDF, TriG", 75, 89),
    (FORMS.format("ndex_cx", "MEDIUM_NETWORK.cx"), "CX", 14, 37),
    (FORMS.format("ndex_cx", "WNT.cx"), "CX", 32, 74),
    (FORMS.format("ndex_cx", "glypican2.cx2"), "CX2", 2, 1),
    (FORMS.format("nt_gocam", "lifted-go-cams-20200619_SNIPPET.nt"), "RDF, N-Triples", 801, 499),
    (FORMS.format("pheknowlator_owl", "PheKnowLator_Closed.owl"), "OWL, RDF/XML", 2588, 2934),
    (KGX.format("graph.json"), "KGX JSON", 512, 532),
    (KGX.format("json_edges.json"), "KGX JSON", 2, 1),
    (KGX.format("phenio.json"), "OBO Graph JSON", 1, 0),
    (KGX.format("obo_error_detection.json"), "OBO Graph JSON", 3, 2),
    (KGX.format("hpoa_test.ttl"), "RDF, Turtle", 12, 5),
    (KGX.format("rdf/oban-test.nt"), "RDF, N-Triples", 14, 7),
    (KGX.format("rdf/test3.nt"), "RDF, N-Triples", 7, 6),
    (KGX.format("test-transform-rdf.nt"), "RDF, N-Triples", 2, 1),
    ("ontologies/HumanDO_2016.obo", "OBO", 8963, 6921),
    ("ontologies/bto.obo", "OBO", 6576, 7646),
]


@contextmanager
def reading(path: Path) -> Iterator[ReadFiles]:
    with connected() as db, TemporaryDirectory() as scratch:
        yield read_files([path], db, Path(scratch), NoProgress())


@pytest.mark.parametrize(("name", "form", "nodes", "edges"), GRAPHS, ids=[name for name, *_ in GRAPHS])
def test_a_graph_is_read_whole(shared_data: Path, name: str, form: str, nodes: int, edges: int) -> None:
    with reading(shared_data / name) as found:
        assert [(file.form, file.nodes, file.edges) for file in found.files] == [(form, nodes, edges)]
        assert found.rejected() == {}


def test_forms_of_one_ontology_name_its_terms_alike(shared_data: Path) -> None:
    files = shared_data / "foreign/forms/go_nucleus/files"
    for ending in ("cx", "db", "json", "obo", "owl.gz", "owl.ttl.gz"):
        with reading(files / f"go-nucleus.{ending}") as found:
            named = found.tables.db.execute("SELECT properties['name'] FROM node WHERE id = 'GO:0005737'").fetchall()
        assert named == [("cytoplasm",)], ending


def test_semantic_sql_has_the_edges_of_its_own_view(shared_data: Path) -> None:
    path = shared_data / "foreign/forms/go_nucleus/files/go-nucleus.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as db:
        view = set(db.execute("SELECT subject, predicate, object FROM edge").fetchall())
    with reading(path) as found:
        edges = set(found.tables.db.execute("SELECT head, relation, tail FROM edge").fetchall())
    assert edges == {edge for edge in view if not edge[0].startswith("_:")}


def test_loops_are_told_by_the_lines_of_their_truth(shared_data: Path) -> None:
    home = shared_data / "foreign/forms/go_nucleus"
    told = json.loads((home / "truth.json").read_text())["may_report"]
    lines = [re.search(r"obo:(\d+)", item["why"]) for item in told if item["kind"] == "self_loop"]
    with reading(home / "files/go-nucleus.obo") as found:
        loops = found.tables.db.execute("SELECT line FROM edge WHERE head = tail ORDER BY line").fetchall()
    assert loops == sorted((int(line[1]),) for line in lines if line)


def test_nanopublications_and_all_that_is_about_them_are_counted(shared_data: Path) -> None:
    home = shared_data / "foreign/forms/nanopub_bel"
    for name, counts in json.loads((home / "truth.json").read_text())["per_file"].items():
        with reading(home / "files" / name) as found:
            (note,) = found.tables.notes
        publications, asserted, about = (int(word) for word in note.split(": ")[1].split() if word.isdigit())
        assert (publications, asserted + about) == (counts["nanopublications"], counts["quads"])
    with pytest.raises(InputFormat, match=r"^pubmed9202001\.ttl, line 25, column 103: "):
        with reading(home / "files/pubmed9202001.ttl"):
            pass
