"""Statements that a model writes: only plainly reading ones pass."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.agents.toolbox import CypherResult, Toolbox
from kgcheck.agents.transcript import Role
from kgcheck.errors import UnknownName, UsageError
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.reading import check_reading
from kgcheck.graph.schema import load_schema
from tests.support.audits import demo
from tests.unit.test_llm_brain import Source

CKG = load_schema()


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (p:Protein {id: 'P04637'}) RETURN p.name",
        "match (g:Gene)-[r:TRANSLATED_INTO]->(p:Protein) where g.id = 'A' return p.id, count(*) order by p.id limit 5;",
        "MATCH (p:Protein)-[:ACTS_ON|CURATED_INTERACTS_WITH]-(q:`Protein`) RETURN q.id",
        "MATCH (d:Disease) WHERE d.name CONTAINS 'create or delete; $this' RETURN d.id // SET aside",
        "MATCH (p:Protein) WHERE p.created IS NULL RETURN p.id AS start_set",
        "MATCH (a:Disease)-[:HAS_PARENT*1..3]->(b:Disease) RETURN b.id",
    ],
)
def test_reading_statements_pass(text: str) -> None:
    check_reading(text, CKG)


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (p:Protein) DETACH DELETE p RETURN 1",
        "MATCH (p:Protein) SET p.name = 'x' RETURN p",
        "match (p:Protein) remove p.name return p",
        "MATCH (p:Protein) CREATE (:Gene {id: 'X'}) RETURN p",
        "MATCH (p:Protein) MERGE (p)-[:ACTS_ON]->(p) RETURN p",
        "LOAD CSV FROM 'file:///etc/passwd' AS l MATCH (p:Protein) RETURN l",
        "LOAD FROM '/etc/passwd' RETURN *",
        "COPY Protein TO '/tmp/x.csv'",
        "CALL apoc.load.json('http://x') YIELD value MATCH (p:Protein) RETURN value",
        "MATCH (p:Protein) CALL { MATCH (q:Gene) DELETE q } RETURN p",
        "MATCH (p:Protein) RETURN apoc.text.clean(p.name)",
        "MATCH (p:Protein) RETURN p; MATCH (q:Gene) RETURN q",
        "MATCH (p:Protein {id: $id}) RETURN p",
        "RETURN 1",
        "",
        "DROP TABLE Protein",
        "MATCH (p:Protein) /* */ DELETE p RETURN 'DELETE'",
        "ATTACH 'x' AS y (dbtype duckdb)",
        "PROFILE MATCH (p:Protein) RETURN p",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        check_reading(text, CKG)


@pytest.mark.parametrize("text", ["MATCH (p:Protien) RETURN p", "MATCH (p:Protein)-[:EATS]->(q:Gene) RETURN q"])
def test_names_that_the_schema_does_not_have(text: str) -> None:
    with pytest.raises(UnknownName):
        check_reading(text, CKG)


@given(st.text(max_size=100))
def test_no_text_breaks_the_guard(text: str) -> None:
    try:
        check_reading(text, CKG)
    except UsageError:
        return
    assert "match" in text.lower()


def test_the_tool_runs_it_over_the_store_and_cuts_it_off() -> None:
    def ask(text: str) -> CypherResult:
        found = toolbox.call(Role.KG, "kg_cypher", {"query": text})
        assert isinstance(found, CypherResult)
        return found

    with EmbeddedStore(demo().store, CKG) as store:
        toolbox = Toolbox(store, Source())
        one = ask("MATCH (g:Gene {id: 'MGEA5'})-[:TRANSLATED_INTO]->(p:Protein) RETURN p.id AS id, p")
        many = ask("MATCH (p:Protein) RETURN p.id")
        with pytest.raises(UsageError, match="refused a query"):
            ask("MATCH (p:Protein RETURN p")
        with pytest.raises(UsageError, match="other columns"):
            ask("MATCH (p:Protein) RETURN p.mass")

    assert one.rows[0]["id"] == "O60502"
    assert one.rows[0]["p"]["id"] == "O60502"
    assert (len(many.rows), many.cut_off) == (100, True)
