"""Manuscripts in every format, made here; and some papers of PLOS as what they are."""

import hashlib
import io
import subprocess
import zipfile
from pathlib import Path

import pytest

from kgcheck.errors import InputError, InputFormat, MissingExtra
from kgcheck.grounding.manuscript import Manuscript
from kgcheck.grounding.manuscripts import pandoc
from kgcheck.grounding.manuscripts.reading import read_given, read_manuscript
from tests.support.jats import article

MARKDOWN = """---
title: On kinases
---

# Abstract

Kinase A binds kinase B [1].
It does so in *95%* of cells.

# Methods

## Results of staining

Cells^2,3^ were counted (n = 10^6^); `code[2]` and $x^{2}$ too.[^n]

- An item [4].

[^n]: A note on cells [2].

| Kinase | Pairs |
|--------|------:|
| A      |    17 |

Table: Pairs of kinases [3].

# Discussion

**Limits**

As Lee et al. (2020) found [99].

# References

1. Lee AB, Chan C, Roe D. Kinase A of yeast. J Cell Biol. 2020;12(3):4-5. doi:10.5555/abc.1
2. Chan C. Kinase B of yeast. J Cell Biol. 2019;12(3):4-5. [link](https://doi.org/10.5555/abc.2)
3. Roe D. Kinase C of yeast. J Cell Biol. 2018;12(3):4-5.
"""

BIB = "@article{lee2020,author={Lee, A and Chan, B},title={On {DNA}},year=2020,journal={J},doi={10.5555/x}}\n"

LATEX = r"""\documentclass{article}
% \input{nowhere}
\title{On kinases}
\begin{document}\maketitle
\begin{abstract}Kinase A binds.\end{abstract}
\section{Results}
A binds B \citep[see][p.~3]{lee2020,chan}, as \citet{lee2020} found\footnote{And \cite{none}.}
in $10^{6}$ cells.
\input{part}
BIBLIOGRAPHY
\end{document}
"""

ITEMS = r"""\begin{thebibliography}{9}
\bibitem{lee2020} Lee A, Chan B. On {\em DNA}. J Cell Biol. 2020;1:2. doi:10.5555/x
\bibitem[{Chan(2019)}]{chan} Chan B. \newblock On RNA of yeast. \newblock J Cell Biol. 2019;3:4.
\end{thebibliography}"""


def read(folder: Path, name: str, text: str | bytes) -> Manuscript:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_manuscript(path)


def cited(manuscript: Manuscript) -> list[tuple[str, tuple[str, ...]]]:
    return [(b.text[m.start : m.end], m.keys) for b in manuscript.blocks for m in b.markers]


@pytest.fixture(scope="module")
def word_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("word") / "a.docx"
    command = [pandoc.pandoc_path(), "-f", "markdown", "-t", "docx", "-o", str(path)]
    subprocess.run(command, input=MARKDOWN.encode(), check=True)
    return path.read_bytes()


def test_markdown(tmp_path: Path) -> None:
    found = read(tmp_path, "a.md", MARKDOWN)

    assert (found.format, found.title, found.name) == ("markdown", "On kinases", str(tmp_path / "a.md"))
    assert found.sha256 == hashlib.sha256(MARKDOWN.encode()).hexdigest()
    assert [(b.kind, b.section, b.line) for b in found.blocks] == [
        ("heading", "abstract", 5),
        ("paragraph", "abstract", 7),
        ("heading", "methods", 10),
        ("heading", "methods", 12),
        ("paragraph", "methods", 14),
        ("footnote", "methods", 18),
        ("paragraph", "methods", 16),
        ("legend", "methods", 24),
        ("heading", "discussion", 26),
        ("heading", "discussion", 28),
        ("paragraph", "discussion", 30),
        ("heading", "other", 32),
    ]
    assert found.blocks[4].text == "Cells\xb2,\xb3 were counted (n = 10\u2076); code[2] and x\xb2 too.\xb9"
    assert found.tables[0].rows == (("Kinase", "Pairs"), ("A", "17"))
    assert cited(found) == [
        ("[1]", ("1",)),
        ("\xb9", ("2",)),
        ("[2]", ("2",)),
        ("[4]", ("4",)),
        ("[3]", ("3",)),
        ("Lee et al. (2020)", ("1",)),
        ("[99]", ("99",)),
    ]
    assert [(r.key, r.doi, r.year, r.title) for r in found.references] == [
        ("1", "10.5555/abc.1", 2020, "Kinase A of yeast"),
        ("2", "10.5555/abc.2", 2019, "Kinase B of yeast"),
        ("3", "", 2018, "Kinase C of yeast"),
    ]
    assert [s.text for s in found.sentences][:2] == ["Kinase A binds kinase B [1].", "It does so in 95% of cells."]


def test_word_is_read_as_the_markdown_that_it_was_made_of(tmp_path: Path, word_file: bytes) -> None:
    found, original = read(tmp_path, "a.docx", word_file), read(tmp_path, "a.md", MARKDOWN)

    assert (found.format, found.title, found.tables[0].rows) == ("docx", original.title, original.tables[0].rows)
    assert cited(found) == cited(original)
    assert found.references == original.references
    assert [b.section for b in found.blocks] == [b.section for b in original.blocks]


@pytest.mark.parametrize("listed", ["\\bibliography{refs}", ITEMS, "\\bibliography{refs}" + ITEMS])
def test_latex(tmp_path: Path, listed: str) -> None:
    (tmp_path / "part.tex").write_text("\\subsection{More} B binds C \\cite{chan}.")
    if listed != ITEMS:
        (tmp_path / "refs.bib").write_text(BIB)
    found = read(tmp_path, "a.tex", LATEX.replace("BIBLIOGRAPHY", listed))

    assert [(b.kind, b.section, b.line) for b in found.blocks[:5]] == [
        ("paragraph", "abstract", 5),
        ("heading", "results", 6),
        ("paragraph", "results", 7),
        ("footnote", "results", 7),
        ("heading", "results", None),
    ]
    assert found.blocks[2].text.endswith("in 10\u2076 cells.")
    assert [keys for _, keys in cited(found)] == [("lee2020", "chan"), ("lee2020",), ("none",), ("none",), ("chan",)]
    assert found.references[0].doi == "10.5555/x"
    assert [r.key for r in found.references] == ["lee2020", "chan"][
        : 1 if listed.endswith("}") and "item" not in listed else 2
    ]


def test_a_list_beside_the_text_and_one_in_it(tmp_path: Path) -> None:
    (tmp_path / "a.bib").write_text(BIB)

    found = read(tmp_path, "a.md", "A binds B [@lee2020; @none]-[@other].")
    assert (cited(found)[0][1], [r.key for r in found.references]) == (("lee2020", "none"), ["lee2020"])
    named = read(tmp_path, "b.md", "---\nbibliography: a.bib\n---\nA binds B [@lee2020].")
    assert named.references == found.references
    within = "---\nreferences:\n- {id: lee2020, title: On it, DOI: 10.5555/y, issued: 1999}\n---\nA binds [@lee2020].\n"
    assert read(tmp_path, "c.md", within).references[0].doi == "10.5555/y"


def test_links_and_notes_are_references_where_there_is_no_list(tmp_path: Path) -> None:
    text = "A binds B ([Lee](https://doi.org/10.5555/X), [2](https://pubmed.ncbi.nlm.nih.gov/12/))."
    found = read(tmp_path, "a.md", text)
    note = "Lee AB, Chan C. Kinase A of yeast. J Cell Biol. 2020;12:4-5."
    noted = read(tmp_path, "n.md", f"A binds B.[^1] C too.[^2]\n\n[^1]: {note}\n\n[^2]: Not in mice.\n")

    assert cited(found) == [("Lee", ("doi:10.5555/x",)), ("2", ("pmid:12",))]
    assert [(r.doi, r.pmid) for r in found.references] == [("10.5555/x", ""), ("", "12")]
    assert cited(read(tmp_path, "b.md", text + "\n\n# References\n\n1. Roe D. On cells. J X. 2001;1:2.\n")) == []
    assert cited(noted) == [("\xb9", ("note 1",))]
    assert [(r.key, r.title, r.year) for r in noted.references] == [("note 1", "Kinase A of yeast", 2020)]


def test_a_mark_before_words_in_brackets_is_no_link(tmp_path: Path) -> None:
    listed = "# References\n\n1. Roe D. On cells. J X. 2001;1:2.\n2. Roe E.\n"
    found = read(tmp_path, "a.md", f"A binds B [1,2](see the text of%00%0A C for more).\n\n{listed}")

    assert found.blocks[0].text == "A binds B [1,2](see the text of C for more)."
    assert cited(found) == [("[1,2]", ("1", "2"))]


def test_plain_text(tmp_path: Path) -> None:
    text = "On kinases\n\nAbstract\nKinase A\nbinds B [1].\n\n2. Methods\n\nCells (Lee et al., 2020).\n\nReferences\n\n"
    found = read(tmp_path, "a.txt", text + "1. Lee AB, Chan C, Roe D. On cells of A. Cell. 2020;1:2-3.\n")

    assert [(b.kind, b.section, b.line, b.text) for b in found.blocks] == [
        ("heading", "other", 1, "On kinases"),
        ("heading", "abstract", 3, "Abstract"),
        ("paragraph", "abstract", 4, "Kinase A binds B [1]."),
        ("heading", "methods", 7, "2. Methods"),
        ("paragraph", "methods", 9, "Cells (Lee et al., 2020)."),
        ("heading", "other", 11, "References"),
    ]
    assert cited(found) == [("[1]", ("1",)), ("Lee et al., 2020", ("1",))]
    assert found.references[0].title == "On cells of A"


def test_a_table_that_is_drawn_is_no_running_text(tmp_path: Path) -> None:
    drawn = "+-------+------+\n| Angle | Mice |\n+=======+======+\n| [15]  | 17   |\n+-------+------+"
    lines = "  Angle   Mice\n  ------- ------\n  [15]    17"
    parts = ("On kinases", "Results", "It binds [1].", drawn, lines, "References", "1. Lee A. On B.\n")
    found = read(tmp_path, "a.txt", "\n\n".join(parts))

    assert [t.rows for t in found.tables] == [(("Angle", "Mice"), ("[15]", "17"))] * 2
    assert cited(found) == [("[1]", ("1",))]


def test_a_caption_of_markdown_is_a_legend(tmp_path: Path) -> None:
    text = "# On kinases\n\n# Results\n\n::: {.figure}\n::: caption\nKinases\n\n(B) As in [1].\n:::\n:::\n\nIt binds.\n"
    found = read(tmp_path, "a.md", text)

    assert [b.kind for b in found.blocks] == ["heading", "heading", "legend", "legend", "paragraph"]


def test_jats_keeps_what_an_index_drops(tmp_path: Path) -> None:
    body = """<sec><title>Results</title><p>A binds B [<xref ref-type="bibr" rid="r1">1</xref>, 77] and C
    [<xref ref-type="bibr" rid="gone">5</xref>], [<xref ref-type="bibr" rid="r2">9</xref>] in 10<sup>6</sup> cells [88].
    </p><table-wrap><label>Table 1.</label><caption><p>Pairs.</p></caption><table><tr><th>A</th><td>17</td></tr></table>
    <table-wrap-foot><fn><p>Counted twice.</p></fn></table-wrap-foot></table-wrap></sec>"""
    found = read(tmp_path, "a.xml", article(body=body))
    results = next(b for b in found.blocks if "A binds B" in b.text)

    assert results.text == "A binds B [1, 77] and C [5], [9] in 10\u2076 cells [88]."
    assert cited(found) == [("1", ("r1",)), ("77", ("77",)), ("5", ("5",)), ("9", ("9",)), ("[88]", ("88",))]
    assert (found.ids, found.title, results.line) == (("doi:10.5555/one",), "On kinase A", 10)
    assert (found.tables[0].label, found.tables[0].rows) == ("Table 1", (("A", "17"),))
    assert [(b.text, b.label) for b in found.blocks if b.kind == "footnote"] == [("Counted twice.", "Table 1")]


def _packed(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.md", b"", "is empty"),
        ("a.md", b"\xff\xfe", "not UTF-8"),
        ("a.txt", b"a\0b", "binary"),
        ("a.foo", b"hello", "its format cannot be seen"),
        ("a.txt", b"%PDF-1.4", "is pdf by its first bytes"),
        ("a.pdf", b"%PDF-1.4", "cannot be read as PDF"),
        ("a.pdf", b"text", "is no PDF"),
        ("a.docx", b"text", "is no Word file"),
        ("a.docx", _packed({"x": b""}), "it has no word/document.xml"),
        ("a.docx", _packed({"word/document.xml": b" " * (65 << 20)}), "more than 64 MiB of XML"),
        ("a.docx", _packed({"word/document.xml": b"<a"}), "pandoc cannot read"),
        ("a.xml", b"<html/>", "no JATS"),
        ("a.xml", b"<article/>", "has no text"),
        ("a.tex", rb"\def\a{\a\a}\begin{document}\a\end{document}", "Loop encountered"),
        ("a.tex", rb"\begin{document}\input{a}\input{a}\end{document}", "deeper than 8"),
        ("a.tex", rb"\begin{document}\input{/etc/passwd}\end{document}", "leads out of"),
        ("a.tex", rb"\begin{document}\input{b}\end{document}", "which a.tex puts in"),
        ("a.md", b"---\nbibliography: ../x.bib\n---\nA [@b].", "leads out of"),
        ("a.md", b"---\nbibliography: x.bib\n---\nA [@b].", "there is no file"),
        ("a.md", b"<div>" * 300 + b"a", "nests"),
        pytest.param("a.md", b"a " * 150_000, "a paragraph of more than", marks=pytest.mark.slow),
        ("a.txt", b"a " * 150_000, "a paragraph of more than"),
    ],
)
def test_what_cannot_be_read_is_named_in_one_line(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, name, content)
    assert problem in caught.value.message
    assert "\n" not in caught.value.message


def test_a_file_that_takes_too_long_or_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = ">" * 20_000 + " a"
    with monkeypatch.context() as patched:
        patched.setattr(pandoc, "SECONDS", 1)
        with pytest.raises(InputFormat, match="takes pandoc too long"):
            read(tmp_path, "a.md", bomb)
    monkeypatch.setattr(pandoc, "HEAP", 32 << 20)
    with pytest.raises(InputFormat, match="32 MiB of memory"):
        read(tmp_path, "a.md", bomb)


def test_without_pandoc_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pypandoc", None)
    with pytest.raises(MissingExtra, match="grounding"):
        read(tmp_path, "a.md", "A binds B.")


@pytest.mark.parametrize("name", ["pbio.1001199", "pmed.1001518", "pone.0153170"])
def test_papers_of_plos(shared_data: Path, name: str) -> None:
    found = read_manuscript(shared_data / f"fulltext/plos/journal.{name}.xml")
    keys = {r.key for r in found.references}

    assert {k for b in found.blocks for m in b.markers for k in m.keys} <= keys
    assert {"abstract", "introduction", "methods", "results", "discussion"} <= {b.section for b in found.blocks}
    assert sum(1 for b in found.blocks if b.line) > 0.8 * len(found.blocks)
    assert all(0 <= m.start < m.end <= len(s.text) for s in found.sentences for m in s.markers)


def test_pdf(tmp_path: Path) -> None:
    typst = pytest.importorskip("typst")
    entry = "1. Lee AB, Chan C. Kinase A of yeast. Cell. 2020;12:4."
    (tmp_path / "a.typ").write_text(f"== Methods\nCells were grown \\[9\\].\n== References\n{entry}\n")
    typst.compile(str(tmp_path / "a.typ"), output=str(tmp_path / "a.pdf"))
    found = read_manuscript(tmp_path / "a.pdf")

    assert [(b.kind, b.section) for b in found.blocks] == [("heading", "methods"), ("paragraph", "methods")]
    assert (cited(found), found.references[0].title) == ([("[9]", ("9",))], "Kinase A of yeast")


def test_a_number_without_end_is_no_number_of_a_list(tmp_path: Path) -> None:
    label = "9" * 5_000
    body = f'<sec><p>Kinase A binds [<xref ref-type="bibr" rid="r1">{label}</xref>].</p></sec>'
    entry = f'<ref id="r1"><label>{label}</label><mixed-citation>Lee. Kinase A.</mixed-citation></ref>'

    found = read(tmp_path, "a.xml", article(body=body, back=f"<ref-list>{entry}</ref-list>"))

    assert cited(found) == [(label, (label,))]


def test_half_of_a_character_is_refused() -> None:
    with pytest.raises(InputFormat, match="half of a character"):
        read_given("Kinase \ud800 binds.", "text")


@pytest.mark.parametrize("stated", ["foo", "[a, b]", "{id: 3}"])
def test_references_that_are_no_list_of_works_are_none(tmp_path: Path, stated: str) -> None:
    path = tmp_path / "paper.md"
    path.write_text(f"---\nreferences: {stated}\n---\n\nTP53 binds MDM2.\n", encoding="utf-8")

    assert read_manuscript(path).references == ()
