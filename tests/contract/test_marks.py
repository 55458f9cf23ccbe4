"""The marks of curation in the stores: in new ones and those made before, and what no reader shows because of them."""

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import ladybug
import pytest

from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.marks import MARKS, RETIRED
from kgcheck.graph.reading import read_statement
from kgcheck.graph.server import CypherServerStore
from kgcheck.graph.store import GraphStore, Properties
from kgcheck.model import Ref
from tests.contract.stores import (
    ACTS_ON,
    CKG,
    DISEASE,
    HAS_PARENT,
    IN_DISEASE,
    PROTEIN,
    add_nodes,
    all_edges,
    all_nodes,
    edges_table,
    in_order,
    nodes_table,
    triple,
)


def columns(connection: ladybug.Connection) -> dict[str, set[str]]:
    def rows(text: str) -> list[list[str]]:
        result = connection.execute(text)
        assert isinstance(result, ladybug.QueryResult)
        return [list(row) for row in result.get_all()]

    tables = [name for name, _ in rows("CALL show_tables() RETURN name, type")]
    return {table: {name for (name,) in rows(f"CALL table_info('{table}') RETURN name")} for table in tables}


@pytest.fixture
def made_before(tmp_path: Path) -> Path:
    """A store as it was made before there were marks."""
    path = tmp_path / "before.lbdb"
    with EmbeddedStore(path, CKG, create=True) as store:
        store.prepare()
        add_nodes(store, PROTEIN, "P1")
    with ladybug.Database(str(path)) as database, ladybug.Connection(database) as connection:
        for table, names in columns(connection).items():
            for mark in names & set(MARKS):
                connection.execute(f"ALTER TABLE `{table}` DROP `{mark}`")
    return path


def test_a_store_made_before_there_were_marks_is_read_as_it_is_and_gets_them_when_it_is_written_to(
    made_before: Path,
) -> None:
    with EmbeddedStore(made_before, CKG) as store:
        assert store.node(Ref(label="Protein", id="P1")) == {"id": "P1"}
        assert all_nodes(store, PROTEIN) == [{"id": "P1"}]
        assert store.counts().total_nodes == 1
    with EmbeddedStore(made_before, CKG, create=True) as store:
        assert all_nodes(store, PROTEIN) == [{"id": "P1"}]
    with ladybug.Database(str(made_before), read_only=True) as database, ladybug.Connection(database) as connection:
        marked = {table for table, names in columns(connection).items() if set(MARKS) <= names}
    assert marked == {*CKG.label_names, *CKG.relation_types}


@pytest.mark.slow
def test_marks_are_no_unknown_properties(made_before: Path) -> None:
    with EmbeddedStore(made_before, CKG, create=True) as store:
        store._write("MATCH (n:Protein) SET n.kgcheck_changed = 'f', n.kgcheck_retired = 'f'", {})
        assert store.unknown() == {}


# --- what is retired does not exist to a reader: the same graph, from which it was deleted, is the oracle ---

GENE = CKG.label("Gene")
TRANSLATED = CKG.pattern("Gene", "TRANSLATED_INTO", "Protein")
LABELS, PATTERNS = (PROTEIN, DISEASE, GENE), (ACTS_ON, IN_DISEASE, HAS_PARENT, TRANSLATED)
IDS = {
    "Protein": [f"P{i:05d}" for i in range(10)],
    "Disease": [f"DOID:{i}" for i in range(9)],
    "Gene": [f"G{i}" for i in range(6)],
}
Stated = dict[str, list[tuple[str, str]]]

STATEMENTS = """
MATCH (p:Protein) RETURN count(*) AS n, count(DISTINCT p.name) AS m
MATCH (p:Protein) RETURN p
MATCH (p:Protein {id: 'P00003'}) RETURN p.name
MATCH (p:Protein) WHERE p.name = 'n1' OR p.name = 'n2' RETURN p.id
MATCH (p:Protein)-[r:ACTS_ON]->(q:Protein) RETURN p.id, q.id, r.score, r
MATCH (p:Protein)-[:ACTS_ON]-(q:Protein) RETURN p.id, q.id
MATCH (p:Protein)<-[:TRANSLATED_INTO]-(:Gene) RETURN p.id
MATCH (p:Protein)-->(d:Disease) RETURN p.id, d.id
MATCH (p:Protein)-[:ACTS_ON|:ASSOCIATED_WITH]->(x) RETURN p.id, x.id
MATCH (p:Protein), (d:Disease) WHERE p.name = d.name RETURN p.id, d.id
MATCH (p:Protein) WHERE NOT (p)-[:ACTS_ON]->(:Protein) RETURN p.id
MATCH (p:Protein) WHERE (p)-[:ACTS_ON]->() AND (p)<-[:TRANSLATED_INTO]-() RETURN p.id
MATCH (p:Protein) WHERE p.name = 'n3' OR NOT (p)--(:Disease) RETURN p.id
MATCH (p:Protein) WHERE (p)-[:ACTS_ON]->(:Protein)-[:ASSOCIATED_WITH]->(:Disease) RETURN p.id
MATCH (d:Disease) WHERE NOT (d)-[:HAS_PARENT*1..2]->(:Disease {id: 'DOID:0'}) RETURN d.id
MATCH (p:Protein) OPTIONAL MATCH (p)-[r:ASSOCIATED_WITH]->(d:Disease) RETURN p.id, r.score, d.id
MATCH (p:Protein) OPTIONAL MATCH (p)-[:ASSOCIATED_WITH]->(d:Disease) WHERE d.name = 'n1' RETURN p.id, count(d) AS n
MATCH (p:Protein)-[:ACTS_ON]->(q) WITH p, count(q) AS n WHERE n >= 2 RETURN p.id, n
MATCH (p:Protein)-[:ACTS_ON]->(q:Protein) WITH DISTINCT * RETURN p.id, q.id
MATCH (p:Protein)-[:ACTS_ON]->(q:Protein) WITH *, p.id AS i MATCH (q)<-[:TRANSLATED_INTO]-(g:Gene) RETURN i, g.id
MATCH (p:Protein) WITH p ORDER BY p.id LIMIT 5 MATCH (p)-[:ACTS_ON]->(q:Protein) RETURN p.id, q.id
MATCH (p:Protein) WITH collect(p) AS ps UNWIND ps AS p MATCH (p)-[:ACTS_ON]->(q:Protein) RETURN p.id, q.id
MATCH (a:Disease)-[:HAS_PARENT*1..3]->(b:Disease) RETURN a.id, b.id
MATCH (a:Disease)<-[:HAS_PARENT*2..3]-(b) RETURN a.id, b.id
MATCH (a:Disease)-[:HAS_PARENT*2]-(b:Disease) RETURN DISTINCT a.id, b.id
MATCH w = (a:Disease)-[:HAS_PARENT*1..3]->(b:Disease) RETURN length(w), a.id, b.id
MATCH w = (:Gene)-[:TRANSLATED_INTO]->(:Protein)-[:ACTS_ON]->(:Protein) RETURN nodes(w), relationships(w), w
MATCH (p:Protein)-[:ASSOCIATED_WITH]->(a:Disease)-[:HAS_PARENT*1..2]->(b:Disease) RETURN p.id, b.id
MATCH (g:Gene)-[r]-(p:Protein) RETURN type(r), g.id, p.id
MATCH (p:Protein)-[r:ACTS_ON]->(q:Protein) RETURN max(r.score), min(r.score), collect(q.id)
MATCH (p:Protein) RETURN CASE WHEN p.name IS NULL THEN 'none' ELSE p.name END AS called, count(*) AS n
""".strip().splitlines()


def fill(store: GraphStore, chance: random.Random) -> None:
    for label in LABELS:
        named = [{"id": i, "name": chance.choice(["n1", "n2", "n3", None])} for i in IDS[label.name]]
        store.add_nodes(label, nodes_table(label, *named))
    for pattern in PATTERNS:
        pairs = [(chance.choice(IDS[pattern.head]), chance.choice(IDS[pattern.tail])) for _ in range(24)]
        scored = "score" in pattern.properties
        rows: list[Properties] = [
            {"head": h, "tail": t} | ({"score": chance.randrange(4) / 4} if scored else {}) for h, t in pairs
        ]
        # Parallel edges, of which one may be retired and the other not, but none that cannot be told apart.
        store.add_edges(pattern, edges_table(pattern, *{repr(row): row for row in rows}.values()))


def run(store: GraphStore, statement: str) -> None:
    """Write what no method writes."""
    assert isinstance(store, EmbeddedStore | CypherServerStore)
    store._write(statement, {})


def retire(store: GraphStore, chance: random.Random) -> None:
    for label in LABELS:
        for i in chance.sample(IDS[label.name], 2):
            run(store, f"MATCH (n:`{label.name}` {{id: '{i}'}}) SET n.{RETIRED} = 'f1', n.kgcheck_retired_at = 'then'")
    for pattern in PATTERNS:
        edges = all_edges(store, pattern)
        for edge in chance.sample(edges, 6):
            score = f" AND r.score = {edge['score']}" if "score" in edge else ""
            ends = f"(a:`{pattern.head}` {{id: '{edge['head']}'}})-[r:`{pattern.type}`]->(b:`{pattern.tail}`)"
            run(store, f"MATCH {ends} WHERE b.id = '{edge['tail']}'{score} SET r.{RETIRED} = 'f2'")
    run(store, f"MATCH (n:Protein) WHERE n.id > 'P00006' AND n.{RETIRED} IS NULL SET n.kgcheck_changed = 'f3'")


def delete_retired(store: GraphStore) -> None:
    for pattern in PATTERNS:
        ends = f"(:`{pattern.head}`)-[r:`{pattern.type}`]->(:`{pattern.tail}`)"
        run(store, f"MATCH {ends} WHERE r.{RETIRED} IS NOT NULL DELETE r")
    for label in LABELS:
        run(store, f"MATCH (n:`{label.name}`) WHERE n.{RETIRED} IS NOT NULL DETACH DELETE n")


def stated(store: GraphStore) -> Stated:
    """The pairs of nodes that edges join: to ask for all others, too, is most of the time and shows nothing."""
    return {str(pattern): sorted({(e["head"], e["tail"]) for e in all_edges(store, pattern)}) for pattern in PATTERNS}


def everything_read(store: GraphStore, pairs: Stated) -> dict[str, Any]:
    """What every reading method gives, but for statements."""
    found: dict[str, Any] = {"counts": store.counts(), "stray": store.stray_edges(9), "unknown": store.unknown()}
    for label in LABELS:
        ids = IDS[label.name]
        found[f"scan {label.name}"] = all_nodes(store, label)
        found[f"nodes {label.name}"] = store.nodes(label, ids)
        found[f"node {label.name}"] = [store.node(Ref(label=label.name, id=i)) for i in ids]
    for pattern in PATTERNS:
        heads, tails = IDS[pattern.head], IDS[pattern.tail]
        found[f"scan {pattern}"] = all_edges(store, pattern)
        found[f"edges {pattern}"] = [in_order(store.edges(triple(h, pattern, t))) for h, t in pairs[str(pattern)]]
        for direction, ids in (("out", heads), ("in", tails)):
            of = pattern.head if direction == "out" else pattern.tail
            found[f"{direction} {pattern}"] = [
                store.neighbours(Ref(label=of, id=i), pattern, direction, 9)  # type: ignore[arg-type]
                for i in ids
            ]
            # Few nodes and many are asked for in two ways.
            for times in (1, 12):
                hops = store.hops(ids * times, pattern, direction)  # type: ignore[arg-type]
                found[f"{times} hops {direction} {pattern}"] = sorted(map(repr, hops))
    return found


def rows_read(store: GraphStore, statements: Iterable[str] = STATEMENTS) -> dict[str, Any]:
    if store.backend == "py2neo":
        # Statements from outside are not run over it.
        return {}
    return {text: unordered(store.query(read_statement(text, CKG, store.backend), 5_000, 30.0)) for text in statements}


def unordered(value: Any) -> Any:
    """Rows and collected lists without their order, and without what one of two drivers shows as null."""
    match value:
        case dict():
            return {k: unordered(v) for k, v in value.items() if v is not None}
        case list() | tuple():
            return sorted(map(unordered, value), key=repr)
        case _:
            return value


@pytest.mark.slow
@pytest.mark.parametrize("opener", ["embedded", "neo4j"], indirect=True)
def test_what_is_retired_does_not_exist_to_any_reader(opener: Callable[..., GraphStore]) -> None:
    chance = random.Random(3)  # noqa: S311 the same graph each time
    with opener(create=True) as store:
        store.prepare()
        fill(store, chance)
    with opener() as store:
        pairs = stated(store)
        whole = everything_read(store, pairs), rows_read(store)
    with opener(create=True) as store:
        retire(store, chance)
        while_open_for_writing = everything_read(store, pairs)
    with opener() as store:
        retired = everything_read(store, pairs), rows_read(store)
    with opener(with_retired=True) as store:
        shown = everything_read(store, pairs), rows_read(store, STATEMENTS[:5])
    with opener(create=True) as store:
        delete_retired(store)
    with opener() as store:
        deleted = everything_read(store, pairs), rows_read(store)

    for of_retired, of_deleted in zip((*retired, while_open_for_writing), (*deleted, deleted[0]), strict=True):
        for reading, expected in of_deleted.items():
            assert of_retired[reading] == expected, reading
    for of_shown, of_whole in zip(shown, whole, strict=True):
        assert of_shown == {reading: of_whole[reading] for reading in of_shown}
    assert all(of_retired != of_whole for of_retired, of_whole in zip(retired, whole, strict=True) if of_whole)
    asked = [text for text in whole[1] if whole[1][text] == deleted[1][text]]
    assert len(asked) < 3, "statements that what was retired makes no difference to show nothing"
