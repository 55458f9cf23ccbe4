"""Read OBO files as graphs, stanza by stanza."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from kgcheck.errors import InputFormat
from kgcheck.forms.form import GraphForm
from kgcheck.forms.rdf_parsing import refuse_many
from kgcheck.forms.rows import RowBuffer
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables, RejectedRow
from kgcheck.loading.lines import read_lines

_LABELS = {"[Term]": "Class", "[Typedef]": "Typedef", "[Instance]": "NamedIndividual"}
_OBO = re.compile(r"^(?:format-version:|\[(?:Term|Typedef)\]\s*$)", re.MULTILINE)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*+)"')
_TEXTS = ("name", "namespace", "comment", "is_obsolete", "replaced_by", "consider", "alt_id", "subset")
_SYNONYMS = ("synonym", "exact_synonym", "narrow_synonym", "broad_synonym", "related_synonym")
_LINKS = ("is_a", "instance_of", "relationship")
_SHOWN = 160


def _is_obo(source: Source) -> bool:
    first = next((line.strip() for line in source.lines if line.strip() and not line.startswith("!")), "")
    return bool(re.match(r"[\w-]+:|\[(?:Term|Typedef)\]", first)) and bool(_OBO.search(source.text))


def _read_obo(sources: Sequence[Source], tables: GraphTables) -> None:
    """Read terms, typedefs and instances as nodes, ``is_a`` and ``relationship`` of terms and instances as edges."""
    failures: list[InputFormat] = []
    for source in sources:
        rejected: list[RejectedRow] = []
        found = False
        try:
            with RowBuffer(source, tables, open_world=True) as buffer:
                for stanza in _stanzas(source, rejected):
                    if not stanza.id:
                        rejected.append(RejectedRow(stanza.line, "no_id", "a stanza without id"))
                        continue
                    found = True
                    buffer.node(stanza.id, (stanza.label,), stanza.properties, stanza.line)
                    for relation, tail, line in stanza.links:
                        buffer.edge(stanza.id, relation, tail, {}, line)
            if not found:
                raise InputFormat(f"{source.name} holds no OBO term", "it may be empty or cut off")
        except InputFormat as error:
            failures.append(error)
        tables.reject(source, rejected)
    if failures:
        raise failures[0]


def unescaped(text: str) -> str:
    """Text without the escapes of OBO, where a backslash and W are a space."""
    return re.sub(r"\\(.)", lambda m: " " if m[1] in "Wnt" else m[1], text).strip()


class _Stanza:
    """The lines of a term, a typedef or an instance."""

    def __init__(self, label: str, line: int) -> None:
        self.label = label
        self.line = line
        self.id = ""
        self.properties = defaultdict[str, list[str]](list)
        self.links: list[tuple[str, str, int]] = []

    def take(self, tag: str, value: str, line: int) -> str:
        """Take a line; return what is wrong with it."""
        if not value:
            return f"{tag} without a value"
        if tag == "id":
            before, self.id = self.id, self.id or value
            return "a second id" if before else ""
        words = value.split()
        if tag in _LINKS:
            pair = words[:2] if tag == "relationship" else [tag, words[0]]
            if len(pair) < 2:
                return "a relationship without a term"
            # Typedefs lead to others, which is no knowledge of the graph.
            if self.label != "Typedef":
                self.links.append((pair[0], pair[1], line))
        elif tag == "def" or tag in _SYNONYMS:
            quoted = _QUOTED.match(value)
            if not quoted:
                return f"{tag} without a text in quotes"
            self.properties["def" if tag == "def" else "synonym"].append(unescaped(quoted[1]))
        elif tag in _TEXTS:
            self.properties[tag].append(unescaped(value))
        elif tag == "xref" and not words[0].endswith(":"):
            # Some ontologies keep masses and dates there, as in "DiffAvg:" and a number.
            self.properties[tag].append(unescaped(words[0]))
        return ""


def _stanzas(source: Source, rejected: list[RejectedRow]) -> Iterator[_Stanza]:
    from obonet.read import parse_tag_line

    stanza: _Stanza | None = None
    for number, line in _lines(source, rejected):
        refuse_many(source, rejected)
        text = line.strip()
        if text.startswith("[") and text.endswith("]"):
            if stanza:
                yield stanza
            label = _LABELS.get(text)
            stanza = _Stanza(label, number) if label else None
        elif text and not text.startswith("!") and stanza:
            try:
                parsed = parse_tag_line(text)
                # In a text in quotes, an exclamation mark begins no comment.
                whole = text[len(parsed.tag) + 1 :].strip()
                value = whole if whole.startswith('"') else (parsed.value or "").strip()
                wrong = stanza.take(parsed.tag, value, number)
            except ValueError:
                wrong = "no tag and value"
            if wrong:
                rejected.append(RejectedRow(number, "syntax", wrong, text[:_SHOWN]))
    if stanza:
        yield stanza


def _lines(source: Source, rejected: list[RejectedRow]) -> Iterator[tuple[int, str]]:
    for first, lines in read_lines(source.path):
        for number, data in enumerate(lines.to_pylist(), first):
            try:
                yield number, data.decode()
            except UnicodeDecodeError:
                text = data.decode(errors="backslashreplace")
                rejected.append(RejectedRow(number, "not_utf8", "it is not UTF-8", text[:_SHOWN]))


FORMS = (GraphForm("OBO", _is_obo, _read_obo),)
