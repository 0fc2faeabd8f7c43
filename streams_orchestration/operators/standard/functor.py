"""Functor: filters tuples and computes new attributes."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.arrow_types import compute as pc
from streams_orchestration.operators.arrow_types import fits
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Parameters
from streams_orchestration.operators.errors import UnknownAttributeError
from streams_orchestration.operators.expressions import evaluate, expression_type, parse_condition, parse_expression


class FunctorParameters(Parameters):
    """Parameters of `Functor`."""

    filter: str | None = Field(default=None, description="condition; tuples for which it is not true are dropped")
    output: dict[str, str] = Field(default_factory=dict, description="attribute -> expression; others keep their value")


class Functor(Operator):
    """Every output tuple has the attributes of the output stream: computed, or taken over by name."""

    Parameters = FunctorParameters

    @classmethod
    def check(cls, context: OperatorContext, parameters: FunctorParameters) -> None:
        """Raises ValueError when an expression or an attribute does not fit."""
        cls._compile(context, parameters)

    @staticmethod
    def _compile(context: OperatorContext, parameters: FunctorParameters) -> tuple[Any, dict[str, Any]]:
        source, target = context.inputs[0], context.outputs[0] or context.inputs[0]
        condition = None if parameters.filter is None else parse_condition(parameters.filter, source, "filter")
        for name in parameters.output:
            if name not in target.names:
                message = f"output: the output stream has no attribute {name}{nearest(name, target.names)}"
                raise UnknownAttributeError(message)
        for name in target.names:
            if name not in parameters.output and name not in source.names:
                message = f"output: nothing says what {name} is; give it an expression"
                raise ValueError(message)
        texts = {name: parameters.output.get(name) for name in target.names}
        columns = {
            name: None if text is None else parse_expression(text, source, f"output.{name}")
            for name, text in texts.items()
        }
        for name, expression in columns.items():
            kind = source.field(name).type if expression is None else expression_type(expression, source)
            if not fits(kind, target.field(name).type):
                message = f"output.{name}: the value is {kind}, the attribute is {target.field(name).type}; CAST it"
                raise ValueError(message)
        return condition, columns

    def setup(self) -> None:
        """Parse the expressions."""
        self.condition, self.columns = self._compile(self.context, self.parameters)
        self.schema = self.context.outputs[0] or self.context.inputs[0]

    def process(self, port: int, batch: TupleBatch) -> None:
        """Filter, then compute."""
        if self.condition is not None:
            batch = batch.filter(pc.fill_null(evaluate(self.condition, batch.arrow), False))
        source = batch.arrow
        values = {
            name: source.column(name) if expression is None else evaluate(expression, source)
            for name, expression in self.columns.items()
        }
        self.submit(TupleBatch.from_columns(values, self.schema))
