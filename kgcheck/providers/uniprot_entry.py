"""UniProtEntry: model of an entry (JSON or flat file), and its conversion to snapshot rows."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, Self

import duckdb
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from kgcheck.errors import SourceAnswer
from kgcheck.profile.catalogue import State
from kgcheck.profile.reference_files import Modification


class NoState(StrEnum):
    """Reason why an accession has no state: UniProt knows none, or takes it for none."""

    UNKNOWN = "unknown"
    MALFORMED = "malformed"


Count = Annotated[int, Field(strict=True, ge=0)]
"""A number of things, or a position from 1: UniProt writes none as text."""


class Wire(BaseModel):
    """A part of an answer: only what is read here must be as promised."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class EvidenceOrigin(Wire):
    """Source that a statement rests on."""

    source: str = ""
    id: str = ""


class _Named(Wire):
    value: str
    evidences: tuple[EvidenceOrigin, ...] = ()


class _GeneNames(Wire):
    gene_name: _Named | None = None
    synonyms: tuple[_Named, ...] = ()


class _ProteinName(Wire):
    full_name: _Named | None = None


class _ProteinDescription(Wire):
    """The names of a protein: a reviewed entry recommends one, an unreviewed one has those that were submitted."""

    recommended_name: _ProteinName | None = None
    submission_names: tuple[_ProteinName, ...] = ()


class _Organism(Wire):
    taxon_id: Annotated[int, Field(strict=True, gt=0)]
    scientific_name: str = ""


class _Sequence(Wire):
    """The canonical sequence; an answer may give its length alone."""

    value: str = ""
    length: Count = 0

    @model_validator(mode="after")
    def _as_long_as_stated(self) -> Self:
        if self.value and self.length and len(self.value) != self.length:
            raise ValueError(f"{len(self.value)} residues, and a length of {self.length}")
        return self


class _CrossReference(Wire):
    database: str
    id: str


class _Interactant(Wire):
    """The other side of an interaction; one of another species' virus may have no accession."""

    accession: str = Field(default="", alias="uniProtKBAccession")


class _Interaction(Wire):
    interactant_two: _Interactant


class _Disease(Wire):
    disease_id: str = ""
    disease_cross_reference: _CrossReference | None = None
    evidences: tuple[EvidenceOrigin, ...] = ()


class _Note(Wire):
    texts: tuple[_Named, ...] = ()


class _Isoform(Wire):
    """An isoform; the first of its ids is the one in use."""

    isoform_ids: tuple[str, ...] = ()


class _Comment(Wire):
    """A comment; which fields it has depends on its type."""

    comment_type: str
    texts: tuple[_Named, ...] = ()
    interactions: tuple[_Interaction, ...] = ()
    disease: _Disease | None = None
    note: _Note | None = None
    isoforms: tuple[_Isoform, ...] = ()


class _Place(Wire):
    """A position; none where it is unknown."""

    value: Count | None = None


class _Location(Wire):
    """Start of a feature; ``sequence`` names an isoform where it is not the canonical sequence."""

    start: _Place
    sequence: str | None = None


class _Feature(Wire):
    type: str
    location: _Location
    description: str = ""
    evidences: tuple[EvidenceOrigin, ...] = ()


class _Reference(Wire):
    cited: tuple[_CrossReference, ...] = Field(
        default=(), validation_alias=AliasPath("citation", "citationCrossReferences")
    )


class _InactiveReason(Wire):
    inactive_reason_type: str
    merge_demerge_to: tuple[str, ...] = ()
    deleted_reason: str = ""


class UniProtEntry(Wire):
    """An entry, or what is left of one that is inactive."""

    entry_type: str
    primary_accession: str
    secondary_accessions: tuple[str, ...] = ()
    entry_name: str = Field(default="", validation_alias=AliasChoices("uniProtkbId", "uniProtId"))
    protein_description: _ProteinDescription = _ProteinDescription()
    genes: tuple[_GeneNames, ...] = ()
    organism: _Organism | None = None
    sequence: _Sequence = _Sequence()
    comments: tuple[_Comment, ...] = ()
    features: tuple[_Feature, ...] = ()
    cross_references: tuple[_CrossReference, ...] = Field(default=(), alias="uniProtKBCrossReferences")
    references: tuple[_Reference, ...] = ()
    inactive_reason: _InactiveReason | None = None
    uniparc: str = Field(default="", validation_alias=AliasPath("extraAttributes", "uniParcId"))

    @property
    def protein_name(self) -> str | None:
        """The recommended name, or the first that was submitted."""
        names = (self.protein_description.recommended_name, *self.protein_description.submission_names)
        return next((n.full_name.value for n in names if n and n.full_name), None)

    def comments_of(self, kind: str) -> list[_Comment]:
        return [c for c in self.comments if c.comment_type == kind]

    def references_to(self, database: str) -> list[_CrossReference]:
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
        return [x.id for r in self.references for x in r.cited if x.database == "PubMed"]


def pubmed_ids(origins: Iterable[EvidenceOrigin]) -> list[str]:
    """The PubMed ids that a statement of an entry rests on."""
    return [o.id for o in origins if o.source == "PubMed" and o.id]


class Record(NamedTuple):
    """Record of one accession at UniProt.

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
    """Return the record of an entry's own accession."""
    accession, reason = entry.primary_accession, entry.inactive_reason
    record = Record(accession, State.CURRENT, release, url, retrieved_at, entry, uniparc=entry.uniparc)
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
    row = {"relation": kind, "head": accession, "tail": term, "negated": False, "record": accession}
    return row | {"citations": papers}


def _papers(origins: Iterable[EvidenceOrigin]) -> list[str] | None:
    sources = list(origins)
    if not sources or any(origin.source != "PubMed" or not origin.id for origin in sources):
        return None
    return sorted({f"PMID:{origin.id}" for origin in sources})


Rows = dict[str, list[dict[str, Any]]]
"""Rows by table: entity, value, link, covered."""

STRUCTURE, SEQUENCE, PATHWAY, INTERACTION = "structure", "sequence", "pathway", "interaction"
GO_ANNOTATION, GENE_PRODUCT, MODIFIED_SITE = "go_annotation", "gene_product", "modified_site"
COVERED = (
    *(STRUCTURE, SEQUENCE, GO_ANNOTATION, TISSUE, DISEASE, PATHWAY),
    *(INTERACTION, MODIFIED_SITE, GENE_PRODUCT),
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


_EVIDENCE_TAG = re.compile(r"(?<!\s)\s*+\{[^{}]*\}")
_FULL_NAME = re.compile(r"(?:RecName|SubName): Full=([^;]+)")
_DISEASE = re.compile(r"DISEASE: (?P<name>[^\[]+?) \([^()]+\) \[MIM:(?P<mim>\d+)\]: (?P<rest>.*)", re.DOTALL)
_ORIGIN = re.compile(r"ECO:\d+(?:\|([^,}\s]+))?")


def entry_of_flat(record: Any) -> UniProtEntry:
    """Read an entry from a record of the flat file."""
    accession, *secondary = record.accessions
    name = _FULL_NAME.search(record.description)
    return UniProtEntry(
        entry_type=record.data_class,
        primary_accession=accession,
        secondary_accessions=tuple(secondary),
        entry_name=record.entry_name,
        protein_description=_ProteinDescription(
            recommended_name=_ProteinName(full_name=_Named(value=_untagged(name[1]))) if name else None
        ),
        genes=tuple(_gene(gene) for gene in record.gene_name),
        organism=next((_Organism(taxon_id=int(taxid)) for taxid in record.taxonomy_id), None),
        sequence=_Sequence(value=record.sequence, length=len(record.sequence)),
        comments=tuple(comments_of_flat(accession, record.comments)),
        features=tuple(map(_residue, (f for f in record.features if f.type == "MOD_RES"))),
        cross_references=tuple(_CrossReference(database=x[0], id=x[1]) for x in record.cross_references),
    )


def comments_of_flat(accession: str, comments: list[str]) -> Iterator[_Comment]:
    """The comments on diseases, tissues and interactions."""
    for comment in comments:
        kind, _, text = comment.partition(": ")
        if disease := _DISEASE.fullmatch(comment):
            note = _untagged(disease["rest"].partition("Note=")[2])
            yield _Comment(
                comment_type=kind,
                disease=_Disease(
                    disease_id=disease["name"],
                    disease_cross_reference=_CrossReference(database="MIM", id=disease["mim"]),
                    evidences=_origins(comment),
                ),
                note=_Note(texts=(_Named(value=note),)),
            )
        elif kind == "TISSUE SPECIFICITY":
            yield _Comment(comment_type=kind, texts=(_Named(value=text, evidences=_origins(comment)),))
        elif kind == "INTERACTION":
            partners = re.findall(rf"{accession}(?:-\d+)?; ([A-Z0-9]+)(?:-\d+)?[:;]", text)
            others = (_Interaction(interactant_two=_Interactant(accession=partner)) for partner in partners)
            yield _Comment(comment_type=kind, interactions=tuple(others))


def _gene(gene: dict[str, Any]) -> _GeneNames:
    return _GeneNames(
        gene_name=_Named(value=_untagged(gene["Name"])) if "Name" in gene else None,
        synonyms=tuple(_Named(value=_untagged(synonym)) for synonym in gene.get("Synonyms", [])),
    )


def _residue(feature: Any) -> _Feature:
    start = feature.location.start
    # One that is unknown is no number.
    place = _Place(value=int(start) + 1 if isinstance(start, int) else None)
    return _Feature(
        type="Modified residue",
        location=_Location(start=place, sequence=feature.location.ref),
        description=_untagged(str(feature.qualifiers.get("note", ""))),
    )


def _origins(comment: str) -> tuple[EvidenceOrigin, ...]:
    found = (origin.partition(":") for origin in _ORIGIN.findall(comment))
    return tuple(EvidenceOrigin(source=source, id=number) for source, _, number in found)


def _untagged(text: str) -> str:
    return _EVIDENCE_TAG.sub("", text).strip()
