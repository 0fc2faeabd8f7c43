"""Windows of event time one tuple at a time, as rules EV28 to EV36, EV50, EV56, EV63 and EV64 read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from streams_orchestration.operators.tuples.watermarks import END

Row = tuple[Any, ...]
Result = Callable[[Sequence[Row]], tuple[Any, ...]]
"""The values of output functions over tuples."""


@dataclass
class Pane:
    """One partition in one pane."""

    start: int
    end: int
    partition: Any
    rows: list[tuple[int, Row]] = field(default_factory=list)
    """The tuples in order of arrival, with their numbers."""
    new: list[tuple[int, Row]] = field(default_factory=list)
    """The tuples since the last firing."""
    index: int = 0
    complete: bool = False
    sent: list[tuple[Any, ...]] = field(default_factory=list)
    """The results of the last firing, to be retracted."""

    @property
    def order(self) -> tuple[int, int, int]:
        return self.end, self.start, min(number for number, _ in self.rows)


@dataclass
class NaivePanes:
    """An Aggregate, whose results are (group, start, end, timing, index, retraction, values)."""

    discard: int
    result: Result
    partition_of: Callable[[Row], Any]
    group_of: Callable[[Row], Any]
    refinement: str = "accumulating"
    early: int | None = None
    sessions: bool = False
    panes: list[Pane] = field(default_factory=list)
    watermark: int | None = None
    count: int = 0
    late: list[Row] = field(default_factory=list)
    taken: int = 0
    """The number of late tuples that were taken."""

    def panes_at(self, time: int) -> list[tuple[int, int]]:
        """Return the start and end of every pane that holds a time."""
        raise NotImplementedError

    def too_late(self, time: int, panes: list[tuple[int, int]]) -> bool:
        """Return True if a tuple is dropped from all panes."""
        del panes
        return self.watermark is not None and time < self.watermark - self.discard

    def tuple(self, row: Row) -> None:
        """Take a tuple, whose first value is its time."""
        time, self.count = row[0], self.count + 1
        panes = self.panes_at(time)
        if self.too_late(time, panes):
            self.late.append(row)
            return
        self.taken += self.watermark is not None and time < self.watermark
        for start, end in panes:
            if self.watermark is not None and end + self.discard <= self.watermark:
                continue
            pane = self.pane(start, end, self.partition_of(row))
            pane.rows.append((self.count, row))
            pane.new.append((self.count, row))

    def pane(self, start: int, end: int, partition: Any) -> Pane:
        """Return the pane of a partition, which is opened if it is not open."""
        for each in self.panes:
            if (each.start, each.end, each.partition) == (start, end, partition):
                return each
        self.panes.append(Pane(start, end, partition))
        return self.panes[-1]

    def advance(self, watermark: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the results of every firing."""
        before, self.watermark = self.watermark, watermark
        for pane in sorted(self.panes, key=lambda each: each.order):
            if self.fires(pane, before, watermark):
                yield list(self.fire(pane, complete=pane.end <= watermark))
        self.panes = [each for each in self.panes if watermark < END and each.end + self.discard > watermark]

    def fires(self, pane: Pane, before: int | None, now: int) -> bool:
        """Return True if a partition in a pane fires at a watermark."""
        if pane.end <= now and not pane.complete:
            return True
        if not pane.new:
            return False
        if pane.end <= now:
            return True
        times = range(pane.start + self.early, pane.end, self.early) if self.early is not None else ()
        return any(time <= now and (before is None or time > before) for time in times)

    def fire(self, pane: Pane, *, complete: bool) -> Iterator[tuple[Any, ...]]:
        """Yield the results of the groups of a partition."""
        late = pane.index > 0 if self.sessions else pane.complete
        timing = ("paneLate" if late else "paneOnComplete") if complete else "paneEarly"
        shown = pane.new if self.refinement == "discarding" else pane.rows
        before, pane.sent = pane.sent, []
        for group in dict.fromkeys(self.group_of(row) for _, row in sorted(pane.rows)):
            rows = [row for _, row in sorted(shown) if self.group_of(row) == group]
            for known in before if self.refinement == "retracting" else ():
                if known[0] == group:
                    yield (*known[:5], True, *known[6:])
            if rows:
                result = (group, pane.start, pane.end, timing, pane.index, False, *self.result(rows))
                pane.sent.append(result)
                yield result
        pane.index += 1
        pane.new = []
        pane.complete = complete


@dataclass
class NaiveIntervals(NaivePanes):
    """`timeInterval`."""

    duration: int = 1
    period: int = 1
    offset: int = 0
    by_pane: bool = False

    def panes_at(self, time: int) -> list[tuple[int, int]]:
        starts = range(self.offset - 1000 * self.period, 1000 * self.period, self.period)
        return [(start, start + self.duration) for start in starts if start <= time < start + self.duration]

    def too_late(self, time: int, panes: list[tuple[int, int]]) -> bool:
        if not self.by_pane:
            return super().too_late(time, panes)
        ends = [end for _, end in panes]
        return bool(ends) and self.watermark is not None and max(ends) + self.discard <= self.watermark


@dataclass
class NaiveSessions(NaivePanes):
    """`session`."""

    gap: int = 1
    sessions: bool = True

    def tuple(self, row: Row) -> None:
        time, self.count, partition = row[0], self.count + 1, self.partition_of(row)
        if self.too_late(time, []):
            self.late.append(row)
            return
        self.taken += self.watermark is not None and time < self.watermark
        near = [
            each for each in self.panes
            if each.partition == partition and each.start - self.gap < time < each.end
        ]  # fmt: skip
        near.sort(key=lambda each: each.start)
        start, end = min([time, *(each.start for each in near)]), max([time + self.gap, *(each.end for each in near)])
        joined = Pane(start, end, partition, [(self.count, row)], [(self.count, row)])
        for each in near:
            joined.rows += each.rows
            joined.new += each.new
            joined.index += each.index
            joined.sent += each.sent
        self.panes = [each for each in self.panes if each not in near]
        self.panes.append(joined)
