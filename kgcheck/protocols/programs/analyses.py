"""Ready analyses as declared in `corpus/protocols/analyses.toml`, and models of their results."""

import csv
import io
import json
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from kgcheck.errors import UnknownName, UsageError
from kgcheck.model import Value
from kgcheck.outputs import write_text
from kgcheck.protocols.protocol import StepItem
from kgcheck.protocols.rules import ProtocolRules


class AnalysisParameter(Value):
    """A number that an analysis can be given."""

    default: int | float
    least: float
    most: float
    meaning: str

    def read(self, name: str, text: str) -> int | float:
        try:
            number = int(text) if isinstance(self.default, int) and self.least >= 1 else float(text)
        except ValueError:
            number = float("nan")
        if not self.least <= number <= self.most:
            raise UsageError(f"{name} is {text!r}", f"it is a number from {self.least:g} to {self.most:g}")
        return number


class AnalysisLink(Value):
    """Edges that an analysis reads."""

    relation: str
    label: str = Field(description="of the nodes at the other end")
    least: str = Field(default="", description="name of the parameter that the score must reach")
    up: str = Field(default="", description="relation by which those nodes have parents")


class ReadyAnalysis(Value):
    """An analysis that runs without a model."""

    name: str
    method: Literal["enrichment", "expansion", "proximity"]
    title: str
    words: tuple[str, ...] = Field(description="what a text says that wants it")
    member: str = Field(description="label of the nodes that a gene set is of")
    least_genes: int = Field(description="of a set, and of a target, of which anything can be said")
    links: tuple[AnalysisLink, ...]
    targets: tuple[AnalysisLink, ...] = Field(default=(), description="what a gene set is held against, beside it")
    inputs: tuple[StepItem, ...]
    outputs: tuple[StepItem, ...]
    statistics: tuple[str, ...]
    parameters: dict[str, AnalysisParameter]

    def numbers(self, given: dict[str, str]) -> dict[str, int | float]:
        """Its parameters, with those that were given in place of the defaults."""
        for name in given:
            if name not in self.parameters:
                raise UnknownName(f"parameter of {self.name}", name, self.parameters)
        return {n: p.read(n, given[n]) if n in given else p.default for n, p in self.parameters.items()}


class ResultFigure(Value):
    """A number that an analysis found."""

    value: int | float
    unit: str = ""
    description: str = ""


class ResultTable(Value):
    """Rows that an analysis found; a cell is none where there is no such number."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]


class AnalysisResult(Value):
    """Result of an analysis, with its inputs."""

    analysis: str
    title: str
    made_at: datetime
    store: str
    run: str = Field(default="", description="the newest audit of the graph; empty where there is none")
    releases: dict[str, str] = Field(default_factory=dict, description="releases of that audit, by source")
    seed: int | None = None
    parameters: dict[str, int | float] = Field(default_factory=dict)
    statistics: tuple[str, ...] = ()
    genes: dict[str, str] = Field(default_factory=dict, description="id by name as given")
    unknown: tuple[str, ...] = Field(default=(), description="names that the graph does not have")
    several: tuple[str, ...] = Field(default=(), description="names that mean several nodes, left out")
    edges: int = Field(description="that were read and stand")
    left_out: int = Field(description="edges that an audit refuted")
    figures: dict[str, ResultFigure] = Field(default_factory=dict)
    tables: tuple[ResultTable, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def dropped(self) -> tuple[str, ...]:
        """Names of the set that stand for no gene of the analysis, with the reason."""
        unknown = (f"{name} is unknown: left out" for name in self.unknown)
        return (*unknown, *(f"{name} is the name of several nodes: left out" for name in self.several))

    def as_results(self) -> dict[str, Any]:
        """The form of results.json, which `kgcheck ground --results` reads: rows by their names."""
        about = self.model_dump(mode="json", exclude={"figures", "tables"})
        figures = {n: f.model_dump(exclude_defaults=True) for n, f in self.figures.items()}
        tables: dict[str, dict[str, Any]] = {}
        for table in self.tables:
            rows = tables.setdefault(table.name, {})
            for row in table.rows:
                id_, name = str(row[0]), str(row[1] or row[0])
                cells = {c: v for c, v in zip(table.columns[2:], row[2:], strict=True) if v is not None}
                rows[name if name not in rows else f"{name} ({id_})"] = {"id": id_, **cells}
        return {"about": about, "results": figures, **tables}


class AnalysisRules(ProtocolRules):
    """The ready analyses."""

    file = "analyses"
    analyses: tuple[ReadyAnalysis, ...]


def ready_analyses() -> dict[str, ReadyAnalysis]:
    """All ready analyses, by name."""
    return {analysis.name: analysis for analysis in AnalysisRules.shipped().analyses}


def ready_analysis(name: str) -> ReadyAnalysis:
    """An analysis by its name."""
    known = ready_analyses()
    if name not in known:
        raise UnknownName("ready analysis", name, known)
    return known[name]


def write_result(result: AnalysisResult, folder: Path) -> None:
    """Write results.json and a table of tab-separated values for each table."""
    for table in result.tables:
        text = io.StringIO()
        writer = csv.writer(text, delimiter="\t", lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(["" if cell is None else cell for cell in row] for row in table.rows)
        write_text(folder / f"{table.name.lower().replace(' ', '_')}.tsv", text.getvalue())
    # Last: where it stands, everything does.
    write_text(folder / "results.json", json.dumps(result.as_results(), indent=2, allow_nan=False) + "\n")
