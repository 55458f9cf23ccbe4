"""``kgcheck protocol search``: papers and data sets for an objective."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import (
    LITERATURE,
    FilePath,
    brain_options,
    profile_option,
    reference_option,
    store_option,
    table_or_json_option,
)
from kgcheck.cli.output import json_result, note, result
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.protocols.search.found import SearchPlace, StudySearch


@click.command("search")
@click.argument("objective", type=FilePath(dir_okay=False))
@click.option("--out", required=True, type=FilePath(file_okay=False), help="Folder of the result; goes on there.")
@click.option(
    "--place",
    "places",
    multiple=True,
    type=click.Choice(("pubmed", "pmc", "europepmc", "geo")),
    help="Where to search; may be given again [default: pubmed, pmc, geo]",
)
@store_option()
@reference_option()
@click.option(
    *LITERATURE,
    "literature",
    type=FilePath(file_okay=False),
    help="Index of papers, searched where no service can be looked at.",
)
@profile_option()
@brain_options()
@click.option("--offline", is_flag=True, help="Open no connection: kept answers, or the index of --literature.")
@table_or_json_option()
def command(
    objective: Path,
    out: Path,
    places: "tuple[SearchPlace, ...]",
    store: str | None,
    reference: Path | None,
    literature: Path | None,
    profile: str,
    brain: str,
    tokens: int | None,
    money: float | None,
    offline: bool,
    format_: str,
) -> None:
    """Search papers and data sets for OBJECTIVE (TOML): five queries with synonyms, ten results each and place.

    Each paper gets a degree of helpfulness from one to five, and four and up are kept, whole where PMC has them under
    an open licence; each data set is usable or not. All with reasons, in search.json. By rules, or by a model with
    --brain llm. What was cut off goes on with the same command: no question is asked twice.

    Exit codes: 0 done; 2 usage or configuration; 3 a place could not be looked at, or the model did not answer.
    """
    from kgcheck.cli.console import RichProgress
    from kgcheck.errors import EXIT_INCOMPLETE
    from kgcheck.protocols.protocol import read_objective
    from kgcheck.workspace import Workspace
    from kgcheck.workspace.protocol_search import search_studies

    wanted = read_objective(objective)
    with Workspace(
        store=store,
        reference=reference,
        literature=literature,
        profile=profile,
        brain=brain,
        offline=offline,
        progress=RichProgress(),
    ) as workspace:
        found, notes = search_studies(workspace, wanted, out, places=places, tokens=tokens, money=money)
    for line in notes:
        note(line)
    for missed in found.unsearched:
        note(f"{missed.place}, query {missed.query}: could not be looked at: {missed.reason}")
    if format_ == "json":
        json_result(found.model_dump(mode="json"))
    else:
        _show(found, out)
    if found.unsearched:
        click.get_current_context().exit(EXIT_INCOMPLETE)


def _show(found: "StudySearch", out: Path) -> None:
    from rich.table import Table

    from kgcheck.cli.console import results
    from kgcheck.protocols.search.run import SEARCH_FILE
    from kgcheck.visible import visible

    papers = Table("degree", "paper", "year", "whole", "title", "why")
    for paper in found.kept:
        of = paper.paper
        whole = "yes" if paper.whole else ""
        papers.add_row(
            str(paper.degree), *map(visible, (of.id, str(of.year or ""), whole, of.title, "; ".join(paper.reasons)))
        )
    sets = Table("data set", "species", "assay", "samples", "title", "why")
    for one in found.usable:
        s = one.data_set
        cells = (s.id, ", ".join(s.species), s.assay, str(s.samples or ""), s.title, "; ".join(one.reasons))
        sets.add_row(*map(visible, cells))
    results().print(papers)
    results().print(sets)
    result(
        f"{how_many(len(found.queries), 'query', 'queries')}; "
        f"{len(found.kept):,} of {how_many(len(found.papers), 'paper')} kept, "
        f"{len(found.usable):,} of {len(found.data_sets):,} data sets usable: {out / SEARCH_FILE}"
    )
