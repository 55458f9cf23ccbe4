"""Which findings a report shows where there are too many to show them all."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from typing import NamedTuple, TypeVar

from kgcheck.model import CheckTask, CheckType, Finding, Outcome, Reason

FEW = 20
"""Findings that every reason gets before the refuted ones take the rest of the room."""

WORST_FIRST = (Outcome.REFUTED, Outcome.INSUFFICIENT, Outcome.UNAVAILABLE, Outcome.SUPPORTED)
"""The outcomes in the order of reports."""

_SLACK = 2
_K = TypeVar("_K", bound=Hashable)


class Kind(NamedTuple):
    """Findings that a report shows together."""

    outcome: Outcome
    type: CheckType
    reason: Reason


class Group(NamedTuple):
    """The findings of one kind that are shown, of how many there are."""

    kind: Kind
    findings: list[Finding]
    total: int


class ShownFindings:
    """Chooses which findings to show, from any number, holding about twice as many as there is room for.

    Every kind gets a few, and the refuted ones take the rest of the room first. Kinds share evenly, and within a kind
    so do labels and patterns, so that a noisy one cannot push out the others.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._counts: dict[Kind, Counter[str]] = defaultdict(Counter)
        self._kept: dict[tuple[Kind, str], list[Finding]] = defaultdict(list)
        self._size = 0

    def add(self, finding: Finding) -> None:
        """Count a finding, and hold it if it may be shown."""
        kind = Kind(finding.verdict.outcome, finding.task.type, finding.verdict.reason)
        where = _place(finding.task)
        self._counts[kind][where] += 1
        kept = self._kept[kind, where]
        if len(kept) < self._room:
            kept.append(finding)
            self._size += 1
            if self._size > 2 * (self._room + _SLACK * len(self._kept)):
                self._trim()

    def groups(self, room: int) -> list[Group]:
        """What to show, by check type, worst outcome and frequency."""
        share = self._share(room)
        groups = []
        for kind, counts in self._counts.items():
            shown = [f for where in sorted(counts) for f in self._kept[kind, where][: share[kind, where]]]
            groups.append(Group(kind, shown, counts.total()))
        return sorted(groups, key=_position)

    def _share(self, room: int) -> dict[tuple[Kind, str], int]:
        sizes = {kind: counts.total() for kind, counts in self._counts.items()}
        share = fair({kind: min(n, FEW) for kind, n in sizes.items()}, room)
        for outcome in WORST_FIRST:
            rest = {kind: n - share[kind] for kind, n in sizes.items() if kind.outcome is outcome}
            for kind, more in fair(rest, room - sum(share.values())).items():
                share[kind] += more
        return {(k, where): n for k, counts in self._counts.items() for where, n in fair(counts, share[k]).items()}

    def _trim(self) -> None:
        # A share only shrinks as more comes in, but for the remainders of two divisions: hence the slack.
        for key, share in self._share(self._room).items():
            del self._kept[key][share + _SLACK :]
        self._size = sum(len(kept) for kept in self._kept.values())


def fair(sizes: Mapping[_K, int], room: int) -> dict[_K, int]:
    """Room shared evenly: what the small ones leave over goes to the large ones, until all of it is used.

    >>> fair({"small": 1, "large": 9, "other": 9}, 7)
    {'small': 1, 'large': 3, 'other': 3}
    """
    given = {}
    for at, key in enumerate(sorted(sizes, key=lambda k: sizes[k])):
        given[key] = min(sizes[key], room // (len(sizes) - at))
        room -= given[key]
    return given


def _position(group: Group) -> tuple[int, int, int, str]:
    kind = group.kind
    return list(CheckType).index(kind.type), WORST_FIRST.index(kind.outcome), -group.total, kind.reason.value


def _place(task: CheckTask) -> str:
    tail = task.object.label if task.object else ""
    return f"{task.subject.label} {task.relation or ''} {tail}"
