"""Findings of an earlier run that hold as they are: copied into a later one, each with the run that made it."""

from collections.abc import Sequence

from sqlalchemy import func, insert, literal, select

from kgcheck.ledger.database import Database
from kgcheck.ledger.ledger import of_target
from kgcheck.ledger.rows import batches, tally_row
from kgcheck.ledger.run import Run
from kgcheck.ledger.settling import last_number, remove_findings, settle_run
from kgcheck.ledger.tables import FINDING, FINDING_COLUMNS, KEY, PIECE, TALLY
from kgcheck.model import CheckType, Reason, Tally, Target

_TOGETHER = 500
"""Fingerprints in one statement: SQLite takes no more than some thousands of parameters."""


def carry(
    database: Database,
    run: Run,
    piece: str,
    former: Run,
    kind: CheckType,
    target: Target | None,
    tallies: Sequence[Tally],
    *,
    without: Sequence[str] = (),
    without_reasons: Sequence[Reason] = (),
    tasks: str = "",
) -> int:
    """Write a piece whose findings are those of an earlier run, all or nothing.

    Args:
        database: The ledger's.
        run: The run.
        piece: Names the piece in the run.
        former: The run whose findings hold.
        kind: Their type.
        target: The part of the schema that they are of; None for all parts.
        tallies: What the piece counts.
        without: Fingerprints of findings that do not hold.
        without_reasons: Nor those of these reasons.
        tasks: Digest of the tasks that do not hold.

    Returns:
        How many findings were carried over.
    """
    names = list(FINDING_COLUMNS)
    own = {"run": literal(run.id), "carried_from": func.coalesce(FINDING.c.carried_from, literal(former.id))}
    which = FINDING.c.type == kind.value
    if target is not None:
        which = of_target(FINDING, kind, target, label=FINDING.c.subject_label)
    which &= FINDING.c.run == former.id
    if without_reasons:
        which &= FINDING.c.reason.not_in([reason.value for reason in without_reasons])
    kept = select(*(own.get(name, FINDING.c[name]).label(name) for name in names)).where(which)
    with database.writing() as connection:
        connection.execute(insert(PIECE).values(run=run.id, piece=piece, digest=tasks))
        newest = last_number(connection)
        count = connection.execute(insert(FINDING).from_select(names, kept)).rowcount
        settle_run(connection, run.id, newest)
        for start in range(0, len(without), _TOGETHER):
            some = list(without[start : start + _TOGETHER])
            gone = select(KEY.c.finding).where(KEY.c.run == run.id, KEY.c.fingerprint.in_(some))
            count -= remove_findings(connection, connection.scalars(gone).all())
        for rows in batches([tally_row(run.id, piece, tally) for tally in tallies]):
            connection.execute(insert(TALLY), rows)
    return count
