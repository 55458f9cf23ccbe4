"""Sum up how a run ended in a few lines, with what is wrong most often."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgcheck.model import Outcome, Tally
from kgcheck.plurals import how_many
from kgcheck.report.tables import marks, marks_line

if TYPE_CHECKING:
    from kgcheck.ledger.ledger import Run

_SHOWN_UNKNOWN = 12
_SHOWN_KINDS = 12


def summary_lines(run: "Run", tallies: Sequence[Tally], found: tuple[int, int] | None = None) -> list[str]:
    """Sum up how a run ended, in a few lines; ``found`` are its findings, and those that follow from them."""
    counts = marks(tallies)
    total = sum(counts.values())
    state = "" if run.finished else " (cut off: go on with --resume)"
    lines = [f"run {run.id}{state}: {total:,} checked: {marks_line(counts)}"]
    if found:
        more = f", from which {found[1]:,} more follow" if found[1] else ""
        lines.append(f"  {how_many(found[0], 'finding')}{more}")
    lines += [f"  warning: {text}" for text in run.warnings]
    if run.team:
        went = ", ".join(f"{n:,} {way}" for way, n in run.team.items())
        lines.append(f"  handed to the team: {sum(run.team.values()):,}: {went}")
    lines += [f"  the profile does not know: {what}: {n:,}" for what, n in list(run.unknown.items())[:_SHOWN_UNKNOWN]]
    if len(run.unknown) > _SHOWN_UNKNOWN:
        lines.append(f"  and {len(run.unknown) - _SHOWN_UNKNOWN} more: kgcheck report {run.id} --format json")
    missing = Counter[str]()
    for t in tallies:
        if t.outcome is Outcome.UNAVAILABLE:
            missing[f"{t.target}: {t.sources_line}"] += t.count
    lines += [f"  could not look: {n:,} {what}" for what, n in missing.most_common(_SHOWN_KINDS)]
    if len(missing) > _SHOWN_KINDS:
        lines.append(_more(len(missing), run))
    return lines


def wrong_lines(run: "Run", kinds: Counter[tuple[str, str, str]]) -> list[str]:
    """List what is wrong most often, by mark, place and reason, and how to list the findings of one kind."""
    shown = kinds.most_common(_SHOWN_KINDS)
    lines = [f"  {mark}: {n:,} {target}: {reason}" for (mark, target, reason), n in shown]
    if len(kinds) > _SHOWN_KINDS:
        lines.append(_more(len(kinds), run))
    if kinds:
        lines.append(f"  of one kind: kgcheck findings --run {run.id} --reason REASON --label LABEL")
    return lines


def _more(kinds: int, run: "Run") -> str:
    return f"  and {how_many(kinds - _SHOWN_KINDS, 'more kind')}: kgcheck report {run.id} --format markdown"
