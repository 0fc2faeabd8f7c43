"""The timers of a Custom: by name and key, with times of the event-time attribute's type."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from streams_orchestration.operators.contract.results import described
from streams_orchestration.operators.errors.errors import ResultError
from streams_orchestration.operators.event_time.access import EventTime
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.states.timers import Timers

_PLAIN = (str, int, float, type(None))


class NamedTimers:
    """The timers of one name: `timers[key] = time` sets a timer, `del timers[key]` deletes it."""

    def __init__(self, all_: CustomTimers, name: str) -> None:
        self._all = all_
        self._name = name

    def __setitem__(self, key: Any, time: Any) -> None:
        self._all.put((self._name, _encoded(key)), self._all.event_time.to_ticks(time))

    def __delitem__(self, key: Any) -> None:
        self._all.put((self._name, _encoded(key)), None)

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None

    def get(self, key: Any) -> Any:
        """Return the time of a key's timer; None if it has none.

        Raises:
            ResultError: the key is neither a text, number, boolean or None, nor a tuple of these.
        """
        time = self._all.look_up((self._name, _encoded(key)))
        return None if time is None else self._all.event_time.to_value(time)


class CustomTimers(NamedTimers):
    """The timers without a name. `timers["name"]` gives the timers of a name."""

    def __init__(self, event_time: EventTime) -> None:
        super().__init__(self, "")
        self.event_time = event_time
        self._stored = Timers("name string, key string")
        self._pending: dict[tuple[str, str], int | None] = {}
        """The changes since the last flush, in order: each timer with its time, or with None if it was deleted."""
        self._soonest: int | None = None
        """The least time that was set since the last flush of the pending changes; None if none was."""

    def __len__(self) -> int:
        self._flush()
        return len(self._stored)

    def __getitem__(self, name: str) -> NamedTimers:
        if isinstance(name, str):
            return NamedTimers(self, name)
        message = f"timers[{name!r:.60}]: the index must be a text, the name of timers; timers.get(key) returns a time"
        raise ResultError(message)

    def put(self, timer: tuple[str, str], time: int | None) -> None:
        """Set a timer to a time in ticks, or delete it if the time is None."""
        self._pending.pop(timer, None)
        self._pending[timer] = time
        if time is not None and (self._soonest is None or time < self._soonest):
            self._soonest = time

    def look_up(self, timer: tuple[str, str]) -> int | None:
        """Return the time of a timer in ticks; None if there is none."""
        return self._pending[timer] if timer in self._pending else self._stored.get(timer)

    def expire(self, watermark: int) -> Iterator[tuple[str, Any, Any]]:
        """Remove the timers that a watermark in ticks reaches one by one, and yield their name, key and time.

        The caller may set and delete timers during the iteration, with effect at once.
        """
        self._flush()
        for timer, time in self._stored.expire(watermark):
            if timer in self._pending:  # an earlier timer of this step has set or deleted it
                continue
            yield timer[0], _decoded(timer[1]), self.event_time.to_value(time)
            if self._soonest is not None and self._soonest <= watermark:
                self._flush()

    def checkpoint(self) -> Timers:
        """Return the timers as a part of the state."""
        self._flush()
        return self._stored

    def restore(self, stored: Timers) -> None:
        """Restore the timers of a state."""
        self._stored = stored
        self._pending, self._soonest = {}, None

    def _flush(self) -> None:
        pending, self._pending, self._soonest = self._pending, {}, None
        gone = [timer for timer, time in pending.items() if time is None]
        if gone:
            self._stored.delete_many(_columns(gone))
        times = {timer: time for timer, time in pending.items() if time is not None}
        if times:
            self._stored.set_many(_columns(list(times)), list(times.values()))


def _columns(timers: list[tuple[str, str]]) -> dict[str, list[str]]:
    return {"name": [name for name, _ in timers], "key": [key for _, key in timers]}


def _encoded(key: Any) -> str:
    """Return a key as JSON."""
    parts = [part.item() if isinstance(part, np.generic) else part for part in (key if type(key) is tuple else (key,))]
    if not all(isinstance(part, _PLAIN) for part in parts):
        message = f"a timer's key is a text, number, boolean or None, or a tuple of these, not {described(key)}"
        raise ResultError(message)
    return json.dumps(parts if type(key) is tuple else parts[0])


def _decoded(key: str) -> Any:
    value = json.loads(key)
    return tuple(value) if isinstance(value, list) else value
