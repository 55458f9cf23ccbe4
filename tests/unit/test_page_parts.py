"""What the page is made of, without a browser: addresses, drawings, ages and marked quotes."""

from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from kgcheck.curation.findings import wanted
from kgcheck.errors import UsageError
from kgcheck.graph.neighbourhood import NearEdge, NearEnd, NearNode, Neighbourhood
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.model import CheckType, Outcome, Reason, Ref, Tally, Target
from kgcheck.service.page.drawing import MOST, MOST_NARROW, Dot, Drawing, draw
from kgcheck.service.page.findings import TriageQuery
from kgcheck.service.page.rendering import age, highlight
from kgcheck.service.page.runs import trend_of
from kgcheck.workspace import Workspace


def test_an_address_is_read_and_written_again() -> None:
    query = TriageQuery.of(QueryParams("decision=open&decision=reopened&q=a%26b&after=abc&else=1"))

    assert query.filters["decisions"] == ["open", "reopened"]
    assert (query.filters["text"], query.filters["run"]) == ("a&b", "latest")
    assert TriageQuery.of(QueryParams(query.whole_address)) == query
    assert TriageQuery.of(QueryParams(query.toggled("decision", "open"))).chosen == (("decision", "reopened"),)
    assert TriageQuery.of(QueryParams(query.toggled("label", "X&q=1"))).chosen[-1] == ("label", "X&q=1")
    assert not TriageQuery.of(QueryParams(query.cleared())).is_narrowed


def test_a_filter_becomes_an_address_and_a_filter_again() -> None:
    filters = {"reasons": ["id_obsolete"], "labels": ["Gene"], "text": "a&b", "node": "Gene X"}
    kept = wanted(**filters)
    query = TriageQuery.of(QueryParams(TriageQuery.of_filter(kept).address))

    assert (
        wanted(**{name: value for name, value in query.named_filters.items() if name not in ("run", "before")}) == kept
    )


@pytest.mark.parametrize("address", ["q=" + "x" * 600, "&".join(f"label=L{n}" for n in range(60))])
def test_an_address_that_is_too_long_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="more than a filter takes"):
        TriageQuery.of(QueryParams(address))


def around(ends: int, names: list[str]) -> Drawing:
    """A drawing of one node, or of the two ends of an edge, each with a neighbour of each name."""
    centres = [NearEnd(label="A", id="a"), NearEnd(label="B", id="b")][:ends]
    others = [NearEnd(label="C", id=f"{centre.id}{n}") for centre in centres for n in range(len(names))]
    edges = [NearEdge(head=o, relation=f"{o.id} " * 9, tail=c) for c in centres for o in others if o.id[0] == c.id]
    edges += [NearEdge(head=centres[0], relation="R", tail=centres[1])] if ends == 2 else []
    nodes = [NearNode(label=e.label, id=e.id, name=name) for e, name in zip(others, names * ends, strict=True)]
    nodes = [NearNode(label=e.label, id=e.id, name="<b>" * 20) for e in centres] + nodes
    refs = [Ref(label=e.label, id=e.id) for e in centres]
    drawing = draw(refs, Neighbourhood(nodes=tuple(nodes), edges=tuple(edges)), is_lacking=True)
    assert drawing is not None
    return drawing


def boxes_meet(one: Dot, other: Dot) -> bool:
    (left, top, right, bottom), (l2, t2, r2, b2) = one.box, other.box
    return left < r2 and l2 < right and top < b2 and t2 < bottom


@pytest.mark.parametrize("ends", [1, 2])
@settings(max_examples=30)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=60))
@example(["W" * 60] * 40)
@example(["x"] * 8)
def test_no_two_names_in_a_drawing_overlap(ends: int, names: list[str]) -> None:
    drawing = around(ends, names)

    assert drawing.narrow
    for one, most in ((drawing, MOST), (drawing.narrow, MOST_NARROW)):
        assert len(one.dots) == ends + min(len(names) * ends, most)
        assert one.hidden == len(names) * ends - (len(one.dots) - ends)
        assert [pair for pair in combinations(one.dots, 2) if boxes_meet(*pair)] == []
        for dot in one.dots:
            left, top, right, bottom = dot.box
            assert one.left <= min(left, dot.x) <= max(right, dot.x) <= one.left + one.width
            assert one.top <= top <= bottom <= one.top + one.height
    assert drawing.narrow.width < 330
    assert len(drawing.neighbours) == len(names) * ends


@pytest.mark.parametrize("is_lacking", [True, False])
def test_an_edge_or_a_node_that_the_graph_lacks_is_drawn_as_lacking(*, is_lacking: bool) -> None:
    head, other = (NearEnd(label="A", id=name) for name in "ac")
    nodes = tuple(NearNode(label="A", id=name, is_there=not (is_lacking and name == "b")) for name in "abc")
    found = Neighbourhood(nodes=nodes, edges=(NearEdge(head=head, relation="S", tail=other),))

    drawing = draw([Ref(label="A", id="a"), Ref(label="A", id="b")], found, is_lacking=is_lacking)

    assert drawing is not None
    assert drawing.narrow
    for one in (drawing, drawing.narrow):
        assert sorted(line.kind for line in one.lines) == sorted(["lacking" if is_lacking else "main", "other"])
        assert [dot.small for dot in one.dots if dot.is_centre] == ["", "not in the graph" if is_lacking else ""]
    assert ("does not have the edge" in drawing.title) == is_lacking


def test_nothing_around_is_not_drawn() -> None:
    assert draw([Ref(label="A", id="a")], Neighbourhood(nodes=(NearNode(label="A", id="a"),), edges=())) is None


def test_a_trend_is_of_audits_that_looked_at_the_same(tmp_path: Path) -> None:
    names = ("20260101-000000-0001", "20260102-000000-0002", "20260103-000000-0003")
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        for name, options, counts in zip(names, ({}, {"labels": ["Gene"]}, {}), ((9, 1), (50, 0), (3, 2)), strict=True):
            at = datetime(2026, 1, int(name[7]), tzinfo=UTC)
            begun = Run(
                id=name, started=at, store="s", store_id="s", profile="ckg", options=options, nodes={"Protein": 1}
            )
            ledger.start(begun)
            deleted, merged = (
                Tally(
                    type=CheckType.EXISTENCE,
                    target=Target(label="Protein"),
                    outcome=Outcome.REFUTED,
                    reason=reason,
                    sources=("uniprot",),
                    count=count,
                )
                for reason, count in zip((Reason.ID_DELETED, Reason.ID_MERGED), counts, strict=True)
            )
            fine = deleted.model_copy(update={"outcome": Outcome.SUPPORTED, "count": 1_000})
            ledger.record(begun, "all", [], [deleted, merged, fine])
            last = ledger.finish(begun)

    with Workspace(ledger=tmp_path / "ledger.sqlite") as workspace:
        trend = trend_of(workspace, last)

    assert [run.id for run in trend.runs] == [names[0], names[2]]
    assert [(one.address, one.counts, one.share) for one in trend.reasons] == [
        ("reason=id_deleted", (9, 3), 60.0),
        ("reason=id_merged", (1, 2), 40.0),
    ]
    assert [(one.words, one.counts) for one in (*trend.marks, *trend.sources)] == [
        ("refuted", (10, 5)),
        ("uniprot", (10, 5)),
    ]
    assert trend.reasons[0].spark == "4.0,4.0 92.0,14.7"


def test_quotes_are_marked_and_everything_is_escaped() -> None:
    text = "A <i>b</i> binds C. D follows."

    assert highlight(text, ["binds C.", "is not there"]) == "A &lt;i&gt;b&lt;/i&gt; <mark>binds C.</mark> D follows."
    assert highlight("x\u202ey", []) == "x&lt;U+202E&gt;y"
    assert highlight("one two", ["one two", "two"]) == "<mark>one two</mark>"


@pytest.mark.parametrize("text", ["", "not stated", "2026-13", "2199", "2026-01-01-01x"])
def test_the_age_of_what_is_no_day_of_the_past_is_not_known(text: str) -> None:
    assert age(text) == ""
