"""Run BioKGBench's tasks by several models, and print the tables of its paper: 5, 6, 12, 14, and errors by cause."""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from kgcheck.bench.batches import BatchResult, answer_questions, check_items, read_results, verify_claims
from kgcheck.bench.kgcheck import ProcessFault
from kgcheck.choices import PROTOCOLS
from kgcheck.context import Context
from kgcheck.errors import ConfigurationError, UsageError
from kgcheck.model import Value
from kgcheck.options import ClaimOptions, ItemOptions, one_of
from kgcheck.profile.toml_files import read_value
from kgcheck.report.tables import measure_text
from kgcheck.settings import Settings, read_settings


class ModelEntry(Value):
    """An endpoint and its model; without a model, kgcheck's own rules and its trained verifier, which need no key."""

    name: str = Field(pattern=r"^\w[\w. -]*$")
    group: str = Field(default="", description="kind and size, by which the tables group")
    model: str | None = None
    base_url: str | None = None
    key: str | None = Field(default=None, pattern=r"^[A-Z_][A-Z0-9_]*$", description="the variable that holds the key")
    small: bool = False
    price_input: float | None = None
    price_output: float | None = None

    def settings(self) -> Settings:
        """Settings of the environment with this endpoint; no other one's key goes to it."""
        if self.key and not os.environ.get(self.key):
            raise ConfigurationError(f"{self.name}: the variable {self.key} is not set", "set it to the endpoint's key")
        own = {name: getattr(self, name) for name in ("model", "base_url", "small", "price_input", "price_output")}
        key = os.environ[self.key] if self.key else None
        # Nor does another one's price of what is sent again.
        return read_settings(
            llm_api_key=key, llm_price_cached=None, **{f"llm_{name}": value for name, value in own.items()}
        )


class SetFiles(Value):
    """Sets to run, by task; paths are relative to the file that names them."""

    kgqa: Path | None = None
    scv: Path | None = None
    kgcheck: Path | None = None


class ModelComparison(Value):
    """The models that are compared, on what, and how often."""

    runs: int = Field(default=3, ge=1, le=100)
    protocol: Annotated[str, *one_of("protocol", PROTOCOLS)] = "biokgbench"
    sets: SetFiles
    models: tuple[ModelEntry, ...] = Field(min_length=1)


Opening = Callable[..., Context]
"""Makes a context of settings, a brain and, unless left out, the literature."""

Done = Mapping[str, BatchResult]
"""Results of a model by task."""


def run_models(file: Path, opening: Opening, out: Path, workers: int = 1) -> dict[ModelEntry, Done]:
    """Run every set by every model, each as often as the file says; what is there already is not done again."""
    wanted = read_value(file, ModelComparison)
    files = {task: file.parent / path for task, path in wanted.sets.model_dump().items() if path}
    if not files:
        raise UsageError(f"{file} names no set", "name kgqa, scv or kgcheck under [sets]")
    if len({entry.name for entry in wanted.models}) < len(wanted.models):
        raise UsageError(f"two models of {file} have one name", "give each a name of its own")
    openings = {}
    for entry in wanted.models:
        openings[entry] = partial(opening, settings=entry.settings(), brain="llm" if entry.model else "rules")
    made: dict[ModelEntry, Done] = {}
    for entry, opened in openings.items():
        options = ClaimOptions(
            workers=workers,
            repeat=wanted.runs,
            protocol=wanted.protocol if entry.model else "kgcheck",
            verifier="llm" if entry.model else "trained",
        )
        made[entry] = {task: _run(task, opened, path, out / entry.name / task, options) for task, path in files.items()}
    return made


def _run(task: str, opening: Opening, path: Path, out: Path, options: ClaimOptions) -> BatchResult:
    with opening(**({"literature": None} if task == "kgqa" else {})) as context:
        if task == "kgqa":
            return answer_questions(context, path, out=out, options=options)
        if task == "kgcheck":
            items = ItemOptions(workers=options.workers, repeat=options.repeat, protocol=options.protocol)
            return check_items(context, path, out=out, options=items)
        return verify_claims(context, path, out, options)


PaperTable = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
"""Title of a table of the paper, its columns, and a row a model."""

Column = tuple[str, str, str, str]
"""Title of a column, and the task, the type and the measure that it shows."""

_ABILITIES: tuple[Column, ...] = (
    ("KGQA F1", "kgqa", "all", "f1"),
    ("KGQA EM", "kgqa", "all", "exact_match"),
    ("KGQA executability", "kgqa", "all", "executability"),
    ("SCV accuracy", "scv", "all", "accuracy"),
    ("SCV right quotes", "scv", "all", "right_quotes_of_all"),
    ("SCV error", "scv", "all", "error_rate"),
)
_CHECKS = {
    "KG tool": "kg_tool_selection",
    "KG executability": "kg_executability",
    "validation tool": "validation_tool_selection",
    "validation executability": "validation_executability",
    "final exact match": "own_exact_match",
    "final executability": "own_executability",
    "verdict exact match": "exact_match",
    "items": "items",
}


def paper_tables(made: Mapping[ModelEntry, Done]) -> list[PaperTable]:
    """The tables of the paper, models in the order of their groups; a share in per cent, with its spread over runs."""
    groups = list(dict.fromkeys(entry.group for entry in made))
    models = sorted(made.items(), key=lambda item: groups.index(item[0].group))

    def table(title: str, columns: Sequence[Column]) -> PaperTable:
        rows = [(e.group, e.name, *(_cell(done, *column) for _, *column in columns)) for e, done in models]
        return title, ("type", "model", *(title for title, *_ in columns)), rows

    def kinds(task: str) -> list[str]:
        return list(dict.fromkeys(kind for done in made.values() if task in done for kind in done[task].metrics))

    by_kind = [(f"{n} {k}", "kgqa", k, n) for n in ("f1", "executability") for k in kinds("kgqa") if k != "all"]
    tables = [table("KGQA and SCV (table 5)", _ABILITIES), table("KGQA by type of question (table 12)", by_kind)]
    for kind in kinds("kgcheck"):
        number = 6 if kind in ("web databases", "publications") else 14
        columns = [(title, "kgcheck", kind, name) for title, name in _CHECKS.items()]
        tables.append(table(f"KGCheck, {kind} (table {number})", columns))
    causes = [(e.group, e.name, *(f"{_causes(d)[f]:,}" for f in ProcessFault)) for e, d in models if "kgcheck" in d]
    tables.append(("Wrong conclusions of KGCheck by cause (figure 5)", ("type", "model", *ProcessFault), causes))
    spent = [(f"{task} {name}", task, "all", name) for task in SetFiles.model_fields for name in ("tokens", "cost")]
    tables.append(table("Tokens and cost of a run", spent))
    return [one for one in tables if one[2] and len(one[1]) > 2]


def _cell(done: Done, task: str, kind: str, name: str) -> str:
    if task not in done or kind not in done[task].metrics:
        return "not run"
    form = ".4f" if name == "cost" else ".1%" if task == "scv" else ".1f"
    return measure_text(done[task].metrics[kind], name, done[task].spread.get(kind), form, missing="")


def _causes(done: Done) -> Counter[str]:
    """Faults of the items whose final conclusion is wrong: the model's own, or the verdict where no model concludes."""
    counts = Counter[str]()
    for path in done["kgcheck"].result_files:
        for score in (line["score"] for line in read_results(path).values() if "score" in line):
            own = score.get("own_exact")
            if not (score["exact"] if own is None else own):
                counts.update(score["faults"])
    return counts
