"""UniProt entries in JSON as rows of a snapshot, for live answers and for files of JSON lines alike."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kgcheck.profile.catalogue import State
from kgcheck.profile.reference_files import Modification
from kgcheck.providers.uniprot_comments import NO_TERMS, Terms, links_of_entry
from kgcheck.providers.uniprot_entry import Life, Record, UniProtEntry

Rows = dict[str, list[dict[str, Any]]]

COVERED = (
    "HAS_STRUCTURE",
    "HAS_SEQUENCE",
    "ASSOCIATED_WITH",
    "ANNOTATED_IN_PATHWAY",
    "CURATED_INTERACTS_WITH",
    "HAS_MODIFIED_SITE",
    "TRANSLATED_INTO",
)
"""Relations of which an entry lists every link that it knows. Of HAS_MODIFICATION, it covers the sites it lists."""

_STATES = {
    Life.ACTIVE: State.CURRENT,
    Life.MERGED: State.MERGED,
    Life.DEMERGED: State.DEMERGED,
    Life.DELETED: State.DELETED,
}


def add_record(rows: Rows, record: Record, modifications: Mapping[str, Modification], terms: Terms = NO_TERMS) -> None:
    """Add what UniProt says of one accession: its state, or that it knows none, and its entry."""
    state = _STATES.get(record.life)
    if record.life is Life.UNKNOWN:
        rows["covered"].append({"topic": "entity", "id": record.accession})
    if state is None:
        return
    uniparc = f"UniParc {record.uniparc}" if record.uniparc and state is not State.CURRENT else ""
    rows["entity"].append(
        {
            "id": record.accession,
            "label": "Protein",
            "state": state.value,
            "name": record.entry.protein_name if record.entry else None,
            "successors": list(record.successors) if record.life is Life.MERGED else [],
            "candidates": list(record.successors) if record.life is Life.DEMERGED else [],
            "detail": "; ".join(part for part in (record.reason, uniparc) if part),
            "record": record.accession,
        }
    )
    if record.life is Life.ACTIVE and record.entry:
        add_entry(rows, record.entry, modifications, terms)


def add_entry(
    rows: Rows, entry: UniProtEntry, modifications: Mapping[str, Modification], terms: Terms = NO_TERMS
) -> None:
    """Add the values and links of an active entry, and that it covers them."""
    accession = entry.primary_accession
    for attribute, value, status in _values(entry):
        if value:
            rows["value"].append(
                {"id": accession, "attribute": attribute, "value": value, "status": status, "record": accession}
            )
    for relation, head, tail in (*_links(entry), *_sites(entry, modifications)):
        rows["link"].append({"relation": relation, "head": head, "tail": tail, "negated": False, "record": accession})
        if relation == "HAS_MODIFICATION":
            rows["covered"].append({"topic": relation, "id": head})
    rows["link"] += links_of_entry(entry, terms)
    rows["covered"] += [{"topic": topic, "id": accession} for topic in COVERED]


def _values(entry: UniProtEntry) -> Iterator[tuple[str, str | None, str]]:
    yield "entry_name", entry.entry_name, "current"
    yield "sequence", entry.sequence.value, "current"
    length = entry.sequence.length or len(entry.sequence.value)
    yield "length", str(length) if length else None, "current"
    yield "protein_name", entry.protein_name, "current"
    yield "taxid", str(entry.organism.taxon_id) if entry.organism else None, "current"
    for gene in entry.genes:
        if gene.gene_name:
            yield "gene_name", gene.gene_name.value, "current"
        for synonym in gene.synonyms:
            yield "gene_name", synonym.value, "synonym"


def _links(entry: UniProtEntry) -> Iterator[tuple[str, str, str]]:
    accession = entry.primary_accession
    yield "HAS_SEQUENCE", accession, accession
    for database, relation in (
        ("PDB", "HAS_STRUCTURE"),
        ("GO", "ASSOCIATED_WITH"),
        ("Reactome", "ANNOTATED_IN_PATHWAY"),
    ):
        for reference in entry.references_to(database):
            yield relation, accession, reference.id
    for gene in entry.genes:
        if gene.gene_name:
            yield "TRANSLATED_INTO", gene.gene_name.value, accession
    for partner in entry.partners:
        yield "CURATED_INTERACTS_WITH", accession, partner


def _sites(entry: UniProtEntry, modifications: Mapping[str, Modification]) -> Iterator[tuple[str, str, str]]:
    accession, residues = entry.primary_accession, entry.sequence.value
    for feature in entry.features:
        known = modifications.get(feature.description.split(";")[0])
        position = feature.location.start.value
        # A position in an isoform is no position in the sequence of the entry.
        if feature.type != "Modified residue" or not known or feature.location.sequence not in (None, accession):
            continue
        if position and position <= len(residues):
            site = f"{accession}_{residues[position - 1]}{position}-{known.code}"
            yield "HAS_MODIFIED_SITE", accession, site
            yield "HAS_MODIFICATION", site, known.term


def empty_rows() -> Rows:
    """No rows yet."""
    return {"entity": [], "value": [], "link": [], "covered": []}


def topics_of(source: str, rows: Rows) -> Iterable[str]:
    """The topics that live rows speak of; an entry speaks of all that it may list."""
    own = {"entity", "value", "HAS_MODIFICATION", *COVERED} if source == "uniprot" else set()
    return sorted(own | {row["relation"] for row in rows["link"]} | {row["topic"] for row in rows["covered"]})
