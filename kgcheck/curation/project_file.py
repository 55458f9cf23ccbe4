"""Find the kgcheck.toml that applies, take option defaults from it, and keep trusted files."""

import json
import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from platformdirs import user_state_path
from pydantic import ValidationError

from kgcheck import clock
from kgcheck.errors import FROM_A_COPY, ConfigurationError, InputError, InputMissing
from kgcheck.model import Value
from kgcheck.outputs import write_text

if TYPE_CHECKING:
    from kgcheck.curation.project import Project

NAME = "kgcheck.toml"

VARIABLE = "KGCHECK_CONFIG"
"""Names the file where it is not looked for; empty: there is none."""


class FoundFile(NamedTuple):
    """A kgcheck.toml, and whether the person named it or it was only found; see kgcheck.curation.project_file."""

    path: Path
    is_named: bool


def find_file(start: Path | None = None) -> FoundFile | None:
    """The file that applies in a folder: that of the environment, or the nearest one upwards.

    A file of another person is not taken from a folder above: it says where everything is read and written.
    """
    if (named := os.environ.get(VARIABLE)) is not None:
        if named and not Path(named).is_file():
            raise InputMissing(f"there is no file {named}, and {VARIABLE} names it", "correct it, or unset it")
        return FoundFile(Path(named), is_named=True) if named else None
    folder = (start or Path.cwd()).absolute()
    for place in (folder, *folder.parents):
        path = place / NAME
        if path.is_file():
            if path.stat().st_uid not in (os.getuid(), 0):
                raise ConfigurationError(
                    f"{path} belongs to another person, and would say where you read and write",
                    f"if you trust it: export {VARIABLE}={path}",
                )
            return FoundFile(path, is_named=False)
    return None


def configured(field: str) -> tuple[str, str] | None:
    """Look up the value of an option in kgcheck.toml, with the path of the file."""
    found = find_file()
    if found is None:
        return None
    path = found.path
    value = _value(_configuration(path.absolute(), path.stat().st_mtime_ns, found.is_named), field)
    return (value, str(path)) if value else None


@lru_cache(maxsize=4)
def _configuration(path: Path, changed: int, is_named: bool) -> "Project":
    from kgcheck.curation.project import read_project

    # Once a command, not once an option. Schedules are no matter here: cronsim need not be installed.
    return read_project(path, whole=False, is_named=is_named)


def _value(project: "Project", field: str) -> str | None:
    match field:
        case "store":
            # Commands that load and patch write to it.
            return project.output(store.place) if (store := project.store_of()) else None
        case "profile":
            return project.default_profile
        case "reference":
            return reference.snapshot if (reference := project.reference_of()) else None
        case "literature":
            return project.literature_of()
        case _:
            return project.ledger


class Trust(Value):
    """A file that a person trusts, with the addresses that it named then."""

    path: str
    digest: str
    at: str


def trust(path: Path, addresses: Mapping[str, str]) -> None:
    """Write down that a file is trusted with these addresses."""
    place = _place(path)
    made = Trust(path=place, digest=_digest(addresses), at=clock.now().isoformat())
    write_text(_note(place), made.model_dump_json() + "\n", secret=True)


def revoke(path: Path) -> None:
    """Forget that a file is trusted."""
    try:
        _note(_place(path)).unlink()
    except FileNotFoundError:
        raise InputMissing(f"{path} is not trusted", "kgcheck trust --list lists those that are") from None
    except OSError as error:
        raise InputError(f"cannot forget {path}: {error.strerror}", f"remove {_note(_place(path))}") from error


def trusted() -> list[Trust]:
    """All files that are trusted, by path."""
    return sorted((_read(note) for note in _folder().glob("*.json")), key=lambda found: found.path)


def is_trusted(path: Path, addresses: Mapping[str, str]) -> bool:
    """Tell whether a file is trusted with these very addresses."""
    place = _place(path)
    with suppress(FileNotFoundError):
        found = _read(_note(place))
        return found.path == place and found.digest == _digest(addresses)
    return False


def check_trusted(path: Path, addresses: Mapping[str, str]) -> None:
    """Refuse the addresses of a file that is not trusted with them."""
    if is_trusted(path, addresses):
        return
    named = "; ".join(f"{key} = {address}" for key, address in addresses.items())
    changed = ", which have changed since you trusted it" if _note(_place(path)).exists() else ""
    raise ConfigurationError(
        f"{path} was found by itself and is not trusted with its addresses{changed}: {named}",
        f"they would get your passwords, or be written to; if they are yours: kgcheck trust {shlex.quote(str(path))}",
    )


def _folder() -> Path:
    return user_state_path("kgcheck", appauthor=False) / "trusted"


def _place(path: Path) -> str:
    # A link in a folder of somebody is a file of that folder, whatever it leads to today.
    return str(path.absolute().parent.resolve() / path.name)


def _note(place: str) -> Path:
    return _folder() / f"{sha256(place.encode()).hexdigest()}.json"


def _digest(addresses: Mapping[str, str]) -> str:
    return sha256(json.dumps(addresses, sort_keys=True).encode()).hexdigest()


def _read(note: Path) -> Trust:
    try:
        return Trust.model_validate_json(note.read_bytes())
    except FileNotFoundError:
        raise
    except (OSError, ValidationError) as error:
        raise ConfigurationError(f"{note} cannot be read: {error}", f"{FROM_A_COPY}, or remove it") from error
