"""What writers leave: nothing, and of a killed one only until the next."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kgcheck import outputs
from kgcheck.duck import working_database
from kgcheck.outputs import replacing, temporary_folder, write_text
from kgcheck.settings import Settings

BUILD = """
import sys, time
from pathlib import Path
from kgcheck.duck import connected
from kgcheck.outputs import write_hint, replacing, temporary_folder
with replacing(Path(sys.argv[1])) as partial, temporary_folder() as folder, temporary_folder(Path(sys.argv[1]).parent):
    database = connected(str(partial))
    database.execute("CREATE TABLE t AS SELECT * FROM range(1000)")
    (folder / "deep").mkdir()
    (folder / "deep" / "work.duckdb").write_bytes(b"many")
    Path(f"{partial}.tmp").mkdir()
    Path(f"{partial}.tmp", "spilt").write_bytes(b"many")
    print("there", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def anew() -> None:
    """As if this process had written nowhere."""
    outputs._remove_abandoned.cache_clear()


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


@contextmanager
def building(path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that is writing a file."""
    with subprocess.Popen([sys.executable, "-c", BUILD, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout
            assert writer.stdout.readline() == "there\n"
            yield writer
        finally:
            writer.kill()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_process_left_goes_and_what_another_writes_stays(tmp_path: Path, temporary: Path) -> None:
    out = tmp_path / "out"
    with building(out / "a.duckdb") as killed, building(out / "b.duckdb") as alive:
        before = names(out)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        # Killed again after its number was given away: the number says nothing, the lock does.
        write_text(out / "report.md", "text")
        with working_database(Settings()):
            pass

        left = [name for name in before if name.startswith(f".{killed.pid}-")]
        assert len(left) == 6
        assert any(name.endswith(".partial.wal") for name in left)
        assert names(out) == sorted({*before, "report.md"} - set(left))
        assert all(name.startswith(f"kgcheck-{alive.pid}-") for name in names(temporary))
        assert (out / f"{next(n for n in names(out) if n.endswith('.partial'))}").stat().st_size
    outputs._remove_abandoned.cache_clear()
    write_text(out / "report.md", "text")
    assert names(out) == ["report.md"]


def test_nothing_else_is_touched(tmp_path: Path, temporary: Path) -> None:
    """Names that only look so, other people's, links, and what an older version left without a lock."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "kept").write_text("kept")
    kept = [".1-0000abcd.partial", ".1-000abcd.lock", "kgcheck-x-0000abcd.lock", ".lock", "notes.lock", ".a.partial"]
    for name in kept:
        (tmp_path / name).write_text("kept")
    (tmp_path / ".2-0000abcd.lock").symlink_to(theirs / "kept")
    (tmp_path / ".2-0000abcd.partial").write_text("kept")
    (tmp_path / ".3-0000abcd.lock").write_text("")
    (tmp_path / ".3-0000abcd").symlink_to(theirs)
    (tmp_path / ".3-0000abcd.partial").symlink_to(theirs / "kept")
    (tmp_path / ".4-0000abcd.lock").write_text("")
    (tmp_path / ".4-0000abcd.partial").write_text("kept")
    if os.geteuid() == 0:
        os.chown(tmp_path / ".4-0000abcd.lock", 12345, 12345)

    write_text(tmp_path / "report.md", "text")

    assert (theirs / "kept").read_text() == "kept"
    others = [".4-0000abcd.lock", ".4-0000abcd.partial"] if os.geteuid() == 0 else []
    expected = [*kept, ".2-0000abcd.lock", ".2-0000abcd.partial", *others, "report.md", "theirs", "tmp"]
    assert names(tmp_path) == sorted(expected)


def test_a_folder_without_locks_is_only_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file system has no locks, nobody can tell who is alive: all stays."""

    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    (tmp_path / ".3-0000abcd.lock").write_text("")
    (tmp_path / ".3-0000abcd.partial").write_text("perhaps somebody's")
    monkeypatch.setattr("fcntl.flock", refuse)
    write_text(tmp_path / "report.md", "text")
    assert names(tmp_path) == [".3-0000abcd.lock", ".3-0000abcd.partial", "report.md"]


def test_a_folder_is_looked_through_once_however_many_files_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[object] = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: looked.append(folder) or scan(folder))  # type: ignore[func-returns-value]
    for number in range(50):
        write_text(tmp_path / f"{number}.txt", "text")
        with replacing(tmp_path / "one") as partial, temporary_folder(tmp_path):
            partial.write_text("")
    assert looked.count(tmp_path) == 1
