"""How the findings of a run stand to those of the run before, and what was decided of them.

Reports know no comparison and no decision by themselves: whoever asks for one hands them over in this form.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from kgcheck.model import Finding


class Decided(NamedTuple):
    """What somebody decided of a finding; see kgcheck.ledger.decisions."""

    action: str
    by: str
    at: datetime
    note: str = ""
    until: str = ""
    stands: bool = True
    """Whether the finding is still what it was decided about; else it has come back."""


class Left(NamedTuple):
    """A finding of the run before that this run has not: ``fixed``, ``gone`` or ``unchecked``."""

    finding: Finding
    state: str


def _unknown(_finding: Finding) -> None:
    return None


class Standing(NamedTuple):
    """What is known of the findings of a run beside the run itself.

    Attributes:
        before: Id of the run that it is compared with; None where there is none.
        state: Gives the state of a finding of the run: new, still, changed, reopened; None where it is not compared.
        decided: Gives what counts of a finding, or None.
        left: What the run before had and this one has not.
        counts: Findings by state, with those that are left.
    """

    before: str | None = None
    state: Callable[[Finding], str | None] = _unknown
    decided: Callable[[Finding], Decided | None] = _unknown
    left: Iterable[Left] = ()
    counts: Mapping[str, int] = {}


ALONE = Standing()
"""Of a run that is compared with none, and of which nothing was decided."""
