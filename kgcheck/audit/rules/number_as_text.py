"""Numbers that are stored as text."""

from kgcheck.rules import Rule


def _select(table: str, ends: str) -> str:
    from kgcheck.graph.store import AS_TEXT

    return f"SELECT {ends}, NULL, array_to_string({AS_TEXT}, ', ') FROM {table} WHERE len({AS_TEXT}) > 0"


RULE = Rule(
    name="number_as_text",
    words="Number stored as text",
    meaning="a number stored as text",
    groups=("values",),
    is_fault=True,
    bad='an edge with the score "0.9"',
    good="an edge with the score 0.9",
    is_of_one_row=True,
    of_label=lambda graph, label: _select(graph.nodes(label), "id, NULL"),
    of_pattern=lambda graph, pattern: _select(graph.edges(pattern), "head, tail"),
)
