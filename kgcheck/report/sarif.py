"""Write a run as SARIF 2.1.0 for code hosts and dashboards.

A rule is a reason. A result is a finding, and what follows from it is at its related locations. Of a graph there are no
files, so findings stand at logical locations, the nodes.
What could not be looked at is no result but a notification of the invocation.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from kgcheck import __version__
from kgcheck.ledger.decisions import CurrentDecision, DecisionState
from kgcheck.ledger.ledger import Run
from kgcheck.model import CheckType, Finding, Outcome, Reason, Ref, Tally, TallyMark
from kgcheck.report.comparison import ALONE, ComparisonSummary
from kgcheck.report.documents import is_web
from kgcheck.report.tables import deciding, evidence_line, proposal, what_of
from kgcheck.report.wording import MARKS, reason_help
from kgcheck.visible import as_json, visible

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_LEVELS = {
    TallyMark.REFUTED: ("fail", "error"),
    TallyMark.LACKS_IT: ("fail", "error"),
    # "Open" is what SARIF calls a rule that was evaluated and could not decide.
    TallyMark.INSUFFICIENT: ("open", "none"),
    TallyMark.UNAVAILABLE: ("open", "none"),
    TallyMark.SUPPORTED: ("pass", "none"),
    TallyMark.RIGHTLY_ABSENT: ("pass", "none"),
}
"""Kind and level of each mark."""

_BASELINE = {
    "new": "new",
    "still": "unchanged",
    "changed": "updated",
    "reopened": "updated",
    "fixed": "absent",
    "gone": "absent",
    # Nobody looked: to call it absent would close it.
    "unchecked": "unchanged",
}
"""By state of the comparison, that of SARIF; any other state of ours is one of a finding that was there before."""

_SUPPRESSED = {DecisionState.REJECTED: "accepted", DecisionState.DEFERRED: "underReview"}
_LONGEST = 2_000


def sarif(
    run: Run,
    findings: Iterable[Finding],
    tallies: Iterable[Tally],
    compared: ComparisonSummary = ALONE,
    limit: int | None = None,
    exit_code: int = 0,
) -> str:
    """A run as SARIF."""
    rules = _Rules()
    results: list[dict[str, Any]] = []
    left_out = 0
    causes = (finding for finding in findings if not compared.follows(finding))
    for number, finding in enumerate(causes):
        if limit is not None and number >= limit:
            left_out += 1
            continue
        results.append(_result(rules, finding, compared.state(finding), compared.decided(finding), compared))
    results += [_result(rules, finding, state, CurrentDecision(), compared) for finding, state in compared.left]
    whole: dict[str, Any] = {
        "tool": {"driver": {"name": "kgcheck", "version": __version__, "rules": rules.listed}},
        "automationDetails": {
            "id": f"kgcheck/{_uri_part(run.store)}/{run.id}",
            "guid": _guid(run.id),
            "description": {"text": _plain(f"kgcheck audit of {run.store}, profile {run.profile}")},
        },
        "invocations": [_invocation(run, tallies, left_out, exit_code)],
        "results": results,
        "properties": {
            "store": visible(run.store),
            "profile": visible(run.profile),
            "references": [visible(str(release)) for release in run.releases],
        },
    }
    if compared.before:
        whole["baselineGuid"] = _guid(compared.before)
    return as_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [whole]}, indent=1) + "\n"


class _Rules:
    """The rules of a run, each where a finding first breaks it."""

    def __init__(self) -> None:
        self.listed: list[dict[str, Any]] = []
        self._places: dict[tuple[Reason, bool], int] = {}

    def place(self, finding: Finding) -> tuple[str, int]:
        """Id and place of the rule of a finding."""
        reason, structural = finding.verdict.reason, finding.task.type is CheckType.STRUCTURE
        name = f"structure/{reason.value}" if structural else reason.value
        place = self._places.setdefault((reason, structural), len(self.listed))
        if place == len(self.listed):
            kind, level = _level(finding)
            helped = _plain(reason_help(reason, finding.task.type))
            more = {
                "fullDescription": {"text": helped},
                "help": {"text": f"{helped} {MARKS[finding.mark]} kgcheck explain shows the evidence."},
                "defaultConfiguration": {"level": level},
                "properties": {"tags": [finding.task.type.value, kind]},
            }
            words = {"shortDescription": {"text": _plain(f"{reason.words}.")}}
            shown = "".join(word.capitalize() for word in reason.value.split("_"))
            self.listed.append({"id": name, "name": shown, **words, **more})
        return name, place


def _level(finding: Finding) -> tuple[str, str]:
    # A level that is not none stands only beside the kind fail.
    return ("fail", "note") if finding.verdict.reason.is_remark else _LEVELS[finding.mark]


def _result(
    rules: _Rules, finding: Finding, state: str | None, decided: CurrentDecision, compared: ComparisonSummary
) -> dict[str, Any]:
    verdict = finding.verdict
    name, place = rules.place(finding)
    kind, level = _level(finding)
    result: dict[str, Any] = {
        "ruleId": name,
        "ruleIndex": place,
        "kind": kind,
        "level": level,
        "message": {"text": _plain(_message(finding))},
        "locations": [{"logicalLocations": [_location(ref, n) for ref, n in _ends(finding)]}],
        "partialFingerprints": {"kgcheckTask/v1": finding.fingerprint},
        "rank": round(verdict.confidence * 100, 1),
        "properties": _properties(finding, state, decided),
    }
    if following := compared.following(finding):
        result["relatedLocations"] = [
            {
                "id": number,
                "message": {"text": _plain(f"follows from it: {_message(one)}")},
                "logicalLocations": [_location(ref, name) for ref, name in _ends(one)],
            }
            for number, one in enumerate(following, 1)
        ]
    if compared.before:
        result["baselineState"] = _BASELINE.get(state or "", "unchanged") if state else "unchanged"
    if decided.state in _SUPPRESSED:
        shown = {"kind": "external", "status": _SUPPRESSED[decided.state], "properties": _decision(decided)}
        result["suppressions"] = [shown | {"justification": visible(decided.words)}]
    elif compared is not ALONE:
        # An empty list says that it is not suppressed; none, that nobody knows.
        result["suppressions"] = []
    return result


def _message(finding: Finding) -> str:
    parts = [f"{what_of(finding)}: {finding.verdict.reason.words}"]
    parts += [evidence_line(e) for e in deciding(finding)[:1]]
    if change := proposal(finding.change):
        parts.append(f"proposal: {change}")
    return ". ".join(parts)


def _ends(finding: Finding) -> Iterator[tuple[Ref, str | None]]:
    yield finding.task.subject, finding.names[0]
    if finding.task.object:
        yield finding.task.object, finding.names[1]


def _location(ref: Ref, name: str | None) -> dict[str, Any]:
    place: dict[str, Any] = {"name": visible(ref.id), "fullyQualifiedName": visible(str(ref)), "kind": "node"}
    if name:
        place["properties"] = {"called": visible(name)[:_LONGEST]}
    return place


def _properties(finding: Finding, state: str | None, decided: CurrentDecision) -> dict[str, Any]:
    task, verdict = finding.task, finding.verdict
    known: Mapping[str, Any] = {
        "run": finding.run,
        "type": task.type.value,
        "relation": task.relation,
        "attribute": task.attribute,
        "outcome": verdict.outcome.value,
        "graph": finding.mark.graph,
        "confidence": verdict.confidence,
        "evidence": [_observed(e) for e in deciding(finding)],
        "notLookedAt": [str(gap) for gap in verdict.missing],
        "proposal": proposal(finding.change),
        "state": state,
        "decision": _decision(decided),
    }
    return {name: value for name, value in known.items() if value not in (None, "", [], {})}


def _observed(e: Any) -> dict[str, str]:
    seen = {"stance": e.stance.value, "says": visible(evidence_line(e))[:_LONGEST]}
    return seen | ({"url": e.url} if is_web(e.url) else {})


def _decision(decided: CurrentDecision) -> dict[str, Any]:
    if not (made := decided.decision):
        return {}
    shown = {"action": made.action.value, "by": visible(made.by), "at": _time(made.at), "note": visible(made.note)}
    return {**shown, **({"until": str(made.until)} if made.until else {}), "stands": decided.stands}


def _invocation(run: Run, tallies: Iterable[Tally], left_out: int, exit_code: int) -> dict[str, Any]:
    missing = Counter[str]()
    for t in tallies:
        if t.outcome is Outcome.UNAVAILABLE:
            missing[f"{t.type.value} of {t.target}: {t.sources_line}"] += t.count
    notes = [] if run.finished else [("error", f"the run was cut off: kgcheck audit --resume {run.id}")]
    notes += [("warning", warning) for warning in run.warnings]
    notes += [("warning", f"could not look: {count:,} {what}") for what, count in missing.most_common()]
    if left_out:
        notes.append(("note", f"{left_out:,} findings are not shown: kgcheck report {run.id}"))
    shown: dict[str, Any] = {
        "executionSuccessful": run.finished is not None,
        "startTimeUtc": _time(run.started),
        "exitCode": exit_code,
        "toolExecutionNotifications": [{"level": level, "message": {"text": _plain(text)}} for level, text in notes],
    }
    return shown | ({"endTimeUtc": _time(run.finished)} if run.finished else {})


def _plain(text: str) -> str:
    """Plain text as SARIF reads it: no link and no place for an argument stands in it, and it is not too long."""
    shown = visible(text)[:_LONGEST]
    return re.sub(r"([\\\[\]])", r"\\\1", shown).replace("{", "{{").replace("}", "}}")


def _uri_part(text: str) -> str:
    """A part of an id that is split at slashes."""
    return re.sub(r"[^\w.:-]+", "-", visible(text), flags=re.ASCII).strip("-")[:200] or "store"


def _guid(run: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"kgcheck:{run}"))


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
