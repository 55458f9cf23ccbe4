"""Provider formats that need a parser: OBO (obonet) and the UniProt flat file (Biopython). Both give snapshot rows."""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from kgcheck.errors import InputFormat, SourceAnswer
from kgcheck.profile.catalogue import PARENT
from kgcheck.profile.reference_files import ReferenceFile
from kgcheck.providers.tsv import open_text
from kgcheck.providers.uniprot_comments import NO_TERMS, XREF, Terms, links_of_flat
from kgcheck.providers.uniprot_rows import (
    COVERED,
    DATABASES,
    GENE_PRODUCT,
    INTERACTION,
    MODIFICATION,
    MODIFIED_SITE,
    SEQUENCE,
)

Row = dict[str, Any]
Parsed = dict[str, list[Row]]
"""Rows by table: entity, value, link, covered."""

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_EVIDENCE_TAG = re.compile(r"\s*\{[^}]*\}")
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_FULL_NAME = re.compile(r"(?:RecName|SubName): Full=([^;]+)")
_AT_ONCE = 2_000
"""Entries that are in memory together."""


def empty() -> Parsed:
    """No rows yet."""
    return {"entity": [], "value": [], "link": [], "covered": []}


def read_obo(path: Path, recipe: ReferenceFile) -> tuple[Parsed, str, str]:
    """Terms of an OBO file.

    Args:
        path: The file.
        recipe: The parents that count, the cross-reference that names a replacement.

    Returns:
        Rows, the release and the date that the header states, each empty where it states none; a date is a release.

    Raises:
        InputFormat: It is no OBO file.
    """
    import obonet

    try:
        with open_text(path) as stream:
            graph = obonet.read_obo(stream, ignore_obsolete=False)
    except (ValueError, LookupError, TypeError, AttributeError, EOFError, OSError) as error:
        raise InputFormat(f"{path} is not an OBO file: {error}") from error
    if not len(graph):
        raise InputFormat(f"{path} holds no OBO term", "it may be empty or truncated")
    parsed = empty()
    for identifier, term in graph.nodes(data=True):
        if "name" in term and identifier.startswith(recipe.prefix):
            _add_term(parsed, identifier, term, recipe)
    version = str(graph.graph.get("data-version") or "").removeprefix("releases/")
    released = _obo_date(str(graph.graph.get("date") or "")) or "".join(_ISO_DAY.findall(version)[:1])
    return parsed, version or released, released


def _add_term(parsed: Parsed, identifier: str, term: dict[str, Any], recipe: ReferenceFile) -> None:
    obsolete = term.get("is_obsolete") == "true"
    successors = list(term.get("replaced_by", []))
    if obsolete and recipe.successor_xref:
        successors += _named_xrefs(term.get("xref", []), recipe.successor_xref)
    name = _unescaped(term["name"])
    entity = {"id": identifier, "namespace": term.get("namespace"), "name": name, "record": identifier}
    state = "obsolete" if obsolete else "current"
    parsed["entity"].append(
        entity | {"state": state, "successors": successors, "candidates": list(term.get("consider", []))}
    )
    for secondary in term.get("alt_id", []):
        parsed["entity"].append(
            entity | {"id": secondary, "state": "secondary", "successors": [identifier], "candidates": []}
        )
    value = {"id": identifier, "attribute": "name", "record": identifier}
    parsed["value"].append(value | {"value": name, "status": "current"})
    for synonym in term.get("synonym", []):
        if match := _QUOTED.match(synonym):
            parsed["value"].append(value | {"value": _unescaped(match[1]), "status": "synonym"})
    for xref in term.get("xref", []):
        if xref.split(":")[0] in recipe.xrefs:
            parsed["value"].append(value | {"attribute": XREF, "value": xref.split()[0], "status": "current"})
    if not obsolete:
        for parent in _parents(term, recipe.parents):
            parsed["link"].append(
                {"relation": PARENT, "head": identifier, "tail": parent, "negated": False, "record": identifier}
            )


def _unescaped(text: str) -> str:
    """Text without the escapes of OBO, where a backslash and W are a space."""
    return re.sub(r"\\(.)", lambda m: " " if m[1] in "Wnt" else m[1], text).strip()


def _parents(term: dict[str, Any], relations: tuple[str, ...]) -> Iterator[str]:
    if "is_a" in relations:
        yield from term.get("is_a", [])
    for relationship in term.get("relationship", []):
        kind, _, target = relationship.partition(" ")
        if kind in relations:
            yield target.split()[0]


def _named_xrefs(xrefs: list[str], name: str) -> list[str]:
    return [m[1] for x in xrefs if x.startswith(f"{name}: ") and (m := _QUOTED.search(x))]


def _obo_date(text: str) -> str:
    """``14:05:2015 16:40`` as 2015-05-14."""
    match = re.match(r"(\d\d):(\d\d):(\d{4})", text)
    return f"{match[3]}-{match[2]}-{match[1]}" if match else ""


def read_uniprot_flat(path: Path, recipe: ReferenceFile, terms: Terms = NO_TERMS) -> Iterator[tuple[Parsed, str]]:
    """Entries of a UniProtKB flat file: lifecycle, names, sequence, cross-references, interactions and sites.

    Args:
        path: The file, packed with gzip or not.
        recipe: What the MOD_RES notes are called in PSI-MOD.
        terms: What diseases and tissues are called.

    Yields:
        Rows of some entries, and the day of the newest entry so far; the file states no release.

    Raises:
        InputFormat: It is no UniProt flat file, or truncated.
    """
    from Bio import BiopythonParserWarning, SwissProt

    parsed, newest, count = empty(), "", 0
    parse: Callable[[TextIO], Iterator[Any]] = SwissProt.parse
    try:
        with open_text(path) as stream, warnings.catch_warnings():
            # It warns of references that it cannot read; nothing here reads them.
            warnings.simplefilter("ignore", BiopythonParserWarning)
            for record in parse(stream):
                _add_entry(parsed, record, recipe)
                parsed["link"] += links_of_flat(record.accessions[0], record.comments, terms)
                newest, count = max(newest, iso_day(record.annotation_update[0])), count + 1
                if not count % _AT_ONCE:
                    yield parsed, newest
                    parsed = empty()
    except (ValueError, AssertionError, LookupError, TypeError, AttributeError, EOFError, OSError) as error:
        raise InputFormat(f"{path} is not a UniProt flat file: {error}", "it may be truncated") from error
    if not count:
        raise InputFormat(f"{path} holds no UniProt entry", "it may be empty or truncated")
    yield parsed, newest


def read_uniprot_jsonl(path: Path, recipe: ReferenceFile, terms: Terms = NO_TERMS) -> Iterator[tuple[Parsed, str]]:
    """Entries of UniProtKB as its REST service gives them, one JSON object a line, inactive ones too.

    Args:
        path: The file, packed with gzip or not.
        recipe: What the MOD_RES notes are called in PSI-MOD.
        terms: What diseases and tissues are called.

    Yields:
        Rows of some entries, and no day, for the file states none.

    Raises:
        InputFormat: A line is no entry.
    """
    from kgcheck.providers.uniprot_entry import UniProtEntry, record_of_entry
    from kgcheck.providers.uniprot_rows import add_record

    parsed, count = empty(), 0
    try:
        with open_text(path) as stream:
            for line in stream:
                entry = UniProtEntry.model_validate_json(line)
                add_record(parsed, record_of_entry(entry, "", "", datetime.min), recipe.modifications, terms)
                parsed["entity"] += [_merged(old, entry.primary_accession) for old in entry.secondary_accessions]
                count += 1
                if not count % _AT_ONCE:
                    yield parsed, ""
                    parsed = empty()
    except (ValueError, EOFError, OSError, SourceAnswer) as error:
        why = str(error).split("\n")[0]
        raise InputFormat(f"{path}: line {count + 1} is no UniProt entry: {why}", "it may be truncated") from error
    yield parsed, ""


STREAMS: dict[str, Callable[[Path, ReferenceFile, Terms], Iterator[tuple[Parsed, str]]]] = {
    "uniprot_flat": read_uniprot_flat,
    "uniprot_jsonl": read_uniprot_jsonl,
}
"""Formats whose files may be larger than memory."""


def _add_entry(parsed: Parsed, record: Any, recipe: ReferenceFile) -> None:
    accession = record.accessions[0]
    name = _FULL_NAME.search(record.description)
    protein_name = _untagged(name[1]) if name else None
    parsed["entity"].append({"id": accession, "state": "current", "name": protein_name, "record": accession})
    for secondary in record.accessions[1:]:
        parsed["entity"].append(_merged(secondary, accession))
    for attribute, value, status in _values(record, protein_name):
        parsed["value"].append(
            {"id": accession, "attribute": attribute, "value": value, "status": status, "record": accession}
        )
    for relation, head, tail in (*_links(record, accession), *_sites(record, accession, recipe)):
        parsed["link"].append({"relation": relation, "head": head, "tail": tail, "negated": False, "record": accession})
        if relation == MODIFICATION:
            parsed["covered"].append({"topic": relation, "id": head})
    parsed["covered"] += [{"topic": topic, "id": accession} for topic in COVERED]


def _merged(secondary: str, accession: str) -> Row:
    return {"id": secondary, "state": "merged", "successors": [accession], "record": secondary}


def _values(record: Any, protein_name: str | None) -> Iterator[tuple[str, str, str]]:
    yield "entry_name", record.entry_name, "current"
    yield "sequence", record.sequence, "current"
    yield "length", str(len(record.sequence)), "current"
    if protein_name:
        yield "protein_name", protein_name, "current"
    for taxid in record.taxonomy_id[:1]:
        yield "taxid", taxid, "current"
    for gene in record.gene_name:
        if "Name" in gene:
            yield "gene_name", _untagged(gene["Name"]), "current"
        for synonym in gene.get("Synonyms", []):
            yield "gene_name", _untagged(synonym), "synonym"


def _links(record: Any, accession: str) -> Iterator[tuple[str, str, str]]:
    yield SEQUENCE, accession, accession
    for reference in record.cross_references:
        if kind := DATABASES.get(reference[0]):
            yield kind, accession, reference[1]
    for gene in record.gene_name:
        if "Name" in gene:
            yield GENE_PRODUCT, _untagged(gene["Name"]), accession
    for comment in record.comments:
        if comment.startswith("INTERACTION: "):
            for partner in re.findall(rf"{accession}(?:-\d+)?; ([A-Z0-9]+)(?:-\d+)?[:;]", comment):
                yield INTERACTION, accession, partner


def _sites(record: Any, accession: str, recipe: ReferenceFile) -> Iterator[tuple[str, str, str]]:
    for feature in record.features:
        note = _untagged(str(feature.qualifiers.get("note", ""))).split(";")[0]
        known = recipe.modifications.get(note)
        # A position in an isoform is no position in the sequence of the entry.
        if feature.type == "MOD_RES" and known and not feature.location.ref:
            position = int(feature.location.start) + 1
            site = f"{accession}_{record.sequence[position - 1]}{position}-{known.code}"
            yield MODIFIED_SITE, accession, site
            yield MODIFICATION, site, known.term


def iso_day(text: str) -> str:
    """``10-FEB-2021`` as 2021-02-10, and so of ``02-September-2026``; what is written otherwise stays as it is."""
    for form in ("%d-%b-%Y", "%d-%B-%Y"):
        with suppress(ValueError):
            return datetime.strptime(text, form).date().isoformat()
    return text


def _untagged(text: str) -> str:
    """A name without its evidence tags, ``{ECO:...}``."""
    return _EVIDENCE_TAG.sub("", text).strip()
