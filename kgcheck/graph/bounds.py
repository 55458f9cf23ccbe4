"""Bound value sizes of an untrusted Cypher statement, and tell if its rows invent any values.

A value is measured in copies: what one property holds is one copy, all literals together are about one. Texts and lists
that are joined add up, and a name keeps what it was given, so that doubling again and again is seen for what it is.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from antlr4 import ParserRuleContext
from antlr4.tree.Tree import TerminalNode
from antlr4_cypher import CypherLexer, CypherParser

from kgcheck.errors import UsageError
from kgcheck.graph.statement_writer import LONGEST_STATEMENT, MOST_HOPS, plain_name, text_of

MOST_COPIES = 64
_ROW_COPIES = 256
_LISTED_COPIES = 4_000
"""Copies that the lists of one row hold together."""

_DIGITS = frozenset("0123456789")
_HINT = "ask for the parts, and put them together yourself"
_SMALL = frozenset("count size length abs ceil floor sqrt sign sum avg type labels".split())
# A comparison or a product of several parts is one small value, whatever the parts are.
_TRUTHS = frozenset(
    """
    expression xorExpression andExpression notExpression comparisonExpression multDivExpression powerExpression
    stringExpression nullExpression listExpression atomicExpression
    """.split()
)


class ValueBound(NamedTuple):
    """The most that a value holds; one that is collected holds that for each of any number of rows."""

    copies: float
    collected: bool = False


class Growth(NamedTuple):
    """Items of an answer that are collected lists, and how long each of these may be."""

    collected: frozenset[ParserRuleContext]
    longest_list: int


_ONE = ValueBound(1.0)
_LITTLE = ValueBound(1 / LONGEST_STATEMENT)


def growth_of(tree: ParserRuleContext) -> Growth:
    """Bound every value of a statement, or refuse it."""
    walk = _Walk()
    walk.visit(tree)
    if sum(bound.copies for bound in walk.answer.values()) > _ROW_COPIES:
        raise UsageError(f"a row would hold over {_ROW_COPIES} values", "ask for fewer columns at once")
    collected = {item: max(1.0, bound.copies) for item, bound in walk.answer.items() if bound.collected}
    return Growth(frozenset(collected), int(_LISTED_COPIES / max(1.0, sum(collected.values()))))


class _Walk:
    """Goes through a statement in the order in which it is carried out."""

    def __init__(self) -> None:
        self._known: dict[str, ValueBound] = {}
        self.answer: dict[ParserRuleContext, ValueBound] = {}
        """Returned values, by the item that states them."""

    def visit(self, node: Any) -> None:
        """Bound all values under a node."""
        match node:
            case CypherParser.UnwindStContext():
                self._known[_key(node.symbol())] = self._bound(node.expression())._replace(collected=False)
            case CypherParser.WithStContext() | CypherParser.ReturnStContext():
                self._project(node)
            case CypherParser.PatternPartContext():
                self._note_path(node)
                self._visit_children(node)
            case CypherParser.RelationDetailContext():
                if node.symbol() and node.rangeLit():
                    self._known[_key(node.symbol())] = ValueBound(MOST_HOPS)
                self._visit_children(node)
            case CypherParser.ExpressionContext():
                self._bound(node)
            case TerminalNode():
                pass
            case _:
                self._visit_children(node)

    def _visit_children(self, node: ParserRuleContext) -> None:
        for child in node.getChildren():
            self.visit(child)

    def _note_path(self, node: ParserRuleContext) -> None:
        if node.symbol():
            element = node.patternElem()
            while element.patternElem() is not None:
                element = element.patternElem()
            hops = sum(MOST_HOPS if _has_range(link) else 1 for link in element.patternElemChain())
            self._known[_key(node.symbol())] = ValueBound(2.0 * hops + 1)

    def _project(self, node: ParserRuleContext) -> None:
        body = node.projectionBody()
        items = body.projectionItems()
        known = dict(self._known) if items.MULT() else {}
        for item in items.projectionItem():
            bound = self._bound(item.expression())
            if isinstance(node, CypherParser.ReturnStContext):
                self.answer[item] = bound
            key = _key(item.symbol()) if item.symbol() else item.expression().getText().strip("`").lower()
            before = known.get(key, bound)
            known[key] = ValueBound(max(before.copies, bound.copies), before.collected or bound.collected)
        self._known |= known
        for part in (body.orderSt(), body.skipSt(), body.limitSt(), *node.getChildren()):
            if part is not None and part is not body:
                self.visit(part)
        self._known = known

    def _bound(self, node: Any) -> ValueBound:
        match node:
            case CypherParser.SymbolContext():
                return _LITTLE if node.start.text[:1] in _DIGITS else self._known.get(_key(node), _ONE)
            case CypherParser.PropertyExpressionContext() if node.name():
                return _LITTLE if node.start.text[:1] in _DIGITS else _ONE
            case CypherParser.StringLitContext() | CypherParser.CharLitContext():
                return ValueBound(len(node.getText()) / LONGEST_STATEMENT)
            case CypherParser.FunctionInvocationContext():
                return self._called(node)
            case CypherParser.CountAllContext() | CypherParser.NumLitContext() | CypherParser.BoolLitContext():
                return _LITTLE
            case CypherParser.RelationshipsChainPatternContext():
                self._visit_children(node)
                return _LITTLE
            case ParserRuleContext():
                return self._composed(node)
            case _:
                return _LITTLE

    def _composed(self, node: ParserRuleContext) -> ValueBound:
        under = [self._bound(child) for child in parts(node) if isinstance(child, ParserRuleContext)]
        rule = CypherParser.ruleNames[node.getRuleIndex()]
        if len(under) > 1 and rule in _TRUTHS:
            return _LITTLE
        collected = any(bound.collected for bound in under)
        if rule == "listLit" and collected:
            raise UsageError(f"{_written(node)} holds lists of any length", _HINT)
        if len(under) > 1 and rule in ("addSubExpression", "expressionChain"):
            return _checked(ValueBound(sum(bound.copies for bound in under), collected), node)
        return ValueBound(max((bound.copies for bound in under), default=0.0), collected)

    def _called(self, node: ParserRuleContext) -> ValueBound:
        name = node.invocationName().getText().lower()
        operands = arguments(node)
        bounds = [self._bound(argument) for argument in operands]
        if name in _SMALL or not bounds:
            return _LITTLE
        most = ValueBound(max(bound.copies for bound in bounds), any(bound.collected for bound in bounds))
        if name == "collect":
            if most.collected:
                raise UsageError(f"{_written(node)} makes lists of lists of any length", "UNWIND the inner list first")
            return ValueBound(most.copies, collected=True)
        if name == "replace":
            return _checked(ValueBound(most.copies * _replaced(node, operands)), node)
        return most


def _replaced(node: ParserRuleContext, operands: list[Any]) -> float:
    """The factor by which a text can grow in which something is replaced."""
    texts = [_literal(argument) for argument in operands]
    if len(texts) == 3:
        _, old, new = texts
        if new == "":
            return 1.0
        if old and new is not None:
            return max(1.0, len(new) / len(old))
    raise UsageError(
        f"how long a text {_written(node)} makes cannot be told", "write what is replaced, and by what, as texts"
    )


def _literal(node: Any) -> str | None:
    while isinstance(node, ParserRuleContext):
        if isinstance(node, CypherParser.StringLitContext | CypherParser.CharLitContext):
            return text_of(node)
        under = parts(node)
        if len(under) != 1:
            return None
        node = under[0]
    return None


def _checked(bound: ValueBound, node: ParserRuleContext) -> ValueBound:
    if bound.copies > MOST_COPIES:
        raise UsageError(f"{_written(node)} can be over {MOST_COPIES} times as long as what it is made of", _HINT)
    return bound


def _has_range(link: ParserRuleContext) -> bool:
    detail = link.relationshipPattern().relationDetail()
    return detail is not None and detail.rangeLit() is not None


def _key(node: ParserRuleContext) -> str:
    # LadybugDB tells names apart by their letters alone, be they small or large.
    return plain_name(node).lower()


def _written(node: ParserRuleContext) -> str:
    return repr(node.getText()[:80])


# Rules of the grammar that mean no more than their one part does.
_CHAIN = frozenset(
    """
    expression xorExpression andExpression notExpression comparisonExpression addSubExpression multDivExpression
    powerExpression unaryAddSubExpression atomicExpression propertyOrLabelExpression atom
    """.split()
)
_PICK = frozenset({"collect", "min", "max", "nodes", "relationships"})
_COUNT = "count"


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
