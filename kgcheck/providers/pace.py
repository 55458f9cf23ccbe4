"""The pace of calls to a host, kept by every process of a user together."""

import time
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from kgcheck import clock
from kgcheck.errors import ConfigurationError
from kgcheck.outputs import make_folder


class Pace:
    """At most so many calls a second to a host, with a file that says when the last one went out.

    The lock on the file is held while waiting, so that processes go one after the other.
    """

    def __init__(self, folder: Path, host: str, calls_per_s: float) -> None:
        name = "".join(c if c.isalnum() or c in ".-" else "_" for c in host)
        self._last = folder / f"{name}.last"
        self._gap_s = 1 / calls_per_s
        self._lock = FileLock(folder / f"{name}.lock")
        try:
            make_folder(folder, secret=True)
            with self._lock:
                self._last.touch()
        except OSError as error:
            raise ConfigurationError(
                f"cannot keep the pace of calls in {folder}: {error}", "set KGCHECK_CACHE_DIR to a writable folder"
            ) from error

    def wait(self, most_s: float | None = None) -> bool:
        """Wait until the next call may go out."""
        ends = None if most_s is None else time.monotonic() + most_s
        try:
            with self._lock.acquire(timeout=-1 if most_s is None else most_s):
                # The clock on the wall, for processes share it; where it was turned back, one gap is waited, no more.
                rest = min(self._gap_s - (clock.exact_now().timestamp() - self._went_out()), self._gap_s)
                if ends is not None and time.monotonic() + rest > ends:
                    return False
                if rest > 0:
                    time.sleep(rest)
                self._last.write_text(repr(clock.exact_now().timestamp()))
                return True
        except Timeout:
            return False

    def _went_out(self) -> float:
        with suppress(ValueError):
            return float(self._last.read_text())
        return 0.0
