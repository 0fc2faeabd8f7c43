"""The clock of a source with partitions, tuple by tuple (EV17, EV18, EV51-EV53)."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.operators.tuples.watermarks import IDLE


@dataclass
class _Partition:
    greatest: int | None = None
    idle: bool = False
    run: tuple[int, ...] = ()


class NaiveClock:
    """Takes one item at a time, and returns the watermarks that follow it."""

    def __init__(self, lag: int, gap: int, max_ahead: int | None = None, confirmations: int = 3) -> None:
        self.lag, self.gap, self.max_ahead, self.confirmations = lag, gap, max_ahead, confirmations
        self.partitions: dict[str, _Partition] = {}
        self.emitted: int | None = None
        self.rests = False

    def tuple(self, name: str, time: int) -> list[int]:
        partition = self.partitions.setdefault(name, self._new())
        partition.idle = False
        woken, self.rests = self.rests, False
        self._enter(partition, time)
        found = self._step()
        return found or ([self.emitted] if woken and self.emitted is not None else [])

    def rest(self, names: list[str]) -> list[int]:
        for name in names:
            if name in self.partitions:
                self.partitions[name].idle = True
        return self._step()

    def assign(self, names: list[str]) -> list[int]:
        self.partitions = {name: self.partitions.get(name) or self._new() for name in names}
        return self._step()

    def _new(self) -> _Partition:
        return _Partition(None if self.emitted is None else self.emitted + self.lag)

    def _enter(self, partition: _Partition, time: int) -> None:
        former = partition.greatest
        suspect = self.max_ahead is not None and (former is None or time - (former - self.lag) > self.max_ahead)
        partition.run = (*partition.run, time) if suspect else ()
        if not suspect:
            partition.greatest = time if former is None else max(former, time)
        elif len(partition.run) == self.confirmations:
            partition.greatest = max(min(partition.run), min(partition.run) if former is None else former)
            partition.run = ()

    def _step(self) -> list[int]:
        active = [each.greatest for each in self.partitions.values() if not each.idle]
        if not active:
            found = [] if self.rests else [IDLE]
            self.rests = True
            return found
        woken, self.rests = self.rests, False
        times = [time for time in active if time is not None]
        if len(times) == len(active):
            own = min(times) - self.lag
            if self.emitted is None or own >= self.emitted + max(self.gap, 1):
                self.emitted = own
                return [own]
        return [self.emitted] if woken and self.emitted is not None else []
