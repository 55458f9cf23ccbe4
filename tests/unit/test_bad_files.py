"""Files that people write or edit, made wrong in ways that nobody chose: a clear error each, and nothing lost."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgcheck.curation.operations import (
    PATCH,
    Operation,
    Patch,
    PatchHeader,
    numbered_lines,
    read_patch,
    sealed,
    write_patch,
)
from kgcheck.curation.project import read_project
from kgcheck.errors import KgcheckError
from tests.support.patches import add_edge, edge, merge, ref, repoint, retire, set_value

PROJECT = """
ledger = "ledger.sqlite"
time_zone = "Europe/Berlin"
[stores.main]
place = "graph.lbdb"
[references.main]
snapshot = "reference.duckdb"
files = "files"
[notifications.team]
address_env = "TEAM"
when = ["new"]
[jobs.nightly]
kind = "audit"
types = ["existence", "triple"]
schedule = "30 2 * * mon-fri"
retry = { times = 2, wait = "5m" }
keep = { runs = 30, age = "90d" }
reports = [{ format = "html", path = "reports/{job}-{date}.html" }]
notify = ["team"]
[[jobs.nightly.thresholds]]
error_if = "> 5%"
warn_if = "> 0"
[jobs.load]
kind = "load"
directory = "import"
"""
OPERATIONS: list[Operation] = [
    set_value(ref("A"), "name", "new"),
    merge(ref("A"), ref("B")),
    repoint(edge("C", "A"), "B", "tail"),
    retire(edge("A", "D"), but_one=True),
    add_edge(edge("D", "C"), source="x", score=0.125),
]
ODD = st.sampled_from(
    ["", "=", "]", '"', "\n", "\x00", "\u202e", "nan", "-1", "1e999", "[[jobs]]", "{x}", "9" * 400, "true", "[" * 500]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("9" * 5_000),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
quick = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def edits(draw: st.DrawFn) -> Callable[[str], str]:
    """One to three edits of a text: a word or a stretch that is left out, doubled, or something odd."""
    places = draw(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), ODD, st.booleans()), min_size=1, max_size=3))

    def edit(text: str) -> str:
        for share, length, odd, is_word in places:
            spans = [m.span() for m in re.finditer(r"[\w%.-]+", text)] or [(0, 0)]
            at = int(share * len(text))
            begin, end = spans[int(share * (len(spans) - 1))] if is_word else (at, at + length)
            text = text[:begin] + (text[begin:end] * 2 if odd == "=" else odd) + text[end:]
        return text

    return edit


@st.composite
def other_json(draw: st.DrawFn) -> Callable[[Any], Any]:
    """Something of a JSON value is another value, is not there, or is beside the rest."""
    way, value, what = draw(st.lists(st.integers(0, 9), min_size=1, max_size=3)), draw(VALUES), draw(st.integers(0, 2))

    def change(of: Any, depth: int = 0) -> Any:
        if not isinstance(of, dict) or not of or depth == len(way):
            return value
        name = sorted(of)[way[depth] % len(of)]
        if depth == len(way) - 1 and what:
            rest = {k: v for k, v in of.items() if k != name}
            return rest if what == 1 else of | {"odd": value}
        return of | {name: change(of[name], depth + 1)}

    return change


def refused(act: Callable[[], object]) -> bool:
    """Whether it is refused, in words; an error that is none of kgcheck's own fails the test."""
    error = refusal(act)
    if error:
        assert error.message.strip()
        assert error.exit_code in (2, 3)
    return error is not None


def refusal(act: Callable[[], object]) -> KgcheckError | None:
    try:
        act()
    except KgcheckError as error:
        return error
    return None


@quick
@given(edits())
def test_a_project_file_is_read_or_refused(tmp_path: Path, edit: Callable[[str], str]) -> None:
    path = tmp_path / "kgcheck.toml"
    path.write_text(edit(PROJECT), encoding="utf-8")

    refused(lambda: read_project(path))


def header() -> PatchHeader:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    made = PatchHeader(store="s", profile="ckg 1", run="r", created=at, by="x", operations=len(OPERATIONS))
    return sealed(made, numbered_lines(OPERATIONS))


@quick
@given(edits())
def test_an_edited_patch_is_refused(tmp_path: Path, edit: Callable[[str], str]) -> None:
    patch = Patch(header(), tuple(OPERATIONS))
    write_patch(tmp_path, patch)
    path = tmp_path / PATCH
    text = path.read_text()
    path.write_text(edit(text), encoding="utf-8")

    if not refused(lambda: read_patch(tmp_path)):
        assert read_patch(tmp_path) == patch


@quick
@given(other_json(), st.integers(0, len(OPERATIONS) - 1))
def test_a_patch_that_somebody_else_sealed_is_read_or_refused(
    tmp_path: Path, change: Callable[[Any], Any], number: int
) -> None:
    lines = numbered_lines(OPERATIONS)
    lines[number] = json.dumps(change(json.loads(lines[number])))
    head = sealed(header(), lines)
    path = tmp_path / PATCH
    path.write_text("\n".join([json.dumps(head.model_dump(mode="json")), *lines]) + "\n", encoding="utf-8")

    if not refused(lambda: read_patch(tmp_path)):
        assert len(read_patch(tmp_path).operations) == len(OPERATIONS)
