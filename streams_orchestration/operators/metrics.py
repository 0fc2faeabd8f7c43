"""Custom metrics: named figures that an operator keeps of itself, as IBM Streams' custom metrics."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass, field
from typing import Any, SupportsIndex, TypeVar

METRICS_LIMIT = 64
"""Metrics that one operator may have: they are few figures with names, not a table by key."""
LAG_TUPLES, LAG_BYTES, LAG_SECONDS = "lag", "lag_bytes", "lag_seconds"
"""Gauges of a source, see `Metrics.lag` and `Metrics.lag_bytes`."""
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}")


@dataclass(slots=True)
class Counter:
    """A count that only grows."""

    description: str = ""
    value: int = 0
    """Count since this operator object was made; `streams status` has the total over its restarts."""
    taken: int = 0
    """The part that results of earlier batches hold."""
    described: bool = False

    def add(self, count: SupportsIndex = 1) -> None:
        """Count so many more.

        Raises:
            ValueError: less than none.
        """
        count = operator.index(count)
        if count < 0:
            message = f"a counter cannot go back by {-count}; a gauge can"
            raise ValueError(message)
        self.value += count


@dataclass(slots=True)
class Gauge:
    """A value that goes up and down; its last value counts."""

    description: str = ""
    value: int | float = 0
    new: bool = True
    """True if the gauge was set since the last result of a batch."""
    described: bool = False

    def set(self, value: Any) -> None:
        """Set the value.

        Raises:
            ValueError: not a finite number.
        """
        number = value.item() if hasattr(value, "item") else value
        if not isinstance(number, int | float) or not math.isfinite(number):
            message = f"a gauge shows a finite number, not {value!r}"
            raise ValueError(message)
        self.value, self.new = number, True


Metric = TypeVar("Metric", Counter, Gauge)


@dataclass(slots=True)
class Metrics:
    """The custom metrics of one operator object, made when they are first named.

    What is counted is no state: a batch that is not committed does not count, one that a reset replays counts again.

    Example:
        >>> metrics = Metrics()
        >>> metrics.counter("malformed", "rows that cannot be read").add(2)
        >>> metrics.gauge("waiting").set(0.5)
        >>> metrics.values
        {'malformed': 2, 'waiting': 0.5}
    """

    _all: dict[str, Counter | Gauge] = field(default_factory=dict)

    def counter(self, name: str, description: str = "") -> Counter:
        """Return the counter of a name.

        Raises:
            ValueError: the name is that of a gauge, or no name, or one too many.
        """
        return self._get(Counter, name, description)

    def gauge(self, name: str, description: str = "") -> Gauge:
        """Return the gauge of a name.

        Raises:
            ValueError: the name is that of a counter, or no name, or one too many.
        """
        return self._get(Gauge, name, description)

    @property
    def dropped(self) -> Counter:
        """Tuples, or rows of a source, that the operator could not use and left out; `streams status` names them."""
        return self.counter("dropped", "tuples that could not be used and were left out")

    @property
    def errors(self) -> Counter:
        """Errors that the operator has dealt with itself; `streams status` points at them."""
        return self.counter("errors", "errors that the operator has dealt with itself")

    def lag(self, tuples: int, seconds: float) -> None:
        """Set how far a source is behind the available input, for `streams status`."""
        self.gauge(LAG_TUPLES, "that could be read and were not read yet").set(tuples)
        self.gauge(LAG_SECONDS, "since the oldest of them could be read").set(seconds)

    def lag_bytes(self, size: int, seconds: float) -> None:
        """Set the lag of a source that knows only the size of its unread data."""
        self.gauge(LAG_BYTES, "bytes of the server's log that were not read yet").set(size)
        self.gauge(LAG_SECONDS, "since the oldest of them could be read").set(seconds)

    @property
    def values(self) -> dict[str, int | float]:
        """Return the value of each metric by name."""
        return {name: metric.value for name, metric in self._all.items()}

    def take(self) -> dict[str, dict[str, Any]]:
        """Return for the runtime the new `counters` and `gauges` since the last call, and what they are `about`."""
        counters: dict[str, int] = {}
        gauges: dict[str, int | float] = {}
        about = {name: metric.description for name, metric in self._all.items() if not metric.described}
        for name, metric in self._all.items():
            if isinstance(metric, Gauge):
                if metric.new:
                    gauges[name] = metric.value
                metric.new = False
            elif not metric.described or metric.value != metric.taken:
                counters[name] = metric.value - metric.taken
                metric.taken = metric.value
            metric.described = True
        news = {"counters": counters, "gauges": gauges, "about": {name: text for name, text in about.items() if text}}
        return {kind: metrics for kind, metrics in news.items() if metrics}

    def _get(self, kind: type[Metric], name: str, description: str) -> Metric:
        metric = self._all.get(name)
        if metric is None:
            if not _NAME.fullmatch(name):
                message = f"metric {name!r}: a name has letters, digits and _ . - and begins with a letter"
                raise ValueError(message)
            if len(self._all) >= METRICS_LIMIT:
                message = f"metric {name}: an operator has at most {METRICS_LIMIT} metrics; count things together"
                raise ValueError(message)
            metric = self._all[name] = kind(description)
        if not isinstance(metric, kind):
            message = f"metric {name} is a {type(metric).__name__.lower()}, not a {kind.__name__.lower()}"
            raise ValueError(message)
        return metric
