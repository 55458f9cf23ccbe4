"""Which column of a table is what, by names and by values."""

from __future__ import annotations

import pytest

from kgcheck.errors import InputFormat
from kgcheck.forms.columns import EdgeColumns, NodeColumns, columns_of


def edges(names: str, *rows: str, file: str = "a.tsv") -> EdgeColumns:
    parted = [row.split("\t") for row in rows]
    found = columns_of(file, file.partition(".")[0].lower(), names.split("\t") if names else [], parted)
    assert isinstance(found, EdgeColumns)
    return found


def nodes(names: str, *rows: str, file: str = "a.tsv") -> NodeColumns:
    parted = [row.split("\t") for row in rows]
    found = columns_of(file, file.partition(".")[0].lower(), names.split("\t") if names else [], parted)
    assert isinstance(found, NodeColumns)
    return found


@pytest.mark.parametrize(
    ("names", "form", "head", "tail", "relation"),
    [
        ("id\tsubject\tpredicate\tobject", "KGX, edges", 1, 3, 2),
        ("subject\tobject\tpredicate\tcategory", "KGX, edges", 0, 1, 2),
        ("source\tmetaedge\ttarget", "Hetionet, edges", 0, 2, 1),
        (":START_ID\tscore:float\t:END_ID\t:TYPE", "neo4j-admin import, edges", 0, 2, 3),
        ("a:START_ID(Gene)\tb:END_ID(Disease)", "neo4j-admin import, edges", 0, 1, None),
        ("subject_id\tpredicate_id\tobject_id\tmapping_justification", "SSSOM mapping set", 0, 2, 1),
        ("database_id\tdisease_name\tqualifier\thpo_id", "HPO annotation file", 0, 3, None),
        ("Source\tTarget\tWeight", "a table of edges", 0, 1, None),
        ("from\tto\ttype", "a table of edges", 0, 1, 2),
        ("node1\tnode2\tcombined_score", "a table of edges", 0, 1, None),
        ("GeneSymbol\tGeneID\tPathwayName\tPathway Source", "a table of pairs", 1, 2, None),
    ],
)
def test_ends_are_known_by_their_names(names: str, form: str, head: int, tail: int, relation: int | None) -> None:
    found = edges(names)

    assert (found.form, found.head.place, found.tail.place, found.relation) == (form, head, tail, relation)


@pytest.mark.parametrize(
    ("names", "form", "at", "labels"),
    [
        ("id\tname\tcategory", "KGX, nodes", 0, 2),
        ("id\tname\tkind", "Hetionet, nodes", 0, 2),
        (":ID\tname\t:LABEL", "neo4j-admin import, nodes", 0, 2),
        ("geneId:ID(Gene)\tsymbol:string", "neo4j-admin import, nodes", 0, None),
        ("name\tnode_id\tnode_type", "a table of nodes", 1, 2),
    ],
)
def test_nodes_are_known_by_their_names(names: str, form: str, at: int, labels: int | None) -> None:
    found = nodes(names)

    assert (found.form, found.id, found.labels) == (form, at, labels)


def test_a_typed_header_names_properties_without_the_type_and_keeps_the_key() -> None:
    found = nodes("geneId:ID(Gene)\tsymbol:string\tsynonyms:string[]\t:IGNORE", file="Gene-header.csv")

    assert [c.name for c in found.properties] == ["symbol", "synonyms", "geneId"]
    assert found.kind == "gene"


def test_empty_columns_of_edges_in_a_file_of_nodes_make_no_edges() -> None:
    names = "id\tcategory\tobject\tpredicate\tsubject"

    assert nodes(names, "EC:1\tbiolink:Enzyme\t\t\t").form == "KGX, nodes"
    assert edges(names, "u1\tbiolink:Association\tB:1\tbiolink:affects\tA:1").form == "KGX, edges"


def test_the_id_of_an_edge_is_no_property_or_duplicates_would_differ() -> None:
    assert [c.name for c in edges("id\tsubject\tpredicate\tobject\tprimary_knowledge_source").properties] == [
        "primary_knowledge_source"
    ]


def test_a_name_that_differs_on_each_row_is_no_label() -> None:
    rows = [f"N{n}\tthing {n}" for n in range(50)]

    assert nodes("id\tlabel", *rows).labels is None
    assert nodes("id\tlabel", *(f"N{n}\t{'gene' if n % 2 else 'drug'}" for n in range(50))).labels == 1


def test_triples_without_a_header_have_their_relation_where_values_recur() -> None:
    rows = [f"a{n}\tis_a\tb{n}" for n in range(9)]
    swapped = [f"a{n}\tb{n}\tis_a" for n in range(9)]

    assert (edges("", *rows).relation, edges("", *rows).assumed) == (1, "column 1 as head, 2 as relation, 3 as tail")
    assert (edges("", *swapped).relation, edges("", *swapped).tail.place) == (2, 1)
    assert edges("", "a\tb", "b\tc").name == "edge"


def test_annotations_without_a_header_are_known_by_their_terms() -> None:
    gaf = "\t".join(["UniProtKB", "P04637", "TP53", "NOT|part_of", "GO:0005634", "PMID:1", "IDA", *"1234567", *"890"])
    hpoa = "\t".join(["OMIM:1", "name", "NOT", "HP:0000252", "OMIM:1", "TAS", "", "", "", "", "P", "HPO:x"])

    assert (edges("", gaf).form, edges("", gaf).negation) == ("GO annotation file (GAF)", 3)
    assert (edges("", hpoa).form, edges("", hpoa).negation) == ("HPO annotation file", 2)


def test_parts_without_their_header_are_known_by_their_last_column() -> None:
    file = "GeneToProcess-part000.csv"

    assert edges("", "A:gene\tx:process\tGeneToProcess", file=file).relation == 2
    assert nodes("", "x:process\t'id'\tBiologicalEntity|Process", file="Process-part000.csv").labels == 2


def test_what_is_no_graph_says_what_was_looked_for() -> None:
    with pytest.raises(InputFormat, match="no two columns are known as the ends of an edge") as caught:
        columns_of("a.csv", "a", ["city", "country"], [["Bonn", "Germany"]])
    assert "subject, predicate and object" in caught.value.hint
