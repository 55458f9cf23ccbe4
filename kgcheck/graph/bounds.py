"""Bound value sizes of an untrusted Cypher statement, and tell if its rows invent any values.

A value is measured in copies: what one property holds is one copy, all literals together are about one. Texts and lists
that are joined add up, and a name keeps what it was given, so that doubling again and again is seen for what it is.
"""

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


# Rules of the grammar that mean no more than their one part does.
_CHAIN = frozenset(
    """
    expression xorExpression andExpression notExpression comparisonExpression addSubExpression multDivExpression
    powerExpression unaryAddSubExpression atomicExpression propertyOrLabelExpression propertyExpression atom
    """.split()
)
_PICK = frozenset({"collect", "min", "max", "nodes", "relationships"})


class ValueBound(NamedTuple):
    """The most that a value holds; one that is collected holds that for each of any number of rows.

    It `reads` if it is nothing but what stands in the graph, or a number of rows that the graph has.
    """

    copies: float
    collected: bool = False
    reads: bool = False


class Growth(NamedTuple):
    """Facts about the rows of a statement.

    Attributes:
        collected: Items of the answer that are lists of any length.
        longest_list: The number of elements that each of these may have.
        invents: Rows hold what the writer of the statement put in.
        limited: SKIP or LIMIT stands in it, so that how many rows there are is the writer's.
    """

    collected: frozenset[ParserRuleContext]
    longest_list: int
    invents: bool
    limited: bool


_ONE = ValueBound(1.0)
_LITTLE = ValueBound(1 / LONGEST_STATEMENT)


def growth_of(tree: ParserRuleContext) -> Growth:
    """Bound every value of a statement, or refuse it."""
    walk = _Walk()
    walk.visit(tree)
    if sum(bound.copies for bound in walk.answer.values()) > _ROW_COPIES:
        raise UsageError(f"a row would hold over {_ROW_COPIES} values", "ask for fewer columns at once")
    collected = {item: max(1.0, bound.copies) for item, bound in walk.answer.items() if bound.collected}
    longest = int(_LISTED_COPIES / max(1.0, sum(collected.values())))
    return Growth(frozenset(collected), longest, walk.invents, walk.limited)


class _Walk:
    """Goes through a statement in the order in which it is carried out."""

    def __init__(self) -> None:
        self._known: dict[str, ValueBound] = {}
        self.answer: dict[ParserRuleContext, ValueBound] = {}
        """Returned values, by the item that states them."""
        self.invents = self.limited = False

    def visit(self, node: Any) -> None:
        """Bound all values under a node."""
        match node:
            case CypherParser.UnwindStContext():
                self._known[_key(node.symbol())] = self._given(node.expression())._replace(collected=False)
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
            details = [link.relationshipPattern().relationDetail() for link in element.patternElemChain()]
            hops = sum(MOST_HOPS if detail is not None and detail.rangeLit() is not None else 1 for detail in details)
            self._known[_key(node.symbol())] = ValueBound(2.0 * hops + 1)

    def _given(self, expression: ParserRuleContext) -> ValueBound:
        """The bound of what goes into rows."""
        bound = self._bound(expression)
        self.invents = self.invents or not bound.reads
        return bound

    def _project(self, node: ParserRuleContext) -> None:
        body = node.projectionBody()
        items = body.projectionItems()
        known = dict(self._known) if items.MULT() else {}
        for item in items.projectionItem():
            bound = self._given(item.expression())
            if isinstance(node, CypherParser.ReturnStContext):
                self.answer[item] = bound
            key = _key(item.symbol()) if item.symbol() else item.expression().getText().strip("`").lower()
            before = known.get(key, bound)
            known[key] = ValueBound(max(before.copies, bound.copies), before.collected or bound.collected)
        self.limited = self.limited or body.skipSt() is not None or body.limitSt() is not None
        self._known |= known
        for part in (body.orderSt(), body.skipSt(), body.limitSt(), *node.getChildren()):
            if part is not None and part is not body:
                self.visit(part)
        self._known = known

    def _bound(self, node: Any) -> ValueBound:
        match node:
            case CypherParser.SymbolContext() | CypherParser.PropertyExpressionContext() if _is_number(node):
                return _LITTLE
            case CypherParser.SymbolContext():
                return self._known.get(_key(node), _ONE)._replace(reads=True)
            case CypherParser.PropertyExpressionContext() if node.name():
                return _ONE._replace(reads=isinstance(node.atom().getChild(0), CypherParser.SymbolContext))
            case CypherParser.StringLitContext() | CypherParser.CharLitContext():
                return ValueBound(len(node.getText()) / LONGEST_STATEMENT)
            case CypherParser.FunctionInvocationContext():
                name, operands = node.invocationName().getText().lower(), arguments(node)
                bounds = [self._bound(argument) for argument in operands]
                is_read = name in _PICK or (name == "count" and not self.limited)
                reads = is_read and all(bound.reads for bound in bounds)
                return self._called(node, name, operands, bounds)._replace(reads=reads)
            case CypherParser.CountAllContext():
                return _LITTLE._replace(reads=not self.limited)
            case CypherParser.RelationshipsChainPatternContext():
                self._visit_children(node)
                return _LITTLE
            case CypherParser.NumLitContext() | CypherParser.BoolLitContext() | TerminalNode():
                return _LITTLE
            case _:
                return self._composed(node)

    def _composed(self, node: ParserRuleContext) -> ValueBound:
        children = parts(node)
        under = [self._bound(child) for child in children if isinstance(child, ParserRuleContext)]
        rule = CypherParser.ruleNames[node.getRuleIndex()]
        if len(under) > 1 and rule in _TRUTHS:
            return _LITTLE
        collected = any(bound.collected for bound in under)
        if rule == "listLit" and collected:
            raise UsageError(f"{_written(node)} holds lists of any length", _HINT)
        if len(under) > 1 and rule in ("addSubExpression", "expressionChain"):
            return _checked(ValueBound(sum(bound.copies for bound in under), collected), node)
        is_whole = rule == "parenthesizedExpression" or (rule in _CHAIN and len(children) == 1)
        reads = is_whole and all(bound.reads for bound in under) and bool(under)
        return ValueBound(max((bound.copies for bound in under), default=0.0), collected, reads)

    def _called(self, node: ParserRuleContext, name: str, operands: list[Any], bounds: list[ValueBound]) -> ValueBound:
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


def _is_number(node: Any) -> bool:
    """Tell what to this grammar is a name: a whole number a symbol, and 4.0 the property 0 of a symbol 4."""
    is_symbol = isinstance(node, CypherParser.SymbolContext)
    return (is_symbol or bool(node.name())) and node.start.text[:1] in _DIGITS


def _key(node: ParserRuleContext) -> str:
    # LadybugDB tells names apart by their letters alone, be they small or large.
    return plain_name(node).lower()


def _written(node: ParserRuleContext) -> str:
    return repr(node.getText()[:80])


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
