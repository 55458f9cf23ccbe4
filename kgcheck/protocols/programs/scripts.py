"""Scripts of a repository: described by rules, or by a model whose description must fit the code.

Nothing is run or imported here. A file that cannot be read as a script is refused with its reason.
"""

import ast
import re
import warnings
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from kgcheck.errors import InputError, InputFormat
from kgcheck.inputs import MIB, parse_json, read_bytes
from kgcheck.model import Value
from kgcheck.protocols.programs.analyses import ready_analyses
from kgcheck.protocols.programs.sandbox import Language
from kgcheck.protocols.reports.tools_and_data import StatisticWords, statistics_in

LARGEST_SCRIPT, LARGEST_NOTEBOOK = MIB, 16 * MIB
MOST_SCRIPTS = 1_000
MOST_TEXT = 20_000  # characters of the comments of a script that are read
_SUFFIXES: dict[str, Language] = {".py": "python", ".r": "r", ".ipynb": "python"}
_SKIPPED = {"node_modules", "__pycache__", "site-packages", "venv", "env", "build", "dist"}
_COMMENT = re.compile(r"(?:^|\s)#+['!]?[^\S\n]*(?P<text>[^\n]*)", re.MULTILINE)
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])\d*|\d+")
_FILE = re.compile(r"(?:[\w.~ :+()=-]*[/\\])*[\w ()+=.-]*[\w)]\.[A-Za-z]\w{0,7}(?:\.gz)?")
_WRITES = re.compile(
    r"to_(?:csv|excel|json|parquet|pickle|hdf|feather|html|latex|markdown)|(?:f?write|save|dump)[\w.]*|ggsave|sink"
    r"|pdf|png|svg|tiff|jpeg",
    re.IGNORECASE,
)
_WRITE_MODE = re.compile(r"\s*,\s*(?:mode\s*=\s*)?[\"'][^\"']*[wax]")
_JOINS = re.compile(r"(?:os\.path\.)?join|(?:pathlib\.)?Path|file\.path|paste0?|here|str|c", re.IGNORECASE)
_ASSIGNED = re.compile(r"(?m)^[^\S\n]*([A-Za-z][\w.]*)\s*(?:=|<-)[^\n]*$(?![\s\S])")
_NEAR = 300  # characters before a name of a file in which the call stands that takes it
_R_CALL = re.compile(r"(?<![\w.])((?:[\w.]+::)?[A-Za-z.][\w.]*)\s*\(")
_STRING = re.compile(r"\"((?:[^\"\\\n]|\\.)*+)(?:\"|\\?$)|'((?:[^'\\\n]|\\.)*+)(?:'|\\?$)", re.MULTILINE)
"""A text in quotes; one that is not closed ends with its line."""

_CODE_COMMENT = re.compile(rf"({_STRING.pattern})|#[^\n]*", re.MULTILINE)
"""A comment, or a string, in which no comment begins."""


class ScriptSource(NamedTuple):
    """Code of a script; of a notebook its cells, with text and shell commands as comments."""

    path: str
    language: Language
    code: str


class ScriptDescription(Value):
    """Description of a script, or of a ready analysis."""

    path: str
    language: Language | Literal["analysis"]
    sha256: str = ""
    summary: str = ""
    text: str = Field(default="", description="docstrings, comments and cells of text")
    imports: tuple[str, ...] = ()
    functions: tuple[str, ...] = Field(default=(), description="that it defines")
    calls: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    reads: tuple[str, ...] = Field(default=(), description="files that it reads, or only names")
    writes: tuple[str, ...] = ()
    names: tuple[str, ...] = Field(default=(), description="texts of the code: columns, labels, titles")
    by: str = "rules"
    problem: str = Field(default="", description="why only its comments could be read")

    @property
    def words(self) -> str:
        """All that tells what it does, as words."""
        parts = [self.path, self.summary, self.text, *self.functions, *self.calls, *self.names, *self.statistics]
        return split_names(" ".join(parts))


def split_names(text: str) -> str:
    """Split the names of a text, as code writes them, into words.

    >>> split_names("runTTest(il6_level)")
    'run T Test il 6 level'
    """
    return " ".join(_WORD.findall(text))


def read_scripts(files: Mapping[str, Path], refused: list[str]) -> list[ScriptSource]:
    """Read the scripts among the files of a repository."""
    found: list[ScriptSource] = []
    for name, path in files.items():
        folders = name.split("/")[:-1]
        if path.suffix.lower() in _SUFFIXES and not any(f.startswith(".") or f in _SKIPPED for f in folders):
            try:
                found.append(_source(path, name))
            except InputError as error:
                refused.append(f"{name}: {error.message.removeprefix(f'{path} ')}")
    if len(found) > MOST_SCRIPTS:
        refused.append(f"{len(found) - MOST_SCRIPTS:,} scripts are left out: more than {MOST_SCRIPTS:,}")
    return found[:MOST_SCRIPTS]


def _source(path: Path, name: str) -> ScriptSource:
    notebook = path.suffix == ".ipynb"
    data = read_bytes(path, LARGEST_NOTEBOOK if notebook else LARGEST_SCRIPT)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputFormat(f"{path} is no text in UTF-8 (byte {error.start})", "is it a binary file?") from None
    if "\0" in text:
        raise InputFormat(f"{path} is a binary file", "name scripts of text")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    language, code = _notebook(text, path) if notebook else (_SUFFIXES[path.suffix.lower()], text)
    return ScriptSource(name, language, code)


def _notebook(text: str, path: Path) -> tuple[Language, str]:
    """Join the cells of a notebook to one script."""
    try:
        raw = parse_json(text)
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in raw["cells"]]
        about = raw.get("metadata", {}).get("kernelspec", {})
        language = str(about.get("language") or about.get("name") or "python").lower()
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputFormat(f"{path} is no notebook: {error or type(error).__name__}"[:200], "save it anew") from None
    lines = []
    for kind, source in cells:
        whole = kind != "code" or source.lstrip().startswith("%%")
        lines += [f"# {li}" if whole or li.lstrip().startswith(("%", "!")) else li for li in source.splitlines()] + [""]
    return "r" if language in ("r", "ir") else "python", "\n".join(lines)


def describe(source: ScriptSource) -> ScriptDescription:
    """Describe a script by rules."""
    known = {"path": source.path, "language": source.language, "sha256": sha256(source.code.encode()).hexdigest()}
    comments = "\n".join(m["text"] for m in _COMMENT.finditer(source.code))
    if source.language == "r":
        found = _r_parts(source.code)
    else:
        try:
            found = _python_parts(parse_python(source.code))
        except InputFormat as error:
            found = {"problem": error.message}
    text = "\n".join(filter(None, [found.pop("docs", ""), comments]))[:MOST_TEXT]
    reads, writes = file_uses(source.code, source.language)
    first = next((line.strip(" #*-=") for line in text.splitlines() if len(line.split()) > 1), "")
    by_call = {call: name for name, calls in StatisticWords.shipped().calls.items() for call in calls}
    # By its last part, and in R with points within.
    called = [name for call in found.get("calls", ()) for name in [call.rpartition("::")[2]]]
    computed = [by_call[name] for call in called for name in (call, call.rpartition(".")[2]) if name in by_call]
    return ScriptDescription(
        **known,
        summary=first[:200],
        text=text,
        statistics=_once([*computed, *(name for line in text.splitlines() for name in statistics_in(line))]),
        reads=reads,
        writes=writes,
        **found,
    )


def describe_analyses() -> list[ScriptDescription]:
    """Describe the ready analyses of ``kgcheck protocol run``."""
    return [
        ScriptDescription(
            path=f"protocol run --analysis {analysis.name}",
            language="analysis",
            summary=analysis.title,
            names=analysis.words,
            statistics=analysis.statistics,
            reads=tuple(item.name for item in analysis.inputs),
            writes=tuple(item.name for item in analysis.outputs),
        )
        for analysis in ready_analyses().values()
    ]


def parse_python(code: str) -> ast.Module:
    """Parse a program, or say why it is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except SyntaxError as error:
        why = f"SyntaxError: {error.msg} in line {error.lineno or 1}"
    except (ValueError, RecursionError, MemoryError) as error:
        why = f"SyntaxError: {error or 'it nests too deep'}"
    raise InputFormat(why, "is it Python 3?")


def _once(values: Iterable[str], most: int = 500) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))[:most]


def _python_parts(tree: ast.Module) -> dict[str, Any]:
    """Parts of a program in Python."""
    nodes = list(ast.walk(tree))
    defined = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    docs = {id(n.body[0].value): ast.get_docstring(n) for n in [tree, *defined] if ast.get_docstring(n)}  # type: ignore[attr-defined]
    modules = {a.asname or a.name: a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
    members = {
        a.asname or a.name: f"{n.module or '.'}.{a.name}"
        for n in nodes
        if isinstance(n, ast.ImportFrom)
        for a in n.names
    }
    strings = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in docs]
    names = [n.id for n in nodes if isinstance(n, ast.Name)] + [n.attr for n in nodes if isinstance(n, ast.Attribute)]
    return {
        "docs": "\n".join(map(str, docs.values())),
        "imports": _once([*modules.values(), *(name.rpartition(".")[0] for name in members.values())]),
        "functions": _once(n.name for n in defined),
        "calls": _once(_called(n.func, modules | members) for n in nodes if isinstance(n, ast.Call)),
        "names": _once(text for text in [*strings, *names] if text.strip() and len(text) < 120),
    }


def _called(node: ast.expr, aliases: Mapping[str, str]) -> str:
    """Name of what is called, with the module that it is of."""
    if isinstance(node, ast.Attribute):
        return f"{_called(node.value, aliases)}.{node.attr}".lstrip(".")
    return aliases.get(node.id, node.id) if isinstance(node, ast.Name) else ""


def _r_parts(code: str) -> dict[str, Any]:
    """Parts of a program in R."""
    bare = _without_comments(code)
    strings = [m[1] or m[2] or "" for m in _STRING.finditer(bare)]
    names = re.findall(r"[A-Za-z.][\w.]*", bare)
    return {
        "imports": _once(re.findall(r"(?:library|require)\s*\(\s*[\"']?([\w.]+)", bare)),
        "functions": _once(re.findall(r"(?<![\w.])([\w.]++)\s*+(?:<-|=)\s*+function\b", bare)),
        "calls": _once(m[1] for m in _R_CALL.finditer(bare)),
        "names": _once(text for text in [*strings, *names] if len(text) < 120),
    }


def _without_comments(code: str) -> str:
    """Code of the same length, without its comments."""
    return _CODE_COMMENT.sub(lambda m: m[1] or " " * len(m[0]), code)


def file_uses(code: str, language: Language) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Find the files that a script names: those that it reads or only names, and those that it writes."""
    bare = _without_comments(code)
    named: dict[str, bool] = {}
    for string in _STRING.finditer(bare):
        path = (string[1] or string[2] or "").rpartition("}")[2]
        if not _FILE.fullmatch(path):
            continue
        before, after = bare[max(0, string.start() - _NEAR) : string.start()], bare[string.end() : string.end() + 40]
        call = _open_call(before)
        assigned = _ASSIGNED.search(before)
        if not call and assigned:
            variable = rf"(?<![\w.]){re.escape(assigned[1])}(?![\w.(]|\s*(?:=|<-))"
            for place in re.finditer(variable, bare):
                call = call or _open_call(bare[max(0, place.start() - _NEAR) : place.start()])
                after = bare[place.end() : place.end() + 40]
        writes = bool(_WRITES.fullmatch(call)) or (call == "open" and bool(_WRITE_MODE.match(after)))
        named[path] = named.get(path, False) or writes
    return tuple(p for p, writes in named.items() if not writes), tuple(p for p, writes in named.items() if writes)


def _open_call(before: str) -> str:
    """Name of the innermost call that is open where a text ends, but for those that join paths."""
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(before[at], 0)
        if depth < 0:
            depth, name = 0, re.search(r"(?<![\w.])([A-Za-z][\w.]*+)\s*+$", before[:at])
            last = name[1] if name else ""
            if not _JOINS.fullmatch(last):
                return last.rpartition(".")[2] if last.partition(".")[0] not in ("read", "write") else last
    return ""
