"""Patches in the ledger, on both databases."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kgcheck.errors import AmbiguousName, UnknownName
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.patches import OperationEntry, OperationState, PatchEntry, PatchState, PatchTable
from tests.support.patches import HOSTILE
from tests.support.postgres import ledger_place

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "postgresql"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PatchTable]:
    with Ledger(ledger_place(request, tmp_path)) as ledger:
        yield PatchTable(ledger.database)


def entry(name: str, state: PatchState = PatchState.MADE) -> PatchEntry:
    return PatchEntry(
        id=name, store=HOSTILE.replace("\x1b", ""), profile="ckg 1", run="r", folder="/f", made=NOON, by="Änne",
        operations=2, state=state, state_at=NOON, state_by="x",
    )  # fmt: skip


def operations(state: OperationState, why: str = "") -> list[OperationEntry]:
    found = [OperationEntry(number=n, kind="retire", finding=f"{n}" * 16, about="ü", state=state) for n in (1, 2)]
    return [found[0].model_copy(update={"why": why}), found[1]]


def test_a_patch_is_kept_with_how_far_it_has_come(table: PatchTable) -> None:
    table.keep(entry("aaaa1"), operations(OperationState.OPEN))
    table.keep(entry("aaaa2"), operations(OperationState.OPEN))
    assert [p.id for p in table.all()] == ["aaaa2", "aaaa1"]

    applied, done = entry("aaaa1", PatchState.APPLIED), operations(OperationState.DONE, "why not")
    table.keep(applied, done)

    assert table.one("aaaa1") == (applied, done)
    assert table.one("aaaa2") == (entry("aaaa2"), operations(OperationState.OPEN))
    assert [p.id for p in table.all()] == ["aaaa2", "aaaa1"]


def test_a_name_of_none_or_of_several_is_refused(table: PatchTable) -> None:
    with pytest.raises(UnknownName):
        table.one("a")
    table.keep(entry("aaaa1"), [])
    table.keep(entry("aaaa2"), [])
    with pytest.raises(AmbiguousName, match="several patches begin with 'aaaa'"):
        table.one("aaaa")
    with pytest.raises(UnknownName, match="there is no patch ''"):
        table.one("")
