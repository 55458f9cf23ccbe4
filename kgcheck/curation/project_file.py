"""Where kgcheck.toml is found; apart from what reads it, so that commands without one start at once."""

import os
from pathlib import Path
from typing import NamedTuple

from kgcheck.errors import ConfigurationError, InputMissing

NAME = "kgcheck.toml"

VARIABLE = "KGCHECK_CONFIG"
"""Names the file where it is not looked for; empty: there is none."""


class FoundFile(NamedTuple):
    """A kgcheck.toml, and whether the person named it or it was only found; see kgcheck.curation.trust."""

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
