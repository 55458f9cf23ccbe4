"""Allowed names and defaults of options, and checks of given names, dates and row limits."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal, get_args

from kgcheck import clock
from kgcheck.errors import UnknownName, UsageError

DEFAULT_STORE = ".kgcheck/graph.lbdb"
"""The store where none is named."""

DEFAULT_PROFILE = "ckg"
"""The profile where none is named; of graph files, a schema is drafted instead."""

FILES = "files:"
"""Beginning of the name of a store that is graph files: ``files:nodes.tsv,edges.tsv``."""

DRAFT = "draft"
"""Name of the profile of a schema that was drafted from files."""

STATED_OTHERWISE = "stated_otherwise"
"""Property, ``true`` of a node without edges of which graph files state something: a denial, an axiom, evidence."""

PINS_FILE = "kgcheck.pins.tsv"
"""Name of a file of pins, where none is named."""

BRAINS = ("rules", "llm")
"""Deciders of an agent's next step."""

VERIFIERS = ("trained", "llm")
"""Readers of papers for a claim."""

JUDGES = ("trained", "inference", "llm")
"""Judges of papers about an edge."""

SYSTEMS = ("graph", "model")
"""Systems that answer a set of questions."""

SCOPES = ("corpus", "partial", "documents", "passages", "all", "match", "each")
"""Texts that are read for a claim of a batch; the last three are names of BioKGBench: see `SCOPE_NAMES`."""

SCOPE_NAMES = {"all": "corpus", "partial": "partial", "match": "documents"}
"""Scopes that BioKGBench's table 13 compares, by its names; ``each`` stands for all three."""

PROTOCOLS = ("kgcheck", "biokgbench")
"""Ways in which a batch of a benchmark is put to a model: kgcheck's own, or as it was published."""

PAPER_SOURCES = ("europepmc", "pubmed", "semantic_scholar", "openalex")
"""Services where papers are gathered."""

SectionKind = Literal["abstract", "introduction", "methods", "results", "discussion", "conclusion", "other"]

SECTIONS: tuple[SectionKind, ...] = get_args(SectionKind)
"""Kinds of sections of a paper."""

THRESHOLDS = ("refuted", "insufficient", "new", "never")
"""The least outcome that counts as a failure of an audit; ``new``: only what is new, or has come back."""

CHECK_THRESHOLDS = ("refuted", "insufficient", "never")
"""The least outcome that counts as a failure of one check."""

STUDY_STATES = ("fallen", "wrong", "lacking", "open", "never")
"""The least state of a remark that counts as a failure of a check of protocols, the worst first."""

GROUND_STATES = ("contradicted", "unsupported", "never")
"""The least state of a remark that counts as a failure of a manuscript."""

GROUND_FORMS = ("json", "html", "markdown")
"""Forms of a report of a manuscript, for files."""

FORMATS = ("table", "json", "jsonl", "csv", "markdown", "html", "junit", "sarif")
"""Forms of a report."""

_ROW_LIMIT = re.compile(r"[0-9]{1,18}|(100|[0-9]{1,2}(\.[0-9]{1,6})?)%")
_DAY = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")


def chosen(kind: str, name: str, known: Sequence[str]) -> str:
    """A name that must be one of a few.

    >>> chosen("brain", "llm", BRAINS)
    'llm'
    >>> chosen("brain", "rule", BRAINS)
    Traceback (most recent call last):
    kgcheck.errors.UnknownName: there is no brain 'rule'
    """
    if name not in known:
        raise UnknownName(kind, name, known)
    return name


def day(text: str) -> str:
    """A date, as exact as it is known.

    >>> day("2024-06")
    '2024-06'
    """
    if not _DAY.fullmatch(text):
        raise UsageError(f"{text!r} is no date", "write 2024, 2024-06 or 2024-06-30")
    # Somewhere on earth it is tomorrow already.
    if text > (clock.today() + timedelta(days=1)).isoformat():
        raise UsageError(f"{text} has not come yet", "name a date of the past")
    return text


def row_limit(text: str) -> str:
    """A number of rows, or a share of them.

    >>> row_limit("250"), row_limit("2.5%")
    ('250', '2.5%')
    """
    if not _ROW_LIMIT.fullmatch(text):
        raise UsageError(f"{text!r} is no number of rows, and no share of them", "write it as 250 or as 2.5%")
    return text
