"""Panes that are the days, weeks or months of a time zone, numbered in order of time (EV55).

A day lasts from midnight to midnight in the zone: 23 to 25 hours where summer time begins or ends.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo

from streams_orchestration.operators.event_time.clause import CalendarUnit
from streams_orchestration.operators.loading.libraries import np

_EPOCH = dt.date(1970, 1, 1)
_MONDAY = 3
"""The number of days from the last Monday before 1970 to 1 January 1970."""
_DAY = 86_400
_FIRST, _LAST = dt.date(1, 2, 5), dt.date(9999, 11, 26)
"""The first and the last day whose day, week and month lie wholly in the range of Python's dates."""


class CalendarGrid:
    """The panes of a calendar window; each pane is exactly one slice."""

    overlapping = False

    def __init__(self, unit: CalendarUnit, zone: str, ticks: int) -> None:
        """Make the panes of a unit in a time zone; `ticks` is the number of ticks in a second of event time."""
        self._unit: CalendarUnit = unit
        self._zone = zoneinfo.ZoneInfo(zone)
        self._ticks = ticks
        self._starts: dict[int, int] = {}
        """The first tick of each pane that was asked for."""
        most = 2**63 - 800 * _DAY * ticks  # the next pane's end is within 64 bits, too
        least, greatest = ((day - _EPOCH).days * _DAY * ticks for day in (_FIRST, _LAST))
        self._least, self._greatest = max(least, -most), min(greatest, most)

    def slices(self, times: np.ndarray) -> np.ndarray:
        """Return the pane of every time; for a time outside of the grid's range, the first or the last pane."""
        times = np.clip(times, self._least, self._greatest)
        days = times // (_DAY * self._ticks)
        # a local day begins less than a day before or behind the day of UTC with its date
        near = np.unique(self._pane_of_day(np.unique(days)[:, None] + np.arange(-1, 3)))
        return near[np.searchsorted(self.start(near), times, side="right") - 1] if len(times) else times

    def inside(self, times: np.ndarray) -> np.ndarray | None:
        """Return None in place of a mask, since calendar panes leave no gap: every time is in one."""
        del times

    def outside_range(self, times: np.ndarray) -> np.ndarray | None:
        """Return a mask of the times outside of the years 1 to 9999, or too near their limits; None without any."""
        beyond = (times < self._least) | (times > self._greatest)
        return beyond if beyond.any() else None

    def first_pane(self, slices: np.ndarray) -> np.ndarray:
        """Return the pane of each slice."""
        return slices

    def last_pane(self, slices: np.ndarray) -> np.ndarray:
        """Return the pane of each slice."""
        return slices

    def span(self, panes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first and the last slice of every pane, which are the same here."""
        return panes, panes

    def start(self, panes: np.ndarray) -> np.ndarray:
        """Return the first tick of every pane."""
        return np.array([self._start(pane) for pane in panes.tolist()], np.int64)

    def end(self, panes: np.ndarray) -> np.ndarray:
        """Return the end of each pane, which is the first tick after the pane."""
        return self.start(panes + 1)

    def complete(self, watermarks: np.ndarray) -> np.ndarray:
        """Return the number of the last pane whose end each watermark has reached (EV31)."""
        return self.slices(watermarks) - 1

    def _pane_of_day(self, days: np.ndarray) -> np.ndarray:
        if self._unit == "day":
            return days
        if self._unit == "week":
            return (days + _MONDAY) // 7
        return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)

    def _start(self, pane: int) -> int:
        if pane not in self._starts:
            if self._unit == "month":
                year, month = divmod(pane, 12)
                first = dt.date(1970 + year, month + 1, 1)
            else:
                first = _EPOCH + dt.timedelta(pane if self._unit == "day" else 7 * pane - _MONDAY)
            midnight = dt.datetime(first.year, first.month, first.day, tzinfo=self._zone)
            since = midnight - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
            self._starts[pane] = (since.days * _DAY + since.seconds) * self._ticks
        return self._starts[pane]
