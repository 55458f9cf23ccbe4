"""NCBI's databases, GEO's page, BioStudies and PRIDE on loopback, in the forms that they send; all records made up."""

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


def project_summary(number: int, **more: Any) -> dict[str, Any]:
    return {
        "uid": str(number),
        "taxid": 9606,
        "project_id": number,
        "project_acc": f"PRJNA{number}",
        "project_type": "Primary submission",
        "project_data_type": "Transcriptome or Gene expression",
        "project_name": "Grey fever",
        "project_title": "Grey fever in blood",
        "project_description": "RNA-seq.",
        "organism_name": "Homo sapiens",
        "submitter_organization_list": ["A laboratory"],
    } | more


def run_summary(uid: int, study: str, sample: str) -> dict[str, Any]:
    return {
        "uid": str(uid),
        "expxml": '  <Summary><Title>one; RNA-Seq</Title><Platform instrument_model="X">ILLUMINA</Platform></Summary>'
        f'<Experiment acc="SRX{uid}" ver="2" status="public" name="one &amp; only"/>'
        f'<Study acc="{study}" name="Grey fever"/><Organism taxid="9606" ScientificName="Homo sapiens"/>'
        f'<Sample acc="{sample}" name=""/><Library_descriptor><LIBRARY_STRATEGY>RNA-Seq</LIBRARY_STRATEGY>'
        "<LIBRARY_LAYOUT><PAIRED/></LIBRARY_LAYOUT></Library_descriptor>  ",
        "runs": f'   <Run acc="SRR{uid}" total_spots="1" is_public="true"/>   ',
        "extlinks": "",
        "createdate": "2020/10/04",
        "updatedate": "2020/10/04",
    }


def biostudy(accession: str, **more: Any) -> dict[str, Any]:
    return {
        "accno": accession,
        "attributes": [{"name": "Title", "value": "Grey fever"}, {"name": "ReleaseDate", "value": "2020-01-01"}],
        "section": {
            "accno": f"s-{accession}",
            "type": "Study",
            "attributes": [
                {
                    "name": "Study type",
                    "value": "RNA-seq of coding RNA",
                    "valqual": [{"name": "Ontology", "value": "EFO"}],
                },
                {"name": "Organism", "value": "Homo sapiens"},
                {"name": "Description", "value": "Blood of patients."},
            ],
            "subsections": [
                [{"accno": "P-1", "type": "Protocols", "attributes": [{"name": "Hardware"}]}],
                {"type": "Samples", "attributes": [{"name": "Sample count", "value": "12"}], "subsections": []},
            ],
        },
        "type": "submission",
    } | more


def pride_project(accession: str, **more: Any) -> dict[str, Any]:
    return {
        "accession": accession,
        "title": "Proteome of grey fever",
        "projectDescription": "Shotgun proteomics of blood.",
        "submissionType": "COMPLETE",
        "organisms": [{"@type": "CvParam", "name": "Homo sapiens (human)", "accession": "NEWT:9606"}],
        "experimentTypes": [{"@type": "CvParam", "name": "Shotgun proteomics"}],
        "instruments": [{"@type": "CvParam", "name": "Q Exactive"}],
    } | more


class StudyServices:
    """What the services have: change it, and they answer so.

    ``pages`` are GEO's own pages by accession; ``statuses`` those of PRIDE.
    """

    def __init__(self, server: Loopback) -> None:
        self.server = server
        self.pubmed: dict[str, str] = {}
        self.pmc: dict[str, str] = {}
        self.pmids: dict[str, str] = {}
        """PMIDs by the uid of PMC."""
        self.summaries: dict[str, dict[str, dict[str, Any]]] = {"gds": {}, "bioproject": {}, "sra": {}}
        self.finds: dict[str, list[str]] = {}
        """By database, the uids that every search finds."""
        self.unknown: list[str] = []
        self.pages: dict[str, str] = {}
        self.studies: dict[str, dict[str, Any]] = {}
        self.statuses: dict[str, str] = {}
        self.projects: dict[str, dict[str, Any]] = {}
        server.route("POST", r"/esearch.fcgi", self._search)
        server.route("POST", r"/esummary.fcgi", self._summary)
        server.route("POST", r"/efetch.fcgi", self._fetch)
        server.route("GET", r"/query/acc.cgi", self._page)
        server.route("GET", r"/studies/(.+)", self._study)
        server.route("GET", r"/status/(.+)", self._status)
        server.route("GET", r"/projects/(.+)", self._project)

    def settings(self) -> dict[str, Any]:
        """Addresses and paces that lead here."""
        return addresses(self.server.url, "pubmed", "geo", "biostudies", "pride", "europepmc")

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
        elif database == "bioproject":
            found = [u for u in every if f"{self.summaries[database][u]['project_acc']}[PRJA]" in term]
        elif database == "sra":
            found = [u for u in every if f'"{term.removesuffix("[ACCN]")}"' in self._text(database, u)]
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

    def _study(self, seen: Seen, accession: str) -> Reply:
        if accession in self.studies:
            return Reply(body=self.studies[accession])
        return Reply(404, {"errorMessage": "Study not found"})

    def _status(self, seen: Seen, accession: str) -> Reply:
        return Reply(body=self.statuses.get(accession, "NOT_FOUND").encode(), headers=TEXT)

    def _project(self, seen: Seen, accession: str) -> Reply:
        return Reply(body=self.projects[accession])
