"""``protocol.json`` read: whole and of a form that is known, or refused."""

from pathlib import Path

from pydantic import ValidationError

from kgcheck.errors import InputFormat
from kgcheck.inputs import parse_json, read_whole
from kgcheck.protocols.protocol import PROTOCOL_FORMAT, StudyProtocol

_HINT = "give a protocol.json as kgcheck protocol design writes it"


def read_protocol(path: Path, text: str | None = None) -> StudyProtocol:
    """Read a protocol.

    Args:
        path: The file.
        text: What is to be read as if it stood in that file; None for the file itself.

    Returns:
        The protocol.

    Raises:
        InputFormat: It is none, or of a newer format.
    """
    try:
        raw = parse_json(read_whole(path) if text is None else text)
        newer = raw.get("format") if isinstance(raw, dict) else None
        if isinstance(newer, int) and newer > PROTOCOL_FORMAT:
            raise InputFormat(f"{path} has the format {newer}, newer than {PROTOCOL_FORMAT}", "upgrade kgcheck")
        return StudyProtocol.model_validate(raw)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}"[:200] for e in error.errors()[:3])
        raise InputFormat(f"{path} is no protocol: {wrong}", _HINT) from None
    except ValueError as error:
        raise InputFormat(f"{path} is no protocol: {error}"[:300], _HINT) from None
