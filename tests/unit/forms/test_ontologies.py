"""Ontologies as graphs: OBO, and OWL by its axioms."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.duck import connected
from kgcheck.errors import InputFormat
from kgcheck.forms.obo import FORMS as OBO_FORMS
from kgcheck.forms.rdf import FORMS as RDF
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables
from tests.support.graph_files import read_any

FORMS = [*OBO_FORMS, *RDF]
OBO = r"""format-version: 1.2
ontology: test

[Term]
id: EX:1
name: one \{thing\}
namespace: things
def: "What it is, and a \"quote\" ! no comment." [EX:book]
synonym: "uno" EXACT []
synonym: "ein" EXACT []
xref: OTHER:1 "as they call it"
xref: Weight: "12.0"
is_a: EX:2 ! two
is_a: EX:3 {source="book"} ! three
relationship: part_of EX:4 ! four
intersection_of: EX:5

[Term]
id: EX:9
name: nine
is_obsolete: true
replaced_by: EX:1

[Typedef]
id: part_of
name: part of
is_a: overlaps
"""
OWL_HEAD = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix obo: <http://purl.obolibrary.org/obo/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix oio: <http://www.geneontology.org/formats/oboInOwl#> .
"""
OWL = (
    OWL_HEAD
    + """
<http://example.org/o.owl> a owl:Ontology ; rdfs:label "the ontology" .
obo:BFO_0000050 a owl:ObjectProperty ; rdfs:label "part of" ; rdfs:subPropertyOf obo:RO_1 .
obo:EX_1 a owl:Class ; rdfs:label "one" ; obo:IAO_0000115 "What it is." ; oio:id "EX:1" ;
    oio:hasExactSynonym "uno", "ein" ; oio:hasDbXref "OTHER:1" ; oio:inSubset obo:slim ;
    rdfs:subClassOf obo:EX_2,
        [ a owl:Restriction ; owl:onProperty obo:BFO_0000050 ; owl:someValuesFrom obo:EX_4 ],
        [ a owl:Restriction ; owl:onProperty obo:BFO_0000050 ; owl:allValuesFrom obo:EX_5 ] ;
    owl:equivalentClass [ a owl:Class ; owl:intersectionOf ( obo:EX_6 obo:EX_7 ) ] .
obo:EX_2 a owl:Class .
obo:EX_9 a owl:Class ; owl:deprecated true ; obo:IAO_0100001 obo:EX_1 .
obo:EX_i a owl:NamedIndividual, obo:EX_1 ; obo:BFO_0000050 obo:EX_j ; obo:RO_2 obo:EX_j .
obo:EX_j a owl:NamedIndividual .
[ a owl:Axiom ; owl:annotatedSource obo:EX_1 ; owl:annotatedProperty rdfs:label ; owl:annotatedTarget "one" ] .
"""
)


def read(folder: Path, text: str, name: str = "ontology") -> GraphTables:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    source, tables = Source(name, path), GraphTables(connected())
    (form,) = [form for form in FORMS if form.fits(source)]
    form.read([source], tables)
    return tables


def edges(tables: GraphTables) -> list[tuple[str, str, str]]:
    return tables.db.execute("SELECT head, relation, tail FROM edge ORDER BY ALL").fetchall()


def nodes(tables: GraphTables) -> dict[str, tuple[list[str], dict[str, str]]]:
    return {
        id_: (labels, props)
        for id_, labels, props in tables.db.execute("FROM node SELECT * EXCLUDE (file, line)").fetchall()
    }


def test_terms_of_obo(tmp_path: Path) -> None:
    tables = read(tmp_path, OBO)
    assert nodes(tables) == {
        "EX:1": (
            ["Class"],
            {
                "name": "one {thing}",
                "namespace": "things",
                "def": 'What it is, and a "quote" ! no comment.',
                "synonym": "uno|ein",
                "xref": "OTHER:1",
            },
        ),
        "EX:9": (["Class"], {"name": "nine", "is_obsolete": "true", "replaced_by": "EX:1"}),
        "part_of": (["Typedef"], {"name": "part of"}),
    }
    assert edges(tables) == [("EX:1", "is_a", "EX:2"), ("EX:1", "is_a", "EX:3"), ("EX:1", "part_of", "EX:4")]
    assert tables.db.execute("SELECT line FROM edge ORDER BY line").fetchall() == [(13,), (14,), (15,)]
    assert not tables.count("quarantine")


def test_lines_of_obo_that_are_wrong_are_rejected_with_their_place(tmp_path: Path) -> None:
    text = (
        OBO + "[Term]\nname: no id\n\n[Term]\nid: EX:10\nis_a:\nrelationship: part_of\ndef: no quotes\nodd\nis_a: EX:1"
    )
    tables = read(tmp_path, text, "wrong.obo")
    assert ("EX:10", "is_a", "EX:1") in edges(tables)
    assert tables.db.execute("SELECT file, line, reason FROM quarantine ORDER BY line").fetchall() == [
        ("wrong.obo", 28, "no_id"),
        *[("wrong.obo", line, "syntax") for line in (33, 34, 35, 36)],
    ]


def test_a_line_of_obo_that_is_not_utf8_costs_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "latin.obo"
    path.write_bytes(OBO.replace("name: nine", "name: ni\u00f1e").encode("latin-1").replace(b"\n", b"\r\n"))
    tables = GraphTables(connected())
    OBO_FORMS[0].read([Source("latin.obo", path)], tables)

    assert {id_ for (id_,) in tables.db.execute("SELECT id FROM node").fetchall()} == {"EX:1", "EX:9", "part_of"}
    assert tables.db.execute("SELECT line, reason, row_text FROM quarantine").fetchall() == [
        (OBO[: OBO.index("name: nine")].count("\n") + 1, "not_utf8", "name: ni\\xf1e")
    ]


def test_an_obo_file_that_is_cut_off_keeps_what_it_has(tmp_path: Path) -> None:
    tables = read(tmp_path, OBO[: OBO.index("relationship:") + 20])
    assert edges(tables) == [("EX:1", "is_a", "EX:2"), ("EX:1", "is_a", "EX:3")]
    assert tables.count("quarantine") == 1
    with pytest.raises(InputFormat, match="holds no OBO term"):
        read(tmp_path, "format-version: 1.2\n")


def test_axioms_of_owl(tmp_path: Path) -> None:
    tables = read(tmp_path, OWL)
    assert edges(tables) == [
        ("EX:1", "BFO:0000050", "EX:4"),
        ("EX:1", "subclass_of", "EX:2"),
        ("EX:i", "BFO:0000050", "EX:j"),
        ("EX:i", "RO:2", "EX:j"),
    ]
    one = {"name": "one", "def": "What it is.", "synonym": "uno|ein", "xref": "OTHER:1"}
    assert nodes(tables) == {
        "EX:1": (["Class"], one | {"subset": "obo:slim"}),
        "EX:2": (["Class"], {}),
        "EX:9": (["Class"], {"is_obsolete": "true", "replaced_by": "EX:1"}),
        "EX:i": (["EX:1", "NamedIndividual"], {}),
        "EX:j": (["NamedIndividual"], {}),
    }
    assert tables.notes == ["1 SubClassOf axiom not read: no class and no property to some class stands there"]
    assert not tables.lists_nodes


PIECES = [
    *(
        "format-version: 1.2\n",
        "[Term]\n",
        "[Typedef]\n",
        "id: EX:1\n",
        "is_a: EX:2\n",
        "relationship: a b\n",
        'def: "',
    ),
    *("xref: ", "synonym: ", "\n", "\\", '"', *"{}!:[].", OWL_HEAD, "obo:EX_1 ", "a owl:Class", "rdfs:subClassOf "),
]


@given(
    number=st.integers(0, len(FORMS) - 1),
    text=st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=30).map("".join)),
)
def test_any_text_ends_in_tables_or_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, number: int, text: str
) -> None:
    read_any(FORMS[number], tmp_path_factory.getbasetemp() / "any", text)
