"""Parse RDF files with pyoxigraph, statement by statement, within limits and with the place of what is wrong.

Three things would take the process down, and are refused before the parser sees them: entities that expand, elements
without end in each other, and triple terms in triple terms.
"""

import io
import mmap
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import IO, Any, NamedTuple, NoReturn, cast
from xml.parsers import expat

from kgcheck.errors import AS_UTF8, InputFormat, MissingExtra
from kgcheck.forms.curies import BASE, RDF
from kgcheck.forms.source import Source
from kgcheck.forms.tables import RejectedRow
from kgcheck.inputs import DEEPEST, MIB, Bounded

EXTRA = "rdf"
_MARK = b"\xef\xbb\xbf"
"""Byte order mark, which Windows programs put before UTF-8."""

_MOST_REJECTED = 1_000
"""Malformed IRIs of one file that are kept; more are counted."""

MOST_WRONG = 10_000
"""Lines of one file that may be wrong."""

_LONGEST_ENTITY = 200
_LONGEST_IRI = 4_000
"""Characters; a prefix may be written once and stand for many."""

_MOST_NESTED = 50
"""Triple terms on one line, so that they cannot stand in each other deeper than a program can follow."""

_MOST_TRIPLE_TERMS = 5_000
_TRIPLE_TERM = re.compile(rb"<<\(")
_PREFIX = re.compile(rb"@?prefix\s+([\w.-]*):\s*<([^<>\"{}|^`\\\s]*)>", re.IGNORECASE)
_PLACE = re.compile(r"^Parser error (?:at|between) .*?: ", re.DOTALL)
_OF_IRI = re.compile(r"Invalid IRI|absolute IRI|parsing IRI")
_NAMED_IRI = re.compile(r"parsing IRI '([^']*+)': ", re.DOTALL)
_SOUND_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*")
_SHOWN = 160
_WRITE_AGAIN = "put it right there, or write the file again: it may be cut off"


class Quad(NamedTuple):
    """A statement as it stands: IRIs whole, blank nodes as ``_:label``."""

    line: int | None
    subject: str
    predicate: str
    object: str
    is_literal: bool = False
    language: str = ""
    graph: str = ""


class RejectedRows(list[RejectedRow]):
    """Rows of a file that are rejected, and how many more than are kept."""

    more = 0


class Syntax(NamedTuple):
    """A way to write RDF: its name, and what pyoxigraph calls it."""

    name: str
    attribute: str


N_QUADS = Syntax("N-Triples", "N_QUADS")
TRIG = Syntax("Turtle", "TRIG")
JSON_LD = Syntax("JSON-LD", "JSON_LD")
RDF_XML = Syntax("RDF/XML", "RDF_XML")


def prefixes(source: Source, syntax: Syntax) -> list[tuple[str, str]]:
    """The prefixes that a file declares; what would be dangerous to parse is refused."""
    if syntax is N_QUADS or not source.head.strip():
        return []
    if syntax is RDF_XML:
        return _prefixes_of_xml(source)
    if syntax is TRIG:
        with source.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            if any(True for _ in islice(_TRIPLE_TERM.finditer(text), _MOST_TRIPLE_TERMS, None)):
                raise InputFormat(
                    f"{source.name} holds more than {_MOST_TRIPLE_TERMS:,} triple terms in Turtle",
                    "write it as N-Triples, which is read line by line",
                )
            found = dict.fromkeys((m[1], m[2]) for m in _PREFIX.finditer(text))
        return [(prefix.decode(errors="replace"), space.decode(errors="replace")) for prefix, space in found]
    with _binary(source) as stream:
        parser = _parsed(syntax, stream, lenient=True)
        with suppress(SyntaxError, ValueError):
            for _ in parser:
                stream.raw.mark()
        return list(parser.prefixes.items())


def statements(source: Source, syntax: Syntax, rejected: RejectedRows) -> Iterator[Quad]:
    """The statements of a file. Lines of N-Triples that are wrong, and malformed IRIs elsewhere, are rejected."""
    return _of_lines(source, rejected) if syntax is N_QUADS else _of_whole(source, syntax, rejected)


def _of_lines(source: Source, rejected: list[RejectedRow]) -> Iterator[Quad]:
    """Line by line: one that is wrong costs no other."""
    ox = _pyoxigraph()
    with io.BufferedReader(Bounded(source.path), MIB) as stream:
        for number, line in enumerate(stream, 1):
            refuse_many(source, rejected)
            line = line.removeprefix(_MARK) if number == 1 else line
            reason, why = "nested", "triple terms in triple terms"
            if line.count(b"<<") <= _MOST_NESTED:
                try:
                    for quad in ox.parse(line, format=ox.RdfFormat.N_QUADS):
                        yield from _unfolded(quad, source, number, ox)
                    continue
                except (SyntaxError, ValueError) as error:
                    reason, why = "malformed_iri" if _is_of_iri(error) else "syntax", _why(error)
            rejected.append(RejectedRow(number, reason, why, line.decode(errors="replace").strip()[:_SHOWN]))


def refuse_many(source: Source, rejected: list[RejectedRow]) -> None:
    """Refuse a file with so much wrong that it is another one than it looked like."""
    if len(rejected) > MOST_WRONG:
        raise InputFormat(
            f"{source.name} has more than {MOST_WRONG:,} lines that cannot be read, the first of them "
            f"line {rejected[0].line}: {rejected[0].detail}",
            "write it again",
        )


def _of_whole(source: Source, syntax: Syntax, rejected: RejectedRows) -> Iterator[Quad]:
    ox = _pyoxigraph()
    _find_malformed_iris(source, syntax, rejected)
    with _binary(source) as stream:
        try:
            for quad in _parsed(syntax, stream, lenient=bool(rejected)):
                stream.raw.mark()
                for statement in _unfolded(quad, source, None, ox):
                    if not rejected or _is_sound(statement):
                        yield statement
        except (SyntaxError, ValueError) as error:
            raise _unreadable(source, syntax, error) from error


def _find_malformed_iris(source: Source, syntax: Syntax, rejected: RejectedRows) -> None:
    """Malformed IRIs and their lines, if nothing else is wrong before them; the file is then read leniently."""
    with _binary(source) as stream:
        parser = _parsed(syntax, stream, lenient=False)
        while True:
            try:
                next(parser)
                stream.raw.mark()
            except StopIteration:
                return
            except (SyntaxError, ValueError) as error:
                if not _is_of_iri(error):
                    if not rejected:
                        raise _unreadable(source, syntax, error) from error
                elif len(rejected) == _MOST_REJECTED:
                    rejected.more += 1
                else:
                    named = _NAMED_IRI.search(str(error))
                    iri = named[1] if named else ""
                    line = getattr(error, "lineno", None) or _line_of(source, iri)
                    rejected.append(RejectedRow(line, "malformed_iri", _why(error), iri[:_SHOWN]))


def _line_of(source: Source, text: str) -> int | None:
    """The first line that holds a text."""
    with io.BufferedReader(Bounded(source.path), MIB) as stream:
        return next((n for n, line in enumerate(stream, 1) if text and text.encode() in line), None)


def _unfolded(quad: Any, source: Source, line: int | None, ox: Any) -> Iterator[Quad]:
    """A statement; one about a triple term is what reification says in three."""
    subject, predicate, graph = _name(quad.subject, source, ox), _name(quad.predicate, source, ox), ""
    if not isinstance(quad.graph_name, ox.DefaultGraph):
        graph = _name(quad.graph_name, source, ox)
    if isinstance(quad.object, ox.Literal):
        yield Quad(line, subject, predicate, quad.object.value, True, quad.object.language or "", graph)
    elif not isinstance(quad.object, ox.Triple):
        yield Quad(line, subject, predicate, _name(quad.object, source, ox), graph=graph)
    elif not isinstance(quad.object.object, ox.Triple | ox.Literal):
        for part in ("subject", "predicate", "object"):
            yield Quad(line, subject, RDF + part, _name(getattr(quad.object, part), source, ox), graph=graph)


def _name(term: Any, source: Source, ox: Any) -> str:
    if len(term.value) > _LONGEST_IRI:
        raise InputFormat(
            f"{source.name} has an IRI of more than {_LONGEST_IRI:,} characters, {term.value[:60]}...",
            "a prefix may lack its end, or was made to fill the memory",
        )
    # Blank nodes are of their file.
    return f"_:{source.number}.{term.value}" if isinstance(term, ox.BlankNode) else cast(str, term.value)


def _is_sound(statement: Quad) -> bool:
    names = [statement.subject, statement.predicate, statement.graph]
    names += [] if statement.is_literal else [statement.object]
    return all(not name or name.startswith("_:") or _SOUND_IRI.fullmatch(name) for name in names)


def _parsed(syntax: Syntax, stream: IO[bytes], *, lenient: bool) -> Any:
    ox = _pyoxigraph()
    return ox.parse(stream, format=getattr(ox.RdfFormat, syntax.attribute), base_iri=BASE, lenient=lenient)


class _Stream(io.BufferedReader):
    raw: Bounded


def _binary(source: Source) -> _Stream:
    stream = _Stream(Bounded(source.path, lines=False), MIB)
    if stream.peek(len(_MARK)).startswith(_MARK):
        stream.read(len(_MARK))
    return stream


def _pyoxigraph() -> Any:
    try:
        import pyoxigraph
    except ImportError as error:
        raise MissingExtra("reading RDF and OWL", EXTRA) from error
    return pyoxigraph


def _is_of_iri(error: Exception) -> bool:
    return bool(_OF_IRI.search(str(error)))


def _why(error: Exception) -> str:
    return " ".join(_PLACE.sub("", str(getattr(error, "msg", None) or error)).split())[:_SHOWN]


def _unreadable(source: Source, syntax: Syntax, error: Exception) -> InputFormat:
    line, column = getattr(error, "lineno", None), getattr(error, "offset", None)
    place = f", line {line}, column {column}" if line else ""
    why, hint = _why(error), _WRITE_AGAIN
    if "UTF-8" in why or "utf-8" in why:
        hint = AS_UTF8
    elif "LoadDocumentCallback" in why:
        why, hint = "its @context is on the web, where nothing is fetched from", "write the context into the file"
    return InputFormat(f"{source.name}{place}: not readable as {syntax.name}: {why}", hint)


def _prefixes_of_xml(source: Source) -> list[tuple[str, str]]:
    """Look through an XML file: for prefixes, and for what would expand or nest too far."""
    found: dict[tuple[str, str], None] = {}
    depth = entities = declared = 0
    parser = expat.ParserCreate(namespace_separator=" ")

    def refuse(why: str) -> NoReturn:
        hint = "it may be made to harm: write it again without, say by robot convert or riot"
        raise InputFormat(f"{source.name}, line {parser.CurrentLineNumber}, {why}", hint)

    def declare(prefix: str | None, space: str) -> None:
        if len(found) < _MOST_REJECTED:
            found[prefix or "", space] = None

    def start(*_: Any) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            refuse(f"nests elements deeper than {DEEPEST}")

    def end(*_: Any) -> None:
        nonlocal depth
        depth -= 1

    def entity(name: str, parameter: int, value: str | None, *_: Any) -> None:
        nonlocal entities
        entities += 1
        if parameter or value is None:
            refuse(f"asks for another file by the entity {name[:40]!r}")
        if len(value) > _LONGEST_ENTITY or "&" in value or "%" in value:
            refuse(f"has an entity {name[:40]!r} that expands further than a namespace")

    parser.StartNamespaceDeclHandler, parser.EntityDeclHandler = declare, entity
    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        with _binary(source) as stream:
            rest = b""
            while block := stream.read(MIB):
                stream.raw.mark()
                parser.Parse(block, False)
                declared += (rest + block).count(b"<!ENTITY")
                rest = (rest + block)[-7:]
            parser.Parse(b"", True)
    except expat.ExpatError as error:
        place, why = f"line {error.lineno}, column {error.offset + 1}", expat.ErrorString(error.code)
        raise InputFormat(f"{source.name}, {place}: not readable as RDF/XML: {why}", _WRITE_AGAIN) from error
    if declared != entities:
        # What one parser takes for a comment, another may take for a declaration.
        refuse("declares entities where none can be")
    return list(found)
