"""Current time and date in UTC, for all modules, replaceable in tests."""

from datetime import UTC, date, datetime


def now() -> datetime:
    """Get the time, in UTC, to the second."""
    return exact_now().replace(microsecond=0)


def exact_now() -> datetime:
    """Get the time, in UTC, to the microsecond."""
    return datetime.now(UTC)


def today() -> date:
    """Get the day, in UTC."""
    return exact_now().date()
