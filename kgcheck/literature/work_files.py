"""Works from files: PubMed XML, JATS with its reference lists, and the works of OpenAlex and Crossref as JSON."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kgcheck.errors import InputFormat, SourceAnswer
from kgcheck.inputs import parse_json, read_whole
from kgcheck.literature.documents import Rejected, clean
from kgcheck.literature.formats import json_lines
from kgcheck.literature.jats_links import ids_of, notices_of, reference_of, text_of, years_of
from kgcheck.literature.works import ids_of_reference
from kgcheck.literature.xml_elements import XmlElements, xml_elements
from kgcheck.providers import crossref, openalex
from kgcheck.providers.gathered import WorkFields, doi_id, first_page, pmid_id
from kgcheck.providers.pubmed import work_of_article

_XML = (".xml", ".nxml")
_LINES = (".jsonl", ".ndjson", "")
"""Suffixes of files with one object a line; OpenAlex calls its own ``part_000.gz``."""

_OF_WORKS = "name a file of works of OpenAlex or Crossref"
_LONGEST = 2_000
"""Characters of a title or a name; what is longer is none."""


class ReadWork(NamedTuple):
    """A record of a file: where it stands, whose form it has, and what it states, or why it is none."""

    place: str
    source: str
    fields: WorkFields | Rejected


def holds_works(path: Path) -> bool:
    """Whether a file may hold works, by its name."""
    packed = path.name.lower().endswith(".gz")
    bare = Path(path.name.lower().removesuffix(".gz")).suffix
    return bare in (*_XML, *_LINES[:2], ".json") or (packed and not bare)


def read_works(path: Path) -> Iterator[ReadWork]:
    """The works of a file, and those that their reference lists name."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    for found in _of_xml(path) if suffix in _XML else _of_json(path, suffix):
        fields = _cleaned(found.fields) if isinstance(found.fields, WorkFields) else found.fields
        if fields is not None:
            yield found._replace(fields=fields)


def _cleaned(fields: WorkFields) -> WorkFields | Rejected | None:
    """A record that can be found again; None for an entry of a list that names nothing."""
    texts = (*fields.titles, fields.journal, fields.author, fields.volume, fields.page, fields.key, *fields.ids)
    if any(len(text) > _LONGEST for text in texts):
        detail = f"a title, name or id has over {_LONGEST:,} characters"
        return Rejected(reason="too_long", detail=detail, record=fields.key[:200])
    if not fields.ids and not fields.listed:
        return Rejected(reason="no_id", detail="the record has no DOI, PMID or PMCID", record=fields.key)
    if not (fields.ids or fields.titles or (fields.author and fields.volume and fields.page)):
        return None
    return fields._replace(
        titles=tuple(dict.fromkeys(filter(None, map(clean, fields.titles)))),
        journal=clean(fields.journal),
        author=clean(fields.author),
        volume=clean(fields.volume),
    )


def _of_xml(path: Path) -> Iterator[ReadWork]:
    with xml_elements(path, "XML of PubMed or JATS") as elements:

        def start(element: Any) -> None:
            if isinstance(element.tag, str):
                element.tag = element.tag.rpartition("}")[2]

        number = 0
        for element in elements.ends(start):
            found = _ended(element, elements)
            if found is None:
                continue
            number += 1
            place = f"{path}, record {number}"
            for source, fields in found:
                yield ReadWork(place, source, fields)
            element.clear()
            elements.around[-1].clear() if len(elements.around) == 1 else None
            elements.end_record()
        if not number:
            raise InputFormat(f"{path} has no record of PubMed and no article of JATS", "name a file of PubMed or JATS")


def _ended(element: Any, elements: XmlElements) -> list[tuple[str, WorkFields | Rejected]] | None:
    """What an element states that has ended; None where it is not a record."""
    if element.tag == "PubmedArticle":
        nothing = Rejected(reason="malformed", detail="the record has no MedlineCitation with an Article")
        return [("pubmed", work_of_article(element) or nothing)]
    if element.tag == "article" and not any(e.tag == "article" for e in elements.around):
        return [("jats", fields) for fields in _of_article(element)]
    return None


def _of_article(article: Any) -> list[WorkFields | Rejected]:
    meta = article.find("front/article-meta")
    if meta is None:
        return [Rejected(reason="malformed", detail="the article has no front/article-meta")]
    ids = ids_of(meta)
    if not ids:
        title = text_of(meta.find("title-group/article-title"))
        return [Rejected(reason="no_id", detail="the article has no DOI, PMID or PMCID", record=title[:200])]
    notices = [n for n in notices_of(article, ids) if n.kind == "retraction"]
    listed = [_listed(ids[0], element) for element in article.iter("ref") if element.get("id")]
    doi = next((i for i in ids if i.startswith("doi:")), "")
    heading = meta.find("title-group")
    subtitle = text_of(heading.find("subtitle")) if heading is not None else ""
    title = text_of(meta.find("title-group/article-title"))
    own = WorkFields(
        key=ids[0],
        ids=ids,
        titles=tuple(filter(None, (f"{title}: {subtitle}" if subtitle else "", title))),
        years=years_of(meta),
        journal=text_of(article.find("front/journal-meta/journal-title-group/journal-title"))
        or text_of(article.find("front/journal-meta/journal-title")),
        author=_first_author(meta),
        volume=text_of(meta.find("volume")),
        page=first_page(text_of(meta.find("fpage")) or text_of(meta.find("elocation-id"))),
        retracted=any(n.of in ids for n in notices),
        notices=tuple(n.notice for n in notices if n.of in ids and n.notice),
        retracts=tuple(n.of for n in notices if n.of not in ids),
        cites=tuple(dict.fromkeys(i for fields in listed for i in fields.ids[:1])),
        url=f"https://doi.org/{doi.removeprefix('doi:')}" if doi else "",
    )
    return [own, *(fields._replace(url=own.url) for fields in listed)]


def _first_author(meta: Any) -> str:
    for contributor in meta.iter("contrib"):
        if contributor.get("contrib-type") not in (None, "author"):
            continue
        name = contributor.find(".//name")
        if name is not None:
            return " ".join(filter(None, (text_of(name.find("surname")), text_of(name.find("given-names")))))
        if contributor.find("collab") is not None:
            return text_of(contributor.find("collab"))
    return ""


def _listed(citing: str, element: Any) -> WorkFields:
    """What a reference list states of a work."""
    entry = reference_of(str(element.get("id")), element)

    def first(*tags: str) -> str:
        return next((text for tag in tags for found in element.iter(tag) if (text := text_of(found))), "")

    journal = first("source")
    return WorkFields(
        key=f"{citing}#{entry.key}",
        ids=tuple(i for name in ids_of_reference(entry) for i in (*doi_id(name[4:]), *pmid_id(name[5:])) if i == name),
        titles=(entry.title,) if entry.title else (),
        years=(entry.year,) if entry.year else (),
        journal=journal if journal != entry.title else "",
        author=entry.authors[0] if entry.authors else "",
        volume=first("volume"),
        page=first_page(first("fpage", "elocation-id")),
        listed=True,
    )


def _of_json(path: Path, suffix: str) -> Iterator[ReadWork]:
    number = 0
    for place, raw in json_lines(path) if suffix in _LINES else _items(path):
        if isinstance(raw, Rejected):
            yield ReadWork(place, "", raw)
            continue
        number += 1
        source, readers = _known(raw)
        if not source:
            detail = "it is no work of OpenAlex or Crossref"
            if number == 1:
                raise InputFormat(
                    f"{path} holds no works: its first record has neither an OpenAlex id nor a DOI", _OF_WORKS
                )
            yield ReadWork(place, "", Rejected(reason="malformed", detail=detail, record=str(raw)[:200]))
            continue
        try:
            made = [fields for reader in readers for fields in reader(raw)]
        except SourceAnswer as error:
            named = str(raw.get("id") or raw.get("DOI"))[:200]
            yield ReadWork(place, source, Rejected(reason="malformed", detail=error.message, record=named))
            continue
        yield from (ReadWork(place, source, fields) for fields in made)


_Readers = tuple[Callable[[dict[str, Any]], tuple[WorkFields, ...]], ...]


def _known(raw: dict[str, Any]) -> tuple[str, _Readers]:
    if str(raw.get("id")).startswith("https://openalex.org/W"):
        return "openalex", (lambda work: (openalex.work_fields(work),),)
    if isinstance(raw.get("DOI"), str):
        return "crossref", (lambda work: (crossref.work_of(work),), crossref.cited_in)
    return "", ()


def _items(path: Path) -> Iterator[tuple[str, dict[str, Any] | Rejected]]:
    """The works of a file that is one JSON value: a list, or an object with ``items`` as in the dump of Crossref."""
    try:
        whole = parse_json(read_whole(path, encoding="utf-8-sig"))
    except ValueError as error:
        raise InputFormat(f"{path} is not JSON: {error}", "it may be cut off") from error
    items = whole.get("items", [whole]) if isinstance(whole, dict) else whole
    if not isinstance(items, list):
        raise InputFormat(f"{path} holds no works", _OF_WORKS)
    for number, raw in enumerate(items, 1):
        place = f"{path}, record {number}"
        yield place, raw if isinstance(raw, dict) else Rejected(reason="malformed", detail="not an object", place=place)
