"""The results of an operator that is called between the watermarks of one batch, gathered to one batch for each port.

Without this, every operator downstream would get as many small batches as there are watermarks.
"""

from __future__ import annotations

from collections.abc import Callable

from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import Watermarks


class CollectedOutputs:
    """The tuples and watermarks that an operator submits for one batch, by output port.

    `send` sends the tuples of an output port with their watermarks.
    """

    def __init__(self, send: Callable[[int, TupleBatch], None]) -> None:
        self._ports: dict[int, _Port] = {}
        self._send = send

    def add(self, port: int, part: TupleBatch) -> None:
        """Add tuples, watermarks or both after the gathered ones of a port; first send these if the schema differs."""
        known = self._ports.get(port)
        if known is not None and known.schema != part.schema:
            self._send(port, self._ports.pop(port).joined())
            known = None
        if known is None:
            known = self._ports[port] = _Port(part.schema)
        if part.watermarks is not None:
            known.mark(part.watermarks)
        if len(part):
            known.parts.append(part)
            known.count += len(part)

    def mark(self, port: int, steps: Watermarks, schema: pa.Schema) -> None:
        """Add watermarks after the tuples that the port has; `schema` is the schema for a port without tuples."""
        known = self._ports.get(port)
        if known is None:
            known = self._ports[port] = _Port(schema)
        known.mark(steps)

    def flush(self) -> None:
        """Send the gathered tuples and watermarks of every port, as before a punctuation, and begin with none again."""
        gathered, self._ports = self._ports, {}
        for port, known in gathered.items():
            self._send(port, known.joined())


class _Port:
    """The tuples and watermarks of one output port."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.parts: list[TupleBatch] = []
        self.count = 0
        """The number of tuples in all parts."""
        self._places: list[np.ndarray] = []
        self._values: list[np.ndarray] = []

    def mark(self, steps: Watermarks) -> None:
        """Add watermarks, whose positions count from the last tuple on."""
        self._places.append(steps.places + self.count)
        self._values.append(steps.values)

    def joined(self) -> TupleBatch:
        """Return all tuples, each watermark behind the same tuples as in its part."""
        marks = Watermarks(np.concatenate(self._places), np.concatenate(self._values)) if self._places else None
        if len(self.parts) == 1:
            return self.parts[0].with_watermarks(marks)
        return TupleBatch.concat(self.parts, self.schema).with_watermarks(marks)
