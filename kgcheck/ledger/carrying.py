"""Findings of an earlier run that hold as they are: copied into a later one, each with the run that made it."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, delete, func, insert, literal, select

from kgcheck.ledger.bulk import key_new
from kgcheck.ledger.database import Database
from kgcheck.ledger.rows import batches, tally_row
from kgcheck.ledger.run import Run
from kgcheck.ledger.settling import last_number
from kgcheck.ledger.tables import FINDING, FINDING_COLUMNS, PIECE, TALLY
from kgcheck.model import CheckType, Reason, Tally, Target

_UNIT = tuple(FINDING.c[name] for name in ("type", "subject_label", "relation", "object_label", "attribute"))


class CarriedFindings:
    """Copies findings of an earlier run into a later one."""

    def __init__(self, database: Database, run: Run, former: Run) -> None:
        self._database = database
        self._run = run
        self._former = former
        self._numbers: dict[tuple[Any, ...], tuple[int, int]] | None = None

    def carry(
        self,
        piece: str,
        kind: CheckType,
        target: Target | None,
        tallies: Sequence[Tally],
        *,
        without: Sequence[str] = (),
        without_reasons: Sequence[Reason] = (),
        tasks: str = "",
    ) -> int:
        """Write a piece whose findings are those of the earlier run, all or nothing."""
        run, names = self._run.id, list(FINDING_COLUMNS)
        which = self._of(kind, target)
        if without_reasons:
            which &= FINDING.c.reason.not_in([reason.value for reason in without_reasons])
        own = {"run": literal(run), "carried_from": func.coalesce(FINDING.c.carried_from, literal(self._former.id))}
        kept = select(*(own.get(name, FINDING.c[name]).label(name) for name in names)).where(which)
        with self._database.writing(alone=False) as connection:
            connection.execute(insert(PIECE).values(run=run, piece=piece, digest=tasks))
            newest = last_number(connection)
            count = connection.execute(insert(FINDING).from_select(names, kept.order_by(FINDING.c.number))).rowcount
            # SQLite takes no more than some tens of thousands of parameters.
            for fingerprints in batches(without):
                some = FINDING.c.fingerprint.in_(fingerprints)
                # They have no keys and places yet.
                new = (FINDING.c.run == run) & (FINDING.c.number > newest)
                count -= connection.execute(delete(FINDING).where(new, some)).rowcount
            key_new(connection, run, newest)
            for rows in batches([tally_row(run, piece, tally) for tally in tallies]):
                connection.execute(insert(TALLY), rows)
        with self._database.writing():
            """It settles them, while others are judged: they are most that a run has, and its end would wait for it."""
        return count

    def _of(self, kind: CheckType, target: Target | None) -> ColumnElement[bool]:
        """A condition for the findings of a part of the schema."""
        of_run = FINDING.c.run == self._former.id
        if target is None:
            return of_run & (FINDING.c.type == kind.value)
        unit = (kind.value, target.label, target.relation, target.object_label, target.attribute)
        # Those of a unit stand together: no part of the schema need be looked for among the findings of all.
        first, last = self._places().get(unit, (0, 0))
        same = of_run & FINDING.c.number.between(first, last)
        for column, value in zip(_UNIT, unit, strict=True):
            same &= column.is_not_distinct_from(value)
        return same

    def _places(self) -> dict[tuple[Any, ...], tuple[int, int]]:
        """The first and the last number of the findings of each unit."""
        if self._numbers is None:
            ends = func.min(FINDING.c.number), func.max(FINDING.c.number)
            grouped = select(*_UNIT, *ends).where(FINDING.c.run == self._former.id).group_by(*_UNIT)
            with self._database.reading(of=self._former.id) as connection:
                self._numbers = {tuple(row[:-2]): (row[-2], row[-1]) for row in connection.execute(grouped)}
        return self._numbers
