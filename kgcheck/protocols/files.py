"""Files of the commands for protocols: read again whole and of a form that is known, or refused; what they are of."""

import json
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from kgcheck.errors import InputFormat
from kgcheck.inputs import parse_json, read_whole, wrong_parts
from kgcheck.model import Value
from kgcheck.protocols.protocol import StudyProtocol

V = TypeVar("V", bound=Value)


def read_formatted(path: Path, kind: type[V], what: str, hint: str, text: str | None = None) -> V:
    """A JSON file with the number of its format."""
    newest = kind.model_fields["format"].default
    try:
        raw = parse_json(read_whole(path) if text is None else text)
        found = raw.get("format") if isinstance(raw, dict) else None
        if isinstance(found, int) and found > newest:
            raise InputFormat(f"{path} has the format {found}, newer than {newest}", "upgrade kgcheck")
        return kind.model_validate(raw)
    except ValueError as error:
        raise InputFormat(f"{path} is no {what}: {wrong_parts(error)}"[:500], hint) from None


def digest_of_things(things: object) -> str:
    """SHA-256 of what JSON can hold: whether something was made of just these things."""
    return sha256(json.dumps(things, sort_keys=True).encode()).hexdigest()


def read_protocol(path: Path, text: str | None = None) -> StudyProtocol:
    """Read a protocol; see `read_formatted`."""
    return read_formatted(
        path, StudyProtocol, "protocol", "give a protocol.json as kgcheck protocol design writes it", text
    )
