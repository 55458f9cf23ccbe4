"""What is written of a statement is all of it: statements derived from the grammar, and ones that would grow."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
from antlr4 import ParserRuleContext
from antlr4_cypher import CypherParser
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck.errors import UsageError
from kgcheck.graph import reading as reading_module
from kgcheck.graph.bounds import MOST_COPIES
from kgcheck.graph.reading import read_statement
from kgcheck.graph.result_limits import LONGEST_ANSWER, TooLargeAnswer, bounded_rows
from kgcheck.graph.statement_writer import _PASSED, LONGEST_STATEMENT, Writer
from kgcheck.profile.schema import load_schema
from tests.support import examples
from tests.support.cypher_grammar import RULES, StatementGenerator

CKG = load_schema()
WRITTEN = _PASSED | {name[1:] for name in dir(Writer) if name[1:] in RULES}
"""Rules of the grammar that the writer knows."""

_SPELT = {"upper": "toupper", "lower": "tolower"}
_TOKEN = re.compile(
    r"""\s+|(?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|\$(?P<parameter>p\d+)|`?(?P<word>[A-Za-z_]\w*)`?
    |(?P<number>\d+(?:\.\d+)?(?:e\d+)?|\.\d+)|(?P<sign>\.\.|<=|>=|<>|[^\s\w])""",
    re.VERBOSE,
)


def tokens(text: str, parameters: dict[str, str]) -> list[Any]:
    """What a statement says, token by token, read without the grammar: the same before it is written anew and after."""
    found: list[Any] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        assert token, text[at:]
        at = token.end()
        match token.lastgroup:
            case "text":
                found.append(("text", ast.literal_eval(token["text"])))
            case "parameter":
                found.append(("text", parameters[token["parameter"]]))
            case "word":
                word = token["word"].lower()
                found.append(_SPELT.get(word, word))
            case "number":
                found.append(float(token["number"]))
            case "sign" if not (token["sign"] == ":" and found[-1] == "|"):
                found.append(token["sign"])
    # Steps without an end get one.
    for i in reversed(range(len(found) - 1)):
        if found[i : i + 2] == ["..", 30.0]:
            found[i : i + 2] = [] if found[i - 1] == "*" else [".."]
    return found


def derived(numbers: range) -> Iterator[str]:
    """Statements, every other one derived by rules that the writer knows alone."""
    for number in numbers:
        generator = StatementGenerator(number, WRITTEN if number % 2 else RULES)
        yield generator.text("query", 80) if number % 8 == 0 else generator.statement()


def rules_in(node: Any) -> Iterator[str]:
    """The rules that stand in a tree."""
    if isinstance(node, ParserRuleContext):
        yield RULES[node.getRuleIndex()]
        for child in node.getChildren():
            yield from rules_in(child)


def assert_written_whole(numbers: range) -> Counter[str]:
    """Each is refused, or written to its last token; gives how many, and the rules of those that were written."""
    counts: Counter[str] = Counter()
    for text in derived(numbers):
        try:
            reading = read_statement(text, CKG, "neo4j")
            if "[.." in reading.text and not re.search("(?i)type|labels", text):
                # A server cuts collected lists; where nothing is spelt otherwise, the embedded store's text will do.
                reading = read_statement(text, CKG, "embedded")
        except UsageError:
            counts["refused"] += 1
            continue
        if "[.." in reading.text:
            continue
        counts["written"] += 1
        counts.update(rules_in(reading_module._parsed(text)))
        wanted = tokens(text, {})
        assert tokens(reading.text, reading.parameters) == wanted, text
        content = Counter(token for token in wanted if token != "*" and not (isinstance(token, str) and len(token) < 2))
        assert content <= Counter(tokens(reading.kept, reading.parameters)), text
    return counts


def test_what_is_written_is_what_was_read() -> None:
    counts = assert_written_whole(range(1, 21))
    assert min(counts["written"], counts["refused"]) >= 5


@pytest.mark.slow
def test_hundreds_of_statements_are_written_whole_or_refused() -> None:
    counts = assert_written_whole(range(1_000, 1_300))
    assert counts["written"] >= 80
    assert {rule for rule in WRITTEN if not counts[rule]} == set()


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("toLower(trim(p.name))", "toLower(trim(`p`.`name`))"),
        ("count(DISTINCT toLower(p.name))", "count(DISTINCT toLower(`p`.`name`))"),
        ("size( collect ( (toUpper(p.id)) ) )", "size(collect((toUpper(`p`.`id`))))"),
        ("left(right(trim(lower(p.id)), 2), 1)", "left(right(trim(toLower(`p`.`id`)), 2), 1)"),
    ],
)
def test_a_function_of_a_function_is_written_whole(text: str, sent: str) -> None:
    reading = read_statement(f"MATCH (p:Protein) RETURN {text} AS x", CKG, "neo4j")
    assert reading.text == f"MATCH (`p`: `Protein`) RETURN {sent} AS `x`"
    assert reading.kept.endswith(f" RETURN {sent} AS `x`")


def test_what_the_writer_leaves_out_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(writer: Writer, node: CypherParser.WhereContext) -> str:
        return ""

    monkeypatch.setattr(Writer, "_where", forgetful, raising=False)
    with pytest.raises(UsageError, match=r"'WHERE' is not allowed there .*line 1, column 19"):
        read_statement("MATCH (p:Protein) WHERE p.id = 'x' RETURN p.id", CKG, "embedded")


def test_rows_of_what_a_writer_made_up_are_told_from_those_of_the_graph() -> None:
    def invents(text: str) -> bool:
        return read_statement(f"MATCH (p:Protein) RETURN {text} AS x", CKG, "embedded").invents

    assert not invents("collect(p.id)")
    assert invents("collect(replace(p.id, 'P04637', 'Q1'))")
    assert invents("collect(toLower(p.id))")


GROWING = [
    "replace(p.id, 'a', '{long}')",
    "replace(replace(p.id, 'a', 'aaaaaaaaa'), 'a', 'aaaaaaaaa')",
    "replace(p.name, '', 'aaaaa')",
    "replace(p.name, p.id, 'a')",
    "replace(p.name, 'a', p.id)",
    "replace(p.name, toLower('a'), 'b')",
    "{sum}",
    "[[{list}], [{list}]]",
    "[collect(p.id), 1]",
    "collect(p.id) + collect(p.name) + {sum}",
    "range(0, 1000000000)",
    "reduce(s = '', x IN p.synonyms | s + s)",
    "[x IN range(0, 1000000000) | x]",
    "size(replace(p.id, 'a', '{long}'))",
]
PLACES = ["RETURN {0} AS x", "WHERE {0} = 'x' RETURN p.id", "RETURN p.id ORDER BY {0}", "UNWIND {0} AS x RETURN x"]


@pytest.mark.parametrize("expression", GROWING)
@pytest.mark.parametrize(
    ("place", "backend"),
    [
        (PLACES[0], "embedded"),
        *(pytest.param(place, "embedded", marks=pytest.mark.slow) for place in PLACES[1:]),
        *((place, "neo4j") for place in PLACES),
    ],
)
def test_a_value_that_can_grow_is_refused(expression: str, place: str, backend: str) -> None:
    fills = {"{long}": "x" * 100, "{sum}": "+".join(["p.id"] * 65), "{list}": ",".join(["p.id"] * 33)}
    for name, filling in fills.items():
        expression = expression.replace(name, filling)
    with pytest.raises(UsageError):
        read_statement(f"MATCH (p:Protein) {place.format(expression)}", CKG, backend)


def test_growth_is_seen_through_names() -> None:
    doubled = "MATCH (p:Protein) WITH {0} AS x, p MATCH (q:Gene) RETURN {1} AS y"
    for first, second in (("p.id+p.id+p.id+p.id", 16), ("p.id+p.id", 32)):
        read_statement(doubled.format(first, "+".join(["x"] * second)), CKG, "neo4j")
        with pytest.raises(UsageError, match="over 64 times"):
            read_statement(doubled.format(first, "+".join(["x"] * (second + 1))), CKG, "neo4j")
    with pytest.raises(UsageError, match="lists of lists"):
        read_statement(doubled.format("collect(p.id)", "collect(x)"), CKG, "neo4j")
    with pytest.raises(UsageError, match="a row would hold"):
        read_statement("MATCH (p:Protein) RETURN " + ", ".join(f"p.id AS a{i}" for i in range(260)), CKG, "neo4j")


PROPERTY = "ab" * (LONGEST_STATEMENT // 2)
"""What every property holds, where values are computed."""

Computed = tuple[str, Callable[[], str]]
"""An expression, and what it gives."""


def _joined(parts: tuple[Computed, Computed]) -> Computed:
    (left, value_left), (right, value_right) = parts
    return f"{left} + {right}", lambda: value_left() + value_right()


def _replaced(parts: tuple[Computed, str, str]) -> Computed:
    (text, value), old, new = parts
    return f"replace({text}, '{old}', '{new}')", lambda: value().replace(old, new)


def _chosen(parts: tuple[Computed, Computed]) -> Computed:
    (left, value_left), (right, value_right) = parts
    return (
        f"CASE WHEN p.id = 'a' THEN {left} ELSE coalesce(reverse({right}), 'b') END",
        lambda: max(value_left(), value_right(), key=len),
    )


def _grown(under: st.SearchStrategy[Computed]) -> st.SearchStrategy[Computed]:
    short = st.text("ab", max_size=9)
    replaced = st.tuples(under, st.text("ab", min_size=1, max_size=2), short).map(_replaced)
    return st.tuples(under, under).map(_joined) | replaced | st.tuples(under, under).map(_chosen)


LEAVES: st.SearchStrategy[Computed] = st.sampled_from([("p.id", lambda: PROPERTY), ("'ab'", lambda: "ab")])


@settings(max_examples=examples(90))
@given(st.recursive(LEAVES, _grown, max_leaves=30), st.integers(1, 30))
def test_what_passes_never_grows_beyond_its_bound(computed: Computed, times: int) -> None:
    expression, value = computed
    again = " + ".join(["x"] * times)
    try:
        read_statement(f"MATCH (p:Protein) WITH {expression} AS x MATCH (q:Gene) RETURN {again} AS y", CKG, "neo4j")
    except UsageError:
        return
    assert len(value()) * times <= MOST_COPIES * LONGEST_STATEMENT


@pytest.mark.parametrize(
    "text",
    [
        "replace(p.name, '-', '') AS x",
        "replace(replace(p.name, '_', ' '), 'alpha', 'a') AS x",
        "replace(p.name, p.id, '') AS x",
        "p.id + ' (' + p.name + ')' AS x",
        "p.id IN ['" + "', '".join(f"P{i:05d}" for i in range(300)) + "'] AS x",
    ],
)
def test_what_cannot_grow_passes(text: str) -> None:
    read_statement(f"MATCH (p:Protein) RETURN {text}", CKG, "neo4j")


def test_a_server_cuts_collected_lists_and_follows_no_way_without_end() -> None:
    text = (
        "MATCH (a:Disease)-[:HAS_PARENT*]->(b:Disease) WITH a, collect(b.id) AS ids"
        " RETURN a.id AS i, ids, size(ids) AS n"
    )
    sent = read_statement(text, CKG, "neo4j")
    assert "*..30" in sent.text
    assert sent.text.endswith("RETURN `a`.`id` AS `i`, (`ids`)[..4001], size(`ids`) AS `n`")
    assert sent.longest_list == 4000
    assert "[..4001]" not in read_statement(text, CKG, "embedded").text
    assert sent.columns == ("i", "ids", "n")


def test_rows_are_taken_only_as_long_as_they_fit() -> None:
    taken = 0

    def rows() -> Iterator[list[str]]:
        nonlocal taken
        while True:
            taken += 1
            yield ["x" * 1_000_000]

    with pytest.raises(TooLargeAnswer):
        bounded_rows(rows(), 1_000)
    assert taken == LONGEST_ANSWER // 1_000_000 + 1
    with pytest.raises(TooLargeAnswer):
        bounded_rows([[[1, 2, 3]]], 5, 2)
    assert bounded_rows([(1, [2])] * 3, 2, 2) == [[1, [2]]] * 2


# Head, what is repeated, and between its repetitions, and tail.
PUMPED = [
    ("MATCH (p:Protein {", "id:1", ",", "}) RETURN p.id"),
    ("MATCH (p:Protein) WHERE ", "p.id=1", " OR ", " RETURN p.id"),
    ("MATCH (p:Protein) WHERE ", "((((((p)--(p))))))", " OR ", " RETURN p.id"),
    ("MATCH (p:Protein) WHERE p.id IN [", "toLower('a')", ",", "] RETURN p.id"),
    ("MATCH (p:Protein) WHERE CASE ", "WHEN p.id THEN p.id", " ", " END RETURN p.id"),
    ("MATCH (p:Protein)", "-[:ACTS_ON]-(:Protein)", "", " RETURN p.id"),
    ("", "MATCH (p:Protein)", " ", " RETURN p.id"),
    ("MATCH (p:Protein) RETURN p.id ORDER BY ", "p.id", ",", ""),
    ("MATCH (p:Protein) RETURN p", "[1]", "", ""),
    ("MATCH (p:Protein) RETURN ", "left(left(left(left(left(left(left(1,1),1),1),1),1),1),1)", "-", ""),
    ("MATCH (p:Protein) RETURN ", "{a:{a:{a:{a:1}}}}", "+", ""),
    ("MATCH (p:Protein) RETURN ", "any(x IN a WHERE b)", "+", ""),
]


def pumped(attack: tuple[str, str, str, str], length: int) -> str:
    head, part, between, tail = attack
    times = (length - len(head) - len(tail)) // (len(part) + len(between))
    return head + between.join([part] * times) + tail


def calls_for(text: str) -> int:
    """Calls of functions that it takes to read a statement: unlike seconds, the same on a busy machine."""
    counted = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal counted
        counted += event == "call"

    sys.setprofile(count)
    try:
        read_statement(text, CKG, "neo4j")
    except UsageError:
        pass
    finally:
        sys.setprofile(None)
    return counted


@pytest.mark.parametrize(
    "attack",
    [PUMPED[0], *(pytest.param(attack, marks=pytest.mark.slow) for attack in PUMPED[1:])],
    ids=lambda attack: attack[1][:20],
)
def test_twice_the_statement_takes_twice_as_long_to_read(attack: tuple[str, str, str, str]) -> None:
    # What the parser learns of a grammar it keeps: not counted.
    calls_for(pumped(attack, 1_000))
    once, twice = (calls_for(pumped(attack, length)) for length in (500, 1_000))
    assert twice < 2.8 * once


def test_what_the_parser_learns_of_statements_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def learnt() -> int:
        return sum(len(learnt.states) for learnt in CypherParser.decisionsToDFA)

    honest = "MATCH (p:Protein)-[:ACTS_ON]->(q:Protein) WHERE p.id = 'x' RETURN q.id"
    before = read_statement(honest, CKG, "neo4j")
    assert learnt() > 50
    monkeypatch.setattr(reading_module, "_MOST_LEARNT", 50)
    assert read_statement(honest, CKG, "neo4j") == before
    assert learnt() == 0


def test_a_statement_that_takes_too_long_to_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_module, "_MOST_SECONDS", 0.0)
    with pytest.raises(UsageError, match="takes too long to be read"):
        read_statement(pumped(PUMPED[0], LONGEST_STATEMENT), CKG, "neo4j")
