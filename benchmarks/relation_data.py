"""Pairs of names in sentences with what people marked of them: read from ../shared/data, never kept."""

import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from kgcheck.literature.documents import Span, sentences
from kgcheck.literature.pairs import Around

PPI = ("BioInfer", "HPRD50", "IEPA", "LLL")


class Pair(NamedTuple):
    """Two names in a sentence.

    Attributes:
        corpus: Whose it is.
        group: What must not be parted: a document, or a sentence where that is not known.
        text: The sentence.
        one: Where the one name is; in LLL it is the agent.
        two: Where the other is; in LLL the target.
        label: 1 stated, 0 not, -1 stated not to be.
        directed: Whether the first does something to the second.
        kind: Of the two, where the corpus says.
        key: The pair in its abstract, where there is one.
        around: How that abstract names the two.
    """

    corpus: str
    group: str
    text: str
    one: Span
    two: Span
    label: int
    directed: bool = False
    kind: str = ""
    key: str = ""
    around: Around | None = None


def ppi(data: Path, name: str) -> Iterator[Pair]:
    """Pairs of one of the five corpora."""
    for line in (data / "relations" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        (told,) = row["relation"]
        one, two = _first(told["entity_1_idx"]), _first(told["entity_2_idx"])
        if _apart(one, two):
            types = (told["entity_1_type"], told["entity_2_type"])
            turned = types == ("target", "agent")
            yield Pair(
                name,
                f"{name}.{row['id'].split('.')[1]}",
                row["text"],
                *((two, one) if turned else (one, two)),
                int(told["relation_type"] == "positive"),
                directed=set(types) == {"agent", "target"},
            )


def gad(data: Path) -> Iterator[Pair]:
    """Pairs of a gene and a disease, both masked."""
    for line in (data / "relations" / "GAD_dev.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        (told,) = row["relation"]
        one, two = _first(told["entity_1_idx"]), _first(told["entity_2_idx"])
        if _apart(one, two):
            yield Pair("GAD", row["id"], row["text"], one, two, int(told["relation_type"] == "positive"))


def biorelex(data: Path) -> Iterator[Pair]:
    """Pairs of molecules: bound, denied to be, or (as 0, of the kind unmarked) neither."""
    for row in json.loads((data / "literature" / "biorelex.1.0alpha7.train.json").read_text(encoding="utf-8")):
        mentions = [[tuple(m) for n in e["names"].values() for m in n["mentions"]] for e in row["entities"]]
        marked = {tuple(sorted(i["participants"])): i["label"] for i in row["interactions"]}
        for i, j in combinations(range(len(mentions)), 2):
            near = _nearest(mentions[i], mentions[j])
            if near:
                label = marked.get((i, j))
                kind = "unmarked" if label is None else "marked"
                yield Pair("BioRelEx", str(row["paperid"]), row["text"], *near, label or 0, kind=kind)


class Abstract(NamedTuple):
    """A document with the pairs of things that it names, and whether people found a relation."""

    name: str
    text: str
    spans: tuple[Span, ...]
    mentions: dict[str, list[Span]]
    kinds: dict[str, str]
    related: frozenset[tuple[str, str]]


def abstracts(path: Path) -> Iterator[Abstract]:
    """Documents in the form of PubTator."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = block.strip().split("\n")
        if len(lines) < 2:
            continue
        name, _, title = lines[0].split("|", 2)
        text = f"{title} {lines[1].split('|', 2)[2]}"
        mentions: dict[str, list[Span]] = defaultdict(list)
        kinds: dict[str, str] = {}
        related = set()
        for line in lines[2:]:
            cells = line.split("\t")
            if len(cells) >= 6 and cells[1].isdigit():
                for identifier in re.split(r"[,|]", cells[5]):
                    mentions[identifier].append((int(cells[1]), int(cells[2])))
                    kinds[identifier] = cells[4]
            elif len(cells) >= 4 and not cells[1].isdigit():
                related.add(tuple(sorted(cells[2:4])))
        found = sentences(text)
        yield Abstract(name, text, tuple(found), dict(mentions), kinds, frozenset(related))  # type: ignore[arg-type]


def kind_of(one: str, two: str) -> str:
    """The kinds of two things in one name."""
    short = {
        "GeneOrGeneProduct": "gene",
        "DiseaseOrPhenotypicFeature": "disease",
        "ChemicalEntity": "chemical",
        "SequenceVariant": "variant",
        "Disease": "disease",
        "Chemical": "chemical",
    }
    return "-".join(sorted((short.get(one, one), short.get(two, two))))


WANTED = ("gene-gene", "disease-gene", "chemical-gene", "chemical-disease", "chemical-chemical")


def in_abstract(corpus: str, a: Abstract) -> Iterator[tuple[str, str, int, list[Pair]]]:
    """Each two things that an abstract names: their kind, key, whether related, and the sentences with both."""
    ids = sorted(i for i in a.mentions if i != "-")
    for one, two in combinations(ids, 2):
        kind = kind_of(a.kinds[one], a.kinds[two])
        if kind not in WANTED:
            continue
        label = int((one, two) in a.related)
        found = []
        ones, twos = (_sentences_of(a.spans, a.mentions[i]) for i in (one, two))
        for at, (start, end) in enumerate(a.spans):
            here = [[(s - start, e - start) for s, e in a.mentions[i] if start <= s and e <= end] for i in (one, two)]
            near = _nearest(*here)
            if near:
                around = Around(len(a.spans), ones, twos, at)
                found.append(
                    Pair(corpus, a.name, a.text[start:end], *near, label, kind=kind, key=f"{one} {two}", around=around)
                )
        yield kind, f"{one} {two}", label, found


def _sentences_of(spans: tuple[Span, ...], mentions: list[Span]) -> tuple[int, ...]:
    """The place of the sentence of each mention."""
    starts = [start for start, _ in spans]
    return tuple(max(0, bisect_right(starts, start) - 1) for start, _ in sorted(set(mentions)))


def _first(idx: Any) -> Span:
    start, end = idx[0] if isinstance(idx[0], list) else idx
    return int(start), int(end)


def _apart(one: Span, two: Span) -> bool:
    return one[1] <= two[0] or two[1] <= one[0]


def _nearest(ones: list[Any], twos: list[Any]) -> tuple[Span, Span] | None:
    found = [(x, y) for x in ones for y in twos if _apart(x, y)]
    return min(found, key=lambda p: max(p[0][0] - p[1][1], p[1][0] - p[0][1])) if found else None


def marked_pairs(data: Path) -> Iterator[tuple[int, str, list[tuple[Span, Span]]]]:
    """The labels of BioRelEx with every two places where the two are named."""
    for row in json.loads((data / "literature" / "biorelex.1.0alpha7.train.json").read_text(encoding="utf-8")):
        mentions = [[tuple(m) for n in e["names"].values() for m in n["mentions"]] for e in row["entities"]]
        for marked in row["interactions"]:
            i, j = marked["participants"]
            apart = [(x, y) for x in mentions[i] for y in mentions[j] if _apart(x, y)]
            if apart:
                yield marked["label"], row["text"], apart
