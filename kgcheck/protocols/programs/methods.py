"""The methods of ready analyses, over any graph store: edges in, minus those that an audit refuted, figures out."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kgcheck import clock
from kgcheck.errors import UsageError
from kgcheck.graph.store import GraphStore
from kgcheck.model import Triple
from kgcheck.profile.schema import Pattern
from kgcheck.protocols.programs import statistics as st
from kgcheck.protocols.programs.analyses import (
    AnalysisLink,
    AnalysisResult,
    ReadyAnalysis,
    ResultFigure,
    ResultTable,
)
from kgcheck.questions.resolver import NameResolver

_DIGITS = 6
_BETWEEN = "\x1f"
"""Between the ids of an edge: no id has it."""


class GeneSet(NamedTuple):
    """Nodes that names mean."""

    found: dict[str, str]
    unknown: tuple[str, ...]
    several: tuple[str, ...]


def gene_set(resolver: NameResolver, label: str, names: Iterable[str]) -> GeneSet:
    """The nodes of a label that names or ids mean."""
    found: dict[str, str] = {}
    unknown: list[str] = []
    several: list[str] = []
    for name in dict.fromkeys(name.strip() for name in names if name.strip()):
        nodes = resolver.in_graph(label, name)
        if len(nodes) == 1:
            found[name] = nodes[0].ref.id
        else:
            (several if nodes else unknown).append(name)
    return GeneSet(found, tuple(unknown), tuple(several))


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
        heads, tails = [], []
        for link, least in links:
            head, tail = self.pairs(self.store.schema.pattern(label, link.relation, link.label), least)
            heads.append(head)
            tails.append(tail)
        ids, (rows, columns) = _numbered(_joined(heads), _joined(tails))
        apart = rows != columns
        rows, columns = rows[apart], columns[apart]
        both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        return ids, st.matrix(*both, (len(ids), len(ids)))

    def terms(self, label: str, link: AnalysisLink) -> tuple[list[str], list[str], Any]:
        """Return ids of members, ids of terms, and the matrix of both, with ancestors if wanted."""
        heads, tails = self.pairs(self.store.schema.pattern(label, link.relation, link.label))
        members, (rows,) = _numbered(heads)
        if not link.up:
            terms, (columns,) = _numbered(tails)
            return members, terms, st.matrix(rows, columns, (len(members), len(terms)))
        children, parents = self.pairs(self.store.schema.pattern(link.label, link.up, link.label))
        terms, (columns, below, above) = _numbered(tails, children, parents)
        size = len(terms)
        has = st.matrix(rows, columns, (len(members), size))
        return members, terms, st.with_ancestors(has, st.matrix(below, above, (size, size)))

    def names(self, label: str, ids: list[str]) -> dict[str, str]:
        """Look up the names of nodes, by id."""
        found = self.store.nodes(self.store.schema.label(label), ids)
        return {id_: str(node.get("name") or id_) for id_, node in found.items()}


def _joined(columns: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string())


def _numbered(*columns: pa.ChunkedArray) -> tuple[list[str], list[npt.NDArray[np.int64]]]:
    """All ids of some columns in their order, and each column by their places."""
    ids = pc.unique(_joined(list(columns))).sort()
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
    genes = gene_set(graph.resolver, analysis.member, names)
    if not genes.found:
        missing = ", ".join((*genes.unknown, *genes.several)[:10]) or "none is named"
        raise UsageError(
            f"the graph has no {analysis.member} of the gene set: {missing}", "name them by id, or as the graph does"
        )
    figures, tables, notes = _METHODS[analysis.method](analysis, graph, genes, target, numbers, seed)
    return AnalysisResult(
        analysis=analysis.name,
        title=analysis.title,
        made_at=clock.now(),
        store=graph.store.name,
        seed=seed if "permutations" in numbers else None,
        parameters=numbers,
        statistics=analysis.statistics,
        genes=genes.found,
        unknown=genes.unknown,
        several=genes.several,
        edges=graph.edges,
        left_out=graph.left_out,
        figures=figures,
        tables=tuple(tables),
        notes=tuple(notes),
    )


_Found = tuple[dict[str, ResultFigure], list[ResultTable], list[str]]

_ROW = ("hits", "size", "p_value", "adjusted_p_value", "odds_ratio", "odds_ratio_low", "odds_ratio_high", "members")


def _enrichment(
    analysis: ReadyAnalysis,
    graph: AnalysisGraph,
    genes: GeneSet,
    target: str,
    numbers: dict[str, int | float],
    seed: int,
) -> _Found:
    figures: dict[str, ResultFigure] = {}
    tables, notes = [], []
    called = graph.names(analysis.member, list(genes.found.values()))
    for link in analysis.links:
        members, terms, has = graph.terms(analysis.member, link)
        chosen = np.isin(members, list(genes.found.values()))
        kind = link.label.replace("_", " ")
        if not chosen.any():
            notes.append(f"no gene of the set has a {kind}")
            continue
        found = st.enrichment(has, chosen, int(numbers["least_members"]), int(numbers["most_members"]))
        rows = _best(found, numbers)
        ids = [terms[found.terms[row]] for row in rows]
        names = graph.names(link.label, ids)
        of_term = has[chosen].tocsc()
        set_ids = [id_ for id_, is_in in zip(members, chosen, strict=True) if is_in]
        listed = []
        for row, id_ in zip(rows, ids, strict=True):
            place = int(found.terms[row])
            having = of_term.indices[of_term.indptr[place] : of_term.indptr[place + 1]]
            who = ", ".join(sorted(called.get(set_ids[m], set_ids[m]) for m in having))
            listed.append((id_, names.get(id_, id_), *_cells(found, row), who))
        tables.append(ResultTable(name=kind, columns=("id", "name", *_ROW), rows=tuple(listed)))
        figures |= {
            f"{kind}: terms tested": ResultFigure(value=len(found.terms)),
            f"{kind}: terms enriched": ResultFigure(
                value=int((found.adjusted <= numbers["false_discovery_rate"]).sum()),
                description="adjusted p value after Benjamini and Hochberg up to the false discovery rate",
            ),
            f"{kind}: genes with annotation": ResultFigure(value=found.drawn),
            f"{kind}: background": ResultFigure(
                value=found.background, description="members of the graph with any annotation of the kind"
            ),
        }
    return figures, tables, notes


def _expansion(
    analysis: ReadyAnalysis,
    graph: AnalysisGraph,
    genes: GeneSet,
    target: str,
    numbers: dict[str, int | float],
    seed: int,
) -> _Found:
    ids, adjacency = graph.network(analysis.member, _scored(analysis, numbers))
    seeds = np.flatnonzero(np.isin(ids, list(genes.found.values())))
    found = st.expansion(adjacency, seeds)
    rows = _best(found, numbers)
    best = [ids[found.terms[row]] for row in rows]
    names = graph.names(analysis.member, [*best, *(ids[place] for place in seeds)])
    listed = []
    for row, id_ in zip(rows, best, strict=True):
        near = [names.get(ids[place], ids[place]) for place in seeds if adjacency[int(found.terms[row]), place]]
        listed.append((id_, names.get(id_, id_), *_cells(found, row), ", ".join(sorted(near))))
    figures = {
        "genes in the network": ResultFigure(value=len(seeds)),
        "nodes of the network": ResultFigure(value=len(ids)),
        "edges of the network": ResultFigure(value=int(adjacency.nnz) // 2),
        "edges between genes of the set": ResultFigure(value=int(adjacency[seeds][:, seeds].nnz) // 2),
        "neighbours tested": ResultFigure(value=len(found.terms)),
        "neighbours found": ResultFigure(value=int((found.adjusted <= numbers["false_discovery_rate"]).sum())),
    }
    table = ResultTable(name="expanded gene set", columns=("id", "name", *_ROW), rows=tuple(listed))
    return figures, [table], [] if len(seeds) else ["no gene of the set has an edge in the network"]


def target_of(analysis: ReadyAnalysis, resolver: NameResolver, name: str) -> tuple[AnalysisLink, str]:
    """Find the target to compare a gene set with."""
    labels = ", ".join(link.label for link in analysis.targets)
    if not name:
        raise UsageError(f"{analysis.name} needs a target", f"name one with --target: {labels}")
    for link in analysis.targets:
        if found := gene_set(resolver, link.label, [name]).found:
            return link, found[name]
    raise UsageError(f"the graph has no one node {name!r} to hold a gene set against", f"name one by its id: {labels}")


def _proximity(
    analysis: ReadyAnalysis,
    graph: AnalysisGraph,
    genes: GeneSet,
    target: str,
    numbers: dict[str, int | float],
    seed: int,
) -> _Found:
    link, node = target_of(analysis, graph.resolver, target)
    least = float(numbers[link.least]) if link.least else None
    heads, tails = graph.pairs(graph.store.schema.pattern(analysis.member, link.relation, link.label), least)
    of_target = set(heads.filter(pc.equal(tails, node)).to_pylist())
    ids, adjacency = graph.network(analysis.member, _scored(analysis, numbers))
    if not of_target or not ids:
        raise UsageError(f"the graph has no {analysis.member} of {target} with that score", "lower the least score")
    within = st.largest_component(adjacency)
    ids = [ids[place] for place in within]
    adjacency = adjacency[within][:, within]
    first = np.flatnonzero(np.isin(ids, list(genes.found.values())))
    second = np.flatnonzero(np.isin(ids, list(of_target)))
    if not len(first) or not len(second):
        raise UsageError(
            f"{len(first)} genes of the set and {len(second)} of {target} are in the network", "lower the least score"
        )
    found = st.proximity(adjacency, first, second, int(numbers["permutations"]), seed)
    about = "steps from a gene of the set to the nearest gene of the target, mean"
    figures = {
        "network proximity": ResultFigure(value=_rounded(found.distance), unit="steps", description=about),
        "random network proximity": ResultFigure(
            value=_rounded(found.mean), unit="steps", description="mean of random sets of the same degrees"
        ),
        "random network proximity deviation": ResultFigure(value=_rounded(found.deviation), unit="steps"),
        "p value": ResultFigure(value=_rounded(found.p), description="permutation test, as near or nearer"),
        "permutations": ResultFigure(value=found.permutations),
        "genes of the set in the network": ResultFigure(value=len(first)),
        "genes of the target in the network": ResultFigure(value=len(second)),
        "genes in both": ResultFigure(value=len(np.intersect1d(first, second))),
        "nodes of the network": ResultFigure(value=len(ids)),
    }
    if found.z is not None:
        figures["z-score"] = ResultFigure(value=_rounded(found.z))
    if found.interval:
        figures["network proximity low"], figures["network proximity high"] = (
            ResultFigure(value=_rounded(end), unit="steps", description="95 % interval by bootstrap over the set")
            for end in found.interval
        )
    notes = [] if found.z is not None else ["random sets are all as near: there is no z-score"]
    return figures, [], notes


_METHODS = {"enrichment": _enrichment, "expansion": _expansion, "proximity": _proximity}


def _scored(analysis: ReadyAnalysis, numbers: Mapping[str, int | float]) -> list[tuple[AnalysisLink, float | None]]:
    return [(link, float(numbers[link.least]) if link.least else None) for link in analysis.links]


def _best(found: st.Enrichment, numbers: Mapping[str, int | float]) -> list[int]:
    """The rows that are reported, the surest first."""
    passed = np.flatnonzero((found.adjusted <= numbers["false_discovery_rate"]) & (found.hits > 0))
    order = passed[np.lexsort((found.terms[passed], -found.hits[passed], found.p[passed]))]
    return [int(row) for row in order[: int(numbers["rows"])]]


def _cells(found: st.Enrichment, row: int) -> tuple[int | float | None, ...]:
    hits, size, odds = int(found.hits[row]), int(found.sizes[row]), float(found.odds[row])
    low, high = st.odds_interval(hits, size, found.drawn, found.background) or (None, None)
    return (
        hits,
        size,
        _rounded(float(found.p[row])),
        _rounded(float(found.adjusted[row])),
        _rounded(odds) if math.isfinite(odds) else None,
        None if low is None else _rounded(low),
        None if high is None else _rounded(high),
    )


def _rounded(number: float) -> float:
    return float(f"{number:.{_DIGITS}g}")
