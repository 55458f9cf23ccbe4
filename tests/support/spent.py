"""Processor time of some work."""

import gc
import time
from collections.abc import Callable


def spent(work: Callable[[], object]) -> float:
    """Processor time, in seconds, while the collector of cycles rests: it may take a second where much is held."""
    gc.disable()
    try:
        began = time.process_time()
        work()
        return time.process_time() - began
    finally:
        gc.enable()
