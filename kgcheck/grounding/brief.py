"""Make a fact sheet on a node or topic: verified, refuted and open facts.

Only verified facts are stated as such. What is refuted, contested, missing or never looked at is named as that.
"""

import re
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from pydantic import Field

from kgcheck import clock
from kgcheck.audit.verified_facts import node_facts
from kgcheck.context import Context
from kgcheck.curation.findings import list_findings
from kgcheck.errors import UnknownName
from kgcheck.ledger.verified import Verified
from kgcheck.literature.documents import Document
from kgcheck.literature.edge_reader import TripleReader, address, sure_opinions
from kgcheck.literature.search import find_papers
from kgcheck.model import INFORMS, CheckTask, CheckType, Evidence, Finding, Outcome, Reason, Ref, Stance, Value
from kgcheck.profile.claims import form_of
from kgcheck.profile.schema import Schema
from kgcheck.questions.resolver import taken_names

LONGEST_VALUE = 300  # characters of a value or a quote that is shown
MOST_NODES = 10  # nodes that a topic names, of which a brief speaks
PASSAGES = 10  # papers on a topic that are quoted


def stated(task: CheckTask, schema: Schema, name: Callable[[Ref], str], value: str = "") -> str:
    """Put what a task states into a clause: by the claim form of the profile, else by the words of the relation."""
    triple = task.edge
    if triple is None:
        own = f"{name(task.subject)} ({task.subject})"
        if task.type is CheckType.ATTRIBUTE:
            return f"the {task.attribute} of {own} is {value[:LONGEST_VALUE] or 'empty'}"
        return f"{own} exists"
    head, tail = name(triple.head), name(triple.tail)
    form = form_of(triple, schema)
    if form:
        return form.claim.format(head=head, tail=tail).strip().rstrip(".")
    return f"{head} {triple.relation.lower().replace('_', ' ')} {tail}"


class FactKind(StrEnum):
    """Standing of a fact; the order is that of a brief."""

    heading: str

    def __new__(cls, value: str, heading: str) -> Self:
        """One row of the table."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.heading = heading
        return member

    VERIFIED = "verified", "Verified"
    PAPER_FOR = "paper_for", "What papers say for it"
    PAPER_AGAINST = "paper_against", "What papers say against it"
    PAPER_ON = "paper_on", "What papers say on the topic"
    CONTESTED = "contested", "Contested"
    REFUTED = "refuted", "Refuted: not to be used as facts"
    MISSING = "missing", "Known to sources, missing from the graph"
    UNVERIFIED = "unverified", "Open: nobody could tell, or nobody has looked"


class BriefFact(Value):
    """One sentence of a brief."""

    id: str = Field(description="of the fact in its brief, e.g. F12")
    kind: FactKind
    theme: str = Field(description="the relation with the label at its other end, or what else it is about")
    text: str
    rests_on: tuple[str, ...] = Field(min_length=1, description="fingerprint, source with release and record, paper id")
    task: CheckTask | None = None
    outcome: Outcome | None = None
    reason: Reason | None = None
    quote: str = ""


class BriefReference(Value):
    """Source that sentences rest on, by its id."""

    id: str
    about: str
    url: str = ""


class Brief(Value):
    """The fact sheet."""

    of: str
    nodes: tuple[Ref, ...] = ()
    store: str
    made_at: datetime
    facts: tuple[BriefFact, ...] = ()
    references: tuple[BriefReference, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def parts(self) -> dict[FactKind, dict[str, list[BriefFact]]]:
        """The facts by kind, in the order of FactKind, and theme."""
        found: dict[FactKind, dict[str, list[BriefFact]]] = {}
        for fact in sorted(self.facts, key=lambda fact: list(FactKind).index(fact.kind)):
            found.setdefault(fact.kind, {}).setdefault(fact.theme, []).append(fact)
        return found


def make_brief(context: Context, topic: str, limit: int = 100) -> Brief:
    """Gather what is verified, stated, denied and open about a node or a topic."""
    notes: list[str] = []
    resolver, text = context.resolver(), " ".join(topic.split())
    taken = resolver.anywhere(text)
    nodes = tuple(dict.fromkeys(one.ref for one in taken) if taken else resolver.mentioned(text))[:MOST_NODES]
    notes += map(str, taken_names(taken))
    reader = context.paper_reader(notes)
    if not nodes and reader is None:
        raise UnknownName("node", topic, [], "name it by label and id, or name papers that speak of the topic")
    maker = _BriefMaker(context, reader)
    for node in nodes:
        known, complete = node_facts(context.verified_reader(), context.graph, node, limit)
        values = context.graph.node(node) or {}
        for task, verified in known:
            own = values.get(task.attribute) if task.attribute else None
            value = " ".join((", ".join(map(str, own)) if isinstance(own, list) else str(own or "")).split())
            # Of an empty attribute there is nothing to say, unless a source says that it should have a value.
            refuted = verified is not None and verified.outcome is Outcome.REFUTED
            if task.type is not CheckType.ATTRIBUTE or value or refuted:
                maker.add_known(task, verified, value)
        try:
            # What the newest audit found that sources know of the node and the graph lacks.
            with context.reading() as ledger:
                found = list_findings(ledger, graph=["lacks_it"], node=str(node))
        except UnknownName:
            notes.append("no audit is in the ledger: nobody has looked for edges that the graph lacks")
        else:
            for finding in (compared.finding for compared in found.page() if compared.finding):
                maker.add_missing(finding)
        if not complete:
            notes.append(f"{node} has more edges than the first {limit:,} facts: a higher limit takes more")
    if reader is not None and topic not in {str(node) for node in nodes} | {node.id for node in nodes}:
        # The best sentence of each of the papers that fit best; of none that is retracted. Where the topic names nodes,
        # a sentence that names none of them is of something else.
        names = [*map(maker.name, nodes), *(w for w in text.split() if nodes and w != w.lower())]
        named = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names), re.IGNORECASE)
        for hit in find_papers(context.index([]), topic, limit=PASSAGES):
            if not hit.document.retracted and named.search(hit.passage):
                maker.add_passage(hit.document, hit.passage)
    if maker.retracted:
        notes.append(f"retracted papers that speak of these edges and do not count: {', '.join(maker.retracted)}")
    if maker.unread:
        notes.append(f"edges that papers could not be asked about, for want of words or names: {maker.unread:,}")
    return Brief(
        of=" and ".join(dict.fromkeys(f"{maker.name(n)} ({n})" for n in nodes)) or topic,
        nodes=nodes,
        store=context.store,
        made_at=clock.now(),
        facts=tuple(maker.facts),
        references=tuple(maker.references.values()),
        notes=tuple(dict.fromkeys(notes)),
    )


class _BriefMaker:
    """Facts of a brief, as they are added."""

    def __init__(self, context: Context, reader: TripleReader | None) -> None:
        self._context, self._reader = context, reader
        self._names: dict[Ref, str] = {}
        self._seen: set[str] = set()
        self.facts: list[BriefFact] = []
        self.references: dict[str, BriefReference] = {}
        self.retracted: dict[str, None] = {}  # papers that speak of an edge, and do not count
        self.unread = 0  # edges that papers could not be asked about: no words for such edges, or no name

    def name(self, ref: Ref) -> str:
        """The name of a node."""
        if ref not in self._names:
            self._names[ref] = self._context.names_of(ref.label, [ref.id]).get(ref.id, ref.id)
        return self._names[ref]

    def add_known(self, task: CheckTask, verified: Verified | None, value: str = "") -> None:
        """Add an edge, an attribute or a node with its verdict and its value in the graph."""
        if task.fingerprint in self._seen:
            return
        self._seen.add(task.fingerprint)
        against = self._papers(task)
        outcome, reason = (verified.outcome, verified.reason) if verified else (None, None)
        clause, why = self._stated(task, value), reason.value.replace("_", " ") if reason else ""
        if outcome is Outcome.SUPPORTED:
            kind = FactKind.CONTESTED if against else FactKind.VERIFIED
            standing = "contested (a source supports it, papers contradict it)"
        elif outcome is Outcome.REFUTED:
            kind, standing = FactKind.REFUTED, f"refuted ({why})"
        elif reason is Reason.CONFLICTING_EVIDENCE:
            kind, standing = FactKind.CONTESTED, f"contested ({why})"
        else:
            kind, standing = FactKind.UNVERIFIED, "not verified, nobody has looked"
            if verified:
                could = "could not be looked at" if outcome is Outcome.UNAVAILABLE else "looked, cannot tell"
                standing = f"not verified, {could} ({why})"
        text = f"{clause}." if kind is FactKind.VERIFIED else f"The graph states that {clause}: {standing}."
        # Of what nobody has looked at, the graph alone speaks.
        rests_on = [f"finding {task.fingerprint}" if verified else f"graph {task}"]
        if verified and verified.source:
            about = f"{verified.source}, release {verified.release}, record {verified.record}"
            about += f"; looked up by run {verified.run} on {verified.at:%Y-%m-%d}"
            rests_on.append(self._cite(_record(verified), about))
        self._add(kind, text, (*rests_on, *against), task, outcome=outcome, reason=reason)

    def add_missing(self, finding: Finding) -> None:
        """Add an edge that sources know and the graph lacks."""
        if finding.task.fingerprint in self._seen:
            return
        self._seen.add(finding.task.fingerprint)
        spoken = (e for e in finding.verdict.evidence if e.about != INFORMS)
        best = min(spoken, key=lambda e: e.stance is not Stance.SUPPORTS, default=None)
        rests_on = [f"finding {finding.fingerprint}"]
        if best:
            rests_on.append(self._cite(_record(best), _record(best), best.url))
        against = self._papers(finding.task)
        source = best.source if best else "a source"
        text = f"Missing from the graph, and known to {source}: {self._stated(finding.task)}."
        self._add(FactKind.MISSING, text, (*rests_on, *against), finding.task, reason=finding.verdict.reason)

    def add_passage(self, document: Document, quote: str) -> None:
        """Add a sentence of a paper on a topic."""
        name = self._cite_paper(document, document.title, document.year)
        text = f"A paper of {document.year or 'unknown year'} says: \u201c{quote}\u201d"
        self._add(FactKind.PAPER_ON, text, (name,), None, quote=quote)

    def _papers(self, task: CheckTask) -> tuple[str, ...]:
        """Add what papers say of an edge; the ids of those that contradict it."""
        triple = task.edge
        if self._reader is None or triple is None:
            return ()
        try:
            verdict, read = self._reader.read(triple)
        except UnknownName:
            self.unread += 1
            return ()
        self.retracted |= dict.fromkeys(verdict.retracted)
        against: list[str] = []
        for opinion in (opinion for opinion in sure_opinions(verdict) if opinion.quotes):
            name, quote = self._cite_paper(read[opinion.document], opinion.title, opinion.year), opinion.quotes[0].text
            denies = opinion.stance is Stance.CONTRADICTS
            kind = FactKind.PAPER_AGAINST if denies else FactKind.PAPER_FOR
            text = f"A paper {'denies' if denies else 'states'} that {self._stated(task)}: \u201c{quote}\u201d"
            self._add(kind, text, (name,), task, quote=quote)
            against += [name] if denies else []
        return tuple(against)

    def _add(self, kind: FactKind, text: str, rests_on: tuple[str, ...], task: CheckTask | None, **more: Any) -> None:
        triple = task.edge if task else None
        theme = "the node itself" if task else "on the topic"
        theme = f"{triple.head.label} {triple.relation} {triple.tail.label}" if triple else theme
        number = len(self.facts) + 1
        self.facts.append(
            BriefFact(id=f"F{number}", kind=kind, theme=theme, text=text, rests_on=rests_on, task=task, **more)
        )

    def _cite(self, id_: str, words: str, url: str = "") -> str:
        self.references.setdefault(id_, BriefReference(id=id_, about=words, url=url))
        return id_

    def _cite_paper(self, document: Document, title: str, year: int | None) -> str:
        about = f"{title or 'without a title'} ({year or 'year unknown'})"
        return self._cite(document.paper_id, about, address(document))

    def _stated(self, task: CheckTask, value: str = "") -> str:
        return stated(task, self._context.schema, self.name, value)


def _record(basis: Verified | Evidence) -> str:
    return " ".join(filter(None, (basis.source, basis.release, basis.record)))
