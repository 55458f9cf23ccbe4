"""Genes that are translated into no protein of the graph."""

from kgcheck.profile.schema import Label
from kgcheck.rules import Rule, RuleGraph


def genes_without_protein(graph: RuleGraph, label: Label) -> str | None:
    """Select genes that are the head of no edge TRANSLATED_INTO."""
    if label.name != "Gene":
        return None
    translated = [f"SELECT head FROM {graph.edges(p)}" for p in graph.patterns if p.type == "TRANSLATED_INTO"]
    if not translated:
        return None
    return f"""
    SELECT id, NULL, NULL, 'no protein' FROM {graph.nodes(label)}
    WHERE id NOT IN ({" UNION ALL ".join(translated)})"""


RULE = Rule(
    name="gene_without_protein",
    words="Gene without a protein",
    meaning="a gene that is translated into no protein of the graph",
    groups=("ours",),
    is_fault=False,
    bad="Gene BRCA1 that nothing is said of",
    good="Gene BRCA1 TRANSLATED_INTO Protein P38398",
    of_label=genes_without_protein,
)
