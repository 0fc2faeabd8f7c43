"""Custom metrics: named figures that an operator maintains, like the custom metrics of IBM Streams."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass, field
from typing import Any, SupportsIndex, TypeVar

METRICS_LIMIT = 64
"""The largest number of metrics of one operator. Metrics are a few named figures, not a table by key."""
LAG_TUPLES, LAG_BYTES, LAG_SECONDS = "lag", "lag_bytes", "lag_seconds"
"""The names of a source's lag gauges; see `Metrics.lag` and `Metrics.lag_bytes`."""
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}")


@dataclass(slots=True)
class Counter:
    """A count that only grows."""

    description: str = ""
    value: int = 0
    """The count since this operator object was created. `streams status` shows the total over restarts."""
    taken: int = 0
    """The part of the count that was already reported with earlier batches."""
    described: bool = False

    def add(self, count: SupportsIndex = 1) -> None:
        """Increase the count.

        Raises:
            ValueError: `count` is negative.
            TypeError: `count` is not an integer.
        """
        count = operator.index(count)
        if count < 0:
            message = f"a counter cannot decrease by {-count}; use a gauge"
            raise ValueError(message)
        self.value += count


@dataclass(slots=True)
class Gauge:
    """A value that goes up and down; the last value is reported."""

    description: str = ""
    value: int | float = 0
    new: bool = True
    """True if the gauge was set since the last report."""
    described: bool = False

    def set(self, value: Any) -> None:
        """Set the value.

        Raises:
            ValueError: the value is not a finite number.
        """
        number = value.item() if hasattr(value, "item") else value
        if not isinstance(number, int | float) or not math.isfinite(number):
            message = f"a gauge must be a finite number, not {value!r}"
            raise ValueError(message)
        self.value, self.new = number, True


Metric = TypeVar("Metric", Counter, Gauge)


@dataclass(slots=True)
class Metrics:
    """The custom metrics of one operator object, created when they are first named.

    Metrics are not part of the state: a batch that is not committed does not count, and a replayed batch counts again.

    Example:
        >>> metrics = Metrics()
        >>> metrics.counter("malformed", "rows that cannot be read").add(2)
        >>> metrics.gauge("waiting").set(0.5)
        >>> metrics.values
        {'malformed': 2, 'waiting': 0.5}
    """

    _all: dict[str, Counter | Gauge] = field(default_factory=dict)

    def counter(self, name: str, description: str = "") -> Counter:
        """Return the counter with a name, creating it if needed.

        Raises:
            ValueError: a gauge has this name, the name is invalid, or there are too many metrics.
        """
        return self._get(Counter, name, description)

    def gauge(self, name: str, description: str = "") -> Gauge:
        """Return the gauge with a name, creating it if needed.

        Raises:
            ValueError: a counter has this name, the name is invalid, or there are too many metrics.
        """
        return self._get(Gauge, name, description)

    @property
    def dropped(self) -> Counter:
        """The counter of tuples or input rows that were left out because the operator could not use them.

        Raises ValueError if a gauge has this name, or there are too many metrics.
        """
        return self.counter("dropped", "tuples that could not be used and were left out")

    @property
    def errors(self) -> Counter:
        """The counter of errors that the operator handled itself; `streams status` points them out.

        Raises ValueError if a gauge has this name, or there are too many metrics.
        """
        return self.counter("errors", "errors that the operator has handled itself")

    def lag(self, tuples: int, seconds: float) -> None:
        """Set a source's lag for `streams status`.

        Args:
            tuples: the number of tuples that are available but not read.
            seconds: the age of the oldest of them.

        Raises:
            ValueError: a value is not a finite number, a counter has the name of one of the two gauges, or there are
                too many metrics.
        """
        self.gauge(LAG_TUPLES, "tuples that are available and not read yet").set(tuples)
        self.gauge(LAG_SECONDS, "seconds since the oldest unread tuple could be read").set(seconds)

    def lag_bytes(self, size: int, seconds: float) -> None:
        """Set the lag in bytes and seconds, for a source that only knows the size of its unread data.

        Raises:
            ValueError: a value is not a finite number, a counter has the name of one of the two gauges, or there are
                too many metrics.
        """
        self.gauge(LAG_BYTES, "bytes of the server's log that are not read yet").set(size)
        self.gauge(LAG_SECONDS, "seconds since the oldest unread data could be read").set(seconds)

    @property
    def values(self) -> dict[str, int | float]:
        """The value of each metric by name."""
        return {name: metric.value for name, metric in self._all.items()}

    def take(self) -> dict[str, dict[str, Any]]:
        """Return the changes since the last call, for the runtime.

        `counters` has increments, `gauges` has values, `about` has the descriptions of new metrics. Empty parts are
        left out.
        """
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
        new = {"counters": counters, "gauges": gauges, "about": {name: text for name, text in about.items() if text}}
        return {kind: metrics for kind, metrics in new.items() if metrics}

    def _get(self, kind: type[Metric], name: str, description: str) -> Metric:
        metric = self._all.get(name)
        if metric is None:
            if not _NAME.fullmatch(name):
                message = f"metric {name!r}: a name has letters, digits and _ . - and begins with a letter"
                raise ValueError(message)
            if len(self._all) >= METRICS_LIMIT:
                message = f"metric {name}: an operator has at most {METRICS_LIMIT} metrics; combine some metrics"
                raise ValueError(message)
            metric = self._all[name] = kind(description)
        if not isinstance(metric, kind):
            message = f"metric {name} is a {type(metric).__name__.lower()}, not a {kind.__name__.lower()}"
            raise ValueError(message)
        return metric
