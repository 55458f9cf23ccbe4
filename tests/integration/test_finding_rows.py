"""Findings as columns: what SQL makes of judged tasks is what the values would be written as."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import pytest
import time_machine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from sqlalchemy.dialects.sqlite.base import SQLiteDialect

from kgcheck.audit.finding_rows import finding_rows
from kgcheck.audit.judging import judge_tasks
from kgcheck.audit.naming import NodeNames
from kgcheck.audit.plan import Piece, Unit
from kgcheck.checks.lists import joined
from kgcheck.checks.repair import propose
from kgcheck.checks.verdicts import verdict
from kgcheck.evidence.nodes import EvidenceJoin
from kgcheck.evidence.working_tables import ADDRESS_SQL
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.rows import finding_of, finding_row
from kgcheck.ledger.tables import FINDING, FINDING_COLUMNS, JsonText
from kgcheck.model import CheckTask, CheckType, Finding, Ref
from kgcheck.options import ALL_TYPES
from tests.support import examples
from tests.support.audits import LEDGER, MemoryStore, demo_audit, demo_audited
from tests.support.facts import SCHEMA, Facts
from tests.support.snapshots import GENES, MANY, TERMS, crowded_snapshots, snapshots

NOW = "2026-03-04T05:06:07Z"
HOSTILE = 'a "quoted" <b>; \\ name\u00e9\u2028, 50 %'
LISTS: tuple[list[str], ...] = (["Name"], ["One", "two; three", "back\\slash"], ["a|b"], ["a, b"], [""], [])
VALUES = (None, "", "  ", "AA1", "aa1", HOSTILE)
UNITS = [
    Unit(type=CheckType.EXISTENCE, label="Protein"),
    Unit(type=CheckType.ATTRIBUTE, label="Protein", attribute="name"),
    Unit(type=CheckType.ATTRIBUTE, label="Protein", attribute="synonyms"),
    *(
        Unit(type=kind, pattern=SCHEMA.pattern(*ends))
        for kind in (CheckType.TRIPLE, CheckType.POTENTIAL)
        for ends in (
            ("Protein", "ACTS_ON", "Protein"),
            ("Protein", "ASSOCIATED_WITH", "Biological_process"),
            ("Gene", "TRANSLATED_INTO", "Protein"),
        )
    ),
]
ENDS = {"Protein": (*MANY, "P10001-2", " P10001", "not one"), "Biological_process": TERMS, "Gene": GENES}
STORE = MemoryStore(
    {
        "Protein": [{"id": f"P1000{n}", "name": name} for n, name in enumerate((HOSTILE, "", "n" * 300), start=1)],
        "Gene": [{"id": GENES[0], "name": None}],
    },
    {},
)


def read(row: Sequence[Any]) -> dict[str, Any]:
    """A row as the ledger reads it."""
    named = dict(zip(FINDING_COLUMNS, row, strict=True))
    for column in (FINDING.c[name] for name in FINDING_COLUMNS):
        if isinstance(column.type, JsonText):
            named[column.name] = column.type.process_result_value(named[column.name], SQLiteDialect())
    return named


def by_values(join: EvidenceJoin, unit: Unit) -> Iterator[dict[str, Any]]:
    """The rows of the tasks, each made of a finding that was judged and repaired by itself."""
    tables = join.tables
    evidence, gaps = tables.evidence_of("FROM task"), tables.gaps_of("FROM task")
    rows = join.tables.db.execute("SELECT task, head, tail, value, items FROM task ORDER BY task").fetchall()
    for number, head, tail, value, items in rows:
        pattern = unit.pattern
        task = CheckTask(
            type=unit.type,
            subject=Ref(label=pattern.head if pattern else unit.label or "", id=head),
            relation=pattern.type if pattern else None,
            object=Ref(label=pattern.tail, id=tail) if pattern else None,
            attribute=unit.attribute,
            value=value if items is None else joined(items),
        )
        judged = verdict(unit.type, evidence.get(number, ()), gaps.get(number, ()))
        finding = Finding(
            run="run", fingerprint=task.fingerprint, task=task, verdict=judged, change=propose(task, judged)
        )
        (named,) = NodeNames(STORE).beside([finding])
        yield finding_row("run", named)


def assert_columns_are_values(snapshot: Path, *units: Unit) -> set[str]:
    """Judge all tasks of each unit both ways."""
    kinds = set[str]()
    with time_machine.travel(NOW, tick=False), duckdb.connect() as db:
        join = EvidenceJoin(db, snapshot)
        for unit in units:
            join.tables.reset()
            add_tasks(join, unit, values_of(unit))
            look_up(join, unit)
            judge_tasks(db, unit.type)
            rows = rows_of(join, unit)
            assert rows == list(by_values(join, unit))
            with patch("kgcheck.audit.naming._FEW", 0):
                assert rows_of(join, unit) == rows
            kinds |= {row["change_kind"] for row in rows if row["change_kind"]}
    return kinds


def rows_of(join: EvidenceJoin, unit: Unit) -> list[dict[str, Any]]:
    join.tables.db.execute("DROP TABLE IF EXISTS node_name").fetchall()
    piece = Piece(unit, "whole", "", 0, len(join.tables.tasks()))
    (found,) = finding_rows(join.tables, NodeNames(STORE), "run", [piece], keep_all=True)
    return [read(row) for batch in found.batches for row in batch]


def add_tasks(join: EvidenceJoin, unit: Unit, values: Sequence[Any]) -> None:
    if unit.pattern:
        pairs = [(h, t) for h in ENDS[unit.pattern.head] for t in ENDS[unit.pattern.tail]]
        for number, pair in enumerate(pairs):
            join.tables.add_task(number, *pair)
        return
    for number, (identifier, value) in enumerate((i, v) for i in ENDS["Protein"] for v in values):
        text, items = (None, value) if isinstance(value, list) else (value, None)
        row = {"task": number, "head": identifier, "value": text, "items": items}
        named = "SELECT $task AS task, $head AS head, $value::VARCHAR AS value, $items::VARCHAR[] AS items"
        join.tables.add("task", named, row)


def look_up(join: EvidenceJoin, unit: Unit) -> None:
    if unit.pattern:
        join.edges(unit.pattern, SCHEMA.label(unit.pattern.head), SCHEMA.label(unit.pattern.tail))
    elif unit.attribute:
        label = SCHEMA.label("Protein")
        join.attribute(label, label.attributes[unit.attribute])
    else:
        join.existence(SCHEMA.label("Protein"))


def values_of(unit: Unit) -> Sequence[Any]:
    if not unit.attribute:
        return (None,)
    return LISTS if SCHEMA.label("Protein").properties[unit.attribute].type == "strings" else VALUES


def test_columns_are_what_values_would_be_written_as(tmp_path: Path) -> None:
    facts = Facts()
    release = facts.release("uniprot", complete=True)
    release.entities("Protein", "P10001", "P10002").entity("P10003", "Protein", "merged", now=("P10001",))
    release.entity("P10004", "Protein", "demerged", now=("P10001", "P10002")).entity("P10005", "Protein", "deleted")
    for name, status in (("Two", "current"), ("Zwei", "current"), ("two; three", "synonym")):
        release.value("P10002", "gene_name", name, status)
    release.value("P10001", "gene_name", HOSTILE).value("P10001", "gene_name", "AA1", "former")
    release.link("ASSOCIATED_WITH", "P10001", TERMS[0], record="PMID:1").covers("ASSOCIATED_WITH", *MANY)
    network = facts.release("string")
    network.link("ACTS_ON", "P10001", "P10002", 0.9).link("ACTS_ON", "P10002", "P10001", 0.1)
    network.covers("ACTS_ON", "P10001", "P10002", "P10004")

    kinds = assert_columns_are_values(facts.build(tmp_path), *UNITS)

    assert kinds == {"repoint", "review", "retire", "set_value", "add_edge"}


@settings(max_examples=examples(6), suppress_health_check=list(HealthCheck), deadline=None)
@given(st.one_of(snapshots(), crowded_snapshots().map(lambda crowd: crowd[1])), st.sampled_from(UNITS))
def test_columns_are_values_in_generated_snapshots(
    tmp_path_factory: pytest.TempPathFactory, facts: Facts, unit: Unit
) -> None:
    facts.release("hgnc", "one more")
    assert_columns_are_values(facts.build(tmp_path_factory.mktemp("generated")), unit)


def assert_rows_are_findings(ledger: Path) -> int:
    """Whatever an audit wrote is what its findings, read back, would be written as, be judged and be repaired as."""
    count = 0
    with Ledger(ledger) as kept, kept.database.reading() as connection:
        for row in connection.execute(select(FINDING)):
            finding = finding_of(row)
            found, task = finding.verdict, finding.task
            written = {name: getattr(row, name) for name in FINDING_COLUMNS}
            assert written == finding_row(row.run, finding)
            assert finding.fingerprint == task.fingerprint
            assert finding.change == propose(task, found)
            assert found == verdict(task.type, found.evidence, found.missing)
            count += 1
    return count


@pytest.mark.parametrize(
    ("options", "types"),
    [
        (("--label", "Gene"), {CheckType.EXISTENCE, CheckType.ATTRIBUTE, CheckType.TRIPLE, CheckType.STRUCTURE}),
        pytest.param((), set(ALL_TYPES), marks=pytest.mark.slow),
    ],
)
def test_rows_of_the_demo_are_its_findings(options: tuple[str, ...], types: set[CheckType]) -> None:
    audit = demo_audited(*options, "--keep-all")

    assert assert_rows_are_findings(demo_audit(*options, "--keep-all") / LEDGER) == len(audit.findings) > 100
    assert {finding.task.type for finding in audit.findings} >= types
    assert any(finding.names[0] for finding in audit.findings)


@pytest.mark.parametrize(
    ("template", "record", "ends", "address"),
    [
        (None, "A", "B", ""),
        ("https://e.org/{record}", "P04637", "", "https://e.org/P04637"),
        ("https://e.org/{record}", "a b/c:@,;=#%\u00e9", "", "https://e.org/a%20b/c:@,;=%23%25%C3%A9"),
        ("https://e.org/?i={pair}", "9606.A 9606.B", "C D", "https://e.org/?i=9606.A%0d9606.B"),
        ("https://e.org/?i={pair}", "whole", "C D:1", "https://e.org/?i=C%0dD%3A1"),
        ("{record}{pair}#{record}", "one", "", "oneone#one"),
    ],
)
def test_the_address_of_a_record_quotes_its_parts(template: str | None, record: str, ends: str, address: str) -> None:
    named = "SELECT $template::VARCHAR AS template, $record AS record, $ends AS ends"
    made = f"SELECT {ADDRESS_SQL.format(template='template', record='record', ends='ends')} FROM ({named})"

    with duckdb.connect() as db:
        found = db.execute(made, {"template": template, "record": record, "ends": ends}).fetchall()

    assert found == [(address,)]
