"""The parameters of steps, and versions of software, against what their sources have."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from kgcheck.grounding.quantities import kind_words, quantities
from kgcheck.literature.polarity import stemmer
from kgcheck.protocols.checking.flow import item_words
from kgcheck.protocols.checking.remarks import StudyRemark, StudyRemarked, check_rules, remarked
from kgcheck.protocols.protocol import StepParameter, StudyPassage, StudyProtocol, StudyStep


class _SourceValue(NamedTuple):
    """A value of a passage in the smallest unit of its kind."""

    passage: str
    value: Decimal
    kind: str
    written: str


def parameter_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Parameters far from those of their sources; parameters and versions that the passage named for them lacks."""
    values = {p.id: _values(p) for p in protocol.passages}
    quotes = {p.id: p.quote for p in protocol.passages}
    stems = {name: _stems(quote) for name, quote in quotes.items()}
    taken = _taken(protocol)
    for step in protocol.steps:
        for parameter in step.parameters:
            if parameter.number is None:
                continue
            if parameter.passage:
                yield from _in_passage(step, parameter, quotes[parameter.passage], values[parameter.passage])
            elif words := _stems(parameter.name):
                # Of passages of this step whose words have the whole name, and of steps that name their passage.
                sources = [v for name in step.passages if words <= stems[name] for v in values[name]]
                yield from _against(step, parameter, [*taken.get(words, ()), *sources])
        for tool in step.tools:
            if tool.version and tool.passage and not _has_version(quotes[tool.passage], tool.version):
                note = f"{tool.name} {tool.version}: {tool.passage} has no such version"
                yield remarked(
                    StudyRemark.VERSION_NOT_IN_SOURCE, note, step=step.id, about=tool.name, rests_on=tool.passage
                )


def _has_version(quote: str, version: str) -> bool:
    """Whether a text has a version, as ``5``, ``v5`` or ``v.5``, and not as a part of another number."""
    own = re.escape(" ".join(version.split()))
    pattern = rf"(?<!\d)(?<!\d\.){own}(?!\w|\.\d)"
    return re.search(pattern, " ".join(quote.split()), re.IGNORECASE) is not None


def _taken(protocol: StudyProtocol) -> dict[frozenset[str], list[_SourceValue]]:
    """Values that steps take from passages that they name, by the stems of their names."""
    taken: dict[frozenset[str], list[_SourceValue]] = {}
    for step in protocol.steps:
        for known in step.parameters:
            if known.passage and known.number is not None:
                value, kind = _scaled(known.number, known.unit)
                taken.setdefault(_stems(known.name), []).append(_SourceValue(known.passage, value, kind, known.value))
    return taken


def _in_passage(
    step: StudyStep, parameter: StepParameter, quote: str, values: list[_SourceValue]
) -> Iterator[StudyRemarked]:
    """The passage that is named must have the value, as it is written or as a number."""
    own, _ = _scaled(parameter.number or Decimal(0), parameter.unit)
    if parameter.value in quote or any(v.value in (own, parameter.number) for v in values):
        return
    note = f"{parameter.name} = {parameter.value}: {parameter.passage} has no such value"
    yield remarked(
        StudyRemark.PARAMETER_NOT_IN_SOURCE, note, step=step.id, about=parameter.name, rests_on=parameter.passage
    )


def _against(step: StudyStep, parameter: StepParameter, sources: list[_SourceValue]) -> Iterator[StudyRemarked]:
    own, kind = _scaled(parameter.number or Decimal(0), parameter.unit)
    far = Decimal(str(check_rules().far))
    compared = [v for v in sources if v.value > 0 and v.kind == kind]
    if own <= 0 or not compared or any(1 / far <= own / v.value <= far for v in compared):
        return
    nearest = min(compared, key=lambda v: max(own / v.value, v.value / own))
    times = max(own / nearest.value, nearest.value / own)
    way = "more" if own > nearest.value else "less"
    note = f"{parameter.name} = {parameter.value}: {times:.3g} times {way} than {nearest.written} of {nearest.passage}"
    yield remarked(StudyRemark.PARAMETER_FAR, note, step=step.id, about=parameter.name, rests_on=nearest.passage)


def _values(passage: StudyPassage) -> list[_SourceValue]:
    found = []
    for quantity in quantities(passage.quote):
        value, kind = _scaled(quantity.value, quantity.unit)
        found.append(_SourceValue(passage.id, value, kind, passage.quote[quantity.start : quantity.end]))
    return found


def _scaled(value: Decimal, unit: str) -> tuple[Decimal, str]:
    """A value in the smallest unit of what its unit measures, and what that is; of another unit, as it is."""
    for kind, units in check_rules().units.items():
        if unit in units:
            return value * Decimal(str(units[unit])), kind
    return value, unit


def _stems(text: str) -> frozenset[str]:
    return item_words(text) - _kinds()


@cache
def _kinds() -> frozenset[str]:
    """Stems of words that tell the kind of a value, and not what it is of."""
    return frozenset(stemmer().stemWords(sorted(kind_words())))
