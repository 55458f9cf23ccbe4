"""UniProt entries as rows of a snapshot: the same for live answers, files of JSON lines and flat files."""

from collections.abc import Iterator, Mapping
from typing import Any

from kgcheck.profile.catalogue import State
from kgcheck.profile.reference_files import Modification
from kgcheck.providers.uniprot_comments import DISEASE, NO_TERMS, TISSUE, Terms, links_of_entry
from kgcheck.providers.uniprot_entry import NoState, Record, UniProtEntry

Rows = dict[str, list[dict[str, Any]]]
"""Rows by table: entity, value, link, covered."""

STRUCTURE, SEQUENCE, PATHWAY, INTERACTION = "structure", "sequence", "pathway", "interaction"
GO_ANNOTATION, GENE_PRODUCT, MODIFIED_SITE = "go_annotation", "gene_product", "modified_site"
COVERED = (
    STRUCTURE,
    SEQUENCE,
    GO_ANNOTATION,
    TISSUE,
    DISEASE,
    PATHWAY,
    INTERACTION,
    MODIFIED_SITE,
    GENE_PRODUCT,
)
"""Kinds of links of which an entry lists every one that it knows."""

MODIFICATION = "modification"
"""From a site to a term. An entry covers the sites that it lists, which are parts of it, and not itself."""

DATABASES = {"PDB": STRUCTURE, "GO": GO_ANNOTATION, "Reactome": PATHWAY}
"""Databases whose cross-references are links of a kind."""


def add_record(rows: Rows, record: Record, modifications: Mapping[str, Modification], terms: Terms = NO_TERMS) -> None:
    """Add what UniProt says of one accession: its state, or that it knows none, and its entry."""
    if record.state is NoState.UNKNOWN:
        rows["covered"].append({"topic": "entity", "id": record.accession})
    if isinstance(record.state, NoState):
        return
    uniparc = f"UniParc {record.uniparc}" if record.uniparc and record.state is not State.CURRENT else ""
    rows["entity"].append(
        {
            "id": record.accession,
            "state": record.state.value,
            "name": record.entry.protein_name if record.entry else None,
            "successors": list(record.successors) if record.state is State.MERGED else [],
            "candidates": list(record.successors) if record.state is State.DEMERGED else [],
            "detail": "; ".join(part for part in (record.reason, uniparc) if part),
            "record": record.accession,
        }
    )
    if record.state is State.CURRENT and record.entry:
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
        if relation == MODIFICATION:
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
    yield SEQUENCE, accession, accession
    for database, kind in DATABASES.items():
        for reference in entry.references_to(database):
            yield kind, accession, reference.id
    for gene in entry.genes:
        if gene.gene_name:
            yield GENE_PRODUCT, gene.gene_name.value, accession
    for partner in entry.partners:
        yield INTERACTION, accession, partner


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
            yield MODIFIED_SITE, accession, site
            yield MODIFICATION, site, known.term


def empty_rows() -> Rows:
    """No rows yet."""
    return {"entity": [], "value": [], "link": [], "covered": []}


def rename_links(rows: Rows, links: Mapping[str, str]) -> Rows:
    """Rows whose links are called as a recipe calls them."""
    if not links:
        return rows
    link = [row | {"relation": links.get(row["relation"], row["relation"])} for row in rows["link"]]
    covered = [row | {"topic": links.get(row["topic"], row["topic"])} for row in rows["covered"]]
    return rows | {"link": link, "covered": covered}
