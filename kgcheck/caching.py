"""BatchCache: keep the values of keys that are asked for again, and look the others up together."""

from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Generic, TypeVar

from cachetools import LRUCache

K = TypeVar("K")
V = TypeVar("V")


class BatchCache(Generic[K, V]):
    """The values of the keys that were asked for last. For any number of threads."""

    def __init__(self, size: int) -> None:
        self._values: LRUCache[K, V] = LRUCache(size)
        self._lock = Lock()

    def get_many(self, keys: Iterable[K], look_up: Callable[[list[K]], Mapping[K, V]]) -> dict[K, V]:
        """Values by key; `look_up` gets those that are not kept, all at once, and leaves out what has no value."""
        wanted = list(dict.fromkeys(keys))
        with self._lock:
            found = {key: self._values[key] for key in wanted if key in self._values}
        if rest := [key for key in wanted if key not in found]:
            read = look_up(rest)
            found |= read
            with self._lock:
                self._values.update(read)
        return found
