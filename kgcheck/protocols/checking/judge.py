"""A language model as judge of a protocol: steps that lack, are wrong or misplaced, and two scores for the whole.

An answer that is not of the form, or that names a step that was not sent, is an error after some tries, never a prior.
"""

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from kgcheck.llm.budget import Meter
from kgcheck.llm.client import ChatClient
from kgcheck.llm.forms import narrowed, with_schema
from kgcheck.progress import NoProgress, Progress
from kgcheck.protocols.checking.quality import StudyJudgement, quality_rules
from kgcheck.protocols.protocol import StudyProtocol, StudySection, StudyStep

_FEW_STEPS = 5
"""Of one question to a weak model."""

_FEW_CHARACTERS = 300
"""Of a step in it."""

_FEW_WRITTEN = 3
"""Entries of a list of its answers."""


class SectionAnswer(BaseModel):
    """The form of an answer about steps of a section."""

    model_config = ConfigDict(extra="ignore")

    # Before the rest: a model that is bound to the order gives its reasons first.
    rationale: str = Field(min_length=1, max_length=1_000)
    added: list[Annotated[str, Field(min_length=1, max_length=400)]] = Field(max_length=30)
    wrong: list[str] = Field(max_length=100)
    misplaced: list[str] = Field(max_length=100)


class WholeAnswer(BaseModel):
    """The form of an answer about a protocol as a whole."""

    model_config = ConfigDict(extra="ignore")

    rationale: str = Field(min_length=1, max_length=1_000)
    detail: float = Field(ge=0, le=1)
    structure: float = Field(ge=0, le=1)


B = TypeVar("B", bound=BaseModel)


def judge_protocol(
    protocol: StudyProtocol, client: ChatClient, meter: Meter, progress: Progress | None = None
) -> StudyJudgement:
    """Let a model judge a protocol."""
    small = client.small
    lots = list(_lots(protocol, _FEW_STEPS if small else quality_rules().judge.steps))
    added: list[str] = []
    wrong: list[str] = []
    misplaced: list[str] = []
    rationale: list[str] = []
    with (progress or NoProgress()).step(f"judging with {client.model}", len(lots) + 1) as shown:
        for section, steps in lots:
            form, question = _form_for(steps), _section_question(protocol, section, steps, small)
            answer, _ = client.answer(question, _bound(form) if small else form, meter=meter)
            added += answer.added
            wrong += answer.wrong
            misplaced += answer.misplaced
            rationale.append(answer.rationale)
            shown.advance()
        form_of_whole = _bound(WholeAnswer) if small else WholeAnswer
        whole, _ = client.answer(_whole_question(protocol, small), form_of_whole, meter=meter)
        shown.advance()
    return StudyJudgement(
        judge=client.model,
        steps=sum(len(steps) for _, steps in lots),
        added=tuple(added),
        wrong=tuple(dict.fromkeys(wrong)),
        misplaced=tuple(dict.fromkeys(misplaced)),
        detail=whole.detail,
        structure=whole.structure,
        rationale=(*rationale, whole.rationale),
    )


def _lots(protocol: StudyProtocol, most: int) -> Iterator[tuple[StudySection, tuple[StudyStep, ...]]]:
    for section in protocol.sections:
        for start in range(0, len(section.steps), most):
            yield section, section.steps[start : start + most]


def _form_for(steps: tuple[StudyStep, ...]) -> type[SectionAnswer]:
    """The form in which only ids of these steps can stand."""
    ids: Any = Literal.__getitem__(tuple(step.id for step in steps))
    some: Any = (list.__class_getitem__(ids), Field(max_length=len(steps)))
    form: type[SectionAnswer] = create_model("SectionAnswer", __base__=SectionAnswer, wrong=some, misplaced=some)
    return form


def _bound(form: type[B]) -> type[B]:
    """The form as a weak model gets it: short texts, short lists, and tenths."""
    tenths = [n / 10 for n in range(11)]

    def narrow(schema: dict[str, Any]) -> dict[str, Any]:
        ids = {name: schema["properties"].get(name, {}).get("items", {}) for name in ("wrong", "misplaced")}
        steps = {name: one.get("enum") or [one["const"]] for name, one in ids.items() if one}
        found: dict[str, Any] = narrowed(schema, {"detail": tenths, "structure": tenths, **steps}, _FEW_WRITTEN)
        return found

    return with_schema(form, narrow)


def _section_question(
    protocol: StudyProtocol, section: StudySection, steps: tuple[StudyStep, ...], small: bool
) -> list[dict[str, object]]:
    rule = quality_rules().judge
    return _question(
        rule.section,
        {
            "objective": protocol.objective.text,
            "headings": [s.heading for s in protocol.sections],
            "section": section.heading,
            "steps": {step.id: step.text[: _FEW_CHARACTERS if small else rule.characters] for step in steps},
        },
    )


def _whole_question(protocol: StudyProtocol, small: bool) -> list[dict[str, object]]:
    rule = quality_rules().judge
    room = max(40, 10 * (_FEW_CHARACTERS if small else rule.characters) // max(1, len(list(protocol.steps))))
    outline = {f"{s.id} {s.heading}": [step.text[:room] for step in s.steps] for s in protocol.sections}
    return _question(rule.whole, {"objective": protocol.objective.text, "protocol": outline})


def _question(task: str, content: dict[str, object]) -> list[dict[str, object]]:
    return [
        {"role": "system", "content": task.strip()},
        {"role": "user", "content": json.dumps(content, ensure_ascii=False)},
    ]
