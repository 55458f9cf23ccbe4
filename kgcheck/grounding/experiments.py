"""Experiments of deep cycles, as an improvement asks for them; a workspace runs them, for it alone knows protocols."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from kgcheck.errors import InputFormat
from kgcheck.grounding.manuscript import Manuscript
from kgcheck.grounding.results import Results, read_results
from kgcheck.inputs import parse_json, read_whole
from kgcheck.outputs import write_text

RESULTS = "results.json"


class ExperimentRequest(NamedTuple):
    """What a deep cycle asks for."""

    text: Manuscript
    wanted: str
    done: frozenset[str]
    folder: Path


class Experiment(NamedTuple):
    """What was run."""

    name: str
    results: Mapping[str, Any] | None
    note: str


class Experiments(Protocol):
    """Runs experiments about a manuscript."""

    def run(self, request: ExperimentRequest) -> Experiment:
        """Run the next one."""


def with_results(given: Path | None, experiment: Experiment, folder: Path) -> tuple[Results, Results]:
    """The results of a manuscript with those of an experiment, in a file of the folder."""
    known = parse_json(read_whole(given)) if given else {}
    if not isinstance(known, dict):
        known = {"results": known}
    if experiment.name in known:
        raise InputFormat(f"{given} has results called {experiment.name!r} already", "call them by another name")
    path = folder / RESULTS
    write_text(path, json.dumps({**known, experiment.name: experiment.results}, indent=2, allow_nan=False) + "\n")
    whole = read_results(path)
    own = [r for r in whole.all if r.name.startswith(f"{experiment.name}.")]
    return whole, Results(whole.source, whole.release, whole.at, canonical=True, found=own)
