"""GraphML, of small files and of a real one."""

import tracemalloc
from contextlib import suppress
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgcheck.duck import connected
from kgcheck.errors import InputFormat, KgcheckError
from kgcheck.forms import rows
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables
from kgcheck.forms.xml_graphs import FORMS, xml_root
from kgcheck.inputs import DEEPEST
from tests.support.graph_files import ReadGraph, written

GRAPHML = dedent("""\
    <?xml version="1.0"?>
    <!-- made by hand -->
    <graphml xmlns="http://graphml.graphdrawing.org/xmlns">
      <key id="d0" for="node" attr.name="name"/>
      <key id="d1" for="node" attr.name="kind"><default>Gene</default></key>
      <key id="d2" for="edge" attr.name="interaction"/>
      <key id="d3" for="all" attr.name="score"/>
      <graph edgedefault="directed">
        <node id="A:1"><data key="d0">first &amp; last</data><data key="d3">nan</data></node>
        <node id="A:2"><data key="d1">Drug</data>
          <graph><node id="A:3"/><edge source="A:3" target="A:2"/></graph>
        </node>
        <node><data key="d0">none</data></node>
        <edge id="e1" source="A:1" target="A:2"><data key="d2">binds</data><data key="d3">0.5</data></edge>
        <edge source="A:1" target="A:9" label="cuts"/>
        <edge source="A:1"/>
        <hyperedge><endpoint node="A:1"/></hyperedge>
      </graph>
    </graphml>
    """)


def read(path: Path, text: str, *more: Path) -> ReadGraph:
    return ReadGraph(FORMS, written(path, text), *more)


def test_graphml(tmp_path: Path) -> None:
    graph = read(tmp_path / "net.graphml", GRAPHML)

    assert graph.form.name == "GraphML"
    assert graph.nodes == {
        "A:1": (["Gene"], {"name": "first & last", "score": "nan"}),
        "A:2": (["Drug"], {}),
        "A:3": (["Gene"], {}),
    }
    assert graph.edges == [("A:1", "binds", "A:2"), ("A:1", "cuts", "A:9"), ("A:3", "edge", "A:2")]
    assert graph.rows("SELECT properties FROM edge WHERE relation = 'binds'") == [({"id": "e1", "score": "0.5"},)]
    assert [reason for _, reason, _ in graph.rejected] == ["bad_id", "end_missing"]
    assert graph.tables.notes == ["net.graphml: read without hyperedge elements (1)"]
    assert graph.tables.lists_nodes


NEO4J = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="labels" for="node" attr.name="labels"/><key id="id" for="node" attr.name="id"/>
<key id="label" for="edge" attr.name="label"/><graph>
<node id="n0" labels=":Gene:Human"><data key="labels">:Gene:Human</data><data key="id">HGNC:1</data></node>
<node id="n1" labels=":Drug"><data key="labels">:Drug</data>{id}</node>
<edge id="e0" source="n1" target="n0" label="TARGETS"><data key="label">TARGETS</data></edge></graph></graphml>"""


def test_nodes_of_neo4j_are_called_by_the_ids_that_they_state(tmp_path: Path) -> None:
    graph = read(tmp_path / "all.graphml", NEO4J.format(id='<data key="id">CHEBI:2</data>'))

    assert {id_: labels for id_, (labels, _) in graph.nodes.items()} == {
        "HGNC:1": ["Gene", "Human"],
        "CHEBI:2": ["Drug"],
    }
    assert graph.edges == [("CHEBI:2", "TARGETS", "HGNC:1")]


def test_numbers_of_two_files_are_two_nodes(tmp_path: Path) -> None:
    text = NEO4J.format(id="")
    graph = read(tmp_path / "a.graphml", text, written(tmp_path / "b.graphml", text))

    assert set(graph.nodes) == {f"{name}.graphml#n{n}" for name in "ab" for n in (0, 1)}


def test_labels_that_yed_draws_are_names_and_relations(tmp_path: Path) -> None:
    graph = read(tmp_path / "y.graphml", """<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="urn:y">
        <key id="d6" for="node" yfiles.type="nodegraphics"/><key id="d9" for="edge" yfiles.type="edgegraphics"/><graph>
        <node id="n0"><data key="d6"><y:ShapeNode><y:Fill color="1"/><y:NodeLabel x="1"> TP53 </y:NodeLabel>
        </y:ShapeNode></data></node>
        <edge source="n0" target="n0"><data key="d9"><y:Line><y:EdgeLabel>cuts</y:EdgeLabel></y:Line></data></edge>
        </graph></graphml>""")  # fmt: skip

    assert graph.nodes == {"n0": ([], {"name": "TP53"})}
    assert graph.edges == [("n0", "cuts", "n0")]


@pytest.mark.parametrize(
    "text",
    [
        "<html/>", "graphml", "", "<graph/>", "id\tname\n", '<graph xmlns="http://www.cs.rpi.edu/XGMML" cy:view="1">',
    ],
)  # fmt: skip
def test_what_is_no_graph_has_no_form(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "x.xml", text)

    assert not any(form.fits(Source("x.xml", path)) for form in FORMS)


def test_the_root_is_found_behind_what_stands_before_it(tmp_path: Path) -> None:
    path = written(
        tmp_path / "x.xml", '\ufeff<?xml version="1.0"?>\n<!-- <a> -->\n<!DOCTYPE b>\n<p:graphml a="1" b="2">'
    )

    assert xml_root(Source("x.xml", path)) == ("graphml", ' a="1" b="2"')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GRAPHML[:-12], "no element found"),
        (GRAPHML.replace("&amp;", "&amp"), "not well-formed"),
        ('<!DOCTYPE graphml [<!ENTITY a "aaaa">]>' + GRAPHML.partition("?>\n")[2].replace("first", "&a;"), "Entit"),
        (GRAPHML.replace("<hyperedge>", "<x>" * DEEPEST), "nests elements deeper"),
    ],
)
def test_a_broken_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path / "net.graphml", text)

    with pytest.raises(InputFormat, match=message):
        FORMS[0].read([Source("net.graphml", path)], GraphTables(connected()))


def test_a_large_file_is_not_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "TOGETHER", 100)
    nodes = "".join(f'<node id="A:{n}"><data key="d0">{"x" * 100}</data></node>\n' for n in range(8_000))
    path = written(tmp_path / "net.graphml", GRAPHML.replace("<hyperedge>", nodes + "<hyperedge>"))
    tracemalloc.start()
    graph = ReadGraph(FORMS, path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert graph.tables.count("node") == 8_003
    # The elements would be 7 MB together.
    assert most < 4_000_000


@given(cut=st.integers(0, len(GRAPHML)), put=st.text(alphabet="<>/&;\"' =\0dgraphnodeekyi:!-[]", max_size=8))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_damage_ends_in_tables_or_an_error_for_people(tmp_path: Path, cut: int, put: str) -> None:
    path = written(tmp_path / "any.graphml", GRAPHML[:cut] + put + GRAPHML[cut + 3 :])
    for form in FORMS:
        with suppress(KgcheckError), connected() as db:
            form.read([Source("any.graphml", path)], GraphTables(db))
