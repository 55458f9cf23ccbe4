"""Measure how scripts are matched to insights, and numbers compared, on InsightBench.

``python -m benchmarks.code_pairs FOLDER`` reads the notebooks of InsightBench (``data/notebooks`` of
github.com/ServiceNow/insight-bench, MIT licence), as HeurekaBench's authors did: each step is a script with the insight
that it gave, and 20 steps make a repository. In the order of the notebooks neighbours are nearly the same; shuffled
they are not. Parameters were chosen on repositories 1, 3, 5, ...; the others are held out. "As it is" ranks the text of
the code by the same formula, and takes the first.

``--numbers N`` runs the steps of N notebooks with even numbers and compares values that their authors noted of each
figure, and the same values made wrong: a wrong one that is equal is a wrong answer.
"""

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from kgcheck.bench.insights import Insight
from kgcheck.bench.question_sets import read_models, write_models
from kgcheck.literature.lexical import relevances
from kgcheck.options import CodeOptions
from kgcheck.protocols.programs.reproduction import ComparedNumber, check_code
from kgcheck.protocols.programs.scripts import ScriptSource, describe, match_scripts, rank_scripts
from kgcheck.report.safe_console import RowTable

SIZE, MOST = 20, 2
"""Steps of a repository, and numbers of a step."""

LOAD = """import numpy as np
import pandas as pd
import matplotlib.pyplot as plt
import seaborn as sns
df = pd.read_csv("{table}")
"""


class Step(NamedTuple):
    """A step of a notebook: its code and what it gave."""

    notebook: str
    table: str
    code: str
    insight: str
    values: list[tuple[str, str, float]]


def steps(folder: Path) -> Iterator[Step]:
    """All steps with an insight and code, in order."""
    for path in sorted(folder.glob("flag-*.json"), key=lambda p: int(p.stem.partition("-")[2])):
        raw = json.loads(path.read_text(encoding="utf-8"))
        for row in raw["insight_list"]:
            if str(row.get("code") or "").strip() and str(row.get("insight") or "").strip():
                table = Path(raw["dataset_csv_path"]).name
                yield Step(path.stem, table, row["code"], row["insight"], plotted(row.get("plot") or {}))


def plotted(plot: dict[str, Any]) -> list[tuple[str, str, float]]:
    """The axis, label and number of points of a figure, as the authors of the notebook noted them."""
    x, y = (plot.get(axis) if isinstance(plot.get(axis), dict) else {} for axis in ("x_axis", "y_axis"))
    labels, numbers = (axis.get("value") if isinstance(axis.get("value"), list) else [] for axis in (x, y))
    pairs = list(zip(labels, numbers, strict=False))
    return [(str(y.get("name")), a, b) for a, b in pairs if isinstance(a, str) and isinstance(b, int | float)][:MOST]


def insight(name: str, text: str) -> Insight:
    """An insight of one text."""
    return Insight(id=name, paper="InsightBench", summary=text, grounding=text)


def matched(repositories: Sequence[Sequence[Step]]) -> Iterator[tuple[str, list[float]]]:
    """Recall among the first and the first three; share with the true script matched; wrong files an insight."""
    found: dict[str, list[tuple[bool, bool, bool, int]]] = {"as it is": [], "described": []}
    for repository in repositories:
        scripts = [describe(ScriptSource(f"{n:02}.py", "python", step.code)) for n, step in enumerate(repository)]
        for step in repository:
            true = {f"{n:02}.py" for n, other in enumerate(repository) if other.code == step.code}
            plain = relevances(step.insight, [other.code for other in repository])
            order = sorted(range(len(plain)), key=lambda n: (-plain[n], n))
            own = insight("i", step.insight)
            by_words = [match.path for match in rank_scripts(own, scripts)]
            chosen_by_words = [match.path for match in match_scripts(own, scripts)]
            as_it_is = [f"{n:02}.py" for n in order]
            for name, ranked, chosen in (
                ("as it is", as_it_is, as_it_is[:1]),
                ("described", by_words, chosen_by_words),
            ):
                right = (ranked[0] in true, bool(true & {*ranked[:3]}), bool(true & {*chosen}))
                found[name].append((*right, len({*chosen} - true)))
    for name, rows in found.items():
        yield name, [sum(column) / max(1, len(rows)) for column in zip(*rows, strict=True)] + [len(rows)]


def compared(folder: Path, every: Sequence[Step], most: int) -> tuple[Counter[str], Counter[str], list[str]]:
    """States of the values that insights state, of the same values made wrong, and what was equal though wrong."""
    right, wrong, shown = Counter[str](), Counter[str](), list[str]()
    names = [name for name in dict.fromkeys(s.notebook for s in every) if int(name.partition("-")[2]) % 2 == 0][:most]
    for name in names:
        own = [step for step in every if step.notebook == name]
        with tempfile.TemporaryDirectory() as made:
            repository = Path(made, "repository")
            repository.mkdir()
            (repository / "LICENSE").write_text("MIT\n")
            table = folder / "csvs" / own[0].table
            texts: dict[str, str] = {}
            values: dict[tuple[str, str], bool] = {}
            for number, step in enumerate(own):
                (repository / f"step_{number}.py").write_text(LOAD.format(table=step.table) + step.code)
                for axis, label, stated in step.values:
                    for is_right, value in ((True, stated), (False, round(stated * 1.5 + 3, 2))):
                        values[f"i{number}", f"{label}: {value}"] = is_right
                        about = f"{step.insight.rstrip('. ')} ({axis} of {label}: {value})."
                        texts[f"i{number}"] = f"{texts.get(f'i{number}', '')} {about}".strip()
            if not texts:
                continue
            insights = Path(made, "insights.jsonl")
            write_models(insights, [insight(key, text) for key, text in texts.items()])
            out = Path(made, "out")
            options = CodeOptions(data=(str(table),), run=True, seconds=60)
            check_code(repository, insights, out, options, None, [])
            rows = read_models(out / "numbers.jsonl", ComparedNumber)
            for (key, stated), is_right in values.items():
                row = next((r for r in rows if r.insight == key and f"{stated})" in r.sentence), None)
                state = row.state if row else "no number"
                (right if is_right else wrong)[state] += 1
                if row and ((not is_right and state == "equal") or (is_right and state == "differs")):
                    shown.append(
                        f"{name} {'stated' if is_right else 'wrong'} {state}: {row.sentence} | {row.found} {row.place}"
                    )
    return right, wrong, shown


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--numbers", type=int, default=0)
    given = parser.parse_args()
    every = list(steps(given.folder))
    if not every:
        sys.exit(f"{given.folder} holds no flag-N.json: name data/notebooks of InsightBench")
    console = Console()
    if given.numbers:
        right, wrong, shown = compared(given.folder, every, given.numbers)
        console.print("stated:", dict(right), "made wrong:", dict(wrong))
        console.print("\n".join(shown), markup=False)
        return
    shuffled = random.Random(0).sample(every, len(every))  # noqa: S311 a seeded order
    rows = []
    for order, listed in (("as they are", every), ("shuffled", shuffled)):
        repositories = [listed[at : at + SIZE] for at in range(0, len(listed) - SIZE + 1, SIZE)]
        for half, some in (("chosen on", repositories[::2]), ("held out", repositories[1::2])):
            for name, (*shares, count) in matched(some):
                rows.append((order, half, name, *(f"{share:.3f}" for share in shares), f"{count:.0f}"))
    columns = ("order", "half", "text", "first", "first three", "matched", "wrong files", "insights")
    console.print(RowTable(columns, rows))


if __name__ == "__main__":
    main()
