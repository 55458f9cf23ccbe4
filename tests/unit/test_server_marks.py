"""A server is asked whether anything was ever retired: once in a while where nothing was, never again where it was."""

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
        self.numbers: dict[str, int] = {}
        """What it counts, by a part of the statement."""

    def _read(self, text: str, parameters: dict[str, Any]) -> Generator[Sequence[Any]]:
        self.texts.append(text)
        if "propertyKeys" in text and self.has_marks:
            yield (parameters["name"],)
        if "count(" in text:
            for part in text.split("UNION ALL"):
                yield (sum(n for what, n in self.numbers.items() if what in part),)

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


def test_a_server_without_nodes_is_asked_for_no_edge(clock: list[float]) -> None:
    store = Asked()
    counts = store.counts()
    assert set(counts.nodes) == set(SCHEMA.label_names)
    assert set(counts.edges) == set(map(str, SCHEMA.relations))
    assert counts.total_nodes == counts.total_edges == 0
    assert len(store.texts) - store.questions == 1


def test_only_edges_between_labels_with_nodes_are_counted(clock: list[float]) -> None:
    store = Asked()
    store.numbers = {"(n:`Protein`)": 2, "(n:`Disease`)": 1, "`ACTS_ON`": 7, "-[r:`ASSOCIATED_WITH`]->(:`Disease`)": 4}
    store.numbers["()-[r:`ASSOCIATED_WITH`]->()"] = store.numbers["(:`Protein`)-[r:`ASSOCIATED_WITH`]->()"] = 9
    counts = store.counts()
    assert {name for name, n in counts.nodes.items() if n} == {"Protein", "Disease"}
    known = {name: n for name, n in counts.edges.items() if n}
    assert known == {"Protein ACTS_ON Protein": 7, "Protein ASSOCIATED_WITH Disease": 4}
    # All nodes in one statement; all sides of relations in another, of which no other label is one.
    sides = [text for text in store.texts if "]->" in text and "UNION ALL" in text]
    assert len(sides) == 1
    assert "`Tissue`" not in sides[0]
    assert sides[0].count("()-[r:`ASSOCIATED_WITH`]->()") == 1


def test_more_statements_than_go_together_are_all_answered(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgcheck.graph.server._TOGETHER", 5)
    store = Asked()
    store.numbers = {f"(n:{label.name!r})".replace("'", "`"): at for at, label in enumerate(SCHEMA.labels, 1)}
    assert list(store.counts().nodes.values()) == list(range(1, len(SCHEMA.labels) + 1))
