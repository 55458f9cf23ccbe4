"""From a ledger of format 1 (SQLite) to format 2: the only place that reads what format 1 wrote as text.

Format 1 kept runs and findings as JSON bodies, and gaps, targets, sources and releases as text for people.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Table, insert

from kgcheck.ledger.migrations.format_2 import FINDING, HANDED, METADATA, PIECE, RELEASE, RUN, TALLY
from kgcheck.ledger.rows import finding_row, release_rows, run_row, tally_row
from kgcheck.ledger.run import PinnedRelease, Run
from kgcheck.model import CheckType, Finding, Gap, Outcome, Reason, Tally, Target

REASONS_OF_FORMAT_1 = {
    "accession_merged": Reason.ID_MERGED,
    "accession_demerged": Reason.ID_DEMERGED,
    "accession_deleted": Reason.ID_DELETED,
    "symbol_previous": Reason.ID_PREVIOUS,
    "symbol_withdrawn": Reason.ID_WITHDRAWN,
    "symbol_alias": Reason.ID_ALIAS,
    "term_obsolete": Reason.ID_OBSOLETE,
    "secondary_id": Reason.ID_SECONDARY,
    "pathway_retired": Reason.ID_RETIRED,
    "structure_superseded": Reason.ID_SUPERSEDED,
}
"""Reasons that have another name now."""

_TABLES = ("tally", "finding", "piece", "run")
_TOGETHER = 5_000
_TEAM = "team "
_RELEASE = re.compile(r"(\S+) (.+) \(((?:(?! \().)+) ([0-9a-f]{12})\)", re.DOTALL)
_GAP = re.compile(r"(.+) \(([a-z ]+)\)", re.DOTALL)


def copy_rows(connection: Connection) -> None:
    """Bring the tables of format 1 to format 2, within the transaction that is under way."""
    connection.exec_driver_sql("DROP INDEX IF EXISTS finding_by_fingerprint")
    for table in _TABLES:
        connection.exec_driver_sql(f"ALTER TABLE {table} RENAME TO {table}_1")
    METADATA.create_all(connection)
    try:
        _runs(connection)
        targets = _findings(connection)
        _pieces(connection)
        _tallies(connection, targets)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a row of another form: {error}") from error
    for table in _TABLES:
        connection.exec_driver_sql(f"DROP TABLE {table}_1")


def _as_in(table: Table, row: dict[str, Any]) -> dict[str, Any]:
    """What a row of now has that a row of format 2 had, too."""
    return {name: value for name, value in row.items() if name in table.c}


def _runs(connection: Connection) -> None:
    for number, body in connection.exec_driver_sql("SELECT number, body FROM run_1 ORDER BY number").all():
        stated = json.loads(body)
        stated["releases"] = [dict(_release(text)) for text in stated.get("releases", ())]
        run = Run.model_validate(stated)
        connection.execute(insert(RUN).values(number=number, **_as_in(RUN, run_row(run))))
        if releases := [_as_in(RELEASE, row) for row in release_rows(run)]:
            connection.execute(insert(RELEASE), releases)


def _findings(connection: Connection) -> dict[str, Target]:
    """Copy the findings."""
    checks = {
        name
        for name, options in connection.exec_driver_sql("SELECT id, options FROM run")
        if "check" in json.loads(options)
    }
    targets: dict[str, Target] = {}
    for rows in _batches(connection, "SELECT rowid, run, body FROM finding_1 WHERE rowid > ? ORDER BY rowid LIMIT ?"):
        found = []
        for _, run, body in rows:
            finding = _finding(json.loads(body))
            found.append(_as_in(FINDING, finding_row(run, finding)))
            if run in checks:
                targets[run] = Target.of(finding.task)
        connection.execute(insert(FINDING), found)
    return targets


def _pieces(connection: Connection) -> None:
    for rows in _batches(
        connection, "SELECT rowid, run, piece, tasks FROM piece_1 WHERE rowid > ? ORDER BY rowid LIMIT ?"
    ):
        for _, run, piece, tasks in rows:
            if piece.startswith(_TEAM):
                handed = {"run": run, "fingerprint": piece.removeprefix(_TEAM), "result": tasks}
                connection.execute(insert(HANDED).values(**handed))
            else:
                connection.execute(insert(PIECE).values(run=run, piece=piece, digest=tasks))


def _tallies(connection: Connection, targets: dict[str, Target]) -> None:
    columns = "rowid, run, piece, type, target, outcome, reason, sources, count"
    for rows in _batches(connection, f"SELECT {columns} FROM tally_1 WHERE rowid > ? ORDER BY rowid LIMIT ?"):
        counted = []
        for _, run, piece, kind, target, outcome, reason, sources, count in rows:
            by_team = sources.startswith("team: ")
            parts = [part for part in sources.removeprefix("team: ").split(", ") if part]
            tally = Tally(
                type=CheckType(kind),
                target=targets.get(run) or _target(target),
                outcome=Outcome(outcome),
                reason=_reason(reason),
                sources=tuple(part for part in parts if not part.startswith("no ")),
                gaps=tuple(_gap(part.removeprefix("no ")) for part in parts if part.startswith("no ")),
                by_team=by_team,
                count=count,
            )
            counted.append(_as_in(TALLY, tally_row(run, "" if by_team else piece, tally)))
        connection.execute(insert(TALLY), counted)


def _batches(connection: Connection, query: str) -> Iterator[list[Any]]:
    last = -1
    while rows := list(connection.exec_driver_sql(query, (last, _TOGETHER))):
        yield rows
        last = rows[-1][0]


def _finding(stated: dict[str, Any]) -> Finding:
    verdict = stated["verdict"]
    verdict["reason"] = _reason(verdict["reason"])
    verdict["missing"] = [_gap(text) for text in verdict.get("missing", ())]
    for evidence in verdict.get("evidence", ()):
        if evidence.get("reason"):
            evidence["reason"] = _reason(evidence["reason"])
    return Finding.model_validate(stated)


def _reason(name: str) -> Reason:
    return REASONS_OF_FORMAT_1.get(name) or Reason(name)


def _gap(text: str) -> Gap:
    """``uniprot (not covered)``."""
    found = _GAP.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} names no source and cause")
    return Gap(found[1], _reason(found[2].replace(" ", "_")))


def _release(text: str) -> PinnedRelease:
    """``go 2026-01-01 (go.tsv 0123456789ab)``; whatever else it is, it stays as it is."""
    found = _RELEASE.fullmatch(text)
    if not found:
        return PinnedRelease(source=text, release="")
    return PinnedRelease(source=found[1], release=found[2], file=found[3], sha256=found[4])


def _target(text: str) -> Target:
    """``Protein``, ``Protein.name``, ``Gene TRANSLATED_INTO Protein``, ``Protein ACTS_ON Protein.score``."""
    if text == str(Target()):
        return Target()
    part, _, attribute = text.partition(".")
    match part.split(" "):
        case [label, relation, tail]:
            return Target(label=label, relation=relation, object_label=tail, attribute=attribute or None)
        case _:
            return Target(label=part, attribute=attribute or None)
