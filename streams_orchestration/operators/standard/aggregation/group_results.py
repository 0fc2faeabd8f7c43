"""Converts the groups of an Aggregate to tuples, and handles failed groups by `onError`."""

from __future__ import annotations

from collections.abc import Mapping

from streams_orchestration.model.short_texts import shortened
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.expressions.evaluation import Expression
from streams_orchestration.operators.inputs.failed_tuples import FailureFilter, split_failures
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.aggregation.value_measures import Reached
from streams_orchestration.operators.tuples.batch import TupleBatch


class GroupResults:
    """Converts groups to tuples. A failed group is set aside at its position among the failed tuples.

    A failed group becomes a tuple of the input stream, in which all attributes outside of its key are null.
    """

    def __init__(self, operator: Operator, failure_filter: FailureFilter, columns: Mapping[str, Expression]) -> None:
        """Prepare for an Aggregate.

        Args:
            operator: the Aggregate. Its first input port has the key attributes, and its first output port gets the
                tuples.
            failure_filter: sets failed tuples aside.
            columns: the expression of each output attribute, over the keys and the values of functions.
        """
        self._failure_filter = failure_filter
        self._columns = columns
        self._stops = operator.parameters.on_error == "fail"
        self._source: pa.Schema = operator.context.inputs[0]
        self._target: pa.Schema = operator.context.output_schema()
        self._failed: list[tuple[float, str, Mapping[str, pa.Array]]] = []
        """The position, reason and key of each failed group that is yet to be set aside."""

    def tuples(
        self, keys: Mapping[str, pa.Array], reached: Mapping[str, Reached], at: np.ndarray
    ) -> tuple[TupleBatch, np.ndarray]:
        """Convert groups to output tuples, and keep the failed groups for `set_aside`.

        Args:
            keys: the groups' keys by attribute.
            reached: the values of functions by output attribute.
            at: for each group, the position among the passed tuples at which it is submitted.

        Returns:
            The tuples, and a mask of the groups that have one.

        Raises:
            DataError: a group has no value, and `onError` is `fail`; the message names the group.
        """
        failures: dict[int, str] = {}
        for name, each in reached.items():
            reasons = {group: self._columns[name].reason(why) for group, why in each.failures.items()}
            failures = reasons | failures
        columns = {**keys, **{name: each.values for name, each in reached.items()}}
        groups = TupleBatch(pa.RecordBatch.from_arrays(list(columns.values()), list(columns)))
        passed, failures = split_failures(groups, self._columns.values(), failures=failures)
        for group, reason in failures.items():
            self._fail({name: part.slice(group, 1) for name, part in keys.items()}, reason, float(at[group]))
        has_tuple = np.ones(len(at), bool)
        has_tuple[list(failures)] = False
        values = {name: passed.value(expression) for name, expression in self._columns.items()}
        return TupleBatch.from_columns(values, self._target), has_tuple

    def _fail(self, key: Mapping[str, pa.Array], reason: str, at: float) -> None:
        if self._stops:
            named = ", ".join(f"{name} = {shortened(repr(part[0].as_py()))}" for name, part in key.items())
            message = f"{reason}; in the group {named}" if named else reason
            raise DataError(message)
        self._failed.append((at, reason, key))

    def set_aside(self, tuples: pa.RecordBatch, failures: Mapping[int, str]) -> None:
        """Set the failed tuples of a batch aside together with the failed groups, in the order of failure.

        The failed groups are then forgotten.

        Args:
            tuples: the batch.
            failures: the reason for each failed tuple by its position.
        """
        groups, self._failed = self._failed, []
        if not groups:
            self._failure_filter.set_aside(tuples, failures)
            return
        places = np.array(list(failures), np.int64)
        # a failed tuple comes before the next passing tuple
        before = places - np.arange(len(places)) - 0.5
        order = np.argsort(np.r_[before, [at for at, _, _ in groups]], kind="stable")
        together = pa.concat_batches([tuples.take(pa.array(places)), *(self._as_tuple(key) for _, _, key in groups)])
        reasons = [*failures.values(), *(reason for _, reason, _ in groups)]
        self._failure_filter.set_aside(
            together.take(pa.array(order)), {i: reasons[each] for i, each in enumerate(order)}
        )

    def _as_tuple(self, key: Mapping[str, pa.Array]) -> pa.RecordBatch:
        columns = [
            key[field.name].cast(field.type) if field.name in key else pa.nulls(1, field.type) for field in self._source
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._source)
