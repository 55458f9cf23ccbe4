"""Pytest fixtures for tests against a real Neo4j server; a plugin that `tests/conftest.py` loads.

`KGCHECK_TEST_NEO4J_URI`, with `KGCHECK_NEO4J_USER` and `KGCHECK_NEO4J_PASSWORD`, names a server to use in
place of one started here. Under pytest-xdist one worker gets all tests that need it (tests/support/spreading.py).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NoReturn

import neo4j
import pytest

from kgcheck.profile.schema import load_schema
from tests.support.neo4j_jars import Neo4jUnavailable, jars, java
from tests.support.neo4j_server import USER, Neo4jServer

SLOWLY_ON_NEO4J = pytest.mark.parametrize(
    "store", ["embedded", pytest.param("neo4j", marks=pytest.mark.slow)], indirect=True
)
"""For a test with the fixture `store` for which others stand in on a server, on every run of the tests.

The last decorator, so that the id of a test begins with the store: tests.support.spreading goes by that.
"""

_BATCH = 2_000


@dataclass(frozen=True)
class Neo4jTarget:
    """A server to test against."""

    uri: str
    user: str
    password: str = field(repr=False)
    http: str | None = None
    """Where it answers HTTP; None for a server that was not started here."""
    erasable: bool = True
    """False for a server that already held something when the tests began."""

    @property
    def auth(self) -> tuple[str, str]:
        """What a driver takes as `auth`."""
        return self.user, self.password

    def driver(self) -> neo4j.Driver:
        """A new driver; the caller closes it."""
        return neo4j.GraphDatabase.driver(self.uri, auth=self.auth)


@pytest.fixture(scope="session")
def neo4j_jars() -> Path:
    """The jars of the server, for tests that start their own; skips where they cannot be had."""
    try:
        java()
        return jars()
    except Neo4jUnavailable as error:
        _give_up(str(error))


@pytest.fixture(scope="session")
def neo4j_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jTarget]:
    """A server with authentication on, shared by the session; what it holds is whatever tests left there."""
    uri = os.environ.get("KGCHECK_TEST_NEO4J_URI")
    if uri:
        yield _external(uri)
        return
    request.getfixturevalue("neo4j_jars")
    password = secrets.token_urlsafe()
    with Neo4jServer(tmp_path_factory.mktemp("neo4j"), password, short_lived=True) as server:
        yield Neo4jTarget(server.uri, USER, password, http=server.http)


@pytest.fixture
def clean_neo4j(neo4j_server: Neo4jTarget) -> Iterator[Neo4jTarget]:
    """The shared server, emptied: no nodes, no constraints, and only the token lookup indexes."""
    if not neo4j_server.erasable:
        pytest.fail(f"{neo4j_server.uri} was not empty when the tests began: not erasing it")
    with neo4j_server.driver() as driver:
        erase(driver)
        yield neo4j_server
        if neo4j_server.http is None:
            # A server that outlives the session must be empty, or the next session would not touch it.
            erase(driver)


@pytest.fixture
def ready_neo4j(neo4j_server: Neo4jTarget, request: pytest.FixtureRequest) -> Neo4jTarget:
    """The shared server without nodes, for tests that prepare it first of all.

    What was prepared for the one before is left: to drop the constraints and to make them again takes longer than most
    tests do.
    """
    with neo4j_server.driver() as driver:
        if neo4j_server.http is None or _schema(driver) != _prepared():
            target: Neo4jTarget = request.getfixturevalue("clean_neo4j")
            return target
        _remove_nodes(driver)
        return neo4j_server


def _schema(driver: neo4j.Driver) -> set[tuple[str, ...]]:
    """Constraints and the indexes that belong to none, as name, kind, labels and properties."""
    constraints, _, _ = driver.execute_query("SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties")
    indexes, _, _ = driver.execute_query(
        "SHOW INDEXES YIELD name, type, labelsOrTypes, properties, owningConstraint "
        "WHERE type <> 'LOOKUP' AND owningConstraint IS NULL"
    )
    return {
        (r["name"], r["type"], *(r["labelsOrTypes"] or ()), *(r["properties"] or ())) for r in (*constraints, *indexes)
    }


@cache
def _prepared() -> set[tuple[str, ...]]:
    """What a store of the profile that is shipped prepares."""
    keys = {(f"kgcheck_{label.name}_id", label.name, label.key) for label in load_schema().labels}
    return {(name, "UNIQUENESS", *of) for name, *of in keys | {("kgcheck_store_key", "KgcheckStore", "key")}}


def erase(driver: neo4j.Driver) -> None:
    """Remove everything from the database."""
    # Constraints first: an index that belongs to one can't be dropped by itself.
    for kind in ("CONSTRAINT", "INDEX"):
        found, _, _ = driver.execute_query(f"SHOW {kind} YIELD name, type")
        for name in (record["name"] for record in found if record["type"] != "LOOKUP"):
            driver.execute_query(f"DROP {kind} `{name.replace('`', '``')}`")
    _remove_nodes(driver)


def _remove_nodes(driver: neo4j.Driver) -> None:
    """In batches that fit a small heap."""
    deleted = 1
    while deleted:
        found, _, _ = driver.execute_query(
            "MATCH (n) WITH n LIMIT $batch DETACH DELETE n RETURN count(n) AS deleted", {"batch": _BATCH}
        )
        deleted = found[0]["deleted"]


def _external(uri: str) -> Neo4jTarget:
    if os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1") != "1":
        pytest.fail("KGCHECK_TEST_NEO4J_URI names one server, which several workers would erase for each other")
    user = os.environ.get("KGCHECK_NEO4J_USER", USER)
    target = Neo4jTarget(uri, user, os.environ.get("KGCHECK_NEO4J_PASSWORD", ""))
    with target.driver() as driver:
        found, _, _ = driver.execute_query("MATCH (n) RETURN count(n) AS nodes")
    return Neo4jTarget(uri, user, target.password, erasable=found[0]["nodes"] == 0)


def _give_up(reason: str) -> NoReturn:
    """Skip on a machine without Neo4j, but not in CI, where a skip would pass unseen."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
