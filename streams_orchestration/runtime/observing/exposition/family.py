"""Metric families: a name, its labels, and how its values are taken from a snapshot.

Names follow Prometheus' conventions: one prefix, base units (seconds, bytes), `_total` on counters, `_info` on what has
labels only. No rate is exposed, and no label whose values grow with time (epochs, error texts).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from streams_orchestration.runtime.observing.snapshots import Snapshot

PREFIX = "streams"
Labels = tuple[str, ...]
"""Values of labels, in the order of their names."""
Sample = tuple[Labels, float]
Thing = TypeVar("Thing")
UNITS = {"seconds": "s", "bytes": "By"}
"""Last word of a name -> the unit in OpenTelemetry's notation (UCUM)."""


@dataclass(frozen=True, slots=True)
class Family:
    """One metric of all things of a kind."""

    name: str
    """Name in Prometheus; a counter's ends with `_total`."""
    kind: Literal["counter", "gauge"]
    about: str
    """One line, without a full stop."""
    labels: tuple[str, ...]
    samples: Callable[[Snapshot], Iterable[Sample]]

    @property
    def base(self) -> str:
        """The name without `_total`."""
        return self.name.removesuffix("_total")

    @property
    def unit(self) -> str:
        """Return the unit in OpenTelemetry's notation; empty where the name has none."""
        return UNITS.get(self.base.rpartition("_")[2], "")


@dataclass(frozen=True, slots=True)
class Subject(Generic[Thing]):
    """A kind of things that have metrics: their labels, and where a snapshot has them."""

    name: str
    """The second word of the names of its metrics."""
    labels: tuple[str, ...]
    of: Callable[[Snapshot], Iterable[tuple[Labels, Thing]]]

    def gauge(self, name: str, about: str, value: Callable[[Thing], float | None]) -> Family:
        """Return a family of values that go up and down, or of times; a sample is left out where the value is None."""
        return Family(f"{PREFIX}_{self.name}_{name}", "gauge", about, self.labels, self._samples(value))

    def counter(self, name: str, about: str, value: Callable[[Thing], float | None]) -> Family:
        """Return a family of values that only go up until an application is deployed from nothing."""
        return Family(f"{PREFIX}_{self.name}_{name}_total", "counter", about, self.labels, self._samples(value))

    def info(self, about: str, labels: tuple[str, ...], values: Callable[[Thing], Labels]) -> Family:
        """Facts in further labels; the value is always 1."""

        def samples(snapshot: Snapshot) -> Iterator[Sample]:
            for own, thing in self.of(snapshot):
                yield (*own, *values(thing)), 1.0

        return Family(f"{PREFIX}_{self.name}_info", "gauge", about, (*self.labels, *labels), samples)

    def states(self, about: str, states: Iterable[str], state: Callable[[Thing], str]) -> Family:
        """A sample for every state that there is: 1 for the one that holds, 0 for all others."""
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
