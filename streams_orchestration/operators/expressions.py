"""Expressions over the attributes of a stream, in Polars' SQL dialect."""

from __future__ import annotations

import json
import re
import warnings
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import BeforeValidator

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.arrow_types import arrow_schema, type_name
from streams_orchestration.operators.errors import UnknownAttributeError
from streams_orchestration.operators.libraries import pa

if TYPE_CHECKING:
    import polars as pl

_ACROSS_TUPLES = frozenset(("Agg", "Over", "Window", "Len", "Rank", "Shift", "Random", "CumCount", "CumSum"))
"""Nodes whose value depends on other tuples of the batch, and so on where batches begin and end."""

_QUOTED_OR_POINT = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|(?<![\w.])(\d+\.\d*|\.\d+)(?![\w.])""")
"""A text or a name in quotes, or a number with a decimal point and without an exponent."""
_DECIMAL = re.compile(r"\b(decimal|numeric|dec)\b", re.IGNORECASE)

Condition = Annotated[str, BeforeValidator(lambda value: str(value).lower() if isinstance(value, bool) else value)]
"""A parameter that is a condition; `true` and `false` need no quotes in a spec."""


def parse_expression(text: str, schema: pa.Schema, parameter: str, target: pa.DataType | None = None) -> pl.Expr:
    """Read an expression and prove that it fits the stream.

    A number with a decimal point is a double, since `n / 3.0` as a decimal has no more than six digits behind the
    point. It is a decimal if the expression uses a decimal attribute, is for one, or casts to decimal.

    Args:
        text: for example `dep_delay IS NOT NULL AND dep_delay > 15`.
        schema: of the stream whose attributes it may use.
        parameter: named in errors.
        target: the type of the attribute that the value is for.

    Raises:
        UnknownAttributeError: the stream lacks an attribute.
        ValueError: a syntax error, an unknown function, types that do not go together, or a value that depends on more
            than one tuple.
    """
    import polars as pl

    try:
        expression = pl.sql_expr(text)
        types = [target, *(schema.field(name).type for name in expression.meta.root_names() if name in schema.names)]
        if not _DECIMAL.search(text) and not any("decimal" in str(each) for each in types):
            expression = pl.sql_expr(_QUOTED_OR_POINT.sub(_double, text))
    except pl.exceptions.PolarsError as error:
        message = f"{parameter}: {text!r} is not an expression: {_first_line(error)}"
        raise ValueError(message) from error
    for name in expression.meta.root_names():
        if name not in schema.names:
            message = f"{parameter}: {text!r} uses the attribute {name}, which the stream does not have"
            if not _stands_unquoted(name, text):
                message += "; texts are written 'in single quotes'"
                raise ValueError(message)
            raise UnknownAttributeError(message + nearest(name, schema.names))
    if _looks_across(expression):
        message = f"{parameter}: {text!r} looks at more than one tuple; use an Aggregate for that"
        raise ValueError(message)
    try:
        _empty_frame(schema).select(expression.alias("value")).collect()
    except pl.exceptions.PolarsError as error:
        message = f"{parameter}: {text!r} does not fit the stream's types: {_first_line(error)}"
        raise ValueError(message) from error
    return expression


def parse_condition(text: str, schema: pa.Schema, parameter: str) -> pl.Expr:
    """Read an expression that is true or false.

    Raises:
        ValueError: as `parse_expression`, or the value is of another type.
    """
    condition = parse_expression(text, schema, parameter)
    kind = expression_type(condition, schema)
    if not pa.types.is_boolean(kind):
        message = f"{parameter}: {text!r} is {type_name(kind)}, a condition is wanted"
        raise ValueError(message)
    return condition


def condition_of(text: str, ddl: str, parameter: str) -> pl.Expr:
    """Read a condition on tuples of a type.

    Raises:
        ValueError: as `parse_condition`, or the text is no tuple type.
    """
    return parse_condition(text, arrow_schema(ddl), parameter)


def _double(match: re.Match[str]) -> str:
    quoted, number = match.groups()
    return quoted or f"{number}e0"


def _stands_unquoted(name: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", re.sub(r"'[^']*'|\"[^\"]*\"", "", text)) is not None


def expression_type(expression: pl.Expr, schema: pa.Schema) -> pa.DataType:
    """The Arrow type of an expression's value."""
    return _empty_frame(schema).select(expression.alias("value")).collect().to_arrow().schema.field("value").type


def frame(batch: pa.RecordBatch) -> pl.DataFrame:
    """A batch as a Polars frame, without a copy where the types agree."""
    import polars as pl

    return cast("pl.DataFrame", pl.from_arrow(batch))


def evaluate(expression: pl.Expr, batch: pa.RecordBatch) -> pa.Array:
    """The expression's value for every tuple; a constant is repeated."""
    import polars as pl

    names = list(dict.fromkeys(expression.meta.root_names()))
    if expression.meta.is_column():
        return batch.column(names[0])
    # only what it looks at: Polars copies texts
    values = frame(batch.select(names)).select(expression.alias("value"))["value"]
    if len(values) != batch.num_rows:
        values = pl.Series("value", [values[0]] * batch.num_rows, dtype=values.dtype)
    array = values.to_arrow()
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _looks_across(expression: pl.Expr) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _names_across(json.loads(expression.meta.serialize(format="json")))


def _names_across(node: Any) -> bool:
    if isinstance(node, dict):
        inner = ((key, value) for key, value in node.items() if key not in ("Column", "Literal"))
        return any(key in _ACROSS_TUPLES or _names_across(value) for key, value in inner)
    if isinstance(node, list):
        return any(_names_across(value) for value in node)
    return node in _ACROSS_TUPLES if isinstance(node, str) else False


def _empty_frame(schema: pa.Schema) -> pl.LazyFrame:
    import polars as pl

    # Schema.empty_table() would import pandas, which takes longer than all else
    return cast("pl.DataFrame", pl.from_arrow(pa.Table.from_batches([], schema))).lazy()


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
