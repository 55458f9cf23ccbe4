"""What the commands about papers share: verifiers, and names from the graph and the snapshot."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.options import Decorator, FilePath
from kgcheck.cli.output import say

if TYPE_CHECKING:
    from rich.table import Table

    from kgcheck.audit.papers import PapersOnEdge
    from kgcheck.graph.store import GraphStore
    from kgcheck.literature.edge_reader import TripleReader
    from kgcheck.literature.embed import Embedder
    from kgcheck.literature.names import Names
    from kgcheck.literature.verify import Verifier
    from kgcheck.llm.budget import Meter
    from kgcheck.profile.schema import Schema
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


def literature_option() -> Decorator:
    """``--literature``."""
    return click.option(
        "--literature",
        "index",
        type=FilePath(file_okay=False),
        help="Also ask the papers of this index, made by kgcheck corpus add, about edges.",
    )


@contextmanager
def open_papers(
    index: Path | None, store: "GraphStore", reference: Path | None, settings: "Settings"
) -> "Iterator[TripleReader | None]":
    """What papers say of edges, read by the trained verifier.

    Args:
        index: The papers, or None.
        store: The graph, for names.
        reference: The snapshot, for more names.
        settings: Limits.

    Yields:
        The reader, or None without an index.
    """
    from kgcheck.literature.edge_reader import TripleReader
    from kgcheck.literature.names import AllNames, Names, StoreNames
    from kgcheck.literature.search import open_index
    from kgcheck.reference.names import SnapshotNames

    with ExitStack() as stack:
        reader = None
        if index:
            opened, note = open_index(index)
            stack.enter_context(opened)
            if note:
                say(note)
            places: list[Names] = [StoreNames(store)]
            if reference:
                known = SnapshotNames(reference, store.schema)
                stack.callback(known.close)
                places.append(known)
            verifier = stack.enter_context(open_verifier("trained", opened.embedder, settings))
            reader = TripleReader(opened, verifier, AllNames(places), store.schema)
        yield reader


@contextmanager
def open_verifier(
    name: str,
    embedder: "Embedder | None",
    settings: "Settings",
    asked: Mapping[str, Any] | None = None,
    total: "Meter | None" = None,
) -> "Iterator[Verifier]":
    """A verifier by name.

    Args:
        name: One of VERIFIERS.
        embedder: The model of the index, if it is searched by meaning.
        settings: Endpoint and key.
        asked: Options of the command: tokens and money, for each claim.
        total: Counts what all claims take.

    Yields:
        The verifier.
    """
    if name == "trained":
        from kgcheck.literature.trained_verifier import TrainedVerifier

        yield TrainedVerifier(embedder)
    else:
        from kgcheck.literature.llm_verifier import LlmVerifier
        from kgcheck.llm.budget import Limits
        from kgcheck.llm.client import ChatClient

        asked = asked or {}
        limits = Limits(tokens=asked.get("tokens"), money=asked.get("money"))
        with ChatClient(settings) as client:
            yield LlmVerifier(client, limits, total)


def total_meter(settings: "Settings", asked: Mapping[str, Any]) -> "Meter":
    """What counts the tokens and the money of a whole command.

    Args:
        settings: Prices.
        asked: Options of the command: total tokens and total money.

    Returns:
        The meter.
    """
    from kgcheck.llm.budget import Limits, RunMeter, prices_of

    limits = Limits(tokens=asked.get("total_tokens"), money=asked.get("total_money"))
    return RunMeter(limits, prices_of(settings))


def tell_spent(meter: "Meter") -> None:
    """Say on stderr what a model took, if it took anything."""
    spent = meter.spent
    if spent.turns:
        tokens = spent.input_tokens + spent.output_tokens
        about = "about " if spent.estimated else ""
        cost = "" if spent.money is None else f", {spent.money:.4f} in money"
        say(f"{about}{tokens:,} tokens in {spent.turns:,} calls{cost}")


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
    from kgcheck.reference.names import SnapshotNames

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


def told_table(told: "Sequence[PapersOnEdge]") -> "Table":
    """What papers say of edges, a line a paper."""
    from rich.table import Table

    table = Table(
        "edge", "references", "papers", "paper", "quote", title="What papers say of edges", title_justify="left"
    )
    for edge in told:
        for e in edge.evidence:
            table.add_row(str(edge.triple), edge.before, e.stance.value, e.record, e.quote or "")
    return table
