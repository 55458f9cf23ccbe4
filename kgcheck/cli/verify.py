"""``kgcheck verify``: what papers say of a claim or of an edge."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.literature import verifier_option
from kgcheck.cli.options import index_option, profile_option, reference_option, spending_options, store_option
from kgcheck.cli.output import json_result, say

if TYPE_CHECKING:
    from kgcheck.literature.search import LiteratureIndex
    from kgcheck.literature.verify import ClaimVerdict, Verifier


@click.command("verify")
@click.argument("claim", required=False)
@click.option("--triple", help='An edge instead of a claim, by ids or names: "HEAD RELATION TAIL".')
@index_option(required=True)
@verifier_option()
@spending_options()
@click.option("--document", "documents", multiple=True, help="Read only this document, by id; may be repeated.")
@click.option("--top", type=click.IntRange(1, 50), default=3, show_default=True, help="Papers to read.")
@store_option()
@reference_option()
@profile_option()
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def command(claim: str | None, triple: str | None, **asked: Any) -> None:
    """Tell what papers say of CLAIM, or of an edge of the graph, with exact quotes.

    Exit codes: 0 supported, or the papers are silent; 1 contradicted; 2 usage or configuration; 3 the model was
    stopped by --tokens or --money, or did not answer.
    """
    from kgcheck.cli.console import results
    from kgcheck.cli.environment import read_settings
    from kgcheck.cli.literature import open_verifier, tell_spent, total_meter
    from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS
    from kgcheck.literature.search import open_index
    from kgcheck.model import Stance

    _check_asked(claim, triple)
    settings = read_settings()
    index, note = open_index(asked["index"])
    if note:
        say(note)
    spent = total_meter(settings, {})
    with index, open_verifier(asked["verifier"], index.embedder, settings, asked, spent) as verifier:
        try:
            judged = (
                _of_triple(triple, index, verifier, asked) if triple else _of_claim(claim or "", index, verifier, asked)
            )
        finally:
            tell_spent(spent)
    if asked["format_"] == "json":
        json_result(judged.model_dump(mode="json"))
    else:
        results().print(_told(judged))
    click.get_current_context().exit(EXIT_FINDINGS if judged.stance is Stance.CONTRADICTS else EXIT_CLEAN)


def _check_asked(claim: str | None, triple: str | None) -> None:
    from kgcheck.errors import UsageError

    if bool(claim) == bool(triple):
        raise UsageError(
            "name a claim or an edge", 'kgcheck verify "..." or kgcheck verify --triple "HEAD RELATION TAIL"'
        )


def _of_claim(claim: str, index: "LiteratureIndex", verifier: "Verifier", asked: dict[str, Any]) -> "ClaimVerdict":
    from kgcheck.literature.verify import verify

    if asked["documents"]:
        return verify(claim, index.documents(asked["documents"]), verifier)
    return verify(claim, [hit.document for hit in index.search(claim, limit=asked["top"])], verifier)


def _of_triple(text: str, index: "LiteratureIndex", verifier: "Verifier", asked: dict[str, Any]) -> "ClaimVerdict":
    from kgcheck.agents.request import parse_request
    from kgcheck.cli.environment import read_schema, read_settings
    from kgcheck.cli.literature import open_names
    from kgcheck.errors import UsageError
    from kgcheck.literature.edge_reader import TripleReader, form_of
    from kgcheck.model import Ref, Triple

    schema = read_schema(asked["profile"])
    request = parse_request([text], schema)
    if not request.relation or request.attribute:
        raise UsageError(f"{text!r} is no edge", f"HEAD RELATION TAIL, for example {schema.edge_example}")
    reference: Path | None = asked["reference"]
    with open_names(asked["store"], reference, schema, read_settings()) as names:
        meant = [
            Triple(
                head=Ref(label=p.head, id=request.subject),
                relation=p.type,
                tail=Ref(label=p.tail, id=request.object or ""),
            )
            for p in request.patterns
        ]
        said = [t for t in meant if form_of(t, schema)] or meant
        named = [t for t in said if names.of(t.head) and names.of(t.tail)] or said
        return TripleReader(index, verifier, names, schema).read(named[0])[0]


def _told(judged: "ClaimVerdict") -> Any:
    from rich.console import Group
    from rich.table import Table

    from kgcheck.model import Stance

    head = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    head.add_row("claim", judged.claim)
    # Papers of which some speak are not silent: where they disagree, that is what they come to.
    undecided = judged.conflict and judged.stance is Stance.SILENT
    papers = "disagree" if undecided else f"{judged.stance.value}, probability {judged.probability:.2f}"
    head.add_row("papers", papers)
    if judged.note and not undecided:
        head.add_row("note", judged.note)
    if judged.dropped:
        head.add_row(
            "not counted", f"{judged.dropped} opinion{'s' * (judged.dropped != 1)}, for the reason beside each"
        )
    if judged.retracted:
        head.add_row("retracted", f"{', '.join(judged.retracted)}: not counted")
    table = Table("paper", "year", "stance", "probability", "quote")
    for opinion in judged.opinions:
        quotes = [f"“{q.text}” ({q.start}-{q.end})" for q in opinion.quotes]
        table.add_row(
            opinion.document,
            str(opinion.year or ""),
            opinion.stance.value,
            f"{opinion.probability:.2f}",
            "\n".join(quotes) or opinion.note or opinion.title,
        )
    return Group(head, table)
