"""A run for other programs: JUnit XML and SARIF, each read back by who made the format."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from functools import cache
from typing import Any

import pytest
import xmlschema
from defusedxml import ElementTree
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped

from kgcheck.ledger.decisions import Action, CurrentDecision, Decision, DecisionState
from kgcheck.ledger.ledger import PinnedRelease, Run
from kgcheck.model import CheckType, Finding, Gap, Outcome, Reason, Tally, Target
from kgcheck.report.comparison import ALONE, ComparisonSummary
from kgcheck.report.junit import junit
from kgcheck.report.render import STANDING, findings_csv
from kgcheck.report.sarif import sarif
from tests.support.junit_xsd import junit_xsd
from tests.support.reports import AT, RUN, finding, tally
from tests.support.sarif import sarif_schema

REFUTED = finding()
OPEN = finding(kind=CheckType.TRIPLE, outcome=Outcome.INSUFFICIENT, reason=Reason.NOTHING_FOUND)
LOOP = finding(kind=CheckType.STRUCTURE, reason=Reason.SELF_LOOP)
TALLIES = [
    tally(1, Outcome.REFUTED),
    tally(1_234, Outcome.SUPPORTED),
    tally(3, Outcome.UNAVAILABLE, (), (Gap("hgnc", Reason.NOT_COVERED),), Target(label="Gene")),
]

OUR_XSD = """
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:complexType name="told"><xs:simpleContent><xs:extension base="xs:string">
    <xs:attribute name="message" type="xs:string"/><xs:attribute name="type" type="xs:string"/>
  </xs:extension></xs:simpleContent></xs:complexType>
  <xs:element name="testsuites"><xs:complexType>
    <xs:sequence><xs:element name="testsuite" minOccurs="0" maxOccurs="unbounded"><xs:complexType>
      <xs:sequence>
        <xs:element name="properties" minOccurs="0"><xs:complexType><xs:sequence>
          <xs:element name="property" maxOccurs="unbounded"><xs:complexType>
            <xs:attribute name="name" type="xs:string" use="required"/>
            <xs:attribute name="value" type="xs:string" use="required"/>
          </xs:complexType></xs:element>
        </xs:sequence></xs:complexType></xs:element>
        <xs:element name="testcase" minOccurs="1" maxOccurs="unbounded"><xs:complexType>
          <xs:choice minOccurs="0">
            <xs:element name="skipped" type="xs:string"/>
            <xs:element name="error" type="told"/>
            <xs:element name="failure" type="told"/>
          </xs:choice>
          <xs:attribute name="name" type="xs:string" use="required"/>
          <xs:attribute name="classname" type="xs:string" use="required"/>
        </xs:complexType></xs:element>
      </xs:sequence>
      <xs:attribute name="name" type="xs:string" use="required"/>
      <xs:attribute name="timestamp" type="xs:dateTime"/>
      <xs:attribute name="tests" type="xs:nonNegativeInteger" use="required"/>
      <xs:attribute name="errors" type="xs:nonNegativeInteger" use="required"/>
      <xs:attribute name="failures" type="xs:nonNegativeInteger" use="required"/>
      <xs:attribute name="skipped" type="xs:nonNegativeInteger" use="required"/>
    </xs:complexType></xs:element></xs:sequence>
    <xs:attribute name="name" type="xs:string" use="required"/>
    <xs:attribute name="tests" type="xs:nonNegativeInteger" use="required"/>
    <xs:attribute name="errors" type="xs:nonNegativeInteger" use="required"/>
    <xs:attribute name="failures" type="xs:nonNegativeInteger" use="required"/>
  </xs:complexType></xs:element>
</xs:schema>
"""
"""What kgcheck writes of JUnit's elements, in words of our own; that of Jenkins is asked where it can be had."""


@cache
def our_schema() -> Any:
    return xmlschema.XMLSchema(OUR_XSD)


def as_junit(findings: Sequence[Finding], tallies: Sequence[Tally] = (), run: Run = RUN, **how: Any) -> JUnitXml:
    text = junit(run, findings, tallies, **how)
    our_schema().validate(text)
    return JUnitXml.fromstring(text.encode())


def as_sarif(findings: Sequence[Finding], tallies: Sequence[Tally] = (), run: Run = RUN, **how: Any) -> dict[str, Any]:
    whole = json.loads(sarif(run, findings, tallies, **how))
    sarif_schema().validate(whole)
    (only,) = whole["runs"]
    return dict(only)


def test_junit_has_a_suite_a_target_and_a_case_a_finding_or_tally() -> None:
    whole = as_junit([REFUTED, OPEN, LOOP], TALLIES)
    suites = {suite.name: list(suite) for suite in whole}

    assert list(suites) == [
        "existence: Gene",
        "existence: Protein",
        "triple: Protein ACTS_ON Protein",
        "structure: Protein",
    ]
    assert (whole.tests, whole.failures, whole.errors) == (5, 2, 0)
    refuted, supported = suites["existence: Protein"]
    (failure,) = refuted.result
    assert isinstance(failure, Failure)
    assert failure.type == "id_merged"
    assert "merged; now P04637" in failure.text
    assert "re-point to P04637" in failure.text
    assert supported.result == []
    assert supported.name.startswith("1,234 id_merged")
    (unseen,) = suites["existence: Gene"]
    assert isinstance(unseen.result[0], Skipped)
    assert "hgnc (not covered)" in unseen.name
    assert isinstance(suites["triple: Protein ACTS_ON Protein"][0].result[0], Skipped)


@pytest.mark.parametrize(("fail_on", "failures"), [("refuted", 1), ("insufficient", 2), ("never", 0)])
def test_what_fails_in_junit_is_what_the_exit_code_counts(fail_on: str, failures: int) -> None:
    assert as_junit([REFUTED, OPEN], fail_on=fail_on).failures == failures


def decided(
    state: str,
    action: Action = Action.REJECT,
    *,
    by: str = "me",
    note: str = "a false alarm",
    until: date | None = None,
) -> CurrentDecision:
    made = Decision(fingerprint="f", basis="b", action=action, by=by, at=AT, note=note, until=until)
    return CurrentDecision(state=DecisionState(state), decision=made)


def test_junit_fails_neither_on_what_was_rejected_nor_with_new_on_what_is_old() -> None:
    old, fresh, back = finding("Q1"), finding("Q2"), finding("Q3")
    decisions = {REFUTED.fingerprint: decided("rejected"), back.fingerprint: decided("reopened")}
    standing = ComparisonSummary(
        "before", "still", dict.fromkeys((fresh.fingerprint, REFUTED.fingerprint), "new"), decisions
    )
    every = [REFUTED, old, fresh, back]

    def failed(fail_on: str) -> list[str]:
        cases = [case for suite in as_junit(every, compared=standing, fail_on=fail_on) for case in suite]
        assert sum(len(case.result) for case in cases) == len(every)
        return [case.name.split()[1] for case in cases if isinstance(case.result[0], Failure)]

    assert failed("refuted") == ["Q1", "Q2", "Q3"]
    assert failed("new") == ["Q2", "Q3"]
    assert "a false alarm" in junit(RUN, every, [], standing)


def test_a_run_that_was_cut_off_is_an_error_in_junit_and_no_success_in_sarif() -> None:
    begun = RUN.model_copy(update={"finished": None})

    assert as_junit([], [], begun).errors == 1
    assert isinstance(next(iter(next(iter(as_junit([], [], begun))))).result[0], Error)
    invocation = as_sarif([], [], begun)["invocations"][0]
    assert not invocation["executionSuccessful"]
    assert invocation["toolExecutionNotifications"][0]["level"] == "error"


def test_junit_is_as_jenkins_has_it() -> None:
    schema = xmlschema.XMLSchema(str(junit_xsd()))

    schema.validate(junit(RUN, [REFUTED, OPEN, LOOP], TALLIES))
    schema.validate(junit(RUN.model_copy(update={"finished": None}), [], []))
    limits = ALONE._replace(thresholds={"error: 2 refuted of 3": True, "ok: 0 refuted of 3": False})
    schema.validate(junit(RUN, [], [], limits))
    schema.validate(junit(RUN, [finding(said="]]>\x00<b>", value="&\ufffe")], TALLIES, fail_on="insufficient", limit=0))


def test_sarif_says_what_where_why_and_how_sure() -> None:
    run = as_sarif([REFUTED, LOOP, OPEN], TALLIES, exit_code=1)
    rules = run["tool"]["driver"]["rules"]
    refuted, loop, undecided = run["results"]

    assert [rule["id"] for rule in rules] == ["id_merged", "structure/self_loop", "nothing_found"]
    assert "Repair: re-point" in rules[0]["help"]["text"]
    assert [rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"]] == [True] * 3
    assert (refuted["kind"], refuted["level"], refuted["rank"]) == ("fail", "error", 99.0)
    assert (undecided["kind"], undecided["level"]) == ("open", "none")
    assert refuted["partialFingerprints"] == {"kgcheckTask/v1": REFUTED.fingerprint}
    assert refuted["locations"] == [
        {"logicalLocations": [{"name": "Q00007", "fullyQualifiedName": "Protein Q00007", "kind": "node"}]}
    ]
    assert len(undecided["locations"][0]["logicalLocations"]) == 2
    assert refuted["properties"]["evidence"][0]["url"].startswith("https://")
    assert "baselineState" not in refuted
    assert "suppressions" not in refuted
    assert loop["ruleId"] == "structure/self_loop"
    (invocation,) = run["invocations"]
    assert invocation["exitCode"] == 1
    assert [n["message"]["text"] for n in invocation["toolExecutionNotifications"]] == [
        "could not look: 3 existence of Gene: no hgnc (not covered)"
    ]


def test_sarif_has_the_states_of_the_comparison_and_the_decisions() -> None:
    kept, back, still, moved = (finding(f"Q{n}") for n in range(4))
    fixed, gone, unseen = (finding(f"P{n}") for n in range(3))
    states = dict(
        zip([f.fingerprint for f in (kept, back, still, moved)], ["new", "reopened", "still", "changed"], strict=True)
    )
    decisions = {
        kept.fingerprint: decided("rejected"),
        back.fingerprint: decided("reopened"),
        still.fingerprint: decided("deferred", Action.DEFER, note="", until=date(2027, 1, 1)),
        moved.fingerprint: decided("accepted", Action.ACCEPT),
    }
    standing = ComparisonSummary(
        before="20261119-000000-0000",
        states=states,
        decisions=decisions,
        left=[(fixed, "fixed"), (gone, "gone"), (unseen, "unchecked")],
    )
    run = as_sarif([kept, back, still, moved], compared=standing)

    found = {r["partialFingerprints"]["kgcheckTask/v1"]: r for r in run["results"]}
    baseline = {f.task.subject.id: found[f.fingerprint]["baselineState"] for f in (kept, back, still, moved)}
    baseline |= {f.task.subject.id: found[f.fingerprint]["baselineState"] for f in (fixed, gone, unseen)}
    assert baseline == {
        **{"Q0": "new", "Q1": "updated", "Q2": "unchanged", "Q3": "updated"},
        # Nobody looked for the last one: it is not absent.
        **{"P0": "absent", "P1": "absent", "P2": "unchanged"},
    }
    (accepted,) = found[kept.fingerprint]["suppressions"]
    assert (accepted["kind"], accepted["status"], accepted["justification"]) == (
        "external",
        "accepted",
        f"rejected by me, {AT:%Y-%m-%d %H:%M}: a false alarm",
    )
    (later,) = found[still.fingerprint]["suppressions"]
    assert (later["status"], later["justification"]) == (
        "underReview",
        f"deferred until 2027-01-01 by me, {AT:%Y-%m-%d %H:%M}",
    )
    assert found[back.fingerprint]["suppressions"] == found[moved.fingerprint]["suppressions"] == []
    assert found[back.fingerprint]["properties"]["decision"]["stands"] is False
    assert run["baselineGuid"] != run["automationDetails"]["guid"]
    assert (
        as_sarif([], run=RUN.model_copy(update={"id": "20261119-000000-0000"}))["automationDetails"]["guid"]
        == (run["baselineGuid"])
    )


HOSTILE = st.text(st.characters(), min_size=1, max_size=40) | st.sampled_from(
    [
        "\x1b[31m",
        "a\nb 1\n# TYPE x counter",
        'x"} 1',
        "\\",
        "]]>",
        "<!DOCTYPE x>",
        "\ud800",
        "\ufffe\uffff",
        "{0}[a](b)",
    ]
)
NO_HALVES = HOSTILE.map(lambda text: re.sub("[\ud800-\udfff]", "", text) or "x")
"""Of what a graph or a source says: no store holds half of a pair."""

HUGE = st.integers(0, 10**18)


@settings(max_examples=60)
@given(said=NO_HALVES, value=NO_HALVES, label=NO_HALVES, count=HUGE, note=HOSTILE, day=HOSTILE)
def test_hostile_text_and_huge_numbers_come_back_as_text(
    said: str, value: str, label: str, count: int, note: str, day: str
) -> None:
    name = "".join(c for c in value if ord(c) >= 32) or "x"
    made = finding(name, said=said, value=value, label=label)
    counted = [tally(count, Outcome.SUPPORTED, (said,), (), Target(label=label, attribute=value))]
    releases = (PinnedRelease(source=said, release=value, released=day),)
    run = RUN.model_copy(update={"store": said, "nodes": {label: count}, "releases": releases})
    decisions = {made.fingerprint: decided("rejected", by=said, note=note)}
    standing = ComparisonSummary("x", "new", decisions=decisions, left=[(made, "gone")])

    whole = as_junit([made], counted, run)
    assert (whole.tests, whole.failures) == (2, 1)
    tags = Counter(element.tag for element in ElementTree.fromstring(junit(run, [made], counted).encode()).iter())
    assert tags == {"testsuites": 1, "testsuite": 2, "properties": 2, "property": 10, "testcase": 2, "failure": 1}
    both = as_sarif([made], counted, run, compared=standing)
    assert [len(r["suppressions"]) for r in both["results"]] == [1, 0]


def test_csv_has_what_became_of_a_finding_and_what_was_decided() -> None:
    made = finding("P1")
    decisions = {made.fingerprint: decided("rejected", note="=a false alarm")}
    standing = ComparisonSummary("x", "changed", decisions=decisions)

    (row,) = csv.DictReader(io.StringIO(findings_csv([made], standing)))
    (alone,) = csv.DictReader(io.StringIO(findings_csv([made])))

    assert (row["state"], row["decision"]) == ("changed", f"rejected by me, {AT:%Y-%m-%d %H:%M}: =a false alarm")
    assert (alone["state"], alone["decision"]) == ("", "")
    assert {k: v for k, v in row.items() if k not in STANDING} == {k: v for k, v in alone.items() if k not in STANDING}
