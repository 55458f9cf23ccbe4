"""CalibrationTable: measurements of judges of papers, in the ledger."""

from sqlalchemy import delete, insert, select

from kgcheck.checks.calibration import Calibration
from kgcheck.errors import FROM_A_COPY, LedgerError
from kgcheck.ledger.tables import LedgerTable, read_row, table_of

CALIBRATION = table_of("calibration", Calibration, key=("judge", "model", "prompt", "evidence"))


class CalibrationTable(LedgerTable):
    """Reads and writes calibrations."""

    def all(self) -> list[Calibration]:
        query = select(CALIBRATION).order_by(CALIBRATION.c.measured)
        try:
            with self._database.reading_once() as connection:
                return [read_row(Calibration, row) for row in connection.execute(query)]
        except (ValueError, TypeError) as error:
            where = self._database.where
            raise LedgerError(f"the ledger {where} holds a calibration that cannot be read", FROM_A_COPY) from error

    def keep(self, made: Calibration) -> None:
        """Keep a measurement, in place of earlier ones of the same judge on the same set, however its file is named."""
        kept, digest = CALIBRATION.c, made.evidence.rpartition(" ")[2]
        judge = (kept.judge == made.judge, kept.model == made.model, kept.prompt == made.prompt)
        with self._database.writing() as connection:
            connection.execute(delete(CALIBRATION).where(*judge, kept.evidence.endswith(digest, autoescape=True)))
            connection.execute(insert(CALIBRATION).values(dict(made)))
