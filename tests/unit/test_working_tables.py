"""The working tables have one owner, columns that are described, and rows that come back as they went in."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import duckdb
import pytest

from kgcheck.evidence.working_tables import LOOK_UP_TABLES, WorkingTables
from kgcheck.model import Evidence, Gap, Reason, Stance, Tier, World
from kgcheck.reference.overlay import attach_snapshot
from tests.support import ROOT

NAMES = "|".join(LOOK_UP_TABLES)
WRITES = re.compile(
    rf"""(INSERT\s+(OR\s+\w+\s+)?INTO|DELETE\s+FROM|UPDATE|TRUNCATE(\s+TABLE)?|(DROP|ALTER)\s+TABLE(\s+IF\s+EXISTS)?
    |CREATE\s+(OR\s+REPLACE\s+)?(TEMP\s+|TEMPORARY\s+)?(TABLE|VIEW)(\s+IF\s+NOT\s+EXISTS)?)\s+"?({NAMES})\b"?""",
    re.IGNORECASE | re.VERBOSE,
)
"""SQL that makes, fills or changes a working table."""
OBSERVED = Evidence(
    source="literature",
    release="index of 3 documents, 2026-01-01",
    record="pmid:1",
    url="https://example.org/1",
    retrieved_at=datetime(2026, 1, 1, 12, tzinfo=UTC),
    stance=Stance.SUPPORTS,
    world=World.OPEN,
    tier=Tier.TEXT,
    value="A title; with {braces}, 'quotes' and \\ strokes",
    quote="AB1 binds CD2.",
    score=0.875,
)


@pytest.fixture
def tables() -> Iterator[WorkingTables]:
    with duckdb.connect() as db:
        attach_snapshot(db, None)
        yield WorkingTables(db)


def test_only_their_owner_writes_working_tables() -> None:
    modules = sorted((ROOT / "kgcheck").rglob("*.py"))
    found = [path.name for path in modules if WRITES.search(path.read_text(encoding="utf-8"))]

    assert len(modules) > 100
    assert set(found) <= {"working_tables.py"}


@pytest.mark.parametrize(
    ("statement", "writes"),
    [
        ("INSERT INTO evidence BY NAME SELECT 1 AS task", True),
        ('insert into "gap" select 1', True),
        ("CREATE OR REPLACE TEMP TABLE unseen AS FROM ends", True),
        ("DELETE FROM\n        task WHERE true", True),
        ("UPDATE ends SET head_now = 'x'", True),
        ("DROP TABLE IF EXISTS intended_id", True),
        ("SELECT * FROM evidence", False),
        ("CREATE TEMP TABLE task_signature AS FROM task", False),
    ],
)
def test_a_write_elsewhere_would_be_found(statement: str, *, writes: bool) -> None:
    assert bool(WRITES.search(f'db.execute(f"""{statement}""")')) == writes


def test_what_papers_say_comes_back_column_by_column(tables: WorkingTables) -> None:
    tables.add_task(7, "P1", "P2")
    silent = OBSERVED.model_copy(
        update={"stance": Stance.SILENT, "quote": None, "url": "", "about": "search", "score": None, "value": None}
    )
    gone = OBSERVED.model_copy(update={"record": "pmid:2", "reason": Reason.RETRACTED_EVIDENCE})

    tables.add_observations({7: [OBSERVED, gone, silent], 8: []})

    assert set(tables.evidence_of("FROM task")[7]) == {OBSERVED, gone, silent}
    assert tables.db.execute("SELECT quote, url, retrieved_at FROM evidence WHERE record = 'pmid:2'").fetchall() == [
        ("AB1 binds CD2.", "https://example.org/1", datetime(2026, 1, 1, 12))
    ]


def test_gaps_take_the_cause_that_is_known_later(tables: WorkingTables) -> None:
    for number in (1, 2):
        tables.add_task(number, "P1")
    tables.add("gap", "SELECT task, 'uniprot' AS source, 'not_covered' AS cause FROM task")

    tables.set_causes({"uniprot": {2: Reason.SOURCE_UNAVAILABLE, 9: Reason.SOURCE_REFUSED}, "string": {}})

    assert tables.gaps_of("FROM task") == {
        1: (Gap("uniprot", Reason.NOT_COVERED),),
        2: (Gap("uniprot", Reason.SOURCE_UNAVAILABLE),),
    }
