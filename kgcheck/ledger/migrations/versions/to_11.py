"""Migrate a ledger from format 3, the last one released, to format 11."""

from alembic import op
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    String,
    case,
    cast,
    column,
    delete,
    false,
    insert,
    literal,
    select,
    table,
    update,
)

from kgcheck.ledger.bulk_insert import settle_run
from kgcheck.ledger.causes import link_causes
from kgcheck.ledger.comparisons import COMPARED, COMPARISON, Pair, write_compared
from kgcheck.ledger.copying import go_on_counting
from kgcheck.ledger.tables import FINDING, FINDING_COLUMNS, HANDED, METADATA, RUN, TALLY
from kgcheck.ledger.work import WORK

revision = "11"
down_revision = "3"

_OLD = "finding_3"


def upgrade() -> None:
    """Write findings anew, with keys and places of their own, runs of jobs as work, and add the tables that are new."""
    connection = op.get_bind()
    for name in ("in_order", "by_reason", "by_subject", "by_object", "by_relation"):
        op.drop_index(f"finding_{name}", "finding")
    op.rename_table("finding", _OLD)
    if connection.dialect.name == "postgresql":
        op.execute(f"ALTER INDEX finding_pkey RENAME TO {_OLD}_pkey")
    METADATA.create_all(connection)
    # What it had of findings stands with them; of runs that are gone nobody knows more than that there were some.
    for name in ("type", "subject_label", "relation", "object_label", "outcome", "reason", "about"):
        op.drop_column(COMPARED.name, name)
    connection.execute(delete(COMPARED).where(COMPARED.c.found_in.not_in(select(RUN.c.id))))
    op.add_column("compared", Column("is_there", Boolean, nullable=False, server_default=false()))
    op.add_column("run", Column("store_id", String))
    for name in ("outcome", "reason", "calls", "seconds", "tokens", "money"):
        op.add_column(HANDED.name, Column(name, HANDED.c[name].type))
    # By their places, as they were known till now.
    connection.execute(update(RUN).values(store_id=RUN.c.store))
    # Of the patches that are there nobody knows whether they were made here.
    op.add_column("patch", Column("digest", String))
    _findings(connection)
    for run in connection.scalars(select(RUN.c.id)).all():
        link_causes(connection, run)
    for run, before in connection.execute(select(COMPARISON.c.run, COMPARISON.c.before)).all():
        if before:
            write_compared(connection, Pair(before, run))
    _runs_of_jobs(connection)


def _findings(connection: Connection) -> None:
    old = table(_OLD, *map(column, FINDING_COLUMNS))
    connection.execute(insert(FINDING).from_select(FINDING_COLUMNS, select(old)))
    _outcomes_of_missing_edges(connection)
    for run in connection.scalars(select(RUN.c.id)).all():
        settle_run(connection, run, 0)
    op.drop_table(_OLD)


def _outcomes_of_missing_edges(connection: Connection) -> None:
    """Turn round the outcomes of edges that the graph lacks: they were about the graph, and are about the edge."""
    turned = {"refuted": "supported", "supported": "refuted"}
    for of in (FINDING, TALLY):
        is_turned = (of.c.type == "potential") & of.c.outcome.in_(turned)
        connection.execute(update(of).where(is_turned).values(outcome=case(turned, value=of.c.outcome)))
    potential = select(FINDING.c.fingerprint).where(FINDING.c.type == "potential", FINDING.c.run == HANDED.c.run)
    is_turned = HANDED.c.fingerprint.in_(potential) & HANDED.c.result.in_(turned)
    connection.execute(update(HANDED).where(is_turned).values(result=case(turned, value=HANDED.c.result)))


def _runs_of_jobs(connection: Connection) -> None:
    same = ("number", "job", "state", "planned", "started", "worker", "lease_until", "attempt", "run", "severity")
    old = table("job_run", *map(column, (*same, "message", "result", "finished")))
    none = literal("{}")
    values = {
        **{name: old.c[name] for name in (*same, "message", "result")},
        "id": cast(old.c.number, String),
        "kind": literal("job"),
        "created": old.c.started,
        "ended": old.c.finished,
        **dict.fromkeys(("parameters", "noted", "error"), none),
        **dict.fromkeys(("step", "by"), literal("")),
        "done": literal(0),
        "stop": false(),
        "version": literal(1),
    }
    connection.execute(insert(WORK).from_select(list(values), select(*values.values())))
    go_on_counting(connection, WORK)
    op.drop_table("job_run")
