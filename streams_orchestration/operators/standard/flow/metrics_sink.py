"""MetricsSink: shows values of tuples as metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import Field

from streams_orchestration.operators.contract.metrics import METRICS_LIMIT
from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.expressions.evaluation import parse_expression
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.expressions.spl.text import ExpressionText
from streams_orchestration.operators.inputs.failed_tuples import ExpressionParameters, FailureFilter, check_failure_port
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.states.rescaling import Route
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch

Texts = str | list[str]
Expressions = ExpressionText | list[ExpressionText]
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)


def _listed(texts: Any) -> list[Any]:
    return texts if isinstance(texts, list) else [texts]


class MetricsSinkParameters(ExpressionParameters):
    """The parameters of `MetricsSink`."""

    metrics: Expressions = Field(
        description=(
            "An expression, or several expressions. Each tuple sets a metric to the value; null leaves it unchanged."
        )
    )
    names: Texts | None = Field(default=None, description="Names of the metrics. Default: the texts in metrics.")
    descriptions: Texts | None = Field(default=None, description="Descriptions of the metrics for readers.")
    initial_values: float | list[float] | None = Field(
        default=None, alias="initialValues", description="Values before the first tuple. Default: 0."
    )

    def _faults(self) -> Iterator[str]:
        count = len(_listed(self.metrics))
        if not 1 <= count <= METRICS_LIMIT:
            yield f"metrics: 1 to {METRICS_LIMIT} expressions are expected"
        parts = {"names": self.names, "descriptions": self.descriptions, "initialValues": self.initial_values}
        for name, part in parts.items():
            if part is not None and len(_listed(part)) != count:
                yield f"{name}: one entry for each of the {count} metrics is expected"
        for name in self.all_names():
            if not _NAME.fullmatch(name):
                yield (
                    f"names: {name!r} is not a name of a metric, which has letters, digits and _ . - and begins with a "
                    f"letter; give the expression a name"
                )
        if len(set(self.all_names())) < count:
            yield "names: two metrics have the same name"

    def all_names(self) -> list[str]:
        """Return the names of the metrics."""
        return _listed(self.metrics if self.names is None else self.names)

    def begin(self) -> dict[str, float]:
        """Return the initial values of the metrics by name."""
        names = self.all_names()
        values = [0] * len(names) if self.initial_values is None else _listed(self.initial_values)
        return dict(zip(names, values, strict=True))


class MetricsSink(Operator):
    """Sets the operator's custom gauges to the values of expressions.

    The value is of the latest tuple; null leaves a gauge unchanged. `streams status --metrics` shows the gauges. A
    reset restores the values of the cut.
    """

    Parameters = MetricsSinkParameters
    naming_parameters = NamingParameters(expressions=("metrics",))
    stateful = True
    free_parameters = frozenset(("descriptions", "initial_values", "on_error"))

    @classmethod
    def check(cls, context: OperatorContext, parameters: MetricsSinkParameters) -> None:
        """Raise ValueError if an expression or the port for failed tuples does not fit."""
        cls._compile(context, parameters)

    @staticmethod
    def _compile(context: OperatorContext, parameters: MetricsSinkParameters) -> dict[str, Any]:
        check_failure_port(context, parameters, context.inputs[0], others=0)
        source, texts = context.inputs[0], _listed(parameters.metrics)
        expressions = [parse_expression(text, source, "metrics", context.zone) for text in texts]
        for text, expression in zip(texts, expressions, strict=True):
            kind = expression.arrow_type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                message = f"{text!r} is {type_name(kind)}, but a number is expected"
                expression.refuse(message)
        return dict(zip(parameters.all_names(), expressions, strict=True))

    def setup(self) -> None:
        """Parse the expressions and set the initial values."""
        self.expressions = self._compile(self.context, self.parameters)
        self.failure_filter = FailureFilter(self, self.expressions.values())
        self.values: dict[str, float] = {}
        self._show(self.parameters.begin())

    def process(self, port: int, batch: TupleBatch) -> None:
        """Set each metric to the value of the last tuple that has one; set failed tuples aside."""
        last, tuples = {}, self.failure_filter(batch)
        for name, expression in self.expressions.items():
            values = pc.drop_null(tuples.value(expression))
            if len(values):
                last[name] = values[-1].as_py()
        self._show(last)

    def _show(self, values: dict[str, float]) -> None:
        descriptions = self.parameters.descriptions
        about = dict(zip(self.expressions, _listed(descriptions), strict=True)) if descriptions else {}
        for name, value in values.items():
            try:
                self.context.metrics.gauge(name, about.get(name, "")).set(value)
            except ValueError as error:
                message = f"metric {name}: {error}"
                raise DataError(message) from error
        self.values |= values

    def rescale(self, states: Any, route: Route) -> list[State]:
        """Give each channel the values of the old channel with its number. A new channel gets the initial values."""
        return [states[channel] if channel < len(states) else {} for channel in range(route.width)]

    def checkpoint(self) -> State:
        """Return the last value of each metric."""
        return dict(self.values)

    def restore(self, state: State) -> None:
        """Show the restored values of the metrics that still exist."""
        self._show({name: value for name, value in state.items() if name in self.expressions})
