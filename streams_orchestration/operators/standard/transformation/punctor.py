"""Punctor: inserts window markers between tuples."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Punctuation
from streams_orchestration.operators.expressions.assignments import Assignments
from streams_orchestration.operators.expressions.evaluation import Condition, parse_condition
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.expressions.spl.text import ExpressionText
from streams_orchestration.operators.inputs.failed_tuples import ExpressionParameters, FailureFilter, check_failure_port
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import Watermarks


class PunctorParameters(ExpressionParameters):
    """The parameters of `Punctor`."""

    punctuate: Condition = Field(
        examples=["true"], description="A condition. A tuple for which it is true gets a window marker."
    )
    position: Literal["before", "after"] = Field(description="Position of the marker: before or after the tuple.")
    output: dict[str, ExpressionText] = Field(
        default_factory=dict, description="Maps an attribute to an expression. Other attributes keep their values."
    )


class Punctor(Operator):
    """Computes tuples as Functor does, and inserts a window marker before or after the tuples that meet a condition."""

    keeps_places = True
    Parameters = PunctorParameters
    naming_parameters = NamingParameters(expressions=("punctuate", "output"))
    pure = True

    @classmethod
    def check(cls, context: OperatorContext, parameters: PunctorParameters) -> None:
        """Raise ValueError if an expression, an attribute or the port for failed tuples does not fit."""
        cls._compile(context, parameters)

    @staticmethod
    def _compile(context: OperatorContext, parameters: PunctorParameters) -> tuple[Any, Assignments]:
        check_failure_port(context, parameters, context.inputs[0])
        source = context.inputs[0]
        condition = parse_condition(parameters.punctuate, source, "punctuate", context.zone)
        return condition, Assignments(
            parameters.output, source, context.outputs[0] or source, context.zone, context.required_at()
        )

    def setup(self) -> None:
        """Compile the expressions."""
        self.condition, self.assignments = self._compile(self.context, self.parameters)
        self.failure_filter = FailureFilter(self, [self.condition, *self.assignments.expressions])

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit the tuples, with markers where the condition is true; null is false. Set failed tuples aside."""
        known = self.failure_filter(batch)
        mask = pc.fill_null(known.value(self.condition), fill_value=False).to_numpy(zero_copy_only=False)
        after = self.parameters.position == "after"
        places = np.flatnonzero(mask) + after
        tuples = self.assignments.of(known)
        marks, tuples, done, sent = tuples.watermarks or Watermarks.of(), tuples.without_watermarks(), 0, 0
        upto = np.searchsorted(marks.places, places, side="left" if after else "right")
        for place, behind in zip(places.tolist(), upto.tolist(), strict=True):
            self.submit(tuples.slice(done, place - done).with_watermarks(marks.part(sent, behind, done)))
            self.punctuate(Punctuation.WINDOW)
            done, sent = place, behind
        self.submit(tuples.slice(done).with_watermarks(marks.part(sent, len(marks), done)))
