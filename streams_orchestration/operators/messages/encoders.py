"""Encoders: convert tuples to messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from streams_orchestration.operators.formats.csv_dialect import CsvDialect
from streams_orchestration.operators.formats.csv_writing import check_csv_schema, csv_rows
from streams_orchestration.operators.formats.json_reading import check_json_schema
from streams_orchestration.operators.formats.json_writing import json_objects, json_values
from streams_orchestration.operators.formats.texts import texts
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.messages.decoders import PLAIN, MessageFormat

if TYPE_CHECKING:
    import polars as pl


def check_encodable(schema: pa.Schema, format: MessageFormat) -> None:
    """Raise ValueError if there is no attribute, or a message of the format cannot hold these attributes."""
    if not len(schema):
        message = "suppress: no attribute is left to be written; suppress fewer"
        raise ValueError(message)
    match format:
        case "json":
            check_json_schema(schema, "json")
        case "raw":
            kind = schema.field(0).type
            if len(schema) != 1 or not (pa.types.is_string(kind) or pa.types.is_binary(kind)):
                message = (
                    "format raw: one attribute, a string or binary, is the message; name the others in key, partition, "
                    "timestamp, headers and suppress"
                )
                raise ValueError(message)
        case _:
            check_csv_schema(schema)


def encode(batch: pa.RecordBatch, format: MessageFormat, dialect: CsvDialect = PLAIN) -> Sequence[bytes | None]:
    """Return one message value for each tuple.

    JSON: an object. CSV: the values in the order of the attributes. Raw: the value of the only attribute, where null
    becomes None, which deletes the message's key.

    Raises:
        DataError: the format cannot represent a value.
    """
    match format:
        case "json":
            return _as_bytes(json_objects(batch))
        case "raw":
            return message_texts(batch.column(0))
        case _:
            return _as_bytes(csv_rows(batch, dialect))


def message_texts(column: pa.Array) -> list[bytes | None]:
    """Return values as bytes: binary unchanged, nested values as JSON, others as text in UTF-8; null as None.

    Raises:
        DataError: a date or time in a nested value is outside the years 1 to 9999.
    """
    if pa.types.is_binary(column.type):
        return column.to_pylist()
    if pa.types.is_nested(column.type):
        return _as_bytes(json_values(column))
    return pc.cast(texts(column), pa.binary()).to_pylist()


def _as_bytes(rows: pl.Series) -> list[bytes | None]:
    import polars as pl

    return rows.cast(pl.Binary).to_list()
