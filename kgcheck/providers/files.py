"""Parse provider files into snapshot rows: OBO, UniProt flat files and UniProt JSON Lines."""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from kgcheck.errors import InputFormat, SourceAnswer
from kgcheck.forms.obo import unescaped
from kgcheck.profile.catalogue import PARENT
from kgcheck.profile.reference_files import ReferenceFile
from kgcheck.providers.tsv import open_text
from kgcheck.providers.uniprot_entry import (
    NO_TERMS,
    XREF,
    Rows,
    Terms,
    UniProtEntry,
    add_record,
    empty_rows,
    entry_of_flat,
    record_of_entry,
)

_DEFINITION = "definition"
"""Attribute of what a term means, with the references for it."""

_QUOTED = re.compile(r'(?<!\\)"((?:[^"\\]|\\.)*+)"')
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_AT_ONCE = 2_000
"""Entries that are in memory together."""


def read_obo(path: Path, recipe: ReferenceFile) -> tuple[Rows, str, str]:
    """Terms of an OBO file."""
    import obonet

    try:
        with open_text(path) as stream:
            graph = obonet.read_obo(stream, ignore_obsolete=False)
    except (ValueError, LookupError, TypeError, AttributeError, EOFError, OSError) as error:
        raise InputFormat(
            f"{path} is not an OBO file: {error}", "get it again, and see that it is the OBO form"
        ) from error
    if not len(graph):
        raise InputFormat(f"{path} holds no OBO term", "it may be empty or truncated")
    parsed = empty_rows()
    for identifier, term in graph.nodes(data=True):
        if "name" in term and identifier.startswith(recipe.prefix):
            _add_term(parsed, identifier, term, recipe)
    version = str(graph.graph.get("data-version") or "").removeprefix("releases/")
    # As 14:05:2015 16:40.
    dated = re.match(r"(\d\d):(\d\d):(\d{4})", str(graph.graph.get("date") or ""))
    released = "-".join(dated.groups()[::-1]) if dated else "".join(_ISO_DAY.findall(version)[:1])
    return parsed, version or released, released


def _add_term(parsed: Rows, identifier: str, term: dict[str, Any], recipe: ReferenceFile) -> None:
    obsolete = term.get("is_obsolete") == "true"
    successors = list(term.get("replaced_by", []))
    if obsolete and recipe.successor_xref:
        named = [xref for xref in term.get("xref", []) if xref.startswith(f"{recipe.successor_xref}: ")]
        successors += [match[1] for xref in named if (match := _QUOTED.search(xref))]
    name = unescaped(term["name"])
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
    if match := _QUOTED.match(term.get("def", "")):
        defined = f"{unescaped(match[1])} {unescaped(term['def'][match.end() :])}".strip()
        parsed["value"].append(value | {"attribute": _DEFINITION, "value": defined, "status": "current"})
    for synonym in term.get("synonym", []):
        if match := _QUOTED.match(synonym):
            parsed["value"].append(value | {"value": unescaped(match[1]), "status": "synonym"})
    for xref in term.get("xref", []):
        if xref.split(":")[0] in recipe.xrefs:
            parsed["value"].append(value | {"attribute": XREF, "value": xref.split()[0], "status": "current"})
    if not obsolete:
        for parent in _parents(term, recipe.parents):
            parsed["link"].append(
                {"relation": PARENT, "head": identifier, "tail": parent, "negated": False, "record": identifier}
            )


def _parents(term: dict[str, Any], relations: tuple[str, ...]) -> Iterator[str]:
    if "is_a" in relations:
        yield from term.get("is_a", [])
    for relationship in term.get("relationship", []):
        kind, _, target = relationship.partition(" ")
        if kind in relations:
            yield target.split()[0]


def read_uniprot_flat(path: Path, recipe: ReferenceFile, terms: Terms = NO_TERMS) -> Iterator[tuple[Rows, str]]:
    """Entries of a UniProtKB flat file: lifecycle, names, sequence, cross-references, interactions and sites."""
    yield from _in_pieces(_flat_entries(path), recipe, terms)


def read_uniprot_jsonl(path: Path, recipe: ReferenceFile, terms: Terms = NO_TERMS) -> Iterator[tuple[Rows, str]]:
    """Entries of UniProtKB as its REST service gives them, one JSON object a line, inactive ones too."""
    yield from _in_pieces(_jsonl_entries(path), recipe, terms)


def _in_pieces(
    entries: Iterable[tuple[UniProtEntry, str]], recipe: ReferenceFile, terms: Terms
) -> Iterator[tuple[Rows, str]]:
    """Rows of entries, each with the day on which it was changed last, if that is stated."""
    rows, newest = empty_rows(), ""
    for count, (entry, day) in enumerate(entries, 1):
        # A file says neither where nor when it was asked for.
        record = record_of_entry(entry, "", "", datetime.min)
        add_record(rows, record, recipe.modifications, terms)
        merged = {"state": "merged", "successors": [record.accession]}
        rows["entity"] += [merged | {"id": old, "record": old} for old in entry.secondary_accessions]
        newest = max(newest, day)
        if not count % _AT_ONCE:
            yield rows, newest
            rows = empty_rows()
    yield rows, newest


def _flat_entries(path: Path) -> Iterator[tuple[UniProtEntry, str]]:
    from Bio import BiopythonParserWarning, SwissProt

    count = 0
    parse: Callable[[TextIO], Iterator[Any]] = SwissProt.parse
    try:
        with open_text(path) as stream, warnings.catch_warnings():
            # It warns of references that it cannot read; nothing here reads them.
            warnings.simplefilter("ignore", BiopythonParserWarning)
            for flat in parse(stream):
                yield entry_of_flat(flat), iso_day(flat.annotation_update[0])
                count += 1
    except (ValueError, AssertionError, LookupError, TypeError, AttributeError, EOFError, OSError) as error:
        raise InputFormat(f"{path} is not a UniProt flat file: {error}", "it may be truncated") from error
    if not count:
        raise InputFormat(f"{path} holds no UniProt entry", "it may be empty or truncated")


def _jsonl_entries(path: Path) -> Iterator[tuple[UniProtEntry, str]]:
    count = 0
    try:
        with open_text(path) as stream:
            for line in stream:
                yield UniProtEntry.model_validate_json(line), ""
                count += 1
    except (ValueError, EOFError, OSError, SourceAnswer) as error:
        why = str(error).split("\n")[0]
        raise InputFormat(f"{path}: line {count + 1} is no UniProt entry: {why}", "it may be truncated") from error


STREAMS: dict[str, Callable[[Path, ReferenceFile, Terms], Iterator[tuple[Rows, str]]]] = {
    "uniprot_flat": read_uniprot_flat,
    "uniprot_jsonl": read_uniprot_jsonl,
}
"""Formats whose files may be larger than memory."""


def iso_day(text: str) -> str:
    """``10-FEB-2021`` as 2021-02-10, and so of ``02-September-2026``; what is written otherwise stays as it is."""
    for form in ("%d-%b-%Y", "%d-%B-%Y"):
        with suppress(ValueError):
            return datetime.strptime(text, form).date().isoformat()
    return text
