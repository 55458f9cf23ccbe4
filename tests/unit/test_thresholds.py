"""Thresholds of jobs: the grammar, what they count, and how bad it is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kgcheck.curation.thresholds import Counted, Severity, Threshold, bound, judge, worst
from kgcheck.model import CheckType, GraphState, Outcome, Reason

T, E = CheckType.TRIPLE, CheckType.EXISTENCE
REFUTED, SUPPORTED, UNAVAILABLE = Outcome.REFUTED, Outcome.SUPPORTED, Outcome.UNAVAILABLE

RUN = [
    Counted(T, ("A", "B"), "R", REFUTED, Reason.EDGE_UNSUPPORTED, 8),
    Counted(T, ("A", "C"), "S", REFUTED, Reason.ENDPOINT_DELETED, 2),
    Counted(T, ("A", "B"), "R", SUPPORTED, Reason.CONFIRMED, 90),
    Counted(T, ("A", "B"), "R", UNAVAILABLE, Reason.SOURCE_UNAVAILABLE, 900),
    Counted(E, ("A",), None, REFUTED, Reason.ID_DELETED, 1),
    Counted(E, ("A",), None, SUPPORTED, Reason.CONFIRMED, 99),
]
NEW = [Counted(T, ("A", "B"), "R", REFUTED, Reason.EDGE_UNSUPPORTED, 3)]


@pytest.mark.parametrize(
    ("text", "count", "of", "holds"),
    [
        ("> 10", 10, 100, False),
        ("> 10", 11, 100, True),
        (">=10", 10, 100, True),
        ("< 1", 0, 100, True),
        ("<= 0", 0, 0, True),
        ("= 3", 3, 3, True),
        ("== 3", 4, 4, False),
        ("!= 0", 1, 1, True),
        ("> 1%", 1, 100, False),
        ("> 1%", 2, 100, True),
        (">= 29%", 29, 100, True),
        ("> 0.5 %", 6, 1000, True),
        ("> 0%", 0, 0, False),
        ("<= 100%", 0, 0, False),
    ],
)
def test_a_bound_holds(text: str, count: int, of: int, holds: bool) -> None:
    assert bound(text).holds(count, of) is holds


@pytest.mark.parametrize(
    "text",
    ["", "10", "> ten", "> -1", ">> 1", "> 1 %%", "> 101%", "> 1.5", "1 >", "> 1; x", "> 1e3", "> 1%\nx", "=> 1"],
)
def test_what_is_no_bound_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no threshold"):
        bound(text)


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(0, 100))
def test_a_share_is_exact(count: int, of: int, percent: int) -> None:
    assert bound(f">= {percent}%").holds(count, of) is (count * 100 >= percent * of)


def judged(*, only_new: bool = False, **what: Any) -> tuple[int, int, str | None, str]:
    (crossed,) = judge([Threshold(**what)], RUN, NEW, only_new=only_new)
    return crossed.count, crossed.of, crossed.bound, crossed.severity.value


def test_what_is_counted() -> None:
    assert judged(error_if="> 10") == (11, 200, "> 10", "error")
    assert judged(type=T, error_if="> 10") == (10, 100, None, "ok")
    assert judged(type=T, error_if=">= 10%") == (10, 100, ">= 10%", "error")
    assert judged(reason=Reason.ID_DELETED, warn_if="> 0", error_if="> 1") == (1, 200, "> 0", "warn")
    assert judged(label="C", error_if="> 1") == (2, 2, "> 1", "error")
    assert judged(label="B", error_if="> 1") == (8, 98, "> 1", "error")
    assert judged(relation="R", warn_if="> 1%", error_if="> 50%") == (8, 98, "> 1%", "warn")
    assert judged(relation="none", error_if="> 0%") == (0, 0, None, "ok")


def test_what_could_not_be_looked_at_makes_no_share_smaller() -> None:
    assert judged(type=T, error_if="> 9%") == (10, 100, "> 9%", "error")
    assert judged(type=T, outcome=UNAVAILABLE, error_if="> 50%") == (900, 1000, "> 50%", "error")


def test_only_what_is_new() -> None:
    assert judged(only_new=True, error_if="> 0") == (3, 200, "> 0", "error")
    assert judged(only_new=True, type=E, error_if="> 0") == (0, 100, None, "ok")
    (crossed,) = judge([Threshold(type=E, error_if="> 0", only_new=False)], RUN, NEW, only_new=True)
    assert (crossed.count, crossed.severity) == (1, Severity.ERROR)


def test_what_the_graph_lacks_is_counted_apart_and_with_what_was_called_refuted() -> None:
    run = [
        *RUN,
        Counted(CheckType.POTENTIAL, ("A", "B"), "R", SUPPORTED, Reason.EDGE_MISSING, 5),
        Counted(CheckType.POTENTIAL, ("A", "B"), "R", REFUTED, Reason.NOT_FOUND_ELSEWHERE, 70),
    ]
    wanted: tuple[dict[str, Any], ...] = (
        {},
        {"type": CheckType.POTENTIAL},
        {"graph": GraphState.LACKS_IT},
        {"graph": GraphState.HAS_IT_WRONGLY},
    )
    found = judge([Threshold(**some, error_if="> 0") for some in wanted], run, [])

    assert [crossed.count for crossed in found] == [16, 5, 5, 11]
    assert [crossed.what for crossed in found][2:] == ["lacks_it", "has_it_wrongly"]


def test_a_remark_is_counted_only_where_it_is_named() -> None:
    run = [
        Counted(CheckType.STRUCTURE, ("A",), None, Outcome.INSUFFICIENT, Reason("domain_range"), 4),
        Counted(CheckType.STRUCTURE, ("A",), None, Outcome.INSUFFICIENT, Reason("orphan_node"), 2),
    ]
    wanted: tuple[dict[str, Any], ...] = ({}, {"reason": Reason("domain_range")})
    found = judge([Threshold(outcome=Outcome.INSUFFICIENT, **some, error_if="> 0") for some in wanted], run, [])

    assert [(crossed.count, crossed.of) for crossed in found] == [(2, 6), (4, 6)]


def test_what_a_decision_has_settled_is_looked_at_and_not_counted() -> None:
    (crossed,) = judge([Threshold(type=T, error_if="> 7")], RUN, [], NEW)

    assert (crossed.count, crossed.of, crossed.severity) == (7, 100, Severity.OK)


def test_a_threshold_without_a_bound_is_none() -> None:
    with pytest.raises(ValidationError, match="needs warn_if or error_if"):
        Threshold(type=T)


def test_severities_and_exit_codes() -> None:
    assert worst([]) is Severity.OK
    assert worst([Severity.WARN, Severity.UNAVAILABLE]) is Severity.UNAVAILABLE
    assert worst([Severity.ERROR, Severity.UNAVAILABLE]) is Severity.ERROR
    assert [s.exit_code for s in (Severity.OK, Severity.WARN, Severity.ERROR, Severity.UNAVAILABLE)] == [0, 0, 1, 3]
