"""Methods of ready analyses over a graph: enrichment, network expansion and proximity.

Tests and random sets are computed by scipy.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kgcheck import clock
from kgcheck.errors import MissingExtra, UsageError
from kgcheck.graph.store import GraphStore
from kgcheck.model import Triple
from kgcheck.profile.schema import Pattern
from kgcheck.protocols.programs.analyses import AnalysisLink, AnalysisResult, ReadyAnalysis, ResultFigure, ResultTable
from kgcheck.questions.resolver import NameResolver

try:
    from scipy import sparse, stats
    from scipy.sparse import csgraph
except ImportError as error:
    raise MissingExtra("an analysis", "protocols") from error

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_LEAST_BIN = 100  # nodes of nearly the same degree among which a random one is taken, as Guney et al. (2016) have it
_RESAMPLES = 2_000
_LEAST_FOR_INTERVAL = 3


class Enrichment(NamedTuple):
    """One row a tested term, the same place in each; ``p_without_one``: without the member that speaks most for it."""

    terms: Ints
    hits: Ints
    sizes: Ints
    p: Floats
    adjusted: Floats
    odds: Floats
    p_without_one: Floats
    drawn: int
    background: int


def enrichment(has: Any, chosen: npt.NDArray[np.bool_], least: int, most: int) -> Enrichment:
    """Test terms for over-representation in a set against its background."""
    kept = np.asarray(has.sum(axis=1)).ravel() > 0
    sizes = np.asarray(has.sum(axis=0), dtype=np.int64).ravel()
    hits = np.asarray(has[chosen & kept].sum(axis=0), dtype=np.int64).ravel()
    background, drawn = int(kept.sum()), int((chosen & kept).sum())
    tested = np.flatnonzero((sizes >= least) & (sizes <= most))
    return _over_represented(tested, hits[tested], sizes[tested], drawn, background)


def expansion(adjacency: Any, seeds: Ints, least: int = 1) -> Enrichment:
    """Test nodes that have so many links at least for more of them to some seeds than their degrees explain."""
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.int64).ravel()
    linked = np.asarray(adjacency[:, seeds].sum(axis=1), dtype=np.int64).ravel()
    linked[seeds] = 0
    # All that could be found are tested, whether they are linked to a seed or not.
    others = degrees >= least
    others[seeds] = False
    near = np.flatnonzero(others)
    background = int((degrees > 0).sum()) - 1
    drawn = int((degrees[seeds] > 0).sum())
    return _over_represented(near, linked[near], degrees[near], drawn, background)


def _over_represented(terms: Ints, hits: Ints, sizes: Ints, drawn: int, background: int) -> Enrichment:
    # Fisher's exact test to one side is the upper tail of the hypergeometric distribution.
    p = np.clip(stats.hypergeom.sf(hits - 1, background, sizes, drawn), 0.0, 1.0)
    adjusted = stats.false_discovery_control(p) if len(p) else p
    inside, outside = hits * (background - sizes - drawn + hits), (drawn - hits) * (sizes - hits)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = inside / outside
    left = (
        np.clip(stats.hypergeom.sf(hits - 2, background, sizes, drawn - 1), 0.0, 1.0) if drawn > 1 else np.ones(len(p))
    )
    return Enrichment(terms, hits, sizes, p, adjusted, odds, left, drawn, background)


class Proximity(NamedTuple):
    """Network proximity of two sets, against random sets of the same sizes and degrees.

    ``effect`` is Cohen's d: steps of the genes against those of the genes of all random sets; positive where nearer.
    """

    distance: float
    interval: tuple[float, float] | None
    mean: float
    deviation: float
    z: float | None
    p: float
    effect: float | None
    effect_interval: tuple[float, float] | None


def largest_component(adjacency: Any) -> Ints:
    """Places of the nodes of the largest part of a network that hangs together."""
    _, part = csgraph.connected_components(adjacency, directed=False)
    return np.flatnonzero(part == np.bincount(part).argmax())


def proximity(adjacency: Any, first: Ints, second: Ints, permutations: int, seed: int) -> Proximity:
    """Measure the network proximity of two sets of nodes, by the closest measure of Guney et al. (2016)."""
    random = np.random.default_rng(seed)
    steps = _steps_to(adjacency, second)[first]
    distance = float(steps.mean())
    alike = _alike(np.asarray(adjacency.sum(axis=1)).ravel())
    drawn = np.array(
        [
            _steps_to(adjacency, _redrawn(second, alike, random))[_redrawn(first, alike, random)]
            for _ in range(permutations)
        ]
    )
    others = drawn.mean(axis=1)
    mean, deviation = float(others.mean()), float(others.std(ddof=1))
    # Means that are equal may differ in the last digit.
    nearer = int((others <= distance + 1e-9).sum())
    interval = None
    if len(steps) >= _LEAST_FOR_INTERVAL and float(np.ptp(steps)) > 0.0:
        found = stats.bootstrap((steps,), np.mean, n_resamples=_RESAMPLES, method="percentile", rng=random)
        interval = float(found.confidence_interval.low), float(found.confidence_interval.high)
    own = float(steps.var(ddof=1)) if len(steps) > 1 else 0.0
    freedom = len(steps) + drawn.size - 2
    pooled = math.sqrt(((len(steps) - 1) * own + (drawn.size - 1) * float(drawn.var(ddof=1))) / freedom)
    ends = sorted((float(drawn.mean()) - end) / pooled for end in interval) if interval and pooled else None
    return Proximity(
        distance=distance,
        interval=interval,
        mean=mean,
        deviation=deviation,
        z=(distance - mean) / deviation if deviation > 0 else None,
        p=(nearer + 1) / (permutations + 1),
        effect=(float(drawn.mean()) - distance) / pooled if pooled else None,
        effect_interval=(ends[0], ends[1]) if ends else None,
    )


def _steps_to(adjacency: Any, targets: Ints) -> Floats:
    found: Floats = csgraph.dijkstra(adjacency, directed=False, indices=targets, unweighted=True, min_only=True)
    return found


def _alike(degrees: npt.NDArray[Any]) -> list[Ints]:
    """By node, the nodes of nearly the same degree: those of equal degrees together, and at least so many."""
    by_degree = np.argsort(degrees, kind="stable")
    cuts = np.flatnonzero(np.diff(degrees[by_degree])) + 1
    starts = [0]
    for cut in cuts:
        if cut - starts[-1] >= _LEAST_BIN and len(degrees) - cut >= _LEAST_BIN:
            starts.append(int(cut))
    groups = np.split(by_degree, starts[1:])
    of_node: list[Ints] = [by_degree] * len(degrees)
    for group in groups:
        for node in group:
            of_node[node] = group
    return of_node


def _redrawn(nodes: Ints, alike: list[Ints], random: np.random.Generator) -> Ints:
    drawn: set[int] = set()
    for node in nodes:
        pick = int(random.choice(alike[node]))
        while pick in drawn and not drawn.issuperset(alike[node].tolist()):
            pick = int(random.choice(alike[node]))
        drawn.add(pick)
    return np.array(sorted(drawn), dtype=np.int64)


def matrix(rows: Ints, columns: Ints, shape: tuple[int, int]) -> Any:
    """A sparse matrix of zeros and ones; pairs that come twice count once."""
    made = sparse.csr_matrix((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=shape)
    made.sum_duplicates()
    made.data[:] = 1
    return made


def with_ancestors(has: Any, parents: Any) -> Any:
    """Add to each member the ancestors of its terms; cycles do no harm."""
    while True:
        more = has + has @ parents
        more.data[:] = 1
        if more.nnz == has.nnz:
            return more
        has = more


_FEW_HINT = "name more genes, or lower the least score"
_DIGITS = 6
_BETWEEN = "\x1f"  # between the ids of an edge: no id has it


def gene_set(
    resolver: NameResolver, label: str, names: Iterable[str]
) -> tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]:
    """The nodes of a label that names or ids mean; names that mean none, and those that mean several."""
    nodes = {name: resolver.in_graph(label, name) for name in filter(None, (name.strip() for name in names))}
    found = {name: own[0].ref.id for name, own in nodes.items() if len(own) == 1}
    unknown, several = (tuple(n for n in nodes if n not in found and bool(nodes[n]) is many) for many in (False, True))
    return found, unknown, several


class AnalysisGraph:
    """The edges of a graph that stand, as matrices."""

    def __init__(self, store: GraphStore, refuted: Iterable[Triple] = (), resolver: NameResolver | None = None) -> None:
        self.store = store
        self.resolver = resolver or NameResolver(store.schema, store)
        self.edges = 0
        self.left_out = 0
        self._refuted: dict[str, list[str]] = {}
        for triple in refuted:
            pattern = f"{triple.head.label} {triple.relation} {triple.tail.label}"
            self._refuted.setdefault(pattern, []).append(f"{triple.head.id}{_BETWEEN}{triple.tail.id}")

    def pairs(self, pattern: Pattern, least: float | None = None) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
        """Heads and tails of the edges of a pattern that stand, each pair once."""
        tables = [
            t.select([c for c in ("head", "tail", "score") if c in t.column_names])
            for t in self.store.scan_edges(pattern)
        ]
        if not tables:
            return pa.chunked_array([], pa.string()), pa.chunked_array([], pa.string())
        table = pa.concat_tables(tables)
        if least is not None and "score" in table.column_names:
            table = table.filter(pc.greater_equal(table["score"], least))
        table = table.select(["head", "tail"]).drop_null().group_by(["head", "tail"]).aggregate([])
        wrong = pa.array(self._refuted.get(str(pattern), []), pa.string())
        joined = pc.binary_join_element_wise(table["head"], table["tail"], _BETWEEN)
        stands = pc.invert(pc.is_in(joined, wrong))
        kept = table.filter(stands)
        self.left_out += table.num_rows - kept.num_rows
        self.edges += kept.num_rows
        return kept["head"], kept["tail"]

    def network(self, label: str, links: Iterable[tuple[AnalysisLink, float | None]]) -> tuple[list[str], Any]:
        """The network of a label: ids, and who is linked to whom, in either direction; none to itself."""
        patterns = [(self.store.schema.pattern(label, link.relation, link.label), least) for link, least in links]
        heads, tails = zip(*(self.pairs(pattern, least) for pattern, least in patterns), strict=True)
        ids, (rows, columns) = _numbered(_joined(heads), _joined(tails))
        apart = rows != columns
        rows, columns = rows[apart], columns[apart]
        both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        return ids, matrix(*both, (len(ids), len(ids)))

    def terms(self, label: str, link: AnalysisLink) -> tuple[list[str], list[str], Any]:
        """Return ids of members, ids of terms, and the matrix of both, with ancestors if wanted."""
        heads, tails = self.pairs(self.store.schema.pattern(label, link.relation, link.label))
        members, (rows,) = _numbered(heads)
        if not link.up:
            terms, (columns,) = _numbered(tails)
            return members, terms, matrix(rows, columns, (len(members), len(terms)))
        children, parents = self.pairs(self.store.schema.pattern(link.label, link.up, link.label))
        terms, (columns, below, above) = _numbered(tails, children, parents)
        size = len(terms)
        has = matrix(rows, columns, (len(members), size))
        return members, terms, with_ancestors(has, matrix(below, above, (size, size)))

    def names(self, label: str, ids: list[str]) -> dict[str, str]:
        found = self.store.nodes(self.store.schema.label(label), ids)
        return {id_: str(node.get("name") or id_) for id_, node in found.items()}


def _joined(columns: Iterable[pa.ChunkedArray]) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string())


def _numbered(*columns: pa.ChunkedArray) -> tuple[list[str], list[npt.NDArray[np.int64]]]:
    """All ids of some columns in their order, and each column by their places."""
    ids = pc.unique(_joined(columns)).sort()
    return ids.to_pylist(), [np.asarray(pc.index_in(c, ids), dtype=np.int64) for c in columns]


def run_analysis(
    analysis: ReadyAnalysis,
    graph: AnalysisGraph,
    names: Iterable[str],
    *,
    target: str = "",
    parameters: Mapping[str, str] | None = None,
    seed: int = 1,
) -> AnalysisResult:
    """Run a ready analysis."""
    numbers = analysis.numbers(dict(parameters or {}))
    genes, unknown, several = gene_set(graph.resolver, analysis.member, names)
    if not genes:
        missing = ", ".join((*unknown, *several)[:10]) or "none is named"
        raise UsageError(
            f"the graph has no {analysis.member} of the gene set: {missing}", "name them by id, or as the graph does"
        )
    run = _Run(analysis, graph, list(genes.values()), target, numbers, seed)
    {"enrichment": run.enrich, "expansion": run.expand, "proximity": run.measure}[analysis.method]()
    return AnalysisResult(
        analysis=analysis.name,
        title=analysis.title,
        made_at=clock.now(),
        store=graph.store.name,
        seed=seed if "permutations" in numbers else None,
        parameters=numbers,
        statistics=analysis.statistics,
        genes=genes,
        unknown=unknown,
        several=several,
        edges=graph.edges,
        left_out=graph.left_out,
        figures=run.figures,
        tables=tuple(run.tables),
        notes=tuple(run.notes),
    )


_COLUMNS = (
    *("id", "name", "hits", "size", "p_value", "adjusted_p_value", "odds_ratio", "odds_ratio_low", "odds_ratio_high"),
    *("p_value_without_one", "members"),
)


@dataclass
class _Run:
    """One analysis of a set of genes, by their ids, with what it has found."""

    analysis: ReadyAnalysis
    graph: AnalysisGraph
    genes: list[str]
    target: str
    numbers: dict[str, int | float]
    seed: int
    figures: dict[str, ResultFigure] = field(default_factory=dict)
    tables: list[ResultTable] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def enrich(self) -> None:
        """Terms of which the genes have more than others of the graph."""
        called = self.graph.names(self.analysis.member, self.genes)
        for link in self.analysis.links:
            members, terms, has = self.graph.terms(self.analysis.member, link)
            chosen = np.isin(members, self.genes)
            kind = link.label.replace("_", " ")
            if chosen.sum() < self.analysis.least_genes:
                self.notes.append(f"{kind}: {self._too_few(int(chosen.sum()), 'have one')}")
                continue
            found = enrichment(has, chosen, int(self.numbers["least_members"]), int(self.numbers["most_members"]))
            names = [called.get(id_, id_) for id_, is_in in zip(members, chosen, strict=True) if is_in]
            passed = self._tabulate(kind, link.label, terms, found, names, has[chosen].T.tocsr())
            rate = "adjusted p value after Benjamini and Hochberg up to the false discovery rate"
            background = "members of the graph with any annotation of the kind"
            self._count(f"{kind}: terms tested", len(found.terms))
            self._count(f"{kind}: terms enriched", passed, rate)
            self._count(f"{kind}: genes with annotation", found.drawn)
            self._count(f"{kind}: background", found.background, background)

    def expand(self) -> None:
        """Nodes that are linked to more of the genes than their degrees explain."""
        ids, adjacency = self._network()
        # One that is linked to itself alone has no partner.
        seeds = np.flatnonzero(np.isin(ids, self.genes) & (np.asarray(adjacency.sum(axis=1)).ravel() > 0))
        if len(seeds) < self.analysis.least_genes:
            raise UsageError(self._too_few(len(seeds), "are in the network"), _FEW_HINT)
        least = int(self.numbers["least_links"])
        found = expansion(adjacency, seeds, least)
        called = self.graph.names(self.analysis.member, [ids[place] for place in seeds])
        names = [called.get(ids[place], ids[place]) for place in seeds]
        passed = self._tabulate(
            "expanded gene set", self.analysis.member, ids, found, names, adjacency[:, seeds], least
        )
        self._note_lost(len(seeds))
        self._count("genes in the network", len(seeds))
        self._count("nodes of the network", len(ids))
        self._count("edges of the network", int(adjacency.nnz) // 2)
        self._count("edges between genes of the set", int(adjacency[seeds][:, seeds].nnz) // 2)
        self._count("neighbours tested", len(found.terms))
        self._count("neighbours found", passed, f"with {least} links to genes of the set at least")

    def measure(self) -> None:
        """The network proximity of the genes to those of a target."""
        link, node = target_of(self.analysis, self.graph.resolver, self.target)
        pattern = self.graph.store.schema.pattern(self.analysis.member, link.relation, link.label)
        heads, tails = self.graph.pairs(pattern, self._least(link))
        of_target = heads.filter(pc.equal(tails, node)).to_pylist()
        ids, adjacency = self._network()
        if not of_target or not ids:
            missing = f"the graph has no {self.analysis.member} of {self.target} with that score"
            raise UsageError(missing, "lower the least score")
        within = largest_component(adjacency)
        ids, adjacency = [ids[place] for place in within], adjacency[within][:, within]
        first, members = (np.flatnonzero(np.isin(ids, some)) for some in (self.genes, of_target))
        # A gene is no step away from itself: what is in both is left out of the target.
        second = np.setdiff1d(members, first)
        both, least = len(members) - len(second), self.analysis.least_genes
        if len(first) < least or len(second) < least:
            there = f"{len(first)} genes of the set and {len(second)} others of {self.target} are in the network"
            raise UsageError(f"{there}: of fewer than {least} nothing can be said", _FEW_HINT)
        if both:
            self.notes.append(f"{both} genes of the set are of {self.target} themselves: left out of the target")
        self._note_lost(len(first))
        permutations = int(self.numbers["permutations"])
        found = proximity(adjacency, first, second, permutations, self.seed)
        if found.z is None:
            self.notes.append("random sets are all as near: there is no z-score")
        near, far = found.interval or (None, None)
        low, high = found.effect_interval or (None, None)
        mean = "steps from a gene of the set to the nearest gene of the target, mean"
        interval = "95 % interval by bootstrap over the set"
        for name, value, description, unit in (
            ("network proximity", found.distance, mean, "steps"),
            ("random network proximity", found.mean, "mean of random sets of the same degrees", "steps"),
            ("random network proximity deviation", found.deviation, "", "steps"),
            ("p value", found.p, "permutation test, as near or nearer", ""),
            ("permutations", permutations, "", ""),
            ("genes of the set in the network", len(first), "", ""),
            ("genes of the target in the network", len(second), "", ""),
            ("genes in both", both, "left out of the target", ""),
            ("nodes of the network", len(ids), "", ""),
            ("z-score", found.z, "", ""),
            ("Cohen's d", found.effect, "steps of random genes less those of the set, in deviations", ""),
            ("Cohen's d low", low, interval, ""),
            ("Cohen's d high", high, interval, ""),
            ("network proximity low", near, interval, "steps"),
            ("network proximity high", far, interval, "steps"),
        ):
            if value is not None:
                self._count(name, _rounded(value) if isinstance(value, float) else value, description, unit)

    def _too_few(self, count: int, verb: str) -> str:
        least = self.analysis.least_genes
        return f"{count} of {len(self.genes)} genes {verb}: of fewer than {least} nothing can be said"

    def _note_lost(self, there: int) -> None:
        if there < len(self.genes):
            self.notes.append(f"only {there} of {len(self.genes)} genes are in the network: the result is about them")

    def _count(self, name: str, value: int | float, description: str = "", unit: str = "") -> None:
        self.figures[name] = ResultFigure(value=value, unit=unit, description=description)

    def _least(self, link: AnalysisLink) -> float | None:
        return float(self.numbers[link.least]) if link.least else None

    def _network(self) -> tuple[list[str], Any]:
        return self.graph.network(self.analysis.member, [(link, self._least(link)) for link in self.analysis.links])

    def _tabulate(
        self, name: str, label: str, ids: list[str], found: Enrichment, members: list[str], has: Any, least: int = 1
    ) -> int:
        """The rows that are reported, the surest first, each with the members that speak for it; how many passed."""
        passed = np.flatnonzero((found.adjusted <= self.numbers["false_discovery_rate"]) & (found.hits >= least))
        order = passed[np.lexsort((found.terms[passed], -found.hits[passed], found.p[passed]))]
        best = order[: int(self.numbers["rows"])].tolist()
        names = self.graph.names(label, [ids[found.terms[row]] for row in best])
        rows = []
        for row in best:
            term, hits, size = int(found.terms[row]), int(found.hits[row]), int(found.sizes[row])
            out = size - hits
            table = np.array([[hits, found.drawn - hits], [out, found.background - found.drawn - out]])
            # The 95 % interval of the conditional odds ratio; its upper end may be infinite.
            interval = stats.contingency.odds_ratio(table).confidence_interval(0.95)
            numbers = (found.p[row], found.adjusted[row], found.odds[row], *interval, found.p_without_one[row])
            cells = [_rounded(float(number)) if math.isfinite(number) else None for number in numbers]
            who = ", ".join(sorted(members[place] for place in has[term].nonzero()[1]))
            rows.append((ids[term], names.get(ids[term], ids[term]), hits, size, *cells, who))
        self.tables.append(ResultTable(name=name, columns=_COLUMNS, rows=tuple(rows)))
        return len(passed)


def target_of(analysis: ReadyAnalysis, resolver: NameResolver, name: str) -> tuple[AnalysisLink, str]:
    """Find the target to compare a gene set with."""
    labels = ", ".join(link.label for link in analysis.targets)
    if not name:
        raise UsageError(f"{analysis.name} needs a target", f"name one with --target: {labels}")
    for link in analysis.targets:
        if found := gene_set(resolver, link.label, [name])[0]:
            return link, found[name]
    raise UsageError(f"the graph has no one node {name!r} to hold a gene set against", f"name one by its id: {labels}")


def _rounded(number: float) -> float:
    return float(f"{number:.{_DIGITS}g}")
