"""Origin of the rows of a statement: only read from the graph, or put in by its writer."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from antlr4 import ParserRuleContext
from antlr4.tree.Tree import TerminalNode
from antlr4_cypher import CypherLexer, CypherParser

# Rules of the grammar that mean no more than their one part does.
_CHAIN = frozenset(
    """
    expression xorExpression andExpression notExpression comparisonExpression addSubExpression multDivExpression
    powerExpression unaryAddSubExpression atomicExpression propertyOrLabelExpression atom
    """.split()
)
_PICK = frozenset({"collect", "min", "max", "nodes", "relationships"})
_COUNT = "count"
_DIGITS = frozenset("0123456789")


class Rows(NamedTuple):
    """Facts about the rows of a statement, from its tree."""

    invents: bool
    limited: bool


def rows_of(tree: Any) -> Rows:
    """Tell what the rows of a statement hold."""
    invents = limited = False
    for part in _givers(tree):
        if isinstance(part, CypherParser.UnwindStContext):
            given, cut = [part.expression()], False
        else:
            given = [item.expression() for item in part.projectionItems().projectionItem()]
            cut = part.skipSt() is not None or part.limitSt() is not None
        invents = invents or not all(_reads(expression, limited) for expression in given)
        limited = limited or cut
    return Rows(invents, limited)


def _givers(node: Any) -> Iterator[Any]:
    if isinstance(node, CypherParser.UnwindStContext | CypherParser.ProjectionBodyContext):
        yield node
    elif not isinstance(node, TerminalNode):
        for child in node.getChildren():
            yield from _givers(child)


def _reads(node: Any, limited: bool) -> bool:
    """Return whether an expression gives only what stands in the graph; anything not named here does not."""
    match node:
        case CypherParser.SymbolContext():
            # To this grammar a whole number is a symbol, and 4.0 the property 0 of a symbol 4.
            return node.start.text[:1] not in _DIGITS
        case CypherParser.PropertyExpressionContext():
            return _reads(node.atom(), limited)
        case CypherParser.ParenthesizedExpressionContext():
            return _reads(node.expression(), limited)
        case CypherParser.CountAllContext():
            return not limited
        case CypherParser.FunctionInvocationContext():
            name = node.invocationName().getText().lower()
            allowed = name in _PICK or (name == _COUNT and not limited)
            return allowed and all(_reads(argument, limited) for argument in arguments(node))
        case ParserRuleContext() if CypherParser.ruleNames[node.getRuleIndex()] in _CHAIN:
            under = parts(node)
            return len(under) == 1 and _reads(under[0], limited)
        case _:
            return False


def arguments(call: ParserRuleContext) -> list[Any]:
    """The arguments of a function; to this grammar, a function that is the only one is an element of a pattern."""
    element = call.patternElem()
    while element is not None and element.patternElem() is not None:
        element = element.patternElem()
    if element is not None:
        return [element.functionInvocation() or element]
    return list(call.expressionChain().expression()) if call.expressionChain() else []


def parts(node: ParserRuleContext) -> list[Any]:
    """The children of a node but for the spaces between them."""
    return [c for c in node.getChildren() if not (isinstance(c, TerminalNode) and c.symbol.type == CypherLexer.SP)]
