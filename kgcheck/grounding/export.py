"""Export a Markdown manuscript as LaTeX, Word, HTML or PDF, with references in a citation style.

Pandoc writes and sets the references (its citeproc), Typst makes the PDF. A manuscript may come from anybody: what is
written raw in LaTeX, HTML or Typst is shown as it stands and never run, links lead where `SCHEMES` says, pictures are
those of its own folder, and of its metadata only what describes it is taken: pandoc would fetch a style that it names.
"""

import base64
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from markupsafe import Markup

from kgcheck.errors import InputFormat, InputMissing, MissingExtra
from kgcheck.grounding.manuscripts.pandoc import EXTRA, pandoc_bytes, pandoc_json
from kgcheck.inputs import MIB, parse_json, read_bytes
from kgcheck.outputs import temporary_folder, write_bytes
from kgcheck.report.documents import page

FORMS = {"tex": "latex", "docx": "docx", "html": "html", "pdf": "typst"}  # By ending, pandoc's name
# Those that a link may have; one without a scheme leads to a place beside the file or in it.
SCHEMES = ("http", "https", "mailto")
LARGEST_FIGURE = 20 * MIB

_READ = "markdown-raw_attribute-raw_tex-raw_html"
# Pictures, by ending, as browsers call them.
_TYPES = {"png": "png", "jpg": "jpeg", "jpeg": "jpeg", "gif": "gif", "svg": "svg+xml", "webp": "webp"}
_DESCRIBING = {
    *("title", "subtitle", "author", "date", "abstract", "keywords", "lang"),
    *("nocite", "link-citations", "reference-section-title"),
}
_SIZE = re.compile(r"\d{1,4}(\.\d{1,3})?(%|px|cm|mm|in|em)")
# Page template for pandoc; the rest of the page is ours.
_BODY = """$if(title)$<h1>$title$</h1>$endif$
$for(author)$<p>$author$</p>$endfor$
$if(date)$<p>$date$</p>$endif$
$if(abstract)$<blockquote>
$abstract$
</blockquote>$endif$
$body$
"""


class _Plot(NamedTuple):
    path: Path
    name: str
    """In the document that pandoc writes."""


def export(file: Path, out: Path, references: Path | None = None, style: Path | None = None) -> list[str]:
    """Write a manuscript in another form."""
    form = FORMS.get(out.suffix.removeprefix(".").lower())
    if form is None:
        raise InputFormat(f"{out} has no known ending", f"end it in one of: {', '.join(FORMS)}")
    document = pandoc_json(read_bytes(file, 16 * MIB), _READ, file)
    _only_describing(document)
    more = ["--citeproc"] if references else []
    for option, path in (("--bibliography", references), ("--csl", style)):
        if path is None:
            continue
        if not path.is_file():
            raise InputMissing(f"there is no file {path}", "name one that is there")
        more += [option, str(path.absolute())]
    if more:
        # Before links are looked at: references have some, too.
        document = parse_json(_written(document, "json", more, file))
        _only_describing(document)
    figures, notes = _cleaned(document, file, form)
    match form:
        case "typst":
            write_bytes(out, _pdf(_written(document, form, ["-s"], file), figures, file))
        case "html":
            write_bytes(out, _page(document, figures, file).encode())
        case _:
            write_bytes(out, _written(document, form, ["-s"], file))
    return notes


def _written(document: dict[str, Any], form: str, options: list[str], file: Path) -> bytes:
    return pandoc_bytes(json.dumps(document).encode(), ["-f", "json", "-t", form, *options], file)


def _only_describing(document: dict[str, Any]) -> None:
    document["meta"] = {name: value for name, value in document["meta"].items() if name in _DESCRIBING}


def _cleaned(document: dict[str, Any], file: Path, form: str) -> tuple[list[_Plot], list[str]]:
    """Leave nothing in a document that leads or loads from where it should not; its figures, and what was left out."""
    found: dict[str, _Plot] = {}
    notes = []
    # Inner ones last: the list that each element stands in, and its place there.
    lists = [
        (one, n) for one in _lists(document) for n, each in enumerate(one) if isinstance(each, dict) and "t" in each
    ]
    for siblings, place in lists:
        element = siblings[place]
        match element["t"]:
            case "Link" if not is_link(str(element["c"][2][0])):
                siblings[place] = {"t": "Span", "c": element["c"][:2]}
                notes.append("a link with a scheme that is not allowed is shown as its text")
            case "Cite":
                # Its words; the bibliography that it names is not part of what is written.
                siblings[place] = {"t": "Span", "c": [["", [], []], element["c"][1]]}
            case "RawInline" | "RawBlock":
                siblings[place] = {"t": element["t"].replace("Raw", "Code"), "c": [["", [], []], element["c"][1]]}
            case "Image":
                words, (name, _) = element["c"][1:]
                if why := _left_out(str(name), file, form):
                    notes.append(f"the figure {name} is left out: {why}")
                    siblings[place] = {"t": "Emph", "c": words}
                    continue
                path = (file.parent / name).resolve()
                # A page holds its figures, which are put in when pandoc has written it.
                shown = f"figure-{uuid4().hex}" if form == "html" else str(name)
                found[str(name)] = figure = found.get(str(name)) or _Plot(path, shown)
                element["c"][2][0] = figure.name
    for one in _lists(document):
        # Keys of an element, which HTML takes for its own; a figure keeps its size.
        if len(one) == 3 and isinstance(one[0], str) and isinstance(one[1], list) and isinstance(one[2], list):
            one[2] = [pair for pair in one[2] if pair[0] in ("width", "height") and _SIZE.fullmatch(str(pair[1]))]
    return list(found.values()), list(dict.fromkeys(notes))


def is_link(target: str) -> bool:
    r"""Tell whether a link may lead there; browsers leave out what they do not see before they look for a scheme.

    >>> [is_link(x) for x in ("https://example.org", "#methods", "data/x:1.csv", "java\\tscript:x", "JavaScript:x")]
    [True, True, True, False, False]
    """
    scheme, colon, _ = re.split(r"[/?#]", target, maxsplit=1)[0].partition(":")
    is_plain = target.isprintable() and target == target.strip() and "\\" not in target
    # What begins with two slashes is another host, and to Word a share.
    return is_plain and not target.startswith("//") and (not colon or scheme.lower() in SCHEMES)


def _left_out(name: str, file: Path, form: str) -> str:
    """Say why a figure cannot stand in a document; nothing where it can."""
    if form == "docx":
        return "Word gets none: write .pdf, .html, or .tex, which names them"
    path = (file.parent / name).resolve()
    if "://" in name or Path(name).is_absolute() or not path.is_relative_to(file.parent.resolve()):
        return f"it is not in the folder of {file.name}"
    if path.suffix[1:].lower() not in _TYPES or not path.is_file():
        return "there is no such picture"
    return f"it is larger than {LARGEST_FIGURE // MIB} MiB" if path.stat().st_size > LARGEST_FIGURE else ""


def _lists(document: Any) -> Iterator[list[Any]]:
    level: list[Any] = [document]
    while level:
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                inner += one.values()
            elif isinstance(one, list):
                yield one
                inner += one
        level = inner


def _page(document: dict[str, Any], figures: list[_Plot], file: Path) -> str:
    """A page that stands alone, with the security policy of every page of kgcheck."""
    with temporary_folder() as folder:
        template = folder / "page.html"
        template.write_text(_BODY, encoding="utf-8")
        body = _written(document, "html", [f"--template={template}", "--no-highlight"], file).decode()
    for figure in figures:
        data = base64.b64encode(figure.path.read_bytes()).decode()
        body = body.replace(figure.name, f"data:image/{_TYPES[figure.path.suffix[1:].lower()]};base64,{data}")
    return page("manuscript", "html", name=file.name, body=Markup(body))  # noqa: S704  # escaped by pandoc


def _pdf(source: bytes, figures: list[_Plot], file: Path) -> bytes:
    try:
        import typst
    except ImportError as error:
        raise MissingExtra("a PDF", EXTRA) from error
    with temporary_folder() as root:
        for path, name in figures:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, root / name)
        (root / "main.typ").write_bytes(source)
        try:
            made = typst.compile(str(root / "main.typ"), root=str(root))
        except typst.TypstError as error:
            shown = " ".join(str(error).split())[:200]
            raise InputFormat(f"{file} cannot be set as a PDF: {shown}", "write another form, as .tex") from error
    return bytes(made)
