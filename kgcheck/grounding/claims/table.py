"""Claims of papers as tables for a terminal."""

from rich.table import Table

from kgcheck.grounding.claims.claim_map import ClaimMap
from kgcheck.literature.documents import place_of


def claims_table(mapped: ClaimMap) -> Table:
    """The papers by PageRank with their claims."""
    table = Table("paper", "year", "PageRank", "cited", "section", "claim")
    for paper in mapped.papers:
        title = f"{'RETRACTED ' * paper.retracted}{paper.id} {paper.title}"
        about = (title, str(paper.year or ""), f"{paper.rank.pagerank:.4f}", str(paper.rank.cited))
        for number, claim in enumerate(paper.claims):
            table.add_row(
                *(about if number == 0 else ("", "", "", "")), place_of(claim.section, claim.heading), claim.quote
            )
        if not paper.claims:
            table.add_row(*about, "", "")
    return table


def agreement_table(mapped: ClaimMap) -> Table:
    """Consensus and disagreement, with the quotes of all sides."""
    table = Table("", "kind", "paper", "claim")
    for number, group in enumerate(mapped.groups, 1):
        for at, key in enumerate(group.claims):
            claim = mapped.claims[key]
            begins = (str(number), group.kind) if at == 0 else ("", "")
            table.add_row(*begins, claim.paper, claim.quote)
    return table
