"""Patches whose process is killed: nothing is done twice, nothing is lost, and undoing gives the same graph back."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import SecretStr

from kgcheck.curation.operations import Patch, write_patch
from kgcheck.curation.patches import PatchRecord, patches_in, recorded_in
from kgcheck.graph.open import OpenedStore, open_store
from kgcheck.ledger.patches import PatchState
from kgcheck.settings import Settings
from tests.support import ROOT
from tests.support.chance import new_seed
from tests.support.contents import content_digest
from tests.support.neo4j_fixtures import Neo4jTarget
from tests.support.patches import (
    CKG,
    WRITABLE,
    add_edge,
    edge,
    graph_file,
    made,
    merge,
    of_gene,
    put_graph,
    ref,
    repoint,
    retire,
    set_value,
)

OPERATIONS = (
    retire(edge("A", "D"), but_one=True),
    repoint(of_gene("G1", "A"), "G2", "head"),
    set_value(edge("B", "C"), "score", 0.9, was=0.75),
    set_value(ref("A"), "name", WRITABLE),
    set_value(ref("C"), "synonyms", ["x", WRITABLE]),
    set_value(ref("DOID:2", "Disease"), "name", "other"),
    merge(ref("A"), ref("B")),
    repoint(ref("C"), "NEW"),
    retire(ref("DOID:1", "Disease")),
    add_edge(edge("D", "NEW"), source="s", score=0.25),
)


class Ended(NamedTuple):
    """How a process ended, and what it did."""

    code: int
    sent: int = 0
    done: int = 0
    before: int = 0
    conflicts: int = 0


class Killing:
    """A store, a patch for it, and processes that apply and undo it."""

    def __init__(self, store: str, folder: Path, child: subprocess.Popen[str], settings: Settings) -> None:
        self.store = store
        self.folder = folder
        self._child = child
        self._settings = settings

    def opened(self) -> OpenedStore:
        # For writing: what a killed process left is put in order.
        return open_store(self.store, CKG, self._settings, create=True)

    def act(self, act: str, after: int = 0, *, before_it: bool = False) -> Ended:
        assert self._child.stdin
        assert self._child.stdout
        request = {"act": act, "store": self.store, "folder": str(self.folder), "after": after, "before_it": before_it}
        self._child.stdin.write(json.dumps(request | {"ledger": str(self.folder / "ledger.sqlite")}) + "\n")
        self._child.stdin.flush()
        return Ended(*json.loads(self._child.stdout.readline()))

    def state(self, patch: Patch) -> tuple[str, PatchRecord | None, int]:
        """What the graph is, what the store says of the patch, and how much of it is done."""
        with self.opened() as store:
            done = sum(1 for _ in recorded_in(store, patch.id))
            return content_digest(store), patches_in(store).get(patch.id), done


@pytest.fixture(scope="module")
def child() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.integration.patch_child"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin
        process.stdin.close()


def is_killed_anywhere(killing: Killing, points: int, seed: int) -> None:
    """Kill a patch at as many points of being applied, and at one for four of them of being undone."""
    choice = random.Random(new_seed(seed))  # noqa: S311 - where to kill, not a secret
    with killing.opened() as store:
        patch = made(store, *OPERATIONS)
    write_patch(killing.folder, patch)
    number = len(OPERATIONS)
    before, _, _ = killing.state(patch)
    whole = killing.act("apply")
    assert whole == Ended(0, whole.sent, number, 0, 0)
    applied, _, _ = killing.state(patch)
    back = killing.act("undo")
    assert back == Ended(0, back.sent, number, 0, 0)
    assert killing.state(patch)[0] == before != applied

    def killed(act: str, sent: int, shown: tuple[Any, ...]) -> tuple[PatchRecord | None, int]:
        at = choice.randrange(1, sent + 1), choice.random() < 0.5
        ended = killing.act(act, at[0], before_it=at[1])
        assert ended.code == -signal.SIGKILL, (*shown, *at)
        _, record, done = killing.state(patch)
        return record, done

    def stands(wanted: str, state: PatchState, shown: Any) -> None:
        digest, record, done = killing.state(patch)
        assert digest == wanted, shown
        assert record is not None, shown
        assert (record.state, done) == (state, number if state is PatchState.APPLIED else 0), shown

    for point in range(points):
        _, done = killed("apply", whole.sent, (seed, point, "apply"))
        again = killing.act("apply")
        assert again == Ended(0, again.sent, number - done, done, 0), (seed, point)
        stands(applied, PatchState.APPLIED, (seed, point))

        done, is_over = number, False
        if point % 4 == 0:
            record, done = killed("undo", back.sent, (seed, point, "undo"))
            # After the last transaction, there is nothing left to do.
            is_over = record is not None and record.state is PatchState.UNDONE
            assert not (is_over and done), (seed, point)
        if not is_over:
            again = killing.act("undo")
            assert again == Ended(0, again.sent, done, 0, 0), (seed, point)
        stands(before, PatchState.UNDONE, (seed, point))


def embedded(folder: Path, child: subprocess.Popen[str]) -> Killing:
    shutil.copy(graph_file(), folder / "graph.lbdb")
    return Killing(str(folder / "graph.lbdb"), folder, child, Settings())


@pytest.mark.slow
@pytest.mark.seeded
def test_a_patch_killed_at_20_points_of_the_embedded_store(tmp_path: Path, child: subprocess.Popen[str]) -> None:
    is_killed_anywhere(embedded(tmp_path, child), points=20, seed=20)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.seeded
def test_a_patch_killed_at_20_points_on_neo4j(
    clean_neo4j: Neo4jTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGCHECK_NEO4J_USER", clean_neo4j.user)
    monkeypatch.setenv("KGCHECK_NEO4J_PASSWORD", clean_neo4j.password)
    settings = Settings(neo4j_user=clean_neo4j.user, neo4j_password=SecretStr(clean_neo4j.password))
    with open_store(clean_neo4j.uri, CKG, settings, create=True) as store:
        put_graph(store)
    command = [sys.executable, "-m", "tests.integration.patch_child"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as child:
        killing = Killing(clean_neo4j.uri, tmp_path, child, settings)
        is_killed_anywhere(killing, points=20, seed=20)
        assert child.stdin
        child.stdin.close()
