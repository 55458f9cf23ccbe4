"""The sets of health claims are whole, and the benchmark counts what the verifier says of them."""

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from benchmarks.health_claims import HealthClaim, about_abstracts, about_notes, kinds, summary
from kgcheck.literature.verify import ClaimVerdict
from kgcheck.model import Stance


def whole(claims: list[HealthClaim]) -> None:
    assert [name for name, n in Counter(c.item.id for c in claims).items() if n > 1] == []
    assert [text for text, n in Counter((c.document.id, c.item.claim) for c in claims).items() if n > 1] == []
    assert {c.item.label for c in claims} == set(Stance)
    halves = defaultdict(set)
    for claim in claims:
        halves[claim.document.id].add(claim.half)
        assert claim.kind
        assert claim.item.claim.endswith(".")
    assert {half for (half,) in halves.values()} == {"seen", "held"}


def test_the_claims_about_notes_are_whole() -> None:
    whole(about_notes())


@pytest.mark.slow
def test_the_claims_about_abstracts_are_whole_and_quote_none(shared_data: Path) -> None:
    claims = about_abstracts(shared_data)

    whole(claims)
    copied = [c.item.id for c in claims if _letters(c.item.claim) in _letters(c.document.text)]
    assert copied == []


def _letters(text: str) -> str:
    return re.sub(r"\W+", " ", text).casefold()


@pytest.mark.parametrize(("said", "column"), [(Stance.SUPPORTS, 0), (Stance.SILENT, 1)])
def test_the_tables_count_right_silent_and_wrong(said: Stance, column: int) -> None:
    claims = [c for c in about_notes() if c.half == "held" and c.item.label is not Stance.SILENT]
    verdicts = [(c, ClaimVerdict(claim=c.item.claim, verifier="x", stance=said, probability=1)) for c in claims]
    true = sum(c.item.label is Stance.SUPPORTS for c in claims)
    expected = (true, 0, len(claims) - true) if said is Stance.SUPPORTS else (0, len(claims), 0)

    row = summary({("notes", "x"): verdicts}).splitlines()[-1].strip("| ").split(" | ")

    assert tuple(map(int, row[5:8])) == expected
    plain = next(line for line in kinds(verdicts).splitlines() if line.startswith("| supports | plain"))
    shown = [int(cell) for cell in plain.strip("| ").split(" | ")[6:]]
    assert shown[1 + column] == shown[0] > 0
