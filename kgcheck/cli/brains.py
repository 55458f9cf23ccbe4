"""Which brain a command uses."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgcheck.agents.team import Brain
    from kgcheck.bench.kgcheck import BrainMaker
    from kgcheck.graph.store import GraphStore
    from kgcheck.profile.schema import Schema
    from kgcheck.questions.answer import Answer
    from kgcheck.settings import Settings


@contextmanager
def open_brain(
    name: str,
    schema: "Schema",
    settings: "Settings",
    asked: Mapping[str, Any],
    on_text: Callable[[str], None] | None = None,
) -> Iterator["Brain"]:
    """A brain for one check.

    Args:
        name: rules or llm.
        schema: Profile.
        settings: Endpoint and key.
        asked: Options of the command: seconds, tokens and money.
        on_text: Gets what a model says as it says it.

    Yields:
        The brain.
    """
    if name == "rules":
        from kgcheck.agents.brains.rules import RulesBrain

        yield RulesBrain(schema)
        return
    from kgcheck.agents.brains.llm import LlmBrain
    from kgcheck.llm.budget import Limits
    from kgcheck.llm.client import ChatClient

    limits = Limits(tokens=asked.get("tokens"), seconds=asked.get("seconds"), money=asked.get("money"))
    with ChatClient(settings) as client:
        yield LlmBrain(client, limits, on_text)


@contextmanager
def open_asker(
    name: str, store: "GraphStore", settings: "Settings", asked: Mapping[str, Any]
) -> Iterator[Callable[[str], "Answer"]]:
    """What answers questions.

    Args:
        name: rules (the compiler) or llm.
        store: The graph.
        settings: Endpoint and key.
        asked: Options of the command: tokens, money and the index of papers.

    Yields:
        A function from a question to its answer.

    Raises:
        UsageError: Papers are named, and nobody reads them.
    """
    if name == "rules":
        if asked.get("index"):
            from kgcheck.errors import UsageError

            raise UsageError("questions are answered from the graph; only a model searches papers", "add --brain llm")
        from kgcheck.cli.console import RichProgress
        from kgcheck.questions.answer import Questions

        yield Questions(store, RichProgress()).ask
        return
    from kgcheck.agents.asker import ReactAgent
    from kgcheck.agents.outside import Outside
    from kgcheck.cli.literature import open_papers
    from kgcheck.llm.budget import Limits
    from kgcheck.llm.client import ChatClient

    limits = Limits(tokens=asked.get("tokens"), money=asked.get("money"))
    with ChatClient(settings) as client, open_papers(asked.get("index"), store, None, settings) as reader:
        yield ReactAgent(store, client, limits, Outside(None, reader) if reader else None).ask


@contextmanager
def brain_maker(name: str, settings: "Settings", asked: Mapping[str, Any]) -> Iterator["BrainMaker"]:
    """Makes a brain for each item of a batch.

    Args:
        name: rules or llm.
        settings: Endpoint and key.
        asked: Options of the command: tokens and money.

    Yields:
        A function from a store to a brain.
    """
    if name == "rules":
        from kgcheck.agents.brains.rules import RulesBrain

        yield lambda store: RulesBrain(store.schema)
        return
    from kgcheck.agents.brains.llm import LlmBrain
    from kgcheck.llm.budget import Limits
    from kgcheck.llm.client import ChatClient

    limits = Limits(tokens=asked.get("tokens"), seconds=60.0, money=asked.get("money"))
    with ChatClient(settings) as client:
        yield lambda store: LlmBrain(client, limits)
