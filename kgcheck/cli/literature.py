"""What the commands about papers share: verifiers, and names from the graph and the snapshot."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import Decorator

if TYPE_CHECKING:
    from kgcheck.graph.schema import Schema
    from kgcheck.literature.embed import Embedder
    from kgcheck.literature.names import Names
    from kgcheck.literature.verify import Verifier
    from kgcheck.settings import Settings

VERIFIERS = ("trained", "llm")


def verifier_option() -> Decorator:
    """``--verifier``."""
    return click.option(
        "--verifier",
        type=click.Choice(VERIFIERS),
        default="trained",
        show_default=True,
        help="trained needs no key; llm asks the endpoint of KGCHECK_LLM_BASE_URL and KGCHECK_LLM_MODEL.",
    )


@contextmanager
def open_verifier(name: str, embedder: "Embedder | None", settings: "Settings") -> "Iterator[Verifier]":
    """A verifier by name.

    Args:
        name: One of VERIFIERS.
        embedder: The model of the index, if it is searched by meaning.
        settings: Endpoint and key.

    Yields:
        The verifier.
    """
    if name == "trained":
        from kgcheck.literature.trained import TrainedVerifier

        yield TrainedVerifier(embedder)
    else:
        from kgcheck.chat import ChatClient
        from kgcheck.literature.asked import LlmVerifier

        with ChatClient(settings) as client:
            yield LlmVerifier(client)


@contextmanager
def open_names(store: str, reference: Path | None, schema: "Schema", settings: "Settings") -> "Iterator[Names]":
    """Names from the graph, where there is one, and from the snapshot, where one is named.

    Args:
        store: Of the graph.
        reference: The snapshot.
        schema: Profile.
        settings: Limits.

    Yields:
        All of them together.

    Raises:
        StoreMissing: There is no graph where one was named.
    """
    from kgcheck.errors import StoreMissing
    from kgcheck.graph.open import open_store
    from kgcheck.literature.names import AllNames, Names, StoreNames
    from kgcheck.sources.names import SnapshotNames

    with ExitStack() as stack:
        places: list[Names] = []
        try:
            places.append(StoreNames(stack.enter_context(open_store(store, schema, settings))))
        except StoreMissing:
            # The default store need not be there to search for synonyms of the snapshot.
            if click.get_current_context().get_parameter_source("store") is not click.core.ParameterSource.DEFAULT:
                raise
        if reference:
            known = SnapshotNames(reference, schema)
            stack.callback(known.close)
            places.append(known)
        yield AllNames(places)
