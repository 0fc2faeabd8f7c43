"""The watermark of one operator: what its connections bring, and what it sends on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.event_time.clock import Clock
from streams_orchestration.operators.event_time.entries import Entries
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.event_time.times import times_of
from streams_orchestration.operators.watermarks import END, IDLE, Watermarks


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
        self._sent: int | None = None
        """The watermark sent last in the modes `heldInput` and `manual`."""
        self._reached: int | None = None
        """The input watermark in front of the tuples that the operator has processed."""

    @property
    def value(self) -> int | None:
        """The watermark in ticks; None before the first one."""
        match self.role.mode:
            case "outputEventTime":
                return None if self.clock is None else self.clock.emitted
            case "inputWatermark":
                return self.entries.watermark
            case _:
                return self._sent

    @property
    def seen(self) -> int | None:
        """The watermark that the operator sees: that of its connections, or the one that it makes of times."""
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

    def passed(self, steps: Watermarks | None, held: int | None) -> Watermarks | None:
        """Return the watermarks that the operator sends when it has processed what is in front of these steps.

        Args:
            steps: steps of its input watermark without tuples; None without any.
            held: the least time of a tuple that it keeps (EV62); None without any.
        """
        if self.role.mode == "inputWatermark":
            return steps
        if self.role.mode != "heldInput":
            return None
        idle = steps is not None and steps.values[-1] == IDLE
        if steps is not None and (values := steps.values[steps.values != IDLE]).size:
            self._reached = int(values[-1])
        due = self._reached if held is None or self._reached is None else min(self._reached, held)
        values = [] if due is None or (self._sent is not None and due <= self._sent) else [(0, due)]
        self._sent = due if values else self._sent
        values += [(0, IDLE)] if idle and held is None else []
        return Watermarks.of(*values) if values else None

    def set(self, watermark: int) -> Watermarks | None:
        """Return the watermark that an operator in the mode `manual` sends by setting one, or None (EV23).

        `IDLE` says that it is idle until its next tuple (EV51).
        """
        if watermark == IDLE:
            return None if self._sent == END else Watermarks.of((0, IDLE))
        least = IDLE if self._sent is None else min(self._sent + max(self.role.minimum_gap, 1), END)
        if self._sent == END or watermark < least:
            return None
        self._sent = watermark
        return Watermarks.of((0, watermark))

    def end(self) -> Watermarks | None:
        """Return the watermark at the end of the operator's streams (EV25); None if it was returned before.

        In the mode `manual`, it is that of the connections; the one that is sent on has to be set.
        """
        return self.entries.end() if self.clock is None else self.clock.end()

    def microseconds(self) -> dict[str, int]:
        """Return the watermarks of the connections in microseconds; `IDLE` for one without, and `END` as it is."""
        factor = 1_000_000 // self.role.ticks
        reached = {name: IDLE if value is None else value for name, value in self.entries.values.items()}
        return {name: value if value in (IDLE, END) else value * factor for name, value in reached.items()}

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON (EV43)."""
        return self.entries.dump() | {"sent": self._sent} if self.clock is None else self.clock.dump()

    def load(self, state: dict[str, Any]) -> None:
        """Restore a state that `dump` returned."""
        if self.clock is None:
            self.entries.load(state)
            self._reached, self._sent = state["watermark"], state.get("sent")
        else:
            self.clock.load(state)
