"""``kgcheck corpus``: make, change and list a literature index."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.choices import PAPER_SOURCES
from kgcheck.cli.options import FilePath, index_option, table_or_json_option
from kgcheck.cli.output import note, result, show
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.literature.corpus import Corpus
    from kgcheck.literature.embed import Embedder
    from kgcheck.literature.gather import Gathering, SourceName
    from kgcheck.literature.manifest import Manifest
    from kgcheck.literature.topics import TopicGathering
    from kgcheck.providers.http import Http


@click.group("corpus")
def command() -> None:
    """Make, change and list a literature index: abstracts, searched by words and by meaning."""


@command.command("add")
@click.argument("files", nargs=-1, required=True, type=FilePath())
@index_option(required=True)
@click.option("--recipe", help="How to read the files: a recipe under corpus/ [default: known by their form]")
@click.option("--replace", is_flag=True, help="A known id gets the new text; otherwise another text is not taken.")
@click.option(
    "--retractions",
    type=FilePath(),
    help="PMIDs of retracted papers, one a line; they never count as evidence.",
)
@click.option("--model", help="Embedding model: minilm (packaged), a local folder, or none for words alone.")
def add(
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
    from kgcheck.cli.console import RichProgress
    from kgcheck.literature.corpus import Corpus
    from kgcheck.literature.formats import read_retractions
    from kgcheck.profile.corpus_files import corpus_recipe

    chosen = corpus_recipe(recipe) if recipe else None
    gone = read_retractions(retractions) if retractions else ()
    with Corpus(literature, create=True, progress=RichProgress()) as corpus:
        added = corpus.add(files, chosen, replace=replace)
        if retractions:
            concerned = corpus.store.retract(gone)
            note(f"{how_many(concerned, 'document is', 'documents are')} retracted")
        note(f"records: {_counted(added.counts)}")
        if added.quarantined:
            note(f"{added.quarantined:,} quarantined: {added.quarantine}")
        _build(corpus, _model_of(corpus, model), anew=False)


@command.command("gather")
@click.argument("query", required=False)
@index_option(required=True)
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
@click.option("--tau", type=click.FloatRange(0, 1), help="Least relevance of a paper for the topic [default: 0.065]")
@click.option("--keep", type=click.IntRange(1, 1_000), help="Most papers of a topic [default: 100]")
@click.option("--full-text", is_flag=True, help="Whole papers where the record names an open licence (europepmc).")
@click.option("--references", is_flag=True, help="Also the papers that each one cites.")
@click.option("--citations", is_flag=True, help="Also the papers that cite each one.")
@click.option("--model", help="Embedding model: minilm (packaged), a local folder, or none for words alone.")
@click.option("--offline", is_flag=True, help="Open no connection, use only answers that were kept.")
def gather_(
    query: str | None,
    literature: Path,
    source: "SourceName",
    limit: int | None,
    topic: str | None,
    seeds: int | None,
    rounds: int | None,
    tau: float | None,
    keep: int | None,
    full_text: bool,
    references: bool,
    citations: bool,
    model: str | None,
    offline: bool,
) -> None:
    """Gather the papers that a service finds for QUERY into an index, which is made when it is missing.

    With --topic, search by its words, follow the references and citations of the papers that fit, rank by relevance,
    citations and recency with room for those that disagree, and keep the best; a log says of each paper why.

    What was cut off goes on with the same command: what came is not asked for again.

    Exit codes: 0 done; 2 usage or configuration; 3 the service could not be looked at: what came is kept.
    """
    from kgcheck.cli.console import RichProgress
    from kgcheck.literature.corpus import Corpus
    from kgcheck.literature.gather import Gathering
    from kgcheck.literature.topics import TopicGathering
    from kgcheck.providers.http import Http
    from kgcheck.settings import Settings

    of_topic = {"seeds": seeds, "rounds": rounds, "threshold": tau, "keep": keep}
    given: dict[str, Any] = {name: value for name, value in of_topic.items() if value is not None}
    _one_of_both(query, topic, of_query=bool(limit or references or citations), of_topic=bool(given))
    settings = Settings()
    if offline:
        settings = settings.model_copy(update={"offline": True})
    with Http(settings) as http, Corpus(literature, create=True, progress=RichProgress()) as corpus:
        embedder = _model_of(corpus, model)
        try:
            if topic:
                _gather_topic(TopicGathering(source, topic, **given, full_text=full_text), corpus, http, embedder)
            else:
                wanted = Gathering(source, query or "", limit or 1_000, full_text, references, citations)
                _gather_query(wanted, corpus, http)
        finally:
            # What came before the service was gone can be searched.
            _build(corpus, embedder, anew=False)


def _one_of_both(query: str | None, topic: str | None, *, of_query: bool, of_topic: bool) -> None:
    """Refuse a query with a topic, and options that go with the other one."""
    from kgcheck.errors import UsageError

    if bool(query) == bool(topic):
        both = "name a query or a topic, not both" if query else "there is nothing to look for"
        raise UsageError(both, "QUERY is in the service's own language, --topic in plain words")
    if topic and of_query:
        raise UsageError("--limit, --references and --citations go with QUERY", "with --topic, --keep names how many")
    if query and of_topic:
        raise UsageError("--seeds, --rounds, --tau and --keep go with --topic", "leave them out, or name a topic")


def _gather_query(wanted: "Gathering", corpus: "Corpus", http: "Http") -> None:
    from kgcheck.literature.gather import gather

    done = gather(wanted, corpus, http)
    note(f"records of {done.day}: {_counted(done.counts)}; {wanted.source} has {done.total:,}")


def _gather_topic(wanted: "TopicGathering", corpus: "Corpus", http: "Http", embedder: "Embedder | None") -> None:
    from kgcheck.cli.console import RichProgress
    from kgcheck.literature.topics import gather_topic

    done = gather_topic(wanted, corpus, http, embedder, progress=RichProgress())
    note(f"papers of {done.day}: {_counted(done.steps)}")
    note(f"records: {_counted(done.counts)}; every step is in {done.log}")


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in sorted(counts.items())) or "none"


@command.command("build")
@index_option(required=True)
@click.option("--anew", is_flag=True, help="Make everything again, with another model if one is named.")
@click.option("--model", help="Embedding model: minilm (packaged), a local folder, or none for words alone.")
def build(literature: Path, anew: bool, model: str | None) -> None:
    """Finish an index whose build was cut off, or make it again from its documents."""
    from kgcheck.cli.console import RichProgress
    from kgcheck.literature.corpus import Corpus

    with Corpus(literature, progress=RichProgress()) as corpus:
        _build(corpus, _model_of(corpus, model), anew=anew)


@command.command("remove")
@click.argument("ids", nargs=-1, required=True)
@index_option(required=True)
def remove(ids: tuple[str, ...], literature: Path) -> None:
    """Take documents out of an index by their ids, e.g. pmid:22663011."""
    from kgcheck.cli.console import RichProgress
    from kgcheck.errors import UnknownName
    from kgcheck.literature.corpus import Corpus

    with Corpus(literature, progress=RichProgress()) as corpus:
        lacking = [i for i in ids if corpus.store.number_of(i) is None]
        if lacking:
            raise UnknownName("document", lacking[0], [], f"kgcheck corpus list --ids --index {literature} tells all")
        gone = corpus.store.remove(ids)
        note(f"{len(gone):,} removed")
        _build(corpus, _model_of(corpus, None), anew=False)


@command.command("list")
@index_option(required=True)
@click.option("--ids", is_flag=True, help="Every document: id, year, whether retracted, title.")
@table_or_json_option()
def list_(literature: Path, ids: bool, format_: str) -> None:
    """List what is in an index."""
    from kgcheck.literature.manifest import DOCUMENTS, read_manifest
    from kgcheck.literature.store import DocumentStore
    from kgcheck.report.tables import rows_table

    with DocumentStore(literature / DOCUMENTS) as store:
        if ids:
            header: tuple[str, ...] = ("id", "year", "retracted", "title")
            rows: list[tuple[object, ...]] = [*store.ids()]
        else:
            header = ("recipe", "documents", "retracted", "first_year", "last_year", "paragraphs")
            rows = [*store.listed()]
    manifest = read_manifest(literature)
    listed = [dict(zip(header, row, strict=True)) for row in rows]
    shown = listed if ids else {"index": manifest.model_dump(mode="json"), "recipes": listed}
    show(format_, shown, rows_table(listed, header))
    if not (ids or format_ == "json"):
        result(_summary(literature, manifest))


@command.command("show")
@click.argument("paper")
@index_option(required=True)
@table_or_json_option()
def show_(paper: str, literature: Path, format_: str) -> None:
    """Show a whole paper by its id: its sections, its references, and what retracts or corrects what."""
    from rich.console import Group

    from kgcheck.errors import UnknownName
    from kgcheck.literature.manifest import DOCUMENTS
    from kgcheck.literature.store import DocumentStore
    from kgcheck.report.cells import RowTable, facts_table

    with DocumentStore(literature / DOCUMENTS) as store:
        found = store.paper(paper)
        if found is None:
            known = store.number_of(paper) is not None
            all_ids = f"kgcheck corpus list --ids --index {literature} tells all"
            hint = "it is here by its abstract alone" if known else all_ids
            raise UnknownName("whole paper", paper, [], hint)
        number = store.number_of(found.id)
        retracted = number is not None and store.documents([number])[number].retracted
    cited = found.citations
    facts = facts_table(
        (
            ("paper", ", ".join(found.ids)),
            ("title", found.title),
            ("in", ", ".join(filter(None, (found.journal, str(found.year or ""), found.type)))),
            ("licence", found.licence or "not named"),
            ("cited by", f"{len(cited):,}: {', '.join(cited[:5])}" if cited else ""),
            ("RETRACTED", "it is found, and never counts" if retracted else ""),
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
    row = found.model_dump(mode="json") | {"retracted": retracted}
    show(format_, row, Group(facts, "", sections, "", references))


def _model_of(corpus: "Corpus", named: str | None) -> "Embedder | None":
    """The model that was named, or that the index has; None for words alone."""
    from kgcheck.literature.search import choose_model

    built_with = corpus.model
    embedder, remark = choose_model(named, built_with[0] if built_with else None)
    if remark:
        note(remark)
    return embedder


def _build(corpus: "Corpus", embedder: "Embedder | None", *, anew: bool) -> None:
    manifest = corpus.build(embedder, anew=anew)
    note(_summary(corpus.folder, manifest))


def _summary(literature: Path, manifest: "Manifest") -> str:
    whole = f" with {manifest.paragraphs:,} paragraphs of whole papers" if manifest.paragraphs else ""
    meaning = f" and by meaning ({manifest.dense.model})" if manifest.dense else ""
    return f"{literature}: {how_many(manifest.papers, 'document')}{whole}, searched by words{meaning}"
