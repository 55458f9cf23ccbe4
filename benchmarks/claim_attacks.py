"""How often claims that are nearly true pass: ``python -m benchmarks.claim_attacks``.

Claims of our own over short notes of our own, and true sentences with names, numbers or directions exchanged by rule.
Prints by kind of attack: right, silent (it takes no side where it could) and WRONG (it takes a side that is not there).
Needs no embeddings and no data.
"""

import argparse
import random
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kgcheck.literature.documents import Document
from kgcheck.literature.trained_verifier import TrainedVerifier
from kgcheck.literature.verify import Verifier, verify
from kgcheck.model import Stance

ATTACKS = Path(__file__).resolve().parents[1] / "tests" / "support" / "claim_attacks.toml"


class Attack(NamedTuple):
    """A claim, the text it is put to, and what a close reader makes of it."""

    group: str
    kind: str
    expected: Stance
    claim: str
    text: str


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", action="store_true", help="also the claims of the set tuning that come out wrong")
    parser.add_argument("--made", type=int, default=200, help="claims made by rule of each kind")
    asked = parser.parse_args()
    verifier = TrainedVerifier()
    counts: Counter[tuple[str, str, str]] = Counter()
    for attack in (*attacks(), *made(asked.made)):
        became, stance = outcome(attack, verifier)
        counts[attack.group, attack.kind, became] += 1
        if asked.wrong and became != "right" and attack.group != "held":
            sys.stdout.write(f"{became}: {attack.kind}: {attack.claim} | {stance} | {attack.text}\n")
    sys.stdout.write("| set | attack | claims | right | silent | WRONG |\n|---|---|---|---|---|---|\n")
    groups = {group for group, _, _ in counts}
    for group in sorted(groups):
        kinds = sorted({kind for of, kind, _ in counts if of == group})
        for kind in (*kinds, "all"):
            found = [
                sum(n for (g, k, b), n in counts.items() if g == group and b == became and kind in (k, "all"))
                for became in ("right", "silent", "WRONG")
            ]
            sys.stdout.write(f"| {group} | {kind} | {sum(found)} | {' | '.join(map(str, found))} |\n")


def outcome(attack: Attack, verifier: Verifier) -> tuple[str, str]:
    """What became of an attack, and the stance.

    Args:
        attack: What is put.
        verifier: To whom.

    Returns:
        right, silent or WRONG; the stance with the note.
    """
    paper = Document(ids=("note",), abstract=attack.text)
    (opinion,) = verify(attack.claim, [paper], verifier).opinions
    shown = f"{opinion.stance.value} {opinion.probability:.2f} {opinion.note}"
    if opinion.stance is attack.expected:
        return "right", shown
    return ("silent" if opinion.stance is Stance.SILENT else "WRONG"), shown


def attacks() -> list[Attack]:
    """The claims that were written by hand."""
    found = []
    for note in tomllib.loads(ATTACKS.read_text(encoding="utf-8"))["note"]:
        for line in note["claims"].strip().splitlines():
            kind, expected, claim = (part.strip() for part in line.split("|"))
            found.append(Attack(note["set"], kind, Stance(expected), claim, note["text"]))
    return found


_DIRECTED = (
    ("phosphorylates", "phosphorylated", "Phosphorylation"),
    ("ubiquitinates", "ubiquitinated", "Ubiquitination"),
    ("cleaves", "cleaved", "Cleavage"),
    ("activates", "activated", "Activation"),
    ("inhibits", "inhibited", "Inhibition"),
    ("represses", "repressed", "Repression"),
    ("methylates", "methylated", "Methylation"),
    ("degrades", "degraded", "Degradation"),
)
_SHAPES = (
    "{a} {verb} {b} in {n} % of {where}.",
    "{b} is {past} by {a} in {n} % of {where}.",
    "{noun} of {b} by {a} was seen in {n} % of {where}.",
    "We show that {a} {verb} {b} in {n} % of {where}.",
)
_WHERE = ("neurons", "hepatocytes", "fibroblasts", "monocytes", "platelets", "macrophages")


def made(count: int) -> Iterator[Attack]:
    """True sentences with one thing exchanged, by rule.

    Args:
        count: How many of each kind.

    Yields:
        The attacks, always the same ones.
    """
    chance = random.Random(20261122)  # noqa: S311
    for _ in range(count):
        a, b, c = _symbols(chance, 3)
        verb, past, noun = chance.choice(_DIRECTED)
        n, other = (str(x) for x in chance.sample(range(13, 98), 2))
        where, elsewhere = chance.sample(_WHERE, 2)
        named = {"a": a, "b": b, "verb": verb, "past": past, "noun": noun, "n": n, "where": where}
        text, claim = (chance.choice(_SHAPES) for _ in range(2))
        true = text.format(**named)
        for kind, change in (
            ("true", {}),
            ("entity exchanged", {chance.choice("ab"): c}),
            ("number exchanged", {"n": other}),
            ("place exchanged", {"where": elsewhere}),
            ("direction turned", {"a": b, "b": a}),
        ):
            expected = Stance.SUPPORTS if kind == "true" else Stance.SILENT
            yield Attack("made by rule", kind, expected, claim.format(**named | change), true)


def _symbols(chance: random.Random, count: int) -> list[str]:
    letters = "ABCDEFGHKLMNPRSTVX"
    made = {"".join(chance.choices(letters, k=4)) + str(chance.randrange(2, 9)): None for _ in range(count * 3)}
    return list(made)[:count]


if __name__ == "__main__":
    main()
