"""Measure judges of papers on labelled evidence: precision by stance and relation, calibration, cost."""

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgcheck import clock
from kgcheck.bench.batches import Batch, done_items, keep_options
from kgcheck.bench.metrics import bins_of, error_of
from kgcheck.bench.scv import ClaimItem, read_items
from kgcheck.checks.calibration import Calibration, Cell, pooled
from kgcheck.context import Context, noting
from kgcheck.errors import InputFormat
from kgcheck.ledger.calibrations import CalibrationTable
from kgcheck.ledger.ledger import Ledger
from kgcheck.literature.documents import Document, clean
from kgcheck.literature.judges import Judges
from kgcheck.literature.pairs import EdgeClaim
from kgcheck.llm.budget import Limits, spent_note, total_meter
from kgcheck.llm.kept import fresh_replies
from kgcheck.model import Stance
from kgcheck.options import JudgeOptions, MeasureOptions
from kgcheck.plurals import how_many
from kgcheck.profile.claims import load_claim_forms
from kgcheck.profile.schema import Schema


@dataclass(frozen=True)
class JudgeMeasurement:
    """Measurement of judges; ``calibration`` is None where it is not whole, with why."""

    calibration: Calibration | None
    folder: Path
    batch: Batch
    why: str = ""
    notes: tuple[str, ...] = ()


class JudgeWork:
    """Reads items of labelled evidence as papers about an edge are read: a function for the batch runner."""

    def __init__(self, judges: Judges, schema: Schema) -> None:
        self._judges = judges
        forms = [form for form in load_claim_forms(schema.address) if form.for_papers]
        self._forms = {form.kind: form for form in reversed(forms)}
        self._forms |= {f"{form.head} {form.relation} {form.tail}": form for form in forms}

    def has_words(self, item: ClaimItem) -> bool:
        """Tell if an item's edge can be put in words, its own or those of the profile."""
        return bool(item.claim) or item.relation in self._forms

    def __call__(self, item: ClaimItem) -> dict[str, Any]:
        """The stance on one item, as it would be evidence."""
        started = time.perf_counter()
        texts = [text for passage in item.passages if (text := clean(passage))]
        claim = self._claim(item)
        documents = [Document(ids=(f"passage {n}",), abstract=text) for n, text in enumerate(texts, 1)]
        read = [document for document in documents if any(map(claim.matches, document.passages))]
        judged = self._judges.read(claim, read, unlike=is_unlike(item.relation))
        return {
            "label": item.label.value if item.label else None,
            "relation": item.relation,
            "stance": judged.stance.value,
            "probability": judged.probability,
            "by": sorted({o.by for o in judged.opinions if self._judges.read_by_all(o)}),
            "notes": sorted({opinion.note for opinion in judged.opinions if opinion.note}),
            "seconds": round(time.perf_counter() - started, 4),
        }

    def _claim(self, item: ClaimItem) -> EdgeClaim:
        form = None if item.claim else self._forms.get(item.relation)
        if form is None:
            return EdgeClaim(item.claim, item.head, item.tail, "", ())
        words = form.claim.format(head=item.head[0], tail=item.tail[0])
        return EdgeClaim(words, item.head, item.tail, form.words, form.cues + form.wider_cues)


def is_unlike(relation: str) -> bool:
    """Tell if a relation, a pattern or a kind of statement, is of two things of different kinds.

    >>> is_unlike("disease-gene"), is_unlike("Protein ACTS_ON Protein")
    (True, False)
    """
    parts = relation.split() if " " in relation else relation.split("-")
    return len(parts) > 1 and parts[0] != parts[-1]


@fresh_replies()
def measure_judges(
    context: Context, file: Path, options: MeasureOptions, *, out: Path | None = None, recipe: str | None = None
) -> JudgeMeasurement:
    """Measure judges on the labelled evidence of a file, and keep their calibration in the ledger.

    A measurement that was cut off goes on in its folder. One that is not whole is not kept: where items ended with an
    error or are open, or an endpoint answered by several models.
    """
    listed = [item for item in read_items(file, recipe) if item.label]
    items = [item for item in listed if item.head and item.tail and item.passages]
    if not items:
        raise InputFormat(
            f"{file} is no labelled evidence of edges", "each item has head, tail, passages and label: docs/verifier.md"
        )
    settings = context.settings
    folder = out or settings.home / "batch" / f"judge-{file.stem}"
    # As their recipe reads the items, whatever their order and ids.
    read = sorted(item.model_dump_json(exclude={"id"}) for item in items)
    digest = hashlib.sha256("\n".join(read).encode()).hexdigest()[:16]
    spent, started = total_meter(settings, options.total), time.monotonic()
    judging = JudgeOptions(verifiers=options.verifiers)
    left_out = len(listed) - len(items)
    with noting() as notes, context.judges(notes, judging, Limits.of(options), spent) as judges:
        if left_out:
            notes.append(f"{how_many(left_out, 'item')} without head, tail or passages left out")
        work = JudgeWork(judges, context.schema)
        if wordless := next((item for item in items if not work.has_words(item)), None):
            raise InputFormat(
                f"{file}, {wordless.id}: the profile has no words for the relation {wordless.relation!r}",
                "give each item a claim, or name a pattern of the profile",
            )
        identity = {"judge": judges.name, "model": judges.model, "prompt": judges.prompt}
        keep_options(folder, {"task": "judge", "evidence": digest, "profile": context.profile, **identity})
        batch, results, why = done_items(context, folder, items, work, options.workers, "judging evidence")
        done = [results[item.id] for item in items if item.id in results]
        failed, named = sum("error" in r for r in done), sorted({by for r in done for by in r.get("by", ())})
        if failed or len(done) < len(items):
            why = f"{failed} of {len(items)} ended with an error, {len(items) - len(done)} are open{why and f': {why}'}"
        elif len(named) > 1:
            why = f"the endpoint answered by several models: {', '.join(named)}"
        notes += spent_note(spent)
        if why:
            return JudgeMeasurement(None, folder, batch, why, tuple(notes))
        is_whole = not batch.before
        usage = spent.spent
        made = calibrated(done).model_copy(
            update={
                "judge": judges.name,
                "model": named[0] if named else judges.model,
                "prompt": judges.prompt,
                "evidence": f"{file.name} {digest}",
                "seconds": round(time.monotonic() - started, 1) if is_whole else None,
                "tokens": usage.input_tokens + usage.output_tokens if is_whole and usage.turns else None,
                "money": usage.money if is_whole and usage.turns else None,
            }
        )
        with Ledger(context.ledger) as ledger:
            CalibrationTable(ledger.database).keep(made)
    return JudgeMeasurement(made, folder, batch, notes=tuple(notes))


def calibrated(results: Sequence[Mapping[str, Any]]) -> Calibration:
    """Count what was judged of labelled items, by stance and relation."""
    counts: dict[tuple[str, str], list[bool]] = {}
    spoken = [r for r in results if r["stance"] != Stance.SILENT]
    for r in spoken:
        counts.setdefault((r["stance"], r["relation"]), []).append(r["stance"] == r["label"])
    return Calibration(
        judge="",
        model="",
        evidence="",
        measured=clock.now(),
        items=len(results),
        cells=tuple(
            Cell(stance=Stance(stance), relation=relation, cases=len(marks), right=sum(marks))
            for (stance, relation), marks in sorted(counts.items())
        ),
        found=sum(r["stance"] == r["label"] for r in spoken),
        labelled=sum(r["label"] != Stance.SILENT for r in results),
        error=error_of(bins_of([(r["probability"], r["stance"] == r["label"]) for r in spoken])),
    )


def rows_of(made: Calibration, trusts: Iterable[float] = (0.8, 0.9)) -> list[dict[str, Any]]:
    """Counts of a calibration as rows, each stance as a whole first, with where it decides."""
    rows = []
    for stance in (Stance.SUPPORTS, Stance.CONTRADICTS):
        cells = [cell for cell in made.cells if cell.stance is stance]
        if len(cells) > 1:
            cells.insert(0, pooled(cells))
        for cell in cells:
            low, high = cell.bounds
            rows.append(
                {
                    "stance": stance.value,
                    "relation": cell.relation or "any",
                    "cases": cell.cases,
                    "right": cell.right,
                    "precision": round(cell.right / cell.cases, 3),
                    "lower": round(low, 3),
                    "upper": round(high, 3),
                    "decides from": max((trust for trust in trusts if low >= trust), default=None),
                }
            )
    return rows
