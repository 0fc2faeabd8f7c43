"""The watermark of an operator with event-time connections: their least watermark (EV19, EV20, EV51)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from streams_orchestration.operators.event_time.holder import Holder
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.tuples.watermarks import END, IDLE, Watermarks


class CombinedWatermark:
    """The newest watermark of each connection in ticks, and the least of them, the operator's, which never falls.

    >>> entries = CombinedWatermark(["Left:0", "Right:0"])
    >>> entries.enter("Left:0", Watermarks.of((2, 10), (5, 20)), 5)
    >>> entries.enter("Right:0", Watermarks.of((1, 12)), 3)
    Watermarks.of((1, 12))
    """

    def __init__(self, connections: Iterable[str], *, imports: bool = False) -> None:
        """Initialize for an operator that has received no watermark.

        Args:
            connections: the names of the operator's event-time connections.
            imports: True if Imports also bring watermarks. `connect` gives the names of their connections.
        """
        self._imports = imports
        self._declared = tuple(connections)
        self.values: dict[str, int | None] = dict.fromkeys(self._declared)
        """The watermark of each connection; None before its first one."""
        self.imported: Mapping[str, bool] | None = None
        """The connections of Imports that the last call of `connect` set; None before the first call."""
        self._idle: set[str] = set()
        self._rests = False
        """True if all connections are idle, and the watermark `IDLE` was already returned."""
        self._told = True
        """False if `IDLE` is to be returned again."""
        self.watermark: int | None = None
        """The watermark of the operator; None before the first one."""

    def __contains__(self, connection: str) -> bool:
        return connection in self.values

    def enter(self, connection: str, watermarks: Watermarks | None, tuples: int) -> Watermarks | None:
        """Enter a batch's watermarks; return the operator's changes at their positions; None without any.

        The value `IDLE` means that all connections are idle. A repetition of the last watermark ends this idleness.
        """
        if watermarks is not None and watermarks.rise and self.follows(connection, watermarks.values):
            return watermarks
        if connection in self._idle:
            return self._enter_idle(connection, watermarks or Watermarks.of(), tuples)
        if watermarks is None or not len(watermarks.values):
            return None
        if (watermarks.values == IDLE).any():
            return self._enter_idle(connection, watermarks, tuples)
        former, bound = self.values[connection], self._least(connection)
        values = np.maximum.accumulate(watermarks.values)
        if former is not None:
            values = np.maximum(values, former)
        self.values[connection] = int(values[-1])
        if bound is None:
            return None
        steps = np.minimum(values, bound)
        before = np.concatenate(([IDLE if self.watermark is None else self.watermark], steps[:-1]))
        risen = steps > np.maximum(before, before[0])
        if not risen.any():
            return None
        self.watermark = int(steps[-1])
        return Watermarks(watermarks.places[risen], steps[risen], rise=True)

    def follows(self, connection: str, values: np.ndarray) -> bool:
        """Advance to strictly ascending watermarks and return True if each becomes the operator's.

        That is so if this is the only connection, it is not idle, and they are above all earlier watermarks.
        """
        known = self.values
        if len(known) != 1 or self._idle or connection not in known:
            return False
        first, former, own = values.item(0), known[connection], self.watermark
        if (own is not None and own >= first) or (former is not None and former >= first):
            return False
        known[connection] = self.watermark = values.item(-1)
        return True

    def connect(self, imported: Mapping[str, bool]) -> Watermarks | None:
        """Set the connections of Imports that count from now on, in addition to the declared connections (EV48).

        A new connection begins with the operator's watermark (EV45). A removed connection no longer holds the watermark
        back. An operator without connections is idle, since it may get some later (EV52).

        Args:
            imported: maps each connection to True if its exporter has ended and all its tuples were read.

        Returns:
            The resulting changes of the operator's watermark; None without any.
        """
        self.imported = dict(imported)
        values = {name: self.values[name] for name in self._declared}
        for name, ended in imported.items():
            values[name] = END if ended else self.values.get(name, self.watermark)
        self.values = values
        self._idle = {name for name in self._idle if name in values and not imported.get(name, False)}
        if self.watermark == END:
            return None
        step = self._step()
        return None if step is None else Watermarks.of((0, step))

    def end(self) -> Watermarks | None:
        """End all connections, and return the operator's last watermark (EV25); None if it was already returned."""
        if self.watermark == END:
            return None
        self.values = dict.fromkeys(self.values, END)
        self._idle.clear()
        self.watermark = END
        return Watermarks.of((0, END))

    def tell_again(self) -> None:
        """Let `connect`, or the next idle connection, give `IDLE` again, if all connections are idle."""
        self._told = not self._rests

    @property
    def untold(self) -> bool:
        """True if all connections are idle, and `IDLE` is to be returned again."""
        return self._rests and not self._told

    @property
    def rests(self) -> bool:
        """True if all connections are idle (EV51)."""
        return self._rests

    @property
    def touched(self) -> bool:
        """True if any connection has had a watermark or has been idle."""
        return bool(self._idle) or any(value is not None for value in self.values.values())

    def holder(self) -> Holder:
        """Return the holder of the operator's watermark.

        While a connection is active, this is the active one with the least watermark; a connection without a watermark
        comes first. Otherwise, and at the end of all streams, the kind is `end`, `unconnected` or `idle`.
        """
        inputs, idle = len(self.values), len(self._idle)
        if self.watermark == END:
            return Holder("end", inputs=inputs, idle=idle)
        active = [name for name in self.values if name not in self._idle]
        if self._imports and not inputs:
            return Holder("unconnected")
        if not active:
            return Holder("idle", inputs=inputs, idle=idle)
        reached = self.values
        least = min(active, key=lambda name: IDLE if (value := reached[name]) is None else value)
        return Holder("connection", least, reached[least], inputs=inputs, idle=idle)

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON (EV43)."""
        state = {"watermark": self.watermark, "entries": dict(self.values), "idle": sorted(self._idle)}
        return state | ({"rests": self._rests} if self._imports else {})

    def load(self, state: dict[str, Any]) -> None:
        """Restore a state that `dump` returned.

        A connection that is missing in the state begins with the operator's watermark (EV45).

        The state also has connections of Imports. The next `connect` removes those that no longer exist.
        """
        self.watermark = state["watermark"]
        entries: dict[str, int | None] = state.get("entries", {})
        declared = {name: entries.get(name, self.watermark) for name in self._declared}
        self.values = declared | (entries if self._imports else {})
        self._idle = self.values.keys() & set(state.get("idle", ()))
        self._rests = state.get("rests", bool(self.values) and len(self._idle) == len(self.values))

    def _least(self, connection: str) -> int | None:
        """Return the least watermark, in ticks, of the other active connections.

        None if one of them has no watermark yet; `END` if there are no others.
        """
        others = [value for each, value in self.values.items() if each != connection and each not in self._idle]
        if None in others:
            return None
        return min((value for value in others if value is not None), default=END)

    def _enter_idle(self, connection: str, watermarks: Watermarks, tuples: int) -> Watermarks | None:
        """Process the watermarks of a connection one by one, as `enter` does.

        Needed if the connection is or becomes idle.
        """
        steps: list[tuple[int, int]] = []
        done = 0
        for place, value in (*watermarks, (tuples, None)):
            if place > done:
                if connection in self._idle:
                    self._idle.discard(connection)
                    if (step := self._step()) is not None:
                        steps.append((done + 1, step))
                done = place
            if value == IDLE:
                self._idle.add(connection)
            elif value is not None:
                self._idle.discard(connection)
                former = self.values[connection]
                self.values[connection] = value if former is None else max(former, value)
            if (step := self._step()) is not None:
                steps.append((place, step))
        return Watermarks.of(*steps) if steps else None

    def _step(self) -> int | None:
        """Advance the operator's watermark, and return the next one to send in ticks, or None if nothing changes.

        That is the operator's watermark if it rises, `IDLE` when all connections become idle or after `tell_again`, and
        a repeated watermark when the idleness ends.
        """
        active = [value for each, value in self.values.items() if each not in self._idle]
        rested, self._rests = self._rests, not active
        if self._rests:
            told, self._told = self._told, True
            return None if rested and told else IDLE
        if None not in active:
            least = min(value for value in active if value is not None)
            if self.watermark is None or least > self.watermark:
                self.watermark = least
                return least
        return self.watermark if rested else None
