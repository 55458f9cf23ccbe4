"""Papers from the records that services give of them, over their API or in their files."""

from collections.abc import Iterable

from kgcheck.literature.documents import Rejected, make_document, titled_retracted
from kgcheck.literature.papers import CitedWork, Paragraph, Section, WholePaper
from kgcheck.providers.gathered import PaperRecord


def paper_of_record(
    record: PaperRecord, recipe: str, references: Iterable[str] = (), citations: Iterable[str] = ()
) -> WholePaper | Rejected:
    """A paper with its abstract alone."""
    abstract = record.abstract if isinstance(record.abstract, str) else list(record.abstract)
    fields = record._asdict() | {"id": record.ids[0] if record.ids else "", "abstract": abstract}
    document = make_document(fields, recipe)
    if isinstance(document, Rejected):
        return document
    return WholePaper(
        ids=record.ids,
        title=document.title,
        type=", ".join(document.types)[:500],
        year=document.year,
        journal=document.journal,
        licence=record.licence,
        # Not every service has a mark for it.
        retracted=document.retracted or titled_retracted(document.title),
        sections=(Section(kind="abstract", path=("",), paragraphs=(Paragraph(text=document.abstract),)),),
        references=tuple(_work(number, name) for number, name in enumerate(references, 1)),
        citations=tuple(citations),
        recipe=recipe,
    )


def _work(number: int, name: str) -> CitedWork:
    kind, _, value = name.partition(":")
    return CitedWork(
        key=str(number),
        label=str(number),
        doi=value if kind == "doi" else "",
        pmid=value if kind == "pmid" else "",
        text=name,
    )
