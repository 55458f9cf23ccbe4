"""Ontologies that no recipe names, recognised by their own headers: the life and the names of all their terms."""

import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kgcheck.duck import working_database
from kgcheck.errors import InputError, InputFormat
from kgcheck.forms.curies import obo_curie
from kgcheck.forms.form import form_of
from kgcheck.forms.read import read_files
from kgcheck.forms.source import Source, sources
from kgcheck.outputs import temporary_folder
from kgcheck.profile.reference_files import ReferenceFile, ReferenceRecipe
from kgcheck.progress import NoProgress
from kgcheck.providers.tsv import open_text
from kgcheck.providers.uniprot_entry import Rows, empty_rows
from kgcheck.settings import Settings
from kgcheck.standards.bioregistry import registry

FORMAT = "ontology"
"""Format of files that are read here, in a `ReferenceFile`."""

_FORMS = ("OBO", "OWL, RDF/XML", "OWL, Turtle", "OBO Graph JSON")
_NAME = re.compile(
    r"""^ontology:[ \t]*(\S+)                                                   # OBO
    |<owl:Ontology\s[^>]{0,200}rdf:about="https?://purl\.obolibrary\.org/obo/([^">]{1,200})\.owl"  # RDF/XML
    |<https?://purl\.obolibrary\.org/obo/([^>]{1,200})\.owl>\s+(?:a|rdf:type)\s+owl:Ontology  # Turtle
    |"id"\s*:\s*"https?://purl\.obolibrary\.org/obo/([^"]{1,200})\.(?:owl|json)" """,  # OBO Graph JSON
    re.MULTILINE | re.VERBOSE,
)
_RELEASE = re.compile(
    r"""^data-version:\s*(?:\S{0,200}?(?P<obo_day>\d{4}-\d\d-\d\d)\S*|(?P<obo>\S+))
    |versionIRI\W[^>]{0,300}?(?P<owl>\d{4}-\d\d-\d\d)
    |"version"\s*:\s*"[^"]{0,300}?(?P<json>\d{4}-\d\d-\d\d)""",
    re.MULTILINE | re.VERBOSE,
)
_DATE = re.compile(r"^date:\s*(\d\d):(\d\d):(\d{4})", re.MULTILINE)
_LICENCE = re.compile(r"https?://creativecommons\.org/(licenses|publicdomain)/([a-z-]+)/(\d\.\d)")
_ENDS = 1 << 18
"""Bytes at either end of a file that may state what it is."""

_PURL = re.compile(r"https?://purl\.obolibrary\.org/obo/")
_WHOLE = re.compile(r"base|basic|full|simple|edit|international")
"""Words of products of an ontology that have all of its terms, such as go/go-basic."""

_RETIRED = re.compile(r"(?i)obsolete[ _]+")
_TOGETHER = 20_000
_SIGNS = ("format-version:", "[Term]", "owl#", '"graphs"')
"""Texts of which one stands at the beginning of every ontology: other files are not unpacked."""

_ENDING = re.compile(r"\.(?:obo|owl|json)\b")
_SYNONYMS = ("synonym", "synonyms")
_OBSOLETE = ("is_obsolete", "deprecated")
_REPLACED = ("replaced_by", "IAO:0100001", "IAO_0100001")
_CONSIDER = ("consider",)
_SECONDARY = ("alt_id", "hasAlternativeId")
_NAMESPACE = ("namespace", "hasOBONamespace")
"""Properties by their names in the forms of ontologies."""


class OntologyHeader(NamedTuple):
    """Statements of an ontology's file about itself: name at the OBO Foundry, release, day, licence, if stated."""

    name: str
    release: str
    released: str
    licence: str
    is_part: bool
    is_of_lines: bool
    """It is OBO, whose last line has an end unless it was cut."""

    @classmethod
    def of(cls, path: Path) -> "OntologyHeader | None":
        """Read the header of a file; None where it is no ontology, or does not name itself."""
        if not _may_be_ontology(path):
            return None
        with temporary_folder() as scratch:
            for source in sources([path], scratch):
                with source.path.open("rb") as stream:
                    text = stream.read(_ENDS).decode(errors="replace")
                    stream.seek(max(stream.seek(0, 2) - _ENDS, 0))
                    text += "\n" + stream.read().decode(errors="replace")
                return cls._of_text(text, form) if (form := _form_of(source)) else None
        return None

    @classmethod
    def _of_text(cls, text: str, form: str) -> "OntologyHeader | None":
        named = _NAME.search(text)
        if not named:
            return None
        stated = _PURL.sub("", next(filter(None, named.groups()))).lower()
        first, *rest = re.sub(r"\.(?:owl|obo|json)$", "", stated).split("/")
        version = _RELEASE.search(text)
        parts = version.groupdict() if version else {}
        day = parts.get("obo_day") or parts.get("owl") or parts.get("json") or ""
        if not day and (dated := _DATE.search(text)):
            day = f"{dated[3]}-{dated[2]}-{dated[1]}"
        licence = _LICENCE.search(text)
        shown = f"CC {licence[2].upper()} {licence[3]}".replace("CC ZERO", "CC0") if licence else ""
        # A slim or an import has some of the terms; a base file has all of its own.
        is_part = not all(map(_WHOLE.search, rest)) or first.endswith("_import")
        return cls(first, parts.get("obo") or day, day, shown, is_part, is_of_lines=form == "OBO")


def _may_be_ontology(path: Path) -> bool:
    try:
        with open_text(path) as stream:
            head = stream.read(_ENDS)
    except (EOFError, zlib.error):
        return bool(_ENDING.search(path.name))
    except (InputError, ValueError, OSError):
        return False
    return any(sign in head for sign in _SIGNS)


def _form_of(source: Source) -> str:
    """The form of an ontology; empty of anything else."""
    try:
        name = form_of(source).name
    except InputError:
        return ""
    return name if name in _FORMS else ""


def ontology_recipe(path: Path, known: Iterable[ReferenceRecipe]) -> ReferenceRecipe | None:
    """The recipe of a file that is an ontology and names itself; None of any other.

    Where one of the known recipes has terms of that prefix, the file is a release of its source.
    """
    header = OntologyHeader.of(path)
    if not header:
        return None
    if header.is_part:
        raise InputFormat(f"{path} is a part of {header.name}, which lacks what may exist", "fetch the whole ontology")
    file = ReferenceFile(
        glob=re.sub(r"[^\w.-]", "?", path.name),
        format=FORMAT,
        release=header.release,
        released=header.released,
        topics={"entity": True, "value": True},
        whole_lines=header.is_of_lines,
        prefix=f"{header.name}:",
    )
    for recipe in known:
        if any(header.name == recipe.source or file.prefix == f.prefix.lower() for f in recipe.files):
            return recipe.model_copy(update={"files": (file,)})
    return ReferenceRecipe(
        source=header.name,
        name=f"{header.name.upper()}, as its file names itself",
        licence=header.licence or "not stated in the file",
        url_template="https://bioregistry.io/{record}",
        files=(file,),
    )


def ontology_file(name: str) -> ReferenceFile | None:
    """The file of an ontology of the OBO Foundry, by a prefix in any spelling; None of any other name."""
    known = registry().find(name)
    if not known or not known.ontology:
        return None
    plain = known.ontology.rpartition("/")[2]
    return ReferenceFile(glob=plain, format=FORMAT, url=known.ontology, save_as=plain, is_permanent=True)


def read_ontology(path: Path, name: str, settings: Settings) -> Iterator[Rows]:
    """Terms of an ontology with the prefix that is its name: current and obsolete ones, with all that replaced them."""
    with working_database(settings) as db, temporary_folder() as scratch:
        read_files([path], db, scratch, NoProgress())
        # Its name, as most of its terms spell it; a prefix of others may not be whole.
        spelled = db.execute(
            "SELECT split_part(id, ':', 1) AS prefix FROM node WHERE lower(prefix) = ? GROUP BY 1"
            " ORDER BY count(*) DESC LIMIT 1",
            [name],
        ).fetchall()
        if not spelled:
            raise InputFormat(
                f"{path} calls itself {name}, and has no ids of that prefix", "see its header and its ids"
            )
        prefix = str(spelled[0][0])
        found = db.execute("SELECT id, properties FROM node WHERE starts_with(id, ?) ORDER BY id", [f"{prefix}:"])
        while rows := found.fetchmany(_TOGETHER):
            yield _rows(rows, prefix)


def _rows(nodes: list[tuple[str, dict[str, str]]], prefix: str) -> Rows:
    rows = empty_rows()
    for identifier, properties in nodes:
        name = properties.get("name")
        is_obsolete = any(value.lower() in ("true", "1") for value in _texts(properties, _OBSOLETE))
        if not name and not is_obsolete:
            # What is only referred to is no term of this file.
            continue
        entity = {"namespace": next(iter(_texts(properties, _NAMESPACE)), None), "name": name, "record": identifier}
        successors = [_curie(value) for value in _texts(properties, _REPLACED)]
        candidates = [_curie(value) for value in _texts(properties, _CONSIDER)]
        life = {"state": "obsolete" if is_obsolete else "current", "successors": successors, "candidates": candidates}
        rows["entity"].append({"id": identifier} | entity | life)
        merged = {"state": "secondary", "successors": [identifier], "candidates": []}
        secondary = (_curie(value) for value in _texts(properties, _SECONDARY))
        rows["entity"] += [{"id": one} | entity | merged for one in secondary if one.startswith(f"{prefix}:")]
        if name:
            value = {"id": identifier, "attribute": "name", "record": identifier}
            # Of several names, as in several languages, each is one; and a sign may be part of a name.
            texts = [name, *_texts(properties, ("name", *_SYNONYMS)), *(properties.get(key, "") for key in _SYNONYMS)]
            if is_obsolete:
                texts.append(_RETIRED.sub("", name))
            others = dict.fromkeys(text for text in texts if text and text != name)
            rows["value"].append(value | {"value": name, "status": "current"})
            rows["value"] += [value | {"value": text, "status": "synonym"} for text in others]
    return rows


def _texts(properties: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    return [text for name in names for text in properties.get(name, "").split("|") if text]


def _curie(text: str) -> str:
    return obo_curie(text) or text
