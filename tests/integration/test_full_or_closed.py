"""What is said where a ledger is full, empty or shared by too many, and where a folder may only be read."""

from pathlib import Path

from kgcheck.ledger.ledger import Ledger
from tests.integration.test_full_disk import _fill, disk
from tests.support.audits import kgcheck
from tests.unit.test_ledger import finding, run, tally

__all__ = ["disk"]


def test_a_decision_on_a_full_disk_is_told_to_be_made_again(disk: Path) -> None:
    place = disk / "ledger.sqlite"
    found = finding(run(), "P1")
    with Ledger(place) as ledger:
        ledger.keep(run(), found, tally())
    decide = ("decide", found.fingerprint[:8], "accept", "--by", "me", "--note", "x" * 9_000, "--ledger", place)
    _fill(disk, 0)

    said = kgcheck(*decide)

    assert said.refuses(f"cannot write to the ledger {place}: the disk is full or failing")
    assert "free space, then do the same again" in said.err
    (disk / "filler").unlink()
    assert kgcheck(*decide).code == 0
