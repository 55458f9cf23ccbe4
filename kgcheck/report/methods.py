"""Write a run as a methods paragraph for a paper: checks, references, time and versions."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from kgcheck.audit.inputs import KGCHECK
from kgcheck.ledger.run import Run
from kgcheck.model import CheckType, Tally, TallyMark, Value
from kgcheck.plurals import how_many
from kgcheck.report.documents import scope_words
from kgcheck.report.tables import marks

_CHECKED = {
    CheckType.EXISTENCE: ("whether a node exists", "whether nodes exist"),
    CheckType.ATTRIBUTE: ("the value of an attribute", "values of attributes"),
    CheckType.TRIPLE: ("whether an edge is supported", "whether edges are supported"),
    CheckType.POTENTIAL: ("an edge that may be missing", "edges that may be missing"),
    CheckType.STRUCTURE: ("a hit of a structural rule", "hits of structural rules"),
}
_ENDED = {
    TallyMark.SUPPORTED: "were supported",
    TallyMark.REFUTED: "were refuted",
    TallyMark.LACKS_IT: "named an edge that sources state and the graph lacks",
    TallyMark.RIGHTLY_ABSENT: "named an edge that neither sources nor the graph have",
    TallyMark.INSUFFICIENT: "could not be decided by what the sources hold",
    TallyMark.UNAVAILABLE: "could not be made, as no source that decides them could be asked",
}

_JUDGED = (
    "Each verdict was computed from the observations of the most authoritative sources that spoke; the silence of a"
    " source counted against a statement only where that source claims to list everything of its kind."
)


class Methods(Value):
    """A run as the methods section of a paper names it."""

    run: str
    kgcheck: str | None
    profile: str
    started: datetime
    finished: datetime | None
    nodes: int
    labels: int
    edges: int
    patterns: int
    scope: tuple[str, ...]
    graph_date: str | None
    threshold: float | None
    checked: dict[CheckType, int]
    ended: dict[TallyMark, int]
    releases: dict[str, tuple[str, ...]]
    live: dict[str, tuple[str, ...]]
    changed_meanwhile: bool
    literature: bool
    handed_to_agents: int

    @property
    def text(self) -> str:
        """The paragraph."""
        total = sum(self.checked.values())
        kinds = [f"{_CHECKED[kind][count != 1]} ({count:,})" for kind, count in self.checked.items() if count]
        ended = [f"{self.ended[mark]:,} {words}" for mark, words in _ENDED.items() if self.ended.get(mark)]
        sentences = [
            self._opening,
            f"It was narrowed to {_listed(self.scope)}." if self.scope else "",
            f"{how_many(total, 'check was', 'checks were')} made{f': {_listed(kinds)}' if kinds else ''}.",
            f"The references were {_listed(_named(self.releases))}." if self.releases else "No reference was pinned.",
            f"Services were asked live: {_listed(_named(self.live))}." if self.live else "",
            "Papers of a literature index were asked about edges, too." if self.literature else "",
            f"The graph was taken to be of {self.graph_date}." if self.graph_date else "",
            f"Potential edges counted from a score of {self.threshold:g}." if self.threshold is not None else "",
            f"{how_many(self.handed_to_agents, 'undecided finding')} went to a team of agents."
            if self.handed_to_agents
            else "",
            "Others changed the graph while it was checked." if self.changed_meanwhile else "",
            _JUDGED,
            f"Of the checks, {_listed(ended)}." if ended else "",
        ]
        return " ".join(filter(None, sentences))

    @property
    def _opening(self) -> str:
        nodes, edges = how_many(self.nodes, "node"), how_many(self.edges, "edge")
        graph = f"A knowledge graph read with the profile {self.profile}"
        if self.nodes or self.edges:
            labels, patterns = how_many(self.labels, "label"), how_many(self.patterns, "relation pattern")
            graph += f" ({nodes} of {labels}, {edges} of {patterns})"
        version = f"version {self.kgcheck}" if self.kgcheck else "of a version that the run does not name"
        end = "" if self.finished else ", and the run did not finish"
        return f"{graph} was checked with kgcheck, {version}, on {self.started:%Y-%m-%d} (run {self.run}{end})."


def methods_of(run: Run, tallies: Sequence[Tally]) -> Methods:
    """Methods of a run by what the ledger keeps of it."""
    checked = Counter[CheckType]()
    for tally in tallies:
        checked[tally.type] += tally.count
    releases: dict[str, dict[str, None]] = {}
    for one in run.releases:
        releases.setdefault(one.source, {})[one.release] = None
    nodes = [count for count in run.nodes.values() if count]
    edges = [count for count in run.edges.values() if count]
    return Methods(
        run=run.id,
        kgcheck=run.made_with.get(KGCHECK),
        profile=run.profile,
        started=run.started,
        finished=run.finished,
        nodes=sum(nodes),
        labels=len(nodes),
        edges=sum(edges),
        patterns=len(edges),
        scope=tuple(scope_words(run.options)),
        graph_date=run.options.get("graph_date"),
        threshold=run.options.get("threshold"),
        checked={kind: checked[kind] for kind in CheckType if checked[kind]},
        ended=dict(marks(tallies)),
        releases={source: tuple(named) for source, named in releases.items()},
        live=run.live,
        changed_meanwhile=run.is_mixed,
        literature=bool(run.options.get("literature")),
        handed_to_agents=sum(run.team.values()),
    )


def _named(releases: dict[str, tuple[str, ...]]) -> list[str]:
    """Sources with their releases, as far as they are stated."""
    stated = {source: ", ".join(filter(None, named)) for source, named in releases.items()}
    return [f"{source} ({named})" if named else source for source, named in stated.items()]


def _listed(parts: Sequence[str]) -> str:
    """Parts with commas, and an "and" before the last."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
