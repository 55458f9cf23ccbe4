"""Papers and data sets for an objective, with what a workspace has: names, papers, services, a model."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from kgcheck.workspace.opening import Spending, total_meter

if TYPE_CHECKING:
    from kgcheck.protocols.protocol import Objective
    from kgcheck.protocols.search.found import SearchPlace, StudySearch
    from kgcheck.workspace.workspace import Workspace


def search_studies(
    workspace: "Workspace",
    objective: "Objective",
    folder: Path,
    *,
    places: "Sequence[SearchPlace]" = (),
    tokens: int | None = None,
    money: float | None = None,
) -> "tuple[StudySearch, tuple[str, ...]]":
    """Search papers and data sets for an objective.

    Args:
        workspace: Has the graph and the snapshot, whose names are synonyms; an index of papers, whose model says what
            is alike and which is searched where no service can be looked at; and the brain that judges.
        objective: The objective.
        folder: Gets the result, the log and what was kept.
        places: Where to search; by default PubMed, PMC and GEO.
        tokens: Most tokens that a model may take for all of it.
        money: Most money that it may cost.

    Returns:
        What was found, and notes.
    """
    from kgcheck.protocols.search.model_search import SearchModel
    from kgcheck.protocols.search.run import MODEL_FILE, PLACES, SearchMeans, search_for
    from kgcheck.providers.http import Http
    from kgcheck.workspace.opened import noting

    with noting() as notes, ExitStack() as opened:
        index = workspace.index(notes) if workspace.literature else None
        model = None
        if workspace.brain == "llm":
            from kgcheck.llm.budget import Meter
            from kgcheck.llm.client import ChatClient

            client = opened.enter_context(ChatClient(workspace.settings))
            meter = Meter(Spending(tokens, money).limits(), client.prices, total_meter(workspace.settings))
            model = SearchModel(client, meter, folder / MODEL_FILE)
        means = SearchMeans(
            synonyms=workspace.names().mentioned,
            http=opened.enter_context(Http(workspace.settings)),
            index=index,
            embedder=index.embedder if index else None,
            model=model,
            places=tuple(places) or PLACES,
        )
        found = search_for(objective, folder, means, progress=workspace.progress)
    return found, (*notes, *found.notes)
