"""What a workspace has open, and the notes of work under way."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import RLock
from typing import Any, TypeVar, cast

from kgcheck.errors import UsageError

T = TypeVar("T")


class Opened:
    """Things by name, each opened once, when it is first needed; for any number of threads."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._stack = ExitStack()
        self._things: dict[str, Any] = {}
        self._closed = False

    def get(self, name: str, opening: Callable[[], AbstractContextManager[T]]) -> T:
        """The thing of that name.

        Args:
            name: Names it for as long as it is open.
            opening: Opens it, if it is not open.

        Returns:
            What is open.

        Raises:
            UsageError: Everything was closed for good.
        """
        with self._lock:
            self.check()
            if name not in self._things:
                self._things[name] = self._stack.enter_context(opening())
            return cast(T, self._things[name])

    def check(self) -> None:
        """Refuse to go on with what was closed.

        Raises:
            UsageError: It was.
        """
        if self._closed:
            raise UsageError("the workspace is closed", "open another one: with Workspace(...) as workspace:")

    def reset(self) -> None:
        """Close everything, to be opened again when it is needed.

        Raises:
            UsageError: Everything was closed for good.
        """
        with self._lock:
            self.check()
            self._close()

    def close(self) -> None:
        """Close everything for good."""
        with self._lock:
            self._closed = True
            self._close()

    def _close(self) -> None:
        self._things.clear()
        self._stack.close()


@contextmanager
def noting() -> Iterator[list[str]]:
    """Collect notes; an error that ends the work carries them, as Python's own ``__notes__``.

    Yields:
        A list to add to.

    >>> try:
    ...     with noting() as notes:
    ...         notes.append("searching words alone")
    ...         raise UsageError("no such thing")
    ... except UsageError as error:
    ...     error.__notes__
    ['searching words alone']
    """
    notes: list[str] = []
    try:
        yield notes
    except BaseException as error:
        for note in notes:
            error.add_note(note)
        raise
