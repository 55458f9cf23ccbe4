"""The commands of README.md run as they are written, on the demo."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from kgcheck.ledger.ledger import Ledger
from kgcheck.profile.folder import profile_dir
from kgcheck.profile.schema import load_schema
from tests.support import ROOT
from tests.support.audits import demo, kgcheck

CODES = {"audit": (0, 1), "check": (0, 1)}
"""Exit codes that mean that a command did its work; 0 for the others."""


def commands(heading: str) -> list[list[str]]:
    """The commands of the first console of a part of README.md, without prompts and comments."""
    part = (ROOT / "README.md").read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1]
    console = part.split("```console\n", 1)[1].split("```", 1)[0]
    return [shlex.split(line[2:], comments=True) for line in console.splitlines() if line.startswith("$ ")]


def test_use_it_on_your_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = profile_dir(load_schema().profile.name) / "demo"
    shutil.copytree(source / "import", tmp_path / "ckg_import")
    shutil.copytree(source / "reference", tmp_path / "sources")
    ran = []
    for words in commands("Use it on your graph"):
        if words[0] == "export":
            for name, value in (word.split("=") for word in words[1:] if not word.endswith("=...")):
                monkeypatch.setenv(name, value)
        if words[0] != "kgcheck" or any("bolt://" in word for word in words):
            continue
        with Ledger(tmp_path / ".kgcheck" / "ledger.sqlite") as ledger:
            known = [f.fingerprint[:8] for run in ledger.runs()[:1] for f in ledger.findings(run)]
        # The one thing that a reader has to put in: a finding of his own.
        words = [known[0] if re.fullmatch("[0-9a-f]{8}", word) else word for word in words]
        said = kgcheck(*words[1:], cwd=tmp_path)
        assert said.code in CODES.get(words[1], (0,)), (words, said.err)
        ran.append(" ".join(words[1:3]))

    assert [r.split()[0] for r in ran] == ["load", "reference", "audit", "audit", "report", "explain"]
    assert (tmp_path / "findings.jsonl").read_text().count("\n") > 0
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_check_of_one_fact(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    line = re.search(r"^\$ (kgcheck check .*)$", text, re.MULTILINE)
    assert line
    places = {"kgcheck-demo/graph.lbdb": demo().store, "kgcheck-demo/reference.duckdb": demo().reference}
    words = [str(places.get(word, word)) for word in shlex.split(line[1])[1:]]

    said = kgcheck(*words, cwd=tmp_path)

    assert said.code == 1
    assert "checked   potential: P02649 ACTS_ON P05067" in re.sub(" +\n", "\n", said.out)
    assert "[conclusion] leader: P02649 ACTS_ON P05067 is refuted: edge missing" in said.err
