"""Ledger tables of runs and findings (format 11), and the column types of all tables.

All types and statements are such as SQLite and PostgreSQL take alike. Times are in UTC. A NULL is an absent value, and
a JSON text is never NULL.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import TypeAdapter
from sqlalchemy import (
    Boolean,
    Column,
    Date,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Row,
    String,
    Table,
    Text,
    TypeDecorator,
)

from kgcheck.ledger.run import HandedOver, PinnedRelease, Run
from kgcheck.model import Evidence, Gap, Value

if TYPE_CHECKING:
    from kgcheck.ledger.database import Database

V = TypeVar("V", bound=Value)

FORMAT = 11
"""Also the name of the revision in kgcheck.ledger.migrations that leads to it."""

RELEASED = 3
"""The format of the release before, kgcheck 0.2: the only other one that is read."""

OPEN_SEVERITIES = (0, 1)
"""Severities of which runs keep every finding: these are listed and compared."""

METADATA = MetaData()

VERSION = Table("ledger_format", MetaData(), Column("version_num", String(32), primary_key=True))
"""Alembic's own table: the format that a ledger has."""


class UtcTime(TypeDecorator[datetime]):
    """A time with its zone in Python, without it in the database."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC).replace(tzinfo=None) if value else None

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return value.replace(tzinfo=UTC) if value else None


class JsonText(TypeDecorator[Any]):
    """A value as JSON, checked against its type when it is read: a file may come from anybody."""

    impl = Text
    cache_ok = True

    def __init__(self, value_type: Any) -> None:
        super().__init__()
        self.of = str(value_type)
        self._adapter: TypeAdapter[Any] = TypeAdapter(value_type)

    def process_bind_param(self, value: Any | None, dialect: Dialect) -> str | None:
        return None if value is None else self._adapter.dump_json(value).decode()

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any | None:
        """From the database; ValidationError where it is no JSON of the type."""
        return None if value is None else self._adapter.validate_json(value)


class LedgerTable:
    """Reads and writes a table of the ledger, or several that belong together."""

    def __init__(self, database: "Database") -> None:
        self._database = database


def read_row(model: type[V], row: Row[Any]) -> V:
    """The value of a row that has a column for each of its fields, and may have more."""
    return model(**{name: row._mapping[name] for name in model.model_fields})


_PLAIN: tuple[tuple[type, type[Any]], ...] = (
    *((bool, Boolean), (int, Integer), (float, Float), (str, String)),
    *((datetime, UtcTime), (date, Date)),
)


def table_of(
    name: str,
    model: type[Value],
    *items: Column[Any] | Index,
    key: Sequence[str] = ("number",),
    text: Sequence[str] = (),
    without: Sequence[str] = (),
) -> Table:
    """A table with a column for each field of a model: NULL where that may be None, JSON of what is no plain value.

    A column that is given by itself takes the place of that of a field; `text` names those of long texts.
    """
    columns = {item.name: item for item in items if isinstance(item, Column)}
    for field, described in model.model_fields.items():
        if field not in columns and field not in without:
            union = described.annotation
            kinds = get_args(union) if isinstance(union, UnionType) else (union,)
            (kind,) = (one for one in kinds if one is not NoneType)
            plain = (column for known, column in _PLAIN if isinstance(kind, type) and issubclass(kind, known))
            made = Text() if field in text else next((column() for column in plain), None) or JsonText(kind)
            is_key, about = field in key, described.description
            columns[field] = Column(field, made, primary_key=is_key, nullable=NoneType in kinds, comment=about)
    return Table(name, METADATA, *columns.values(), *(item for item in items if isinstance(item, Index)))


def _json(name: str, value_type: Any) -> Column[Any]:
    return Column(name, JsonText(value_type), nullable=False)


def _words(names: str, *, nullable: bool = False, primary_key: bool = False) -> list[Column[Any]]:
    """Columns of words, by their names in a line."""
    nullable = nullable and not primary_key
    return [Column(name, String, nullable=nullable, primary_key=primary_key) for name in names.split()]


RUN = table_of(
    "run",
    Run,
    Column("number", Integer, primary_key=True, comment="in the order in which runs were begun"),
    Column("id", String, unique=True, nullable=False),
    Column("made_with", JsonText(dict[str, str]), comment="NULL of runs that did not keep it"),
    Column("store_id", String, comment="names the store; its place, where nothing else did"),
    without=("releases",),
)
RELEASE = table_of(
    "run_release",
    PinnedRelease,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("place", Integer, primary_key=True, comment="in the order of the snapshot"),
    Column("released", String, comment="the date of the release; NULL of runs that did not keep it"),
)
PIECE = Table(
    "piece",
    METADATA,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("piece", String, primary_key=True, comment="names the piece in the run, and means nothing else"),
    Column("digest", String, nullable=False, comment="of the tasks that the piece is of"),
)
HANDED = table_of(
    "handed_to_team", HandedOver, Column("run", ForeignKey("run.id"), primary_key=True), key=("fingerprint",)
)
FINDING = Table(
    "finding",
    METADATA,
    # Rows are only added at the end, and no index of random keys slows that down: KEY and PLACE are filled when a run
    # is read or ends, many rows at a time, each in its order, and without a look at the run for each.
    Column("number", Integer, primary_key=True, comment="in the order in which they came into this ledger"),
    Column("run", ForeignKey("run.id"), nullable=False),
    *_words("fingerprint type subject_label subject_id outcome reason"),
    *_words("subject_name relation object_label object_id object_name attribute rule", nullable=True),
    Column("value", Text),
    Column("confidence", Float, nullable=False),
    Column("note", Text, nullable=False),
    _json("evidence", tuple[Evidence, ...]),
    _json("gaps", tuple[Gap, ...]),
    Column("change_kind", String, comment="NULL where no change is proposed"),
    Column("change_to", Text),
    Column("change_because", Text),
    _json("change_candidates", tuple[str, ...]),
    Column("basis", String, comment="see kgcheck.ledger.basis; NULL in what was written before there was one"),
    Column("severity", Integer, nullable=False, comment="0 wrong, 1 insufficient, 2 unavailable, 3 right"),
    Column("by_confidence", Float, nullable=False, comment="ranks potential edges: minus their confidence; else 0"),
    Column(
        "by_score",
        Float,
        nullable=False,
        comment="ranks potential edges: minus the best score; cited papers: 1 where references support the edge",
    ),
    Index("finding_by_run", "run", "number"),
)
FINDING_COLUMNS = tuple(column.name for column in FINDING.columns if column.name != "number")
"""Columns that the row of a finding is written with; the database numbers it."""

KEY = Table(
    "finding_key",
    METADATA,
    *_words("run fingerprint", primary_key=True),
    Column("finding", Integer, nullable=False, comment="its number"),
    Column("severity", Integer, nullable=False),
    Column("basis", String),
    sqlite_with_rowid=False,
)
"""Place of the finding of a fingerprint, and the columns that two runs are compared by."""

PLACE = Table(
    "finding_place",
    METADATA,
    # The order in which findings are shown, so that a page begins after any finding without counting those before it.
    Column("run", String, primary_key=True),
    Column("severity", Integer, primary_key=True, autoincrement=False),
    Column("type", String, primary_key=True),
    Column("by_confidence", Float, primary_key=True),
    Column("by_score", Float, primary_key=True),
    *_words("reason subject_label subject_id fingerprint", primary_key=True),
    Column("finding", Integer, nullable=False, comment="its number"),
    # So that most filters need no row of a finding that they leave out.
    *_words("relation object_label", nullable=True),
    sqlite_with_rowid=False,
)
"""The findings of a run in the order in which they are shown, with what they are filtered by."""

SHOWN_ORDER = tuple(column for column in PLACE.primary_key.columns if column.name != "run")

PLACED = PLACE.join(FINDING, FINDING.c.number == PLACE.c.finding)
"""Findings by their places: a select of them is led by PLACE, and takes a row of FINDING only where it needs one."""

UNSETTLED = Table(
    "unsettled",
    METADATA,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column(
        "after", Integer, nullable=False, comment="findings of the run with larger numbers have no key or place yet"
    ),
)
TALLY = Table(
    "tally",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("run", ForeignKey("run.id"), nullable=False),
    *_words("piece type outcome reason"),
    Column("label", String, comment="of the nodes, or of the heads of the edges; NULL of the whole graph"),
    *_words("relation object_label attribute", nullable=True),
    _json("sources", tuple[str, ...]),
    _json("gaps", tuple[Gap, ...]),
    Column("by_team", Boolean, nullable=False),
    Column("count", Integer, nullable=False),
    Index("tally_by_run", "run", "piece"),
)
