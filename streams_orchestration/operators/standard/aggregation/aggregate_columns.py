"""Checks the parameters of an Aggregate against its streams, and compiles its output functions."""

from __future__ import annotations

from typing import NamedTuple

from streams_orchestration.expressions.tokens import name_token
from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.errors import FaultyExpressionError, unknown_attribute
from streams_orchestration.operators.errors.faults import report, reported
from streams_orchestration.operators.event_time.clause import SessionWindow
from streams_orchestration.operators.event_time.times import time_type
from streams_orchestration.operators.expressions.evaluation import Expression, column_expression, note, parse_expression
from streams_orchestration.operators.inputs.event_time import LATE_PORT, check_late_port
from streams_orchestration.operators.inputs.failed_tuples import REASON, check_failure_port, own_outputs
from streams_orchestration.operators.standard.aggregation.measure import parse_measure
from streams_orchestration.operators.standard.aggregation.number_measure import Measure, WindowCount
from streams_orchestration.operators.standard.aggregation.pane_functions import (
    PaneExpression,
    PaneFunction,
    pane_expression,
    parse_pane_function,
)
from streams_orchestration.operators.standard.aggregation.parameters import (
    AggregateParameters,
    PaneWindow,
    aggregate_window,
)
from streams_orchestration.operators.tuples.arrow_types import fits, type_name
from streams_orchestration.operators.windows.clause import ARRIVAL, Window


class CompiledAggregate(NamedTuple):
    """An Aggregate's window and output, fitted to its streams."""

    window: Window | PaneWindow
    measures: dict[str, Measure]
    """The functions over tuples, by output attribute."""
    functions: dict[str, PaneFunction]
    """The functions over panes, by output attribute, or by column if they are parts of an expression."""
    columns: dict[str, Expression]
    """The expression for each attribute of a group's tuple."""


def compile_aggregate(context: OperatorContext, parameters: AggregateParameters) -> CompiledAggregate:
    """Check and compile the parameters.

    Types that come from the event-time attribute are checked only where the role in an event-time graph is known. If
    faults are gathered, an attribute with a fault may be left out of `columns`.

    Raises:
        ValueError: the window, an attribute, a function or an output port does not fit.
    """
    source, target = context.inputs[0], context.output_schema()
    window = _readable_window(parameters.window)
    check_failure_port(context, parameters, source)
    if window is not None:
        unless = "only a window of event time finds late tuples" if isinstance(window, Window) else None
        check_late_port(context, LATE_PORT, len(own_outputs(context, parameters)), unless)
    _check_nulls_of_failed_groups(context, parameters)
    for parameter, names in (("groupBy", parameters.group_by), ("partitionBy", parameters.partition_by)):
        for name in names:
            if name not in source.names:
                report(unknown_attribute(parameter, name, source.names))
    for name in parameters.output:
        if name not in target.names:
            report(unknown_attribute("output", name, target.names, "the output stream"))
    output = _assigned(context, parameters)
    measures, functions, composed = _functions(context, parameters, window)
    time = None
    if window is not None and not isinstance(window, Window) and context.event_time is not None:
        time = time_type(source, context.event_time)
    columns: dict[str, Expression] = {}
    for field in target:
        name = field.name
        measure = measures.get(field.name)
        function = functions.get(field.name)
        if name not in (*output, *parameters.group_by, *parameters.partition_by):
            message = f"output: {name} has no value; give it a function, or put it into groupBy"
            report(ValueError(message))
        elif name in composed:
            value = parse_expression(composed[name].text, composed[name].schema, f"output.{name}", context.zone)
            columns[name] = value.assigned(field.type, required=name in context.required_at())
        elif name in measures or name in functions or (name not in output and name in source.names):
            kind = (
                measure.result_type
                if measure
                else function.result_type(time, field.type)
                if function
                else source.field(name).type
            )
            if kind is None:
                continue
            if not fits(kind, field.type):
                message = (
                    f"output.{name}: the value is {type_name(kind)}, "
                    f"but the output stream's attribute is {type_name(field.type)}"
                )
                report(FaultyExpressionError(message, f"output.{name}", output.get(name, "")))
                continue
            text = output.get(name, name_token(name))
            value = column_expression(name, kind, f"output.{name}", text, context.zone)
            columns[name] = value.assigned(field.type, required=name in context.required_at())
    window = aggregate_window(parameters.window) if window is None else window
    if isinstance(window, Window):
        if parameters.by == "clock":
            window = window.by_clock().resolved(source, ARRIVAL)
        else:
            window = window.resolved(source, parameters.time_attribute)
    return CompiledAggregate(window, measures, functions, columns)


def _readable_window(text: str) -> Window | PaneWindow | None:
    """Return the window, or None if its text is wrong, which is reported after all other faults."""
    try:
        return aggregate_window(text)
    except ValueError:
        return None


def _functions(
    context: OperatorContext, parameters: AggregateParameters, window: Window | PaneWindow | None
) -> tuple[dict[str, Measure], dict[str, PaneFunction], dict[str, PaneExpression]]:
    """Return the output functions over tuples, those over panes, and the expressions with functions over panes."""
    measures: dict[str, Measure] = {}
    functions: dict[str, PaneFunction] = {}
    composed: dict[str, PaneExpression] = {}
    source = context.inputs[0]
    for name, text in _assigned(context, parameters).items():
        place = f"output.{name}"
        with reported():
            function = parse_pane_function(text, place)
            expression = None if isinstance(window, Window) else pane_expression(text)
            if expression is not None:
                composed[name] = expression
                functions |= expression.functions
            elif function is None:
                measures[name] = parse_measure(text, source, place, context.zone, parameters.functions)
            elif isinstance(window, Window):
                message = (
                    f"{place}: {function.name}() needs a window of event time, such as 'timeInterval, "
                    f"intervalDuration(10.0)' is; {parameters.window!r} has no panes"
                )
                raise FaultyExpressionError(message, place, text)
            else:
                functions[name] = function
                note(place, text, f"{function.name}()".__str__)
            if not isinstance(window, Window) and isinstance(measures.get(name), WindowCount):
                message = f"{place}: {text!r} is for windows by order of arrival, not for windows of event time"
                raise FaultyExpressionError(message, place, text)
            if isinstance(window, SessionWindow) and name in measures and measures[name].by_arrival:
                message = (
                    f"{place}: {text!r} depends on the order of arrival, which session windows do not preserve; they "
                    "support counts, sums, averages, extremes, deviations and counts of different values"
                )
                raise FaultyExpressionError(message, place, text)
    return measures, functions, composed


def _assigned(context: OperatorContext, parameters: AggregateParameters) -> dict[str, str]:
    """Return the output functions by attribute, including a `Last` for each attribute that `takeLast` adds."""
    source, taken = context.inputs[0], dict[str, str]()
    if parameters.take_last:
        known = {*parameters.output, *parameters.group_by, *parameters.partition_by}
        for field in context.output_schema():
            if field.name not in known and field.name in source.names:
                taken[field.name] = f"Last({name_token(field.name)})"
    return parameters.output | taken


def _check_nulls_of_failed_groups(context: OperatorContext, parameters: AggregateParameters) -> None:
    """Report a NOT NULL attribute of the failure port that would be null for a failed group."""
    if parameters.on_error != "route" or len(context.outputs) < 2:
        return
    port = len(context.outputs) - 1
    for name in context.required_at(port):
        if name not in (*parameters.group_by, *parameters.partition_by, REASON):
            message = (
                f"onError: output port {port} also gets the groups that fail; their {name} is null, since groupBy and "
                f"partitionBy do not name it: leave out NOT NULL"
            )
            report(ValueError(message))
