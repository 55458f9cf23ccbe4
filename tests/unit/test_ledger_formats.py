"""Statements and tables that both databases take, and what indexes serve."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Table, event, literal_column, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql import ClauseElement

from kgcheck.errors import LedgerError
from kgcheck.ledger.comparisons import Pair, RunComparison
from kgcheck.ledger.ledger import Ledger, PinnedRelease, in_order
from kgcheck.ledger.run import HandedOver
from kgcheck.ledger.tables import FINDING, METADATA, PLACE, SHOWN_ORDER
from kgcheck.model import CheckType, Gap, Outcome, Reason, Tally, Target
from tests.unit.test_ledger import finding, run, tally

# --- SQL that both databases take


@pytest.fixture
def statements() -> Iterator[list[ClauseElement]]:
    """The statements that are executed meanwhile, as SQLAlchemy has them."""
    seen: list[ClauseElement] = []

    def see(_connection: Any, element: Any, *_: Any) -> None:
        if isinstance(element, ClauseElement):
            seen.append(element)

    event.listen(Engine, "before_execute", see)
    yield seen
    event.remove(Engine, "before_execute", see)


def test_every_statement_of_the_ledger_is_one_of_postgresql(tmp_path: Path, statements: list[ClauseElement]) -> None:
    a, unlooked = finding(run(), "P1"), Gap("uniprot", Reason.SOURCE_UNAVAILABLE)
    release = PinnedRelease(source="go", release="1", file="go.tsv", sha256="00")
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.start(run().model_copy(update={"releases": (release,)}))
        ledger.record(run(), "one", [a], [tally(), tally().model_copy(update={"gaps": (unlooked,)})])
        ledger.hand_over(run(), (a, a, HandedOver(fingerprint=a.fingerprint, result="refuted")))
        _ = ledger.handed(run().id), ledger.done(run()), ledger.tallies(run())
        _ = list(ledger.findings(run(), [Outcome.REFUTED], limit=3)), ledger.finding(a.fingerprint[:4])
        _ = ledger.run("latest"), ledger.audit_before("graph.lbdb")
        ledger.reopen(run())
        ledger.keep(run("b"), finding(run("b"), "P2"), tally())
        ledger.finish(run())
        with pytest.raises(LedgerError):
            ledger.start(run())

    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    texts = {str(element.compile(dialect=dialect)) for element in statements}
    for verb in (
        "INSERT INTO finding",
        "UPDATE finding",
        "DELETE FROM finding",
        "SELECT",
        "UPDATE tally",
        "DELETE FROM",
    ):
        assert any(verb in text for text in texts), verb
    assert len(texts) > 20
    assert not [text for text in texts if "json_extract" in text.lower() or "pragma" in text.lower()]


@pytest.mark.parametrize("table", METADATA.sorted_tables, ids=lambda table: table.name)
def test_every_table_is_one_of_postgresql(table: Table) -> None:
    for dialect in (postgresql.dialect(), sqlite.dialect()):  # type: ignore[no-untyped-call]
        text = str(CreateTable(table).compile(dialect=dialect))
        assert "CREATE TABLE" in text
        for index in table.indexes:
            assert "INDEX" in str(CreateIndex(index).compile(dialect=dialect))


# --- indexes that serve what is asked of millions of findings


def plan(path: Path, query: Any) -> str:
    """How SQLite would answer a query."""
    text = str(query.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}))
    with closing(sqlite3.connect(path)) as db:
        return "; ".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {text}"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.start(run())
    return tmp_path / "l.sqlite"


def test_pages_of_findings_need_no_sorting(path: Path) -> None:
    query = in_order("r").limit(50)
    after = tuple_(*SHOWN_ORDER) > tuple_(*(literal_column("'x'") for _ in SHOWN_ORDER))

    for page in (query, query.where(after), in_order("r", [Outcome.REFUTED]).limit(50)):
        assert "SEARCH finding_place USING PRIMARY KEY (run=?" in plan(path, page)
        assert "SEARCH finding USING INTEGER PRIMARY KEY (rowid=?)" in plan(path, page)
        assert "TEMP B-TREE" not in plan(path, page)


@pytest.mark.parametrize("column", ["severity", "type", "reason", "subject_label", "object_label", "relation"])
def test_filters_look_at_places_before_findings(path: Path, column: str) -> None:
    query = in_order("r").where(PLACE.c[column].in_(["x", "x"])).limit(50)

    first, second, *cause = plan(path, query).split("; ")
    assert first.startswith("SEARCH finding_place USING PRIMARY KEY (run=?")
    assert second == "SEARCH finding USING INTEGER PRIMARY KEY (rowid=?)"
    assert cause[1:] == ["SEARCH consequence_1 USING PRIMARY KEY (run=? AND fingerprint=?)"]


def test_a_state_of_few_is_led_by_what_the_run_wrote_down(path: Path) -> None:
    rare = RunComparison(Pair("a", "b"), is_kept=True, rare=frozenset(["new"])).present(["new"])
    query = select(FINDING).select_from(rare.rows).where(rare.where).order_by(*rare.order).limit(50)

    first, *rest = plan(path, query).split("; ")
    assert first == "SEARCH became USING INDEX compared_by_state (run=? AND state=?)"
    assert not any("SCAN" in step for step in rest)


def test_what_a_service_could_not_show_is_done_again_and_nothing_else(tmp_path: Path) -> None:
    down = Gap("uniprot", Reason.SOURCE_UNAVAILABLE)
    name = Tally(
        type=CheckType.ATTRIBUTE,
        target=Target(label="Protein", attribute="name"),
        outcome=Outcome.SUPPORTED,
        reason=Reason.CONFIRMED,
        count=1,
    )
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.start(run())
        ledger.record(run(), "one", [finding(run(), "P1")], [tally().model_copy(update={"gaps": (down,)})])
        ledger.record(run(), "two", [], [name])

        assert ledger.unlooked(run()) == [(CheckType.EXISTENCE, Target(label="Protein"))]
        ledger.reopen(run())

        assert ledger.unlooked(run()) == []
        assert set(ledger.done(run())) == {"two"}
        assert ledger.tallies(run()) == [name]
        assert list(ledger.findings(run())) == []
