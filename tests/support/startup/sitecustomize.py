"""Move kgcheck's clock by KGCHECK_TEST_DAYS; Python imports it where it starts, in each process of the tests, too."""

import contextlib
import os
import sys
from datetime import UTC, datetime, timedelta

DAYS = int(os.environ.get("KGCHECK_TEST_DAYS") or 0)
"""So many days from now do the tests run."""


def later_now() -> datetime:
    """Get the time of those days; a test that travels to a time of its own is left there."""
    time_machine = sys.modules.get("time_machine")
    travelling = time_machine is not None and time_machine.escape_hatch.is_travelling()
    return datetime.now(UTC) + timedelta(days=0 if travelling else DAYS)


if DAYS:
    # A program that knows nothing of kgcheck may be started, too.
    with contextlib.suppress(ImportError):
        from kgcheck import clock

        clock.exact_now = later_now
