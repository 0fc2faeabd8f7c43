"""Union: combines several streams into one."""

from __future__ import annotations

from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.expressions.assignments import Assignments, assignments_of_ports
from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.batch import TupleBatch


class Union(Operator):
    """Forwards the tuples of all ports in order of arrival, with the attributes of the output stream."""

    keeps_places = True
    naming_parameters = NamingParameters()

    @classmethod
    def check(cls, context: OperatorContext, parameters: object) -> None:
        """Raise ValueError if a stream lacks an attribute of the output stream, or has it with another type."""
        cls._compile(context)

    @staticmethod
    def _compile(context: OperatorContext) -> list[Assignments]:
        target: pa.Schema = context.outputs[0] or context.inputs[0]
        for port, source in enumerate(context.inputs):
            missing = next((name for name in target.names if name not in source.names), None)
            if missing is not None:
                message = f"input port {port}: the stream lacks the attribute {missing} of the output stream"
                raise ValueError(message)
        return assignments_of_ports(context.inputs, target, context.zone)

    def setup(self) -> None:
        """Compile the assignments of the output attributes for each port."""
        self.ports = self._compile(self.context)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit the tuples with the output stream's attributes."""
        self.submit(self.ports[port].of(Evaluated(batch)))
