"""``kgcheck protocol search``: search papers and data sets for an objective."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath, literature_option, options_of, table_or_json_option, workspace_options
from kgcheck.cli.output import json_result, note, result
from kgcheck.options import Spending
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.protocols.search.run import SearchPlace, StudySearch
    from kgcheck.workspace import Workspace


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
@workspace_options(
    "store",
    "reference",
    "profile",
    "brain",
    "offline",
    literature=literature_option("Index of papers, searched where no service can be looked at.", configured=False),
)
@options_of(Spending, "spending")
@table_or_json_option()
def command(
    workspace: "Workspace",
    spending: Spending,
    objective: Path,
    out: Path,
    places: "tuple[SearchPlace, ...]",
    format_: str,
) -> None:
    """Search papers and data sets for OBJECTIVE (TOML): five queries with synonyms, ten results each and place.

    Each paper gets a degree of helpfulness from one to five, and four and up are kept, whole where PMC has them under
    an open licence; each data set is usable or not. All with reasons, in search.json. By rules, or by a model with
    --brain llm. What was cut off goes on with the same command: no question is asked twice.

    Exit codes: 0 done; 2 usage or configuration; 3 a place could not be looked at, or the model did not answer.
    """
    from kgcheck.errors import EXIT_INCOMPLETE
    from kgcheck.protocols.protocol import read_objective
    from kgcheck.protocols.search.run import search_studies

    wanted = read_objective(objective)
    found, notes = search_studies(workspace, wanted, out, places=places, spending=spending)
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


_PAPERS = ("degree", "paper", "year", "whole", "title", "why")
_SETS = ("data set", "species", "assay", "samples", "title", "why")


def _show(found: "StudySearch", out: Path) -> None:
    from kgcheck.cli.console import results
    from kgcheck.protocols.search.run import SEARCH_FILE
    from kgcheck.report.cells import RowTable

    papers = [
        (
            *(str(one.degree), one.paper.id, str(one.paper.year or ""), "yes" if one.whole else ""),
            *(one.paper.title, "; ".join(one.reasons)),
        )
        for one in found.kept
    ]
    results().print(RowTable(_PAPERS, papers, keys=_PAPERS[:4]))
    sets = []
    for one in found.usable:
        s = one.data_set
        sets.append((s.id, ", ".join(s.species), s.assay, str(s.samples or ""), s.title, "; ".join(one.reasons)))
    results().print(RowTable(_SETS, sets, keys=_SETS[:1]))
    result(
        f"{how_many(len(found.queries), 'query', 'queries')}; "
        f"{len(found.kept):,} of {how_many(len(found.papers), 'paper')} kept, "
        f"{len(found.usable):,} of {len(found.data_sets):,} data sets usable: {out / SEARCH_FILE}"
    )
