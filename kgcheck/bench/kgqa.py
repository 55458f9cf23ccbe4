"""KGQA benchmark (BioKGBench): read questions, score answers by F1, exact match, executability.

F1 is the mean over questions of the F1 of two sets, what was answered and what is right; exact match is the share of
questions with equal sets; executability is the share that came to a conclusion (BioKGBench, section 4 and appendix).
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError, field_validator

from kgcheck.bench.metrics import by_type
from kgcheck.errors import InputFormat
from kgcheck.inputs import parse_json, read_whole
from kgcheck.model import Value
from kgcheck.questions.answer import Answer, Found, Status

_OF_QUESTIONS = "name a file of questions of BioKGBench"


class Question(Value):
    """One item: what is asked, and what is right; a null answer means that the graph has none."""

    id: str
    question: str = Field(min_length=1)
    type: str = ""
    gold: frozenset[str] = frozenset()
    count: int | None = None
    truth: bool | None = Field(default=None, description="of a yes or no question")

    @field_validator("question")
    @classmethod
    def _has_words(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("the question is empty")
        return text


class QuestionScore(Value):
    """Score of one question."""

    f1: float = Field(ge=0, le=1)
    exact: bool
    executable: bool
    tokens: int = 0
    cost: float | None = None


class QuestionMetrics(Value):
    """Means over questions, in per cent, and what a model took for all."""

    questions: int
    f1: float
    exact_match: float
    executability: float
    tokens: int = 0
    cost: float | None = None


def read_questions(path: Path) -> list[Question]:
    """Read a file of questions: a JSON list or JSON lines, each with question, type and answer.

    An answer is a list of objects with ``answer`` or ``id``, a list of texts, a number, true, false, or null. Without
    an ``id`` of its own, a question is named by a hash of its words.
    """
    rows = read_rows(path)
    try:
        return [_question(row) for row in rows]
    except (ValidationError, KeyError, TypeError) as error:
        raise InputFormat(f"{path} holds an item that is no question: {error}", "see docs/kgqa.md") from error


_ROWS: TypeAdapter[list[dict[str, Any]]] = TypeAdapter(list[dict[str, Any]])


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read a JSON list, or JSON lines."""
    text = read_whole(path)
    try:
        if text.lstrip().startswith("["):
            rows = parse_json(text)
        else:
            rows = [parse_json(line) for line in text.splitlines() if line.strip()]
        found = _ROWS.validate_python(rows)
    except ValueError as error:
        raise InputFormat(f"{path} is neither a JSON list nor JSON lines: {str(error)[:200]}", _OF_QUESTIONS) from error
    if not found:
        raise InputFormat(f"{path} holds no items", _OF_QUESTIONS)
    return found


def _question(row: Mapping[str, Any]) -> Question:
    words, answer = row["question"], row.get("answer")
    items = answer if isinstance(answer, list) else []
    gold = {item.get("id") or item.get("answer") if isinstance(item, Mapping) else item for item in items}
    return Question(
        id=str(row.get("id") or hashlib.sha256(str(words).encode()).hexdigest()[:12]),
        question=words,
        type=row.get("type", ""),
        gold=frozenset(str(one) for one in gold if one is not None),
        count=answer if isinstance(answer, int) and not isinstance(answer, bool) else None,
        truth=answer if isinstance(answer, bool) else None,
    )


def unique(questions: Iterable[Question]) -> list[Question]:
    """The questions without those that were there before; one asked twice counts once."""
    return list({q.id: q for q in questions}.values())


def score(question: Question, answer: Answer) -> QuestionScore:
    """Score one answer."""
    executable = answer.status in (Status.ANSWERED, Status.NOTHING)
    if not executable:
        return QuestionScore(f1=0.0, exact=False, executable=False)
    if question.truth is not None:
        right = question.truth == answer.holds
        return QuestionScore(f1=float(right), exact=right, executable=True)
    if question.count is not None or answer.count is not None:
        right = question.count == answer.count
        return QuestionScore(f1=float(right), exact=right, executable=True)
    given = {as_gold(found, question.gold) for found in answer.found}
    if not given and not question.gold:
        return QuestionScore(f1=1.0, exact=True, executable=True)
    both = len(given & question.gold)
    return QuestionScore(f1=2 * both / (len(given) + len(question.gold)), exact=given == question.gold, executable=True)


def as_gold(found: Found, gold: frozenset[str]) -> str:
    """An answer in the form that the gold has: an id, a name or a sequence; its id where none of them is there."""
    forms = (found.ref.id, found.name, found.properties.get("sequence"))
    return next((form for form in forms if form in gold), found.ref.id)


def work_of(ask: Callable[[str], Answer]) -> Callable[[Question], dict[str, Any]]:
    """Work of a batch on a question: the answer and its score as a result."""

    def work(question: Question) -> dict[str, Any]:
        answer = ask(question.question)
        return {
            "type": question.type,
            "question": question.question,
            "status": answer.status.value,
            "read_as": answer.read_as,
            "answers": [{"label": f.ref.label, "id": f.ref.id, "name": f.name} for f in answer.found],
            "count": answer.count,
            "holds": answer.holds,
            "because": answer.because,
            "score": score(question, answer).model_dump() | {"tokens": answer.tokens, "cost": answer.cost},
        }

    return work


def metrics(results: Sequence[Mapping[str, Any]]) -> dict[str, QuestionMetrics]:
    """Metrics over all results (``all``) and by type."""
    nothing = {"f1": 0, "exact": False, "executable": False}
    return by_type(results, lambda result: QuestionScore.model_validate(result.get("score") or nothing), _mean)


def _mean(scores: Sequence[QuestionScore]) -> QuestionMetrics:
    n = len(scores)
    return QuestionMetrics(
        questions=n,
        f1=100 * sum(s.f1 for s in scores) / n,
        exact_match=100 * sum(s.exact for s in scores) / n,
        executability=100 * sum(s.executable for s in scores) / n,
        tokens=sum(s.tokens for s in scores),
        cost=sum(costs) if (costs := [s.cost for s in scores if s.cost is not None]) else None,
    )
