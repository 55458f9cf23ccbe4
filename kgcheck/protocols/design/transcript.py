"""The folder of a design: what it rests on, and all that a model answered, from which it can be made again.

``material.json`` is what the design rests on; ``answers.jsonl`` has an answer of a model a line, in order, and is
written whole, so that no kill leaves half a line. All else in the folder is made of both.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Literal, Self

from pydantic import Field

from kgcheck.errors import InputFormat
from kgcheck.inputs import read_whole, wrong_parts
from kgcheck.llm.budget import PartCost
from kgcheck.locks import only_one
from kgcheck.model import Value
from kgcheck.outputs import write_text
from kgcheck.protocols.design.material import DesignMaterial
from kgcheck.protocols.files import read_formatted

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
    """What is in the folder. Nobody else works there from ``with`` to its end."""

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
        """What a design that was begun here rests on, and the answers that it has; None where there is none."""
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
