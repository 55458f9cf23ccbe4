"""Locate a profile's folder and files: one of kgcheck's own by name, or any by path.

A folder that somebody else made is data: each of its files is read within limits, and none may lead out of it.
"""

import os
import re
from pathlib import Path

from kgcheck.errors import ConfigurationError, InputError
from kgcheck.inputs import refuse_outside
from kgcheck.resources import resource_dir

GRAPH = "graph.toml"
"""The one file that every profile has."""

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def is_path(profile: str) -> bool:
    """Tell whether a profile is named by a path, which is absolute or holds a separator.

    >>> is_path("ckg"), is_path("./ckg"), is_path("/data/mine"), is_path("..")
    (False, True, True, True)
    """
    separators = {"/", os.sep, os.altsep or "/"}
    return profile in (".", "..", "~") or any(sign in profile for sign in separators)


def profile_names() -> list[str]:
    """The profiles that kgcheck has."""
    return sorted(path.parent.name for path in resource_dir("loaders").glob(f"*/{GRAPH}"))


def profile_dir(profile: str) -> Path:
    """The folder of a profile, whether it is there or not."""
    if is_path(profile):
        return Path(profile).expanduser().resolve()
    if not _PLAIN.fullmatch(profile):
        raise ConfigurationError(
            f"{profile!r} is not the name of a profile", "give a name, or the path of a folder: ./mine"
        )
    return resource_dir("loaders") / profile


def address_of(folder: Path) -> str:
    """Return the `--profile` of a folder from anywhere: the name of one of kgcheck's own, else its path."""
    own = resource_dir("loaders")
    return folder.name if folder.parent == own or folder.parent == own.resolve() else str(folder)


def part(folder: Path, name: str) -> Path:
    """A file or folder of a profile, whether it is there or not."""
    path = folder / name
    try:
        refuse_outside(folder, path)
    except InputError as error:
        raise ConfigurationError(error.message, error.hint) from None
    return path
