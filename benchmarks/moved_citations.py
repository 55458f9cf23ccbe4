"""Citations at the wrong sentence, where the cited papers are at hand: ``python -m benchmarks.moved_citations``.

SciFact's claims were made of sentences that cite an abstract, whether or not it says so. Lists of references are made
of 10, 25 or 60 of these abstracts, of one subject or of any, and each claim cites its own one. Then it cites another
one of the same list. What is said of right and of moved citations is counted, of the claims with odd ids: by those with
even ids the bounds were chosen.
"""

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.ground_score import wilson
from kgcheck.bench.scv import ClaimItem, read_items
from kgcheck.grounding.citations.check import CitedPapers
from kgcheck.grounding.manuscript import Manuscript
from kgcheck.grounding.remarks import Remark
from kgcheck.literature.documents import Document
from kgcheck.literature.embed import open_model
from kgcheck.literature.formats import read_documents
from kgcheck.literature.papers import CitedWork
from kgcheck.literature.search import LiteratureIndex
from kgcheck.literature.trained_verifier import TrainedVerifier
from kgcheck.profile.corpus_files import corpus_recipe
from tests.support.literature import build_index
from tests.support.manuscripts import cited, manuscript

SIZES = (10, 25, 60)
_DOI = "10.5555/scifact."


def main() -> None:
    """Build the index, make the lists, and print a row for each size and kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--even", action="store_true", help="the claims by which the bounds were chosen")
    asked = parser.parse_args()
    folder = asked.data / "scifact"
    claims = [i for i in read_items(folder / "claims_train.csv", "scifact") if i.documents]
    wanted = {i.documents[0] for i in claims}
    papers = [
        d.model_copy(update={"ids": (f"doi:{_DOI}{_number(d.id)}",)})
        for d in read_documents(folder / "corpus.csv", corpus_recipe("scifact"))
        if isinstance(d, Document) and d.id in wanted
    ]
    print("| list | right citations: alarms | moved citations: seen | also said of moved |\n| --- | --- | --- | --- |")  # noqa: T201
    with tempfile.TemporaryDirectory(prefix="kgcheck-bench-") as name:
        model = open_model(many=True)
        index = LiteratureIndex(build_index(Path(name) / "index", papers, model), model)
        checks = CitedPapers(index, TrainedVerifier(index.embedder))
        for same_subject in (False, True):
            for size in SIZES:
                print(_row(index, checks, claims, size, same_subject=same_subject, odd=not asked.even), flush=True)  # noqa: T201


def _row(
    index: LiteratureIndex,
    checks: CitedPapers,
    claims: Sequence[ClaimItem],
    size: int,
    *,
    same_subject: bool,
    odd: bool,
) -> str:
    rng = random.Random(size)  # noqa: S311
    right, moved = Counter[Remark](), Counter[Remark]()
    for group in _groups(index, claims, size, rng, same_subject=same_subject):
        listed = sorted({_number(i.documents[0]) for i in group})
        asked = [i for i in group if int(i.id) % 2 == odd]
        own = [_number(i.documents[0]) for i in asked]
        others = [rng.choice([n for n in listed if n != number]) for number in own]
        right += _said(checks, _written(asked, own, listed))
        moved += _said(checks, _written(asked, others, listed))
    alarms, seen = right[Remark.CITED_UNRELATED], moved[Remark.CITED_UNRELATED]
    return (
        f"| {size} papers of {'one subject' if same_subject else 'any subject'} | {alarms} of {right.total()}"
        f" | {seen} of {moved.total()}, {wilson(seen, moved.total())}"
        f" | contradicts {moved[Remark.CITED_CONTRADICTS]}, supports {moved[Remark.CITED_SUPPORTS]} |"
    )


def _groups(
    index: LiteratureIndex, claims: Sequence[ClaimItem], size: int, rng: random.Random, *, same_subject: bool
) -> Iterator[list[ClaimItem]]:
    left = list(claims)
    rng.shuffle(left)
    while len(left) >= size:
        if same_subject:
            within = sorted({f"doi:{_DOI}{_number(i.documents[0])}" for i in left})
            hits = index.search(left[-1].claim, limit=len(within), within=within)
            near = {hit.document.id: place for place, hit in enumerate(hits)}
            left.sort(key=lambda i: -near.get(f"doi:{_DOI}{_number(i.documents[0])}", len(near)))
        group, left = left[-size:], left[:-size]
        rng.shuffle(left)
        yield group


def _written(claims: Sequence[ClaimItem], numbers: Sequence[str], listed: Sequence[str]) -> Manuscript:
    texts = [f"{i.claim.rstrip('. ')} []." for i in claims]
    return manuscript(
        [cited(text, number) for text, number in zip(texts, numbers, strict=True)],
        [CitedWork(key=number, label=number, doi=f"{_DOI}{number}") for number in listed],
    )


def _said(checks: CitedPapers, text: Manuscript) -> Counter[Remark]:
    return Counter(remark.remark for remark in checks.remarks(text))


def _number(name: str) -> str:
    return name.rpartition(":")[2]


if __name__ == "__main__":
    main()
