"""Lay out a small drawing of the graph around a node or an edge, neighbours in columns."""

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from kgcheck.graph.neighbourhood import NearEnd, Neighbourhood
from kgcheck.model import Ref
from kgcheck.visible import visible

MOST, MOST_NARROW = 40, 14
"""Neighbours that are drawn, and on a narrow screen; the ends of an edge share them."""

_WIDEST = 170
"""Room for a text."""
_ROW, _STEP, _IN = 32, 34, 64
"""Between two neighbours that stand below each other, in a column and in the narrow drawing, and how far in there."""
_SIDE, _GAP = 130, 210
"""From an end to the column of its neighbours, and from one end to the other."""


class NearBy(NamedTuple):
    """A neighbour of one end of a finding, with the edge to it."""

    head: str
    relation: str
    tail: str
    other: NearEnd
    name: str
    is_out: bool


class Line(NamedTuple):
    """An edge that is drawn, with the arrow at its end: main, lacking (the graph does not have it) or other."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: str
    head: str


class Dot(NamedTuple):
    """A node that is drawn, with its text of one or two lines."""

    x: float
    y: float
    text: str
    small: str
    text_x: float
    text_y: float
    anchor: str
    is_centre: bool = False
    is_lacking: bool = False
    """The graph does not have it."""

    @property
    def box(self) -> tuple[float, float, float, float]:
        width = max(_width(self.text) * (1.15 if self.is_centre else 1), _width(self.small)) + 4
        start = {"end": self.text_x - width, "start": self.text_x, "middle": self.text_x - width / 2}[self.anchor]
        return start, self.text_y - 11, start + width, self.text_y + (17 if self.small else 4)


class Drawing(NamedTuple):
    """Lines and dots in a box, and the same as a list."""

    left: int
    top: int
    width: int
    height: int
    title: str
    lines: list[Line]
    dots: list[Dot]
    hidden: int
    """Neighbours that are not drawn."""
    neighbours: tuple[NearBy, ...]
    is_cut: bool
    """The graph has more of them."""
    narrow: "Drawing | None" = None
    """The same for a narrow screen: the ends one below the other, each with its neighbours under it."""


def draw(ends: Sequence[Ref], found: Neighbourhood, *, is_lacking: bool = False) -> Drawing | None:
    """Draw what lies around a node, or the two ends of an edge that the graph may lack; None where nothing does."""
    nodes = {(node.label, node.id): node for node in found.nodes}
    names = {key: node.name or "" for key, node in nodes.items()}
    near = [_around(end, list(ends), found, names) for end in ends]
    if not any(near):
        return None
    centres = []
    for end in ends:
        node = nodes.get((end.label, end.id))
        is_gone = node is not None and node.is_there is False
        small = "not in the graph" if is_gone else ""
        name = _short(node.name if node and node.name else end.id)
        centres.append(Dot(0, 0, name, small, 0, 0, "middle", True, is_gone))
    everything = tuple(one for some in near for one in some)
    title = f"{' and '.join(map(str, ends))} with nodes around"
    title += "; the graph does not have the edge between them" if is_lacking else ""
    between = "lacking" if is_lacking else "main"
    narrow, wide = (
        _boxed(*layout(centres, [some[: most // len(ends)] for some in near], between), title, everything, found)
        for layout, most in ((_rows, MOST_NARROW), (_columns, MOST))
    )
    return wide._replace(narrow=narrow)


def _columns(centres: list[Dot], near: list[list[NearBy]], between: str) -> tuple[list[Line], list[Dot]]:
    """The ends side by side, and their neighbours in columns beside them: those of one end on both sides."""
    lines: list[Line] = []
    dots: list[Dot] = []
    if len(near) == 2:
        places, sides = [0.0, float(_GAP)], [(0, -1, near[0]), (1, 1, near[1])]
        lines.append(_line(places[0], 0, places[1], 0, between, 12))
    else:
        half = (len(near[0]) + 1) // 2
        places, sides = [0.0], [(0, -1, near[0][:half]), (0, 1, near[0][half:])]
    for number, side, some in sides:
        x, nx = places[number], places[number] + side * _SIDE
        for at, one in enumerate(some):
            y = (at - (len(some) - 1) / 2) * _ROW
            lines.append(_edge(one, (x, 0), (nx, y)))
            dots.append(_neighbour(one, nx, y, nx + side * 10, "end" if side < 0 else "start"))
    for x, dot in zip(places, centres, strict=True):
        dots.append(dot._replace(x=x, text_x=x, text_y=-30 if dot.small else -16))
    return lines, dots


def _rows(centres: list[Dot], near: list[list[NearBy]], between: str) -> tuple[list[Line], list[Dot]]:
    """Like a tree: what would stand beside an end stands below it."""
    lines: list[Line] = []
    dots: list[Dot] = []
    y, last = 0.0, None
    for dot, around in zip(centres, near, strict=True):
        if last is not None:
            lines.append(_line(0, last, 0, y, between, 12))
        dots.append(dot._replace(y=y, text_x=16, text_y=y + 4, anchor="start"))
        last = y
        for one in around:
            y += _STEP
            lines.append(_edge(one, (0, last), (_IN, y)))
            dots.append(_neighbour(one, _IN, y, _IN + 11, "start"))
        y += _STEP * 1.2
    return lines, dots


def _edge(one: NearBy, here: tuple[float, float], there: tuple[float, float]) -> Line:
    return _line(*here, *there, "other", 7) if one.is_out else _line(*there, *here, "other", 11)


def _neighbour(one: NearBy, x: float, y: float, text_x: float, anchor: str) -> Dot:
    return Dot(
        x, y, _short(one.name or one.other.id), _short(one.relation.replace("_", " ").lower()), text_x, y, anchor
    )


def _boxed(
    lines: list[Line], dots: list[Dot], title: str, neighbours: tuple[NearBy, ...], found: Neighbourhood
) -> Drawing:
    hidden = len(neighbours) - sum(not dot.is_centre for dot in dots)
    boxes = [dot.box for dot in dots]
    left = min(min(box[0] for box in boxes), *(dot.x - 12 for dot in dots))
    right = max(max(box[2] for box in boxes), *(dot.x + 12 for dot in dots))
    top = min(min(box[1] for box in boxes), *(dot.y - 12 for dot in dots)) - 4
    bottom = max(max(box[3] for box in boxes), *(dot.y + 26 for dot in dots)) + (24 if hidden else 4)
    box = math.floor(left), math.floor(top), math.ceil(right - left) + 1, math.ceil(bottom - top) + 1
    return Drawing(*box, title, lines, dots, hidden, neighbours, bool(found.more))


def _around(end: Ref, ends: list[Ref], found: Neighbourhood, names: dict[tuple[str, str], str]) -> list[NearBy]:
    """The neighbours of one end that are not the other one, those of different relations in turn."""
    centres = {(ref.label, ref.id) for ref in ends}
    by_way: dict[tuple[str, bool], list[NearBy]] = {}
    for edge in found.edges:
        for here, other, is_out in ((edge.head, edge.tail, True), (edge.tail, edge.head, False)):
            if (here.label, here.id) == (end.label, end.id) and (other.label, other.id) not in centres:
                name = names.get((other.label, other.id), "")
                near = NearBy(edge.head.id, edge.relation, edge.tail.id, other, name, is_out)
                by_way.setdefault((edge.relation, is_out), []).append(near)
    turns = zip_longest(*by_way.values())
    return [one for turn in turns for one in turn if one is not None]


def _line(x1: float, y1: float, x2: float, y2: float, kind: str, gap: float) -> Line:
    """A line that ends a little before its target, with an arrow there."""
    begin, target, size = complex(x1, y1), complex(x2, y2), 6 if kind == "other" else 8
    along = (target - begin) / (abs(target - begin) or 1)
    end, across = target - along * gap, along * 1j * size / 2
    base = end - along * size
    head = "L".join(f"{at.real:.1f} {at.imag:.1f}" for at in (end, base + across, base - across))
    return Line(round(x1, 1), round(y1, 1), round(base.real, 1), round(base.imag, 1), kind, f"M{head}Z")


def _short(text: str) -> str:
    shown = visible(text)
    if _width(shown) <= _WIDEST:
        return shown
    while _width(shown) > _WIDEST - _width("…"):
        shown = shown[:-1]
    return f"{shown}…"


def _width(text: str) -> float:
    """Estimate the width of a text of twelve pixels."""
    return sum(12.5 if letter > "\u2e7f" or letter in "WMm@%…" else 8.8 if letter.isupper() else 7.4 for letter in text)
