"""What all parts of a workspace share: what it is made with, and the graph and the ledger, opened when needed."""

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kgcheck.choices import BRAINS, DEFAULT_STORE, chosen
from kgcheck.closing import Closing
from kgcheck.errors import InputMissing, LedgerError, UsageError
from kgcheck.ledger.place import checked_place
from kgcheck.profile.schema import Schema
from kgcheck.progress import CallbackProgress, NoProgress, Progress, ProgressCallback
from kgcheck.redact import is_secret_path
from kgcheck.settings import Settings
from kgcheck.workspace.opened import Opened
from kgcheck.workspace.opening import (
    read_schema,
    read_settings,
)

if TYPE_CHECKING:
    from kgcheck.graph.store import GraphStore
    from kgcheck.ledger.ledger import Ledger
    from kgcheck.ledger.place import LedgerPlace

E = TypeVar("E", bound=StrEnum)


class WorkspaceBase(Closing):
    """What a workspace is made with, and what it opens; see Workspace."""

    def __init__(
        self,
        *,
        store: str | Path | None = None,
        reference: str | Path | None = None,
        ledger: str | Path | None = None,
        literature: str | Path | None = None,
        profile: str | Path = "ckg",
        live: bool = False,
        offline: bool = False,
        brain: str = "rules",
        with_retired: bool = False,
        settings: Settings | None = None,
        progress: Progress | ProgressCallback | None = None,
    ) -> None:
        self.store = DEFAULT_STORE if store is None else str(store)
        self.reference = _path("reference", reference)
        self.literature = _path("literature", literature)
        self.profile = str(profile.absolute()) if isinstance(profile, Path) else profile
        self.live = live
        self.offline = offline
        self.brain = chosen("brain", brain, BRAINS)
        self.with_retired = with_retired
        self.progress: Progress = _as_progress(progress)
        self._given_settings = settings
        self._given_ledger = checked_place(str(ledger)) if ledger else None
        self._store_is_named = store is not None
        self._opened = Opened()
        self._finalizer = weakref.finalize(self, self._opened.close)

    def close(self) -> None:
        """Close what is open. What comes after it is refused; findings that were given out can still be read."""
        self._finalizer()

    @cached_property
    def settings(self) -> Settings:
        """The settings that it works with."""
        if self._given_settings is None:
            return read_settings(offline=True) if self.offline else read_settings()
        return self._given_settings.model_copy(update={"offline": True} if self.offline else {})

    @property
    def ledger(self) -> "LedgerPlace":
        """The file or the database of the ledger."""
        from kgcheck.ledger.place import ledger_place

        return ledger_place(self._given_ledger or self.settings.ledger or self.settings.ledger_file, self.settings)

    @cached_property
    def schema(self) -> Schema:
        """The schema of the profile."""
        return read_schema(self.profile)

    @property
    def graph(self) -> "GraphStore":
        """The graph, open for reading."""
        from kgcheck.graph.open import open_store

        return self._opened.get(
            "graph", lambda: open_store(self.store, self.schema, self.settings, with_retired=self.with_retired)
        )

    def close_graph(self) -> None:
        """Close what is open, to be opened again when it is needed: a store that is written to is open for nobody."""
        self._opened.reset()

    @contextmanager
    def _reading(self) -> "Iterator[Ledger]":
        """The ledger, which must be there."""
        from kgcheck.ledger.ledger import Ledger

        self._opened.check()
        with Ledger(self.ledger, create=False) as ledger:
            yield ledger

    @contextmanager
    def _writing(self) -> "Iterator[Ledger]":
        """The ledger, which must be there, open for writing, too."""
        from kgcheck.ledger.ledger import Ledger

        self._opened.check()
        if isinstance(place := self.ledger, Path) and not place.exists():
            raise LedgerError(f"there is no ledger at {place}", "kgcheck audit makes one; --ledger names another")
        with Ledger(place) as ledger:
            yield ledger


def _as_progress(given: Progress | ProgressCallback | None) -> Progress:
    if given is None:
        return NoProgress()
    return CallbackProgress(given) if callable(given) else given


def _path(what: str, given: str | Path | None) -> Path | None:
    """A path; an address, which may hold a password, is none, and no file is made under its name."""
    text = str(given or "")
    if "://" in text or (is_secret_path(text) and not os.path.exists(text)):
        raise UsageError(f"the {what} is an address, and a path is wanted", "name a file or folder of this machine")
    return Path(text) if text else None


def import_folder(directory: str | Path) -> Path:
    """An import directory; refused before a store is made for it where it is not there.

    Args:
        directory: As it was given.

    Returns:
        Its path.

    Raises:
        InputMissing: There is no such folder.
    """
    path = Path(directory)
    if not path.is_dir():
        detail = f"{path} is a file, and not a folder" if path.is_file() else f"there is no folder {path}"
        raise InputMissing(detail, "name an import directory: databases/ and ontologies/")
    return path


def member_of(kind: type[E], called: str, name: str) -> E:
    """One of a few values, by its name.

    Args:
        kind: Whose.
        called: What people call the kind.
        name: Of the value.

    Returns:
        The value.

    Raises:
        UnknownName: There is no such value.
    """
    return kind(chosen(called, str(name), [member.value for member in kind]))
