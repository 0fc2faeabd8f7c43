"""Sessions: tuples of a partition that are less than a gap apart, from the first one to a gap after the last (EV56).

Cells are slices of time as long as the gap. All tuples of a partition in one slice are in one session, so sessions that
a late tuple joins keep their cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from streams_orchestration.operators.event_time.steps import Steps
from streams_orchestration.operators.keys.comparison import distinct
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.tuples.watermarks import END, IDLE
from streams_orchestration.operators.windows.pane_cells import CellRanges, PaneCells
from streams_orchestration.operators.windows.pane_numbers import number_batch, number_schema, places_of
from streams_orchestration.operators.windows.pane_rules import (
    Arrivals,
    Due,
    Fired,
    Judged,
    PaneEntries,
    Piece,
    Timing,
    closed_before,
    less,
)


class SessionPanes:
    """The sessions of all partitions; lengths are in ticks."""

    def __init__(self, gap: int, discard_age: int) -> None:
        """Start with no sessions."""
        self._gap = gap
        self._age = discard_age
        extent = pa.schema([("last", pa.int64()), ("index", pa.int64()), ("fresh", pa.bool_())])
        self.sessions = KeyedState(number_schema("partition", "start"), extent)
        """Maps (partition, first time) to the last time, the number of firings, and whether tuples came since the last
        firing.
        """
        self._due = np.zeros(0, np.int64)
        """The rows of the sessions that `due` returned last, in their order."""
        self._next_due = self._next_closed = END
        """Bounds for watermarks: below `_next_due` no session fires, and below `_next_closed` no session is closed."""

    def clear(self) -> None:
        """Forget all sessions."""
        self.sessions.clear()
        self._next_due = self._next_closed = END

    def judge(self, times: np.ndarray, current: np.ndarray) -> Judged:
        """Find the tuples that are too late, given the watermark before each (EV30)."""
        late = times < current
        count = int(np.count_nonzero(late))
        dropped = late & (times < less(current, self._age)) if count else late
        return Judged(count, dropped if dropped.any() else None)

    def outside_range(self, times: np.ndarray) -> np.ndarray | None:
        """Return a mask of the times whose sessions exceed the range of event time; None if there are none."""
        beyond = (times > END - self._gap) | (times < IDLE + self._gap)
        return beyond if beyond.any() else None

    def pieces(self, tuples: Arrivals, steps: Steps) -> list[Piece]:
        """Cut a batch before the first late tuple after each step.

        The step may have fired a session that the tuple joins, so the step is done before the tuple is taken.
        """
        late = np.flatnonzero((tuples.seen > 0) & (tuples.times < steps.levels[tuples.seen]))
        seen = tuples.seen[late]
        cuts = late[np.r_[True, seen[1:] != seen[:-1]]].tolist() if len(late) else []
        at = [int(tuples.seen[cut]) for cut in cuts]
        bounds = zip([0, *cuts], [*cuts, len(tuples.times)], [0, *at], [*at, len(steps)], strict=True)
        return [Piece(*each) for each in bounds]

    def take(self, tuples: Arrivals, steps: Steps) -> PaneEntries:
        """Return the cells of a piece's tuples; extend, join and open sessions.

        In `tuples`, `seen` counts steps from the beginning of the piece.
        """
        slices = tuples.times // self._gap
        if not len(slices):
            return PaneEntries(None, slices)
        pairs = distinct([pa.array(tuples.partitions), pa.array(slices)], len(slices))
        self._extend(tuples.times, tuples.partitions, *pairs)
        return PaneEntries(None, slices, pairs)

    def _extend(self, times: np.ndarray, partitions: np.ndarray, heads: np.ndarray, codes: np.ndarray) -> None:
        """Add tuples to known and new sessions of their partitions.

        `heads` and `codes` are their pairs of partition and slice.
        """
        rows = self.sessions.rows()
        rows = rows[np.isin(self.sessions.key_column("partition")[rows], partitions)]
        known, starts = (self.sessions.key_column(name)[rows] for name in ("partition", "start"))
        ends = self.sessions.column("last")[rows]
        earliest, latest = times[heads], times[heads]
        np.minimum.at(earliest, codes, times)
        np.maximum.at(latest, codes, times)
        points = _Points.of(np.r_[known, partitions[heads]], np.r_[starts, earliest], np.r_[ends, latest])
        session, first, last = points.joined(self._gap)
        partition, time = points.partitions, points.times
        touched = np.zeros(len(first), bool)
        touched[session[len(rows) :]] = True
        owner = session[: len(rows)]
        index = np.zeros(len(first), np.int64)
        np.add.at(index, owner, self.sessions.column("index")[rows])
        joined = touched[owner] & (starts != time[first][owner])
        self.sessions.delete_rows(rows[joined])
        first, last, index = first[touched], last[touched], index[touched]
        keys = number_batch(partition=partition[first], start=time[first])
        rows = self.sessions.rows_of(keys)
        self.sessions.column("last")[rows] = time[last]
        self.sessions.column("index")[rows] = index
        self.sessions.column("fresh")[rows] = True
        soonest = int(time[last].min()) + self._gap
        self._next_due = min(self._next_due, soonest)
        self._next_closed = min(self._next_closed, soonest)

    def due(self, steps: Steps, cells: PaneCells) -> Due | None:
        """Return the sessions with new tuples whose end a step of the piece reaches; None if there are none."""
        if not len(steps) or steps.last < self._next_due:
            return None
        rows = self.sessions.rows()
        rows = rows[self.sessions.column("fresh")[rows]]
        ends = self.sessions.column("last")[rows] + self._gap
        complete = ends <= steps.last
        self._next_due = int(ends[~complete].min(initial=END))
        rows, ends = rows[complete], ends[complete]
        if not len(rows):
            return None
        partitions, starts = (self.sessions.key_column(name)[rows] for name in ("partition", "start"))
        at = np.searchsorted(steps.values, ends)
        order = np.lexsort((starts, ends, at))
        at, starts, ends, partitions = at[order], starts[order], ends[order], partitions[order]
        self._due = rows[order]
        new = (at[1:] != at[:-1]) | (starts[1:] != starts[:-1]) | (ends[1:] != ends[:-1])
        ranges = self._ranges(partitions, starts, ends - self._gap)._replace(rank=np.cumsum(np.r_[0, new]))
        return Due(at, starts, starts, ends, ranges, ends - self._gap)

    def _ranges(self, partitions: np.ndarray, starts: np.ndarray, lasts: np.ndarray) -> CellRanges:
        return CellRanges(partitions, starts // self._gap, lasts // self._gap, np.arange(len(starts)))

    def fired(self, due: Due, ranges: np.ndarray, partitions: np.ndarray, steps: Steps) -> Fired:
        """Record that sessions fire, and return the properties of these firings.

        `due` is the result of the last call of `due`, and `ranges` are positions in it.
        """
        rows = self._due[ranges]
        self.sessions.write_rows(rows)
        index = self.sessions.column("index")[rows]
        self.sessions.column("index")[rows] = index + 1
        self.sessions.column("fresh")[rows] = False
        return Fired(index, np.where(index > 0, Timing.paneLate, Timing.paneOnComplete))

    def close(self, steps: Steps, cells: PaneCells) -> CellRanges | None:
        """Forget the sessions that the last step closes, and their cells; return ranges of their first times.

        None if there are none.
        """
        behind = closed_before(steps.last, self._age)
        if not len(steps) or behind < self._next_closed:
            return None
        rows = self.sessions.rows()
        lasts = self.sessions.column("last")[rows]
        closed = lasts + self._gap <= behind
        self._next_closed = int(lasts[~closed].min(initial=END - self._gap)) + self._gap
        partitions, starts = (self.sessions.key_column(name)[rows[closed]] for name in ("partition", "start"))
        if not closed.any():
            return None
        lasts = lasts[closed]
        cells.delete(cells.within(self._ranges(partitions, starts, lasts))[1])
        self.sessions.delete_rows(rows[closed])
        return CellRanges(partitions, starts, lasts, np.zeros(len(starts), np.int64))

    def last_ends(self, times: np.ndarray, partitions: np.ndarray) -> np.ndarray:
        """Return the end of the session of each tuple that `take` processed; the least time if it is forgotten."""
        rows = self.sessions.rows()
        if not len(rows):
            return np.full(len(times), IDLE)
        owners, starts = (self.sessions.key_column(name)[rows] for name in ("partition", "start"))
        ends = self.sessions.column("last")[rows] + self._gap
        # a tuple is in the session with the latest start up to its time
        order = np.lexsort(
            (np.r_[np.zeros(len(rows)), np.ones(len(times))], np.r_[starts, times], np.r_[owners, partitions])
        )
        session = np.maximum.accumulate(np.where(order < len(rows), np.arange(len(order)), -1))
        found = np.full(len(order), -1)
        found[order] = np.where(session >= 0, order[session], -1)
        mine = found[len(rows) :]
        within = (mine >= 0) & (owners[mine] == partitions) & (times < ends[mine])
        return np.where(within, ends[mine], IDLE)

    def closed_before(self, watermark: int) -> int:
        """Return the latest end, in ticks, of sessions that are closed at this watermark."""
        return closed_before(watermark, self._age)

    def open_panes(self, watermark: int) -> int:
        """Return the number of sessions; closed ones are gone, whatever the watermark."""
        del watermark
        return len(self.sessions)

    def dump(self) -> dict[str, Any]:
        """Return the sessions as parts of the operator's state."""
        return {"sessions": self.sessions}

    def load(self, state: Mapping[str, Any], cells: PaneCells) -> None:
        """Restore a state that `dump` returned; the cells are restored already."""
        del cells
        self.sessions = state["sessions"]
        self._next_due = self._next_closed = IDLE

    def absorb(self, state: Mapping[str, Any], before: np.ndarray, after: np.ndarray) -> None:
        """Add the sessions of another state's partitions, which are renumbered; sessions that touch are joined."""
        table = state["sessions"].table()
        theirs = places_of(table.column("partition").to_numpy(), before)
        table = table.filter(pa.array(theirs >= 0))
        mine = self.sessions.table()
        partitions = np.r_[mine.column("partition").to_numpy(), after[theirs[theirs >= 0]]]
        both = pa.concat_tables([mine, table])
        starts, lasts, index = (both.column(name).to_numpy() for name in ("start", "last", "index"))
        points = _Points.of(partitions, starts, lasts)
        owner, first, last = points.joined(self._gap)
        sums, fresh = np.zeros(len(first), np.int64), np.zeros(len(first), bool)
        np.add.at(sums, owner, index)
        fresh[owner[both.column("fresh").to_numpy(zero_copy_only=False)]] = True
        self.sessions = KeyedState(self.sessions.keys_schema, self.sessions.values_schema)
        self.sessions.put_many(
            {"partition": points.partitions[first], "start": points.times[first]},
            {"last": points.times[last], "index": sums, "fresh": fresh},
        )


class _Points(NamedTuple):
    """The first and last times of parts of sessions, in order of partition and time."""

    order: np.ndarray
    """The positions that sort all points: first the first times of all parts, then their last times."""
    partitions: np.ndarray
    times: np.ndarray
    steps: np.ndarray
    """For each point in `order`, 1 if a part of a session begins at it, and -1 if a part ends at it."""

    @classmethod
    def of(cls, partitions: np.ndarray, starts: np.ndarray, lasts: np.ndarray) -> _Points:
        """Return the first and last times of parts of sessions in order; parts may overlap."""
        partition, time = np.r_[partitions, partitions], np.r_[starts, lasts]
        steps = np.repeat([1, -1], len(starts))
        order = np.lexsort((-steps, time, partition))
        return cls(order, partition[order], time[order], steps[order])

    def joined(self, gap: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the session of every part, and the first and last point of every session."""
        inside = np.cumsum(self.steps) > 0
        apart = (self.times[1:] - gap >= self.times[:-1]) & ~inside[:-1]
        begins = np.ones(len(self.times), bool)
        begins[1:] = apart | (self.partitions[1:] != self.partitions[:-1])
        sessions = np.empty(len(begins), np.int64)
        sessions[self.order] = np.cumsum(begins) - 1
        first = np.flatnonzero(begins)
        return sessions[: len(begins) // 2], first, np.r_[first[1:], len(begins)][: len(first)] - 1
