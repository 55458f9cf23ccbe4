"""Render a map of papers' claims as an HTML page with a drawing, or as tables for a terminal."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from rich.console import RenderableType

from kgcheck.errors import MissingExtra
from kgcheck.grounding.claims.claim_map import ClaimMap, MappedPaper
from kgcheck.ledger.paper_claims import ClaimRelation, PaperClaim
from kgcheck.literature.documents import place_of
from kgcheck.report.documents import page
from kgcheck.report.safe_console import RowTable

try:
    import rustworkx as rx
except ImportError as error:
    raise MissingExtra("drawing papers", "grounding") from error

MOST_DRAWN = 120
"""Papers in the picture: those that something holds between first, then by PageRank."""

MOST_LISTED = 500

Spot = tuple[float, float]

_WIDTH = 1000.0
_MARGIN = 40.0
_LEAST_RADIUS, _MORE_RADIUS = 12.0, 16.0
_APART = 10.0
_LINE = 130.0
_ASIDE = {"supports": 5.0, "contradicts": -5.0, "cites": 0.0}
"""Distance of a line from the middle, so that two between the same papers do not hide each other."""


class DrawnPaper(NamedTuple):
    """A paper in the picture; ``number`` is its place in the table."""

    number: int
    paper: MappedPaper
    x: float
    y: float
    radius: float


class DrawnEdge(NamedTuple):
    """Relation between two papers, by their numbers, of so many pairs of claims."""

    relation: str
    one: int
    other: int
    pairs: int
    x1: float = 0.0
    y1: float = 0.0
    x2: float = 0.0
    y2: float = 0.0


class Related(NamedTuple):
    """Relation of a claim to one of another paper."""

    relation: str
    probability: float
    number: int
    claim: PaperClaim


def claims_page(mapped: ClaimMap, name: str) -> str:
    """The page, which stands alone."""
    numbers = {paper.id: number for number, paper in enumerate(mapped.papers, 1)}
    edges = _edges(mapped, numbers)
    drawn = _placed(mapped, numbers, edges)
    listed = mapped.papers[:MOST_LISTED]
    shown = {paper.id for paper in listed}
    counts = Counter(pair.relation.value for pair in mapped.pairs)
    return page(
        "claims",
        "html",
        own="claims",
        name=name,
        map=mapped,
        numbers=numbers,
        places={key: place_of(claim.section, claim.heading) for key, claim in mapped.claims.items()},
        papers=listed,
        shown=shown,
        counts={relation.value: counts[relation.value] for relation in ClaimRelation},
        by_paper=_by_paper(edges),
        related=_related(mapped, numbers),
        drawn=drawn,
        lines=_lines(edges, drawn),
        height=round(max((d.y + d.radius for d in drawn), default=100.0) + _MARGIN, 1),
        agreed=[[mapped.claims[key] for key in g.claims] for g in mapped.groups if g.kind == "consensus"],
        opposed=[[mapped.claims[key] for key in g.claims] for g in mapped.groups if g.kind == "disagreement"],
    )


def _edges(mapped: ClaimMap, numbers: Mapping[str, int]) -> list[DrawnEdge]:
    counts: Counter[tuple[str, int, int]] = Counter()
    for pair in mapped.pairs:
        ends = sorted(numbers[mapped.claims[key].paper] for key in (pair.first, pair.second))
        counts[pair.relation.value, ends[0], ends[1]] += 1
    edges = [DrawnEdge(*key, count) for key, count in sorted(counts.items())]
    return edges + [DrawnEdge("cites", numbers[citing], numbers[cited], 1) for citing, cited in mapped.citations]


def _by_paper(edges: Sequence[DrawnEdge]) -> Mapping[tuple[int, str], int]:
    """Count the claims of others that support or contradict those of a paper, by its number and the relation."""
    counts: Counter[tuple[int, str]] = Counter()
    for edge in edges:
        counts[edge.one, edge.relation] += edge.pairs
        counts[edge.other, edge.relation] += edge.pairs
    return counts


def _related(mapped: ClaimMap, numbers: Mapping[str, int]) -> dict[str, list[Related]]:
    """By the key of a claim, what others say of it, contradictions first."""
    found: dict[str, list[Related]] = {}
    for pair in mapped.pairs:
        for key, other in ((pair.first, pair.second), (pair.second, pair.first)):
            claim = mapped.claims[other]
            found.setdefault(key, []).append(
                Related(pair.relation.value, pair.probability, numbers[claim.paper], claim)
            )
    for each in found.values():
        each.sort(key=lambda r: (r.relation, -r.probability, r.number))
    return found


def _placed(mapped: ClaimMap, numbers: Mapping[str, int], edges: Sequence[DrawnEdge]) -> list[DrawnPaper]:
    """Place the papers: each group that holds together as springs would have it, one beside the other."""
    joined = {number for edge in edges for number in (edge.one, edge.other)}
    order = sorted(range(1, len(mapped.papers) + 1), key=lambda n: (n not in joined, n))[:MOST_DRAWN]
    graph: rx.PyGraph[int, float] = rx.PyGraph(multigraph=False)
    place = dict(zip(order, graph.add_nodes_from(order), strict=True))
    graph.add_edges_from([(place[e.one], place[e.other], 1.0) for e in edges if e.one in place and e.other in place])
    most = max((p.rank.pagerank for p in mapped.papers), default=0.0) or 1.0
    radius = {
        n: round(_LEAST_RADIUS + _MORE_RADIUS * math.sqrt(mapped.papers[n - 1].rank.pagerank / most), 1) for n in order
    }
    parts = sorted((sorted(part) for part in rx.connected_components(graph)), key=lambda part: (-len(part), part))
    spots: dict[int, Spot] = {}
    x = y = high = 0.0
    for part in parts:
        own = _apart(_sprung(graph.subgraph(part)), radius)
        left, top = (min(at[axis] - radius[n] for n, at in own.items()) for axis in (0, 1))
        wide, tall = (max(at[axis] + radius[n] for n, at in own.items()) - low for axis, low in ((0, left), (1, top)))
        if x and x + wide > _WIDTH - 2 * _MARGIN:
            x, y, high = 0.0, y + high + _MARGIN, 0.0
        spots |= {n: (_MARGIN + x + u - left, _MARGIN + y + v - top) for n, (u, v) in own.items()}
        x, high = x + wide + _MARGIN, max(high, tall)
    return [DrawnPaper(n, mapped.papers[n - 1], round(spots[n][0], 1), round(spots[n][1], 1), radius[n]) for n in order]


def _sprung(graph: "rx.PyGraph[int, float]") -> dict[int, Spot]:
    """The papers of one group, their lines about as long as _LINE, none farther out than the picture is wide."""
    placed = rx.spring_layout(graph, seed=1, num_iter=300)
    lengths = [math.dist(placed[a], placed[b]) for a, b in graph.edge_list()]
    if not lengths:
        return {graph[i]: (0.0, 0.0) for i in graph.node_indices()}
    scale = _LINE * len(lengths) / (sum(lengths) or 1.0)
    wide = max(placed[i][0] for i in placed) - min(placed[i][0] for i in placed)
    scale = min(scale, (_WIDTH - 4 * _MARGIN) / (wide or 1.0))
    return {graph[i]: (scale * placed[i][0], scale * placed[i][1]) for i in graph.node_indices()}


def _apart(spots: dict[int, Spot], radius: Mapping[int, float]) -> dict[int, Spot]:
    """Circles pushed apart until none hides another, as far as a few rounds bring them."""
    for _ in range(60):
        moved = False
        for one, other in combinations(spots, 2):
            (x, y), (u, v) = spots[one], spots[other]
            gap = math.hypot(u - x, v - y)
            lacking = (radius[one] + radius[other] + _APART - gap) / 2
            if lacking > 0:
                moved = True
                dx, dy = ((u - x) / gap, (v - y) / gap) if gap else (1.0, 0.0)
                spots[one], spots[other] = (x - dx * lacking, y - dy * lacking), (u + dx * lacking, v + dy * lacking)
        if not moved:
            break
    return spots


def _lines(edges: Sequence[DrawnEdge], drawn: Sequence[DrawnPaper]) -> list[DrawnEdge]:
    """The lines between circles that are in the picture, from edge to edge."""
    by_number = {d.number: d for d in drawn}
    found = []
    for edge in edges:
        one, other = by_number.get(edge.one), by_number.get(edge.other)
        if one is None or other is None:
            continue
        gap = math.hypot(other.x - one.x, other.y - one.y) or 1.0
        dx, dy = (other.x - one.x) / gap, (other.y - one.y) / gap
        aside = _ASIDE[edge.relation]
        found.append(
            edge._replace(
                x1=round(one.x + dx * one.radius - dy * aside, 1),
                y1=round(one.y + dy * one.radius + dx * aside, 1),
                x2=round(other.x - dx * (other.radius + 3) - dy * aside, 1),
                y2=round(other.y - dy * (other.radius + 3) + dx * aside, 1),
            )
        )
    return found


def claims_table(mapped: ClaimMap) -> RenderableType:
    """The papers by PageRank with their claims."""
    rows: list[tuple[str, ...]] = []
    for paper in mapped.papers:
        title = f"{'RETRACTED ' * paper.retracted}{paper.id} {paper.title}"
        about = (title, str(paper.year or ""), f"{paper.rank.pagerank:.4f}", str(paper.rank.cited))
        for number, claim in enumerate(paper.claims):
            begins = about if number == 0 else ("", "", "", "")
            rows.append((*begins, place_of(claim.section, claim.heading), claim.quote))
        if not paper.claims:
            rows.append((*about, "", ""))
    columns = ("paper", "year", "PageRank", "cited", "section", "claim")
    return RowTable(columns, rows, keys=("year",), numbers=("PageRank", "cited"))


def agreement_table(mapped: ClaimMap) -> RenderableType:
    """Consensus and disagreement, with the quotes of all sides."""
    rows = []
    for number, group in enumerate(mapped.groups, 1):
        for at, key in enumerate(group.claims):
            claim = mapped.claims[key]
            begins = (str(number), group.kind) if at == 0 else ("", "")
            rows.append((*begins, claim.paper, claim.quote))
    return RowTable(("group", "kind", "paper", "claim"), rows, keys=("group", "kind", "paper"))
