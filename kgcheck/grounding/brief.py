"""Make a grounded fact sheet: what is verified, what papers say, and what is open, with what each rests on.

Only verified facts are stated as such. What is refuted, contested, missing or never looked at is named as that.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from pydantic import Field

from kgcheck.errors import UnknownName
from kgcheck.ledger.verified import Verified
from kgcheck.literature.documents import Document
from kgcheck.literature.edge_reader import TripleReader, address, sure_opinions
from kgcheck.model import CheckTask, CheckType, Finding, Outcome, Reason, Ref, Stance, Value
from kgcheck.profile.claims import form_of
from kgcheck.profile.schema import Schema
from kgcheck.profile.toml_files import read_value
from kgcheck.resources import resource_dir

LONGEST_VALUE = 300
"""Characters of a value or a quote that is shown."""

Namer = Callable[[Ref], str]
"""Function that names a node."""


def stated(task: CheckTask, schema: Schema, name: Namer, value: str = "") -> str:
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

    VERIFIED = "verified"
    PAPER_FOR = "paper_for"
    PAPER_AGAINST = "paper_against"
    PAPER_ON = "paper_on"
    CONTESTED = "contested"
    REFUTED = "refuted"
    MISSING = "missing"
    UNVERIFIED = "unverified"


class BriefWords(Value):
    """The file ``corpus/briefs/words.toml``."""

    titles: dict[FactKind, str]
    marks: dict[FactKind, tuple[str, ...]]
    joining: tuple[str, ...]


@cache
def brief_words() -> BriefWords:
    """The words that are shipped."""
    return read_value(resource_dir("corpus") / "briefs" / "words.toml", BriefWords)


class BriefFact(Value):
    """One sentence of a brief."""

    id: str = Field(description="of the fact in its brief, e.g. F12")
    kind: FactKind
    theme: str = Field(description="the relation with the label at its other end, or what else it is about")
    text: str
    rests_on: tuple[str, ...] = Field(min_length=1, description="fingerprint, source with release and record, paper id")
    names: tuple[str, ...] = Field(default=(), description="what its subject and object are called, in that order")
    task: CheckTask | None = None
    outcome: Outcome | None = None
    reason: Reason | None = None
    quote: str = ""

    @property
    def sentence(self) -> str:
        """The sentence with what it rests on at its end."""
        return f"{self.text} [{'; '.join(self.rests_on)}]"


class BriefReference(Value):
    """Source that sentences rest on, by its id."""

    id: str
    about: str
    url: str = ""


class BriefTheme(NamedTuple):
    """The facts of a kind about one thing."""

    title: str
    facts: tuple[BriefFact, ...]


class BriefPart(NamedTuple):
    """The facts of a kind by theme."""

    kind: FactKind
    title: str
    themes: tuple[BriefTheme, ...]


class BriefSentence(Value):
    """A sentence of prose, bound to the facts that it rests on."""

    text: str
    facts: tuple[str, ...]
    rests_on: tuple[str, ...]


class DroppedSentence(Value):
    """A sentence of a model that was thrown away, and why."""

    text: str
    why: str


class Brief(Value):
    """The fact sheet."""

    of: str
    nodes: tuple[Ref, ...] = ()
    store: str
    made_at: datetime
    facts: tuple[BriefFact, ...] = ()
    references: tuple[BriefReference, ...] = ()
    notes: tuple[str, ...] = ()
    prose: tuple[BriefSentence, ...] = ()
    dropped: tuple[DroppedSentence, ...] = ()
    model: str = Field(default="", description="what made the prose; empty where rules alone were at work")

    @property
    def parts(self) -> tuple[BriefPart, ...]:
        """The facts by kind and theme, in the order of FactKind."""
        found: list[BriefPart] = []
        for kind in FactKind:
            own = [fact for fact in self.facts if fact.kind is kind]
            themes = [BriefTheme(t, tuple(f for f in own if f.theme == t)) for t in dict.fromkeys(f.theme for f in own)]
            if own:
                found.append(BriefPart(kind, brief_words().titles[kind], tuple(themes)))
        return tuple(found)


class Known(NamedTuple):
    """An edge, an attribute or a node with its verdict, and its value in the graph."""

    task: CheckTask
    verified: Verified | None
    value: str = ""


class BriefMaker:
    """Facts of a brief, as they are added."""

    def __init__(self, schema: Schema, name: Namer, reader: TripleReader | None = None) -> None:
        self._schema = schema
        self._name = name
        self._reader = reader
        self._facts: list[BriefFact] = []
        self._references: dict[str, BriefReference] = {}
        self._seen: set[str] = set()
        self.retracted: dict[str, None] = {}
        """Papers that speak of an edge, and do not count."""
        self.unread = 0
        """Edges that papers could not be asked about: no words for such edges, or no name."""

    @property
    def facts(self) -> tuple[BriefFact, ...]:
        return tuple(self._facts)

    @property
    def references(self) -> tuple[BriefReference, ...]:
        return tuple(self._references.values())

    def add_known(self, known: Iterable[Known]) -> None:
        """Add what is verified, or not, of edges and attributes."""
        for task, verified, value in known:
            if self._again(task):
                continue
            against = self._papers(task)
            outcome = verified.outcome if verified else None
            if outcome is Outcome.SUPPORTED:
                kind = FactKind.CONTESTED if against else FactKind.VERIFIED
            elif outcome is Outcome.REFUTED:
                kind = FactKind.REFUTED
            else:
                contested = verified is not None and verified.reason is Reason.CONFLICTING_EVIDENCE
                kind = FactKind.CONTESTED if contested else FactKind.UNVERIFIED
            text = self._sentence(kind, task, verified, value, against)
            rests_on = (*_rests_on(task, verified), *against)
            reason = verified.reason if verified else None
            self._add(kind, self._theme(task), text, rests_on, task, outcome=outcome, reason=reason)
            if verified and verified.source:
                record = _record(verified.source, verified.release, verified.record)
                about = f"{verified.source}, release {verified.release}, record {verified.record}"
                about = f"{about}; looked up by run {verified.run} on {verified.at:%Y-%m-%d}"
                self._references.setdefault(record, BriefReference(id=record, about=about))

    def add_missing(self, findings: Iterable[Finding]) -> None:
        """Add edges that sources know and the graph lacks."""
        for finding in findings:
            if self._again(finding.task):
                continue
            best = min(finding.verdict.evidence, key=lambda e: e.stance is not Stance.SUPPORTS, default=None)
            record = (_record(best.source, best.release, best.record),) if best else ()
            for name in record:
                self._references.setdefault(name, BriefReference(id=name, about=name, url=best.url if best else ""))
            against = self._papers(finding.task)
            source = best.source if best else "a source"
            text = f"Missing from the graph, and known to {source}: {self._stated(finding.task)}."
            rests_on = (f"finding {finding.fingerprint}", *record, *against)
            theme, reason = self._theme(finding.task), finding.verdict.reason
            self._add(FactKind.MISSING, theme, text, rests_on, finding.task, reason=reason)

    def add_passages(self, found: Iterable[tuple[Document, str]]) -> None:
        """Add sentences of papers on a topic."""
        for document, quote in found:
            name = self._cite(document.paper_id, document.title, document.year, address(document))
            self._quoted(
                FactKind.PAPER_ON, "on the topic", f"A paper of {document.year or 'unknown year'} says", quote, name
            )

    def _again(self, task: CheckTask) -> bool:
        known = task.fingerprint in self._seen
        self._seen.add(task.fingerprint)
        return known

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
        for opinion in sure_opinions(verdict):
            if not opinion.quotes:
                continue
            document = read[opinion.document]
            name = self._cite(document.paper_id, opinion.title, opinion.year, address(document))
            denies = opinion.stance is Stance.CONTRADICTS
            kind = FactKind.PAPER_AGAINST if denies else FactKind.PAPER_FOR
            begins = f"A paper {'denies' if denies else 'states'} that {self._stated(task)}"
            self._quoted(kind, self._theme(task), begins, opinion.quotes[0].text, name, task)
            against += [name] if denies else []
        return tuple(against)

    def _quoted(
        self, kind: FactKind, theme: str, begins: str, quote: str, name: str, task: CheckTask | None = None
    ) -> None:
        self._add(kind, theme, f"{begins}: \u201c{quote}\u201d", (name,), task, quote=quote)

    def _add(
        self, kind: FactKind, theme: str, text: str, rests_on: tuple[str, ...], task: CheckTask | None, **more: Any
    ) -> None:
        ends = (task.subject, *((task.object,) if task.object else ())) if task else ()
        self._facts.append(
            BriefFact(
                id=f"F{len(self._facts) + 1}",
                kind=kind,
                theme=theme,
                text=text,
                rests_on=rests_on,
                names=tuple(map(self._name, ends)),
                task=task,
                **more,
            )
        )

    def _cite(self, id_: str, title: str, year: int | None, url: str) -> str:
        about = f"{title or 'without a title'} ({year or 'year unknown'})"
        self._references.setdefault(id_, BriefReference(id=id_, about=about, url=url))
        return id_

    def _sentence(
        self, kind: FactKind, task: CheckTask, verified: Verified | None, value: str, against: tuple[str, ...]
    ) -> str:
        stated = self._stated(task, value)
        reason = verified.reason.value.replace("_", " ") if verified else ""
        match kind:
            case FactKind.VERIFIED:
                return f"{stated}."
            case FactKind.REFUTED:
                return f"The graph states that {stated}: refuted ({reason})."
            case FactKind.CONTESTED:
                sides = "a source supports it, papers contradict it" if against else reason
                return f"The graph states that {stated}: contested ({sides})."
            case _ if verified is None:
                return f"The graph states that {stated}: not verified, nobody has looked."
            case _:
                could = "could not be looked at" if verified.outcome is Outcome.UNAVAILABLE else "looked, cannot tell"
                return f"The graph states that {stated}: not verified, {could} ({reason})."

    def _stated(self, task: CheckTask, value: str = "") -> str:
        return stated(task, self._schema, self._name, value)

    def _theme(self, task: CheckTask) -> str:
        triple = task.edge
        if triple is None:
            return "the node itself"
        return f"{triple.head.label} {triple.relation} {triple.tail.label}"


def _record(source: str, release: str | None, record: str | None) -> str:
    return " ".join(filter(None, (source, release, record)))


def _rests_on(task: CheckTask, verified: Verified | None) -> tuple[str, ...]:
    """The finding and the record; of what nobody has looked at, the graph alone."""
    if verified is None:
        return (f"graph {task}",)
    record = (_record(verified.source, verified.release, verified.record),) if verified.source else ()
    return (f"finding {task.fingerprint}", *record)
