"""Whether the claims that are chosen are the authors' own, and how often pairs of claims are judged right.

``python -m benchmarks.claims``; needs ../shared/data and the sentence model. Three parts: the conclusions of the
abstracts of 76 PLOS papers among their claims; labelled pairs of sentences of SciFact and COVID-Fact; and how many of
these pairs are among those that are compared at all.
"""

import argparse
import csv
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np

from kgcheck.grounding.claims.choosing import PaperText, choose_claims, parts_of_abstract
from kgcheck.grounding.claims.claim_map import ClaimReader, candidates
from kgcheck.ledger.paper_claims import ClaimRelation, PaperClaim
from kgcheck.literature.documents import Document
from kgcheck.literature.embed import Embedder, Vectors, open_model
from kgcheck.literature.formats import choose_recipe, read_documents
from kgcheck.literature.papers import WholePaper, parts_of
from kgcheck.profile.corpus_files import corpus_recipe

ALIKE = 0.65
"""Two sentences with this cosine (MiniLM) are taken to say the same; read the pairs: --show."""

_REGISTRATION = re.compile(r"(?i)^(?:trial registration|clinicaltrials|isrctn)")
_MOST = 600
"""Pairs of a kind."""

_LONGEST = 1_000
"""Characters of a sentence; longer ones are pieces of web pages."""

NOT_EVIDENCE = "not evidence"


class Labelled(NamedTuple):
    """Two sentences, and how they stand to each other by the label of a data set."""

    kind: str
    label: str
    one: str
    other: str


def main() -> None:
    """Measure and print Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--show", action="store_true", help="print conclusions and claims of the papers, too")
    asked = parser.parse_args()
    model = open_model(many=True)
    _conclusions(asked.data, model, show=asked.show)
    pairs = _pairs(asked.data)
    texts = sorted({text for p in pairs for text in (p.one, p.other)})
    vectors = dict(zip(texts, model.encode(texts), strict=True))
    _alignment(pairs, ClaimReader(vectors, model.digest), "with vectors")
    _alignment(pairs, ClaimReader(), "words alone")
    _candidates(pairs, vectors)


def _conclusions(data: Path, model: Embedder, *, show: bool) -> None:
    """Of how many papers a conclusion of the abstract is among the claims, with the abstract and without it."""
    rows: dict[str, Counter[str]] = {"tuned on": Counter(), "not tuned on": Counter()}
    for place, paper in enumerate(_papers(data)):
        head, paragraphs = parts_of(paper)
        if head.section != "abstract":
            continue
        text = PaperText(head, paragraphs, parts_of_abstract(head, paper))
        row = rows["not tuned on" if place % 2 else "tuned on"]
        wanted = _wanted(text)
        body = PaperText(head.model_copy(update={"section": "other"}), paragraphs)
        made = {"with the abstract": choose_claims(text), "without it": choose_claims(body)}
        row["papers"] += 1
        row["conclusions"] += len(wanted)
        for name, claims in made.items():
            best = _nearest(model, wanted, [c.quote for c in claims])
            row[f"papers, {name}"] += bool((best >= ALIKE).any())
            row[f"conclusions, {name}"] += int((best >= ALIKE).sum())
        row["papers by chance"] += _by_chance(body, wanted, model)
        if show:
            lines = [f"## {paper.id} {paper.title}", *(f"concludes: {w}" for w in wanted)]
            lines += [f"{name}: [{c.section}] {c.quote}" for name, claims in made.items() for c in claims]
            sys.stdout.write("\n".join(lines) + "\n\n")
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    sys.stdout.write(f"| papers | {' | '.join(names)} |\n|---|{'---|' * len(names)}\n")
    for which, row in rows.items():
        sys.stdout.write(f"| {which} | {' | '.join(str(row[name]) for name in names)} |\n")


def _papers(data: Path) -> Iterator[WholePaper]:
    for file in sorted((data / "fulltext" / "plos").glob("*.xml")):
        yield from (p for p in read_documents(file, choose_recipe(file)) if isinstance(p, WholePaper))


def _wanted(text: PaperText) -> list[str]:
    """What an abstract concludes: the part that is headed so, or its last two sentences."""
    passages = [(start, text.head.abstract[start:end]) for start, end in text.head.spans]
    concludes = next((start for start, part in text.parts if part == "conclusion"), None)
    if concludes is None:
        return [passage for _, passage in passages[-2:]]
    return [p for start, p in passages if start >= concludes and not _REGISTRATION.match(p)]


def _nearest(model: Embedder, wanted: Sequence[str], texts: Sequence[str]) -> Vectors:
    """How near each wanted sentence comes to any of the texts."""
    if not texts or not wanted:
        return np.zeros(len(wanted), dtype=np.float32)
    vectors = model.encode([*wanted, *texts])
    found: Vectors = (vectors[: len(wanted)] @ vectors[len(wanted) :].T).max(axis=1)
    return found


def _by_chance(body: PaperText, wanted: Sequence[str], model: Embedder) -> bool:
    """Whether five sentences drawn from results, discussion and conclusion hold one."""
    sections = ("results", "discussion", "conclusion")
    every = [p for d in body.paragraphs if d.section in sections for p in d.passages if len(p) > 40]
    drawn = random.Random(body.head.id).sample(every, min(5, len(every)))  # noqa: S311
    return bool((_nearest(model, wanted, drawn) >= ALIKE).any())


def _pairs(data: Path) -> list[Labelled]:
    """At most _MOST pairs of each kind, the same each time."""
    every = [*_scifact(data / "scifact"), *_covidfact(data / "covidfact")]
    every = [p._replace(one=p.one.strip(), other=p.other.strip()) for p in every]
    random.Random(3).shuffle(every)  # noqa: S311
    counts: Counter[tuple[str, str]] = Counter()
    kept = []
    for pair in every:
        if max(map(len, pair[2:])) > _LONGEST:
            continue
        counts[pair.kind, pair.label] += 1
        if counts[pair.kind, pair.label] <= _MOST:
            kept.append(pair)
    return kept


def _scifact(folder: Path) -> Iterator[Labelled]:
    """A claim and a sentence of its evidence; two claims of opposite labels about the same sentences; and others."""
    recipe = corpus_recipe("scifact")
    papers = {d.id: d for d in read_documents(folder / "corpus.csv", recipe) if isinstance(d, Document)}
    texts: dict[str, str] = {}
    labels: dict[tuple[str, str], str] = {}
    places: dict[tuple[str, str], set[int]] = defaultdict(set)
    with (folder / "claims_train.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            texts[row["id"]] = row["claim"]
            if row["evidence_label"]:
                key = row["id"], row["evidence_doc_id"]
                labels[key] = {"SUPPORT": "supports", "CONTRADICT": "contradicts"}[row["evidence_label"]]
                places[key] |= {int(n) for n in re.findall(r"\d+", row["evidence_sentences"])}
    drawn = random.Random(7)  # noqa: S311
    keys = sorted(labels)
    for claim, name in keys:
        passages = papers[f"s2:{name}"].passages
        own = places[claim, name]
        for place in sorted(own):
            yield Labelled("SciFact: claim and evidence", labels[claim, name], texts[claim], passages[place])
        if rest := [n for n in range(len(passages)) if n not in own and len(passages[n]) > 40]:
            yield Labelled(
                "SciFact: claim and another sentence", NOT_EVIDENCE, texts[claim], passages[drawn.choice(rest)]
            )
        other, elsewhere = drawn.choice(keys)
        if elsewhere != name and other != claim:
            passage = papers[f"s2:{elsewhere}"].passages[min(places[other, elsewhere])]
            yield Labelled("SciFact: of other papers", "orthogonal", texts[claim], passage)
    for at, key in enumerate(keys):
        for other_key in keys[at + 1 :]:
            if key[1] == other_key[1] and labels[key] != labels[other_key] and places[key] == places[other_key]:
                yield Labelled("SciFact: two claims", "contradicts", texts[key[0]], texts[other_key[0]])


def _covidfact(folder: Path) -> Iterator[Labelled]:
    """A claim and its evidence; a claim and its altered form, one word exchanged; and claims of other sources."""
    rows = [json.loads(line) for line in (folder / "claims.jsonl").read_text(encoding="utf-8").splitlines()]
    sources: dict[str, dict[str, list[dict[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        sources[row["gold_source"]][row["label"]].append(row)
    drawn = random.Random(7)  # noqa: S311
    stated = [row for row in rows if row["label"] == "SUPPORTED"]
    for labels in sources.values():
        for row in labels["SUPPORTED"]:
            for passage in filter(str.strip, row["evidence"]):
                yield Labelled("COVID-Fact: claim and evidence", "supports", row["claim"], passage)
            for altered in labels["REFUTED"]:
                yield Labelled("COVID-Fact: claim and its altered form", "contradicts", row["claim"], altered["claim"])
            other = drawn.choice(stated)
            if other["gold_source"] != row["gold_source"]:
                yield Labelled("COVID-Fact: of other sources", "orthogonal", row["claim"], other["claim"])
        for row in labels["REFUTED"]:
            for passage in filter(str.strip, row["evidence"][:1]):
                yield Labelled("COVID-Fact: altered form and evidence", "contradicts", row["claim"], passage)


def _alignment(pairs: Sequence[Labelled], reader: ClaimReader, how: str) -> None:
    """What is made of pairs, apart for the half that thresholds were chosen on."""
    judged = [(pair, reader.relation(pair.one, pair.other)[0].value) for pair in pairs]
    for which in (0, 1):
        half = [(p, made) for p, made in judged if crc32(min(p.one, p.other).encode()) % 2 == which]
        name = "not tuned on" if which else "tuned on"
        sys.stdout.write(f"\n| pairs, {how}, {name} | label | pairs | supports | contradicts | orthogonal |\n")
        sys.stdout.write("|---|---|---|---|---|---|\n")
        counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for pair, made in half:
            counts[pair.kind, pair.label][made] += 1
        for (kind, label), row in sorted(counts.items()):
            cells = " | ".join(str(row[relation.value]) for relation in ClaimRelation)
            sys.stdout.write(f"| {kind} | {label} | {row.total()} | {cells} |\n")
        for relation in ("supports", "contradicts"):
            right = sum(p.label == made == relation for p, made in half)
            made_so = sum(made == relation for _, made in half)
            there = sum(p.label == relation for p, _ in half)
            sys.stdout.write(
                f"\n{relation}: {right} right of {made_so} ({right / max(made_so, 1):.3f}), of {there} pairs\n"
            )


def _candidates(pairs: Sequence[Labelled], vectors: Mapping[str, Vectors]) -> None:
    """How many labelled pairs are compared where every sentence is a claim of another paper."""
    texts = sorted(vectors)
    claims = [
        PaperClaim(paper=str(n), document=str(n), section="abstract", start=0, stop=len(t), quote=t, score=0.0)
        for n, t in enumerate(texts)
    ]
    place = {text: n for n, text in enumerate(texts)}
    for how, rows in (("vectors", np.stack([vectors[t] for t in texts])), ("words", None)):
        found = set(candidates(claims, rows))
        counts: dict[tuple[str, str], list[bool]] = defaultdict(list)
        for pair in pairs:
            if pair.label in ("supports", "contradicts") and pair.one != pair.other:
                ends = sorted((place[pair.one], place[pair.other]))
                counts[pair.kind, pair.label].append((ends[0], ends[1]) in found)
        sys.stdout.write(f"\ncandidates by {how}: {len(found):,} of {len(texts):,} sentences\n")
        for (kind, label), hits in sorted(counts.items()):
            sys.stdout.write(f"{kind}, {label}: {sum(hits)} of {len(hits)}\n")


if __name__ == "__main__":
    main()
