"""One search for an objective: queries, places, what was found, what is kept, whole texts, and data sets.

Everything follows from the objective and from answers that are kept: those of services under the day on which the
search began, those of a model by what it was asked. What was cut off is done again from them, and no question is asked
twice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgcheck.errors import SourceError, UsageError
from kgcheck.literature.documents import clean
from kgcheck.literature.embed import Embedder
from kgcheck.literature.gather import day_of, whole_of, write_note
from kgcheck.literature.papers import WholePaper
from kgcheck.literature.relevance import TopicFit
from kgcheck.literature.search import LiteratureIndex
from kgcheck.literature.step_log import StepLog
from kgcheck.outputs import write_text
from kgcheck.progress import NoProgress, Progress
from kgcheck.protocols.files import digest_of_things
from kgcheck.protocols.objective import Objective
from kgcheck.protocols.search.concepts import SearchConcept, Synonyms, concepts_of
from kgcheck.protocols.search.found import FoundDataSet, FoundPaper, SearchPlace, StudySearch, UnsearchedPlace
from kgcheck.protocols.search.helpfulness import (
    PaperDegree,
    abstract_of,
    data_set_use,
    degrees,
    topic_of,
)
from kgcheck.protocols.search.look_up import study_data_set
from kgcheck.protocols.search.met import FoundAt, MetPapers
from kgcheck.protocols.search.model_search import JudgedRecord, SearchModel
from kgcheck.protocols.search.places import (
    EuropePmcPlace,
    IndexPlace,
    PaperPlace,
    PmcPlace,
    PubMedPlace,
)
from kgcheck.protocols.search.queries import SearchQuery, queries_of
from kgcheck.protocols.search.rules import search_rules
from kgcheck.providers.data_sets import DataSetRecord
from kgcheck.providers.gathered import PaperRecord, open_licence
from kgcheck.providers.geo import Geo
from kgcheck.providers.http import Http
from kgcheck.providers.pmc import Pmc

PLACES: tuple[SearchPlace, ...] = ("pubmed", "pmc", "geo")
"""Where is searched unless somebody chooses."""

SEARCH_FILE = "search.json"
MODEL_FILE = "model_answers.jsonl"
_LOG_FILE = "search.log.jsonl"

_PAPER_PLACES: dict[SearchPlace, Callable[[Http, str], PaperPlace]] = {
    "pubmed": PubMedPlace,
    "pmc": PmcPlace,
    "europepmc": EuropePmcPlace,
}


@dataclass(frozen=True)
class SearchMeans:
    """What a search is made with.

    ``http`` asks services; without it, and where none can be looked at, ``index`` is searched instead.
    """

    synonyms: Synonyms
    http: Http | None = None
    index: LiteratureIndex | None = None
    embedder: Embedder | None = None
    model: SearchModel | None = None
    places: tuple[SearchPlace, ...] = PLACES


def search_for(
    objective: Objective,
    folder: Path,
    means: SearchMeans,
    *,
    today: str | None = None,
    progress: Progress | None = None,
) -> StudySearch:
    """Search papers and data sets for an objective."""
    if means.http is None and means.index is None:
        raise UsageError("there is nowhere to look", "let services be asked, or name an index of papers: --literature")
    concepts = concepts_of(objective, means.synonyms)
    if not concepts:
        raise UsageError("the objective names nothing to look for", "name genes, diseases or methods in its title")
    folder.mkdir(parents=True, exist_ok=True)
    described = {"objective": objective.model_dump(mode="json"), "places": list(means.places)}
    # Another search in the same folder goes on with nothing of this one.
    note = folder / f"search-{digest_of_things(described)[:16]}.note.json"
    day = day_of(note, today)
    write_note(note, described, day, ended=False)
    with StepLog(folder / _LOG_FILE) as log:
        log.put("began", day=day, **described)
        found = _Search(objective, concepts, folder, means, day, log, progress or NoProgress()).run()
        log.put("ended", kept=len(found.kept), usable=len(found.usable), unsearched=len(found.unsearched))
        log.end()
    write_text(folder / SEARCH_FILE, found.model_dump_json(indent=1) + "\n")
    # What could not be looked at is tried again with the answers of that day.
    write_note(note, described, day, ended=not found.unsearched)
    return found


class _Search:
    """One search under way; the arguments are those of `search_for`."""

    def __init__(
        self,
        objective: Objective,
        concepts: Sequence[SearchConcept],
        folder: Path,
        means: SearchMeans,
        day: str,
        log: StepLog,
        progress: Progress,
    ) -> None:
        self._objective = objective
        self._concepts = concepts
        self._folder = folder
        self._means = means
        self._day = day
        self._log = log
        self._progress = progress
        self._met = MetPapers()
        self._data_sets: dict[str, tuple[DataSetRecord, list[int]]] = {}
        self._unsearched: list[UnsearchedPlace] = []
        self._notes: list[str] = []

    def run(self) -> StudySearch:
        """Search, judge, fetch."""
        model = self._means.model
        queries = model.queries(self._objective, self._concepts) if model else queries_of(self._concepts)
        for number, query in enumerate(queries, 1):
            self._log.put("query", number=number, purpose=query.purpose, pubmed=query.pubmed)
        self._services(queries)
        self._local(queries)
        papers = self._whole_texts(self._papers())
        return StudySearch(
            objective=self._objective,
            day=self._day,
            queries=queries,
            queries_by=model.name if model else "rules",
            papers=tuple(papers),
            data_sets=tuple(self._data_sets_found()),
            unsearched=tuple(self._unsearched),
            notes=tuple(dict.fromkeys(self._notes)),
        )

    def _services(self, queries: Sequence[SearchQuery]) -> None:
        http = self._means.http
        if http is None:
            return
        places = [_PAPER_PLACES[name](http, self._day) for name in self._means.places if name in _PAPER_PLACES]
        geo = Geo(http, http.settings, self._day) if "geo" in self._means.places else None
        with self._progress.step("searching", len(queries) * len(self._means.places)) as step:
            for number, query in enumerate(queries, 1):
                for place in places:
                    self._search(place, number, query)
                    step.advance()
                if geo:
                    self._search_data_sets(geo, number, query)
                    step.advance()

    def _local(self, queries: Sequence[SearchQuery]) -> None:
        """Search the local index where no service could be looked at."""
        looked = len(queries) * len(self._means.places) > len(self._unsearched)
        if self._means.http is not None and looked:
            return
        why = "no service was asked" if self._means.http is None else "no service could be looked at"
        if self._means.index is None:
            self._notes.append(f"{why}, and no index of papers is named")
            return
        self._notes.append(
            f"{why}: the papers are those of {self._means.index.folder}, and data sets were not searched"
        )
        if self._means.http is None or self._means.http.settings.offline:
            # Whoever is offline by choice misses nothing: it is in the note.
            self._unsearched.clear()
        place = IndexPlace(self._means.index)
        for number, query in enumerate(queries, 1):
            self._search(place, number, query)

    def _search(self, place: PaperPlace, number: int, query: SearchQuery) -> None:
        try:
            found = place.papers(query, search_rules().limits.results)
        except SourceError as error:
            self._could_not(place.place, number, error)
            return
        for paper in found.papers:
            self._met.add(paper, place.place, number)
        if found.unknown:
            self._notes.append(
                f"{place.place} searched query {number} without what it does not know: {', '.join(found.unknown)[:200]}"
            )
        self._log.put(
            "searched",
            place=place.place,
            query=number,
            total=found.total,
            papers=[p.id for p in found.papers],
            left_out=[[r.record, r.reason] for r in found.rejected],
            unknown=list(found.unknown),
        )

    def _search_data_sets(self, geo: Geo, number: int, query: SearchQuery) -> None:
        try:
            page = geo.relevant(query.geo(self._objective.species), search_rules().limits.results)
        except SourceError as error:
            self._could_not("geo", number, error)
            return
        for record in page.records:
            _, numbers = self._data_sets.setdefault(record.id, (record, []))
            numbers += [number] if number not in numbers else []
        if page.unknown:
            self._notes.append(
                f"geo searched query {number} without what it does not know: {', '.join(page.unknown)[:200]}"
            )
        ids = [r.id for r in page.records]
        self._log.put(
            "searched", place="geo", query=number, total=page.total, data_sets=ids, unknown=list(page.unknown)
        )

    def _could_not(self, place: SearchPlace, number: int, error: SourceError) -> None:
        reason = clean(error.message)[:300]
        self._unsearched.append(UnsearchedPlace(place=place, query=number, reason=reason))
        self._log.put("not_searched", place=place, query=number, reason=reason)

    def _papers(self) -> list[FoundPaper]:
        """What was met, each with its degree, the most helpful first."""
        if self._means.index is not None:
            # What the local index knows to be retracted is, whoever has it.
            self._met.retract(self._means.index.store.retracted)
        met = self._met.every()
        if not met:
            return []
        embedder = self._means.embedder
        fit = TopicFit(topic_of(self._objective, self._concepts), embedder)
        scale = "vectors" if embedder else "words"
        judged = degrees([m.paper for m in met], self._objective, self._concepts, fit, scale)
        judged_by = "rules"
        if self._means.model:
            judged_by = self._means.model.name
            shown = [JudgedRecord(m.paper.title, abstract_of(m.paper)) for m in met]
            by_model = self._means.model.degrees(self._objective, shown)
            judged = [
                j._replace(degree=m.degree, reasons=m.reasons) if not of.paper.retracted else j
                for j, m, of in zip(judged, by_model, met, strict=True)
            ]
        found = [self._found(m, j, judged_by) for m, j in zip(met, judged, strict=True)]
        found.sort(key=lambda p: (-p.degree, -p.relevance, p.paper.id))
        for paper in found:
            self._log.put(
                "judged",
                paper=paper.paper.id,
                degree=paper.degree,
                relevance=paper.relevance,
                reasons=list(paper.reasons),
                kept=paper.kept,
            )
        return found

    def _found(self, met: FoundAt, judged: PaperDegree, judged_by: str) -> FoundPaper:
        return FoundPaper(
            paper=met.paper,
            places=tuple(met.places),
            queries=tuple(met.queries),
            degree=judged.degree,
            relevance=judged.relevance,
            reasons=judged.reasons,
            judged_by=judged_by,
            kept=judged.degree >= search_rules().papers.kept,
            whole=_is_whole(met.paper),
        )

    def _whole_texts(self, papers: list[FoundPaper]) -> list[FoundPaper]:
        """The same papers, those that are kept whole where PMC has them under an open licence."""
        http = self._means.http
        if http is None or "pmc" not in self._means.places:
            return papers
        pmc = Pmc(http, http.settings, self._day)
        lacking = [p for p in papers if p.kept and not p.whole and _pmcid(p.paper) and "index" not in p.places]
        wanted = lacking[: search_rules().limits.whole]
        whole: dict[str, FoundPaper] = {}
        with self._progress.step("reading whole papers", len(wanted)) as step:
            for found in wanted:
                whole[found.paper.id] = self._whole(pmc, found)
                step.advance()
        return [whole.get(p.paper.id, p) for p in papers]

    def _whole(self, pmc: Pmc, found: FoundPaper) -> FoundPaper:
        pmcid = _pmcid(found.paper)
        record = PaperRecord(pmcid, found.paper.ids, full_text=pmcid)
        try:
            paper = whole_of(pmc, record, self._folder)
        except SourceError as error:
            self._could_not("pmc", 0, error)
            return found
        open_one = paper is not None and open_licence(paper.licence)
        self._log.put("whole", paper=found.paper.id, found=paper is not None, open_licence=open_one)
        if paper is None:
            return found
        retracted = paper.retracted or found.paper.retracted
        if not open_one:
            # Only what says whether it counts is taken over.
            kept = found.paper.model_copy(update={"retracted": retracted})
        else:
            ids = tuple(dict.fromkeys((*found.paper.ids, *paper.ids)))
            kept = paper.model_copy(update={"ids": ids, "retracted": retracted, "recipe": "pmc"})
        changed = {"paper": kept, "whole": _is_whole(kept)}
        if retracted and not found.paper.retracted:
            changed |= {"degree": 1, "kept": False, "reasons": ("it is retracted",)}
        return found.model_copy(update=changed)

    def _data_sets_found(self) -> list[FoundDataSet]:
        """The data sets that were met, those that are usable first."""
        met = [*self._data_sets.values()]
        if not met:
            return []
        sets = [study_data_set(record) for record, _ in met]
        texts = [clean(record.description)[:5_000] for record, _ in met]
        judged_by = "rules"
        if self._means.model:
            judged_by = self._means.model.name
            shown = [
                JudgedRecord(s.title, text, {"species": s.species, "assay": s.assay, "samples": s.samples})
                for s, text in zip(sets, texts, strict=True)
            ]
            uses = self._means.model.uses(self._objective, shown)
        else:
            uses = [data_set_use(s, text, self._objective, self._concepts) for s, text in zip(sets, texts, strict=True)]
        found = [
            FoundDataSet(
                data_set=s,
                description=text,
                papers=record.papers,
                queries=tuple(numbers),
                usable=use.usable,
                reasons=use.reasons,
                judged_by=judged_by,
            )
            for s, text, use, (record, numbers) in zip(sets, texts, uses, met, strict=True)
        ]
        found.sort(key=lambda d: (not d.usable, d.data_set.id))
        for one in found:
            self._log.put("judged", data_set=one.data_set.id, usable=one.usable, reasons=list(one.reasons))
        return found


def _is_whole(paper: WholePaper) -> bool:
    return any(section.kind != "abstract" and section.paragraphs for section in paper.sections)


def _pmcid(paper: WholePaper) -> str:
    """The bare PMCID of a paper; empty where it has none."""
    return next((i.removeprefix("pmc:") for i in paper.ids if i.startswith("pmc:")), "")
