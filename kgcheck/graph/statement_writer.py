"""Writer: write an untrusted Cypher statement anew, node by node of its parse tree."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from antlr4 import ParserRuleContext, Token
from antlr4.tree.Tree import TerminalNode
from antlr4_cypher import CypherLexer, CypherParser

from kgcheck.errors import UnknownName, UsageError
from kgcheck.graph.queries import quoted, read_key, wanted_key
from kgcheck.graph.store import SUBSET
from kgcheck.profile.schema import KEY, Label, Schema

FUNCTIONS = {
    name.lower(): name
    for name in (
        "count collect sum avg min max size coalesce toLower toUpper trim ltrim rtrim left right replace reverse"
        " abs ceil floor sqrt sign length nodes relationships type labels"
    ).split()
} | {"lower": "toLower", "upper": "toUpper"}
"""Functions that every store knows and means alike, by their name in small letters.

Not among them: what counts from one in LadybugDB and from zero in Neo4j (``substring``, ``[0]``), what one of them
lacks (``split``, ``head``, ``toString``), what differs (``log``, ``round``), what makes rows of nothing (``range``).
"""

_EMBEDDED = {"type": "label({})", "labels": "[label({})]"}
"""Spelling in LadybugDB of what it has under another name."""

LONGEST_STATEMENT = 4000
"""Characters that a statement may have."""

MOST_HOPS = 30
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}", re.ASCII)
_PREFIXED = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}(?::[A-Za-z][A-Za-z0-9_]{0,63})?", re.ASCII)
_NUMBER = re.compile(r"-?(\d++\.?\d*+|\.\d++)(e[+-]?\d++)?", re.ASCII | re.IGNORECASE)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.|\Z)", re.DOTALL)
_ESCAPED = {"\\": "\\", "'": "'", '"': '"', "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

_KEYWORDS = frozenset(
    "AND AS ASC ASCENDING BY CASE CONTAINS DESC DESCENDING DISTINCT ELSE END ENDS FALSE IN IS LIMIT MATCH NOT"
    " NULL OPTIONAL OR ORDER RETURN SKIP STARTS THEN TRUE UNWIND WHEN WHERE WITH XOR".split()
)
_SIGNS = frozenset("( ) [ ] { } , . : | = <> < > <= >= + - * / % ^ ..".split())

# Rules of the grammar that mean no more than their parts do.
_PASSED = frozenset(
    """
    query regularQuery singleQuery singlePartQ multiPartQ readingStatement matchSt patternWhere pattern
    patternElemChain projectionBody projectionItem patternPart nodePattern propertyOrLabelExpression relationDetail
    where withSt unwindSt orderSt orderItem skipSt limitSt projectionItems expression xorExpression andExpression
    notExpression comparisonExpression comparisonSigns addSubExpression multDivExpression powerExpression
    unaryAddSubExpression atomicExpression stringExpression stringExpPrefix nullExpression parenthesizedExpression
    caseExpression expressionChain literal boolLit listLit atom
    """.split()
)
_DIGITS = frozenset("0123456789")
HINT = f"accepted: {SUBSET}"


@dataclass
class Writer:
    """Writes the tree of a statement, rule by rule."""

    schema: Schema
    backend: str
    collected: frozenset[ParserRuleContext] = frozenset()
    """Items of the answer that are lists of any length, which a server is to cut."""

    longest_list: int = 0
    parameters: dict[str, str] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)
    _labelled: set[str] = field(default_factory=set)
    _bare: list[str] = field(default_factory=list)
    _label_of: dict[str, str] = field(default_factory=dict)
    _edges: set[str] = field(default_factory=set)
    _taken: set[int] = field(default_factory=set)
    """Places of the tokens that went into what was written."""

    def write(self, node: Any) -> str:
        if isinstance(node, TerminalNode):
            return self._terminal(node.symbol)
        rule = CypherParser.ruleNames[node.getRuleIndex()]
        special = getattr(self, f"_{rule}", None)
        if special is not None:
            return str(special(node))
        if rule not in _PASSED:
            raise UsageError(f"{as_written(node)!r} is not allowed in a reading statement", HINT)
        return self._parts(node)

    def check_whole(self, tree: ParserRuleContext) -> None:
        """Refuse a statement of which anything was not written."""
        for token in _tokens(tree):
            if token.type != CypherLexer.SP and token.tokenIndex not in self._taken:
                where = f"line {token.line}, column {token.column + 1}"
                raise UsageError(f"{token.text!r} is not allowed there in a reading statement ({where})", HINT)

    def check_nodes(self) -> None:
        """Refuse a node of which nothing says what it is: it may be one that the profile does not know."""
        for name in self._bare:
            if name not in self._labelled:
                raise UsageError(f"the node ({name}) needs a label, or a relation with a type", HINT)

    def _parts(self, node: ParserRuleContext) -> str:
        text = ""
        for part in filter(None, map(self.write, node.getChildren())):
            # LadybugDB takes no space before a comma everywhere.
            tight = not text or text[-1] in "([{" or part[0] in ",)]}:"
            text += part if tight else f" {part}"
        return text

    def _whole(self, leaf: ParserRuleContext) -> ParserRuleContext:
        """A name, number or text, noted as written to its last sign."""
        self._taken.update(range(leaf.start.tokenIndex, leaf.stop.tokenIndex + 1))
        return leaf

    def _signs(self, node: ParserRuleContext) -> None:
        """Note the signs of a node as written: a method that writes them in its own way says so."""
        self._taken.update(c.symbol.tokenIndex for c in node.getChildren() if isinstance(c, TerminalNode))

    def _terminal(self, token: Token) -> str:
        if token.type == CypherLexer.SP:
            return ""
        word = token.text.upper()
        if word in _KEYWORDS or word in _SIGNS:
            self._taken.add(token.tokenIndex)
            return str(word)
        raise UsageError(f"{token.text!r} is not allowed there in a reading statement", HINT)

    def _returnSt(self, node: ParserRuleContext) -> str:
        body = node.projectionBody()
        items = body.projectionItems()
        if items.MULT():
            raise UsageError("RETURN * does not say what to return", "name the columns")
        self.columns = [
            plain_name(item.symbol()) if item.symbol() else as_written(item) for item in items.projectionItem()
        ]
        return self._parts(node)

    def _projectionItem(self, node: ParserRuleContext) -> str:
        if self.backend == "embedded" or node not in self.collected:
            return self._parts(node)
        # One more than may be: a list that was cut is told from one that was not.
        cut = f"({self.write(node.expression())})[..{self.longest_list + 1}]"
        self._signs(node)
        return f"{cut} AS {self._variable(node.symbol())}" if node.symbol() else cut

    def _patternElem(self, node: ParserRuleContext) -> str:
        if node.nodePattern() is not None and _is_argument(node):
            raise UsageError(f"{as_written(node)!r}: a function takes no pattern", HINT)
        self._note_chain(node)
        return self._parts(node)

    def _relationshipsChainPattern(self, node: ParserRuleContext) -> str:
        self._note_chain(node)
        return self._parts(node)

    def _note_chain(self, node: ParserRuleContext) -> None:
        """Note the nodes of a chain of which neither a label nor a relation says what they are."""
        first = node.nodePattern()
        if first is None:
            return
        links = node.patternElemChain()
        nodes = [first, *(link.nodePattern() for link in links)]
        details = [link.relationshipPattern().relationDetail() for link in links]
        self._edges |= {plain_name(detail.symbol()) for detail in details if detail is not None and detail.symbol()}
        typed = [detail is not None and detail.relationshipTypes() is not None for detail in details]
        for i, one in enumerate(nodes):
            name = plain_name(one.symbol()) if one.symbol() else ""
            if one.nodeLabels() is not None:
                self._labelled.add(name or "-")
                self._label_of[name] = plain_name(one.nodeLabels().name()[0], _PREFIXED)
            elif not any(typed[max(0, i - 1) : i + 1]):
                self._bare.append(name)

    def _nodeLabels(self, node: ParserRuleContext) -> str:
        if not isinstance(node.parentCtx, CypherParser.NodePatternContext):
            raise UsageError(f"a label stands in a node: (p:{self.schema.label_names[0]})", HINT)
        names = [plain_name(name, _PREFIXED) for name in node.name()]
        if len(names) != 1:
            # LadybugDB takes several for one or the other, Neo4j for one and the other.
            raise UsageError("a node has one label", HINT)
        self.labels.add(names[0])
        self._signs(node)
        return f": {self._known('label', node.name()[0], self.schema.label_names)}"

    def _relationshipPattern(self, node: ParserRuleContext) -> str:
        if node.LT() and node.GT():
            raise UsageError("an arrow has one head", HINT)
        detail = self._detail(node.relationDetail())
        self._signs(node)
        return f"{'<-' if node.LT() else '-'}{detail}{'->' if node.GT() else '-'}"

    def _detail(self, node: ParserRuleContext | None) -> str:
        return self.write(node) if node is not None else ""

    def _relationshipTypes(self, node: ParserRuleContext) -> str:
        types = self.schema.relation_types
        self._signs(node)
        return ": " + " | ".join(self._known("relation", name, types) for name in node.name())

    def _rangeLit(self, node: ParserRuleContext) -> str:
        bounds = "".join(str(token.text) for token in _tokens(self._whole(node)) if token.type != CypherLexer.SP)
        found = re.fullmatch(r"\*(\d{0,3})(\.\.)?(\d{0,3})", bounds, re.ASCII)
        if not found or any(int(n) > MOST_HOPS for n in (found[1], found[3]) if n):
            raise UsageError(f"{bounds!r} is no range of at most {MOST_HOPS} steps", "write *1..3")
        # Without an end, a server would look for ways of any length.
        fixed = found[1] and not found[2]
        return found[0] if fixed or found[3] else f"*{found[1]}..{MOST_HOPS}"

    def _properties(self, node: ParserRuleContext) -> str:
        if node.mapLit() is None:
            raise UsageError("a reading statement has no parameters", "write values as literals")
        return self._parts(node.mapLit())

    def _mapLit(self, node: ParserRuleContext) -> str:
        raise UsageError("a map is not allowed there in a reading statement", HINT)

    def _mapPair(self, node: ParserRuleContext) -> str:
        name, value = self._property(node.name()), self.write(node.expression())
        self._signs(node)
        holder = node.parentCtx.parentCtx.parentCtx
        if plain_name(node.name()) != KEY or not isinstance(holder, CypherParser.NodePatternContext):
            return f"{name} : {value}"
        known = self._label_of.get(plain_name(holder.symbol())) if holder.symbol() else None
        if holder.nodeLabels() is not None:
            known = plain_name(holder.nodeLabels().name()[0], _PREFIXED)
        label = self._key_holder(known, holder)
        return f"{quoted(label.key)} : {wanted_key(value, label)}" if label else f"{name} : {value}"

    def _propertyExpression(self, node: ParserRuleContext) -> str:
        names = node.name()
        if not names:
            return self.write(node.atom())
        if node.start.text[:1] in _DIGITS:
            # To this grammar, 4.0 is the property 0 of a symbol 4.
            return _number(self._whole(node).getText())
        if len(names) > 1 or not isinstance(node.atom().getChild(0), CypherParser.SymbolContext):
            raise UsageError(f"{as_written(node)!r}: a property is taken of a variable", HINT)
        holder, name = self._variable(node.atom().symbol()), self._property(names[0])
        self._signs(node)
        if plain_name(names[0]) == KEY:
            of = plain_name(node.atom().symbol())
            label = self._key_holder(self._label_of.get(of), node) if of not in self._edges else None
            return read_key(holder, label) if label else f"{holder}.{name}"
        return f"{holder}.{name}"

    def _key_holder(self, name: str | None, node: ParserRuleContext) -> Label | None:
        """The label whose key is meant, where keys are not called so: on a server that kgcheck did not fill."""
        others = [s for s in self.schema.labels if (s.key, s.key_type) != (KEY, "string")]
        if self.backend == "embedded" or not others:
            return None
        if name is not None:
            return self.schema.label(name)
        if len({(s.key, s.key_type) for s in self.schema.labels}) > 1:
            raise UsageError(
                f"{as_written(node)!r}: labels have keys of their own here", "give the node a label in its MATCH"
            )
        return others[0]

    def _listExpression(self, node: ParserRuleContext) -> str:
        if node.IN() is None:
            raise UsageError("an element of a list cannot be taken by its number", "stores count differently: UNWIND")
        return self._parts(node)

    def _functionInvocation(self, node: ParserRuleContext) -> str:
        if isinstance(node.parentCtx, CypherParser.PatternElemContext) and not _is_argument(node.parentCtx):
            raise UsageError(f"{as_written(node)!r} is not allowed in a pattern", HINT)
        name = self._whole(node.invocationName()).getText()
        if name.lower() not in FUNCTIONS:
            raise UnknownName("function that may be called", name, FUNCTIONS.values())
        called = FUNCTIONS[name.lower()]
        distinct = "DISTINCT " if node.DISTINCT() else ""
        self._signs(node)
        given = "".join(map(self.write, filter(None, (node.patternElem(), node.expressionChain()))))
        if called in _EMBEDDED and self.backend == "embedded":
            return _EMBEDDED[called].format(given)
        return f"{called}({distinct}{given})"

    def _countAll(self, node: ParserRuleContext) -> str:
        self._whole(node)
        return "count(*)"

    def _stringLit(self, node: ParserRuleContext) -> str:
        name = f"p{len(self.parameters)}"
        self.parameters[name] = text_of(self._whole(node))
        return f"${name}"

    _charLit = _stringLit

    def _numLit(self, node: ParserRuleContext) -> str:
        return _number(self._whole(node).getText())

    def _symbol(self, node: ParserRuleContext) -> str:
        if node.start.text[:1] in _DIGITS:
            # To this grammar a whole number is a symbol.
            if isinstance(node.parentCtx, CypherParser.AtomContext):
                return _number(self._whole(node).getText())
            raise UsageError(f"{node.getText()!r} is not a name", HINT)
        return self._variable(node)

    def _variable(self, node: ParserRuleContext) -> str:
        return quoted(plain_name(self._whole(node)))

    def _property(self, node: ParserRuleContext) -> str:
        known = {"id"}.union(*(holder.properties for holder in self.schema.holders))
        return self._known("property", node, known, _PLAIN)

    def _known(self, kind: str, node: ParserRuleContext, known: Any, form: re.Pattern[str] = _PREFIXED) -> str:
        name = plain_name(self._whole(node), form)
        if name not in known:
            raise UnknownName(kind, name, known)
        return quoted(name)


def _is_argument(element: ParserRuleContext) -> bool:
    while isinstance(element.parentCtx, CypherParser.PatternElemContext):
        element = element.parentCtx
    return isinstance(element.parentCtx, CypherParser.FunctionInvocationContext)


def plain_name(node: ParserRuleContext, form: re.Pattern[str] = _PLAIN) -> str:
    """A name, without the backticks that it may have."""
    name: str = node.getText()
    if len(name) > 2 and name[0] == name[-1] == "`":
        name = name[1:-1]
    if not form.fullmatch(name):
        raise UsageError(f"{name!r} is not a plain name", "a name is of letters, digits and _")
    return name


def _number(text: str) -> str:
    if not _NUMBER.fullmatch(text) or abs(float(text)) >= 2**63:
        raise UsageError(f"{text!r} is not a number that a store holds", "write it in decimal digits")
    whole = re.fullmatch(r"-?\d+", text, re.ASCII)
    return str(int(text)) if whole else f"{Decimal(repr(float(text))):f}"


def text_of(literal: ParserRuleContext) -> str:
    """The text that a literal means, escapes read as openCypher reads them."""

    def meant(found: re.Match[str]) -> str:
        escape = found[1]
        if escape[:1] in {"u", "U"} and len(escape) > 1:
            return chr(int(escape[1:], 16))
        if escape not in _ESCAPED:
            raise UsageError(f"the escape {found[0]!r} in a text is not known", "write the character itself")
        return _ESCAPED[escape]

    try:
        value = _ESCAPE.sub(meant, literal.getText()[1:-1])
        value.encode()
    except (ValueError, OverflowError):
        raise UsageError("a text holds what is no character", "write the character itself") from None
    if "\0" in value:
        raise UsageError("a text holds a null character", "leave it out")
    return value


def as_written(node: ParserRuleContext) -> str:
    """Return the text that was written there, for a message or the name of a column: never sent."""
    texts = (" " if token.type == CypherLexer.SP else str(token.text) for token in _tokens(node))
    return " ".join("".join(texts).split())[:80]


def _tokens(node: Any) -> Iterator[Token]:
    left = [node]
    while left:
        one = left.pop()
        if isinstance(one, TerminalNode):
            yield one.symbol
        else:
            left += reversed(list(one.getChildren()))
