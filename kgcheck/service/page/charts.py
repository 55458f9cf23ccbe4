"""Figures that a page draws: bars of a run, and findings over the audits that it can be compared with."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from kgcheck.ledger.comparisons import run_before
from kgcheck.ledger.ledger import Run
from kgcheck.ledger.tables import OPEN_SEVERITIES
from kgcheck.model import Tally, TallyMark
from kgcheck.report.documents import Row
from kgcheck.workspace.workspace import Workspace

_MOST_RUNS, _MOST_ROWS, _MOST_BARS = 24, 12, 14
_SPARK_WIDTH, _SPARK_HEIGHT = 88, 16

Kind = tuple[str, str]
"""Common property of findings: in words, and as the filter of a list, which may be empty."""


class Figure(NamedTuple):
    """Findings of one kind in each of some audits, the newest last."""

    words: str
    address: str
    """Filter of the list that has them; empty where there is none."""
    counts: tuple[int, ...]
    share: float
    """Share of all findings of the newest audit, in percent."""

    @property
    def spark(self) -> str:
        """The points of a line of the counts, in a box of 96 by 24."""
        most, step = max(self.counts) or 1, _SPARK_WIDTH / max(len(self.counts) - 1, 1)
        places = ((4 + at * step, 4 + _SPARK_HEIGHT * (1 - n / most)) for at, n in enumerate(self.counts))
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


class Trend(NamedTuple):
    """Comparable audits of a graph, the oldest first, with their findings by mark, by reason and by source."""

    runs: tuple[Run, ...]
    marks: list[Figure]
    reasons: list[Figure]
    sources: list[Figure]


def trend_of(workspace: Workspace, run: Run) -> Trend:
    """Count the findings of a run, and of the audits before it that looked at the same of the same store."""
    with workspace.reading() as ledger:
        known, runs = ledger.runs(), [run]
        while len(runs) < _MOST_RUNS and (before := run_before(known, runs[0])):
            runs.insert(0, before)
        found = [[t for t in ledger.tallies(one) if t.mark.severity in OPEN_SEVERITIES] for one in runs]
    return Trend(
        tuple(runs),
        _figures(found, lambda tally: [_mark(tally.mark)]),
        _figures(found, lambda tally: [(tally.reason.words, urlencode({"reason": tally.reason.value}))]),
        _figures(found, lambda tally: [(source, "") for source in tally.sources]),
    )


def bars(tallies: Iterable[Tally], name: Callable[[Tally], str]) -> list[Row]:
    """Count how tasks ended by a label or relation of theirs, those with most that is wrong first."""
    counts: dict[str, Counter[TallyMark]] = {}
    for tally in tallies:
        counts.setdefault(name(tally), Counter())[tally.mark] += tally.count
    wrong = {n: some[TallyMark.REFUTED] + some[TallyMark.LACKS_IT] for n, some in counts.items()}
    worst = sorted(counts, key=lambda n: (-wrong[n], -counts[n].total(), n))[:_MOST_BARS]
    return [Row(n, counts[n]) for n in worst]


def _mark(mark: TallyMark) -> Kind:
    by = {"graph": mark.graph.value} if mark.graph else {"outcome": mark.value}
    return mark.value.replace("_", " "), urlencode(by)


def _figures(audits: Sequence[Iterable[Tally]], kinds: Callable[[Tally], Iterable[Kind]]) -> list[Figure]:
    """The kinds with the most findings in the newest audit, then in those before it."""
    counts, totals = [Counter[Kind]() for _ in audits], [0] * len(audits)
    for at, tallies in enumerate(audits):
        for tally in tallies:
            totals[at] += tally.count
            for kind in kinds(tally):
                counts[at][kind] += tally.count
    seen = {kind: tuple(some[kind] for some in counts) for some in counts for kind in some}
    most = sorted(seen, key=lambda kind: (*(-n for n in reversed(seen[kind])), kind))[:_MOST_ROWS]
    return [Figure(*kind, seen[kind], 100 * seen[kind][-1] / (totals[-1] or 1)) for kind in most]
