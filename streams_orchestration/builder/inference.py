"""Inference of tuple types from columns, and the check that columns fit, at the moment an operator is added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from pydantic import ValidationError

from streams_orchestration.builder.columns import Column, Summary, col
from streams_orchestration.builder.nodes import BuildError, DraftNode
from streams_orchestration.builder.places import calling_place
from streams_orchestration.compiler.time_attributes import attribute_type
from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.tree import AttributeValue
from streams_orchestration.expressions.types import parse_type
from streams_orchestration.expressions.typing import typed
from streams_orchestration.model.schema import parse_schema, quoted
from streams_orchestration.model.standard import KEEPS_TYPE
from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.standard import STANDARD

Expression = str | Column
REFERENCE = "${"
"""Prefix of a reference to a submission-time value; the type of a text that contains a reference is not known yet."""


def selected(
    columns: Sequence[Expression], named: Mapping[str, Expression | float | bool], ddl: str
) -> tuple[dict[str, Any], str]:
    """Return the `output` clause and the tuple type of a selection from a stream.

    Args:
        columns: the names of attributes, and expressions that have a name.
        named: attribute -> expression.
        ddl: the tuple type of the stream.

    Raises:
        BuildError: an expression has no name or no type, or two have the same name.
    """
    known = {each.name: each for each in parse_schema(ddl).attributes}
    output: dict[str, Any] = {}
    attributes: dict[str, str] = {}
    pairs = [(_name_of(each), col(each) if isinstance(each, str) else each) for each in columns]
    for name, expression in (*pairs, *named.items()):
        if name in attributes:
            _fail(f"select: there are two attributes {name}; give one another name by .alias()")
        text = str(expression).lower() if isinstance(expression, bool) else str(expression)
        node = _typed(name, text, {key: parse_type(each.type) for key, each in known.items()})
        same = isinstance(node, AttributeValue) and node.name == name
        if not node.type.is_attribute:
            _fail(f"select: {name} is {node.type}, which is not a type of an attribute; cast it")
        required = isinstance(node, AttributeValue) and known[node.name].required
        attributes[name] = f"{quoted(name)} {node.type}{' NOT NULL' * required}"
        if not same:
            output[name] = expression
    return output, ", ".join(attributes.values())


def _typed(name: str, text: str, attributes: Mapping[str, Any]) -> Any:
    if REFERENCE in text:
        _fail(f"select: the type of {name} is not known before submission; use map(..., schema) instead")
    try:
        return typed(text, attributes)
    except ExpressionError as error:
        _fail(f"select: {name}: {text!r}: {error}")


def _name_of(expression: Expression) -> str:
    name = expression if isinstance(expression, str) else expression.name
    if name is None:
        _fail(f"select: nothing names {expression}; give it a name by .alias() or as name={expression}")
    return name


def summarised(
    output: Mapping[str, str | Summary], keys: Sequence[str], ddl: str, event_time: str | None = None
) -> str | None:
    """Return the tuple type of an aggregate, or None if it depends on a submission-time value.

    Args:
        output: the output functions by attribute.
        keys: the attributes that form groups and partitions.
        ddl: the tuple type of the stream.
        event_time: the event-time attribute of the stream, if it is known.

    Raises:
        BuildError: a function or a key does not fit the stream, or a result has the type of an event-time attribute
            that is not known.
    """
    from streams_orchestration.expressions.times import UTC
    from streams_orchestration.operators.loading.libraries import pa
    from streams_orchestration.operators.standard.aggregation.measure import parse_measure
    from streams_orchestration.operators.standard.aggregation.pane_functions import parse_pane_function
    from streams_orchestration.operators.tuples.arrow_types import arrow_schema, schema_ddl

    texts = {name: str(each) for name, each in output.items()}
    if any(REFERENCE in text for text in texts.values()):
        return None
    source = arrow_schema(ddl)
    for key in keys:
        if key not in source.names:
            _fail(f"aggregate: the stream has no attribute {key}; it has {', '.join(source.names)}")
    time = None if event_time is None else attribute_type(ddl, event_time)
    moment = None if time is None else arrow_schema(f"at {time}").field(0).type
    types: dict[str, pa.DataType | None] = {}
    try:
        for name, text in texts.items():
            function = parse_pane_function(text, f"output.{name}")
            if function is None:
                types[name] = parse_measure(text, source, f"output.{name}", UTC).result_type
            else:
                types[name] = function.result_type(moment)
    except ValueError as error:
        _fail(f"aggregate: {error}")
    if unknown := [name for name, kind in types.items() if kind is None]:
        _fail(
            f"aggregate: {texts[unknown[0]]} has the type of the event-time attribute; "
            "give the schema of the output: schema=..."
        )
    fields = {key: source.field(key) for key in keys}
    fields |= {name: pa.field(name, kind) for name, kind in types.items()}
    return schema_ddl(pa.schema(list(fields.values())))


def refuse_misfits(node: DraftNode, inputs: Sequence[str | None], outputs: Sequence[str | None]) -> None:
    """Check that an operator's parameters, which were made of columns, fit the tuple types of its streams.

    The check is left to compiling for operators of the application's own, unknown tuple types, references to
    submission-time values, invalid parameters, and operators that read files.

    Args:
        node: the invocation of the operator.
        inputs: the tuple type of each input port; None if it is not known here.
        outputs: the tuple type of each output port, or None in the same case.

    Raises:
        BuildError: an expression does not fit the streams.
    """
    known = [ddl for ddl in inputs if ddl is not None]
    if node.operator not in STANDARD or len(known) < len(inputs) or REFERENCE in str(node.parameters):
        return
    if None in outputs and node.operator not in KEEPS_TYPE:
        return
    implementation = import_operator(STANDARD[str(node.operator)])
    try:
        parameters = implementation.Parameters.model_validate(node.parameters)
    except ValidationError:
        return  # compiling reports it
    if implementation.input_files(parameters):
        return  # the input files may be missing yet
    try:
        implementation.check(OperatorContext.declared(node.kind, known, outputs), parameters)
    except ValueError as error:
        message = f"{node.kind}: {error}"
        raise BuildError(message, node.place) from error


def _fail(message: str) -> NoReturn:
    raise BuildError(message, calling_place())
