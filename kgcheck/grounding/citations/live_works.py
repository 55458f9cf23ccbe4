"""Look up cited works at Crossref (DOI, title), PubMed (PMID) and OpenAlex."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from kgcheck import clock
from kgcheck.errors import SourceError
from kgcheck.grounding.citations.references import judge_reference
from kgcheck.literature.documents import clean
from kgcheck.literature.papers import CitedWork
from kgcheck.literature.works import Work, Works, WorksFound, WorkStatement, silent
from kgcheck.model import Evidence
from kgcheck.providers.crossref import Crossref
from kgcheck.providers.http import Http
from kgcheck.providers.ncbi import PubMed
from kgcheck.providers.openalex import OpenAlex
from kgcheck.providers.paper_service import WorkFields
from kgcheck.settings import Settings

_Answers = defaultdict[str, list[Any]]  # answers about one reference so far, by field of WorksFound


class LiveWorks:
    """The works of Crossref, PubMed and OpenAlex, which are asked now."""

    def __init__(self, http: Http, settings: Settings, day: str = "") -> None:
        self._day = day or clock.today().isoformat()
        self._crossref = Crossref(http, settings, self._day)
        self._pubmed = PubMed(http, settings, self._day)
        self._openalex = OpenAlex(http, settings, self._day)

    def find(self, references: Sequence[CitedWork]) -> list[WorksFound]:
        """Find references: PMIDs are asked in lots, and titles only where no id agrees; see Works."""
        known: dict[str, WorkFields | None] = {}
        failure = ""
        try:
            known = self._pubmed.works(tuple(dict.fromkeys(r.pmid for r in references if r.pmid)))
        except SourceError as error:
            failure = error.message
        return [self._one(reference, known, failure) for reference in references]

    def _one(self, reference: CitedWork, known: dict[str, WorkFields | None], failure: str) -> WorksFound:
        got, pmid = _Answers(list), reference.pmid
        if pmid and failure:
            got["unavailable"].append(failure)
        elif pmid and pmid not in known:
            got["absent"].append(self._silent("pubmed", f"pmid:{pmid}", complete=True))
        elif pmid and (fields := known[pmid]):
            got["by_id"].append(self._work("pubmed", fields))
        elif pmid:
            got["unavailable"].append("PubMed has it as a book, which is not compared")
        try:
            if reference.doi:
                self._by_doi(reference.doi.casefold(), got)
        except SourceError as error:
            got["unavailable"].append(error.message)
        if reference.title and not judge_reference(reference, WorksFound.model_validate(got)).confirmed:
            author = reference.authors[0] if reference.authors else ""
            words = " ".join(filter(None, (clean(reference.title), author, str(reference.year or ""))))
            try:
                got["similar"] += [self._work("crossref", fields) for fields in self._crossref.search(words)]
                got["looked"].append(self._silent("crossref", words, complete=False))
            except SourceError as error:
                got["unavailable"].append(error.message)
        return WorksFound.model_validate(got)

    def _by_doi(self, doi: str, got: _Answers) -> None:
        if fields := self._crossref.work(doi):
            got["by_id"].append(self._work("crossref", fields))
            return
        if not self._crossref.agency(doi):
            got["absent"].append(self._silent("crossref", f"doi:{doi}", complete=True))
            return
        got["looked"].append(self._silent("crossref", f"doi:{doi}", complete=False))
        if fields := self._openalex.work(f"doi:{doi}"):
            got["by_id"].append(self._work("openalex", fields))
        else:
            got["looked"].append(self._silent("openalex", f"doi:{doi}", complete=False))

    def _silent(self, source: str, record: str, *, complete: bool) -> Evidence:
        return silent(source, self._day, clock.now(), record, complete=complete)

    def _work(self, source: str, fields: WorkFields) -> Work:
        statement = WorkStatement(
            source=source,
            release=self._day,
            record=fields.key,
            retrieved_at=fields.retrieved_at or clock.now(),
            titles=tuple(dict.fromkeys(filter(None, map(clean, fields.titles)))),
            journal=clean(fields.journal),
            author=clean(fields.author),
            **{name: getattr(fields, name) for name in ("url", "years", "volume", "issue", "page", "last_page")},
        )
        return Work(ids=fields.ids, statements=(statement,), retracted=fields.retracted, notices=fields.notices)


class WorksInTurn:
    """Several worlds, one after the other: the next is asked for what the one before does not confirm."""

    def __init__(self, *worlds: Works) -> None:
        self._worlds = worlds

    def find(self, references: Sequence[CitedWork]) -> list[WorksFound]:
        """Find references in one world after the other; see Works."""
        found = [WorksFound() for _ in references]
        open_places = list(range(len(references)))
        for world in self._worlds:
            for place, more in zip(open_places, world.find([references[p] for p in open_places]), strict=True):
                both = {name: (*getattr(found[place], name), *getattr(more, name)) for name in WorksFound.model_fields}
                found[place] = WorksFound(**both)
            open_places = [p for p in open_places if not judge_reference(references[p], found[p]).confirmed]
        return found
