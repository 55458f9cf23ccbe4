"""Report papers' experiments as quoted steps; grade each section's use for an objective.

Referability is 1 to 5 a section, with reasons: by its relevance (BM25 for the words of the objective, as a share of
what they have of themselves) and its detail, as ``referability.toml`` has it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kgcheck.context import noting
from kgcheck.errors import InputFormat, UnknownName
from kgcheck.literature.documents import Rejected, Span, sentences
from kgcheck.literature.edge_reader import address
from kgcheck.literature.formats import choose_recipe, read_documents
from kgcheck.literature.lexical import Lexical, content_words, relevances, stems
from kgcheck.literature.manifest import DOCUMENTS
from kgcheck.literature.papers import Paragraph, Section, WholePaper, parts_of
from kgcheck.literature.store import DocumentStore
from kgcheck.protocols.protocol import ExperimentalReport, Objective, ReportSection, ReportStep, StepTool, few
from kgcheck.protocols.reports.steps import StepWords, outline_of, species_in, step_of
from kgcheck.protocols.rules import ProtocolRules

if TYPE_CHECKING:
    pass


def report_papers(
    place: Path, *, papers: Sequence[str] = (), objective: Objective | None = None
) -> tuple[tuple[ExperimentalReport, ...], tuple[str, ...]]:
    """Read what the papers of a file or an index did; with an objective, how referable each section is for it."""
    with noting() as notes:
        reports = tuple(experimental_report(f.paper, url=f.url) for f in whole_papers(place, papers, notes))
    return grade_reports(reports, objective) if objective else reports, tuple(notes)


_HINT = "name a file of whole papers, in JATS XML or PDF, or the folder of an index"


class PaperFound(NamedTuple):
    """A whole paper, and where people read it."""

    paper: WholePaper
    url: str


def whole_papers(place: Path, wanted: Sequence[str], notes: list[str]) -> Iterator[PaperFound]:
    """The whole papers of a file or an index."""
    if place.is_dir():
        yield from _of_index(place, wanted)
        return
    left, any_found = set(wanted), False
    try:
        recipe = choose_recipe(place)
    except InputFormat as error:
        raise InputFormat(error.message, _HINT) from None
    for record in read_documents(place, recipe):
        if isinstance(record, Rejected):
            notes.append(f"{record.place or place}: {record.detail}")
        elif isinstance(record, WholePaper):
            any_found = True
            if not wanted or left.intersection(record.ids):
                left -= set(record.ids)
                yield PaperFound(record, address(parts_of(record).head))
    if not any_found:
        raise InputFormat(f"{place} has no whole paper", _HINT)
    if left:
        raise UnknownName("paper", min(left), [])


def _of_index(folder: Path, wanted: Sequence[str]) -> Iterator[PaperFound]:
    with DocumentStore(folder / DOCUMENTS) as store:
        for name in wanted or [row[0] for row in store.ids()]:
            paper = store.paper(name)
            number = store.number_of(paper.id) if paper else None
            head = store.documents([number]).get(number) if number is not None else None
            if paper and head:
                yield PaperFound(paper, address(head))
            elif wanted:
                hint = f"kgcheck corpus list --ids --index {folder} shows what is there"
                raise UnknownName("whole paper", name, [], hint)


_MOST_RESULTS = 3
"""Sentences of the results that belong to one section."""

_LEAST_SHARED = 3
"""Stems that a sentence of the results shares with the section that it belongs to."""

_LEAST_LIKE = 0.25
"""BM25 of a sentence for a section, as a share of the best, from which on it may belong to it."""

_MOST_SPECIES = 3

MOST_STEPS = 2_000
"""Most steps of one paper; a book is no paper."""


class MethodSentence(NamedTuple):
    """A sentence where steps may be, with the citations in it."""

    text: str
    citations: tuple[Span, ...] = ()


class MethodSection(NamedTuple):
    """A section of a paper where steps may be, with its sentences; ``strict`` where they stand among results."""

    section: Section
    sentences: tuple[MethodSentence, ...]
    strict: bool = False


def experimental_report(paper: WholePaper, *, url: str = "") -> ExperimentalReport:
    """Make the report of a paper: its sections with steps, with what the paper is and what came out."""
    sections = [
        ReportSection(
            heading=section.heading,
            path=section.path,
            kind=section.kind,
            outline=tuple(outline_of(step.text) for step in steps),
            steps=tuple(steps),
        )
        for section, steps in _steps_of(paper)
        if steps
    ]
    return ExperimentalReport(
        paper=paper.id,
        ids=paper.ids,
        title=paper.title,
        abstract=" ".join(p.text for s in paper.sections if s.kind == "abstract" for p in s.paragraphs),
        year=paper.year,
        url=url,
        licence=paper.licence,
        species=_species(paper),
        retracted=paper.retracted,
        sections=_with_results(sections, paper),
        note="" if sections else "no methods",
    )


def _steps_of(paper: WholePaper) -> Iterator[tuple[Section, list[ReportStep]]]:
    number = 0
    for section, sentences_, strict in method_sections(paper):
        steps: list[ReportStep] = []
        dry = bool(_DRY_HEADING.search(section.heading))
        for sentence in sentences_:
            step = step_of(sentence.text, number + 1, without=sentence.citations, dry_heading=dry)
            if step is None or number >= MOST_STEPS:
                continue
            if strict and not (step.parameters or step.tools or step.statistics or step.data_sets):
                continue
            steps.append(step)
            number += 1
        yield section, steps


_DRY_HEADING = re.compile(
    r"statistic|comput|bioinformat|software|simulation|algorithm|modell?ing|data processing"
    r"|\b(?:data|sequence|image|expression|phylogenetic|network|enrichment|pathway|genome|sensitivity|cluster) analys",
    re.IGNORECASE,
)


def method_sections(paper: WholePaper) -> Iterator[MethodSection]:
    """The sections of a paper where steps may be.

    Methods, and what has a heading of methods elsewhere; of a paper that has neither, results and legends, in which a
    sentence must name settings, software, statistics or data.
    """
    words = StepWords.shipped()
    if paper.type.casefold() in words.no_studies:
        return
    wanted, unwanted = words.headings, words.not_headings
    fitting = [s for s in paper.sections if not any(unwanted.search(h) for h in (s.heading, *s.path))]
    methods = [s for s in fitting if s.kind == "methods" or _is_headed(s, wanted)]
    if any(p for s in methods for p in s.paragraphs if not p.legend):
        for section in methods:
            yield MethodSection(section, tuple(x for p in section.paragraphs if not p.legend for x in _sentences(p)))
        return
    for section in fitting:
        if section.kind in ("results", "other"):
            yield MethodSection(section, tuple(x for p in section.paragraphs for x in _sentences(p)), strict=True)


def _is_headed(section: Section, wanted: re.Pattern[str]) -> bool:
    """Tell whether a section not filed as methods is one, by its heading or one above it."""
    if section.kind not in ("other", "results"):
        return False
    numbered = (re.sub(r"^[\dIVX.\s]{1,8}\s", "", h) for h in (section.heading, *section.path))
    return any(wanted.search(h) for h in numbered)


def _sentences(paragraph: Paragraph) -> Iterator[MethodSentence]:
    for start, end in _spans(paragraph.text):
        cited = tuple((m.start - start, m.end - start) for m in paragraph.markers if start <= m.start and m.end <= end)
        yield MethodSentence(paragraph.text[start:end], cited)


def _spans(text: str) -> Iterator[Span]:
    """Sentences, also where a unit or an acronym before the stop made the splitter take it for an abbreviation."""
    for start, end in sentences(text):
        at = start
        for stop in _UNIT_BEFORE_STOP.finditer(text, start, end):
            yield at, stop.end() - 1
            at = stop.end()
        yield at, end


_UNIT_BEFORE_STOP = re.compile(
    r"(?:\d\s?(?:h|hr|min|s|d|g|mg|kg|ml|mL|\u00b5l|\u03bcl|mM|M|V|W|\u00b0C|cm|mm|nm|rpm|bp|kb)|\b[A-Z]{2,6})\.\s(?=[A-Z][a-z]+\s)"
)


def _species(paper: WholePaper) -> tuple[str, ...]:
    """The organisms of a study: those of its title, abstract and methods that are named most."""
    counts: Counter[str] = species_in(paper.title * 3)
    for section in paper.sections:
        if section.kind in ("abstract", "methods"):
            for paragraph in section.paragraphs:
                counts += species_in(paragraph.text)
    most = max(counts.values(), default=0)
    return tuple(name for name, count in counts.most_common(_MOST_SPECIES) if count >= 2 and count * 5 >= most)


def _with_results(sections: Sequence[ReportSection], paper: WholePaper) -> tuple[ReportSection, ...]:
    """Sections with the sentences of the results that share most with them, each sentence with one section."""
    found = [
        sentence.text
        for section in paper.sections
        if section.kind == "results"
        for paragraph in section.paragraphs
        if not paragraph.legend
        for sentence in _sentences(paragraph)
    ]
    steps = {step.text for section in sections for step in section.steps}
    found = [text for text in dict.fromkeys(found) if text not in steps]
    if not found or not sections:
        return tuple(sections)
    words = Lexical.of(found)
    own = [stems(content_words(text)) for text in found]
    best: dict[int, tuple[float, int]] = {}
    for place, section in enumerate(sections):
        # Its heading, its outline, and the names in its steps.
        names = (name for step in section.steps for name in (*(t.name for t in step.tools), *step.statistics))
        query = " ".join((section.heading, *section.outline, *names))
        scores = words.scores(query)
        top = float(scores.max())
        wanted = stems(content_words(query))
        for at in scores.argsort()[::-1][: 4 * _MOST_RESULTS].tolist():
            score = float(scores[at])
            if score <= top * _LEAST_LIKE or len(own[at] & wanted) < _LEAST_SHARED:
                continue
            best[at] = max(best.get(at, (0.0, 0)), (score, place))
    kept: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for at, (score, place) in best.items():
        kept[place].append((-score, at))
    return tuple(
        section.model_copy(
            update={"results": tuple(found[at] for at in sorted(a for _, a in sorted(kept[n])[:_MOST_RESULTS]))}
        )
        for n, section in enumerate(sections)
    )


def report_text(section: ReportSection) -> str:
    """All that a section has, as running text for search and likeness."""
    return " ".join((*section.path, section.heading, *(step.text for step in section.steps)))


_SHOWN = 5


class ReferabilityRules(ProtocolRules):
    """Weights of relevance and detail."""

    file = "referability"
    full_relevance: float
    full_detail: float
    parameter: float
    tool: float
    version: float
    statistic: float
    data_set: float
    relevance: float
    unrelated: float
    most_unrelated: int
    wet_share: float


def grade_reports(reports: Sequence[ExperimentalReport], objective: Objective) -> tuple[ExperimentalReport, ...]:
    """Reports with the referability of their sections; by words, how rare a word is among all of them counts."""
    texts = [report_text(section) for report in reports for section in report.sections]
    rules = ReferabilityRules.shipped()
    shares = iter(share / rules.full_relevance for share in relevances(objective.text, texts))
    wanted = content_words(objective.text)
    graded = []
    for report in reports:
        sections = tuple(
            section.model_copy(update=_graded(section, report, objective, min(1.0, next(shares)), wanted))
            for section in report.sections
        )
        graded.append(report.model_copy(update={"sections": sections}))
    return tuple(graded)


def _detail(section: ReportSection) -> tuple[float, list[str], list[str]]:
    """Points for the detail of a section, for somebody who would do it again; what it gives, and what it lacks."""
    rules = ReferabilityRules.shipped()
    parameters = [p for s in section.steps for p in s.parameters]
    tools: dict[str, StepTool] = {}
    for tool in (t for s in section.steps for t in s.tools):
        if tool.version or tool.name not in tools:
            tools[tool.name] = tool
    statistics = list(dict.fromkeys(name for s in section.steps for name in s.statistics))
    data_sets = list(dict.fromkeys(d.id for s in section.steps for d in s.data_sets))
    bare = [name for name, tool in tools.items() if not tool.version]
    named = (
        ("settings", [f"{p.name} {p.written}" for p in parameters], rules.parameter),
        ("software", [tool.written for tool in tools.values()], rules.tool),
        ("statistics", statistics, rules.statistic),
        ("data sets", data_sets, rules.data_set),
    )
    points = sum(len(names) * weight for _, names, weight in named) + (len(tools) - len(bare)) * rules.version
    has = [_some(noun, names) for noun, names, _ in named]
    lacks = ["" if parameters else "settings", _some("versions of", bare)]
    share = points / len(section.steps) if section.steps else 0.0
    return share, [*filter(None, has)], [*filter(None, lacks)]


def _some(noun: str, names: Sequence[str]) -> str:
    """A kind with the first few of its names; empty where there is none."""
    return f"{noun} {few(names, _SHOWN)}" if names else ""


def _graded(
    section: ReportSection, report: ExperimentalReport, objective: Objective, relevance: float, wanted: tuple[str, ...]
) -> dict[str, int | str]:
    """The number and the suggestion of a section."""
    if report.retracted:
        return {"referability": 1, "suggestion": "Leave it out: the paper is retracted."}
    rules = ReferabilityRules.shipped()
    points, has, lacks = _detail(section)
    found = stems(content_words(report_text(section)))
    shared = [word for word in wanted if stems((word,)) <= found]
    score = rules.relevance * relevance + (1 - rules.relevance) * min(1.0, points / rules.full_detail)
    value = 1 + round(4 * score)
    reasons = [f"it shares {_some('the words', shared) or 'no word'} with the objective"]
    if has:
        reasons.append(f"it gives {'; '.join(has)}")
    if lacks:
        reasons.append(f"it lacks {'; '.join(lacks)}")
    if relevance < rules.unrelated or not shared:
        value = min(value, rules.most_unrelated)
    wet = sum(not step.dry for step in section.steps)
    if section.steps and wet / len(section.steps) > rules.wet_share:
        value = max(1, value - 1)
        reasons.append(f"{wet} of its {len(section.steps)} steps are not done by computing")
    if report.species and objective.species not in report.species:
        reasons.append(f"it is of {', '.join(report.species)} and not of {objective.species}")
    advice = "Take it over" if value >= 4 else "Take from it what fits" if value == 3 else "Leave it out"
    return {"referability": value, "suggestion": f"{advice}: {'; '.join(reasons)}."}
