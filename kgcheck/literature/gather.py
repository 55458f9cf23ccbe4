"""Gather papers from a service (PubMed, Europe PMC, ...) into an index, resumably: for a query, or for a graph.

For a query page by page; for a graph those that its edges cite, then those that name both ends of undecided edges.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from kgcheck import clock
from kgcheck.duck import connected
from kgcheck.errors import IndexFault, InputError, InputFormat, SourceAnswer, UsageError
from kgcheck.graph.citations import citations_sql
from kgcheck.graph.store import GraphStore
from kgcheck.inputs import parse_json, read_whole
from kgcheck.literature.corpus import Corpus
from kgcheck.literature.documents import Rejected
from kgcheck.literature.formats import Record
from kgcheck.literature.jats import read_jats
from kgcheck.literature.pairs import EdgeClaim
from kgcheck.literature.papers import WholePaper, paper_of_record
from kgcheck.outputs import temporary_folder, write_text
from kgcheck.providers.europepmc import EuropePmc
from kgcheck.providers.http import Http
from kgcheck.providers.ncbi import PubMed
from kgcheck.providers.openalex import OpenAlex
from kgcheck.providers.paper_service import PaperRecord, PaperService, WholeTextService, lots
from kgcheck.providers.semantic_scholar import SemanticScholar
from kgcheck.settings import Settings

SourceName = Literal["europepmc", "pubmed", "semantic_scholar", "openalex"]

SERVICES: dict[str, Callable[[Http, Settings, str], PaperService]] = {
    "europepmc": EuropePmc,
    "pubmed": PubMed,
    "semantic_scholar": SemanticScholar,
    "openalex": OpenAlex,
}

FOLDER = "gathered"


class Gathering(NamedTuple):
    """Parameters of a gathering."""

    source: SourceName
    query: str
    limit: int = 1_000
    full_text: bool = False
    references: bool = False
    citations: bool = False


class Gathered(NamedTuple):
    """Result of a gathering."""

    counts: dict[str, int]
    total: int  # number of papers that the service has
    day: str  # the day that the answers are of


def gather(wanted: Gathering, corpus: Corpus, http: Http, today: str | None = None) -> Gathered:
    """Gather papers into an index, which is not built yet: whole ones where that is wanted and the licence is open."""
    if not wanted.query.strip():
        raise UsageError("there is nothing to look for", "name a query in the service's own language")
    note = note_of(corpus.folder, wanted.source, wanted.query)
    day = day_of(note, today)
    write_note(note, wanted._asdict(), day, ended=False)
    service = SERVICES[wanted.source](http, http.settings, day)
    counts: Counter[str] = Counter()
    after, came = "", 0
    while True:
        page = service.page(wanted.query, after, wanted.limit - came)
        records = page.records[: wanted.limit - came]
        made: list[Record] = []
        for record in records:
            whole = whole_of(service, record, corpus.folder) if wanted.full_text and record.full_text else None
            cited = tuple(service.references(record)) if wanted.references else ()
            citing = tuple(service.citations(record)) if wanted.citations else ()
            made.append(paper_with(service, record, wanted.source, whole, cited, citing))
        counts += corpus.add_records(made, wanted.source)
        came, after = came + len(records), page.after
        if not after or came >= wanted.limit:
            break
    write_note(note, wanted._asdict(), day, ended=True)
    return Gathered(dict(counts), page.total, day)


def paper_with(
    service: PaperService,
    record: PaperRecord,
    source: SourceName,
    whole: WholePaper | None = None,
    cited: tuple[str, ...] = (),
    citing: tuple[str, ...] = (),
) -> WholePaper | Rejected:
    """A paper with what is known of it."""
    if whole:
        return whole.model_copy(
            update={
                "ids": tuple(dict.fromkeys((*record.ids, *whole.ids))),
                "licence": record.licence or whole.licence,
                "retracted": whole.retracted or record.retracted,
                "citations": citing,
                "recipe": source,
            }
        )
    made = paper_of_record(record, source, cited, citing)
    return made.model_copy(update={"place": f"{service.name}, {record.key}"}) if isinstance(made, Rejected) else made


def whole_of(service: WholeTextService, record: PaperRecord, index: Path) -> WholePaper | None:
    """The whole paper of a record whose ``full_text`` is named."""
    return service.whole(record, lambda text: _read_whole(text, service.name, record, index))


def _read_whole(text: bytes, service: str, record: PaperRecord, index: Path) -> WholePaper | None:
    """Read a paper from JATS XML, and refuse another one than that of the record."""
    try:
        # What has not been found to be the paper is nowhere kept.
        with temporary_folder(index) as folder:
            path = folder / f"{record.full_text}.xml"
            path.write_bytes(text)
            read = [paper for _, paper in read_jats(path)]
    except OSError as error:
        raise IndexFault(f"cannot write in {index}: {error.strerror}", "free disk space") from error
    except (InputFormat, ValidationError) as error:
        raise SourceAnswer(
            f"{service} sent {record.full_text} in a form that cannot be read: {error}", "leave --full-text out"
        ) from error
    paper = read[0] if len(read) == 1 else None
    if isinstance(paper, WholePaper) and set(paper.ids) & {*record.ids, f"pmc:{record.full_text}"}:
        return paper
    if isinstance(paper, Rejected) and paper.reason == "no_text":
        return None
    raise SourceAnswer(f"{service} sent another paper than {record.full_text}", "try again later")


def note_of(index: Path, source: SourceName, name: str) -> Path:
    """Return the note of a gathering's begin; with another limit or other links it is the same one."""
    named = hashlib.sha256(f"{source}\n{name}".encode()).hexdigest()[:16]
    return index / FOLDER / f"{source}-{named}.json"


def day_of(note: Path, today: str | None) -> str:
    """The day that a gathering which did not end was begun on; today for a new one."""
    today = today or clock.today().isoformat()
    if not note.is_file():
        return today
    try:
        before = parse_json(read_whole(note))
        return str(before["day"]) if before.get("ended") is False else today
    except (InputError, ValueError, KeyError, AttributeError, TypeError):
        # Only which answers are taken again depends on it.
        return today


def write_note(note: Path, wanted: Mapping[str, object], day: str, *, ended: bool) -> None:
    """Keep what is gathered, since which day, and whether it ended."""
    write_text(note, json.dumps({**wanted, "day": day, "ended": ended}, indent=1) + "\n")


GraphPaperSource = Literal["europepmc", "pubmed"]

AGAIN = timedelta(days=30)
"""Time after which a paper that a service lacked, or an edge that was searched, is asked for again."""

_TOGETHER, _EACH, _NAMES = 50, 5, 3
_FIELDS: Mapping[GraphPaperSource, tuple[str, ...]] = {
    "europepmc": ('TITLE:"{}"', 'ABSTRACT:"{}"'),
    "pubmed": ('"{}"[Title/Abstract]',),
}


class GraphPapers(NamedTuple):
    """Result: records by what became of them, papers that edges cite, and those that the service lacks.

    Then edges that were searched now, and papers and edges that were not asked for, as the budget was spent.
    """

    counts: dict[str, int]
    cited: int
    lacking: int
    searched: int
    waiting: int


def cited_papers(store: GraphStore) -> list[str]:
    """Ids of the papers that properties of edges name by PMID, those that most edges cite first."""
    counts: Counter[str] = Counter()
    with connected() as db:
        for pattern in store.schema.relations:
            cited = citations_sql(pattern, "scanned")
            for table in store.scan_edges(pattern) if cited else ():
                db.register("scanned", table)
                rows = db.execute(f"SELECT paper, count(*) FROM ({cited}) WHERE paper LIKE 'pmid:%' GROUP BY paper")
                counts.update(dict(rows.fetchall()))
    return sorted(counts, key=lambda paper: (-counts[paper], len(paper), paper))


def gather_for_graph(
    cited: Sequence[str],
    claims: Iterable[tuple[str, EdgeClaim]],
    corpus: Corpus,
    http: Http,
    *,
    source: GraphPaperSource = "europepmc",
    limit: int,
) -> GraphPapers:
    """Put at most ``limit`` more papers into an index, which is not built yet: cited ones, then those on edges."""
    work = _Gathering(corpus, http, source, limit)
    wanted = [paper for paper in cited if work.lacks(paper) and work.is_due(paper)]
    chosen = wanted[:limit]
    for lot in lots(chosen, _TOGETHER):
        found = work.service.records(lot)
        work.add(found.values())
        # Also those that it has without an abstract.
        work.note(filter(work.lacks, lot))
    searched = waiting = 0
    for name, claim in claims:
        query = _query(claim, source)
        if not query or not work.is_due(name):
            continue
        if work.left <= 0:
            waiting += 1
            continue
        work.add(work.service.page(query, "", min(_EACH, work.left)).records)
        work.note([name])
        searched += 1
    lacking = sum(work.lacks(paper) and not work.is_due(paper) for paper in cited)
    return GraphPapers(dict(work.counts), len(cited), lacking, searched, len(wanted) - len(chosen) + waiting)


class _Gathering:
    """Papers that come into an index, and the notes beside it."""

    def __init__(self, corpus: Corpus, http: Http, source: GraphPaperSource, limit: int) -> None:
        self._corpus, self._source = corpus, source
        self._today = clock.today()
        self.service: PaperService = SERVICES[source](http, http.settings, self._today.isoformat())
        self.counts: Counter[str] = Counter()
        self._limit, self._came = limit, 0
        self._file = corpus.folder / FOLDER / f"graph-{source}.json"
        self._tried: dict[str, str] = {}
        # Only what is asked for again depends on these notes.
        with suppress(InputError, ValueError, AttributeError):
            if self._file.is_file():
                self._tried = {str(name): str(day) for name, day in parse_json(read_whole(self._file)).items()}
        self._since = (self._today - AGAIN).isoformat()

    @property
    def left(self) -> int:
        return self._limit - self._came

    def lacks(self, paper: str) -> bool:
        return self._corpus.store.number_of(paper) is None

    def is_due(self, name: str) -> bool:
        return self._tried.get(name, "") < self._since

    def add(self, records: Iterable[PaperRecord]) -> None:
        new = {record.key: record for record in records if all(map(self.lacks, record.ids))}
        made: list[Record] = [paper_with(self.service, one, self._source) for one in new.values()]
        self.counts += self._corpus.add_records(made, self._source)
        self._came += len(made)

    def note(self, names: Iterable[str]) -> None:
        """Note what need not be looked for again soon."""
        self._tried |= dict.fromkeys(names, self._today.isoformat())
        write_text(self._file, json.dumps(self._tried, indent=1) + "\n")


def _query(claim: EdgeClaim, source: GraphPaperSource) -> str:
    """A search for abstracts that name both ends of an edge; empty where an end has no name that could be searched."""
    ends = []
    for names in (claim.head, claim.tail):
        plain = (" ".join(re.sub(r"[^\w\s'+-]", " ", name).split()) for name in names)
        fields = [field.format(name) for name in [n for n in plain if len(n) > 2][:_NAMES] for field in _FIELDS[source]]
        ends.append(f"({' OR '.join(fields)})" if fields else "")
    return " AND ".join(ends) if all(ends) else ""
