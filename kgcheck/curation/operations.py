"""Operations of a patch (set, re-point, merge, retire, add an edge), and the patch file.

An operation says what is to become of a fact, which finding it is for, what that rests on, and how the graph must stand
for it to fit. What it comes to in a store is worked out by `kgcheck.curation.steps`.
"""

import hashlib
import io
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, TypeAdapter, model_validator

from kgcheck.errors import LET_READ, InputError, InputFormat, InputMissing
from kgcheck.inputs import Bounded, parse_json, wrong_parts
from kgcheck.model import Identifier, Reason, Ref, Triple, Value
from kgcheck.outputs import write_text
from kgcheck.profile.schema import Schema

FORMAT = "kgcheck patch 1"

PATCH = "patch.jsonl"
"""The file of a patch, in its folder."""

Scalar = str | int | float
PropertyValue = Scalar | list[str] | None


class Cited(Value):
    """Citation of a piece of evidence."""

    source: str
    release: str
    record: str


class _Operation(Value):
    """Fields of all operations: the finding, what it was about, and how the graph must stand."""

    finding: str = Field(pattern="^[0-9a-f]{16}$", description="fingerprint")
    basis: str
    reason: Reason
    evidence: tuple[Cited, ...] = ()
    expected: dict[str, str] = Field(default={}, description="what is touched, and a digest of its state")


class _Move(_Operation):
    """Fields of operations that move edges."""

    meets: str = Field(default="", description="in words, what becomes of edges that cannot stand where they come to")


class SetValue(_Operation):
    """Another value of a property, of a node or of the edges that state a triple and have the value that is wrong."""

    kind: Literal["set_value"] = "set_value"
    what: Ref | Triple
    attribute: str
    was: PropertyValue = None
    to: PropertyValue
    source: str | None = Field(default=None, description="only the edges that cite this source")


class Repoint(_Move):
    """Another end of the edges that state a triple, or another id of a node, under which there is none yet."""

    kind: Literal["repoint"] = "repoint"
    what: Ref | Triple
    end: Literal["head", "tail"] | None = Field(default=None, description="of a triple")
    to: Identifier

    @model_validator(mode="after")
    def _has_an_end(self) -> Self:
        if (self.end is None) is isinstance(self.what, Triple):
            raise ValueError("an end is of a triple, and a triple has two")
        return self

    @property
    def old(self) -> Ref:
        if isinstance(self.what, Ref):
            return self.what
        return self.what.head if self.end == "head" else self.what.tail

    @property
    def into(self) -> Ref:
        return Ref(label=self.old.label, id=self.to)

    @property
    def moved(self) -> Triple | None:
        if isinstance(self.what, Ref):
            return None
        return self.what.model_copy(update={"head" if self.end == "head" else "tail": self.into})


class Merge(_Move):
    """A node into another that is there: its edges move, and those that become the same are folded."""

    kind: Literal["merge"] = "merge"
    what: Ref
    into: Ref


class Retire(_Operation):
    """A node with its edges, or the edges that state a triple; or of edges that are all alike, all but one."""

    kind: Literal["retire"] = "retire"
    what: Ref | Triple
    but_one: bool = False


class AddEdge(_Operation):
    """An edge that is not there."""

    kind: Literal["add_edge"] = "add_edge"
    what: Triple
    properties: dict[str, Scalar | list[str]] = {}


Operation = Annotated[SetValue | Repoint | Merge | Retire | AddEdge, Field(discriminator="kind")]

OPERATION: TypeAdapter[Operation] = TypeAdapter(Operation)


class PatchHeader(Value):
    """The first line of a patch."""

    format: str = FORMAT
    store: str = Field(description="where the store was")
    store_id: str = Field(default="", description="names the store wherever it is; empty in patches before there were")
    profile: str = Field(description="name and version")
    run: str
    created: datetime
    by: str
    operations: int
    digest: str = Field(default="", description="SHA-256 of the other fields and of the lines of the operations")


class Patch(NamedTuple):
    """A patch as it was read: every operation as it was made."""

    header: PatchHeader
    operations: tuple[Operation, ...]

    @property
    def id(self) -> str:
        return self.header.digest[:16]


def profile_of(schema: Schema) -> str:
    """A profile as the header of a patch names it."""
    return f"{schema.profile.name} {schema.profile.version}"


def numbered_lines(operations: Sequence[Operation]) -> list[str]:
    """The operations as lines of a patch."""
    return [json.dumps(o.model_dump(mode="json"), sort_keys=True) for o in operations]


def sealed(header: PatchHeader, lines: Sequence[str]) -> PatchHeader:
    """The header with the digest of a patch."""
    # A patch that was made before stores had names is sealed without.
    left_out = {"digest"} if header.store_id else {"digest", "store_id"}
    fields = header.model_dump(mode="json", exclude=left_out)
    text = "\n".join([json.dumps(fields, sort_keys=True), *lines])
    return header.model_copy(update={"digest": hashlib.sha256(text.encode()).hexdigest()})


def write_patch(folder: Path, patch: Patch) -> None:
    """Write the file of a patch."""
    lines = [json.dumps(patch.header.model_dump(mode="json"), sort_keys=True), *numbered_lines(patch.operations)]
    write_text(folder / PATCH, "".join(f"{line}\n" for line in lines))


def read_patch(folder: Path) -> Patch:
    """Read the patch of a folder."""
    path = folder / PATCH
    if not path.is_file():
        raise InputMissing(f"there is no patch in {folder}", f"kgcheck patch make --out DIR writes {PATCH}")
    try:
        with io.TextIOWrapper(io.BufferedReader(Bounded(path)), encoding="utf-8", newline="\n") as stream:
            lines = [line.removesuffix("\n") for line in stream]
    except UnicodeDecodeError:
        raise InputFormat(f"{path} is not UTF-8", _AGAIN) from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", LET_READ) from error
    if not lines:
        raise InputFormat(f"{path} is empty", _AGAIN)
    header = _header(path, lines.pop(0))
    if sealed(header, lines).digest != header.digest:
        raise InputFormat(f"{path} was edited or cut short: its digest does not fit", _AGAIN)
    operations = []
    for number, line in enumerate(lines, 1):
        try:
            operations.append(OPERATION.validate_python(parse_json(line)))
        except ValueError as error:
            raise InputFormat(f"operation {number} of {path} cannot be read: {wrong_parts(error, 1)}", _AGAIN) from None
    if len(operations) != header.operations:
        raise InputFormat(f"{path} has {len(operations)} operations, not {header.operations}", _AGAIN)
    return Patch(header, tuple(operations))


_AGAIN = "make it again: kgcheck patch make"


def _header(path: Path, line: str) -> PatchHeader:
    try:
        value = parse_json(line)
        if not isinstance(value, dict) or "format" not in value:
            raise ValueError("it has no header")
        if value["format"] != FORMAT:
            shown = str(value["format"])[:40]
            raise InputFormat(f"{path} is of the format {shown!r}, and this kgcheck reads {FORMAT!r}", _AGAIN)
        return PatchHeader.model_validate(value)
    except ValueError as error:
        raise InputFormat(f"{path} is no patch: {wrong_parts(error, 1)}", _AGAIN) from None


def in_words(operation: Operation) -> str:
    """Describe an operation in a few words."""
    what = operation.what
    match operation:
        case SetValue(attribute=name, was=was, to=to):
            return f"set {name} of {what}: {_value(was)} becomes {_value(to)}"
        case Repoint(what=Ref(), to=to):
            return f"give {what} the id {to}{_meets(operation)}"
        case Repoint(end=end, to=to):
            return f"re-point the {end} of {what} to {to}{_meets(operation)}"
        case Merge(into=into):
            return f"merge {what} into {into}{_meets(operation)}"
        case AddEdge(properties=properties):
            stated = ", ".join(f"{k} {_value(v)}" for k, v in properties.items())
            return f"add the edge {what}" + (f" ({stated})" if stated else "")
        case _:
            kind = "the edge " if isinstance(what, Triple) else ""
            return f"retire {kind}{what}" + (" but for one of those that are alike" if operation.but_one else "")


def _meets(operation: _Move) -> str:
    return f" ({operation.meets})" if operation.meets else ""


def _value(value: object) -> str:
    return "nothing" if value in (None, "", []) else json.dumps(value, ensure_ascii=False)
