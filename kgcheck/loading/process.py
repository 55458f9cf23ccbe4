"""Load into a store; for an embedded one in a child process, which a full disk may abort.

On a full disk LadybugDB may abort the process that it runs in. So a load of an embedded store runs in a child, which
tells its steps and its end, and whose death is one clear error here. The child ends with this process, however that
ends.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from traceback import format_exc
from types import ModuleType
from typing import Any, NamedTuple

from pydantic import SecretStr

from kgcheck.errors import KgcheckError, StoreError
from kgcheck.graph.diskspace import AGAIN, MEND, free_space
from kgcheck.graph.open import OpenedStore, is_address, open_store
from kgcheck.loading.curated_conflicts import Curated
from kgcheck.loading.load import LoadSummary, load_directory
from kgcheck.options import LoadOptions
from kgcheck.profile.schema import Schema, load_schema
from kgcheck.progress import CallbackProgress, NoProgress, Progress
from kgcheck.settings import Settings

_STOP_S = 30.0

ReadCurated = Callable[[OpenedStore], Curated]
"""Reads from a store what patches changed in it."""


class _Order(NamedTuple):
    """A load: from where, into what and how; a child process gets it without secrets."""

    folder: Path
    store: str
    profile: str
    settings: dict[str, Any]
    quarantine: Path
    options: LoadOptions
    curated: ReadCurated | None


def load_into(
    store: str,
    folder: Path,
    schema: Schema,
    settings: Settings,
    *,
    quarantine: Path,
    options: LoadOptions | None = None,
    progress: Progress | None = None,
    curated: ReadCurated | None = None,
) -> LoadSummary:
    """Open a store, and load a folder into it; an embedded store in a child."""
    progress = progress or NoProgress()
    secrets = {name for name, value in settings if isinstance(value, SecretStr)}
    plain = settings.model_dump(exclude=secrets)
    order = _Order(folder, store, schema.address, plain, quarantine.absolute(), options or LoadOptions(), curated)
    if is_address(store):
        with open_store(store, schema, settings, create=True) as opened:
            return _load(order, opened, settings, progress)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(theirs, order), name="kgcheck load", daemon=True)
    with _without_main():
        child.start()
    theirs.close()
    try:
        return _followed(ours, child, store, progress)
    finally:
        _end(child)
        ours.close()


def _load(order: _Order, store: OpenedStore, settings: Settings, progress: Progress) -> LoadSummary:
    curated = order.curated(store) if order.curated else None
    return load_directory(
        order.folder,
        store,
        settings,
        quarantine=order.quarantine,
        options=order.options,
        progress=progress,
        curated=curated,
    )


@contextmanager
def _without_main() -> Iterator[None]:
    """Keep a new process from running the caller's program again: it needs nothing of it.

    So a script can load without ``if __name__ == "__main__"``, and so can a program that is read from stdin.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _followed(pipe: Connection, child: BaseProcess, store: str, progress: Progress) -> LoadSummary:
    done, step = 0, None
    with ExitStack() as under_way:
        while True:
            try:
                match pipe.recv():
                    case ("step", description, 0, total):
                        under_way.close()
                        done, step = 0, under_way.enter_context(progress.step(description, total))
                    case ("step", _, now, _) if step:
                        step.advance(now - done)
                        done = now
                    case ("failed", error, message, hint):
                        again = error.__new__(error)
                        KgcheckError.__init__(again, message, hint)
                        raise again
                    case ("fault", name, trace):
                        fault = RuntimeError(f"{name} in the load")
                        fault.add_note(trace)
                        raise fault
                    case ("done", LoadSummary() as summary):
                        return summary
            except EOFError:
                child.join()
                raise _death(store, child.exitcode or 0) from None


def _end(child: BaseProcess) -> None:
    """See the child off: it may have a database to close, or have been interrupted with this process."""
    if child.is_alive():
        # To the child SIGTERM is what Ctrl-C is here, until it has said its last word.
        child.terminate()
    child.join(_STOP_S)
    if child.is_alive():
        child.kill()
        child.join()
    child.close()


def _death(store: str, code: int) -> StoreError:
    hint = MEND
    if code >= 0:
        how = f"the process ended with {code}"
    elif -code == signal.SIGKILL:
        # Also what Linux does where memory runs out.
        how, hint = "the process was ended by SIGKILL, perhaps for want of memory", f"free memory, then {AGAIN}"
    else:
        how = f"the process was ended by {signal.Signals(-code).name} from within LadybugDB"
    return StoreError(f"the load into {store} broke off: {how}; {free_space(store)}", hint)


def _child(pipe: Connection, order: _Order) -> None:
    """Load, and tell of it. Runs in the child."""
    # Ctrl-C reaches both at once: the parent alone says when this ends, so that a database is closed undisturbed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # What a library says as it aborts is not for the reader of the one clear line.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)

    def send(*message: object) -> None:
        # Where nobody listens any more, this process is about to be ended.
        with suppress(OSError):
            pipe.send(message)

    def send_last(*message: object) -> None:
        # What is left to do is to close the store, and that is not to be interrupted.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        send(*message)

    try:
        schema, settings = load_schema(order.profile), Settings(**order.settings)
        with open_store(order.store, schema, settings, create=True) as store:
            try:
                summary = _load(order, store, settings, CallbackProgress(partial(send, "step")))
            except KgcheckError as error:
                # At once: closing the store may be what ends this process.
                send_last("failed", type(error), error.message, error.hint)
                raise
        send_last("done", summary)
    except KgcheckError as error:
        send_last("failed", type(error), error.message, error.hint)
    except KeyboardInterrupt:
        pass
    except Exception as error:
        send_last("fault", f"{type(error).__name__}: {error}", format_exc())


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)
