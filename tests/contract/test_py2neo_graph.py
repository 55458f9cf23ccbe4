"""A py2neo.Graph goes in wherever a store does."""

from pathlib import Path

import pytest
from py2neo import Graph

from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.store import edge_schema, node_schema
from kgcheck.model import Outcome
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
from tests.contract.stores import CKG, Official
from tests.support import ROOT
from tests.support.audits import core_demo
from tests.support.neo4j_fixtures import Neo4jTarget

QUESTION = "Which proteins is APOE translated into?"


@pytest.mark.slow
def test_the_graph_of_a_caller_is_audited_asked_and_checked(
    ready_neo4j: Neo4jTarget, graph: Graph, tmp_path: Path
) -> None:
    with EmbeddedStore(core_demo().store, CKG) as held, Official(ready_neo4j)(create=True) as server:
        server.prepare()
        for label in CKG.labels:
            for rows in held.scan_nodes(label):
                server.add_nodes(label, rows.select(node_schema(label).names))
        for pattern in CKG.relations:
            for rows in held.scan_edges(pattern):
                server.add_edges(pattern, rows.select(edge_schema(pattern).names))
        counts = held.counts()

    settings = Settings(home=tmp_path)
    ckg = ROOT / "loaders/ckg"
    with Workspace(store=graph, profile=ckg, reference=core_demo().reference, settings=settings) as workspace:
        there = workspace.audit(types=["existence"])
        answer = workspace.ask(QUESTION).answer
        check = workspace.check("existence Gene APOE")
    with Workspace(store=core_demo().store, reference=core_demo().reference, settings=settings) as workspace:
        here = workspace.audit(types=["existence"])
        expected = workspace.ask(QUESTION).answer

    assert there.run.store.startswith("py2neo:")
    assert there.run.nodes == counts.nodes
    assert [f.fingerprint for f in there.findings] == [f.fingerprint for f in here.findings]
    assert there.tallies == here.tallies
    assert answer == expected
    assert answer.found
    assert check.finding.verdict.outcome is Outcome.SUPPORTED
    # It is its owner's, and still open.
    assert graph.evaluate("MATCH (n:Gene {id: 'APOE'}) RETURN count(n)") == 1
