"""Finds the data folders (`cypher`, `loaders`, `corpus`) in a checkout and in an installed wheel alike."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource_dir(name: str) -> Path:
    """The folder `name` of shipped data.

    A wheel carries the folders inside the package, under ``_data``; a checkout has them beside it.

    Args:
        name: ``cypher``, ``loaders`` or ``corpus``.

    Returns:
        Its path; whether it is there is for the caller to see.
    """
    packaged = _PACKAGE / "_data" / name
    return packaged if packaged.is_dir() else _PACKAGE.parent / name
