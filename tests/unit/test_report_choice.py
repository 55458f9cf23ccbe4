"""Which findings a report shows where there are too many: some of every kind, the refuted first, as many as fit."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.model import CheckType, Finding, Outcome, Reason, TallyMark
from kgcheck.report.documents import MAX_CHARACTERS, MAX_SHOWN, Kind, ShownFindings, fair
from tests.support.reports import RUN, Page, cells, finding, written


def _many(n: int, **kind: object) -> Iterator[Finding]:
    return (finding(f"P{i:06d}", **kind) for i in range(n))  # type: ignore[arg-type]


@cache
def _noisy() -> list[Finding]:
    return [
        *_many(6_000, kind=CheckType.TRIPLE, reason=Reason.EDGE_UNSUPPORTED),
        *_many(30, reason=Reason.ID_DELETED),
        *_many(500, kind=CheckType.TRIPLE, outcome=Outcome.INSUFFICIENT, reason=Reason.NOTHING_FOUND),
    ]


@pytest.mark.slow
def test_a_noisy_reason_does_not_push_out_the_others() -> None:
    page = Page(written("html", _noisy()))

    assert page.values("class").count("finding refuted") == MAX_SHOWN - 20
    assert page.values("class").count("finding insufficient") == 20
    text = " ".join(page.text.split())
    assert "2,000 of 6,530 findings" in text
    assert "Accession deleted by its database 30" in text.replace("refuted ", "")
    assert f"kgcheck report {RUN.id} --format jsonl" in text
    assert "4,050" in text


def test_markdown_fits_into_a_comment() -> None:
    text = written("markdown", _noisy())

    assert 40_000 < len(text) <= MAX_CHARACTERS
    assert "of 6,530 findings** are shown" in text
    assert len(cells(text)) > 100
    assert "nothing either way (" in text


KINDS = st.tuples(
    st.sampled_from([CheckType.EXISTENCE, CheckType.TRIPLE]),
    st.sampled_from(list(Outcome)),
    st.sampled_from([Reason.UNKNOWN_ID, Reason.NOTHING_FOUND, Reason.EDGE_UNSUPPORTED]),
    st.sampled_from(["Gene", "Protein", "Disease"]),
)


@given(runs=st.lists(st.tuples(KINDS, st.integers(1, 60)), max_size=12), room=st.integers(0, 90))
def test_all_room_is_used_and_nothing_is_counted_twice(
    runs: list[tuple[tuple[CheckType, Outcome, Reason, str], int]], room: int
) -> None:
    choice, found = ShownFindings(room), Counter[Kind]()
    for (kind, outcome, reason, label), n in runs:
        shown = finding(kind=kind, outcome=outcome, reason=reason, label=label)
        for _ in range(n):
            choice.add(shown)
        found[Kind(TallyMark.of(kind, outcome), kind, reason)] += n

    groups = choice.groups(room)

    assert {g.kind: g.total for g in groups} == found
    assert sum(len(g.findings) for g in groups) == min(room, found.total())
    assert all(len(g.findings) <= g.total for g in groups)


@given(sizes=st.dictionaries(st.integers(), st.integers(0, 50), max_size=8), room=st.integers(0, 200))
def test_shares_are_even(sizes: dict[int, int], room: int) -> None:
    given_out = fair(sizes, room)

    assert sum(given_out.values()) == min(room, sum(sizes.values()))
    short = [given_out[k] for k in sizes if given_out[k] < sizes[k]]
    assert all(given_out[k] <= min(short) + 1 for k in sizes if short)
