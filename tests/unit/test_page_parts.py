"""What the page is made of, without a browser: addresses, drawings, ages and marked quotes."""

import pytest
from starlette.datastructures import QueryParams

from kgcheck.errors import UsageError
from kgcheck.graph.neighbourhood import NearEdge, NearEnd, NearNode, Neighbourhood
from kgcheck.model import CheckTask, CheckType, Ref
from kgcheck.service.page.drawing import MOST, draw
from kgcheck.service.page.query import TriageQuery
from kgcheck.service.page.rendering import age, highlight


def test_an_address_is_read_and_written_again() -> None:
    query = TriageQuery.of(QueryParams("decision=open&decision=reopened&q=a%26b&since=2026-01-01&after=abc&else=1"))

    assert query.filters["decisions"] == ["open", "reopened"]
    assert (query.filters["text"], query.filters["since"], query.filters["run"]) == ("a&b", "2026-01-01", "latest")
    assert TriageQuery.of(QueryParams(query.whole_address)) == query
    assert TriageQuery.of(QueryParams(query.toggled("decision", "open"))).chosen == (("decision", "reopened"),)
    assert TriageQuery.of(QueryParams(query.toggled("label", "X&q=1"))).chosen[-1] == ("label", "X&q=1")
    assert not TriageQuery.of(QueryParams(query.cleared())).is_narrowed


@pytest.mark.parametrize("address", ["q=" + "x" * 600, "&".join(f"label=L{n}" for n in range(60))])
def test_an_address_that_is_too_long_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="more than a filter takes"):
        TriageQuery.of(QueryParams(address))


@pytest.mark.parametrize("ends", [1, 2])
def test_a_drawing_shows_some_of_many_neighbours_in_its_box(ends: int) -> None:
    head, tail = NearEnd(label="A", id="a"), NearEnd(label="B", id="b")
    around = [NearEnd(label="C", id=f"c{n}") for n in range(20)]
    task = CheckTask(
        type=CheckType.TRIPLE if ends == 2 else CheckType.EXISTENCE,
        subject=Ref(label="A", id="a"),
        relation="R" if ends == 2 else None,
        object=Ref(label="B", id="b") if ends == 2 else None,
    )
    edges = tuple(NearEdge(head=one, relation="S", tail=head) for one in around)
    nodes = tuple(NearNode(label=e.label, id=e.id, name="<b>" * 20) for e in (head, tail, *around))

    drawing = draw(task, Neighbourhood(nodes=nodes, edges=(*edges, NearEdge(head=head, relation="R", tail=tail))))

    assert drawing is not None
    assert len(drawing.dots) == ends + MOST
    # Where it is of one node, the other end of the edge is a neighbour, too.
    assert len(drawing.neighbours) == 22 - ends
    assert drawing.is_cut
    assert drawing.narrow
    assert drawing.narrow.width < 330
    assert sorted(dot.text for dot in drawing.narrow.dots) == sorted(dot.text for dot in drawing.dots)
    assert len({dot.y for dot in drawing.narrow.dots}) == len(drawing.dots)
    for dot in drawing.dots:
        assert drawing.left <= dot.x <= drawing.left + drawing.width
        assert drawing.top <= dot.y <= drawing.top + drawing.height
        assert len(dot.text) <= 20


@pytest.mark.parametrize(("kind", "drawn"), [(CheckType.TRIPLE, "main"), (CheckType.POTENTIAL, "lacking")])
def test_an_edge_that_the_graph_lacks_is_drawn_as_lacking(kind: CheckType, drawn: str) -> None:
    head, tail, other = (NearEnd(label="A", id=name) for name in "abc")
    task = CheckTask(type=kind, subject=Ref(label="A", id="a"), relation="R", object=Ref(label="A", id="b"))
    nodes = tuple(NearNode(label=end.label, id=end.id) for end in (head, tail, other))

    drawing = draw(task, Neighbourhood(nodes=nodes, edges=(NearEdge(head=head, relation="S", tail=other),)))

    assert drawing is not None
    assert drawing.narrow
    for one in (drawing, drawing.narrow):
        assert sorted(line.kind for line in one.lines) == sorted([drawn, "other"])
    assert ("does not have the edge" in drawing.title) == (drawn == "lacking")


def test_nothing_around_is_not_drawn() -> None:
    task = CheckTask(type=CheckType.EXISTENCE, subject=Ref(label="A", id="a"))

    assert draw(task, Neighbourhood(nodes=(NearNode(label="A", id="a"),), edges=())) is None


def test_quotes_are_marked_and_everything_is_escaped() -> None:
    text = "A <i>b</i> binds C. D follows."

    assert highlight(text, ["binds C.", "is not there"]) == "A &lt;i&gt;b&lt;/i&gt; <mark>binds C.</mark> D follows."
    assert highlight("x\u202ey", []) == "x&lt;U+202E&gt;y"
    assert highlight("one two", ["one two", "two"]) == "<mark>one two</mark>"


@pytest.mark.parametrize("text", ["", "not stated", "2026-13", "2199", "2026-01-01-01x"])
def test_the_age_of_what_is_no_day_of_the_past_is_not_known(text: str) -> None:
    assert age(text) == ""
