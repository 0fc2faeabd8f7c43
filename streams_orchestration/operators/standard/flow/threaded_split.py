"""ThreadedSplit: distributes tuples over its output ports, each of which may feed a thread."""

from __future__ import annotations

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch


class ThreadedSplit(Operator):
    """Sends tuples to the output ports in turn.

    IBM Streams sends a tuple to any port with an idle thread, which a replay could not repeat.
    """

    keeps_places = True
    naming_parameters = NamingParameters()
    stateful = True
    indivisible = "is the next port of one channel"

    def setup(self) -> None:
        """Prepare the operator, whose first tuple goes to port 0."""
        self.next = 0

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit tuples to the ports in turn."""
        ports = len(self.context.outputs)
        turns = (self.next + np.arange(len(batch))) % ports
        for output in range(ports):
            self.submit(batch.filter(turns == output), output)
        self.next = (self.next + len(batch)) % ports

    def checkpoint(self) -> State:
        """Return the port that gets the next tuple."""
        return {"next": self.next}

    def restore(self, state: State) -> None:
        """Restore the port that gets the next tuple."""
        self.next = state["next"]
