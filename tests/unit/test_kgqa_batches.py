"""Files of questions, and how answers are scored."""

import json
from itertools import chain, repeat
from pathlib import Path

import pytest

from kgcheck.bench.batches import answer_questions
from kgcheck.bench.kgqa import QuestionMetrics, metrics, read_questions, score, unique, work_of
from kgcheck.errors import InputFormat, InputMissing, KgcheckError
from kgcheck.model import Ref
from kgcheck.questions.answer import Answer, Found, Questions, Status
from kgcheck.workspace import Workspace
from tests.support.audits import MemoryStore
from tests.unit.test_kgqa import EDGES, NODES


@pytest.fixture(scope="module")
def questions() -> Questions:
    return Questions(MemoryStore(NODES, EDGES))


def write(path: Path, items: object) -> Path:
    path.write_text(json.dumps(items), encoding="utf-8")
    return path


def test_scores_compare_sets_by_id_name_or_sequence(tmp_path: Path, questions: Questions) -> None:
    items = [
        {"question": "Which diseases is BCD2 linked to?", "type": "one", "answer": [{"answer": "grey fever"}]},
        {"question": "Which structures does BCD2 have?", "type": "one", "answer": [{"answer": None}]},
        {"question": "What is the sequence of P00001?", "type": "one", "answer": [{"answer": "MKV"}]},
        {"question": "How many diseases is BCD2 linked to?", "type": "count", "answer": 2},
        {"question": "Which drugs inhibit ABC1?", "type": "count", "answer": ["x"]},
    ]
    asked = read_questions(write(tmp_path / "q.json", items))
    results = [work_of(questions.ask)(q) for q in asked]

    found = metrics(results)
    assert [round(r["score"]["f1"], 3) for r in results] == [0.667, 1.0, 1.0, 1.0, 0.0]
    assert found["count"] == QuestionMetrics(questions=2, f1=50.0, exact_match=50.0, executability=50.0)
    assert found["all"].executability == 80.0
    assert len({q.id for q in asked}) == 5


def test_an_answer_where_there_is_none_is_wrong(tmp_path: Path) -> None:
    (asked,) = read_questions(write(tmp_path / "q.json", [{"question": "q", "answer": None}]))
    given = Answer(question="q", status=Status.ANSWERED, found=(Found(ref=Ref(label="Gene", id="X")),))

    assert score(asked, given).f1 == 0.0
    assert not score(asked, Answer(question="q", status=Status.NOT_UNDERSTOOD)).executable


def test_a_question_asked_twice_counts_once(tmp_path: Path) -> None:
    path = write(tmp_path / "q.json", [{"question": "a"}, {"question": "b"}, {"question": "a"}])

    assert [q.question for q in unique(read_questions(path))] == ["a", "b"]


@pytest.mark.parametrize("text", ["", "[]", "{", "[1]", '[{"answer": 1}]', '[{"question": "  "}]', '[{"question": 3}]'])
def test_files_that_are_no_questions(tmp_path: Path, text: str) -> None:
    path = tmp_path / "q.json"
    path.write_text(text)

    with pytest.raises(InputFormat, match=r"q\.json"):
        read_questions(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputMissing):
        read_questions(tmp_path / "none.json")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(KgcheckError):
        read_questions(tmp_path / "b.json")


def test_yes_or_no_is_scored_by_what_holds(tmp_path: Path, questions: Questions) -> None:
    items = [
        {"question": "Does ABC1 act on BCD2?", "answer": True},
        {"question": "Does BCD2 act on ABC1?", "answer": False},
        {"question": "Does BCD2 act on CDE3?", "answer": True},
    ]
    asked = read_questions(write(tmp_path / "q.json", items))

    assert [work_of(questions.ask)(q)["score"]["exact"] for q in asked] == [True, True, False]


@pytest.mark.parametrize(("then", "notes"), [("one", 0), ("two", 1)])
def test_a_graph_that_changes_under_a_batch_is_told(then: str, notes: int, tmp_path: Path) -> None:
    states = chain(["one"], repeat(then))

    class Moving(MemoryStore):
        def state(self) -> str | None:
            return next(states)

    file = write(tmp_path / "q.json", [{"question": "What is the sequence of P00001?", "answer": [{"answer": "MKV"}]}])
    with Workspace(store=Moving(NODES, EDGES)) as workspace:
        done = answer_questions(workspace, file, out=tmp_path / "out")

    assert done.batch.done == 1
    assert sum("the graph changed" in note for note in done.notes) == notes
