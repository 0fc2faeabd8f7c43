"""Pair: submits matching tuples of several streams one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from streams_orchestration.operators.contract.operator import OperatorContext, Punctuation
from streams_orchestration.operators.expressions.assignments import assignments_of_ports
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.inputs.key_columns import KeyColumns
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.joining.matching import MatchingOperator, MatchingParameters
from streams_orchestration.operators.tuples.batch import TupleBatch


class Pair(MatchingOperator):
    """Submits matching tuples in port order, then a marker, once every input port has delivered one.

    Tuples without a partner at the end of the streams are dropped, as in IBM Streams.
    """

    Parameters = MatchingParameters
    naming_parameters = NamingParameters(inputs=("common",))

    @classmethod
    def check(cls, context: OperatorContext, parameters: MatchingParameters) -> None:
        """Raise ValueError if the streams do not fit each other or the output, or a key is faulty."""
        columns = KeyColumns(context)
        parameters.keyed(columns).keys_of(columns.inputs)
        assignments_of_ports(context.inputs, context.outputs[0], context.zone)

    def compile_outputs(self) -> None:
        """Compile the assignments that convert the tuples of each port to the output stream; see `check` for errors."""
        context = self.context
        self.assignments = assignments_of_ports(context.inputs, context.outputs[0], context.zone)

    def submit_matched(self, port: int, matched: Sequence[pa.RecordBatch]) -> None:
        """Submit the tuples of each match in port order, followed by a marker."""
        count, ports = matched[0].num_rows, len(matched)
        tuples = [each.apply(part).arrow for each, part in zip(self.assignments, matched, strict=True)]
        alternating = np.arange(count * ports).reshape(ports, count).T.ravel()
        together = pa.concat_batches(tuples).take(pa.array(alternating))
        for first in range(0, count * ports, ports):
            self.submit(TupleBatch(together.slice(first, ports)))
            self.punctuate(Punctuation.WINDOW)
