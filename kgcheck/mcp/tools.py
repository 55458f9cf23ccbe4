"""MCP tools over a workspace (check, ask, search, verify, decide, ...)."""

import inspect
import json
from collections.abc import Callable
from contextlib import closing
from inspect import Parameter
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import anyio.from_thread
from mcp.server.mcpserver import Context
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

from kgcheck.agents.transcript import Event
from kgcheck.curation.findings import DecisionOptions, FindingFilter, FindingPage
from kgcheck.errors import UsageError
from kgcheck.grounding.manuscripts.reading import MOST_CITATIONS, MOST_NUMBERS
from kgcheck.ledger.accounts import Role
from kgcheck.mcp.answers import (
    brief_answer,
    claim_answer,
    facts_answer,
    finding_answer,
    findings_answer,
    papers_answer,
    plain,
    protocol_answer,
    question_answer,
    text_answer,
)
from kgcheck.mcp.guards import Asking
from kgcheck.options import OutsideCheckLimits, TextOptions
from kgcheck.workspace.workspace import Workspace


def check_sources(sources: TextOptions) -> None:
    """Read the files that texts are held against once: what is wrong with one is seen before anybody is served."""
    if sources.bibliography:
        from kgcheck.literature.bibliography import Bibliography

        with closing(Bibliography(sources.bibliography)):
            pass
    if sources.results:
        from kgcheck.grounding.results import read_results

        read_results(sources.results)


F = TypeVar("F", bound=Callable[..., Any])
Fingerprint = Annotated[str, Field(pattern=r"^[0-9a-f]{4,16}$", description="16 hexadecimal digits, or the first ones")]
RunName = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$", description="id of a run, its beginning, or latest: the latest audit")
]
Word = Annotated[str, Field(min_length=1, max_length=100)]
Words = Annotated[list[Word], Field(max_length=20)]
Text = Annotated[str, Field(min_length=1, max_length=2_000)]
Identity = Annotated[str, Field(min_length=1, max_length=512)]

LONGEST_TEXT, LONGEST_PROTOCOL = 20_000, 400_000
"""Characters: a section of a paper has fewer than the one, and a protocol of twenty steps half of the other."""

_TEXT = f"the text itself, with at most {MOST_NUMBERS} numbers and {MOST_CITATIONS:,} citations; no file is read"
_PROTOCOL = f"what a protocol.json holds, at most {LONGEST_PROTOCOL:,} characters as JSON"
_EDGE = "HEAD RELATION TAIL, by ids or names, as the graph has it"
_TOPIC = "a node by label and id, by id or by name; or a topic that names nodes"
_FACTS = "most facts of the graph that are looked at of each node"
_FACT = (
    "an edge, HEAD RELATION TAIL; `existence LABEL ID`; `attribute LABEL ID NAME`; or"
    " `attribute HEAD RELATION TAIL NAME`; all by ids or names"
)


def with_options(model: type[BaseModel]) -> Callable[[F], F]:
    """Give a function the fields of a model of options as arguments, in the place of its ``**`` argument."""
    options = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.is_required() else field.default,
            annotation=Annotated[field.annotation, field],
        )
        for name, field in model.model_fields.items()
    ]

    def signed(function: F) -> F:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        function.__dict__["__signature__"] = signature.replace(parameters=[*own, *options])
        return function

    return signed


class OfferedTool(NamedTuple):
    """A tool as it is offered."""

    function: Callable[..., Any]
    role: Role
    annotations: ToolAnnotations


class Tools:
    """The tools over a workspace, for any number of threads."""

    def __init__(self, workspace: Workspace, asking: Asking, sources: TextOptions) -> None:
        self._workspace = workspace
        self._asking = asking
        self._sources = sources

    def offered(self) -> dict[str, OfferedTool]:
        """All of them, by name; each that writes needs more than a viewer."""
        live = self._workspace.live
        asks = live or self._workspace.brain == "llm"
        # Each with whether it asks somebody outside.
        viewing: dict[Callable[..., Any], bool] = {
            self.check: asks,
            self.ask: asks,
            self.search: False,
            self.verify: False,
            self.findings: False,
            self.explain: False,
            self.verified_facts: False,
            self.ground_text: live,
            self.brief: False,
            self.check_protocol: live,
        }
        reads, writes = ({"read_only_hint": is_safe, "idempotent_hint": is_safe} for is_safe in (True, False))
        tools = {
            function.__name__: OfferedTool(function, Role.VIEWER, ToolAnnotations(**reads, open_world_hint=outside))
            for function, outside in viewing.items()
        }
        hints = ToolAnnotations(**writes, destructive_hint=False, open_world_hint=False)
        return tools | {"decide": OfferedTool(self.decide, Role.CURATOR, hints)}

    @with_options(OutsideCheckLimits)
    def check(
        self,
        what: Annotated[Text, Field(description=_FACT)],
        ctx: Context[Any, Any],
        **limits: Any,
    ) -> dict[str, Any]:
        """Check one fact.

        Is an edge, a node or an attribute of the graph right? Looks into the graph and into every source that decides
        it, now, and gives the verdict with all evidence. Takes seconds; sends its progress, and stops when it is
        cancelled. Nothing is kept.
        """
        if "llm" in limits["verifiers"]:
            # It costs whoever runs the server.
            self._asking.needs(Role.CURATOR)
        steps = 0

        def listen(event: Event) -> None:
            nonlocal steps
            # Ends the work here where the client has given up.
            anyio.from_thread.check_cancelled()
            steps += 1
            # What was done, and not with what: names of a graph have no place in a message to whoever watches.
            anyio.from_thread.run(ctx.report_progress, steps, None, f"{event.stage.value}: {event.role.value}")

        done = self._workspace.check(what, **limits, on_event=listen, keep=False)
        return finding_answer(done.finding, notes=[*map(str, done.taken), *done.notes])

    def ask(
        self,
        question: Annotated[Text, Field(description="in English words, with names or ids that the graph has")],
        limit: Annotated[int, Field(ge=1, le=200, description="most answers that are given")] = 25,
    ) -> dict[str, Any]:
        """Ask the graph.

        A question in words, answered from the graph alone, with the path of edges to every answer. `read_as` says how
        it was understood; look at it before you use the answers. That a graph does not state something is no proof that
        it is not so.
        """
        result = self._workspace.ask(question, papers=False)
        return question_answer(result.answer, result.notes, limit)

    def search(
        self,
        query: Annotated[Text, Field(description="words or a sentence")],
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
        papers: Annotated[Words, Field(description="search only in these, by id")] = [],  # noqa: B006
    ) -> dict[str, Any]:
        """Search papers.

        Those of the literature index, the best first, each with its best passage, quoted.
        """
        found = self._workspace.search(query, limit=limit, documents=papers)
        return papers_answer(found.hits, found.notes)

    def verify(
        self,
        claim: Annotated[Text | None, Field(description="a statement or a question; or name an edge instead")] = None,
        edge: Annotated[Text | None, Field(description=_EDGE)] = None,
        papers: Annotated[Words, Field(description="read only these, by id")] = [],  # noqa: B006
        top: Annotated[int, Field(ge=1, le=20, description="papers to read where none is named")] = 3,
    ) -> dict[str, Any]:
        """Read papers about a claim.

        Do they support or contradict it? Gives each paper's opinion with exact quotes. `silent` means that they were
        read and do not say.
        """
        result = self._workspace.verify(claim or "", triple=edge, documents=papers, top=top)
        return claim_answer(result.verdict, (*map(str, result.taken), *result.notes))

    @with_options(FindingFilter)
    def findings(
        self,
        run: RunName = "latest",
        after: Annotated[Fingerprint | None, Field(description="`next` of the page before")] = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
        **filters: Any,
    ) -> dict[str, Any]:
        """List findings.

        What an audit found wrong or could not tell, the refuted first, page by page. A filter that is left out means
        any; several values of one filter mean any of them.
        """
        page = FindingPage(self._workspace.list_findings(run, **filters), after, limit)
        listed = list(page)
        return findings_answer(page.run, listed, page.next)

    def explain(self, fingerprint: Fingerprint) -> dict[str, Any]:
        """Explain a finding.

        All evidence, each piece with its source, release and record, what is proposed, and what people decided about
        it.
        """
        known = self._workspace.known_finding(fingerprint)
        stands = {"state": known.state, "decision_state": known.decided.state}
        # Of the history, the oldest decision comes first.
        history = self._workspace.history(known.fingerprint)[::-1]
        return finding_answer(known.finding, **stands, history=history)

    def verified_facts(
        self,
        edges: Annotated[list[Text], Field(max_length=50, description="HEAD RELATION TAIL each, by ids or names")] = [],  # noqa: B006
        label: Annotated[Word | None, Field(description="with `id`: everything that is verified of this node")] = None,
        id: Annotated[Identity | None, Field(description="of the node")] = None,
        limit: Annotated[int, Field(ge=1, le=200, description="most facts of a node")] = 50,
    ) -> dict[str, Any]:
        """Look up what is verified.

        For edges, or for a node with its attributes and edges, what the newest audit that looked found, by which record
        of which release, in which run. Asks nothing anew, so it is quick. A fact without `outcome` was never looked at,
        which says nothing about it.
        """
        if (label is None) != (id is None) or bool(edges) == (label is not None):
            raise UsageError(
                "name edges, or a node by its label and id",
                f'edges=["{self._workspace.schema.edge_example}"], or label and id',
            )
        workspace = self._workspace
        if label is not None and id is not None:
            facts, is_all = workspace.verified_of_node(workspace.schema.ref(label, id), limit)
            return facts_answer(facts, "" if is_all else f"the node has more than {limit} facts")
        return facts_answer(workspace.verified_edges(edges))

    def ground_text(
        self,
        text: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT, description=_TEXT)],
        form: Annotated[Literal["markdown", "text"], Field(description="how it is written")] = "markdown",
        limit: Annotated[int, Field(ge=1, le=100, description="most sentences and references that are given")] = 30,
    ) -> dict[str, Any]:
        """Ground a text.

        What does each sentence of a text rest on? Holds what it states against the audited graph, the papers and the
        reference, and its citations against its list of references. Gives sentences with remarks and their evidence,
        alarms first; `not_looked` says by check why nothing, or not all, was looked at. A sentence without a remark
        states nothing that could be looked up, and is only counted in `states`. Nothing is kept.
        """
        found, notes = self._workspace.ground_text(text, form, **dict(self._sources))
        return text_answer(found, notes, limit)

    def brief(
        self,
        what: Annotated[Text, Field(description=_TOPIC)],
        limit: Annotated[int, Field(ge=1, le=100, description=_FACTS)] = 50,
    ) -> dict[str, Any]:
        """Sum up what is known.

        Of a node or a topic: what is verified, what papers state and deny, and what is contested, refuted, missing or
        not verified, each sentence with what it rests on. Made by rules alone. State as true only what is of the kind
        verified.
        """
        return brief_answer(self._workspace.brief(what, limit=limit))

    def check_protocol(
        self,
        protocol: Annotated[dict[str, Any], Field(description=_PROTOCOL)],
        limit: Annotated[int, Field(ge=1, le=200, description="most remarks that are given")] = 50,
    ) -> dict[str, Any]:
        """Check a protocol.

        Which steps of a dry-lab protocol fell: what they rest on held when it was made, and does not now? Also what is
        wrong in it and what it lacks. Takes a protocol.json as kgcheck protocol design writes it. Nothing is kept.
        """
        text = json.dumps(protocol, ensure_ascii=False, separators=(",", ":"))
        if len(text) > LONGEST_PROTOCOL:
            raise UsageError(f"the protocol has more than {LONGEST_PROTOCOL:,} characters", "check it part by part")
        checked, notes = self._workspace.check_given_protocol(text, bibliography=self._sources.bibliography)
        return protocol_answer(checked, notes, limit)

    @with_options(DecisionOptions)
    def decide(
        self, findings: Annotated[list[Fingerprint], Field(min_length=1, max_length=100)], **options: Any
    ) -> dict[str, Any]:
        """Decide about findings.

        In the name of the person whose token this is, so only what that person has asked for. All or none is decided.
        Nothing is overwritten and the graph is not changed; reopen takes a decision back.
        """
        by = self._asking.needs(Role.CURATOR).name
        made = self._workspace.decide(findings, by=by, **options)
        rows = [
            {"fingerprint": m.decision.fingerprint, "action": m.decision.action.value, "before": m.before.state.value}
            for m in made
        ]
        return {"by": plain(by), "decided": rows}
