"""Score a protocol by BioResearcher's five measures, with language models as judges.

What can be counted without a judge is counted: steps, sentences a step, the brevity penalty, and how the protocol is
built.
"""

import math
from collections.abc import Sequence
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from kgcheck.literature.documents import sentences
from kgcheck.llm.budget import Meter
from kgcheck.llm.forms import messages_of
from kgcheck.model import Value
from kgcheck.progress import NoProgress, Progress
from kgcheck.protocols.checking.order import StepFlow, order_agreement
from kgcheck.protocols.checking.remarks import StudyRemark
from kgcheck.protocols.protocol import StudyProtocol
from kgcheck.protocols.rules import ProtocolRules, model_task

if TYPE_CHECKING:
    from kgcheck.llm.client import ChatClient

MEASURES = ("completeness", "detail", "correctness", "logical", "structure")  # the five measures, each from 0 to 1


class QualityRules(ProtocolRules):
    """From when on steps count as brief, the least that is left of a measure then, and the most in one question."""

    file = "quality"
    length: float
    words: int
    floor: float
    steps: int
    characters: int


class StudyCounts(Value):
    """Figures of a protocol that are counted without a judge."""

    steps: int = Field(description="n_ts")
    sentences: float = Field(description="l_steps: sentences of more than six words a step")
    brevity: float = Field(description="BP")
    built: dict[str, float] = Field(description="shares of sections and steps that are as they should be")


class StudyJudgement(Value):
    """Judgement of one judge: numbers of steps, and two measures that it gave itself."""

    judge: str
    steps: int = Field(ge=1)
    added: tuple[str, ...] = Field(default=(), description="n_as: steps that should be added")
    wrong: tuple[str, ...] = Field(default=(), description="ids of steps with a factual error")
    misplaced: tuple[str, ...] = Field(default=(), description="ids of steps out of a reasonable order")
    detail: float = Field(ge=0, le=1)
    structure: float = Field(ge=0, le=1)
    rationale: tuple[str, ...] = ()


class StudyQuality(Value):
    """The measures of a protocol, each the average over its judges; none where nobody judged."""

    name: str
    title: str
    counts: StudyCounts
    by_judge: dict[str, dict[str, float]] = {}
    measures: dict[str, float | None]
    overall: float | None = Field(description="the sum of the five")
    judgements: tuple[StudyJudgement, ...] = ()
    missing: tuple[str, ...] = ()


def brevity(length: float) -> float:
    """The brevity penalty.

    >>> brevity(5), round(brevity(4.0), 3), brevity(1), brevity(0)
    (1.0, 0.9, 0.5, 0.5)
    """
    rule = QualityRules.shipped()
    if length > rule.length:
        return 1.0
    return max(math.exp(1 - rule.length / length), rule.floor) if length else rule.floor


def _study_counts(protocol: StudyProtocol) -> StudyCounts:
    steps, sections = list(protocol.steps), protocol.sections
    remarks = list(StepFlow(protocol).remarks())
    odd = {step for r in remarks if r.remark is not StudyRemark.NOT_MADE for step in (r.step, *r.steps)}
    loose = {r.step for r in remarks if r.remark is StudyRemark.NOT_MADE}
    built = {
        "sections with steps": _share([bool(s.steps) for s in sections]),
        "sections with a rationale": _share([bool(s.rationale) for s in sections]),
        "headings of their own": len({s.heading.casefold() for s in sections}) / len(sections),
        "steps in order": _share([step.id not in odd for step in steps]),
        "steps in the usual order": order_agreement([step.text for step in steps]),
        "steps whose inputs are made": _share([step.id not in loose for step in steps]),
        "steps with evidence": _share([bool(step.facts or step.passages) for step in steps]),
    }
    least = QualityRules.shipped().words
    lengths = [sum(len(step.text[start:end].split()) > least for start, end in sentences(step.text)) for step in steps]
    length = fmean(lengths) if lengths else 0.0
    return StudyCounts(steps=len(steps), sentences=length, brevity=brevity(length), built=built)


def _share(holds: Sequence[bool]) -> float:
    return sum(holds) / len(holds) if holds else 0.0


def measured(protocol: StudyProtocol, name: str, judgements: Sequence[StudyJudgement] = ()) -> StudyQuality:
    """Measure a protocol."""
    counts = _study_counts(protocol)
    by_judge = {
        j.judge: {
            "completeness": j.steps / (j.steps + len(j.added)),
            "detail": j.detail,
            "correctness": counts.brevity * (1 - len(set(j.wrong)) / j.steps),
            "logical": 1 - len(set(j.misplaced)) / j.steps,
            "structure": j.structure,
        }
        for j in judgements
    }
    measures = {m: fmean(one[m] for one in by_judge.values()) if by_judge else None for m in MEASURES}
    return StudyQuality(
        name=name,
        title=protocol.objective.title,
        counts=counts,
        by_judge=by_judge,
        measures=measures,
        overall=sum(value or 0 for value in measures.values()) if by_judge else None,
        judgements=tuple(judgements),
        missing=() if judgements else ("nobody judged: the five measures are not there, only what can be counted",),
    )


class SectionAnswer(BaseModel):
    """The form of an answer about steps of a section."""

    # Before the rest: a model that is bound to the order gives its reasons first.
    rationale: str = Field(min_length=1, max_length=1_000)
    added: list[Annotated[str, Field(min_length=1, max_length=400)]] = Field(max_length=30)
    wrong: list[str] = Field(max_length=100)
    misplaced: list[str] = Field(max_length=100)


class WholeAnswer(BaseModel):
    """The form of an answer about a protocol as a whole."""

    rationale: str = Field(min_length=1, max_length=1_000)
    detail: float = Field(ge=0, le=1)
    structure: float = Field(ge=0, le=1)


def judge_protocol(
    protocol: StudyProtocol, client: "ChatClient", meter: Meter, progress: Progress | None = None
) -> StudyJudgement:
    """Let a model judge a protocol."""
    most, longest = QualityRules.shipped().steps, QualityRules.shipped().characters
    lots = [
        (section, section.steps[start : start + most])
        for section in protocol.sections
        for start in range(0, len(section.steps), most)
    ]
    answers: list[SectionAnswer] = []
    with (progress or NoProgress()).step(f"judging with {client.model}", len(lots) + 1) as shown:
        for section, steps in lots:
            question = {
                "objective": protocol.objective.text,
                "headings": [s.heading for s in protocol.sections],
                "section": section.heading,
                "steps": {step.id: step.text[:longest] for step in steps},
            }
            # Only ids of these steps can stand in the form.
            ids: Any = Literal.__getitem__(tuple(step.id for step in steps))
            some: Any = (list.__class_getitem__(ids), Field(max_length=len(steps)))
            form = create_model("SectionAnswer", __base__=SectionAnswer, wrong=some, misplaced=some)
            messages = messages_of(model_task("judge a section"), question)
            answers.append(client.answer(messages, form, meter=meter, temperature=0)[0])
            shown.advance()
        room = max(40, 10 * longest // max(1, len(list(protocol.steps))))
        outline = {f"{s.id} {s.heading}": [step.text[:room] for step in s.steps] for s in protocol.sections}
        messages = messages_of(model_task("judge a whole"), {"objective": protocol.objective.text, "protocol": outline})
        whole, _ = client.answer(messages, WholeAnswer, meter=meter, temperature=0)
        shown.advance()
    return StudyJudgement(
        judge=client.model,
        steps=sum(len(steps) for _, steps in lots),
        added=tuple(chain.from_iterable(a.added for a in answers)),
        wrong=tuple(dict.fromkeys(chain.from_iterable(a.wrong for a in answers))),
        misplaced=tuple(dict.fromkeys(chain.from_iterable(a.misplaced for a in answers))),
        detail=whole.detail,
        structure=whole.structure,
        rationale=(*(a.rationale for a in answers), whole.rationale),
    )
