"""Statements from outside, as a model writes them: what is sent is written anew from their parse tree.

Nothing of the text itself reaches a store. openCypher's grammar (``antlr4-cypher``) reads it; an allow-list of rules
of that grammar is walked, and every kind of node that it does not name is refused. What comes out consists of keywords
and signs of this module, of numbers, of plain names between backticks, and of parameters that stand for the texts: so
that a store's own parser, whichever it is, has no text, comment, escape or second statement to read otherwise.
"""

import time
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
from kgcheck.graph.keeping import KeepingWriter
from kgcheck.graph.projections import rows_of
from kgcheck.graph.statement_writer import HINT, LONGEST_STATEMENT, Writer
from kgcheck.graph.store import Reading
from kgcheck.profile.schema import Schema

_DEEPEST = 8
_MOST_SECONDS = 4.0
"""Of a processor, so that a busy machine refuses nothing; what a person writes takes a tenth of one."""

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
        collected, longest_list = growth_of(tree)
        writer = Writer(schema, backend, collected=collected, longest_list=longest_list)
        keeping = KeepingWriter(schema, backend, collected=collected, longest_list=longest_list)
        written, kept = writer.write(tree), keeping.write(tree)
        writer.check_whole(tree)
        keeping.check_whole(tree)
    except RecursionError:
        raise UsageError("the statement is nested too deeply", HINT) from None
    if "MATCH" not in written.split():
        raise UsageError("a reading statement has MATCH and RETURN", HINT)
    writer.check_nodes()
    if len(set(writer.columns)) < len(writer.columns):
        raise UsageError("two columns of the answer have one name", "name them apart with AS")
    columns, labels = tuple(writer.columns), frozenset(writer.labels)
    return Reading(written, writer.parameters, columns, labels, *rows_of(tree), kept=kept, longest_list=longest_list)


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
            _forget_when_large()
        errors.check()
    query: ParserRuleContext = tree.query()
    return query


def _forget_when_large() -> None:
    """Empty the tables of the parser where they have grown: by itself it never forgets a way of writing statements."""
    if sum(len(learnt.states) for learnt in CypherParser.decisionsToDFA) > _MOST_LEARNT:
        CypherParser.decisionsToDFA = [DFA(state, i) for i, state in enumerate(CypherParser.atn.decisionToState)]
        CypherParser.sharedContextCache = PredictionContextCache()


class _Tokens(CommonTokenStream):  # type: ignore[misc]
    """The tokens of a statement, which nobody looks at for long."""

    def __init__(self, lexer: CypherLexer) -> None:
        super().__init__(lexer)
        self._until = time.thread_time() + _MOST_SECONDS

    def consume(self) -> None:
        """Called by the parser for each token that it reads or looks ahead to."""
        if time.thread_time() > self._until:
            raise UsageError("the statement takes too long to be read", "ask for less at once")
        super().consume()


class _Errors(ErrorListener):  # type: ignore[misc]
    """Keeps the first thing that the grammar does not know."""

    def __init__(self) -> None:
        self._first: str | None = None

    def syntaxError(self, recognizer: Any, offendingSymbol: Any, line: int, column: int, msg: str, e: Any) -> None:
        """Called by the parser."""
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
