"""Functor: filters tuples and computes new attributes."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from streams_orchestration.operators.arrow_types import compute as pc
from streams_orchestration.operators.assignments import Assignments
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Parameters
from streams_orchestration.operators.expressions import Condition, evaluate, parse_condition


class FunctorParameters(Parameters):
    """Parameters of `Functor`."""

    filter: Condition | None = Field(default=None, description="condition; tuples for which it is not true are dropped")
    output: dict[str, str] = Field(default_factory=dict, description="attribute -> expression; others keep their value")


class Functor(Operator):
    """Every output tuple has the attributes of the output stream: computed, or taken over by name."""

    Parameters = FunctorParameters

    @classmethod
    def check(cls, context: OperatorContext, parameters: FunctorParameters) -> None:
        """Raises ValueError when an expression or an attribute does not fit."""
        cls._compile(context, parameters)

    @staticmethod
    def _compile(context: OperatorContext, parameters: FunctorParameters) -> tuple[Any, Assignments]:
        source = context.inputs[0]
        condition = None if parameters.filter is None else parse_condition(parameters.filter, source, "filter")
        return condition, Assignments(parameters.output, source, context.outputs[0] or source)

    def setup(self) -> None:
        """Parse the expressions."""
        self.condition, self.assignments = self._compile(self.context, self.parameters)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Filter, then compute."""
        if self.condition is not None:
            batch = batch.filter(pc.fill_null(evaluate(self.condition, batch.arrow), False))
        self.submit(self.assignments.apply(batch.arrow))
