"""Barrier: combines matching tuples of several streams into one tuple."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.faults import reported
from streams_orchestration.operators.expressions.assignments import Assignments
from streams_orchestration.operators.expressions.mentioned_attributes import Mentions
from streams_orchestration.operators.expressions.spl.text import ExpressionText
from streams_orchestration.operators.expressions.spl.types import columns_of_ports, over_ports, variable_columns
from streams_orchestration.operators.inputs.failed_tuples import ExpressionParameters, FailureFilter, check_failure_port
from streams_orchestration.operators.inputs.key_columns import KeyColumns
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.joining.matching import MatchingOperator, MatchingParameters
from streams_orchestration.operators.tuples.batch import TupleBatch


class BarrierParameters(MatchingParameters, ExpressionParameters):
    """The parameters of `Barrier`."""

    output: dict[str, ExpressionText] = Field(
        default_factory=dict,
        description=(
            "Maps an attribute to an expression. An attribute of several ports is named in0_name, in1_name and so on."
        ),
    )


class Barrier(MatchingOperator):
    """Submits one combined tuple once every input port has delivered a matching tuple.

    Tuples without a partner at the end of the streams are dropped, as in Streams.
    """

    Parameters = BarrierParameters
    free_parameters = frozenset(("output", "on_error"))

    @classmethod
    def mentions(cls, parameters: BarrierParameters) -> Mentions | None:
        """Return the attributes that the parameters name; None with output expressions, which only `check` can type."""
        return None if parameters.output else Mentions(inputs=parameters.common)

    @classmethod
    def check(cls, context: OperatorContext, parameters: BarrierParameters) -> None:
        """Raise ValueError if the keys do not fit the streams or each other, or an expression or port does not fit."""
        columns = KeyColumns(context)
        parameters = parameters.keyed(columns)
        with reported():
            parameters.keys_of(columns.inputs)
        cls._compile(columns.context, parameters)

    @staticmethod
    def _compile(context: OperatorContext, parameters: BarrierParameters) -> tuple[pa.Schema, Assignments]:
        """Return the combined schema of all ports and of the variables of the logic, and the output assignments.

        An attribute that several ports have is renamed to `in<port>_<name>`.
        """
        target = context.output_schema()
        ports = Counter(name for schema in context.inputs for name in schema.names)
        together = pa.schema(
            [
                field if ports[field.name] == 1 else field.with_name(f"in{port}_{field.name}")
                for port, schema in enumerate(context.inputs)
                for field in schema
            ]
        )
        variables = variable_columns(parameters)
        together = pa.schema([*together, *map(context.inputs[0].field, variables)])
        check_failure_port(context, parameters, together)
        columns = columns_of_ports(context.ports, context.inputs, together.names, variables)
        output = over_ports(parameters.output, columns)
        return together, Assignments(output, together, target, context.zone, context.required_at())

    def compile_outputs(self) -> None:
        """Compile the output expressions.

        Raises ValueError if one of them or the port for failed tuples does not fit.
        """
        self.schema, self.assignments = self._compile(self.context, self.parameters)
        self.failure_filter = FailureFilter(self, self.assignments.expressions)

    def submit_matched(self, port: int, matched: Sequence[pa.RecordBatch]) -> None:
        """Submit one combined tuple for each match, with the variables of the logic as of its last tuple.

        Failed combinations are set aside.

        Raises:
            DataError: an expression has no value, and `onError` is `fail`.
        """
        columns = [column for part in matched for column in part.columns]
        columns += matched[port].select(list(variable_columns(self.parameters))).columns
        together = TupleBatch(pa.RecordBatch.from_arrays(columns, schema=self.schema))
        self.submit(self.assignments.of(self.failure_filter(together)))
