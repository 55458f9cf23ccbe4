"""Statistics over gene sets, terms and networks, computed by scipy; nothing here knows a graph or a file."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kgcheck.errors import MissingExtra

try:
    from scipy import sparse, stats
    from scipy.sparse import csgraph
except ImportError as error:
    raise MissingExtra("an analysis", "protocols") from error

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_LEAST_BIN = 100
"""Nodes of nearly the same degree among which a random one is taken, as Guney et al. (2016) have it."""

_RESAMPLES = 2_000
_LEAST_FOR_INTERVAL = 3


class Enrichment(NamedTuple):
    """One row a tested term, the same place in each."""

    terms: Ints
    hits: Ints
    sizes: Ints
    p: Floats
    adjusted: Floats
    odds: Floats
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


def expansion(adjacency: Any, seeds: Ints) -> Enrichment:
    """Test nodes for more links to some seeds than their degrees explain."""
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.int64).ravel()
    linked = np.asarray(adjacency[:, seeds].sum(axis=1), dtype=np.int64).ravel()
    linked[seeds] = 0
    near = np.flatnonzero(linked)
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
    return Enrichment(terms, hits, sizes, p, adjusted, odds, drawn, background)


def odds_interval(hits: int, size: int, drawn: int, background: int) -> tuple[float, float] | None:
    """The 95 % interval of the conditional odds ratio; none where it has no end."""
    table = [[hits, drawn - hits], [size - hits, background - size - drawn + hits]]
    found = stats.contingency.odds_ratio(np.array(table)).confidence_interval(0.95)
    low, high = float(found.low), float(found.high)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


class Proximity(NamedTuple):
    """Network proximity of two sets, against random sets of the same sizes and degrees."""

    distance: float
    interval: tuple[float, float] | None
    mean: float
    deviation: float
    z: float | None
    p: float
    permutations: int


def largest_component(adjacency: Any) -> Ints:
    """Places of the nodes of the largest part of a network that hangs together."""
    _, part = csgraph.connected_components(adjacency, directed=False)
    return np.flatnonzero(part == np.bincount(part).argmax())


def proximity(adjacency: Any, first: Ints, second: Ints, permutations: int, seed: int) -> Proximity:
    """Measure the network proximity of two sets of nodes, by the closest measure of Guney et al. (2016)."""
    random = np.random.default_rng(seed)
    steps = _steps_to(adjacency, second)[first]
    distance = float(steps.mean())
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    alike = _alike(degrees)
    others = np.array(
        [
            _steps_to(adjacency, _redrawn(second, alike, random))[_redrawn(first, alike, random)].mean()
            for _ in range(permutations)
        ]
    )
    deviation = float(others.std(ddof=1))
    # Means that are equal may differ in the last digit.
    nearer = int((others <= distance + 1e-9).sum())
    return Proximity(
        distance=distance,
        interval=_interval(steps, random),
        mean=float(others.mean()),
        deviation=deviation,
        z=(distance - float(others.mean())) / deviation if deviation > 0 else None,
        p=(nearer + 1) / (permutations + 1),
        permutations=permutations,
    )


def _steps_to(adjacency: Any, targets: Ints) -> Floats:
    """The steps from each node to the nearest target."""
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
    """Other nodes of the same degrees, none twice."""
    drawn: set[int] = set()
    for node in nodes:
        pick = int(random.choice(alike[node]))
        while pick in drawn and not drawn.issuperset(alike[node].tolist()):
            pick = int(random.choice(alike[node]))
        drawn.add(pick)
    return np.array(sorted(drawn), dtype=np.int64)


def _interval(steps: Floats, random: np.random.Generator) -> tuple[float, float] | None:
    if len(steps) < _LEAST_FOR_INTERVAL or float(np.ptp(steps)) == 0.0:
        return None
    found = stats.bootstrap(
        (steps,), np.mean, n_resamples=_RESAMPLES, method="percentile", rng=random
    ).confidence_interval
    return float(found.low), float(found.high)


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
