"""`kgcheck export`: a manuscript in four forms, its references set, and nothing of a hostile one run."""

from pathlib import Path

import pytest
from pypdf import PdfReader

from kgcheck.errors import InputFormat
from kgcheck.grounding.export import export
from kgcheck.grounding.manuscripts.reading import read_manuscript
from tests.support.audits import kgcheck

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001"
    "a5f645400000000049454e44ae426082"
)
NOTE = """---
title: A made-up note
---

# Introduction

ABC1 is known [@lee2010].

![What was seen](fig.png)
"""
REFERENCES = "@article{lee2010, author={Lee, A.}, title={A made-up title}, journal={J Made Up}, year={2010}, pages={1}}"


@pytest.fixture
def note(tmp_path: Path) -> Path:
    (tmp_path / "fig.png").write_bytes(PNG)
    (tmp_path / "refs.bib").write_text(REFERENCES, encoding="utf-8")
    path = tmp_path / "note.md"
    path.write_text(NOTE, encoding="utf-8")
    return path


def test_a_pdf_has_text_figure_and_reference(note: Path) -> None:
    out = note.with_name("note.pdf")

    assert export(note, out, note.with_name("refs.bib")) == []

    (page,) = PdfReader(out).pages
    assert "“A Made-up Title.”" in " ".join(page.extract_text().split())
    assert len(page.images) == 1


def test_other_forms_are_read_again(note: Path) -> None:
    notes = {}
    for ending in ("tex", "docx", "html"):
        notes[ending] = export(note, note.with_name(f"out.{ending}"), note.with_name("refs.bib"))

    assert notes["tex"] == notes["html"] == []
    assert notes["docx"] == ["the figures are left out of Word: write .pdf, or .tex, which names them"]
    for ending in ("tex", "docx"):
        texts = [b.text for b in read_manuscript(note.with_name(f"out.{ending}")).blocks]
        assert "ABC1 is known (Lee 2010)." in [t.replace("\u00a0", " ") for t in texts], ending


@pytest.mark.parametrize(
    ("hostile", "ending", "forbidden"),
    [
        ("<script>alert(1)</script>", "html", "<script>alert"),
        ("\\input{/etc/passwd}", "tex", "\\input{/etc"),
        ("```{=latex}\n\\input{/etc/passwd}\n```", "tex", "\n\\input{/etc/passwd}\n\n"),
        ('```{=typst}\n#read("/etc/passwd")\n```', "pdf", "root:"),
        ("![x](/etc/passwd) ![y](../../etc/passwd)", "pdf", "root:"),
    ],
)
def test_what_is_hostile_is_shown_and_not_run(tmp_path: Path, hostile: str, ending: str, forbidden: str) -> None:
    path = tmp_path / "note.md"
    path.write_text(f"Some words.\n\n{hostile}\n", encoding="utf-8")
    out = tmp_path / f"out.{ending}"

    notes = export(path, out)

    text = "".join(p.extract_text() for p in PdfReader(out).pages) if ending == "pdf" else out.read_text("utf-8")
    assert "Some words." in text
    assert forbidden not in text
    assert len(notes) == (2 if hostile.startswith("!") else 0)


def test_what_cannot_be_used_is_one_clear_error(note: Path) -> None:
    with pytest.raises(InputFormat, match="no known ending"):
        export(note, note.with_name("note.odt"))
    assert kgcheck("export", "missing.md", "--out", "a.pdf", cwd=note.parent).refuses("there is no file missing.md")
    references = ("--references", "none.bib")
    assert kgcheck("export", "note.md", "--out", "a.pdf", *references, cwd=note.parent).refuses("there is no file none")
