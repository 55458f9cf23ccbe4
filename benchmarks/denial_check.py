"""How often denials are told from support: ``python -m benchmarks.denial_check``.

Two sets that nothing was trained on: our own claims and denials about the notes of the demo, and sentences of BioReLex
(../shared/data) in which people marked two molecules as bound, or as not bound.
"""

import argparse
import json
import random
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from kgcheck.literature.documents import Document, clean
from kgcheck.literature.embed import SentenceModel
from kgcheck.literature.trained_verifier import TrainedVerifier
from kgcheck.literature.verify import Verifier
from kgcheck.model import Stance
from kgcheck.resources import resource_dir

PAIRS = Path(__file__).resolve().parents[1] / "tests" / "support" / "denials.toml"
BIORELEX = Path("literature") / "biorelex.1.0alpha7.train.json"


class Pair(NamedTuple):
    """A text, a claim and its denial; and whether the text bears out the claim, or else the denial."""

    text: str
    claim: str
    denial: str
    says_claim: bool


def main() -> None:
    """Measure both sets and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--vectors", action="store_true", help="with the packaged embedding model")
    asked = parser.parse_args()
    verifier = TrainedVerifier(SentenceModel() if asked.vectors else None)
    for name, pairs in (("notes", _own()), ("BioReLex", _biorelex(asked.data / BIORELEX))):
        sys.stdout.write(f"| {name} | {measure(verifier, pairs)} |\n")


def measure(verifier: Verifier, pairs: Iterable[Pair]) -> str:
    """What a verifier makes of pairs: right, opposite and silent, in all and of the texts that deny."""
    told: Counter[tuple[bool, str]] = Counter()
    both = count = 0
    for pair in pairs:
        paper = Document(ids=("text",), abstract=pair.text)
        right = 0
        for text, wanted in ((pair.claim, pair.says_claim), (pair.denial, not pair.says_claim)):
            (found,) = verifier.judge(text, [paper])
            expected = Stance.SUPPORTS if wanted else Stance.CONTRADICTS
            became = "right" if found.stance is expected else "silent" if found.stance is Stance.SILENT else "opposite"
            told[pair.says_claim, became] += 1
            right += became == "right"
        both += right == 2
        count += 1
    parts = [f"{b} {told[True, b] + told[False, b]} ({told[False, b]})" for b in ("right", "opposite", "silent")]
    return f"{2 * count} questions, {', '.join(parts)}; both of a pair right: {both} of {count}"


def _own() -> list[Pair]:
    lines = (resource_dir("corpus") / "demo" / "notes.jsonl").read_text(encoding="utf-8").splitlines()
    notes = {note["id"]: note["abstract"] for note in map(json.loads, lines)}
    raw: list[dict[str, str]] = tomllib.loads(PAIRS.read_text(encoding="utf-8"))["pair"]
    return [Pair(p.get("text") or notes[p["note"]], p["claim"], p["denial"], p["says"] == "claim") for p in raw]


def _biorelex(path: Path) -> list[Pair]:
    """All pairs that do not bind, and as many that do, drawn with a fixed seed."""
    found: dict[int, list[Pair]] = {1: [], -1: []}
    for sentence in json.loads(path.read_text(encoding="utf-8")):
        for link in sentence["interactions"]:
            if link["label"] in found and len(link["participants"]) == 2:
                a, b = (_name(sentence["entities"][p]) for p in link["participants"])
                pair = Pair(clean(sentence["text"]), f"{a} binds {b}.", f"{a} does not bind {b}.", link["label"] == 1)
                found[link["label"]].append(pair)
    # No secret depends on this draw.
    return random.Random(0).sample(found[1], len(found[-1])) + found[-1]  # noqa: S311


def _name(entity: dict[str, Any]) -> str:
    names: dict[str, dict[str, Any]] = entity["names"]
    return next((name for name, about in names.items() if about["is_mentioned"]), next(iter(names)))


if __name__ == "__main__":
    main()
