"""Read documents from CSV, JSON, JATS, PDF and others; recipes map their fields."""

import csv
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from kgcheck.errors import LET_READ, NAME_THERE, InputFormat, InputMissing, SourceAnswer
from kgcheck.inputs import LARGEST_DOCUMENT, MIB, Bounded, parse_json, read_whole
from kgcheck.literature.documents import Document, Rejected, make_document
from kgcheck.literature.jats import read_jats, xml_records
from kgcheck.literature.papers import WholePaper, paper_of_record
from kgcheck.literature.pdf import read_pdf
from kgcheck.profile.corpus_files import CorpusRecipe, Fields, by_suffix

Record = Document | WholePaper | Rejected
_Raw = tuple[str, dict[str, Any] | WholePaper | Rejected]
"""Place, and the fields of a record as they stand there, or a whole paper."""

_WIDEST_FIELD = 50_000_000
_QUOTED = re.compile(r"(?<!\\)(?:'((?:[^'\\]|\\.)*+)'|\"((?:[^\"\\]|\\.)*+)\")", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PUBTATOR = re.compile(r"(\d+)\|([ta])\|(.*)")


def choose_recipe(path: Path) -> CorpusRecipe:
    """The recipe that knows a file by its name and its first record."""
    if not path.is_file():
        raise InputMissing(f"there is no file {path}", NAME_THERE)
    known, wrong = by_suffix(path), ""
    for recipe in known:
        try:
            _, first = next(_READERS[recipe.format](path, recipe), ("", None))
        except InputFormat as error:
            wrong = f"; {error.message}"
            continue
        # Whole papers are known by the form of the file alone.
        needed = isinstance(first, dict) and all(_get(first, key) is not None for key in recipe.needs)
        if needed or (first is not None and recipe.format in ("jats", "pdf")):
            return recipe
    tried = f"tried: {', '.join(r.name for r in known)}" if known else "no recipe reads files that end so"
    raise InputFormat(f"{path} is no document format that kgcheck knows ({tried}{wrong})", "name one with --recipe")


def read_documents(path: Path, recipe: CorpusRecipe) -> Iterator[Record]:
    """The documents of a file."""
    if not path.is_file():
        raise InputMissing(f"there is no file {path}", NAME_THERE)
    count = 0
    try:
        for place, raw in _READERS[recipe.format](path, recipe):
            if isinstance(raw, Rejected):
                yield raw.model_copy(update={"place": place})
                continue
            count += 1
            if isinstance(raw, WholePaper):
                yield raw.model_copy(update={"recipe": recipe.name})
                continue
            made = make_document(_mapped(raw, recipe), recipe.name)
            yield made.model_copy(update={"place": place}) if isinstance(made, Rejected) else made
    except InputFormat as error:
        if not count:
            raise
        yield Rejected(reason="malformed", detail=f"{error.message}; what follows was not read", place=str(path))


def _mapped(raw: dict[str, Any], recipe: CorpusRecipe) -> dict[str, Any]:
    own = {name: name for name in ("id", "title", "year", "journal", "types", "retracted")}
    fields = recipe.fields or Fields(abstract=("abstract",), **own)
    abstract: list[str] = []
    for key in fields.abstract:
        value = _get(raw, key)
        if recipe.format == "csv" and isinstance(value, str):
            value = _numpy_list(value)
        abstract += map(str, value) if isinstance(value, list) else [str(value or "")]
    types = _get(raw, fields.types) or ()
    return {
        "id": recipe.prefixed(str(_get(raw, fields.id) or "").strip()),
        "title": _get(raw, fields.title),
        "abstract": abstract if len(abstract) != 1 else abstract[0],
        "sentences": recipe.sentences,
        "year": _get(raw, fields.year),
        "journal": _get(raw, fields.journal),
        "types": types if isinstance(types, list | tuple) else [types],
        "retracted": _get(raw, fields.retracted) in (True, 1, "1", "true", "True", "yes", "Y"),
    }


def _get(raw: dict[str, Any], keys: str) -> Any:
    value: Any = raw
    for key in filter(None, keys.split(".")):
        value = value.get(key) if isinstance(value, dict) else None
    return value if keys else None


def _numpy_list(text: str) -> list[str]:
    """The strings of a list in Python's or numpy's notation; other text as it is."""
    inner = text.strip()
    if not (inner.startswith(("['", '["')) and inner.endswith(("']", '"]'))):
        return [text]
    meant = {"n": "\n", "t": "\t", "r": "\r"}
    return [_ESCAPE.sub(lambda m: meant.get(m[1], m[1]), a or b) for a, b in _QUOTED.findall(inner)]


def text_lines(path: Path) -> Iterator[str]:
    """Lines of a text file; bytes that are no UTF-8 are shown as escapes."""
    try:
        with io.BufferedReader(Bounded(path, most=LARGEST_DOCUMENT), MIB) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="backslashreplace", newline="")
            for line in text:
                if "\0" in line:
                    raise InputFormat(f"{path} is no text file", "name a file of text")
                yield line
    except (OSError, EOFError, zlib.error) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or error
        raise InputFormat(f"cannot read {path}: {why}", LET_READ) from error


def _csv(path: Path, recipe: CorpusRecipe) -> Iterator[_Raw]:
    limit = csv.field_size_limit(_WIDEST_FIELD)
    try:
        reader = csv.DictReader(text_lines(path), strict=True)
        lacking = [c for c in recipe.needs if c not in (reader.fieldnames or ())]
        if lacking:
            raise InputFormat(f"{path} has no column {', '.join(lacking)}", f"a {recipe.name} file has it")
        for row in reader:
            place = f"{path}, line {reader.line_num}"
            if None in row or None in row.values():
                yield place, Rejected(reason="malformed", detail="another number of fields than the header")
            else:
                yield place, dict(row)
    except csv.Error as error:
        raise InputFormat(f"{path}, line {reader.line_num}: {error}", "a quote may not be closed") from error
    finally:
        csv.field_size_limit(limit)


def _json(path: Path, recipe: CorpusRecipe) -> Iterator[_Raw]:
    whole = json_of(path)
    records = _get(whole, recipe.records) if recipe.records and isinstance(whole, dict) else whole
    if isinstance(records, dict):
        records = [{**r, "@key": key} if isinstance(r, dict) else r for key, r in records.items()]
    if not isinstance(records, list):
        raise InputFormat(
            f"{path} holds no records{f' under {recipe.records}' if recipe.records else ''}",
            "correct the file, or name another recipe with --recipe",
        )
    return numbered(path, records)


def json_of(path: Path) -> Any:
    """The value of a file that is one of JSON."""
    try:
        return parse_json(read_whole(path, encoding="utf-8-sig"))
    except ValueError as error:
        raise InputFormat(f"{path} is not JSON: {error}", "it may be cut off") from error


def numbered(path: Path, records: Iterable[Any]) -> Iterator[tuple[str, dict[str, Any] | Rejected]]:
    """The objects of a list, each with its place."""
    for number, raw in enumerate(records, 1):
        found = raw if isinstance(raw, dict) else Rejected(reason="malformed", detail="not an object")
        yield f"{path}, record {number}", found


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any] | Rejected]]:
    """The objects of a file that has one a line."""
    for number, line in enumerate(text_lines(path), 1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            raw = parse_json(line)
        except ValueError as error:
            yield place, Rejected(reason="malformed", detail=f"not JSON: {error}", record=line[:200])
            continue
        yield place, raw if isinstance(raw, dict) else Rejected(reason="malformed", detail="not an object")


def _pubtator(path: Path, recipe: CorpusRecipe) -> Iterator[_Raw]:
    raw: dict[str, Any] = {}
    place, known = "", False
    for number, line in enumerate(text_lines(path), 1):
        match = _PUBTATOR.match(line.rstrip("\r\n"))
        if not match:
            if line.strip() and not known:
                raise InputFormat(f"{path}, line {number}: not PubTator", "lines begin with PMID|t| or PMID|a|")
            continue
        known = True
        if raw and raw["id"] != match[1]:
            yield place, raw
            raw = {}
        place = place if raw else f"{path}, line {number}"
        raw = {**raw, "id": match[1], "title" if match[2] == "t" else "abstract": match[3]}
    if raw:
        yield place, raw


def _pubmed_xml(path: Path, recipe: CorpusRecipe) -> Iterator[_Raw]:
    # The clients of services import many modules, which no other format needs.
    from kgcheck.providers.ncbi import article_record

    for number, element in enumerate(xml_records(path, "PubMed XML", {"PubmedArticle"}), 1):
        record = article_record(element)
        yield f"{path}, record {number}", {**record._asdict(), "id": record.key} if record else {}


def read_retractions(path: Path) -> Iterable[str]:
    """The PMIDs of a retraction list, one a line, also GO's; what follows a tab or a comma, or ``!``, is not read."""
    if not path.is_file():
        raise InputMissing(f"there is no file {path}", NAME_THERE)
    ids: list[str] = []
    for number, line in enumerate(text_lines(path), 1):
        first = re.split(r"[\t,;\s]", line.strip())[0].lower().removeprefix("pmid:")
        if first.isascii() and first.isdigit():
            ids.append(f"pmid:{first}")
        elif first and number > 1 and not first.startswith("!"):
            raise InputFormat(f"{path}, line {number}: {first[:40]!r} is no PMID", "one PMID a line")
    return ids


def _openalex(path: Path, recipe: CorpusRecipe) -> Iterator[_Raw]:
    from kgcheck.providers.openalex import work_record

    for place, raw in json_lines(path):
        if not isinstance(raw, dict):
            yield place, raw
            continue
        try:
            work = work_record(raw)
        except SourceAnswer as error:
            yield place, Rejected(reason="malformed", detail=error.message, record=str(raw.get("id"))[:200])
        else:
            yield place, paper_of_record(work, recipe.name, work.references)


_READERS: dict[str, Callable[[Path, CorpusRecipe], Iterator[_Raw]]] = {
    "csv": _csv,
    "json": _json,
    "jats": lambda path, recipe: read_jats(path),
    "jsonl": lambda path, recipe: json_lines(path),
    "openalex": _openalex,
    "pdf": lambda path, recipe: read_pdf(path),
    "pubtator": _pubtator,
    "pubmed_xml": _pubmed_xml,
}
