"""Makes a brief: which nodes are meant, what is verified of them, and what papers say."""

from typing import TYPE_CHECKING

from kgcheck import clock
from kgcheck.audit.verified_facts import node_facts
from kgcheck.context import Context
from kgcheck.curation.findings import list_findings
from kgcheck.errors import UnknownName
from kgcheck.grounding.brief import LONGEST_VALUE, Brief, BriefMaker, Known
from kgcheck.literature.hits import find_papers
from kgcheck.llm.budget import Limits, spent_note, total_meter
from kgcheck.model import CheckTask, CheckType, Finding, Outcome, Ref
from kgcheck.options import Spending
from kgcheck.questions.resolver import taken_names

if TYPE_CHECKING:
    from kgcheck.literature.documents import Document

MOST_NODES = 10
"""Nodes that a topic names, of which a brief speaks."""

PASSAGES = 10
"""Papers on a topic that are quoted."""


def make_brief(context: Context, topic: str, limit: int = 100, spending: Spending | None = None) -> Brief:
    """Gather what is verified, stated, denied and open about a node or a topic; with spending, as prose, too."""
    notes: list[str] = []
    resolver, text = context.resolver(), " ".join(topic.split())
    taken = resolver.anywhere(text)
    nodes = tuple(dict.fromkeys(one.ref for one in taken) if taken else resolver.mentioned(text))[:MOST_NODES]
    notes += map(str, taken_names(taken))
    reader = context.paper_reader(notes)
    if not nodes and reader is None:
        raise UnknownName("node", topic, [], "name it by label and id, or name papers that speak of the topic")
    called = {ref: _name_of(context, ref) for ref in nodes}

    def name(ref: Ref) -> str:
        if ref not in called:
            called[ref] = _name_of(context, ref)
        return called[ref]

    maker = BriefMaker(context.schema, name, reader)
    for node in nodes:
        known, complete = node_facts(context.verified_reader(), context.graph, node, limit)
        values = context.graph.node(node) or {}
        facts = [Known(task, verified, _value(values, task)) for task, verified in known]
        # Of an empty attribute there is nothing to say, unless a source says that it should have a value.
        maker.add_known(f for f in facts if f.task.type is not CheckType.ATTRIBUTE or f.value or _is_refuted(f))
        maker.add_missing(_missing(context, node, notes))
        if not complete:
            notes.append(f"{node} has more edges than the first {limit:,} facts: a higher limit takes more")
    if reader is not None and topic not in {str(node) for node in nodes} | {node.id for node in nodes}:
        maker.add_passages(_passages(context, topic))
    if maker.retracted:
        notes.append(f"retracted papers that speak of these edges and do not count: {', '.join(maker.retracted)}")
    if maker.unread:
        notes.append(f"edges that papers could not be asked about, for want of words or names: {maker.unread:,}")
    brief = Brief(
        of=" and ".join(dict.fromkeys(f"{called[n]} ({n})" for n in nodes)) or topic,
        nodes=nodes,
        store=context.store,
        made_at=clock.now(),
        facts=maker.facts,
        references=maker.references,
        notes=tuple(dict.fromkeys(notes)),
    )
    return brief if spending is None else _in_words(context, brief, spending)


def _is_refuted(known: Known) -> bool:
    return known.verified is not None and known.verified.outcome is Outcome.REFUTED


def _name_of(context: Context, ref: Ref) -> str:
    return context.names_of(ref.label, [ref.id]).get(ref.id, ref.id)


def _value(values: "dict[str, object]", task: CheckTask) -> str:
    value = values.get(task.attribute) if task.attribute else None
    shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")
    return " ".join(shown.split())[:LONGEST_VALUE]


def _missing(context: Context, node: Ref, notes: list[str]) -> list[Finding]:
    """List what the newest audit found that sources know of a node and the graph lacks."""
    try:
        with context.reading() as ledger:
            found = list_findings(ledger, graph=["lacks_it"], node=str(node))
    except UnknownName:
        notes.append("no audit is in the ledger: nobody has looked for edges that the graph lacks")
        return []
    return [compared.finding for compared in found.page() if compared.finding]


def _passages(context: Context, topic: str) -> "list[tuple[Document, str]]":
    """The best sentence of each of the papers that fit a topic best; of none that is retracted."""
    hits = find_papers(context.index([]), topic, limit=PASSAGES)
    return [(h.document, h.document.abstract[h.start : h.end]) for h in hits if not h.document.retracted]


def _in_words(context: Context, brief: Brief, spending: Spending) -> Brief:
    from kgcheck.grounding.brief_prose import with_prose
    from kgcheck.llm.client import ChatClient

    spent = total_meter(context.settings)
    with ChatClient(context.settings) as client:
        made = with_prose(brief, client, Limits.of(spending), spent)
    return made.model_copy(update={"notes": (*made.notes, *spent_note(spent))})
