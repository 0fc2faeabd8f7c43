"""Evaluation of an expression for one tuple at a time.

This evaluation defines the meaning of expressions; `vectors` evaluates whole batches and must give the same values.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any, assert_never

from streams_orchestration.expressions.conversion import converter
from streams_orchestration.expressions.errors import ODD_ARGUMENTS, EvaluationError, PatternError
from streams_orchestration.expressions.functions.ranges import checked
from streams_orchestration.expressions.table import Binding, TupleFunction
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
)
from streams_orchestration.expressions.types import BIGINT, DATE, INT

RowFunction = Callable[[Sequence[Any]], Any]
"""A function from the values of some attributes, in the order given to `row_function`, to the expression's value."""


def row_function(node: TypedNode, names: Sequence[str], zone: dt.tzinfo) -> RowFunction:
    """Return the function that evaluates a node; it raises EvaluationError for a tuple without a value.

    Args:
        node: the expression.
        names: the attributes whose values the function gets, in this order; all that the expression uses.
        zone: the time zone of the expression.
    """
    match node:
        case Literal():
            value = node.value
            return lambda _row: value
        case AttributeValue():
            position = names.index(node.name)
            return lambda row: row[position]
        case Call():
            return _call(node, [row_function(each, names, zone) for each in node.arguments], zone)
        case Cast():
            return _cast(node, row_function(node.argument, names, zone), zone)
        case Field():
            argument, place = row_function(node.argument, names, zone), node.position
            return lambda row: None if (value := argument(row)) is None else value[place]
        case Case():
            branches = [tuple(row_function(each, names, zone) for each in branch) for branch in node.branches]
            return _case(branches, row_function(node.otherwise, names, zone))
        case Coalesce():
            arguments = [row_function(each, names, zone) for each in node.arguments]
            return lambda row: next((value for each in arguments if (value := each(row)) is not None), None)
        case Junction():
            sides = (row_function(node.left, names, zone), row_function(node.right, names, zone))
            return _junction(*sides, decisive=not node.conjunction)
        case _:
            assert_never(node)


def binding_of(node: Call, zone: dt.tzinfo) -> Binding:
    """Return the types, constants and time zone of a call."""
    constants = tuple((each.value,) if isinstance(each, Literal) else None for each in node.arguments)
    return Binding(tuple(each.type for each in node.arguments), node.type, constants, zone)


def bind(node: Call, zone: dt.tzinfo) -> TupleFunction:
    """Return the function that evaluates a call for given arguments; a strict function is never called with null.

    It raises EvaluationError if the call has no value. A lenient function gives null then, except for a PatternError.
    """
    function = node.function
    try:
        row = function.bind(binding_of(node, zone))
    except EvaluationError as error:  # a constant, such as a pattern, has no meaning: each tuple that needs it fails
        row = _failing(error)
    row = _guarded(row, node) if function.fails or function.lenient else row
    if not function.lenient:
        return row

    def tried(*values: Any) -> Any:
        try:
            return row(*values)
        except PatternError:
            raise
        except EvaluationError:
            return None

    return tried


def _guarded(row: TupleFunction, node: Call) -> TupleFunction:
    """Return the function with EvaluationError for any error of odd arguments, and for a date or time out of range."""
    name, kind = node.function.name, INT if node.type == DATE else BIGINT

    def calculated(*values: Any) -> Any:
        try:
            return row(*values)
        except ODD_ARGUMENTS as error:
            message = f"{name} has no value for these arguments: {error}"
            raise EvaluationError(message) from error

    if not node.type.is_datetime:
        return calculated

    def in_range(*values: Any) -> Any:
        value = calculated(*values)
        return None if value is None else checked(value, kind)

    return in_range


def _failing(error: EvaluationError) -> TupleFunction:
    kind, message = type(error), str(error)

    def fail(*_: Any) -> Any:
        raise kind(message)

    return fail


def convert(node: Cast, zone: dt.tzinfo) -> Callable[[Any], Any]:
    """Return the function that performs a cast; it is never called with null.

    It raises EvaluationError for a value that cannot be converted, or returns None if the cast is lenient.
    """
    plain = converter(node.argument.type, node.type, zone)
    if not node.lenient:
        return plain

    def tried(value: Any) -> Any:
        try:
            return plain(value)
        except EvaluationError:
            return None

    return tried


def _call(node: Call, arguments: list[RowFunction], zone: dt.tzinfo) -> RowFunction:
    row = bind(node, zone)
    if not node.function.strict:
        return lambda values: row(*(each(values) for each in arguments))

    def strict(values: Sequence[Any]) -> Any:
        given: list[Any] = []
        for each in arguments:
            value = each(values)
            if value is None:
                return None  # arguments after a null are not evaluated, so they cannot fail
            given.append(value)
        return row(*given)

    return strict


def _cast(node: Cast, argument: RowFunction, zone: dt.tzinfo) -> RowFunction:
    plain = convert(node, zone)
    return lambda row: None if (value := argument(row)) is None else plain(value)


def _case(branches: list[tuple[RowFunction, ...]], otherwise: RowFunction) -> RowFunction:
    def choose(row: Sequence[Any]) -> Any:
        for condition, value in branches:
            if condition(row):
                return value(row)
        return otherwise(row)

    return choose


def _junction(left: RowFunction, right: RowFunction, *, decisive: bool) -> RowFunction:
    def join(row: Sequence[Any]) -> bool | None:
        first = left(row)
        if first is decisive:
            return decisive
        second = right(row)
        if second is decisive:
            return decisive
        return None if first is None or second is None else not decisive

    return join
