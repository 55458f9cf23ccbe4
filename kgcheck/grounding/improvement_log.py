"""ImprovementLog: rounds of a manuscript's improvement as JSON Lines, with versions and a plot.

``rounds.jsonl`` is the one truth. It is written whole, so that no kill leaves half a line; a text that a round accepted
is in ``versions/`` before the round is in the file. ``best.md`` and ``log.md`` are made of both.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from kgcheck.errors import InputFormat
from kgcheck.grounding.revising import text_digest
from kgcheck.grounding.score import ScoreCard
from kgcheck.inputs import read_whole
from kgcheck.llm.budget import PartCost
from kgcheck.model import Value
from kgcheck.outputs import write_text
from kgcheck.visible import visible

RESULTS = "results.json"


RoundOutcome = Literal["accepted", "rejected", "deep_cycle", "stopped"]


class ImprovementStart(Value):
    """The manuscript as it was: who judged it, and how."""

    name: str
    sha256: str
    judge: str
    worker: str
    card: ScoreCard
    standing: float = Field(description="what rounds are compared by: the overall score, or what is there of it")
    cost: PartCost


class ImprovementRound(Value):
    """One round. One that was stopped is begun again, and only its cost counts."""

    number: int
    outcome: RoundOutcome
    dimension: str = ""
    action: str = ""
    section: str = ""
    reason: str = ""
    before: float | None = None
    after: float | None = None
    best: float
    left_out: tuple[str, ...] = ()
    added: tuple[str, ...] = Field(default=(), description="entries that the list of references got")
    sha256: str = Field(default="", description="of the manuscript that was accepted")
    card: ScoreCard | None = Field(default=None, description="of the manuscript that was accepted")
    experiment: str = Field(default="", description="what a deep cycle ran")
    results: str = Field(default="", description="SHA-256 of the results with those of an experiment that was adopted")
    cost: PartCost = PartCost()


class ImprovementLog:
    """Log of an improvement in its folder."""

    def __init__(self, folder: Path, source: str) -> None:
        self.folder = folder
        self._source, self._file = source, folder / "rounds.jsonl"
        self.start: ImprovementStart | None = None
        self.rounds: list[ImprovementRound] = []
        if not self._file.is_file():
            return
        lines = read_whole(self._file).splitlines()
        try:
            self.start = ImprovementStart.model_validate_json(lines[0])
            self.rounds = [ImprovementRound.model_validate_json(line) for line in lines[1:]]
        except (IndexError, ValidationError) as error:
            why = f"{self._file} is no log of kgcheck improve: {error}"
            raise InputFormat(why[:300], "name another --out") from None
        if self.start.sha256 != text_digest(source):
            why = f"{folder} is of another text of {self.start.name}"
            raise InputFormat(why, "put the text back, or name another --out")

    @property
    def done(self) -> list[ImprovementRound]:
        """The rounds that count."""
        return [r for r in self.rounds if r.outcome != "stopped"]

    @property
    def accepted(self) -> ImprovementRound | None:
        """The last round whose text was accepted."""
        return next((r for r in reversed(self.rounds) if r.outcome == "accepted"), None)

    def text(self) -> str:
        """The manuscript as it stands."""
        last = self.accepted
        return _unchanged(self._version(last.number), last.sha256) if last else self._source

    def experiment_folder(self, number: int) -> Path:
        return self.folder / "experiments" / f"{number:03d}"

    def results_file(self, named: Path | None) -> Path | None:
        """The canonical results as they stand."""
        last = next((r for r in reversed(self.rounds) if r.results), None)
        if last is None:
            return named
        file = self.experiment_folder(last.number) / RESULTS
        _unchanged(file, last.results)
        return file

    def costs(self) -> list[PartCost]:
        """List the costs up to now, also of rounds that were stopped."""
        return [*([self.start.cost] if self.start else []), *(r.cost for r in self.rounds)]

    def begin(self, start: ImprovementStart) -> None:
        """Keep what the manuscript was like."""
        self.start = start
        self._write()

    def add(self, done: ImprovementRound, text: str | None = None) -> None:
        """Keep a round."""
        if text is not None:
            write_text(self._version(done.number), text)
        self.rounds.append(done)
        self._write()

    def show(self) -> None:
        """Write what people look at: the best text, and the log as a table."""
        write_text(self.folder / "best.md", self.text())
        if results := self.results_file(None):
            write_text(self.folder / RESULTS, read_whole(results))
        write_text(self.folder / "log.md", log_table(self.start, self.rounds))

    def _version(self, number: int) -> Path:
        return self.folder / "versions" / f"{number:03d}.md"

    def _write(self) -> None:
        lines = [v.model_dump_json(exclude_defaults=True) for v in (self.start, *self.rounds) if v is not None]
        write_text(self._file, "".join(f"{line}\n" for line in lines))


def _unchanged(file: Path, digest: str) -> str:
    text = read_whole(file)
    if text_digest(text) != digest:
        raise InputFormat(f"{file} is not as it was written", "put it back, or name another --out")
    return text


def log_table(start: ImprovementStart | None, rounds: Sequence[ImprovementRound]) -> str:
    """The rounds as a table in Markdown."""
    if start is None:
        return ""
    judges = f"Judged by {_cell(start.judge)}, written by {_cell(start.worker)}"
    head = ("round", "aim", "action", "section", "outcome", "score", "best", "tokens", "why")
    rows: list[Sequence[str]] = [head, ["---"] * len(head)]
    for r in rounds:
        after = "" if r.after is None else f"{r.after:.2f}"
        why = f"{r.reason}{'; left out: ' + ', '.join(r.left_out) if r.left_out else ''}"
        tokens = f"{r.cost.input_tokens + r.cost.output_tokens:,}"
        action = f"{r.action} {r.experiment}".strip()
        cells = (str(r.number), r.dimension, action, r.section, r.outcome, after, f"{r.best:.2f}", tokens, why)
        rows.append([*map(_cell, cells)])
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return f"# {_cell(start.name)}\n\n{judges}; {start.standing:.2f} at the beginning.\n\n{table}"


def _cell(text: str) -> str:
    shown = visible(" ".join(text.split()))
    return shown.replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[")[:400]
