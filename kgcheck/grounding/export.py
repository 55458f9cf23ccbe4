"""Export a manuscript in Markdown as LaTeX, Word, HTML or PDF, its references set by a citation style.

Pandoc writes and sets the references (its citeproc), Typst makes the PDF. What is written raw in LaTeX, HTML or Typst
is shown as it stands and never run: a manuscript may come from anybody.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kgcheck.errors import InputFormat, InputMissing, MissingExtra
from kgcheck.grounding.manuscripts.pandoc import EXTRA, pandoc_bytes, pandoc_json
from kgcheck.inputs import MIB, read_bytes
from kgcheck.outputs import temporary_folder, write_bytes

FORMS = {"tex": "latex", "docx": "docx", "html": "html", "pdf": "typst"}
"""By ending, pandoc's name."""

LARGEST_FIGURE = 20 * MIB

_READ = "markdown-raw_attribute-raw_tex-raw_html"
_PICTURE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp)$", re.IGNORECASE)


def export(file: Path, out: Path, references: Path | None = None, style: Path | None = None) -> list[str]:
    """Write a manuscript in another form."""
    form = FORMS.get(out.suffix.removeprefix(".").lower())
    if form is None:
        raise InputFormat(f"{out} has no known ending", f"end it in one of: {', '.join(FORMS)}")
    more = ["--citeproc"] if references else []
    for option, path in (("--bibliography", references), ("--csl", style)):
        if path is None:
            continue
        if not path.is_file():
            raise InputMissing(f"there is no file {path}", "name one that is there")
        more += [option, str(path.absolute())]
    data = read_bytes(file, 16 * MIB)
    if form != "typst":
        # LaTeX and HTML name the figures, which stay where they are; Word would hold them, and pandoc reads none.
        write_bytes(out, pandoc_bytes(data, ["-f", _READ, "-t", form, "-s", *more], file))
        has_figures = form == "docx" and any(True for _ in _images(pandoc_json(data, _READ, file)))
        return ["the figures are left out of Word: write .pdf, or .tex, which names them"] if has_figures else []
    document = pandoc_json(data, _READ, file)
    figures, notes = _figures(document, file)
    source = pandoc_bytes(json.dumps(document).encode(), ["-f", "json", "-t", form, "-s", *more], file)
    write_bytes(out, _pdf(source, figures, file))
    return notes


def _figures(document: dict[str, Any], file: Path) -> tuple[dict[str, Path], list[str]]:
    """Pictures that a manuscript shows from its own folder, by the name there; every other one becomes its words."""
    found: dict[str, Path] = {}
    notes = []
    for siblings, place in list(_images(document)):
        words, (name, _) = siblings[place]["c"][1:]
        why = _left_out(str(name), file)
        if why:
            notes.append(f"the figure {name} is left out: {why}")
            siblings[place] = {"t": "Emph", "c": words}
        else:
            found[str(name)] = (file.parent / name).resolve()
    return found, list(dict.fromkeys(notes))


def _left_out(name: str, file: Path) -> str:
    """Say why a figure cannot stand in a PDF; nothing where it can."""
    path = (file.parent / name).resolve()
    if Path(name).is_absolute() or not path.is_relative_to(file.parent.resolve()):
        return f"it is not in the folder of {file.name}"
    if not _PICTURE.search(name) or not path.is_file():
        return "there is no such picture"
    return f"it is larger than {LARGEST_FIGURE // MIB} MiB" if path.stat().st_size > LARGEST_FIGURE else ""


def _images(document: Any) -> Iterator[tuple[list[Any], int]]:
    """The images of a document: the list that each stands in, and its place there."""
    level: list[Any] = [document]
    while level:
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                inner += one.values()
            elif isinstance(one, list):
                yield from (
                    (one, n) for n, each in enumerate(one) if isinstance(each, dict) and each.get("t") == "Image"
                )
                inner += one
        level = inner


def _pdf(source: bytes, figures: dict[str, Path], file: Path) -> bytes:
    try:
        import typst
    except ImportError as error:
        raise MissingExtra("a PDF", EXTRA) from error
    with temporary_folder() as root:
        for name, path in figures.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, root / name)
        (root / "main.typ").write_bytes(source)
        try:
            made = typst.compile(str(root / "main.typ"), root=str(root))
        except typst.TypstError as error:
            shown = " ".join(str(error).split())[:200]
            raise InputFormat(f"{file} cannot be set as a PDF: {shown}", "write another form, as .tex") from error
    return bytes(made)
