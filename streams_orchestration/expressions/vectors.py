"""Evaluation of an expression for a batch: by Arrow where it agrees with `rows`, else row by row."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

import numpy as np
import pyarrow as pa

from streams_orchestration.expressions.arrow import array_from, arrow_type, as_kind, scalar_from, values_of
from streams_orchestration.expressions.conversion_kernels import conversion_kernel
from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.kernel import Kernel, Unsuitable, pc
from streams_orchestration.expressions.kernels import KERNELS
from streams_orchestration.expressions.rows import bind, binding_of, convert
from streams_orchestration.expressions.tree import (
    AttributeValue,
    Call,
    Case,
    Cast,
    Coalesce,
    Field,
    Junction,
    Literal,
    TypedNode,
    children,
    may_fail,
)

Vector = Any
"""An Arrow array with a value for each tuple, or a scalar that applies to all tuples."""

_UNFIT = (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError, Unsuitable)


class FailedTupleError(EvaluationError):
    """The expression has no value for a tuple of a batch.

    Attributes:
        position: the position of the tuple in the batch, from 0.
    """

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


@dataclass(frozen=True, slots=True)
class SelectedTuples:
    """The tuples for which an expression is evaluated.

    Attributes:
        columns: the values of each attribute that is used.
        count: the number of tuples.
        positions: the positions of the tuples in the batch; None if they are the whole batch.
    """

    columns: Mapping[str, pa.Array]
    count: int
    positions: np.ndarray | None = None

    @property
    def places(self) -> np.ndarray:
        """The position of each tuple in the batch."""
        return np.arange(self.count) if self.positions is None else self.positions

    def take(self, places: np.ndarray) -> SelectedTuples:
        """Return the tuples at the given indices."""
        chosen = pa.array(places)
        positions = places if self.positions is None else self.positions[places]
        return replace(
            self,
            columns={name: column.take(chosen) for name, column in self.columns.items()},
            count=len(places),
            positions=positions,
        )

    def failure(self, message: str, place: int) -> FailedTupleError:
        """Return the error for the tuple at an index among the selected tuples."""
        return FailedTupleError(message, place if self.positions is None else int(self.positions[place]))


VectorFunction = Callable[[SelectedTuples], Vector]


def vector_function(node: TypedNode, zone: dt.tzinfo) -> VectorFunction:
    """Return the function that evaluates a node for a batch. It raises FailedTupleError for a tuple without a value.

    It raises ArrowInvalid if a value of an attribute does not fit the type that the expression reads.
    """
    match node:
        case Literal():
            scalar = scalar_from(node.value, node.type)
            return lambda _rows: scalar
        case AttributeValue():
            name, arrow = node.name, arrow_type(node.type)
            return lambda rows: as_kind(rows.columns[name], arrow)
        case Call():
            return _call(node, zone)
        case Cast():
            return _cast(node, zone)
        case Field():
            argument, place = vector_function(node.argument, zone), node.position
            return lambda rows: pc.struct_field(argument(rows), [place])
        case Case():
            return _case(node, zone)
        case Coalesce():
            return _coalesce(node, zone)
        case Junction():
            return _junction(node, zone)
        case _:
            assert_never(node)


def full(vector: Vector, count: int, kind: pa.DataType) -> pa.Array:
    """Return a vector as an array of `count` values; a scalar is repeated."""
    if isinstance(vector, pa.Scalar):
        return pa.repeat(vector, count) if vector.is_valid else pa.nulls(count, kind)
    return vector.combine_chunks() if isinstance(vector, pa.ChunkedArray) else vector


def _evaluation(
    kernel: Kernel | None, function: Callable[..., Any], node: Call | Cast, *, strict: bool
) -> Callable[[SelectedTuples, list[Vector]], Vector]:
    """Return the evaluation of a node for given arguments: by a kernel, or row by row if there is none or it is unfit.

    A strict function is called only where no argument is null.
    """
    kinds = [each.type for each in children(node)]

    def by_rows(rows: SelectedTuples, vectors: list[Vector]) -> pa.Array:
        values: list[Any] = []
        pairs = zip(vectors, kinds, strict=True)
        lists = [values_of(full(vector, rows.count, arrow_type(kind)), kind) for vector, kind in pairs]
        try:
            for given in zip(*lists, strict=True) if lists else ((),) * rows.count:
                values.append(None if strict and None in given else function(*given))
        except EvaluationError as error:
            raise rows.failure(str(error), len(values)) from error  # at the first tuple that has no value
        return array_from(values, node.type)

    if kernel is None:
        return by_rows

    def by_kernel(rows: SelectedTuples, vectors: list[Vector]) -> Vector:
        try:
            return kernel(*vectors)
        except _UNFIT:
            return by_rows(rows, vectors)

    return by_kernel


def _call(node: Call, zone: dt.tzinfo) -> VectorFunction:
    arguments = [vector_function(each, zone) for each in node.arguments]
    strict = node.function.strict
    make = KERNELS.get(node.function.name)
    kernel = None if make is None else make(binding_of(node, zone))
    evaluate = _evaluation(kernel, bind(node, zone), node, strict=strict)
    if not strict or not any(map(may_fail, node.arguments[1:])):
        return lambda rows: evaluate(rows, [each(rows) for each in arguments])
    kinds = [arrow_type(each.type) for each in node.arguments]
    return lambda rows: evaluate(rows, _behind_nulls(rows, arguments, kinds))


def _behind_nulls(
    rows: SelectedTuples, arguments: Sequence[VectorFunction], kinds: Sequence[pa.DataType]
) -> list[Vector]:
    """Evaluate the arguments of a strict function, each only where the arguments before it are not null.

    So an argument after a null cannot fail.
    """
    values: list[Vector] = []
    for argument, kind in zip(arguments, kinds, strict=True):
        try:
            values.append(argument(rows))
        except FailedTupleError:
            before = [full(each, rows.count, each.type).is_valid().to_numpy(zero_copy_only=False) for each in values]
            wanted = np.flatnonzero(np.logical_and.reduce(before)) if before else np.arange(rows.count)
            if len(wanted) == rows.count:
                raise
            known = full(argument(rows.take(wanted)), len(wanted), kind)
            left = np.setdiff1d(np.arange(rows.count), wanted)
            values.append(_placed([known, pa.nulls(len(left), kind)], [wanted, left], kind))
    return values


def _cast(node: Cast, zone: dt.tzinfo) -> VectorFunction:
    argument = vector_function(node.argument, zone)
    kernel = conversion_kernel(node.argument.type, node.type, zone)
    evaluate = _evaluation(kernel, convert(node, zone), node, strict=True)
    return lambda rows: evaluate(rows, [argument(rows)])


def _truth(vector: Vector, count: int) -> np.ndarray:
    """Return a mask of the tuples for which a condition is true."""
    return pc.fill_null(full(vector, count, pa.bool_()), fill_value=False).to_numpy(zero_copy_only=False)


def _case(node: Case, zone: dt.tzinfo) -> VectorFunction:
    conditions = [vector_function(condition, zone) for condition, _ in node.branches]
    values = [vector_function(value, zone) for _, value in node.branches]
    otherwise, arrow = vector_function(node.otherwise, zone), arrow_type(node.type)
    parts = [each for branch in node.branches for each in branch][1:]
    if not any(map(may_fail, (*parts, node.otherwise))) and not node.type.is_nested:

        def eager(rows: SelectedTuples) -> Vector:
            result = otherwise(rows)
            for condition, value in zip(reversed(conditions), reversed(values), strict=True):
                truth = pc.fill_null(condition(rows), fill_value=False)
                result = pc.if_else(truth, _typed(value(rows), arrow), _typed(result, arrow))
            return result

        return eager

    def lazy(rows: SelectedTuples) -> pa.Array:
        left = np.arange(rows.count)
        results: list[pa.Array] = []
        places: list[np.ndarray] = []
        for condition, value in zip(conditions, values, strict=True):
            remaining = rows if len(left) == rows.count else rows.take(left)
            truth = _truth(condition(remaining), len(left))
            chosen, left = left[truth], left[~truth]
            if len(chosen):
                results.append(full(value(rows.take(chosen)), len(chosen), arrow))
                places.append(chosen)
        if len(left):
            results.append(full(otherwise(rows.take(left)), len(left), arrow))
            places.append(left)
        return _placed(results, places, arrow)

    return lazy


def _typed(vector: Vector, arrow: pa.DataType) -> Vector:
    return pa.scalar(None, arrow) if isinstance(vector, pa.Scalar) and not vector.is_valid else vector


def _placed(results: Sequence[pa.Array], places: Sequence[np.ndarray], arrow: pa.DataType) -> pa.Array:
    """Merge the results for disjoint sets of positions into one array, with each value at its position.

    Together the positions are all numbers from 0 on. Without results the array is empty.
    """
    if not results:
        return pa.nulls(0, arrow)
    order = np.empty(sum(map(len, places)), np.int64)
    order[np.concatenate(places)] = np.arange(len(order))
    return pa.concat_arrays([part.cast(arrow) if part.type != arrow else part for part in results]).take(
        pa.array(order)
    )


def _coalesce(node: Coalesce, zone: dt.tzinfo) -> VectorFunction:
    arguments = [vector_function(each, zone) for each in node.arguments]
    arrow = arrow_type(node.type)
    if not any(map(may_fail, node.arguments[1:])) and not node.type.is_nested:
        return lambda rows: pc.coalesce(*(_typed(each(rows), arrow) for each in arguments))

    def lazy(rows: SelectedTuples) -> pa.Array:
        left = np.arange(rows.count)
        results: list[pa.Array] = []
        places: list[np.ndarray] = []
        for last, argument in ((place == len(arguments) - 1, each) for place, each in enumerate(arguments)):
            if not len(left):
                break
            value = full(argument(rows if len(left) == rows.count else rows.take(left)), len(left), arrow)
            there = np.ones(len(left), bool) if last else value.is_valid().to_numpy(zero_copy_only=False)
            results.append(value.filter(pa.array(there)))
            places.append(left[there])
            left = left[~there]
        return _placed(results, places, arrow)

    return lazy


def _junction(node: Junction, zone: dt.tzinfo) -> VectorFunction:
    left, right = vector_function(node.left, zone), vector_function(node.right, zone)
    join = pc.and_kleene if node.conjunction else pc.or_kleene
    if not may_fail(node.right):
        return lambda rows: join(_typed(left(rows), pa.bool_()), _typed(right(rows), pa.bool_()))

    def lazy(rows: SelectedTuples) -> Vector:
        first = full(left(rows), rows.count, pa.bool_())
        decided = pc.fill_null(pc.invert(first) if node.conjunction else first, fill_value=False)
        open_ones = np.flatnonzero(~decided.to_numpy(zero_copy_only=False))
        if len(open_ones) == rows.count:
            return join(first, full(right(rows), rows.count, pa.bool_()))
        second = np.full(rows.count, fill_value=not node.conjunction)
        missing = np.zeros(rows.count, bool)
        if len(open_ones):
            values = full(right(rows.take(open_ones)), len(open_ones), pa.bool_())
            second[open_ones] = pc.fill_null(values, fill_value=False).to_numpy(zero_copy_only=False)
            missing[open_ones] = ~values.is_valid().to_numpy(zero_copy_only=False)
        return join(first, pa.array(second, mask=missing))

    return lazy
