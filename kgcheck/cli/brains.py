"""Which brain a command uses."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgcheck.agents.team import Brain
    from kgcheck.graph.schema import Schema
    from kgcheck.settings import Settings


@contextmanager
def open_brain(name: str, schema: "Schema", settings: "Settings", asked: Mapping[str, Any]) -> Iterator["Brain"]:
    """A brain for one check.

    Args:
        name: rules or llm.
        schema: Profile.
        settings: Endpoint and key.
        asked: Options of the command: seconds, tokens and money.

    Yields:
        The brain.
    """
    if name == "rules":
        from kgcheck.agents.brains.rules import RulesBrain

        yield RulesBrain(schema)
        return
    from kgcheck.agents.brains.llm import LlmBrain
    from kgcheck.chat import ChatClient
    from kgcheck.spending import Limits

    limits = Limits(tokens=asked.get("tokens"), seconds=asked.get("seconds"), money=asked.get("money"))
    with ChatClient(settings) as client:
        yield LlmBrain(client, limits)
