"""What a protocol lacks: controls, tests, corrections, versions, evidence."""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from kgcheck.protocols.checking.remarks import StudyRemark, StudyRemarked, check_rules, remarked
from kgcheck.protocols.design.design_rules import design_rules
from kgcheck.protocols.protocol import StudyProtocol, StudyStep

_LONGEST = 60


def lack_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """What the steps of a protocol lack."""
    for section in protocol.sections:
        named = dict.fromkeys(("controls", "statistics", "corrections"), "")
        # What a later step of the section names counts for those before it.
        for step in reversed(section.steps):
            text = _text(step)
            named |= {kind: found for kind in named if (found := _has(kind, text))}
            yield from _comparison(step, named)
            if not step.facts and not step.passages and step.fixed not in design_rules().fixed:
                yield remarked(StudyRemark.EVIDENCE_MISSING, _shown(step), step=step.id)
    yield from _versions(protocol)


def _comparison(step: StudyStep, named: Mapping[str, str]) -> Iterator[StudyRemarked]:
    """What a step that compares or tests should name."""
    done = " ".join((step.text, *step.statistics)).casefold()
    if not (step.statistics or step.analysis or _has("compares", done)):
        return
    if not step.control and not named["controls"]:
        yield remarked(StudyRemark.CONTROL_MISSING, _shown(step), step=step.id)
    # A ready analysis has its test within.
    if step.analysis:
        return
    if not step.statistics and not named["statistics"]:
        yield remarked(StudyRemark.STATISTICS_MISSING, _shown(step), step=step.id)
    if (many := _has("many_tests", done)) and not named["corrections"]:
        yield remarked(StudyRemark.CORRECTION_MISSING, f"{many!r} in {_shown(step)}", step=step.id)


def _versions(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Software without a version anywhere, and with several."""
    uses: dict[str, list[tuple[str, str, str]]] = {}
    for step in protocol.steps:
        for tool in step.tools:
            uses.setdefault(tool.name.casefold(), []).append((step.id, tool.name, tool.version))
    for found in uses.values():
        versions = list(dict.fromkeys(version for _, _, version in found if version))
        first, name, _ = found[0]
        others = tuple(dict.fromkeys(place for place, _, _ in found[1:] if place != first))
        if not versions:
            yield remarked(StudyRemark.VERSION_MISSING, name, step=first, about=name, steps=others)
        elif len(versions) > 1:
            note = f"{name} {' and '.join(versions)}"
            yield remarked(StudyRemark.VERSION_DIFFERS, note, step=first, about=name, steps=others)


def _shown(step: StudyStep) -> str:
    return repr(step.text if len(step.text) <= _LONGEST else f"{step.text[:_LONGEST]}...")


def _text(step: StudyStep) -> str:
    return " ".join((step.text, *step.statistics, step.control, step.rationale)).casefold()


def _has(kind: str, text: str) -> str:
    """The first of some words that a text has; nothing where it has none."""
    found = _pattern(kind).search(text)
    return found[0].strip() if found else ""


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    words = sorted(check_rules().words[kind], key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})")
