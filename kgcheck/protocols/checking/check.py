"""A protocol checked whole: every remark, which steps fell, and what rests on them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE
from kgcheck.model import Value
from kgcheck.protocols.checking.facts import FactWorld, fact_remarks
from kgcheck.protocols.checking.flow import StepFlow
from kgcheck.protocols.checking.lacks import lack_remarks
from kgcheck.protocols.checking.parameters import parameter_remarks
from kgcheck.protocols.checking.remarks import StudyRemark, StudyRemarked, StudyState, remarked
from kgcheck.protocols.checking.sources import (
    DataSetLookup,
    PaperWorld,
    data_set_remarks,
    paper_remarks,
)
from kgcheck.protocols.checking.usual import usual_remarks
from kgcheck.protocols.protocol import StudyProtocol

_ORDER = list(StudyState)


class StudyWorlds(NamedTuple):
    """What a protocol is held against; None where it is not looked."""

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
    """What was found of a protocol. ``not_looked`` is by what, why."""

    name: str
    title: str
    sha256: str = ""
    steps: int
    remarks: tuple[StudyRemarked, ...] = ()
    fallen: tuple[FallenStep, ...] = ()
    not_looked: dict[str, str] = {}

    @cached_property
    def counts(self) -> Counter[StudyState]:
        """How many remarks are in each state."""
        return Counter(r.state for r in self.remarks)

    @property
    def alarms(self) -> list[StudyRemarked]:
        """What somebody should look at, the worst first; then in the order of the steps."""
        return [r for r in self.remarks if r.state is not StudyState.HOLDS]

    def exit_code(self, least: str) -> int:
        """What the command ends with."""
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
