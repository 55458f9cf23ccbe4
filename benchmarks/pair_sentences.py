"""Reads single sentences about two named things as a check does: ``python -m benchmarks.pair_sentences FILE.jsonl``.

A line has ``sentence`` (or ``text``), ``e1`` and ``e2`` (or ``first`` and ``second``) and ``label``: ``support``,
``contradict`` or ``not_support``. It may have ``e1_type``, ``e2_type``, ``relation`` and ``kind``. Without types the
first is a protein, and the second is one if it is written like a symbol, else a disease; without a relation the two are
associated. Sentences of the kind ``comention`` only name both. Each sentence is a paper of its own, read by what reads
the papers of an edge in ``check`` and ``audit --literature``. Prints by kind how many are read right, how many are
passed over in silence and how many WRONG, and the shares that count, each with Wilson's bounds.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from kgcheck.checks.calibration import bounds_of
from kgcheck.literature.documents import Document
from kgcheck.literature.edge_reader import sure_opinions
from kgcheck.literature.judges import read_sentences
from kgcheck.literature.pairs import EdgeClaim
from kgcheck.model import Stance
from kgcheck.profile.claims import load_claim_forms
from kgcheck.text.words import is_symbol

_LABELS = {
    "protein": "Protein",
    "gene": "Protein",
    "disease": "Disease",
    "phenotype": "Disease",
    "tissue": "Tissue",
    "cell": "Tissue",
    "process": "Biological_process",
    "pathway": "Biological_process",
    "function": "Molecular_function",
    "component": "Cellular_component",
    "location": "Cellular_component",
    "go": "Biological_process",
}
_GO = {"located_in": "Cellular_component", "part_of": "Cellular_component", "has": "Molecular_function"}
_BINDS = ("binds", "binds_to", "interacts_with", "complex_with")
_WRONG = {"support": Stance.CONTRADICTS, "contradict": Stance.SUPPORTS, "not_support": Stance.SUPPORTS}
_RIGHT = {"support": Stance.SUPPORTS, "contradict": Stance.CONTRADICTS, "not_support": Stance.SILENT}
_NAMES = {"text": "sentence", "first": "e1", "second": "e2", "first_type": "e1_type", "second_type": "e2_type"}
_NAMING = ("comention",)
"""Kinds of sentences that support nothing and neither deny, ask, doubt nor set a condition."""


def main() -> None:
    """Read a file of sentences and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, help="write each line with what was read to this file")
    parser.add_argument("--wrong", action="store_true", help="print what was not read right")
    asked = parser.parse_args()
    rows = [_row(line) for line in asked.file.read_text(encoding="utf-8").splitlines() if line.strip()]
    for row in rows:
        found = judge(row["sentence"], row["e1"], row["e1_type"], row["e2"], row["e2_type"], row["relation"])
        row["read"] = found.value
    if asked.out:
        asked.out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    sys.stdout.write(table(rows))
    if asked.wrong:
        for row in rows:
            if row["read"] != _RIGHT[row["label"]].value:
                places = f"{row['kind']}, {row['label']}, read {row['read']}: {row['e1']} | {row['e2']}"
                sys.stdout.write(f"{places} | {row['relation']}\n    {row['sentence']}\n")


def _row(line: str) -> dict[str, str]:
    """A line with the names and defaults of what it leaves out."""
    row = {_NAMES.get(name, name): value for name, value in json.loads(line).items()}
    second = "protein" if is_symbol(row["e2"]) else "disease"
    return {"e1_type": "protein", "e2_type": second, "relation": "associated_with", "kind": row["label"], **row}


def judge(sentence: str, head: str, head_type: str, tail: str, tail_type: str, relation: str) -> Stance:
    """The stance that one sentence would have as evidence on an edge of two names."""
    claim = claim_of(head, head_type, tail, tail_type, relation)
    paper = Document(ids=("sentence",), abstract=sentence).with_spans(((0, len(sentence)),))
    judged = read_sentences(claim, [paper], unlike=_label(head_type, relation) != _label(tail_type, relation))
    spoken = sure_opinions(judged)
    return spoken[0].stance if spoken else Stance.SILENT


def claim_of(head: str, head_type: str, tail: str, tail_type: str, relation: str) -> EdgeClaim:
    """A claim in the words of the profile where it has such edges, else in those of the relation."""
    wanted = _label(head_type, relation), _label(tail_type, relation)
    forms = [f for f in load_claim_forms("ckg") if (f.head, f.tail) == wanted and f.for_papers]
    if wanted == ("Protein", "Protein"):
        forms = [f for f in forms if (f.relation == "CURATED_INTERACTS_WITH") == (relation in _BINDS)]
    if not forms:
        return EdgeClaim(f"{head} {relation.replace('_', ' ')} {tail}.", (head,), (tail,), "", ())
    form = forms[0]
    return EdgeClaim(form.claim.format(head=head, tail=tail), (head,), (tail,), form.words, form.cues + form.wider_cues)


def _label(kind: str, relation: str) -> str:
    low = kind.lower()
    return _GO.get(relation, _LABELS["go"]) if low == "go" else _LABELS.get(low, kind)


def table(rows: Iterable[dict[str, str]]) -> str:
    """What was read of sentences, by kind, and the shares that count."""
    kinds: Counter[tuple[str, str, str]] = Counter()
    read: Counter[tuple[str, str]] = Counter()
    for row in rows:
        label, kind = row["label"], row["kind"]
        stance = Stance(row["read"])
        said = "WRONG" if stance is _WRONG[label] else "right" if stance is _RIGHT[label] else "other"
        kinds[kind, label, said] += 1
        read[label, stance.value] += 1
        if label != "support":
            read["denies" if kind not in _NAMING else "names both", stance.value] += 1
    lines = [
        "| kind | label | right | silent, or contradicted where nothing is said | WRONG |",
        "|---|---|---|---|---|",
    ]
    for kind, label in sorted({key[:2] for key in kinds}):
        counts = [kinds[kind, label, said] for said in ("right", "other", "WRONG")]
        shares = " | ".join(_share(n, sum(counts)) for n in counts)
        lines.append(f"| {kind} | {label} | {shares} |")
    count: Counter[str] = Counter()
    for (label, _), n in read.items():
        count[label] += n
    denies = _share(read["denies", "supports"], count["denies"])
    lines += [
        "",
        f"support from denials, conditions, questions and doubts: {denies}",
        f"support from sentences that only name both: {_share(read['names both', 'supports'], count['names both'])}",
        f"plain statements found: {_share(read['support', 'supports'], count['support'])}",
        f"plain statements that contradict: {_share(read['support', 'contradicts'], count['support'])}",
        f"contradictions found: {_share(read['contradict', 'contradicts'], count['contradict'])}",
        f"what contradicts and is a denial: {_share(read['contradict', 'contradicts'], _spoken(read, 'contradicts'))}",
        f"what supports and is a plain statement: {_share(read['support', 'supports'], _spoken(read, 'supports'))}",
    ]
    return "\n".join(lines) + "\n"


def _spoken(read: Counter[tuple[str, str]], stance: str) -> int:
    return sum(read[label, stance] for label in _RIGHT)


def _share(count: int, of: int) -> str:
    """A count, its share and Wilson's bounds."""
    if not of:
        return "0 of 0"
    low, high = bounds_of(count, of)
    return f"{count} of {of} ({count / of:.1%}; {low:.1%} to {high:.1%})"


if __name__ == "__main__":
    main()
