"""An entry of UniProtKB as its REST service and its JSON files give it; what is new or not needed is ignored."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated, NamedTuple, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from kgcheck.errors import SourceAnswer
from kgcheck.profile.catalogue import State


class NoState(StrEnum):
    """Why an accession has no state: UniProt knows none, or takes it for none."""

    UNKNOWN = "unknown"
    MALFORMED = "malformed"


Count = Annotated[int, Field(strict=True, ge=0)]
"""A number of things, or a position from 1: UniProt writes none as text."""


class Wire(BaseModel):
    """A part of an answer: only what is read here must be as promised."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class EvidenceOrigin(Wire):
    """What a statement rests on."""

    evidence_code: str = ""
    source: str = ""
    id: str = ""


class Named(Wire):
    """A name or a text, with what it rests on."""

    value: str
    evidences: tuple[EvidenceOrigin, ...] = ()


class GeneNames(Wire):
    """The names of one gene."""

    gene_name: Named | None = None
    synonyms: tuple[Named, ...] = ()
    ordered_locus_names: tuple[Named, ...] = ()
    orf_names: tuple[Named, ...] = ()


class ProteinName(Wire):
    """A protein name."""

    full_name: Named | None = None


class ProteinDescription(Wire):
    """The names of a protein: a reviewed entry recommends one, an unreviewed one has those that were submitted."""

    recommended_name: ProteinName | None = None
    submission_names: tuple[ProteinName, ...] = ()
    alternative_names: tuple[ProteinName, ...] = ()


class Organism(Wire):
    """Where a protein is from."""

    taxon_id: Annotated[int, Field(strict=True, gt=0)]
    scientific_name: str = ""


class Sequence(Wire):
    """The canonical sequence; an answer may give its length alone."""

    value: str = ""
    length: Count = 0

    @model_validator(mode="after")
    def _as_long_as_stated(self) -> Self:
        if self.value and self.length and len(self.value) != self.length:
            raise ValueError(f"{len(self.value)} residues, and a length of {self.length}")
        return self


class CrossReferenceProperty(Wire):
    """A property of a cross-reference."""

    key: str
    value: str = ""


class CrossReference(Wire):
    """A record of another database."""

    database: str
    id: str
    properties: tuple[CrossReferenceProperty, ...] = ()


class Interactant(Wire):
    """One side of an interaction; one of another species' virus may have no accession."""

    accession: str = Field(default="", alias="uniProtKBAccession")
    gene_name: str = ""


class Interaction(Wire):
    """An interaction that IntAct curated."""

    interactant_one: Interactant
    interactant_two: Interactant
    number_of_experiments: Count = 0


class Disease(Wire):
    """A disease that the protein is involved in."""

    disease_id: str = ""
    acronym: str = ""
    disease_cross_reference: CrossReference | None = None
    evidences: tuple[EvidenceOrigin, ...] = ()


class Note(Wire):
    """What a comment adds."""

    texts: tuple[Named, ...] = ()


class Isoform(Wire):
    """An isoform; the first of its ids is the one in use."""

    isoform_ids: tuple[str, ...] = ()


class Comment(Wire):
    """A comment; which fields it has depends on its type."""

    comment_type: str
    texts: tuple[Named, ...] = ()
    interactions: tuple[Interaction, ...] = ()
    disease: Disease | None = None
    note: Note | None = None
    isoforms: tuple[Isoform, ...] = ()


class Place(Wire):
    """A position; none where it is unknown."""

    value: Count | None = None
    modifier: str = "EXACT"


class Location(Wire):
    """Where a feature is; ``sequence`` names an isoform where it is not the canonical sequence."""

    start: Place
    end: Place
    sequence: str | None = None


class Feature(Wire):
    """A feature of the sequence."""

    type: str
    location: Location
    description: str = ""
    evidences: tuple[EvidenceOrigin, ...] = ()


class Citation(Wire):
    """A publication."""

    citation_cross_references: tuple[CrossReference, ...] = ()


class Reference(Wire):
    """A publication that the entry cites."""

    citation: Citation = Citation()


class InactiveReason(Wire):
    """Why an accession is no entry any more."""

    inactive_reason_type: str
    merge_demerge_to: tuple[str, ...] = ()
    deleted_reason: str = ""


class ExtraAttributes(Wire):
    """What stands beside an entry."""

    uni_parc_id: str = ""


class UniProtEntry(Wire):
    """An entry, or what is left of one that is inactive."""

    entry_type: str
    primary_accession: str
    secondary_accessions: tuple[str, ...] = ()
    entry_name: str = Field(default="", validation_alias=AliasChoices("uniProtkbId", "uniProtId"))
    protein_description: ProteinDescription = ProteinDescription()
    genes: tuple[GeneNames, ...] = ()
    organism: Organism | None = None
    sequence: Sequence = Sequence()
    comments: tuple[Comment, ...] = ()
    features: tuple[Feature, ...] = ()
    cross_references: tuple[CrossReference, ...] = Field(default=(), alias="uniProtKBCrossReferences")
    references: tuple[Reference, ...] = ()
    inactive_reason: InactiveReason | None = None
    extra_attributes: ExtraAttributes = ExtraAttributes()

    @property
    def protein_name(self) -> str | None:
        """The recommended name, or the first that was submitted."""
        names = (self.protein_description.recommended_name, *self.protein_description.submission_names)
        return next((n.full_name.value for n in names if n and n.full_name), None)

    def comments_of(self, kind: str) -> list[Comment]:
        """The comments of a type, e.g. TISSUE SPECIFICITY."""
        return [c for c in self.comments if c.comment_type == kind]

    def references_to(self, database: str) -> list[CrossReference]:
        """The cross-references to a database."""
        return [x for x in self.cross_references if x.database == database]

    @property
    def partners(self) -> list[str]:
        """Accessions of the proteins that it interacts with, without their isoforms."""
        pairs = [i for c in self.comments_of("INTERACTION") for i in c.interactions]
        found = [i.interactant_two.accession.split("-")[0] for i in pairs]
        return list(dict.fromkeys(accession for accession in found if accession))

    @property
    def isoforms(self) -> list[str]:
        """Ids of all isoforms, also of former ones."""
        return [i for c in self.comments_of("ALTERNATIVE PRODUCTS") for iso in c.isoforms for i in iso.isoform_ids]

    @property
    def pubmed_ids(self) -> list[str]:
        """Of the publications that the entry cites."""
        cited = [x for r in self.references for x in r.citation.citation_cross_references]
        return [x.id for x in cited if x.database == "PubMed"]


def pubmed_ids(origins: Iterable[EvidenceOrigin]) -> list[str]:
    """The PubMed ids that a statement of an entry rests on."""
    return [o.id for o in origins if o.source == "PubMed" and o.id]


class Record(NamedTuple):
    """What UniProt says of one accession.

    ``entry`` is there for an active one. ``successors`` are the entries that a merged one went into, or that a demerged
    one was split into.
    """

    accession: str
    state: State | NoState
    release: str
    url: str
    retrieved_at: datetime
    entry: UniProtEntry | None = None
    successors: tuple[str, ...] = ()
    reason: str = ""
    uniparc: str = ""


def record_of_entry(entry: UniProtEntry, release: str, url: str, retrieved_at: datetime) -> Record:
    """What an entry says of its own accession."""
    accession, reason = entry.primary_accession, entry.inactive_reason
    uniparc = entry.extra_attributes.uni_parc_id
    record = Record(accession, State.CURRENT, release, url, retrieved_at, entry, uniparc=uniparc)
    if reason is None:
        if entry.entry_type == "Inactive":
            raise SourceAnswer(f"{url} does not say why {accession} is inactive")
        return record
    gone = record._replace(entry=None, successors=reason.merge_demerge_to, reason=reason.deleted_reason)
    match reason.inactive_reason_type:
        case "MERGED" if len(reason.merge_demerge_to) == 1:
            return gone._replace(state=State.MERGED)
        case "DEMERGED" | "MERGED" if reason.merge_demerge_to:
            return gone._replace(state=State.DEMERGED)
        case "DELETED":
            return gone._replace(state=State.DELETED, successors=())
        case other:
            raise SourceAnswer(f"{url} says that {accession} is inactive for an unknown reason: {other!r}")
