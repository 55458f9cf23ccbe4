"""Edges that are stated several times, with several scores."""

from kgcheck import rules
from kgcheck.quoting import identifier


def _parallel_scores(graph: rules.RuleGraph, pattern: "rules.Pattern") -> str | None:
    scores = [name for name, spec in pattern.properties.items() if spec.range]
    alike = ", ".join(["head", "tail", *(identifier(n) for n in pattern.properties if n not in scores)])
    listed = " || '; ' || ".join(f"array_to_string(list_sort(list(DISTINCT {identifier(n)})), ', ')" for n in scores)
    differ = " OR ".join(f"count(DISTINCT {identifier(n)}) > 1" for n in scores)
    several = f"SELECT {alike}, {listed} AS listed FROM {graph.edges(pattern)} GROUP BY {alike} HAVING {differ}"
    return f"SELECT head, tail, NULL, 'scores ' || listed FROM ({several})" if scores else None


RULE = rules.Rule(
    name="parallel_scores",
    words="The same edge with several scores",
    meaning="one edge several times, alike in every property but the score",
    groups=("edges", "duplicates", "scores"),
    is_fault=True,
    bad="P04637 joined to Q00987 with the score 0.5, and again with 0.9",
    good="P04637 joined to Q00987 with one score",
    of_pattern=_parallel_scores,
)
