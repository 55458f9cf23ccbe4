"""All kinds of protocol remarks, and finders of what steps lack and of odd or unsourced values.

A step may lack a control, a test, evidence or a version; its values may be far from those of its sources, or outside of
what is usual.
"""

import re
from collections import defaultdict
from collections.abc import Container, Iterator
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from itertools import product
from typing import NamedTuple

from pydantic import Field

from kgcheck.grounding.quantities import kind_words, quantities
from kgcheck.literature.lexical import item_words, stems
from kgcheck.model import Reason, Value
from kgcheck.protocols.design.by_rules import quoted_text
from kgcheck.protocols.design.material import DesignRules, holds_words
from kgcheck.protocols.protocol import StepParameter, StepTool, StudyProtocol, StudyStep
from kgcheck.protocols.reports.parameters import parameters_in
from kgcheck.protocols.rules import ProtocolRules
from kgcheck.text.words import either

StudyState = StrEnum("StudyState", "FALLEN WRONG LACKING OPEN HOLDS")
"""Severity of a remark, the worst first; docs/protocol_check.md tells what each means."""

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
    means: str
    repair: str


class UsualValue(Value):
    """Usual range of one quantity without a unit; ``of`` is a regular expression of bounded work."""

    of: str
    least: float
    most: float

    @cached_property
    def pattern(self) -> re.Pattern[str]:
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

    @cached_property
    def patterns(self) -> dict[str, re.Pattern[str]]:
        return {kind: re.compile(rf"(?<!\w)(?:{either(words)})") for kind, words in self.words.items()}


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
_VERSION = r"(?:\b(?:version|release|ver\.?|v\.?)\s?\d|\b(?:19|20)\d\d\b)"


def lack_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Remark on controls, tests, corrections, evidence and versions that steps lack."""
    has = CheckRules.shipped().patterns
    for section in protocol.sections:
        named: set[str] = set()
        # What a later step of the section names counts for those before it.
        for step in reversed(section.steps):
            text = " ".join((step.text, *step.statistics, step.control, step.rationale)).casefold()
            named |= {kind for kind in ("controls", "statistics", "corrections") if has[kind].search(text)}
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
        about = {"about": name, "steps": tuple(dict.fromkeys(place for place, _ in own[1:] if place != first))}
        # A version may stand farther behind the name of a tool: ABC for Windows (version 2).
        far = rf"(?<!\w){re.escape(name)}(?!\w)[^.;]{{0,40}}?{_VERSION}"
        if not versions and not any(re.search(far, quotes.get(t.passage, ""), re.IGNORECASE) for _, t in own):
            yield remarked(StudyRemark.VERSION_MISSING, name, step=first, **about)
        elif len(versions) > 1:
            yield remarked(StudyRemark.VERSION_DIFFERS, f"{name} {' and '.join(versions)}", step=first, **about)


def _lacks(step: StudyStep, named: Container[str]) -> Iterator[tuple[StudyRemark, str]]:
    """The lacks of a step: the control, test or correction of one that compares or tests, and evidence."""
    done, has = " ".join((step.text, *step.statistics)).casefold(), CheckRules.shipped().patterns
    is_quote = quoted_text(step) is not None
    # A paper compares models, results and settings, too, and has a control elsewhere: of its words fewer say a lack.
    compares = bool(step.analysis or has["compares_groups" if is_quote else "compares"].search(done))
    if compares or step.statistics:
        if (compares or not is_quote) and not step.control and "controls" not in named:
            yield StudyRemark.CONTROL_MISSING, ""
        # A ready analysis has its test within.
        if not (step.analysis or step.statistics or "statistics" in named):
            yield StudyRemark.STATISTICS_MISSING, ""
        if not step.analysis and (many := has["many_tests"].search(done)) and "corrections" not in named:
            yield StudyRemark.CORRECTION_MISSING, f"{many[0]!r} in "
    if not step.facts and not step.passages and step.fixed not in DesignRules.shipped().fixed:
        yield StudyRemark.EVIDENCE_MISSING, ""


class _Measure(NamedTuple):
    """A value of a passage in the smallest unit of its kind."""

    value: Decimal
    kind: str
    written: str = ""
    passage: str = ""


def parameter_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Parameters far from those of their sources; parameters and versions that the passage named for them lacks."""
    quotes = {p.id: p.quote for p in protocol.passages}
    stems_ = {name: _stems(quote) for name, quote in quotes.items()}
    values = {
        name: [_scaled(q.value, q.unit, quote[q.start : q.end], name) for q in quantities(quote)]
        for name, quote in quotes.items()
    }
    # Values that steps take from passages that they name, by the stems of their names.
    taken: defaultdict[frozenset[str], list[_Measure]] = defaultdict(list)
    for p in (p for step in protocol.steps for p in step.parameters):
        if p.passage and p.number is not None:
            taken[_stems(p.name)].append(_scaled(p.number, p.unit, p.value, p.passage))
    for step in protocol.steps:
        for p in step.parameters:
            if p.passage and (why := _objection(p, quotes[p.passage])):
                about = {"step": step.id, "about": p.name, "rests_on": p.passage}
                yield remarked(StudyRemark.PARAMETER_NOT_IN_SOURCE, f"{p.name} = {p.written}: {why}", **about)
            elif not p.passage and p.number is not None and (words := _stems(p.name)):
                # Of passages of this step whose words have the whole name, and of steps that name their passage.
                sources = [v for name in step.passages if words <= stems_[name] for v in values[name]]
                yield from _far(step, p, _scaled(p.number, p.unit), [*taken[words], *sources])
        for tool in step.tools:
            # A version as it stands, or as v5 or v.5, not as a part of another number.
            own = rf"(?<!\d)(?<!\d\.){re.escape(' '.join(tool.version.split()))}(?!\w|\.\d)"
            quote = " ".join(quotes.get(tool.passage, "").split())
            if tool.version and tool.passage and not re.search(own, quote, re.IGNORECASE):
                note = f"{tool.name} {tool.version}: {tool.passage} has no such version"
                about = {"step": step.id, "about": tool.name, "rests_on": tool.passage}
                yield remarked(StudyRemark.VERSION_NOT_IN_SOURCE, note, **about)


def _objection(parameter: StepParameter, quote: str) -> str:
    """Tell what speaks against a setting, in the words of its passage: it must have the value whole, sign and unit."""
    own = [p for p in parameters_in(quote) if p.name.casefold() == parameter.name.casefold()]
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
    if holds_words(quote, parameter.value) or measure in [_scaled(q.value, q.unit) for q in quantities(quote)]:
        return ""
    return f"{parameter.passage} has no such value"


def _far(step: StudyStep, parameter: StepParameter, own: _Measure, sources: list[_Measure]) -> Iterator[StudyRemarked]:
    compared = [v for v in sources if v.kind == own.kind and v.value > 0] if own.value > 0 else []
    apart = {v: max(own.value / v.value, v.value / own.value) for v in compared}
    if apart and min(apart.values()) > Decimal(str(CheckRules.shipped().far)):
        nearest = min(apart, key=lambda v: apart[v])
        way = "more" if own.value > nearest.value else "less"
        than = f"{apart[nearest]:.3g} times {way} than {nearest.written} of {nearest.passage}"
        note = f"{parameter.name} = {parameter.value}: {than}"
        yield remarked(StudyRemark.PARAMETER_FAR, note, step=step.id, about=parameter.name, rests_on=nearest.passage)


def _scaled(value: Decimal, unit: str, written: str = "", passage: str = "") -> _Measure:
    """A value in the smallest unit of what its unit measures, and what that is; of another unit, as it is."""
    for kind, units in CheckRules.shipped().units.items():
        if unit in units:
            return _Measure(value * Decimal(str(units[unit])), kind, written, passage)
    return _Measure(value, unit, written, passage)


def _stems(text: str) -> frozenset[str]:
    """Stems of a name without words that tell the kind of a value, and not what it is of."""
    return item_words(text) - stems(kind_words())


def usual_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Remark on values outside what is usual."""
    for step in protocol.steps:
        texts = (step.text, *(f"{p.name} of {p.value}" for p in step.parameters))
        odd: dict[str, str] = {}
        for text, usual in product(texts, CheckRules.shipped().usual):
            for match in usual.pattern.finditer(text):
                written = match["before"] or match["after"]
                if not usual.least <= float(written.replace(",", "")) <= usual.most:
                    note = f"{match['of']} {written}; usual are {usual.least:g} to {usual.most:g}"
                    odd.setdefault(note, match["of"])
        for note, of in odd.items():
            yield remarked(StudyRemark.VALUE_UNUSUAL, note, step=step.id, about=of)
