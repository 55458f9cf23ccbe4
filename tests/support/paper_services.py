"""Services of papers on loopback, in the forms that they document; those of Semantic Scholar are the recorded ones."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.support.jats import article
from tests.support.loopback import Loopback, Reply, Seen

XML = {"Content-Type": "application/xml"}


def europe_record(number: int, **more: Any) -> dict[str, Any]:
    """A record of the result type core, made up."""
    return {
        "id": str(number),
        "source": "MED",
        "pmid": str(number),
        "doi": f"10.5555/e{number}",
        "title": f"Kinase {number}",
        "abstractText": f"<h4>Results</h4>Kinase {number} binds kinase B.",
        "pubYear": "2014",
        "journalInfo": {"journal": {"title": "J"}},
        "pubTypeList": {"pubType": ["research-article"]},
        "isOpenAccess": "N",
    } | more


class EuropeServer:
    """The REST service of Europe PMC: pages by a mark, whole papers, links."""

    def __init__(self, server: Loopback, records: Sequence[dict[str, Any]]) -> None:
        self.records = list(records)
        self.texts: dict[str, str] = {}
        self.links: dict[str, list[dict[str, Any]]] = {}
        self.page = 2
        server.route("GET", r"/search", self._search)
        server.route("GET", r"/(PMC\d+)/fullTextXML", self._text)
        server.route("GET", r"/([A-Z]+)/(\d+)/(references|citations)", self._links)

    def _search(self, seen: Seen) -> Reply:
        mark, size = seen.query["cursorMark"], min(int(seen.query["pageSize"]), self.page)
        start = 0 if mark == "*" else int(mark)
        some = self.records[start : start + size]
        body = {
            "version": "6.9",
            "hitCount": len(self.records),
            "request": {"queryString": seen.query["query"], "resultType": "core", "cursorMark": mark, "pageSize": size},
            "resultList": {"result": some},
        }
        if start + size < len(self.records):
            body["nextCursorMark"] = str(start + size)
        return Reply(body=body)

    def _text(self, seen: Seen, pmcid: str) -> Reply:
        return Reply(body=self.texts[pmcid].encode(), headers=XML) if pmcid in self.texts else Reply(404, b"", XML)

    def _links(self, seen: Seen, source: str, name: str, what: str) -> Reply:
        found = self.links.get(f"{name}/{what}", [])
        inner = {f"{what.removesuffix('s')}List": {what.removesuffix("s"): found}}
        return Reply(
            body={"version": "6.9", "hitCount": len(found), "request": {"id": name, "source": source}, **inner}
        )


def pubmed_record(number: int, extra: str = "") -> str:
    return (
        f'<PubmedArticle><MedlineCitation><PMID Version="1">{number}</PMID><Article><Journal><JournalIssue><PubDate>'
        "<Year>2012</Year></PubDate></JournalIssue><Title>A journal</Title></Journal>"
        f"<ArticleTitle>Kinase {number}</ArticleTitle><Abstract><AbstractText>Kinase {number} binds kinase B."
        "</AbstractText></Abstract></Article>" + extra + "</MedlineCitation><PubmedData><ArticleIdList>"
        f'<ArticleId IdType="doi">10.5555/p{number}</ArticleId></ArticleIdList><ReferenceList><Reference>'
        '<Citation>X</Citation><ArticleIdList><ArticleId IdType="pubmed">77</ArticleId></ArticleIdList></Reference>'
        "</ReferenceList></PubmedData></PubmedArticle>"
    )


class EutilsServer:
    """ESearch and ELink in JSON, EFetch in XML."""

    def __init__(self, server: Loopback, records: Mapping[str, str]) -> None:
        self.records = dict(records)
        server.route("POST", r"/esearch.fcgi", self._search)
        server.route("POST", r"/efetch.fcgi", self._fetch)
        server.route("POST", r"/elink.fcgi", self._link)

    def _search(self, seen: Seen) -> Reply:
        start, most = int(seen.form["retstart"]), int(seen.form["retmax"])
        ids = list(self.records)[start : start + most]
        found = {"count": str(len(self.records)), "retmax": str(len(ids)), "retstart": str(start), "idlist": ids}
        return Reply(body={"header": {"type": "esearch", "version": "0.3"}, "esearchresult": found})

    def _fetch(self, seen: Seen) -> Reply:
        inner = "".join(self.records[i] for i in seen.form["id"].split(",") if i in self.records)
        head = '<?xml version="1.0" ?><!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "pubmed.dtd">'
        return Reply(body=f"{head}<PubmedArticleSet>{inner}</PubmedArticleSet>".encode(), headers=XML)

    def _link(self, seen: Seen) -> Reply:
        name = "pubmed_pubmed_citedin"
        linked = [{"dbto": "pubmed", "linkname": name, "links": ["901", "902"]}]
        sets = [{"dbfrom": "pubmed", "ids": [seen.form["id"]], "linksetdbs": linked}]
        return Reply(body={"header": {"type": "elink", "version": "0.3"}, "linksets": sets})


def recorded(folder: Path, name: str) -> list[Any]:
    """The bodies of a recorded exchange, in order."""
    import yaml

    whole = yaml.safe_load((folder / f"{name}.yaml").read_text())
    answers = [i["response"] for i in whole["interactions"]]
    return [json.loads(a["content"] if "content" in a else a["body"]["string"]) for a in answers]


class ScholarServer:
    """The graph of Semantic Scholar: a search in bulk with tokens, and links by offset."""

    def __init__(self, server: Loopback, pages: Sequence[dict[str, Any]]) -> None:
        self.pages = list(pages)
        self.linked: dict[str, list[Any]] = {}
        server.route("GET", r"/paper/search/bulk", self._search)
        server.route("GET", r"/paper/(\w+)/(references|citations)", self._links)

    def _search(self, seen: Seen) -> Reply:
        tokens = ["", *(str(page.get("token")) for page in self.pages)]
        return Reply(body=self.pages[tokens.index(seen.query.get("token", ""))])

    def _links(self, seen: Seen, key: str, what: str) -> Reply:
        bodies = self.linked.get(what, [{"offset": 0, "data": []}])
        return Reply(body=next(b for b in bodies if b["offset"] == int(seen.query["offset"])))


def alex_work(number: int, **more: Any) -> dict[str, Any]:
    """A work of OpenAlex, made up, with the keys that are selected."""
    return {
        "id": f"https://openalex.org/W{number}",
        "doi": f"https://doi.org/10.5555/a{number}",
        "ids": {"openalex": f"https://openalex.org/W{number}", "pmid": f"https://pubmed.ncbi.nlm.nih.gov/{number}"},
        "display_name": f"Kinase {number}",
        "publication_year": 2015,
        "type": "article",
        "is_retracted": False,
        "abstract_inverted_index": {"Kinase": [0, 3], f"{number}": [1], "binds": [2], "B.": [4]},
        "primary_location": {"license": "cc-by", "source": {"display_name": "J"}},
        "referenced_works": ["https://openalex.org/W9"],
    } | more


class AlexServer:
    """The works of OpenAlex, a hundred a page."""

    def __init__(self, server: Loopback, works: Sequence[dict[str, Any]]) -> None:
        self.works = list(works)
        server.route("GET", r"/works", self._works)
        server.route("GET", r"/works/(.+)", self._work)

    def _work(self, seen: Seen, name: str) -> Reply:
        """One by its DOI or PMID, under which every work has it in another form."""
        value = unquote(name).partition(":")[2]
        for work in self.works:
            if value in (
                str(work["doi"]).removeprefix("https://doi.org/"),
                str(work["ids"]["pmid"]).rpartition("/")[2],
            ):
                return Reply(body=work)
        return Reply(404, b"<!doctype html><title>404 Not Found</title>", {"Content-Type": "text/html"})

    def _works(self, seen: Seen) -> Reply:
        page, size = int(seen.query["page"]), int(seen.query["per-page"])
        works = [alex_work(901)] if "filter" in seen.query else self.works
        some = works[(page - 1) * size : page * size]
        return Reply(body={"meta": {"count": len(works), "page": page, "per_page": size}, "results": some})


def open_paper(number: int) -> dict[str, Any]:
    """A record with an open licence, whose whole paper `whole_paper` is."""
    return europe_record(number, isOpenAccess="Y", license="cc by", pmcid=f"PMC{number}")


def whole_paper(number: int) -> str:
    return article(f"10.5555/e{number}", pmid=str(number), title=f"Kinase {number}")


def crossref_work(doi: str, **more: Any) -> dict[str, Any]:
    """A work of Crossref, made up."""
    return {
        "DOI": doi,
        "type": "journal-article",
        "title": ["Kinase A binds kinase B in growing yeast cells"],
        "author": [{"given": "Jane", "family": "Doe", "sequence": "first"}, {"given": "R", "family": "Roe"}],
        "container-title": ["A journal"],
        "published-print": {"date-parts": [[2012, 3]]},
        "published-online": {"date-parts": [[2011, 12, 20]]},
        "issued": {"date-parts": [[2011, 12, 20]]},
        "volume": "33",
        "page": "588-602",
    } | more


class CrossrefServer:
    """The works of Crossref by DOI, by words, and who registered a DOI."""

    def __init__(self, server: Loopback, works: Sequence[dict[str, Any]]) -> None:
        self.works = {str(work["DOI"]).casefold(): work for work in works}
        self.found: list[dict[str, Any]] = []
        self.agencies: dict[str, str] = {}
        server.route("GET", r"/works/(.+)/agency", self._agency)
        server.route("GET", r"/works/(.+)", self._work)
        server.route("GET", r"/works", self._search)

    def _work(self, seen: Seen, doi: str) -> Reply:
        return self._message("work", self.works.get(unquote(doi).casefold()))

    def _agency(self, seen: Seen, doi: str) -> Reply:
        name = unquote(doi).casefold()
        agency = "crossref" if name in self.works else self.agencies.get(name)
        return self._message("work-agency", agency and {"DOI": name, "agency": {"id": agency, "label": agency}})

    def _search(self, seen: Seen) -> Reply:
        some = self.found[: int(seen.query["rows"])]
        listed = {"facets": {}, "total-results": len(self.found), "items": some, "items-per-page": len(some)}
        return self._message("work-list", listed)

    def _message(self, kind: str, message: Any) -> Reply:
        if message is None:
            return Reply(404, b"Resource not found.", {"Content-Type": "text/plain"})
        return Reply(body={"status": "ok", "message-type": kind, "message-version": "1.0.0", "message": message})
