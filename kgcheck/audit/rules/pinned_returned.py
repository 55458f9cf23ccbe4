"""Pins of what must not be in the graph, and is there again."""

from kgcheck.rules import Rule

RULE = Rule(
    name="pinned_returned",
    words="Mended, returned: what a pin says must not be",
    meaning="an edge, a node or a value that the file of pins says must not be, and that is there",
    groups=("pins",),
    is_fault=True,
    bad="a pin must_not HGNC:1884 biolink:treats MONDO:0009061, and such an edge",
    good="the same pin, and no such edge",
    source="pins",
    of_graph=lambda graph: graph.broken_pins("must_not"),
)
