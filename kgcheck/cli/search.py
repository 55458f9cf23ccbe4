"""``kgcheck search``: what an index holds about something."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.options import FilePath, index_option, profile_option, reference_option, store_option
from kgcheck.cli.output import json_result, say

if TYPE_CHECKING:
    from kgcheck.literature.search import SearchHit


@click.command("search")
@click.argument("query")
@index_option(required=True)
@click.option("--limit", type=click.IntRange(1, 200), default=10, show_default=True, help="Most documents.")
@click.option("--document", "documents", multiple=True, help="Search only in this document, by id; may be repeated.")
@click.option(
    "--passages",
    type=FilePath(dir_okay=False),
    help="Search in the lines of this file and not in the index.",
)
@click.option("--expand", is_flag=True, help="Also look for the synonyms that the graph and the snapshot know.")
@store_option()
@reference_option()
@profile_option()
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def command(query: str, index: Path, **asked: Any) -> None:
    """Search for QUERY: in the whole index, in given documents, or in given passages."""
    from kgcheck.cli.console import results
    from kgcheck.literature.search import open_index, rank_passages

    opened, note = open_index(index)
    if note:
        say(note)
    with opened:
        if asked["passages"]:
            lines = _lines(asked["passages"])
            ranked = rank_passages(query, lines, opened.embedder)[: asked["limit"]]
            rows = [{"line": i + 1, "score": round(score, 4), "passage": lines[i]} for i, score in ranked]
        else:
            also = _synonyms(query, asked) if asked["expand"] else ()
            if also:
                say(f"also: {', '.join(also)}")
            found = opened.search(query, limit=asked["limit"], within=asked["documents"] or None, also=also)
            rows = [_row(hit, query) for hit in found]
    if asked["format_"] == "json":
        json_result(rows)
        return
    results().print(_table(rows))


def _row(hit: "SearchHit", query: str) -> dict[str, Any]:
    from kgcheck.literature.search import rank_passages

    document = hit.document
    best = rank_passages(query, document.passages)[0][0]
    start, end = document.spans[best]
    return {
        "id": document.id,
        "also": list(document.ids[1:]),
        "score": round(hit.score, 4),
        "year": document.year,
        "retracted": document.retracted,
        "title": document.title,
        "passage": {"start": start, "end": end, "text": document.abstract[start:end]},
    }


def _table(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    if rows and "line" in rows[0]:
        table = Table("score", "line", "passage")
        for row in rows:
            table.add_row(f"{row['score']:.3f}", str(row["line"]), row["passage"])
        return table
    table = Table("score", "id", "year", "title", "best passage")
    for row in rows:
        retracted = "RETRACTED " if row["retracted"] else ""
        table.add_row(
            f"{row['score']:.3f}", row["id"], str(row["year"] or ""), retracted + row["title"], row["passage"]["text"]
        )
    return table


def _lines(path: Path) -> list[str]:
    from kgcheck.inputs import read_whole
    from kgcheck.literature.documents import clean

    text = read_whole(path, errors="backslashreplace")
    return [clean(line) for line in text.splitlines() if line.strip()]


def _synonyms(query: str, asked: dict[str, Any]) -> tuple[str, ...]:
    from kgcheck.cli.environment import read_schema, read_settings
    from kgcheck.cli.literature import open_names

    with open_names(asked["store"], asked["reference"], read_schema(asked["profile"]), read_settings()) as names:
        return names.mentioned(query)
