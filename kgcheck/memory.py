"""Pause Python's cyclic garbage collector while many objects are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Python's collector of cycles rests inside; what is let go is freed all the same, by its count of references.

    The collector goes through all objects again and again while hundreds of thousands are made: of writing 142,000
    findings with their evidence that was 40 % of the time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
