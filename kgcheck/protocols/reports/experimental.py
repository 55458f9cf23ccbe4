"""The experimental report of a paper by rules: what it did, section by section and step by step, in its own words."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kgcheck.literature.documents import Span, sentences
from kgcheck.literature.lexical import Lexical, content_words, stems
from kgcheck.literature.papers import Paragraph, Section, WholePaper
from kgcheck.protocols.report import ExperimentalReport, ReportSection, ReportStep
from kgcheck.protocols.reports.steps import outline_of, species_in, step_of, step_words

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
    """A sentence where steps may be, with the citations in it; ``strict`` where it stands among results."""

    text: str
    citations: tuple[Span, ...] = ()
    strict: bool = False


class MethodSection(NamedTuple):
    """A section of a paper where steps may be, with its sentences."""

    section: Section
    sentences: tuple[MethodSentence, ...]


def experimental_report(paper: WholePaper, *, retracted: bool = False, url: str = "") -> ExperimentalReport:
    """Make the report of a paper by rules."""
    sections: list[ReportSection] = []
    number = 0
    for method in method_sections(paper):
        steps: list[ReportStep] = []
        for sentence in method.sentences:
            step = step_of(
                sentence.text,
                number + 1,
                without=sentence.citations,
                dry_heading=is_dry_heading(method.section),
            )
            if step is None or (sentence.strict and not _has_detail(step)) or number >= MOST_STEPS:
                continue
            steps.append(step)
            number += 1
        if steps:
            sections.append(report_section(method.section, tuple(steps)))
    return finished_report(paper, sections, retracted=retracted, url=url)


def finished_report(
    paper: WholePaper, sections: Sequence[ReportSection], *, retracted: bool = False, url: str = ""
) -> ExperimentalReport:
    """A report of sections whose steps are known, with what the paper is and what came out."""
    return ExperimentalReport(
        paper=paper.id,
        ids=paper.ids,
        title=paper.title,
        year=paper.year,
        url=url,
        licence=paper.licence,
        species=_species(paper),
        retracted=paper.retracted or retracted,
        sections=_with_results(sections, paper),
        note="" if sections else "no methods",
    )


_DRY_HEADING = re.compile(
    r"statistic|comput|bioinformat|software|simulation|algorithm|modell?ing|data processing"
    r"|\b(?:data|sequence|image|expression|phylogenetic|network|enrichment|pathway|genome|sensitivity|cluster) analys",
    re.IGNORECASE,
)


def is_dry_heading(section: Section) -> bool:
    """Tell whether the heading of a section is of computing."""
    return bool(_DRY_HEADING.search(section.heading))


def method_sections(paper: WholePaper) -> Iterator[MethodSection]:
    """The sections of a paper where steps may be.

    Methods, and what has a heading of methods elsewhere; of a paper that has neither, results and legends, in which a
    sentence must name settings, software, statistics or data.
    """
    words = step_words()
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
            yield MethodSection(section, tuple(x for p in section.paragraphs for x in _sentences(p, strict=True)))


def _is_headed(section: Section, wanted: re.Pattern[str]) -> bool:
    """Tell whether a section not filed as methods is one, by its heading or one above it."""
    if section.kind not in ("other", "results"):
        return False
    numbered = (re.sub(r"^[\dIVX.\s]{1,8}\s", "", h) for h in (section.heading, *section.path))
    return any(wanted.search(h) for h in numbered)


def _sentences(paragraph: Paragraph, *, strict: bool = False) -> Iterator[MethodSentence]:
    for start, end in _spans(paragraph.text):
        cited = tuple((m.start - start, m.end - start) for m in paragraph.markers if start <= m.start and m.end <= end)
        yield MethodSentence(paragraph.text[start:end], cited, strict)


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


def _has_detail(step: ReportStep) -> bool:
    return bool(step.parameters or step.tools or step.statistics or step.data_sets)


def report_section(section: Section, steps: tuple[ReportStep, ...]) -> ReportSection:
    """A section of a report, without results."""
    return ReportSection(
        heading=section.heading,
        path=section.path,
        kind=section.kind,
        outline=tuple(outline_of(step.text) for step in steps),
        steps=steps,
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
        query = _about(section)
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


def _about(section: ReportSection) -> str:
    """Text of a section to compare: its heading, its outline, and the names in its steps."""
    names = (name for step in section.steps for name in (*(t.name for t in step.tools), *step.statistics))
    return " ".join((section.heading, *section.outline, *names))


def report_text(section: ReportSection) -> str:
    """All that a section has, as running text for search and likeness."""
    return " ".join((*section.path, section.heading, *(step.text for step in section.steps)))
