"""Forms that are refused by their names, what must not be taken for them, and how long it takes to tell."""

import json
import pickle
import signal
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kgcheck.forms.databases import FORMS as DATABASES
from kgcheck.forms.form import GraphForm, RefusedForm
from kgcheck.forms.json_graphs import FORMS as JSON
from kgcheck.forms.obo import FORMS as OBO
from kgcheck.forms.rdf import FORMS as RDF
from kgcheck.forms.refused import REFUSED
from kgcheck.forms.source import Source, sources
from kgcheck.forms.xml_graphs import FORMS as XML

KNOWN: list[GraphForm | RefusedForm] = [*REFUSED, *JSON, *XML, *DATABASES]
CASES: dict[str, list[str | bytes | dict[str, Any]]] = {
    "a pointer of Git LFS": ["version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"],
    "a web page (HTML)": ["<!DOCTYPE html>\n<html>", "\n<!-- x --><HTML lang='en'>"],
    "an error message in XML": ['<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'],
    "a text in UTF-16": ["\ufeffid".encode("utf-16-le"), "\ufeffid".encode("utf-16-be")],
    "PDF": [b"%PDF-1.7\n\xff"],
    "Excel, Word or OpenDocument": [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", "application/vnd.oasis.opendocument.text"],
    "LadybugDB": [b"LBUG1\0\0"],
    "a dump of Neo4j": [b"DZV1\0", b"DGV1\0"],
    "a Cypher script": [
        "// made\nCREATE (:Gene {id: 'a'});\n", "MATCH (a), (b) CREATE (a)-[:X]->(b);", ":begin\nCREATE CONSTRAINT x",
        "UNWIND [{}] AS row\n", "load csv with headers from 'x' as row",
    ],
    "an SQL script": ["-- MySQL dump\nDROP TABLE IF EXISTS x;\n", "CREATE TABLE x (y int);\n", "INSERT INTO x VALUES"],
    "a dump of PostgreSQL": [b"PGDMP\1"],
    "a Python pickle": [pickle.dumps({"a": [1] * 9}, protocol=p) for p in (2, 3, 4, 5)],
    "an array of NumPy": [b"\x93NUMPY\1"],
    "HDF5": [b"\x89HDF\r\n\x1a\n\0"],
    "data of R": [b"RDX3\nX\n"],
    "XGMML": ['<graph label="x" xmlns="http://www.cs.rpi.edu/XGMML">'],
    "a Cytoscape session": ["<?xml version='1.0'?><cysession id='1'/>"],
    "BioPAX": ['<rdf:RDF xmlns:rdf="r" xmlns:bp="http://www.biopax.org/release/biopax-level3.owl#"><bp:Pathway/>'],
    "GPML (WikiPathways)": ['<Pathway xmlns="http://pathvisio.org/GPML/2013a" Name="x">'],
    "SBML": ['<sbml xmlns="http://www.sbml.org/sbml/level3" level="3">'],
    "PSI-MI XML": ['<entrySet level="2"/>'],
    "KGML (KEGG)": ['<!DOCTYPE pathway SYSTEM "https://www.kegg.jp/kegg/xml/KGML_v0.7.2_.dtd"><pathway name="x">'],
    "GEXF": ['<gexf xmlns="http://gexf.net/1.3">'],
    "GML": ['Creator "x"\ngraph [\n  node [\n id 1\n ]\n]\n', "graph\n[\nnode\n[\n"],
    "Pajek": ["*Vertices 2\n1 a\n"],
    "DOT (Graphviz)": ["// x\ndigraph G {\n a -> b;\n}\n", 'strict graph "x" {'],
    "a BEL script": ['SET DOCUMENT Name = "x"\n', '#\nDEFINE NAMESPACE HGNC AS URL "x"\n'],
    "MeTTa": ["; x\n(gene g1)\n(part_of (go GO:1) (go GO:2))\n"],
    "UMLS in RRF": ["C0000005|T116|A1.4.1.2.1.7|Protein|AT17648347|256|\n"],
    "OMOP vocabulary tables": [
        "concept_id_1\tconcept_id_2\trelationship_id\n", '"concept_id";"vocabulary_id";"concept_code"\n',
    ],
    "node-link YAML": ["directed: true\ngraph:\n  _id: x\nlinks:\n- key: a\nnodes:\n- id: b\n"],
    "GA4GH phenopackets": [{"id": "x", "subject": {}, "phenotypicFeatures": []}, {"proband": {}, "pedigree": {}}],
    "GO-CAM (minerva) JSON": [{"individuals": [], "facts": []}, {"data": {"individuals": [], "facts": []}}],
    "Open Targets evidence": [
        '{"datasourceId": "x", "targetFromSourceId": "y"}\n{"datasourceId": "x", "diseaseId": 1}\n',
    ],
    "a summary of a graph": [{"nodes": {"biolink:Gene": {"id_prefixes": []}}, "edges": []}],
    "OWL in functional syntax": ["Prefix(ex:=<http://e.org/>)\nOntology(<http://e.org/o>\nDeclaration(Class(ex:a)))"],
    "OWL/XML": ['<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#"/>'],
    "OWL in Manchester syntax": ["Prefix: ex: <http://e.org/>\nOntology: <http://e.org/o>\nClass: ex:a"],
}  # fmt: skip


def names(path: Path) -> list[str]:
    return [f.name for f in KNOWN if f.fits(Source(path.name, path))]


@pytest.mark.parametrize(("name", "content"), [(name, case) for name, cases in CASES.items() for case in cases])
def test_a_form_is_refused_by_its_name(tmp_path: Path, name: str, content: str | bytes | dict[str, Any]) -> None:
    path = tmp_path / "file"
    text = json.dumps(content) if isinstance(content, dict) else content
    path.write_bytes(text.encode() if isinstance(text, str) else text)

    assert names(path) == [name]


def test_each_has_a_case_and_a_hint() -> None:
    assert [refused.name for refused in REFUSED] == list(CASES)
    assert all(refused.hint for refused in REFUSED)


def test_a_spreadsheet_is_not_unpacked(tmp_path: Path) -> None:
    path, scratch = tmp_path / "kg.xlsx", tmp_path / "scratch"
    scratch.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "x" * 300)
        archive.writestr("[Content_Types].xml", "x")

    assert [f.name for source in sources([path], scratch) for f in REFUSED if f.fits(source)] == [
        "Excel, Word or OpenDocument"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "", "\n", "id\tname\nmatch (x)\ty\n", "subject\tpredicate\tobject\na\tb\tc\n", "source,target\ngraph,node\n",
        "format-version: 1.2\n\n[Term]\n",
        "<http://a> <http://b> <http://c> .\n", "@prefix a: <http://b#> .\na:b a:c a:d .\n", "A\tpp\tB\n(x)\ty\tz\n",
        "nodes:\n- id: a\nedges:\n- id: b\n", "C0000005|T116\nC1|x\n", "create table\tx\ty\n", "concept_id\tname\n",
        "# MATCH (a)\nsubject\tobject\n", '<rdf:RDF xmlns:rdf="r" xmlns:owl="http://www.w3.org/2002/07/owl#">',
    ],
)  # fmt: skip
def test_what_others_read_is_not_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.txt"
    path.write_text(text)

    assert names(path) == []


def test_real_files_have_one_form_at_most(shared_data: Path, tmp_path: Path) -> None:
    expected = {
        ".bel": "a BEL script", ".gpml": "GPML (WikiPathways)", ".metta": "MeTTa", ".graphml": "GraphML", ".cx": "CX",
        ".cx2": "CX2", ".db": "SQLite (semantic-sql)", ".ofn": "OWL in functional syntax",
    }  # fmt: skip
    others = {".tsv", ".ttl", ".nt", ".trig", ".obo", ".owl", ".txt", ".sif", ".att", ".gaf"}
    for path in sorted((shared_data / "foreign" / "forms").glob("*/files/*")):
        for source in sources([path], tmp_path):
            found = [f.name for f in KNOWN if f.fits(source)]
            ending = Path(source.name).suffix
            assert len(found) <= 1, source.name
            assert ending not in expected or found == [expected[ending]]
            assert ending not in others or not found


HEAD = 1 << 18


@contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Stop what takes longer, an expression that is being searched for too."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize(
    ("before", "repeated", "after"),
    [
        ("", "<!---->", "<1"),
        ("", "<!--> -->\n", "<1"),
        ("", "<?a?>", "<1"),
        ("", "<Ontology ", ""),
        ("", "\n", "x"),
        ("graph [\n", "\n", "x"),
        ("@prefix ex: <http://example.org/> .\n", "\n", "x"),
        ("@prefix ex: <http://example.org/> .\n", "GRAPH\n", "x"),
        ("@prefix ex: <http://example.org/> .\n", "ex:g\n{ ", "x"),
    ],
)
def test_no_beginning_takes_long(tmp_path: Path, before: str, repeated: str, after: str) -> None:
    path = tmp_path / "graph"
    path.write_text(before + repeated * ((HEAD - len(before + after)) // len(repeated)) + after)
    source = Source(path.name, path)

    for form in (*KNOWN, *OBO, *RDF):
        with processor_time(2):
            form.fits(source)
