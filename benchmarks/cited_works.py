"""Damaged references of the PLOS papers against a world of their lists, and moved citations: right, silent and WRONG.

.venv/bin/python -m benchmarks.cited_works [--rest] [--papers DIR] [--seed N]
"""

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from kgcheck.grounding.citations.check import misplaced_citations
from kgcheck.grounding.citations.references import judge_reference
from kgcheck.grounding.manuscript import Block, Manuscript, Marker
from kgcheck.literature.bibliography import Bibliography, build_bibliography
from kgcheck.literature.jats import read_jats
from kgcheck.literature.papers import CitedWork, WholePaper
from kgcheck.literature.titles import content_words
from kgcheck.settings import Settings
from tests.support.manuscripts import manuscript, manuscript_of

PAPERS = Path("../shared/data/fulltext/plos")
MOST = 400
MOVED = 10

Damage = Callable[[CitedWork, Sequence[CitedWork], random.Random], CitedWork | None]


def written(reference: CitedWork, **changed: object) -> CitedWork:
    """A reference with other values, also in its text."""
    text = reference.text
    for name, value in changed.items():
        old = getattr(reference, name)
        old, new = (old[0].split()[0], str(value[0]).split()[0]) if isinstance(value, tuple) else (str(old), str(value))
        text = text.replace(old, new)
    return reference.model_copy(update={**changed, "text": text})


def other_doi(reference: CitedWork, others: Sequence[CitedWork], rng: random.Random) -> CitedWork | None:
    """With the DOI of another work."""
    known = [r.doi for r in others if r.doi and r.doi != reference.doi]
    return written(reference, doi=rng.choice(known)) if reference.doi else None


def wrong_doi(reference: CitedWork, others: Sequence[CitedWork], rng: random.Random) -> CitedWork | None:
    """With a DOI of which the last sign is another."""
    last = "7" if not reference.doi.endswith("7") else "4"
    return written(reference, doi=reference.doi[:-1] + last) if reference.doi else None


def next_year(reference: CitedWork, others: Sequence[CitedWork], rng: random.Random) -> CitedWork | None:
    """With a year one off."""
    return written(reference, year=reference.year + rng.choice((-1, 1))) if reference.year else None


def other_year(reference: CitedWork, others: Sequence[CitedWork], rng: random.Random) -> CitedWork | None:
    """With a year three to seven off."""
    return written(reference, year=reference.year + rng.choice((-7, -4, -3, 3, 4, 6))) if reference.year else None


def other_word(reference: CitedWork, others: Sequence[CitedWork], rng: random.Random) -> CitedWork | None:
    """With another word in its title."""
    words = reference.title.split()
    places = [n for n, word in enumerate(words) if len(word) > 4 and word.isalpha()]
    if not places:
        return None
    at = rng.choice(places)
    known = [w for r in rng.sample(list(others), 20) for w in content_words(r.title)]
    words[at] = rng.choice([w for w in known if len(w) > 4 and w != words[at].lower()])
    return written(reference, title=" ".join(words))


def other_title(reference: CitedWork, others: Sequence[CitedWork], rng: random.Random) -> CitedWork | None:
    """With the title of another work."""
    return written(reference, title=rng.choice([r.title for r in others if r.title and r.title != reference.title]))


def other_author(reference: CitedWork, others: Sequence[CitedWork], rng: random.Random) -> CitedWork | None:
    """With another first author."""
    return written(reference, authors=("Quuxley Z", *reference.authors[1:])) if reference.authors else None


def invented(reference: CitedWork, others: Sequence[CitedWork], rng: random.Random) -> CitedWork | None:
    """A work that there is not."""
    words = [w for r in rng.sample(list(others), 20) for w in content_words(r.title)]
    title, year = " ".join(rng.sample(words, 9)), rng.randint(1990, 2014)
    doi = f"10.5555/{rng.randint(100_000, 999_999)}"
    return CitedWork(key=reference.key, doi=doi, title=title, year=year, authors=reference.authors, text="12: 34")


DAMAGES: tuple[Damage, ...] = (
    *(other_doi, wrong_doi, next_year, other_year, other_word, other_title, other_author, invented),
)


def kinds_of(works: Bibliography, references: Sequence[CitedWork]) -> Counter[str]:
    """What references come to, counted."""
    found = zip(references, works.find(references), strict=True)
    return Counter(
        ", ".join(sorted(f"{r.remark.value} ({r.state.value})" for r in judge_reference(*pair).remarks))
        for pair in found
    )


def moved(text: Manuscript, rng: random.Random) -> tuple[Manuscript, str]:
    """A manuscript with one citation in another sentence, and the key of what it cites."""
    sentence = rng.choice([s for s in text.sentences if s.markers])
    marker = rng.choice(sentence.markers)
    key = rng.choice(marker.keys)
    goal = rng.choice(
        [
            s
            for s in text.sentences
            if s.block != sentence.block
            and text.blocks[s.block].kind == "paragraph"
            and s.section != "abstract"
            and len(s.text) > 60
            and not any(key in m.keys for m in s.markers)
        ]
    )
    blocks = list(text.blocks)
    left = [(m, tuple(k for k in m.keys if k != key or m.start != marker.start + sentence.start))
            for m in blocks[sentence.block].markers]  # fmt: skip
    _put(blocks, sentence.block, [m.model_copy(update={"keys": keys}) for m, keys in left if keys])
    put = Marker(start=goal.end - 1, end=goal.end, keys=(key,))
    _put(blocks, goal.block, sorted((*blocks[goal.block].markers, put), key=lambda m: m.start))
    return manuscript(blocks, text.references), key


def _put(blocks: list[Block], at: int, markers: Sequence[Marker]) -> None:
    blocks[at] = Block(**blocks[at].model_dump(exclude={"markers"}), markers=tuple(markers))


def _show(*parts: object) -> None:
    sys.stdout.write(" ".join(map(str, parts)) + "\n")


def main() -> None:
    """Measure, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--papers", type=Path, default=PAPERS)
    parser.add_argument(
        "--rest", action="store_true", help="the papers after the first 20, on which the rules were set"
    )
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    rng = random.Random(options.seed)  # noqa: S311
    files = sorted(options.papers.glob("*.xml"))
    chosen = files[20:] if options.rest else files[:20]
    papers = [p for f in chosen for _, p in read_jats(f) if isinstance(p, WholePaper)]
    references = [r for p in papers for r in p.references]
    with tempfile.TemporaryDirectory() as folder:
        build_bibliography(options.papers, Path(folder) / "works", Settings())
        with Bibliography(Path(folder) / "works") as works:
            _show(f"{len(papers)} papers, {len(references):,} entries; undamaged:", dict(kinds_of(works, references)))
            titled = [r for r in references if r.title]
            for damage in DAMAGES:
                some = (damage(r, titled, rng) for r in rng.sample(titled, len(titled)))
                damaged = [r for r in some if r][:MOST]
                _show(f"{damage.__name__}, {len(damaged)}:", dict(kinds_of(works, damaged).most_common(6)))
        foreign: Counter[str] = Counter()
        for half in (0, 1):
            for file in files[half::2]:
                (Path(folder) / f"half{half}" / file.name).parent.mkdir(exist_ok=True)
                (Path(folder) / f"half{half}" / file.name).write_bytes(file.read_bytes())
            build_bibliography(Path(folder) / f"half{half}", Path(folder) / f"works{half}", Settings())
            with Bibliography(Path(folder) / f"works{half}") as works:
                strangers = [
                    r for f in files[1 - half :: 2] for _, p in read_jats(f) if isinstance(p, WholePaper)
                    for r in p.references
                ]  # fmt: skip
                foreign += kinds_of(works, strangers)
        _show("each half against a world of the other:", dict(foreign))
    texts = [manuscript_of(p) for p in papers if len(p.references) >= 10]
    alarms = sum(len(misplaced_citations(t)) for t in texts)
    hits = 0
    for text in texts:
        for _ in range(MOVED):
            changed, key = moved(text, rng)
            hits += any(r.stated == key for r in misplaced_citations(changed))
    sentences = sum(len(t.sentences) for t in texts)
    _show(f"moved: {hits} of {MOVED * len(texts)} found; undamaged: {alarms} of {sentences:,} sentences")


if __name__ == "__main__":
    main()
