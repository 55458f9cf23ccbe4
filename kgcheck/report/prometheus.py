"""Write a run as Prometheus metrics, for the textfile collector of node_exporter.

All are gauges of the last run: tasks by type, place, outcome and reason, findings by state, the time that it took, and
of when the references are. Every series names its store, so that the files of several graphs lie side by side.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from kgcheck.choices import first_day
from kgcheck.ledger.ledger import Run
from kgcheck.model import Tally
from kgcheck.report.comparison import ALONE, ComparisonSummary
from kgcheck.visible import visible


def prometheus(run: Run, tallies: Iterable[Tally], compared: ComparisonSummary = ALONE, followed: int = 0) -> str:
    """A run in the text format of Prometheus."""
    gauges = _Gauges(run.store)
    gauges.set("run_info", "The last run; always 1.", {"run": run.id, "profile": run.profile}, 1)
    gauges.set("run_complete", "1 for a run that came to its end, 0 for one that was cut off.", {}, bool(run.finished))
    gauges.set("run_started_timestamp_seconds", "When the last run began.", {}, run.started.timestamp())
    if run.finished:
        gauges.set("run_finished_timestamp_seconds", "When the last run ended.", {}, run.finished.timestamp())
        took = (run.finished - run.started).total_seconds()
        gauges.set("run_duration_seconds", "From the beginning of the last run to its end.", {}, took)
    _tasks(gauges, tallies)
    for state, count in compared.counts.items():
        gauges.set("findings", "Findings of the last run and the one before, by state.", {"state": state}, count)
    if compared.counts:
        words = "Findings of the last run that follow from another one of it, which is counted."
        gauges.set("findings_following", words, {}, followed)
    for label, count in run.nodes.items():
        gauges.set("graph_nodes", "Nodes of the graph.", {"label": label}, count)
    for pattern, count in run.edges.items():
        gauges.set("graph_edges", "Edges of the graph.", {"pattern": pattern}, count)
    _references(gauges, run)
    return gauges.text()


class _Gauges:
    """Gauges of one store, each made when it is first set."""

    def __init__(self, store: str) -> None:
        self._store = visible(store)
        self._registry = CollectorRegistry(auto_describe=False)
        self._made: dict[str, Gauge] = {}

    def set(self, name: str, words: str, labels: dict[str, str], value: float) -> None:
        """Give a series its value; label values are text of others, so what is hidden in them is spelt out."""
        if name not in self._made:
            self._made[name] = Gauge(f"kgcheck_{name}", words, ["store", *labels], registry=self._registry)
        shown = {label: visible(text) for label, text in labels.items()}
        self._made[name].labels(store=self._store, **shown).set(value)

    def text(self) -> str:
        return generate_latest(self._registry).decode()


def _tasks(gauges: _Gauges, tallies: Iterable[Tally]) -> None:
    counts = Counter[tuple[str, ...]]()
    names = ("type", "label", "relation", "object_label", "attribute", "outcome", "graph", "reason")
    for t in tallies:
        place = (t.target.label, t.target.relation, t.target.object_label, t.target.attribute)
        ended = (t.outcome.value, t.mark.graph or "", t.reason.value)
        counts[t.type.value, *(part or "" for part in place), *ended] += t.count
    for values, count in sorted(counts.items()):
        gauges.set("tasks", "Checks of the last run, by how they ended.", dict(zip(names, values, strict=True)), count)


def _references(gauges: _Gauges, run: Run) -> None:
    """Note when the references came out: the day is kept, the age is that of the day of the run."""
    newest: dict[tuple[str, str], datetime] = {}
    for pinned in run.releases:
        key = pinned.source, pinned.release
        if day := first_day(pinned.released):
            newest[key] = max(day, newest.get(key, day))
    for (source, release), day in sorted(newest.items()):
        which = {"source": source, "release": release}
        words = "When a release of a reference came out."
        gauges.set("reference_released_timestamp_seconds", words, which, day.timestamp())
        age = max((run.started - day).total_seconds(), 0)
        gauges.set("reference_age_seconds", "How old a reference was when the last run began.", which, age)
