"""What comments of UniProt say of diseases and tissues, in terms of ontologies. Where in doubt, nothing.

A disease is the term that alone has its number at OMIM or, for one without a number, alone has its name. A tissue is a
term whose whole name stands in a sentence that says plainly where the protein is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import duckdb

from kgcheck.providers.uniprot_entry import EvidenceOrigin, UniProtEntry

TISSUE, DISEASE = "tissue", "disease"
"""Kinds of links."""

XREF = "xref"
"""Attribute under which a snapshot keeps the cross-references of terms."""

_LONGEST_NAME = 6

_EXPRESSION = re.compile(r"(?i)\b(?:express\w*|detected|found|present|abundant\w*|ubiquitous\w*|restricted)\b")
_DOUBT = re.compile(
    r"(?i)\b(?:no|not|non|nor|neither|never|none|absen\w*|lack\w*|undetect\w*|un\w*express\w*|without|except\w*|but|although"
    r"|low\w*|weak\w*|little|less|least|barely|hardly|negligibl\w*|minim\w*|faint\w*|trace\w*|scarce\w*|rare\w*|few"
    r"|limited|moderate\w*|reduc\w*|decreas\w*|down\w*|loss|lost|declin\w*|suppress\w*|silenc\w*|inhibit\w*"
    r"|may|might|could|possibl\w*|probabl\w*|putativ\w*|unclear|unknown|suggest\w*|predict\w*|contrast|instead|than"
    r"|cancer\w*|carcinom\w*|tumou?r\w*|malignan\w*|leuk\w*|lymphoma\w*|sarcom\w*|blastom\w*|glioma\w*|melanoma\w*"
    r"|patient\w*|disease\w*|disorder\w*|patholog\w*|lesion\w*|injur\w*|inflam\w*|infect\w*|mutant\w*|mutat\w*"
    r"|mouse|mice|murine|rats?|rodent\w*|chicken|bovine|monkey\w*|transfect\w*|knock\w*|overexpress\w*|induc\w*"
    r"|stimulat\w*|treat\w*|upregulat\w*|up|cultur\w*|cells?|lines?)\b"
)
_HEDGED = re.compile(
    r"(?i)\b(?:no|not|non|nor|neither|never|unlikely|unclear|unknown|uncertain|may|might|could|possibl\w*|probabl\w*"
    r"|putativ\w*|suggest\w*|protect\w*|resist\w*|refut\w*|controvers\w*|disput\w*|question\w*|modif\w*|contribut\w*)\b"
)
_CITED = re.compile(r"\((?:PubMed|Ref)[^()]*\)|\{[^{}]*\}")
_WORD = re.compile(r"[A-Za-z0-9][\w'/+-]*|[^\s\w]")
_BEFORE = frozenset({"in", "the", "and", "or", "adult", "human", "normal", "including", ",", ":"})
_AFTER = frozenset({"", "and", "or", "where", ",", ".", ";", ")", "("})
_NO_TISSUE = frozenset(
    "adult animal body cell culture embryo fetus female head male organ plant region root seed stem tissue".split()
)
"""Names of terms that are words of every day, too."""


class Terms(NamedTuple):
    """Live terms of the ontologies, each by what it alone is called: names in lower case, and numbers of OMIM."""

    tissues: Mapping[str, str] = {}
    diseases: Mapping[str, str] = {}
    by_mim: Mapping[str, str] = {}


NO_TERMS = Terms()
"""Without ontologies, no comment is understood."""


def terms_of(db: duckdb.DuckDBPyConnection, catalog: str = "") -> Terms:
    """The terms that a snapshot knows."""

    def alone(source: str, attribute: str, value: str) -> dict[str, str]:
        rows = db.execute(
            f"""
            SELECT {value} AS called, any_value(id) FROM {catalog}value
            WHERE source = $source AND attribute = $attribute AND status = 'current' AND {value} <> ''
              AND id NOT IN (SELECT id FROM {catalog}entity WHERE source = $source AND state <> 'current')
            GROUP BY called HAVING count(DISTINCT id) = 1
            """,
            {"source": source, "attribute": attribute},
        ).fetchall()
        return {str(called): str(term) for called, term in rows}

    tissues = alone("bto", "name", "lower(value)")
    return Terms(
        {name: term for name, term in tissues.items() if len(name) > 3 and name not in _NO_TISSUE},
        alone("do", "name", "lower(value)"),
        alone("do", XREF, "regexp_extract(value, '^O?MIM:([0-9]+)$', 1)"),
    )


def tissues_in(text: str, terms: Terms) -> list[str]:
    """The tissues in which a text says plainly that a protein is."""
    found: dict[str, None] = {}
    for sentence in re.split(r"[.;](?:\s|$)", _CITED.sub("", text)):
        if _EXPRESSION.search(sentence) and not _DOUBT.search(sentence.replace("-", " ")):
            found |= dict.fromkeys(_mentions(_WORD.findall(sentence.lower()), terms.tissues))
    return list(found)


def _mentions(words: list[str], names: Mapping[str, str]) -> Iterator[str]:
    """Terms whose whole name stands between words that end no longer name, the longest names first."""
    at = 0
    while at < len(words):
        for size in range(min(_LONGEST_NAME, len(words) - at), 0, -1):
            if term := names.get(" ".join(words[at : at + size])):
                after = words[at + size] if at + size < len(words) else ""
                if at and words[at - 1] in _BEFORE and after in _AFTER:
                    yield term
                at += size - 1
                break
        at += 1


def disease_of(name: str, mim: str, note: str, terms: Terms) -> str | None:
    """The term of a disease that a comment names."""
    if _HEDGED.search(note):
        return None
    return terms.by_mim.get(mim) if mim else terms.diseases.get(name.lower())


def links_of_entry(entry: UniProtEntry, terms: Terms) -> Iterator[dict[str, Any]]:
    """The links to diseases and tissues that an entry's comments state, as rows of a snapshot."""
    accession = entry.primary_accession
    for comment in entry.comments_of("DISEASE"):
        disease = comment.disease
        if disease is None:
            continue
        reference = disease.disease_cross_reference
        mim = reference.id if reference and reference.database == "MIM" else ""
        texts = comment.note.texts if comment.note else ()
        term = disease_of(disease.disease_id, mim, " ".join(t.value for t in texts), terms)
        if term:
            origins = [*disease.evidences, *(o for t in texts for o in t.evidences)]
            yield _row(DISEASE, accession, term, _papers(origins))
    for comment in entry.comments_of("TISSUE SPECIFICITY"):
        for text in comment.texts:
            for term in tissues_in(text.value, terms):
                yield _row(TISSUE, accession, term, _papers(text.evidences))


def _row(kind: str, accession: str, term: str, papers: list[str] | None) -> dict[str, Any]:
    return {
        "relation": kind,
        "head": accession,
        "tail": term,
        "negated": False,
        "record": accession,
        "citations": papers,
    }


def _papers(origins: Iterable[EvidenceOrigin]) -> list[str] | None:
    """The papers that a statement rests on, or None where it rests on anything else, too."""
    sources = list(origins)
    if not sources or any(origin.source != "PubMed" or not origin.id for origin in sources):
        return None
    return sorted({f"PMID:{origin.id}" for origin in sources})
