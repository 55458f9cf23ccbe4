"""Rule queries and the rules that choose papers, in a world of abstracts where it is known which ones belong.

.venv/bin/python -m benchmarks.protocol_search [--claims 150] [--set unseen]

The world: the abstracts of SciFact and the PLOS papers of ../shared/data. An objective is a claim of SciFact; what its
authors cite for it belongs to it, and what others wrote about the same may, too. A second set of objectives are PLOS
papers, each by its title and the beginning of its abstract; what they cite belongs to them, where the world has it.
Queries are evaluated as PubMed does, all groups in title or abstract, best first by BM25, and by the local index.
"""

import argparse
import ast
import csv
import hashlib
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kgcheck.literature.corpus import Corpus
from kgcheck.literature.lexical import Lexical
from kgcheck.literature.papers import WholePaper
from kgcheck.literature.search import LiteratureIndex, open_index
from kgcheck.literature.titles import title_words
from kgcheck.protocols.protocol import Objective
from kgcheck.protocols.search.judging import abstract_of, degrees
from kgcheck.protocols.search.queries import SearchQuery, SearchRules, concepts_of, queries_of
from kgcheck.protocols.search.run import PaperSearch, PapersFound, paper_of_document, search_index

_WORDS = re.compile(r"[^\W_]+")

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


class Known(NamedTuple):
    """An objective, and the ids of what belongs to it."""

    objective: Objective
    belongs: frozenset[str]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=150)
    parser.add_argument("--papers", type=int, default=20)
    parser.add_argument("--set", choices=("tuning", "unseen"), default="unseen")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with Corpus(Path(folder) / "index", create=True) as corpus:
            corpus.add([DATA / "scifact" / "corpus.csv", DATA / "fulltext" / "plos"])
            corpus.build(None)
        index, _ = open_index(Path(folder) / "index")
        with index:
            boolean = BooleanPlace(index)
            sets = {
                "claims": [*_claims(chosen.set)][: chosen.claims],
                "PLOS papers": [*_papers(boolean.papers_known, chosen.set)][: chosen.papers],
            }
            heads = ("objectives", "queries by", "number", "belong", "found", "of them kept")
            heads = (*heads, "others found", "of them kept", "queries", "of 20 at random kept")
            sys.stdout.write(f"| {' | '.join(heads)} |\n{'| --- ' * len(heads)}|\n")
            for name, known in sets.items():
                for place, search in (("pubmed", boolean.papers), ("index", partial(search_index, index))):
                    sys.stdout.write(f"| {name} | {place} | {_measured(known, search, boolean.papers_known)} |\n")
                    sys.stdout.flush()


class BooleanPlace:
    """The papers of an index, searched by queries as PubMed reads them.

    Args:
        index: The index.
    """

    def __init__(self, index: LiteratureIndex) -> None:
        ids = [row[0] for row in index.store.ids()]
        self.papers_known = [paper_of_document(index, d) for d in index.documents(ids)]
        texts = [abstract_of(p) for p in self.papers_known]
        self._folded = [_spaced(t) for t in texts]
        self._words = Lexical.of(texts)

    def papers(self, query: SearchQuery, most: int) -> PapersFound:
        """The papers that fit a query best."""
        groups = [[_spaced(t) for t in g.terms] for g in query.groups]
        fitting = [n for n, t in enumerate(self._folded) if all(any(term in t for term in g) for g in groups)]
        scores = self._words.scores(query.words)
        best = sorted(fitting, key=lambda n: (-scores[n], n))[:most]
        return PapersFound(tuple(self.papers_known[n] for n in best))


def _spaced(text: str) -> str:
    """The words of a text between spaces."""
    return f" {' '.join(_WORDS.findall(text.casefold()))} "


def _measured(known: Sequence[Known], search: PaperSearch, world: list[WholePaper]) -> str:
    counts = np.zeros(8, dtype=int)
    for number, (objective, belongs) in enumerate(known):
        concepts = concepts_of(objective, lambda text: ())
        made = queries_of(concepts)
        met: dict[str, WholePaper] = {}
        for query in made:
            found = search(query, SearchRules.shipped().limits["results"]).papers
            met |= {p.id: p for p in found if p.title != objective.title}
        strange = random.Random(number).sample(world, 20)  # noqa: S311
        papers = [*met.values(), *strange]
        judged = degrees(papers, objective, concepts)
        kept = [j.degree >= SearchRules.shipped().limits["kept"] for j in judged]
        own = [bool(belongs.intersection(p.ids)) for p in papers]
        first = len(met)
        counts += [
            len(belongs),
            sum(own[:first]),
            sum(k and o for k, o in zip(kept[:first], own[:first], strict=True)),
            first - sum(own[:first]),
            sum(k and not o for k, o in zip(kept[:first], own[:first], strict=True)),
            len(made),
            sum(k and not o for k, o in zip(kept[first:], own[first:], strict=True)),
            20 - sum(own[first:]),
        ]
    belong, found, kept_own, others, kept_others, queries, random_kept, random_all = counts.tolist()
    cells = (
        str(len(known)),
        str(belong),
        f"{found} ({found / max(1, belong):.2f})",
        f"{kept_own} ({kept_own / max(1, found):.2f})",
        str(others),
        f"{kept_others} ({kept_others / max(1, others):.2f})",
        f"{queries / max(1, len(known)):.1f}",
        f"{random_kept} of {random_all:,}",
    )
    return " | ".join(cells)


def _is_of(name: str, chosen: str) -> bool:
    """A fifth was looked at while the numbers were chosen."""
    return (hashlib.sha256(name.encode()).digest()[0] % 5 == 0) == (chosen == "tuning")


def _claims(chosen: str) -> Iterator[Known]:
    seen: dict[str, Known] = {}
    with (DATA / "scifact" / "claims_train.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            cited = frozenset(
                f"s2:{n}" for n in ast.literal_eval(re.sub(r"(?<=\d)\s+(?=\d)", ",", row["cited_doc_ids"]))
            )
            objective = Objective(title=row["claim"][:300], objective=row["claim"])
            seen.setdefault(row["claim"], Known(objective, cited))
    ordered = sorted(seen, key=lambda claim: hashlib.sha256(claim.encode()).hexdigest())
    yield from (seen[claim] for claim in ordered if _is_of(claim, chosen))


def _papers(world: list[WholePaper], chosen: str) -> Iterator[Known]:
    by_title = {" ".join(title_words(p.title)): p.ids for p in world if p.title}
    whole = sorted((p for p in world if p.references), key=lambda p: hashlib.sha256(p.id.encode()).hexdigest())
    for paper in whole:
        cited = [by_title.get(" ".join(title_words(w.title)), ()) for w in paper.references if w.title]
        belongs = frozenset(i for ids in cited for i in ids[:1])
        text = " ".join(p.text for s in paper.sections if s.kind == "abstract" for p in s.paragraphs)
        if belongs and text and _is_of(paper.id, chosen):
            yield Known(Objective(title=paper.title[:300], objective=text[:1_000]), belongs)


if __name__ == "__main__":
    main()
