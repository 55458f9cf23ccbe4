"""Load rules and model prompts of protocols from ``corpus/protocols/*.toml``."""

import re
from functools import cache
from typing import Annotated, ClassVar, Self, TypeVar

from pydantic import BeforeValidator

from kgcheck.model import Value
from kgcheck.profile.toml_files import read_value
from kgcheck.resources import resource_dir

MOST_CHARACTERS = 5_000
"""Most characters read of a sentence: a longer one is a table or reference list that lost its form."""

Words = Annotated[frozenset[str], BeforeValidator(lambda text: frozenset(text.split()))]
"""Words that stand in a file as one text."""

AnyCase = Annotated[re.Pattern[str], BeforeValidator(lambda pattern: re.compile(pattern, re.IGNORECASE))]
"""A regular expression of a file, for capitals and small letters alike."""


class ProtocolRules(Value):
    """One of the files, by its name without ``.toml``."""

    file: ClassVar[str]

    @classmethod
    def shipped(cls) -> Self:
        """The rules that come with kgcheck, read once."""
        found: Self = _read(cls)
        return found


R = TypeVar("R", bound=ProtocolRules)


@cache
def _read(kind: type[R]) -> R:
    return read_value(resource_dir("corpus") / "protocols" / f"{kind.file}.toml", kind)


class ModelTasks(ProtocolRules):
    """Tasks that are given to models, by their names."""

    file = "tasks"
    tasks: dict[str, str]


def model_task(name: str) -> str:
    """A task that is given to models."""
    return ModelTasks.shipped().tasks[name]
