"""Numbers that say how long a text is, and are not its length."""

from kgcheck import rules
from kgcheck.quoting import identifier, literal


def _length_mismatches(graph: rules.RuleGraph, label: "rules.Label") -> str | None:
    found = [
        f"""
        SELECT id, NULL, NULL, {literal(f"{name} is ")} || {identifier(name)} || ', the length of {spec.length_of} is '
               || length({identifier(spec.length_of)}), [{literal(name)}], length({identifier(spec.length_of)})::VARCHAR
        FROM {graph.nodes(label)} WHERE {identifier(name)} <> length({identifier(spec.length_of)})"""
        for name, spec in label.properties.items()
        if spec.length_of
    ]
    return " UNION ALL ".join(found) or None


RULE = rules.Rule(
    name="length_mismatch",
    words="Length that is not that of the sequence",
    meaning="a size that is not the length of the sequence beside it",
    groups=("values",),
    is_fault=True,
    bad="the size 12 beside a sequence of 10 letters",
    good="the size 10 beside a sequence of 10 letters",
    repair=rules.RuleRepair.SET_VALUE,
    is_of_one_row=True,
    names_properties=True,
    follows=(rules.CauseKind.VALUE,),
    of_label=_length_mismatches,
)
