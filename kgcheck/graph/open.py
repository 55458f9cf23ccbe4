"""Open a graph store by its name: a path is LadybugDB, ``bolt://`` or ``neo4j://`` is Neo4j."""

import os
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from kgcheck.choices import FILES
from kgcheck.errors import StoreError, UsageError
from kgcheck.graph.changes import ChangedStore
from kgcheck.graph.store import GraphStore
from kgcheck.profile.schema import Schema
from kgcheck.redact import carries_credentials, is_secret_path
from kgcheck.settings import Settings

_EXAMPLE = "an address looks like bolt://localhost:7687"
_WITH_CREDENTIALS = (
    "the address of a store must not carry credentials",
    "set KGCHECK_NEO4J_USER and KGCHECK_NEO4J_PASSWORD instead",
)
NEO4J_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


class OpenedStore(GraphStore, ChangedStore, Protocol):
    """A graph that is read, loaded into, and changed one by one."""


def open_store(
    name: str,
    schema: Schema,
    settings: Settings,
    *,
    create: bool = False,
    with_retired: bool = False,
) -> OpenedStore:
    """Open the store of that name."""
    if name.startswith(FILES):
        raise StoreError(
            f"{name} are files, which are only read", "load the graph into a store: kgcheck load DIR --store graph.lbdb"
        )
    if not is_address(name):
        if is_secret_path(name) and not os.path.exists(name):
            raise UsageError(*_WITH_CREDENTIALS)
        from kgcheck.graph.embedded import EmbeddedStore

        timeout_s = settings.query_timeout_s
        return EmbeddedStore(Path(name), schema, create=create, timeout_s=timeout_s, with_retired=with_retired)
    check_address(name)
    from kgcheck.graph.neo4j import Neo4jStore

    return Neo4jStore(name, schema, settings, create=create, with_retired=with_retired)


def place_of(name: str) -> str:
    """Return the place of a store by its name, the same from every folder, without opening it."""
    return name if is_address(name) else str(Path(name).resolve())


def is_address(name: str) -> bool:
    """Return whether a store of that name is a server, which is sent credentials, and not a file."""
    return "://" in name


def check_address(name: str) -> None:
    """Refuse what is no address of a server. A message says no part of one that may hold a password."""
    if carries_credentials(name):
        raise UsageError(*_WITH_CREDENTIALS)
    try:
        address = urlsplit(name)
        usable = bool(address.hostname) and (address.port is None or address.port > 0)
    except ValueError:
        raise UsageError("the store is not an address", _EXAMPLE) from None
    if address.scheme not in NEO4J_SCHEMES:
        raise UsageError(f"no store speaks {address.scheme}://", f"use a path, or one of: {', '.join(NEO4J_SCHEMES)}")
    if not usable or address.path.strip("/") or address.query or address.fragment:
        hint = f"{_EXAMPLE}; KGCHECK_NEO4J_DATABASE names a database"
        raise UsageError(f"the store {address.scheme}://{address.netloc} has more or less than an address", hint)
