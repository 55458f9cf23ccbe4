"""Gather papers from a service (PubMed, Europe PMC, ...) into an index, page by page, resumably."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from kgcheck import clock
from kgcheck.errors import IndexFault, InputError, InputFormat, SourceAnswer, UsageError
from kgcheck.inputs import parse_json, read_whole
from kgcheck.literature.corpus import Corpus
from kgcheck.literature.documents import Rejected
from kgcheck.literature.formats import Record
from kgcheck.literature.jats import read_jats
from kgcheck.literature.papers import WholePaper, paper_of_record
from kgcheck.outputs import temporary_folder, write_text
from kgcheck.providers.europepmc import EuropePmc
from kgcheck.providers.http import Http
from kgcheck.providers.ncbi import PubMed
from kgcheck.providers.openalex import OpenAlex
from kgcheck.providers.paper_service import PaperRecord, PaperService, WholeTextService
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
