"""An operator with timers: a key is silent when none of its tuples has come for a while of event time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.states.rescaling import StateKeys
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.timers import DueTimers, Timers
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END
from streams_orchestration_tests.runtime.event_times import Timed

AFTER = 6_000
"""The ticks after which a key is silent."""


class Alarms(Operator):
    """Submits key and time of each timer, which every tuple of the key sets anew."""

    stateful = True
    state_keys: ClassVar[StateKeys] = {"timers": "k"}

    def setup(self) -> None:
        self.timers = Timers("k string")

    def process(self, port: int, batch: TupleBatch) -> None:
        assert self.event_time is not None
        self.timers.set_many(batch, self.event_time.times(batch) + AFTER)

    def on_timers(self, due: DueTimers) -> None:
        columns = {"at": due.times, "k": due.keys.arrow.column("k"), "n": [0] * len(due)}
        self.submit(TupleBatch.from_columns(columns, self.context.output_schema()))

    def checkpoint(self) -> State:
        return {"timers": self.timers}

    def restore(self, state: State) -> None:
        self.timers = state["timers"]


def heard(values: dict[str, Any], timers: Any) -> None:
    """Set the timer of a key, for `onTuple` of a Custom."""
    timers[values["k"]] = values["at"] + AFTER


def silent(key: str, time: int) -> dict[str, Any]:
    """Return the tuple of a timer that fires, for `onTimer` of a Custom."""
    return {"at": time, "k": key, "n": 0}


ALARMS = {
    "Alarms": {
        "implementation": f"{__name__}:Alarms",
        "inputs": [{}],
        "outputs": [{"mutable": True}],
        "stateful": True,
    }
}
FUNCTIONS = {"onTuple": f"{__name__}:heard", "onTimer": f"{__name__}:silent"}


def silences(tuples: Iterable[Timed], lag: int) -> list[tuple[int, str, int]]:
    """Return the timers that fire, by the rules of EV17, EV18 with a gap of 0, and EV60."""
    timers: dict[str, tuple[int, int]] = {}
    fired: list[tuple[int, str, int]] = []
    watermark: int | None = None

    def reach(step: int) -> None:
        for (time, _), key in sorted((timer, key) for key, timer in timers.items() if timer[0] <= step):
            fired.append((time, key, 0))
            del timers[key]

    for number, (at, key, _) in enumerate(tuples):
        timers[key] = at + AFTER, number
        if watermark is None or at - lag > watermark:
            watermark = at - lag
            reach(watermark)
    reach(END)
    return fired
