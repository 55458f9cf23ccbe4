"""A refresh that fetches, as a job, against an upstream that changes, is down, or breaks off."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgcheck.ledger.ledger import Ledger
from kgcheck.model import Outcome, Reason
from kgcheck.profile.folder import profile_dir
from tests.support import loopback
from tests.support.audits import Said, demo, kgcheck
from tests.support.loopback import Loopback, Reply, Seen

PROJECT = """
ledger = "ledger.sqlite"
profile = "./profile"
[stores.main]
place = "graph.lbdb"
[references.main]
snapshot = "reference.duckdb"
files = "files"
[jobs.refresh]
kind = "refresh"
types = ["existence"]
ids = ["A1S9T", "PARK2", "PRNP"]
"""

RECIPE = """
source = "hgnc"
name = "made for a test"
licence = "CC0"
[[files]]
glob = "genes.tsv"
format = "tsv"
url = "{url}/pub/genes.tsv"
release = "{release}"
released = "{release}"
topics = {{ entity = true }}
[[files.rows]]
table = "entity"
select = '''
SELECT id, state, nullif(string_split(coalesce("now", ''), '|'), ['']) AS successors, id AS record FROM file
'''
"""

PLENTY = "".join(f"FILLER{n}\tcurrent\t\n" for n in range(5_000))


class Upstream:
    """A provider of one file, which takes ranges; and a project that is made of it."""

    def __init__(self, server: Loopback, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.snapshot, self.file = folder / "reference.duckdb", folder / "files" / "genes.tsv"
        shutil.copy(demo().store, folder / "graph.lbdb")
        shutil.copytree(profile_dir("ckg"), folder / "profile", ignore=shutil.ignore_patterns("demo", "reference"))
        (folder / "profile" / "reference").mkdir()
        (folder / "kgcheck.toml").write_text(PROJECT)
        server.route("GET", "/pub/genes.tsv", self._genes)
        self.states(PRNP="current", PARK2="current", A1S9T="current")

    def states(self, **states: str) -> None:
        """What the provider lists from now on, in a release of its own."""
        self.release = f"2026-0{len(getattr(self, 'etag', '')) + 1}"
        self.etag = getattr(self, "etag", "") + "x"
        rows = "".join(f"{name}\t{state}\n" for name, state in states.items() if "\t" in state)
        rows += "".join(f"{name}\t{state}\t\n" for name, state in states.items() if "\t" not in state)
        self.body = f"id\tstate\tnow\n{rows}{PLENTY}".encode()
        recipe = RECIPE.format(url=self.server.url, release=self.release)
        (self.folder / "profile" / "reference" / "hgnc.toml").write_text(recipe)

    def refresh(self) -> Said:
        return kgcheck("job", "run", "refresh", "--format", "json", cwd=self.folder)

    def history(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(
            kgcheck("job", "history", "refresh", "--format", "json", cwd=self.folder).out
        )
        return rows

    def found(self, run: str) -> dict[str, tuple[Outcome, Reason]]:
        with Ledger(self.folder / "ledger.sqlite") as ledger:
            return {f.task.subject.id: (f.verdict.outcome, f.verdict.reason) for f in ledger.findings(ledger.run(run))}

    def kept(self) -> tuple[bytes, bytes, int]:
        """What must not change where nothing could be fetched: snapshot, file, and how many audits there are."""
        with Ledger(self.folder / "ledger.sqlite") as ledger:
            return self.snapshot.read_bytes(), self.file.read_bytes(), len(list(ledger.runs()))

    def _genes(self, seen: Seen) -> Reply:
        headers = {"ETag": f'"{self.etag}"', "Content-Type": "text/plain"}
        if seen.headers.get("If-None-Match") == headers["ETag"]:
            return Reply(304, b"", headers)
        wanted = seen.headers.get("Range", "")
        if wanted and seen.headers.get("If-Range") == headers["ETag"]:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            part = f"bytes {start}-{len(self.body) - 1}/{len(self.body)}"
            return Reply(206, self.body[start:], headers | {"Content-Range": part})
        return Reply(200, self.body, headers)


@pytest.fixture
def upstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    monkeypatch.setenv("KGCHECK_HTTP_ATTEMPTS", "1")
    monkeypatch.setenv("KGCHECK_HTTP_PAUSE_S", "0")
    with Loopback() as server:
        yield Upstream(server, tmp_path)


def half(handler: Any, reply: Reply) -> None:
    """Half of the body, and then the end of the connection."""
    headers = {"ETag": '"xx"', "Content-Type": "text/plain"}
    loopback.send(handler, Reply(200, reply.raw, headers), length=len(reply.raw), body=reply.raw[: len(reply.raw) // 2])
    handler.close_connection = True


def refused(upstream: Upstream) -> None:
    """A refresh that cannot fetch ends with 3, and all is as it was before."""
    before, said = upstream.kept(), "1 of 1 file could not be fetched"
    ended = upstream.refresh()
    assert ended.refuses(said, code=3), ended
    assert upstream.kept() == before
    last, *_ = upstream.history()
    assert (last["state"], last["severity"], last["run"]) == ("failed", "unavailable", None)
    assert said in last["message"]
    assert not list(upstream.folder.glob(".*.duckdb"))


@pytest.mark.slow
def test_a_refresh_takes_what_changed_and_loses_nothing_where_the_provider_fails(upstream: Upstream) -> None:
    first = upstream.refresh()
    assert first.code == 0, first.err
    run = json.loads(first.out)
    assert (run["severity"], run["result"]["changes"]) == ("ok", {"snapshot made": 1})
    assert upstream.found(run["run"]) == {}

    # Nothing is newer there: nothing is sent again, and nothing audited.
    again = upstream.refresh()
    assert again.code == 0, again.err
    assert (json.loads(again.out)["result"]["changes"], json.loads(again.out)["run"]) == ({}, None)
    assert upstream.server.calls[-1].headers["If-None-Match"] == '"x"'

    upstream.states(PRNP="current", PARK2="withdrawn\tPRKN", A1S9T="current", PRKN="current")
    for fault in (loopback.answers(503), loopback.reset, loopback.page(404), half):
        upstream.server.faults = [fault]
        refused(upstream)

    # And it goes on as if that had not been, from where it broke off.
    changed = upstream.refresh()
    assert changed.code == 1, changed.err
    assert upstream.server.calls[-1].headers["Range"] == f"bytes={len(upstream.body) // 2}-"
    assert upstream.file.read_bytes() == upstream.body
    run = json.loads(changed.out)
    assert sum(run["result"]["changes"].values()) == 2
    assert upstream.found(run["run"]) == {"PARK2": (Outcome.REFUTED, Reason.ID_WITHDRAWN)}
    assert (upstream.folder / "reference.before.duckdb").exists()
    assert json.loads(kgcheck("diff", "--format", "json", cwd=upstream.folder).out)["counts"]["new"] == 1

    # A page in place of the file is no release in which everything is gone.
    upstream.etag, upstream.body = upstream.etag + "x", b"<!DOCTYPE html><html><body>moved</body></html>"
    before = upstream.snapshot.read_bytes()
    odd = upstream.refresh()
    assert (odd.code, "Traceback" in odd.err, "genes.tsv" in odd.err) == (2, False, True)
    assert upstream.snapshot.read_bytes() == before
    assert not list(upstream.folder.glob(".*.duckdb"))
