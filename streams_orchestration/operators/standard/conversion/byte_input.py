"""The attribute or expression with the bytes that an operator reads, such as Parse and Decompress."""

from __future__ import annotations

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.errors import check_attributes
from streams_orchestration.operators.expressions.evaluation import Expression, evaluate, parse_expression
from streams_orchestration.operators.expressions.spl.text import SplText
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import type_name


def bytes_read(given: str | None, parameter: str, schema: pa.Schema, context: OperatorContext) -> str | Expression:
    """Return the attribute or expression with the bytes; the only attribute if none is given.

    Args:
        given: the value of the parameter.
        parameter: the name of the parameter, for errors.
        schema: the schema of the input stream.
        context: the context of the operator.

    Raises:
        UnknownAttributeError: the input stream does not have the attribute.
        ValueError: there is no value and several attributes, the expression is faulty, or the value is neither binary
            nor string.
    """
    if isinstance(given, SplText):
        expression = parse_expression(given, schema, parameter, context.zone)
        check_bytes("the value", expression.arrow_type, parameter)
        return expression
    name = given or schema.names[0]
    if given is None and len(schema) != 1:
        message = f"{parameter}: name the attribute that contains the bytes: {', '.join(schema.names)}"
        raise ValueError(message)
    check_attributes(parameter, [name], schema.names)
    check_bytes(name, schema.field(name).type, parameter)
    return name


def check_bytes(name: str, kind: pa.DataType, parameter: str) -> None:
    """Raise ValueError if a type is neither binary nor string."""
    if not (pa.types.is_binary(kind) or pa.types.is_string(kind)):
        message = f"{parameter}: {name} is {type_name(kind)}, but binary or string is expected"
        raise ValueError(message)


def parts_of_bytes(content: str | Expression, batch: pa.RecordBatch) -> list[bytes]:
    """Return the bytes of each tuple, leaving out nulls.

    Raises:
        DataError: the expression has no value for a tuple.
    """
    column = batch.column(content) if isinstance(content, str) else evaluate(content, batch)
    return pc.cast(pc.drop_null(column), pa.binary()).to_pylist()
