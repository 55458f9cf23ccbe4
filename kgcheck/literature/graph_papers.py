"""Gather abstracts for a graph: those that its edges cite, then those that name both ends of undecided edges.

Papers that a service lacks, and edges that were searched, are noted beside the index, so that the same call goes on
where the one before ended, and asks again only after some time.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Literal, NamedTuple

from kgcheck import clock
from kgcheck.duck import connected
from kgcheck.errors import InputError
from kgcheck.graph.citations import citations_sql
from kgcheck.graph.store import GraphStore
from kgcheck.inputs import parse_json, read_whole
from kgcheck.literature.corpus import Corpus
from kgcheck.literature.formats import Record
from kgcheck.literature.gather import FOLDER, SERVICES, paper_with
from kgcheck.literature.pairs import EdgeClaim
from kgcheck.outputs import write_text
from kgcheck.providers.http import Http
from kgcheck.providers.paper_service import PaperRecord, PaperService, lots

GraphPaperSource = Literal["europepmc", "pubmed"]

AGAIN = timedelta(days=30)
"""Time after which a paper that a service lacked, or an edge that was searched, is asked for again."""

_TOGETHER, _EACH, _NAMES = 50, 5, 3
_FIELDS: Mapping[GraphPaperSource, tuple[str, ...]] = {
    "europepmc": ('TITLE:"{}"', 'ABSTRACT:"{}"'),
    "pubmed": ('"{}"[Title/Abstract]',),
}


class GraphPapers(NamedTuple):
    """Result: records by what became of them, papers that edges cite, and those that the service lacks.

    Then edges that were searched now, and papers and edges that were not asked for, as the budget was spent.
    """

    counts: dict[str, int]
    cited: int
    lacking: int
    searched: int
    waiting: int


def cited_papers(store: GraphStore) -> list[str]:
    """Ids of the papers that properties of edges name by PMID, those that most edges cite first."""
    counts: Counter[str] = Counter()
    with connected() as db:
        for pattern in store.schema.relations:
            cited = citations_sql(pattern, "scanned")
            for table in store.scan_edges(pattern) if cited else ():
                db.register("scanned", table)
                rows = db.execute(f"SELECT paper, count(*) FROM ({cited}) WHERE paper LIKE 'pmid:%' GROUP BY paper")
                counts.update(dict(rows.fetchall()))
    return sorted(counts, key=lambda paper: (-counts[paper], len(paper), paper))


def gather_for_graph(
    cited: Sequence[str],
    claims: Iterable[tuple[str, EdgeClaim]],
    corpus: Corpus,
    http: Http,
    *,
    source: GraphPaperSource = "europepmc",
    limit: int,
) -> GraphPapers:
    """Put at most ``limit`` more papers into an index, which is not built yet: cited ones, then those on edges."""
    work = _Gathering(corpus, http, source, limit)
    wanted = [paper for paper in cited if work.lacks(paper) and work.is_due(paper)]
    chosen = wanted[:limit]
    for lot in lots(chosen, _TOGETHER):
        found = work.service.records(lot)
        work.add(found.values())
        # Also those that it has without an abstract.
        work.note(filter(work.lacks, lot))
    searched = waiting = 0
    for name, claim in claims:
        query = _query(claim, source)
        if not query or not work.is_due(name):
            continue
        if work.left <= 0:
            waiting += 1
            continue
        work.add(work.service.page(query, "", min(_EACH, work.left)).records)
        work.note([name])
        searched += 1
    lacking = sum(work.lacks(paper) and not work.is_due(paper) for paper in cited)
    return GraphPapers(dict(work.counts), len(cited), lacking, searched, len(wanted) - len(chosen) + waiting)


class _Gathering:
    """Papers that come into an index, and the notes beside it."""

    def __init__(self, corpus: Corpus, http: Http, source: GraphPaperSource, limit: int) -> None:
        self._corpus, self._source = corpus, source
        self._today = clock.today()
        self.service: PaperService = SERVICES[source](http, http.settings, self._today.isoformat())
        self.counts: Counter[str] = Counter()
        self._limit, self._came = limit, 0
        self._file = corpus.folder / FOLDER / f"graph-{source}.json"
        self._tried: dict[str, str] = {}
        # Only what is asked for again depends on these notes.
        with suppress(InputError, ValueError, AttributeError):
            if self._file.is_file():
                self._tried = {str(name): str(day) for name, day in parse_json(read_whole(self._file)).items()}
        self._since = (self._today - AGAIN).isoformat()

    @property
    def left(self) -> int:
        return self._limit - self._came

    def lacks(self, paper: str) -> bool:
        return self._corpus.store.number_of(paper) is None

    def is_due(self, name: str) -> bool:
        return self._tried.get(name, "") < self._since

    def add(self, records: Iterable[PaperRecord]) -> None:
        new = {record.key: record for record in records if all(map(self.lacks, record.ids))}
        made: list[Record] = [paper_with(self.service, one, self._source) for one in new.values()]
        self.counts += self._corpus.add_records(made, self._source)
        self._came += len(made)

    def note(self, names: Iterable[str]) -> None:
        """Note what need not be looked for again soon."""
        self._tried |= dict.fromkeys(names, self._today.isoformat())
        write_text(self._file, json.dumps(self._tried, indent=1) + "\n")


def _query(claim: EdgeClaim, source: GraphPaperSource) -> str:
    """A search for abstracts that name both ends of an edge; empty where an end has no name that could be searched."""
    ends = []
    for names in (claim.head, claim.tail):
        plain = (" ".join(re.sub(r"[^\w\s'+-]", " ", name).split()) for name in names)
        fields = [field.format(name) for name in [n for n in plain if len(n) > 2][:_NAMES] for field in _FIELDS[source]]
        ends.append(f"({' OR '.join(fields)})" if fields else "")
    return " AND ".join(ends) if all(ends) else ""
