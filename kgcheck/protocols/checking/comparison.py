"""Compare a protocol with what it is made from: fixed steps are made again, quotes are held against their passages.

A fixed step and the words of a section follow from the facts of the protocol alone, what a quoted step names from its
passages. Each difference is a remark.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain

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
from kgcheck.protocols.programs.analyses import ReadyAnalysis, ready_analyses
from kgcheck.protocols.protocol import ReportStep, StudyGrounds, StudyPassage, StudyProtocol, StudyStep
from kgcheck.protocols.reports.steps import read_step

_SHOWN = 90
_OWN = ("id", "fixed")  # fields of a fixed step that are not compared
_WORDS = ("text", "control", "rationale")  # fields of a step that may say the same in other words


def comparison_remarks(protocol: StudyProtocol, design: StudyProtocol | None = None) -> Iterator[StudyRemarked]:
    """Remark on steps and sections that are not what their facts, passages and analyses make them.

    With its design as its material makes it, whatever else differs is remarked, too.
    """
    for name in StudyProtocol.model_fields:
        if design and _compared(protocol, name) != _compared(design, name):
            yield remarked(StudyRemark.DESIGN_DIFFERS, f"{name}: the material beside it makes another", about=name)
    rules = DesignRules.shipped()
    is_comparable = protocol.rules == rules.digest
    by_rules = is_comparable and protocol.made_by == "rules"
    if is_comparable:
        yield from _fixed_remarks(protocol)
    elif protocol.rules or any(step.fixed for step in protocol.steps):
        note = "its fixed steps were made by other rules than those of this kgcheck"
        yield remarked(StudyRemark.STEP_NOT_COMPARED, note)
    if by_rules:
        yield from _section_remarks(protocol)
    passages = {passage.id: passage for passage in protocol.passages}
    for step in protocol.steps:
        own = [passages[i] for i in step.passages]
        is_made_again, is_quote = bool(step.fixed) and is_comparable, quoted_text(step) is not None
        notes: list[str] = []
        if is_quote and own:
            notes += [*_of_quoted(step, own, passages), *(_of_rules(step, own, protocol) if by_rules else ())]
        # One of the fixed ones was made again, or by other rules.
        elif step.fixed not in rules.fixed:
            notes += _of_written(step, own, protocol)
            notes += ["text: rules alone write quotes and fixed steps, and it is neither"] if by_rules else []
        ready = ready_analyses().get(step.analysis)
        if ready and not is_made_again:
            notes += _of_analysis(step, own, ready)
        elif step.analysis and not is_made_again:
            note = f"{step.analysis!r}; there are {', '.join(ready_analyses())}"
            yield remarked(StudyRemark.ANALYSIS_UNKNOWN, note, step=step.id, about=step.analysis)
        yield from (remarked(StudyRemark.STEP_DIFFERS, note, step=step.id) for note in notes)
        if not step.facts and not is_quote and not is_made_again:
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


def _fixed_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    rules = DesignRules.shipped()
    wanted: defaultdict[str, list[StudyStep]] = defaultdict(list)
    for _, step in fixed_steps(protocol):
        wanted[step.fixed].append(step)
    for step in (step for step in protocol.steps if step.fixed in rules.fixed):
        if not (left := wanted[step.fixed]):
            note = f"nothing that it rests on makes a step {step.fixed!r}"
            yield remarked(StudyRemark.STEP_DIFFERS, note, step=step.id)
            continue
        best = max(left, key=lambda one: len(_same(step, one)))
        left.remove(best)
        for name in (n for n in StudyStep.model_fields if n not in _OWN and n not in _same(step, best)):
            note = f"{name}: {_of_field(step, name)} instead of {_of_field(best, name)}"
            is_reworded = name in _WORDS and _is_reworded(getattr(step, name), getattr(best, name), protocol)
            yield remarked(StudyRemark.STEP_REWORDED if is_reworded else StudyRemark.STEP_DIFFERS, note, step=step.id)
    for name, steps in wanted.items():
        # A model takes no analysis over as it stands.
        for missing in steps if protocol.made_by == "rules" or name in rules.graph_steps else ():
            yield remarked(StudyRemark.STEP_MISSING, f"{name}: {missing.text[:_SHOWN]!r}", about=name)


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
    named = [naming(node.called) for node in grounds.nodes] + [naming((grounds.objective.species,))]
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
    value = getattr(step, name)
    if not isinstance(value, tuple):
        return repr(str(value)[:_SHOWN])
    parts = []
    for part in value:
        called, written = getattr(part, "name", str(part)), getattr(part, "written", "")
        parts.append(f"{called} {written}" if written and written != called else called)
    return f"[{', '.join(parts)}]"[:_SHOWN]


def _section_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Compare sections with their stages, the notes on lacks with the steps, and the objective with the nodes."""
    stages = {stage.heading: stage for stage in DesignRules.shipped().stages}
    for section in protocol.sections:
        if section.heading not in stages:
            note = f"{section.id}: no stage of a study is called {section.heading!r}"
            yield remarked(StudyRemark.SECTION_DIFFERS, note, about=section.id)
            continue
        made = section_of(stages[section.heading], section.steps)
        for name in ("rationale", "summary"):
            own, other = getattr(section, name), getattr(made, name)
            if _plain(own) != _plain(other):
                note = f"{section.id} {name}: {own[:_SHOWN]!r} instead of {other[:_SHOWN]!r}"
                is_reworded = _is_reworded(own, other, protocol)
                kind = StudyRemark.STEP_REWORDED if is_reworded else StudyRemark.SECTION_DIFFERS
                yield remarked(kind, note, about=section.id)
    for about, note in _about_differences(protocol):
        yield remarked(StudyRemark.SECTION_DIFFERS, note, about=about)
    filled = {stages[s.heading].name for s in protocol.sections if s.steps and s.heading in stages}
    for note, lacks in lacks_of([*protocol.steps], filled).items():
        if lacks != (note in protocol.notes):
            shown = "holds, and is no note" if lacks else "is a note, and does not hold"
            yield remarked(StudyRemark.SECTION_DIFFERS, f"{note!r} {shown}", about=note)


def _about_differences(protocol: StudyProtocol) -> Iterator[tuple[str, str]]:
    """Names of the objective that are no node and in no note, and nodes that it does not name."""
    nodes = {node: {name.casefold() for name in node.called} for node in protocol.nodes}
    known = set().union(*nodes.values())
    names = [" ".join(name.split()) for name in protocol.objective.about]
    # A name may stand behind the label of its node.
    ends = {name: {name.casefold(), (name.partition(" ")[2] or name).casefold()} for name in names}
    for name in names if nodes else ():
        if not ends[name] & known and not any(name in note for note in protocol.notes):
            yield name, f"the objective is about {name!r}, which is no node of the protocol and in none of its notes"
    for node, called in nodes.items():
        if not called & set().union(*ends.values()) and str(node.ref) not in " ".join(protocol.notes):
            shown = f"{node.name} ({node.ref})"
            yield str(node.ref), f"{shown} is a node of the protocol, and the objective does not name it"


def _of_quoted(step: StudyStep, own: Sequence[StudyPassage], passages: Mapping[str, StudyPassage]) -> Iterator[str]:
    """Yield what a step in the words of a paper has and its passages lack."""
    text, places = quoted_text(step) or "", ", ".join(step.passages)
    if _spelt_alike(text) not in [_spelt_alike(passage.quote) for passage in own]:
        yield f"text: {text[:_SHOWN]!r} is not the quote of {places}: {own[0].quote[:_SHOWN]!r}"
    read = {i: _read(passages[i].quote) for i in step.quoted}
    quotes = " ".join(passage.quote for passage in own)
    yield from (f"parameters: {p.name} names no passage" for p in step.parameters if not p.passage)
    known = {name for one in read.values() for name in (*one.statistics, *(d.id for d in one.data_sets))}
    lost = [name for name in (*step.statistics, *step.data_sets) if name not in known and not holds_words(quotes, name)]
    yield from (f"statistics: {places} has no {name!r}" for name in lost if name in step.statistics)
    for tool in step.tools:
        named = [tool.passage] if tool.passage else [*step.passages]
        words = " ".join(passages[i].quote for i in named)
        if not any(tool.name == t.name for i in named for t in read[i].tools) and not holds_words(words, tool.name):
            yield f"tools: {', '.join(named)} has no {tool.name!r}"
    yield from (f"data sets: no passage names {i}" for i in lost if i in step.data_sets)
    items = {item.name for one in read.values() for item in (*one.inputs, *one.outputs)}
    for item in (*step.inputs, *step.outputs):
        if item.name not in items and not item_words(item.name) <= item_words(quotes):
            yield f"takes or makes: no passage names {item.name!r}"


def _of_rules(step: StudyStep, own: Sequence[StudyPassage], protocol: StudyProtocol) -> Iterator[str]:
    """Yield what rules take from the passages of a step, and it lacks."""
    read = {passage.id: _read(passage.quote) for passage in own}
    first = read[own[0].id]
    for kind in ("statistics", "tools"):
        has, *wanted = ([getattr(part, "name", part) for part in getattr(one, kind)] for one in (step, *read.values()))
        if lost := [name for name in dict.fromkeys(chain(*wanted)) if name not in has]:
            yield f"{kind}: its passages name {', '.join(lost)}"
    settings = {(p.name, p.value) for p in step.parameters}
    for p in step.parameters:
        if p.passage in read and (p.name, p.value) not in {(q.name, q.value) for q in read[p.passage].parameters}:
            yield f"parameters: {p.passage} has no {p.name} {p.written}"
    measured = ((p.name, p.value) for one in read.values() for p in one.parameters if p.unit)
    if lost := [" ".join(setting) for setting in measured if setting not in settings]:
        yield f"parameters: its passages have {', '.join(lost)}"
    for kind in ("inputs", "outputs"):
        if _plain(getattr(step, kind)) != _plain(getattr(first, kind)):
            yield f"{kind}: {_of_field(step, kind)} instead of {_of_field(first, kind)} of its first passage"
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
    stated = [f"{p.heading} {p.quote}" for p in own] + [f.stated for f in protocol.facts if f.id in step.facts]
    parts = [
        *(f"{p.name} {p.comparator} {p.value}" for p in step.parameters),
        *(t.written for t in step.tools),
        *(item.name for item in (*step.inputs, *step.outputs)),
        *(*step.statistics, *step.data_sets, protocol.objective.text),
        *(words_of_analysis(step.analysis) if step.analysis in ready_analyses() else ()),
    ]
    if stated and (why := strange_marks(step.text, [*stated, *parts])):
        yield f"text: {why}"
    elif stated and opposes(step.text, stated) == -1:
        yield "text: it says the opposite of what it names"


def _of_analysis(step: StudyStep, own: Sequence[StudyPassage], ready: ReadyAnalysis) -> Iterator[str]:
    """Yield what a step asks of its ready analysis, which cannot do it."""
    for parameter in step.parameters:
        if not parameter.passage:
            name, value = parameter.setting
            try:
                ready.numbers({name: value})
            except (UnknownName, UsageError) as error:
                yield f"parameters: {error.message}"
    words = " ".join((*words_of_analysis(ready.name), *(passage.quote for passage in own)))
    for name in step.statistics:
        if name not in ready.statistics and not holds_words(words, name):
            yield f"statistics: {ready.name} makes no {name!r}; it makes {', '.join(ready.statistics)}"


def _unfounded(step: str, texts: Iterable[str]) -> Iterator[StudyRemarked]:
    """Sentences that claim to be verified, of what names no fact."""
    words = CheckRules.shipped().words
    claims, denials = (rf"(?i)\b(?:{'|'.join(words[kind])})\b" for kind in ("claims", "denies_claims"))
    for sentence in (s for text in texts for s in re.split(r"(?<=[.;!?])\s+", text)):
        if re.search(claims, sentence) and not re.search(denials, sentence):
            yield remarked(StudyRemark.STATEMENT_UNFOUNDED, repr(sentence[:_SHOWN]), step=step)


def _passage_remarks(passages: Iterable[StudyPassage]) -> Iterator[StudyRemarked]:
    """Passages that were changed since they were taken, and papers of which they say different things."""
    by_paper: defaultdict[str, list[StudyPassage]] = defaultdict(list)
    for passage in passages:
        if passage.digest and passage.digest != passage.digest_now:
            note = f"{passage.id} of {passage.paper} was changed after it was taken from the paper"
            yield remarked(StudyRemark.PASSAGE_DIFFERS, note, about=passage.id)
        by_paper[passage.paper].append(passage)
    for paper, own in by_paper.items():
        for name in ("title", "year", "url"):
            counts = Counter(getattr(passage, name) for passage in own)
            if len(counts) > 1:
                shown = " and ".join(repr(str(value)[:_SHOWN]) for value in counts)
                rare = next(p for p in reversed(own) if getattr(p, name) == min(counts, key=lambda v: counts[v]))
                yield remarked(StudyRemark.PASSAGE_DIFFERS, f"{paper}: its {name} is {shown}", about=rare.id)
