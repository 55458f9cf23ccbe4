"""Statements derived from the rules of openCypher's grammar, as its parser holds them, by a seeded generator."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from antlr4.atn.ATNState import PlusLoopbackState, RuleStopState, StarLoopEntryState
from antlr4.atn.Transition import Transition
from antlr4_cypher import CypherParser

_ATN = CypherParser.atn
RULES: tuple[str, ...] = tuple(CypherParser.ruleNames)
_TOKENS: list[str] = CypherParser.symbolicNames
_FAR = 10**6

# Of kinds of tokens that are no keywords or signs.
_TEXTS = {
    "CHAR_LITERAL": ("'x'", "'it\\'s'", "'\\u0041'", "''"),
    "STRING_LITERAL": ('"y"', '"a;b"', '"//"'),
    "DIGIT": ("1", "2", "15", "3"),
    "FLOAT": ("2.5", ".5", "1e3"),
    "Integer": ("7",),
    "ID": ("a", "b", "c", "toLower", "name"),
    "ESC_LITERAL": ("`a`", "`id`"),
    "SP": (" ",),
}
_NAMES = {
    "nodeLabels": ("Protein", "Gene", "`Disease`"),
    "relationshipTypes": ("ACTS_ON", "`ASSOCIATED_WITH`", "HAS_PARENT"),
    "propertyExpression": ("id", "name", "`score`"),
    "mapPair": ("id", "name"),
    "invocationName": (
        *("count collect sum AVG min max size coalesce toLower trim reverse abs sqrt".split()),
        *("length nodes type labels upper".split()),
    ),
}
"""Names that the schema knows, by the rule in which they stand; elsewhere a name is a variable."""


_HONEST = {
    "patternElem": (
        "<nodePattern>",
        "<nodePattern><patternElemChain>",
        "<nodePattern> <patternElemChain>",
        "( <patternElem> )",
    ),
    "nodePattern": (
        "(<symbol>:Protein)",
        "( <symbol> : `Disease` <properties> )",
        "(:Gene {id : <expression>})",
        "(`a`: Gene)",
    ),
    "relationshipPattern": (
        "-[<symbol>:ACTS_ON]->",
        "<-[ :HAS_PARENT<rangeLit>]-",
        "--",
        "< - [<symbol>:ACTS_ON |: `HAS_PARENT` <rangeLit> ] -",
        "-[:ACTS_ON {score:<expression>} ]-",
    ),
    "propertyExpression": ("<symbol>.name", "`a` . `id`", "<atom>", "<atom>", "<atom>", "4.0", "2.5"),
    "propertyOrLabelExpression": ("<propertyExpression>",),
    "listExpression": (" IN <propertyOrLabelExpression>", "  in  <listLit>"),
    "literal": ("<boolLit>", "null", "<numLit>", "<stringLit>", "<charLit>", "<listLit>"),
    "functionInvocation": (
        "<invocationName>(<functionInvocation>)",
        "<invocationName>( DISTINCT <functionInvocation> )",
        "<invocationName> ((<functionInvocation> ) )",
        "<invocationName>(<expressionChain>)",
        "<invocationName>(DISTINCT <expression>)",
        "coalesce ( <expression> , <expression> )",
        "replace(<expression>, 'ab', \"c\")",
        "left (<functionInvocation>, 3)",
    ),
    "invocationName": ("<invocationName>",),
}
"""Texts of rules of which most derivations are refused; a rule between angle brackets is derived."""

_DERIVED = re.compile(r"<([a-zA-Z]+)>")


@cache
def _cheapest() -> dict[int, int]:
    """The fewest tokens from each state to the end of its rule."""
    cost = {state.stateNumber: 0 if isinstance(state, RuleStopState) else _FAR for state in _ATN.states if state}
    changed = True
    while changed:
        changed = False
        for state in _ATN.states:
            for transition in state.transitions if state and not isinstance(state, RuleStopState) else ():
                least = _cost(transition, cost)
                if least < cost[state.stateNumber]:
                    cost[state.stateNumber], changed = least, True
    return cost


def _cost(transition: Any, cost: dict[int, int]) -> int:
    if transition.serializationType == Transition.RULE:
        return 1 + cost[transition.target.stateNumber] + cost[transition.followState.stateNumber]
    return (0 if transition.isEpsilon else 1) + cost[transition.target.stateNumber]


class StatementGenerator:
    """Derives texts from rules; none but the allowed ones where there is a way without."""

    def __init__(self, seed: int, allowed: Collection[str] = RULES) -> None:
        self._random = random.Random(seed)  # noqa: S311 to be the same each time
        self._allowed = frozenset(allowed)
        self._honest = len(self._allowed) < len(RULES)

    def text(self, rule: str, choices: int = 40) -> str:
        """A text of a rule; after so many choices, each part is as short as it can be."""
        self._left = choices
        text = ""
        for token in self._rule(RULES.index(rule), ()):
            apart = _is_word(text[-1:]) and _is_word(token[:1])
            text += f" {token}" if apart else token
        return text

    def statement(self) -> str:
        """A reading statement, part by part, so that the last ones are as long as the first ones."""
        parts = [f"MATCH {self.text('pattern')}"]
        parts += [f"WHERE {self.text('expression')}"] * self._random.choice((0, 1))
        if self._random.random() < 0.3:
            parts.append(self.text(self._random.choice(("withSt", "unwindSt", "matchSt"))))
        parts.append(f"RETURN {self.text('projectionItem')}")
        parts += [f", {self.text('projectionItem')}"] * self._random.choice((0, 1))
        parts += [f"{self.text('orderSt')}"] * self._random.choice((0, 0, 1))
        return " ".join(parts)

    def _rule(self, index: int, around: tuple[str, ...]) -> Iterator[str]:
        name = RULES[index]
        if name in ("name", "symbol"):
            yield self._name(around)
            return
        if name == "invocationName" and self._honest:
            yield self._random.choice(_NAMES[name])
            return
        if name in _HONEST and self._honest:
            template = self._random.choice(_HONEST[name]) if self._left > 0 else _HONEST[name][0]
            if self._left <= 0 and name == "functionInvocation":
                template = "trim(<symbol>.name)"
            self._left -= 1
            at = 0
            for found in _DERIVED.finditer(template):
                yield from filter(None, (template[at : found.start()],))
                yield from self._rule(RULES.index(found[1]), (*around, name))
                at = found.end()
            yield from filter(None, (template[at:],))
            return
        if name == "rangeLit":
            yield self._random.choice(("*", "*2", "*1..3", "*..4", "*2..", "* 1 .. 2"))
            return
        if name == "numLit":
            yield self._random.choice(("1", "0", "42", "2.5", "1e3"))
            return
        state: Any = _ATN.ruleToStartState[index]
        while not isinstance(state, RuleStopState):
            step = self._step(state)
            if step.serializationType == Transition.RULE:
                yield from self._rule(step.target.ruleIndex, (*around, name))
                state = step.followState
                continue
            if not step.isEpsilon:
                yield self._token(self._random.choice([t for t in step.label if t > 0] or [1]))
            state = step.target

    def _step(self, state: Any) -> Any:
        steps = list(state.transitions)
        if len(steps) == 1:
            return steps[0]
        self._left -= 1
        cost = _cheapest()
        open_steps = [t for t in steps if self._is_allowed(t)] or steps
        if self._left > 0:
            ends = isinstance(state, StarLoopEntryState | PlusLoopbackState) and self._random.random() < 0.6
            return open_steps[-1] if ends else self._random.choice(open_steps)
        return min(open_steps, key=lambda t: _cost(t, cost))

    def _is_allowed(self, step: Any) -> bool:
        """Whether a way does not begin with a rule that is not allowed."""
        seen = set()
        while step.isEpsilon or step.serializationType == Transition.RULE:
            if step.serializationType == Transition.RULE:
                return RULES[step.target.ruleIndex] in self._allowed
            if len(step.target.transitions) != 1 or step.target.stateNumber in seen:
                return True
            seen.add(step.target.stateNumber)
            step = step.target.transitions[0]
        return True

    def _name(self, around: tuple[str, ...]) -> str:
        kinds = [rule for rule in around if rule in _NAMES]
        if kinds and not (kinds[-1] == "propertyExpression" and around[-1] == "atom"):
            inner = kinds[-1]
            if around[-1] in (inner, "name") or (inner == "invocationName"):
                return self._random.choice(_NAMES[inner])
        return self._random.choice(("a", "b", "c", "`a`", "d"))

    def _token(self, kind: int) -> str:
        symbol = _TOKENS[kind]
        if symbol in _TEXTS:
            return self._random.choice(_TEXTS[symbol])
        literal = CypherParser.literalNames[kind] if kind < len(CypherParser.literalNames) else symbol
        return literal.strip("'") if literal != "<INVALID>" else symbol


def _is_word(sign: str) -> bool:
    return sign != "" and (sign.isalnum() or sign in "_`'\"")
