"""Rows of CSV as tuples, by Arrow."""

from __future__ import annotations

import csv
from typing import Any

from streams_orchestration.operators.formats.checks import check_nulls, check_values
from streams_orchestration.operators.formats.csv_dialect import CsvDialect
from streams_orchestration.operators.formats.texts import out_of_range, values_of
from streams_orchestration.operators.libraries import np, pa, pa_csv


def parse_options(dialect: CsvDialect, *, blank_lines: bool = False) -> pa_csv.ParseOptions:
    """Return Arrow's options for splitting rows and values.

    Args:
        dialect: the dialect of the text.
        blank_lines: an empty line is a row.
    """
    # without newlines_in_values a block may end within quotes
    return pa_csv.ParseOptions(
        delimiter=dialect.separator,
        quote_char='"' if dialect.quoted else False,
        double_quote=dialect.quoted,
        newlines_in_values=dialect.quoted,
        ignore_empty_lines=not blank_lines,
    )


def reader_options(dialect: CsvDialect) -> dict[str, Any]:
    """Return options for Python's `csv`, which finds the reason why a row is refused."""
    quoting = csv.QUOTE_MINIMAL if dialect.quoted else csv.QUOTE_NONE
    return {"delimiter": dialect.separator, "quoting": quoting}


def convert_options(dialect: CsvDialect, schema: pa.Schema, *, null_in_quotes: bool) -> pa_csv.ConvertOptions:
    """Return Arrow's options for the columns of `schema`; binary columns are read as texts."""
    return pa_csv.ConvertOptions(
        column_types=_read_as(schema),
        include_columns=schema.names,
        null_values=list(dialect.null_texts),
        strings_can_be_null=True,
        quoted_strings_can_be_null=null_in_quotes,
    )


def texts_apart(schema: pa.Schema) -> tuple[pa.Schema, pa.Schema]:
    """Return the attributes that are texts in CSV, and the others."""
    texts = [field for field in schema if _is_text(field.type)]
    return pa.schema(texts), pa.schema([field for field in schema if not _is_text(field.type)])


def read_rows(
    content: bytes, names: list[str], schema: pa.Schema, dialect: CsvDialect, *, blank_lines: bool = False
) -> pa.RecordBatch:
    """Return the tuples of whole rows.

    A text in quotes is no null; of another type also a value in quotes may be null, as where all values have quotes.

    Args:
        content: the rows.
        names: the names of their columns.
        schema: the schema of the tuples.
        dialect: the dialect of the text.
        blank_lines: an empty line is a row.

    Raises:
        pyarrow.ArrowInvalid, pyarrow.ArrowKeyError, DataError: one does not fit.
    """

    def read(part: pa.Schema, *, null_in_quotes: bool) -> pa.Table:
        options = pa_csv.ReadOptions(use_threads=False, block_size=len(content) + 1, column_names=names)
        return pa_csv.read_csv(
            pa.BufferReader(content),
            options,
            parse_options(dialect, blank_lines=blank_lines),
            convert_options(dialect, part, null_in_quotes=null_in_quotes),
        )

    try:
        table = read(schema, null_in_quotes=False)
    except pa.ArrowInvalid as error:
        texts, others = texts_apart(schema)
        if b'"' not in content or not len(others) or "conversion error" not in str(error):
            raise
        table = read(others, null_in_quotes=True)
        if len(texts):
            strings = read(texts, null_in_quotes=False)
            for field in texts:
                table = table.append_column(field.name, strings.column(field.name))
    batch = taken({name: table.column(name) for name in schema.names}, schema)
    if has_infinite(batch):
        floats = pa.schema([field.with_type(pa.string()) for field in schema if pa.types.is_floating(field.type)])
        written = read(floats, null_in_quotes=False)
        if any(out_of_range(batch.column(name), written.column(name).combine_chunks()).any() for name in floats.names):
            message = "conversion error: a number is out of range"
            raise pa.ArrowInvalid(message)
    return batch


def taken(columns: dict[str, Any], schema: pa.Schema) -> pa.RecordBatch:
    """Return the columns that Arrow read, as attributes.

    Raises:
        pyarrow.ArrowInvalid, DataError: a value does not fit, or is null where the field is not nullable.
    """
    arrays = [_attribute(columns[field.name], field) for field in schema]
    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
    check_values(batch)
    check_nulls(batch)
    return batch


def has_infinite(batch: pa.RecordBatch) -> bool:
    """Return True if a number is infinite, be it meant so or out of range."""
    columns = (column for column in batch.columns if pa.types.is_floating(column.type))
    return any(bool(np.isinf(column.to_numpy(zero_copy_only=False)).any()) for column in columns)


def _attribute(column: Any, field: pa.Field) -> pa.Array:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return array if array.type == field.type else values_of(array, field.type)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_binary(kind)


def _read_as(schema: pa.Schema) -> pa.Schema:
    binary = pa.types.is_binary
    return pa.schema([field.with_type(pa.string()) if binary(field.type) else field for field in schema])
