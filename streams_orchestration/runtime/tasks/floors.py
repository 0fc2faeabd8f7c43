"""An operator after a redeploy with another number of channels, while its keys have different watermarks (EV46).

The new channels begin with the least watermark of the old channels. While the watermark of a key's old channel is
greater than the new channel's, it decides whether tuples with that key are late. So an operator has one object for each
watermark that old channels had, with the states of these channels, until the new watermark has passed all of them. Then
the states are joined in one object.

Another redeploy may come before that. Each pair of an old channel and a channel of the second plan is then an old
channel of the third plan. Its watermark is the greater one of the pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streams_orchestration.operators.contract.context import OperatorContext, Punctuation
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.contract.results import check_nothing
from streams_orchestration.operators.event_time.calling import call_between
from streams_orchestration.operators.implementations.implementation import make_operator
from streams_orchestration.operators.implementations.watermark_calls import reach_watermark
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import IDLE, Watermarks
from streams_orchestration.runtime.tasks.routing import nested_channels

FLOORS = "@floors"
"""Key in an operator's state for the watermarks of the old channels, and for the splitters of these channels."""


@dataclass(frozen=True, slots=True)
class Floors:
    """The watermarks of the old channels, and the splitters that sent each tuple into one of these channels."""

    watermarks: tuple[int, ...]
    """The different watermarks of old channels in ticks; `IDLE` for channels without a watermark."""
    groups: tuple[int, ...]
    """For each old channel, the position of its watermark in `watermarks`."""
    ports: tuple[tuple[tuple[int, tuple[str, ...]], ...], ...]
    """The splitters in front of each input port, outermost first: the number of channels, and the attributes."""

    def document(self) -> dict[str, Any]:
        """Return the floors as JSON."""
        return {"watermarks": self.watermarks, "groups": self.groups, "ports": self.ports}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Floors:
        """Return the floors from the JSON that `document` returned."""
        ports = tuple(tuple((width, tuple(attributes)) for width, attributes in levels) for levels in document["ports"])
        return cls(tuple(document["watermarks"]), tuple(document["groups"]), ports)

    def groups_of(self, tuples: pa.RecordBatch, port: int) -> np.ndarray:
        """Return the position of every tuple's old channel among the watermarks."""
        return np.array(self.groups, np.int64)[nested_channels(tuples, self.ports[port])]


class FlooredOperator(Operator):
    """An operator that has one object for each watermark of old channels.

    An object gets the tuples with keys of these channels, and the watermarks above theirs.
    """

    stateful = True

    def __init__(self, kind: type[Operator], context: OperatorContext, parameters: Any, floors: Floors) -> None:
        """Make one object for each watermark. Errors of the operator's own code are raised as they are.

        Raises:
            ResultError: the class lacks what every operator needs.
        """
        super().__init__(context, parameters)
        self._floors = floors
        self._reached = IDLE
        self._lowest = int(np.argmin(floors.watermarks))
        self._submitting = -1
        """The number of the object whose watermarks are passed on now; -1 if the watermarks of no object are."""
        self.parts = [
            make_operator(kind, self._context_of(number), parameters) for number in range(len(floors.watermarks))
        ]
        self.keeps_places = self.parts[0].keeps_places
        self.passes_marks = self.parts[0].passes_marks  # pyright: ignore[reportAttributeAccessIssue]
        self.pure = self.parts[0].pure

    @property
    def passed(self) -> bool:
        """True if the watermark has passed the watermarks of all old channels, so that one object suffices."""
        return self._reached >= max(self._floors.watermarks)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Give each tuple to the object of its old channel, and each watermark to the objects with a lower floor.

        The object with the lowest floor gets every watermark.
        """
        self._begin()
        call_between(batch, lambda tuples: self._divide(port, tuples), lambda steps: self._reach(port, steps))

    def on_watermark(self, watermark: int) -> None:
        """Advance every object whose old channels had a lower watermark to the given one."""
        self._begin()
        self._reached = watermark
        for part, floor in zip(self.parts, self._floors.watermarks, strict=True):
            if watermark > floor:
                reach_watermark(part, watermark)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Pass a punctuation to every object, of which there is one for each watermark of the old channels."""
        self._begin()
        for part in self.parts:
            check_nothing(part.on_punctuation(port, mark), "on_punctuation")

    def held(self) -> int | None:
        """Return the least event time in ticks of the tuples that the objects hold back; None if they hold none."""
        self._begin()
        held = [time for part in self.parts if (time := part.held()) is not None]
        return min(held, default=None)

    def drain(self) -> None:
        """Drain every object. Raises ResultError if the operator returns a value."""
        self._begin()
        for part in self.parts:
            check_nothing(part.drain(), "drain")

    def checkpoint(self) -> State:
        """Return the states of all objects and the floors; only the joined state if one object suffices."""
        states = [part.checkpoint() for part in self.parts]
        if self.passed:
            (state,) = self.parts[0].rescale(states, _OneChannel())
            return state
        return floored_state(states, self._floors)

    def restore(self, state: State) -> None:
        """Restore the states of all objects, and set the watermarks of their contexts."""
        for own, part, floor in zip(states_in(state), self.parts, self._floors.watermarks, strict=True):
            part.context.watermark = None if floor == IDLE else floor
            if own:
                part.restore(own)

    def code_modules(self) -> tuple[str, ...]:
        """Return the modules with the code of the operator whose objects these are."""
        return self.parts[0].code_modules()

    def _divide(self, port: int, tuples: TupleBatch) -> None:
        groups = self._floors.groups_of(tuples.arrow, port)
        for number, part in enumerate(self.parts):
            if (mine := groups == number).any():
                check_nothing(part.process(port, tuples.filter(pa.array(mine))), "process")

    def _reach(self, port: int, steps: Watermarks) -> None:
        """Advance the objects by one watermark after the other, and submit the watermarks of one object only.

        That is the object with the lowest floor: it gets every watermark, and submits what the operator itself would
        submit, which may be a lower one. It comes last, since no result of another object may follow the watermark.
        """
        schema = self.context.inputs[port]
        for step in steps.singly():
            value = int(step.values[0])
            self._reached = max(self._reached, value)
            for number, floor in enumerate(self._floors.watermarks):
                if number != self._lowest and value > floor:
                    check_nothing(self.parts[number].process(port, TupleBatch.bearing(step, schema)), "process")
            self._submitting = self._lowest
            check_nothing(self.parts[self._lowest].process(port, TupleBatch.bearing(step, schema)), "process")
            self._submitting = -1

    def _begin(self) -> None:
        """Copy epoch, batch, generation and time of the operator's context into the contexts of the objects."""
        own = self.context
        for part in self.parts:
            each = part.context
            each.epoch = own.epoch
            each.batch = own.batch
            each.generation = own.generation
            each.now = own.now

    def _context_of(self, number: int) -> OperatorContext:
        def submit(port: int, batch: TupleBatch) -> None:
            if number == self._submitting or not self.keeps_places:
                self.context.submit(port, batch)
            elif len(batch):
                self.context.submit(port, batch.without_watermarks())

        def punctuate(port: int, mark: Punctuation) -> None:
            self.context.punctuate(port, mark)

        return replace(self.context, submit=submit, punctuate=punctuate)


class _OneChannel:
    """The route of an operator with a single channel."""

    width = 1

    def attributes(self, port: int = 0) -> tuple[str, ...] | None:
        """Return no attributes, and never None, since every tuple goes to the same channel."""
        del port
        return ()

    def channels(self, tuples: pa.RecordBatch, port: int = 0) -> np.ndarray:
        """Return channel 0 for each tuple, since there is only one channel."""
        del port
        return nested_channels(tuples, ())


def floored_state(parts: Sequence[State], floors: Floors) -> dict[str, Any]:
    """Return the state of a `FlooredOperator`, made of the states of its objects and of the floors."""
    own = {f"{number}/{name}": part for number, state in enumerate(parts) for name, part in state.items()}
    return {FLOORS: floors.document(), **own}


def states_in(state: State) -> list[State]:
    """Return the states of the objects of a `FlooredOperator`, or the only state of another operator."""
    if FLOORS not in state:
        return [state]
    parts = [dict[str, Any]() for _ in state[FLOORS]["watermarks"]]
    for name, each in state.items():
        number, slash, own = name.partition("/")
        if slash and number.isdecimal():
            parts[int(number)][own] = each
    return [*parts]
