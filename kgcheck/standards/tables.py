"""Tables of a standard as kgcheck ships them, with the release, licence and file that they are compiled from."""

from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import quote

from kgcheck.inputs import parse_json, read_whole
from kgcheck.resources import resource_dir

NAMES = ("biolink", "bioregistry")
"""The standards whose tables are shipped, each a file of the folder ``standards`` of the loaders."""


class Standard(NamedTuple):
    """A release of a standard, as a finding cites it."""

    name: str
    title: str
    release: str
    licence: str
    fetched: datetime
    sha256: str
    record_url: str

    def url(self, record: str) -> str:
        """The address of a record, or of none where it is of no record."""
        return self.record_url.format(quote(record)) if record else ""


@cache
def standard(name: str) -> Standard:
    """The release of a standard that is shipped: one of `NAMES`."""
    source = tables(name)["source"]
    fetched = datetime.fromisoformat(source["fetched"]).replace(tzinfo=UTC)
    words = source["title"], source["release"], source["licence"]
    return Standard(name, *words, fetched, source["sha256"], source["record_url"])


@cache
def tables(name: str) -> dict[str, Any]:
    """The tables of a standard, one of `NAMES`: ``source`` and lists of records."""
    found: dict[str, Any] = parse_json(read_whole(resource_dir("loaders") / "standards" / f"{name}.json"))
    return found
