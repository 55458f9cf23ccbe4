"""What commands take from kgcheck.toml where nobody names anything else."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from kgcheck.curation.project_file import find_file

if TYPE_CHECKING:
    from kgcheck.curation.project import Project


def configured(field: str) -> tuple[str, str] | None:
    """What kgcheck.toml has for an option."""
    found = find_file()
    if found is None:
        return None
    path = found.path
    value = _value(_read(path.absolute(), path.stat().st_mtime_ns, found.is_named), field)
    return (value, str(path)) if value else None


@lru_cache(maxsize=4)
def _read(path: Path, changed: int, is_named: bool) -> "Project":
    from kgcheck.curation.project import read_project

    # Once a command, not once an option. Schedules are no matter here: cronsim need not be installed.
    return read_project(path, whole=False, is_named=is_named)


def _value(project: "Project", field: str) -> str | None:
    match field:
        case "store":
            return store.place if (store := project.store_of()) else None
        case "profile":
            return project.default_profile
        case "reference":
            return reference.snapshot if (reference := project.reference_of()) else None
        case "literature":
            return project.literature_of()
        case _:
            return project.ledger
