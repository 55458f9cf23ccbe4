"""Join claim sets over one corpus into one, as BioKGBench's SCV set was: questions become declarative claims."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from kgcheck.bench.scv import read_items
from kgcheck.errors import UnknownName, UsageError
from kgcheck.literature.search import LiteratureIndex
from kgcheck.model import Stance, Value
from kgcheck.profile.toml_files import read_value
from kgcheck.resources import resource_dir

VERDICTS = {Stance.SUPPORTS: "Supports", Stance.CONTRADICTS: "Refutes", Stance.SILENT: "Unsure"}
"""Labels as BioKGBench's files have them."""


class JoinedClaim(Value):
    """A claim in the form of BioKGBench's own files."""

    id: str
    claim: str
    verdict: str
    evidence: tuple[str, ...]


class _Words(Value):
    never: tuple[str, ...]
    verbs: frozenset[str]
    predicates: frozenset[str]
    before: frozenset[str]


@cache
def _words() -> _Words:
    return read_value(resource_dir("corpus") / "bench" / "claims.toml", _Words)


def as_claim(question: str) -> str | None:
    """Turn a yes or no question into the claim that a yes affirms; None where its parts are not plain.

    >>> as_claim("Does high blood pressure reduce the risk of chronic low back pain?")
    'High blood pressure reduces the risk of chronic low back pain.'
    >>> as_claim("Are polyps from pre-menopausal women less similar to others?")
    'Polyps from pre-menopausal women are less similar to others.'
    >>> as_claim("Does an increase in dose affect survival?")
    """
    known = _words()
    first, *rest = question.strip().removesuffix("?").split() or [""]
    text, kind = " ".join(rest), first.casefold()
    folded = [word.casefold() for word in rest]
    if re.search(r"[?:;]", text) or re.search(rf"\b(?:{'|'.join(known.never)})\b", text, re.IGNORECASE) or not rest:
        return None
    if kind not in ("do", "does", "can", "could", "is", "are", "was", "were"):
        return None
    of_form = known.predicates if kind in ("is", "are", "was", "were") else known.verbs
    found = [at for at, word in enumerate(folded) if word in of_form]
    if len(found) != 1 or not found[0]:
        return None
    at = place = found[0]
    while place and (folded[place - 1] in known.before or folded[place - 1].endswith("ly")):
        place -= 1
    if kind == "does":
        rest[at] = _third_person(rest[at])
    if not place:
        return None
    if rest[0].isascii() and rest[0].isalpha() and rest[0].islower():
        rest[0] = rest[0].capitalize()
    return f"{' '.join([*rest[:place], *([] if kind in ('do', 'does') else [kind]), *rest[place:]])}."


def _third_person(verb: str) -> str:
    if verb.casefold() in ("be", "have"):
        return {"be": "is", "have": "has"}[verb.casefold()]
    if re.search(r"[^aeiou]y$", verb, re.IGNORECASE):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if re.search(r"(?:s|x|z|ch|sh|o)$", verb, re.IGNORECASE) else f"{verb}s"


def _has_all(index: LiteratureIndex, documents: Sequence[str]) -> bool:
    try:
        return bool(documents) and bool(index.documents(documents))
    except UnknownName:
        return False


def join_claims(files: Sequence[Path], index: LiteratureIndex) -> tuple[list[JoinedClaim], Counter[str]]:
    """Join the labelled claims of files whose papers an index has, and count those left out by reason."""
    made: dict[str, JoinedClaim] = {}
    left_out = Counter[str]()
    if twice := [name for name, count in Counter(file.stem for file in files).items() if count > 1]:
        raise UsageError(f"two files are called {twice[0]}, and claims go by these names", "copy one to another name")
    for file in files:
        for item in read_items(file):
            claim = as_claim(item.claim) if item.claim.endswith("?") else item.claim
            if item.label is None:
                left_out["without a label"] += 1
            elif claim is None:
                left_out["questions whose claim is not plain"] += 1
            elif not _has_all(index, item.documents):
                left_out["whose papers are not all in the index"] += 1
            elif claim.casefold() in made:
                left_out["that were there already"] += 1
            else:
                verdict = VERDICTS[item.label]
                made[claim.casefold()] = JoinedClaim(
                    id=f"{file.stem}:{item.id}", claim=claim, verdict=verdict, evidence=item.documents
                )
    if not made:
        raise UsageError("no claim is left", "; ".join(f"{n:,} {why}" for why, n in left_out.items()))
    return list(made.values()), left_out
