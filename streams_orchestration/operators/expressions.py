"""Expressions over the attributes of a stream, in Polars' SQL dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from streams_orchestration.model.names import nearest

if TYPE_CHECKING:
    import polars as pl


def parse_expression(text: str, schema: pa.Schema, parameter: str) -> pl.Expr:
    """Read an expression and prove that it fits the stream.

    Args:
        text: for example `dep_delay IS NOT NULL AND dep_delay > 15`.
        schema: of the stream whose attributes it may use.
        parameter: named in errors.

    Raises:
        ValueError: a syntax error, an unknown attribute or function, or types that do not go together.
    """
    import polars as pl

    try:
        expression = pl.sql_expr(text)
    except pl.exceptions.PolarsError as error:
        message = f"{parameter}: {text!r} is not an expression: {_first_line(error)}"
        raise ValueError(message) from error
    for name in expression.meta.root_names():
        if name not in schema.names:
            message = f"{parameter}: {text!r} uses the attribute {name}, which the stream does not have"
            raise ValueError(message + nearest(name, schema.names))
    try:
        _empty_frame(schema).select(expression.alias("value")).collect()
    except pl.exceptions.PolarsError as error:
        message = f"{parameter}: {text!r} does not fit the stream's types: {_first_line(error)}"
        raise ValueError(message) from error
    return expression


def expression_type(expression: pl.Expr, schema: pa.Schema) -> pa.DataType:
    """The Arrow type of an expression's value."""
    return _empty_frame(schema).select(expression.alias("value")).collect().to_arrow().schema.field("value").type


def frame(batch: pa.RecordBatch) -> pl.DataFrame:
    """A batch as a Polars frame, without a copy where the types agree."""
    import polars as pl

    return pl.DataFrame(pa.Table.from_batches([batch]))


def evaluate(expression: pl.Expr, batch: pa.RecordBatch) -> pa.Array:
    """The expression's value for every tuple; a constant is repeated."""
    import polars as pl

    values = frame(batch).select(expression.alias("value"))["value"]
    if len(values) != batch.num_rows:
        values = pl.Series("value", [values[0]] * batch.num_rows, dtype=values.dtype)
    array = values.to_arrow()
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _empty_frame(schema: pa.Schema) -> pl.LazyFrame:
    import polars as pl

    return pl.DataFrame(schema.empty_table()).lazy()


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
