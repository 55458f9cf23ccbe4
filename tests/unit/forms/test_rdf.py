"""RDF files and ontologies as graphs: statements and axioms to nodes and edges, what is rejected or made to harm."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.duck import connected
from kgcheck.errors import InputFormat, MissingExtra
from kgcheck.forms import rdf_parsing
from kgcheck.forms.curies import contraction
from kgcheck.forms.obo import FORMS as OBO_FORMS
from kgcheck.forms.rdf import FORMS as RDF
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables
from tests.support.graph_files import ReadGraph, read_any, written

FORMS = (*OBO_FORMS, *RDF)

A = "<http://example.org/a/1>"
B = "<http://example.org/b/2>"
RELATED = "<https://w3id.org/biolink/vocab/related_to>"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
HEAD = """@prefix ex: <http://example.org/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix biolink: <https://w3id.org/biolink/vocab/> .
"""
XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="http://example.org/">
"""


def read(folder: Path, text: str | bytes, name: str = "graph") -> ReadGraph:
    return ReadGraph(FORMS, written(folder / name, text))


def form_of(folder: Path, text: str) -> str:
    source = Source("file", written(folder / "file", text))
    return ", ".join(form.name for form in FORMS if form.fits(source))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("RDF, N-Triples", f"# a comment\n{A} {RELATED} {B} .\n"),
        ("RDF, N-Triples", f'{A} {LABEL} "one; two," .\n{A} {RELATED} <http //odd> .\n{A} {RELATED} {B} .\n'),
        ("RDF, N-Quads", f"{A} {RELATED} {B} <http://example.org/graph> .\n"),
        ("RDF, Turtle", HEAD + "ex:a ex:b ex:c ."),
        ("RDF, Turtle", f"{A} {TYPE} <http://example.org/T>,\n <http://example.org/U>;\n {RELATED} {B} .\n"),
        ("RDF, Turtle", "PREFIX ex: <http://example.org/>\nex:a ex:b ex:c ."),
        ("RDF, TriG", HEAD + "ex:g {\n ex:a ex:b ex:c .\n}"),
        ("RDF, JSON-LD", '{"@context": {"ex": "http://example.org/"}, "@id": "ex:a"}'),
        ("RDF/XML", XML + "</rdf:RDF>"),
        ("OWL, RDF/XML", XML + '<owl:Ontology xmlns:owl="http://www.w3.org/2002/07/owl#"/></rdf:RDF>'),
        ("", "source\ttarget\na\tb\n"),
        ("", "a related_to b\n"),
        ("", '<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns"></graphml>'),
        ("", "<graphml>\n<node/>\n</graphml>"),
        ("", XML.replace("http://example.org/", "http://www.biopax.org/release/biopax-level3.owl#") + "</rdf:RDF>"),
        ("", '[{"numberVerification": [1]}, {"@context": {"ex": "http://example.org/"}}, {"nodes": [{"@id": 1}]}]'),
        ("", '{"nodes": [], "edges": []}'),
        ("", ""),
        ("", "Prefix(ex:=<http://example.org/>)\nOntology(<http://example.org/o>)"),
    ],
)
def test_a_file_is_recognised_by_its_content(tmp_path: Path, name: str, text: str) -> None:
    assert form_of(tmp_path, text) == name


def test_statements_become_nodes_and_edges(tmp_path: Path) -> None:
    text = f"""{A} {TYPE} <https://w3id.org/biolink/vocab/Gene> .
{A} {LABEL} "one"@en .
{A} {LABEL} "eins"@de .
{A} <http://example.org/score> "1" .
{A} <http://example.org/score> "2" .
{A} {RELATED} {B} .
"""
    graph = read(tmp_path, text)
    assert graph.edges == [("http://example.org/a/1", "biolink:related_to", "http://example.org/b/2")]
    assert graph.rows("SELECT line FROM edge") == [(6,)]
    assert graph.rows("SELECT id, labels, line FROM node ORDER BY id") == [
        ("http://example.org/a/1", ["biolink:Gene"], 1),
        ("http://example.org/b/2", [], 6),
    ]
    assert graph.nodes["http://example.org/a/1"][1] == {"name": "one", "name@de": "eins", "score": "1|2"}
    assert not graph.tables.lists_nodes


@pytest.mark.parametrize(
    ("iri", "curie"),
    [
        ("http://purl.obolibrary.org/obo/GO_0005737", "GO:0005737"),
        ("http://purl.obolibrary.org/obo/NCBITaxon_Union_0000001", "NCBITaxon_Union:0000001"),
        ("http://purl.obolibrary.org/obo/so#part_of", "http://purl.obolibrary.org/obo/so#part_of"),
        ("http://identifiers.org/rgd/621117", "rgd:621117"),
        ("https://identifiers.org/MGI:123", "MGI:123"),
        ("https://identifiers.org/mgi/MGI:123", "MGI:123"),
        ("https://w3id.org/biolink/vocab/PartOf", "biolink:PartOf"),
        ("http://example.org/x/1", "ex:1"),
        ("http://example.org/x/", "http://example.org/x/"),
        ("http://example.org/twice/1", "http://example.org/twice/1"),
        ("urn:uuid:1", "urn:uuid:1"),
    ],
)
def test_iris_are_contracted(iri: str, curie: str) -> None:
    declared = [("ex", "http://example.org/x/"), ("sub", "http://example.org/twice/"), ("sub", "http://example.org/y/")]
    assert contraction([*declared, ("", "http://example.org/")])(iri) == curie


@pytest.mark.parametrize("family", ["rdf", "biolink", "oban"])
def test_a_statement_about_a_statement_is_an_edge_with_properties(tmp_path: Path, family: str) -> None:
    parts = [f"{family}:{name}" for name in ("subject", "predicate", "object")]
    if family == "oban":
        parts = [f"oban:association_has_{name}" for name in ("subject", "predicate", "object")]
    text = f"""{HEAD}@prefix oban: <http://purl.org/oban/> .
ex:s {parts[0]} ex:a ; {parts[1]} ex:affects ; {parts[2]} ex:b ; ex:evidence ex:p, ex:q ; ex:p_value "0.1" .
ex:a ex:affects ex:b .
ex:paper ex:mentions ex:s .
"""
    graph = read(tmp_path, text)
    assert graph.edges == [("ex:a", "ex:affects", "ex:b")]
    ((found,),) = graph.rows("SELECT properties FROM edge")
    assert found == {"id": "ex:s", "evidence": "ex:p|ex:q", "p_value": "0.1"}


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "ex:a ex:p ex:b .",
        f"{A} {RELATED} {B} .",
        XML + '<rdf:Description rdf:about="http://example.org/a"><ex:p rdf:resource="http://example.org/b"/>'
        "</rdf:Description></rdf:RDF>",
        '{"@context": {"ex": "http://example.org/"}, "@id": "ex:a", "ex:p": {"@id": "ex:b"}}',
    ],
)
def test_files_of_windows_are_read(tmp_path: Path, text: str) -> None:
    graph = read(tmp_path, "\ufeff" + text.replace("\n", "\r\n"))
    assert (graph.tables.count("node"), graph.tables.count("edge"), graph.tables.count("quarantine")) == (2, 1, 0)


@pytest.mark.parametrize(
    ("text", "edge"),
    [
        ("<#a> ex:p <b/c> .", ("#a", "ex:p", "b/c")),
        ('<< ex:a ex:affects ex:b >> ex:p_value "0.1" .', ("ex:a", "ex:affects", "ex:b")),
    ],
    ids=["a relative IRI stays as it is written", "a triple term is a statement too"],
)
def test_statements_of_turtle(tmp_path: Path, text: str, edge: tuple[str, str, str]) -> None:
    assert read(tmp_path, HEAD + text).edges == [edge]


@pytest.mark.parametrize("parts", ["ex:a, ex:c ; {} ex:b", "ex:a ; {} ex:b, 'b'"])
def test_a_statement_without_its_parts_is_rejected_and_takes_no_edge_away(tmp_path: Path, parts: str) -> None:
    stated = parts.format("rdf:predicate ex:p ; rdf:object")
    graph = read(tmp_path, HEAD + f"ex:s rdf:subject {stated} .\nex:a ex:p ex:b .")
    assert graph.edges == [("ex:a", "ex:p", "ex:b")]
    assert [reason for _, reason in graph.faults] == ["statement"]


def test_what_does_not_hold_is_no_edge(tmp_path: Path) -> None:
    text = "ex:s biolink:subject ex:a ; biolink:predicate ex:p ; biolink:object ex:b ; biolink:negated true ."
    graph = read(tmp_path, HEAD + text, "no.ttl")
    assert graph.edges == []
    assert graph.tables.negated == {"no.ttl": 1}


def test_of_nanopublications_the_assertions_are_read(tmp_path: Path) -> None:
    text = HEAD + "@prefix np: <http://www.nanopub.org/nschema#> .\n"
    for number in (1, 2):
        text += f"""@prefix sub: <http://example.org/{number}#> .
sub:head {{ sub:pub np:hasAssertion sub:assertion ;
    np:hasProvenance sub:provenance ; np:hasPublicationInfo sub:info . }}
sub:assertion {{ sub:x ex:affects ex:b . sub:assertion rdfs:label "x" . }}
sub:provenance {{ sub:assertion ex:derivedFrom ex:paper . }}
sub:info {{ sub:pub ex:author ex:somebody . }}
"""
    graph = read(tmp_path, text, "np.trig")
    # A prefix that changes its meaning is none.
    assert graph.edges == [(f"http://example.org/{number}#x", "ex:affects", "ex:b") for number in (1, 2)]
    assert graph.tables.notes == [
        "np.trig: 2 nanopublications; 4 statements of assertions are read, "
        "and 10 of heads, provenance and publication info are about them"
    ]
    assert graph.tables.count("node") == 3


def test_blank_nodes_are_named_alike_each_time_and_apart_in_each_file(tmp_path: Path) -> None:
    files = [written(tmp_path / f"{number}.ttl", HEAD + "ex:a ex:p [ ex:q _:x ] .") for number in (0, 1)]
    first, again = (ReadGraph(FORMS, *files).edges for _ in range(2))
    assert first == again
    assert len({tail for _, relation, tail in first if relation == "ex:q"}) == 2
    assert all(tail.startswith("_:") for _, _, tail in first)


def test_a_line_that_is_wrong_costs_no_other(tmp_path: Path) -> None:
    lines = [f"{A} {RELATED} {B} .", f'{A} {LABEL} "open .', f"{A} {RELATED} <http://example.org/a b> .", "nothing"]
    graph = read(tmp_path, "\n".join([*lines, f"{B} {RELATED} {A} .", f"{B} {RELATED} <http://exam"]))
    assert len(graph.edges) == 2
    assert graph.faults == [(2, "syntax"), (3, "malformed_iri"), (4, "syntax"), (6, "syntax")]


def test_a_malformed_iri_is_rejected_with_its_line(tmp_path: Path) -> None:
    graph = read(tmp_path, HEAD + "ex:a ex:p ex:b, <http://example.org/c d>, ex:e .\nex:a ex:q ex:f .\n")
    assert {tail for _, _, tail in graph.edges} == {"ex:b", "ex:e", "ex:f"}
    assert graph.faults == [(5, "malformed_iri")]


def test_each_malformed_iri_counts(tmp_path: Path) -> None:
    graph = read(tmp_path, HEAD + "ex:a ex:p <http://x y> .\n" * 1_500 + "ex:a ex:p ex:b .\n")

    assert (graph.tables.count("quarantine"), graph.tables.more_rejected) == (1_000, 500)
    assert graph.edges == [("ex:a", "ex:p", "ex:b")]


def test_a_malformed_iri_in_xml_is_rejected_with_its_line(tmp_path: Path) -> None:
    text = '<rdf:Description rdf:about="http://example.org/{}">\n<ex:p rdf:resource="http://example.org/b"/></rdf:Description>\n'
    graph = read(tmp_path, XML + text.format("a b") + text.format("c") + "</rdf:RDF>")
    assert graph.edges == [("ex:c", "ex:p", "ex:b")]
    assert (3, "malformed_iri") in graph.faults


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (HEAD + 'ex:a ex:p "open .', "line 5"),
        (HEAD + "ex:a ex:p", "line 5"),
        (HEAD + "ex:a other:p ex:b .", "line 5, column 6"),
        (XML + '<rdf:Description rdf:about="http://example.org/a">', "line 3"),
        ('{"@context": {"ex": "http://example.org/"},\n "@id": "ex:a", "ex:p": {"@id"', "line 2"),
        ('{"@context": "http://example.org/context.json",\n "@id": "ex:a"}', "@context is on the web"),
        (HEAD.encode() + b'ex:a ex:p "\xff" .', "line 5"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_its_place(tmp_path: Path, text: str | bytes, place: str) -> None:
    with pytest.raises(InputFormat, match=place) as told:
        read(tmp_path, text, "broken")
    assert told.value.message.startswith("broken")
    assert told.value.hint


def test_the_other_files_are_read(tmp_path: Path) -> None:
    texts = ("ex:a ex:p ex:b .\nex:a ex:p", "ex:c ex:p ex:d .")
    files = [Source(f"{n}.ttl", written(tmp_path / f"{n}.ttl", HEAD + text), n) for n, text in enumerate(texts)]
    tables = GraphTables(connected())
    with pytest.raises(InputFormat, match=r"0\.ttl, line 6"):
        RDF[4].read(files, tables)
    assert tables.db.execute("SELECT head, relation, tail FROM edge").fetchall() == [("ex:c", "ex:p", "ex:d")]


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ('<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">', "expands"),
        (f'<!ENTITY b "{"b" * 10_000}">', "expands"),
        ('<!ENTITY b SYSTEM "file:///etc/hostname">', "asks for another file"),
        ('<!ENTITY b SYSTEM "http://127.0.0.1:9/x">', "asks for another file"),
        ('<!ENTITY % b "c">', "asks for another file"),
        ('<!ENTITY b "c"><!-- <!ENTITY b "&d;&d;"> -->', "where none can be"),
    ],
)
def test_entities_do_not_expand(tmp_path: Path, declared: str, why: str) -> None:
    text = XML.replace("<rdf:RDF", f"<!DOCTYPE rdf:RDF [{declared}]>\n<rdf:RDF")
    with pytest.raises(InputFormat, match=why):
        read(tmp_path, text + '<rdf:Description rdf:about="http://example.org/a" ex:p="&b;"/></rdf:RDF>')


def test_entities_of_namespaces_are_read(tmp_path: Path) -> None:
    text = XML.replace("<rdf:RDF", '<!DOCTYPE rdf:RDF [<!ENTITY e "http://example.org/">]>\n<rdf:RDF')
    graph = read(
        tmp_path, text + '<rdf:Description rdf:about="&e;a"><ex:p rdf:resource="&e;b"/></rdf:Description></rdf:RDF>'
    )
    assert graph.edges == [("ex:a", "ex:p", "ex:b")]


@pytest.mark.parametrize(
    "text",
    [
        XML + "<rdf:Description><ex:p>" * 10_000,
        HEAD + "ex:a ex:p " + "<<( ex:a ex:p " * 30_000 + "ex:b" + " )>>" * 30_000 + " .",
        f"{A} {RELATED} {B} .\n{A} {RELATED} " + f"<<( {A} {RELATED} " * 30_000 + B + " )>>" * 30_000 + " .",
        '{"@context": {"ex": "http://example.org/"}, "@id": "ex:a", "ex:p": ' + "[" * 100_000,
    ],
    ids=["xml", "turtle", "n-triples", "json-ld"],
)
def test_what_nests_without_end_takes_nothing_down(tmp_path: Path, text: str) -> None:
    try:
        graph = read(tmp_path, text)
    except InputFormat:
        return
    assert graph.faults == [(2, "nested")]


def test_a_long_prefix_fills_no_memory(tmp_path: Path) -> None:
    with pytest.raises(InputFormat, match="IRI of more than 4,000 characters"):
        read(tmp_path, f"@prefix ex: <http://example.org/{'x' * 100_000}> .\nex:a ex:p ex:b .")


def test_a_file_of_another_kind_is_refused_after_many_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdf_parsing, "MOST_WRONG", 10)
    with pytest.raises(InputFormat, match="more than 10 lines that cannot be read, the first of them line 21"):
        read(tmp_path, f"{A} {RELATED} {B} .\n" * 20 + "no statement\n" * 15)


def test_without_the_extra_its_name_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(MissingExtra) as told:
        read(tmp_path, f"{A} {RELATED} {B} .\n")
    assert told.value.hint == "pip install 'kgcheck[rdf]'"


# ontologies

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


def test_terms_of_obo(tmp_path: Path) -> None:
    graph = read(tmp_path, OBO)
    assert graph.nodes == {
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
    assert graph.edges == [("EX:1", "is_a", "EX:2"), ("EX:1", "is_a", "EX:3"), ("EX:1", "part_of", "EX:4")]
    assert graph.rows("SELECT line FROM edge ORDER BY line") == [(13,), (14,), (15,)]
    assert not graph.tables.count("quarantine")


def test_lines_of_obo_that_are_wrong_are_rejected_with_their_place(tmp_path: Path) -> None:
    text = (
        OBO + "[Term]\nname: no id\n\n[Term]\nid: EX:10\nis_a:\nrelationship: part_of\ndef: no quotes\nodd\nis_a: EX:1"
    )
    graph = read(tmp_path, text, "wrong.obo")
    assert ("EX:10", "is_a", "EX:1") in graph.edges
    assert graph.rows("SELECT file, line, reason FROM quarantine ORDER BY line") == [
        ("wrong.obo", 28, "no_id"),
        *[("wrong.obo", line, "syntax") for line in (33, 34, 35, 36)],
    ]


def test_a_line_of_obo_that_is_not_utf8_costs_itself_alone(tmp_path: Path) -> None:
    text = OBO.replace("name: nine", "name: ni\u00f1e").encode("latin-1").replace(b"\n", b"\r\n")
    graph = read(tmp_path, text, "latin.obo")

    assert set(graph.nodes) == {"EX:1", "EX:9", "part_of"}
    assert graph.rows("SELECT line, reason, row_text FROM quarantine") == [
        (OBO[: OBO.index("name: nine")].count("\n") + 1, "not_utf8", "name: ni\\xf1e")
    ]


def test_an_obo_file_that_is_cut_off_keeps_what_it_has(tmp_path: Path) -> None:
    graph = read(tmp_path, OBO[: OBO.index("relationship:") + 20])
    assert graph.edges == [("EX:1", "is_a", "EX:2"), ("EX:1", "is_a", "EX:3")]
    assert graph.tables.count("quarantine") == 1
    with pytest.raises(InputFormat, match="holds no OBO term"):
        read(tmp_path, "format-version: 1.2\n")


def test_axioms_of_owl(tmp_path: Path) -> None:
    graph = read(tmp_path, OWL)
    assert graph.edges == [
        ("EX:1", "BFO:0000050", "EX:4"),
        ("EX:1", "subclass_of", "EX:2"),
        ("EX:i", "BFO:0000050", "EX:j"),
        ("EX:i", "RO:2", "EX:j"),
    ]
    one = {"name": "one", "def": "What it is.", "synonym": "uno|ein", "xref": "OTHER:1"}
    assert graph.nodes == {
        "EX:1": (["Class"], one | {"subset": "obo:slim"}),
        "EX:2": (["Class"], {}),
        "EX:9": (["Class"], {"is_obsolete": "true", "replaced_by": "EX:1"}),
        "EX:i": (["EX:1", "NamedIndividual"], {}),
        "EX:j": (["NamedIndividual"], {}),
    }
    assert graph.tables.notes == ["1 SubClassOf axiom not read: no class and no property to some class stands there"]
    assert not graph.tables.lists_nodes


PIECES = [
    *(HEAD, XML, A, B, RELATED, LABEL, *' \n.;,"@[](){}', "^^", "<<", ">>", "ex:a", "ex:p", "_:x", "rdf:subject"),
    *('{"@id":"ex:a",', '"@context":', "<rdf:Description", 'rdf:about="a"', ">", "/>", "\\u0000"),
    *(
        "format-version: 1.2\n",
        "[Term]\n",
        "[Typedef]\n",
        "id: EX:1\n",
        "is_a: EX:2\n",
        "relationship: a b\n",
        'def: "',
    ),
    *("xref: ", "synonym: ", "\n", "\\", '"', OWL_HEAD, "obo:EX_1 ", "a owl:Class", "rdfs:subClassOf "),
]


@given(
    number=st.integers(0, len(FORMS) - 1),
    text=st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=30).map("".join)),
)
def test_any_text_ends_in_tables_or_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, number: int, text: str
) -> None:
    read_any(FORMS[number], tmp_path_factory.getbasetemp() / "any", text)
