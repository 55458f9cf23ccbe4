"""What a workspace opens: settings, a profile, services, papers, names, verifiers and brains."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from kgcheck.errors import ConfigurationError, UnknownName, UsageError
from kgcheck.profile.folder import is_path, profile_names
from kgcheck.profile.schema import Schema, load_schema
from kgcheck.settings import Settings

if TYPE_CHECKING:
    from kgcheck.agents.team import Brain
    from kgcheck.bench.kgcheck import BrainMaker
    from kgcheck.literature.embed import Embedder
    from kgcheck.literature.trained_verifier import TrainedVerifier
    from kgcheck.literature.verify import Verifier
    from kgcheck.llm.budget import Limits, Meter
    from kgcheck.reference.live import LiveReference


class Spending(NamedTuple):
    """The most that a model may take for one item: tokens, and money in the currency of the prices."""

    tokens: int | None = None
    money: float | None = None

    def limits(self, seconds: float | None = None) -> "Limits":
        """The same as limits of a conversation, with seconds."""
        from kgcheck.llm.budget import Limits

        return Limits(tokens=self.tokens, money=self.money, seconds=seconds)


def read_settings(**given: Any) -> Settings:
    """Settings from the environment.

    Args:
        given: Fields that the caller sets itself.

    Returns:
        The settings.

    Raises:
        ConfigurationError: A variable has a value that its setting cannot take.
    """
    try:
        return Settings(**given)
    except ValidationError as error:
        wrong = [f"KGCHECK_{str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors()]
        raise ConfigurationError(f"the environment is wrong: {'; '.join(wrong)}", "correct it, or unset it") from None


def read_schema(profile: str) -> Schema:
    """The schema of a profile.

    Args:
        profile: The name of one that kgcheck has, or the path of a folder.

    Returns:
        The schema.

    Raises:
        UnknownName: There is no profile of that name.
        ConfigurationError: There is no profile in that folder, or it is wrong.

    >>> read_schema("ckg").profile.name
    'ckg'
    """
    if not is_path(profile) and profile not in profile_names():
        hint = f"a folder of yours is named by a path: --profile ./{profile}" if Path(profile).is_dir() else ""
        raise UnknownName("profile", profile, profile_names(), hint)
    return load_schema(profile)


@contextmanager
def live_sources(schema: Schema, settings: Settings, *, wanted: bool) -> Iterator["LiveReference | None"]:
    """UniProt and STRING, if they are to be asked.

    Args:
        schema: Profile.
        settings: Addresses and limits.
        wanted: Whether they are.

    Yields:
        What asks them, or None.
    """
    if not wanted:
        yield None
        return
    from kgcheck.providers.http import Http
    from kgcheck.providers.stringdb import StringDb
    from kgcheck.providers.uniprot import UniProt
    from kgcheck.reference.live import LiveReference

    with Http(settings) as http:
        yield LiveReference(http, UniProt(http, settings), StringDb(http, settings), schema)


@contextmanager
def open_verifier(
    name: str,
    embedder: "Embedder | None",
    settings: Settings,
    spending: Spending | None = None,
    total: "Meter | None" = None,
    inference: Path | None = None,
) -> "Iterator[Verifier]":
    """A verifier by name.

    Args:
        name: One of kgcheck.choices.VERIFIERS.
        embedder: The model of the index, if it is searched by meaning.
        settings: Endpoint and key.
        spending: The most that a model may take for each claim.
        total: Counts what all claims take.
        inference: Folder of a model of inference; that of the settings where none is named.

    Yields:
        The verifier.

    Raises:
        UsageError: A model of inference is named for a language model.
    """
    if name == "trained":
        yield trained_verifier(embedder, settings, inference)
    elif inference:
        raise UsageError("--inference is for the trained verifier", "leave it out, or --verifier trained")
    else:
        from kgcheck.literature.llm_verifier import LlmVerifier
        from kgcheck.llm.client import ChatClient

        with ChatClient(settings) as client:
            yield LlmVerifier(client, (spending or Spending()).limits(), total)


def trained_verifier(
    embedder: "Embedder | None", settings: Settings, inference: Path | None = None
) -> "TrainedVerifier":
    """The verifier without a key.

    Args:
        embedder: The model of the index, if it is searched by meaning.
        settings: May name a model of inference.
        inference: Another one.

    Returns:
        The verifier.
    """
    from kgcheck.literature.trained_verifier import TrainedVerifier

    folder = inference or settings.inference
    if folder is None:
        return TrainedVerifier(embedder)
    from kgcheck.literature.inference import InferenceReader

    return TrainedVerifier(embedder, inference=InferenceReader.of(folder))


def total_meter(settings: Settings, spending: Spending | None = None) -> "Meter":
    """What counts the tokens and the money of all items together.

    Args:
        settings: Prices.
        spending: The most that all items may take.

    Returns:
        The meter.
    """
    from kgcheck.llm.budget import RunMeter, prices_of

    return RunMeter((spending or Spending()).limits(), prices_of(settings))


def spent_note(meter: "Meter") -> tuple[str, ...]:
    """What a model took, as a note; none if it took nothing."""
    spent = meter.spent
    if not spent.turns:
        return ()
    tokens = spent.input_tokens + spent.output_tokens
    about = "about " if spent.estimated else ""
    cost = "" if spent.money is None else f", {spent.money:.4f} in money"
    return (f"{about}{tokens:,} tokens in {spent.turns:,} calls{cost}",)


@contextmanager
def open_brain(
    name: str,
    schema: Schema,
    settings: Settings,
    limits: "Limits",
    on_text: Callable[[str], None] | None = None,
) -> Iterator["Brain"]:
    """A brain for one check.

    Args:
        name: One of kgcheck.choices.BRAINS.
        schema: Profile.
        settings: Endpoint and key.
        limits: The most that a model may take.
        on_text: Gets what a model says as it says it.

    Yields:
        The brain.
    """
    if name == "rules":
        from kgcheck.agents.brains.rules import RulesBrain

        yield RulesBrain(schema)
        return
    from kgcheck.agents.brains.llm import LlmBrain
    from kgcheck.llm.client import ChatClient

    with ChatClient(settings) as client:
        yield LlmBrain(client, limits, on_text)


@contextmanager
def brain_maker(name: str, settings: Settings, limits: "Limits") -> Iterator["BrainMaker"]:
    """Makes a brain for each item of a batch.

    Args:
        name: One of kgcheck.choices.BRAINS.
        settings: Endpoint and key.
        limits: The most that a model may take for each item.

    Yields:
        A function from a store to a brain.
    """
    if name == "rules":
        from kgcheck.agents.brains.rules import RulesBrain

        yield lambda store: RulesBrain(store.schema)
        return
    from kgcheck.agents.brains.llm import LlmBrain
    from kgcheck.llm.client import ChatClient

    with ChatClient(settings) as client:
        yield lambda store: LlmBrain(client, limits)
