"""Ledgers of format 1 are brought forward whole or not at all; what both databases take, and what indexes serve."""

from __future__ import annotations

import json
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
from kgcheck.ledger.comparisons import Pair, WrittenDown, present
from kgcheck.ledger.ledger import Ledger, PinnedRelease, in_order
from kgcheck.ledger.migrations.format_1 import REASONS_OF_FORMAT_1
from kgcheck.ledger.tables import FINDING, FORMAT, KEY, METADATA, PLACE, SHOWN_ORDER
from kgcheck.model import CheckType, Gap, Outcome, Reason, Tally, Target
from tests.support.forked import program
from tests.unit.test_ledger import finding, run, tally

APPLICATION = 0x6B676331
FORMAT_1 = """
CREATE TABLE run (number INTEGER NOT NULL, id VARCHAR NOT NULL, body TEXT NOT NULL, PRIMARY KEY (number), UNIQUE (id));
CREATE TABLE piece (run VARCHAR NOT NULL, piece VARCHAR NOT NULL, tasks VARCHAR NOT NULL, PRIMARY KEY (run, piece),
    FOREIGN KEY(run) REFERENCES run (id));
CREATE TABLE finding (run VARCHAR NOT NULL, fingerprint VARCHAR NOT NULL, type VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL, reason VARCHAR NOT NULL, label VARCHAR NOT NULL, relation VARCHAR, body TEXT NOT NULL,
    PRIMARY KEY (run, fingerprint), FOREIGN KEY(run) REFERENCES run (id));
CREATE INDEX finding_by_fingerprint ON finding (fingerprint);
CREATE TABLE tally (run VARCHAR NOT NULL, piece VARCHAR NOT NULL, type VARCHAR NOT NULL, target VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL, reason VARCHAR NOT NULL, sources VARCHAR NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (run, piece, type, target, outcome, reason, sources), FOREIGN KEY(run) REFERENCES run (id));
"""
RUN_1 = {
    "id": "20250101-000000-aaaa",
    "started": "2025-01-01T00:00:00Z",
    "finished": None,
    "store": "graph.lbdb",
    "profile": "ckg",
    "reference": "/r/reference.duckdb",
    "releases": ["go 2025-01-01 (go table.tsv 0123456789ab)", "in a form of its own"],
    "warnings": ["old"],
    "options": {"types": ["existence"]},
    "nodes": {"Protein": 3},
    "edges": {},
    "unknown": {"Protein.x": 2},
    "team": {"refuted": 1},
    "compared_with": None,
    "live": {"UniProt": ["2025_01", ""]},
}
CHECK_1 = RUN_1 | {
    "id": "20250102-000000-bbbb",
    "finished": "2025-01-02T00:00:01Z",
    "options": {"check": "Protein P1.5"},
    "nodes": {},
}
OLD_REASONS = tuple(REASONS_OF_FORMAT_1)


def body_1(number: int, of: str, reason: str, identifier: str | None = None) -> tuple[str, str]:
    """Fingerprint and body of a finding as format 1 wrote them."""
    made = finding(run(of), identifier or f"P{number}")
    stated: dict[str, Any] = made.model_dump(mode="json")
    stated["verdict"]["reason"] = reason
    stated["verdict"]["evidence"][0]["reason"] = reason
    stated["verdict"]["missing"] = ["goa (not covered)", "a source (of one) (source unavailable)"]
    stated["change"] = {"kind": "repoint", "to": "P9", "candidates": ["P9", "P8"], "because": "accession merged"}
    stated["names"] = ["AB1", None]
    return made.fingerprint, json.dumps(stated)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A ledger of format 1 with a run that was cut off and a check."""
    path = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(FORMAT_1)
        for stated in (RUN_1, CHECK_1):
            db.execute("INSERT INTO run (id, body) VALUES (?, ?)", [stated["id"], json.dumps(stated)])
        first, check = str(RUN_1["id"]), str(CHECK_1["id"])
        for number, reason in enumerate(OLD_REASONS):
            name, body = body_1(number, first, reason)
            row = [first, name, "existence", "refuted", reason, "Protein", None, body]
            db.execute("INSERT INTO finding VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        name, body = body_1(0, check, "accession_merged", "P1.5")
        row = [check, name, "existence", "refuted", "accession_merged", "Protein", None, body]
        db.execute("INSERT INTO finding VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        pieces = [("existence Protein #last", "d1"), ("team 00ff", "refuted"), ("team 11ff", "not decided")]
        db.executemany("INSERT INTO piece VALUES (?, ?, ?)", [(first, *piece) for piece in pieces])
        edge = "Gene TRANSLATED_INTO Protein"
        db.executemany(
            "INSERT INTO tally VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (first, "p", "existence", "Protein", "refuted", "accession_merged", "uniprot, no goa (not covered)", 9),
                (first, "p", "attribute", "Protein.name", "unavailable", "not_covered", "no uniprot (not covered)", 4),
                (first, "p", "attribute", f"{edge}.score", "supported", "confirmed", "hgnc, uniprot", 2),
                (first, "team 00ff", "triple", edge, "refuted", "edge_unsupported", "team: uniprot", 1),
                (first, "s", "structure", "whole graph", "insufficient", "count_moved", "graph", 3),
                (check, "check", "existence", "Protein P1.5", "refuted", "accession_merged", "uniprot", 1),
            ],
        )
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute("PRAGMA user_version = 1")
    return path


def state(path: Path) -> tuple[int, dict[str, int]]:
    """The format of a file, and how many rows each table has."""
    with closing(sqlite3.connect(path)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        counts = {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
        return db.execute("PRAGMA user_version").fetchone()[0], counts


def test_runs_of_format_1_keep_what_they_were(old: Path) -> None:
    with Ledger(old, create=False) as ledger:
        check, audit = ledger.runs()

        assert check.is_check
        assert audit.releases == (
            PinnedRelease(source="go", release="2025-01-01", file="go table.tsv", sha256="0123456789ab"),
            PinnedRelease(source="in a form of its own", release=""),
        )
        assert audit.as_row() == RUN_1 | {"made_with": {}}
        assert check.as_row() == CHECK_1 | {"made_with": {}}
        assert ledger.done(audit) == {"existence Protein #last": "d1"}
        assert ledger.handed(audit) == {"00ff": "refuted", "11ff": "not decided"}
    assert state(old)[0] == FORMAT


def test_findings_of_format_1_have_the_reasons_of_now(old: Path) -> None:
    with Ledger(old) as ledger:
        found = list(ledger.findings(ledger.run("20250101")))

    assert len(REASONS_OF_FORMAT_1) == 10
    assert {f.verdict.reason for f in found} == set(REASONS_OF_FORMAT_1.values())
    assert {f.verdict.evidence[0].reason for f in found} == set(REASONS_OF_FORMAT_1.values())
    for number, f in enumerate(sorted(found, key=lambda f: f.task.subject.id)):
        _, body = body_1(number, f.run, OLD_REASONS[number])
        row, stated = f.as_row(), json.loads(body)
        assert f.fingerprint == f.task.fingerprint == stated["fingerprint"]
        assert row["missing"] == stated["verdict"]["missing"]
        assert f.verdict.missing[1] == Gap("a source (of one)", Reason.SOURCE_UNAVAILABLE)
        assert row["proposed_change"] == stated["change"]
        assert f.names == ("AB1", None)
        assert f.verdict.evidence[0].record == f.task.subject.id


def test_tallies_of_format_1_are_typed(old: Path) -> None:
    with Ledger(old) as ledger:
        audit, check = (ledger.tallies(ledger.run(name)) for name in ("20250101", "20250102"))

    edge = {"label": "Gene", "relation": "TRANSLATED_INTO", "object_label": "Protein"}
    assert {(t.target, t.sources, t.gaps, t.by_team, t.count) for t in audit} == {
        (Target(label="Protein"), ("uniprot",), (Gap("goa", Reason.NOT_COVERED),), False, 9),
        (Target(label="Protein", attribute="name"), (), (Gap("uniprot", Reason.NOT_COVERED),), False, 4),
        (Target(**edge, attribute="score"), ("hgnc", "uniprot"), (), False, 2),
        (Target(**edge), ("uniprot",), (), True, 1),
        (Target(), ("graph",), (), False, 3),
    }
    assert {t.reason for t in audit if t.count == 9} == {Reason.ID_MERGED}
    assert [t.target for t in check] == [Target(label="Protein")]


def test_a_ledger_that_was_brought_forward_goes_on(old: Path) -> None:
    with Ledger(old) as ledger:
        audit = ledger.run("20250101")
        ledger.record(audit, "more", [finding(audit, "Q1")], [tally(2)])
        ledger.start(run())
        assert ledger.runs()[0].id == run().id
        assert len(list(ledger.findings(audit))) == len(OLD_REASONS) + 1
    with closing(sqlite3.connect(old)) as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE finding SET body = '{}' WHERE rowid = 11",
        "UPDATE finding SET body = replace(body, 'accession_merged', 'so so') WHERE rowid = 11",
        "UPDATE finding SET body = replace(body, 'goa (not covered)', 'goa') WHERE rowid = 11",
        "UPDATE run SET body = 'x'",
        "UPDATE tally SET reason = 'so so'",
    ],
)
def test_what_cannot_be_read_stays_as_it_was(old: Path, statement: str) -> None:
    with closing(sqlite3.connect(old)) as db, db:
        db.execute(statement)
    before = state(old)

    with pytest.raises(LedgerError, match=f"is of format 1 and holds what cannot be brought to format {FORMAT}"):
        Ledger(old)

    assert state(old) == before
    assert before[0] == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import Engine, event
from kgcheck.ledger.ledger import Ledger

seen = []

def count(connection, cursor, statement, parameters, *_):
    seen.append(statement)
    if len(seen) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

event.listen(Engine, "after_cursor_execute", count)
with Ledger(Path(sys.argv[1])) as ledger:
    print(len(seen), len(ledger.runs()))
"""


@pytest.mark.parametrize("statements", [6, 14, 30, 45])
def test_a_killed_change_of_format_is_begun_again(old: Path, statements: int) -> None:
    before = state(old)
    killed = program(KILLED, old, statements).ended()

    assert killed.returncode == -9
    assert state(old) == before
    with Ledger(old) as ledger:
        assert len(ledger.runs()) == 2
        assert len(list(ledger.findings(ledger.run("20250101")))) == len(OLD_REASONS)


def test_several_processes_bring_one_ledger_forward(old: Path) -> None:
    for process in [program(KILLED, old, 0) for _ in range(2)]:
        done = process.ended()
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.split()[1] == "2"
    assert state(old)[1]["finding"] == len(OLD_REASONS) + 1


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
        ledger.hand_over(run(), a, a, "refuted")
        _ = ledger.handed(run()), ledger.done(run()), ledger.tallies(run())
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

    first, second = plan(path, query).split("; ")
    assert first.startswith("SEARCH finding_place USING PRIMARY KEY (run=?")
    assert second == "SEARCH finding USING INTEGER PRIMARY KEY (rowid=?)"


def test_two_runs_are_compared_by_an_index(path: Path) -> None:
    before, now = KEY.alias("before"), KEY.alias("now")
    same = (before.c.run == "a") & (before.c.fingerprint == now.c.fingerprint)
    query = select(now.c.fingerprint, before.c.basis).select_from(now.outerjoin(before, same)).where(now.c.run == "b")

    assert plan(path, query).count("(run=? AND fingerprint=?)") == 1
    assert "SCAN" not in plan(path, query)


def test_a_state_of_few_is_led_by_what_the_run_wrote_down(path: Path) -> None:
    rare = present(Pair("a", "b"), WrittenDown(is_kept=True, is_listed=True, rare=frozenset(["new"])), ["new"])
    query = select(FINDING).select_from(rare.rows).where(rare.where).order_by(*rare.order).limit(50)

    first, *rest = plan(path, query).split("; ")
    assert first == "SEARCH compared_state USING PRIMARY KEY (run=? AND state=?)"
    assert not any("SCAN" in step for step in rest)


def test_a_tally_counts_what_the_team_decided_apart(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.start(run())
        ledger.record(run(), "one", [finding(run(), "P1")], [tally(2)])
        new = finding(run(), "P1", Outcome.SUPPORTED)
        ledger.hand_over(run(), finding(run(), "P1"), new, "supported")

        assert [(t.by_team, t.outcome, t.count) for t in ledger.tallies(run())] == [
            (False, Outcome.REFUTED, 1),
            (True, Outcome.SUPPORTED, 1),
        ]
        assert [f.verdict.outcome for f in ledger.findings(run())] == [Outcome.SUPPORTED]


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
