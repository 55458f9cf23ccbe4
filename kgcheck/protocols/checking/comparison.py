"""Compare a protocol with what it is made from: fixed steps are made again, quotes are held against their passages.

A fixed step and the words of a section follow from the facts of the protocol alone, what a quoted step names from its
passages. Each difference is a remark.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from kgcheck.errors import UnknownName, UsageError
from kgcheck.grounding.quantities import quantities
from kgcheck.literature.lexical import item_words
from kgcheck.literature.names import naming
from kgcheck.literature.quote_relevance import opposes
from kgcheck.model import Value
from kgcheck.protocols.checking.remarks import CheckRules, StudyRemark, StudyRemarked, remarked
from kgcheck.protocols.design.by_rules import (
    fixed_steps,
    lacks_of,
    quoted_text,
    section_of,
    taken_over,
    words_of_analysis,
)
from kgcheck.protocols.design.material import DesignRules, facts_named, holds_words, strange_marks
from kgcheck.protocols.programs.analyses import ready_analyses
from kgcheck.protocols.protocol import (
    ReportStep,
    StudyGrounds,
    StudyPassage,
    StudyProtocol,
    StudyStep,
)
from kgcheck.protocols.reports.steps import read_step

_SHOWN = 90
_OWN = ("id", "fixed")
"""Fields of a fixed step that are not compared."""

_WORDS = ("text", "control", "rationale")
"""Fields of a step that may say the same in other words."""


def comparison_remarks(protocol: StudyProtocol, design: StudyProtocol | None = None) -> Iterator[StudyRemarked]:
    """Remark on steps and sections that are not what their facts, passages and analyses make them.

    With its design as its material makes it, whatever else differs is remarked, too.
    """
    for name in StudyProtocol.model_fields:
        if design and _compared(protocol, name) != _compared(design, name):
            yield remarked(StudyRemark.DESIGN_DIFFERS, f"{name}: the material beside it makes another", about=name)
    is_comparable = protocol.rules == DesignRules.shipped().digest
    by_rules = is_comparable and protocol.made_by == "rules"
    if is_comparable:
        yield from _fixed_remarks(protocol)
    elif protocol.rules or any(step.fixed for step in protocol.steps):
        note = "its fixed steps were made by other rules than those of this kgcheck"
        yield remarked(StudyRemark.STEP_NOT_COMPARED, note)
    if by_rules:
        yield from _section_remarks(protocol)
        yield from _about_remarks(protocol)
        yield from _note_remarks(protocol)
    passages = {passage.id: passage for passage in protocol.passages}
    for step in protocol.steps:
        own = [passages[i] for i in step.passages]
        if quoted_text(step) is not None and own:
            differences = [*_of_quoted(step, own, passages)]
            if by_rules:
                differences += _of_rules(step, own, protocol)
        elif step.fixed in DesignRules.shipped().fixed:
            # It was made again, or by other rules.
            differences = []
        else:
            differences = [*_of_written(step, own, protocol)]
            if by_rules:
                differences.append("text: rules alone write quotes and fixed steps, and it is neither")
        yield from (_differing(step, note) for note in differences)
        if step.analysis and not (step.fixed and is_comparable):
            yield from _analysis_remarks(step, own)
        if not step.facts and quoted_text(step) is None and not (step.fixed and is_comparable):
            yield from _unfounded(step.id, (step.text, step.control, step.rationale))
    for section in protocol.sections:
        if not by_rules and not any(step.facts for step in section.steps):
            yield from _unfounded("", (section.rationale, section.summary))
    yield from _passage_remarks(protocol.passages)


def _compared(protocol: StudyProtocol, name: str) -> object:
    """A part of a protocol as it is held against its design: without what is compared with its facts anyway."""
    if name == "nodes":
        # The first that fits is what a set is held against.
        return [_plain(node) for node in protocol.nodes]
    if name != "sections":
        return _plain(getattr(protocol, name))
    return [
        (section.id, section.heading, [(s.id, s.fixed) if s.fixed else _plain(s) for s in section.steps])
        for section in protocol.sections
    ]


def _differing(step: StudyStep, note: str) -> StudyRemarked:
    return remarked(StudyRemark.STEP_DIFFERS, note, step=step.id)


def _fixed_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Compare the fixed steps with those that the facts make now."""
    rules = DesignRules.shipped()
    wanted: dict[str, list[StudyStep]] = {}
    for _, step in fixed_steps(protocol):
        wanted.setdefault(step.fixed, []).append(step)
    for step in protocol.steps:
        if step.fixed not in rules.fixed:
            continue
        left = wanted.get(step.fixed, [])
        if not left:
            yield _differing(step, f"nothing that it rests on makes a step {step.fixed!r}")
            continue
        best = max(left, key=lambda one: len(_same(step, one)))
        left.remove(best)
        same = _same(step, best)
        for name in (n for n in StudyStep.model_fields if n not in _OWN and n not in same):
            own, other = getattr(step, name), getattr(best, name)
            note = f"{name}: {_of_field(step, name)} instead of {_of_field(best, name)}"
            is_reworded = name in _WORDS and _is_reworded(own, other, protocol)
            yield remarked(StudyRemark.STEP_REWORDED if is_reworded else StudyRemark.STEP_DIFFERS, note, step=step.id)
    # A model takes no analysis over as it stands.
    needed = wanted if protocol.made_by == "rules" else {n: wanted[n] for n in wanted if n in rules.graph_steps}
    for name, steps in needed.items():
        for missing in steps:
            note = f"{name}: {missing.text[:_SHOWN]!r}"
            yield remarked(StudyRemark.STEP_MISSING, note, about=name)


def _same(one: StudyStep, other: StudyStep) -> frozenset[str]:
    return frozenset(n for n in StudyStep.model_fields if _plain(getattr(one, n)) == _plain(getattr(other, n)))


def _plain(value: object) -> Hashable:
    """A value without what says nothing: the order of lists, spaces, kinds of quotes, commas within numbers."""
    match value:
        case str():
            return _head_and_list(value)
        case tuple():
            return frozenset(Counter(map(_plain, value)).items())
        case Value():
            return tuple(_plain(getattr(value, name)) for name in type(value).model_fields)
        case Hashable():
            return value
    return repr(value)


def _head_and_list(text: str) -> tuple[str, ...]:
    """A text, and the things that it lists behind their number: "the genes (2): A; B."."""
    head, _, listed = _spelt_alike(text).rstrip(".").partition("): ")
    return head, *sorted(listed.split("; "))


def _spelt_alike(text: str) -> str:
    return _THOUSANDS.sub("", " ".join(text.translate(_MARKS).split()))


_MARKS = str.maketrans(
    {"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u2212": "-", "\u2264": "<=", "\u2265": ">="}
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_WORD = re.compile(r"[<>=]+|-?\w(?:[\w:.'-]*\w)?")
_DENIAL = re.compile(r"no|not|nor|never|none|nothing|nobody|neither|cannot|without|\w+n't", re.IGNORECASE)
_PROOF = re.compile(r"(un)?(prove|proving|proof|caus|verif|confirm|support|refut|contest|contradict)\w*", re.IGNORECASE)
_WAYS = {
    "less": re.compile(r"\b(?:less|fewer|lower|smaller|below)\b", re.IGNORECASE),
    "more": re.compile(r"\b(?:more|greater|higher|larger|above)\b", re.IGNORECASE),
}


def _is_reworded(own: str, other: str, grounds: StudyGrounds) -> bool:
    """Tell whether two texts differ in open words alone: in no number, name, listed thing, denial or direction."""
    texts = own, other
    measures, other_measures = ([(q.value, q.unit, q.comparator) for q in quantities(text)] for text in texts)
    named = [naming(node.called) for node in grounds.nodes] + [naming([grounds.objective.species])]
    ways = [{name for name, way in _WAYS.items() if way.search(text)} for text in texts]
    return (
        (ways[0] == ways[1] or not all(ways))
        and _head_and_list(own)[1:] == _head_and_list(other)[1:]
        and measures == other_measures
        and _hard_words(own) == _hard_words(other)
        and all(not name or bool(name.search(own)) == bool(name.search(other)) for name in named)
    )


def _hard_words(text: str) -> list[str]:
    """Words that no rewording changes: numbers, ids, symbols, denials and proof, as they follow each other."""
    found = []
    for word in _WORD.findall(_spelt_alike(text)):
        if _DENIAL.fullmatch(word):
            found.append("not")
        elif proof := _PROOF.fullmatch(word):
            found.append("".join(filter(None, proof.groups())).casefold())
        elif re.search(r"[\d<>=]|.[A-Z]", word):
            found.append(word)
    return found


def _of_field(step: StudyStep | ReportStep, name: str) -> str:
    """The field of a step in short."""
    value = getattr(step, name)
    if not isinstance(value, tuple):
        return repr(str(value)[:_SHOWN])
    parts = [part if isinstance(part, str) else _in_short(part) for part in value]
    return f"[{', '.join(parts)}]"[:_SHOWN]


def _in_short(part: object) -> str:
    name, value = getattr(part, "name", ""), getattr(part, "written", "")
    return f"{name} {value}".strip() if value and value != name else str(name)


def _section_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Compare headings, reasons and summaries of sections with those of their stages."""
    stages = {stage.heading: stage for stage in DesignRules.shipped().stages}
    for section in protocol.sections:
        stage = stages.get(section.heading)
        if stage is None:
            note = f"{section.id}: no stage of a study is called {section.heading!r}"
            yield remarked(StudyRemark.SECTION_DIFFERS, note, about=section.id)
            continue
        made = section_of(stage, section.steps)
        for name in ("rationale", "summary"):
            own, other = getattr(section, name), getattr(made, name)
            if _plain(own) != _plain(other):
                note = f"{section.id} {name}: {own[:_SHOWN]!r} instead of {other[:_SHOWN]!r}"
                is_reworded = _is_reworded(own, other, protocol)
                kind = StudyRemark.STEP_REWORDED if is_reworded else StudyRemark.SECTION_DIFFERS
                yield remarked(kind, note, about=section.id)


def _note_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Compare the notes on what the protocol lacks with its steps."""
    headings = {section.heading for section in protocol.sections if section.steps}
    stages = [stage.name for stage in DesignRules.shipped().stages if stage.heading in headings]
    for note, lacks in lacks_of([*protocol.steps], stages).items():
        if lacks != (note in protocol.notes):
            shown = "holds, and is no note" if lacks else "is a note, and does not hold"
            yield remarked(StudyRemark.SECTION_DIFFERS, f"{note!r} {shown}", about=note)


def _about_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Names of the objective that are neither a node of the protocol nor in its notes."""
    known = {name.casefold() for node in protocol.nodes for name in node.called}
    for name in protocol.objective.about if protocol.nodes else ():
        plain = " ".join(name.split())
        words = plain.partition(" ")[2] or plain
        if {plain.casefold(), words.casefold()} & known or any(plain in note for note in protocol.notes):
            continue
        note = f"the objective is about {plain!r}, which is no node of the protocol and in none of its notes"
        yield remarked(StudyRemark.SECTION_DIFFERS, note, about=plain)
    about = {" ".join(name.split()).casefold() for name in protocol.objective.about}
    named = {end for name in about for end in (name, name.partition(" ")[2])}
    for node in protocol.nodes:
        if not named & {name.casefold() for name in node.called} and str(node.ref) not in " ".join(protocol.notes):
            note = f"{node.name} ({node.ref}) is a node of the protocol, and the objective does not name it"
            yield remarked(StudyRemark.SECTION_DIFFERS, note, about=str(node.ref))


def _of_quoted(step: StudyStep, own: Sequence[StudyPassage], passages: Mapping[str, StudyPassage]) -> Iterator[str]:
    """Yield what a step in the words of a paper has and its passages lack."""
    text = quoted_text(step)
    if _spelt_alike(text or "") not in [_spelt_alike(passage.quote) for passage in own]:
        yield f"text: {str(text)[:_SHOWN]!r} is not the quote of {', '.join(step.passages)}: {own[0].quote[:_SHOWN]!r}"
    read = {i: _read(passages[i].quote) for i in step.quoted}
    yield from (f"parameters: {p.name} names no passage" for p in step.parameters if not p.passage)
    quotes = " ".join(passage.quote for passage in own)
    known = {name for one in read.values() for name in one.statistics}
    yield from (
        f"statistics: {', '.join(step.passages)} has no {name!r}"
        for name in step.statistics
        if name not in known and not holds_words(quotes, name)
    )
    for tool in step.tools:
        places = [tool.passage] if tool.passage else [*step.passages]
        known = {t.name for i in places for t in read[i].tools}
        if tool.name not in known and not holds_words(" ".join(passages[i].quote for i in places), tool.name):
            yield f"tools: {', '.join(places)} has no {tool.name!r}"
    accessions = {d.id for one in read.values() for d in one.data_sets}
    yield from (
        f"data sets: no passage names {i}" for i in step.data_sets if i not in accessions and not holds_words(quotes, i)
    )
    items = {item.name for one in read.values() for item in (*one.inputs, *one.outputs)}
    stems_ = item_words(quotes)
    for item in (*step.inputs, *step.outputs):
        if item.name not in items and not item_words(item.name) <= stems_:
            yield f"takes or makes: no passage names {item.name!r}"


def _of_rules(step: StudyStep, own: Sequence[StudyPassage], protocol: StudyProtocol) -> Iterator[str]:
    """Yield what rules take from the passages of a step, and it lacks."""
    read = [_read(passage.quote) for passage in own]
    statistics = dict.fromkeys(name for one in read for name in one.statistics)
    tools = dict.fromkeys(tool.name for one in read for tool in one.tools)
    for kind, wanted, has in (
        ("statistics", statistics, step.statistics),
        ("tools", tools, [tool.name for tool in step.tools]),
    ):
        if lost := [name for name in wanted if name not in has]:
            yield f"{kind}: its passages name {', '.join(lost)}"
    by_passage = {passage.id: one for passage, one in zip(own, read, strict=True)}
    for parameter in step.parameters:
        given = by_passage.get(parameter.passage)
        if given and (parameter.name, parameter.value) not in {(p.name, p.value) for p in given.parameters}:
            yield f"parameters: {parameter.passage} has no {parameter.name} {parameter.written}"
    settings = {(p.name, p.value) for p in step.parameters}
    measured = ((p.name, p.value) for one in read for p in one.parameters if p.unit)
    if lost := [f"{name} {value}" for name, value in measured if (name, value) not in settings]:
        yield f"parameters: its passages have {', '.join(lost)}"
    for kind in ("inputs", "outputs"):
        if _plain(getattr(step, kind)) != _plain(getattr(read[0], kind)):
            yield f"{kind}: {_of_field(step, kind)} instead of {_of_field(read[0], kind)} of its first passage"
    facts = facts_named(own[0].quote, protocol)
    if protocol.nodes and set(step.facts) != set(facts):
        strange = [i for i in step.facts if i not in facts]
        yield f"facts: it names {', '.join(strange) or 'fewer'} than those of the nodes in its words"
    papers = list(dict.fromkeys(passage.paper for passage in own))
    reasons = {taken_over(papers, h) for h in ("", *own[0].heading.split(" > "), own[0].heading)}
    if _plain(step.rationale) not in map(_plain, reasons):
        yield f"rationale: {step.rationale[:_SHOWN]!r}, and its passages are of {', '.join(papers)[:_SHOWN]}"


@cache
def _read(quote: str) -> ReportStep:
    return read_step(quote, 1)


def _of_written(step: StudyStep, own: Sequence[StudyPassage], protocol: StudyProtocol) -> Iterator[str]:
    """Yield what a step states and nothing that it names bears out."""
    facts = {fact.id: fact.stated for fact in protocol.facts}
    stated = [*(f"{p.heading} {p.quote}" for p in own), *(facts[i] for i in step.facts)]
    if not stated:
        return
    ready = ready_analyses().get(step.analysis)
    parts = [
        *(f"{p.name} {p.comparator} {p.value}" for p in step.parameters),
        *(t.written for t in step.tools),
        *(item.name for item in (*step.inputs, *step.outputs)),
        *step.statistics,
        *step.data_sets,
        protocol.objective.text,
        *(words_of_analysis(ready, DesignRules.shipped().analyses[ready.name]) if ready else ()),
    ]
    if why := strange_marks(step.text, [*stated, *parts]):
        yield f"text: {why}"
    elif opposes(step.text, stated) == -1:
        yield "text: it says the opposite of what it names"


def _analysis_remarks(step: StudyStep, own: Sequence[StudyPassage]) -> Iterator[StudyRemarked]:
    """Remark on what a step asks of its ready analysis, which cannot do it."""
    ready = ready_analyses().get(step.analysis)
    if ready is None:
        known = ", ".join(ready_analyses())
        note = f"{step.analysis!r}; there are {known}"
        yield remarked(StudyRemark.ANALYSIS_UNKNOWN, note, step=step.id, about=step.analysis)
        return
    for parameter in step.parameters:
        name, value = parameter.name.casefold().replace(" ", "_"), str(parameter.number or parameter.value)
        if not parameter.passage:
            try:
                ready.numbers({name: value})
            except (UnknownName, UsageError) as error:
                yield _differing(step, f"parameters: {error.message}")
    use = DesignRules.shipped().analyses[ready.name]
    words = " ".join((*words_of_analysis(ready, use), *(passage.quote for passage in own)))
    for name in step.statistics:
        if name not in ready.statistics and not holds_words(words, name):
            yield _differing(
                step, f"statistics: {ready.name} makes no {name!r}; it makes {', '.join(ready.statistics)}"
            )


def _unfounded(step: str, texts: Iterable[str]) -> Iterator[StudyRemarked]:
    """Sentences that claim to be verified, of what names no fact."""
    claims, denials = (_any(kind) for kind in ("claims", "denies_claims"))
    for sentence in (s for text in texts for s in re.split(r"(?<=[.;!?])\s+", text)):
        if claims.search(sentence) and not denials.search(sentence):
            yield remarked(StudyRemark.STATEMENT_UNFOUNDED, repr(sentence[:_SHOWN]), step=step)


@cache
def _any(kind: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(CheckRules.shipped().words[kind])})\b", re.IGNORECASE)


def _passage_remarks(passages: Iterable[StudyPassage]) -> Iterator[StudyRemarked]:
    """Passages that were changed since they were taken, and papers of which they say different things."""
    by_paper: dict[str, list[StudyPassage]] = {}
    for passage in passages:
        if passage.digest and passage.digest != passage.digest_now:
            note = f"{passage.id} of {passage.paper} was changed after it was taken from the paper"
            yield remarked(StudyRemark.PASSAGE_DIFFERS, note, about=passage.id)
        by_paper.setdefault(passage.paper, []).append(passage)
    for own in by_paper.values():
        for name in ("title", "year", "url"):
            counts = Counter(getattr(passage, name) for passage in own)
            if len(counts) > 1:
                shown = " and ".join(repr(str(value)[:_SHOWN]) for value in counts)
                rare = next(p for p in reversed(own) if getattr(p, name) == min(counts, key=lambda v: counts[v]))
                note = f"{own[0].paper}: its {name} is {shown}"
                yield remarked(StudyRemark.PASSAGE_DIFFERS, note, about=rare.id)
