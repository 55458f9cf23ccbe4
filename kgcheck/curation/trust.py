"""Trusted kgcheck.toml files, by path and digest of the addresses that they name.

Other addresses, or the same ones in another folder, are not trusted.
"""

import json
import shlex
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from platformdirs import user_state_path
from pydantic import ValidationError

from kgcheck import clock
from kgcheck.errors import FROM_A_COPY, ConfigurationError, InputError, InputMissing
from kgcheck.model import Value
from kgcheck.outputs import write_text


class Trust(Value):
    """A file that a person trusts, with the addresses that it named then."""

    path: str
    digest: str
    at: str


def trust(path: Path, addresses: Mapping[str, str]) -> None:
    """Write down that a file is trusted with these addresses."""
    made = Trust(path=_place(path), digest=_digest(addresses), at=clock.now().isoformat())
    write_text(_note(path), made.model_dump_json() + "\n", secret=True)


def revoke(path: Path) -> None:
    """Forget that a file is trusted."""
    try:
        _note(path).unlink()
    except FileNotFoundError:
        raise InputMissing(f"{path} is not trusted", "kgcheck trust --list lists those that are") from None
    except OSError as error:
        raise InputError(f"cannot forget {path}: {error.strerror}", f"remove {_note(path)}") from error


def trusted() -> list[Trust]:
    """All files that are trusted, by path."""
    return sorted((_read(note) for note in _folder().glob("*.json")), key=lambda found: found.path)


def is_trusted(path: Path, addresses: Mapping[str, str]) -> bool:
    """Tell whether a file is trusted with these very addresses."""
    with suppress(FileNotFoundError):
        found = _read(_note(path))
        return found.path == _place(path) and found.digest == _digest(addresses)
    return False


def check_trusted(path: Path, addresses: Mapping[str, str]) -> None:
    """Refuse the addresses of a file that is not trusted with them."""
    if is_trusted(path, addresses):
        return
    named = "; ".join(f"{key} = {address}" for key, address in addresses.items())
    changed = ", which have changed since you trusted it" if _note(path).exists() else ""
    raise ConfigurationError(
        f"{path} was found by itself and is not trusted with its addresses{changed}: {named}",
        f"they would get your passwords, or be written to; if they are yours: kgcheck trust {shlex.quote(str(path))}",
    )


def _folder() -> Path:
    return user_state_path("kgcheck", appauthor=False) / "trusted"


def _place(path: Path) -> str:
    # A link in a folder of somebody is a file of that folder, whatever it leads to today.
    return str(path.absolute().parent.resolve() / path.name)


def _note(path: Path) -> Path:
    return _folder() / f"{sha256(_place(path).encode()).hexdigest()}.json"


def _digest(addresses: Mapping[str, str]) -> str:
    return sha256(json.dumps(addresses, sort_keys=True).encode()).hexdigest()


def _read(note: Path) -> Trust:
    try:
        return Trust.model_validate_json(note.read_bytes())
    except FileNotFoundError:
        raise
    except (OSError, ValidationError) as error:
        raise ConfigurationError(f"{note} cannot be read: {error}", f"{FROM_A_COPY}, or remove it") from error
