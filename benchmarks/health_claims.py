"""What the shipped verifier makes of short health claims: ``python -m benchmarks.health_claims``.

Two sets that a reader wrote and judged before seeing the verifier: claims about abstracts of ../shared/data
(health_claims.toml, which holds none of their text) and claims about notes of our own (health_notes.toml). Prints, by
kind and half, right, silent (it takes no side where it could) and WRONG (it takes a side that is not there), and for
each half accuracy, macro F1 and calibration. Nothing may be tuned on the half "held".
"""

import argparse
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kgcheck.bench.metrics import measure
from kgcheck.bench.scv import ClaimItem
from kgcheck.literature.documents import Document
from kgcheck.literature.embed import SentenceModel
from kgcheck.literature.formats import choose_recipe, read_documents
from kgcheck.literature.inference import InferenceReader
from kgcheck.literature.trained_verifier import TrainedVerifier
from kgcheck.literature.verify import ClaimVerdict, Verifier, verify
from kgcheck.model import Stance

CLAIMS = Path(__file__).with_name("health_claims.toml")
NOTES = Path(__file__).with_name("health_notes.toml")


class HealthClaim(NamedTuple):
    """A claim, the text it is put to, and what a reader makes of it."""

    item: ClaimItem
    kind: str
    half: str
    document: Document


def main() -> None:
    """Measure both sets, with words and with vectors, and print Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--words", action="store_true", help="words alone, without the embedding model")
    parser.add_argument("--inference", type=Path, help="folder of a model of inference, for vectors")
    parser.add_argument("--show", action="store_true", help="also the claims of the half seen that are not right")
    asked = parser.parse_args()
    verifiers: dict[str, Verifier] = {"words": TrainedVerifier()}
    if not asked.words:
        model = SentenceModel()
        verifiers["vectors"] = TrainedVerifier(model)
        if asked.inference:
            verifiers["vectors and inference"] = TrainedVerifier(model, inference=InferenceReader.of(asked.inference))
    sets = {"abstracts": about_abstracts(asked.data), "notes": about_notes()}
    judged = {
        (of, by): [(claim, verify(claim.item.claim, [claim.document], verifier)) for claim in claims]
        for of, claims in sets.items()
        for by, verifier in verifiers.items()
    }
    sys.stdout.write(summary(judged))
    for (of, by), verdicts in judged.items():
        sys.stdout.write(f"\n{of}, {by}\n\n{kinds(verdicts)}")
        for claim, verdict in verdicts if asked.show else ():
            became = outcome(claim, verdict)
            if became != "right" and claim.half == "seen":
                told = verdict.opinions[0]
                line = f"{became}: {claim.item.id} {claim.kind}: {claim.item.claim} | {told.stance.value}"
                sys.stdout.write(f"{line} {told.probability:.2f} {told.note}\n")


Judged = Sequence[tuple[HealthClaim, ClaimVerdict]]


def outcome(claim: HealthClaim, verdict: ClaimVerdict) -> str:
    """What became of a claim.

    Args:
        claim: The claim.
        verdict: What the verifier says.

    Returns:
        right, silent or WRONG.
    """
    if verdict.stance is claim.item.label:
        return "right"
    return "silent" if verdict.stance is Stance.SILENT else "WRONG"


def about_abstracts(data: Path) -> list[HealthClaim]:
    """The claims about real abstracts.

    Args:
        data: The shared data.

    Returns:
        The claims with their abstracts.

    Raises:
        KeyError: A file lacks a document.
    """
    rows = tomllib.loads(CLAIMS.read_text(encoding="utf-8"))["claim"]
    documents: dict[str, dict[str, Document]] = {}
    for source in sorted({row["source"] for row in rows}):
        path = data / source
        read = read_documents(path, choose_recipe(path))
        documents[source] = {d.id.partition(":")[2]: d for d in read if isinstance(d, Document)}
    return [_claim(row, documents[row["source"]][row["document"]]) for row in rows]


def about_notes() -> list[HealthClaim]:
    """The claims about notes of our own.

    Returns:
        The claims with their notes.
    """
    made = tomllib.loads(NOTES.read_text(encoding="utf-8"))
    notes = {note["id"]: Document(ids=(note["id"],), abstract=note["text"]) for note in made["note"]}
    return [_claim(row, notes[row["note"]]) for row in made["claim"]]


def _claim(row: dict[str, str], document: Document) -> HealthClaim:
    item = ClaimItem(id=row["id"], claim=row["claim"], label=Stance(row["label"]), documents=(document.id,))
    return HealthClaim(item, row["kind"], row["half"], document)


def summary(judged: Mapping[tuple[str, str], Judged]) -> str:
    """Measures of each half.

    Args:
        judged: Verdicts, by set and verifier.

    Returns:
        A Markdown table.
    """
    lines = [
        "| set | verifier | half | claims | majority | right | silent | WRONG "
        "| accuracy | macro F1 | calibration error |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (of, by), verdicts in judged.items():
        for half in ("seen", "held"):
            own = [(claim, verdict) for claim, verdict in verdicts if claim.half == half]
            told = {c.item.id: {"answer": v.stance.value, "probability": v.probability} for c, v in own}
            found = measure([c.item for c, _ in own], told)
            figures = (found.majority, found.accuracy, found.macro_f1, found.calibration_error)
            majority, *rest = ("" if x is None else f"{x:.3f}" for x in figures)
            cells = [of, by, half, len(own), majority, *_counts(own), *rest]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def kinds(verdicts: Judged) -> str:
    """What became of the claims of each kind.

    Args:
        verdicts: Of one set.

    Returns:
        A Markdown table.
    """
    groups: dict[tuple[str, str], list[tuple[HealthClaim, ClaimVerdict]]] = defaultdict(list)
    for claim, verdict in verdicts:
        assert claim.item.label is not None  # noqa: S101
        groups[claim.item.label.value, claim.kind].append((claim, verdict))
    lines = [
        "| label | kind | seen: claims | right | silent | WRONG | held: claims | right | silent | WRONG |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (label, kind), own in sorted(groups.items()):
        cells: list[object] = [label, kind]
        for half in ("seen", "held"):
            part = [(claim, verdict) for claim, verdict in own if claim.half == half]
            cells += [len(part), *_counts(part)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def _counts(verdicts: Iterable[tuple[HealthClaim, ClaimVerdict]]) -> list[int]:
    counted = Counter(outcome(claim, verdict) for claim, verdict in verdicts)
    return [counted[became] for became in ("right", "silent", "WRONG")]


if __name__ == "__main__":
    main()
