"""Exceptions of kgcheck: all subclasses of KgcheckError, each with a hint and an exit code.

A message says what was wrong and where; ``hint`` says what to do next. No traceback reaches a user.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from kgcheck.redact import redact

EXIT_CLEAN = 0
EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_INCOMPLETE = 3


LET_READ = "see that the file is whole, and that you may read it"
"""Advice about a file that cannot be read."""

LET_WRITE = "see that there is room, and that you may write there"
"""Advice about a place that cannot be written."""

NAME_THERE = "name one that is there"
"""Advice about a file that is not there."""

AS_UTF8 = "write it again as UTF-8"
"""Advice about a text of another encoding."""

FROM_A_COPY = "it was changed by another program: put it back from a copy"
"""Advice about rows that kgcheck did not write."""

INSTALL_AGAIN = "it comes with kgcheck: install it again"
"""Advice about a file of the package that was changed or lost."""


class KgcheckError(Exception):
    """Root of the tree. What looks like a secret is taken out of what it says.

    Args:
        message: What was wrong, and where.
        hint: What to do next.
    """

    exit_code = EXIT_USAGE

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = redact(message)
        self.hint = redact(hint)
        super().__init__(self.message)

    @property
    def in_one_line(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class UsageError(KgcheckError):
    """A request that cannot be understood."""


class NotUnderstood(UsageError):
    """A question that cannot be read: better no answer than a guess."""


class UnknownName(UsageError):
    """A name that does not exist, with the nearest ones that do.

    Args:
        kind: What the name was taken for, e.g. ``label``.
        name: The name as given.
        known: The names that exist.
        hint: What to do next; by default the nearest names, or all of them if there are few.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        names = sorted(set(known))
        near = nearest(name, names)
        if not hint and near:
            hint = f"did you mean {' or '.join(near)}?"
        elif not hint and names and len(names) <= 30:
            hint = f"known: {', '.join(names)}"
        super().__init__(f"there is no {kind} {name!r}", hint)


class AmbiguousName(UsageError):
    """More than one thing answers to a name."""


class ChangedMeanwhile(UsageError):
    """A decision on something that has changed since it was looked at; nothing was done.

    Args:
        message: What has changed.
        hint: What to do next.
        present: What it is like now, by what was looked at.
    """

    def __init__(self, message: str, hint: str = "", present: Mapping[str, str] | None = None) -> None:
        super().__init__(message, hint)
        self.present = dict(present or {})


class ConfigurationError(KgcheckError):
    """A profile, a recipe or a setting is wrong."""


class InputError(KgcheckError):
    """A file or folder that was given cannot be used."""


class InputMissing(InputError):
    """A file or folder is not there."""


class InputFormat(InputError):
    """A file is not what its name promises: empty, binary, truncated or with another header."""


class StoreError(KgcheckError):
    """The graph store refused or failed."""


class StoreMissing(StoreError):
    """No graph under that name."""


class StoreLocked(StoreError):
    """Another process is writing to the store."""


class StoreSchema(StoreError):
    """The store holds another graph than the profile describes, or another version of it."""


class StoreAccess(StoreError):
    """The credentials were refused, or none were given."""


class StoreUnguarded(StoreError):
    """This machine cannot guard a process well enough to run statements from outside in it."""


class StoreUnavailable(StoreError):
    """The store is down or stopped answering: nothing can be said about the graph."""

    exit_code = EXIT_INCOMPLETE


class SnapshotError(KgcheckError):
    """A reference snapshot is missing, broken or of another profile."""


class SourceError(KgcheckError):
    """A reference service could not be looked at: that says nothing about the graph."""

    exit_code = EXIT_INCOMPLETE


class SourceUnreachable(SourceError):
    """There is no connection to a service, or it broke."""


class SourceTimeout(SourceError):
    """A service did not answer in time."""


class SourceDeadline(SourceTimeout):
    """The time of the work ran out before a service answered: that says nothing about the service."""


class SourceBusy(SourceError):
    """A service asked to wait, or failed, as often as it was asked.

    Args:
        message: What it said.
        hint: What to do next.
        wait_s: Seconds that it asked to wait, where it did.
    """

    def __init__(self, message: str, hint: str = "", wait_s: float | None = None) -> None:
        super().__init__(message, hint)
        self.wait_s = wait_s


class SourceAnswer(SourceError):
    """A service said something that its API does not promise: a page instead of data, half an answer, too much."""


class SourceRefused(SourceError):
    """A service does not take a request."""


class SourceUnanswerable(SourceRefused):
    """A service does not take the question itself, say of a species that it does not know, now or later."""


class SourceOffline(SourceError):
    """A service was not asked, because kgcheck is to stay offline and the answer is not kept."""


class IndexFault(KgcheckError):
    """A literature index is missing, broken, not finished, or made with another model or version."""


class LedgerError(KgcheckError):
    """The ledger cannot be read or written."""


class ProgramError(KgcheckError):
    """A program of a protocol cannot be run here, or is none."""


class JobUnderWay(KgcheckError):
    """A job is run elsewhere at this time, and is not started twice."""

    exit_code = EXIT_INCOMPLETE


class ModelError(KgcheckError):
    """The endpoint of a language model refused or failed."""


class ModelAccess(ModelError):
    """The key was refused, or none was given."""


class ModelContext(ModelError):
    """The conversation is longer than the model can take."""


class ModelAnswer(ModelError):
    """The model did not answer in the form that was asked for."""

    exit_code = EXIT_INCOMPLETE


class ModelUnavailable(ModelError):
    """The endpoint is down, too slow or too busy."""

    exit_code = EXIT_INCOMPLETE


class BudgetExceeded(KgcheckError):
    """A check ran out of turns, tokens, seconds or money before it could conclude."""

    exit_code = EXIT_INCOMPLETE


class BudgetSpent(BudgetExceeded):
    """A batch used up what all of its items together may take; those that are left stay open."""


class MissingExtra(KgcheckError):
    """An optional package is needed that is not installed.

    Args:
        what: What was asked for.
        extra: The extra of kgcheck that brings it.
        then: What is to be done beside it, as the rest of a command.
    """

    def __init__(self, feature: str, extra: str, then: str = "") -> None:
        super().__init__(f"{feature} needs the extra '{extra}'", f"pip install 'kgcheck[{extra}]'{then}")


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """At most three of the known names that look like `name`, the nearest first, whatever their case.

    Returns:
        Names, as they are known.

    >>> nearest("protien", ["Protein", "Gene", "Disease"])
    ['Protein']
    """
    folded = {k.casefold(): k for k in known}
    return [folded[m] for m in get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.6)]
