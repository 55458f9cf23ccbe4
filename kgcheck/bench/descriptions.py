"""Describe a set by its own facts: a data sheet in Markdown, and Croissant metadata."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kgcheck import __version__
from kgcheck.bench.insights import Insight
from kgcheck.bench.question_runs import grade, score_rows
from kgcheck.bench.question_sets import BenchQuestion, data_path, read_models, read_set, write_models
from kgcheck.context import Context
from kgcheck.errors import InputMissing
from kgcheck.inputs import parse_json, read_whole
from kgcheck.options import WorkerOptions
from kgcheck.outputs import write_text
from kgcheck.reference.snapshot import releases_of
from kgcheck.report.documents import page
from kgcheck.resources import resource_dir
from kgcheck.visible import as_json

_SHARED_SHOWN = 5
_STATED = {"name": "name", "description": "description", "licence": "license", "creator": "creator", "url": "url"}
"""What people say of a set, by its name in Croissant."""


class DescribedFile(NamedTuple):
    """A file of data; without a digest where it is not at hand."""

    name: str
    words: str
    bytes: int = 0
    sha256: str = ""


def data_files(questions: Iterable[BenchQuestion], folder: Path) -> list[DescribedFile]:
    """The data of a set, each once, with its size and digest where its folder has it."""
    found = []
    for name, words in {name: words for question in questions for name, words in question.data.items()}.items():
        try:
            path = data_path(folder, name)
        except InputMissing:
            found.append(DescribedFile(name, words))
            continue
        found.append(DescribedFile(name, words, *(_size_and_digest(path) if path.is_file() else ())))
    return found


def _size_and_digest(path: Path) -> tuple[int, str]:
    with path.open("rb") as stream:
        return path.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()


def validation_lines(questions: Sequence[BenchQuestion], insights: Sequence[Insight]) -> list[str]:
    """Say how the answers were validated: by a reference, by a signature, or that nobody says."""
    signed = {
        one.id: one.signature
        for one in insights
        if one.is_usable(("validated", "in_part", "adjusted", "outside_tools"))
    }
    by_reference = sum("reference" in q.data.values() and not q.insight for q in questions)
    states = Counter(s.state for q in questions if (s := signed.get(q.insight)))
    lines = (
        [f"{by_reference} items: a reference bears the whole answer (kgcheck bench questions)"] if by_reference else []
    )
    lines += [f"{count} items: of insights that a person signed as {state}" for state, count in states.items()]
    people = sorted({s.by for q in questions if (s := signed.get(q.insight))})
    lines += [f"Signed by {', '.join(people)}"] if people else []
    left = len(questions) - by_reference - sum(states.values())
    return lines + ([f"{left} items: no signature was at hand, and no reference bears them"] if left else [])


def leakage_lines(
    questions: Sequence[BenchQuestion], dev: Sequence[BenchQuestion] | None, closed_book: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Say what is in both parts of a set, which answers stand in their questions, and what models knew without data."""
    lines = ["Dev part: not named"]
    if dev is not None:
        shared = sorted({s for q in questions for s in q.subjects} & {s for q in dev for s in q.subjects})
        more = f": {', '.join(shared[:_SHARED_SHOWN])}" if shared else ""
        lines = [f"Dev part: {len(dev)} items; {len(shared)} nodes and papers are asked about in both{more}"]
    given = [q for q in questions if q.form == "open" and q.answer and q.answer.casefold() in q.question.casefold()]
    lines.append(f"Questions that have their own answer word for word: {len(given)}")
    for row in closed_book:
        lines.append(
            f"Without the data, {row['system']} ({row['model']}): score {row['score']}, accuracy {row['accuracy']}"
        )
    return lines if closed_book else [*lines, "Closed book: not run"]


def _composition(questions: Sequence[BenchQuestion]) -> dict[str, Any]:
    """The parts of a set, for its data sheet."""
    counted: dict[str, Counter[str]] = {
        "form": Counter(q.form for q in questions),
        "category": Counter(q.category or "none" for q in questions),
        "hops": Counter(str(q.hops) for q in questions if q.hops),
    }
    papers = {q.paper: q.year for q in questions if q.paper}
    years = sorted(year for year in papers.values() if year)
    return {
        "items": len(questions),
        "parts": [(kind, *part) for kind, counts in counted.items() for part in sorted(counts.items())],
        "papers": sorted(papers),
        "years": years,
        "undated": len(papers) - len(years),
    }


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
    files = [DescribedFile(own.name, "questions, a line each", *_size_and_digest(own)), *data_files(questions, data)]
    rows = score_rows(grade(context, file, runs, WorkerOptions())[0]) if runs else []
    facts = _composition(questions) | {
        "version": __version__,
        "stated": stated,
        "files": files,
        "releases": releases_of(context.reference),
        "validation": validation_lines(questions, read_models(insights, Insight) if insights else ()),
        "leakage": leakage_lines(questions, read_set(dev) if dev else None, rows),
    }
    write_text(sheet, page("data_sheet", "md", **facts))
    write_text(metadata, as_json(croissant(questions, files, stated), indent=1) + "\n")
    return [own, sheet, metadata]


def croissant(
    questions: Sequence[BenchQuestion], files: Sequence[DescribedFile], stated: Mapping[str, str]
) -> dict[str, Any]:
    """Describe a set in Croissant's JSON-LD; its own file is the first of `files`."""
    rows = [question.model_dump(exclude_defaults=True) for question in questions]
    names = [name for name in BenchQuestion.model_fields if any(name in row for row in rows)]
    fields = []
    for name in names:
        value = next(row[name] for row in rows if name in row)
        if isinstance(value, dict):
            # Croissant 1.0 has no type for objects without fields of their own.
            continue
        source = {"fileObject": {"@id": files[0].name}, "extract": {"column": name}}
        kind = "sc:Integer" if isinstance(value, int) else "sc:Text"
        field = {"@type": "cr:Field", "@id": f"questions/{name}", "name": name, "dataType": kind, "source": source}
        fields.append(field | ({"repeated": True} if isinstance(value, tuple) else {}))
    distribution = [
        {
            "@type": "cr:FileObject",
            "@id": one.name,
            "name": one.name,
            "description": one.words,
            "contentUrl": one.name,
            "encodingFormat": "application/jsonlines" if one is files[0] else "application/octet-stream",
            "contentSize": f"{one.bytes} B",
            "sha256": one.sha256,
        }
        for one in files
        if one.sha256
    ]
    records = {"@type": "cr:RecordSet", "@id": "questions", "name": "questions", "field": fields}
    whole: dict[str, Any] = parse_json(read_whole(resource_dir("corpus") / "bench" / "croissant.json"))
    whole |= {key: stated[name] for name, key in _STATED.items() if stated[name]}
    return whole | {"distribution": distribution, "recordSet": [records]}
