"""The time of day: whatever needs it asks here, so that tests can put another one in its place."""

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
