"""Scores outside the range of their property."""

from kgcheck import rules
from kgcheck.quoting import identifier, literal


def _scores_out_of_range(graph: rules.RuleGraph, pattern: "rules.Pattern") -> str | None:
    from kgcheck.graph.edge_score import PLACEHOLDER_NUMBER

    wrong = [
        f"""
        SELECT head, tail, NULL, {literal(n)} || ' is ' || {identifier(n)} FROM {graph.edges(pattern)}
        WHERE {identifier(n)} NOT BETWEEN {p.range[0]} AND {p.range[1]} AND {identifier(n)} <> {PLACEHOLDER_NUMBER}
        """
        for n, p in pattern.properties.items()
        if p.range
    ]
    return " UNION ALL ".join(wrong) or None


RULE = rules.Rule(
    name="score_out_of_range",
    words="Score outside its range",
    meaning="a score outside the range of its property",
    groups=("values", "scores"),
    is_fault=True,
    bad="the score 769, where the range is 0 to 1",
    good="the score 0.769",
    is_of_one_row=True,
    follows=(rules.CauseKind.VALUE,),
    of_pattern=_scores_out_of_range,
)
