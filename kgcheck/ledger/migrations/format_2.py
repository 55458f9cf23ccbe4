"""The tables of format 2, as they were: what is changed in kgcheck.ledger.tables changes nothing here."""

from typing import Any

from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text

from kgcheck.ledger.tables import JsonText, UtcTime

METADATA = MetaData()


def _json(name: str) -> Column[Any]:
    return Column(name, JsonText(Any), nullable=False)


RUN = Table(
    "run",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("id", String, unique=True, nullable=False),
    Column("started", UtcTime, nullable=False),
    Column("finished", UtcTime),
    Column("store", String, nullable=False),
    Column("profile", String, nullable=False),
    Column("reference", String),
    Column("compared_with", String),
    _json("warnings"),
    _json("options"),
    _json("nodes"),
    _json("edges"),
    _json("unknown"),
    _json("team"),
    _json("live"),
)
RELEASE = Table(
    "run_release",
    METADATA,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("source", String, nullable=False),
    Column("release", String, nullable=False),
    Column("file", String, nullable=False),
    Column("sha256", String, nullable=False),
)
PIECE = Table(
    "piece",
    METADATA,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("piece", String, primary_key=True),
    Column("digest", String, nullable=False),
)
HANDED = Table(
    "handed_to_team",
    METADATA,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("fingerprint", String, primary_key=True),
    Column("result", String, nullable=False),
)
FINDING = Table(
    "finding",
    METADATA,
    Column("fingerprint", String, primary_key=True),
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("type", String, nullable=False),
    Column("subject_label", String, nullable=False),
    Column("subject_id", String, nullable=False),
    Column("subject_name", String),
    Column("relation", String),
    Column("object_label", String),
    Column("object_id", String),
    Column("object_name", String),
    Column("attribute", String),
    Column("rule", String),
    Column("value", Text),
    Column("outcome", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("note", Text, nullable=False),
    _json("evidence"),
    _json("gaps"),
    Column("change_kind", String),
    Column("change_to", Text),
    Column("change_because", Text),
    _json("change_candidates"),
    Column("severity", Integer, nullable=False),
    Column("by_confidence", Float, nullable=False),
    Column("by_score", Float, nullable=False),
    Index(
        "finding_in_order",
        *("run", "severity", "type", "by_confidence", "by_score", "reason"),
        *("subject_label", "subject_id", "fingerprint"),
    ),
    Index("finding_by_reason", "run", "reason"),
    Index("finding_by_subject", "run", "subject_label", "subject_id"),
    Index("finding_by_object", "run", "object_label", "object_id"),
    Index("finding_by_relation", "run", "relation"),
)
TALLY = Table(
    "tally",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("run", ForeignKey("run.id"), nullable=False),
    Column("piece", String, nullable=False),
    Column("type", String, nullable=False),
    Column("label", String),
    Column("relation", String),
    Column("object_label", String),
    Column("attribute", String),
    Column("outcome", String, nullable=False),
    Column("reason", String, nullable=False),
    _json("sources"),
    _json("gaps"),
    Column("by_team", Boolean, nullable=False),
    Column("count", Integer, nullable=False),
    Index("tally_by_run", "run", "piece"),
)
