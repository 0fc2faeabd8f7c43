"""ThreadedSplit: spreads tuples over its output ports, behind which threads of their own work."""

from __future__ import annotations

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator
from streams_orchestration.operators.libraries import np
from streams_orchestration.operators.mentions import Mentions
from streams_orchestration.operators.standard.refused import REFUSED
from streams_orchestration.operators.states.rescaling import Sharding
from streams_orchestration.operators.states.state import State


class ThreadedSplit(Operator):
    """Sends tuples to the output ports in turn.

    Streams sends a tuple to any port with an idle thread, which no replay could repeat.
    """

    unsupported = REFUSED["ThreadedSplit"]
    stateful = True

    @classmethod
    def sharding(cls, context: object, parameters: object) -> Sharding:
        """Return that the state can be divided anyhow: it is the next port of each channel, and any will do."""
        return Sharding(refusal="is the port that is next in one channel")

    @classmethod
    def mentions(cls, parameters: object) -> Mentions:
        """Return no attributes, since the parameters name none."""
        return Mentions()

    def reset_to_initial_state(self) -> None:
        """Begin with port 0."""
        self.next = 0

    def setup(self) -> None:
        """Begin with port 0."""
        self.reset_to_initial_state()

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit tuples to the ports in turn."""
        ports = len(self.context.outputs)
        turns = (self.next + np.arange(len(batch))) % ports
        for output in range(ports):
            self.submit(batch.filter(turns == output), output)
        self.next = (self.next + len(batch)) % ports

    def checkpoint(self) -> State:
        """Return the port that is next."""
        return {"next": self.next}

    def restore(self, state: State) -> None:
        """Take it back."""
        self.next = state["next"]
