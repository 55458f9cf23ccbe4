"""Cases of structure rules: small graphs that break a rule once, or pass, each in a TOML file beside graph.toml.

A case replaces rows of that graph, by label or pattern: ``nodes``, ``edges``, ``stray``, and ``before`` for the graph
of the audit before. ``pins`` are held against it. ``finds`` is the one hit, ``also`` the names of other rules that the
graph breaks.
A case that names ``standards`` is a graph of its own: its profile asks for these, and has the labels and patterns that
its rows are of; that a node has no edge is no hit there.
"""

import tomllib
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from kgcheck import clock
from kgcheck.audit.graph_copy import GraphCopy
from kgcheck.audit.structure import AuditedGraph, StructureRules, findings, folded
from kgcheck.graph.store import StrayEdge
from kgcheck.ledger.ledger import Run
from kgcheck.model import CheckType, Finding
from kgcheck.options import AuditOptions
from kgcheck.pins import make_pin
from kgcheck.profile.schema import Schema
from kgcheck.rules import Rule, RuleRepair, structure_rules
from tests.support import ROOT
from tests.support.audits import MemoryStore

Rows = dict[str, list[dict[str, Any]]]
CASES = ROOT / "tests" / "rules"


class RuleCase(NamedTuple):
    """One graph, and the hit that there is in it."""

    rule: str
    name: str
    rows: Mapping[str, Any]
    finds: Mapping[str, str] | None

    def graph(self) -> tuple[Rows, Rows]:
        if "standards" in self.rows:
            return self.rows.get("nodes", {}), self.rows.get("edges", {})
        return _merged(self.rows)

    def store(self) -> MemoryStore:
        nodes, edges = self.graph()
        store = MemoryStore(nodes, edges, [StrayEdge(**edge) for edge in self.rows.get("stray", ())])
        if "standards" in self.rows:
            store.schema = schema_of(nodes, edges, self.rows["standards"])
        return store


@cache
def _clean() -> dict[str, Any]:
    return tomllib.loads((CASES / "graph.toml").read_text(encoding="utf-8"))


def _merged(rows: Mapping[str, Any]) -> tuple[Rows, Rows]:
    nodes, edges = ({**_clean()[part], **rows.get(part, {})} for part in ("nodes", "edges"))
    return nodes, edges


def schema_of(nodes: Rows, edges: Rows, standards: Sequence[str]) -> Schema:
    """A profile of the labels, patterns and properties of some rows."""

    def texts(rows: list[dict[str, Any]]) -> dict[str, Any]:
        keys = {key for row in rows for key in row} - {"id", "head", "tail"}
        return {"properties": {key: {"type": "string"} for key in sorted(keys)}}

    form = {"meaning": "", "id_pattern": ".*", "id_example": "MONDO:0005148"}
    ends = [dict(zip(("head", "type", "tail"), name.split(), strict=True)) for name in edges]
    # Ends without nodes are labels, too, as in a draft; and what a loop means is not known.
    missing: Rows = {end[side]: [] for end in ends for side in ("head", "tail")}
    labels = [{"name": name} | form | texts(rows) for name, rows in (missing | nodes).items()]
    loops = [{"loops": "unknown"} if end["head"] == end["tail"] else {} for end in ends]
    relations = [a | b | texts(rows) for a, b, rows in zip(ends, loops, edges.values(), strict=True)]
    profile = {"name": "case", "version": 1, "title": "a case", "standards": standards}
    return Schema.model_validate({"profile": profile, "labels": labels, "relations": relations})


def cases_in(path: Path) -> list[RuleCase]:
    """The cases of a file, whose name is that of the rule."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    cases = [(case, case.pop("finds")) for case in found.get("breaks", ())]
    cases += [(case, None) for case in found.get("passes", ())]
    return [RuleCase(path.stem, case.pop("name"), case, finds) for case, finds in cases]


def hits(case: RuleCase, *without: str) -> list[Finding]:
    """What the rules find in the graph of a case, all but those left out."""
    store = case.store()
    without = (*without, "orphan_node") if "standards" in case.rows else without
    run = Run(id="1", started=clock.now(), store="", profile="", **_counts(case.graph()))
    before = run.model_copy(update=_counts(_merged(case.rows["before"]))) if "before" in case.rows else None
    with closing(duckdb.connect()) as db:
        pins = [make_pin(pin) for pin in case.rows.get("pins", ())]
        graph = AuditedGraph(db, GraphCopy(db, store), store, run, before, pins)
        rules = StructureRules(db, graph, AuditOptions(types=(CheckType.STRUCTURE,), without_rules=without))
        faults = [fault for part in (*graph.labels, *graph.patterns, None) for fault in rules.faults(part)]
        return list(findings(folded(faults, rules.folds), run.id, clock.now()))


def _counts(graph: tuple[Rows, Rows]) -> dict[str, dict[str, int]]:
    nodes, edges = ({name: len(rows) for name, rows in part.items()} for part in graph)
    return {"nodes": nodes, "edges": edges}


def assert_as_stated(case: RuleCase) -> None:
    """Hold the findings of a case against what it says, and those of the repaired graph against none."""
    found = hits(case)
    if case.finds is None:
        assert found == []
        return
    rule = structure_rules()[case.rule]
    (finding,) = (f for f in found if f.task.rule == rule.name)
    assert {f.task.rule for f in found} == {rule.name, *case.rows.get("also", ())}
    task = finding.task
    stated = {"head": task.subject.id, "relation": task.relation, "tail": task.object and task.object.id}
    assert {k: v for k, v in (stated | {"detail": task.value or ""}).items() if v is not None} == case.finds
    assert finding.verdict.outcome.value == ("refuted" if rule.is_fault else "insufficient")
    assert (finding.change is not None) == rule.is_fault
    if finding.change and (repaired := _repaired(case, rule, finding)):
        assert hits(repaired, *structure_rules().keys() - {rule.name}) == []


def _repaired(case: RuleCase, rule: Rule, finding: Finding) -> RuleCase | None:
    """The case with its repair made, where the rule says what that is."""
    nodes, edges = ({name: [dict(row) for row in rows] for name, rows in part.items()} for part in case.graph())
    task, change = finding.task, finding.change
    assert change
    match rule.repair:
        case RuleRepair.REVIEW:
            return None
        case RuleRepair.SET_VALUE:
            for row in nodes[task.subject.label]:
                if row["id"] == task.subject.id:
                    row[str(task.attribute)] = type(row[str(task.attribute)])(change.to)
        case _:
            assert task.object
            pattern = f"{task.subject.label} {task.relation} {task.object.label}"
            same = [r for r in edges[pattern] if (r["head"], r["tail"]) == (task.subject.id, task.object.id)]
            for row in same[1:] if rule.repair is RuleRepair.RETIRE_DUPLICATES else same:
                edges[pattern].remove(row)
    return case._replace(rows={"nodes": nodes, "edges": edges}, finds=None)
