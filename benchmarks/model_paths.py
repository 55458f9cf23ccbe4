"""What a small language model makes of every other use of one: ``python -m benchmarks.model_paths``.

The note in examples/grounding judged and improved, protocols of the demo designed and judged, reports of papers,
queries, and a program. Limits are tokens. All conversations are kept, a file a path, so that what was dropped can be
read. Needs ``make setup-models`` and ../shared/data.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from kgcheck.errors import KgcheckError
from kgcheck.llm.budget import Limits, Meter
from kgcheck.llm.client import ChatClient
from kgcheck.protocols.programs.sandbox import run_program
from kgcheck.protocols.programs.steps import ProgramAttempt, ProgramTask, TaskFile, attempt_of, write_program
from kgcheck.protocols.protocol import read_objective
from kgcheck.protocols.search.judging import SearchModel
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
from tests.support import ROOT
from tests.support.real_model import MODELS, Wire, served

NOTE = ROOT / "examples" / "grounding" / "note.md"
RESULTS = NOTE.parent / "results.json"
OBJECTIVES = ROOT / "loaders" / "ckg" / "demo" / "protocols"


class Came(NamedTuple):
    """What came of a path: what was asked for, what of the model's is used, and why the rest is not."""

    wanted: int
    used: int
    dropped: Counter[str]


class Place(NamedTuple):
    """Where a path is run."""

    settings: Settings
    folder: Path
    demo: Path
    data: Path
    tokens: int


def main() -> None:
    """Run the paths, keep the conversations and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--demo", type=Path, default=Path("kgcheck-demo"), help="folder of kgcheck demo --protocol")
    parser.add_argument("--model", choices=MODELS, default=MODELS[0])
    parser.add_argument("--part", choices=list(_PARTS), action="append", help="one of them; all unless given")
    parser.add_argument("--out", type=Path, default=Path("build/model_paths"), help="folder of the conversations")
    parser.add_argument("--item-tokens", type=int, default=20_000)
    parser.add_argument("--predict", type=int, default=400, help="most tokens of an answer")
    parser.add_argument("--threads", type=int, default=1, help="of the model")
    parser.add_argument("--small", action=argparse.BooleanOptionalAction, default=True, help="KGCHECK_LLM_SMALL")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    sys.stdout.write("| path | asked for | used | dropped, and why | calls | tokens | seconds |\n")
    sys.stdout.write("|" + " --- |" * 7 + "\n")
    with (
        tempfile.TemporaryDirectory() as folder,
        served(asked.model, Path(folder), asked.predict, 0, asked.threads) as server,
    ):
        for part in asked.part or _PARTS:
            wire, started = Wire(server.url), time.monotonic()
            settings = Settings(
                llm_base_url=wire.url, llm_model=asked.model, llm_timeout_s=7200, llm_retries=0, llm_small=asked.small
            )
            own = Path(folder) / part
            own.mkdir()
            try:
                came = list(_PARTS[part](Place(settings, own, asked.demo, asked.data, asked.item_tokens)))
            finally:
                wire.stop()
                said = ({"asked": a, "answered": b} for a, b in zip(wire.requests, wire.answers, strict=False))
                (asked.out / f"{part}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in said))
            why = sum((c.dropped for c in came), Counter[str]())
            reasons = "; ".join(f"{n}: {text}" for text, n in why.most_common())
            sys.stdout.write(
                f"| {part} | {sum(c.wanted for c in came)} | {sum(c.used for c in came)} | {why.total()}; {reasons} | "
                f"{len(wire.requests)} | {sum(wire.tokens):,} | {time.monotonic() - started:,.0f} |\n"
            )
            sys.stdout.flush()


def _workspace(place: Place) -> Workspace:
    return Workspace(
        store=place.demo / "graph.lbdb",
        reference=place.demo / "reference.duckdb",
        ledger=place.demo / "ledger.sqlite",
        brain="llm",
        settings=place.settings,
    )


def _one(wanted: int, run: Callable[[], Came]) -> Came:
    """What came of one item; where the model is given up, nothing did."""
    try:
        return run()
    except KgcheckError as error:
        return Came(wanted, 0, Counter([f"given up: {error.message[:200]}"]))


def _score(place: Place) -> Iterator[Came]:
    with _workspace(place) as workspace:

        def run() -> Came:
            card, _ = workspace.score(NOTE, results=RESULTS, tokens=place.tokens)
            return Came(8, sum(d.judgement is not None for d in card.dimensions.values()), Counter(card.missing))

        yield _one(8, run)


def _improve(place: Place) -> Iterator[Came]:
    with _workspace(place) as workspace:

        def run() -> Came:
            log, _ = workspace.improve(NOTE, place.folder / "out", results=RESULTS, rounds=2, tokens=2 * place.tokens)
            refused = Counter(done.reason for done in log.rounds if done.outcome != "accepted")
            return Came(2, len(log.rounds) - refused.total(), refused)

        yield _one(2, run)


def _design(place: Place) -> Iterator[Came]:
    with _workspace(place) as workspace:
        for file in sorted(OBJECTIVES.glob("*.toml")):

            def run(file: Path = file) -> Came:
                made = workspace.design_protocol(read_objective(file), place.folder / file.stem, tokens=place.tokens)
                # The first section is what the graph gives.
                steps = sum(len(section.steps) for section in made.protocol.sections[1:])
                return Came(1, steps, Counter(made.protocol.notes))

            yield _one(1, run)


def _judge(place: Place) -> Iterator[Came]:
    with _workspace(place) as workspace:
        for file in sorted(place.demo.glob("protocols/*/protocol.json")):

            def run(file: Path = file) -> Came:
                quality, _ = workspace.score_protocol(file, tokens=place.tokens)
                return Came(1, 1, Counter(quality.missing))

            yield _one(1, run)


def _queries(place: Place) -> Iterator[Came]:
    with ChatClient(place.settings) as client:
        for file in sorted(OBJECTIVES.glob("*.toml")):

            def run(file: Path = file) -> Came:
                model = SearchModel(client, Meter(Limits(tokens=place.tokens)))
                return Came(5, len(model.queries(read_objective(file), ())), Counter())

            yield _one(5, run)


def _program(place: Place) -> Iterator[Came]:
    inputs = place.folder / "values.csv"
    inputs.write_text("value\n3\n5\n8\n13\n")
    task = ProgramTask(
        id="S1.1",
        description="Compute the mean of the column value of values.csv.",
        inputs=(TaskFile(name="values", kind="table", file="values.csv"),),
    )

    def attempt(program: str) -> ProgramAttempt:
        ran = run_program(program, place.folder / "files", inputs={"values.csv": inputs})
        return attempt_of(task, ran, place.folder / "files")

    with ChatClient(place.settings) as client:

        def run() -> Came:
            _, record = write_program(task, client, Meter(Limits(tokens=place.tokens)), attempt)
            return Came(
                1, int(record.success), Counter(f"error of level {a.level}" for a in record.attempts if a.level)
            )

        yield _one(1, run)


_PARTS: dict[str, Callable[[Place], Iterator[Came]]] = {
    "score": _score,
    "improve": _improve,
    "design": _design,
    "judge": _judge,
    "queries": _queries,
    "program": _program,
}


if __name__ == "__main__":
    main()
