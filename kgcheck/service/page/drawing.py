"""What lies around a finding in the graph, as a small drawing: the ends in the middle, their neighbours around them."""

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from kgcheck.graph.neighbourhood import Neighbourhood
from kgcheck.model import CheckTask, CheckType, Ref

MOST = 7
"""Neighbours of one end that are drawn."""

WIDTH, HEIGHT = 640, 280
_NEAR = 96
_LETTER = 7.3
"""How wide a letter is, about."""
_LONGEST = 20
_STEP, _IN = 34, 64
"""Of the narrow drawing: from one node down to the next, and from an end in to its neighbours."""


class NearBy(NamedTuple):
    """A neighbour of one end of a finding, with the edge to it."""

    head: str
    relation: str
    tail: str
    other: str
    name: str
    is_out: bool


class Line(NamedTuple):
    """An edge that is drawn, with the arrow at its end."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: str
    """main, lacking (the graph does not have it) or other."""
    head: str


class Dot(NamedTuple):
    """A node that is drawn, with its text."""

    x: float
    y: float
    text: str
    small: str
    text_x: float
    text_y: float
    anchor: str
    is_centre: bool


class Drawing(NamedTuple):
    """Lines and dots in a box, and the same as a list."""

    left: int
    top: int
    width: int
    height: int
    title: str
    lines: tuple[Line, ...]
    dots: tuple[Dot, ...]
    neighbours: tuple[NearBy, ...]
    is_cut: bool
    narrow: "Drawing | None" = None
    """The same for a narrow screen: the ends one below the other, each with its neighbours under it."""


def draw(task: CheckTask, found: Neighbourhood) -> Drawing | None:
    """Draw what lies around a finding."""
    ends = [task.subject, *([task.object] if task.object and task.object != task.subject else [])]
    between = "lacking" if task.type is CheckType.POTENTIAL else "main"
    names = {(node.label, node.id): node.name or "" for node in found.nodes}
    near = [_around(end, ends, found, names) for end in ends]
    if not any(near):
        return None
    middle = HEIGHT / 2
    places = [(WIDTH / 2, middle)] if len(ends) == 1 else [(WIDTH * 0.36, middle), (WIDTH * 0.64, middle)]
    lines: list[Line] = []
    dots: list[Dot] = []
    if len(ends) == 2:
        lines.append(_line(*places[0], *places[1], between, 12))
    for number, (x, y) in enumerate(places):
        shown = near[number][:MOST]
        for at, one in enumerate(shown):
            angle = _angle(at, len(shown), number if len(ends) == 2 else None)
            reach = _NEAR * (1.15 if len(ends) == 1 else 1)
            nx, ny = round(x + reach * math.cos(angle) * 1.25, 1), round(y + reach * math.sin(angle), 1)
            lines.append(_line(x, y, nx, ny, "other", 7) if one.is_out else _line(nx, ny, x, y, "other", 11))
            is_left = nx < x
            text_x = nx - 10 if is_left else nx + 10
            dots.append(
                Dot(nx, ny, _short(one.name or one.other), _short(one.relation.replace("_", " ").lower()),
                    text_x, round(ny, 1), "end" if is_left else "start", False)
            )  # fmt: skip
        name = names.get((ends[number].label, ends[number].id))
        dots.append(Dot(x, y, _short(name or ends[number].id), "", x, y - 16, "middle", True))
    everything = tuple(one for some in near for one in some)
    drawn = sum(min(len(some), MOST) for some in near)
    title = f"{' and '.join(str(e) for e in ends)} with {drawn} of the nodes around"
    title += "; the graph does not have the edge between them" if between == "lacking" else ""
    is_cut = bool(found.more) or drawn < len(everything)
    below_lines, below_dots = _narrow([names.get((end.label, end.id)) or end.id for end in ends], near, between)
    below = Drawing(*_box(below_dots), title, tuple(below_lines), tuple(below_dots), everything, is_cut)
    return Drawing(*_box(dots), title, tuple(lines), tuple(dots), everything, is_cut, below)


def _narrow(names: list[str], near: list[list[NearBy]], between: str) -> tuple[list[Line], list[Dot]]:
    """Like a tree: what would stand beside an end stands below it."""
    lines: list[Line] = []
    dots: list[Dot] = []
    y, last = 0.0, None
    for name, around in zip(names, near, strict=True):
        if last is not None:
            lines.append(_line(0, last, 0, y, between, 12))
        dots.append(Dot(0, y, _short(name), "", 16, y + 4, "start", True))
        last = y
        for one in around[:MOST]:
            y += _STEP
            lines.append(_line(0, last, _IN, y, "other", 7) if one.is_out else _line(_IN, y, 0, last, "other", 11))
            small = _short(one.relation.replace("_", " ").lower())
            dots.append(Dot(_IN, y, _short(one.name or one.other), small, _IN + 11, y, "start", False))
        y += _STEP * 1.2
    return lines, dots


def _box(dots: Sequence[Dot]) -> tuple[int, int, int, int]:
    """Left, top, width and height of what is drawn, texts and all."""
    sides = []
    for dot in dots:
        wide = _LETTER * (1.15 if dot.is_centre else 1) * max(len(dot.text), len(dot.small)) + 8
        start = {"end": dot.text_x - wide, "start": dot.text_x, "middle": dot.text_x - wide / 2}[dot.anchor]
        sides.append((min(start, dot.x - 12), max(start + wide, dot.x + 12)))
    left, right = min(start for start, _ in sides), max(end for _, end in sides)
    top, bottom = min(dot.y for dot in dots) - 32, max(dot.y for dot in dots) + 22
    return int(left), int(top), math.ceil(right - left), math.ceil(bottom - top)


def _around(end: Ref, ends: list[Ref], found: Neighbourhood, names: dict[tuple[str, str], str]) -> list[NearBy]:
    """The neighbours of one end that are not the other one, those of different relations in turn."""
    centres = {(ref.label, ref.id) for ref in ends}
    by_way: dict[tuple[str, bool], list[NearBy]] = {}
    for edge in found.edges:
        for here, other, is_out in ((edge.head, edge.tail, True), (edge.tail, edge.head, False)):
            if (here.label, here.id) == (end.label, end.id) and (other.label, other.id) not in centres:
                name = names.get((other.label, other.id), "")
                near = NearBy(edge.head.id, edge.relation, edge.tail.id, other.id, name, is_out)
                by_way.setdefault((edge.relation, is_out), []).append(near)
    turns = zip_longest(*by_way.values())
    return [one for turn in turns for one in turn if one is not None]


def _angle(at: int, count: int, side: int | None) -> float:
    """Where a neighbour stands: all around a single end, on the outer half of one of two."""
    if side is None:
        return 2 * math.pi * (at + (0.5 if count > 2 else 0)) / count
    turn = math.pi if side == 0 else 0.0
    spread = math.pi * 0.95
    return turn + (0 if count == 1 else spread * (at / (count - 1) - 0.5))


def _line(x1: float, y1: float, x2: float, y2: float, kind: str, gap: float) -> Line:
    """A line that ends a little before its target, with an arrow there."""
    length = math.hypot(x2 - x1, y2 - y1) or 1
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    ex, ey = x2 - ux * gap, y2 - uy * gap
    size = 6 if kind == "other" else 8
    bx, by = ex - ux * size, ey - uy * size
    left, right = (bx - uy * size / 2, by + ux * size / 2), (bx + uy * size / 2, by - ux * size / 2)
    head = f"M{ex:.1f} {ey:.1f}L{left[0]:.1f} {left[1]:.1f}L{right[0]:.1f} {right[1]:.1f}Z"
    return Line(round(x1, 1), round(y1, 1), round(bx, 1), round(by, 1), kind, head)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
