"""Lay out a small drawing of the graph around a node or an edge, neighbours in columns."""

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from kgcheck.graph.neighbourhood import NearEnd, NearNode, Neighbourhood
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


class _Spot(NamedTuple):
    """A place for a node and its text."""

    x: float
    y: float
    text_x: float
    text_y: float
    anchor: str


class Dot(NamedTuple):
    """A node that is drawn, with its text of one or two lines."""

    x: float
    y: float
    text_x: float
    text_y: float
    anchor: str
    text: str
    small: str
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
    near = [_around(end, list(ends), found, nodes) for end in ends]
    if not any(near):
        return None
    title = f"{' and '.join(map(str, ends))} with nodes around"
    title += "; the graph does not have the edge between them" if is_lacking else ""
    centres = [nodes.get((end.label, end.id)) or NearNode(label=end.label, id=end.id) for end in ends]
    drawings = []
    for layout, most in ((_rows, MOST_NARROW), (_columns, MOST)):
        spots = layout([min(len(some), most // len(ends)) for some in near])
        lines, dots = _drawn(spots, centres, near, "lacking" if is_lacking else "main")
        everything = tuple(one for some in near for one in some)
        hidden = len(everything) - sum(not dot.is_centre for dot in dots)
        # In a box that holds all of it, texts and all.
        boxes = [dot.box for dot in dots]
        left = min(min(box[0] for box in boxes), *(dot.x - 12 for dot in dots))
        right = max(max(box[2] for box in boxes), *(dot.x + 12 for dot in dots))
        top = min(min(box[1] for box in boxes), *(dot.y - 12 for dot in dots)) - 4
        bottom = max(max(box[3] for box in boxes), *(dot.y + 26 for dot in dots)) + (24 if hidden else 4)
        box = math.floor(left), math.floor(top), math.ceil(right - left) + 1, math.ceil(bottom - top) + 1
        drawings.append(Drawing(*box, title, lines, dots, hidden, everything, bool(found.more)))
    narrow, wide = drawings
    return wide._replace(narrow=narrow)


def _columns(counts: list[int]) -> list[list[_Spot]]:
    """The ends side by side, and their neighbours in columns beside them: those of one end on both sides."""
    half = (counts[0] + 1) // 2
    sides = [[(-1, counts[0])], [(1, counts[1])]] if len(counts) == 2 else [[(-1, half), (1, counts[0] - half)]]
    found = []
    for x, own in zip((0.0, float(_GAP)), sides, strict=False):
        spots = [_Spot(x, 0, x, -16, "middle")]
        for side, count in own:
            near, anchor = x + side * _SIDE, "end" if side < 0 else "start"
            heights = [(at - (count - 1) / 2) * _ROW for at in range(count)]
            spots += [_Spot(near, y, near + side * 10, y, anchor) for y in heights]
        found.append(spots)
    return found


def _rows(counts: list[int]) -> list[list[_Spot]]:
    """Like a tree: what would stand beside an end stands below it."""
    found, y = [], 0.0
    for count in counts:
        heights = [y + (at + 1) * _STEP for at in range(count)]
        found.append([_Spot(0, y, 16, y + 4, "start"), *(_Spot(_IN, at, _IN + 11, at, "start") for at in heights)])
        y += _STEP * (count + 1.2)
    return found


def _drawn(
    spots: list[list[_Spot]], centres: list[NearNode], near: list[list[NearBy]], between: str
) -> tuple[list[Line], list[Dot]]:
    """Lines and dots at the spots of each end, which come first, and of its neighbours."""
    lines = [_line(spots[0][0], spots[1][0], between, 12)] if len(spots) == 2 else []
    dots, ends = list[Dot](), list[Dot]()
    for (here, *there), node, around in zip(spots, centres, near, strict=True):
        is_gone = node.is_there is False
        lifted = here._replace(text_y=here.text_y - 14) if is_gone and here.anchor == "middle" else here
        ends.append(Dot(*lifted, _short(node.name or node.id), "not in the graph" if is_gone else "", True, is_gone))
        for spot, one in zip(there, around, strict=False):
            lines.append(_line(here, spot, "other", 7) if one.is_out else _line(spot, here, "other", 11))
            dots.append(Dot(*spot, _short(one.name or one.other.id), _short(one.relation.replace("_", " ").lower())))
    return lines, dots + ends


def _around(end: Ref, ends: list[Ref], found: Neighbourhood, nodes: Mapping[tuple[str, str], NearNode]) -> list[NearBy]:
    """The neighbours of one end that are not the other one, those of different relations in turn."""
    centres = {(ref.label, ref.id) for ref in ends}
    by_way: dict[tuple[str, bool], list[NearBy]] = {}
    for edge in found.edges:
        for here, other, is_out in ((edge.head, edge.tail, True), (edge.tail, edge.head, False)):
            key = other.label, other.id
            if (here.label, here.id) == (end.label, end.id) and key not in centres:
                name = nodes[key].name if key in nodes else None
                near = NearBy(edge.head.id, edge.relation, edge.tail.id, other, name or "", is_out)
                by_way.setdefault((edge.relation, is_out), []).append(near)
    turns = zip_longest(*by_way.values())
    return [one for turn in turns for one in turn if one is not None]


def _line(start: _Spot, stop: _Spot, kind: str, gap: float) -> Line:
    """A line that ends a little before its target, with an arrow there."""
    begin, target, size = complex(start.x, start.y), complex(stop.x, stop.y), 6 if kind == "other" else 8
    along = (target - begin) / (abs(target - begin) or 1)
    end, across = target - along * gap, along * 1j * size / 2
    base = end - along * size
    head = "L".join(f"{at.real:.1f} {at.imag:.1f}" for at in (end, base + across, base - across))
    return Line(round(start.x, 1), round(start.y, 1), round(base.real, 1), round(base.imag, 1), kind, f"M{head}Z")


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
