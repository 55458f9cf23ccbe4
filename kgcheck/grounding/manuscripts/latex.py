r"""Makes a LaTeX manuscript one text for pandoc, which reads no other file and drops the keys of ``\bibitem``."""

import re
from pathlib import Path
from typing import NamedTuple

from kgcheck.errors import InputFormat, InputMissing
from kgcheck.inputs import MIB, read_bytes, refuse_outside

ENTRY = "kgcheckentry"
"""Begins the paragraph of an entry, with its number."""

DEEPEST_INPUT = 8

_INPUT = re.compile(r"(?<!\\)\\(?:input|include|subfile)\s*+\{\s*+([^{}\n]{1,200}+)\s*+\}")
_COMMENT = re.compile(r"(?m)(?<!\\)%[^\n]*")
_LIST_BEGINS = re.compile(r"\\begin\s*\{thebibliography\}(?:\s*\{[^{}\n]{0,100}\})?")
_LIST_ENDS = re.compile(r"\\end\s*\{thebibliography\}")
_ITEM = re.compile(r"\\bibitem\s*(?:\[[^\]]{0,600}\]\s*)?\{([^{}\n]{1,200})\}")
_FILE = re.compile(r"\\(?:bibliography|addbibresource)\s*(?:\[[^\]\n]{0,100}\])?\{")


class OneText(NamedTuple):
    """A manuscript with what it puts in, and the keys of its entries in order."""

    text: str
    keys: tuple[str, ...]


def one_text(path: Path, source: str, most: int) -> OneText:
    """A manuscript with the files that it puts in, its list of references as a section."""
    text = _COMMENT.sub("%", source)
    for _ in range(DEEPEST_INPUT):
        if not _INPUT.search(text):
            break
        text = _with_files(path, text, most)
    else:
        if _INPUT.search(text):
            raise InputFormat(
                f"{path} puts files into each other deeper than {DEEPEST_INPUT}", "put them into one file"
            )
    made = path.with_suffix(".bbl")
    if not _LIST_BEGINS.search(text) and _FILE.search(text) and made.is_file():
        refuse_outside(path.parent, made)
        text = text.replace("\\end{document}", "") + "\n" + _read(made, most)
    keys: list[str] = []

    def entry(match: re.Match[str]) -> str:
        keys.append(" ".join(match[1].split()))
        return f"\n\n{ENTRY}{len(keys) - 1}x "

    text = _LIST_BEGINS.sub(lambda _: "\n\n\\section*{References}\n\n", text)
    text = _ITEM.sub(entry, _LIST_ENDS.sub("\n\n", text).replace("\\newblock", " "))
    return OneText(text, tuple(keys))


def _with_files(path: Path, text: str, most: int) -> str:
    begin = max(text.find("\\begin{document}"), 0)
    left = most - len(text)

    def content(match: re.Match[str]) -> str:
        nonlocal left
        file = path.parent / match[1].rstrip()
        file = file if file.suffix in (".tex", ".ltx", ".bbl", ".txt") else file.with_name(file.name + ".tex")
        refuse_outside(path.parent, file)
        if not file.is_file():
            if match.start() < begin:
                return ""  # a file of the TeX system, such as a table of characters
            raise InputMissing(
                f"there is no file {file}, which {path.name} puts in", "put the file there, or take the line out"
            )
        inner = _COMMENT.sub("%", _read(file, most))
        left -= len(inner)
        if left < 0:
            raise InputFormat(f"{path} with what it puts in is larger than {most // MIB} MiB", "give it in parts")
        return inner

    return _INPUT.sub(content, text)


def _read(file: Path, most: int) -> str:
    return read_bytes(file, most).decode("utf-8", "replace")
