"""`kgcheck export`: a manuscript in four forms, its references set, and nothing of a hostile one run."""

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader

from kgcheck.errors import InputFormat
from kgcheck.grounding.export import SCHEMES, export, is_link
from kgcheck.grounding.manuscripts.reading import read_manuscript
from tests.support import examples
from tests.support.audits import kgcheck
from tests.support.loopback import Loopback
from tests.support.reports import Page

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


def test_each_form_has_text_and_reference(note: Path) -> None:
    files = {ending: note.with_name(f"out.{ending}") for ending in ("pdf", "tex", "docx", "html")}
    notes = {ending: export(note, out, note.with_name("refs.bib")) for ending, out in files.items()}

    (page,) = PdfReader(files["pdf"]).pages
    assert "“A Made-up Title.”" in " ".join(page.extract_text().split())
    assert len(page.images) == 1
    assert notes["pdf"] == notes["tex"] == notes["html"] == []
    (left_out,) = notes["docx"]
    assert left_out.startswith("the figure fig.png is left out: Word gets none")
    for ending in ("tex", "docx"):
        texts = [b.text for b in read_manuscript(files[ending]).blocks]
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


ATTACK = """---
title: "Made [up](javascript:alert(1))"
author: "[Me](data:text/html,x)"
abstract: "Words ![a](https://evil.example/a.png)"
header-includes: "<script>alert(1)</script>"
css: https://evil.example/x.css
csl: ADDRESS/evil.csl
bibliography: ADDRESS/evil.bib
math: "<script>alert(1)</script>"
---

[a](javascript:alert(1)) <javascript:alert(1)> [b](https://example.org/x){onclick="alert(1)" style="position:fixed"}
[c](<java\tscript:alert(1)>) [d](vbscript:x) [e](//evil.example/x) [f](\\\\\\\\evil.example\\\\x) [g](file:///etc/passwd)
[h](&#106;avascript:alert(1)) [i](#made) ![j](https://evil.example/j.png) ![k](//evil.example/k.png) ![l](fig.png)
![m](../outside.png) ![n](data:image/svg+xml,x)

<div onclick="alert(1)" style="background:url(https://evil.example/d)">Within.</div>

# Made

| a | b |
|:-:|--:|
| 1 | 2 |

See [@lee2010].
"""
BIBLIOGRAPHY = """@misc{lee2010, author={Lee, A.}, year={2010},
  title={[T](javascript:alert(1)) <script>alert(1)</script>}, url={javascript:alert(1)}, note={![x](https://evil.example/n.png)}}"""


LINKS = {"https://example.org/x", "https://javascript:alert(1)"}
"""Pandoc writes https:// before what a reference names without it: that leads to no host."""


@pytest.fixture
def attacked(tmp_path: Path) -> Iterator[tuple[Path, Loopback]]:
    (tmp_path / "fig.png").write_bytes(PNG)
    (tmp_path.parent / "outside.png").write_bytes(PNG)
    (tmp_path / "refs.bib").write_text(BIBLIOGRAPHY, encoding="utf-8")
    with Loopback() as server:
        path = tmp_path / "note.md"
        path.write_text(ATTACK.replace("ADDRESS", server.url), encoding="utf-8")
        yield path, server


@pytest.mark.parametrize("ending", ["html", "docx", "tex"])
def test_nothing_leads_or_loads_from_where_it_should_not(attacked: tuple[Path, Loopback], ending: str) -> None:
    path, server = attacked
    out = path.with_name(f"out.{ending}")

    notes = export(path, out, path.with_name("refs.bib"))

    assert "a link with a scheme that is not allowed is shown as its text" in notes
    assert server.calls == []
    match ending:
        case "docx":
            with ZipFile(out) as parts:
                text = "".join(parts.read(name).decode() for name in parts.namelist() if name.endswith(".rels"))
            targets = re.findall(r'Target="([^"]*)" TargetMode="External"', text)
            assert set(targets) == LINKS
        case "tex":
            text = out.read_text("utf-8")
            assert set(re.findall(r"\\(?:href|url)\{([^}]*)\}", text)) == LINKS
            assert re.findall(r"\\includegraphics(?:\[[^]]*\])?\{([^}]*)\}", text) == ["fig.png"]
        case _:
            page = Page(out.read_text("utf-8"))
            assert set(page.values("href")) == LINKS | {"#made"}
            assert page.tags.keys() & {"script", "link", "iframe", "object", "base"} == set()
            (shown,) = page.values("src")
            assert shown.startswith("data:image/png;base64,")
            assert [name for _, name, _ in page.attributes if name.startswith("on")] == []
            assert set(page.values("style")) == {"text-align: center;", "text-align: right;"}


def test_a_page_has_the_policy_of_every_page(note: Path) -> None:
    out = note.with_name("note.html")
    export(note, out, note.with_name("refs.bib"))

    text = out.read_text("utf-8")
    attributes = Page(text).attributes
    assert ("meta", "http-equiv", "Content-Security-Policy") in attributes
    (policy,) = [value for _, name, value in attributes if name == "content" and "default-src" in value]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "script-src" not in policy
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in policy
    assert "ABC1 is known <span>(Lee 2010)</span>" in text.replace("\u00a0", " ")


@settings(max_examples=examples(500))
@given(
    target=st.one_of(
        st.text("javscript:JAVdt/#?\\\t\n\r\0\u200b\u202e \u0131&;.", max_size=14),
        st.builds(
            "{}{}{}".format,
            st.text("\t\n\r\0\x01\x1f\u00a0\ufeff ", max_size=2),
            st.sampled_from(["javascript", "JavaScript", "java\tscript", "data", "vbscript", "file", "jar:http"]),
            st.sampled_from([":x", "&colon;x", "\t:x", "\u200b:x", "\uff1ax", ":https://x"]),
        ),
    )
)
def test_a_link_has_a_scheme_of_the_list_or_none_as_a_browser_reads_it(target: str) -> None:
    """Browsers leave out tabs and line breaks, and what stands before and is no sign, before they look for a scheme."""
    if is_link(target):
        seen = re.sub(r"[\t\n\r]", "", target).strip("".join(map(chr, range(33))))
        scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", seen)
        assert scheme is None or scheme[1].lower() in SCHEMES
        assert not re.match(r"[/\\]{2}", seen)
