"""Expressions over the attributes of a stream: the package `expressions` applied to Arrow batches."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import BeforeValidator

from streams_orchestration.expressions.errors import EvaluationError, ExpressionError, UnknownNameError
from streams_orchestration.expressions.tree import (
    AttributeValue,
    Call,
    attribute_types,
)
from streams_orchestration.expressions.types import BOOLEAN, Type
from streams_orchestration.expressions.typing import typed
from streams_orchestration.model.short_texts import shortened
from streams_orchestration.operators.errors.errors import (
    DataError,
    FaultyExpressionError,
    UnknownInExpressionError,
)
from streams_orchestration.operators.errors.faults import report
from streams_orchestration.operators.expressions.expression import Expression, in_one_line, note, unknown
from streams_orchestration.operators.expressions.spl.text import ExpressionText, SplText
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.arrow_types import arrow_schema

if TYPE_CHECKING:
    import polars as pl

    from streams_orchestration.expressions.vectors import SelectedTuples

_FEW = 8
"""Up to this many failed tuples are found by evaluating the rest of the batch again; then tuples are tried one by one.
"""

Condition = Annotated[
    ExpressionText, BeforeValidator(lambda value: str(value).lower() if isinstance(value, bool) else value)
]
"""A condition in a parameter. In a spec, `true` and `false` need no quotes."""


def column_expression(name: str, kind: pa.DataType, parameter: str, text: str, zone: dt.tzinfo) -> Expression:
    """Return an expression that reads one column. Errors show `text` in its place."""
    from streams_orchestration.expressions.arrow import type_of

    return Expression(text, parameter, AttributeValue(name, type_of(kind)), zone)


def parse_expression(text: str, schema: pa.Schema, parameter: str, zone: dt.tzinfo) -> Expression:
    """Parse an expression as `read_expression` does.

    While errors are gathered, report a fault and return a faulty expression.

    Raises:
        FaultyExpressionError: the expression is faulty, and errors are not being gathered.
    """
    try:
        return read_expression(text, schema, parameter, zone)
    except FaultyExpressionError as error:
        report(error)
        return unknown(text, parameter)


def read_expression(text: str, schema: pa.Schema, parameter: str, zone: dt.tzinfo) -> Expression:
    """Parse an expression, check it against the stream's schema, and record it for `noted`.

    Args:
        text: the text, such as `dep_delay IS NOT NULL AND dep_delay > 15`.
        schema: the schema of the stream whose attributes it may use.
        parameter: the name of the parameter, for errors.
        zone: the time zone of the application, as an operator's context has it.

    Raises:
        UnknownAttributeError: the stream lacks an attribute.
        ValueError: a syntax error, an unknown function, incompatible types, an interval as the value, or a value that
            depends on several tuples.
    """
    if isinstance(text, SplText):
        from streams_orchestration.operators.expressions.spl.expressions import read_spl

        return read_spl(text, schema, parameter, zone)
    try:
        node = typed(text, _types(schema), zone)
    except UnknownNameError as error:
        message = f"{parameter}: {in_one_line(text)} {error}"
        raise UnknownInExpressionError(message, parameter, text, error.offset) from error
    except ExpressionError as error:
        message = f"{parameter}: {in_one_line(text)}: {error}"
        raise FaultyExpressionError(message, parameter, text, error.offset) from error
    expression = Expression(text, parameter, node, zone)
    if any(part.is_interval for part in (node.type, *node.type.parts)):
        message = f"{in_one_line(text)} is {node.type}, which is not a type of an attribute"
        raise expression.fault(message)
    note(parameter, text, expression.canonical)
    return expression


@functools.lru_cache(maxsize=1024)
def _types(schema: pa.Schema) -> Mapping[str, Type]:
    from streams_orchestration.expressions.arrow import type_of

    return {field.name: type_of(field.type) for field in schema}


def parse_condition(text: str, schema: pa.Schema, parameter: str, zone: dt.tzinfo) -> Expression:
    """Parse a Boolean expression.

    While faults are gathered, a fault is reported instead of raised, and the expression is returned as it is.

    Raises:
        ValueError: the expression is faulty, or its value is not Boolean.
    """
    condition = parse_expression(text, schema, parameter, zone)
    if condition.type != BOOLEAN:
        message = f"{in_one_line(text)} is {condition.type}, but a condition is expected"
        if isinstance(condition.node, Call) and condition.node.function.name == "||":
            message += "; OR joins conditions, || joins texts"
        condition.refuse(message)
    return condition


def condition_of(text: str, ddl: str, zone: dt.tzinfo) -> Expression:
    """Parse the `filter` of an import of tuples of a type that is given as DDL.

    Raises:
        ValueError: the filter is faulty or its value is not Boolean, or `ddl` is not a tuple type.
    """
    return parse_condition(text, arrow_schema(ddl), "filter", zone)


def evaluate(expression: Expression, batch: pa.RecordBatch) -> pa.Array:
    """Return the value of an expression for every tuple.

    Raises:
        DataError: evaluation fails for a tuple, for example by an overflow; the message shows the tuple.
    """
    from streams_orchestration.expressions.vectors import FailedTupleError, full

    rows = rows_of(batch, [expression])
    try:
        vector = expression.function(rows)
    except FailedTupleError as error:
        values = {name: _shown(column[error.position]) for name, column in rows.columns.items()}
        shown = ", ".join(f"{name} = {value}" for name, value in values.items())
        message = f"{expression.reason(error)}; the tuple has {shown}"
        raise DataError(message) from error
    return full(vector, batch.num_rows, expression.arrow_type)


def _shown(scalar: pa.Scalar) -> str:
    """Return the text of an attribute's value in a message. A date or time may be beyond the range of Python's.

    Every attribute has a type that is known; see `type_of`.
    """
    from streams_orchestration.expressions.arrow import type_of, values_of
    from streams_orchestration.expressions.times import UTC
    from streams_orchestration.expressions.value_texts import writer

    try:
        return shortened(repr(scalar.as_py()))
    except (OverflowError, ValueError):
        kind = type_of(scalar.type)
        return shortened(writer(kind, UTC)(values_of(pa.array([scalar]), kind)[0]))


def evaluate_possible(expression: Expression, rows: SelectedTuples) -> tuple[SelectedTuples, pa.Array, dict[int, str]]:
    """Evaluate an expression for all tuples on which evaluation succeeds.

    Returns:
        The tuples that have a value, the values, and the reason for each failed tuple by its position in the batch.
    """
    from streams_orchestration.expressions.vectors import FailedTupleError, full

    failures: dict[int, str] = {}
    for _ in range(_FEW):
        try:
            return rows, full(expression.function(rows), rows.count, expression.arrow_type), failures
        except FailedTupleError as error:
            failures[error.position] = expression.reason(error)
        rows = rows.take(np.flatnonzero(~np.isin(rows.places, list(failures))))
    return _one_by_one(expression, rows, failures)


def _one_by_one(
    expression: Expression, rows: SelectedTuples, failures: dict[int, str]
) -> tuple[SelectedTuples, pa.Array, dict[int, str]]:
    """Evaluate an expression tuple by tuple, which is faster if many fail; add the reasons to `failures`."""
    from streams_orchestration.expressions.arrow import array_from, values_of
    from streams_orchestration.expressions.rows import row_function

    function = row_function(expression.node, expression.names, expression.zone)
    columns = [rows.columns[name] for name in expression.names]
    kinds = attribute_types(expression.node)
    lists = [values_of(column, kinds[name]) for name, column in zip(expression.names, columns, strict=True)]
    places = rows.places.tolist()
    reached = list[Any]()
    passing = list[int]()
    for place, values in enumerate(zip(*lists, strict=True) if lists else ((),) * rows.count):
        try:
            reached.append(function(values))
            passing.append(place)
        except EvaluationError as error:
            failures[places[place]] = expression.reason(error)
    passed = rows.take(np.array(passing, np.int64))
    return passed, array_from(reached, expression.type), failures


def unequal_to_all(keys: Sequence[Expression], columns: Sequence[pa.Array]) -> np.ndarray | None:
    """Return a mask of the tuples whose key equals no key, such as NaN in SPL; None if every key equals itself."""
    masks = [key.unequal(column) for key, column in zip(keys, columns, strict=True) if not key.equals_itself]
    found = [mask for mask in masks if mask.any()]
    return np.logical_or.reduce(found) if found else None


def rows_of(batch: pa.RecordBatch, expressions: Iterable[Expression]) -> SelectedTuples:
    """Return the tuples of a batch with only those attributes that the expressions use."""
    from streams_orchestration.expressions.vectors import SelectedTuples

    names = dict.fromkeys(name for expression in expressions for name in expression.names)
    return SelectedTuples({name: batch.column(name) for name in names}, batch.num_rows)


def frame(batch: pa.RecordBatch) -> pl.DataFrame:
    """Return a batch as a Polars frame, without copying where the types agree."""
    import polars as pl

    return cast("pl.DataFrame", pl.from_arrow(batch))
