"""A small world of papers that cite each other, and the four services of papers over it, in their exact forms.

Papers are numbers: PMID n, DOI 10.5555/wn, the paper n of Semantic Scholar, the work Wn of OpenAlex.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from kgcheck.literature.jats import read_jats
from kgcheck.literature.lexical import Lexical
from kgcheck.literature.papers import WholePaper
from tests.support.loopback import Loopback, Reply, Seen
from tests.support.paper_services import XML, europe_record


class WorldPaper(NamedTuple):
    """A paper, and the numbers of those that it cites."""

    number: int
    title: str
    abstract: str
    year: int | None = 2015
    cites: tuple[int, ...] = ()
    retracted: bool = False
    cited_by: int | None = None
    text: str = ""
    """The whole paper as JATS, where its licence is open."""


class PaperWorld:
    """Papers by number, their links both ways, and a search by words."""

    def __init__(self, papers: Iterable[WorldPaper]) -> None:
        self.papers = {p.number: p for p in papers}
        self.citing: dict[int, list[int]] = {n: [] for n in self.papers}
        for paper in self.papers.values():
            for cited in paper.cites:
                self.citing.setdefault(cited, []).append(paper.number)

    @cached_property
    def _words(self) -> Lexical:
        return Lexical.of(f"{p.title} {p.abstract}" for p in self.papers.values())

    def search(self, query: str) -> list[WorldPaper]:
        """What has any of the words, the best first."""
        scores = self._words.scores(" ".join(re.findall(r"[a-z0-9-]+", query)))
        found = sorted(zip(scores.tolist(), self.papers.values(), strict=True), key=lambda s: (-s[0], s[1].number))
        return [paper for score, paper in found if score > 0]

    def cited_by(self, paper: WorldPaper) -> int:
        return len(self.citing[paper.number]) if paper.cited_by is None else paper.cited_by

    def at(self, numbers: Iterable[int]) -> list[WorldPaper]:
        return [self.papers[n] for n in numbers if n in self.papers]


class EuropeWorld:
    """Europe PMC. Every fifth paper is linked by its DOI alone."""

    def __init__(self, server: Loopback, world: PaperWorld, page: int = 1_000) -> None:
        self.world, self.page = world, page
        server.route("GET", r"/search", self._search)
        server.route("GET", r"/PMC(\d+)/fullTextXML", self._text)
        server.route("GET", r"/MED/(\d+)/(references|citations)", self._links)

    def _search(self, seen: Seen) -> Reply:
        query, mark = seen.query["query"], seen.query["cursorMark"]
        if named := re.findall(r'EXT_ID:(\d+)|DOI:"10\.5555/w(\d+)"', query):
            found = self.world.at(sorted({int(a or b) for a, b in named}))
        else:
            found = self.world.search(query)
        size, start = min(int(seen.query["pageSize"]), self.page), 0 if mark == "*" else int(mark)
        some = [self._record(p) for p in found[start : start + size]]
        body: dict[str, Any] = {"version": "6.9", "hitCount": len(found), "resultList": {"result": some}}
        body["request"] = {"queryString": query, "resultType": "core", "cursorMark": mark, "pageSize": size}
        if start + size < len(found):
            body["nextCursorMark"] = str(start + size)
        return Reply(body=body)

    def _record(self, paper: WorldPaper) -> dict[str, Any]:
        kinds = ["research-article", *(["Retracted Publication"] if paper.retracted else [])]
        free = {"isOpenAccess": "Y", "license": "cc by", "pmcid": f"PMC{paper.number}"} if paper.text else {}
        return europe_record(
            paper.number,
            doi=f"10.5555/w{paper.number}",
            title=escape(paper.title),
            abstractText=escape(paper.abstract),
            pubYear=str(paper.year or ""),
            pubTypeList={"pubType": kinds},
            citedByCount=self.world.cited_by(paper),
            **free,
        )

    def _text(self, seen: Seen, number: str) -> Reply:
        return Reply(body=self.world.papers[int(number)].text.encode(), headers=XML)

    def _links(self, seen: Seen, number: str, what: str) -> Reply:
        paper = self.world.papers[int(number)]
        numbers = paper.cites if what == "references" else self.world.citing[paper.number]
        links = [{"doi": f"10.5555/w{n}"} if n % 5 == 0 else {"id": str(n), "source": "MED"} for n in numbers]
        start = (int(seen.query["page"]) - 1) * int(seen.query["pageSize"])
        some = links[start : start + int(seen.query["pageSize"])]
        kind = what.removesuffix("s")
        request = {"id": number, "source": "MED"}
        body = {"version": "6.9", "hitCount": len(links), "request": request, f"{kind}List": {kind: some}}
        return Reply(body=body)


class EutilsWorld:
    """ESearch, EFetch and ELink."""

    def __init__(self, server: Loopback, world: PaperWorld) -> None:
        self.world = world
        server.route("POST", r"/esearch.fcgi", self._search)
        server.route("POST", r"/efetch.fcgi", self._fetch)
        server.route("POST", r"/elink.fcgi", self._link)

    def _search(self, seen: Seen) -> Reply:
        assert seen.form.get("sort") == "relevance"
        start, most = int(seen.form["retstart"]), int(seen.form["retmax"])
        found = self.world.search(seen.form["term"])
        ids = [str(p.number) for p in found[start : start + most]]
        inner = {"count": str(len(found)), "retmax": str(len(ids)), "retstart": str(start), "idlist": ids}
        return Reply(body={"header": {"type": "esearch", "version": "0.3"}, "esearchresult": inner})

    def _fetch(self, seen: Seen) -> Reply:
        found = self.world.at(map(int, seen.form["id"].split(",")))
        inner = "".join(self._record(p) for p in found)
        return Reply(body=f'<?xml version="1.0" ?><PubmedArticleSet>{inner}</PubmedArticleSet>'.encode(), headers=XML)

    def _record(self, paper: WorldPaper) -> str:
        gone = '<CommentsCorrectionsList><CommentsCorrections RefType="RetractionIn"/></CommentsCorrectionsList>'
        cited = "".join(
            f'<Reference><Citation>X</Citation><ArticleIdList><ArticleId IdType="pubmed">{n}</ArticleId>'
            "</ArticleIdList></Reference>"
            for n in paper.cites
        )
        return (
            f'<PubmedArticle><MedlineCitation><PMID Version="1">{paper.number}</PMID><Article><Journal><JournalIssue>'
            f"<PubDate><Year>{paper.year or ''}</Year></PubDate></JournalIssue><Title>J</Title></Journal><ArticleTitle>"
            f"{escape(paper.title)}</ArticleTitle><Abstract><AbstractText>{escape(paper.abstract)}</AbstractText>"
            f"</Abstract></Article>{gone if paper.retracted else ''}</MedlineCitation><PubmedData><ArticleIdList>"
            f'<ArticleId IdType="doi">10.5555/w{paper.number}</ArticleId></ArticleIdList><ReferenceList>{cited}'
            "</ReferenceList></PubmedData></PubmedArticle>"
        )

    def _link(self, seen: Seen) -> Reply:
        links = [str(n) for n in self.world.citing[int(seen.form["id"])]]
        linked = [{"dbto": "pubmed", "linkname": "pubmed_pubmed_citedin", "links": links}] if links else []
        sets = [{"dbfrom": "pubmed", "ids": [seen.form["id"]], "linksetdbs": linked}]
        return Reply(body={"header": {"type": "elink", "version": "0.3"}, "linksets": sets})


class ScholarWorld:
    """The graph of Semantic Scholar: a ranked search, papers in lots, links. It knows of no retraction."""

    def __init__(self, server: Loopback, world: PaperWorld) -> None:
        self.world = world
        server.route("GET", r"/paper/search", self._search)
        server.route("POST", r"/paper/batch", self._lot)
        server.route("GET", r"/paper/([0-9a-f]{40})/(references|citations)", self._links)

    def _search(self, seen: Seen) -> Reply:
        found = self.world.search(seen.query["query"])
        some = found[: int(seen.query["limit"])]
        body: dict[str, Any] = {"total": len(found), "offset": 0, "data": list(map(self._paper, some))}
        return Reply(body=body | ({"next": len(some)} if len(some) < len(found) else {}))

    def _lot(self, seen: Seen) -> Reply:
        assert seen.headers["Content-Type"] == "application/json"
        names = json.loads(seen.body)["ids"]
        numbers = [int(n, 16) if len(n) == 40 else int(re.sub(r".*[:w]", "", n)) for n in names]
        return Reply(body=[self._paper(self.world.papers[n]) if n in self.world.papers else None for n in numbers])

    def _paper(self, paper: WorldPaper) -> dict[str, Any]:
        return {
            "paperId": f"{paper.number:040x}",
            "title": paper.title,
            "abstract": paper.abstract or None,
            "year": paper.year,
            "venue": "J",
            "externalIds": {"PubMed": str(paper.number), "DOI": f"10.5555/W{paper.number}", "CorpusId": paper.number},
            "publicationTypes": None,
            "citationCount": self.world.cited_by(paper),
        }

    def _links(self, seen: Seen, key: str, what: str) -> Reply:
        paper = self.world.papers[int(key, 16)]
        numbers = paper.cites if what == "references" else self.world.citing[paper.number]
        end = "citedPaper" if what == "references" else "citingPaper"
        # Every fifth is known by nothing but its own id.
        ends = [{"paperId": f"{n:040x}", "externalIds": None if n % 5 == 0 else {"PubMed": str(n)}} for n in numbers]
        start, limit = int(seen.query["offset"]), int(seen.query["limit"])
        more = {"next": start + limit} if start + limit < len(ends) else {}
        return Reply(body={"offset": start, "data": [{end: e} for e in ends[start : start + limit]], **more})


class AlexWorld:
    """The works of OpenAlex, a hundred a page."""

    def __init__(self, server: Loopback, world: PaperWorld) -> None:
        self.world = world
        server.route("GET", r"/works", self._works)

    def _works(self, seen: Seen) -> Reply:
        kind, _, values = seen.query.get("filter", "").partition(":")
        if kind == "cites":
            found = self.world.at(self.world.citing[int(values.removeprefix("W"))])
        elif kind:
            found = self.world.at(int(v.rpartition("/")[2].strip("wW")) for v in values.split("|"))
        else:
            found = self.world.search(seen.query["search"])
        page, size = int(seen.query["page"]), int(seen.query["per-page"])
        some = [self._work(p) for p in found[(page - 1) * size : page * size]]
        return Reply(body={"meta": {"count": len(found), "page": page, "per_page": size}, "results": some})

    def _work(self, paper: WorldPaper) -> dict[str, Any]:
        words: dict[str, list[int]] = {}
        for at, word in enumerate(paper.abstract.split()):
            words.setdefault(word, []).append(at)
        own = f"https://openalex.org/W{paper.number}"
        return {
            "id": own,
            "doi": f"https://doi.org/10.5555/w{paper.number}",
            "ids": {"openalex": own, "pmid": f"https://pubmed.ncbi.nlm.nih.gov/{paper.number}"},
            "display_name": paper.title,
            "publication_year": paper.year,
            "type": "article",
            "is_retracted": paper.retracted,
            "abstract_inverted_index": words or None,
            "primary_location": {"license": "cc-by", "source": {"display_name": "J"}},
            "referenced_works": [f"https://openalex.org/W{n}" for n in paper.cites],
            "cited_by_count": self.world.cited_by(paper),
        }


WORLDS = {"europepmc": EuropeWorld, "pubmed": EutilsWorld, "semantic_scholar": ScholarWorld, "openalex": AlexWorld}


def plos_world(folder: Path, without: Sequence[str] = ()) -> tuple[PaperWorld, dict[str, WorldPaper]]:
    """The papers of a folder as records, and what they cite as records with a title alone, which stands as abstract."""
    whole = {f.stem: p for f in sorted(folder.glob("*.xml")) for _, p in read_jats(f) if isinstance(p, WholePaper)}
    numbers: dict[str, int] = {}
    works: dict[int, WorldPaper] = {}
    cites: dict[str, list[int]] = {name: [] for name in whole}
    for name, paper in whole.items():
        for work in paper.references:
            title = work.title or work.text
            plain = " ".join(re.findall(r"\w+", title.casefold()))
            if len(plain) < 10:
                continue
            number = numbers.setdefault(plain, 1_001 + len(numbers))
            works.setdefault(number, WorldPaper(number, title, title, work.year))
            cites[name].append(number)
    own: dict[str, WorldPaper] = {}
    for number, (name, paper) in enumerate(whole.items(), 1):
        abstract = " ".join(p.text for s in paper.sections if s.kind == "abstract" for p in s.paragraphs)
        linked = tuple(dict.fromkeys(cites[name]))
        own[name] = WorldPaper(number, paper.title, abstract or paper.title, paper.year, linked)
    here = [p for name, p in own.items() if name not in without]
    return PaperWorld([*here, *works.values()]), own
