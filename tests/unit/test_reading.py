"""Statements that a model writes: what is sent is written anew from their tree, and is nothing but plainly reading."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck.agents.tool_types import CypherResult
from kgcheck.agents.toolbox import Toolbox
from kgcheck.agents.transcript import AgentRole
from kgcheck.errors import UnknownName, UsageError
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.reading import read_statement
from kgcheck.graph.store import Reading
from kgcheck.profile.schema import load_schema
from tests.support import ROOT, examples, quick_of
from tests.support.attacks import HONEST, attacks
from tests.support.audits import demo
from tests.unit.test_llm_brain import Source

CKG = load_schema()

# Written down a second time, without a look at the code: what a statement that is sent may consist of.
WORDS = set(
    "AND AS ASC ASCENDING BY CASE CONTAINS DESC DESCENDING DISTINCT ELSE END ENDS FALSE IN IS LIMIT MATCH"
    " NOT NULL OPTIONAL OR ORDER RETURN SKIP STARTS THEN TRUE UNWIND WHEN WHERE WITH XOR"
    " count collect sum avg min max size coalesce toLower toUpper trim ltrim rtrim"
    " left right replace reverse abs ceil floor sqrt sign length nodes"
    " relationships type labels label".split()
)
TOKEN = re.compile(r" +|(`[A-Za-z][A-Za-z0-9_]*`)|\$p\d+|\d+(?:\.\d+)?|([A-Za-z]+)|[][(){},.:|=<>+\-*/%^]")


def assert_plain(reading: Reading) -> None:
    """The text is made of known words, signs, numbers, quoted names and parameters, and of nothing else."""
    at = 0
    text = reading.text
    while at < len(text):
        found = TOKEN.match(text, at)
        assert found, text[at:]
        assert found[2] is None or found[2] in WORDS, found[2]
        at = found.end()
    assert not set(re.findall("//|/\\*|;|\\\\|'|\"|\n", text)), text
    names = {name[1:-1] for name in re.findall("`[^`]*`", text)}
    assert set(re.findall(r"\$(\w+)", text)) == set(reading.parameters)
    labels = re.findall(r"\((?:`\w+`)?: `(\w+)`", text)
    assert set(labels) <= set(CKG.label_names) <= names | set(CKG.label_names)


@pytest.mark.parametrize("text", [text for text, _ in HONEST])
@pytest.mark.parametrize("backend", ["embedded", "neo4j"])
def test_reading_statements_pass(text: str, backend: str) -> None:
    assert_plain(read_statement(text, CKG, backend))


def test_what_is_sent() -> None:
    text = (
        "match (p:Protein {id: 'a\\u0027; DROP TABLE Protein //'})-[r:ACTS_ON]->(q) where r.score >= .50"
        " return q.id, type(r)"
    )

    there, here = (read_statement(text, CKG, backend) for backend in ("neo4j", "embedded"))

    assert there.text == (
        "MATCH (`p`: `Protein` {`id` : $p0}) -[`r`: `ACTS_ON`]-> (`q`) WHERE `r`.`score` >= 0.5"
        " RETURN `q`.`id`, type(`r`)"
    )
    assert here.text == there.text.replace("type(`r`)", "label(`r`)")
    assert here.parameters == {"p0": "a'; DROP TABLE Protein //"}
    assert here.columns == ("q.id", "type(r)")


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
        "MATCH (p:Protein) CALL db.labels() YIELD label RETURN label",
        "MATCH (p:Protein) RETURN apoc.text.clean(p.name)",
        "MATCH (p:Protein) RETURN range(1, 1000000000)",
        "MATCH (p:Protein) RETURN p; MATCH (q:Gene) RETURN q",
        "MATCH (p:Protein) RETURN p UNION MATCH (p:Gene) RETURN p",
        "MATCH (p:Protein) RETURN p.id UNION MATCH (p:Gene) RETURN p.id, p.name, collect(p.id)",
        "MATCH (p:Protein) WHERE EXISTS { MATCH (p)-[:ACTS_ON]->(q:Protein) RETURN q.id, collect(p.id) } RETURN p.id",
        "MATCH (p:Protein) RETURN toLower((p))",
        "MATCH (p:Protein) RETURN size((p)-[:ACTS_ON]->(:Protein))",
        "MATCH toLower(trim(p)) RETURN p",
        "MATCH (p:Protein {id: $id}) RETURN p",
        "MATCH (p:Protein $all) RETURN p",
        "RETURN 1",
        "",
        "DROP TABLE Protein",
        "MATCH (p:Protein) /* */ DELETE p RETURN 'DELETE'",
        "ATTACH 'x' AS y (dbtype duckdb)",
        "PROFILE MATCH (p:Protein) RETURN p",
        "EXPLAIN MATCH (p:Protein) RETURN p",
        "MATCH (`a//b`:Protein) RETURN `a//b`.id; LOAD FROM '/etc/passwd' RETURN *",
        "MATCH (`'`:Protein) RETURN 1 AS `'`; COPY (MATCH (p:Protein) RETURN p) TO 'file'",
        "MATCH (p:Protein) RETURN p.id AS `a b`",
        "MATCH (p:Protein) RETURN p.id AS é",
        "MATCH (p:Protein) RETURN *",
        "MATCH (p:Protein) RETURN p.id, p.id",
        "MATCH (n) RETURN n",
        "MATCH (p:Protein)-[r]-(b) RETURN b",
        "MATCH (p:Protein:Gene) RETURN p",
        "MATCH (p:Protein) WHERE p:Gene RETURN p",
        "MATCH (p:Protein) RETURN p.synonyms[0]",
        "MATCH (p:Protein) RETURN {a: p.id} AS m",
        "MATCH (p:Protein)<-[:ACTS_ON]->(q:Protein) RETURN q",
        "MATCH (a:Disease)-[:HAS_PARENT*1..99]->(b:Disease) RETURN b",
        "MATCH w = shortestPath((a:Protein)-[:ACTS_ON*]-(b:Protein)) RETURN w",
        "MATCH (p:Protein) WHERE p.id = 'a\\q' RETURN p",
        "MATCH (p:Protein) WHERE p.id = '\\uD800' RETURN p",
        "MATCH (p:Protein) WHERE p.id = '\\u0000' RETURN p",
        "MATCH (p:Protein) WHERE p.id > 99999999999999999999 RETURN p",
        "MATCH (p:Protein) WHERE " + "(" * 40 + "1" + ")" * 40 + " = 1 RETURN p",
        "MATCH (p:Protein) RETURN " + "CASE WHEN " * 300 + "1",
        "MATCH (p:Protein) RETURN p.id" + " " * 5000,
        "MATCH (p:Protein) WHERE EXISTS { MATCH (p)-[:ACTS_ON]->(:Protein) } RETURN p",
        "MATCH (p:Protein) RETURN [x IN p.synonyms | x] AS xs",
        "MATCH (p:Protein) WHERE any(x IN p.synonyms WHERE x = 'p53') RETURN p.id",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_statement(text, CKG, "embedded")


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (p:Protien) RETURN p",
        "MATCH (p:Protein)-[:EATS]->(q:Gene) RETURN q",
        "MATCH (p:Protein) RETURN p.mass",
        "MATCH (p:Protein {mass: 1}) RETURN p",
        "MATCH (p:KgcheckStore) RETURN p",
        "MATCH (p:Protein) RETURN substring(p.id, 1)",
    ],
)
def test_names_that_the_schema_does_not_have(text: str) -> None:
    with pytest.raises(UnknownName):
        read_statement(text, CKG, "embedded")


def assert_refused_or_plain(text: str) -> None:
    for backend in ("embedded", "neo4j"):
        try:
            reading = read_statement(text, CKG, backend)
        except UsageError:
            continue
        assert_plain(reading)


@given(st.text(max_size=100))
def test_no_text_breaks_the_guard(text: str) -> None:
    assert_refused_or_plain(text)


@given(
    st.lists(
        st.sampled_from([*re.findall(r"\w+|\S", " ".join(t for t, _ in HONEST)), "`", "'", "\\", "//"]), max_size=40
    )
)
@settings(max_examples=examples(200))
def test_no_shuffled_statement_breaks_the_guard(words: list[str]) -> None:
    assert_refused_or_plain("MATCH (p:Protein) " + " ".join(words) + " RETURN p.id")


@given(attacks())
@settings(max_examples=examples(150))
def test_attacks_are_refused_or_written_anew(attack: str) -> None:
    assert_refused_or_plain(attack)


@pytest.mark.slow
@given(attacks())
@settings(max_examples=examples(2000))
def test_two_thousand_attacks_are_refused_or_written_anew(attack: str) -> None:
    assert_refused_or_plain(attack)


@given(st.text(max_size=20))
def test_a_text_is_a_value_whatever_it_holds(value: str) -> None:
    escaped = "".join(f"\\U{ord(c):08X}" for c in value)
    text = f"MATCH (p:Protein) WHERE p.id = '{escaped}' RETURN p.id"
    if "\0" in value:
        with pytest.raises(UsageError):
            read_statement(text, CKG, "embedded")
        return
    reading = read_statement(text, CKG, "embedded")
    assert reading.parameters == {"p0": value}
    assert reading.text == "MATCH (`p`: `Protein`) WHERE `p`.`id` = $p0 RETURN `p`.`id`"


def test_the_tool_runs_it_over_the_store_and_cuts_it_off() -> None:
    def ask(text: str) -> CypherResult:
        found = toolbox.call(AgentRole.KG, "cypher", {"query": text})
        assert isinstance(found, CypherResult)
        return found

    with EmbeddedStore(demo().store, CKG) as store:
        toolbox = Toolbox(store, Source())
        one = ask("MATCH (g:Gene {id: 'MGEA5'})-[:TRANSLATED_INTO]->(p:Protein) RETURN p.id AS id, p")
        many = ask("MATCH (p:Protein) RETURN p.id")
        with pytest.raises(UsageError, match="cannot be read"):
            ask("MATCH (p:Protein RETURN p")
        with pytest.raises(UsageError, match="other columns"):
            ask("MATCH (p:Protein) RETURN p.score")

    assert one.rows[0]["id"] == "O60502"
    assert one.rows[0]["p"]["id"] == "O60502"
    assert (len(many.rows), many.cut_off) == (100, True)


def test_honest_questions_over_the_embedded_store() -> None:
    with EmbeddedStore(demo().store, CKG) as store:
        for text, rows in HONEST:
            found = [list(row.values()) for row in store.query(read_statement(text, CKG, "embedded"), 100, 10.0)]
            assert rows is None or found == rows, text


@pytest.mark.parametrize("backend", quick_of(["neo4j", "embedded"], "embedded"))
def test_what_users_ask_is_not_silenced(backend: str) -> None:
    """The other figure of a gate: of these statements 116 were accepted before values had bounds, and are now."""
    lines = (ROOT / "tests/support/users_statements.cypher").read_text(encoding="utf-8").splitlines()[1:]

    assert len(lines) == 150
    assert sum(is_accepted(line, backend) for line in lines) == 116


def is_accepted(text: str, backend: str) -> bool:
    try:
        assert_plain(read_statement(text, CKG, backend))
    except (UsageError, UnknownName):
        return False
    return True


def test_the_tool_says_what_it_takes() -> None:
    with EmbeddedStore(demo().store, CKG) as store:
        tools = {tool.name: tool for tool in Toolbox(store, Source()).tools(AgentRole.KG)}
    assert "OPTIONAL MATCH" in tools["cypher"].purpose
