"""Schema of a profile from graph.toml: labels, patterns, properties; allow-list for queries.

A name that reaches a query comes from here (`Schema.label`, `Schema.relation`, `Schema.pattern`), never from a user.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from kgcheck.choices import DEFAULT_PROFILE, DRAFT
from kgcheck.errors import AmbiguousName, ConfigurationError, UnknownName
from kgcheck.model import Ref, Value
from kgcheck.profile.catalogue import PARENT, AttributeCheck, Authority, EdgeCheck
from kgcheck.profile.folder import GRAPH, address_of, is_path, part, profile_dir, profile_names
from kgcheck.profile.patterns import group_names, groups_of, matches, whole_pattern
from kgcheck.profile.toml_files import Mistake, Mistakes, WrongFile, read_value

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
NAME_OF_GRAPH = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?::[A-Za-z][A-Za-z0-9_]*)?")
"""Names of labels and relations, which may have a prefix as those of Biolink have: ``biolink:Gene``."""

KEY = "id"
"""Key of a node in every store that kgcheck fills, unless the profile says otherwise."""

KeyType = Literal["string", "integer"]

Standard = Literal["biolink", "bioregistry"]
"""Standards whose rules a graph may ask for."""

PropertyType = Literal["string", "strings", "integer", "number"]


class Property(Value):
    """A property of a node or an edge."""

    type: PropertyType
    meaning: str = ""
    range: tuple[float, float] | None = None
    required: bool = Field(default=False, description="every edge ought to have it")
    length_of: str | None = Field(default=None, description="it is the number of characters of this property")


class Species(Value):
    """Place of a node's species, as NCBI taxonomy ids: a property, or a code that its id holds."""

    property: str
    form: str | None = Field(default=None, description="regular expression of ids with a code, the code in brackets")
    codes: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = {}


ID_GROUPS = {"entry", "sequence", "isoform", "residue", "position", "kind"}
"""Parts of an id that `id_pattern` may name.

The entry under which its authority files it, the isoform, the sequence that it is of (an entry or an isoform); and of a
site the residue, its position in the sequence and the kind of change.
"""


class Label(Value):
    """A node label, its key property, and how its nodes are checked."""

    key_columns: ClassVar[tuple[str, ...]] = ("id",)

    name: str
    meaning: str
    key: str = Field(default=KEY, description="property of a Neo4j server that holds the id; the embedded store has id")
    key_type: KeyType = Field(default="string", description="integer where the server holds ids as whole numbers")
    id_pattern: str
    id_example: str
    authority: Authority = Authority()
    authorities: tuple[Authority, ...] = Field(
        default=(),
        description="several issuers, instead of `authority`, each with the `pattern` of its own ids: its group `entry`"
        " is what the source calls them, if that is less",
    )
    also: tuple[str, ...] = Field(default=(), description="more labels that a load into Neo4j gives its nodes")
    shares_ids_with: tuple[str, ...] = ()
    properties: dict[str, Property] = {}
    attributes: dict[str, AttributeCheck] = {}
    species: Species | None = None
    names: tuple[str, ...] = Field(
        default=("name", "synonyms"),
        description="properties, or the key, that hold what its nodes are called",
    )
    in_papers: bool = Field(default=False, description="papers call its nodes by their names")

    def __str__(self) -> str:
        return self.name

    @property
    def stated(self) -> list[str]:
        """Columns of all that is stated of a node: its key and its properties."""
        return [*self.key_columns, *self.properties]

    @field_validator("id_pattern")
    @classmethod
    def _is_pattern(cls, pattern: str) -> str:
        unknown = set(group_names(whole_pattern(pattern))) - ID_GROUPS
        if unknown:
            raise ValueError(f"an id has no group {sorted(unknown)[0]!r}: it may have {', '.join(sorted(ID_GROUPS))}")
        return pattern

    @field_validator("authorities")
    @classmethod
    def _have_patterns(cls, authorities: tuple[Authority, ...]) -> tuple[Authority, ...]:
        for authority in authorities:
            cls._is_pattern(authority.pattern or "")
        return authorities

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The parts that the form of an id names, see ID_GROUPS, each at the place of its number less 1."""
        return group_names(self.id_pattern)

    @property
    def site(self) -> bool:
        """Tell whether an id is a place in another node's sequence, which the authority files in its stead."""
        return "position" in self.groups

    @cached_property
    def issued(self) -> "tuple[Label, ...]":
        """The label with the ids of one issuer alone, for each issuer; itself where it has one, or none."""
        if not self.authorities:
            return (self,)
        return tuple(
            Label(**dict(self) | {"authority": a, "authorities": (), "id_pattern": a.pattern}) for a in self.authorities
        )

    @property
    def sources(self) -> frozenset[str]:
        """The sources that issue its ids."""
        issuing = (self.authority, *self.authorities)
        return frozenset(name for one in issuing for name in (one.source, one.other) if name)

    @property
    def isoforms(self) -> bool:
        """Tell whether an id may be that of a variant of what the authority files."""
        return "isoform" in self.groups and not self.site

    @property
    def isoform_sign(self) -> str:
        """The sign that stands before every isoform, where the form writes one; else nothing."""
        found = re.search(r"\(\?:([^\w\s()\[\]\\.*+?{}|^$])\(\?P<isoform>", self.id_pattern)
        return found[1] if found else ""

    def matches(self, identifier: str) -> bool:
        """Tell whether the identifier has the form that this label's authority gives out."""
        return matches(self.id_pattern, identifier)

    def base_id(self, identifier: str) -> str:
        """The id under which the authority files it: an isoform under its entry, a site under its protein."""
        if "entry" not in self.groups:
            return identifier
        return groups_of(self.id_pattern, identifier).get("entry") or identifier


class Pattern(Value):
    """A relation between two labels, e.g. (Protein)-[ACTS_ON]->(Protein)."""

    key_columns: ClassVar[tuple[str, ...]] = ("head", "tail")

    type: str
    head: str
    tail: str
    symmetric: bool = Field(default=False, description="order means nothing: an edge says the same in either direction")
    loops: bool | Literal["unknown"] = Field(
        default=False,
        description="an edge from a node to itself means something; where that is unknown, it is not called wrong",
    )
    hierarchy: bool = Field(default=False, description="the tail is a parent of the head")
    properties: dict[str, Property] = {}
    checks: tuple[EdgeCheck, ...] = ()

    @model_validator(mode="after")
    def _links_are_named(self) -> Self:
        """A check that names no links means those of the type of the edge, or in a hierarchy the parents."""
        named = PARENT if self.hierarchy else self.type
        checks = tuple(c if c.link else c.model_copy(update={"link": named}) for c in self.checks)
        # The pattern is frozen once it is made, which it is not yet.
        object.__setattr__(self, "checks", checks)
        return self

    def __str__(self) -> str:
        return f"{self.head} {self.type} {self.tail}"

    @property
    def stated(self) -> list[str]:
        """Columns of all that is stated of an edge: its ends and its properties."""
        return [*self.key_columns, *self.properties]

    @property
    def scored(self) -> dict[str, EdgeCheck]:
        """Properties that are compared with the score of a source, each with its check."""
        return {check.score.property: check for check in self.checks if check.score}

    @property
    def ends_alone(self) -> Self:
        """The pattern without properties: a scan of it reads the ends of its edges, and nothing else."""
        return self.model_copy(update={"properties": {}})


Holder = Label | Pattern
"""Holder of properties: a label, for its nodes, or a pattern, for its edges."""


class _Profile(Value):
    name: str
    version: int
    title: str
    draft: bool = Field(
        default=False,
        description="drafted from a graph: ends that no pattern joins are no fault, and what many break is told once",
    )
    reads: tuple[str, ...] = Field(
        default=(), description="other profiles whose stores this one may read, such as that which a draft is of"
    )
    standards: tuple[Standard, ...] = Field(
        default=(), description="standards that its names and ids follow, and by whose rules it is looked at"
    )


class Schema(Value):
    """Labels and relation patterns of one profile."""

    profile: _Profile
    labels: tuple[Label, ...]
    relations: tuple[Pattern, ...] = ()
    digest: str = Field(default="", description="SHA-256 of graph.toml, 12 digits")
    place: Path | None = Field(default=None, exclude=True, description="the folder that it was read from")

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        found = (*self._odd_names(), *self._wrong_ends(), *self._described_twice(), *self._wrong_checks())
        if found:
            raise Mistakes(Mistake(where=where, what=what) for where, what in found)
        return self

    def _odd_names(self) -> Iterator[tuple[str, str]]:
        prefixed = [(f"labels[{label}]", name) for label in self.labels for name in (label.name, *label.also)]
        plain = [(f"labels[{label}].key", label.key) for label in self.labels]
        for kind, holders in (("labels", self.labels), ("relations", self.relations)):
            plain += [(f"{kind}[{holder}].properties", name) for holder in holders for name in holder.properties]
        for where, name in (*prefixed, *((f"relations[{p}]", p.type) for p in self.relations)):
            if not NAME_OF_GRAPH.fullmatch(name):
                form = "letters, digits and _ only, after a prefix with a colon or without"
                yield where, f"{name!r} is not a plain name: {form}"
        for where, name in plain:
            if not _NAME.fullmatch(name):
                yield where, f"{name!r} is not a plain name: letters, digits and _ only"

    def _wrong_ends(self) -> Iterator[tuple[str, str]]:
        for pattern in self.relations:
            where, joins_two = f"relations[{pattern}]", pattern.head != pattern.tail
            for key, end in (("head", pattern.head), ("tail", pattern.tail)):
                if end not in self._by_label:
                    yield f"{where}.{key}", f"{pattern} names the label {end!r}, which is not described"
            if (pattern.symmetric or pattern.loops is True) and joins_two:
                yield where, f"{pattern} joins two labels, so that it is neither symmetric nor has loops"
            if pattern.hierarchy and (joins_two or pattern.symmetric or pattern.loops is True):
                is_one = "is a hierarchy, so that it joins one label, in one direction and without loops"
                yield where, f"{pattern} {is_one}"

    def _described_twice(self) -> Iterator[tuple[str, str]]:
        for kind, names in (("label", [s.name for s in self.labels]), ("relation", [str(p) for p in self.relations])):
            for name in dict.fromkeys(names):
                if names.count(name) > 1:
                    yield f"{kind}s[{name}]", f"the {kind} {name!r} is described twice"
        # All patterns of a relation type share one table of the embedded store.
        types: dict[tuple[str, str], PropertyType] = {}
        for pattern in self.relations:
            for name, spec in pattern.properties.items():
                known = types.setdefault((pattern.type, name), spec.type)
                if known != spec.type:
                    what = f"{pattern.type}.{name} is both {known} and {spec.type}"
                    yield f"relations[{pattern}].properties.{name}", what

    def _wrong_checks(self) -> Iterator[tuple[str, str]]:
        for label in self.labels:
            where = f"labels[{label}]"
            for name in {KEY, label.key} & label.properties.keys():
                yield (
                    f"{where}.properties.{name}",
                    f"{name!r} is what the key is called, so that it is no property besides",
                )
            several = label.authorities
            if several and (label.authority.source or not all(a.source and a.pattern for a in several)):
                what = f"each of the authorities of {label} needs a source and the pattern of its ids, and"
                yield f"{where}.authorities", f"{what} there is no authority beside"
            for name in (name for name in label.attributes if name not in label.properties):
                yield f"{where}.attributes.{name}", f"{label} has no property {name!r} that could be checked"

    @cached_property
    def _by_label(self) -> dict[str, Label]:
        return {label.name: label for label in self.labels}

    @property
    def folder(self) -> Path:
        return self.place or profile_dir(self.profile.name)

    @property
    def address(self) -> str:
        """Value by which `--profile` and `load_schema` read this profile again: a name, or an absolute path."""
        return address_of(self.folder)

    @property
    def edge_example(self) -> str:
        """An edge in words, with ids of the right form: for hints."""
        if not self.relations:
            return "HEAD RELATION TAIL"
        pattern = self.relations[0]
        return f"{self.label(pattern.head).id_example} {pattern.type} {self.label(pattern.tail).id_example}"

    @property
    def holders(self) -> tuple[Holder, ...]:
        return (*self.labels, *self.relations)

    @property
    def label_names(self) -> list[str]:
        return list(self._by_label)

    @cached_property
    def sources(self) -> frozenset[str]:
        """The reference sources that may decide something: who issues ids, states values or links nodes."""
        issuing = {source for label in self.labels for source in label.sources}
        checks = [check for label in self.labels for check in label.attributes.values() if check.source]
        otherwise = {check.otherwise.source for check in checks if check.otherwise}
        linking = {check.source for pattern in self.relations for check in pattern.checks}
        return frozenset(issuing | otherwise | linking | {check.source for check in checks})

    @cached_property
    def relation_types(self) -> list[str]:
        return list(dict.fromkeys(p.type for p in self.relations))

    def label(self, name: str) -> Label:
        try:
            return self._by_label[name]
        except KeyError:
            raise UnknownName("label", name, self._by_label) from None

    def patterns(self, relation: str) -> list[Pattern]:
        found = [p for p in self.relations if p.type == relation]
        if not found:
            raise UnknownName("relation", relation, self.relation_types)
        return found

    def pattern(self, head: str, relation: str, tail: str) -> Pattern:
        self.label(head), self.label(tail)
        for p in self.patterns(relation):
            if (p.head, p.tail) == (head, tail):
                return p
        known = [str(p) for p in self.patterns(relation)]
        raise UnknownName("relation", f"{head} {relation} {tail}", known, f"it joins: {'; '.join(known)}")

    def attribute(self, label: str, name: str) -> AttributeCheck:
        spec = self.label(label)
        if name in spec.attributes:
            return spec.attributes[name]
        if name in spec.properties:
            checked = ", ".join(spec.attributes) or "none"
            raise UnknownName("check of", f"{label}.{name}", [], f"attributes of {label} with a check: {checked}")
        raise UnknownName("attribute", name, spec.properties)

    def patterns_for(self, head: str, relation: str, tail: str) -> list[Pattern]:
        """Patterns of a relation whose id patterns fit these two ids."""
        patterns = self.patterns(relation)
        fits = [p for p in patterns if self.label(p.head).matches(head) and self.label(p.tail).matches(tail)]
        if fits:
            return fits
        expected = "; ".join(
            f"{p} (e.g. {self.label(p.head).id_example} {p.type} {self.label(p.tail).id_example})" for p in patterns
        )
        raise UnknownName("edge of the form", f"{head} {relation} {tail}", [], f"{relation} joins {expected}")

    def ref(self, label: str, identifier: str) -> Ref:
        try:
            return Ref(label=self.label(label).name, id=identifier)
        except ValidationError:
            raise AmbiguousName(
                f"{identifier!r} cannot be an id of {label}", f"an id looks like {self.label(label).id_example}"
            ) from None


def empty_schema() -> Schema:
    """The schema of a graph of which nothing is known."""
    profile = {"name": DRAFT, "version": 1, "title": "any graph"}
    return Schema.model_validate({"profile": profile, "labels": (), "relations": ()})


def load_schema(profile: str = DEFAULT_PROFILE) -> Schema:
    """Read a profile's graph.toml."""
    folder = profile_dir(profile)
    path = part(folder, GRAPH)
    try:
        # The bytes that are read decide what is accepted, so they are what is named.
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return read_value(path, Schema, {"digest": digest[:12], "place": folder})
    except FileNotFoundError:
        hint = "kgcheck profile init drafts one" if is_path(profile) else ""
        raise ConfigurationError(f"there is no profile {profile!r}: {path} is missing", hint) from None
    except OSError as error:
        raise WrongFile(path, [Mistake(what=error.strerror or str(error))]) from error


def read_schema(profile: str) -> Schema:
    """The schema of a profile: the name of one that kgcheck has, or the path of a folder.

    >>> read_schema("ckg").profile.name
    'ckg'
    """
    if not is_path(profile) and profile not in profile_names():
        hint = f"a folder of yours is named by a path: --profile ./{profile}" if Path(profile).is_dir() else ""
        raise UnknownName("profile", profile, profile_names(), hint)
    return load_schema(profile)
