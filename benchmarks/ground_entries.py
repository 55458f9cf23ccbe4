"""Faults of entries in a list of references: another DOI, year, title or author, an invented work, a retracted one."""

import re
from collections.abc import Callable
from typing import Any

from lxml import etree

from benchmarks.ground_facts import WORDS
from benchmarks.ground_faults import Edited, Fault, Target, Work
from benchmarks.ground_jats import Paper, doi_of, entry_text, pmid_of, words_of

_CONTENT = re.compile(r"(?<![\w-])[a-z]{6,}(?![\w-])")


def works_of(papers: list[Paper]) -> list[Work]:
    """What the lists of papers name.

    Args:
        papers: All whose lists are known.

    Returns:
        Entries with title and first author.
    """
    made = []
    for paper in papers:
        for entry in paper.references:
            title, name = words_of(entry.find(".//article-title")).rstrip("."), entry.find(".//name")
            if title and name is not None:
                made.append(
                    Work(
                        paper.name, title, doi_of(entry), *(words_of(name.find(t)) for t in ("surname", "given-names"))
                    )
                )
    return made


def variants(kind: str, entry: Any) -> list[str]:
    """The ways in which an entry can be damaged.

    Args:
        kind: Of the fault.
        entry: The element.

    Returns:
        None where it cannot.
    """
    title, year = words_of(entry.find(".//article-title")), words_of(entry.find(".//year"))
    full = len(title.split()) >= 4 and re.fullmatch(r"(?:19|20)\d\d", year) and entry.find(".//surname") is not None
    if not full:
        return []
    if kind == "doi":
        return ["another work's", "one character"] if doi_of(entry) else []
    if kind == "year":
        return [""] if entry_text(entry).count(year) == 1 else []
    if kind == "title":
        return ["another work's", "one word"] if len(_CONTENT.findall(title)) > 2 else []
    if kind == "retracted":
        return ["bare"] if doi_of(entry) or pmid_of(entry) else ["bare", "added"]
    return [""]


def _doi(edited: Edited, target: Target) -> Fault | None:
    entry = edited.references[target.entry or 0]
    before = doi_of(entry)
    known = {w.doi.lower() for w in edited.works} | {doi_of(r).lower() for r in edited.references}
    touched: list[int] = []
    if target.variant == "another work's":
        own = [(n, d) for n, r in enumerate(edited.references) if (d := doi_of(r)) and d.lower() != before.lower()]
        if own and edited.of.random() < 0.5:
            number, after = edited.of.choice(own)
            touched = [number + 1]
        else:
            after = edited.of.choice([w.doi for w in edited.works if w.doi and w.doi.lower() != before.lower()])
    else:
        places = [n for n, c in enumerate(before) if c.isdigit() and n > before.index("/")]
        if not places:
            return None
        at = edited.of.choice(places)
        after = before[:at] + edited.of.choice([d for d in "0123456789" if d != before[at]]) + before[at + 1 :]
        if after.lower() in known:
            return None
    _replace(entry, before, after)
    fault = edited.fault_of(target, "doi", before, after)
    fault.touched = touched
    return fault


def _replace(entry: Any, before: str, after: str) -> None:
    """Replace a text in all places of an entry, also where a link leads to."""
    for element in entry.iter():
        element.text = element.text.replace(before, after) if element.text else element.text
        element.tail = element.tail.replace(before, after) if element.tail and element is not entry else element.tail
        for name, value in element.attrib.items():
            element.set(name, value.replace(before, after))


def _year(edited: Edited, target: Target) -> Fault | None:
    element = edited.references[target.entry or 0].find(".//year")
    before = element.text
    year = re.search(r"\d{4}", before or "")
    if not year:
        return None
    shift = edited.of.choice([n for n in range(-9, 10) if abs(n) > 1 and int(year[0]) + n < 2017])
    element.text = before.replace(year[0], str(int(year[0]) + shift))
    return edited.fault_of(target, "year", before, element.text)


def _title(edited: Edited, target: Target) -> Fault | None:
    entry = edited.references[target.entry or 0]
    element = entry.find(".//article-title")
    before = words_of(element)
    lists = {words_of(r.find(".//article-title")).rstrip(".").lower() for r in edited.references}
    others = [w.title for w in edited.works if len(w.title.split()) >= 4 and w.title.lower() not in lists]
    if target.variant == "another work's":
        for child in list(element):
            element.remove(child)
        element.text = edited.of.choice(others) + ("." if before.endswith(".") else "")
    else:
        stretches = [e for e in element.iter() if _CONTENT.search(e.text or "")]
        if not stretches:
            return None
        stretch = edited.of.choice(stretches)
        found = edited.of.choice(list(_CONTENT.finditer(stretch.text)))
        word = edited.of.choice(sorted({w for t in others for w in _CONTENT.findall(t)} - set(before.lower().split())))
        stretch.text = stretch.text[: found.start()] + word + stretch.text[found.end() :]
    return edited.fault_of(target, "title", before, words_of(element))


def _author(edited: Edited, target: Target) -> Fault | None:
    entry = edited.references[target.entry or 0]
    name = entry.find(".//name")
    names = {words_of(s).lower() for s in entry.iter("surname")}
    other = edited.of.choice([w for w in edited.works if w.surname and w.given and w.surname.lower() not in names])
    before = words_of(name)
    name.find("surname").text = other.surname
    if name.find("given-names") is not None:
        name.find("given-names").text = other.given
    return edited.fault_of(target, "author", before, words_of(name))


def _invented(edited: Edited, target: Target) -> Fault | None:
    of, words = edited.of, WORDS["invented"]
    before = entry_text(edited.references[target.entry or 0])
    title = " ".join(of.choice(words[part]) for part in ("openings", "subjects", "settings"))
    authors = [(name, of.choice(words["given"])) for name in of.sample(words["surnames"], of.randint(2, 4))]
    first = of.randint(100, 900)
    made = {
        "year": str(of.randint(1996, 2013)),
        "article-title": title,
        "source": of.choice(words["journals"]),
        "volume": str(of.randint(4, 90)),
        "fpage": str(first),
        "lpage": str(first + of.randint(4, 15)),
    }
    citation = _emptied(edited.references[target.entry or 0])
    mixed = citation.tag == "mixed-citation"
    group = citation if mixed else etree.SubElement(citation, "person-group", {"person-group-type": "author"})
    for number, (surname, given) in enumerate(authors):
        name = etree.SubElement(group, "name", {"name-style": "western"})
        etree.SubElement(name, "surname").text = surname
        name[0].tail = " " if mixed else None
        etree.SubElement(name, "given-names").text = given
        name.tail = (", " if number < len(authors) - 1 else " (") if mixed else None
    after = {"year": ") ", "article-title": ". ", "source": " ", "volume": ": ", "fpage": "-", "lpage": ". doi: "}
    for tag, text in made.items():
        etree.SubElement(citation, tag).text = text
        citation[-1].tail = after[tag] if mixed else None
    doi = f"10.5555/{of.choice(words['surnames'])[:4].lower()}.{made['year']}.{of.randint(1000, 9999)}"
    etree.SubElement(citation, "pub-id", {"pub-id-type": "doi"}).text = doi
    return edited.fault_of(target, "invented", before, entry_text(edited.references[target.entry or 0]))


def _emptied(entry: Any) -> Any:
    citation = next(c for c in entry if c.tag != "label")
    for child in list(citation):
        citation.remove(child)
    citation.text = None
    return citation


def _retracted(edited: Edited, target: Target) -> Fault | None:
    """The PMID alone, or added to an entry that has no id."""
    entry = edited.references[target.entry or 0]
    before, pmid = entry_text(entry), edited.of.choice(edited.retracted)
    citation = _emptied(entry) if target.variant == "bare" else next(c for c in entry if c.tag != "label")
    if citation.tag == "mixed-citation":
        if len(citation):
            citation[-1].tail = (citation[-1].tail or "") + " PMID: "
        else:
            citation.text = "PMID: "
    etree.SubElement(citation, "pub-id", {"pub-id-type": "pmid"}).text = pmid
    return edited.fault_of(target, "retracted", before, entry_text(entry))


DAMAGES: dict[str, Callable[[Edited, Target], Fault | None]] = {
    "doi": _doi,
    "year": _year,
    "title": _title,
    "author": _author,
    "invented": _invented,
    "retracted": _retracted,
}
