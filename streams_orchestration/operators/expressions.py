"""Expressions over the attributes of a stream: the package `expressions` applied to Arrow batches."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

from pydantic import BeforeValidator

from streams_orchestration.expressions.conversion import depends_on_zone as conversion_depends_on_zone
from streams_orchestration.expressions.errors import EvaluationError, ExpressionError, UnknownNameError
from streams_orchestration.expressions.exact import exact
from streams_orchestration.expressions.times import UTC
from streams_orchestration.expressions.tree import (
    Attribute,
    Call,
    Cast,
    Literal,
    TypedNode,
    attribute_types,
    attributes,
    may_fail,
    read_by_spark,
)
from streams_orchestration.expressions.types import BOOLEAN, VOID, Type, without_nanoseconds
from streams_orchestration.expressions.typing import can_assign, typed
from streams_orchestration.operators.arrow_types import arrow_schema, type_name
from streams_orchestration.operators.errors import (
    DataError,
    FaultyExpressionError,
    UnknownInExpressionError,
    shortened,
)
from streams_orchestration.operators.faults import report
from streams_orchestration.operators.libraries import np, pa

if TYPE_CHECKING:
    import polars as pl

    from streams_orchestration.expressions.vectors import SelectedTuples, VectorFunction

_FEW = 8
"""Up to this many failed tuples are found by evaluating the rest of the batch again; then tuples are tried one by one.
"""

Condition = Annotated[str, BeforeValidator(lambda value: str(value).lower() if isinstance(value, bool) else value)]
"""A parameter that is a condition. In a spec, `true` and `false` need no quotes."""


@dataclass(frozen=True, eq=False)
class Expression:
    """A typed expression over a stream.

    Attributes:
        text: the text in the spec.
        parameter: the name of the parameter that contains it, for errors.
        node: its typed tree; a null literal if the expression is faulty.
        zone: the time zone of its date and time functions.
        faulty: True if a fault was reported. Further faults of it are not reported, since they may be consequences.
    """

    text: str
    parameter: str
    node: TypedNode
    zone: dt.tzinfo
    faulty: bool = False

    @property
    def type(self) -> Type:
        """The type of the expression's value."""
        return self.node.type

    @functools.cached_property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type of the expression's value."""
        from streams_orchestration.expressions.arrow import arrow_type

        return arrow_type(self.node.type)

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes that the expression uses."""
        return attributes(self.node)

    @functools.cached_property
    def may_fail(self) -> bool:
        """True if evaluation may fail for some tuples."""
        return may_fail(self.node)

    @functools.cached_property
    def function(self) -> VectorFunction:
        """The function that evaluates the expression for all tuples of a batch."""
        from streams_orchestration.expressions.vectors import vector_function

        return vector_function(self.node, self.zone)

    def canonical(self) -> str:
        """Return the expression's canonical text."""
        from streams_orchestration.expressions.canonical import canonical

        return canonical(self.node, self.zone)

    def fault(self, message: str) -> FaultyExpressionError:
        """Return an error that says that the expression does not suit its parameter."""
        return FaultyExpressionError(f"{self.parameter}: {message}", self.parameter, self.text)

    def reason(self, why: object) -> str:
        """Return the reason why a tuple has no value, with the parameter and the text."""
        return f"{self.parameter}: {_in_one_line(self.text)}: {why}"

    def refuse(self, message: str) -> None:
        """Report that the expression does not suit its parameter, unless it is already known to be faulty.

        Raises:
            FaultyExpressionError: errors are not being gathered.
        """
        if not self.faulty:
            report(self.fault(message))

    def assigned(self, target: pa.DataType, *, required: bool = False) -> Expression:
        """Return the expression converted to the type of an attribute.

        Args:
            target: the type of the attribute.
            required: True if the attribute is NOT NULL; a null then counts as a failed tuple.

        Raises:
            FaultyExpressionError: the conversion needs an explicit `CAST`, and errors are not being gathered.
        """
        from streams_orchestration.expressions.presence import present

        converted = self._converted(target)
        return replace(converted, node=present(converted.node)) if required and not converted.faulty else converted

    def _converted(self, target: pa.DataType) -> Expression:
        from streams_orchestration.expressions.arrow import type_of

        kind = type_of(target)
        if kind == self.type and not kind.is_decimal:
            return self
        if kind.holds("timestamp_ns"):  # a batch has it from microseconds
            kind = without_nanoseconds(kind)
        if self.type.holds("timestamp_ns"):
            return replace(self, node=read_by_spark(self.node))._converted(target)
        if not can_assign(self.type, kind):
            message = f"the value is {self.type}, the attribute is {type_name(target)}; CAST it"
            self.refuse(message)
            return _unknown(self.text, self.parameter)
        node = exact(self.node, kind.scale) if kind.is_decimal else self.node
        if kind == node.type:
            return self if node is self.node else replace(self, node=node)
        if isinstance(self.node, Literal) and self.node.value is None:
            return replace(self, node=Literal(None, kind))
        converted = replace(self, node=Cast(node, kind))
        if self.zone is not UTC and conversion_depends_on_zone(self.type, kind):
            note(self.parameter, self.text, converted.canonical)
        return converted


def column_expression(name: str, kind: pa.DataType, parameter: str, text: str, zone: dt.tzinfo) -> Expression:
    """Return an expression that reads one column. `text` represents it in errors."""
    from streams_orchestration.expressions.arrow import type_of

    return Expression(text, parameter, Attribute(name, type_of(kind)), zone)


class Noted(NamedTuple):
    """A record of an expression that was read: its parameter as a dotted path, its text, and its canonical text."""

    parameter: str
    text: str
    canonical: str


_NOTES: ContextVar[list[Noted] | None] = ContextVar("notes", default=None)


@contextmanager
def noted() -> Iterator[list[Noted]]:
    """Record all expressions that are read within the block."""
    notes = list[Noted]()
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)


def note(parameter: str, text: str, canonical: Callable[[], str]) -> None:
    """Record an expression if recording is on."""
    if (notes := _NOTES.get()) is not None:
        notes.append(Noted(parameter, text, canonical()))


def parse_expression(text: str, schema: pa.Schema, parameter: str, zone: dt.tzinfo) -> Expression:
    """Call `read_expression`. If errors are being gathered, report a wrong text and return a faulty expression."""
    try:
        return read_expression(text, schema, parameter, zone)
    except FaultyExpressionError as error:
        report(error)
        return _unknown(text, parameter)


def _unknown(text: str, parameter: str) -> Expression:
    return Expression(text, parameter, Literal(None, VOID), UTC, faulty=True)


def read_expression(text: str, schema: pa.Schema, parameter: str, zone: dt.tzinfo) -> Expression:
    """Parse an expression and check it against the stream's schema.

    Args:
        text: the text, such as `dep_delay IS NOT NULL AND dep_delay > 15`.
        schema: the schema of the stream whose attributes it may use.
        parameter: the name of the parameter, for errors.
        zone: the time zone of the application, as an operator's context has it.

    Raises:
        UnknownAttributeError: the stream lacks an attribute.
        ValueError: a syntax error, an unknown function, incompatible types, or a value that depends on several tuples.
    """
    try:
        node = typed(text, _types(schema), zone)
    except UnknownNameError as error:
        message = f"{parameter}: {_in_one_line(text)} {error}"
        raise UnknownInExpressionError(message, parameter, text, error.offset) from error
    except ExpressionError as error:
        message = f"{parameter}: {_in_one_line(text)}: {error}"
        raise FaultyExpressionError(message, parameter, text, error.offset) from error
    expression = Expression(text, parameter, node, zone)
    if any(part.is_interval for part in (node.type, *node.type.parts)):
        message = f"{_in_one_line(text)} is {node.type}, which no attribute can be"
        raise expression.fault(message)
    note(parameter, text, expression.canonical)
    return expression


def _in_one_line(text: str) -> str:
    return repr(" ".join(text.split()))


@functools.lru_cache(maxsize=1024)
def _types(schema: pa.Schema) -> Mapping[str, Type]:
    from streams_orchestration.expressions.arrow import type_of

    return {field.name: type_of(field.type) for field in schema}


def parse_condition(text: str, schema: pa.Schema, parameter: str, zone: dt.tzinfo) -> Expression:
    """Parse a Boolean expression.

    Raises:
        ValueError: as for `parse_expression`, or the value is not Boolean.
    """
    condition = parse_expression(text, schema, parameter, zone)
    if condition.type != BOOLEAN:
        message = f"{_in_one_line(text)} is {condition.type}, a condition is wanted"
        if isinstance(condition.node, Call) and condition.node.function.name == "||":
            message += "; OR joins conditions, || joins texts"
        condition.refuse(message)
    return condition


def condition_of(text: str, ddl: str, parameter: str, zone: dt.tzinfo) -> Expression:
    """Parse a condition on tuples of a type that is given as DDL.

    Raises:
        ValueError: as for `parse_condition`, or `ddl` is not a tuple type.
    """
    return parse_condition(text, arrow_schema(ddl), parameter, zone)


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
        values = {name: column[error.position].as_py() for name, column in rows.columns.items()}
        shown = ", ".join(f"{name} = {shortened(repr(value))}" for name, value in values.items())
        message = f"{expression.reason(error)}; the tuple has {shown}"
        raise DataError(message) from error
    return full(vector, batch.num_rows, expression.arrow_type)


def evaluate_possible(expression: Expression, rows: SelectedTuples) -> tuple[SelectedTuples, pa.Array, dict[int, str]]:
    """Evaluate an expression for all tuples for which evaluation succeeds.

    Returns:
        Those tuples, their values, and the reason for each failed tuple by its position in the batch.
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
    """Evaluate an expression tuple by tuple, which is faster if many tuples fail."""
    from streams_orchestration.expressions.arrow import array_from, values_of
    from streams_orchestration.expressions.rows import row_function

    function = row_function(expression.node, expression.names, expression.zone)
    columns = [rows.columns[name] for name in expression.names]
    kinds = attribute_types(expression.node)
    lists = [values_of(column, kinds[name]) for name, column in zip(expression.names, columns, strict=True)]
    places, reached, passing = rows.places.tolist(), list[Any](), list[int]()
    for place, values in enumerate(zip(*lists, strict=True) if lists else ((),) * rows.count):
        try:
            reached.append(function(values))
            passing.append(place)
        except EvaluationError as error:
            failures[places[place]] = expression.reason(error)
    passed = rows.take(np.array(passing, np.int64))
    return passed, array_from(reached, expression.type), failures


def rows_of(batch: pa.RecordBatch, expressions: Iterable[Expression]) -> SelectedTuples:
    """Return the tuples of a batch with only the attributes that the expressions use."""
    from streams_orchestration.expressions.vectors import SelectedTuples

    names = dict.fromkeys(name for expression in expressions for name in expression.names)
    return SelectedTuples({name: batch.column(name) for name in names}, batch.num_rows)


def frame(batch: pa.RecordBatch) -> pl.DataFrame:
    """Return a batch as a Polars frame, without copying where the types agree."""
    import polars as pl

    return cast("pl.DataFrame", pl.from_arrow(batch))
