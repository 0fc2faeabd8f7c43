"""Encoders: tuples become the values of messages."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from typing import Any

from streams_orchestration.operators.arrow_types import type_name
from streams_orchestration.operators.libraries import compute as pc
from streams_orchestration.operators.libraries import pa
from streams_orchestration.operators.messages.decoders import MessageFormat, csv_nulls
from streams_orchestration.operators.standard.json_lines import check_json_schema


def check_encodable(schema: pa.Schema, format: MessageFormat) -> None:
    """Raises ValueError when a message of the format cannot hold these attributes."""
    if not len(schema):
        message = "suppress: no attribute is left to be written"
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
            if nested := next((field for field in schema if pa.types.is_nested(field.type)), None):
                message = f"format csv: the attribute {nested.name} is {type_name(nested.type)}, which csv cannot hold"
                raise ValueError(message)


def encode(batch: pa.RecordBatch, format: MessageFormat, separator: str = ",") -> Sequence[bytes | None]:
    """The values of messages, one for each tuple.

    JSON: an object; dates and times are texts as in ISO 8601. CSV: values in the order of the attributes, in quotes
    where they need them, so that texts as NA and the empty one stay what they are; null is empty.
    Raw: the only attribute; null is no value, which deletes the message's key.
    """
    match format:
        case "json":
            return _json(batch)
        case "raw":
            return texts(batch.column(0))
        case _:
            return _csv(batch, separator)


def texts(column: pa.Array) -> list[bytes | None]:
    """Values as bytes: texts in UTF-8, binary as it is, others as JSON writes them; None for null."""
    if pa.types.is_binary(column.type):
        return column.to_pylist()
    if not pa.types.is_string(column.type):
        if pa.types.is_nested(column.type) or pa.types.is_boolean(column.type):
            return [None if value is None else json.dumps(value).encode() for value in column.to_pylist()]
        column = pc.cast(column, pa.string())
    return pc.cast(column, pa.binary()).to_pylist()


def _json(batch: pa.RecordBatch) -> list[bytes]:
    import polars as pl

    sink = io.BytesIO()
    frame: Any = pl.DataFrame(pa.Table.from_batches([batch]))
    frame.write_ndjson(sink)
    return sink.getvalue().splitlines()


def _csv(batch: pa.RecordBatch, separator: str) -> list[bytes]:
    special = re.compile(f'["\\r\\n{re.escape(separator)}]')
    columns = [
        _quoted(column, special) if pa.types.is_string(column.type) else texts(column) for column in batch.columns
    ]
    return [separator.encode().join(value or b"" for value in values) for values in zip(*columns, strict=True)]


def _quoted(column: pa.Array, special: re.Pattern[str]) -> list[bytes | None]:
    """Texts in quotes where they need them: also those that would be null without."""

    def quoted(text: str) -> bytes:
        stands_alone = text not in csv_nulls() and special.search(text) is None
        return (text if stands_alone else '"' + text.replace('"', '""') + '"').encode()

    return [None if text is None else quoted(text) for text in column.to_pylist()]
