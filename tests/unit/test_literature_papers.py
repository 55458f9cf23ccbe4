"""Whole papers: sections, paragraphs, citations and notices, on made-up articles and on 76 of PLOS."""

import re
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree  # type: ignore[import-untyped]

from kgcheck.choices import SECTIONS, SectionKind
from kgcheck.errors import InputFormat
from kgcheck.literature.documents import Rejected
from kgcheck.literature.formats import choose_recipe, read_documents
from kgcheck.literature.jats import articles, read_jats, references_of
from kgcheck.literature.papers import CitedWork, Notice, WholePaper, kind_of, parts_of
from tests.support.jats import article, related

WORDS = re.compile(r"[^\W_]+")


def paper_in(folder: Path, text: str) -> WholePaper:
    path = folder / "a.xml"
    path.write_text(text, encoding="utf-8")
    ((_, paper),) = read_jats(path)
    assert isinstance(paper, WholePaper)
    return paper


def test_the_kinds_are_those_that_can_be_chosen() -> None:
    assert get_args(SectionKind) == SECTIONS


def test_sections_have_their_kinds_and_levels(tmp_path: Path) -> None:
    paper = paper_in(tmp_path, article(pmid="12"))

    assert [(s.kind, s.heading, s.level, len(s.paragraphs)) for s in paper.sections] == [
        ("abstract", "", 1, 0),
        ("abstract", "Background", 2, 1),
        ("abstract", "Results", 2, 1),
        ("other", "Summary", 1, 1),
        ("introduction", "Introduction", 1, 1),
        ("methods", "2. Materials and Methods", 1, 1),
        ("methods", "Results of staining", 2, 3),
        ("results", "Results", 1, 2),
        ("discussion", "Discussion", 1, 1),
        ("other", "Funding", 1, 1),
        ("other", "Acknowledgments", 1, 1),
    ]
    assert (paper.ids, paper.year, paper.journal) == (("pmid:12", "doi:10.5555/one"), 2014, "A journal")
    assert paper.licence == "https://creativecommons.org/licenses/by/4.0/"


def test_legends_formulas_and_cells(tmp_path: Path) -> None:
    sections = {s.heading: s for s in paper_in(tmp_path, article()).sections}

    assert [(p.legend, p.text) for p in sections["Results of staining"].paragraphs] == [
        ("", "Cells were stained with dye C."),
        ("Figure 1", "Stained cells. Bar: 10 um."),
        ("", "First the dye."),
    ]
    assert [(p.legend, p.text) for p in sections["Results"].paragraphs] == [
        ("", "Kinase A binds kinase B in yeast cells at night."),
        ("Table 1", "Pairs of kinases."),
    ]


def test_citations_are_linked_to_references(tmp_path: Path) -> None:
    paper = paper_in(tmp_path, article())
    (paragraph,) = next(s for s in paper.sections if s.kind == "introduction").paragraphs

    assert paragraph.text == "Kinase A was found early [1, 2], in vivo."
    assert [(paragraph.text[m.start : m.end], m.references) for m in paragraph.markers] == [
        ("1", ("r1",)),
        ("2", ("r2",)),
    ]
    assert paper.references[0] == CitedWork(
        key="r1", label="1", doi="10.1234/abc.1", pmid="77", year=1999, title="On kinases", authors=("Doe J",),
        text=paper.references[0].text,
    )  # fmt: skip
    assert (paper.references[1].doi, paper.references[1].pmid) == ("10.1234/xyz.2", "")


@pytest.mark.parametrize(
    ("kind", "notice"),
    [
        ("retracted-article", Notice(kind="retraction", notice="doi:10.5555/one", of="doi:10.1234/x.2")),
        ("corrected-article", Notice(kind="correction", notice="doi:10.5555/one", of="doi:10.1234/x.2")),
        ("retraction-forward", Notice(kind="retraction", notice="doi:10.1234/x.2", of="doi:10.5555/one")),
    ],
)  # fmt: skip
def test_notices_are_linked_to_what_they_are_about(tmp_path: Path, kind: str, notice: Notice) -> None:
    paper = paper_in(tmp_path, article(related=related(kind, "info:doi/10.1234/X.2")))

    path = tmp_path / "a.xml"
    assert choose_recipe(path).name == "jats"
    assert [d.recipe for d in read_documents(path, choose_recipe(path)) if isinstance(d, WholePaper)] == ["jats"]
    assert paper.notices == (notice,)
    assert paper.retracted is (kind == "retraction-forward")
    assert all(d.retracted is (notice.kind == "retraction") for d in parts_of(paper).paragraphs)
    # A companion is no notice, and a title may say it.
    assert paper_in(tmp_path, article(related=related("companion", "10.1234/x"))).notices == ()
    assert paper_in(tmp_path, article(title="RETRACTED: On kinase A")).retracted


def test_what_is_searched_says_its_section(tmp_path: Path) -> None:
    parts = parts_of(paper_in(tmp_path, article(pmid="12")))

    bare = parts_of(paper_in(tmp_path, article(abstract=""))).head
    assert (bare.section, bare.abstract) == ("introduction", "Kinase A was found early [1, 2], in vivo.")
    assert parts.head.abstract == "Kinase A is of interest. Kinase A binds kinase B."
    assert [(d.id, d.section, d.heading) for d in parts.paragraphs][1:5] == [
        ("pmid:12#2", "introduction", "Introduction"),
        ("pmid:12#3", "methods", "2. Materials and Methods"),
        ("pmid:12#4", "methods", "2. Materials and Methods > Results of staining"),
        ("pmid:12#5", "methods", "2. Materials and Methods > Results of staining > Figure 1"),
    ]


def test_articles_of_a_set_are_read_one_by_one(tmp_path: Path) -> None:
    inner = [article(d).partition("\n")[2].partition("\n")[2] for d in ("10.5555/a", "", "10.5555/c")]
    path = tmp_path / "set.xml"
    path.write_text(f"<pmc-articleset>{''.join(inner)}</pmc-articleset>")

    first, second, third = [r for _, r in read_jats(path)]
    assert isinstance(first, WholePaper)
    assert first.ids == ("doi:10.5555/a",)
    assert isinstance(second, Rejected)
    assert second.reason == "no_id"
    assert isinstance(third, WholePaper)
    assert third.ids == ("doi:10.5555/c",)


def test_an_article_without_text_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text(
        article(abstract="", body="<sec><title>Results</title></sec>", back="").replace(
            "<ack><p>We thank all.</p></ack>", ""
        )
    )
    ((_, found),) = read_jats(path)

    assert isinstance(found, Rejected)
    assert (found.reason, found.record) == ("no_text", "doi:10.5555/one")


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("billion laughs", f'<!DOCTYPE article [<!ENTITY l0 "ha">{LAUGHS}]><article>&l9;</article>'),
        ("a local file", '<!DOCTYPE article [<!ENTITY f SYSTEM "file:///etc/passwd">]><article>&f;</article>'),
        ("a parameter", '<!DOCTYPE article [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x"> %p;]><article/>'),
        ("deep", "<article>" + "<sec>" * 5000 + "</sec>" * 5000 + "</article>"),
        ("another root", "<html><body>maintenance</body></html>"),
        ("cut off", article()[:1500]),
        ("no XML", "%PDF-1.7 not this either"),
        ("empty", ""),
        ("binary", "\x00\x01\x02"),
    ],
)
def test_hostile_and_broken_files_are_refused(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / "a.xml"
    path.write_text(text)

    with pytest.raises(InputFormat, match=re.escape(str(path))):
        list(read_jats(path))


def test_declared_files_are_never_opened(tmp_path: Path) -> None:
    """Articles name a DTD: it is not looked for, and what is in the folder stays out."""
    (tmp_path / "JATS.dtd").write_text('<!ENTITY kinase "SECRET">')

    assert "SECRET" not in paper_in(tmp_path, article()).model_dump_json()


PIECES = st.sampled_from([
    "<sec>", "</sec>", "<p>", "</p>", "<title>", "</title>", "<fig>", "</fig>", "<list>", "</list>", "text ", "&amp;",
    "&nbsp;", '<xref ref-type="bibr" rid="r1 r9">', "</xref>", "<sup>", "</sup>", "\u00e9\u0301",
    "<caption>", "</caption>",
    "<boxed-text>", "</boxed-text>", "<!-- c -->", "<?x y?>", "<![CDATA[<b>]]>", "<table/>",
    "<label>", "</label>", "&#x1F9EC;",
])  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(st.lists(PIECES, max_size=25).map("".join))
def test_a_body_of_any_pieces_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, body: str) -> None:
    path = tmp_path_factory.mktemp("x") / "a.xml"
    path.write_text(article(body=body), encoding="utf-8")
    try:
        ((_, paper),) = read_jats(path)
    except InputFormat:
        return
    assert isinstance(paper, WholePaper)
    keys = {r.key for r in paper.references}
    for paragraph in (p for s in paper.sections for p in s.paragraphs):
        assert paragraph.text == paragraph.text.strip()
        assert "  " not in paragraph.text
        for marker in paragraph.markers:
            assert 0 <= marker.start < marker.end <= len(paragraph.text)
            assert set(marker.references) <= keys


@pytest.mark.parametrize(
    ("heading", "given_type", "kind"),
    [
        ("Results/Discussion", "", "results"),
        ("4 Discussion", "conclusions", "discussion"),
        ("Concluding Statement: what is left", "", "conclusion"),
        ("Experimental Procedures", "", "methods"),
        ("2 Patients, Materials and Methods", "", "methods"),
        ("Statistical Analysis", "", "methods"),
        ("Background", "", "introduction"),
        ("Model", "materials|methods", "methods"),
        ("The importance of methods", "", "other"),
        ("Resulting questions", "", "other"),
        ("", "", "other"),
    ],
)
def test_kinds_of_headings(heading: str, given_type: str, kind: str) -> None:
    assert kind_of(heading, given_type) == kind


# The 76 papers of PLOS, read a second time by XPath alone.

SET_APART = {"fig", "table-wrap", "list", "disp-quote", "boxed-text", "supplementary-material", "fig-group", "def-list"}
NO_WORDS = {"disp-formula", "tex-math", "graphic", "inline-graphic", "table", "object-id"}
RUNNING = ".//p[not(ancestor::fig or ancestor::table-wrap or ancestor::supplementary-material)]"


def words_of(element: Any) -> str:
    """The words of a paragraph without what is set apart in it."""
    text = element.text or ""
    for child in element:
        if child.tag not in SET_APART | NO_WORDS and isinstance(child.tag, str):
            text += words_of(child)
        text += child.tail or ""
    return text


def sections_by_xpath(root: Any) -> list[tuple[str, int, list[str]]]:
    """Heading, depth and paragraphs of each section of the body; a box is part of the section that it stands in."""
    found = []
    for sec in root.xpath("body//sec[not(ancestor::boxed-text)]"):
        own = [p for p in sec.xpath(RUNNING) if p.xpath("ancestor::sec[not(ancestor::boxed-text)]")[-1] is sec]
        texts = [t for p in own if (t := squeezed(words_of(p)))]
        heading = squeezed(sec.xpath("string(title)"))
        found.append((heading, len(sec.xpath("ancestor::sec")) + 1, texts))
    return found


@cache
def plos(folder: Path) -> list[tuple[str, Any, WholePaper]]:
    """Name, the XML itself, and what the reader makes of it."""
    found = []
    for path in sorted(folder.glob("*.xml")):
        ((_, paper),) = read_jats(path)
        assert isinstance(paper, WholePaper)
        found.append((path.name, etree.parse(path).getroot(), paper))
    assert len(found) == 76
    return found


@pytest.mark.slow
def test_sections_of_every_paper_are_those_of_the_xml(shared_data: Path) -> None:
    """Headings, depth, and the words of every paragraph, by a reading that shares nothing with the reader."""
    sections = paragraphs = 0
    for name, root, paper in plos(shared_data / "fulltext/plos"):
        before = int(root.xpath("count(front/article-meta/abstract | front/article-meta/abstract//sec)"))
        expected = sections_by_xpath(root)
        # What stands in the body between sections has no path of headings.
        read = [s for s in paper.sections[before:] if s.path][: len(expected)]
        found = [(squeezed(s.heading), s.level, [squeezed(p.text) for p in s.paragraphs if not p.legend]) for s in read]
        for got, wanted in zip(found, expected, strict=True):
            assert got == wanted, name
            paragraphs += len(wanted[2])
        sections += len(expected)
        legends = [p for s in read for p in s.paragraphs if p.legend]
        set_apart = "self::fig or self::table-wrap or self::supplementary-material"
        captions = root.xpath(f"body//sec//*[{set_apart}][not(ancestor::fig or ancestor::table-wrap)]/caption")
        assert len(legends) == len([c for c in captions if squeezed(c.xpath("string()"))]), name
    assert sections > 1000
    assert paragraphs > 3000


def squeezed(text: str) -> str:
    return "".join(WORDS.findall(unicodedata.normalize("NFC", text))).casefold()


def test_references_and_citations_of_every_paper(shared_data: Path) -> None:
    linked = 0
    for name, root, paper in plos(shared_data / "fulltext/plos"):
        refs = [r.get("id") for r in root.iter("ref") if r.get("id")]
        assert [r.key for r in paper.references] == list(dict.fromkeys(refs))
        years = {r.get("id"): y.text for r in root.iter("ref") for y in r.iter("year")}
        for work in paper.references:
            if work.year:
                assert str(work.year) in "".join(years[work.key] or "")
        for section in paper.sections:
            for p in section.paragraphs:
                # A range stands for its two ends.
                linked += sum(1 + (len(m.references) > 1) for m in p.markers)
                assert all(any(c.isalnum() for c in p.text[m.start : m.end]) for m in p.markers)
        if name == "journal.pcbi.0030158.xml":
            assert paper.notices == (
                Notice(
                    kind="retraction", notice="doi:10.1371/journal.pcbi.0030158", of="doi:10.1371/journal.pcbi.0030051"
                ),
            )
    # All citations in body and abstract but those of tables' cells.
    assert linked > 7000


RANGED = """<sec><title>Results</title><p>Seen before
[<xref ref-type="bibr" rid="b2">2</xref>]\u2013[<xref ref-type="bibr" rid="b5">5</xref>],
<xref ref-type="bibr" rid="b1">1</xref>-<xref ref-type="bibr" rid="b3">3</xref>,
<xref ref-type="bibr" rid="b3 b6">3\u20136</xref>, <xref ref-type="bibr" rid="b6">6</xref>-<xref ref-type="bibr"
rid="b1">1</xref> and [<xref ref-type="bibr" rid="b1">1</xref>]-fold
[<xref ref-type="bibr" rid="b2">2</xref>].</p></sec>"""


def test_a_range_cites_all_between_its_ends(tmp_path: Path) -> None:
    refs = "".join(
        f'<ref id="b{n}"><label>{n}</label><mixed-citation>Doe {n}</mixed-citation></ref>' for n in range(1, 7)
    )
    paper = paper_in(tmp_path, article(body=RANGED, back=f"<ref-list>{refs}</ref-list>"))
    (paragraph,) = next(s for s in paper.sections if s.kind == "results").paragraphs

    assert [(paragraph.text[m.start : m.end], "".join(m.references)) for m in paragraph.markers] == [
        ("2]\u2013[5", "b2b3b4b5"),
        ("1-3", "b1b2b3"),
        ("3\u20136", "b3b4b5b6"),
        ("6", "b6"),
        ("1", "b1"),
        ("1", "b1"),
        ("2", "b2"),
    ]


def test_ranges_of_every_paper(shared_data: Path) -> None:
    ranges = 0
    for name, root, paper in plos(shared_data / "fulltext/plos"):
        order = list(dict.fromkeys(r.get("id") for r in root.iter("ref") if r.get("id")))
        wanted: Counter[tuple[str, ...]] = Counter()
        for low in root.xpath("//p//xref[@ref-type='bibr'][not(ancestor::table or ancestor::table-wrap-foot)]"):
            named = (low.get("rid") or "").split()
            if len(named) > 1 and re.search(r"\d\D*[-\u2013\u2014]\D*\d", "".join(low.itertext())):
                # The publisher names all of the range itself.
                wanted[tuple(named)] += 1
            high = low.getnext()
            between = low.tail or ""
            while high is not None and not any(map(str.isalnum, "".join(high.itertext()))):
                # Some mark the dash itself as a citation, or what is between.
                between += "".join(high.itertext()) + (high.tail or "")
                high = high.getnext()
            joined = re.sub(r"[\s\[\]()]", "", between)
            if high is None or high.tag != "xref" or joined not in ("-", "\u2013", "\u2014"):
                continue
            numbers = [re.sub(r"\D", "", "".join(x.itertext())) for x in (low, high)]
            first, last = (order.index(x.get("rid")) if x.get("rid") in order else -1 for x in (low, high))
            if all(numbers) and 0 <= first < last and last - first == int(numbers[1]) - int(numbers[0]):
                wanted[tuple(order[first : last + 1])] += 1
        found = Counter(
            m.references
            for section in paper.sections
            for p in section.paragraphs
            for m in p.markers
            if len(m.references) > 1 and re.search(r"\d\D*[-\u2013\u2014]\D*\d", p.text[m.start : m.end])
        )
        assert found == wanted, name
        ranges += sum(found.values())
    assert ranges > 100


def test_an_entry_that_is_only_marked_up_keeps_its_fields_and_reads_as_one_writes_it(tmp_path: Path) -> None:
    name = "<name><surname>van Doe</surname><given-names>JE</given-names></name>"
    entry = f"""<ref id="r1"><element-citation><person-group>{name}{name.replace("Doe", "Roe")}</person-group>
      <year>2001</year><article-title>On kinases</article-title><source>J Cell Sci</source><volume>12</volume>
      <issue>3</issue><fpage>345</fpage><lpage>50</lpage></element-citation></ref>"""
    path = tmp_path / "paper.xml"
    path.write_text(f"<article><back><ref-list>{entry}</ref-list></back></article>", encoding="utf-8")

    (work,) = references_of(next(articles(path)))

    assert (work.journal, work.volume, work.issue, work.page, work.last_page) == ("J Cell Sci", "12", "3", "345", "350")
    assert work.text == "van Doe JE, van Roe JE (2001). On kinases. J Cell Sci 12(3): 345-350."
