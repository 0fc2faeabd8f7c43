"""An operator whose keys come from channels with different watermarks, after a redeploy with other channels (EV46).

The least of their watermarks is that of the new channels. A key has to be judged by the watermark of its old channel as
long as that is greater. So there is one operator object for each old channel, with its state and its watermark, until
the new watermark has passed all of them. Then their states become one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.context import OperatorContext, Punctuation
from streams_orchestration.operators.contract import Operator
from streams_orchestration.operators.event_time.calling import call_between
from streams_orchestration.operators.implementation import make_operator
from streams_orchestration.operators.reaching import reach_watermark
from streams_orchestration.operators.results import check_nothing
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.watermarks import IDLE, Watermarks
from streams_orchestration.runtime.tasks.routing import nested_channels

FLOORS = "@floors"
"""Key in an operator's state for the watermarks of the old channels, with the splitters in front of them."""


@dataclass(frozen=True, slots=True)
class Floors:
    """The watermarks of old channels, and the splitters that chose among these."""

    watermarks: tuple[int, ...]
    """The watermark of each old channel in ticks; `IDLE` for a channel without one."""
    ports: tuple[tuple[tuple[int, tuple[str, ...]], ...], ...]
    """For each input port the splitters from the outermost one: the number of channels, and the attributes."""

    def document(self) -> dict[str, Any]:
        """Return the floors as JSON."""
        return {"watermarks": self.watermarks, "ports": self.ports}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Floors:
        """Return the floors that `document` has made JSON of."""
        ports = tuple(tuple((width, tuple(attributes)) for width, attributes in levels) for levels in document["ports"])
        return cls(tuple(document["watermarks"]), ports)

    def channels(self, tuples: pa.RecordBatch, port: int) -> np.ndarray:
        """Return the old channel of each tuple."""
        return nested_channels(tuples, self.ports[port])


class FlooredOperator(Operator):
    """One operator object for each old channel, which gets the tuples of its keys, and watermarks from its own on."""

    stateful = True

    def __init__(self, kind: type[Operator], context: OperatorContext, parameters: Any, floors: Floors) -> None:
        """Make the objects of the old channels.

        Args:
            kind: the class of the operator.
            context: the operator's context.
            parameters: its parameters.
            floors: the watermarks of the old channels.
        """
        super().__init__(context, parameters)
        self._floors = floors
        self._reached = IDLE
        self._lowest = int(np.argmin(floors.watermarks))
        self._places = -1
        """The object whose watermarks are submitted; -1 while none are."""
        self.parts = [
            make_operator(kind, self._context_of(number), parameters) for number in range(len(floors.watermarks))
        ]
        self.places_watermarks = self.parts[0].places_watermarks
        self.passes_marks = self.parts[0].passes_marks  # pyright: ignore[reportAttributeAccessIssue]
        self.pure = self.parts[0].pure

    @property
    def passed(self) -> bool:
        """True if the watermark has passed those of all old channels, so that one object suffices."""
        return self._reached >= max(self._floors.watermarks)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Handle tuples, perhaps with watermarks among them, by the objects of the channels that they come from."""
        self._begin()
        call_between(batch, lambda tuples: self._divide(port, tuples), lambda steps: self._reach(port, steps))

    def on_watermark(self, watermark: int) -> None:
        """Let the objects whose watermark is lower reach a watermark."""
        self._begin()
        self._reached = watermark
        for part, floor in zip(self.parts, self._floors.watermarks, strict=True):
            if watermark > floor:
                reach_watermark(part, watermark)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Let all objects handle a mark."""
        self._begin()
        for part in self.parts:
            check_nothing(part.on_punctuation(port, mark), "on_punctuation")

    def held_time(self) -> int | None:
        """Return the least time that an object keeps."""
        self._begin()
        held = [time for part in self.parts if (time := part.held_time()) is not None]
        return min(held, default=None)

    def drain(self) -> None:
        """Drain all objects."""
        self._begin()
        for part in self.parts:
            check_nothing(part.drain(), "drain")

    def checkpoint(self) -> State:
        """Return the states of all objects; as soon as one suffices, its state."""
        states = [part.checkpoint() for part in self.parts]
        if self.passed:
            (state,) = self.parts[0].rescale(states, _OneChannel())
            return state
        return floored_state(states, self._floors)

    def restore(self, state: State) -> None:
        """Restore the states of all objects."""
        for number, (part, floor) in enumerate(zip(self.parts, self._floors.watermarks, strict=True)):
            prefix = f"{number}/"
            own = {name.removeprefix(prefix): each for name, each in state.items() if name.startswith(prefix)}
            part.context.watermark = None if floor == IDLE else floor
            if own:
                part.restore(own)

    def code_modules(self) -> tuple[str, ...]:
        """Return the modules of the operator's code."""
        return self.parts[0].code_modules()

    def _divide(self, port: int, tuples: TupleBatch) -> None:
        channels = self._floors.channels(tuples.arrow, port)
        for number, part in enumerate(self.parts):
            if (mine := channels == number).any():
                check_nothing(part.process(port, tuples.filter(pa.array(mine))), "process")

    def _reach(self, port: int, steps: Watermarks) -> None:
        """Let the objects reach steps one by one. Watermarks of the object with the lowest floor are sent on.

        It gets all steps, and gives them as the operator does: less by a wait, say. Its results come last.
        """
        schema = self.context.inputs[port]
        for step in steps.singly():
            value = int(step.values[0])
            self._reached = max(self._reached, value)
            for number, floor in enumerate(self._floors.watermarks):
                if number != self._lowest and value > floor:
                    check_nothing(self.parts[number].process(port, TupleBatch.bearing(step, schema)), "process")
            self._places = self._lowest
            check_nothing(self.parts[self._lowest].process(port, TupleBatch.bearing(step, schema)), "process")
            self._places = -1

    def _begin(self) -> None:
        """Take over into the contexts of the objects what the operator's context says of the present batch."""
        own = self.context
        for part in self.parts:
            each = part.context
            each.epoch, each.batch, each.generation, each.now = own.epoch, own.batch, own.generation, own.now

    def _context_of(self, number: int) -> OperatorContext:
        def submit(port: int, batch: TupleBatch) -> None:
            if number == self._places or not self.places_watermarks:
                self.context.submit(port, batch)
            elif len(batch):
                self.context.submit(port, batch.bare())

        def punctuate(port: int, mark: Punctuation) -> None:
            self.context.punctuate(port, mark)

        return replace(self.context, submit=submit, punctuate=punctuate)


class _OneChannel:
    """A route to the only channel."""

    width = 1

    def attributes(self, port: int = 0) -> tuple[str, ...] | None:
        """Return no attributes, since none is needed."""
        del port
        return ()

    def channels(self, tuples: pa.RecordBatch, port: int = 0) -> np.ndarray:
        """Return the first channel for each tuple."""
        del port
        return nested_channels(tuples, ())


def floored_state(parts: Sequence[State], floors: Floors) -> dict[str, Any]:
    """Return the state of a `FlooredOperator` with these states of its objects."""
    own = {f"{number}/{name}": part for number, state in enumerate(parts) for name, part in state.items()}
    return {FLOORS: floors.document(), **own}
