"""When a job is to run: cron words in a time zone, by APScheduler."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, available_timezones

from kgcheck.errors import MissingExtra, nearest

if TYPE_CHECKING:
    from apscheduler.triggers.cron import CronTrigger

_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * sun",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = f"({'|'.join(_DAYS[:7])}|[0-7])"
_DAY_PART = re.compile(rf"{_DAY}(?:-{_DAY})?|\*", re.IGNORECASE)

LOOKED_AHEAD = timedelta(days=366)
"""How far schedules are compared with each other."""

_COMPARED = 5_000
"""Most firings of one schedule that are compared."""


class Schedule:
    """The firings of a cron expression in a time zone.

    A time that does not exist, as clocks go forward, comes an hour later; one that comes twice, as they go back, fires
    once, unless the expression leaves the hour open.

    >>> schedule = Schedule("30 2 * * 1-5", "Europe/Berlin")
    >>> schedule.after(datetime(2026, 11, 20, 12, tzinfo=UTC)).isoformat()
    '2026-11-23T02:30:00+01:00'
    """

    def __init__(self, cron: str, zone: str = "UTC") -> None:
        self.text = cron
        self.zone = time_zone(zone)
        self._trigger = _trigger(cron, self.zone)
        self._hour_is_open = str(next(f for f in self._trigger.fields if f.name == "hour")).startswith("*")
        if self._next(datetime.now(UTC)) is None:
            raise ValueError(f"{cron!r} never comes: no day is like that")

    def after(self, moment: datetime) -> datetime:
        """The first firing after a moment, in its own zone."""
        found = self._next(moment)
        if found is None:
            raise ValueError(f"{self.text!r} never comes after {moment}")
        return found

    def between(self, begin: datetime, end: datetime) -> Iterator[datetime]:
        """Firings after `begin` until `end`, in order."""
        moment = self._next(begin)
        while moment and moment <= end:
            yield moment
            moment = self._next(moment)

    def last(self, begin: datetime, end: datetime) -> datetime | None:
        """The last firing after `begin` until `end`, if there is one."""
        # Looked for from the end: a schedule of every minute has half a million in a year.
        for days in (1, 8, 32, 367):
            start = max(begin, end - timedelta(days=days))
            found = list(self.between(start, end))
            if found or start == begin:
                return found[-1] if found else None
        found = list(self.between(begin, end))
        return found[-1] if found else None

    def _next(self, moment: datetime) -> datetime | None:
        # In UTC: adding to a time with a zone forgets which of two like hours it is in.
        found = self._trigger.get_next_fire_time(None, moment.astimezone(UTC) + timedelta(microseconds=1))
        while found and found.fold and not self._hour_is_open:
            found = self._trigger.get_next_fire_time(None, found.astimezone(UTC) + timedelta(seconds=1))
        # Through UTC: a time that does not exist becomes the one that the clock shows.
        return found.astimezone(UTC).astimezone(self.zone) if found else None


def _trigger(cron: str, zone: ZoneInfo) -> "CronTrigger":
    try:
        from apscheduler.triggers.cron import CronTrigger
    except ImportError as error:
        raise MissingExtra("a schedule", "jobs") from error
    words = _NAMED.get(cron.strip().lower(), cron).split()
    if len(words) != 5:
        raise ValueError(f"{cron!r} is no schedule: five words, as in cron (30 2 * * mon-fri), or @daily and the like")
    minute, hour, day, month, weekday = words
    if day != "*" and weekday != "*":
        raise ValueError(
            f"{cron!r} names days of the month and of the week: cron takes either, others take both; name one of them"
        )
    try:
        return CronTrigger(
            minute=minute, hour=hour, day=day, month=month, day_of_week=_weekdays(weekday), timezone=zone
        )
    except ValueError as error:
        raise ValueError(f"{cron!r} is no schedule: {error}") from None


def _weekdays(text: str) -> str:
    """Days by name: by number, Sunday is 0 to cron and Monday is 0 to APScheduler, which refuses sat-mon, too."""
    if text == "*":
        return text
    named: dict[str, None] = {}
    for part in text.lower().split(","):
        found = _DAY_PART.fullmatch(part)
        if not found or part == "*":
            raise ValueError(f"{part!r} is no day of the week: mon, mon-fri, or 0 to 7, where 0 and 7 are Sunday")
        first, last = (_number(found[1]), _number(found[2] or found[1]))
        last += 7 if last < first else 0
        named |= {_DAYS[day % 7]: None for day in range(first, last + 1)}
    return ",".join(named)


def _number(day: str) -> int:
    return int(day) % 7 if day.isdigit() else _DAYS.index(day)


def time_zone(name: str) -> ZoneInfo:
    """A time zone by its IANA name."""
    known = available_timezones()
    if name not in known:
        near = nearest(name, known)
        raise ValueError(f"there is no time zone {name!r}{f'; did you mean {near[0]}?' if near else ''}")
    return ZoneInfo(name)


def shared_moment(one: Schedule, other: Schedule, begin: datetime) -> datetime | None:
    """The first moment in about a year at which both fire, if there is one."""
    end = begin + LOOKED_AHEAD
    moments = {m.astimezone(UTC) for m in islice(other.between(begin, end), _COMPARED)}
    return next((m for m in islice(one.between(begin, end), _COMPARED) if m.astimezone(UTC) in moments), None)


def firings(schedules: Mapping[str, Schedule], begin: datetime, count: int) -> list[tuple[datetime, str]]:
    """The next firings of several schedules, in order."""
    found: list[tuple[datetime, str]] = []
    for name, schedule in schedules.items():
        moment = begin
        for _ in range(count):
            moment = schedule.after(moment)
            found.append((moment, name))
    return sorted(found, key=lambda pair: (pair[0].astimezone(UTC), pair[1]))[:count]


def as_trigger(schedule: Schedule) -> Any:
    """The schedule as a trigger for APScheduler."""
    from apscheduler.triggers.base import BaseTrigger

    class Trigger(BaseTrigger):  # type: ignore[misc]
        def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
            return schedule.after(previous_fire_time or now)

    return Trigger()
