"""The code behind insights: matched, run, and its numbers compared with those of the text.

Each number of an insight is equal, differs, or was not produced. It is compared with what is named as it is: by the
words about both, the unit, and the kind of figure. What is equal and named otherwise is another figure.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from kgcheck import clock
from kgcheck.bench.insights import Insight
from kgcheck.bench.question_sets import read_models, write_models
from kgcheck.errors import NAME_THERE, InputError, InputFormat, InputMissing, UnknownName, UsageError
from kgcheck.grounding.quantities import WrittenNumber, kind_words, quantities
from kgcheck.grounding.results import MOST_RESULTS, Result, Results, name_stems, read_results, words_about
from kgcheck.inputs import parse_json, read_whole
from kgcheck.literature.documents import sentences
from kgcheck.literature.polarity import empty_words
from kgcheck.model import Value
from kgcheck.options import CodeOptions
from kgcheck.outputs import write_text
from kgcheck.protocols.programs.sandbox import ProgramLimits
from kgcheck.protocols.programs.scripts import (
    CodeModel,
    ScriptMatch,
    TruePair,
    describe_analyses,
    match_scripts,
    pair_rows,
)
from kgcheck.protocols.programs.workflows import (
    DELIMITERS,
    FIGURES,
    CodeRepository,
    CodeWorkflow,
    StepRun,
    compose,
    compose_by_model,
    edit_data,
    open_repository,
    read_names,
    read_workflow,
    refuse_other_files,
    run_workflow,
    write_workflow,
)
from kgcheck.text.words import is_symbol

_NAMED = 0.5  # least share of the words that name a result which stand about a number
_MANY, _TELLING = 10, 3
"""Results named alike, from which on one is equal to a number of fewer digits by accident; and those digits."""

_KINDS = {
    "p": r"p|p[-_. ]?val(?:ue)?s?|p[-_.]?adj|fdr|q[-_. ]?values?",
    "r": r"r|rho|tau|corr\w*",
    "mean": r"means?|average|avg",
    "median": r"medians?",
    "spread": r"sd|std|sem|standard (?:deviation|error)",
    "ratio": r"or|hr|rr|(?:odds|hazard|risk)[-_ ]ratio|fold[-_ ]change|log2?fc",
}
_KIND = re.compile(
    "|".join(f"(?P<{kind}>(?<![^\\W_])(?:{words})(?![^\\W_]))" for kind, words in _KINDS.items()), re.IGNORECASE
)
_DIGITS = 100
_PRINTED = ", stdout, line"
_LONG = re.compile(r"(?<=\.\d{12})\d+")
_TOKEN = re.compile(r"[^\W_][\w-]*")
_LITERAL = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
_MARKS = " \t=:,;()[]<>"
_BEFORE = 30  # characters before a number that may say its kind
_PHRASE_END = re.compile(r"[),;:]|\b(?:against|and|but|compared|than|to|versus|vs|whereas|while)\b")
_FALL = re.compile(r"\b(?:fell|fall|decreas|reduc|lower|drop|los[st]|declin|down)\w*", re.IGNORECASE)


class ComparedNumber(Value):
    """A number of an insight beside what the workflow gave."""

    insight: str
    stated: str
    state: Literal["equal", "differs", "not produced"]
    found: str = ""
    place: str = ""
    sentence: str


def results_of(runs: Sequence[StepRun], folder: Path, notes: list[str]) -> Results:
    """Read the numbers that steps printed, plotted, and left in tables and JSON that no later step reads."""
    found: list[Result] = []
    between = {name for run in runs for name in run.step.needs}
    for step, run, left, _ in runs:
        own = [*_of_lines((run.stdout if run else "").splitlines(), f"{step.file}{_PRINTED}", " ".join(step.scripts))]
        for name, path in left.items():
            place = f"{step.file}, {name}"
            try:
                if name == FIGURES:
                    own += _of_figures(parse_json(read_whole(path)), place)
                elif path.name in between:
                    continue
                elif path.suffix == ".json":
                    own += [result._replace(quote=f"{place}: {result.name}") for result in read_results(path).all]
                elif path.suffix in DELIMITERS:
                    own += _of_table(path, place)
            except (AttributeError, InputError, ValueError, csv.Error) as error:
                notes.append(f"{place} is not read: {error}")
        # What a script has in its code was written, and not computed.
        written = {Decimal(number) for number in _LITERAL.findall(read_whole(folder / step.file))}
        found += [result for result in own if abs(result.value) not in written]
    if len(found) > MOST_RESULTS:
        notes.append(f"only {MOST_RESULTS:,} of {len(found):,} numbers are compared")
    return Results("the workflow", "", clock.now(), canonical=True, found=found[:MOST_RESULTS])


def _of_lines(lines: Sequence[str], place: str, script: str) -> Iterator[Result]:
    """Numbers of printed lines; one without words is of its script."""
    for number, line in enumerate(lines, 1):
        end, text = 0, _LONG.sub("", line[:1_000])
        for q in quantities(text):
            label = text[end : q.start].strip(_MARKS) or text[: q.start].strip(_MARKS) or script
            words = words_about(text, (q.start, q.end)) or words_about(script, (len(script), len(script)))
            yield Result(label, q.value, q.step, q.unit, words, f"{place} {number}")
            end = q.end


def _of_table(path: Path, place: str) -> Iterator[Result]:
    """Numbers of a table, by row and column; those of a column without a name are of nothing."""
    rows = list(csv.reader(io.StringIO(read_whole(path)), delimiter=DELIMITERS[path.suffix]))
    for row in rows[1:]:
        cells = [(name.strip(), cell, _number(cell)) for name, cell in zip(rows[0], row, strict=False)]
        label = " ".join(cell for _, cell, number in cells if number is None) or (row[0] if row else "")
        for name, _, number in cells:
            if name and number is not None:
                yield _named(label, name, number, place)


def _of_figures(figures: Any, place: str) -> Iterator[Result]:
    for title, series in figures.items():
        for label, cell in series.items():
            if (number := _number(str(cell))) is not None:
                yield _named(label, title, number, place)._replace(name=label)


def _named(label: str, column: str, number: Decimal, place: str) -> Result:
    name = f"{label} {column}"
    step = Decimal(1).scaleb(int(number.as_tuple().exponent))
    return Result(name, number, step, "", words_about(name, (len(name), len(name))), f"{place}: {name}")


def _number(cell: str) -> Decimal | None:
    try:
        value = Decimal(cell.strip())
    except InvalidOperation:
        return None
    return value if value.is_finite() and abs(value.adjusted()) < _DIGITS else None


def compare(insight: Insight, results: Results, tolerance: float) -> list[ComparedNumber]:
    """Compare each number of an insight's text; `tolerance` is a share of it, beside the rounding as it is written."""
    rows: dict[tuple[Decimal, str, str], ComparedNumber] = {}
    for text in dict.fromkeys([insight.grounding, insight.summary]):
        for start, end in sentences(text):
            sentence = text[start:end]
            stated = quantities(sentence)
            # By the words before a number, and those after it to the end of its phrase, by their nearness.
            ends = [_PHRASE_END.search(sentence, q.end) for q in stated]
            near = [
                results.likeness(words_about(sentence[: end.start() if end else None], (q.start, q.end), fading=True))
                for q, end in zip(stated, ends, strict=True)
            ]
            for at, q in enumerate(stated):
                # A result is of the number that its words stand nearest to.
                own = [place for place, score in enumerate(near[at]) if score >= max(other[place] for other in near)]
                row = _compared(sentence, q, own, results, Decimal(str(tolerance)))
                rows.setdefault((q.value, q.unit, q.comparator), row.model_copy(update={"insight": insight.id}))
    return list(rows.values())


def _compared(
    sentence: str, q: WrittenNumber, own: Sequence[int], results: Results, tolerance: Decimal
) -> ComparedNumber:
    likeness = results.likeness(words_about(sentence, (q.start, q.end)))
    kind, last = _kind(sentence[max(0, q.start - _BEFORE) : q.start]), _name_before(sentence, q)
    named = [
        (likeness[place], result)
        for place, result in ((place, results.all[place]) for place in own)
        if likeness[place] >= _NAMED and _fits(q, kind, result) and last <= result.words.keys()
        # What is written like a symbol: genes, proteins, cell lines.
        if {s for w in _TOKEN.findall(result.name) if is_symbol(w) for s in name_stems(w)} <= set(name_stems(sentence))
        # A row of a table is another one's as soon as one word of it is: a line that is printed says more.
        if _PRINTED in result.quote or _is_named(result, sentence)
    ]
    # Aged treated mice are named by a text that names treated mice, too.
    full = [result.words.keys() for _, result in named if _is_named(result, sentence)]
    named = [(s, r) for s, r in named if not any(r.words.keys() < words for words in full)]
    named.sort(key=lambda pair: -pair[0])
    equal = [result for _, result in named if _is_equal(q, result, tolerance, sentence, kind)]
    if len(named) > _MANY and q.digits < _TELLING:
        equal = []
    sure = [r for score, r in named if score >= 0.8 * named[0][0] and _is_named(r, sentence)]
    state: Literal["equal", "differs", "not produced"] = "equal" if equal else "differs" if sure else "not produced"
    found = next(iter(equal or sure), None)
    return ComparedNumber(
        insight="",
        stated=f"{'' if q.comparator == '=' else q.comparator + ' '}{sentence[q.start : q.end]}",
        state=state,
        found=f"{found.value:f} {found.unit}".strip() if found else "",
        place=found.quote if found else "",
        sentence=sentence,
    )


def _is_named(result: Result, sentence: str) -> bool:
    return set(name_stems(result.name)) <= set(name_stems(sentence))


def _name_before(sentence: str, q: WrittenNumber) -> set[str]:
    """The stems of a name, as of a gene or a country, that stands before a number: no other thing has that number."""
    words = [w for w in _TOKEN.findall(sentence[: q.start]) if w.casefold() not in empty_words() | kind_words()]
    last = words[-1] if words and len(words[-1]) > 1 else ""
    return set(words_about(last, (len(last), len(last)))) if last != last.lower() else set()


def _kind(text: str) -> str:
    found = [match.lastgroup or "" for match in _KIND.finditer(text)]
    return found[-1] if found else ""


def _fits(q: WrittenNumber, kind: str, result: Result) -> bool:
    """Tell whether a result may be a number by unit and kind; a probability is nothing else."""
    other = _kind(result.name)
    alike = kind == other if "p" in (kind, other) else not (kind and other) or kind == other
    return alike and result.unit in ("", q.unit)


def _is_equal(q: WrittenNumber, result: Result, tolerance: Decimal, sentence: str, kind: str) -> bool:
    values = [result.value]
    if q.unit == "%" and not result.unit and abs(result.value) <= 1:
        values.append(result.value * 100)
    if q.comparator == "=" and q.value > 0 and kind != "r" and _FALL.search(sentence):
        values += [-value for value in values]
    room = max(q.step / 2, tolerance * abs(q.value), abs(q.value) / 10 if q.approximate else Decimal(0))
    match q.comparator:
        case "<" | "≤":
            return any(value <= q.value for value in values)
        case ">" | "≥":
            return any(value >= q.value for value in values)
    return any(abs(value - q.value) <= room for value in values)


def check_code(
    repository: Path, insights: Path, out: Path, options: CodeOptions, model: CodeModel | None, notes: list[str]
) -> tuple[list[dict[str, Any]], bool]:
    """Describe scripts, match them to insights, compose workflows, and run them where wanted.

    Returns rows to show, and whether something could not be run.
    """
    listed = read_models(insights, Insight)
    if unknown := set(options.only) - {one.id for one in listed}:
        raise UnknownName("insight", min(unknown), [one.id for one in listed])
    chosen = [one for one in listed if not options.only or one.id in options.only]
    code = open_repository(repository, notes)
    if model:
        described = {path: model.describe(code.sources[path], found) for path, found in code.described.items()}
        code = code._replace(described=described)
    scripts = [*code.described.values(), *describe_analyses()]
    matches = {one.id: model.match(one, scripts) if model else match_scripts(one, scripts) for one in chosen}
    write_models(out / "scripts.jsonl", scripts)
    write_models(out / "matches.jsonl", chain.from_iterable(matches.values()))
    notes += [f"{one.id}: no script fits it" for one in chosen if not matches[one.id]]
    if options.pairs:
        return pair_rows(read_models(options.pairs, TruePair), chosen, scripts, matches), False
    if options.run and not code.licensed:
        raise UsageError(
            f"{repository} has no licence: its scripts are not run", "a file LICENSE says what may be done"
        )
    split = [text.partition("=") for text in options.data]
    data = {name if file else Path(name).name: Path(file or name) for name, _, file in split}
    if lost := [path for path in data.values() if not path.is_file()]:
        raise InputMissing(f"there is no file {lost[0]}", NAME_THERE)
    folders = {one.id: _folder_of(out, one.id) for one in chosen}
    composed = {
        one.id: _composed(one, matches[one.id], code, data, folders[one.id], options, model, notes) for one in chosen
    }
    if not options.run:
        rows = [m.model_dump(include={"insight", "path", "score"}) for m in chain.from_iterable(matches.values())]
        return rows, False
    limits = ProgramLimits(
        seconds=options.seconds, processor_seconds=max(1, int(options.seconds)), memory_mib=options.memory
    )
    numbers: list[ComparedNumber] = []
    incomplete = False
    for one in chosen:
        folder = folders[one.id]
        runs = run_workflow(folder, composed[one.id], code, limits)
        notes += [f"{one.id}: {run.step.file}: {run.line}" for run in runs if run.line]
        incomplete |= not runs or any(run.line for run in runs)
        records = (run.run.model_dump_json() for run in runs if run.run)
        write_text(folder / "runs.jsonl", "".join(f"{record}\n" for record in records))
        numbers += compare(one, results_of(runs, folder, notes), options.tolerance)
    write_models(out / "numbers.jsonl", numbers)
    return [number.model_dump(exclude={"sentence"}) for number in numbers], incomplete


def _folder_of(out: Path, insight: str) -> Path:
    """The folder of an insight, which its id names: no other place."""
    if not insight.isprintable() or insight in ("", ".", "..") or "/" in insight:
        raise InputFormat(f"the insight {insight!r} cannot name a folder", "give it an id without / in its file")
    return out / insight


def _composed(
    insight: Insight,
    matches: Sequence[ScriptMatch],
    code: CodeRepository,
    data: dict[str, Path],
    folder: Path,
    options: CodeOptions,
    model: CodeModel | None,
    notes: list[str],
) -> CodeWorkflow:
    """Compose and write the workflow of an insight; one by a model is run only if it lay there before."""
    there = read_workflow(folder) if options.run else None
    if there and there.by != "rules":
        refuse_other_files(there, folder, [*code.files.values(), *data.values()])
        return there
    columns = {old: new for old, _, new in (text.partition("=") for text in options.renames)}
    if not all(columns.values()):
        raise UsageError("a column has no new name", "write --rename OLD=NEW")
    names = read_names(options.names) if options.names else {}
    paths = [match.path for match in matches]
    workflow, programs = (
        compose_by_model(insight, paths, code, data, model) if model else compose(insight, paths, code, data)
    )
    workflow = edit_data(workflow, folder, names, columns)
    write_workflow(folder, workflow, programs)
    notes += [f"{insight.id}: {line}" for line in workflow.lacks]
    if model and options.run:
        notes.append(f"{insight.id}: the model's code is not run before it was read: {folder}; then run it with --run")
        return workflow.model_copy(update={"steps": ()})
    return workflow
