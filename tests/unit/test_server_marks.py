"""A server is asked whether anything was ever retired: once in a while where nothing was, and never again otherwise."""

from collections.abc import Generator, Sequence
from typing import Any

import pytest

from kgcheck.graph.marks import RETIRED
from kgcheck.graph.server import CypherServerStore
from kgcheck.graph.store import Properties, Reading
from kgcheck.model import Ref
from kgcheck.profile.schema import load_schema

SCHEMA = load_schema()


class Asked(CypherServerStore):
    """A store over a server that only knows whether there are marks."""

    def __init__(self, *, with_retired: bool = False) -> None:
        super().__init__("bolt://made.up", SCHEMA, with_retired=with_retired)
        self.has_marks = False
        self.texts: list[str] = []

    def _read(self, text: str, parameters: dict[str, Any]) -> Generator[Sequence[Any]]:
        self.texts.append(text)
        if "propertyKeys" in text and self.has_marks:
            yield (parameters["name"],)

    def _write(self, text: str, parameters: dict[str, Any]) -> list[Sequence[Any]]:
        raise NotImplementedError

    def query(self, reading: Reading, limit: int, timeout_s: float) -> list[Properties]:
        raise NotImplementedError

    def close(self) -> None:
        """Nothing is open."""

    def read(self) -> str:
        """Read some neighbours: the statement."""
        pattern = next(iter(SCHEMA.relations))
        self.neighbours(Ref(label=pattern.head, id="x"), pattern, "out", 1)
        return self.texts[-1]

    @property
    def questions(self) -> int:
        """How often it was asked whether there are marks."""
        return sum("propertyKeys" in text for text in self.texts)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr("kgcheck.graph.server.time.monotonic", lambda: now[0])
    return now


def test_where_nothing_was_retired_it_is_asked_once_in_a_while(clock: list[float]) -> None:
    store = Asked()
    for _ in range(5):
        assert RETIRED not in store.read()
    assert store.questions == 1
    store.has_marks = True
    assert RETIRED not in store.read()
    clock[0] += 1.0
    assert RETIRED in store.read()
    # It is so for good.
    clock[0] += 100.0
    assert RETIRED in store.read()
    assert store.questions == 2


def test_what_this_process_retires_is_left_out_at_once(clock: list[float]) -> None:
    reader, writer = Asked(), Asked()
    assert RETIRED not in reader.read()
    reader.has_marks = True
    writer._note_change()
    assert RETIRED in reader.read()


def test_who_shows_what_is_retired_asks_nothing(clock: list[float]) -> None:
    store = Asked(with_retired=True)
    store.has_marks = True
    assert RETIRED not in store.read()
    assert store.questions == 0
