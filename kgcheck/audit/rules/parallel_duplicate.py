"""Edges that are stated several times, alike in every property."""

from kgcheck import rules
from kgcheck.quoting import identifier


def _parallel_duplicates(graph: rules.RuleGraph, pattern: "rules.Pattern") -> str:
    stated = ", ".join(["head", "tail", *(identifier(n) for n in pattern.properties)])
    return f"""
    SELECT head, tail, NULL, 'the same edge ' || n || ' times'
    FROM (SELECT {stated}, count(*) AS n FROM {graph.edges(pattern)} GROUP BY ALL HAVING n > 1)"""


RULE = rules.Rule(
    name="parallel_duplicate",
    words="The same edge more than once",
    meaning="one edge several times, alike in every property",
    groups=("edges", "duplicates"),
    is_fault=True,
    bad="P04637 joined to Q00987 twice, with equal properties",
    good="P04637 joined to Q00987 once",
    repair=rules.RuleRepair.RETIRE_DUPLICATES,
    of_pattern=_parallel_duplicates,
)
