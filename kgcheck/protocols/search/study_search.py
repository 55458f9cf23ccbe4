"""Papers and data sets for an objective, with what a context has: names, papers, services, a model."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from kgcheck.context import Context, noting
from kgcheck.llm.budget import Limits, Meter, total_meter
from kgcheck.options import Spending
from kgcheck.protocols.protocol import Objective
from kgcheck.protocols.search.found import SearchPlace, StudySearch
from kgcheck.protocols.search.model_search import SearchModel
from kgcheck.protocols.search.run import MODEL_FILE, PLACES, SearchMeans, search_for
from kgcheck.providers.http import Http


def search_studies(
    context: Context,
    objective: Objective,
    folder: Path,
    *,
    places: Sequence[SearchPlace] = (),
    spending: Spending | None = None,
) -> tuple[StudySearch, tuple[str, ...]]:
    """Search papers and data sets for an objective; a folder gets the result, the log and what was kept."""
    with noting() as notes, ExitStack() as opened:
        index = context.index(notes) if context.literature else None
        model = None
        if context.brain == "llm":
            from kgcheck.llm.client import ChatClient

            client = opened.enter_context(ChatClient(context.settings))
            meter = Meter(Limits.of(spending or Spending()), client.prices, total_meter(context.settings))
            model = SearchModel(client, meter, folder / MODEL_FILE)
        means = SearchMeans(
            synonyms=context.names().mentioned,
            http=opened.enter_context(Http(context.settings)),
            index=index,
            embedder=index.embedder if index else None,
            model=model,
            places=tuple(places) or PLACES,
        )
        found = search_for(objective, folder, means, progress=context.progress)
    return found, (*notes, *found.notes)
