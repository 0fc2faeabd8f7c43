"""Panes that are the same for all partitions: their completion, late tuples, early firings and closing (EV28-EV36).

A pane that is not complete keeps nothing of its own: all partitions with cells in its slices fire when it is. Only
panes that have fired and are still open keep the number of firings of each partition.

A *straggler* is a tuple in a pane that was complete before it came. Only stragglers can come after a firing of their
pane within a batch, so a batch is cut in front of these, and each piece is added at once before its panes fire.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import Any

from streams_orchestration.operators.event_time.steps import Steps
from streams_orchestration.operators.keys.comparison import distinct_numbers
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.tuples.watermarks import END, IDLE
from streams_orchestration.operators.windows.calendar_grid import CalendarGrid
from streams_orchestration.operators.windows.interval_grid import IntervalGrid
from streams_orchestration.operators.windows.pane_cells import ALL, CellRanges, PaneCells, expanded
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

_NO_PANE, _ALL_PANES = IDLE, END - 1


class IntervalPanes:
    """The panes of a grid, whose lengths are in ticks."""

    def __init__(
        self,
        grid: IntervalGrid | CalendarGrid,
        discard_age: int,
        *,
        by_pane: bool = False,
        early: int | None = None,
        sliced: bool = True,
    ) -> None:
        """Start with no panes.

        Args:
            grid: the panes and slices.
            discard_age: the age of tuples, or closed panes, that are too late.
            by_pane: drop a tuple when all its panes are closed (EV50), not when it is older than the age (EV30).
            early: the interval of early firings in ticks; None for no early firings.
            sliced: overlapping panes share their slices; otherwise a tuple is added to each of its panes separately.
        """
        self._grid = grid
        self._age = discard_age
        self._by_pane = by_pane
        self._takes_late = by_pane or discard_age > 0
        """True if a late tuple may be taken."""
        self._early = early
        self._shared = sliced and grid.overlapping
        self._copied = grid.overlapping and not sliced
        firings = pa.schema([("index", pa.int64()), ("fresh", pa.bool_()), ("complete", pa.bool_())])
        self.open = KeyedState(number_schema("pane", "partition"), firings)
        """Maps (pane, partition) to the number of firings, whether tuples came since the last firing, and whether the
        pane was then complete."""
        self._slices = np.zeros(0, np.int64)
        """The slices of all cells, ascending. If slices are not shared, each slice is a pane."""
        self._stragglers = np.zeros(0, np.int64), np.zeros(0, np.int64)
        """The rows of `open` that got stragglers in the current piece, and for each row the step at which it fires."""
        self._any_fresh = False

    def clear(self) -> None:
        """Forget all panes."""
        self.open.clear()
        self._slices = self._slices[:0]
        self._any_fresh = False

    def judge(self, times: np.ndarray, current: np.ndarray) -> Judged:
        """Find the tuples that are too late, given the watermark before each."""
        late = times < current
        count = int(np.count_nonzero(late))
        if not count:
            return Judged(0, None)
        if self._by_pane:
            places = np.flatnonzero(late)
            last = self._grid.last_pane(self._grid.slices(times[places]))
            gone = last <= self._closed(current[places])
            inside = self._grid.inside(times[places])
            late[places] = gone if inside is None else gone & inside
        elif self._age:
            late &= times < less(current, self._age)
        return Judged(count, late if late.any() else None)

    def outside_range(self, times: np.ndarray) -> np.ndarray | None:
        """Return a mask of the times whose panes exceed the range of event time; None if there are none."""
        return self._grid.outside_range(times)

    def _complete(self, watermarks: np.ndarray) -> np.ndarray:
        """Return the number of the last pane that is complete at each watermark."""
        panes = np.where(watermarks == END, _ALL_PANES, self._grid.complete(watermarks))
        return np.where(watermarks == IDLE, _NO_PANE, panes)

    def _closed(self, watermarks: np.ndarray) -> np.ndarray:
        """Return the number of the last pane that is closed at each watermark."""
        return self._complete(np.where(watermarks == END, END, less(watermarks, self._age)))

    def pieces(self, tuples: Arrivals, steps: Steps) -> list[Piece]:
        """Cut a batch before each late tuple whose pane fires earlier in the same piece.

        With early firings, cut it after each step at which a pane may fire instead.
        """
        count, ends = len(tuples.times), len(steps)
        if self._early is not None:
            firing = self._firing_steps(tuples, steps, self._early)
            bounds = [0, *np.searchsorted(tuples.seen, firing + 1).tolist(), count]
            firsts = [0, *(firing + 1).tolist(), ends]
            return [Piece(bounds[n], bounds[n + 1], firsts[n], firsts[n + 1]) for n in range(len(firing) + 1)]
        cuts = self._cuts(tuples, steps) if ends and self._takes_late else []
        seen = [int(tuples.seen[cut]) for cut in cuts]
        return [Piece(*each) for each in zip([0, *cuts], [*cuts, count], [0, *seen], [*seen, ends], strict=True)]

    def _firing_steps(self, tuples: Arrivals, steps: Steps, early: int) -> np.ndarray:
        """Return the positions of the first and last step, and of all steps at which a pane may fire.

        A pane may fire at a step that passes its end or one of its early times, or that follows a straggler. The first
        step may follow a straggler of an earlier batch. `early` is the number of ticks between two early firings.
        """
        if not len(steps):
            return np.zeros(0, np.int64)
        grid, levels = self._grid, steps.levels
        assert isinstance(grid, IntervalGrid)
        passed = less(levels, grid.offset) // gcd(grid.duration, grid.period, early)
        fires = (passed[1:] > passed[:-1]) | (steps.values == END)
        late = np.flatnonzero(tuples.times < levels[tuples.seen])
        seen = tuples.seen[late]
        straggling = grid.first_pane(grid.slices(tuples.times[late])) <= self._complete(levels)[seen]
        fires[seen[straggling & (seen < len(steps))]] = True
        fires[[0, -1]] = True
        return np.flatnonzero(fires)

    def _cuts(self, tuples: Arrivals, steps: Steps) -> list[int]:
        levels = steps.levels
        late = np.flatnonzero(tuples.times < levels[tuples.seen])
        if not len(late) or not tuples.seen[late[-1]]:
            return []
        slices = self._grid.slices(tuples.times[late])
        complete = self._complete(levels)
        seen = tuples.seen[late]
        first = self._grid.first_pane(slices)
        last = self._grid.last_pane(slices)
        inside = self._grid.inside(tuples.times[late])
        straggling = np.flatnonzero((first <= complete[seen]) & (True if inside is None else inside))
        alone = not self._grid.overlapping
        fresh = self._fresh_rows()
        keys = (self.open.key_column(name)[fresh].tolist() for name in ("pane", "partition"))
        waiting = {(pane if alone else 0, partition): 0 for pane, partition in zip(*keys, strict=True)}
        cuts, base = list[int](), 0
        for place in straggling.tolist():
            step = int(seen[place])
            key = int(slices[place]) if alone else 0, int(tuples.partitions[late[place]])
            crossed = complete[step] > complete[base] and last[place] > complete[base]
            if step > base and (crossed or waiting.get(key, step) < step):
                cuts.append(int(late[place]))
                base, waiting = step, {each: when for each, when in waiting.items() if when == step}
            waiting[key] = step
        return cuts

    def take(self, tuples: Arrivals, steps: Steps) -> PaneEntries:
        """Note the slices of a piece's tuples, mark the panes that have new tuples, and return the tuples' cells.

        In `tuples`, `seen` counts steps from the beginning of the piece.
        Tuples between two panes have no cell. Panes are marked only if late tuples are taken, or panes fire early.
        """
        times, places = tuples.times, None
        inside = self._grid.inside(times)
        if inside is not None and not inside.all():
            places = np.flatnonzero(inside)
            times = times[places]
        slices = self._grid.slices(times)
        seen = tuples.seen if places is None else tuples.seen[places]
        partitions = tuples.partitions if places is None else tuples.partitions[places]
        levels = steps.levels
        if self._takes_late or self._early is not None:
            self._mark(slices, partitions, seen, times < levels[seen], levels)
        if self._copied:
            first = self._grid.first_pane(slices)
            if self._by_pane:
                first = np.maximum(first, self._closed(levels)[seen] + 1)
            copies, panes = expanded(first, self._grid.last_pane(slices) + 1)
            places, slices = copies, panes
        self._slices = np.union1d(self._slices, distinct_numbers(slices))
        return PaneEntries(places, slices)

    def _mark(
        self, slices: np.ndarray, partitions: np.ndarray, seen: np.ndarray, late: np.ndarray, levels: np.ndarray
    ) -> None:
        """Mark as fresh the partitions of complete panes that got late tuples.

        With early firings, mark the partitions of all panes that got tuples. Closed panes are not marked. The marked
        rows are kept in `_stragglers`.
        """
        self._stragglers = np.zeros(0, np.int64), np.zeros(0, np.int64)
        if self._early is None:
            if not late.any():
                return
            slices, partitions, seen = slices[late], partitions[late], seen[late]
        last = self._grid.last_pane(slices)
        if self._early is None:
            last = np.minimum(last, self._complete(levels)[seen])
        first = np.maximum(self._grid.first_pane(slices), self._closed(levels)[seen] + 1)
        chosen, panes = expanded(first, last + 1)
        if not len(chosen):
            return
        keys = number_batch(pane=panes, partition=partitions[chosen])
        rows = self.open.rows_of(keys)
        self.open.column("fresh")[rows] = True
        self._any_fresh = True
        self._stragglers = rows, seen[chosen]

    def _fresh_rows(self) -> np.ndarray:
        if not self._any_fresh:
            return np.zeros(0, np.int64)
        rows = self.open.rows()
        return rows[self.open.column("fresh")[rows]]

    def _span(self, panes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._grid.span(panes) if self._shared else (panes, panes)

    def due(self, steps: Steps, cells: PaneCells) -> Due | None:
        """Return the firings in a batch's steps.

        They are panes that a step completes, and partitions of panes that fire again because tuples came since. None if
        nothing fires.
        """
        if not len(steps):
            return None
        panes, partitions, at = self._completed(steps)
        if self._any_fresh:
            again, others, when = self._again(steps, panes)
            panes, partitions, at = np.r_[panes, again], np.r_[partitions, others], np.r_[at, when]
        if not len(panes):
            return None
        order = np.lexsort((panes, at))
        panes, partitions, at = panes[order], partitions[order], at[order]
        rank = np.cumsum(np.r_[0, (panes[1:] != panes[:-1]) | (at[1:] != at[:-1])])
        ranges = CellRanges(partitions, *self._span(panes), rank)
        return Due(at, panes, self._grid.start(panes), self._grid.end(panes), ranges, panes)

    def _completed(self, steps: Steps) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the panes that the steps complete, if they may have cells: panes, partitions (`ALL`) and steps."""
        before, *_, behind = self._complete(steps.levels).tolist()
        slices = self._slices
        first, last = (
            (slices, slices) if self._copied else (self._grid.first_pane(slices), self._grid.last_pane(slices))
        )
        known = np.r_[before, last[:-1]]  # panes of the slices in front of each
        panes = expanded(np.maximum(first, np.maximum(known, before) + 1), np.minimum(last, behind) + 1)[1]
        at = np.searchsorted(steps.values, self._grid.end(panes))
        return panes, np.full(len(panes), ALL), at

    def _again(self, steps: Steps, completed: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pairs of pane and partition with new tuples that fire again, although no step completes the pane.

        The result is three arrays: the panes, the partitions, and the steps at which they fire. `_any_fresh` becomes
        False if no other pair has new tuples.
        """
        rows = self._fresh_rows()
        at = np.zeros(self.open.index.rows, np.int64)
        stragglers, when = self._stragglers
        at[stragglers] = len(steps)
        np.minimum.at(at, stragglers, when)
        panes = self.open.key_column("pane")[rows]
        at = at[rows]
        fires = (at < len(steps)) & ~np.isin(panes, completed)
        if self._early is not None:
            at = np.full(len(rows), len(steps) - 1)  # only the last step of a piece lets panes fire
            fires = ~np.isin(panes, completed) & self._at_early_time(panes, steps)
        self._any_fresh = not fires.all()
        rows, at = rows[fires], at[fires]
        return self.open.key_column("pane")[rows], self.open.key_column("partition")[rows], at

    def _at_early_time(self, panes: np.ndarray, steps: Steps) -> np.ndarray:
        """Return a mask of the panes that fire at the last step: complete ones, and those whose early time has come."""
        assert self._early is not None
        starts = self._grid.start(panes)
        ends = self._grid.end(panes)
        now = steps.last
        passed = (np.clip(now, starts, ends) - starts) // self._early
        before = (np.clip(steps.before, starts, ends) - starts) // self._early
        return (ends <= now) | (passed > before)

    def fired(self, due: Due, ranges: np.ndarray, partitions: np.ndarray, steps: Steps) -> Fired:
        """Record that partitions fire in panes, and return the properties of these firings.

        Panes that the last step closes are not recorded. `ranges` are positions in `due`.
        """
        panes = due.panes[ranges]
        complete = due.ends[ranges] <= steps.values[due.steps[ranges]]
        keys = number_batch(pane=panes, partition=partitions)
        index, before = np.zeros(len(panes), np.int64), np.zeros(len(panes), bool)
        if len(self.open):
            rows = self.open.index.find(keys)
            known = rows >= 0
            index[known] = self.open.column("index")[rows[known]]
            before[known] = self.open.column("complete")[rows[known]]
        stays = np.flatnonzero(panes > self._closed(steps.levels[-1:]))
        if len(stays):
            rows = self.open.rows_of(keys.take(pa.array(stays)))
            self.open.column("index")[rows] = index[stays] + 1
            self.open.column("fresh")[rows] = False
            self.open.column("complete")[rows] = complete[stays]
        timing = np.where(complete, np.where(before, Timing.paneLate, Timing.paneOnComplete), Timing.paneEarly)
        return Fired(index, timing)

    def close(self, steps: Steps, cells: PaneCells) -> CellRanges | None:
        """Forget the panes that the last step closes (EV34), and their cells; return ranges of their numbers.

        None if no cells are forgotten.
        """
        if not len(steps) or not len(self._slices):
            return None
        closed = int(self._closed(steps.levels[-1:])[0])
        last = self._slices if self._copied else self._grid.last_pane(self._slices)
        gone = int(np.searchsorted(last, closed, side="right"))
        if len(self.open):
            rows = self.open.rows()
            self.open.delete_rows(rows[self.open.key_column("pane")[rows] <= closed])
        if not gone:
            return None
        rows = cells.cells.rows()
        cells.delete(rows[cells.cells.key_column("slice")[rows] <= self._slices[gone - 1]])
        self._slices = self._slices[gone:]
        return CellRanges(*(np.array([each]) for each in (ALL, _NO_PANE, closed, 0)))

    def last_ends(self, times: np.ndarray, partitions: np.ndarray) -> np.ndarray:
        """Return the end of the last pane of each tuple that `take` processed, also of a forgotten pane."""
        del partitions
        return self._grid.end(self._grid.last_pane(self._grid.slices(times)))

    def closed_before(self, watermark: int) -> int:
        """Return the latest end, in ticks, of panes that are closed at this watermark."""
        return closed_before(watermark, self._age)

    def open_panes(self, watermark: int) -> int:
        """Return the number of panes that have tuples in any partition and are not closed at a watermark."""
        if not len(self._slices):
            return 0
        if self._copied:
            return len(self._slices)
        last = self._grid.last_pane(self._slices)
        closed = int(self._closed(np.array([watermark], np.int64))[0])
        counted = np.maximum.accumulate(np.r_[closed, last[:-1]])
        first = np.maximum(self._grid.first_pane(self._slices), counted + 1)
        return int(np.maximum(last - first + 1, 0).sum())

    def dump(self) -> dict[str, Any]:
        """Return the open panes as parts of the operator's state."""
        return {"panes": self.open}

    def load(self, state: Mapping[str, Any], cells: PaneCells) -> None:
        """Restore a state that `dump` returned; the cells are restored already."""
        self.open, self._slices = state["panes"], cells.known_slices()
        self._any_fresh = len(self.open) > 0

    def absorb(self, state: Mapping[str, Any], before: np.ndarray, after: np.ndarray) -> None:
        """Merge the open panes of another state into this one.

        A pane that both have keeps the higher number of firings, and is fresh or complete if either one is. Partitions
        are renumbered from `before` to `after`; others are left out.
        """
        table = state["panes"].table()
        theirs = places_of(table.column("partition").to_numpy(), before)
        table, theirs = table.filter(pa.array(theirs >= 0)), theirs[theirs >= 0]
        rows = self.open.rows_of({"pane": table.column("pane"), "partition": after[theirs]})
        np.maximum.at(self.open.column("index"), rows, table.column("index").to_numpy())
        for name in ("fresh", "complete"):
            self.open.column(name)[rows[table.column(name).to_numpy(zero_copy_only=False)]] = True
