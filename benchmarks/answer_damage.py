"""Measure the judge of answers by rules on right answers that a seeded script damages in known ways.

``python -m benchmarks.answer_damage`` takes the answers, summaries and grounding texts of HeurekaBench in
``../shared/data/heureka``, damages each in one way and prints how often the score does what the rubric says: an answer
as it was has 5; without a fact, less than 5 and nothing contradicted; with a fact denied, turned round, or with another
number, less than 5; with a sentence of another paper more, still 5. The authors' own words are to have 4 or more, those
of another paper 2 or less. Damage is done with words of its own, not those of the judge. The rules were written with
the papers of ``SEEN`` in view; the others were held out.
"""

import argparse
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from kgcheck.bench.answer_judge import FactState, JudgedAnswer, judge_by_rules
from kgcheck.bench.question_sets import read_set
from kgcheck.literature.documents import sentences
from kgcheck.report.safe_console import RowTable

SEEN = ("paper1", "paper3", "paper5", "paper7")
KINDS = ("as it was", "dropped", "denied", "turned round", "another number", "one more")
WORDS = ("the authors' words", "another paper's")
"""Grounding texts in place of answers: people's other words for what is right, and for something else."""

_TURNED = {
    "increase": "decrease", "increases": "decreases", "increased": "decreased", "increasing": "decreasing",
    "decrease": "increase", "decreases": "increases", "decreased": "increased", "decline": "rise", "declined": "rose",
    "upregulation": "downregulation", "upregulated": "downregulated", "upregulate": "downregulate",
    "upregulates": "downregulates", "downregulated": "upregulated", "downregulation": "upregulation",
    "higher": "lower", "lower": "higher", "high": "low", "low": "high", "expansion": "contraction",
    "enrichment": "depletion", "depletion": "enrichment", "enriched": "depleted", "reduced": "raised",
    "expand": "shrink",
    "greater": "smaller", "elevated": "reduced", "enhanced": "weakened", "loss": "gain",
}  # fmt: skip
_DENIED = (
    *((rf"\b{verb}\b", f"{verb} not") for verb in ("is", "are", "was", "were", "can", "may", "has", "have")),
    *((rf"\b{form}\b", f"does not {verb}") for form, verb in (("shows", "show"), ("exhibits", "exhibit"))),
    *((rf"\b{form}\b", f"did not {verb}") for form, verb in (("showed", "show"), ("exhibited", "exhibit"))),
    *((rf"\b{form}\b", f"does not {verb}") for form, verb in (("reveals", "reveal"), ("increases", "increase"))),
    *((rf"\b{verb}(?= [a-z])", f"do not {verb}") for verb in ("upregulate", "express", "show", "contribute")),
)
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = re.compile(
    rf"(?<![\w+./-])(?:\d+(?:\.\d+)?(?=%| |-fold)|{'|'.join(_NUMBERS)}(?=fold\b| ))(?![\w+])", re.IGNORECASE
)
_LIST_ITEM = re.compile(r", (?!and\b|which\b|while\b|with\b|but\b|including\b)[^,.;]{3,50}(?=,)")


Text = tuple[str, str, str]
"""The paper of a text, the text, and the question that it answers, if any."""


class Damaged(NamedTuple):
    """An answer that was damaged in one way."""

    paper: str
    kind: str
    right: str
    answer: str
    question: str


def main() -> None:
    """Damage, judge, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/heureka"))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print what was misjudged")
    given = parser.parse_args()
    counts: dict[tuple[str, bool], Counter[bool]] = defaultdict(Counter)
    scores: dict[str, Counter[int]] = defaultdict(Counter)
    for damaged in cases(given.data, given.count, given.seed):
        judged = judge_by_rules(damaged.right, damaged.answer, damaged.question)
        right = is_right(damaged.kind, judged)
        counts[damaged.kind, damaged.paper in SEEN][right] += 1
        scores[damaged.kind][judged.score] += 1
        if given.show and not right:
            sys.stdout.write(f"{damaged}\n{judged}\n\n")
    rows = []
    for kind in (*KINDS, "all damaged", *WORDS):
        chosen = [k for k in KINDS[1:] if kind in (k, "all damaged")] or [kind]
        cells = [_share(sum((counts[k, seen] for k in chosen), Counter[bool]())) for seen in (True, False)]
        spread = sum((scores[k] for k in chosen), Counter[int]())
        rows.append((kind, *cells, ", ".join(f"{n}: {spread[n]}" for n in sorted(spread))))
    Console(width=160).print(RowTable(("damage", "papers seen", "held out", "answers by score"), rows))


def _share(marks: Counter[bool]) -> str:
    return f"{marks[True]} of {marks.total()} ({marks[True] / max(marks.total(), 1):.1%})"


def is_right(kind: str, judged: JudgedAnswer) -> bool:
    """Tell whether a score is what the rubric says."""
    contradicted = any(fact.state is FactState.CONTRADICTED for fact in judged.facts)
    if kind in ("as it was", "one more"):
        return judged.score == 5
    if kind in WORDS:
        return judged.score >= 4 if kind == WORDS[0] else judged.score <= 2
    return judged.score < 5 and not (kind == "dropped" and contradicted)


def cases(data: Path, count: int, seed: int) -> Iterator[Damaged]:
    """Damaged answers, as many of each kind as there can be, and all answers as they were."""
    chance = random.Random(seed)  # noqa: S311 - a choice that can be repeated, not a secret
    texts = [*dict.fromkeys(_texts(data))]
    yield from (Damaged(paper, KINDS[0], text, text, question) for paper, text, question in texts)
    made = {kind: [*dict.fromkeys(_damaged(kind, texts, chance))] for kind in KINDS[1:]}
    each = {kind: chance.sample(found, min(len(found), count // len(made))) for kind, found in made.items()}
    lacking = count - sum(map(len, each.values()))
    spare = [one for kind, found in made.items() for one in found if one not in each[kind]]
    yield from (one for found in each.values() for one in found)
    yield from chance.sample(spare, min(lacking, len(spare)))
    for one, other in product(read_set(data / "oeq.json"), repeat=2):
        if one is other or one.paper != other.paper:
            kind = WORDS[one is not other]
            yield Damaged(one.paper, kind, one.answer, other.grounding, one.question)


def _texts(data: Path) -> Iterator[Text]:
    for item in read_set(data / "oeq.json"):
        grounding = item.grounding.strip('" \n')
        spans = [grounding[start:end] for start, end in sentences(grounding)]
        for question, text in ((item.question, item.answer), ("", item.summary), *(("", span) for span in spans)):
            if 8 <= len(text.split()) <= 80 and text[0].isupper() and "\n" not in text:
                yield item.paper, text, question


def _damaged(kind: str, texts: list[Text], chance: random.Random) -> Iterator[Damaged]:
    for paper, text, question in texts:
        for answer in _ways(kind, paper, text, texts, chance):
            if answer != text:
                yield Damaged(paper, kind, text, answer, question)


def _ways(kind: str, paper: str, text: str, texts: list[Text], chance: random.Random) -> Iterator[str]:
    match kind:
        case "dropped":
            spans = sentences(text)
            if len(spans) > 1:
                yield from (f"{text[:start]}{text[end:]}".strip() for start, end in spans)
            yield from (text[: item.start()] + text[item.end() :] for item in _LIST_ITEM.finditer(text))
            for joint in re.finditer(r", (?:while|whereas|but|and) (?=\w+ \w+ \w+ \w+)", text):
                yield text[: joint.start()] + "."
        case "denied":
            for pattern, words in _DENIED:
                yield from (text[: m.start()] + words + text[m.end() :] for m in re.finditer(pattern, text))
        case "turned round":
            for word, other in _TURNED.items():
                yield from (text[: m.start()] + other + text[m.end() :] for m in re.finditer(rf"\b{word}\b", text))
        case "another number":
            for number in _NUMBER.finditer(text):
                written = number[0]
                other = chance.choice([n for n in _NUMBERS if n != written.lower()])
                if written[0].isdigit():
                    other = f"{float(written) * chance.choice((3, 4, 7)) + 1:g}"
                yield (
                    text[: number.start()]
                    + (other.capitalize() if written[0].isupper() else other)
                    + text[number.end() :]
                )
        case _:
            yield f"{text} {chance.choice([other for name, other, _ in texts if name != paper])}"


if __name__ == "__main__":
    main()
