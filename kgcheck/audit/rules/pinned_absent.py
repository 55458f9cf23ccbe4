"""Pins of what must be in the graph, and is not."""

from kgcheck.rules import Rule

RULE = Rule(
    name="pinned_absent",
    words="Mended, lost again: what a pin says must be",
    meaning="an edge, a node or a value that the file of pins says must be, and that is not there",
    groups=("pins",),
    is_fault=True,
    bad="a pin must HGNC:1884 biolink:gene_associated_with_condition MONDO:0009061, and no such edge",
    good="the same pin, and the edge",
    source="pins",
    of_graph=lambda graph: graph.broken_pins("must"),
)
