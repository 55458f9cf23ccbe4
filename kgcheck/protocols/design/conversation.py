"""Conversation of a designer and a reviewer: answers from the transcript first, then from a model."""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError

from kgcheck.errors import InputFormat, KgcheckError
from kgcheck.inputs import read_whole, wrong_parts
from kgcheck.llm.budget import CostByPart, Limits, Meter, PartCost
from kgcheck.locks import only_one
from kgcheck.model import Value
from kgcheck.outputs import write_text
from kgcheck.protocols.design.design_rules import design_rules
from kgcheck.protocols.design.material import DesignMaterial
from kgcheck.protocols.protocol import digest_of_things, read_formatted

if TYPE_CHECKING:
    from kgcheck.llm.client import ChatClient

DesignRole = Literal["designer", "reviewer"]


class DesignAnswer(Value):
    """An answer of a model; one that was stopped has none, and only its cost counts."""

    role: DesignRole
    stage: str
    question: str = Field(description="SHA-256 of all that the model was given")
    answer: str = Field(default="", description="JSON of the form that was wanted")
    stopped: str = Field(default="", description="why there is no answer")
    cost: PartCost = PartCost()


class DesignFolder:
    """Folder of a design, locked from ``with`` to its end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stack = ExitStack()
        self.answers: list[DesignAnswer] = []

    def __enter__(self) -> Self:
        self._stack.enter_context(only_one(self.path, "designs a protocol"))
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def begin(self, material: DesignMaterial) -> None:
        """Keep what a design rests on, in place of what an earlier one left."""
        self.answers = []
        (self.path / "answers.jsonl").unlink(missing_ok=True)
        text = material.model_dump_json(indent=2, exclude_defaults=True) + "\n"
        write_text(self.path / "material.json", text, secret=True)

    def read(self) -> DesignMaterial | None:
        """Read the material and the answers of a design begun here; None if there is none."""
        file = self.path / "material.json"
        if not file.is_file():
            return None
        material = read_formatted(file, DesignMaterial, "material of a design", "name another --out")
        answers = self.path / "answers.jsonl"
        try:
            lines = read_whole(answers).splitlines() if answers.is_file() else []
            self.answers = [DesignAnswer.model_validate_json(line) for line in lines]
        except ValueError as error:
            raise InputFormat(
                f"{answers} has no answers of a design: {wrong_parts(error)}"[:300], "name another --out"
            ) from None
        return material

    def add(self, answer: DesignAnswer) -> None:
        """Keep an answer."""
        self.answers.append(answer)
        lines = "".join(f"{a.model_dump_json(exclude_defaults=True)}\n" for a in self.answers)
        write_text(self.path / "answers.jsonl", lines, secret=True)


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
        """Tell whether every recorded answer was used."""
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
