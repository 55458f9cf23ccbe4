"""Check ids and edges that a manuscript states against graph, references and earlier verdicts."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from kgcheck.checks.verdicts import verdict
from kgcheck.evidence.source import SnapshotSource
from kgcheck.graph.store import GraphStore
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
from kgcheck.model import CheckTask, CheckType, Evidence, Outcome, Reason, Ref
from kgcheck.profile.claims import load_claim_forms
from kgcheck.profile.schema import Label, Pattern, Schema

_TOKEN = re.compile(r"[A-Za-z]+:\d+|[A-Za-z0-9](?:[\w-]*[A-Za-z0-9])?")
_SYMBOL = re.compile(r"(?=[^a-z]*[A-Z])(?=.*[A-Z].*[A-Z0-9])[A-Z][A-Za-z0-9-]{2,}")
_LONG = 5  # letters and digits of a symbol from which on hardly anything else is called so
_BASES = frozenset("ACGTU")

_REPLACED = (Reason.ID_PREVIOUS, Reason.ID_WITHDRAWN)
_GONE = (
    *_REPLACED, Reason.ID_MERGED, Reason.ID_DEMERGED, Reason.ID_DELETED, Reason.ID_OBSOLETE, Reason.ID_SECONDARY,
    Reason.ID_RETIRED, Reason.ID_SUPERSEDED,
)  # fmt: skip


class OutdatedNames:
    """Finder of symbols and ids that their owners have replaced or withdrawn."""

    def __init__(self, schema: Schema, reference: SnapshotSource) -> None:
        self._reference = reference
        self._symbols = [label for label in schema.labels if label.key in label.names]
        self._ids = [
            label
            for label in schema.labels
            # A form that an ordinary word or a number has is the form of no id in a text.
            if not label.shares_ids_with and not any(map(label.matches, ("word", "Word", "2015", "10th")))
        ]

    def remarks(
        self, manuscript: Manuscript, things: Mapping[int, Sequence[NamedThing]], human: HumanText | None
    ) -> list[Remarked]:
        """The outdated names of a manuscript."""
        prose = Prose.from_manuscript(manuscript)
        words: dict[str, list[tuple[int, int, int]]] = {}
        kinds: dict[str, Label] = {label.name: label for label in (*self._symbols, *self._ids)}
        texts = {s.number: s.text for s in manuscript.sentences if manuscript.blocks[s.block].kind == "paragraph"}
        for number, text in texts.items():
            for match in _TOKEN.finditer(without_marks(text)):
                words.setdefault(match[0], []).append((number, match.start(), match.end()))
        places = {(label.name, word): at for word, at in words.items() for label in self._labels(word, prose)}
        tasks = [
            CheckTask(type=CheckType.EXISTENCE, subject=Ref(label=label, id=name)) for label, name in sorted(places)
        ]
        found = []
        for task, observed in zip(tasks, self._reference.observe_all(tasks), strict=True):
            judged = verdict(CheckType.EXISTENCE, *observed)
            label = kinds[task.subject.label]
            is_symbol = label in self._symbols
            if judged.outcome is not Outcome.REFUTED or judged.reason not in (_REPLACED if is_symbol else _GONE):
                continue
            about = [e for e in judged.evidence if e.reason is judged.reason]
            now = sorted({r for e in about for r in e.replacements})
            if is_symbol and len(now) != 1:
                continue
            for number, start, end in places[label.name, task.subject.id]:
                if is_symbol and not (
                    (human is None or human.allows(texts[number], things[number]))
                    and self._is_of_a_gene(texts[number], start, end, now[0], things[number], words)
                ):
                    continue
                kind, became = "symbol" if is_symbol else "id", f": now {', '.join(now)}" if now else ""
                reason = judged.reason.value.removeprefix("id_")
                found.append(
                    Remarked(
                        remark=Remark.SYMBOL_OUTDATED if is_symbol else Remark.ID_OUTDATED,
                        sentence=number,
                        start=start,
                        end=end,
                        note=f"{task.subject.id} is a {reason} {kind}{became}",
                        stated=task.subject.id,
                        found=", ".join(now),
                        task=task,
                        evidence=tuple(about),
                        repair=Repair(start=start, end=end, to=now[0]) if len(now) == 1 else None,
                    )
                )
        return found

    def _labels(self, token: str, prose: Prose) -> list[Label]:
        has_digit = any(map(str.isdigit, token)) and len(token) > len("ID:1")
        found = [label for label in self._ids if label.matches(token)] if has_digit else []
        unsure = token in statement_words().lists["unsure"] or token in prose.explained or token.lower() in prose.words
        if not found and not unsure and _SYMBOL.fullmatch(token):
            found = [label for label in self._symbols if label.matches(token)]
        return found

    def _is_of_a_gene(
        self, text: str, start: int, end: int, now: str, things: Sequence[NamedThing], words: Container[str]
    ) -> bool:
        """Recognise a former symbol: by that of today elsewhere, words or genes near it, or its form."""
        symbol = text[start:end]
        if set(symbol) <= _BASES:
            return False
        if now in words:
            return True
        if text[end : end + 1] in ("+", "/", "-") or text[max(0, start - 1) : start] in ("-", "/"):
            # A marker of cells, an antibody, part of another word.
            return False
        if has_beside(text, start, end):
            return True
        if any(set(thing.ids) & {label.name for label in self._symbols} and thing.sure for thing in things):
            return True
        return len(symbol) > _LONG and any(map(str.isdigit, symbol))


_BETWEEN = re.compile(r"\s*[(\[]\s*(?:[A-Z][A-Za-z]{1,9}\s?(?:KB|ID|id|accession|entry)?\s?[:#]?\s?)?")


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
        yield Remarked(
            remark=Remark.VALUE_VERIFIED if agrees else Remark.VALUE_DIFFERS,
            sentence=sentence.number,
            start=name.start,
            end=id_.end,
            note=f"{id_.text} is {name.text if agrees else called}" + ("" if agrees else f", not {name.text}"),
            stated=f"{id_.text} is {name.text}",
            found="" if agrees else f"{name.text} is {name.ids[label][0]}",
            task=CheckTask(
                type=CheckType.ATTRIBUTE,
                subject=Ref(label=label, id=id_.text),
                attribute="name",
                value=str(called) if called else None,
            ),
        )


# Sections whose sentences may state something: what is done stands under methods.
_SECTIONS = ("abstract", "introduction", "results", "discussion", "conclusion", "other")
# Beginnings of headings of what is no part of the text proper.
_APART = (
    *("acknowledg", "funding", "financial", "author", "contribut", "competing", "conflict", "supporting", "supplement"),
    *("availab", "ethic", "abbrev", "glossary"),
)
# Reasons that speak against an edge, and not against an id at one of its ends.
_DENIED_EDGE = (Reason.EDGE_NEGATED, Reason.EDGE_UNSUPPORTED, Reason.RETRACTED_EVIDENCE)


class _EdgeState(NamedTuple):
    task: CheckTask
    remark: Remark
    why: str
    finding: str = ""
    evidence: tuple[Evidence, ...] = ()
    not_looked: str = ""
    """The sources that decide and could not be looked at, where none other was."""


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
        self._forms = load_claim_forms(schema.address)
        self._reader = SentenceReader(self._forms)
        self.names = NameTable(graph)
        self._outdated = OutdatedNames(schema, reference) if reference else None

    def remarks(self, manuscript: Manuscript) -> list[Remarked]:
        """Compare the sentences of a manuscript with the graph."""
        things = self.names.things(manuscript)
        human = HumanText(manuscript, things) if self.names.one_species else None
        stated: dict[int, list[StatedEdge]] = {}
        for sentence in manuscript.sentences:
            named = things[sentence.number]
            if may_state(manuscript, sentence) and (human is None or human.allows(sentence.text, named)):
                stated[sentence.number] = self._reader.read(sentence.text, named)
        found = self._edges(stated)
        for sentence in manuscript.sentences:
            for name, id_ in pairwise(things[sentence.number]):
                found += _compared(sentence, name, id_, self._graph)
        if self._outdated:
            found += self._outdated.remarks(manuscript, things, human)
        return sorted(found, key=lambda r: (r.sentence or 0, r.start, r.remark))

    def _edges(self, stated: Mapping[int, Sequence[StatedEdge]]) -> list[Remarked]:
        world = _EdgeWorld(self._graph, self._schema, [edge for edges in stated.values() for edge in edges])
        states = self._states(world)
        same_ends: dict[tuple[int, int, int, bool], list[StatedEdge]] = {}
        for number, edges in stated.items():
            for edge in edges:
                first, last = sorted((edge.head.start, edge.tail.start))
                same_ends.setdefault((number, first, last, edge.denied), []).append(edge)
        remarked = (self._remark(key[0], same, world, states) for key, same in same_ends.items())
        return [one for one in remarked if one]

    def _states(self, world: "_EdgeWorld") -> dict[str, _EdgeState]:
        """Look up each edge that may be meant, by fingerprint of its task."""
        states: dict[str, _EdgeState] = {}
        left: list[CheckTask] = []
        for task in world.tasks:
            known = self._verified.of(task) if self._verified and task in world.present else None
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
        observed = (
            self._reference.observe_all(left, world.cited) if self._reference and left else [((), ())] * len(left)
        )
        for task, (evidence, gaps) in zip(left, observed, strict=True):
            judged = verdict(CheckType.TRIPLE, evidence, gaps)
            present = task in world.present
            shown = tuple(e for e in judged.evidence if e.about == "fact")
            gone = ""
            if judged.outcome is Outcome.SUPPORTED:
                remark = Remark.EDGE_VERIFIED
                why = f"{_sources(shown)} {'agrees' if present else 'has it; the graph does not'}"
            elif judged.reason is Reason.EDGE_NEGATED or (
                present and judged.outcome is Outcome.REFUTED and judged.reason in _DENIED_EDGE
            ):
                remark, why = Remark.EDGE_REFUTED, f"{_sources(shown)} denies it: {judged.reason.value}"
            elif present:
                remark, why = Remark.EDGE_UNVERIFIED, "the graph has it, and nobody has verified it"
            else:
                looked = f", nor has {_sources(shown)}" if shown else ""
                remark, why = Remark.EDGE_UNKNOWN, f"the graph knows both and has no such edge{looked}"
                # A source that was looked at and does not cover the thing is no failure to look.
                failed = [gap for gap in judged.missing if gap.cause is not Reason.NOT_COVERED]
                gone = ", ".join(map(str, failed)) if judged.outcome is Outcome.UNAVAILABLE else ""
            states[task.fingerprint] = _EdgeState(task, remark, why, evidence=shown, not_looked=gone)
        return states

    def _remark(
        self, number: int, edges: Sequence[StatedEdge], world: "_EdgeWorld", states: Mapping[str, _EdgeState]
    ) -> Remarked | None:
        """The one remark about two things of a sentence, whatever relation of the graph is meant."""
        meant = [(edge, states[task.fingerprint]) for edge in edges for task in world.tasks_of(edge)]
        if not meant:
            return None
        edge, best = min(meant, key=lambda pair: _ORDER.index(pair[1].remark))
        first, last = sorted((edge.head, edge.tail), key=lambda thing: thing.start)
        remark, state = best.remark, best.remark.state
        if edge.denied:
            if remark is Remark.EDGE_UNKNOWN:
                return None
            state = _STATES_OF_DENIALS[remark]
            remark = Remark.EDGE_DENIED
        elif remark is Remark.EDGE_UNKNOWN and not (
            edge.head.sure and edge.tail.sure and any(world.covers(e) for e in edges) and not world.has_alike(edges)
        ):
            return None
        # That the graph does not have it is not enough where its sources could not be looked at.
        could_not = bool(best.not_looked) and remark is Remark.EDGE_UNKNOWN
        why = f"{best.why}; could not look: {best.not_looked}" if could_not else best.why
        words = f"{edge.head.text} {best.task.relation} {edge.tail.text}"
        return Remarked(
            remark=remark,
            state=SentenceState.NOT_CHECKABLE if could_not else state,
            sentence=number,
            start=first.start,
            end=last.end,
            note=f"{'denies' if edge.denied else 'states'} {words}: {why}",
            unavailable=could_not,
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


def _sources(evidence: Iterable[Evidence]) -> str:
    return ", ".join(dict.fromkeys(f"{e.source} {e.release}".strip() for e in evidence)) or "a reference"


class _EdgeWorld:
    """Edges of a graph that are stated, read by pattern and not one by one."""

    def __init__(self, graph: GraphStore, schema: Schema, stated: Iterable[StatedEdge]) -> None:
        self._graph, self._schema = graph, schema
        self._near: dict[str, dict[str, set[str]]] = {}
        self.present: set[CheckTask] = set()
        self.cited: dict[str, tuple[str, ...]] = {}
        self._tasks: dict[tuple[object, ...], tuple[CheckTask, ...]] = {}
        by_pattern: dict[str, tuple[Pattern, list[StatedEdge]]] = {}
        for edge in stated:
            pattern = schema.pattern(edge.form.head, edge.form.relation, edge.form.tail)
            by_pattern.setdefault(str(pattern), (pattern, []))[1].append(edge)
        for pattern, edges in by_pattern.values():
            self._read(pattern, edges)

    @property
    def tasks(self) -> list[CheckTask]:
        return list({task.fingerprint: task for tasks in self._tasks.values() for task in tasks}.values())

    def tasks_of(self, edge: StatedEdge) -> tuple[CheckTask, ...]:
        return self._tasks[_key(edge)]

    def _read(self, pattern: Pattern, edges: Sequence[StatedEdge]) -> None:
        near: dict[str, set[str]] = {}
        cited: dict[tuple[str, str], list[str]] = {}
        heads = sorted({i for e in edges for i in e.head.ids[pattern.head]})
        tails = sorted({i for e in edges for i in e.tail.ids[pattern.tail]}) if pattern.symmetric else []
        for ids, direction in ((heads, "out"), (tails, "out"), ([*heads, *tails] if pattern.symmetric else [], "in")):
            for hop in self._graph.hops(ids, pattern, direction) if ids else ():  # type: ignore[arg-type]
                near.setdefault(hop.start, set()).add(hop.end)
                pair = (hop.start, hop.end) if direction == "out" else (hop.end, hop.start)
                cited.setdefault(pair, []).append(str(hop.properties.get("source") or ""))
        self._near[str(pattern)] = near
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
                    self.present.add(task)
                    self.cited[task.fingerprint] = tuple(cited[pair])
                found.append(task)
            self._tasks[_key(edge)] = tuple(found)

    def covers(self, edge: StatedEdge) -> bool:
        """Tell whether the graph has edges of the pattern at either thing, so that the lack of one means something."""
        pattern = self._schema.pattern(edge.form.head, edge.form.relation, edge.form.tail)
        near = self._near[str(pattern)]
        heads, tails = edge.head.ids[pattern.head], edge.tail.ids[pattern.tail]
        if not any(near.get(head) for head in heads):
            return False
        if pattern.symmetric:
            return any(near.get(tail) for tail in tails)
        return any(self._graph.neighbours(Ref(label=pattern.tail, id=t), pattern, "in", 1) for t in tails)

    def has_alike(self, edges: Iterable[StatedEdge]) -> bool:
        """Tell whether the graph has an edge to nearly the same as the tail, or to a kind of it."""
        for edge in edges:
            pattern = self._schema.pattern(edge.form.head, edge.form.relation, edge.form.tail)
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
            if pattern.hierarchy and pattern.head == label:
                left = set(ids)
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


def _key(edge: StatedEdge) -> tuple[object, ...]:
    form = edge.form
    return (form.head, form.relation, form.tail, edge.head.ids[form.head], edge.tail.ids[form.tail])
