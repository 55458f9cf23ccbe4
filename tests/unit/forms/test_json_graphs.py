"""Forms of JSON: what is recognised, read, rejected and noted, of small files and of real ones."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kgcheck.duck import connected
from kgcheck.errors import InputFormat, KgcheckError
from kgcheck.forms import json_graphs
from kgcheck.forms.curies import contraction
from kgcheck.forms.json_graphs import FORMS, kind_of
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables
from kgcheck.inputs import DEEPEST
from tests.support.graph_files import ReadGraph, lines, written

GENE = {"id": "HGNC:1100", "category": ["biolink:Gene"], "name": "BRCA1", "xref": ["A:1", "A:2"]}
DISEASE = {"id": "MONDO:1", "category": "biolink:Disease|biolink:NamedThing", "name": ["breast", "cancer"]}
EDGE = {"id": "e1", "subject": "HGNC:1100", "predicate": "biolink:causes", "object": "MONDO:1", "score": 0.5}
KGX = {"nodes": [GENE, DISEASE], "edges": [EDGE]}


def read(path: Path, value: Any, *more: Path) -> ReadGraph:
    return ReadGraph(FORMS, written(path, value), *more)


def kind(path: Path, value: Any) -> str:
    file = written(path, value)
    return kind_of(Source(file.name, file))


# KGX


def test_kgx_document(tmp_path: Path) -> None:
    graph = read(tmp_path / "graph.json", "\ufeff" + json.dumps(KGX))

    assert graph.form.name == "KGX JSON"
    assert graph.nodes == {
        "HGNC:1100": (["biolink:Gene"], {"name": "BRCA1", "xref": "A:1|A:2"}),
        "MONDO:1": (["biolink:Disease", "biolink:NamedThing"], {"name": "breast|cancer"}),
    }
    assert graph.edges == [("HGNC:1100", "biolink:causes", "MONDO:1")]
    assert graph.rows("SELECT properties FROM edge") == [({"id": "e1", "score": "0.5"},)]
    assert graph.tables.lists_nodes
    assert graph.rejected == []
    assert graph.tables.notes == []


def test_kgx_lines_in_two_files(tmp_path: Path) -> None:
    edges = written(tmp_path / "edges.json", lines(EDGE, {**EDGE, "negated": True}))
    graph = read(tmp_path / "nodes.json", "\ufeff" + lines(GENE, "", DISEASE), edges)

    assert graph.rows("SELECT id, file, line FROM node") == [("HGNC:1100", 0, 1), ("MONDO:1", 0, 3)]
    assert graph.rows("SELECT head, file, line FROM edge") == [("HGNC:1100", 1, 1)]
    assert graph.tables.negated == {"edges.json": 1}
    assert not read(tmp_path / "alone.jsonl", lines(EDGE)).tables.lists_nodes


def test_what_lacks_an_id_an_end_or_a_relation_is_rejected(tmp_path: Path) -> None:
    nodes = [GENE, {"category": ["x"]}, "text", {**GENE, "id": True}, {**GENE, "id": " "}]
    edges = [EDGE, {**EDGE, "object": None}, {**EDGE, "subject": ["a"]}, {**EDGE, "predicate": ""}]
    graph = read(tmp_path / "graph.json", {"nodes": nodes, "edges": edges, "info": {"a": 1}})

    assert len(graph.nodes) == 1
    assert len(graph.edges) == 1
    assert [(reason, detail.partition(":")[0]) for _, reason, detail in graph.rejected] == [
        ("bad_id", "nodes[1]"),
        ("bad_id", "nodes[3]"),
        ("bad_id", "nodes[4]"),
        ("end_missing", "edges[1]"),
        ("end_missing", "edges[2]"),
        ("malformed", "nodes[2]"),
        ("relation_missing", "edges[3]"),
    ]
    assert graph.tables.notes == ["graph.json: read without info (1): no nodes or edges"]


def test_lines_that_are_no_object_are_rejected_with_their_numbers(tmp_path: Path) -> None:
    broken = '{"id": "A:1", "category": ["x"], "id": "A:2"}'
    graph = read(tmp_path / "nodes.jsonl", lines(GENE, '{"id": "cut', [1], broken, '{"id": "\\ud800"}', DISEASE))

    assert set(graph.nodes) == {"HGNC:1100", "MONDO:1"}
    assert graph.faults == [(n, "malformed") for n in (2, 3, 4, 5)]


def test_nan_and_large_numbers_are_texts_and_no_ids(tmp_path: Path) -> None:
    graph = read(tmp_path / "graph.json", '{"nodes": [{"id": NaN, "category": "x"}, {"id": 123456789012345678901,'
                 ' "category": "x", "p": NaN, "q": -Infinity}], "edges": []}')  # fmt: skip

    assert graph.nodes == {"123456789012345678901": (["x"], {"p": "nan", "q": "-inf"})}
    assert [reason for _, reason, _ in graph.rejected] == ["bad_id"]


# Node-link


def test_node_link_by_ids_with_typed_nodes(tmp_path: Path) -> None:
    nodes = [{"id": "DB1", "name": "imatinib", "label": "Drug"}, {"id": "UP1", "label": "ABL1"}]
    value = {"directed": True, "graph": {"x": 1}, "nodes": nodes, "links": [
        {"source": "DB1", "target": "UP1", "key": "decreases activity of"},
        {"source": "DB1", "target": "UP1", "key": 0},
    ]}  # fmt: skip
    graph = read(tmp_path / "graph.json", value)

    assert graph.form.name == "node-link JSON"
    assert graph.nodes == {"DB1": (["Drug"], {"name": "imatinib"}), "UP1": ([], {"name": "ABL1"})}
    assert graph.edges == [("DB1", "decreases activity of", "UP1"), ("DB1", "edge", "UP1")]


def test_node_link_of_pybel_by_places(tmp_path: Path) -> None:
    def protein(number: int) -> dict[str, Any]:
        return {"id": f"md5{number}", "bel": f"p(HGNC:G{number})", "function": "Protein", "concept": {"name": "G"}}

    links = [{"source": 1, "target": 0, "relation": "increases", "key": "abc", "evidence": "so"}]
    graph = read(tmp_path / "graph.json", {"nodes": [protein(0), protein(1)], "links": links, "multigraph": True})

    assert graph.nodes["md50"] == (["Protein"], {"name": "p(HGNC:G0)", "concept": '{"name":"G"}'})
    assert graph.edges == [("md51", "increases", "md50")]


@pytest.mark.parametrize(
    ("ids", "ends"),
    [
        # Whole numbers are ids where nodes have such, and a place beyond the nodes is an end that dangles.
        ([0, 2], (0, 1)),
        (["a", "b"], (0, 7)),
    ],
)
def test_numbers_that_are_no_places_are_ids(tmp_path: Path, ids: list[Any], ends: tuple[int, int]) -> None:
    value = {"nodes": [{"id": i} for i in ids], "links": [{"source": ends[0], "target": ends[1]}]}

    assert read(tmp_path / "graph.json", value).edges == [(str(ends[0]), "edge", str(ends[1]))]


@pytest.mark.parametrize(
    ("ids", "nodes"), [((1, 2), {"a.json#1", "a.json#2", "b.json#1", "b.json#2"}), (("A:1", "A:2"), {"A:1", "A:2"})]
)
def test_numbers_of_two_files_are_two_nodes_and_names_one(
    tmp_path: Path, ids: tuple[Any, Any], nodes: set[str]
) -> None:
    value = {"nodes": [{"id": i} for i in ids], "links": [{"source": ids[0], "target": ids[1]}]}
    graph = read(tmp_path / "a.json", value, written(tmp_path / "b.json", value))

    assert set(graph.nodes) == nodes
    assert {end for head, _, tail in graph.edges for end in (head, tail)} == nodes


# Cytoscape


@pytest.mark.parametrize("shape", ["bare", "elements", "list"])
def test_cytoscape(tmp_path: Path, shape: str) -> None:
    nodes = [{"data": {"id": "1", "name": "YKR026C", "type": "gene"}}, {"data": {"id": 2, "shared_name": "B"}}]
    edges = [{"data": {"id": "3", "source": "1", "target": "2", "interaction": "pp", "label": "no"}}]
    both = {"nodes": nodes, "edges": edges}
    value = {"bare": both, "elements": {"elements": both, "style": []}, "list": {"elements": [*nodes, *edges]}}[shape]
    graph = read(tmp_path / "net.cyjs", value)

    assert graph.form.name == "Cytoscape JSON"
    assert graph.nodes == {"1": (["gene"], {"name": "YKR026C"}), "2": ([], {"name": "B", "shared_name": "B"})}
    assert graph.edges == [("1", "pp", "2")]


# CX


CX = [
    {"numberVerification": [{"longNumber": 1}]},
    {"nodeAttributes": [{"po": 0, "n": "type", "v": "protein"}, {"po": [0, 1], "n": "alias", "v": ["x", "y"]}]},
    {"nodes": [{"@id": 0, "n": "DKK1", "r": "uniprot:O94907"}]},
    {"nodes": [{"@id": 1, "n": "twin", "r": "A:1"}, {"@id": 2, "n": "twin", "r": "A:1"}, {"n": "none"}]},
    {"edges": [{"@id": 5, "s": 0, "t": 1, "i": "inhibits"}, {"@id": 6, "s": 1, "t": 9}, {"@id": 7, "s": 1}]},
    {"edgeAttributes": [{"po": 5, "n": "score", "v": "1"}]},
    {"citations": [{"@id": 8, "dc:identifier": "pmid:1"}], "edgeCitations": [{"po": [5], "citations": [8]}]},
    {"cartesianLayout": [{"node": 0}]},
]


def test_cx(tmp_path: Path) -> None:
    graph = read(tmp_path / "net.cx", CX)

    assert graph.form.name == "CX"
    assert graph.nodes == {
        "uniprot:O94907": (["protein"], {"name": "DKK1", "alias": "x|y"}),
        "1": ([], {"name": "twin", "represents": "A:1", "alias": "x|y"}),
        "2": ([], {"name": "twin", "represents": "A:1"}),
    }
    assert graph.edges == [("1", "edge", "9"), ("uniprot:O94907", "inhibits", "1")]
    assert graph.rows("SELECT properties FROM edge WHERE relation = 'inhibits'") == [
        ({"score": "1", "citation": "pmid:1"},)
    ]
    assert [reason for _, reason, _ in graph.rejected] == ["bad_id", "end_missing"]
    assert graph.tables.notes == ["net.cx: read without cartesianLayout (1): no nodes or edges"]
    two = read(tmp_path / "a.cx", CX, written(tmp_path / "b.cx", CX))
    assert set(two.nodes) == {"uniprot:O94907", "a.cx#1", "a.cx#2", "b.cx#1", "b.cx#2"}


def test_cx2_with_aliases_and_defaults(tmp_path: Path) -> None:
    declared = {
        "nodes": {"name": {"a": "n"}, "represents": {"a": "r"}, "kind": {"d": "string", "v": "gene"}},
        "edges": {"interaction": {"a": "i", "v": "binds"}},
    }
    graph = read(tmp_path / "net.cx2", [
        {"CXVersion": "2.0", "hasFragments": False},
        {"attributeDeclarations": [declared]},
        {"nodes": [{"id": 0, "v": {"n": "A", "r": "HGNC:1"}}, {"id": 1, "v": {"n": "B", "kind": "drug"}}]},
        {"edges": [{"id": 0, "s": 0, "t": 1, "v": {}}, {"id": 1, "s": 1, "t": 0, "v": {"i": "cuts"}}]},
    ])  # fmt: skip

    assert graph.nodes == {"HGNC:1": (["gene"], {"name": "A"}), "1": (["drug"], {"name": "B"})}
    assert graph.edges == [("1", "cuts", "HGNC:1"), ("HGNC:1", "binds", "1")]
    assert graph.tables.notes == []


# TRAPI


def test_trapi_of_today(tmp_path: Path) -> None:
    edge = {
        "subject": "A:1", "predicate": "biolink:treats", "object": "B:2",
        "sources": [{"resource_id": "infores:x", "resource_role": "primary_knowledge_source"}],
        "attributes": [{"attribute_type_id": "biolink:publications", "value": ["PMID:1", "PMID:2"]}],
        "qualifiers": [{"qualifier_type_id": "biolink:object_aspect_qualifier", "qualifier_value": "activity"}],
    }  # fmt: skip
    no_edge = {**edge, "attributes": [{"attribute_type_id": "biolink:negated", "value": True}]}
    nodes = {"A:1": {"name": "a", "categories": ["biolink:Drug"]}, "B:2": {"categories": None}}
    message = {
        "query_graph": {},
        "results": [1, 2],
        "knowledge_graph": {"nodes": nodes, "edges": {"e1": edge, "e2": no_edge, "e3": 1}},
    }
    graph = read(tmp_path / "answer.json", {"message": message})

    assert graph.form.name == "TRAPI"
    assert graph.nodes == {"A:1": (["biolink:Drug"], {"name": "a"}), "B:2": ([], {})}
    assert graph.edges == [("A:1", "biolink:treats", "B:2")]
    assert graph.rows("SELECT properties FROM edge") == [({
        "id": "e1", "publications": "PMID:1|PMID:2", "object_aspect_qualifier": "activity",
        "primary_knowledge_source": "infores:x",
    },)]  # fmt: skip
    assert graph.tables.negated == {"answer.json": 1}
    assert graph.tables.notes == ["answer.json: read without results (2): no nodes or edges"]
    assert [reason for _, reason, _ in graph.rejected] == ["malformed"]


def test_trapi_of_old(tmp_path: Path) -> None:
    nodes = [{"id": "A:1", "type": ["chemical_substance"]}, {"id": "B:2", "type": "disease"}]
    edges = [{"id": "e", "source_id": "A:1", "target_id": "B:2", "type": ["treats", "affects"]}]
    graph = read(tmp_path / "answer.json", {"knowledge_graph": {"nodes": nodes, "edges": edges}, "results": []})

    assert graph.nodes["A:1"] == (["chemical_substance"], {})
    assert graph.edges == [("A:1", "affects", "B:2"), ("A:1", "treats", "B:2")]


# APOC


NEO4J = [
    {"type": "node", "id": "0", "labels": ["Gene", "Human"], "properties": {"id": "HGNC:1", "n": 1}},
    {"type": "node", "id": "1", "labels": ["Drug"], "properties": {"id": "CHEBI:2"}},
    {"id": "7", "type": "relationship", "label": "TARGETS", "properties": {"since": 2000},
     "start": {"id": "1", "labels": ["Drug"]}, "end": {"id": "0", "labels": ["Gene"]}},
]  # fmt: skip


@pytest.mark.parametrize("shape", ["lines", "array", "document"])
def test_apoc(tmp_path: Path, shape: str) -> None:
    value = {"lines": lines(*NEO4J), "array": NEO4J, "document": {"nodes": NEO4J[:2], "rels": NEO4J[2:]}}[shape]
    graph = read(tmp_path / "all.json", value)

    assert graph.form.name == "APOC JSON"
    assert graph.nodes == {
        "HGNC:1": (["Gene", "Human"], {"id": "HGNC:1", "n": "1"}),
        "CHEBI:2": (["Drug"], {"id": "CHEBI:2"}),
    }
    assert graph.edges == [("CHEBI:2", "TARGETS", "HGNC:1")]
    numbered = read(tmp_path / "numbers.json", lines({"type": "node", "id": "5", "labels": ["X"]}, *NEO4J))
    assert (set(numbered.nodes), numbered.edges) == ({"5", "0", "1"}, [("1", "TARGETS", "0")])


# OBO Graph


def test_obo_graph(tmp_path: Path) -> None:
    obo = "http://purl.obolibrary.org/obo/"
    meta = {
        "definition": {"val": "A part."}, "deprecated": True, "xrefs": [{"val": "W:1"}],
        "synonyms": [{"pred": "hasExactSynonym", "val": "s1"}, {"val": "s2"}], "subsets": ["slim"],
        "basicPropertyValues": [{"pred": "http://www.geneontology.org/formats/oboInOwl#hasOBONamespace", "val": "cc"}],
    }  # fmt: skip
    graph = read(tmp_path / "go.json", {"graphs": [{
        "id": "go", "nodes": [{"id": obo + "GO_0005737", "lbl": "cytoplasm", "type": "CLASS", "meta": meta},
                  {"id": obo + "BFO_0000050", "type": "PROPERTY"}, {"id": obo + "go#slim"}],
        "edges": [{"sub": obo + "GO_0005737", "pred": "is_a", "obj": obo + "GO_0110165"},
                  {"sub": obo + "GO_0005737", "pred": obo + "BFO_0000050", "obj": obo + "NCBITaxon_Union_0000023"}],
        "logicalDefinitionAxioms": [1, 2],
    }]})  # fmt: skip

    assert graph.form.name == "OBO Graph JSON"
    assert graph.nodes == {
        "GO:0005737": (["Class"], {
            "name": "cytoplasm", "definition": "A part.", "deprecated": "true", "xrefs": "W:1", "synonyms": "s1|s2",
            "subsets": "slim", "hasOBONamespace": "cc",
        }),
        "BFO:0000050": (["Property"], {}),
        obo + "go#slim": ([], {}),
    }  # fmt: skip
    assert graph.edges == [
        ("GO:0005737", "BFO:0000050", "NCBITaxon_Union:0000023"),
        ("GO:0005737", "is_a", "GO:0110165"),
    ]
    assert not graph.tables.lists_nodes
    assert graph.tables.notes == ["go.json: read without logicalDefinitionAxioms (2): no nodes or edges"]


@pytest.mark.parametrize("local", ["GO_0005737", "EX_part", "NCBITaxon_Union_1", "EX_1_a", "EX_ü1", "go#slim"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_iri_has_one_id_in_obo_graphs_and_rdf(tmp_path: Path, scheme: str, local: str) -> None:
    iri = f"{scheme}://purl.obolibrary.org/obo/{local}"
    graph = read(tmp_path / "go.json", {"graphs": [{"nodes": [{"id": iri, "type": "CLASS"}], "edges": []}]})

    assert list(graph.nodes) == [contraction([])(iri)]


def test_hetionet(tmp_path: Path) -> None:
    nodes = [
        {"kind": "Gene", "identifier": 9, "name": "NAT1", "data": {"source": "x"}},
        {"kind": "Disease", "identifier": "D:1"},
    ]
    edges = [{"source_id": ["Disease", "D:1"], "target_id": ["Gene", 9], "kind": "associates", "direction": "both"},
             {"source_id": "Gene", "target_id": ["Gene", 9], "kind": "x"}]  # fmt: skip
    graph = read(tmp_path / "h.json", {"metanode_kinds": ["Gene"], "nodes": nodes, "edges": edges})

    assert graph.form.name == "Hetionet JSON"
    assert graph.nodes["Gene::9"] == (["Gene"], {"name": "NAT1", "source": "x"})
    assert graph.edges == [("Disease::D:1", "associates", "Gene::9")]
    assert len(graph.rejected) == 1


# What is recognised


@pytest.mark.parametrize(
    "value",
    [
        {}, [], [1], {"nodes": []}, {"nodes": {}, "edges": {}}, {"message": "Not Found"}, {"graphs": []},
        {"elements": []},
        {"nodes": {"biolink:Gene": {"id_prefixes": []}}, "edges": [{"subject": "a", "predicate": "p", "object": "b"}]},
        {"phenotypicFeatures": []}, "id\tcategory\n", "", "{", "[[[", "null", {"id": "A:1", "name": "x"},
    ],
)  # fmt: skip
def test_what_is_no_graph_has_no_form(tmp_path: Path, value: Any) -> None:
    assert kind(tmp_path / "some.json", value) == ""


def test_a_form_is_recognised_behind_a_long_beginning(tmp_path: Path) -> None:
    graph = {"graph": {"text": "x" * 400_000}, "nodes": [{"id": "a"}], "links": [{"source": "a", "target": "a"}]}

    assert kind(tmp_path / "graph.json", graph) == "node-link JSON"
    many = [{"id": f"A:{n}", "category": ["x"]} for n in range(20_000)]
    assert kind(tmp_path / "kgx.json", {"nodes": many, "edges": [EDGE]}) == "KGX JSON"
    assert (
        kind(tmp_path / "link.json", {"nodes": many, "links": [{"source": "A:1", "target": "A:2"}]}) == "node-link JSON"
    )


def test_a_document_that_is_too_large_is_refused_by_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_graphs, "LARGEST_GRAPH", 100)

    with pytest.raises(InputFormat, match="more than 0 MiB are not held") as caught:
        read(tmp_path / "graph.json", KGX)
    assert "JSON lines" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (json.dumps(KGX)[:-20], "EOF"),
        (json.dumps(KGX)[:-1] + ', "nodes": []}', "duplicate key"),
        (json.dumps(KGX)[:-1] + ', "x": ' + "[" * (DEEPEST + 9) + "]" * (DEEPEST + 9) + "}", "recursion limit"),
        (json.dumps(KGX)[:-1] + ', "x": "\\ud800"}', "hex escape"),
        (json.dumps(KGX) + "{", "trailing"),
    ],
)
def test_a_document_that_is_broken_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputFormat, match=message):
        read(tmp_path / "graph.json", text)


WORDS = (
    *("nodes", "edges", "links", "rels", "elements", "graphs", "message", "knowledge_graph", "metanode_kinds", "data"),
    *("id", "@id", "n", "r", "s", "t", "i", "v", "po", "a", "type", "labels", "category", "properties", "start", "end"),
    *("source", "target", "subject", "predicate", "object", "sub", "pred", "obj", "lbl", "meta", "attributes", "kind"),
    *("source_id", "target_id", "identifier", "nodeAttributes", "attributeDeclarations", "CXVersion", "edgeCitations"),
    *("citations", "key", "bel", "negated", "sources", "qualifiers", "xrefs", "definition", "group"),
    "numberVerification",
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(("a", "node")),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=2), inner, max_size=6),
    max_leaves=40,
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=[form.name for form in FORMS])
@given(value=VALUES)
@example(value={"nodes": [{"id": 10**30, "name": "\0"}], "links": [{"source": 10**30, "target": -1}]})
@example(value={"message": {"knowledge_graph": {"nodes": {"": {}}, "edges": {"": {"attributes": [{"value": {}}]}}}}})
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_json_ends_in_tables_or_an_error_for_people(tmp_path: Path, form: Any, value: Any) -> None:
    for text in (json.dumps(value), lines(value, "{", value)):
        path = written(tmp_path / "any.json", text)
        source = Source(path.name, path)
        assert sum(f.fits(source) for f in FORMS) <= 1
        with suppress(KgcheckError), connected() as db:
            form.read([source, Source("other.json", path, 1)], GraphTables(db))
