"""Batches that are done several times: a folder a run, means and standard deviations, gone on with run by run."""

import json
from itertools import count
from pathlib import Path

import pytest

from tests.support import team_scripts
from tests.support.audits import demo, kgcheck
from tests.support.chat_server import Asked, Move, Say, with_model


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(f"{json.dumps(r)}\n" for r in records))
    return path


def test_a_model_that_changes_its_mind_has_a_spread(tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="the extra llm is not installed")
    conclusions = count(1)

    def play(asked: Asked) -> Move:
        if "Conclude" in asked.last and "hand_over" in asked.tools:
            outcome = "supported" if next(conclusions) == 2 else "refuted"
            return Say(calls=(team_scripts.conclude(outcome),))
        return team_scripts.agents()(asked)

    words = [team_scripts.HEAD[1], team_scripts.RELATION, team_scripts.TAIL[1]]
    file = lines(tmp_path / "one.jsonl", {"check": words, "label": "refute"})
    where = ("--store", demo().store, "--reference", demo().reference, "--out", tmp_path / "b", "--format", "json")
    said, _ = with_model(play, "batch", "kgcheck", file, *where, "--repeat", 3, cwd=tmp_path)

    found = json.loads(said.out)
    runs = [json.loads((tmp_path / "b" / f"run-{n}" / "metrics.json").read_text()) for n in (1, 2, 3)]
    assert [run["all"]["own_exact_match"] for run in runs] == [100, 0, 100]
    assert found["mean"]["all"]["own_exact_match"] == pytest.approx(200 / 3)
    assert found["spread"]["all"]["own_exact_match"] == pytest.approx(57.735, abs=0.001)
    assert (found["mean"]["all"]["exact_match"], found["spread"]["all"]["exact_match"]) == (100, 0)
    assert found["mean"]["all"]["items"] == 1
    assert json.loads((tmp_path / "b" / "metrics.json").read_text()) == found


def test_runs_that_are_there_are_not_done_again_and_more_can_come(tmp_path: Path) -> None:
    file = tmp_path / "q.json"
    file.write_text(json.dumps([{"question": "Which protein does MGEA5 code for?", "type": "x", "answer": ["O60502"]}]))
    command = ("batch", "kgqa", file, "--store", demo().store, "--out", tmp_path / "b")

    two, three = kgcheck(*command, "--repeat", 2), kgcheck(*command, "--repeat", 3)

    assert (two.code, three.code) == (0, 0)
    assert "100.0 ± 0.0" in two.out
    assert "2 done now, 0 before" in two.err
    assert "1 done now, 2 before" in three.err
