"""Metric families: a name, labels, and a function that takes the samples from a snapshot.

Names follow Prometheus' conventions: one prefix, base units (seconds, bytes), `_total` for counters, and `_info` for
families of labels only. No rate is exposed, and no label with unbounded values (epochs, error texts).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Generic, Literal, TypeVar

from streams_orchestration.runtime.observing.snapshots import Snapshot

PREFIX = "streams"
Labels = tuple[str, ...]
"""Values of labels, in the order of their names."""
Sample = tuple[Labels, float]
Thing = TypeVar("Thing")
Part = TypeVar("Part")
UNITS = {"seconds": "s", "bytes": "By"}
"""Last word of a name -> the unit in OpenTelemetry's notation (UCUM)."""


@dataclass(frozen=True, slots=True)
class Family:
    """One metric of all subjects of a kind."""

    name: str
    """Name in Prometheus; a counter's ends with `_total`."""
    kind: Literal["counter", "gauge"]
    about: str
    """Description in one line, without a full stop."""
    labels: tuple[str, ...]
    samples: Callable[[Snapshot], Iterable[Sample]]

    @property
    def base(self) -> str:
        """The name without `_total`."""
        return self.name.removesuffix("_total")

    @property
    def unit(self) -> str:
        """The unit in OpenTelemetry's notation; empty if the name has no unit."""
        return UNITS.get(self.base.rpartition("_")[2], "")


@dataclass(frozen=True, slots=True)
class Subject(Generic[Thing]):
    """A kind of things with metrics, such as PEs: its labels, and a function that finds the things in a snapshot."""

    name: str
    """The part of its metrics' names after the prefix."""
    labels: tuple[str, ...]
    of: Callable[[Snapshot], Iterable[tuple[Labels, Thing]]]

    def parts(self, name: str, labels: Mapping[str, str], find: Callable[[Thing], Iterable[Part]]) -> Subject[Part]:
        """Return the subject of parts of these things.

        Args:
            name: the part of its metrics' names after the prefix.
            labels: further label -> the attribute of a part that is its value, as in `status.name`.
            find: finds the parts of a thing.
        """
        values = [attrgetter(attribute) for attribute in labels.values()]

        def of(snapshot: Snapshot) -> Iterator[tuple[Labels, Part]]:
            for own, thing in self.of(snapshot):
                for part in find(thing):
                    yield (*own, *(str(value(part)) for value in values)), part

        return Subject(name, (*self.labels, *labels), of)

    def gauge(self, name: str, about: str, value: Callable[[Thing], float | None]) -> Family:
        """Return a family of values that go up and down, or of times. A value of None gives no sample."""
        return Family(f"{PREFIX}_{self.name}_{name}", "gauge", about, self.labels, self._samples(value))

    def counter(self, name: str, about: str, value: Callable[[Thing], float | None]) -> Family:
        """Return a family of values that only go up until an application is deployed fresh; None gives no sample."""
        return Family(f"{PREFIX}_{self.name}_{name}_total", "counter", about, self.labels, self._samples(value))

    def info(self, about: str, labels: tuple[str, ...], values: Callable[[Thing], Labels]) -> Family:
        """Return a family with facts in further labels; its value is always 1."""

        def samples(snapshot: Snapshot) -> Iterator[Sample]:
            for own, thing in self.of(snapshot):
                yield (*own, *values(thing)), 1.0

        return Family(f"{PREFIX}_{self.name}_info", "gauge", about, (*self.labels, *labels), samples)

    def states(self, about: str, states: Iterable[str], state: Callable[[Thing], str]) -> Family:
        """Return a family with a sample for every possible state: 1 for the current state, 0 for all others."""
        known = tuple(states)

        def samples(snapshot: Snapshot) -> Iterator[Sample]:
            for own, thing in self.of(snapshot):
                now = state(thing)
                yield from (((*own, each), float(each == now)) for each in known)

        return Family(f"{PREFIX}_{self.name}_state", "gauge", about, (*self.labels, "state"), samples)

    def _samples(self, value: Callable[[Thing], float | None]) -> Callable[[Snapshot], Iterator[Sample]]:
        def samples(snapshot: Snapshot) -> Iterator[Sample]:
            for own, thing in self.of(snapshot):
                number = value(thing)
                if number is not None:
                    yield own, float(number)

        return samples
