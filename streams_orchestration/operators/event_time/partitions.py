"""The partitions of a source, and the time of the source: the least of the partitions' greatest times (EV51, EV52).

A decision that partitions are idle depends on a clock, so it is stored as data: it records how many tuples of each
partition came before it. After a reset, the replay repeats it at the same tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from streams_orchestration.operators.event_time.decision import IdleDecision
from streams_orchestration.operators.event_time.holder import Holder
from streams_orchestration.operators.event_time.partition_time import NO_TIME, AheadGuard, PartitionTime, least_steps
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.tuples.watermarks import END

WHOLE = ""
"""The name of the single partition of a source that names no partitions."""


class Least(NamedTuple):
    """An event: the source's time rises, at positions between the tuples of a batch."""

    places: np.ndarray
    times: np.ndarray


class Rest(NamedTuple):
    """An event: all partitions become idle, at a position between the tuples of a batch."""

    place: int


class Wake(NamedTuple):
    """An event: a partition becomes active after all were idle, at a position between the tuples of a batch."""

    place: int


Event = Least | Rest | Wake


class _Group(NamedTuple):
    """The tuples of one partition in a batch."""

    name: str
    positions: np.ndarray


class Partitions:
    """The times of all partitions of a source. A source that names no partitions has the single partition `WHOLE`."""

    def __init__(self, lag: int, guard: AheadGuard | None, begin: Callable[[], int]) -> None:
        """Initialize for a source that has read no tuple.

        Args:
            lag: ticks by which watermarks are less than the greatest time.
            guard: the guard against times far ahead; None for no guard.
            begin: returns the time with which a new partition begins.
        """
        self._lag = lag
        self._guard = guard
        self._begin = begin
        self._members = {WHOLE: PartitionTime()}
        self._rests = False
        """True if no partition is active."""
        self._told = True
        """False if the source, which is idle, is to send that again."""
        self._decided = 0
        """The number of decisions that partitions are idle, so far."""
        self.pending: list[IdleDecision] = []
        """The decisions from before a reset that must still be repeated, in order."""
        self.made: list[IdleDecision] = []
        """The decisions that were made or repeated in this batch. The caller clears the list after reading it."""
        self._ahead = 0

    def advance(self, times: np.ndarray, codes: np.ndarray | None, names: Sequence[str]) -> Iterator[Event]:
        """Add the times of tuples, and yield the resulting changes of the source's time, in order of position.

        Args:
            times: the times; `NO_TIME` for a tuple that is ignored.
            codes: the position of each tuple's partition in `names`; None if the source names no partitions.
            names: the names of partitions.
        """
        groups = _groups(len(times), codes, names)
        if codes is not None:
            self._forget_whole()
        due = list(self._due(groups))
        done, end = 0, len(times)
        while done < end:
            while due and due[0][0] <= done:
                yield from self._repeat(*due.pop(0))
            until = due[0][0] if due else end
            for group in groups:
                partition = self._members.get(group.name)
                if partition is None or partition.idle:
                    number = int(np.searchsorted(group.positions, done))
                    first = int(group.positions[number]) if number < len(group.positions) else end
                    if first == done:
                        self._activate(group.name)
                    else:
                        until = min(until, first)
            woken, self._rests = self._rests, False
            if woken:
                yield Wake(done + 1)
            yield from self._taken(times, groups, done, until, woken=woken)
            done = until
        for place, decision in due:
            yield from self._repeat(place, decision)

    def rest(self, names: Iterable[str]) -> Iterator[Event]:
        """Declare partitions idle, record that, drop pending decisions, and yield the changes of the source's time.

        Nothing is done if none of the partitions is known and active.
        """
        chosen = [name for name in names if name in self._members and not self._members[name].idle]
        if chosen:
            self.pending.clear()
            counts = {name: each.count for name, each in self._members.items()}
            yield from self._repeat(0, IdleDecision(self._decided, tuple(sorted(chosen)), counts))

    def settle(self) -> Iterator[Event]:
        """Repeat the stored decisions that are due before the next tuple, and yield the resulting changes.

        After `tell_again`, yield `Rest` again.
        """
        for place, decision in list(self._due(())):
            yield from self._repeat(place, decision)
        yield from self._again()

    def assign(self, names: Collection[str]) -> Iterator[Event]:
        """Set the partitions that count from now on, and yield the resulting changes of the source's time.

        New partitions begin at the watermark.
        """
        if self._members.keys() == set(names):
            yield from self._again()
            return
        self._members = {name: self._members.get(name) or PartitionTime(self._begin()) for name in names}
        yield from self._changed(0)

    @property
    def counts(self) -> dict[str, int]:
        """The number of tuples of each partition that is not idle."""
        return {name: each.count for name, each in self._members.items() if not each.idle}

    def holder(self) -> Holder:
        """Return the holder of the source's watermark.

        While a partition is active, this is the active one with the least time; a partition without a time comes first.
        Otherwise the kind is `idle`.
        """
        inputs = len(self._members)
        idle = sum(each.idle for each in self._members.values())
        active = {name: each for name, each in self._members.items() if not each.idle}
        if not active:
            return Holder("idle", inputs=inputs, idle=idle)
        name = min(active, key=lambda each: active[each].greatest)
        time = None if active[name].greatest == NO_TIME else active[name].greatest
        return Holder("source" if name == WHOLE else "partition", name, time, active[name].count, inputs, idle)

    @property
    def rests(self) -> bool:
        """True if no partition is active (EV51)."""
        return self._rests

    def too_far_ahead(self, names: Iterable[str], drift: int, slowest: int | None) -> frozenset[str]:
        """Return the partitions that are not read now, since they are too far ahead of the others (EV65).

        Idle partitions, and partitions without a time, do not limit the others. A partition with a pending decision
        from before a reset is read in any case, since other partitions may wait for the repetition.

        Args:
            names: the partitions that have or may get further tuples.
            drift: the ticks beyond the least watermark up to which a partition is read.
            slowest: the least watermark of the other sources of the graph; None without any.
        """
        members = {name: self._members[name] for name in names if name in self._members}
        times = {name: each.greatest for name, each in members.items() if not each.idle and each.greatest != NO_TIME}
        bound = min((*times.values(), *(() if slowest is None else (slowest + self._lag,))), default=END) + drift
        awaited = {
            name
            for decision in self.pending
            for name, count in decision.counts.items()
            if name in members and members[name].count < count
        }
        return frozenset(name for name, time in times.items() if time > bound and name not in awaited)

    def tell_again(self) -> None:
        """Let `settle` or `assign` yield `Rest` again, if all partitions are idle."""
        self._told = not self._rests

    @property
    def decided(self) -> int:
        """The number of decisions that partitions are idle, so far."""
        return self._decided

    def take_ahead(self) -> int:
        """Return and reset the number of times too far ahead of their partition."""
        ahead, self._ahead = self._ahead, 0
        return ahead

    def give_up(self, at_end: Collection[str]) -> None:
        """Discard the pending decisions if one needs more tuples of a partition than there are.

        Args:
            at_end: the partitions that were read to their end.
        """
        members = self._members
        if any(
            name in at_end and name in members and members[name].count < count
            for decision in self.pending
            for name, count in decision.counts.items()
        ):
            self.pending.clear()

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON (EV43)."""
        members = {name: each.dump() for name, each in self._members.items()}
        return {"partitions": members, "decided": self._decided, "rests": self._rests}

    def load(self, state: dict[str, Any]) -> None:
        """Restore a state that `dump` returned, or one without partitions, which begin with the watermark (EV45)."""
        if (members := state.get("partitions")) is None:
            self._members = {WHOLE: PartitionTime(self._begin())}
        else:
            self._members = {name: PartitionTime.loaded(each) for name, each in members.items()}
        members = self._members.values()
        self._decided = state.get("decided", 0)
        self._rests = state.get("rests", bool(members) and all(each.idle for each in members))

    def _forget_whole(self) -> None:
        """Remove the partition `WHOLE` unless it had tuples."""
        if WHOLE in self._members and not self._members[WHOLE].count:
            del self._members[WHOLE]

    def _activate(self, name: str) -> None:
        """Add a partition, or end its idleness."""
        if name in self._members:
            self._members[name].idle = False
        else:
            self._members[name] = PartitionTime(self._begin())

    def _taken(
        self, times: np.ndarray, groups: Iterable[_Group], first: int, last: int, *, woken: bool
    ) -> Iterator[Least]:
        """Add the times of tuples of active partitions, and yield the resulting increases of the source's time.

        If `woken`, all partitions were idle before the first tuple, so its partition is the only active one.
        """
        risen: list[tuple[int, np.ndarray, np.ndarray, np.ndarray]] = []
        for name, positions in groups:
            begin, end = np.searchsorted(positions, (first, last))
            if begin == end:
                continue
            mine, partition = positions[begin:end], self._members[name]
            before = partition.greatest
            start, stop = int(mine[0]), int(mine[-1]) + 1
            is_whole = stop - start == len(mine)
            own = times[start:stop] if is_whole else times[mine]
            reached, ahead = partition.enter(own, self._lag, self._guard)
            self._ahead += ahead
            later = np.flatnonzero(reached[1:] > reached[:-1]) + 1
            if reached[0] > before or (woken and reached[0] != NO_TIME):
                later = np.concatenate(([0], later))
            risen.append((before, reached, later, later + (start + 1) if is_whole else mine[later] + 1))
        active = [each.greatest for each in self._members.values() if not each.idle]
        if len(active) == 1:
            _, reached, later, places = risen[0]
            yield Least(places, reached[later])
        else:
            olds = [np.where(later > 0, reached[later - 1], before) for before, reached, later, _ in risen]
            places = np.concatenate([each for *_, each in risen])
            yield Least(*least_steps(np.concatenate(olds), places, min(active)))

    def _due(self, groups: Iterable[_Group]) -> Iterator[tuple[int, IdleDecision]]:
        """Yield the pending decisions to repeat within a batch, with their positions.

        It ends before the first decision that needs tuples beyond the batch.
        """
        positions = dict(groups)
        for decision in self.pending:
            place = 0
            for name, count in decision.counts.items():
                partition = self._members.get(name)
                lacking = count - (0 if partition is None else partition.count)
                if lacking > 0:
                    if lacking > len(positions.get(name, ())):
                        return
                    place = max(place, int(positions[name][lacking - 1]) + 1)
            yield place, decision

    def _repeat(self, place: int, decision: IdleDecision) -> Iterator[Event]:
        """Make the partitions of a decision idle, except those that have had further tuples; yield the changes.

        The decision is recorded as made. It and the earlier ones are no longer pending.
        """
        for name in decision.idle:
            partition = self._members.get(name)
            if partition is not None and partition.count <= decision.counts[name]:
                partition.idle = True
        self._decided = decision.number + 1
        self.pending = [each for each in self.pending if each.number >= self._decided]
        self.made.append(decision)
        yield from self._changed(place)

    def _again(self) -> Iterator[Event]:
        """Yield that all partitions are idle, if `tell_again` was called since it was sent."""
        if self._rests and not self._told:
            self._told = True
            yield Rest(0)

    def _changed(self, place: int) -> Iterator[Event]:
        """Yield the change of the source's time that results from a change of the set of active partitions."""
        active = [each.greatest for each in self._members.values() if not each.idle]
        if not active:
            if not self._rests:
                self._rests = self._told = True
                yield Rest(place)
            return
        if self._rests:
            self._rests = False
            yield Wake(place)
        if (least := min(active)) != NO_TIME:
            yield Least(np.array([place]), np.array([least]))


def merged_clocks(states: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a state with the partitions of several states, for new replicas; empty if they have no partitions.

    A partition in several states gets the least of its times. The tuples and decisions of a single state are counted
    on, so pending decisions can be repeated. Tuples of several states are counted from 0, and their pending decisions
    are dropped: such a partition holds the watermark until a clock decides again, when all tuples have been read.
    """
    if len(states) == 1:
        kept = ("partitions", "decided") if states[0].get("partitions") else ()
        return {name: states[0][name] for name in kept if name in states[0]}
    found: dict[str, PartitionTime] = {}
    for state in states:
        for name, stored in state.get("partitions", {}).items():
            each = PartitionTime.loaded(stored)
            each.count = 0
            if name not in found or each.greatest < found[name].greatest:
                found[name] = each
    return {"partitions": {name: each.dump() for name, each in found.items()}} if found else {}


def _groups(count: int, codes: np.ndarray | None, names: Sequence[str]) -> list[_Group]:
    if codes is None:
        return [_Group(WHOLE, np.arange(count))]
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    parts = np.split(order, ends[:-1])
    return [_Group(name, part) for name, part in zip(names, parts, strict=True) if len(part)]
