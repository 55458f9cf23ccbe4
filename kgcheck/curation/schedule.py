"""Schedules of jobs: cron expressions in a time zone, and their next firings."""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, available_timezones

from kgcheck import clock
from kgcheck.errors import MissingExtra, nearest

if TYPE_CHECKING:
    from cronsim import CronSim

_NAMED = {"@hourly": "0 * * * *", "@weekly": "0 0 * * sun", "@monthly": "0 0 1 * *"}
_NAMED |= dict.fromkeys(("@daily", "@midnight"), "0 0 * * *") | dict.fromkeys(("@yearly", "@annually"), "0 0 1 1 *")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DAY_RANGE = re.compile("({0})-({0})".format("|".join((*_DAYS, "[0-7]"))))


class Schedule:
    """The firings of a cron expression in a time zone.

    Where clocks go forward or back it fires as Debian's cron does: one of a fixed time of the day once.

    >>> schedule = Schedule("30 2 * * 1-5", "Europe/Berlin")
    >>> schedule.after(datetime(2026, 11, 20, 12, tzinfo=UTC)).isoformat()
    '2026-11-23T02:30:00+01:00'
    """

    def __init__(self, cron: str, zone: str = "UTC") -> None:
        try:
            from cronsim import CronSim, CronSimError
        except ImportError as error:
            raise MissingExtra("a schedule", "jobs") from error
        self.text = cron
        self.zone = time_zone(zone)
        words = _NAMED.get(cron.strip().lower(), cron).lower().split()
        if len(words) != 5:
            raise ValueError(
                f"{cron!r} is no schedule: five words, as in cron (30 2 * * mon-fri), or @daily and the like"
            )
        *_, day, _, weekday = words
        if day != "*" and weekday != "*":
            raise ValueError(
                f"{cron!r} names days of the month and of the week: cron takes either, others take both; name one"
            )
        self._words = " ".join([*words[:4], _DAY_RANGE.sub(_past_saturday, weekday)])
        try:
            CronSim(self._words, clock.now())
        except CronSimError as error:
            raise ValueError(f"{cron!r} is no schedule: {error}") from None
        self.after(clock.now())

    def after(self, moment: datetime) -> datetime:
        # In the second of two equal hours cronsim begins with the first.
        found = next((at for at in self._firings(moment) if at.astimezone(UTC) > moment), None)
        if found is None:
            raise ValueError(f"{self.text!r} never comes after {moment}: no day is like that")
        return found

    def last(self, begin: datetime, end: datetime) -> datetime | None:
        """The last firing after `begin` until `end`, if there is one."""
        # Compared in UTC, and from a while later on: the clock on the wall shows an hour twice.
        found = self._firings(end + timedelta(hours=2), reverse=True)
        latest = next((at for at in found if at.astimezone(UTC) <= end), None)
        return latest if latest and latest.astimezone(UTC) > begin else None

    def _firings(self, begin: datetime, *, reverse: bool = False) -> "CronSim":
        from cronsim import CronSim

        return CronSim(self._words, begin.astimezone(self.zone), reverse=reverse)


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
