"""What the authors of the PLOS papers conclude in their abstracts: what `kgcheck claims` is to find among five claims.

The sentences were chosen by reading, before any claim was taken from the papers by program; benchmarks/conclusions.toml
has their numbers, for the texts are not ours to copy.
"""

import hashlib
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from rapidfuzz import fuzz

from benchmarks.ground_damage import papers_of
from benchmarks.ground_score import plain, wilson
from kgcheck.literature.documents import sentences

_CHOSEN = tomllib.loads(Path(__file__).with_name("conclusions.toml").read_text(encoding="utf-8"))["conclusion"]

ALIKE = 80
"""How alike (0 to 100, the words of both sorted) a claim or its quote must be to the sentence."""


def conclusions(data: Path) -> dict[str, list[str]]:
    """The sentences, by the DOI of the paper.

    Args:
        data: The shared data.

    Returns:
        One or two of each paper.

    Raises:
        RuntimeError: A sentence is not the one that was chosen.
    """
    papers = {paper.name: paper for paper in papers_of(data, "all")}
    found: dict[str, list[str]] = defaultdict(list)
    for chosen in _CHOSEN:
        text = " ".join(" ".join(passage.text.split()) for passage in papers[chosen["paper"]].abstract)
        start, end = sentences(text)[chosen["sentence"] - 1]
        if hashlib.sha256(plain(text[start:end]).encode()).hexdigest()[:12] != chosen["digest"]:
            raise RuntimeError(f"sentence {chosen['sentence']} of {chosen['paper']} is not the one that was chosen")
        found[f"doi:10.1371/journal.{chosen['paper']}"].append(text[start:end])
    return dict(found)


def table(wanted: Mapping[str, list[str]], claimed: Mapping[str, Iterable[str]]) -> str:
    """How many conclusions are among the claims.

    Args:
        wanted: Sentences by DOI.
        claimed: Claims and their quotes by DOI, of five claims at most.

    Returns:
        Markdown.
    """
    hits = {
        paper: [
            any(fuzz.token_sort_ratio(s, c) >= ALIKE or plain(s) in plain(c) for c in claimed.get(paper, ()))
            for s in own
        ]
        for paper, own in wanted.items()
    }
    every = [hit for own in hits.values() for hit in own]
    papers = [any(own) for own in hits.values()]
    rows = [("conclusions", every), ("papers with one of theirs", papers)]
    lines = ["| what | of | among the five | share |", "| --- | --- | --- | --- |"]
    return "\n".join([*lines, *(f"| {w} | {len(r)} | {sum(r)} | {wilson(sum(r), len(r))} |" for w, r in rows)]) + "\n"
