"""Check an untrusted Cypher statement against an allow-list, and rewrite it from its parse tree.

Nothing of the text itself reaches a store. openCypher's grammar (``antlr4-cypher``) reads it; an allow-list of rules
of that grammar is walked, and every kind of node that it does not name is refused. What comes out consists of keywords
and signs of this module, of numbers, of plain names between backticks, and of parameters that stand for the texts: so
that a store's own parser, whichever it is, has no text, comment, escape or second statement to read otherwise.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import Any

from antlr4 import CommonTokenStream, InputStream, ParserRuleContext, Token
from antlr4.atn.PredictionMode import PredictionMode
from antlr4.dfa.DFA import DFA
from antlr4.error.ErrorListener import ErrorListener
from antlr4.PredictionContext import PredictionContextCache
from antlr4_cypher import CypherLexer, CypherParser

from kgcheck.errors import UsageError
from kgcheck.graph.bounds import growth_of
from kgcheck.graph.queries import is_name, kept, quoted
from kgcheck.graph.statement_writer import HINT, LONGEST_STATEMENT, Writer
from kgcheck.graph.store import Reading
from kgcheck.profile.schema import Schema


@dataclass
class KeepingWriter(Writer):
    """Writes the tree of a statement with a condition for each node and edge of its patterns."""

    _numbers: Iterator[int] = field(default_factory=count)
    _conditions: list[str] = field(default_factory=list)
    _has_range: bool = False
    _known_names: dict[str, None] = field(default_factory=dict)
    """Names that the writer gave, in order, as far as they can be seen from where the statement is."""

    def _patternWhere(self, node: ParserRuleContext) -> str:
        around, self._conditions = self._conditions, []
        pattern = self.write(node.pattern())
        conditions, self._conditions = self._conditions, around
        if node.where():
            self._signs(node.where())
            conditions.insert(0, f"({self.write(node.where().expression())})")
        return pattern + _where(conditions)

    def _patternPart(self, node: ParserRuleContext) -> str:
        around, self._has_range = self._has_range, False
        path = self._of_writer(node) if node.symbol() else ""
        self._signs(node)
        element = self._with_path(path, self.write(node.patternElem()))
        self._has_range = around
        return element

    def _relationshipsChainPattern(self, node: ParserRuleContext) -> str:
        around = self._conditions, self._has_range, dict(self._known_names)
        self._conditions, self._has_range = [], False
        pattern = self._with_path("", super()._relationshipsChainPattern(node))
        written = f"EXISTS {{ MATCH {pattern}{_where(self._conditions)} }}"
        self._conditions, self._has_range, self._known_names = around
        return written

    def _nodePattern(self, node: ParserRuleContext) -> str:
        name = self._condition_on(node)
        self._signs(node)
        return f"({name}{self._optional(node.nodeLabels())}{self._optional(node.properties(), ' ')})"

    def _detail(self, node: ParserRuleContext | None) -> str:
        if node is None:
            return f"[{self._condition_on(None)}]"
        self._signs(node)
        if node.rangeLit() is None:
            name, steps = self._condition_on(node), ""
        else:
            name, steps = self._of_writer(node), self.write(node.rangeLit())
        if steps and self.backend == "embedded":
            edge, between = self._new_name(), self._new_name()
            steps += f" ({edge}, {between} | WHERE {kept(edge)} AND {kept(between)})"
        elif steps:
            edge, self._has_range = self._new_name(), True
            self._conditions.append(f"all({edge} IN {name} WHERE {kept(edge)})")
        return f"[{name}{self._optional(node.relationshipTypes())}{steps}{self._optional(node.properties(), ' ')}]"

    def _unwindSt(self, node: ParserRuleContext) -> str:
        written = self._parts(node)
        self._known_names[self._variable(node.symbol())] = None
        return written

    def _withSt(self, node: ParserRuleContext) -> str:
        written = self._parts(node)
        items = node.projectionBody().projectionItems()
        names = {} if items.MULT() is None else self._known_names
        for item in items.projectionItem():
            name = (item.symbol() or item.expression()).getText().strip("`")
            names |= {quoted(name): None} if is_name(name) else {}
        self._known_names = names
        return written

    def _projectionItems(self, node: ParserRuleContext) -> str:
        if node.MULT() is None:
            return self._parts(node)
        self._signs(node)
        # A star would take the names that were given here, too.
        return ", ".join([*self._known_names, *map(self.write, node.projectionItem())])

    def _with_path(self, path: str, element: str) -> str:
        """A pattern, named where the nodes between its ends have to be looked at."""
        if self._has_range:
            path, between = path or self._new_name(), self._new_name()
            self._conditions.append(f"all({between} IN nodes({path}) WHERE {kept(between)})")
        return f"{path} = {element}" if path else element

    def _condition_on(self, node: ParserRuleContext | None) -> str:
        """The name of a node or edge of a pattern; one that is known has its condition where it was named first."""
        # In a subquery, LadybugDB takes a condition on what is named outside of it for false.
        known = set(self._known_names)
        name = self._of_writer(node)
        if name not in known:
            self._conditions.append(kept(name))
        return name

    def _of_writer(self, node: ParserRuleContext | None) -> str:
        if node is None or node.symbol() is None:
            return self._new_name()
        self._known_names[self._variable(node.symbol())] = None
        return self._variable(node.symbol())

    def _new_name(self) -> str:
        # A name that a statement from outside has begins with a letter.
        return f"`_{next(self._numbers)}`"

    def _optional(self, node: ParserRuleContext | None, before: str = "") -> str:
        return f"{before}{self.write(node)}" if node is not None else ""


def _where(conditions: list[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


_DEEPEST = 8
_MOST_SECONDS = 4.0
"""Most seconds of a processor, so that a busy machine refuses nothing.

What a person writes takes a tenth of one.
"""

_MOST_LEARNT = 10_000
"""States that the parser keeps of what it has read: about 50 MB."""

_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_parsing = Lock()


def read_statement(text: str, schema: Schema, backend: str) -> Reading:
    """Read a statement from outside, and write it anew."""
    if len(text) > LONGEST_STATEMENT:
        raise UsageError(f"a statement has at most {LONGEST_STATEMENT} characters", "ask for less")
    try:
        tree = _parsed(text)
        growth = growth_of(tree)
        cut = growth.collected, growth.longest_list
        writer, keeping = Writer(schema, backend, *cut), KeepingWriter(schema, backend, *cut)
        written, kept = writer.write(tree), keeping.write(tree)
        for one in (writer, keeping):
            one.check_whole(tree)
    except RecursionError:
        raise UsageError("the statement is nested too deeply", HINT) from None
    if "MATCH" not in written.split():
        raise UsageError("a reading statement has MATCH and RETURN", HINT)
    writer.check_nodes()
    if len(set(writer.columns)) < len(writer.columns):
        raise UsageError("two columns of the answer have one name", "name them apart with AS")
    columns, labels = tuple(writer.columns), frozenset(writer.labels)
    _, longest_list, invents, limited = growth
    return Reading(written, writer.parameters, columns, labels, invents, limited, kept, longest_list)


def _parsed(text: str) -> ParserRuleContext:
    errors = _Errors()
    # The tables of the parser, which it fills as it goes, are one for all threads.
    with _parsing:
        lexer = CypherLexer(InputStream(text))
        lexer.removeErrorListeners()
        lexer.addErrorListener(errors)
        tokens = _Tokens(lexer)
        tokens.fill()
        errors.check()
        _check_depth(tokens.tokens)
        parser = CypherParser(tokens)
        parser.removeErrorListeners()
        parser.addErrorListener(errors)
        # Looks ahead without what stands around a rule, in one pass; what it reads so, it would read alike with it.
        parser._interp.predictionMode = PredictionMode.SLL
        # All of the text: one statement, at most one semicolon, the end.
        try:
            tree = parser.script()
        finally:
            # By itself the parser never forgets a way of writing statements.
            if sum(len(learnt.states) for learnt in CypherParser.decisionsToDFA) > _MOST_LEARNT:
                fresh = [DFA(state, i) for i, state in enumerate(CypherParser.atn.decisionToState)]
                CypherParser.decisionsToDFA, CypherParser.sharedContextCache = fresh, PredictionContextCache()
        errors.check()
    query: ParserRuleContext = tree.query()
    return query


class _Tokens(CommonTokenStream):  # type: ignore[misc]
    def __init__(self, lexer: CypherLexer) -> None:
        super().__init__(lexer)
        self._until = time.thread_time() + _MOST_SECONDS

    def consume(self) -> None:
        if time.thread_time() > self._until:
            raise UsageError("the statement takes too long to be read", "ask for less at once")
        super().consume()


class _Errors(ErrorListener):  # type: ignore[misc]
    def __init__(self) -> None:
        self._first: str | None = None

    def syntaxError(self, recognizer: Any, offendingSymbol: Any, line: int, column: int, msg: str, e: Any) -> None:
        near = f" ({offendingSymbol.text!r})" if getattr(offendingSymbol, "text", "").strip() else ""
        self._first = self._first or f"line {line}, column {column + 1}{near}"

    def check(self) -> None:
        if self._first:
            raise UsageError(f"the statement cannot be read, or is not a reading one: {self._first}", HINT)


def _check_depth(tokens: list[Token]) -> None:
    """Refuse what would keep the parser, which looks ahead through brackets, for long."""
    depth = 0
    for token in tokens:
        depth += _BRACKETS.get(token.text, 0)
        if depth > _DEEPEST:
            raise UsageError(f"brackets are nested over {_DEEPEST} deep", "ask for less at once")
