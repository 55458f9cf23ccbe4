"""Judges of an edge: verifiers that must agree on a paper, each opinion weighed by what they were measured at."""

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from kgcheck.checks.calibration import AND, TRUST, Calibration, Standing, standing
from kgcheck.literature.documents import Document
from kgcheck.literature.pairs import WEIGHTS as PAIRS
from kgcheck.literature.pairs import EdgeClaim, PairVerifier
from kgcheck.literature.trained_verifier import read_weights
from kgcheck.literature.verify import ClaimVerdict, Opinion, Verifier, together, verify
from kgcheck.model import Stance
from kgcheck.resources import resource_dir

SURE_ENOUGH = 0.6
"""An opinion below this probability is silence: text is the lowest tier, and must not decide by a guess."""

SHIPPED = "verifier/calibration.json"

_LONGEST_NAME = 200
_AS_JUDGED = Standing(decides=True, why="counted as judged, whatever the judge was measured at")


class Judge(NamedTuple):
    """A verifier of edges with the identity by which its calibrations are found."""

    name: str
    model: str
    prompt: str = ""
    verifier: Verifier | None = None  # none: the reader of pairs, made for each edge


class Judges:
    """One or several judges; an opinion counts where all of them take the same side on a paper."""

    def __init__(
        self, judges: Sequence[Judge], calibrations: Iterable[Calibration] = (), trust: float | None = None
    ) -> None:
        self._judges = tuple(judges)
        self._calibrations = tuple(calibrations)
        self._trust = trust
        self.counts_all = False
        """Count each opinion as it is: a benchmark scores what the judge says."""
        self.seen: dict[str, set[str]] = {judge.name: set() for judge in judges}
        """Models by which each judge has answered."""

    @property
    def name(self) -> str:
        return AND.join(judge.name for judge in self._judges)

    @property
    def prompt(self) -> str:
        return AND.join(judge.prompt for judge in self._judges) if any(j.prompt for j in self._judges) else ""

    @property
    def model(self) -> str:
        """The models that have answered; before any answer, those that are asked."""
        return AND.join(", ".join(sorted(self.seen[j.name])) or j.model for j in self._judges)

    def read(self, claim: EdgeClaim, documents: Iterable[Document], *, unlike: bool) -> ClaimVerdict:
        """Judge an edge by the sentences of documents that name both of its ends.

        A further judge reads only the papers on which those before it take a side.
        """
        left = list(documents)
        verdict = self._read(self._judges[0], claim, left, unlike=unlike)
        for judge in self._judges[1:]:
            speak = {o.document for o in verdict.opinions if o.stance is not Stance.SILENT}
            if not speak:
                break
            further = self._read(judge, claim, [d for d in left if d.id in speak], unlike=unlike)
            others = {o.document: o for o in further.opinions}
            agreed = [_agreed(o, others[o.document]) if o.document in speak else o for o in verdict.opinions]
            verdict = together(verdict.claim, self.name, agreed, verdict.retracted)
        return verdict

    def standing(self, opinion: Opinion, relations: Sequence[str]) -> Standing:
        """Weigh an opinion on an edge, by the names that its relation has in calibrations, the narrowest first."""
        if self.counts_all:
            return _AS_JUDGED
        whole = Judge(self.name, opinion.by, self.prompt)
        models = opinion.by.split(AND)
        single = [j._replace(model=model) for j, model in zip(self._judges, models, strict=True)]
        trust = [TRUST[judge.name] if self._trust is None else self._trust for judge in single]
        if len(single) == 1 or self._calibrations_of(whole):
            return self._measured(whole, opinion.stance, relations, max(trust))
        weights = [self._measured(j, opinion.stance, relations, own) for j, own in zip(single, trust, strict=True)]
        whys = [f"{j.name} {weight}" for j, weight in zip(single, weights, strict=True)]
        return Standing(all(weight.decides for weight in weights), "; ".join(whys))

    def read_by_all(self, opinion: Opinion) -> bool:
        """Tell if every judge had a say in an opinion."""
        return len(opinion.by.split(AND)) == len(self._judges)

    def notes(self) -> list[str]:
        """Tell of models that changed while they were asked."""
        changed = ((name, sorted(models)) for name, models in self.seen.items() if len(models) > 1)
        return [
            f"warning: the endpoint of {name} answered by several models, {', '.join(models)}: each counts by its own"
            " calibration alone"
            for name, models in changed
        ]

    def _read(self, judge: Judge, claim: EdgeClaim, documents: Sequence[Document], *, unlike: bool) -> ClaimVerdict:
        verdict = read_sentences(claim, documents, judge.verifier, unlike=unlike)
        enough = 0.0 if judge.verifier is None else SURE_ENOUGH
        opinions = []
        for opinion in verdict.opinions:
            if opinion.stance is not Stance.SILENT and opinion.probability < enough:
                sure = f"{opinion.probability:.2f} of {enough:g}"
                opinion = opinion.dropped_for(f"it {opinion.stance.value}, but not surely enough: {sure}")
            elif opinion.stance is not Stance.SILENT and not any(claim.places(quote.text) for quote in opinion.quotes):
                opinion = opinion.dropped_for("no sentence that is quoted names both ends")
            # The name comes from an endpoint, and must not read as that of several judges, joined to others' either.
            by = (opinion.by or judge.model)[:_LONGEST_NAME].replace(AND.rstrip(), " &")
            opinions.append(opinion.model_copy(update={"by": by}))
        self.seen[judge.name].update(o.by for o in opinions)
        return together(verdict.claim, verdict.verifier, opinions, verdict.retracted)

    def _calibrations_of(self, judge: Judge) -> list[Calibration]:
        """All measurements of this very judge: what is right in one set does not make up for another."""
        wanted = (judge.name, judge.model, judge.prompt)
        return [c for c in self._calibrations if (c.judge, c.model, c.prompt) == wanted]

    def _measured(self, judge: Judge, stance: Stance, relations: Sequence[str], trust: float) -> Standing:
        if found := self._calibrations_of(judge):
            weight = standing((cell for c in found for cell in c.cells), stance, relations, trust)
            sets = "; ".join(f"{c.evidence}, {c.measured:%Y-%m-%d}" for c in found)
            return weight._replace(why=f"{weight.why} (measured on {sets})")
        others = [c for c in self._calibrations if c.judge == judge.name]
        if not others:
            return Standing(decides=False, why=f"{judge.name} {judge.model} was not measured: kgcheck bench judge")
        last = max(others, key=lambda c: c.measured)
        what = f"of the model {last.model}" if last.model != judge.model else "of another prompt"
        return Standing(decides=False, why=f"the calibration is {what}, and not of {judge.model}: kgcheck bench judge")


def read_sentences(
    claim: EdgeClaim, documents: Iterable[Document], verifier: Verifier | None = None, *, unlike: bool
) -> ClaimVerdict:
    """Judge an edge by the sentences of documents that name both of its ends; by the reader of pairs, or a verifier."""
    read = []
    for document in documents:
        spans = (
            span for span, passage in zip(document.spans, document.passages, strict=True) if claim.matches(passage)
        )
        # Only these are read; offsets stay as they are.
        read.append(document.model_copy().with_spans(tuple(spans)))
    return verify(claim.claim, read, verifier or PairVerifier(claim, unlike=unlike), (claim.head, claim.tail))


def trained_judge() -> Judge:
    """The reader of pairs, by the digest of its weights."""
    return Judge("trained", pairs_digest())


def judge_of(name: str, verifier: Verifier) -> Judge:
    """A judge by a verifier of claims; in the place of the trained one, the reader of pairs."""
    if name == "trained":
        return trained_judge()
    model, prompt = getattr(verifier, "model", verifier.name), getattr(verifier, "prompt", "")
    return Judge(name, model, prompt, verifier)


@cache
def pairs_digest() -> str:
    """SHA-256 of the weights of the reader of pairs, 16 digits."""
    return hashlib.sha256((resource_dir("corpus") / PAIRS).read_bytes()).hexdigest()[:16]


@cache
def shipped_calibration() -> Calibration:
    """The measurement that comes with kgcheck: of the reader of pairs, each corpus left out of its training."""
    return read_weights(resource_dir("corpus") / SHIPPED, Calibration)


def _agreed(one: Opinion, other: Opinion) -> Opinion:
    by = f"{one.by}{AND}{other.by}"
    if one.stance is not other.stance:
        differ = f"the judges differ: one {one.stance.value}, another {other.stance.value}"
        return one.dropped_for(differ).model_copy(update={"by": by})
    surer = max(one, other, key=lambda o: o.probability)
    less = min(one, other, key=lambda o: o.probability)
    return less.model_copy(update={"by": by, "quotes": one.quotes, "note": one.note or surer.note})
