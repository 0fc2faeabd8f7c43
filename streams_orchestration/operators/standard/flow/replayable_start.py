"""ReplayableStart: lets tuples from outside of a consistent region begin that region."""

from __future__ import annotations

from streams_orchestration.operators.contract.operator import Operator, Punctuation
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.tuples.batch import TupleBatch


class ReplayableStart(Operator):
    """Passes tuples on, and starts a consistent region with the tuples of a source that cannot start it.

    Its input stream is autonomous, and stored like every stream between PEs, so a reset of the region reads it again.
    In a region with `trigger: operatorDriven`, an epoch ends after each window marker.

    In IBM Streams, the operator has three buffers on different hosts, and loses tuples if the operator before them
    fails. Here no tuple is lost.
    """

    keeps_places = True
    naming_parameters = NamingParameters()

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit the batch."""
        self.submit(batch)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """End the epoch after a window marker if the operator drives its region."""
        region = self.context.region
        if mark is Punctuation.WINDOW and region is not None and region.trigger:
            self.context.make_consistent()
