"""An embedded store on a disk that is really full, and loads whose process dies, is interrupted or loses its parent."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kgcheck.errors import StoreError
from kgcheck.graph.embedded import EmbeddedStore
from tests.integration.import_directory import CKG, CROWD, DEMO, ImportDirectory, content
from tests.support import ROOT
from tests.support.audits import Said, kgcheck

SLOW = pytest.mark.slow


class Disk:
    """A small file system of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def resize(self, kilobytes: int) -> None:
        command = ["mount", "-o", f"remount,size={kilobytes}k", str(self.folder)]
        subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "kgcheck-test", str(folder)]
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield Disk(folder)
    subprocess.run(["umount", folder], check=True)


def command(folder: Path, store: Path) -> list[str]:
    # Half of the edges of the crowd end in nodes that are not there.
    allowed = ["--max-quarantined", "100%"]
    return ["load", str(folder), "--store", str(store), "--quarantine", str(store.parent.parent / "q.jsonl"), *allowed]


def load(folder: Path, store: Path) -> Said:
    """The command in this process; it writes an embedded store in one of its own, whoever runs it."""
    return kgcheck(*command(folder, store))


def assert_one_clear_line(code: int, stderr: str, store: Path) -> None:
    assert code == 2, (code, stderr)
    said = [line for line in stderr.splitlines() if not line.endswith(" ...")]
    assert len(said) == 2, stderr
    assert said[0].startswith("kgcheck: ")
    assert str(store) in said[0]
    assert re.search(r"[\d,.]+ MB are free in ", said[0]), said[0]
    assert "run the same kgcheck load again" in said[1]


# With 3072 kB LadybugDB 0.22 aborts its process as it closes the database.
@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [3072, 64, 512, 1536, 5120])
def test_a_new_store_on_a_full_disk(disk: Disk, whole: dict[str, list[str]], kilobytes: int) -> None:
    store = disk.folder / "graph.lbdb"
    disk.resize(kilobytes)

    done = load(DEMO, store)

    assert_one_clear_line(done.code, done.err, store)

    disk.resize(64 << 10)
    with pytest.raises(StoreError, match=r"not finished|there is no graph"):
        EmbeddedStore(store, CKG).close()
    assert load(DEMO, store).code == 0
    with EmbeddedStore(store, CKG) as opened:
        assert content(opened) == whole


@SLOW
@pytest.mark.parametrize("spare", [0, 256, 512, 1024])
def test_a_store_that_was_good_is_as_it_was_or_says_that_it_is_not(
    disk: Disk, demo_graph: Path, crowd: ImportDirectory, whole: dict[str, list[str]], spare: int
) -> None:
    store = disk.folder / "graph.lbdb"
    shutil.copy(demo_graph, store)
    disk.resize(store.stat().st_size // 1024 + 8 + spare)

    done = load(crowd.folder, store)

    assert_one_clear_line(done.code, done.err, store)

    disk.resize(64 << 10)
    state = "as it was"
    try:
        with EmbeddedStore(store, CKG) as opened:
            assert content(opened) == whole
    except StoreError as error:
        state = error.message
    assert re.search(r"as it was|not finished", state)
    assert load(crowd.folder, store).code == 0
    with EmbeddedStore(store, CKG) as opened:
        assert opened.counts().nodes["Protein"] >= CROWD


def started(folder: Path, store: Path) -> tuple[subprocess.Popen[str], int]:
    """A load under way, and the id of its child."""
    parent = subprocess.Popen(
        [sys.executable, "-m", "kgcheck", *command(folder, store)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for child in Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split():
            line = Path(f"/proc/{child}/cmdline").read_bytes()
            if b"spawn_main" in line and Path(f"/proc/{child}/fd/2").readlink() == Path("/dev/null"):
                return parent, int(child)
        time.sleep(0.01)
    raise AssertionError("the load did not start a child")


def gone(pid: int) -> bool:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "words"), [(signal.SIGABRT, "SIGABRT from within"), (signal.SIGKILL, "want of memory")]
)
def test_a_load_whose_process_dies_is_one_clear_line(
    tmp_path: Path, crowd: ImportDirectory, number: signal.Signals, words: str
) -> None:
    store = tmp_path / "graphs" / "graph.lbdb"
    parent, child = started(crowd.folder, store)
    os.kill(child, number)
    _, said = parent.communicate(timeout=60)
    assert_one_clear_line(parent.returncode, said, store)
    assert words in said
    assert f"free {'memory' if number == signal.SIGKILL else 'disk space'}, then run the same" in said
    assert load(crowd.folder, store).code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ended", "code"),
    [
        pytest.param(lambda parent: parent.send_signal(signal.SIGINT), 130, id="SIGINT"),
        pytest.param(lambda parent: parent.terminate(), None, id="SIGTERM", marks=SLOW),
        pytest.param(lambda parent: parent.kill(), -signal.SIGKILL, id="SIGKILL", marks=SLOW),
    ],
)
def test_what_ends_the_command_ends_its_child(
    tmp_path: Path, crowd: ImportDirectory, ended: Callable[[subprocess.Popen[str]], None], code: int | None
) -> None:
    store = tmp_path / "graphs" / "graph.lbdb"
    parent, child = started(crowd.folder, store)
    ended(parent)
    _, said = parent.communicate(timeout=60)
    assert parent.returncode == code or (code is None and parent.returncode != 0)
    assert gone(child)
    assert "Traceback" not in said
    assert load(crowd.folder, store).code == 0


@pytest.mark.slow
def test_steps_and_errors_of_the_child_are_shown(tmp_path: Path) -> None:
    store = tmp_path / "graphs" / "graph.lbdb"
    done = load(DEMO, store)
    assert done.code == 0
    assert "writing to " in done.err
    empty = tmp_path / "empty"
    empty.mkdir()
    refused = load(empty, tmp_path / "graphs" / "other.lbdb")
    assert refused.code == 2
    assert "lacks 35 of 35 source files" in refused.err
    assert "name the folder in which databases/Protein.tsv lies" in refused.err
    # A load that fails before it writes leaves nothing behind.
    assert not (tmp_path / "graphs" / "other.lbdb").exists()
    with EmbeddedStore(store, CKG):
        in_use = load(DEMO, store)
    assert (in_use.code, "in use by another process" in in_use.err) == (2, True)
