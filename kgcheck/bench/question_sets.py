"""Sets of questions with right answers: JSON lines, and HeurekaBench's own files.

An item is what is asked, the right answer, and the data with which it can be found: files, or a graph and a snapshot.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from kgcheck.bench.kgqa import read_rows
from kgcheck.errors import InputFormat, InputMissing
from kgcheck.inputs import parse_json, read_whole
from kgcheck.model import Value
from kgcheck.outputs import write_text
from kgcheck.resources import resource_dir
from kgcheck.visible import as_json

V = TypeVar("V", bound=Value)

Form = Literal["open", "choice"]
LETTERS = "ABCDEFGH"


class BenchQuestion(Value):
    """A question with its right answer."""

    id: str
    form: Form
    question: str = Field(min_length=1)
    answer: str = Field(default="", description="right answer to an open question")
    names: tuple[str, ...] = Field(default=(), description="things that the right answer names, each one fact")
    options: dict[str, str] = Field(default={}, description="by letter; of a choice")
    right: tuple[str, ...] = Field(default=(), description="letters of the right options")
    category: str = ""
    hops: int = 0
    entities: tuple[str, ...] = Field(default=(), description="ids of what the question names")
    data: dict[str, str] = Field(default={}, description="what the answer can be found with, and what each is")
    paper: str = ""
    year: int | None = Field(default=None, description="of the paper")
    insight: str = Field(default="", description="name of the insight in its paper")
    summary: str = ""
    techniques: str = ""
    grounding: str = Field(default="", description="words of the paper, or the edges, that bear the answer")

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.form == "open" and not (self.answer.strip() or self.names):
            raise ValueError("an open question has no answer")
        if self.form == "choice" and not (self.right and set(self.right) <= self.options.keys() <= set(LETTERS)):
            raise ValueError(f"a choice has options by letters of {LETTERS}, and the right ones among them")
        return self

    @property
    def words(self) -> str:
        """The question with its options."""
        return "\n".join([self.question, *(f"{letter}) {text}" for letter, text in self.options.items())])

    @property
    def subjects(self) -> tuple[str, ...]:
        """Nodes that it asks about, and its paper: what no two parts of a set share."""
        return (*self.entities, *filter(None, [self.paper]))


def question_id(*parts: object) -> str:
    """Name a question by a hash of what makes it."""
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:12]


def read_set(path: Path) -> list[BenchQuestion]:
    """Read a set: JSON lines, or a file of HeurekaBench."""
    try:
        whole = parse_json(read_whole(path))
    except ValueError:
        whole = None
    by_paper = isinstance(whole, dict) and all(isinstance(insights, dict) for insights in whole.values())
    questions = [*_heureka(whole, path)] if by_paper else read_models(path, BenchQuestion)
    if not questions:
        raise InputFormat(f"{path} holds no questions", "see docs/benchmarks.md")
    if len({question.id for question in questions}) < len(questions):
        raise InputFormat(f"{path} has two questions of one id", "give each question an id of its own")
    return questions


def transcript_of(run: Path, question: BenchQuestion) -> Path:
    """File of a run of an agent with its exchanges on a question."""
    return run / "transcripts" / f"{question_id(question.id)}.jsonl"


def data_path(folder: Path, name: str) -> Path:
    """Find a file or folder that questions name as their data."""
    path, parts = (folder / name).resolve(), PurePosixPath(name).parts
    if "/" in parts or ".." in parts:
        raise InputFormat(f"{name!r} is no name of data: it leads out of {folder}", "correct the set")
    if not path.exists():
        raise InputMissing(f"there is no {path}, which is data of a question", "name the folder with --data")
    return path


def data_bytes(question: BenchQuestion, folder: Path) -> int:
    """Size of all data of a question."""
    paths = [data_path(folder, name) for name in question.data]
    return sum(file.stat().st_size for path in paths for file in (path, *path.rglob("*")) if file.is_file())


def read_models(path: Path, kind: type[V]) -> list[V]:
    """Read JSON lines of one form."""
    try:
        return [kind.model_validate(row) for row in read_rows(path)]
    except ValidationError as error:
        why = f"{path} holds what is no {kind.__name__}: {error.errors()[0]['msg']}"
        raise InputFormat(why, "see docs/benchmarks.md") from error


def write_models(path: Path, models: Iterable[Value]) -> None:
    """Write JSON lines."""
    write_text(path, "".join(f"{as_json(one.model_dump(exclude_defaults=True))}\n" for one in models))


_HEADING = re.compile(r"\*\*(Question|Answer)(\d*):\*\*")
_OPTION = re.compile(r"^[^\S\n]*+([A-H])[).](.*)$", re.MULTILINE)
_QUESTION_KEYS: dict[Form, str] = {"open": "oe_question", "choice": "mcq_question"}


def _heureka(papers: Mapping[str, Any], path: Path) -> Iterable[BenchQuestion]:
    for paper, insights in papers.items():
        for name, insight in insights.items():
            given = insight if isinstance(insight, dict) else {}
            texts = [(form, given[key]) for form, key in _QUESTION_KEYS.items() if isinstance(given.get(key), str)]
            blocks = [(form, block) for form, text in texts for block in _blocks(text)]
            if not blocks:
                why = f"{path}, {paper}, {name}: no question with an answer"
                raise InputFormat(why, "each insight has oe_question or mcq_question")
            for form, (number, question, answer) in blocks:
                yield _heureka_question(form, (paper, name, number), question, answer, insight, path)


def _blocks(text: str) -> list[tuple[str, str, str]]:
    """Numbers, questions and answers, each under a heading in bold letters."""
    parts = _HEADING.split(text)
    headed = zip(parts[1::3], parts[2::3], map(str.strip, parts[3::3]), strict=True)
    return [
        (number, question, answer)
        for (kind, number, question), (other, _, answer) in pairwise(headed)
        if (kind, other) == ("Question", "Answer")
    ]


def _heureka_question(
    form: Form, place: tuple[str, str, str], question: str, answer: str, insight: Mapping[str, Any], path: Path
) -> BenchQuestion:
    paper, name, number = place
    options = {letter: text.strip() for letter, text in _OPTION.findall(question)} if form == "choice" else {}
    given: dict[str, Any] = {"answer": answer}
    if form == "choice":
        question = question[: next(_OPTION.finditer(question)).start()].strip() if options else question
        given = {"options": options, "right": tuple(sorted(set(re.findall(r"\b[A-H]\b", answer))))}
    try:
        return BenchQuestion(
            id=f"{paper}/{name}/{form}/{number or 1}",
            form=form,
            question=question,
            paper=paper,
            insight=name,
            summary=insight.get("summary", ""),
            techniques=insight.get("how", ""),
            grounding=insight.get("relevant", ""),
            data=insight.get("data") or {},
            **given,
        )
    except ValidationError as error:
        why = f"{path}, {paper}, {name}, question {number}: {error.errors()[0]['msg']}"
        raise InputFormat(why, "each question has an answer, each choice its options") from error


def write_heureka(folder: Path, questions: Sequence[BenchQuestion]) -> list[Path]:
    """Write a set as HeurekaBench has it: oeq.json and mcq.json, by paper and insight."""
    written = []
    for form, file in (("open", "oeq.json"), ("choice", "mcq.json")):
        papers: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        for question in (q for q in questions if q.form == form):
            name = question.insight or question.id
            insight = papers[question.paper or question.category or "graph"].setdefault(
                name,
                {
                    "summary": question.summary,
                    "how": question.techniques,
                    "relevant": question.grounding,
                    "data": question.data,
                },
            )
            before = insight.get(_QUESTION_KEYS[question.form], "")
            number = question.id.rpartition("/")[2]
            number = number if number.isdigit() else str(len(_blocks(before)) + 1)
            answer = ",".join(question.right) or question.answer or ", ".join(question.names)
            block = f"**Question{number}:** {question.words}\n\n**Answer{number}:** {answer}"
            insight[_QUESTION_KEYS[question.form]] = f"{before}\n\n{block}".strip()
        if papers:
            written.append(folder / file)
            write_text(written[-1], json.dumps(papers, ensure_ascii=False, indent=1) + "\n")
    return written


def write_tasks(folder: Path, questions: Sequence[BenchQuestion], harness: str) -> list[Path]:
    """Write a set as samples of another harness, with the task that reads them."""
    rows: dict[Form, list[str]] = {"open": [], "choice": []}
    for question in questions:
        order = sorted(question.options)
        target = [LETTERS[order.index(letter)] for letter in sorted(question.right)]
        sample = {"id": question.id, "input": question.question, "metadata": {"category": question.category}}
        sample |= {"choices": [question.options[letter] for letter in order], "target": target} if order else {}
        sample |= {} if order else {"target": question.answer or ", ".join(question.names)}
        rows[question.form].append(f"{as_json(sample)}\n")
    made = {folder / "open.jsonl": rows["open"], folder / "choices.jsonl": rows["choice"]}
    tasks = (resource_dir("corpus") / "bench" / "tasks" / harness).glob("*.txt")
    made |= {folder / path.stem: [read_whole(path)] for path in tasks}
    for path, lines in made.items():
        write_text(path, "".join(lines))
    return list(made)
