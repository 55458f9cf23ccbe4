"""Search papers and data sets for an objective over several services, resumably, and judge them.

Everything follows from the objective and from answers that are kept: those of services under the day on which the
search began, those of a model by what it was asked. What was cut off is done again from them, and no question is asked
twice.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from kgcheck.context import Context, noting
from kgcheck.errors import SourceError, UsageError
from kgcheck.literature.documents import Document, clean
from kgcheck.literature.gather import day_of, whole_of, write_note
from kgcheck.literature.papers import WholePaper, paper_of_abstract, paper_of_record
from kgcheck.literature.search import LiteratureIndex
from kgcheck.llm.budget import Limits, Meter, total_meter
from kgcheck.model import Value
from kgcheck.options import Spending
from kgcheck.outputs import write_text
from kgcheck.progress import NoProgress, Progress
from kgcheck.protocols.protocol import Objective, StudyDataSet, digest_of_things
from kgcheck.protocols.search.judging import SearchModel, abstract_of, data_set_use, degrees
from kgcheck.protocols.search.look_up import study_data_set
from kgcheck.protocols.search.queries import SearchConcept, SearchQuery, SearchRules, Synonyms, concepts_of, queries_of
from kgcheck.providers.http import Http
from kgcheck.providers.ncbi import DataSetRecord, Geo, Pmc, PubMed
from kgcheck.providers.paper_service import PaperRecord, open_licence

SearchPlace = Literal["pubmed", "pmc", "geo", "index"]
"""``index``: the local literature index."""


class QueriedPaper(Value):
    """A paper that queries found."""

    paper: WholePaper
    places: tuple[SearchPlace, ...]
    queries: tuple[int, ...] = Field(description="numbers of the queries that found it, from 1")


class FoundPaper(QueriedPaper):
    """A paper that was found, and judged; ``whole`` says that its sections are here, and not its abstract alone."""

    degree: int = Field(ge=1, le=5, description="how helpful it is")
    relevance: float = Field(default=0.0, description="likeness to the objective")
    reasons: tuple[str, ...] = ()
    judged_by: str = "rules"
    kept: bool = False
    whole: bool = False


class FoundDataSet(Value):
    """A data set that was found."""

    data_set: StudyDataSet
    description: str = ""
    papers: tuple[str, ...] = Field(default=(), description="ids of the papers that its record names")
    queries: tuple[int, ...] = ()
    usable: bool = False
    reasons: tuple[str, ...] = ()
    judged_by: str = "rules"


class UnsearchedPlace(Value):
    """A place that could not be looked at, for a query or, with the number 0, for something else."""

    place: SearchPlace
    query: int
    reason: str


class StudySearch(Value):
    """Results of a search for an objective, as ``search.json`` has them."""

    format: int = Field(default=1, description="a reader refuses a newer one")
    objective: Objective
    day: str = Field(description="the day that the answers are of")
    queries: tuple[SearchQuery, ...]
    queries_by: str = "rules"
    papers: tuple[FoundPaper, ...] = ()
    data_sets: tuple[FoundDataSet, ...] = ()
    unsearched: tuple[UnsearchedPlace, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def kept(self) -> tuple[FoundPaper, ...]:
        return tuple(p for p in self.papers if p.kept)

    @property
    def usable(self) -> tuple[FoundDataSet, ...]:
        return tuple(d for d in self.data_sets if d.usable)


class MetPapers:
    """Papers by every id that they go by."""

    def __init__(self) -> None:
        self._by_id: dict[str, QueriedPaper] = {}

    def add(self, paper: WholePaper, place: SearchPlace, query: int) -> None:
        """Take a paper in, with those that it shows to be the same."""
        same = {id(m): m for i in paper.ids if (m := self._by_id.get(i))}.values()
        met = (*same, QueriedPaper(paper=paper, places=(place,), queries=(query,)))
        whole = QueriedPaper(
            paper=reduce(_joined, (m.paper for m in met)),
            places=tuple(dict.fromkeys(p for m in met for p in m.places)),
            queries=tuple(dict.fromkeys(q for m in met for q in m.queries)),
        )
        self._by_id |= dict.fromkeys(whole.paper.ids, whole)

    def every(self) -> list[QueriedPaper]:
        return list({id(m): m for m in self._by_id.values()}.values())

    def retract(self, listed: Callable[[Iterable[str]], set[str]]) -> None:
        gone = listed(self._by_id)
        for met in self.every():
            if gone.intersection(met.paper.ids):
                paper = met.paper.model_copy(update={"retracted": True})
                self._by_id |= dict.fromkeys(paper.ids, met.model_copy(update={"paper": paper}))


def _joined(one: WholePaper, other: WholePaper) -> WholePaper:
    """The one that has more of the text, with the ids of both; retracted if either is."""
    richer = max((one, other), key=lambda p: sum(len(s.paragraphs) for s in p.sections))
    ids = tuple(dict.fromkeys((*one.ids, *other.ids)))
    return richer.model_copy(update={"ids": ids, "retracted": one.retracted or other.retracted})


class PapersFound(NamedTuple):
    """Result of a query at a place: papers, and the terms unknown there."""

    papers: tuple[WholePaper, ...]
    unknown: tuple[str, ...] = ()


PaperSearch = Callable[[SearchQuery, int], PapersFound]
"""The papers of a place that fit a query best, at most so many, best first."""


def _searches(http: Http, day: str) -> dict[SearchPlace, PaperSearch]:
    """Searches of services; PMC with the abstracts that PubMed has of its papers."""
    pubmed, pmc = PubMed(http, http.settings, day), Pmc(http, http.settings, day)

    def search_pubmed(query: SearchQuery, most: int) -> PapersFound:
        page = pubmed.relevant(query.pubmed, most)
        return _found(page.records, page.unknown, "pubmed")

    def search_pmc(query: SearchQuery, most: int) -> PapersFound:
        page = pmc.relevant(query.pmc, most)
        pmids = [i for record in page.records for i in record.ids if i.startswith("pmid:")]
        known, records = pubmed.records(pmids) if pmids else {}, []
        for record in page.records:
            other = next((known[i] for i in record.ids if i in known), record)
            ids = tuple(dict.fromkeys((*other.ids, *record.ids)))
            records.append(other._replace(key=record.key, ids=ids, full_text=record.full_text))
        return _found(records, page.unknown, "pmc")

    return {"pubmed": search_pubmed, "pmc": search_pmc}


def _found(records: Iterable[PaperRecord], unknown: tuple[str, ...], place: SearchPlace) -> PapersFound:
    made = (paper_of_record(record, place) for record in records)
    return PapersFound(tuple(paper for paper in made if isinstance(paper, WholePaper)), unknown)


def search_index(index: LiteratureIndex, query: SearchQuery, most: int) -> PapersFound:
    """Search the local literature index, which no service is asked for."""
    return PapersFound(tuple(paper_of_document(index, hit.document) for hit in index.search(query.words, limit=most)))


def paper_of_document(index: LiteratureIndex, document: Document) -> WholePaper:
    """The whole paper of a document of an index, or its abstract as one."""
    return index.store.paper(document.paper_id) or paper_of_abstract(document)


PLACES: tuple[SearchPlace, ...] = ("pubmed", "pmc", "geo")  # services that are searched
SEARCH_FILE = "search.json"


@dataclass
class PaperSearcher:
    """A search for an objective; without services, or where none answers, the index is searched."""

    objective: Objective
    synonyms: Synonyms
    http: Http | None = None
    index: LiteratureIndex | None = None
    model: SearchModel | None = None
    progress: Progress = field(default_factory=NoProgress)

    def __post_init__(self) -> None:
        self._day = ""
        self._met = MetPapers()
        self._data_sets: dict[str, tuple[DataSetRecord, list[int]]] = {}
        self._unsearched: list[UnsearchedPlace] = []
        self._notes: list[str] = []

    def search(self, folder: Path, today: str | None = None) -> StudySearch:
        if self.http is None and self.index is None:
            hint = "let services be asked, or name an index of papers: --literature"
            raise UsageError("there is nowhere to look", hint)
        concepts = concepts_of(self.objective, self.synonyms)
        if not concepts:
            raise UsageError("the objective names nothing to look for", "name genes, diseases or methods in its title")
        folder.mkdir(parents=True, exist_ok=True)
        described = {"objective": self.objective.model_dump(mode="json")}
        # Another search in the same folder goes on with nothing of this one.
        note = folder / f"search-{digest_of_things(described)[:16]}.note.json"
        self._day = day_of(note, today)
        write_note(note, described, self._day, ended=False)
        model = self.model
        queries = model.queries(self.objective, concepts) if model else queries_of(concepts)
        self._search_services(queries)
        self._search_index(queries)
        papers = self._papers(concepts)
        if self.http:
            papers = self._whole_papers(Pmc(self.http, self.http.settings, self._day), papers, folder)
        data_sets = self._data_sets_found(concepts) if self._data_sets else []
        found = StudySearch(
            objective=self.objective,
            day=self._day,
            queries=queries,
            queries_by=model.name if model else "rules",
            papers=tuple(papers),
            data_sets=tuple(data_sets),
            unsearched=tuple(self._unsearched),
            notes=tuple(dict.fromkeys(self._notes)),
        )
        write_text(folder / SEARCH_FILE, found.model_dump_json(indent=1) + "\n")
        # What could not be looked at is tried again with the answers of that day.
        write_note(note, described, self._day, ended=not found.unsearched)
        return found

    def _search_services(self, queries: Sequence[SearchQuery]) -> None:
        if self.http is None:
            return
        searches, geo = _searches(self.http, self._day), Geo(self.http, self.http.settings, self._day)
        most = SearchRules.shipped().limits["results"]
        with self.progress.step("searching", len(queries) * len(PLACES)) as step:
            for number, query in enumerate(queries, 1):
                for place, search in searches.items():
                    self._search(place, search, number, query)
                    step.advance()
                with self._looking("geo", number):
                    page = geo.relevant(query.geo(self.objective.species), most)
                    for record in page.records:
                        _, numbers = self._data_sets.setdefault(record.id, (record, []))
                        numbers += [number] if number not in numbers else []
                    self._note_unknown("geo", number, page.unknown)
                step.advance()

    def _search_index(self, queries: Sequence[SearchQuery]) -> None:
        if self.http is not None and len(queries) * len(PLACES) > len(self._unsearched):
            return
        why = "no service was asked" if self.http is None else "no service could be looked at"
        if self.index is None:
            self._notes.append(f"{why}, and no index of papers is named")
            return
        self._notes.append(f"{why}: the papers are those of {self.index.folder}, and data sets were not searched")
        if self.http is None or self.http.settings.offline:
            # Whoever is offline by choice misses nothing: it is in the note.
            self._unsearched.clear()
        for number, query in enumerate(queries, 1):
            self._search("index", partial(search_index, self.index), number, query)

    def _search(self, place: SearchPlace, search: PaperSearch, number: int, query: SearchQuery) -> None:
        with self._looking(place, number):
            found = search(query, SearchRules.shipped().limits["results"])
            for paper in found.papers:
                self._met.add(paper, place, number)
            self._note_unknown(place, number, found.unknown)

    @contextmanager
    def _looking(self, place: SearchPlace, number: int) -> Iterator[None]:
        try:
            yield
        except SourceError as error:
            self._unsearched.append(UnsearchedPlace(place=place, query=number, reason=clean(error.message)[:300]))

    def _note_unknown(self, place: SearchPlace, number: int, unknown: Sequence[str]) -> None:
        if unknown:
            left = ", ".join(unknown)[:200]
            self._notes.append(f"{place} searched query {number} without what it does not know: {left}")

    def _papers(self, concepts: Sequence[SearchConcept]) -> list[FoundPaper]:
        if self.index is not None:
            # What the local index knows to be retracted is, whoever has it.
            self._met.retract(self.index.store.retracted)
        met = self._met.every()
        if not met:
            return []
        judged = degrees([m.paper for m in met], self.objective, concepts)
        if self.model:
            shown: list[dict[str, object]] = [{"title": m.paper.title, "text": abstract_of(m.paper)} for m in met]
            by_model = self.model.degrees(self.objective, shown)
            judged = [
                j if of.paper.retracted else m._replace(relevance=j.relevance)
                for j, m, of in zip(judged, by_model, met, strict=True)
            ]
        found = [
            FoundPaper(
                **dict(m),
                **j._asdict(),
                judged_by=self.model.name if self.model else "rules",
                kept=j.degree >= SearchRules.shipped().limits["kept"],
                whole=_is_whole(m.paper),
            )
            for m, j in zip(met, judged, strict=True)
        ]
        return sorted(found, key=lambda p: (-p.degree, -p.relevance, p.paper.id))

    def _whole_papers(self, pmc: Pmc, papers: list[FoundPaper], folder: Path) -> list[FoundPaper]:
        """The same papers, those that are kept whole where PMC has them under an open licence."""
        pmcids = {p.paper.id: next((i[4:] for i in p.paper.ids if i.startswith("pmc:")), "") for p in papers}
        lacking = [p for p in papers if p.kept and not p.whole and pmcids[p.paper.id] and "index" not in p.places]
        wanted = lacking[: SearchRules.shipped().limits["whole"]]
        whole: dict[str, FoundPaper] = {}
        with self.progress.step("reading whole papers", len(wanted)) as step:
            for found in wanted:
                pmcid = pmcids[found.paper.id]
                with self._looking("pmc", 0):
                    if paper := whole_of(pmc, PaperRecord(pmcid, found.paper.ids, full_text=pmcid), folder):
                        whole[found.paper.id] = _with_text(found, paper)
                step.advance()
        return [whole.get(p.paper.id, p) for p in papers]

    def _data_sets_found(self, concepts: Sequence[SearchConcept]) -> list[FoundDataSet]:
        """The data sets that were met, those that are usable first."""
        records, queries = zip(*self._data_sets.values(), strict=True)
        sets = [study_data_set(record) for record in records]
        texts = [clean(record.description)[:5_000] for record in records]
        if self.model:
            fields = {"title", "species", "assay", "samples"}
            shown = [{**s.model_dump(include=fields), "text": text} for s, text in zip(sets, texts, strict=True)]
            uses = self.model.uses(self.objective, shown)
        else:
            uses = [data_set_use(s, text, self.objective, concepts) for s, text in zip(sets, texts, strict=True)]
        found = [
            FoundDataSet(
                data_set=s,
                description=text,
                papers=record.papers,
                queries=tuple(numbers),
                **use._asdict(),
                judged_by=self.model.name if self.model else "rules",
            )
            for s, text, use, record, numbers in zip(sets, texts, uses, records, queries, strict=True)
        ]
        return sorted(found, key=lambda d: (not d.usable, d.data_set.id))


def _with_text(found: FoundPaper, paper: WholePaper) -> FoundPaper:
    """A paper with its text, if that is under an open licence; else with what says whether it counts alone."""
    retracted = paper.retracted or found.paper.retracted
    kept = found.paper.model_copy(update={"retracted": retracted})
    if open_licence(paper.licence):
        ids = tuple(dict.fromkeys((*found.paper.ids, *paper.ids)))
        kept = paper.model_copy(update={"ids": ids, "retracted": retracted, "recipe": "pmc"})
    changed = {"paper": kept, "whole": _is_whole(kept)}
    if retracted and not found.paper.retracted:
        changed |= {"degree": 1, "kept": False, "reasons": ("it is retracted",)}
    return found.model_copy(update=changed)


def _is_whole(paper: WholePaper) -> bool:
    return any(section.kind != "abstract" and section.paragraphs for section in paper.sections)


def search_studies(
    context: Context, objective: Objective, folder: Path, *, spending: Spending | None = None
) -> tuple[StudySearch, tuple[str, ...]]:
    """Search papers and data sets for an objective; a folder gets the result, the log and what was kept."""
    with noting() as notes, ExitStack() as opened:
        model = None
        if context.brain == "llm":
            from kgcheck.llm.client import ChatClient

            client = opened.enter_context(ChatClient(context.settings, notes))
            meter = Meter(Limits.of(spending or Spending()), client.prices, total_meter(context.settings))
            model = SearchModel(client, meter)
        index = context.index(notes) if context.literature else None
        http = opened.enter_context(Http(context.settings))
        names = context.names().mentioned
        found = PaperSearcher(objective, names, http, index, model, context.progress).search(folder)
    return found, (*notes, *found.notes)
