"""An operator in the channels of a parallel region, in memory: split as a splitter does, and divided anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from streams_orchestration.compiler.redeployment.feeds import Feed
from streams_orchestration.compiler.redeployment.outcome import RouteLevel, StateMove, StatePlace, StateRouting
from streams_orchestration.operators.contract.operator import Operator, Punctuation
from streams_orchestration.operators.states.state import dump_state, load_state
from streams_orchestration.operators.testing import OperatorHarness, Row
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.redeployment.rescaling import divide_states
from streams_orchestration.runtime.tasks.routing import hash_channels, round_robin_channels, split


class Channels:
    """Replicas of an operator, with a splitter in front of each of its input ports."""

    def __init__(
        self,
        kind: type[Operator],
        inputs: Sequence[str],
        output: str,
        parameters: Mapping[str, Any],
        by: Sequence[Sequence[str]],
        width: int,
    ) -> None:
        """Make empty channels.

        Args:
            kind: class of the operator.
            inputs: tuple types of its input ports.
            output: of its output port.
            parameters: as in a spec.
            by: per input port the attributes that are hashed; none for a round robin.
            width: how many.
        """
        self._made_of = (kind, inputs, output, parameters, by)
        self.by = by
        self.width = width
        self.replicas = [
            OperatorHarness(kind, inputs, [output], parameters=parameters, channel=i, max_channels=width)
            for i in range(width)
        ]
        self._before: list[Row] = []
        """The rows that the former channels have submitted."""
        self._position = 0

    def send(self, rows: Sequence[Row], port: int = 0) -> Self:
        """Let tuples come."""
        schema = self.replicas[0].context.inputs[port]
        columns = {name: [row[i] for row in rows] for i, name in enumerate(schema.names)}
        batch = TupleBatch.from_columns(columns, schema).arrow
        if self.by[port]:
            channels = hash_channels(batch, tuple(self.by[port]), self.width)
        else:
            channels = round_robin_channels(len(rows), self._position, self.width)
            self._position += len(rows)
        for replica, part in zip(self.replicas, split(batch, channels, self.width), strict=True):
            if part is not None:
                replica.send(TupleBatch(part), port)
        return self

    def mark(self, mark: Punctuation = Punctuation.WINDOW) -> Self:
        """Let a mark come to all channels."""
        for replica in self.replicas:
            replica.mark(mark)
        return self

    def end(self) -> Self:
        """Return the end of all streams."""
        for replica in self.replicas:
            replica.end()
        return self

    def rescaled(self, width: int) -> Channels:
        """Return the channels with another width, and their states divided, proved and stored."""
        rescaled = Channels(*self._made_of, width)
        rescaled._before = self.take()
        states = [load_state(data for _, data in replica.checkpoint()) for replica in self.replicas]
        move = StateMove(places(self.width), places(width), self.routing(), rescaled.routing())
        for replica, state in zip(
            rescaled.replicas, divide_states(rescaled.replicas[0].operator, move, states), strict=True
        ):
            replica.restart(((1, dump_state(state, 1).data),))
        return rescaled

    def routing(self) -> StateRouting:
        """Return the splitters in front of it."""
        feeds = [Feed("hash", tuple(names)) if names else Feed("roundRobin") for names in self.by]
        return StateRouting(tuple((RouteLevel(feed, self.width),) for feed in feeds), self.width)

    def take(self) -> list[Row]:
        """Return the tuples that were submitted since the last call, in whatever order."""
        rows = self._before + [row for replica in self.replicas for row in replica.rows()]
        self._before = []
        for replica in self.replicas:
            replica.sent.clear()
        return rows


def places(width: int) -> tuple[StatePlace, ...]:
    """Return the places of replicas."""
    return tuple(StatePlace(0, f"Op[{channel}]") for channel in range(width))
