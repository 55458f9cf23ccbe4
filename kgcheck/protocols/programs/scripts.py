"""Scripts of a repository: described, and matched to insights by words and statistics that both have, or by a model.

Nothing is run or imported here. A file that cannot be read as a script is refused with its reason. Descriptions by a
model count where every name that they rest on stands in the code.
"""

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, Field

from kgcheck.errors import InputError, InputFormat, UnknownName
from kgcheck.inputs import MIB, parse_json, read_bytes
from kgcheck.literature.lexical import content_words, relevances, stems
from kgcheck.llm.forms import messages_of
from kgcheck.model import Value
from kgcheck.protocols.programs.analyses import ready_analyses
from kgcheck.protocols.programs.sandbox import Language
from kgcheck.protocols.reports.tools_and_data import StatisticWords, statistics_in

if TYPE_CHECKING:
    from kgcheck.bench.insights import Domain, Insight
    from kgcheck.llm.budget import Meter
    from kgcheck.llm.client import ChatClient

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
    if isinstance(node, ast.Attribute):
        return f"{_called(node.value, aliases)}.{node.attr}".lstrip(".")
    return aliases.get(node.id, node.id) if isinstance(node, ast.Name) else ""


def _r_parts(code: str) -> dict[str, Any]:
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


A = TypeVar("A", bound=BaseModel)

LEAST_SHARE, NEAR_BEST, MOST_MATCHES = 0.08, 0.9, 3
"""Relevance of a script to an insight from which on they may belong together, its least ratio to the best, and the most
scripts of an insight. Chosen on the half of the pairs of ``benchmarks/code_pairs.py``."""

_K1, _B = 1.5, 1.0
"""Parameters of BM25 for scripts, of which the long ones say no more than the short; chosen there, too."""

_MOST_CODE = 20_000  # characters of a script that a model reads


class ScriptMatch(Value):
    """A script that fits an insight, and the words that both have."""

    insight: str
    path: str
    score: float = 1.0
    shared: tuple[str, ...] = ()
    by: str = "rules"


class TruePair(Value):
    """An insight and the scripts that it was made with."""

    insight: str
    scripts: tuple[str, ...] = Field(min_length=1)


class DescribedScript(BaseModel):
    """The form of an answer."""

    summary: str = Field(min_length=1, max_length=1_000)
    names: list[str] = Field(max_length=50)


class MatchedScripts(BaseModel):
    """The form of an answer."""

    scripts: list[str] = Field(max_length=20)


class CodeModel:
    """A model that describes scripts and matches them to insights."""

    def __init__(self, domain: "Domain", client: "ChatClient", meter: "Meter", refused: list[str]) -> None:
        self.domain, self.client, self.meter, self.refused = domain, client, meter, refused

    def answer(self, task: str, question: Mapping[str, Any], form: type[A]) -> A:
        return self.client.answer(messages_of(self.domain.prompt(task), question), form, meter=self.meter)[0]

    def describe(self, source: ScriptSource, found: ScriptDescription) -> ScriptDescription:
        """Describe a script; what names something that its code lacks is refused whole, and the rules' stands."""
        question = {"path": source.path, "code": source.code[:_MOST_CODE]}
        answer = self.answer("describe_script", question, DescribedScript)
        if lacking := [name for name in answer.names if name not in source.code]:
            self.refused.append(f"{source.path}: the model's description names {lacking[0][:80]!r}, which it lacks")
            return found
        return found.model_copy(update={"summary": answer.summary, "by": self.client.model})

    def match(self, insight: "Insight", scripts: Sequence[ScriptDescription]) -> list[ScriptMatch]:
        """Match scripts to an insight; an answer that names what is no script is refused whole."""
        listed = [
            {"path": s.path, "summary": s.summary, "calls": s.calls[:40], "statistics": s.statistics, "reads": s.reads}
            for s in scripts
        ]
        about = insight.model_dump(include={"summary", "techniques", "grounding"})
        answer = self.answer("match_scripts", {"insight": about, "scripts": listed}, MatchedScripts)
        if unknown := set(answer.scripts) - {s.path for s in scripts}:
            self.refused.append(f"{insight.id}: the model names {min(unknown)[:80]!r}, which is no script")
            return []
        by = self.client.model
        return [ScriptMatch(insight=insight.id, path=path, by=by) for path in dict.fromkeys(answer.scripts)]


def rank_scripts(insight: "Insight", scripts: Sequence[ScriptDescription]) -> list[ScriptMatch]:
    """Rank all scripts by their relevance to an insight."""
    texts = dict.fromkeys([insight.summary, insight.grounding, *insight.techniques])
    statistics = (name for text in texts for name in statistics_in(text))
    wanted = split_names(" ".join([*texts, *statistics]))
    words = [script.words for script in scripts]
    own, theirs = stems(content_words(wanted)), [stems(content_words(text)) for text in words]
    common = Counter(stem for found in theirs for stem in found & own)
    ranked = [
        ScriptMatch(
            insight=insight.id,
            path=script.path,
            score=round(score, 3),
            shared=tuple(sorted(found & own, key=lambda stem: (common[stem], stem)))[:8],
        )
        for script, score, found in zip(scripts, relevances(wanted, words, _K1, _B), theirs, strict=True)
    ]
    return sorted(ranked, key=lambda match: (-match.score, match.path))


def match_scripts(insight: "Insight", scripts: Sequence[ScriptDescription]) -> list[ScriptMatch]:
    """Match scripts to an insight by rules: those about as relevant as the best one, if that says anything.

    A ready analysis fits where the insight says what it is for.
    """
    text = f"{insight.summary} {insight.grounding}".casefold()
    wanted = {s.path for s in scripts if s.language != "analysis" or any(w.casefold() in text for w in s.names)}
    ranked = [match for match in rank_scripts(insight, scripts) if match.path in wanted]
    least = max(LEAST_SHARE, NEAR_BEST * ranked[0].score) if ranked else 0
    return [match for match in ranked[:MOST_MATCHES] if match.score >= least]


def pair_rows(
    pairs: Sequence[TruePair],
    insights: Sequence["Insight"],
    scripts: Sequence[ScriptDescription],
    matches: Mapping[str, Sequence[ScriptMatch]],
) -> list[dict[str, Any]]:
    """Measure matches by true pairs: recall among the first, of those matched, and insights by wrong files."""
    known, paths = {one.id: one for one in insights}, {script.path for script in scripts}
    for pair in pairs:
        if pair.insight not in known:
            raise UnknownName("insight", pair.insight, known)
        if unknown := set(pair.scripts) - paths:
            raise UnknownName("script", min(unknown), paths)
    ranked = {pair.insight: [match.path for match in rank_scripts(known[pair.insight], scripts)] for pair in pairs}
    found = [[match.path for match in matches[pair.insight]] for pair in pairs]
    truth = [{*pair.scripts} for pair in pairs]
    wrong = [len({*own} - true) for own, true in zip(found, truth, strict=True)]
    first = [sum(bool(t & {*ranked[p.insight][:n]}) for p, t in zip(pairs, truth, strict=True)) for n in (1, 3)]
    counts = [
        ("a true script is ranked first, by rules", first[0], len(pairs)),
        ("a true script is among the first three, by rules", first[1], len(pairs)),
        ("true scripts matched", sum(len({*o} & t) for o, t in zip(found, truth, strict=True)), sum(map(len, truth))),
        *((f"insights with {n} wrong files", wrong.count(n), len(pairs)) for n in sorted({*wrong})),
    ]
    return [{"measure": name, "count": n, "of": of, "share": round(n / of, 3) if of else 0.0} for name, n, of in counts]
