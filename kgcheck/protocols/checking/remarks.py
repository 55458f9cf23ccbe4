"""All kinds of protocol remarks, and finders of what steps lack and of odd or unsourced values.

A step may lack a control, a test, evidence or a version; its values may be far from those of its sources, or outside of
what is usual.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import StrEnum
from functools import cache, cached_property
from typing import NamedTuple

from pydantic import Field

from kgcheck.grounding.quantities import kind_words, quantities
from kgcheck.literature.lexical import item_words
from kgcheck.model import Reason, Value
from kgcheck.protocols.design.by_rules import quoted_text
from kgcheck.protocols.design.material import DesignRules, holds_words
from kgcheck.protocols.protocol import StepParameter, StepTool, StudyProtocol, StudyStep
from kgcheck.protocols.reports.parameters import parameters_in
from kgcheck.protocols.rules import ProtocolRules
from kgcheck.text.words import either, stemmer


class StudyState(StrEnum):
    """Severity of a remark, the worst first.

    ``fallen``: what a step rests on held when the protocol was made, and does not now. ``wrong``: the protocol
    contradicts itself, its sources or the world. ``lacking``: something should stand there. ``open``: nobody looked,
    or it could not be looked. ``holds``: it was looked, and it is right.
    """

    FALLEN = "fallen"
    WRONG = "wrong"
    LACKING = "lacking"
    OPEN = "open"
    HOLDS = "holds"


StudyRemark = StrEnum(
    "StudyRemark",
    "FACT_REFUTED FACT_UNVERIFIED FACT_ID_OUTDATED FACT_GONE FACT_FALSE FACT_STALE FACT_UNDECIDED FACT_NOT_LOOKED"
    " FACT_NOT_LOOKED_SINCE FACT_UNAVAILABLE FACT_VERIFIED FACT_AS_STATED FACT_DIFFERS"
    " PAPER_RETRACTED PAPER_UNKNOWN PAPER_UNAVAILABLE PAPER_STANDS QUOTE_DIFFERS PASSAGE_DIFFERS"
    " DATA_SET_GONE DATA_SET_MISSING DATA_SET_OTHER_SPECIES DATA_SET_OTHER_ASSAY"
    " DATA_SET_NOT_LOOKED DATA_SET_FOUND MADE_LATER IN_A_CIRCLE NOT_MADE"
    " CONTROL_MISSING STATISTICS_MISSING CORRECTION_MISSING VERSION_MISSING VERSION_DIFFERS VERSION_NOT_IN_SOURCE"
    " PARAMETER_FAR PARAMETER_NOT_IN_SOURCE VALUE_UNUSUAL EVIDENCE_MISSING FOLLOWS_FALLEN"
    " STEP_DIFFERS STEP_REWORDED STEP_MISSING STEP_NOT_COMPARED SECTION_DIFFERS DESIGN_DIFFERS ANALYSIS_UNKNOWN"
    " STATEMENT_UNFOUNDED UNREADABLE",
)
"""Kinds of remarks. The one list; corpus/protocols/checks.toml has the state and the words of each."""


class RemarkWords(Value):
    """A remark for people: its state, what it means, and what to do."""

    state: StudyState
    means: str = Field(min_length=1)
    repair: str


class UsualValue(Value):
    """Usual range of one quantity without a unit."""

    of: str = Field(description="regular expression of bounded work")
    least: float
    most: float

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Its name with the number before or close behind it."""
        number = r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w.,]\d|\s?%)|(?<![\w.,])\d{1,9}(?:\.\d{1,6})?(?![\w%]|[.,]\d|\s%)"
        of, close = rf"(?<!\w)(?P<of>{self.of})(?!\w)", r"[^\d.;,()]{0,25}?"
        return re.compile(rf"(?:(?P<before>{number})\s)?{of}(?(before)|{close}(?P<after>{number}))", re.IGNORECASE)


class CheckRules(ProtocolRules):
    """The words of remarks, and those by which a check knows a step."""

    file = "checks"
    far: float = Field(gt=1)
    outdated: frozenset[Reason] = Field(description="reasons that speak against an id, and not against its facts")
    remarks: dict[StudyRemark, RemarkWords]
    words: dict[str, tuple[str, ...]]
    assays: dict[str, tuple[str, ...]]
    assays_within: dict[str, tuple[str, ...]]
    units: dict[str, dict[str, float]]
    usual: tuple[UsualValue, ...]


class StudyRemarked(Value):
    """One remark. ``step`` is empty where it is about the protocol as a whole, or about what no step names."""

    remark: StudyRemark
    step: str = Field(default="", description="id of the step")
    about: str = Field(default="", description="id of the fact or passage, the accession, or the name it is about")
    note: str = Field(description="for people: what stands there and what was found, in one line")
    repair: str = Field(default="", description="what would put it right")
    finding: str = Field(default="", description="fingerprint of the finding that it rests on")
    rests_on: str = Field(default="", description="source, release and record, or the place where it was looked")
    steps: tuple[str, ...] = Field(default=(), description="other steps that it concerns")
    unavailable: bool = Field(default=False, description="it could not be looked: no verdict on the protocol")

    @property
    def state(self) -> StudyState:
        return CheckRules.shipped().remarks[self.remark].state


def remarked(remark: StudyRemark, note: str, **more: object) -> StudyRemarked:
    """A remark with the usual repair, unless another one is given."""
    fields = {"repair": CheckRules.shipped().remarks[remark].repair} | more
    return StudyRemarked.model_validate({"remark": remark, "note": note} | fields)


_LONGEST = 60


def lack_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Remark on controls, tests, corrections, evidence and versions that steps lack."""
    for section in protocol.sections:
        named = dict.fromkeys(("controls", "statistics", "corrections"), "")
        # What a later step of the section names counts for those before it.
        for step in reversed(section.steps):
            text = " ".join((step.text, *step.statistics, step.control, step.rationale)).casefold()
            named |= {kind: found for kind in named if (found := _has(kind, text))}
            quoted = repr(step.text if len(step.text) <= _LONGEST else f"{step.text[:_LONGEST]}...")
            for remark, words in _lacks(step, named):
                yield remarked(remark, f"{words}{quoted}", step=step.id)
    quotes = {passage.id: passage.quote for passage in protocol.passages}
    uses: dict[str, list[tuple[str, StepTool]]] = {}
    for step in protocol.steps:
        for tool in step.tools:
            uses.setdefault(tool.name.casefold(), []).append((step.id, tool))
    for own in uses.values():
        versions = list(dict.fromkeys(tool.version for _, tool in own if tool.version))
        first, name = own[0][0], own[0][1].name
        others = tuple(dict.fromkeys(place for place, _ in own[1:] if place != first))
        if not versions and not any(_version_follows(t.name, quotes.get(t.passage, "")) for _, t in own):
            yield remarked(StudyRemark.VERSION_MISSING, name, step=first, about=name, steps=others)
        elif len(versions) > 1:
            note = f"{name} {' and '.join(versions)}"
            yield remarked(StudyRemark.VERSION_DIFFERS, note, step=first, about=name, steps=others)


def _version_follows(name: str, quote: str) -> bool:
    """Tell whether a version stands farther behind the name of a tool: ABC for Windows (version 2)."""
    version = r"(?:\b(?:version|release|ver\.?|v\.?)\s?\d|\b(?:19|20)\d\d\b)"
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)[^.;]{{0,40}}?{version}", quote, re.IGNORECASE) is not None


def _lacks(step: StudyStep, named: Mapping[str, str]) -> Iterator[tuple[StudyRemark, str]]:
    """The lacks of a step: the control, test or correction of one that compares or tests, and evidence."""
    done = " ".join((step.text, *step.statistics)).casefold()
    is_quote = quoted_text(step) is not None
    # A paper compares models, results and settings, too, and has a control elsewhere: of its words fewer say a lack.
    compares = bool(step.analysis or _has("compares_groups" if is_quote else "compares", done))
    if compares or step.statistics:
        if (compares or not is_quote) and not step.control and not named["controls"]:
            yield StudyRemark.CONTROL_MISSING, ""
        # A ready analysis has its test within.
        if not (step.analysis or step.statistics or named["statistics"]):
            yield StudyRemark.STATISTICS_MISSING, ""
        if not step.analysis and (many := _has("many_tests", done)) and not named["corrections"]:
            yield StudyRemark.CORRECTION_MISSING, f"{many!r} in "
    if not step.facts and not step.passages and step.fixed not in DesignRules.shipped().fixed:
        yield StudyRemark.EVIDENCE_MISSING, ""


def _has(kind: str, text: str) -> str:
    """The first of some words that a text has; nothing where it has none."""
    found = _pattern(kind).search(text)
    return found[0].strip() if found else ""


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{either(CheckRules.shipped().words[kind])})")


class _SourceValue(NamedTuple):
    """A value of a passage in the smallest unit of its kind."""

    passage: str
    value: Decimal
    kind: str
    written: str


def parameter_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Parameters far from those of their sources; parameters and versions that the passage named for them lacks."""
    values = {
        p.id: [_SourceValue(p.id, *_scaled(q.value, q.unit), p.quote[q.start : q.end]) for q in quantities(p.quote)]
        for p in protocol.passages
    }
    quotes = {p.id: p.quote for p in protocol.passages}
    stems = {name: _stems(quote) for name, quote in quotes.items()}
    # Values that steps take from passages that they name, by the stems of their names.
    taken: dict[frozenset[str], list[_SourceValue]] = {}
    for step in protocol.steps:
        for known in step.parameters:
            if known.passage and known.number is not None:
                value, kind = _scaled(known.number, known.unit)
                taken.setdefault(_stems(known.name), []).append(_SourceValue(known.passage, value, kind, known.value))
    for step in protocol.steps:
        for parameter in step.parameters:
            if parameter.passage:
                yield from _in_passage(step, parameter, quotes[parameter.passage])
            elif parameter.number is not None and (words := _stems(parameter.name)):
                # Of passages of this step whose words have the whole name, and of steps that name their passage.
                sources = [v for name in step.passages if words <= stems[name] for v in values[name]]
                yield from _against(step, parameter, [*taken.get(words, ()), *sources])
        for tool in step.tools:
            # A version as it stands, or as v5 or v.5, not as a part of another number.
            own = rf"(?<!\d)(?<!\d\.){re.escape(' '.join(tool.version.split()))}(?!\w|\.\d)"
            if (
                tool.version
                and tool.passage
                and not re.search(own, " ".join(quotes[tool.passage].split()), re.IGNORECASE)
            ):
                note = f"{tool.name} {tool.version}: {tool.passage} has no such version"
                yield remarked(
                    StudyRemark.VERSION_NOT_IN_SOURCE, note, step=step.id, about=tool.name, rests_on=tool.passage
                )


def _in_passage(step: StudyStep, parameter: StepParameter, quote: str) -> Iterator[StudyRemarked]:
    """The passage that is named must have the value as a whole, with its sign and unit."""
    if why := _objection(parameter, quote):
        note = f"{parameter.name} = {parameter.written}: {why}"
        yield remarked(
            StudyRemark.PARAMETER_NOT_IN_SOURCE, note, step=step.id, about=parameter.name, rests_on=parameter.passage
        )


def _objection(parameter: StepParameter, quote: str) -> str:
    """Tell what speaks against a setting, in the words of its passage."""
    read = parameters_in(quote)
    own = [p for p in read if p.name.casefold() == parameter.name.casefold()]
    if any(p == parameter.model_copy(update={"passage": "", "name": p.name}) for p in own):
        return ""
    number, written = parameter.number, [q.value for q in quantities(parameter.value)]
    measure = _scaled(number, parameter.unit) if number is not None else None
    if number is not None and len(written) == 1 and number not in written:
        return f"its number is {number}"
    if own:
        known = [(_scaled(p.number, p.unit), p.comparator) for p in own if p.number is not None]
        shown = " and ".join(f"{p.written} {p.unit if p.unit not in p.written else ''}".strip() for p in own)
        return "" if (measure, parameter.comparator) in known else f"{parameter.passage} has {shown}"
    is_there = holds_words(quote, parameter.value) or any(
        measure and measure == _scaled(q.value, q.unit) for q in quantities(quote)
    )
    return "" if is_there else f"{parameter.passage} has no such value"


def _against(step: StudyStep, parameter: StepParameter, sources: list[_SourceValue]) -> Iterator[StudyRemarked]:
    own, kind = _scaled(parameter.number or Decimal(0), parameter.unit)
    far = Decimal(str(CheckRules.shipped().far))
    compared = [v for v in sources if v.value > 0 and v.kind == kind]
    if own <= 0 or not compared or any(1 / far <= own / v.value <= far for v in compared):
        return
    nearest = min(compared, key=lambda v: max(own / v.value, v.value / own))
    times = max(own / nearest.value, nearest.value / own)
    way = "more" if own > nearest.value else "less"
    note = f"{parameter.name} = {parameter.value}: {times:.3g} times {way} than {nearest.written} of {nearest.passage}"
    yield remarked(StudyRemark.PARAMETER_FAR, note, step=step.id, about=parameter.name, rests_on=nearest.passage)


def _scaled(value: Decimal, unit: str) -> tuple[Decimal, str]:
    """A value in the smallest unit of what its unit measures, and what that is; of another unit, as it is."""
    for kind, units in CheckRules.shipped().units.items():
        if unit in units:
            return value * Decimal(str(units[unit])), kind
    return value, unit


def _stems(text: str) -> frozenset[str]:
    return item_words(text) - _kinds()


@cache
def _kinds() -> frozenset[str]:
    """Stems of words that tell the kind of a value, and not what it is of."""
    return frozenset(stemmer().stemWords(sorted(kind_words())))


def usual_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Remark on values outside what is usual."""
    for step in protocol.steps:
        texts = (step.text, *(f"{p.name} of {p.value}" for p in step.parameters))
        for of, written, usual in dict.fromkeys(odd for text in texts for odd in _odd_values(text)):
            note = f"{of} {written}; usual are {usual.least:g} to {usual.most:g}"
            yield remarked(StudyRemark.VALUE_UNUSUAL, note, step=step.id, about=of)


def _odd_values(text: str) -> Iterator[tuple[str, str, UsualValue]]:
    for usual in CheckRules.shipped().usual:
        for match in usual.pattern.finditer(text):
            written = match["before"] or match["after"]
            if not usual.least <= float(written.replace(",", "")) <= usual.most:
                yield match["of"], written, usual
