"""The history of operators and PEs over the last quarter of an hour, as far as this process has observed it."""

from __future__ import annotations

from array import array
from collections import deque
from dataclasses import dataclass, field
from math import isnan, nan
from typing import Any

HISTORY_SECONDS = 900.0
"""Seconds for which the history goes back."""
STEP = 5.0
"""Least seconds between two points of the history."""
MAX_NUMBERS = 4_000_000
"""The most numbers that are kept for one application; a large application has more seconds between two points."""
SERIES = ("rate", "cores", "lag", "state")
"""The series of each name, in tuples a second, processors, seconds and bytes."""


@dataclass(slots=True)
class History:
    """The history of one deployed application; it is cleared when the application's operators or PEs change."""

    names: tuple[str, ...] = ()
    """The names of the operators, then `PE n` for each PE."""
    points: deque[tuple[float, array[float]]] = field(default_factory=deque[tuple[float, "array[float]"]])
    """(unix seconds, the values of all series, name by name); NaN for a value that was unknown."""

    def add(self, snapshot: dict[str, Any]) -> None:
        """Add a snapshot as a point, unless the last point is too recent; drop points older than `HISTORY_SECONDS`.

        If the operators or PEs have changed, all earlier points are dropped.
        """
        at = float(snapshot["at"])
        step = max(STEP, HISTORY_SECONDS * len(self.names) * len(SERIES) / MAX_NUMBERS)
        if self.points and at - self.points[-1][0] < step:
            return
        operators: dict[str, dict[str, Any]] = snapshot["operators"]
        pes = {f"PE {pe['id']}": {"rate": pe["rate"], "cores": pe["cores"]} for pe in snapshot["pes"]}
        names = (*operators, *pes)
        if names != self.names:
            self.names = names
            self.points.clear()
        values = [each.get(series) for each in (*operators.values(), *pes.values()) for series in SERIES]
        self.points.append((at, array("f", (nan if value is None else value for value in values))))
        while at - self.points[0][0] > HISTORY_SECONDS:
            self.points.popleft()

    def document(self, name: str) -> dict[str, Any]:
        """Return the series of an operator or `PE n` as a JSON document; unknown values are None.

        The series are empty for an unknown name.
        """
        if name not in self.names:
            return {"at": [], **{series: [] for series in SERIES}}
        first = self.names.index(name) * len(SERIES)
        series = {
            each: [None if isnan(values[first + number]) else values[first + number] for _, values in self.points]
            for number, each in enumerate(SERIES)
        }
        return {"at": [at for at, _ in self.points], **series}
