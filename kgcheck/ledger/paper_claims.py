"""ClaimTable: claims of papers, and relations between them, cached in the ledger.

A paper's claims are kept under the digest of its text and of the rules, pairs under what read them: what has not
changed is taken from here, and a call that was cut off goes on where it was.
"""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256

from pydantic import Field
from sqlalchemy import (
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    delete,
    insert,
    select,
)

from kgcheck import clock
from kgcheck.ledger.rows import batches
from kgcheck.ledger.tables import METADATA, LedgerTable, UtcTime, read_row, table_of
from kgcheck.model import Value

READ = Table(
    "claim_text",
    METADATA,
    Column("digest", String, primary_key=True, comment="of the text of a paper and of the rules"),
    Column("paper", String, nullable=False),
    Column("read_at", UtcTime, nullable=False),
)

_CHUNK = 500


class ClaimRelation(StrEnum):
    """Relation between two claims of different papers."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    ORTHOGONAL = "orthogonal"


class PaperClaim(Value):
    """A sentence of a paper that asserts a finding: ``text[start:stop]`` of the document is the quote."""

    paper: str = Field(description="id of the paper")
    document: str = Field(description="id of its abstract, or of the paragraph")
    section: str
    heading: str = ""
    start: int = Field(ge=0)
    stop: int
    quote: str = Field(min_length=1)
    score: float = Field(description="what the rules make of it: only for the order")

    @property
    def key(self) -> str:
        """Names the claim: the same for the same words of the same paper."""
        return sha256(f"{self.paper}\n{self.quote}".encode()).hexdigest()[:16]


CLAIM = table_of(
    "paper_claim",
    PaperClaim,
    Column("digest", ForeignKey("claim_text.digest"), primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False, comment="from 1, the strongest first"),
    Column("key", String, nullable=False, comment="the same for the same words of the same paper"),
    Index("paper_claim_by_key", "key"),
    key=(),
    text=("heading", "quote"),
)


class ClaimPair(Value):
    """Two claims of different papers, by their keys, the lesser first, and how they stand to each other."""

    first: str = Field(description="key of a claim; less than the second")
    second: str
    relation: ClaimRelation
    probability: float = Field(ge=0, le=1)
    note: str = ""


PAIR = table_of(
    "claim_pair",
    ClaimPair,
    Column("reader", String, primary_key=True, comment="digest of what judged it"),
    key=("first", "second"),
    text=("note",),
)


class RankedPaper(Value):
    """A paper of an index by its citations among the papers there."""

    paper: str
    digest: str = Field(description="of the text that its claims are of")
    pagerank: float
    hub: float
    authority: float
    cites: int
    cited: int


class ClaimGroup(Value):
    """Claims of several papers that agree, or two that contradict each other, by their keys."""

    kind: str = Field(pattern="^(consensus|disagreement)$")
    claims: tuple[str, ...] = Field(min_length=2)


class ClaimTable(LedgerTable):
    """Reads and writes the claims of papers."""

    def claims(self, digests: Collection[str]) -> dict[str, tuple[PaperClaim, ...]]:
        """The claims of texts that were read, by their digests; one without claims has none, but is there."""
        found: dict[str, list[PaperClaim]] = {}
        with self._database.reading() as connection:
            for some in batches(sorted(digests), _CHUNK):
                found |= {d: [] for d in connection.scalars(select(READ.c.digest).where(READ.c.digest.in_(some)))}
                ordered = select(CLAIM).where(CLAIM.c.digest.in_(some)).order_by(CLAIM.c.digest, CLAIM.c.place)
                for row in connection.execute(ordered):
                    found[row.digest].append(read_row(PaperClaim, row))
        return {digest: tuple(claims) for digest, claims in found.items()}

    def keep_claims(self, chosen: Mapping[str, tuple[str, Sequence[PaperClaim]]]) -> None:
        """Write down what was chosen of texts, all or nothing."""
        now = clock.now()
        rows = [
            claim.model_dump() | {"digest": digest, "place": place, "key": claim.key}
            for digest, (_, claims) in chosen.items()
            for place, claim in enumerate(claims, 1)
        ]
        with self._database.writing() as connection:
            for some in batches(sorted(chosen), _CHUNK):
                # Another process may have read the same text meanwhile.
                connection.execute(delete(CLAIM).where(CLAIM.c.digest.in_(some)))
                connection.execute(delete(READ).where(READ.c.digest.in_(some)))
            texts = [{"digest": d, "paper": paper, "read_at": now} for d, (paper, _) in chosen.items()]
            for table, made in ((READ, texts), (CLAIM, rows)):
                for part in batches(made):
                    connection.execute(insert(table), part)

    def pairs(self, reader: str, keys: Collection[str]) -> dict[tuple[str, str], ClaimPair]:
        with self._database.reading() as connection:
            return _pairs(connection, reader, keys)

    def keep_pairs(self, reader: str, pairs: Sequence[ClaimPair]) -> None:
        """Write down what a reader made of pairs; one that is there stays as it is."""
        with self._database.writing() as connection:
            known = _pairs(connection, reader, {p.first for p in pairs} | {p.second for p in pairs})
            rows = [
                pair.model_dump() | {"reader": reader, "relation": pair.relation.value}
                for pair in pairs
                if (pair.first, pair.second) not in known
            ]
            for part in batches(rows):
                connection.execute(insert(PAIR), part)


def _pairs(connection: Connection, reader: str, keys: Collection[str]) -> dict[tuple[str, str], ClaimPair]:
    found: dict[tuple[str, str], ClaimPair] = {}
    for some in batches(sorted(keys), _CHUNK):
        for row in connection.execute(select(PAIR).where(PAIR.c.reader == reader, PAIR.c.first.in_(some))):
            if row.second in keys:
                found[row.first, row.second] = read_row(ClaimPair, row)
    return found
