"""Handling of tuples and groups for which an expression has no value, by the parameter `onError`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Parameters
from streams_orchestration.operators.errors.errors import LOGGED
from streams_orchestration.operators.errors.faults import report
from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.expressions.evaluation import Expression, evaluate_possible, rows_of
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.arrow_types import nulls_in, type_name
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import Watermarks

if TYPE_CHECKING:
    from streams_orchestration.expressions.vectors import SelectedTuples
    from streams_orchestration.operators.expressions.assignments import Assignments

OnError = Annotated[
    Literal["fail", "skip", "route"],
    Field(
        alias="onError",
        description="Policy for a tuple or group without a value: stop the application, skip it, or send it to a port.",
    ),
]
REASON = "reason"
"""The attribute of a routed tuple that contains the reason of the failure."""


class ExpressionParameters(Parameters):
    """Base class of the parameters of operators with expressions."""

    on_error: OnError = "fail"


def own_outputs(context: OperatorContext, parameters: ExpressionParameters) -> tuple[pa.Schema | None, ...]:
    """Return the schemas of all output ports except the one for failed tuples."""
    return context.outputs[:-1] if parameters.on_error == "route" else context.outputs


def check_failure_port(
    context: OperatorContext, parameters: ExpressionParameters, *tuples: pa.Schema, others: int = 1
) -> None:
    """Check the output port for failed tuples if `onError` is `route`.

    Args:
        context: the operator's context with its ports.
        parameters: the operator's parameters with `onError`.
        tuples: the types of the tuples that may fail. The port's attributes have to be among theirs.
        others: the least number of other output ports.

    Raises:
        ValueError: the port is missing, or one of its attributes does not fit, and faults are not being gathered.
    """
    if parameters.on_error != "route":
        return
    if len(context.outputs) <= others:
        message = "onError: route needs one more output port, after the others; it gets the tuples that fail"
        report(ValueError(message))
        return
    for field in context.outputs[-1] or ():
        kinds = [each.field(field.name).type for each in tuples if field.name in each.names]
        if field.type not in ([pa.string()] if field.name == REASON else kinds):
            message = (
                f"onError: output port {len(context.outputs) - 1} gets the tuples that fail, so it must have the "
                f"attributes of the input stream, and `{REASON} string`, but it has {field.name} "
                f"{type_name(field.type)}"
            )
            report(ValueError(message))


def split_failures(
    batch: TupleBatch,
    expressions: Iterable[Expression],
    condition: Expression | None = None,
    failures: Mapping[int, str] | None = None,
) -> tuple[Evaluated, dict[int, str]]:
    """Evaluate each expression that may fail exactly once, and separate the failed tuples.

    Args:
        batch: the tuples.
        expressions: evaluated for the tuples that meet the condition.
        condition: evaluated for all tuples; without one, all tuples meet it.
        failures: tuples that failed before, with their reasons.

    Returns:
        The tuples that meet the condition and have all values, with the computed values, and the reason for each failed
        tuple by its position.
    """
    expressions = [each for each in expressions if each.may_fail]
    rows = rows_of(batch.arrow, [*expressions, *([] if condition is None else [condition])])
    found = dict(failures or {})
    if found:
        rows = rows.take(np.setdiff1d(rows.places, list(found)))
    if condition is not None:
        rows, met, failed = evaluate_possible(condition, rows)
        found |= failed
        meets = truth(met).to_numpy(zero_copy_only=False)
        rows = rows if meets.all() else rows.take(np.flatnonzero(meets))
    evaluated: list[tuple[Expression, SelectedTuples, pa.Array]] = []
    for expression in expressions:
        rows, values, failed = evaluate_possible(expression, rows)
        found |= failed
        evaluated.append((expression, rows, values))
    known = {
        each: array if before.count == rows.count else array.take(np.searchsorted(before.places, rows.places))
        for each, before, array in evaluated
    }
    passed = batch if rows.count == len(batch) else batch.take(rows.places)
    return Evaluated(passed, known), dict(sorted(found.items()))


class FailureFilter:
    """Sets aside the tuples for which an operator's expressions have no value.

    With `onError: fail` no tuple is set aside; the operator fails when it needs the value.
    """

    def __init__(
        self,
        operator: Operator,
        expressions: Iterable[Expression],
        condition: Expression | None = None,
        *,
        passes_on: bool = False,
    ) -> None:
        """Prepare for expressions over the tuples of one type.

        Args:
            operator: an operator whose parameters are `ExpressionParameters`.
            expressions: evaluated for the tuples that meet the condition.
            condition: evaluated for all tuples; without one, all tuples meet it.
            passes_on: True if tuples go to output port 0 unchanged. A null in a NOT NULL attribute is then a failure.
        """
        self._context = operator.context
        self._operator = operator
        self._action: OnError = operator.parameters.on_error
        self.expressions = [each for each in expressions if each.may_fail]
        self._condition = condition
        self._logged = 0
        self._required = self._context.required_at() if passes_on else ()
        may_fail = self.expressions or self._required or (condition is not None and condition.may_fail)
        self._idle = self._action == "fail" or not may_fail

    def __call__(self, batch: TupleBatch) -> Evaluated:
        """Return the tuples that meet the condition and have a value for every expression; set failed ones aside.

        Raises:
            DataError: with `onError: fail`, the condition has no value, or a null is in a NOT NULL attribute.
        """
        passed, failures = self.split(batch)
        self.set_aside(batch.arrow, failures, batch.watermarks)
        return passed

    def split(self, batch: TupleBatch) -> tuple[Evaluated, dict[int, str]]:
        """Return the tuples that pass, with computed values, and the reason for each failed tuple by its position.

        Raises:
            DataError: with `onError: fail`, the condition has no value, or a null is in a NOT NULL attribute.
        """
        if not self._idle:
            unfit = _nulls(batch.arrow, self._required, 0)
            return split_failures(batch, self.expressions, self._condition, unfit)
        batch.refuse_nulls(self._required)
        passed = Evaluated(batch)
        return (passed if self._condition is None else passed.filter(truth(passed.value(self._condition)))), {}

    def unfit(self, tuples: pa.RecordBatch, port: int) -> dict[int, str]:
        """Map the position of each tuple with a null in a NOT NULL attribute of an output port to the reason.

        With `onError: fail` the result is empty; the operator fails when it submits the tuple.
        """
        return {} if self._action == "fail" else _nulls(tuples, self._context.required_at(port), port)

    def distribute(
        self,
        batch: TupleBatch,
        masks: Sequence[np.ndarray | pa.BooleanArray],
        separated: tuple[Evaluated, dict[int, str]],
        assignments: Assignments | None = None,
    ) -> None:
        """Submit tuples with the attributes of each port, unchanged except on port 0 with `assignments`.

        Failed tuples, and tuples with a null that an output port forbids, are set aside.

        Args:
            batch: the tuples from which `split` made `separated`, without a condition.
            masks: for each output port, a mask of the passed tuples that go to it, or the number of times that each
                tuple goes there.
            separated: the tuples that passed, and the reasons of the others.
            assignments: the output of port 0, if it computes any attribute.

        Raises:
            DataError: an expression of `assignments` that `split_failures` has not evaluated has no value for a tuple.
        """
        tuples, failures = separated
        unfit: dict[int, str] = {}
        for port, mask in enumerate(masks):
            if found := self.unfit(tuples.arrow, port):
                goes = np.asarray(mask)
                unfit |= {place: reason for place, reason in found.items() if goes[place] and place not in unfit}
        if unfit:
            fits = np.ones(len(tuples), bool)
            fits[list(unfit)] = False
            masks = [pc.and_(each, pa.array(fits)) if isinstance(each, pa.Array) else each * fits for each in masks]
            passed = np.setdiff1d(np.arange(len(batch)), list(failures))
            failures = dict(sorted((failures | {int(passed[place]): unfit[place] for place in unfit}).items()))
        self.set_aside(batch.arrow, failures, batch.watermarks)
        for port, mask in enumerate(masks):
            if isinstance(mask, pa.Array) or mask.dtype == bool:
                passed = tuples.batch.filter(mask)
            else:
                passed = tuples.batch.take(np.repeat(np.arange(len(tuples)), mask))
            if assignments is not None and port == 0:
                passed = assignments.of(Evaluated(passed))
            self._operator.submit(passed.selected(self._context.outputs[port]), port)

    def set_aside(
        self, tuples: pa.RecordBatch, failures: Mapping[int, str], watermarks: Watermarks | None = None
    ) -> None:
        """Skip and count failed tuples, or submit them to the last output port, in their order.

        The filter logs the first `LOGGED` reasons, counted over all calls.

        Args:
            tuples: the batch that contains them.
            failures: reasons by position, ascending.
            watermarks: the watermarks of the batch, which go to the port with the failed tuples.
        """
        if not failures:
            return
        reasons = list(failures.values())
        for reason in reasons[: max(LOGGED - self._logged, 0)]:
            self._context.logger.warning("onError: %s: no value: %s", self._action, reason)
        self._logged += len(failures)
        if self._action == "skip":
            self._context.metrics.dropped.add(len(failures))
            return
        failed = tuples.take(pa.array(list(failures), pa.int64()))
        target = self._context.outputs[-1] or failed.schema
        columns = {field.name: _column(field, failed, reasons) for field in target}
        steps = None if watermarks is None else watermarks.taken(np.array(list(failures), np.int64))
        routed = TupleBatch.from_columns(columns, target).with_watermarks(steps)
        self._operator.submit(routed, len(self._context.outputs) - 1)


def _nulls(tuples: pa.RecordBatch, required: Sequence[str], port: int) -> dict[int, str]:
    """Map the position of each tuple with a null in a required attribute to the reason, for an output port."""
    found = nulls_in({name: tuples.column(name) for name in required}, required)
    return {
        place: f"{name} is null, but output port {port} has {name} NOT NULL; leave out NOT NULL, or give it a value"
        for place, name in found.items()
    }


def truth(condition: pa.Array) -> pa.Array:
    """Return the condition with null replaced by false."""
    return pc.fill_null(condition, fill_value=False) if condition.null_count else condition


def _column(field: pa.Field, failed: pa.RecordBatch, reasons: Sequence[str]) -> pa.Array:
    if field.name == REASON and pa.types.is_string(field.type):
        return pa.array(reasons, pa.string())
    if field.name in failed.schema.names:
        return failed.column(field.name)
    return pa.nulls(failed.num_rows, field.type)
