"""What kgcheck keeps is for its owner alone, whatever the umask, and closed where it was open."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from stat import S_IMODE

import pytest

from kgcheck import clock
from kgcheck.errors import LedgerError
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.outputs import OWN_FOLDER, close_to_others, make_folder, write_text
from kgcheck.providers.http import ProviderService
from kgcheck.settings import Settings
from tests.support.audits import demo, kgcheck
from tests.support.loopback import Loopback, Reply, clients


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o277])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def open_to_others(folder: Path) -> dict[str, str]:
    """What of a folder others may read, write or enter, with its mode."""
    every = [folder, *folder.rglob("*")]
    return {str(p.relative_to(folder)): oct(S_IMODE(p.stat().st_mode)) for p in every if p.stat().st_mode & 0o077}


def run(name: str) -> Run:
    return Run(id=name, started=clock.now(), store="/g.lbdb", profile="ckg")


def test_a_ledger_with_what_sqlite_puts_beside_it(tmp_path: Path, umask: int) -> None:
    place = tmp_path / "new" / "deep" / "ledger.sqlite"
    with Ledger(place) as ledger:
        ledger.start(run("20261124-120000-beef"))
        beside = {path.name for path in place.parent.iterdir()}
        assert beside == {"ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"}
        assert open_to_others(tmp_path / "new") == {}
        assert S_IMODE(place.stat().st_mode) == 0o600


def test_a_ledger_that_others_could_read_is_closed_when_it_is_written_to(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    Ledger(place).close()
    place.chmod(0o644)
    reader = sqlite3.connect(place)
    reader.execute("SELECT * FROM sqlite_master").fetchall()
    for path in tmp_path.glob("ledger.sqlite*"):
        path.chmod(0o666)
    with Ledger(place) as ledger:
        ledger.start(run("20261124-120000-beef"))
        found = {path.name for path in tmp_path.iterdir() if path.stat().st_mode & 0o077}
    reader.close()

    assert found == set()
    # Its folder is somebody's own, and may be shared by intent.
    tmp_path.chmod(0o755)
    Ledger(place).close()
    assert S_IMODE(tmp_path.stat().st_mode) == 0o755


@pytest.mark.parametrize("umask", [0o000, 0o022], indirect=True)
def test_all_that_commands_keep_in_the_home(tmp_path: Path, umask: int) -> None:
    """Ledger, what was verified, transcripts, quarantine: and an older home is closed."""
    home = tmp_path / ".kgcheck"
    home.mkdir(mode=0o755)
    where = ("--store", demo().store, "--reference", demo().reference)

    assert kgcheck("audit", "--type", "existence", "--label", "Gene", *where, cwd=tmp_path).code == 1
    assert kgcheck("check", "existence", "Gene", "PARK2", *where, cwd=tmp_path).code == 1

    kept = {path.suffix for path in home.rglob("*") if path.is_file()}
    assert {".sqlite", ".jsonl", ".parquet"} <= kept
    assert S_IMODE(home.stat().st_mode) == 0o700
    assert {name for name in open_to_others(home) if (home / name).is_file()} == set()


def test_kept_answers_that_others_could_read_are_closed(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o755)
    (cache / "answers.sqlite").touch(mode=0o644)
    with clients(cache) as make:
        make()

    assert S_IMODE((cache / "answers.sqlite").stat().st_mode) == 0o600


def test_what_is_no_ledger_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    place.write_text("<p>a page</p>")
    place.chmod(0o644)

    with pytest.raises(LedgerError, match="is not a ledger"):
        Ledger(place)

    assert S_IMODE(place.stat().st_mode) == 0o644


def test_a_link_in_a_folder_of_somebody_closes_nothing_elsewhere(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    (shared / "file").touch(mode=0o644)
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / ".kgcheck").symlink_to(shared)
    (repo / "link").symlink_to(shared / "file")

    make_folder(repo / ".kgcheck")
    close_to_others(repo / "link")

    assert [S_IMODE(path.stat().st_mode) for path in (shared, shared / "file")] == [0o755, 0o644]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], indirect=True)
def test_other_files_go_by_the_umask(tmp_path: Path, umask: int) -> None:
    """A report is for whom its folder is for."""
    write_text(tmp_path / "reports" / "report.html", "x")

    assert S_IMODE((tmp_path / "reports").stat().st_mode) == 0o777 & ~umask
    assert S_IMODE((tmp_path / "reports" / "report.html").stat().st_mode) == 0o666 & ~umask


def test_a_new_project(tmp_path: Path, umask: int) -> None:
    assert kgcheck("init", tmp_path / "project", cwd=tmp_path).code == 0

    assert S_IMODE((tmp_path / "project" / ".kgcheck").stat().st_mode) == 0o700


def test_kept_answers(tmp_path: Path, umask: int) -> None:
    cache = tmp_path / "cache"
    with Loopback() as server, clients(cache) as make:
        server.route("GET", "/x", lambda seen: Reply(body={"a": 1}))
        make().ask(ProviderService("S", server.url, 1e6, "KGCHECK_X", release="1"), "/x", lambda answer: answer.json())

    assert (cache / "answers.sqlite").stat().st_size
    # When a host was last asked is no secret, and nobody else gets into the folder.
    assert {name for name in open_to_others(cache) if not name.startswith("pace/")} == set()


def test_what_cannot_be_closed_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "of somebody else"
    file.touch(mode=0o644)

    def refuse(*arguments: object, **named: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    close_to_others(file)

    assert "others may read" in caplog.text


def test_the_home_of_the_settings_is_the_folder_that_is_closed() -> None:
    assert str(Settings.model_fields["home"].default) == OWN_FOLDER
