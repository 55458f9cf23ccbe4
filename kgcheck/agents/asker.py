"""ReactAgent: a tool-calling model answers a question; its answer must rest on tool results.

What it answers must rest on what its tools have shown in this conversation; else it is refused with the reason, and in
the end there is no answer.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import product
from typing import Any, NamedTuple

from pydantic import BaseModel, Field

from kgcheck.agents.model_steps import (
    EndForm,
    Offer,
    arguments_of,
    as_call,
    as_data,
    form_of_steps,
    specs_of,
    tools_in_words,
)
from kgcheck.agents.tool_types import (
    CypherArguments,
    CypherResult,
    IdListResult,
    IdsNeighbourArguments,
    ListsArguments,
    NameArguments,
    NamedNodesResult,
    NeighbourArguments,
    NeighbourListsResult,
    NodeArguments,
    NodeCountsResult,
    NodeResult,
    NodesResult,
    Path,
    RelationsResult,
    SharedArguments,
)
from kgcheck.agents.toolbox import MOST_NODES, PUBLISHED, Outside, Toolbox, checked_arguments
from kgcheck.agents.transcript import AgentRole
from kgcheck.errors import BudgetExceeded, BudgetSpent, UnknownName, UsageError
from kgcheck.graph.names import NameLink
from kgcheck.graph.store import Direction, GraphStore
from kgcheck.llm.budget import Limits, Meter
from kgcheck.llm.client import ChatClient, Message, Reply, ToolCall
from kgcheck.model import CheckTask, Evidence, Gap, Ref, Triple, Value
from kgcheck.profile.lexicon import Lexicon, load_lexicon, phrase
from kgcheck.profile.schema import Pattern
from kgcheck.questions.answer import NOT_IN_THE_GRAPH, Answer, Edge, Found, Status
from kgcheck.questions.resolver import NameResolver

_WORD = re.compile(r"[^\s,;()?!]+")
_SAME = 20
"""Nodes that carry one name; of a name that more carry, nothing can be said."""

_SMALL = frozenset(
    "a an and are as at be been by can could did do does for from had has have if in into is it its may not of on or "
    "so than that the there this to was were what which with would you".split()
)
_MORE = re.compile(
    r"\b(?:not|no|never|none|nor|neither|without|only|solely|exclusively|all|every|each|any|some|both|either|exactly|same|"
    r"different|other|others|another|most|least|more|less|fewer|above|below|over|under|predicted|experimentally|directly|"
    r"indirectly|physically|strongly|how|many|score|scores|confidence|and|or)\b|n[\u2019']t\b|\d",
    re.IGNORECASE,
)
"""Words and numbers that change what is asked, in a way that an edge does not show."""


class Unsupported(UsageError):
    """An answer that nothing bears out which the tools have shown."""


class Quantity(NamedTuple):
    """Number with its origin, and the nodes that it counts, if it counts nodes."""

    what: str
    refs: tuple[Ref, ...] = ()


class _Way(NamedTuple):
    node: Ref
    relation: str
    direction: Direction
    label: str


class ShownResults:
    """Keeps what tools gave."""

    def __init__(self, question: str, store: GraphStore) -> None:
        self._question = question.casefold()
        self._store = store
        self.paths: dict[Ref, Path] = {}
        self.edges: dict[Triple, Edge] = {}
        self.counts: dict[int, Quantity] = {}
        self.none: list[str] = []
        self.cut: list[str] = []
        self._absent: set[Triple] = set()
        self._complete: dict[_Way, frozenset[str]] = {}
        self._passed: set[Ref] = set()
        self._listed: dict[str, frozenset[str]] = {}
        self._lists: set[frozenset[str]] = set()

    def add(self, arguments: BaseModel, result: BaseModel) -> None:
        """Keep what a call has shown. What papers say is no part of the graph, and shows no answer."""
        match arguments, result:
            case NameArguments(), NamedNodesResult():
                self._named(arguments, result)
            case NodeArguments(), NodeResult(found=True):
                self._looked_up(Ref(label=arguments.label, id=arguments.id), result.properties)
            case _, RelationsResult():
                self._relations(result)
            case NeighbourArguments(), NodesResult():
                self._neighbours(arguments, result)
            case SharedArguments(), NodesResult():
                refs = self._reach_all(arguments.label, result)
                nodes = ", ".join(map(str, arguments.nodes))
                self._total(f"{arguments.label} nodes that {nodes} share along {arguments.relation}", refs, result)
            case _, NodeCountsResult():
                for row in result.nodes:
                    self._looked_up(row.node, {})
            case IdsNeighbourArguments(), NeighbourListsResult():
                for reached in result.nodes:
                    self._looked_up(reached.node, {})
                    step = {"relation": arguments.relation, "direction": arguments.direction, "label": arguments.label}
                    self._neighbours(NeighbourArguments.model_validate({"node": reached.node, **step}), reached)
            case ListsArguments(), IdListResult():
                self._put_together(arguments, result)
            case CypherArguments(), CypherResult():
                self._rows(arguments.query, result)

    def path(self, ref: Ref) -> Path | None:
        """Return the path to a node; empty where it was only looked up, None where nothing shows it."""
        if ref in self.paths:
            return self.paths[ref]
        if ref in self._passed and ref.id.casefold() in self._question:
            return ()
        if ref.label in self._listed.get(ref.id, ()) and self._store.node(ref) is not None:
            return ()
        return None

    def why_not(self, ref: Ref) -> str:
        """Return the reason why a node cannot be an answer."""
        if ref in self._passed:
            return f"{ref} is an id of your own that no tool came to: go to it from what the question names"
        return f"no tool has shown {ref}"

    def lacks(self, triple: Triple) -> bool:
        """Return whether a complete look-up has shown that an edge is not there."""
        if triple in self._absent:
            return True
        ways = (
            _Way(triple.head, triple.relation, "out", triple.tail.label),
            _Way(triple.tail, triple.relation, "in", triple.head.label),
        )
        ends = (triple.tail.id, triple.head.id)
        return any(w in self._complete and end not in self._complete[w] for w, end in zip(ways, ends, strict=True))

    def _named(self, wanted: NameArguments, result: NamedNodesResult) -> None:
        for label, ids in result.ids.items():
            for id_ in ids:
                ref = Ref(label=label, id=id_)
                if id_ == wanted.name:
                    self._looked_up(ref, {})
                else:
                    self.paths.setdefault(ref, ())

    def _looked_up(self, ref: Ref, properties: Mapping[str, Any]) -> None:
        """A node whose id the model passed itself, and that is there."""
        self._passed.add(ref)
        for name, value in properties.items():
            if isinstance(value, int) and not isinstance(value, bool):
                self.counts[value] = Quantity(f"{name} of {ref}")

    def _relations(self, result: RelationsResult) -> None:
        """Record what stands between two nodes; nothing does where one of them is not there."""
        if result.missing:
            return
        for between in result.relations:
            if not between.edges:
                self._absent.add(between.triple)
                continue
            if between.turned == len(between.edges):
                # Stated in the other order alone, under which it stands in the result, too.
                continue
            edge = Edge(triple=between.triple, properties=dict(between.edges[0]))
            self.edges[between.triple] = edge
            for ref in (between.triple.head, between.triple.tail):
                self._reach(ref, (edge,))

    def _neighbours(self, wanted: NeighbourArguments, result: NodesResult) -> None:
        refs = self._reach_all(wanted.label, result, self.paths.get(wanted.node, ()))
        if not result.cut_off:
            self._lists.add(frozenset(ref.id for ref in refs))
            way = _Way(wanted.node, wanted.relation, wanted.direction, wanted.label)
            self._complete[way] = frozenset(ref.id for ref in refs)
        self._total(f"{wanted.label} nodes one step from {wanted.node} along {wanted.relation}", refs, result)

    def _put_together(self, wanted: ListsArguments, result: IdListResult) -> None:
        """Count what several lists have together, if each is a whole one that a tool has shown, or was made of such."""
        if all(frozenset(ids) in self._lists for ids in wanted.lists):
            self._lists.add(frozenset(result.ids))
            noun = "ids of lists that were put together"
            self.counts[result.total] = Quantity(noun)
            if not result.total:
                self.none.append(noun)

    def _rows(self, text: str, result: CypherResult) -> None:
        """Rows of a statement: what it reads from the graph counts, what its writer put into it does not."""
        reading = result.reading
        if reading is None or reading.invents:
            return
        if result.cut_off:
            self.cut.append(f"the rows of {text}")
        for value in _values(result.rows):
            if isinstance(value, str) and not any(value in own for own in reading.parameters.values()):
                self._listed[value] = self._listed.get(value, frozenset()) | reading.labels
            elif isinstance(value, int) and not isinstance(value, bool):
                self.counts[value] = Quantity(f"a number that a statement gave: {text}")
        if not result.cut_off and not reading.limited and result.rows:
            self.counts[len(result.rows)] = Quantity(f"the rows of {text}")

    def _reach_all(self, label: str, result: NodesResult, before: Path = ()) -> list[Ref]:
        refs = [Ref(label=label, id=node.id) for node in result.nodes]
        for ref, path in zip(refs, result.paths, strict=True):
            self.edges |= {edge.triple: edge for edge in path}
            self._reach(ref, (*path, *before))
        return refs

    def _reach(self, ref: Ref, path: Path) -> None:
        # A way there says more than a look-up by name.
        self.paths[ref] = self.paths.get(ref) or path

    def _total(self, noun: str, refs: list[Ref], result: NodesResult) -> None:
        if result.cut_off:
            self.cut.append(noun)
        self.counts[result.total] = Quantity(noun, tuple(refs))
        if not result.total:
            self.none.append(noun)


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        # A name that begins so is the store's own, such as the place of a node in its files.
        for name, inner in value.items():
            if not str(name).startswith("_"):
                yield from _values(inner)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for inner in value:
            yield from _values(inner)
    else:
        yield value


def edges_for_yes_or_no(question: str, holds: bool, shown: ShownResults, resolver: NameResolver) -> tuple[Edge, ...]:
    """Return the edges that a yes or a no rests on; Unsupported unless it rests on what was shown."""
    candidates = _edges_in_question(question, resolver)
    found = tuple(shown.edges[t] for t in candidates if t in shown.edges)
    if holds and not found:
        raise Unsupported(f"no tool has shown such an edge: {_listed(candidates)}")
    if not holds and found:
        raise Unsupported(f"a tool has shown that it is so: {_listed([e.triple for e in found])}")
    unseen = [t for t in candidates if not shown.lacks(t)]
    if not holds and unseen:
        raise Unsupported(f"no tool has looked for this edge: {_listed(unseen)}")
    return found


def _edges_in_question(question: str, resolver: NameResolver) -> list[Triple]:
    schema, mentions = resolver.schema, _mentions(question, resolver)
    if len(mentions) != 2:
        raise Unsupported(
            f"yes or no needs two things that the question names and the graph has: there are {len(mentions)}",
            "answer with ids instead",
        )
    rest = "".join(c if not any(n.start <= i < n.end for n in mentions) else " " for i, c in enumerate(question))
    lexicon = load_lexicon(schema)
    if more := _more(rest.lower(), lexicon):
        raise Unsupported(f"what {more!r} means in the question cannot be seen from an edge", "answer with ids instead")
    one, other = mentions
    ways = [
        (pattern, head, tail, forth)
        for a, b in product((c.ref for c in one.candidates), (c.ref for c in other.candidates))
        for head, tail, forth in ((a, b, True), (b, a, False))
        for pattern in schema.relations
        if (pattern.head, pattern.tail) == (head.label, tail.label) and head != tail
    ]
    words = {p.type: lexicon.relation(p.type) for p, *_ in ways}
    named_types = {type_ for type_, w in words.items() if _holds(w.forward + w.backward, rest.lower())}
    types = named_types or {p.type for p, *_ in ways}
    if len(types) != 1:
        raise Unsupported(f"which relation is asked for is not plain: {', '.join(sorted(types)) or 'none joins them'}")
    meant = [w for w in ways if w[0].type in types]
    return list(
        dict.fromkeys(
            Triple(head=head, relation=pattern.type, tail=tail)
            for pattern, head, tail, forth in meant
            if _way_fits(lexicon, pattern, rest.lower(), forth)
        )
    )


def _more(rest: str, lexicon: Lexicon) -> str:
    """A word of a question, without the names in it, that says more than that there is an edge; or nothing."""
    if more := _MORE.search(rest):
        return more[0]
    phrases = [p for r in lexicon.relations for p in (*r.forward, *r.backward)]
    phrases += [p for label in lexicon.labels for p in label.nouns]
    for pattern in phrases:
        rest = re.sub(phrase(pattern), " ", rest)
    left = [w.strip(".'\"") for w in _WORD.findall(rest)]
    return next((w for w in left if w and w not in _SMALL and w not in lexicon.words.ignored), "")


def _way_fits(lexicon: Lexicon, pattern: Pattern, rest: str, forth: bool) -> bool:
    """Return whether an edge may stand in this direction; asked only where both ends are of one label."""
    if pattern.symmetric or pattern.head != pattern.tail:
        return True
    words = lexicon.relation(pattern.type)
    forward, backward = _holds(words.forward, rest), _holds(words.backward, rest)
    if forward == backward:
        raise Unsupported(f"which way {pattern.type} is asked for is not plain", "answer with ids instead")
    return forth == forward


def _holds(phrases: tuple[str, ...], rest: str) -> bool:
    return any(re.search(phrase(p), rest) for p in phrases)


def _mentions(question: str, resolver: NameResolver) -> list[NameLink]:
    """Find what a question names, the longest names first; nothing twice."""
    found: list[NameLink] = []
    for link in sorted(resolver.links(question), key=lambda link: link.start - link.end):
        if any(n.start < link.end and link.start < n.end for n in found):
            continue
        if len(link.candidates) > _SAME:
            raise Unsupported(f"over {_SAME} nodes are called {link.text!r}")
        found.append(link)
    return sorted(found)


def _listed(triples: list[Triple]) -> str:
    more = f" and {len(triples) - 3} more" if len(triples) > 3 else ""
    return "; ".join(map(str, triples[:3])) + more


MOST_ACTIONS = 15
MOST_UNSUPPORTED = 3
"""Answers that nothing bears out, after which a model is given up."""


class FinalAnswer(Value):
    """The answer: ids of one label, a number, or whether it holds."""

    understood: bool = True
    label: str | None = None
    ids: tuple[str, ...] = ()
    count: int | None = None
    holds: bool | None = Field(default=None, description="of a yes or no question: whether the graph says so")


_ANSWER = EndForm("answer", FinalAnswer.__doc__ or "", FinalAnswer)

_BEYOND_SMALL = ("cypher", "literature_search")
"""Tools that are too much for a weak model."""

_FROM_NODES = ("relations", "neighbours", "shared_neighbours")
"""Tools that go on from nodes that were shown."""


@dataclass
class ReactAgent:
    """Answers questions with a model; `published`: with the tools and the demonstration of BioKGBench's agents."""

    store: GraphStore
    client: ChatClient
    limits: Limits | None = None
    outside: Outside | None = None
    on_text: Callable[[str], None] | None = None
    resolver: NameResolver | None = None
    one_call: bool = False
    published: bool = False
    total: Meter | None = None

    def __post_init__(self) -> None:
        self.toolbox = Toolbox(self.store, _NoSource(), self.outside, self.resolver)
        left_out = {*(() if self.outside else ("literature_search",)), *(_BEYOND_SMALL if self.client.small else ())}
        tools = [t for t in self.toolbox.tools(AgentRole.ASKER) if (t.name in PUBLISHED) == self.published]
        self.offers: list[Offer] = [*(t for t in tools if t.name not in left_out), _ANSWER]

    def ask(self, question: str) -> Answer:
        """Answer a question."""
        meter = Meter(self.limits or Limits(), self.client.prices, self.total)
        conversation = _Conversation(question, self)
        try:
            answer = None
            for _ in range(MOST_ACTIONS):
                answer = conversation.take(self._next(conversation, meter), meter)
                if answer or meter.spent.turns >= MOST_ACTIONS:
                    break
            if not answer:
                answer = conversation.without_answer(f"no answer after {MOST_ACTIONS} actions")
        except BudgetSpent:
            raise
        except BudgetExceeded as error:
            answer = conversation.without_answer(error.message)
        spent = meter.spent
        tokens = spent.input_tokens + spent.output_tokens
        return answer.model_copy(update={"actions": spent.turns, "tokens": tokens, "cost": spent.money})

    def _next(self, conversation: "_Conversation", meter: Meter) -> Reply:
        more: dict[str, Any] = {"meter": meter, "on_text": self.on_text}
        if conversation.bound:
            return as_call(self.client.complete(conversation.messages, answer=conversation.form(), **more))
        tools = specs_of(self.offers)
        return self.client.complete(conversation.messages, tools=tools, one_call=self.one_call, **more)


class _NoSource:
    """Questions are answered from the graph: no source gives evidence."""

    def observe(self, task: CheckTask, cited: Sequence[str] = ()) -> tuple[tuple[Evidence, ...], tuple[Gap, ...]]:
        return (), ()


class _Conversation:
    def __init__(self, question: str, agent: ReactAgent) -> None:
        self._question = question
        self._store, self._toolbox, self._offers = agent.store, agent.toolbox, agent.offers
        self._shown = ShownResults(question, agent.store)
        self._unsupported: list[str] = []
        self.bound = self._small = agent.client.small
        self._looked = False
        self._known: dict[str, None] = {}
        folder = files("kgcheck.agents") / "prompts"
        place = folder / "published" if agent.published else folder / "small" if self._small else folder
        prompt = (place / "asker.md").read_text(encoding="utf-8")
        if self._small and not agent.published:
            prompt += tools_in_words(self._offers, example=False) + self._worked_example()
        known = "\n".join(f"({p.head})-[{p.type}]->({p.tail})" for p in agent.store.schema.relations)
        self.messages: list[Message] = [
            {"role": "system", "content": f"{prompt}\nThe relations of the graph:\n{known}"},
            {"role": "user", "content": as_data(json.dumps({"question": question}, ensure_ascii=False))},
        ]

    def form(self) -> type[BaseModel]:
        """Return the form of the next step; a weak model's step is over what was shown, its answer after one."""
        if not self._small:
            return form_of_steps(self._offers)
        schema, known = self._store.schema, list(self._known)
        choices: dict[str, Sequence[Any]] = {
            "label": [label.name for label in schema.labels],
            "relation": list(dict.fromkeys(p.type for p in schema.relations)),
        }
        choices |= {"id": known, "ids": known[-MOST_NODES:]} if known else {}
        closed = {*(() if self._looked else (_ANSWER.name,)), *(() if known else _FROM_NODES)}
        return form_of_steps([offer for offer in self._offers if offer.name not in closed], choices)

    def _worked_example(self) -> str:
        """A question of two made-up names with its steps, in the words of the first relation of the profile."""
        p = self._store.schema.relations[0]
        node = {"label": p.head, "id": "ID1"}
        steps = [
            ("find_nodes", {"name": "NAME1", "label": p.head}, {"ids": {p.head: ["ID1"]}}),
            ("neighbours", {"node": node, "relation": p.type, "direction": "out", "label": p.tail}, {"nodes": ["ID2"]}),
            (_ANSWER.name, {"understood": True, "label": p.tail, "ids": ["ID2"]}, None),
        ]
        lines = [f"\nAn example, with made-up ids: which {p.tail} does the {p.head} NAME1 go to by {p.type}?"]
        for tool, arguments, shown in steps:
            lines.append(json.dumps({"tool": tool, "arguments": arguments}))
            lines += [f"shows {json.dumps(shown)}"] if shown else []
        return "\n".join(lines)

    def take(self, reply: Reply, meter: Meter) -> Answer | None:
        """Carry out the steps that a reply holds, in their order; each is an action."""
        in_words = self.bound and bool(reply.text)
        # A step in words goes back as the words that it was.
        self.messages.append(reply.model_copy(update={"calls": () if in_words else reply.calls}).as_message())
        if not reply.calls:
            wrong = "That was no action: call exactly one tool."
            # A model that does not call a tool may not have heard of any.
            content = wrong if self.bound else f"{wrong} {tools_in_words(self._offers)}"
            self.messages.append({"role": "user", "content": content})
            self.bound = True
            return None
        for number, call in enumerate(reply.calls[:1] if in_words else reply.calls):
            if number:
                if meter.spent.turns >= MOST_ACTIONS:
                    break
                meter.count_turn()
            if answer := self._take(call, in_words):
                return answer
        return None

    def _take(self, call: ToolCall, in_words: bool) -> Answer | None:
        try:
            result = self._result(call)
        except (UsageError, UnknownName) as error:
            result = {"refused": error.in_one_line}
            if isinstance(error, Unsupported):
                self._unsupported.append(error.message)
                if len(self._unsupported) == MOST_UNSUPPORTED:
                    return self.without_answer(f"the model was given up after {MOST_UNSUPPORTED} answers")
        if isinstance(result, Answer):
            return result
        content = as_data(json.dumps(result, ensure_ascii=False, default=str))
        message = {"role": "user"} if in_words else {"role": "tool", "tool_call_id": call.id}
        self.messages.append({**message, "content": content})
        return None

    def without_answer(self, because: str) -> Answer:
        """Return the result of a conversation that ends without an answer."""
        if not self._unsupported:
            return Answer(question=self._question, status=Status.STOPPED, because=because)
        because = f"{because}; its last one rests on nothing that its tools have shown: {self._unsupported[-1]}"
        return Answer(question=self._question, status=Status.UNSUPPORTED, because=because)

    def _result(self, call: ToolCall) -> Any:
        offer = next((o for o in self._offers if o.name == call.name), None)
        if offer is None:
            raise UsageError(f"there is no tool {call.name!r}")
        arguments = arguments_of(call)
        if offer is _ANSWER:
            return self._answer(checked_arguments(call.name, FinalAnswer, arguments))
        result = self._toolbox.call(AgentRole.ASKER, call.name, arguments)
        self._shown.add(offer.arguments.model_validate(arguments), result)
        found = _ids_in(result)
        self._known |= dict.fromkeys(found)
        # A look-up by name that found something is where a weak model begins, and nothing to answer with yet.
        self._looked |= not (isinstance(result, NamedNodesResult) and bool(found))
        return result.model_dump(mode="json", exclude_none=True)

    def _answer(self, final: FinalAnswer) -> Answer:
        if not final.understood:
            return Answer(question=self._question, status=Status.NOT_UNDERSTOOD, because="the model does not know")
        if final.ids and not final.label:
            raise UsageError("name the label that the ids are of")
        if final.count is not None and final.holds is not None:
            raise UsageError("the answer is a number, or whether it holds, not both")
        shown = self._shown
        refs = [self._store.schema.ref(final.label or "", id_) for id_ in dict.fromkeys(final.ids)]
        for ref in refs:
            if shown.path(ref) is None:
                raise Unsupported(shown.why_not(ref))
        notes = [f"{what} is cut off: there may be more" for what in dict.fromkeys(shown.cut)]
        if final.holds is not None:
            edges = edges_for_yes_or_no(self._question, final.holds, shown, self._toolbox.resolver)
            if not final.holds:
                because = NOT_IN_THE_GRAPH
                return Answer(question=self._question, status=Status.NOTHING, holds=False, because=because)
            paths: dict[Ref, Path] = {edge.triple.tail: (edge,) for edge in edges}
            return self._found(list(paths), paths, holds=True)
        if final.count is not None:
            if final.count not in shown.counts:
                raise Unsupported(f"{final.count} is no number that a tool has given, and no result has so many nodes")
            counted = shown.counts[final.count]
            refs = refs or list(counted.refs)
            return self._found(refs, shown.paths, count=final.count, notes=(f"the number is: {counted.what}", *notes))
        if not refs and not shown.none:
            raise Unsupported("no look-up has come to nothing, so that nothing shows that the graph has none")
        if not refs:
            notes = [f"there are none: {what}" for what in dict.fromkeys(shown.none)]
        return self._found(refs, shown.paths, notes=tuple(notes))

    def _found(self, refs: list[Ref], paths: Mapping[Ref, Path], **more: Any) -> Answer:
        schema = self._store.schema
        nodes = {
            Ref(label=name, id=id_): node
            for name in dict.fromkeys(ref.label for ref in refs)
            for id_, node in self._store.nodes(schema.label(name), [r.id for r in refs if r.label == name]).items()
        }
        found = tuple(
            Found(
                ref=ref,
                name=nodes.get(ref, {}).get("name"),
                properties={k: v for k, v in nodes.get(ref, {}).items() if k not in ("id", "name")},
                path=paths.get(ref, ()),
            )
            for ref in refs
        )
        status = Status.ANSWERED if found or more.get("count") is not None else Status.NOTHING
        return Answer(question=self._question, status=status, found=found, **more)


def _ids_in(result: BaseModel) -> list[str]:
    match result:
        case NodesResult():
            return [node.id for node in result.nodes]
        case NeighbourListsResult():
            return [node.id for row in result.nodes for node in row.nodes]
        case NamedNodesResult():
            return [id_ for ids in result.ids.values() for id_ in ids]
        case _:
            return []
