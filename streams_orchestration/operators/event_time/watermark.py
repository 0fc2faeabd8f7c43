"""The watermark of one operator: what its connections bring, and what it sends on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.event_time.clock import Clock
from streams_orchestration.operators.event_time.entries import Entries
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.event_time.times import times_of
from streams_orchestration.operators.watermarks import END, Watermarks


class OperatorWatermark:
    """The watermark of an operator in an event-time graph, kept from batch to batch."""

    def __init__(self, role: EventTimeRole, connections: Iterable[str]) -> None:
        """Begin without a watermark.

        Args:
            role: the role of the operator.
            connections: the names of its event-time connections.
        """
        self.role = role
        self.entries = Entries(connections)
        self.clock = Clock(role.lag, role.minimum_gap) if role.mode == "outputEventTime" else None

    @property
    def value(self) -> int | None:
        """The watermark in ticks; None before the first one."""
        return self.entries.watermark if self.clock is None else self.clock.emitted

    def entered(self, batch: TupleBatch, connection: str) -> TupleBatch:
        """Return a batch that arrives, with the steps of the operator's watermark in place of its own watermarks.

        Args:
            batch: the batch.
            connection: the name of the connection on which it comes; it need not be an event-time connection.
        """
        known = connection in self.entries
        steps = self.entries.enter(connection, batch.watermarks, len(batch)) if known else None
        return batch if steps is batch.watermarks else batch.with_watermarks(steps)

    def submitted(self, port: int, batch: TupleBatch) -> TupleBatch:
        """Return a batch that the operator submits, with the watermarks that its port takes.

        Raises:
            DataError: the time of a tuple is null, and the operator makes watermarks of times.
        """
        if port not in self.role.outputs:
            return batch.bare()
        if self.clock is None:
            return batch
        steps = self.clock.advance(times_of(batch.arrow, self.role))
        return batch if steps is batch.watermarks else batch.with_watermarks(steps)

    def end(self) -> Watermarks | None:
        """Return the watermark at the end of the operator's streams (EV25); None if it was returned before."""
        return self.entries.end() if self.clock is None else self.clock.end()

    @property
    def ended(self) -> bool:
        """True after the greatest watermark."""
        return self.value == END

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON (EV43)."""
        return self.entries.dump() if self.clock is None else self.clock.dump()

    def load(self, state: dict[str, Any]) -> None:
        """Restore a state that `dump` returned."""
        if self.clock is None:
            self.entries.load(state)
        else:
            self.clock.load(state)
