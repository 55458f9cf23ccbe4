"""Numbers that are stored as text."""

from typing import TYPE_CHECKING

from kgcheck.rules import Rule, RuleGraph

if TYPE_CHECKING:
    from kgcheck.profile.schema import Label, Pattern


def _select(table: str, head: str, tail: str) -> str:
    from kgcheck.graph.store import AS_TEXT

    return f"SELECT {head}, {tail}, NULL, array_to_string({AS_TEXT}, ', ') FROM {table} WHERE len({AS_TEXT}) > 0"


def _numbers_of_nodes(graph: RuleGraph, label: "Label") -> str:
    return _select(graph.nodes(label), "id", "NULL")


def _numbers_of_edges(graph: RuleGraph, pattern: "Pattern") -> str:
    return _select(graph.edges(pattern), "head", "tail")


RULE = Rule(
    name="number_as_text",
    words="Number stored as text",
    meaning="a number stored as text",
    groups=("values",),
    is_fault=True,
    bad='an edge with the score "0.9"',
    good="an edge with the score 0.9",
    is_of_one_row=True,
    of_label=_numbers_of_nodes,
    of_pattern=_numbers_of_edges,
)
