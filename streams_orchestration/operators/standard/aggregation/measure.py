"""The parser of Aggregate's output functions, which chooses their measures."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace

from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.naming import OuterCall, Part
from streams_orchestration.model.names import nearest
from streams_orchestration.operators.errors.errors import FaultyExpressionError
from streams_orchestration.operators.expressions.evaluation import Expression, note, read_expression
from streams_orchestration.operators.expressions.spl.text import call_of
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.aggregation.approximate_counts import NAME as APPROXIMATE
from streams_orchestration.operators.standard.aggregation.approximate_counts import approx_count_distinct
from streams_orchestration.operators.standard.aggregation.decimal_measures import decimal_measure
from streams_orchestration.operators.standard.aggregation.list_measures import LIST_FUNCTIONS
from streams_orchestration.operators.standard.aggregation.number_measure import (
    WINDOW_COUNTS,
    Measure,
    NumberMeasure,
    TimeExtreme,
    WindowCount,
)
from streams_orchestration.operators.standard.aggregation.output_functions import (
    OUTPUT_FUNCTIONS,
    STREAMS_FUNCTIONS,
    OutputFunction,
)
from streams_orchestration.operators.standard.aggregation.pane_functions import PANE_FUNCTIONS
from streams_orchestration.operators.standard.aggregation.streams_functions import (
    FURTHER_FUNCTIONS,
    Functions,
    streams_measure,
)
from streams_orchestration.operators.standard.aggregation.value_functions import (
    DECIMAL_FUNCTIONS,
    VALUE_FUNCTIONS,
    collect_list,
)
from streams_orchestration.operators.standard.aggregation.value_measures import ValueFunction, ValueMeasure
from streams_orchestration.operators.tuples.arrow_types import is_text, type_name
from streams_orchestration.spl.types.types import Optional

_OF_NULLS = frozenset(("CollectDistinct", "CountByDistinct", "CountDistinct"))
"""The functions that count null as a value if it is one of an optional type of SPL."""
FUNCTIONS: dict[str, OutputFunction] = {each.name: each for each in (*OUTPUT_FUNCTIONS, *STREAMS_FUNCTIONS)}
"""The output functions by name."""


def parse_measure(
    text: str, schema: pa.Schema, parameter: str, zone: dt.tzinfo, functions: Functions = "spark"
) -> Measure:
    """Parse an output function such as `Average(x > 1)`; within `noted`, also record its canonical text.

    The arguments are described at `_measure`.

    Raises:
        ValueError: there is no such function, or its argument does not fit.
    """
    measure = _measure(text, schema, parameter, zone, functions)
    note(parameter, text, lambda: _canonical(text, schema, parameter, zone))
    return measure


def _canonical(text: str, schema: pa.Schema, parameter: str, zone: dt.tzinfo) -> str:
    call = call_of(text)
    assert call is not None
    arguments = (_argument(text, part, schema, parameter, zone).canonical() for part in call.arguments)
    return f"{call.name}({', '.join(arguments)})"


def _measure(text: str, schema: pa.Schema, parameter: str, zone: dt.tzinfo, functions: Functions) -> Measure:
    """Parse an output function such as `Average(dep_delay > 15)`.

    Args:
        text: the function with its argument.
        schema: the schema of the stream whose attributes it may use.
        parameter: the name of the parameter, for errors.
        zone: the time zone of the application.
        functions: the system that defines result types and values, `spark` or `streams`.
    """

    def fault(message: str, offset: int | None = None) -> FaultyExpressionError:
        return FaultyExpressionError(f"{parameter}: {message}", parameter, text, offset)

    try:
        call = call_of(text)
    except ExpressionError as error:
        message = f"{text!r}: {error}"
        raise fault(message, error.offset) from error
    if call is None or call.name not in FUNCTIONS:
        known = (*FUNCTIONS, *PANE_FUNCTIONS)
        message = f"{text!r} is not an output function{nearest(text if call is None else call.name, known)}"
        raise fault(message)
    function, parts = call
    if function == "Count" or function in WINDOW_COUNTS:
        if parts:
            message = f"{function}() takes no argument"
            raise fault(message, parts[0].offset)
        if function != "Count":
            return WindowCount(function, pa.int32() if functions == "streams" else pa.int64())
        return (streams_measure(function, ()) if functions == "streams" else None) or NumberMeasure(function)
    if function == "CollectList":
        if len(parts) != 2 or not parts[1].text.isdecimal() or int(parts[1].text) < 1:
            message = f"{FUNCTIONS[function].call} takes a value and the largest number of values to keep, at least 1"
            raise fault(message)
        limited = collect_list(int(parts[1].text))
        return _value_measure(function, limited, [_argument(text, parts[0], schema, parameter, zone)], fault)
    if function == APPROXIMATE:
        if len(parts) not in (1, 2):
            message = f"{FUNCTIONS[function].call} takes a value and, if wanted, a relative standard deviation"
            raise fault(message)
        try:
            counting = approx_count_distinct(*(part.text for part in parts[1:]))
        except ValueError as error:
            raise fault(str(error)) from error
        return _value_measure(function, counting, [_argument(text, parts[0], schema, parameter, zone)], fault)
    if not parts:
        message = f"{function} takes an argument"
        raise fault(message)
    expressions = [_argument(text, part, schema, parameter, zone) for part in parts]
    measure = _of_values(call, expressions, functions, fault)
    if function in _OF_NULLS and isinstance(measure, ValueMeasure) and isinstance(expressions[0].spl_type, Optional):
        measure.function = replace(measure.function, takes_null=True)
    return measure


def _of_values(
    call: OuterCall, expressions: list[Expression], functions: Functions, fault: Callable[..., FaultyExpressionError]
) -> Measure:
    """Return the measure of a function over the values of expressions."""
    function, parts = call
    expression = expressions[0]
    kind = expression.arrow_type
    of_decimals = decimal_measure(function, expressions) if functions == "streams" else None
    if of_decimals is not None:
        return of_decimals
    typed = streams_measure(function, expressions) if functions == "streams" else None
    if typed is None and pa.types.is_uint64(kind) and function in DECIMAL_FUNCTIONS:
        expressions = [expression.assigned(pa.decimal128(20))]
        kind = expressions[0].arrow_type
    if function in FURTHER_FUNCTIONS:
        measure = _value_measure(function, FURTHER_FUNCTIONS[function], expressions, fault)
        return typed or measure
    if typed is not None and function in LIST_FUNCTIONS and (is_text(kind) or pa.types.is_list(kind)):
        return typed
    if pa.types.is_decimal(kind) and function in DECIMAL_FUNCTIONS:
        return _value_measure(function, DECIMAL_FUNCTIONS[function], expressions, fault)
    number = (pa.types.is_integer(kind) and not pa.types.is_uint64(kind)) or pa.types.is_floating(kind)
    if function in ("Min", "Max") and pa.types.is_temporal(kind) and len(parts) == 1 and typed is None:
        return TimeExtreme(function, expression, kind)
    if function in VALUE_FUNCTIONS and not (number and function in ("Min", "Max")):
        measure = _value_measure(function, VALUE_FUNCTIONS[function], expressions, fault)
        return typed or measure
    if len(parts) != 1:
        message = f"{function} takes one argument, not {len(parts)}"
        raise fault(message, parts[1].offset)
    whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    if not (whole or pa.types.is_floating(kind)):
        message = f"{function} needs a number or a condition, but {parts[0].text!r} is {type_name(kind)}"
        raise fault(message, parts[0].offset)
    return typed or NumberMeasure(function, expression, whole=whole)


def _argument(whole: str, part: Part, schema: pa.Schema, parameter: str, zone: dt.tzinfo) -> Expression:
    """Parse an argument."""
    try:
        return read_expression(part.text, schema, parameter, zone)
    except FaultyExpressionError as error:
        offset = part.offset + (error.offset or 0)
        raise type(error)(error.reason, parameter, whole, offset) from error


def _value_measure(
    name: str,
    function: ValueFunction,
    expressions: list[Expression],
    fault: Callable[[str], FaultyExpressionError],
) -> ValueMeasure:
    if len(expressions) != len(function.accepts):
        message = f"{FUNCTIONS[name].call} does not take {len(expressions)} arguments"
        raise fault(message)
    types = [expression.arrow_type for expression in expressions]
    for expression, kind, accepts in zip(expressions, types, function.accepts, strict=True):
        if not accepts(kind):
            message = f"{name} cannot be computed from {expression.text!r}, which is {type_name(kind)}"
            raise fault(message)
    return ValueMeasure(function, expressions, types)
