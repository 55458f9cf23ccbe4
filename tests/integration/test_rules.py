"""Structure rules: each by its cases, and the door by which other packages bring theirs."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kgcheck import rules
from kgcheck.audit.checks import exit_code
from kgcheck.curation.compare import comparison_summary, diff_of
from kgcheck.errors import ConfigurationError
from kgcheck.ledger.comparisons import run_before
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.model import CheckType, Outcome, all_reasons, kept_reason
from kgcheck.options import AuditScope
from kgcheck.report.documents import scope_words
from kgcheck.report.junit import junit
from kgcheck.report.render import render
from kgcheck.rules import Rule, RuleGraph, rules_named, structure_rules
from kgcheck.standards.tables import standard
from tests.support import ROOT
from tests.support.audits import Audited, audited
from tests.support.rule_cases import CASES, RuleCase, assert_as_stated, cases_in
from tests.support.sarif import sarif_schema

FILES = sorted(path for path in CASES.glob("*.toml") if path.stem != "graph")
ALL_CASES = [case for path in FILES for case in cases_in(path)]
OF = {name: next(case for case in ALL_CASES if case.rule == name) for name in ("shared_name", "self_loop")}


@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: f"{case.rule}: {case.name}")
def test_a_case_is_as_its_file_says(case: RuleCase) -> None:
    assert_as_stated(case)


def test_every_rule_has_cases_and_a_reason() -> None:
    assert {case.rule for case in ALL_CASES if case.finds} == set(structure_rules())
    assert {reason.value for reason in all_reasons() if reason.rule} == set(structure_rules())


def test_naming_the_rules_imports_nothing_heavy() -> None:
    script = (
        "import sys\nfrom kgcheck.rules import structure_rules\nassert structure_rules()\n"
        "print({'duckdb', 'pyarrow', 'numpy', 'kgcheck.audit.curies', 'kgcheck.standards'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ran.stdout == "set()\n"


def test_a_rule_or_a_group_is_left_out(tmp_path: Path) -> None:
    def found(*without: str) -> list[str | None]:
        store = OF["shared_name"].store()
        done = audited(store, tmp_path / "l.sqlite", types=(CheckType.STRUCTURE,), without_rules=without)
        return [f.task.rule for f in done.findings]

    assert found() == ["shared_name"]
    assert found("shared_name") == found("names") == []
    assert found("duplicates") == ["shared_name"]
    with pytest.raises(ValueError, match="no rule or group of rules is called 'shared_nam'"):
        AuditScope(without_rules=("shared_nam",))


def test_an_audit_without_a_rule_says_so_and_is_compared_with_its_like(tmp_path: Path) -> None:
    def run(**options: Any) -> Run:
        return audited(OF["shared_name"].store(), tmp_path / "l.sqlite", types=(CheckType.STRUCTURE,), **options).run

    whole, first, second = run(), run(without_rules=("names",)), run(without_rules=("names",))

    assert run_before([second, first, whole], second) == first
    assert run_before([first, whole], first) is None
    assert scope_words(first.options) == ["structure rules but names"]
    # A run of a version that had no such option looked at every rule.
    earlier = whole.model_copy(update={"options": {k: v for k, v in whole.options.items() if k != "without_rules"}})
    later = whole.model_copy(update={"id": "later"})
    assert run_before([later, earlier], later) == earlier
    of_any_score = earlier.model_copy(update={"options": earlier.options | {"threshold": 0.0}})
    assert run_before([later, of_any_score], later) is None


def first_case(rule: str) -> RuleCase:
    return next(case for case in ALL_CASES if case.rule == rule)


def structure_of(case: RuleCase, ledger: Path) -> Audited:
    return audited(case.store(), ledger, types=(CheckType.STRUCTURE,), without_rules=("orphan_node",))


@pytest.mark.parametrize(("rule", "is_told"), [("domain_range", False), ("prefix_two_spellings", True)])
@pytest.mark.parametrize("fail_on", ["refuted", "insufficient", "new", "never"])
def test_a_remark_changes_no_exit_code(rule: str, is_told: bool, fail_on: str, tmp_path: Path) -> None:
    done = structure_of(first_case(rule), tmp_path / "l.sqlite")
    fails = is_told and fail_on in ("insufficient", "new")

    assert [finding.verdict.outcome for finding in done.findings] == [Outcome.INSUFFICIENT]
    if fail_on != "new":
        assert exit_code(done.tallies, fail_on) == int(fails)
        # Of what makes no finding, a tally is the case.
        assert junit(done.run, [], done.tallies, fail_on=fail_on).count("<failure") == int(fails)
    with Ledger(tmp_path / "l.sqlite") as ledger:
        assert diff_of(ledger, after=done.run).exit_code(fail_on) == int(fails)
        xml = render(ledger, done.run, "junit", compared=comparison_summary(ledger, done.run), fail_on=fail_on)
        found = json.loads(render(ledger, done.run, "sarif"))
    assert xml.count("<failure") == int(fails)
    assert xml.count("<skipped") == int(not fails)
    assert [(r["kind"], r["level"]) for r in found["runs"][0]["results"]] == [
        ("open", "none") if is_told else ("fail", "note")
    ]
    sarif_schema().validate(found)


def test_evidence_of_a_standard_cites_its_release_and_record(tmp_path: Path) -> None:
    def cited(rule: str) -> dict[str, Any]:
        (finding,) = structure_of(first_case(rule), tmp_path / f"{rule}.sqlite").findings
        (evidence,) = finding.verdict.evidence
        assert evidence.retrieved_at == standard(evidence.source).fetched
        return evidence.model_dump(include={"source", "release", "record", "url"})

    assert cited("invalid_local_id") == {
        "source": "bioregistry",
        "release": "0.15.6",
        "record": "mondo",
        "url": "https://bioregistry.io/mondo",
    }
    assert cited("domain_range")["url"] == "https://w3id.org/biolink/vocab/treats"
    # What the model has not, it has no address of.
    assert cited("unknown_category") | {"record": ""} == {
        "source": "biolink",
        "release": "4.4.6",
        "record": "",
        "url": "",
    }
    # And the tally names it as its source.
    tallies = structure_of(first_case("invalid_local_id"), tmp_path / "again.sqlite").tallies
    assert {tally.sources for tally in tallies} == {("bioregistry",)}


def test_many_ids_are_one_finding_for_each_prefix_and_label(tmp_path: Path) -> None:
    def ids(prefix: str, some: range, form: str) -> list[dict[str, str]]:
        return [{"id": f"{prefix}:{number:{form}}"} for number in some]

    nodes = {
        "biolink:Disease": [
            *ids("MONDO", range(5_000), "07d"),
            *ids("MONDO", range(30), "d"),
            *ids("HP", range(5_000), "07d"),
            *ids("HP", range(25), "d"),
        ],
        "biolink:Gene": [*ids("MONDO", range(30, 55), "d"), {"id": "OURS:1"}],
    }
    # The first unknown prefixes are told one by one, the rest together.
    nodes["biolink:Gene"] += [{"id": f"P{chr(number)}Q:1"} for number in range(ord("a"), ord("z"))]
    case = first_case("invalid_local_id")._replace(rows={"standards": ["bioregistry"], "nodes": nodes, "edges": {}})

    found = structure_of(case, tmp_path / "l.sqlite")

    invalid = [f for f in found.findings if f.task.rule == "invalid_local_id"]
    assert {(f.task.subject.label, f.task.subject.id, f.task.attribute) for f in invalid} == {
        ("biolink:Disease", "(all)", "mondo"),
        ("biolink:Disease", "(all)", "hp"),
        ("biolink:Gene", "(all)", "mondo"),
    }
    assert len({f.fingerprint for f in found.findings}) == len(found.findings)
    assert sum(t.count for t in found.tallies if t.reason.value == "invalid_local_id") == 80
    unknown = [f.task for f in found.findings if f.task.rule == "unknown_prefix"]
    assert len(unknown) == 21
    assert "6 prefixes more; 6 ids" in {str(task.value).partition(", e.g.")[0] for task in unknown}


@pytest.mark.slow
def test_the_example_package_is_installed_and_used(tmp_path: Path) -> None:
    package = shutil.copytree(ROOT / "examples" / "rules", tmp_path / "rules")
    cases = package / "gene_without_protein.toml"
    target = tmp_path / "site"
    install = "-m uv pip install --quiet --no-deps --no-build-isolation --target"
    subprocess.run([sys.executable, *install.split(), str(target), str(package)], check=True)
    hold = "import pathlib, sys; from tests.support.rule_cases import assert_as_stated, cases_in"
    hold += "; [assert_as_stated(case) for case in cases_in(pathlib.Path(sys.argv[1]))]"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(target), str(ROOT)))}

    subprocess.run([sys.executable, "-c", hold, str(cases)], env=environment, check=True, cwd=tmp_path)
    shown = subprocess.run(
        [sys.executable, "-m", "kgcheck", "rules", "show", "gene_without_protein"],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    assert shown.stdout.splitlines()[0].rstrip().split(maxsplit=1) == [
        "rule",
        "gene_without_protein: Gene without a protein",
    ]


def isolated(graph: RuleGraph, label: object) -> str:
    return f"SELECT id, NULL, NULL, 'too short' FROM {graph.nodes(label)} WHERE length(id) < 5"  # type: ignore[arg-type]


SHORT_ID = Rule(
    name="short_id",
    words="Identifier of few letters",
    meaning="an id of less than five letters",
    groups=("ids", "ours"),
    is_fault=False,
    bad="Gene TP53",
    good="Protein P04637",
    of_label=isolated,
)
GIVEN = SimpleNamespace(ours=SHORT_ID, several=[SHORT_ID], wrong=[3], taken=[structure_rules()["self_loop"]])


def bring(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Add an entry point of a package, as if it were installed."""
    point = EntryPoint(name, f"{__name__}:GIVEN.{name}", rules.ENTRY_POINTS)
    monkeypatch.setattr(EntryPoint, "load", lambda self: getattr(GIVEN, self.name, None) or LOAD(self))
    monkeypatch.setattr(rules, "entry_points", lambda group: [point])
    structure_rules.cache_clear()


LOAD = EntryPoint.load


@pytest.fixture(autouse=True)
def forgotten() -> object:
    yield
    structure_rules.cache_clear()


@pytest.mark.parametrize("name", ["ours", "several"])
def test_a_rule_of_another_package(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "short_id" not in {reason.value for reason in all_reasons()}
    bring(monkeypatch, name)

    done = audited(
        OF["self_loop"].store(), tmp_path / "l.sqlite", types=(CheckType.STRUCTURE,), without_rules=("edges",)
    )

    assert {(f.task.rule, f.task.subject.id, f.verdict.reason.words) for f in done.findings} == {
        ("short_id", "TP53", "Identifier of few letters"),
        ("short_id", "MDM2", "Identifier of few letters"),
    }
    assert rules_named(["ours"]) == {"short_id"}
    # Of a rule that is not installed any more the ledger still tells.
    monkeypatch.undo()
    structure_rules.cache_clear()
    assert kept_reason("structure", "short_id").words == "Rule that is not installed here: short id"


@pytest.mark.parametrize(
    ("name", "why"), [("wrong", "3 is no kgcheck.rules.Rule"), ("taken", "self_loop is a rule of kgcheck already")]
)
def test_what_a_package_brings_is_looked_at(name: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bring(monkeypatch, name)

    with pytest.raises(ConfigurationError, match="cannot be used: " + why):
        structure_rules()


@pytest.mark.parametrize("name", ["", "Has_Capitals", "two words", "a" * 41, "_x", "x;y"])
def test_a_name_that_is_none(name: str) -> None:
    with pytest.raises(ValueError, match="is no name of a rule"):
        Rule(name=name, words="", meaning="", groups=(), is_fault=False, bad="", good="")
