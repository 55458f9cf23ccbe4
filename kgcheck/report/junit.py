"""Write a run as JUnit XML: wrong facts as failures, unavailable ones as skipped tests.

One suite a check type and target. One case a finding, with what follows from it; and one a tally of what makes no
finding, so that what is supported is seen to be checked. The elements are those that Jenkins takes (junit-10.xsd).
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from io import BytesIO

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from kgcheck.ledger.decisions import CurrentDecision, DecisionState
from kgcheck.ledger.ledger import Run
from kgcheck.model import CheckType, Finding, Reason, Tally, TallyMark, Target
from kgcheck.plurals import how_many
from kgcheck.report.comparison import ALONE, ComparisonSummary
from kgcheck.report.tables import called_in, deciding, evidence_line, graph_words, proposal
from kgcheck.visible import visible

_Suite = tuple[CheckType, str]
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(
    run: Run,
    findings: Iterable[Finding],
    tallies: Iterable[Tally],
    compared: ComparisonSummary = ALONE,
    fail_on: str = "refuted",
    limit: int | None = None,
) -> str:
    """A run as JUnit XML."""
    suites: dict[_Suite, list[TestCase]] = {}
    rest: Counter[tuple[_Suite, TallyMark, bool]] = Counter()
    kept: set[tuple[str, str]] = set()
    number = -1
    for finding in findings:
        target = Target.of(finding.task)
        if finding.task.type is CheckType.STRUCTURE:
            # That of a structure rule on an edge has no attribute of its own.
            target = target.model_copy(update={"attribute": None})
        suite = finding.task.type, str(target)
        kept.add(_counted_as(suite, finding.mark, finding.verdict.reason))
        if compared.follows(finding):
            continue
        number += 1
        decided, mark = compared.decided(finding), finding.mark
        excused = decided.state in (DecisionState.REJECTED, DecisionState.DEFERRED)
        fails = (
            not excused
            and not finding.verdict.reason.is_remark
            and _fails(mark, fail_on, compared.state(finding), decided)
        )
        if limit is None or number < limit:
            following = compared.following(finding)
            suites.setdefault(suite, []).append(_case(run, finding, suite, decided, following, fails=fails))
        else:
            rest[suite, mark, fails] += 1
    for (suite, mark, fails), count in rest.items():
        case = TestCase(f"{count:,} more, {mark.value}", _class_name(suite))
        words = f"{count:,} findings that are not shown: kgcheck report {run.id}"
        _end(case, mark, words, "not shown", fails=fails)
        suites.setdefault(suite, []).append(case)
    for tally in tallies:
        suite = tally.type, str(tally.target)
        cases = suites.setdefault(suite, [])
        if _counted_as(suite, tally.mark, tally.reason) not in kept:
            fails = not tally.reason.is_remark and _fails(tally.mark, fail_on, None, CurrentDecision())
            sources = f" ({tally.sources_line})" if tally.sources_line else ""
            case = TestCase(_shown(f"{tally.count:,} {tally.reason.value}{sources}"), _class_name(suite))
            words = f"{tally.count:,} tasks: {tally.reason.words}"
            _end(case, tally.mark, words, tally.reason.value, fails=fails)
            cases.append(case)
    thresholds = TestSuite("thresholds")
    for words, is_crossed in compared.thresholds.items():
        case = TestCase(_shown(words), "kgcheck.thresholds")
        case.result = [Failure(_shown(words), "threshold")] if is_crossed else []
        thresholds.add_testcase(case)
    return _written(run, suites, [thresholds] if compared.thresholds else [])


def _fails(mark: TallyMark, fail_on: str, state: str | None, decided: CurrentDecision) -> bool:
    """Tell whether a finding, or what a tally counts, is a failure: as the exit code has it."""
    is_open = mark.severity <= TallyMark.INSUFFICIENT.severity
    match fail_on:
        case "refuted":
            return mark.severity == TallyMark.REFUTED.severity
        case "insufficient":
            return is_open
        case "new":
            return is_open and (state == "new" or bool(decided.decision and not decided.stands))
        case _:
            return False


def _counted_as(suite: _Suite, mark: TallyMark, reason: Reason) -> tuple[str, str]:
    """Key that a tally shares with the findings that it counts; a rule of the whole graph has them in other suites."""
    return ("structure", reason.value) if suite[0] is CheckType.STRUCTURE else (str(suite), mark.value)


def _case(
    run: Run,
    finding: Finding,
    suite: _Suite,
    decided: CurrentDecision,
    following: Sequence[Finding],
    *,
    fails: bool,
) -> TestCase:
    verdict = finding.verdict
    case = TestCase(_shown(str(finding.task)), _class_name(suite))
    words = f"{verdict.reason.value}: {verdict.reason.words}"
    lines = [
        f"finding {finding.fingerprint} of run {run.id}: {verdict.outcome.value}, confidence {verdict.confidence:.3f}",
        *([state] if (state := graph_words(finding.mark)) else []),
        *([f"called: {called}"] if (called := called_in(finding)) else []),
        *([f"graph says: {finding.task.value}"] if finding.task.value else []),
        *(f"{e.stance.value}: {evidence_line(e)} {e.url}".rstrip() for e in deciding(finding)),
        *(f"not looked at: {gap}" for gap in verdict.missing),
        *([f"proposal: {change}"] if (change := proposal(finding.change)) else []),
        *([f"decision: {decided.words}"] if decided.words else []),
        *([f"{how_many(len(following), 'finding')} more, told with it:"] if following else []),
        *(f"{one.fingerprint} {one.task}: {one.verdict.reason.value}" for one in following),
    ]
    _end(case, finding.mark, words, verdict.reason.value, lines, fails=fails)
    return case


def _end(case: TestCase, mark: TallyMark, words: str, kind: str, lines: Iterable[str] = (), *, fails: bool) -> None:
    if fails:
        failure = Failure(_shown(words), _shown(kind))
        failure.text = "\n".join(map(_shown, lines))
        case.result = [failure]
    elif mark.severity != TallyMark.SUPPORTED.severity:
        skipped = Skipped()
        # Jenkins takes text in it and no message.
        skipped.text = "\n".join(_shown(text) for text in (f"{mark.value}: {words}", *lines))
        case.result = [skipped]


def _class_name(suite: _Suite) -> str:
    """Key by which build servers fold cases: they part it at dots."""
    return _shown(f"kgcheck.{suite[0].value}.{suite[1].replace(' ', '_')}")


def _written(run: Run, suites: dict[_Suite, list[TestCase]], first: list[TestSuite]) -> str:
    whole = JUnitXml(f"kgcheck {run.id}")
    if not run.finished:
        # What is not there is no success.
        case, cut_off = TestCase("finished", "kgcheck.run"), TestSuite("run")
        case.result = [Error(f"the run was cut off: kgcheck audit --resume {run.id}", "cut off")]
        cut_off.add_testcase(case)
        first = [*first, cut_off]
    for suite_of_run in first:
        whole.add_testsuite(suite_of_run)
    state = "finished" if run.finished else "cut off"
    releases = "; ".join(map(str, run.releases)) or "none"
    about = {"run": run.id, "state": state, "store": run.store, "profile": run.profile, "releases": releases}
    order = list(CheckType)
    for suite in sorted(suites, key=lambda s: (order.index(s[0]), s[1])):
        part = TestSuite(_shown(f"{suite[0].value}: {suite[1]}"))
        part.timestamp = f"{run.started:%Y-%m-%dT%H:%M:%S}"
        for name, value in about.items():
            part.add_property(name, _shown(value))
        part.add_testcases(suites[suite])
        whole.add_testsuite(part)
    whole.update_statistics()  # type: ignore[no-untyped-call]
    # Jenkins has no such number of the whole, only of each suite; and nobody timed the cases.
    whole._elem.attrib.pop("skipped", None)
    for element in (whole, *whole):
        element._elem.attrib.pop("time", None)
    out = BytesIO()
    whole.write(out, pretty=False)
    return out.getvalue().decode() + "\n"


def _shown(text: str) -> str:
    """Text that XML can hold and nothing hides in; XML has no place for what is left of it."""
    return _NO_XML.sub("\ufffd", visible(text))
