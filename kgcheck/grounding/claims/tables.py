"""Render a map of papers' claims as tables for a terminal."""

from rich.console import RenderableType

from kgcheck.grounding.claims.claim_map import ClaimMap
from kgcheck.literature.documents import place_of
from kgcheck.report.safe_console import RowTable


def claims_table(mapped: ClaimMap) -> RenderableType:
    """The papers by PageRank with their claims."""
    rows: list[tuple[str, ...]] = []
    for paper in mapped.papers:
        title = f"{'RETRACTED ' * paper.retracted}{paper.id} {paper.title}"
        about = (title, str(paper.year or ""), f"{paper.rank.pagerank:.4f}", str(paper.rank.cited))
        for number, claim in enumerate(paper.claims):
            begins = about if number == 0 else ("", "", "", "")
            rows.append((*begins, place_of(claim.section, claim.heading), claim.quote))
        if not paper.claims:
            rows.append((*about, "", ""))
    columns = ("paper", "year", "PageRank", "cited", "section", "claim")
    return RowTable(columns, rows, keys=("year",), numbers=("PageRank", "cited"))


def agreement_table(mapped: ClaimMap) -> RenderableType:
    """Consensus and disagreement, with the quotes of all sides."""
    rows = []
    for number, group in enumerate(mapped.groups, 1):
        for at, key in enumerate(group.claims):
            claim = mapped.claims[key]
            begins = (str(number), group.kind) if at == 0 else ("", "")
            rows.append((*begins, claim.paper, claim.quote))
    return RowTable(("group", "kind", "paper", "claim"), rows, keys=("group", "kind", "paper"))
