"""A map of claims of made-up papers, for tests."""

from collections.abc import Sequence

from kgcheck.grounding.claims.claim_map import ClaimMap, MappedPaper, agreements, ranked_papers
from kgcheck.ledger.paper_claims import ClaimPair, ClaimRelation, PaperClaim

TITLES = (
    "Zincol and the blood pressure of rats",
    "A trial of zincol in old mice",
    "Zincol does not lower blood pressure",
    "Sleep of fish under blue light",
    "Blue light and the sleep of carp",
    "Kinase STK5 in yeast",
    "STK5 is required for budding",
    "Budding without STK5",
    "Methods for counting yeast",
    "A review of zincol",
    "Salt, zincol and the heart",
    "Old mice, new diets",
    "Carp in the dark",
    "A note on nothing much",
)


def claim(paper: str, quote: str, section: str = "results") -> PaperClaim:
    return PaperClaim(
        paper=paper,
        document=f"{paper}#3",
        section=section,
        heading="",
        start=0,
        stop=len(quote),
        quote=quote,
        score=2.5,
    )


def pair(one: PaperClaim, other: PaperClaim, relation: ClaimRelation, probability: float = 0.81) -> ClaimPair:
    first, second = sorted((one.key, other.key))
    return ClaimPair(first=first, second=second, relation=relation, probability=probability)


def made_map(titles: Sequence[str] = TITLES) -> ClaimMap:
    """Papers that cite, support and contradict each other; the last two stand alone, the last one is retracted."""
    ids = [f"doi:10.5555/zz.{n}" for n in range(len(titles))]
    claims = {
        name: tuple(
            claim(name, f"We found that {title.lower()} changed the outcome of group {n} by a half in {name[-2:]}.")
            for n in range(2)
        )
        for name, title in zip(ids[:-1], titles[:-1], strict=True)
    }
    supports, contradicts = ClaimRelation.SUPPORTS, ClaimRelation.CONTRADICTS
    stated = [(0, 1, supports), (0, 2, contradicts), (1, 2, contradicts), (3, 4, supports), (5, 6, supports)]
    stated += [(6, 7, contradicts), (0, 10, supports), (4, 12, contradicts)]
    pairs = tuple(pair(claims[ids[a]][0], claims[ids[b]][0], relation) for a, b, relation in stated)
    links = [(1, 0), (2, 0), (9, 0), (9, 1), (9, 2), (10, 0), (4, 3), (12, 3), (6, 5), (7, 5), (7, 6), (7, 8), (11, 1)]
    citations = [(ids[a], ids[b]) for a, b in links]
    ranked = ranked_papers(dict.fromkeys(ids, "0" * 64), citations)
    papers = [
        MappedPaper(
            id=name,
            title=title,
            year=2001 + n,
            retracted=name not in claims,
            rank=ranked[name],
            claims=claims.get(name, ()),
        )
        for n, (name, title) in enumerate(zip(ids, titles, strict=True))
    ]
    every = {c.key: c for own in claims.values() for c in own}
    return ClaimMap(
        papers=tuple(sorted(papers, key=lambda p: (-p.rank.pagerank, p.id))),
        pairs=pairs,
        citations=tuple(citations),
        groups=agreements(every, pairs),
        compared=120,
        by_meaning=True,
    )
