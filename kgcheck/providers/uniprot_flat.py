"""An entry of UniProt's flat file as one of its REST service: what an entry says is defined once, for that."""

import re
from collections.abc import Iterator
from typing import Any

from kgcheck.providers.uniprot_entry import (
    Comment,
    CrossReference,
    Disease,
    EvidenceOrigin,
    Feature,
    GeneNames,
    Interactant,
    Interaction,
    Location,
    Named,
    Note,
    Organism,
    Place,
    ProteinDescription,
    ProteinName,
    Sequence,
    UniProtEntry,
)

_EVIDENCE_TAG = re.compile(r"(?<!\s)\s*+\{[^{}]*\}")
_FULL_NAME = re.compile(r"(?:RecName|SubName): Full=([^;]+)")
_DISEASE = re.compile(
    r"DISEASE: (?P<name>[^\[]+?) \((?P<acronym>[^()]+)\) \[MIM:(?P<mim>\d+)\]: (?P<rest>.*)", re.DOTALL
)
_ORIGIN = re.compile(r"(ECO:\d+)(?:\|([^,}\s]+))?")


def entry_of_flat(record: Any) -> UniProtEntry:
    """What a record of the flat file says."""
    accession, *secondary = record.accessions
    name = _FULL_NAME.search(record.description)
    return UniProtEntry(
        entry_type=record.data_class,
        primary_accession=accession,
        secondary_accessions=tuple(secondary),
        entry_name=record.entry_name,
        protein_description=ProteinDescription(
            recommended_name=ProteinName(full_name=Named(value=_untagged(name[1]))) if name else None
        ),
        genes=tuple(_gene(gene) for gene in record.gene_name),
        organism=next((Organism(taxon_id=int(taxid)) for taxid in record.taxonomy_id), None),
        sequence=Sequence(value=record.sequence, length=len(record.sequence)),
        comments=tuple(comments_of_flat(accession, record.comments)),
        features=tuple(map(_residue, (f for f in record.features if f.type == "MOD_RES"))),
        cross_references=tuple(CrossReference(database=x[0], id=x[1]) for x in record.cross_references),
    )


def comments_of_flat(accession: str, comments: list[str]) -> Iterator[Comment]:
    """The comments on diseases, tissues and interactions."""
    for comment in comments:
        kind, _, text = comment.partition(": ")
        if disease := _DISEASE.fullmatch(comment):
            note = _untagged(disease["rest"].partition("Note=")[2])
            yield Comment(
                comment_type=kind,
                disease=Disease(
                    disease_id=disease["name"],
                    acronym=disease["acronym"],
                    disease_cross_reference=CrossReference(database="MIM", id=disease["mim"]),
                    evidences=_origins(comment),
                ),
                note=Note(texts=(Named(value=note),)),
            )
        elif kind == "TISSUE SPECIFICITY":
            yield Comment(comment_type=kind, texts=(Named(value=text, evidences=_origins(comment)),))
        elif kind == "INTERACTION":
            partners = re.findall(rf"{accession}(?:-\d+)?; ([A-Z0-9]+)(?:-\d+)?[:;]", text)
            yield Comment(comment_type=kind, interactions=tuple(_interaction(accession, p) for p in partners))


def _interaction(accession: str, partner: str) -> Interaction:
    return Interaction(interactant_one=Interactant(accession=accession), interactant_two=Interactant(accession=partner))


def _gene(gene: dict[str, Any]) -> GeneNames:
    return GeneNames(
        gene_name=Named(value=_untagged(gene["Name"])) if "Name" in gene else None,
        synonyms=tuple(Named(value=_untagged(synonym)) for synonym in gene.get("Synonyms", [])),
    )


def _residue(feature: Any) -> Feature:
    start = feature.location.start
    # One that is unknown is no number.
    place = Place(value=int(start) + 1 if isinstance(start, int) else None)
    return Feature(
        type="Modified residue",
        location=Location(start=place, end=place, sequence=feature.location.ref),
        description=_untagged(str(feature.qualifiers.get("note", ""))),
    )


def _origins(comment: str) -> tuple[EvidenceOrigin, ...]:
    found = ((code, *origin.partition(":")) for code, origin in _ORIGIN.findall(comment))
    return tuple(EvidenceOrigin(evidence_code=code, source=source, id=number) for code, source, _, number in found)


def _untagged(text: str) -> str:
    """A text without its evidence tags, ``{ECO:...}``."""
    return _EVIDENCE_TAG.sub("", text).strip()
