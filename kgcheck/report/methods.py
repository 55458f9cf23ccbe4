"""Write a run as a methods paragraph for a paper: checks, references, time and versions."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kgcheck.ledger.run import KGCHECK, Run
from kgcheck.model import CheckType, Tally, TallyMark
from kgcheck.plurals import how_many
from kgcheck.report.documents import scope_words
from kgcheck.report.tables import marks

_CHECKED = {
    CheckType.EXISTENCE: ("whether a node exists", "whether nodes exist"),
    CheckType.ATTRIBUTE: ("the value of an attribute", "values of attributes"),
    CheckType.TRIPLE: ("whether an edge is supported", "whether edges are supported"),
    CheckType.POTENTIAL: ("an edge that may be missing", "edges that may be missing"),
    CheckType.STRUCTURE: ("a hit of a structural rule", "hits of structural rules"),
    CheckType.EVIDENCE: ("whether a cited paper bears an edge", "whether cited papers bear edges"),
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


def methods_text(run: Run, tallies: Sequence[Tally]) -> str:
    """Describe how a graph was checked, by what the ledger keeps of a run."""
    checked, options = Counter[CheckType](), run.options
    for tally in tallies:
        checked[tally.type] += tally.count
    kinds = [f"{_CHECKED[kind][checked[kind] != 1]} ({checked[kind]:,})" for kind in CheckType if checked[kind]]
    counts, releases = marks(tallies), dict[str, dict[str, None]]()
    ended = [f"{counts[mark]:,} {words}" for mark, words in _ENDED.items() if counts[mark]]
    for one in run.releases:
        releases.setdefault(one.source, {})[one.release] = None
    scope, team = scope_words(options), sum(run.team.values())
    sentences = [
        _opening(run),
        f"It was narrowed to {_listed(scope)}." if scope else "",
        f"{how_many(checked.total(), 'check was', 'checks were')} made{f': {_listed(kinds)}' if kinds else ''}.",
        f"The references were {_listed(_named(releases))}." if releases else "No reference was pinned.",
        f"Services were asked live: {_listed(_named(run.live))}." if run.live else "",
        "Papers of a literature index were asked about edges, too." if options.get("literature") else "",
        f"The graph was taken to be of {options['graph_date']}." if options.get("graph_date") else "",
        f"Potential edges counted from a score of {options['threshold']:g}."
        if options.get("threshold") is not None
        else "",
        f"{how_many(team, 'undecided finding')} went to a team of agents." if team else "",
        "Others changed the graph while it was checked." if run.is_mixed else "",
        _JUDGED,
        f"Of the checks, {_listed(ended)}." if ended else "",
    ]
    return " ".join(filter(None, sentences))


def _opening(run: Run) -> str:
    nodes, edges = ([count for count in counts.values() if count] for counts in (run.nodes, run.edges))
    graph = f"A knowledge graph read with the profile {run.profile}"
    if nodes or edges:
        graph += f" ({how_many(sum(nodes), 'node')} of {how_many(len(nodes), 'label')}"
        graph += f", {how_many(sum(edges), 'edge')} of {how_many(len(edges), 'relation pattern')})"
    named = run.made_with.get(KGCHECK)
    version = f"version {named}" if named else "of a version that the run does not name"
    end = "" if run.finished else ", and the run did not finish"
    return f"{graph} was checked with kgcheck, {version}, on {run.started:%Y-%m-%d} (run {run.id}{end})."


def _named(releases: Mapping[str, Iterable[str]]) -> list[str]:
    """Sources with their releases, as far as they are stated."""
    stated = {source: ", ".join(filter(None, named)) for source, named in releases.items()}
    return [f"{source} ({named})" if named else source for source, named in stated.items()]


def _listed(parts: Sequence[str]) -> str:
    """Parts with commas, and an "and" before the last."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
