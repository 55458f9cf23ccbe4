"""A statement from outside, written so that what is retired does not exist to it.

Every node and edge of a pattern gets the condition that it carries no mark, and a name where it has none. A pattern
that stands for a truth becomes a subquery, which can have conditions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from antlr4 import ParserRuleContext

from kgcheck.graph.queries import is_name, kept, quoted
from kgcheck.graph.statement_writer import Writer


@dataclass
class KeepingWriter(Writer):
    """Writes the tree of a statement with a condition for each node and edge of its patterns."""

    _numbers: Iterator[int] = field(default_factory=count)
    _conditions: list[str] = field(default_factory=list)
    _has_range: bool = False
    _known_names: dict[str, None] = field(default_factory=dict)
    """What the writer of the statement named, in order, as far as it can be seen from where the statement is."""

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
