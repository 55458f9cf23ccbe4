"""Report papers' experiments as quoted steps; grade each section's use for an objective.

Referability is 1 to 5 a section, with reasons: by its relevance (BM25 for the words of the objective, as a share of
what they have of themselves) and its detail, as ``referability.toml`` has it.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from kgcheck.context import noting
from kgcheck.errors import InputFormat, UnknownName
from kgcheck.literature.documents import Rejected, Span, sentences
from kgcheck.literature.edge_reader import address
from kgcheck.literature.formats import choose_recipe, read_documents
from kgcheck.literature.lexical import Lexical, content_words, relevances, stems
from kgcheck.literature.papers import Paragraph, Section, WholePaper, parts_of
from kgcheck.literature.store import DOCUMENTS, DocumentStore
from kgcheck.protocols.protocol import ExperimentalReport, Objective, ReportSection, ReportStep, StepTool, few
from kgcheck.protocols.reports.steps import StepWords, outline_of, species_in, step_of
from kgcheck.protocols.rules import ProtocolRules


def report_papers(
    place: Path, *, papers: Sequence[str] = (), objective: Objective | None = None
) -> tuple[tuple[ExperimentalReport, ...], tuple[str, ...]]:
    """Read what the papers of a file or an index did; with an objective, how referable each section is for it."""
    with noting() as notes:
        reports = tuple(experimental_report(paper, url=url) for paper, url in whole_papers(place, papers, notes))
    return grade_reports(reports, objective) if objective else reports, tuple(notes)


_HINT = "name a file of whole papers, in JATS XML or PDF, or the folder of an index"


def whole_papers(place: Path, wanted: Sequence[str], notes: list[str]) -> Iterator[tuple[WholePaper, str]]:
    """The whole papers of a file or an index, each with where people read it."""
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
                yield record, address(parts_of(record).head)
    if not any_found:
        raise InputFormat(f"{place} has no whole paper", _HINT)
    if left:
        raise UnknownName("paper", min(left), [])


def _of_index(folder: Path, wanted: Sequence[str]) -> Iterator[tuple[WholePaper, str]]:
    with DocumentStore(folder / DOCUMENTS) as store:
        for name in wanted or [row[0] for row in store.ids()]:
            paper = store.paper(name)
            number = store.number_of(paper.id) if paper else None
            head = store.documents([number]).get(number) if number is not None else None
            if paper and head:
                yield paper, address(head)
            elif wanted:
                hint = f"kgcheck corpus list --ids --index {folder} shows what is there"
                raise UnknownName("whole paper", name, [], hint)


_MOST_RESULTS = 3  # sentences of the results that belong to one section
_LEAST_SHARED = 3  # stems that a sentence of the results shares with the section that it belongs to
_LEAST_LIKE = 0.25  # BM25 of a sentence for a section, as a share of the best, from which on it may belong to it
_MOST_SPECIES = 3

MOST_STEPS = 2_000  # most steps of one paper; a book is no paper

Sentence = tuple[str, tuple[Span, ...]]
"""A sentence where steps may be, with the citations in it."""


def experimental_report(paper: WholePaper, *, url: str = "") -> ExperimentalReport:
    """Make the report of a paper: its sections with steps, with what the paper is and what came out."""
    sections: list[ReportSection] = []
    number = 0
    for section, sentences_, strict in method_sections(paper):
        steps: list[ReportStep] = []
        dry = bool(_DRY_HEADING.search(section.heading))
        for text, citations in sentences_:
            step = step_of(text, number + 1, without=citations, dry_heading=dry)
            if step is None or number >= MOST_STEPS:
                continue
            if not strict or step.parameters or step.tools or step.statistics or step.data_sets:
                steps.append(step)
                number += 1
        if steps:
            sections.append(
                ReportSection(
                    heading=section.heading,
                    path=section.path,
                    kind=section.kind,
                    outline=tuple(outline_of(step.text) for step in steps),
                    steps=tuple(steps),
                )
            )
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


_DRY_HEADING = re.compile(
    r"statistic|comput|bioinformat|software|simulation|algorithm|modell?ing|data processing"
    r"|\b(?:data|sequence|image|expression|phylogenetic|network|enrichment|pathway|genome|sensitivity|cluster) analys",
    re.IGNORECASE,
)
_HEADING_NUMBER = re.compile(r"^[\dIVX.\s]{1,8}\s")


def method_sections(paper: WholePaper) -> Iterator[tuple[Section, list[Sentence], bool]]:
    """The sections of a paper where steps may be, with their sentences, and whether they stand among results.

    Methods, and what has a heading of methods elsewhere; of a paper that has neither, results and legends, in which a
    sentence must name settings, software, statistics or data.
    """
    words = StepWords.shipped()
    if paper.type.casefold() in words.no_studies:
        return
    headings = [(s, [_HEADING_NUMBER.sub("", h) for h in (s.heading, *s.path)]) for s in paper.sections]
    fitting = [(s, own) for s, own in headings if not any(words.not_headings.search(h) for h in (s.heading, *s.path))]
    others = ("results", "other")
    methods = [
        s
        for s, own in fitting
        if s.kind == "methods" or (s.kind in others and any(words.headings.search(h) for h in own))
    ]
    strict = not any(not p.legend for s in methods for p in s.paragraphs)
    for section in [s for s, _ in fitting if s.kind in others] if strict else methods:
        yield section, [x for p in section.paragraphs if strict or not p.legend for x in _sentences(p)], strict


_UNIT_BEFORE_STOP = re.compile(
    r"(?:\d\s?(?:h|hr|min|s|d|g|mg|kg|ml|mL|\u00b5l|\u03bcl|mM|M|V|W|\u00b0C|cm|mm|nm|rpm|bp|kb)|\b[A-Z]{2,6})\.\s(?=[A-Z][a-z]+\s)"
)


def _sentences(paragraph: Paragraph) -> Iterator[Sentence]:
    """Sentences, also where a unit or an acronym before the stop made the splitter take it for an abbreviation."""
    text = paragraph.text
    for start, end in sentences(text):
        stops = [stop.end() for stop in _UNIT_BEFORE_STOP.finditer(text, start, end)]
        for first, last in zip((start, *stops), (*(stop - 1 for stop in stops), end), strict=True):
            within = (m for m in paragraph.markers if first <= m.start and m.end <= last)
            yield text[first:last], tuple((m.start - first, m.end - first) for m in within)


def _species(paper: WholePaper) -> tuple[str, ...]:
    """The organisms of a study: those of its title, abstract and methods that are named most."""
    counts = species_in(paper.title * 3)
    for paragraph in (p for s in paper.sections if s.kind in ("abstract", "methods") for p in s.paragraphs):
        counts += species_in(paragraph.text)
    most = max(counts.values(), default=0)
    return tuple(name for name, count in counts.most_common(_MOST_SPECIES) if count >= 2 and count * 5 >= most)


def _with_results(sections: Sequence[ReportSection], paper: WholePaper) -> tuple[ReportSection, ...]:
    """Sections with the sentences of the results that share most with them, each sentence with one section."""
    results = [p for s in paper.sections if s.kind == "results" for p in s.paragraphs if not p.legend]
    steps = {step.text for section in sections for step in section.steps}
    found = [text for text in dict.fromkeys(text for p in results for text, _ in _sentences(p)) if text not in steps]
    if not found or not sections:
        return tuple(sections)
    words = Lexical.of(found)
    own = [stems(content_words(text)) for text in found]
    best: dict[int, tuple[float, int]] = {}
    for place, section in enumerate(sections):
        # Its heading, its outline, and the names in its steps.
        names = (name for step in section.steps for name in (*(t.name for t in step.tools), *step.statistics))
        query = " ".join((section.heading, *section.outline, *names))
        scores, wanted = words.scores(query), stems(content_words(query))
        for at in scores.argsort()[::-1][: 4 * _MOST_RESULTS].tolist():
            score = float(scores[at])
            if score > float(scores.max()) * _LEAST_LIKE and len(own[at] & wanted) >= _LEAST_SHARED:
                best[at] = max(best.get(at, (0.0, 0)), (score, place))
    kept = []
    for place, section in enumerate(sections):
        first = sorted((-score, at) for at, (score, of) in best.items() if of == place)[:_MOST_RESULTS]
        texts = tuple(found[at] for at in sorted(at for _, at in first))
        kept.append(section.model_copy(update={"results": texts}))
    return tuple(kept)


def _text(section: ReportSection) -> str:
    return " ".join((*section.path, section.heading, *(step.text for step in section.steps)))


_SHOWN = 5


class ReferabilityRules(ProtocolRules):
    """Weights of relevance and detail."""

    file = "referability"
    full_relevance: float
    full_detail: float
    details: dict[str, float]
    relevance: float
    unrelated: float
    most_unrelated: int
    wet_share: float


def grade_reports(reports: Sequence[ExperimentalReport], objective: Objective) -> tuple[ExperimentalReport, ...]:
    """Reports with the referability of their sections; by words, how rare a word is among all of them counts."""
    texts = [_text(section) for report in reports for section in report.sections]
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


def _some(noun: str, names: Sequence[str]) -> str:
    """A kind with the first few of its names; empty where there is none."""
    return f"{noun} {few(names, _SHOWN)}" if names else ""


def _graded(
    section: ReportSection, report: ExperimentalReport, objective: Objective, relevance: float, wanted: tuple[str, ...]
) -> dict[str, int | str]:
    if report.retracted:
        return {"referability": 1, "suggestion": "Leave it out: the paper is retracted."}
    rules, steps = ReferabilityRules.shipped(), section.steps
    tools: dict[str, StepTool] = {}
    for tool in (t for s in steps for t in s.tools):
        if tool.version or tool.name not in tools:
            tools[tool.name] = tool
    bare = [name for name, tool in tools.items() if not tool.version]
    details: dict[str, list[str]] = {
        "settings": [f"{p.name} {p.written}" for s in steps for p in s.parameters],
        "software": [tool.written for tool in tools.values()],
        "statistics": list(dict.fromkeys(name for s in steps for name in s.statistics)),
        "data sets": list(dict.fromkeys(d.id for s in steps for d in s.data_sets)),
    }
    points = sum(len(names) * rules.details[noun] for noun, names in details.items())
    points += (len(tools) - len(bare)) * rules.details["versions"]
    detail = points / len(steps) if steps else 0.0
    found = stems(content_words(_text(section)))
    shared = [word for word in wanted if stems((word,)) <= found]
    value = 1 + round(4 * (rules.relevance * relevance + (1 - rules.relevance) * min(1.0, detail / rules.full_detail)))
    reasons = [f"it shares {_some('the words', shared) or 'no word'} with the objective"]
    if has := "; ".join(filter(None, (_some(noun, names) for noun, names in details.items()))):
        reasons.append(f"it gives {has}")
    if lacks := "; ".join(filter(None, ("" if details["settings"] else "settings", _some("versions of", bare)))):
        reasons.append(f"it lacks {lacks}")
    if relevance < rules.unrelated or not shared:
        value = min(value, rules.most_unrelated)
    wet = sum(not step.dry for step in steps)
    if steps and wet / len(steps) > rules.wet_share:
        value = max(1, value - 1)
        reasons.append(f"{wet} of its {len(steps)} steps are not done by computing")
    if report.species and objective.species not in report.species:
        reasons.append(f"it is of {', '.join(report.species)} and not of {objective.species}")
    advice = "Take it over" if value >= 4 else "Take from it what fits" if value == 3 else "Leave it out"
    return {"referability": value, "suggestion": f"{advice}: {'; '.join(reasons)}."}
