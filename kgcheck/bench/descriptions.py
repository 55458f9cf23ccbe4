"""Describe a set by its own facts: a data sheet in Markdown, and Croissant metadata."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kgcheck.bench.insights import USABLE, Insight
from kgcheck.bench.question_runs import grade, score_rows
from kgcheck.bench.question_sets import BenchQuestion, data_path, read_models, read_set, write_models
from kgcheck.context import Context
from kgcheck.errors import InputMissing
from kgcheck.inputs import sha256_of
from kgcheck.options import WorkerOptions
from kgcheck.outputs import write_text
from kgcheck.reference.snapshot import releases_of
from kgcheck.report.documents import html_environment, page


class DescribedFile(NamedTuple):
    """A file; without a digest where it is not at hand."""

    name: str
    words: str
    bytes: int = 0
    sha256: str = ""

    @classmethod
    def at(cls, path: Path, name: str, words: str) -> "DescribedFile":
        """Describe a file that may be there."""
        if not path.is_file():
            return cls(name, words)
        return cls(name, words, path.stat().st_size, sha256_of(path))


def write_description(
    context: Context,
    file: Path,
    folder: Path,
    stated: Mapping[str, str],
    dev: Path | None,
    insights: Path | None,
    runs: Sequence[Path],
    data: Path,
) -> list[Path]:
    """Write a set, its data sheet and its Croissant metadata; `stated` is what people say of it."""
    questions, stated = read_set(file), {**stated, "name": stated["name"] or file.stem}
    own, sheet, metadata = (folder / one for one in ("set.jsonl", "README.md", "croissant.json"))
    write_models(own, questions)
    files = [DescribedFile.at(own, own.name, "questions, a line each"), *_data_files(questions, data)]
    counted = {
        "form": Counter[str](q.form for q in questions),
        "category": Counter(q.category or "none" for q in questions),
        "hops": Counter(str(q.hops) for q in questions if q.hops),
    }
    facts = _validation(questions, read_models(insights, Insight) if insights else ())
    facts |= {
        "items": len(questions),
        "parts": [(kind, *part) for kind, counts in counted.items() for part in sorted(counts.items())],
        "papers": {q.paper: q.year for q in questions if q.paper},
        "stated": stated,
        "files": files,
        "releases": releases_of(context.reference),
        "dev": read_set(dev) if dev else None,
        "given": [q for q in questions if q.answer and q.answer.casefold() in q.question.casefold()],
        "closed_book": score_rows(grade(context, file, runs, WorkerOptions())[0]) if runs else [],
    }
    facts["shared"] = sorted(_subjects(questions) & _subjects(facts["dev"] or ()))
    write_text(sheet, page("data_sheet", "md", **facts))
    write_text(metadata, croissant(questions, files, stated))
    return [own, sheet, metadata]


def _data_files(questions: Sequence[BenchQuestion], folder: Path) -> Iterator[DescribedFile]:
    for name, words in {name: words for question in questions for name, words in question.data.items()}.items():
        try:
            yield DescribedFile.at(data_path(folder, name), name, words)
        except InputMissing:
            yield DescribedFile(name, words)


def _validation(questions: Sequence[BenchQuestion], insights: Sequence[Insight]) -> dict[str, Any]:
    """Count the items that a reference bears, and those of insights that people signed."""
    signed = {one.id: one.signature for one in insights if one.is_usable((*USABLE, "outside_tools"))}
    found = [signature for q in questions if (signature := signed.get(q.insight))]
    by_reference = sum("reference" in q.data.values() and not q.insight for q in questions)
    states, people = Counter(s.state for s in found), sorted({s.by for s in found})
    return {"by_reference": by_reference, "states": states, "people": people, "signed": len(found)}


def _subjects(questions: Sequence[BenchQuestion]) -> set[str]:
    return {subject for question in questions for subject in question.subjects}


_STATED = {"name": "name", "licence": "license", "creator": "creator", "url": "url"}
"""Keys of Croissant for statements of people."""


def croissant(questions: Sequence[BenchQuestion], files: Sequence[DescribedFile], stated: Mapping[str, str]) -> str:
    """Describe a set in Croissant's JSON-LD; its own file is the first of `files`.

    Croissant 1.0 has no type for objects without fields of their own: options and data are none of its fields.
    """
    values = {name: v for q in questions for name, v in q if v != BenchQuestion.model_fields[name].get_default()}
    shown = {
        "stated": {key: stated[name] for name, key in _STATED.items() if stated[name]},
        "files": [one for one in files if one.sha256],
        "fields": {name: value for name, value in values.items() if not isinstance(value, dict)},
    }
    return html_environment().get_template("croissant.json").render(shown) + "\n"
