"""Somebody else on the machine, who may not read or write what kgcheck keeps, is told so in one line with advice."""

import json
import os
from pathlib import Path

import pytest

from tests.support.audits import core_demo, kgcheck
from tests.support.forked import Forked

NOBODY = 65_534


def as_nobody(given: str) -> int:
    """Run commands as nobody in a folder, and say how each ended."""
    folder, commands = json.loads(given)
    os.chdir(folder)
    for command in commands:
        # What they import lies where nobody may not look.
        kgcheck(*command)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    for command in commands:
        said = kgcheck(*command)
        print(json.dumps([said.code, said.out, said.err]))  # noqa: T201 - to the test
    return 0


def test_what_another_user_keeps_is_refused_in_one_line(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can become another user")
    store, ledger, report = tmp_path / "graph.lbdb", tmp_path / "ledger.sqlite", tmp_path / "closed" / "r.json"
    store.write_bytes(core_demo().store.read_bytes())
    report.parent.mkdir()
    over = ("--store", str(store), "--type", "structure", "--ledger", str(ledger))
    assert kgcheck("audit", *over).code in (0, 1, 3)
    for path, mode in ((store, 0o600), (ledger, 0o600), (report.parent, 0o700), (tmp_path, 0o711)):
        path.chmod(mode)
    for parent in tmp_path.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o011)
    commands = [
        ("runs", "--ledger", str(ledger)),
        ("audit", *over),
        ("report", "--ledger", str(ledger), "--format", "json", "--out", str(report)),
        ("load", str(tmp_path / "closed"), "--store", str(store)),
    ]

    ended = Forked(as_nobody, json.dumps([str(tmp_path), commands])).ended()

    assert ended.returncode == 0, ended.stderr
    for command, (code, out, err) in zip(commands, map(json.loads, ended.stdout.splitlines()), strict=True):
        assert (code, out) == (2, ""), (command, code, out, err)
        assert "fault in kgcheck" not in err, (command, err)
        assert err.splitlines()[-1].startswith("  "), (command, err)


@pytest.mark.slow
def test_doctor_tells_of_a_ledger_where_it_may_not_look(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can become another user")
    (tmp_path / ".kgcheck").mkdir(mode=0o700)
    for folder, mode in ((tmp_path, 0o755), *((parent, 0o755) for parent in tmp_path.parents[:3])):
        folder.chmod(mode)

    ended = Forked(as_nobody, json.dumps([str(tmp_path), [("doctor", "--format", "json")]])).ended()

    code, out, err = json.loads(ended.stdout)
    (ledger,) = (row for row in json.loads(out) if row["name"] == "ledger")
    assert (code, err, ledger["state"]) == (2, "", "broken")
    assert ledger["found"] == "cannot use .kgcheck/ledger.sqlite: Permission denied"
