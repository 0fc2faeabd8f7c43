"""Pair: tuples of several streams that belong together, one behind the other."""

from __future__ import annotations

from streams_orchestration.operators.assignments import Assignments
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Punctuation
from streams_orchestration.operators.libraries import np, pa
from streams_orchestration.operators.matching import Matching, MatchingParameters
from streams_orchestration.operators.mentions import Mentions
from streams_orchestration.operators.rescaling import Sharding
from streams_orchestration.operators.standard.refused import REFUSED
from streams_orchestration.operators.state import State


class Pair(Operator):
    """When a tuple has come to every input port, all of them are submitted in the order of the ports, then a marker.

    Tuples without a partner at the end of the streams are dropped, as in Streams.
    """

    Parameters = MatchingParameters
    unsupported = REFUSED["Pair"]
    stateful = True

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: MatchingParameters) -> Sharding:
        """What waits in a channel stays there."""
        return Sharding(refusal="is tuples that wait for those of other ports in one channel")

    @classmethod
    def mentions(cls, parameters: MatchingParameters) -> Mentions:
        """Those that tuples are matched by."""
        return Mentions(inputs=parameters.mentioned())

    @classmethod
    def check(cls, context: OperatorContext, parameters: MatchingParameters) -> None:
        """Raises ValueError when the streams do not fit each other, or the output."""
        parameters.keys_of(context.inputs)
        cls._assignments(context)

    @staticmethod
    def _assignments(context: OperatorContext) -> list[Assignments]:
        target = context.outputs[0] or context.inputs[0]
        assignments: list[Assignments] = []
        for port, source in enumerate(context.inputs):
            try:
                assignments.append(Assignments({}, source, target))
            except ValueError as error:
                message = f"input port {port}: {error}"
                raise ValueError(message) from error
        return assignments

    def setup(self) -> None:
        """Nothing waits."""
        self.assignments = self._assignments(self.context)
        self.matching = Matching(self.context.inputs, self.parameters.keys_of(self.context.inputs))

    def reset_to_initial_state(self) -> None:
        """Nothing waits."""
        self.matching.clear()

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit what is complete now."""
        matched = self.matching.arrive(port, batch.arrow)
        count, ports = matched[0].num_rows, len(matched)
        if not count:
            return
        tuples = [each.apply(part).arrow for each, part in zip(self.assignments, matched, strict=True)]
        alternating = np.arange(count * ports).reshape(ports, count).T.ravel()
        together = pa.concat_batches(tuples).take(pa.array(alternating))
        for first in range(0, count * ports, ports):
            self.submit(TupleBatch(together.slice(first, ports)))
            self.punctuate(Punctuation.WINDOW)

    def checkpoint(self) -> State:
        """What waits."""
        return self.matching.dump()

    def restore(self, state: State) -> None:
        """Take it back."""
        self.matching.load(state)
