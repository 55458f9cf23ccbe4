"""A ledger in a PostgreSQL database: all that only PostgreSQL knows."""

from importlib.util import find_spec
from typing import Any

from sqlalchemy import URL, Connection, Engine, String, create_engine, event, inspect, select, text
from sqlalchemy.exc import DatabaseError

from kgcheck.cleartext import NAMED, is_cleartext_host, refuse_cleartext
from kgcheck.errors import LedgerError, MissingExtra
from kgcheck.ledger.engines import shared_engine
from kgcheck.ledger.place import LedgerServer
from kgcheck.ledger.tables import METADATA, VERSION, JsonText

_LOCK = 0x6B676331
"""Names the lock of ledgers among the advisory locks of a database; each schema has one of its own."""

_WAIT_S = 30
"""Seconds to wait for another process that is writing."""

_CONNECTION = {
    "connect_timeout": "10",
    # A server that has gone without a word is noticed after two minutes, not after hours.
    "keepalives_idle": "60",
    "keepalives_interval": "15",
    "keepalives_count": "4",
}

_WITH_TLS = ("require", "verify-ca", "verify-full")

_ANOTHER = "name another ledger with --ledger"
_LIMITED = "wait until others end, or let it take more: max_connections, ALTER ROLE ... CONNECTION LIMIT"
_GO_ON = "nothing was half-written: when it is back, kgcheck audit --resume goes on with a run that kgcheck runs lists"


class PostgresDatabase:
    """The database under a ledger, in the schema that is searched first."""

    def __init__(self, server: LedgerServer) -> None:
        if find_spec("psycopg") is None:
            raise MissingExtra("a ledger on PostgreSQL", "postgres")
        self.name = str(server)
        url = server.url()
        given = {name: value for name, value in _CONNECTION.items() if name not in url.query}

        def make() -> Engine:
            # A connection that was broken while nothing was asked is made anew, unseen.
            checked = {"pool_pre_ping": True, "hide_parameters": True}
            given.update(_tls_options(url, server.cleartext_hosts))
            engine = create_engine(url, connect_args=given, max_overflow=-1, **checked)
            event.listen(engine, "connect", _configure)
            return engine

        try:
            self.engine = shared_engine(url, make)
        except ImportError as error:
            raise MissingExtra("a ledger on PostgreSQL", "postgres") from error

    def reading(self) -> dict[str, Any]:
        return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}

    def reading_once(self) -> dict[str, Any]:
        return {"isolation_level": "READ COMMITTED", "postgresql_readonly": True}

    def writing(self) -> dict[str, Any]:
        return {"isolation_level": "READ COMMITTED", "postgresql_readonly": False}

    def lock(self, connection: Connection, *, alone: bool) -> None:
        kind = "" if alone else "_shared"
        of_schema = text(f"SELECT pg_advisory_xact_lock{kind}(:lock, hashtext(current_schema()))")
        connection.execute(of_schema, {"lock": _LOCK})

    def prepare(self) -> None:
        """Nothing is to be made before the tables are."""

    def format(self, connection: Connection) -> int | None:
        there = set(inspect(connection).get_table_names())
        if VERSION.name in there:
            written = connection.execute(select(VERSION.c.version_num)).scalars().all()
            if len(written) == 1 and written[0].isdecimal():
                return int(written[0])
            raise LedgerError(f"{self.name} does not say of which format its ledger is", _ANOTHER)
        if {"run", "run_release", "piece", "finding", "tally"} <= there:
            # The first format of a ledger on PostgreSQL, which was not written down.
            return 2
        if taken := there & set(METADATA.tables):
            raise LedgerError(
                f"{self.name} holds tables of another program: {', '.join(sorted(taken))}",
                "name a database or a schema of its own",
            )
        return None

    def finish(self, connection: Connection, format_: int) -> None:
        for table in METADATA.sorted_tables:
            words = [column for column in table.columns if isinstance(column.type, (String, JsonText))]
            quoted = connection.dialect.identifier_preparer.quote
            changes = [
                f'ALTER COLUMN {quoted(c.name)} TYPE {c.type.compile(connection.dialect)} COLLATE "C"' for c in words
            ]
            connection.exec_driver_sql(f"ALTER TABLE {quoted(table.name)} {', '.join(changes)}")

    def after_a_run(self, connection: Connection) -> None:
        """Let the server look at what was added: by what it knew before, it takes tables of millions for small ones."""
        connection.exec_driver_sql("ANALYZE finding, finding_key, finding_place, compared")

    def about(self, connection: Connection) -> tuple[str, int]:
        sizes = text(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c "
            "WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND relname = ANY(:names)"
        )
        size = connection.execute(sizes, {"names": list(METADATA.tables)}).scalar_one()
        version = connection.exec_driver_sql("SHOW server_version").scalar_one()
        return f"PostgreSQL {version}", int(size)

    def in_words(self, error: DatabaseError) -> LedgerError:
        stated = str(error.orig).strip().partition("\n")[0]
        where, state = self.name, getattr(error.orig, "sqlstate", None) or ""
        match state:
            case "53100" | "53200" | "58030":
                return LedgerError(f"the server of the ledger {where} is out of room or failing: {stated}", _GO_ON)
            case "53300" | "53400":
                return LedgerError(f"the server of the ledger {where} takes no more connections: {stated}", _LIMITED)
            case "57014":
                return LedgerError(
                    f"the server of the ledger {where} ended a statement that took too long: {stated}",
                    "raise its statement_timeout for this user: ALTER ROLE ... SET statement_timeout",
                )
            case "55P03":
                return LedgerError(
                    f"another process has been writing to {where} for over {_WAIT_S} s", "wait until it ends"
                )
            case "42501" | "25006":
                return LedgerError(
                    f"the ledger {where} may not be written or read by this user: {stated}", "ask for the right to"
                )
            case "57P01" | "57P02" | "57P03" | "08000" | "08003" | "08006" | "08001" | "08004":
                return LedgerError(f"the server of the ledger {where} ended the connection: {stated}", _GO_ON)
        if error.connection_invalidated:
            return LedgerError(f"the connection to the ledger {where} broke: {stated}", _GO_ON)
        if "NUL" in stated and "0x00" in stated:
            return LedgerError(
                f"a text with the character NUL cannot be written to the ledger {where}: PostgreSQL has none",
                "take it out of the graph, or keep the ledger in a file",
            )
        if not state:
            return self._unopened(" ".join(str(error.orig).split()))
        return LedgerError(f"the ledger {where} cannot be used: {stated}", _ANOTHER)

    def _unopened(self, stated: str) -> LedgerError:
        """An error of opening a connection, for which psycopg has no state."""
        # A limit names the role, too, whose password is in order.
        if "too many" in stated or "connection slots" in stated:
            hint = _LIMITED
        elif "authentication" in stated or "password" in stated or "role" in stated:
            hint = "set KGCHECK_LEDGER_USER and KGCHECK_LEDGER_PASSWORD, or PGUSER, PGPASSWORD or PGPASSFILE"
        elif "does not support SSL" in stated:
            hint = f"set up TLS there, or {NAMED}"
        elif "does not exist" in stated:
            hint = "make the database first: createdb"
        else:
            hint = "is the server up, and is that its address?"
        return LedgerError(f"cannot open the ledger {self.name}: {stated}", hint)


def _tls_options(url: URL, named: str) -> dict[str, str]:
    """Options with which a password, also one that only libpq knows, goes nowhere in the clear where it may not."""
    from psycopg.pq import Conninfo

    known = {option.keyword.decode(): (option.val or b"").decode() for option in Conninfo.get_defaults()}
    known.update({name: str(value) for name, value in url.get_dialect()().create_connect_args(url)[1].items()})
    # An empty host, a path and an abstract name are sockets of this machine.
    hosts = [host for host in (known["hostaddr"] or known["host"]).split(",") if host and host[0] not in "/@"]
    clear = [host for host in hosts if not is_cleartext_host(host, named)]
    if not clear or known["sslmode"] in _WITH_TLS:
        return {}
    if known["sslmode"] != "prefer":
        # What libpq prefers by default is asked for; what somebody wrote is not overruled.
        refuse_cleartext(clear[0], named, "write sslmode=verify-full")
    return {"sslmode": "require"}


def _configure(connection: Any, _record: Any) -> None:
    autocommit, connection.autocommit = connection.autocommit, True
    connection.execute(f"SET lock_timeout = '{_WAIT_S}s'")
    # Times in the ledger are in UTC, without a zone; words are compared as they are.
    connection.execute("SET timezone = 'UTC'")
    connection.autocommit = autocommit
