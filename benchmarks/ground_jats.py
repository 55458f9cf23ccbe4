"""A paper in JATS as something that can be edited at one place, and rendered to Markdown or plain text by pandoc.

All copies are written from a parsed tree, the undamaged one, too, so that two copies differ where one was edited and
nowhere else.
"""

import copy
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pypandoc
from lxml import etree

from kgcheck.choices import SectionKind
from kgcheck.literature.documents import sentences
from kgcheck.literature.papers import kind_of

FORMS = {"jats": "xml", "markdown": "md", "text": "txt"}

_APART = frozenset({"fig", "table-wrap", "disp-formula", "list", "boxed-text", "supplementary-material", "tex-math"})
_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>,;]+[^\s\"<>,;.)]")


class Slot(NamedTuple):
    """A text of a tree: before the children of an element (``text``) or after it (``tail``)."""

    element: Any
    tail: bool
    start: int
    """Where it begins in the text of the paragraph."""

    @property
    def text(self) -> str:
        """What stands there."""
        return str((self.element.tail if self.tail else self.element.text) or "")

    def replace(self, start: int, end: int, by: str) -> None:
        """Replace a part; places are of the paragraph's text."""
        text = self.text
        made = text[: start - self.start] + by + text[end - self.start :]
        if self.tail:
            self.element.tail = made
        else:
            self.element.text = made


class Passage(NamedTuple):
    """A paragraph with its place."""

    number: int
    section: SectionKind
    top: int
    """Which of the outermost sections; the abstract is -1."""

    element: Any

    @property
    def slots(self) -> list[Slot]:
        """Its texts in order."""
        return list(_slots(self.element))

    @property
    def text(self) -> str:
        """All of it, each space and line break one space."""
        return re.sub(r"\s", " ", "".join(s.text for s in self.slots))

    def slot_at(self, start: int, end: int) -> Slot | None:
        """The text that holds a stretch whole."""
        return next((s for s in self.slots if s.start <= start and end <= s.start + len(s.text)), None)

    def sentence_at(self, at: int) -> tuple[int, int]:
        """The sentence around a place."""
        return next(((a, b) for a, b in sentences(self.text) if a <= at < b), (0, len(self.text)))


class Paper:
    """A tree with its passages and its list of references.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        parser = etree.XMLParser(load_dtd=False, no_network=True, resolve_entities=False)
        self.tree = etree.parse(str(path), parser)
        self.name = path.stem.removeprefix("journal.")

    def copied(self) -> "Paper":
        """Another tree with the same content."""
        other = object.__new__(Paper)
        other.tree, other.name = copy.deepcopy(self.tree), self.name
        return other

    @property
    def references(self) -> list[Any]:
        """The entries in order."""
        return list(self.tree.iterfind(".//ref-list//ref"))

    @property
    def usable(self) -> bool:
        """Whether it is a research article with an abstract, sections, references and citations."""
        root = self.tree.getroot()
        marks = root.findall(".//body//xref[@ref-type='bibr']")
        sections = root.findall("body/sec")
        long = len(self.references) >= 15 and len(marks) >= 15 and len(sections) >= 3
        return root.get("article-type") == "research-article" and long and bool(self.abstract)

    @property
    def abstract(self) -> list[Passage]:
        """Paragraphs of the abstract."""
        found = [a for a in self.tree.iterfind("front/article-meta/abstract") if not a.get("abstract-type")]
        return [Passage(-1 - n, "abstract", -1, p) for n, p in enumerate(p for a in found for p in a.iter("p"))]

    @property
    def passages(self) -> list[Passage]:
        """Paragraphs of running text in the body."""
        made: list[Passage] = []
        for top, section in enumerate(self.tree.iterfind("body/sec")):
            kind = kind_of(str(section.findtext("title") or ""), str(section.get("sec-type") or ""))
            if section.get("sec-type") == "supplementary-material" or "Supporting" in (section.findtext("title") or ""):
                continue
            for paragraph in section.iter("p"):
                if not any(a.tag in _APART for a in paragraph.iterancestors()):
                    made.append(Passage(len(made), kind, top, paragraph))
        return made

    def write(self, path: Path, form: str) -> None:
        """Write it as JATS, or as Markdown or plain text with numbered marks and a numbered list.

        Args:
            path: The file.
            form: One of FORMS.
        """
        if form == "jats":
            self.tree.write(str(path), encoding="UTF-8", xml_declaration=True)
        else:
            path.write_text(_rendered(self.copied(), form), encoding="utf-8")


def _slots(element: Any, at: int = 0) -> Iterator[Slot]:
    """The texts of an element, without those of what is set apart in it (but with what follows that)."""
    yield (slot := Slot(element, False, at))
    at += len(slot.text)
    for child in element:
        if isinstance(child.tag, str) and child.tag not in _APART:
            for slot in _slots(child, at):
                yield slot
                at = slot.start + len(slot.text)
        yield (slot := Slot(child, True, at))
        at += len(slot.text)


def doi_of(entry: Any) -> str:
    """The DOI in an entry, or an empty text."""
    found = _DOI.search(" ".join(entry.itertext()))
    return found[0] if found else ""


def pmid_of(entry: Any) -> str:
    """The PMID in an entry, or an empty text."""
    return next((e.text or "" for e in entry.iter("pub-id", "object-id") if e.get("pub-id-type") == "pmid"), "")


def words_of(element: Any) -> str:
    """All text of an element with single spaces."""
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def entry_text(entry: Any) -> str:
    """An entry as one writes it: authors, year, title, journal, pages, DOI, PMID; a mixed one as it stands."""
    citation = next((c for c in entry if c.tag != "label"), None)
    if citation is None:
        return ""
    pmid = pmid_of(entry)
    if citation.tag == "mixed-citation":
        bare = copy.deepcopy(citation)
        for element in list(bare.iter("object-id")):
            etree.strip_elements(element.getparent(), "object-id", with_tail=False)
        for surname in bare.iter("surname"):
            surname.tail = surname.tail or " "  # older files have nothing between the names of a person
        return words_of(bare) + (f" PMID: {pmid}" if pmid and not words_of(bare).endswith(pmid) else "")
    names = [
        " ".join(filter(None, (words_of(n.find("surname")), words_of(n.find("given-names")).replace(". ", ""))))
        for n in citation.iter("name")
    ]
    names += [words_of(c) for c in citation.iter("collab")] + (
        ["et al."] if citation.find(".//etal") is not None else []
    )
    pages = "-".join(filter(None, (words_of(citation.find("fpage")), words_of(citation.find("lpage")))))
    year, title = words_of(citation.find("year")), words_of(citation.find("article-title")).rstrip(".")
    source = " ".join(filter(None, (words_of(citation.find("source")), words_of(citation.find("volume")))))
    parts = [", ".join(names), f"({year})" if year else "", f"{title}." if title else "", source]
    text = " ".join(filter(None, parts))
    text += f": {pages}." if pages else "." if text else ""
    doi = doi_of(entry)
    others = [words_of(c) for c in citation.iter("comment") if not doi or doi not in words_of(c)]
    ids = (f"doi:{doi}" if doi else "", f"PMID: {pmid}" if pmid else "")
    return " ".join(filter(None, (text, *others, *ids)))


def _rendered(paper: Paper, form: str) -> str:
    """Title and abstract as sections, marks as the numbers that stand in them, references as a numbered list."""
    root = paper.tree.getroot()
    body = root.find("body")
    entries = [entry_text(entry) for entry in paper.references]
    for mark in list(root.iter("xref")):
        mark.tag = "named-content"
        mark.attrib.clear()
    abstract = etree.Element("sec")
    etree.SubElement(abstract, "title").text = "Abstract"
    for passage in paper.abstract:
        abstract.append(copy.deepcopy(passage.element))
    body.insert(0, abstract)
    for part in list(root):
        if part.tag in ("back", "floats-group"):
            root.remove(part)
    title = words_of(root.find("front/article-meta/title-group/article-title"))
    references = etree.SubElement(body, "sec")
    etree.SubElement(references, "title").text = "References"
    made = etree.SubElement(references, "list", {"list-type": "order"})
    for entry in entries:
        etree.SubElement(etree.SubElement(made, "list-item"), "p").text = entry
    for front in root.iterfind("front"):
        root.remove(front)
    to = {"markdown": "markdown-smart-raw_html-raw_attribute-header_attributes", "text": "plain"}[form]
    # The program itself and not its wrapper, which writes its warnings about formulas into a log of its own.
    program = [pypandoc.get_pandoc_path(), "-f", "jats", "-t", to, "--wrap=none"]
    source = etree.tostring(paper.tree, encoding="UTF-8", xml_declaration=True)
    text = subprocess.run(program, input=source, capture_output=True, check=True).stdout.decode()  # noqa: S603
    if form == "markdown":
        # As one writes it: brackets around numbers are not escaped.
        text = re.sub(r"\\\[([\d,;\s\u2013-]+)\\\]", r"[\1]", text)
        return f"# {title}\n\n{text}"
    return f"{title}\n\n{text}"
