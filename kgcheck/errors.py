"""Exceptions of kgcheck: all subclasses of KgcheckError, each with a hint and an exit code.

The tree::

    KgcheckError                       2
    ├── UsageError                     2  what was asked for cannot be understood
    │   ├── NotUnderstood              2  a question whose words or names kgcheck does not know
    │   ├── UnknownName                2  a label, relation, property, run or finding that does not exist
    │   ├── AmbiguousName              2  more than one thing answers to it
    │   └── ChangedMeanwhile           2  what was looked at before deciding is not as it was any more
    ├── ConfigurationError             2  a profile, recipe or setting is wrong
    ├── InputError                     2  a file that was given cannot be used
    │   ├── InputMissing               2
    │   └── InputFormat                2
    ├── StoreError                     2  the graph store
    │   ├── StoreMissing               2
    │   ├── StoreLocked                2
    │   ├── StoreSchema                2  it holds another graph than the profile describes
    │   ├── StoreAccess                2  credentials
    │   ├── StoreUnguarded             2  statements of a model cannot be run safely on this machine
    │   └── StoreUnavailable           3  down, or it stopped answering
    ├── SnapshotError                  2  the reference snapshot
    ├── SourceError                    3  a reference service could not be looked at: nothing can be said
    │   ├── SourceUnreachable          3  no connection, or it broke
    │   ├── SourceTimeout              3  it did not answer in time
    │   │   └── SourceDeadline         3  the time of the check ran out before it did
    │   ├── SourceBusy                 3  it asked to wait (429) or failed (5xx), after every retry
    │   ├── SourceAnswer               3  it said something that its API does not promise
    │   ├── SourceRefused              3  it does not take the request
    │   │   └── SourceUnanswerable     3  nor will it ever: it is the question that it does not take
    │   └── SourceOffline              3  it was not asked, because of --offline
    ├── IndexFault                     2  the literature index: missing, broken, unfinished, or of another model
    ├── LedgerError                    2  the ledger of runs
    ├── ProgramError                   2  a program of a protocol cannot be run here, or is none
    ├── JobUnderWay                    3  a job is run elsewhere, and not started twice
    ├── ModelError                     2  the language model
    │   ├── ModelAccess                2  credentials
    │   ├── ModelContext               2  the conversation is too long for it
    │   ├── ModelAnswer                3  it did not answer in the form that was asked for
    │   └── ModelUnavailable           3  down, too slow or too busy
    ├── BudgetExceeded                 3  a check ran out of turns, tokens, seconds or money
    │   └── BudgetSpent                3  a whole batch did: what is not done stays open
    └── MissingExtra                   2  an optional package is not installed

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
