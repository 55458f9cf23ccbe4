"""Check a protocol: facts, papers and data sets as of now, and steps that no longer hold."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE
from kgcheck.model import Change, CheckTask, CheckType, Outcome, Ref, Value
from kgcheck.protocols.checking.comparison import comparison_remarks
from kgcheck.protocols.checking.order import StepFlow
from kgcheck.protocols.checking.remarks import (
    CheckRules,
    StudyRemark,
    StudyRemarked,
    StudyState,
    lack_remarks,
    parameter_remarks,
    remarked,
    usual_remarks,
)
from kgcheck.protocols.protocol import StudyDataSet, StudyFact, StudyProtocol

if TYPE_CHECKING:
    from kgcheck.ledger.verified import Verified


class FactWorld(NamedTuple):
    """Lookups of facts: the newest judgement of a run, what the graph has, the repair of a finding, the releases now.

    None of ``there`` is a graph that is not here; a source without releases is one that is not here.
    """

    judged: "Callable[[CheckTask], Verified | None]"
    there: Callable[[CheckTask], bool | None]
    change: Callable[[CheckTask], Change | None]
    releases: Mapping[str, frozenset[str]]


class PaperStanding(NamedTuple):
    """Standing of a paper; ``text`` is empty if only its retraction could be looked up."""

    known: bool = False
    retracted: bool = False
    where: str = ""
    text: str = ""
    unavailable: str = ""


PaperLookup = Callable[[Sequence[str]], Mapping[str, PaperStanding]]
"""The standing of papers, each by the id as it was given."""

DataSetLookup = Callable[[Sequence[str]], Iterable[StudyDataSet]]
"""The record of each of some ids; what could not be looked up is ``not_looked``, never ``missing``."""

ClauseLookup = Callable[[CheckTask, str, Mapping[Ref, Sequence[str]]], str]
"""The difference between a clause and its task, by names of nodes; empty where there is none, or nobody can tell."""


class StudyWorlds(NamedTuple):
    """Lookups of facts, papers, data sets and clauses for a check; None: not looked up."""

    facts: FactWorld | None = None
    papers: PaperLookup | None = None
    data_sets: DataSetLookup | None = None
    clauses: ClauseLookup | None = None


def _judged_remark(fact: StudyFact, world: FactWorld, *, is_ground: bool) -> StudyRemarked:
    now = world.judged(fact.task)
    if now and _is_older(now, fact):
        # Another ledger, or a copy of an earlier day: what it holds was known when the protocol was made.
        now = None
    if outdated := _outdated_end(fact, world, now):
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
    newer = world.releases.get(now.source or "", frozenset())
    if now.outcome is Outcome.SUPPORTED and newer and now.release not in newer:
        note = f"{now.source} is {', '.join(sorted(newer))} now; judged by {now.release or '?'}"
        return _fact_remark(StudyRemark.FACT_STALE, fact, now, note)
    kind = {
        Outcome.SUPPORTED: StudyRemark.FACT_VERIFIED,
        Outcome.UNAVAILABLE: StudyRemark.FACT_UNAVAILABLE,
        Outcome.REFUTED: StudyRemark.FACT_REFUTED if fact.verified else StudyRemark.FACT_FALSE,
        Outcome.INSUFFICIENT: StudyRemark.FACT_UNVERIFIED if fact.verified else StudyRemark.FACT_UNDECIDED,
    }[now.outcome]
    change = world.change(fact.task) if now.outcome is Outcome.REFUTED else None
    return _fact_remark(kind, fact, now, found, change, unavailable=now.outcome is Outcome.UNAVAILABLE)


def _outdated_end(fact: StudyFact, world: FactWorld, now: "Verified | None") -> StudyRemarked | None:
    """Remark on a refutation since, for its id, of a fact or a node that it is about."""
    if not fact.verified:
        return None
    ends = (fact.task.subject, fact.task.object) if fact.task.type is not CheckType.EXISTENCE else ()
    tasks = [CheckTask(type=CheckType.EXISTENCE, subject=ref) for ref in ends if ref]
    for task, judged in ((fact.task, now), *((task, world.judged(task)) for task in tasks)):
        is_refuted = judged and not _is_older(judged, fact) and judged.outcome is Outcome.REFUTED
        if judged and is_refuted and judged.reason in CheckRules.shipped().outdated:
            named = str(task.subject) if task.type is CheckType.EXISTENCE else str(task)
            note = f"{named}: {judged.reason.value.replace('_', ' ')}, by run {judged.run}"
            remark = _fact_remark(StudyRemark.FACT_ID_OUTDATED, fact, judged, note, world.change(task))
            return remark.model_copy(update={"finding": task.fingerprint})
    return None


def _fact_differences(fact: StudyFact, worlds: StudyWorlds, names: Mapping[Ref, Sequence[str]]) -> Iterator[str]:
    """Tell how a fact says another thing than its task, or than the judgement that it names."""
    now = worlds.facts.judged(fact.task) if worlds.facts else None
    if worlds.clauses and (why := worlds.clauses(fact.task, fact.stated, names)):
        yield why
    if fact.finding and fact.finding != fact.task.fingerprint:
        yield f"its finding is {fact.finding}, and that of its task {fact.task.fingerprint}"
    if now and fact.run and now.run == fact.run:
        for name in ("outcome", "reason", "source", "release", "record", "at"):
            own, other = getattr(fact, name) or "", getattr(now, name) or ""
            if own != other:
                yield f"its {name} is {str(own) or 'none'}, and {str(other) or 'none'} in run {now.run}"
    elif now and fact.run and now.at == fact.at:
        yield f"its run is {fact.run}, and what was judged at that time is of {now.run}"


def _fact_remark(
    kind: StudyRemark,
    fact: StudyFact,
    now: "Verified | None",
    note: str,
    change: Change | None = None,
    *,
    unavailable: bool = False,
) -> StudyRemarked:
    source = (now.source, now.release, now.record) if now else (fact.source, fact.release, fact.record)
    repair = {}
    if change and change.to:
        repair = {"repair": f"{change.kind.value.replace('_', ' ')}: {change.to}"}
    elif change and change.candidates:
        repair = {"repair": f"choose one of {', '.join(change.candidates[:5])}"}
    return remarked(
        kind,
        f"{fact.id} {fact.stated!r}: {note}",
        about=fact.id,
        finding=fact.task.fingerprint if now else fact.finding,
        rests_on=" ".join(part for part in source if part),
        unavailable=unavailable,
        **repair,
    )


def _is_older(judged: "Verified", fact: StudyFact) -> bool:
    """Tell whether a judgement is older than a fact; times without a zone are of UTC."""
    times = [at if at.tzinfo else at.replace(tzinfo=UTC) for at in (judged.at, fact.at or judged.at)]
    return times[0] < times[1]


def _paper_remarks(protocol: StudyProtocol, lookup: PaperLookup | None) -> Iterator[StudyRemarked]:
    standing = lookup(list(dict.fromkeys(p.paper for p in protocol.passages))) if lookup else {}
    for passage in protocol.passages if lookup else [p for p in protocol.passages if p.retracted]:
        paper = standing.get(passage.paper, PaperStanding())
        named, common = f"{passage.id} of {passage.paper}", {"about": passage.id, "rests_on": paper.where}
        if paper.retracted or passage.retracted:
            yield remarked(StudyRemark.PAPER_RETRACTED, f"{named}: retracted", **common)
        elif paper.unavailable:
            yield remarked(StudyRemark.PAPER_UNAVAILABLE, f"{named}: {paper.unavailable}", unavailable=True, **common)
        elif not paper.known:
            yield remarked(StudyRemark.PAPER_UNKNOWN, f"{named}: not found", **common)
        else:
            yield remarked(StudyRemark.PAPER_STANDS, f"{named}: not retracted", **common)
        # From its first word to its last: 100 is not in 100,000.
        if paper.text and not re.search(rf"(?<!\w){re.escape(passage.quote)}(?!\w|[.,]\d)", paper.text):
            note = f"{named}: {passage.quote[:80]!r} is not in the paper"
            yield remarked(StudyRemark.QUOTE_DIFFERS, note, **common)


def _data_set_remarks(protocol: StudyProtocol, lookup: DataSetLookup | None) -> Iterator[StudyRemarked]:
    looked = {d.id: d for d in lookup([d.id for d in protocol.data_sets])} if lookup and protocol.data_sets else None
    for data_set in protocol.data_sets:
        now = data_set if looked is None else looked.get(data_set.id) or StudyDataSet(id=data_set.id)
        if looked is not None and now.state == "not_looked":
            remark = now.remark or "it could not be looked up"
            now = data_set.model_copy(update={"state": now.state, "remark": remark})
        common = {"about": now.id, "rests_on": " ".join(filter(None, (now.source, str(now.at or ""))))}
        match now.state:
            case "not_looked":
                note = f"{now.id}: {now.remark or 'nobody has looked it up'}"
                yield remarked(StudyRemark.DATA_SET_NOT_LOOKED, note, unavailable=looked is not None, **common)
            case "missing":
                kind = StudyRemark.DATA_SET_GONE if data_set.state == "found" else StudyRemark.DATA_SET_MISSING
                where = now.repository or "its repository"
                yield remarked(kind, f"{now.id}: {now.remark or f'{where} has none'}", **common)
                continue
            case "found":
                yield remarked(StudyRemark.DATA_SET_FOUND, f"{now.id}: {now.remark or now.title or 'found'}", **common)
        wanted = protocol.objective
        if not now.may_be_of(wanted.species):
            note = f"{now.id}: {', '.join(now.species)}, and not {wanted.species}"
            yield remarked(StudyRemark.DATA_SET_OTHER_SPECIES, note, **common)
        kinds, others = _assays([now.assay]), _assays(wanted.assays)
        if kinds and others and not kinds & others:
            note = f"{now.id}: {now.assay}, and not {', '.join(wanted.assays)}"
            yield remarked(StudyRemark.DATA_SET_OTHER_ASSAY, note, **common)


def _assays(texts: Iterable[str]) -> set[str]:
    """Kinds of data that texts name, with those that they may stand for; none where no kind is known."""
    rules, folded = CheckRules.shipped(), [text.casefold() for text in texts]
    found = {kind for kind, words in rules.assays.items() for word in words for text in folded if word in text}
    return found | {other for kind in found for other in rules.assays_within.get(kind, ())}


_ORDER = list(StudyState)


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
        return Counter(r.state for r in self.remarks)

    @property
    def alarms(self) -> list[StudyRemarked]:
        """Remarks that somebody should look at, the worst first; then in the order of the steps."""
        return [r for r in self.remarks if r.state is not StudyState.HOLDS]

    def exit_code(self, least: str) -> int:
        failing = [] if least == "never" else _ORDER[: _ORDER.index(StudyState(least)) + 1]
        if any(r.state in failing for r in self.remarks):
            return EXIT_FINDINGS
        return EXIT_INCOMPLETE if any(r.unavailable for r in self.remarks) else EXIT_CLEAN

    def as_row(self) -> dict[str, Any]:
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
    design: StudyProtocol | None = None,
) -> CheckedProtocol:
    """Check a protocol; ``design`` is what its material makes."""
    flow, resting = StepFlow(protocol), protocol.steps_by_ground()
    names = {node.ref: node.called for node in protocol.nodes}
    grounds = [
        *(_judged_remark(f, worlds.facts, is_ground=f.id in resting) for f in protocol.facts if worlds.facts),
        *(
            _fact_remark(StudyRemark.FACT_DIFFERS, f, worlds.facts.judged(f.task) if worlds.facts else None, note)
            for f in protocol.facts
            for note in _fact_differences(f, worlds, names)
        ),
        *_paper_remarks(protocol, worlds.papers),
        *_data_set_remarks(protocol, worlds.data_sets),
    ]
    found = [
        # For each step that rests on one, else for the whole.
        *(r.model_copy(update={"step": step}) for r in grounds for step in resting.get(r.about, ("",))),
        *flow.remarks(),
        *comparison_remarks(protocol, design),
        *lack_remarks(protocol),
        *parameter_remarks(protocol),
        *usual_remarks(protocol),
    ]
    because: dict[str, dict[str, None]] = {}
    for r in found:
        if r.state is StudyState.FALLEN and r.step:
            because.setdefault(r.step, {})[r.about] = None
    fallen = [
        FallenStep(step=s.id, text=s.text, because=tuple(because[s.id]), downstream=tuple(flow.after([s.id])))
        for s in protocol.steps
        if s.id in because
    ]
    found += [
        remarked(StudyRemark.FOLLOWS_FALLEN, f"what {maker} makes", step=step, about=maker)
        for step, maker in flow.after(because).items()
    ]
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


def unreadable(name: str, message: str) -> CheckedProtocol:
    """A file that is no protocol, among others."""
    remark = remarked(StudyRemark.UNREADABLE, message, unavailable=True)
    return CheckedProtocol(name=name, title="", steps=0, remarks=(remark,))
