"""CalibrationTable: measurements of judges of papers, in the ledger."""

from pydantic import ValidationError
from sqlalchemy import Connection, delete, insert, select

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
        except ValidationError as error:
            where = self._database.where
            raise LedgerError(f"the ledger {where} holds a calibration that cannot be read", FROM_A_COPY) from error

    def keep(self, made: Calibration) -> None:
        """Keep a measurement, in place of an earlier one of the same judge on the same set."""
        with self._database.writing() as connection:
            self._delete(connection, made)
            connection.execute(insert(CALIBRATION).values(dict(made)))

    @staticmethod
    def _delete(connection: Connection, made: Calibration) -> None:
        keys = (column == getattr(made, column.name) for column in CALIBRATION.primary_key.columns)
        connection.execute(delete(CALIBRATION).where(*keys))
