"""A protocol checked whole: every remark, which steps fell, and what rests on them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from decimal import Decimal
from functools import cache, cached_property
from typing import Any, NamedTuple, Protocol

from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE
from kgcheck.grounding.quantities import kind_words, quantities
from kgcheck.ledger.verified import Verified
from kgcheck.literature.polarity import stemmer
from kgcheck.model import Change, CheckTask, CheckType, Outcome, Reason, Ref, Value
from kgcheck.protocols.checking.flow import StepFlow, item_words
from kgcheck.protocols.checking.remarks import StudyRemark, StudyRemarked, StudyState, check_rules, remarked
from kgcheck.protocols.checking.usual import usual_remarks
from kgcheck.protocols.design.design_rules import design_rules
from kgcheck.protocols.protocol import (
    DataSetState,
    Objective,
    StepParameter,
    StudyDataSet,
    StudyFact,
    StudyPassage,
    StudyProtocol,
    StudyStep,
)

OUTDATED = frozenset(
    {
        Reason.ID_MERGED,
        Reason.ID_DEMERGED,
        Reason.ID_DELETED,
        Reason.ID_PREVIOUS,
        Reason.ID_WITHDRAWN,
        Reason.ID_OBSOLETE,
        Reason.ID_SECONDARY,
        Reason.ID_RETIRED,
        Reason.ID_SUPERSEDED,
        Reason.UNKNOWN_ID,
        Reason.ENDPOINT_MERGED,
        Reason.ENDPOINT_DELETED,
        Reason.ENDPOINT_UNKNOWN,
    }
)
"""Reasons that speak against an id, and not against what is stated of it."""


class FactWorld(Protocol):
    """Lookup of facts in the ledger and the graph."""

    def judged(self, task: CheckTask) -> Verified | None:
        """Return the newest judgement of a run about a task; None if there is none."""

    def there(self, task: CheckTask) -> bool | None:
        """Tell whether the graph has what a task is about; None without a graph."""

    def change(self, task: CheckTask) -> Change | None:
        """The repair that its newest finding proposes; None where there is none."""

    def releases(self) -> Mapping[str, frozenset[str]]:
        """Releases of the references as they are now, by source; of one that is not here, none."""


def fact_remarks(protocol: StudyProtocol, world: FactWorld) -> list[StudyRemarked]:
    """Remark on the facts of a protocol, as they stand now."""
    remarks = []
    resting = protocol.steps_by_ground()
    for fact in protocol.facts:
        steps = resting.get(fact.id, ())
        found = _judged_remark(fact, world, is_ground=bool(steps))
        remarks += [found.model_copy(update={"step": step}) for step in steps or ("",)]
    return remarks


def _judged_remark(fact: StudyFact, world: FactWorld, *, is_ground: bool) -> StudyRemarked:
    now = world.judged(fact.task)
    if now and _is_older(now, fact):
        # Another ledger, or a copy of an earlier day: what it holds was known when the protocol was made.
        now = None
    if outdated := next(_outdated_ends(fact, world, now), None):
        return outdated
    if fact.verified and world.there(fact.task) is False and (now is None or now.outcome is Outcome.SUPPORTED):
        return _fact_remark(StudyRemark.FACT_GONE, fact, now, "the graph does not have it")
    if now is None:
        kind = StudyRemark.FACT_NOT_LOOKED_SINCE if fact.outcome else StudyRemark.FACT_NOT_LOOKED
        return _fact_remark(kind, fact, now, "no newer run looked at it" if fact.outcome else "no run looked at it")
    found = f"{now.outcome.value} ({now.reason.value}) by run {now.run}"
    if not is_ground and not fact.verified and now.outcome is fact.outcome:
        # It is named as what it is, say among what was left out.
        return _fact_remark(StudyRemark.FACT_AS_STATED, fact, now, found)
    match now.outcome:
        case Outcome.SUPPORTED:
            newer = world.releases().get(now.source or "", frozenset())
            if newer and now.release not in newer:
                shown = ", ".join(sorted(newer))
                return _fact_remark(
                    StudyRemark.FACT_STALE, fact, now, f"{now.source} is {shown} now; judged by {now.release or '?'}"
                )
            return _fact_remark(StudyRemark.FACT_VERIFIED, fact, now, found)
        case Outcome.UNAVAILABLE:
            return _fact_remark(StudyRemark.FACT_UNAVAILABLE, fact, now, found, unavailable=True)
        case Outcome.REFUTED:
            kind = StudyRemark.FACT_REFUTED if fact.verified else StudyRemark.FACT_FALSE
            return _fact_remark(kind, fact, now, found, repair=_repair(fact.task, world))
        case Outcome.INSUFFICIENT:
            kind = StudyRemark.FACT_UNVERIFIED if fact.verified else StudyRemark.FACT_UNDECIDED
            return _fact_remark(kind, fact, now, found)


def _outdated_ends(fact: StudyFact, world: FactWorld, now: Verified | None) -> Iterator[StudyRemarked]:
    """Remark on a refutation since, for its id, of a fact or a node that it is about."""
    if not fact.verified:
        return
    ends: list[tuple[CheckTask, Verified | None]] = [(fact.task, now)]
    if fact.task.type is not CheckType.EXISTENCE:
        tasks = [
            CheckTask(type=CheckType.EXISTENCE, subject=ref) for ref in (fact.task.subject, fact.task.object) if ref
        ]
        ends += [(task, world.judged(task)) for task in tasks]
    for task, judged in ends:
        if not judged or _is_older(judged, fact):
            continue
        if judged.outcome is Outcome.REFUTED and judged.reason in OUTDATED:
            note = f"{_named(task)}: {judged.reason.value.replace('_', ' ')}, by run {judged.run}"
            yield _fact_remark(StudyRemark.FACT_ID_OUTDATED, fact, judged, note, task=task, repair=_repair(task, world))


def _fact_remark(
    kind: StudyRemark,
    fact: StudyFact,
    now: Verified | None,
    note: str,
    *,
    task: CheckTask | None = None,
    repair: str = "",
    unavailable: bool = False,
) -> StudyRemarked:
    stated = f"{fact.id} {fact.stated!r}"
    source = (now.source, now.release, now.record) if now else (fact.source, fact.release, fact.record)
    return remarked(
        kind,
        f"{stated}: {note}",
        about=fact.id,
        finding=(task or fact.task).fingerprint if now else fact.finding,
        rests_on=" ".join(part for part in source if part),
        unavailable=unavailable,
        **({"repair": repair} if repair else {}),
    )


def _is_older(judged: Verified, fact: StudyFact) -> bool:
    """Tell whether a judgement is older than a fact; times without a zone are of UTC."""
    times = [at if at.tzinfo else at.replace(tzinfo=UTC) for at in (judged.at, fact.at or judged.at)]
    return times[0] < times[1]


def _repair(task: CheckTask, world: FactWorld) -> str:
    """The repair of the finding in words, where it proposes one that names something."""
    change = world.change(task)
    if change and change.to:
        return f"{change.kind.value.replace('_', ' ')}: {change.to}"
    if change and change.candidates:
        return f"choose one of {', '.join(change.candidates[:5])}"
    return ""


def _named(task: CheckTask) -> str:
    subject: Ref = task.subject
    return str(subject) if task.type is CheckType.EXISTENCE else str(task)


class PaperStanding(Value):
    """Standing of a paper; ``text`` is empty if only its retraction could be looked up."""

    known: bool = False
    retracted: bool = False
    where: str = ""
    text: str = ""
    unavailable: str = ""


class PaperWorld(Protocol):
    """Lookup of papers."""

    def look(self, papers: Sequence[str]) -> Mapping[str, PaperStanding]:
        """Look up the standing of papers, each by the id as it was given."""


DataSetLookup = Callable[[Sequence[str]], Iterable[StudyDataSet]]
"""The record of each of some ids; what could not be looked up is ``not_looked``, never ``missing``."""


def paper_remarks(protocol: StudyProtocol, world: PaperWorld | None) -> list[StudyRemarked]:
    """Remark on the papers of a protocol, as they stand now."""
    standing = world.look(list(dict.fromkeys(p.paper for p in protocol.passages))) if world else {}
    resting = protocol.steps_by_ground()
    found = []
    for passage in protocol.passages:
        if world is None and not passage.retracted:
            continue
        for remark in _of_passage(passage, standing.get(passage.paper, PaperStanding())):
            found += [remark.model_copy(update={"step": step}) for step in resting.get(passage.id) or ("",)]
    return found


def _of_passage(passage: StudyPassage, paper: PaperStanding) -> Iterable[StudyRemarked]:
    named = f"{passage.id} of {passage.paper}"
    common = {"about": passage.id, "rests_on": paper.where}
    if paper.retracted or passage.retracted:
        yield remarked(StudyRemark.PAPER_RETRACTED, f"{named}: retracted", **common)
    elif paper.unavailable:
        yield remarked(StudyRemark.PAPER_UNAVAILABLE, f"{named}: {paper.unavailable}", unavailable=True, **common)
    elif not paper.known:
        yield remarked(StudyRemark.PAPER_UNKNOWN, f"{named}: not found", **common)
    else:
        yield remarked(StudyRemark.PAPER_STANDS, f"{named}: not retracted", **common)
    if paper.text and passage.quote not in paper.text:
        yield remarked(StudyRemark.QUOTE_DIFFERS, f"{named}: {passage.quote[:80]!r} is not in the paper", **common)


def data_set_remarks(protocol: StudyProtocol, lookup: DataSetLookup | None) -> list[StudyRemarked]:
    """Check whether the data sets of a protocol exist and fit its objective."""
    looked = {d.id: d for d in lookup([d.id for d in protocol.data_sets])} if lookup and protocol.data_sets else None
    resting = protocol.steps_by_ground()
    found = []
    for data_set in protocol.data_sets:
        now = data_set
        if looked is not None:
            now = looked.get(data_set.id) or StudyDataSet(id=data_set.id)
            if now.state == "not_looked":
                now = data_set.model_copy(
                    update={"state": now.state, "remark": now.remark or "it could not be looked up"}
                )
        steps = resting.get(data_set.id) or ("",)
        for remark in _of_data_set(now, data_set.state, protocol.objective, looked=looked is not None):
            found += [remark.model_copy(update={"step": step}) for step in steps]
    return found


def _of_data_set(
    now: StudyDataSet, before: DataSetState, objective: Objective, *, looked: bool
) -> Iterable[StudyRemarked]:
    common = {"about": now.id, "rests_on": " ".join(filter(None, (now.source, str(now.at or ""))))}
    where = now.repository or "its repository"
    match now.state:
        case "not_looked":
            note = f"{now.id}: {now.remark or 'nobody has looked it up'}"
            yield remarked(StudyRemark.DATA_SET_NOT_LOOKED, note, unavailable=looked, **common)
        case "not_shown":
            yield remarked(StudyRemark.DATA_SET_NOT_SHOWN, f"{now.id}: {where} shows none", **common)
            return
        case "missing":
            kind = StudyRemark.DATA_SET_GONE if before == "found" else StudyRemark.DATA_SET_MISSING
            yield remarked(kind, f"{now.id}: {now.remark or f'{where} has none'}", **common)
            return
        case "found":
            yield remarked(StudyRemark.DATA_SET_FOUND, f"{now.id}: {now.remark or now.title or 'found'}", **common)
    species = {s.casefold() for s in now.species}
    if species and objective.species.casefold() not in species:
        shown = ", ".join(now.species)
        yield remarked(StudyRemark.DATA_SET_OTHER_SPECIES, f"{now.id}: {shown}, and not {objective.species}", **common)
    has, wanted = _assays([now.assay]), _assays(objective.assays)
    if has and wanted and not has & wanted:
        shown = ", ".join(objective.assays)
        yield remarked(StudyRemark.DATA_SET_OTHER_ASSAY, f"{now.id}: {now.assay}, and not {shown}", **common)


def _assays(texts: Iterable[str]) -> set[str]:
    """Kinds of data that texts name, with those that they may stand for; none where no kind is known."""
    rules = check_rules()
    folded = [text.casefold() for text in texts]
    found = {kind for kind, words in rules.assays.items() for word in words for text in folded if word in text}
    return found | {other for kind in found for other in rules.assays_within.get(kind, ())}


_LONGEST = 60


def lack_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Remark on controls, tests, corrections, evidence and versions that steps lack."""
    for section in protocol.sections:
        named = dict.fromkeys(("controls", "statistics", "corrections"), "")
        # What a later step of the section names counts for those before it.
        for step in reversed(section.steps):
            text = _step_words(step)
            named |= {kind: found for kind in named if (found := _has(kind, text))}
            yield from _comparison(step, named)
            if not step.facts and not step.passages and step.fixed not in design_rules().fixed:
                yield remarked(StudyRemark.EVIDENCE_MISSING, _quoted_step(step), step=step.id)
    yield from _versions(protocol)


def _comparison(step: StudyStep, named: Mapping[str, str]) -> Iterator[StudyRemarked]:
    """Remark on a control, test or correction that a comparing or testing step should name."""
    done = " ".join((step.text, *step.statistics)).casefold()
    if not (step.statistics or step.analysis or _has("compares", done)):
        return
    if not step.control and not named["controls"]:
        yield remarked(StudyRemark.CONTROL_MISSING, _quoted_step(step), step=step.id)
    # A ready analysis has its test within.
    if step.analysis:
        return
    if not step.statistics and not named["statistics"]:
        yield remarked(StudyRemark.STATISTICS_MISSING, _quoted_step(step), step=step.id)
    if (many := _has("many_tests", done)) and not named["corrections"]:
        yield remarked(StudyRemark.CORRECTION_MISSING, f"{many!r} in {_quoted_step(step)}", step=step.id)


def _versions(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Software without a version anywhere, and with several."""
    uses: dict[str, list[tuple[str, str, str]]] = {}
    for step in protocol.steps:
        for tool in step.tools:
            uses.setdefault(tool.name.casefold(), []).append((step.id, tool.name, tool.version))
    for found in uses.values():
        versions = list(dict.fromkeys(version for _, _, version in found if version))
        first, name, _ = found[0]
        others = tuple(dict.fromkeys(place for place, _, _ in found[1:] if place != first))
        if not versions:
            yield remarked(StudyRemark.VERSION_MISSING, name, step=first, about=name, steps=others)
        elif len(versions) > 1:
            note = f"{name} {' and '.join(versions)}"
            yield remarked(StudyRemark.VERSION_DIFFERS, note, step=first, about=name, steps=others)


def _quoted_step(step: StudyStep) -> str:
    return repr(step.text if len(step.text) <= _LONGEST else f"{step.text[:_LONGEST]}...")


def _step_words(step: StudyStep) -> str:
    return " ".join((step.text, *step.statistics, step.control, step.rationale)).casefold()


def _has(kind: str, text: str) -> str:
    """The first of some words that a text has; nothing where it has none."""
    found = _pattern(kind).search(text)
    return found[0].strip() if found else ""


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    words = sorted(check_rules().words[kind], key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})")


class _SourceValue(NamedTuple):
    """A value of a passage in the smallest unit of its kind."""

    passage: str
    value: Decimal
    kind: str
    written: str


def parameter_remarks(protocol: StudyProtocol) -> Iterator[StudyRemarked]:
    """Parameters far from those of their sources; parameters and versions that the passage named for them lacks."""
    values = {p.id: _source_values(p) for p in protocol.passages}
    quotes = {p.id: p.quote for p in protocol.passages}
    stems = {name: _stems(quote) for name, quote in quotes.items()}
    taken = _taken(protocol)
    for step in protocol.steps:
        for parameter in step.parameters:
            if parameter.number is None:
                continue
            if parameter.passage:
                yield from _in_passage(step, parameter, quotes[parameter.passage], values[parameter.passage])
            elif words := _stems(parameter.name):
                # Of passages of this step whose words have the whole name, and of steps that name their passage.
                sources = [v for name in step.passages if words <= stems[name] for v in values[name]]
                yield from _against(step, parameter, [*taken.get(words, ()), *sources])
        for tool in step.tools:
            if tool.version and tool.passage and not _has_version(quotes[tool.passage], tool.version):
                note = f"{tool.name} {tool.version}: {tool.passage} has no such version"
                yield remarked(
                    StudyRemark.VERSION_NOT_IN_SOURCE, note, step=step.id, about=tool.name, rests_on=tool.passage
                )


def _has_version(quote: str, version: str) -> bool:
    """Tell whether a text has a version (``5``, ``v5``, ``v.5``), not as a part of another number."""
    own = re.escape(" ".join(version.split()))
    pattern = rf"(?<!\d)(?<!\d\.){own}(?!\w|\.\d)"
    return re.search(pattern, " ".join(quote.split()), re.IGNORECASE) is not None


def _taken(protocol: StudyProtocol) -> dict[frozenset[str], list[_SourceValue]]:
    """Values that steps take from passages that they name, by the stems of their names."""
    taken: dict[frozenset[str], list[_SourceValue]] = {}
    for step in protocol.steps:
        for known in step.parameters:
            if known.passage and known.number is not None:
                value, kind = _scaled(known.number, known.unit)
                taken.setdefault(_stems(known.name), []).append(_SourceValue(known.passage, value, kind, known.value))
    return taken


def _in_passage(
    step: StudyStep, parameter: StepParameter, quote: str, values: list[_SourceValue]
) -> Iterator[StudyRemarked]:
    """The passage that is named must have the value, as it is written or as a number."""
    own, _ = _scaled(parameter.number or Decimal(0), parameter.unit)
    if parameter.value in quote or any(v.value in (own, parameter.number) for v in values):
        return
    note = f"{parameter.name} = {parameter.value}: {parameter.passage} has no such value"
    yield remarked(
        StudyRemark.PARAMETER_NOT_IN_SOURCE, note, step=step.id, about=parameter.name, rests_on=parameter.passage
    )


def _against(step: StudyStep, parameter: StepParameter, sources: list[_SourceValue]) -> Iterator[StudyRemarked]:
    own, kind = _scaled(parameter.number or Decimal(0), parameter.unit)
    far = Decimal(str(check_rules().far))
    compared = [v for v in sources if v.value > 0 and v.kind == kind]
    if own <= 0 or not compared or any(1 / far <= own / v.value <= far for v in compared):
        return
    nearest = min(compared, key=lambda v: max(own / v.value, v.value / own))
    times = max(own / nearest.value, nearest.value / own)
    way = "more" if own > nearest.value else "less"
    note = f"{parameter.name} = {parameter.value}: {times:.3g} times {way} than {nearest.written} of {nearest.passage}"
    yield remarked(StudyRemark.PARAMETER_FAR, note, step=step.id, about=parameter.name, rests_on=nearest.passage)


def _source_values(passage: StudyPassage) -> list[_SourceValue]:
    found = []
    for quantity in quantities(passage.quote):
        value, kind = _scaled(quantity.value, quantity.unit)
        found.append(_SourceValue(passage.id, value, kind, passage.quote[quantity.start : quantity.end]))
    return found


def _scaled(value: Decimal, unit: str) -> tuple[Decimal, str]:
    """A value in the smallest unit of what its unit measures, and what that is; of another unit, as it is."""
    for kind, units in check_rules().units.items():
        if unit in units:
            return value * Decimal(str(units[unit])), kind
    return value, unit


def _stems(text: str) -> frozenset[str]:
    return item_words(text) - _kinds()


@cache
def _kinds() -> frozenset[str]:
    """Stems of words that tell the kind of a value, and not what it is of."""
    return frozenset(stemmer().stemWords(sorted(kind_words())))


_ORDER = list(StudyState)


class StudyWorlds(NamedTuple):
    """Lookups of facts, papers and data sets for a check; None: not looked up."""

    facts: FactWorld | None = None
    papers: PaperWorld | None = None
    data_sets: DataSetLookup | None = None


class FallenStep(Value):
    """A step that fell: for which of its facts and passages, and which steps use what comes of it."""

    step: str
    text: str
    because: tuple[str, ...]
    downstream: tuple[str, ...] = ()


class CheckedProtocol(Value):
    """Result of the check of a protocol; ``not_looked`` has the reason by what was not looked up."""

    name: str
    title: str
    sha256: str = ""
    steps: int
    remarks: tuple[StudyRemarked, ...] = ()
    fallen: tuple[FallenStep, ...] = ()
    not_looked: dict[str, str] = {}

    @cached_property
    def counts(self) -> Counter[StudyState]:
        """Number of remarks in each state."""
        return Counter(r.state for r in self.remarks)

    @property
    def alarms(self) -> list[StudyRemarked]:
        """Remarks that somebody should look at, the worst first; then in the order of the steps."""
        return [r for r in self.remarks if r.state is not StudyState.HOLDS]

    def exit_code(self, least: str) -> int:
        """Return the exit code of the command."""
        failing = [] if least == "never" else _ORDER[: _ORDER.index(StudyState(least)) + 1]
        if any(r.state in failing for r in self.remarks):
            return EXIT_FINDINGS
        return EXIT_INCOMPLETE if any(r.unavailable for r in self.remarks) else EXIT_CLEAN

    def as_row(self) -> dict[str, Any]:
        """As `--format json` prints it."""
        row = self.model_dump(mode="json", exclude={"remarks"})
        remarks = [
            {"remark": r.remark.value, "state": r.state.value}
            | r.model_dump(mode="json", exclude={"remark"}, exclude_defaults=True)
            for r in self.remarks
        ]
        counts = {state.value: self.counts[state] for state in StudyState}
        return row | {"counts": counts, "remarks": remarks}


def check_protocol(
    protocol: StudyProtocol,
    worlds: StudyWorlds,
    *,
    name: str,
    sha256: str = "",
    not_looked: Mapping[str, str] | None = None,
) -> CheckedProtocol:
    """Check a protocol."""
    flow = StepFlow(protocol)
    found: list[StudyRemarked] = []
    if worlds.facts:
        found += fact_remarks(protocol, worlds.facts)
    found += paper_remarks(protocol, worlds.papers)
    found += data_set_remarks(protocol, worlds.data_sets)
    found += flow.remarks()
    found += lack_remarks(protocol)
    found += parameter_remarks(protocol)
    found += usual_remarks(protocol)
    fallen = _fallen(protocol, flow, found)
    found += _following(flow, [f.step for f in fallen])
    place = {step.id: number for number, step in enumerate(protocol.steps)}
    return CheckedProtocol(
        name=name,
        title=protocol.objective.title,
        sha256=sha256,
        steps=len(place),
        remarks=tuple(sorted(found, key=lambda r: (_ORDER.index(r.state), place.get(r.step, -1)))),
        fallen=tuple(fallen),
        not_looked=dict(not_looked or {}),
    )


def _fallen(protocol: StudyProtocol, flow: StepFlow, found: Iterable[StudyRemarked]) -> list[FallenStep]:
    because: dict[str, list[str]] = {}
    for remark in found:
        if remark.state is StudyState.FALLEN and remark.step:
            because.setdefault(remark.step, []).append(remark.about)
    return [
        FallenStep(
            step=step.id,
            text=step.text,
            because=tuple(dict.fromkeys(because[step.id])),
            downstream=tuple(flow.after([step.id])),
        )
        for step in protocol.steps
        if step.id in because
    ]


def _following(flow: StepFlow, fallen: list[str]) -> list[StudyRemarked]:
    return [
        remarked(StudyRemark.FOLLOWS_FALLEN, f"what {maker} makes", step=step, about=maker)
        for step, maker in flow.after(fallen).items()
    ]
