"""Schedules of jobs: cron expressions in a time zone, and their next firings."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, available_timezones

from kgcheck import clock
from kgcheck.errors import MissingExtra, nearest

if TYPE_CHECKING:
    from cronsim import CronSim

_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * sun",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DAY = f"({'|'.join(_DAYS)}|[0-7])"
_DAY_RANGE = re.compile(f"{_DAY}-{_DAY}")
_ONE_DAY = timedelta(days=1)


class Schedule:
    """The firings of a cron expression in a time zone.

    Times that do not exist, as clocks go forward, come an hour later, each of them; one that comes twice, as they go
    back, fires once, unless the hour is ``*``.

    >>> schedule = Schedule("30 2 * * 1-5", "Europe/Berlin")
    >>> schedule.after(datetime(2026, 11, 20, 12, tzinfo=UTC)).isoformat()
    '2026-11-23T02:30:00+01:00'
    """

    def __init__(self, cron: str, zone: str = "UTC") -> None:
        self.text = cron
        self.zone = time_zone(zone)
        self._words = _words(cron)
        self._every_hour = self._words.split()[1] == "*"
        if self._next(clock.now()) is None:
            raise ValueError(f"{cron!r} never comes: no day is like that")

    def after(self, moment: datetime) -> datetime:
        found = self._next(moment)
        if found is None:
            raise ValueError(f"{self.text!r} never comes after {moment}")
        return found

    def between(self, begin: datetime, end: datetime) -> Iterator[datetime]:
        moment = self._next(begin)
        while moment and moment <= end:
            yield moment
            moment = self._next(moment)

    def last(self, begin: datetime, end: datetime) -> datetime | None:
        """The last firing after `begin` until `end`, if there is one."""
        # Looked for from the end: a schedule of every minute has half a million in a year.
        for hours in (1, 24, 8 * 24, 32 * 24, 367 * 24):
            start = max(begin, end - timedelta(hours=hours))
            found = list(self.between(start, end))
            if found or start == begin:
                return found[-1] if found else None
        found = list(self.between(begin, end))
        return found[-1] if found else None

    def _next(self, moment: datetime) -> datetime | None:
        # Compared in UTC: times of one zone are compared by the clock on the wall, which shows an hour twice.
        after = moment.astimezone(UTC)
        if self._every_hour:
            return next(_firings(self._words, self._here(after)), None)
        # From where the clock would stand without a change: what that left out may be still to come.
        clock = min(self._wall(after), self._wall(after - _ONE_DAY) + _ONE_DAY)
        left_out: datetime | None = None
        for wall in _firings(self._words, clock):
            at = wall.replace(tzinfo=self.zone).astimezone(UTC)
            if at > after and self._wall(at) == wall:
                return self._here(min(at, left_out or at))
            if at > after:
                left_out = left_out or at
        return self._here(left_out) if left_out else None

    def _here(self, moment: datetime) -> datetime:
        return moment.astimezone(self.zone)

    def _wall(self, moment: datetime) -> datetime:
        """The clock on the wall, as a time without a zone."""
        return self._here(moment).replace(tzinfo=None)


def _words(cron: str) -> str:
    """The five words of an expression, checked."""
    try:
        from cronsim import CronSimError
    except ImportError as error:
        raise MissingExtra("a schedule", "jobs") from error
    words = _NAMED.get(cron.strip().lower(), cron).lower().split()
    if len(words) != 5:
        raise ValueError(f"{cron!r} is no schedule: five words, as in cron (30 2 * * mon-fri), or @daily and the like")
    *_, day, _, weekday = words
    if day != "*" and weekday != "*":
        raise ValueError(
            f"{cron!r} names days of the month and of the week: cron takes either, others take both; name one of them"
        )
    checked = " ".join([*words[:4], _DAY_RANGE.sub(_past_saturday, weekday)])
    try:
        _firings(checked, clock.now())
    except CronSimError as error:
        raise ValueError(f"{cron!r} is no schedule: {error}") from None
    return checked


def _firings(words: str, begin: datetime) -> "CronSim":
    from cronsim import CronSim

    return CronSim(words, begin)


def _past_saturday(days: re.Match[str]) -> str:
    """A range of days that goes past Saturday as two, which cron takes."""
    first, last = (int(day) if day.isdigit() else _DAYS.index(day) for day in days.groups())
    return days[0] if first <= last else f"{first}-6,0-{last}"


def time_zone(name: str) -> ZoneInfo:
    """A time zone by its IANA name."""
    known = available_timezones()
    if name not in known:
        near = nearest(name, known)
        raise ValueError(f"there is no time zone {name!r}{f'; did you mean {near[0]}?' if near else ''}")
    return ZoneInfo(name)
