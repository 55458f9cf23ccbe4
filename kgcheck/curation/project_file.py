"""Find the kgcheck.toml that applies in a folder, and take defaults of options from it."""

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kgcheck.errors import ConfigurationError, InputMissing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgcheck.curation.project import Project
    from kgcheck.curation.thresholds import Threshold

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


def configured(field: str) -> tuple[str, str] | None:
    """Look up the value of an option in kgcheck.toml, with the path of the file."""
    project = _project()
    value = _value(project, field) if project else None
    return (value, str(project.path)) if project and value else None


def audit_thresholds() -> "Sequence[Threshold]":
    """Thresholds of kgcheck.toml for audits that no job names."""
    project = _project()
    return project.values.audit.thresholds if project else ()


def _project() -> "Project | None":
    found = find_file()
    return _read_once(found.path.absolute(), found.path.stat().st_mtime_ns, found.is_named) if found else None


@lru_cache(maxsize=4)
def _read_once(path: Path, changed: int, is_named: bool) -> "Project":
    """Read the file once a command, not once an option."""
    from kgcheck.curation.project import read_project

    # Schedules are no matter here: cronsim need not be installed.
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
        case "fail_on":
            return project.values.audit.fail_on
    return project.pins if field == "pins" else project.ledger
