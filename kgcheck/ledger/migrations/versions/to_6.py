"""Format 6: claims of papers, how pairs of them stand, and what the papers of an index come to."""

from alembic import op
from sqlalchemy import Column, DateTime, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text

revision = "6"
down_revision = "5"

_ADDED = MetaData()
Table(
    "claim_text",
    _ADDED,
    Column("digest", String, primary_key=True),
    Column("paper", String, nullable=False),
    Column("read_at", DateTime, nullable=False),
)
Table(
    "paper_claim",
    _ADDED,
    Column("digest", ForeignKey("claim_text.digest"), primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("key", String, nullable=False),
    Column("paper", String, nullable=False),
    Column("document", String, nullable=False),
    Column("section", String, nullable=False),
    Column("heading", Text, nullable=False),
    Column("start", Integer, nullable=False),
    Column("stop", Integer, nullable=False),
    Column("quote", Text, nullable=False),
    Column("score", Float, nullable=False),
    Index("paper_claim_by_key", "key"),
)
Table(
    "claim_pair",
    _ADDED,
    Column("reader", String, primary_key=True),
    Column("first", String, primary_key=True),
    Column("second", String, primary_key=True),
    Column("relation", String, nullable=False),
    Column("probability", Float, nullable=False),
    Column("note", Text, nullable=False),
)
Table(
    "claim_paper",
    _ADDED,
    Column("corpus", String, primary_key=True),
    Column("paper", String, primary_key=True),
    Column("digest", String, nullable=False),
    Column("pagerank", Float, nullable=False),
    Column("hub", Float, nullable=False),
    Column("authority", Float, nullable=False),
    Column("cites", Integer, nullable=False),
    Column("cited", Integer, nullable=False),
)
Table(
    "claim_group",
    _ADDED,
    Column("corpus", String, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("claim", String, primary_key=True),
    Column("kind", String, nullable=False),
)


def upgrade() -> None:
    """Add the tables."""
    _ADDED.create_all(op.get_bind(), checkfirst=False)
