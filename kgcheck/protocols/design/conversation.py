"""What a designer and a reviewer are given, and what they answer: from the transcript first, then from a model."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from kgcheck.errors import InputFormat, KgcheckError
from kgcheck.llm.budget import CostByPart, Limits, Meter
from kgcheck.protocols.design.design_rules import design_rules
from kgcheck.protocols.design.transcript import DesignAnswer, DesignFolder, DesignRole
from kgcheck.protocols.files import digest_of_things

if TYPE_CHECKING:
    from kgcheck.llm.client import ChatClient

A = TypeVar("A", bound=BaseModel)

_ANEW = "design it again in another folder"


class DesignConversation:
    """Answers in their order: those that the folder has, and after them new ones, which it gets."""

    def __init__(self, folder: DesignFolder, client: "ChatClient | None" = None, meter: Meter | None = None) -> None:
        self._folder, self._client, self._meter = folder, client, meter
        self._recorded = [answer for answer in folder.answers if not answer.stopped]
        self._place = 0
        self._costs = CostByPart(meter or Meter(Limits()), (answer.cost for answer in folder.answers))

    @property
    def whole(self) -> bool:
        """Whether every recorded answer was used."""
        return self._place == len(self._recorded)

    def next(self, role: DesignRole, stage: str, task: str, given: Mapping[str, object], form: type[A]) -> A:
        """The next answer."""
        messages = [
            {"role": "system", "content": task},
            {"role": "user", "content": json.dumps(given, ensure_ascii=False)},
        ]
        temperature = getattr(design_rules().temperatures, role)
        question = digest_of_things([role, stage, form.__name__, temperature, messages])
        if self._place < len(self._recorded):
            return self._again(stage, question, form)
        if self._client is None:
            raise InputFormat(
                f"the transcript in {self._folder.path} ends before {stage}", "design it to its end first"
            )
        try:
            answer, _ = self._client.answer(messages, form, meter=self._meter, temperature=temperature)
        except KgcheckError as error:
            stopped = DesignAnswer(
                role=role, stage=stage, question=question, stopped=error.message, cost=self._costs.next()
            )
            self._folder.add(stopped)
            raise
        kept = DesignAnswer(
            role=role, stage=stage, question=question, answer=answer.model_dump_json(), cost=self._costs.next()
        )
        self._folder.add(kept)
        self._recorded.append(kept)
        self._place += 1
        return answer

    def _again(self, stage: str, question: str, form: type[A]) -> A:
        recorded = self._recorded[self._place]
        if recorded.question != question:
            raise InputFormat(
                f"the transcript in {self._folder.path} does not go with {stage}: it was changed, or made by another "
                "version of kgcheck",
                _ANEW,
            )
        self._place += 1
        try:
            return form.model_validate_json(recorded.answer)
        except ValidationError:
            raise InputFormat(f"the transcript in {self._folder.path} has another form at {stage}", _ANEW) from None
