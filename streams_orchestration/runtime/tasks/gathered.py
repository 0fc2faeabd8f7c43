"""The results of an operator that is called between the watermarks of one batch, gathered to one batch for each port.

Without this, every operator downstream would get as many small batches as there are watermarks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.libraries import np
from streams_orchestration.operators.watermarks import Watermarks


class Gathered:
    """The tuples and watermarks that an operator submits for one batch, by output port."""

    def __init__(self, send: Callable[[int, TupleBatch], None]) -> None:
        """Gather nothing yet.

        Args:
            send: sends the tuples of an output port with their watermarks.
        """
        self._parts: dict[int, list[TupleBatch]] = defaultdict(list)
        self._send = send

    def add(self, port: int, part: TupleBatch) -> None:
        """Add tuples, watermarks or both, after those that the port has."""
        parts = self._parts[port]
        if parts and parts[0].schema != part.schema:
            self._send(port, joined(self._parts.pop(port)))
            parts = self._parts[port]
        parts.append(part)

    def flush(self) -> None:
        """Send the gathered tuples of every port, as before a punctuation or after the last call."""
        gathered, self._parts = self._parts, defaultdict(list)
        for port, parts in gathered.items():
            self._send(port, joined(parts))


def joined(parts: list[TupleBatch]) -> TupleBatch:
    """Return the tuples of all parts, one part after another, with each watermark behind the same tuples as before."""
    if len(parts) == 1:
        return parts[0]
    places: list[np.ndarray] = []
    values: list[np.ndarray] = []
    done = 0
    for part in parts:
        if part.watermarks is not None:
            places.append(part.watermarks.places + done)
            values.append(part.watermarks.values)
        done += len(part)
    tuples = [part for part in parts if len(part)]
    batch = tuples[0] if len(tuples) == 1 else TupleBatch.concat(tuples, parts[0].schema)
    return batch.with_watermarks(Watermarks(np.concatenate(places), np.concatenate(values)) if places else None)
