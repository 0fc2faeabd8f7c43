"""Filter: passes the tuples for which a condition is true."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext
from streams_orchestration.operators.evaluated import Evaluated
from streams_orchestration.operators.expressions import Condition, parse_condition
from streams_orchestration.operators.failed_tuples import ExpressionParameters, Sieve, check_failure_port, own_outputs
from streams_orchestration.operators.libraries import compute as pc
from streams_orchestration.operators.libraries import np
from streams_orchestration.operators.mentions import Mentions


class FilterParameters(ExpressionParameters):
    """The parameters of `Filter`."""

    filter: Condition | None = Field(
        default=None, description="A condition for tuples to pass. If omitted, every tuple passes."
    )


class Filter(Operator):
    """Passes a tuple to output port 0 if `filter` is true, otherwise to port 1 if that is connected."""

    places_watermarks = True
    Parameters = FilterParameters
    pure = True

    @classmethod
    def mentions(cls, parameters: FilterParameters) -> Mentions:
        """Return the attributes of the condition."""
        return Mentions.of(parameters.filter)

    @classmethod
    def check(cls, context: OperatorContext, parameters: FilterParameters) -> None:
        """Raise ValueError if the condition does not fit the stream or is not boolean."""
        check_failure_port(context, parameters, context.inputs[0])
        if parameters.filter is not None:
            parse_condition(parameters.filter, context.inputs[0], "filter", context.zone)

    def setup(self) -> None:
        """Parse the condition."""
        text = self.parameters.filter
        source, zone = self.context.inputs[0], self.context.zone
        self.condition: Any = None if text is None else parse_condition(text, source, "filter", zone)
        self.sieve = Sieve(self, [] if self.condition is None else [self.condition])
        self.divides = len(own_outputs(self.context, self.parameters)) > 1

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit tuples by the condition; null counts as false."""
        if self.condition is None:
            self.sieve.distribute(batch, [np.ones(len(batch), bool)], (Evaluated(batch), {}))
            return
        tuples, failures = self.sieve.sift(batch)
        mask = pc.fill_null(tuples.value(self.condition), fill_value=False).to_numpy(zero_copy_only=False)
        self.sieve.distribute(batch, [mask, ~mask] if self.divides else [mask], (tuples, failures))
