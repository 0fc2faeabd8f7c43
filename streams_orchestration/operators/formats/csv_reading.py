"""Parses CSV rows to tuples with Arrow."""

from __future__ import annotations

import csv
from typing import Any

from streams_orchestration.operators.formats.checks import check_nulls, check_values
from streams_orchestration.operators.formats.csv_dialect import CsvDialect
from streams_orchestration.operators.formats.texts import out_of_range, values_of
from streams_orchestration.operators.loading.libraries import np, pa, pa_csv


def parse_options(dialect: CsvDialect, *, blank_lines: bool = False) -> pa_csv.ParseOptions:
    """Return Arrow's options for splitting rows and values.

    Args:
        dialect: the dialect of the text.
        blank_lines: treat an empty line as a row.
    """
    # without newlines_in_values a block could end within quotes
    return pa_csv.ParseOptions(
        delimiter=dialect.separator,
        quote_char='"' if dialect.quoted else False,
        double_quote=dialect.quoted,
        newlines_in_values=dialect.quoted,
        ignore_empty_lines=not blank_lines,
    )


def reader_options(dialect: CsvDialect) -> dict[str, Any]:
    """Return options for Python's `csv` module, which finds malformed rows and explains why a row is refused."""
    quoting = csv.QUOTE_MINIMAL if dialect.quoted else csv.QUOTE_NONE
    return {"delimiter": dialect.separator, "quoting": quoting}


def convert_options(dialect: CsvDialect, schema: pa.Schema, *, null_in_quotes: bool) -> pa_csv.ConvertOptions:
    """Return Arrow's options for converting the columns of `schema`. Binary columns are read as texts first."""
    return pa_csv.ConvertOptions(
        column_types=_read_as(schema),
        include_columns=schema.names,
        null_values=list(dialect.null_texts),
        strings_can_be_null=True,
        quoted_strings_can_be_null=null_in_quotes,
    )


def texts_apart(schema: pa.Schema) -> tuple[pa.Schema, pa.Schema]:
    """Split the schema into the attributes that are texts in CSV (string and binary) and the others."""
    texts = [field for field in schema if _is_text(field.type)]
    return pa.schema(texts), pa.schema([field for field in schema if not _is_text(field.type)])


def read_rows(
    content: bytes, names: list[str], schema: pa.Schema, dialect: CsvDialect, *, blank_lines: bool = False
) -> pa.RecordBatch:
    """Return the tuples of whole rows.

    A quoted text is never null. A quoted value of another type may be null, since some writers quote all values.

    Args:
        content: the rows.
        names: the column names.
        schema: the schema of the tuples.
        dialect: the dialect of the text.
        blank_lines: treat an empty line as a row.

    Raises:
        pyarrow.ArrowInvalid, pyarrow.ArrowKeyError, DataError: a row does not fit, or there is no row.
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
    """Convert the columns that Arrow read to the attributes of `schema`.

    Raises:
        pyarrow.ArrowInvalid, DataError: a value does not fit, or is null although the field is not nullable.
    """
    arrays = [_attribute(columns[field.name], field) for field in schema]
    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
    check_values(batch)
    check_nulls(batch)
    return batch


def has_infinite(batch: pa.RecordBatch) -> bool:
    """Return True if a number is infinite, because it was written as infinite or is out of range."""
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
