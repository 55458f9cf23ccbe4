"""Record the numbers that a script plots, in the sandbox, in place of matplotlib and seaborn; nothing is drawn.

A figure of few numbers is written to figures.json, under its title, by the labels of what is plotted.
"""

import atexit
import json
import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOST_POINTS = 60  # numbers of a series; a text states none of a cloud of points
_LIBRARIES = ("matplotlib.", "seaborn.", "mpl_toolkits.", "pandas.plotting._matplotlib.")
_PLOTS = ("plot", "bar", "barh", "pie", "scatter", "errorbar", "heatmap", "stem", "step")
_figures: list[tuple[str, dict[str, float]]] = []


def _listed(given: Any) -> list[Any]:
    if isinstance(given, str | bytes | Recorder) or not hasattr(given, "__len__") or len(given) > MOST_POINTS:
        return []
    values = given.values() if isinstance(given, dict) else given
    return [value.item() if getattr(value, "ndim", None) == 0 else value for value in values]


def _series(given: Any, labels: list[Any], column: str = "") -> dict[str, float]:
    """Numbers of a series or a table by their labels."""
    if hasattr(given, "columns"):
        series = [_series(given[name], labels, f" {name}") for name in list(given.columns)[:MOST_POINTS]]
        return {label: value for found in series for label, value in found.items()}
    values, keys = _listed(given), list(given.keys()) if hasattr(given, "keys") else []
    if len(labels) == len(values) and not any(isinstance(key, str) for key in keys):
        keys = labels
    numbers = [(key, v) for key, v in zip(keys, values, strict=False) if isinstance(v, int | float) and v == v]
    return {f"{key}{column}": value for key, value in numbers if isinstance(key, str) and abs(value) < float("inf")}


class Recorder(ModuleType):
    """A stand-in for any module, figure or axis."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Recorder(name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        name = self.__name__
        if name == "subplots":
            import numpy as np

            rows, columns = [*arguments, 1, 1][:2]
            axes = np.empty((named.get("nrows", rows), named.get("ncols", columns)), dtype=object)
            axes.fill(Recorder("axis"))
            return Recorder("figure"), axes.squeeze() if axes.size > 1 else axes[0, 0]
        given = [*arguments, *(named[key] for key in ("data", "x", "y", "height", "width") if key in named)]
        tables = [one for one in given if hasattr(one, "columns")]
        columns_of = [table[one] for table in tables for one in given if isinstance(one, str) and one in table]
        texts = [row for one in [*columns_of, *given] if (row := _listed(one)) and all(isinstance(v, str) for v in row)]
        # Of several rows with one label a mean is plotted, and not these.
        labels = texts[0] if texts and len({*texts[0]}) == len(texts[0]) else []
        numbers: dict[str, float] = {}
        for one in given if name.endswith(_PLOTS) else []:
            numbers |= _series(one, labels)
        title = next((text for text in [named.get("title"), *arguments] if isinstance(text, str)), "")
        if numbers:
            _figures.append((str(named.get("title") or ""), numbers))
        elif name.endswith("title") and _figures and not _figures[-1][0]:
            _figures[-1] = (title, _figures[-1][1])
        return Recorder(name)

    def __iter__(self) -> Any:
        return iter(())

    def __getitem__(self, key: Any) -> Any:
        return Recorder(self.__name__)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *failure: object) -> None:
        pass


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        drawn = f"{fullname}.".startswith(_LIBRARIES)
        return ModuleSpec(fullname, self, is_package=True) if drawn else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Recorder(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run."""


def start() -> None:
    """Put the stand-ins in place, and write what was plotted at the end."""
    sys.meta_path.insert(0, _Finder())
    atexit.register(_write, os.path.abspath("figures.json"))


def _write(path: str) -> None:
    found: dict[str, Any] = {}
    for number, (title, numbers) in enumerate(_figures, 1):
        found[title if title and title not in found else f"{title} (figure {number})"] = numbers
    if found:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(found, file, default=float)
