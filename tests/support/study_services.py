"""NCBI's databases and GEO's page on loopback, in the forms that they send; all records made up."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.jats import article
from tests.support.loopback import Loopback, Reply, Seen, addresses

XML = {"Content-Type": "text/xml; charset=UTF-8"}
TEXT = {"Content-Type": "text/plain"}
HTML = {"Content-Type": "text/html; charset=UTF-8"}


def holds(term: str, text: str) -> bool:
    """Whether a text fits a query of groups: each in brackets, its terms in quotes, perhaps with a field."""
    folded = text.casefold()
    groups = term.split(" AND ")
    quoted = [re.findall(r'"([^"]+)"(?:\[(\w+)\])?', group) for group in groups]
    assert all(quoted) or groups[-1] == "gse[ETYP]", f"a group without terms: {term}"
    wanted = [g for g in quoted if g and g[0][1].lower() not in ("orgn", "filter")]
    return all(any(name.casefold() in folded for name, _ in group) for group in wanted)


def pubmed_article(
    number: int, title: str, abstract: str, *, pmc: int | None = None, kind: str = "Journal Article"
) -> str:
    pmcid = f'<ArticleId IdType="pmc">PMC{pmc}</ArticleId>' if pmc else ""
    return (
        f'<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{number}</PMID><Article>'
        "<Journal><JournalIssue><PubDate><Year>2020</Year></PubDate></JournalIssue><Title>A journal</Title></Journal>"
        f"<ArticleTitle>{title}</ArticleTitle><Abstract><AbstractText>{abstract}</AbstractText></Abstract>"
        f"<PublicationTypeList><PublicationType>{kind}</PublicationType></PublicationTypeList></Article>"
        f'</MedlineCitation><PubmedData><ArticleIdList><ArticleId IdType="pubmed">{number}</ArticleId>{pmcid}'
        "</ArticleIdList></PubmedData></PubmedArticle>"
    )


def pmc_article(pmc: int, pmid: int, title: str, licence: str = "https://creativecommons.org/licenses/by/4.0/") -> str:
    text = article(f"10.5555/c{pmc}", pmid=str(pmid), title=title)
    text = text.replace("</article-id>", f'</article-id><article-id pub-id-type="pmcid">PMC{pmc}</article-id>', 1)
    return text.replace("https://creativecommons.org/licenses/by/4.0/", licence).partition('JATS.dtd">\n')[2]


def gds_summary(number: int, **more: Any) -> dict[str, Any]:
    """A series as ESummary has it."""
    return {
        "uid": str(200_000_000 + number),
        "accession": f"GSE{number}",
        "gds": "",
        "title": "Grey fever in blood",
        "summary": "RNA-seq of blood of patients with grey fever and of healthy people.",
        "gpl": "24247",
        "gse": str(number),
        "taxon": "Homo sapiens",
        "entrytype": "GSE",
        "gdstype": "Expression profiling by high throughput sequencing",
        "ptechtype": "",
        "pdat": "2020/10/04",
        "suppfile": "TXT",
        "samples": [{"accession": "GSM1", "title": "one"}],
        "relations": [],
        "n_samples": 24,
        "pubmedids": ["11"],
        "ftplink": "",
        "bioproject": "PRJNA1",
    } | more


class StudyServices:
    """What the services have: change it, and they answer so.

    ``pages`` are GEO's own pages by accession.
    """

    def __init__(self, server: Loopback) -> None:
        self.server = server
        self.pubmed: dict[str, str] = {}
        self.pmc: dict[str, str] = {}
        self.pmids: dict[str, str] = {}
        """PMIDs by the uid of PMC."""
        self.summaries: dict[str, dict[str, dict[str, Any]]] = {"gds": {}}
        self.finds: dict[str, list[str]] = {}
        """By database, the uids that every search finds."""
        self.unknown: list[str] = []
        self.pages: dict[str, str] = {}
        server.route("POST", r"/esearch.fcgi", self._search)
        server.route("POST", r"/esummary.fcgi", self._summary)
        server.route("POST", r"/efetch.fcgi", self._fetch)
        server.route("GET", r"/query/acc.cgi", self._page)

    def settings(self) -> dict[str, Any]:
        """Addresses and paces that lead here."""
        return addresses(self.server.url, "pubmed", "geo", "europepmc")

    def set_environment(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        """Let commands ask here, once each, and keep answers in a folder."""
        given = self.settings() | {"cache_dir": folder / "cache", "http_attempts": 1}
        for name, value in given.items():
            monkeypatch.setenv(f"KGCHECK_{name.upper()}", str(value))

    def calls(self, path: str, database: str = "") -> list[Seen]:
        """The calls to a path, and of a database."""
        return [c for c in self.server.calls if path in c.path and database in ("", c.form.get("db"))]

    def _text(self, database: str, uid: str) -> str:
        if database == "pubmed":
            return self.pubmed[uid]
        return self.pmc[uid] if database == "pmc" else " ".join(map(str, self.summaries[database][uid].values()))

    def _search(self, seen: Seen) -> Reply:
        database, term = seen.form["db"], seen.form["term"]
        every: list[str] = list(
            {"pubmed": self.pubmed, "pmc": self.pmc}.get(database) or self.summaries.get(database, {})
        )
        if database in self.finds:
            found = self.finds[database]
        else:
            found = [u for u in every if holds(term, self._text(database, u))]
        start, most = int(seen.form["retstart"]), int(seen.form["retmax"])
        ids = found[start : start + most]
        result: dict[str, Any] = {
            "count": str(len(found)),
            "retmax": str(len(ids)),
            "retstart": str(start),
            "idlist": ids,
            "translationset": [],
            "querytranslation": term,
        }
        if self.unknown:
            result["errorlist"] = {"phrasesnotfound": self.unknown, "fieldsnotfound": []}
        return Reply(body={"header": {"type": "esearch", "version": "0.3"}, "esearchresult": result})

    def _summary(self, seen: Seen) -> Reply:
        database, uids = seen.form["db"], seen.form["id"].split(",")
        entries = {u: self._summary_of(database, u) for u in uids}
        return Reply(body={"header": {"type": "esummary", "version": "0.3"}, "result": {"uids": uids, **entries}})

    def _summary_of(self, database: str, uid: str) -> dict[str, Any]:
        if database == "pmc" and uid in self.pmc:
            ids = [("pmid", self.pmids.get(uid, "0")), ("pmcid", f"PMC{uid}"), ("doi", f"10.5555/c{uid}")]
            listed = [{"idtype": kind, "value": value} for kind, value in ids]
            title = re.findall(r"<article-title>(.*?)</article-title>", self.pmc[uid])[0]
            return {"uid": uid, "pubdate": "2020 Jan 1", "title": title, "articleids": listed, "fulljournalname": "J"}
        return self.summaries.get(database, {}).get(uid) or {"uid": uid, "error": "cannot get document summary"}

    def _fetch(self, seen: Seen) -> Reply:
        uids = seen.form["id"].split(",")
        if seen.form["db"] == "pmc":
            inner = "".join(
                self.pmc.get(u, f'<Reply Id="{u}" error="The following PMCID is not available: {u}"/>') for u in uids
            )
            return Reply(body=f'<?xml version="1.0"?><pmc-articleset>{inner}</pmc-articleset>'.encode(), headers=XML)
        inner = "".join(self.pubmed[u] for u in uids if u in self.pubmed)
        return Reply(body=f"<PubmedArticleSet>{inner}</PubmedArticleSet>".encode(), headers=XML)

    def _page(self, seen: Seen) -> Reply:
        accession = seen.query["acc"]
        text = self.pages.get(accession, f'Could not find a public or private accession "{accession}"')
        if text.startswith("^"):
            return Reply(body=text.encode(), headers=TEXT)
        return Reply(body=f"<HTML><BODY><font>{text}</font></BODY></HTML>".encode(), headers=HTML)
