"""Check ids and edges that a manuscript states against graph, references and earlier verdicts."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from kgcheck.checks.verdicts import verdict
from kgcheck.evidence.source import Observed, SnapshotSource
from kgcheck.graph.store import Direction, GraphStore
from kgcheck.grounding.facts.named import (
    HumanText,
    NamedThing,
    NameTable,
    Prose,
    has_beside,
    statement_words,
    without_marks,
)
from kgcheck.grounding.facts.statements import SentenceReader, StatedEdge
from kgcheck.grounding.manuscript import Manuscript, Sentence
from kgcheck.grounding.remarks import Remark, Remarked, Repair, SentenceState
from kgcheck.ledger.verified import VerifiedReader
from kgcheck.model import CheckTask, CheckType, Evidence, Outcome, Reason, Ref, Verdict
from kgcheck.profile.claims import load_claim_forms
from kgcheck.profile.schema import Label, Pattern, Schema

_TOKEN = re.compile(r"[A-Za-z]+:\d+|[A-Za-z0-9](?:[\w-]*[A-Za-z0-9])?")
_SYMBOL = re.compile(r"(?=[^a-z]*[A-Z])(?=.*[A-Z].*[A-Z0-9])[A-Z][A-Za-z0-9-]{2,}")
_BETWEEN = re.compile(r"\s*[(\[]\s*(?:[A-Z][A-Za-z]{1,9}\s?(?:KB|ID|id|accession|entry)?\s?[:#]?\s?)?")
_LONG = 5  # letters and digits of a symbol from which on hardly anything else is called so
_BASES = frozenset("ACGTU")
_REPLACED = (Reason.ID_PREVIOUS, Reason.ID_WITHDRAWN)
_GONE = (
    *_REPLACED, Reason.ID_MERGED, Reason.ID_DEMERGED, Reason.ID_DELETED, Reason.ID_OBSOLETE, Reason.ID_SECONDARY,
    Reason.ID_RETIRED, Reason.ID_SUPERSEDED,
)  # fmt: skip

# Sections whose sentences may state something: what is done stands under methods.
_SECTIONS = ("abstract", "introduction", "results", "discussion", "conclusion", "other")
# Beginnings of headings of what is no part of the text proper.
_APART = (
    *("acknowledg", "funding", "financial", "author", "contribut", "competing", "conflict", "supporting", "supplement"),
    *("availab", "ethic", "abbrev", "glossary"),
)
# Reasons that speak against an edge, and not against an id at one of its ends.
_DENIED_EDGE = (Reason.EDGE_NEGATED, Reason.EDGE_UNSUPPORTED, Reason.RETRACTED_EVIDENCE)
_STATES_OF_DENIALS = {
    Remark.EDGE_REFUTED: SentenceState.VERIFIED,
    Remark.EDGE_VERIFIED: SentenceState.CONTRADICTED,
    # A graph that nobody has verified contradicts nobody.
    Remark.EDGE_UNVERIFIED: SentenceState.UNSUPPORTED,
}
_ORDER = (Remark.EDGE_VERIFIED, Remark.EDGE_REFUTED, Remark.EDGE_UNVERIFIED, Remark.EDGE_UNKNOWN)


class FactCheck:
    """Check of sentences against a graph; one serves any number of manuscripts."""

    def __init__(
        self, graph: GraphStore, verified: VerifiedReader | None, reference: SnapshotSource | None, schema: Schema
    ) -> None:
        self._graph, self._verified, self._reference, self._schema = graph, verified, reference, schema
        self._reader = SentenceReader(load_claim_forms(schema.address))
        self.names = NameTable(graph)

    def remarks(self, manuscript: Manuscript) -> list[Remarked]:
        """Compare the sentences of a manuscript with the graph."""
        things = self.names.things(manuscript)
        human = HumanText(manuscript, things) if self.names.one_species else None
        stated: list[tuple[int, StatedEdge]] = []
        compared: list[Remarked] = []
        for sentence in manuscript.sentences:
            named = things[sentence.number]
            if may_state(manuscript, sentence) and (human is None or human.allows(sentence.text, named)):
                stated += [(sentence.number, edge) for edge in self._reader.read(sentence.text, named)]
            for name, id_ in pairwise(named):
                compared += _compared(sentence, name, id_, self._graph)
        found = [*self._edges(stated), *compared]
        if self._reference:
            found += _outdated_names(self._schema, self._reference, manuscript, things, human)
        return sorted(found, key=lambda r: (r.sentence or 0, r.start, r.remark))

    def _edges(self, stated: Sequence[tuple[int, StatedEdge]]) -> Iterator[Remarked]:
        world = _EdgeWorld(self._graph, self._schema, [edge for _, edge in stated])
        states = self._states(world)
        same_ends: dict[tuple[int, int, int, bool], list[_MeantEdge]] = {}
        for (number, edge), meant in zip(stated, world.meant, strict=True):
            first, last = sorted((edge.head.start, edge.tail.start))
            same_ends.setdefault((number, first, last, edge.denied), []).append(meant)
        for (number, *_), edges in same_ends.items():
            if remarked := _edge_remark(number, edges, world, states):
                yield remarked

    def _states(self, world: "_EdgeWorld") -> dict[str, "_EdgeState"]:
        """Look up each edge that may be meant, by fingerprint of its task."""
        states: dict[str, _EdgeState] = {}
        left: list[CheckTask] = []
        for task in {task.fingerprint: task for edge in world.meant for task in edge.tasks}.values():
            known = self._verified.of(task) if self._verified and task.fingerprint in world.cited else None
            source = " ".join(filter(None, (known.source, known.release, known.record))) if known else ""
            where = f", {source}" if source else ""
            if known and known.outcome is Outcome.SUPPORTED:
                why = f"verified in run {known.run}{where}"
                states[task.fingerprint] = _EdgeState(task, Remark.EDGE_VERIFIED, why)
            elif known and known.outcome is Outcome.REFUTED and known.reason in _DENIED_EDGE:
                why = f"refuted in run {known.run}: {known.reason.value}{where}"
                states[task.fingerprint] = _EdgeState(task, Remark.EDGE_REFUTED, why, task.fingerprint)
            else:
                left.append(task)
        unknown: list[Observed] = [((), ())] * len(left)
        observed = self._reference.observe_all(left, world.cited) if self._reference and left else unknown
        for task, (evidence, gaps) in zip(left, observed, strict=True):
            present = task.fingerprint in world.cited
            states[task.fingerprint] = _looked_up(task, verdict(CheckType.TRIPLE, evidence, gaps), present=present)
        return states


class _EdgeState(NamedTuple):
    task: CheckTask
    remark: Remark
    why: str
    finding: str = ""
    evidence: tuple[Evidence, ...] = ()
    not_looked: str = ""  # the sources that decide and could not be looked at, where none other was


def _looked_up(task: CheckTask, judged: Verdict, *, present: bool) -> _EdgeState:
    shown = tuple(e for e in judged.evidence if e.about == "fact")
    sources = ", ".join(dict.fromkeys(f"{e.source} {e.release}".strip() for e in shown)) or "a reference"
    refuted = present and judged.outcome is Outcome.REFUTED and judged.reason in _DENIED_EDGE
    gone = ""
    if judged.outcome is Outcome.SUPPORTED:
        remark, why = Remark.EDGE_VERIFIED, f"{sources} {'agrees' if present else 'has it; the graph does not'}"
    elif refuted or judged.reason is Reason.EDGE_NEGATED:
        remark, why = Remark.EDGE_REFUTED, f"{sources} denies it: {judged.reason.value}"
    elif present:
        remark, why = Remark.EDGE_UNVERIFIED, "the graph has it, and nobody has verified it"
    else:
        looked = f", nor has {sources}" if shown else ""
        remark, why = Remark.EDGE_UNKNOWN, f"the graph knows both and has no such edge{looked}"
        # A source that was looked at and does not cover the thing is no failure to look.
        failed = [gap for gap in judged.missing if gap.cause is not Reason.NOT_COVERED]
        gone = ", ".join(map(str, failed)) if judged.outcome is Outcome.UNAVAILABLE else ""
    return _EdgeState(task, remark, why, evidence=shown, not_looked=gone)


def _edge_remark(
    number: int, edges: Sequence["_MeantEdge"], world: "_EdgeWorld", states: Mapping[str, _EdgeState]
) -> Remarked | None:
    """The one remark about two things of a sentence, whatever relation of the graph is meant."""
    meant = [(one.edge, states[task.fingerprint]) for one in edges for task in one.tasks]
    if not meant:
        return None
    edge, best = min(meant, key=lambda pair: _ORDER.index(pair[1].remark))
    first, last = sorted((edge.head, edge.tail), key=lambda thing: thing.start)
    remark, state, not_looked = best.remark, best.remark.state, ""
    if edge.denied:
        if remark is Remark.EDGE_UNKNOWN:
            return None
        remark, state = Remark.EDGE_DENIED, _STATES_OF_DENIALS[remark]
    elif remark is Remark.EDGE_UNKNOWN:
        if not (edge.head.sure and edge.tail.sure and any(map(world.covers, edges)) and not world.has_alike(edges)):
            return None
        # That the graph does not have it is not enough where its sources could not be looked at.
        not_looked = best.not_looked
        state = SentenceState.NOT_CHECKABLE if not_looked else state
    words = f"{edge.head.text} {best.task.relation} {edge.tail.text}: {best.why}"
    return Remarked(
        remark=remark,
        state=state,
        sentence=number,
        start=first.start,
        end=last.end,
        note=f"{'denies' if edge.denied else 'states'} {words}{'; could not look: ' if not_looked else ''}{not_looked}",
        unavailable=bool(not_looked),
        stated=f"{'not: ' if edge.denied else ''}{best.task}",
        task=best.task,
        finding=best.finding,
        evidence=best.evidence,
    )


def may_state(manuscript: Manuscript, sentence: Sentence) -> bool:
    """Tell running text, in which a manuscript states what is so, from methods, thanks and the like."""
    block = manuscript.blocks[sentence.block]
    apart = any(h.lower().lstrip("0123456789. ").startswith(_APART) for h in block.path)
    return block.kind == "paragraph" and sentence.section in _SECTIONS and not apart


class _MeantEdge(NamedTuple):
    """An edge that is stated, with its pattern in the graph, and an edge of nodes for each that its ends may mean."""

    edge: StatedEdge
    pattern: Pattern
    tasks: tuple[CheckTask, ...]


class _EdgeWorld:
    """Edges of a graph that are stated, read by pattern and not one by one."""

    def __init__(self, graph: GraphStore, schema: Schema, stated: Sequence[StatedEdge]) -> None:
        self._graph, self._schema = graph, schema
        self._near: dict[str, dict[str, set[str]]] = {}
        self.cited: dict[str, tuple[str, ...]] = {}  # sources of those that the graph has, by fingerprint
        patterns = [schema.pattern(edge.form.head, edge.form.relation, edge.form.tail) for edge in stated]
        alike: dict[str, list[int]] = {}
        for place, pattern in enumerate(patterns):
            alike.setdefault(str(pattern), []).append(place)
        tasks: dict[int, tuple[CheckTask, ...]] = {}
        for places in alike.values():
            tasks |= zip(places, self._read(patterns[places[0]], [stated[p] for p in places]), strict=True)
        self.meant = [_MeantEdge(e, p, tasks[n]) for n, (e, p) in enumerate(zip(stated, patterns, strict=True))]

    def _read(self, pattern: Pattern, edges: Sequence[StatedEdge]) -> Iterator[tuple[CheckTask, ...]]:
        near = self._near.setdefault(str(pattern), {})
        cited: dict[tuple[str, str], list[str]] = {}
        heads = sorted({i for e in edges for i in e.head.ids[pattern.head]})
        tails = sorted({i for e in edges for i in e.tail.ids[pattern.tail]}) if pattern.symmetric else []
        looks: list[tuple[list[str], Direction]] = [(heads, "out"), (tails, "out")]
        looks += [([*heads, *tails], "in")] if pattern.symmetric else []
        for ids, direction in looks:
            for hop in self._graph.hops(ids, pattern, direction) if ids else ():
                near.setdefault(hop.start, set()).add(hop.end)
                pair = (hop.start, hop.end) if direction == "out" else (hop.end, hop.start)
                cited.setdefault(pair, []).append(str(hop.properties.get("source") or ""))
        for edge in edges:
            found = []
            for head, tail in product(edge.head.ids[pattern.head], edge.tail.ids[pattern.tail]):
                pair = (tail, head) if pattern.symmetric and (tail, head) in cited else (head, tail)
                task = CheckTask(
                    type=CheckType.TRIPLE,
                    subject=Ref(label=pattern.head, id=pair[0]),
                    relation=pattern.type,
                    object=Ref(label=pattern.tail, id=pair[1]),
                )
                if pair in cited:
                    self.cited[task.fingerprint] = tuple(cited[pair])
                found.append(task)
            yield tuple(found)

    def covers(self, meant: _MeantEdge) -> bool:
        """Tell whether the graph has edges of the pattern at either thing, so that the lack of one means something."""
        edge, pattern, near = meant.edge, meant.pattern, self._near[str(meant.pattern)]
        heads, tails = edge.head.ids[pattern.head], edge.tail.ids[pattern.tail]
        if not any(near.get(head) for head in heads):
            return False
        if pattern.symmetric:
            return any(near.get(tail) for tail in tails)
        return any(self._graph.neighbours(Ref(label=pattern.tail, id=t), pattern, "in", 1) for t in tails)

    def has_alike(self, edges: Iterable[_MeantEdge]) -> bool:
        """Tell whether the graph has an edge to nearly the same as the tail, or to a kind of it."""
        for edge, pattern, _ in edges:
            if pattern.head == pattern.tail:
                continue
            ends = {end for head in edge.head.ids[pattern.head] for end in self._near[str(pattern)].get(head, ())}
            named = self._graph.nodes(self._schema.label(pattern.tail), sorted(ends))
            if any(_alike(edge.tail.text.lower(), str(node.get("name") or "").lower()) for node in named.values()):
                return True
            if set(edge.tail.ids[pattern.tail]) & self._above(pattern.tail, ends):
                return True
        return False

    def _above(self, label: str, ids: set[str]) -> set[str]:
        """All that some nodes are kinds of, by the hierarchies of the graph."""
        found: set[str] = set()
        for pattern in self._schema.relations:
            left = set(ids) if pattern.hierarchy and pattern.head == label else set()
            while left:
                left = {hop.end for hop in self._graph.hops(sorted(left), pattern, "out")} - found
                found |= left
        return found


_BROAD = frozenset(
    ("disease", "syndrome", "disorder", "cell", "cells", "membrane", "complex", "activity", "binding", "process")
)
_GOVERNED = re.compile(r"^(?:(?:positive|negative) )?regulation of |^(?:response|cellular response) to ")


def _alike(one: str, other: str) -> bool:
    """Tell whether one name is the other with more before it, or its regulation; "disease" alone names nothing."""
    short, long = sorted((_GOVERNED.sub("", one), _GOVERNED.sub("", other)), key=len)
    return bool(short) and (short == long or (long.endswith(f" {short}") and short not in _BROAD))


def _compared(sentence: Sentence, name: NamedThing, id_: NamedThing, graph: GraphStore) -> Iterator[Remarked]:
    """Compare an id in brackets with the name before it: "APOE (P02649)" states the name of P02649."""
    is_beside = _BETWEEN.fullmatch(sentence.text[name.end : id_.start]) and sentence.text[id_.end : id_.end + 1] in ")]"
    if not is_beside or not name.sure or not any(map(str.isdigit, id_.text)):
        return
    for label in id_.ids.keys() & name.ids.keys():
        spec = graph.schema.label(label)
        if id_.ids[label] != (id_.text,) or spec.key in spec.names or id_.text in (name.text, ""):
            continue
        called = next(iter(graph.nodes(spec, [id_.text]).values()), {}).get("name")
        agrees = id_.text in name.ids[label]
        if not agrees and (not called or len(name.ids[label]) != 1):
            continue
        subject, value = Ref(label=label, id=id_.text), str(called) if called else None
        yield Remarked(
            remark=Remark.VALUE_VERIFIED if agrees else Remark.VALUE_DIFFERS,
            sentence=sentence.number,
            start=name.start,
            end=id_.end,
            note=f"{id_.text} is {name.text if agrees else called}" + ("" if agrees else f", not {name.text}"),
            stated=f"{id_.text} is {name.text}",
            found="" if agrees else f"{name.text} is {name.ids[label][0]}",
            task=CheckTask(type=CheckType.ATTRIBUTE, subject=subject, attribute="name", value=value),
        )


def _outdated_names(
    schema: Schema,
    reference: SnapshotSource,
    manuscript: Manuscript,
    things: Mapping[int, Sequence[NamedThing]],
    human: HumanText | None,
) -> Iterator[Remarked]:
    """Symbols and ids that their owners have replaced or withdrawn."""
    symbols = [label for label in schema.labels if label.key in label.names]
    # A form that an ordinary word or a number has is the form of no id in a text.
    shown = [label for label in schema.labels if not label.shares_ids_with]
    ids = [label for label in shown if not any(map(label.matches, ("word", "Word", "2015", "10th")))]
    prose = Prose.from_manuscript(manuscript)
    words: dict[str, list[tuple[int, int, int]]] = {}
    texts = {s.number: s.text for s in manuscript.sentences if manuscript.blocks[s.block].kind == "paragraph"}
    for number, text in texts.items():
        for match in _TOKEN.finditer(without_marks(text)):
            words.setdefault(match[0], []).append((number, *match.span()))
    named = sorted({(label.name, word) for word in words for label in _labels(word, prose, ids, symbols)})
    tasks = [CheckTask(type=CheckType.EXISTENCE, subject=Ref(label=label, id=name)) for label, name in named]
    of_genes = {label.name for label in symbols}
    for task, observed in zip(tasks, reference.observe_all(tasks), strict=True):
        judged = verdict(CheckType.EXISTENCE, *observed)
        is_symbol = task.subject.label in of_genes
        about = tuple(e for e in judged.evidence if e.reason is judged.reason)
        now = sorted({r for e in about for r in e.replacements})
        gone = judged.outcome is Outcome.REFUTED and judged.reason in (_REPLACED if is_symbol else _GONE)
        if not gone or (is_symbol and len(now) != 1):
            continue
        became = f": now {', '.join(now)}" if now else ""
        kind = f"{judged.reason.value.removeprefix('id_')} {'symbol' if is_symbol else 'id'}"
        for number, start, end in words[task.subject.id]:
            text, near = texts[number], things[number]
            # A former symbol is one by that of today elsewhere, words or genes near it, or its form.
            has_gene = any(thing.sure and of_genes & set(thing.ids) for thing in near)
            sure = now[:1] and (now[0] in words or _is_symbol(text, start, end, near_a_gene=has_gene))
            fits = (human is None or human.allows(text, near)) and not set(task.subject.id) <= _BASES and sure
            if is_symbol and not fits:
                continue
            yield Remarked(
                remark=Remark.SYMBOL_OUTDATED if is_symbol else Remark.ID_OUTDATED,
                sentence=number,
                start=start,
                end=end,
                note=f"{task.subject.id} is a {kind}{became}",
                stated=task.subject.id,
                found=", ".join(now),
                task=task,
                evidence=about,
                repair=Repair(start=start, end=end, to=now[0]) if len(now) == 1 else None,
            )


def _labels(token: str, prose: Prose, ids: Sequence[Label], symbols: Sequence[Label]) -> list[Label]:
    has_digit = any(map(str.isdigit, token)) and len(token) > len("ID:1")
    found = [label for label in ids if label.matches(token)] if has_digit else []
    unsure = token in statement_words().lists["unsure"] or token in prose.explained or token.lower() in prose.words
    if not found and not unsure and _SYMBOL.fullmatch(token):
        found = [label for label in symbols if label.matches(token)]
    return found


def _is_symbol(text: str, start: int, end: int, *, near_a_gene: bool) -> bool:
    """Tell whether a word is a symbol and no marker of cells, antibody or part of another word."""
    if text[end : end + 1] in ("+", "/", "-") or text[max(0, start - 1) : start] in ("-", "/"):
        return False
    is_long = end - start > _LONG and any(map(str.isdigit, text[start:end]))
    return near_a_gene or is_long or has_beside(text, start, end)
