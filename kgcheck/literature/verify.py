"""Check a verifier's opinions on given papers about a claim, and combine them into a verdict.

A paper counts once, a retracted one not at all, and papers that disagree are shown as such.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Protocol, Self

from pydantic import Field

from kgcheck.literature.documents import Document
from kgcheck.literature.polarity import significance
from kgcheck.literature.quote_relevance import objection, opposes
from kgcheck.model import Stance, Value

MAX_CLAIM = 2_000  # characters of a claim that are read
HEAVIER = 2.0  # ratio by which one side must outweigh the other where papers disagree
FURTHER = 0.25
"""Weight of a further paper that agrees, as a power of its doubt: one reader reads all, and errs alike in each."""

UNDECIDED = 0.5  # most of what silence is worth where a side was taken by an opinion that does not count


class Quote(Value):
    """Words of an abstract, with where they stand in it: ``abstract[start:end] == text``."""

    start: int = Field(ge=0)
    end: int
    text: str = Field(min_length=1)


class Probabilities(Value):
    """Probabilities that an abstract supports a claim, contradicts it, or says nothing of it."""

    supports: float = Field(ge=0, le=1)
    contradicts: float = Field(ge=0, le=1)
    silent: float = Field(ge=0, le=1)

    @property
    def stance(self) -> Stance:
        return max(Stance, key=self.of)

    def of(self, stance: Stance) -> float:
        return float(getattr(self, stance.value))


SILENCE = Probabilities(supports=0.0, contradicts=0.0, silent=1.0)


class Opinion(Value):
    """Opinion of a verifier on one abstract."""

    document: str
    title: str = ""
    year: int | None = None
    section: str = Field(default="abstract", description="kind of the section that was read")
    heading: str = Field(default="", description="its headings, where it is of a whole paper")
    also: tuple[str, ...] = Field(default=(), description="other ids of the paper")
    probabilities: Probabilities
    stance: Stance
    quotes: tuple[Quote, ...] = ()
    note: str = ""
    dropped: bool = Field(default=False, description="the verifier took a side, and it does not count: see the note")
    by: str = Field(default="", description="the model that judged, as its endpoint named it, or by its digest")

    @classmethod
    def on(
        cls,
        document: Document,
        probabilities: Probabilities,
        stance: Stance | None = None,
        quotes: Iterable[Quote] = (),
        note: str = "",
    ) -> Self:
        return cls(
            document=document.id,
            title=document.title,
            year=document.year,
            also=document.ids[1:],
            probabilities=probabilities,
            stance=stance or probabilities.stance,
            quotes=tuple(quotes),
            note=note,
        )

    @property
    def probability(self) -> float:
        return self.probabilities.of(self.stance)

    def dropped_for(self, why: str) -> Self:
        """The opinion as silence, for a reason for which it does not count."""
        none = {"stance": Stance.SILENT, "probabilities": SILENCE, "quotes": ()}
        return self.model_copy(update={**none, "note": why, "dropped": True})


class ClaimVerdict(Value):
    """Verdict of the papers on a claim. ``silent``: looked, cannot tell."""

    claim: str
    verifier: str
    stance: Stance
    probability: float
    conflict: bool = False
    opinions: tuple[Opinion, ...] = ()
    retracted: tuple[str, ...] = Field(default=(), description="papers that were found and do not count")
    dropped: int = Field(default=0, description="opinions that do not count, each with its reason")
    note: str = ""


class Verifier(Protocol):
    """Reads abstracts for a claim."""

    name: str
    finds_names: bool  # it looks itself for sentences that name all that a claim is about

    def judge(self, claim: str, documents: Sequence[Document]) -> list[Opinion]:
        """An opinion on each document, in their order."""


def verify(
    claim: str,
    documents: Iterable[Document],
    verifier: Verifier,
    synonyms: Sequence[Sequence[str]] = (),
    *,
    strict: bool = True,
) -> ClaimVerdict:
    """Ask a verifier what documents say of a claim.

    A paper whose quotes do not name all that the claim is about is silent, whatever the verifier made of it, unless the
    verifier looks for the names itself; where it is not ``strict``, only one whose quotes repeat the rest of the claim.
    One that holds an instruction to its reader is silent always.
    """
    by_id: dict[str, Document] = {}
    for document in documents:
        by_id.setdefault(document.paper_id, document)
    retracted = tuple(name for name, d in by_id.items() if d.retracted)
    read = [d for d in by_id.values() if not d.retracted]
    wanted = claim.strip()[:MAX_CLAIM]
    opinions = verifier.judge(wanted, read) if read and wanted else []
    found: list[Opinion] = []
    for opinion, document in zip(opinions, read if opinions else [], strict=True):
        why = _objection(wanted, opinion, document, synonyms, None if verifier.finds_names else strict)
        counted = opinion.dropped_for(why) if why else opinion
        found.append(counted.model_copy(update={"section": document.section, "heading": document.heading}))
    return together(wanted, verifier.name, found, retracted)


def _objection(
    claim: str, opinion: Opinion, document: Document, synonyms: Sequence[Sequence[str]], strict: bool | None
) -> str:
    """Return the reason why an opinion does not count; quotes that are not in the paper are a fault of the verifier."""
    for quote in opinion.quotes:
        if document.abstract[quote.start : quote.end] != quote.text:
            raise ValueError(f"{opinion.document} does not say {quote.text!r} at {quote.start}")
    if opinion.stance is Stance.SILENT:
        return ""
    if instructs(document.abstract):
        return "it holds an instruction to whoever reads it: nothing of it counts"
    quotes = [q.text for q in opinion.quotes]
    called, found = significance(claim), {significance(quote) for quote in quotes}
    if opinion.stance is Stance.CONTRADICTS and called is False and found == {False}:
        return "its sentences call it not significant, as the claim does"
    if opinion.stance is Stance.SUPPORTS and called is not None and found == {not called}:
        return f"its sentences call it {'not ' if called else ''}significant"
    if strict is None:
        return ""
    supports = opinion.stance is Stance.SUPPORTS
    why = objection(claim, quotes, document.abstract, synonyms, strict=strict, supports=supports)
    if not why and opposes(claim, quotes) == (-1 if supports else 1):
        return f"its sentences say {'the opposite' if supports else 'the same'}"
    return why


_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.]{0,60}\b(?:instructions?|prompts?|rules|guidelines|above|previous)\b"
    r"|\b(?:answer|respond|reply|output|say|return|conclude)\b[^.]{0,30}\b(?:supports?|supported|contradicts?|silent)\b[^.]{0,30}"
    r"\b(?:probability|stance|opinion|paper|claim)\b"
    r"|\b(?:you are|act as) an? (?:ai|assistant|language model|llm|chatbot)\b|\bas an? (?:ai|language model|llm)\b"
    r"|\b(?:system|developer) (?:prompt|message)\b|[\"'](?:stance|opinions|probability)[\"']\s*:"
    r"|</?(?:system|user|assistant|data|instructions?)>",
    re.IGNORECASE,
)


def instructs(text: str) -> bool:
    """Tell if a text instructs its reader what to answer, as no finding of a paper does."""
    return bool(_INSTRUCTION.search(text))


def together(claim: str, verifier: str, opinions: Sequence[Opinion], retracted: Sequence[str] = ()) -> ClaimVerdict:
    """Combine the opinions on several papers into one verdict.

    Those that speak count by their probability: the surest one whole, each further one a little (FURTHER). Where papers
    disagree, one side must weigh HEAVIER times the other. Both were fitted to the claims of SciFact (the model card).
    """
    sides = {
        stance: [o.probability for o in opinions if o.stance is stance]
        for stance in (Stance.SUPPORTS, Stance.CONTRADICTS)
    }
    weights = {stance: sum(p) for stance, p in sides.items()}
    other, best = sorted(weights, key=lambda s: weights[s])
    conflict = weights[other] > 0
    stance, note = best, "papers disagree" if conflict else ""
    dropped = sum(o.dropped for o in opinions)
    if not opinions:
        stance, note, probability = Stance.SILENT, "no paper was found", 0.0
    elif weights[best] == 0:
        stance = Stance.SILENT
        quiet = math.prod(o.probabilities.silent for o in opinions) ** (1 / len(opinions))
        probability = round(min(quiet, UNDECIDED) if dropped else quiet, 4)
    elif conflict and weights[best] < HEAVIER * weights[other]:
        stance, probability = Stance.SILENT, 0.0
    else:
        probability = round(min(_pooled(sides[best]) * (1 - _pooled(sides[other]) / 2), 0.999), 4)
    return ClaimVerdict(
        claim=claim,
        verifier=verifier,
        stance=stance,
        probability=probability,
        conflict=conflict,
        opinions=tuple(opinions),
        retracted=tuple(retracted),
        dropped=dropped,
        note=note,
    )


def _pooled(probabilities: Sequence[float]) -> float:
    first, *rest = sorted(probabilities, reverse=True) or [0.0]
    return float(1 - (1 - first) * math.prod(1 - p for p in rest) ** FURTHER)


def quote_at(document: Document, span: tuple[int, int]) -> Quote:
    """The words of an abstract at a place."""
    return Quote(start=span[0], end=span[1], text=document.abstract[span[0] : span[1]])
