"""Contract IRIs to CURIEs: OBO PURLs, identifiers.org, Biolink, W3C vocabularies, and prefixes of the files."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

OBO = "http://purl.obolibrary.org/obo/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
DC = "http://purl.org/dc/elements/1.1/"
DCTERMS = "http://purl.org/dc/terms/"
OBO_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"
BIOLINK = "https://w3id.org/biolink/vocab/"
FOAF = "http://xmlns.com/foaf/0.1/"
SCHEMA = "http://schema.org/"

BASE = "relative:///"
"""Base against which relative IRIs are resolved; it is taken away again."""

_WELL_KNOWN = {
    "rdf": RDF,
    "rdfs": RDFS,
    "owl": OWL,
    "skos": SKOS,
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "dc": DC,
    "dcterms": DCTERMS,
    "oboInOwl": OBO_IN_OWL,
    "biolink": BIOLINK,
}
_OBO_ID = re.compile(r"https?://purl\.obolibrary\.org/obo/([A-Za-z][A-Za-z0-9_.-]*)_([^_/#?]+)")
_LOCAL = re.compile(r"[^/#?]+")
_IDENTIFIERS = re.compile(r"https?://identifiers\.org/(?:([A-Za-z0-9._-]+)/)?([^/?#]+)")
_MOST_KEPT = 1 << 17
"""Names that are remembered while files are read."""


def contraction(declared: Iterable[tuple[str, str]]) -> Callable[[str], str]:
    """Make the function that contracts an IRI, with the prefixes that files declare.

    A prefix that stands for several namespaces, as in files of many nanopublications, is none: ids would run together.

    Returns:
        A function of an IRI. What it does not know stays as it is.
    """
    spaces: dict[str, set[str]] = {}
    for prefix, space in declared:
        spaces.setdefault(prefix, set()).add(space)
    known = set(_WELL_KNOWN.values())
    prefixes = {space: prefix for prefix, space in _WELL_KNOWN.items()}
    for prefix, (space, *others) in spaces.items():
        # One letter may be a drive or a scheme, an empty prefix is of one file alone.
        if prefix and space and not others and space not in known and prefix not in _WELL_KNOWN:
            prefixes.setdefault(space, prefix)
    longest = sorted(prefixes, key=len, reverse=True)

    @lru_cache(_MOST_KEPT)
    def contracted(iri: str) -> str:
        if curie := obo_curie(iri):
            return curie
        if (found := _IDENTIFIERS.fullmatch(iri)) and (curie := _of_identifiers(found[1], found[2])):
            return curie
        for space in longest:
            if iri.startswith(space) and _LOCAL.fullmatch(iri, len(space)):
                return f"{prefixes[space]}:{iri[len(space) :]}"
        return iri.removeprefix(BASE)

    return contracted


def obo_curie(iri: str) -> str | None:
    """The CURIE of an IRI of the OBO Foundry; None of others.

    >>> obo_curie("http://purl.obolibrary.org/obo/GO_0005737")
    'GO:0005737'
    """
    found = _OBO_ID.fullmatch(iri)
    return f"{found[1]}:{found[2]}" if found else None


def _of_identifiers(namespace: str | None, local: str) -> str | None:
    """``rgd/621117``, ``MGI:123`` or ``mgi/MGI:123``."""
    prefix, colon, _ = local.partition(":")
    if namespace is None:
        return local if colon else None
    return local if colon and prefix.casefold() == namespace.casefold() else f"{namespace}:{local}"


def last_part(iri: str) -> str:
    """The last part of an IRI, by which people know a property.

    >>> last_part("http://example.org/vocabulary#score")
    'score'
    """
    return next((part for part in reversed(re.split(r"[#/]", iri)) if part), iri).rpartition(":")[2] or iri
