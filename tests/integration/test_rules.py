"""Structure rules: each by its cases, and the door by which other packages bring theirs."""

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
from kgcheck.errors import ConfigurationError
from kgcheck.ledger.comparisons import run_before
from kgcheck.ledger.ledger import Run
from kgcheck.model import CheckType, all_reasons, kept_reason
from kgcheck.options import AuditScope
from kgcheck.report.documents import scope_words
from kgcheck.rules import Rule, RuleGraph, rules_named, structure_rules
from tests.support import ROOT
from tests.support.audits import audited
from tests.support.rule_cases import CASES, RuleCase, assert_as_stated, cases_in

FILES = sorted(path for path in CASES.glob("*.toml") if path.stem != "graph")
ALL_CASES = [case for path in FILES for case in cases_in(path)]
OF = {name: next(case for case in ALL_CASES if case.rule == name) for name in ("shared_name", "self_loop")}


@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: f"{case.rule}: {case.name}")
def test_a_case_is_as_its_file_says(case: RuleCase) -> None:
    assert_as_stated(case)


def test_every_rule_has_cases_and_a_reason() -> None:
    assert {case.rule for case in ALL_CASES if case.finds} == set(structure_rules())
    assert {reason.value for reason in all_reasons() if reason.rule} == set(structure_rules())


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
