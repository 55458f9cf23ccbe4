"""Protocols in the words of a test."""

from datetime import UTC, datetime
from typing import Any

from kgcheck.model import CheckTask, CheckType, Outcome, Reason, Ref
from kgcheck.protocols.protocol import (
    Objective,
    StepItem,
    StudyDataSet,
    StudyFact,
    StudyPassage,
    StudyProtocol,
    StudySection,
    StudyStep,
)

MADE = datetime(2026, 1, 2, tzinfo=UTC)


def step(number: int, text: str = "Do it.", takes: str = "", makes: str = "", **more: Any) -> StudyStep:
    """A step of the first section; items are parted by semicolons."""
    return StudyStep(
        id=f"S1.{number}",
        text=text,
        inputs=tuple(StepItem(name=name.strip()) for name in takes.split(";") if name.strip()),
        outputs=tuple(StepItem(name=name.strip()) for name in makes.split(";") if name.strip()),
        **more,
    )


def edge_task(head: str, tail: str) -> CheckTask:
    """An edge between proteins."""
    ends = Ref(label="Protein", id=head), Ref(label="Protein", id=tail)
    return CheckTask(type=CheckType.TRIPLE, subject=ends[0], relation="ACTS_ON", object=ends[1])


def fact(number: int, task: CheckTask, outcome: Outcome | None = Outcome.SUPPORTED, **more: Any) -> StudyFact:
    """A fact, verified unless another outcome is given."""
    reason = Reason.CONFIRMED if outcome is Outcome.SUPPORTED else None
    stated = str(task) if task.object else f"{task.subject.id} ({task.subject}) exists"
    return StudyFact(id=f"F{number}", task=task, stated=stated, outcome=outcome, reason=reason, at=MADE, **more)


def passage(number: int, quote: str, paper: str = "PMID:99990001", **more: Any) -> StudyPassage:
    """Words of a made-up paper."""
    return StudyPassage(id=f"Q{number}", paper=paper, quote=quote, **more)


def protocol(
    *steps: StudyStep,
    facts: tuple[StudyFact, ...] = (),
    passages: tuple[StudyPassage, ...] = (),
    data_sets: tuple[StudyDataSet, ...] = (),
    **objective: Any,
) -> StudyProtocol:
    """A protocol of one section."""
    goal = Objective(**{"title": "A made-up study", "objective": "To see what comes of it."} | objective)
    return StudyProtocol(
        objective=goal,
        made_at=MADE,
        sections=(StudySection(id="S1", heading="All of it", steps=steps),),
        facts=facts,
        passages=passages,
        data_sets=data_sets,
    )
