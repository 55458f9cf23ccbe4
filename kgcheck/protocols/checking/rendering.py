"""Results of protocol checks, for people and programs."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from rich.console import Group, RenderableType
from rich.text import Text

from kgcheck.plurals import how_many
from kgcheck.protocols.checking.check import CheckedProtocol
from kgcheck.protocols.checking.quality import StudyQuality
from kgcheck.protocols.checking.remarks import StudyRemarked, StudyState, check_rules
from kgcheck.report.cells import RowTable, cell
from kgcheck.report.documents import page
from kgcheck.report.sarif import remarks_sarif, sarif_text
from kgcheck.visible import as_json, visible

FORMS = ("table", "json", "markdown", "sarif")

_LEVELS = {
    StudyState.FALLEN: ("fail", "error"),
    StudyState.WRONG: ("fail", "error"),
    StudyState.LACKING: ("fail", "warning"),
    StudyState.OPEN: ("open", "none"),
}
_MARKS = {StudyState.FALLEN: "red", StudyState.WRONG: "red", StudyState.LACKING: "yellow"}


def rendered_checks(found: Sequence[CheckedProtocol], form: str, exit_code: int = 0) -> str:
    """Render the results of protocol checks as text."""
    match form:
        case "json":
            return as_json({"protocols": [checked.as_row() for checked in found]}, indent=2) + "\n"
        case "sarif":
            return as_json(_sarif(found, exit_code), indent=1) + "\n"
        case _:
            words = check_rules().remarks
            return page("protocol_check", form, protocols=found, words=words, summary=summary, state_of=_state)


def summary(checked: CheckedProtocol) -> str:
    """Count the steps and remarks of a protocol in one line."""
    counts = ", ".join(f"{checked.counts[state]:,} {state.value}" for state in StudyState if checked.counts[state])
    return f"{checked.name}: {how_many(checked.steps, 'step')}; remarks: {counts or 'none'}"


def checks_table(found: Sequence[CheckedProtocol]) -> RenderableType:
    """Steps that fell and every remark that somebody should look at, of each protocol, for the terminal."""
    return Group(*map(_checked_table, found))


def _checked_table(checked: CheckedProtocol) -> RenderableType:
    rows = [
        (
            remark.step or "protocol",
            cell(_state(remark), _MARKS.get(remark.state, "")),
            f"{check_rules().remarks[remark.remark].means}: {remark.note}",
            remark.repair,
        )
        for remark in checked.alarms
    ]
    table = RowTable(("step", "state", "what", "to do"), rows, keys=("step", "state"))
    fell = [
        Text(
            visible(
                f"{f.step} fell: {', '.join(f.because)}"
                + (f"; what comes of it is used by {', '.join(f.downstream)}" if f.downstream else "")
            )
        )
        for f in checked.fallen
    ]
    return Group(Text(visible(summary(checked))), *fell, *((table,) if rows else ()))


def quality_table(quality: StudyQuality) -> RenderableType:
    """The measures of a protocol by judge, and what is counted, for the terminal; what is not there is a dash."""
    judges = (*map(visible, quality.by_judge), "average")
    rows = [
        (name, *(f"{one[name]:.3f}" for one in quality.by_judge.values()), "-" if value is None else f"{value:.3f}")
        for name, value in quality.measures.items()
    ]
    table = RowTable(("measure", *judges), rows, keys=("measure",), numbers=judges)
    counts = quality.counts
    lines = [
        f"overall {'none' if quality.overall is None else f'{quality.overall:.3f}'}",
        f"{how_many(counts.steps, 'step')} of {counts.sentences:.2f} sentences; brevity penalty {counts.brevity:.3f}",
        *(f"{name}: {share:.2f}" for name, share in counts.built.items()),
    ]
    return Group(table, *map(Text, lines))


def _state(remark: StudyRemarked) -> str:
    return "could not look" if remark.unavailable else remark.state.value


def _sarif(found: Sequence[CheckedProtocol], exit_code: int) -> dict[str, Any]:
    """SARIF 2.1.0: a rule is a remark, a result stands at a step."""
    words = check_rules().remarks
    rules: dict[str, str] = {}
    results: list[dict[str, Any]] = []
    failures = []
    for checked in found:
        for remark in checked.alarms:
            if remark.unavailable:
                failures.append(f"{checked.name}: {remark.note}")
                continue
            rules[remark.remark.value] = words[remark.remark].means
            kind, level = _LEVELS[remark.state]
            text = f"{words[remark.remark].means}. {remark.note}. {remark.repair}".rstrip(". ")
            place: dict[str, Any] = {
                "physicalLocation": {"artifactLocation": {"uri": quote(checked.name)}},
                "logicalLocations": [{"name": remark.step or "protocol", "kind": "member"}],
            }
            results.append(
                {
                    "ruleId": remark.remark.value,
                    "kind": kind,
                    "level": level,
                    "message": {"text": sarif_text(f"{text}.")},
                    "locations": [place],
                    "properties": {
                        "state": remark.state.value,
                        "about": visible(remark.about),
                        "restsOn": visible(remark.rests_on),
                        "finding": remark.finding,
                    },
                }
            )
        failures += [f"{checked.name}: {what}: {why}" for what, why in checked.not_looked.items()]
    return remarks_sarif(rules, results, failures, exit_code)
