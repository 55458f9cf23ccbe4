"""``kgcheck search``: what an index holds about something."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.choices import SECTIONS
from kgcheck.cli.options import FilePath, index_option, table_or_json_option, workspace_options
from kgcheck.cli.output import note, show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from kgcheck.literature.hits import PaperHit, PassageHit
    from kgcheck.workspace import Workspace


@click.command("search")
@click.argument("query")
@workspace_options("store", "reference", "profile", progress=False, literature=index_option(required=True))
@click.option("--limit", type=click.IntRange(1, 200), default=10, show_default=True, help="Most documents.")
@click.option("--document", "documents", multiple=True, help="Search only in this document, by id; may be repeated.")
@click.option(
    "--passages",
    type=FilePath(dir_okay=False),
    help="Search in the lines of this file and not in the index.",
)
@click.option(
    "--section",
    "sections",
    multiple=True,
    type=click.Choice(SECTIONS),
    help="Search only in sections of this kind; may be repeated.",
)
@click.option("--expand", is_flag=True, help="Also look for the synonyms that the graph and the snapshot know.")
@table_or_json_option()
def command(
    workspace: "Workspace",
    query: str,
    limit: int,
    documents: tuple[str, ...],
    passages: Path | None,
    expand: bool,
    sections: tuple[str, ...],
    format_: str,
) -> None:
    """Search for QUERY: in the whole index, in given documents, or in given passages."""
    lines = _lines(passages) if passages else None
    found = workspace.search(query, limit=limit, documents=documents, passages=lines, expand=expand, sections=sections)
    for text in found.notes:
        note(text)
    if not found.hits:
        note("nothing was found: try fewer or other words")
    show(format_, [hit.as_row() for hit in found.hits], _table(found.hits))


def _table(hits: "Sequence[PaperHit] | Sequence[PassageHit]") -> "RenderableType":
    from kgcheck.literature.hits import PassageHit
    from kgcheck.report.cells import RowTable

    if hits and isinstance(hits[0], PassageHit):
        passages = [(f"{hit.score:.3f}", str(hit.line), hit.passage) for hit in hits if isinstance(hit, PassageHit)]
        return RowTable(("score", "line", "passage"), passages, keys=("score", "line"))
    papers = [hit for hit in hits if not isinstance(hit, PassageHit)]
    # An index of abstracts alone has nothing to say of sections.
    whole = any(hit.document.paper or hit.document.heading for hit in papers)
    rows = []
    for hit in papers:
        document = hit.document
        title = f"{'RETRACTED ' * document.retracted}{document.title}"
        place = document.place if whole else ""
        rows.append((f"{hit.score:.3f}", document.id, str(document.year or ""), title, place, hit.passage))
    columns = ("score", "id", "year", "title", "section", "best passage")
    return RowTable(columns, rows, keys=columns[:3])


def _lines(path: Path) -> list[str]:
    from kgcheck.inputs import read_whole
    from kgcheck.literature.documents import clean

    text = read_whole(path, errors="backslashreplace")
    return [clean(line) for line in text.splitlines() if line.strip()]
