"""Numbers that say how long a text is, and are not its length."""

from typing import TYPE_CHECKING

from kgcheck.quoting import identifier, literal
from kgcheck.rules import CauseKind, Rule, RuleGraph, RuleRepair

if TYPE_CHECKING:
    from kgcheck.profile.schema import Label


def _length_mismatches(graph: RuleGraph, label: "Label") -> str | None:
    found = [
        f"""
        SELECT id, NULL, NULL, {literal(f"{name} is ")} || {identifier(name)} || ', the length of {spec.length_of} is '
               || length({identifier(spec.length_of)}), [{literal(name)}], length({identifier(spec.length_of)})::VARCHAR
        FROM {graph.nodes(label)} WHERE {identifier(name)} <> length({identifier(spec.length_of)})"""
        for name, spec in label.properties.items()
        if spec.length_of
    ]
    return " UNION ALL ".join(found) or None


RULE = Rule(
    name="length_mismatch",
    words="Length that is not that of the sequence",
    meaning="a size that is not the length of the sequence beside it",
    groups=("values",),
    is_fault=True,
    bad="the size 12 beside a sequence of 10 letters",
    good="the size 10 beside a sequence of 10 letters",
    repair=RuleRepair.SET_VALUE,
    is_of_one_row=True,
    names_properties=True,
    follows=(CauseKind.VALUE,),
    of_label=_length_mismatches,
)
