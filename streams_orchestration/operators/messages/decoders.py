"""Decoders: convert messages to tuples, and report the messages that cannot be converted."""

from __future__ import annotations

import csv
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files.rows import RawRow, parse_leniently
from streams_orchestration.operators.formats.bad_tuples import OnBadTuple
from streams_orchestration.operators.formats.checks import NULL, UnfitValueError, utf8_fault
from streams_orchestration.operators.formats.csv_dialect import CsvDialect, CsvParameters
from streams_orchestration.operators.formats.csv_reading import read_rows, reader_options
from streams_orchestration.operators.formats.csv_writing import check_csv_schema
from streams_orchestration.operators.formats.json_reading import BLANK, check_json_schema, read_objects
from streams_orchestration.operators.formats.misfits import text_misfit
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import nulls_in

PLAIN = CsvDialect()
MessageFormat = Literal["json", "csv", "raw"]


Parser = Callable[[Sequence[bytes]], "pa.RecordBatch"]
"""Converts each text to one tuple; raises if any of them does not fit."""


class MessageParameters(CsvParameters):
    """The parameters shared by sources of messages."""

    on_bad_tuple: OnBadTuple = Field(
        default="fail",
        alias="onBadTuple",
        description="Policy for a message that cannot be decoded. stream: send it to the second output port.",
    )
    on_lost_data: Literal["fail", "skip"] = Field(
        default="fail", alias="onLostData", description="Policy for messages that were deleted before they were read."
    )


class Bad(NamedTuple):
    """A message that cannot be converted to a tuple."""

    position: int
    reason: str


class Decoded(NamedTuple):
    """The tuples of messages, in order."""

    batch: pa.RecordBatch
    bad: tuple[Bad, ...]
    """The messages that have no tuple in the batch, by position."""


def check_decodable(schema: pa.Schema, format: MessageFormat) -> None:
    """Raise ValueError if the format cannot represent these attributes."""
    match format:
        case "json":
            check_json_schema(schema, "json")
        case "raw":
            kinds = [field.type for field in schema]
            if len(kinds) != 1 or not (pa.types.is_string(kinds[0]) or pa.types.is_binary(kinds[0])):
                message = (
                    "format raw: exactly one attribute, a string or binary, gets the message; others come from metadata"
                )
                raise ValueError(message)
        case _:
            check_csv_schema(schema)


def decode(
    values: Sequence[bytes | None], schema: pa.Schema, format: MessageFormat, dialect: CsvDialect = PLAIN
) -> Decoded:
    """Decode messages to tuples, and return the others with the reason.

    Args:
        values: the message values. None, which marks a key as deleted, is null in raw. In other formats None is bad,
            and so is an empty or blank message.
        schema: the schema of the decoded attributes.
        format: JSON: an object whose missing members are null and whose unknown members are ignored. CSV: one row,
            values by position. Raw: the bytes themselves.
        dialect: the dialect, for format csv.
    """
    if format == "raw":
        return _raw(values, schema)
    blank = BLANK if format == "json" else b"\r\n"
    full = [number for number, value in enumerate(values) if value and value.strip(blank)]
    texts = [values[number] or b"" for number in full]
    decoded = _objects(texts, schema) if format == "json" else _csv_rows(texts, schema, dialect)
    bad = [each._replace(position=full[each.position]) for each in decoded.bad]
    if len(full) < len(values):
        there = set(full)
        bad += [Bad(number, "the message has no value") for number in range(len(values)) if number not in there]
    return Decoded(decoded.batch, tuple(sorted(bad)))


def without_nulls(decoded: Decoded, count: int, required: Sequence[str]) -> Decoded:
    """Return decoded messages, and count a message with null in a required attribute among the bad ones.

    Args:
        decoded: the decoded messages.
        count: the number of all messages, bad ones included.
        required: the attributes that are NOT NULL.
    """
    batch = decoded.batch
    nulls = nulls_in({name: batch.column(name) for name in required}, required)
    if not nulls:
        return decoded
    wrong = {each.position for each in decoded.bad}
    there = [number for number in range(count) if number not in wrong]
    found = [Bad(there[row], reason_of_column(name, NULL)) for row, name in nulls.items()]
    kept = batch.filter(pa.array([row not in nulls for row in range(len(there))]))
    return Decoded(kept, tuple(sorted((*decoded.bad, *found))))


def _objects(texts: Sequence[bytes], schema: pa.Schema) -> Decoded:
    read = read_objects(texts, schema)
    return Decoded(
        read.batch, tuple(Bad(each.row, reason_of_column(each.column, each.reason)) for each in read.refused)
    )


def _csv_rows(texts: Sequence[bytes], schema: pa.Schema, dialect: CsvDialect) -> Decoded:
    parse = _csv_parser(schema, dialect)
    if texts:
        try:
            return Decoded(parse(texts), ())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, DataError):
            pass

    def explain(row: RawRow, error: Exception) -> tuple[str, str]:
        return misfit_of_row(row.text, schema, dialect, error)

    rows = [RawRow(number, text) for number, text in enumerate(texts)]
    parsed = parse_leniently(rows, lambda part: parse([row.text for row in part]), (), explain, schema)
    return Decoded(
        parsed.batch, tuple(Bad(row.line, reason_of_column(row.column, row.reason)) for row in parsed.malformed)
    )


def reason_of_column(column: str, reason: str) -> str:
    """Return the reason why a message cannot be converted, with its column if that is known."""
    return f"column {column}: {reason}" if column else reason


def _csv_parser(schema: pa.Schema, dialect: CsvDialect) -> Parser:
    def read(content: bytes) -> pa.RecordBatch:
        return read_rows(content, schema.names, schema, dialect, blank_lines=True)

    def parse(texts: Sequence[bytes]) -> pa.RecordBatch:
        lines = [text.removesuffix(b"\n").removesuffix(b"\r") for text in texts]
        if dialect.quoted and any(line.count(b'"') % 2 for line in lines):
            message = "a quote is not closed"
            raise DataError(message)
        if any(b"\n" in line or b"\r" in line or line.startswith(BOM_UTF8) for line in lines):
            # one by one, since a message must not affect how others are split into rows; a mark is a character there
            batches = [read((b"\n" if line.startswith(BOM_UTF8) else b"") + line + b"\n") for line in lines]
        else:
            batches = [read(b"\n".join(lines) + b"\n")]
        expected = len(lines) // len(batches)  # all in one batch, or one in each
        if any(batch.num_rows != expected for batch in batches):
            message = "it is not one row"
            raise DataError(message)
        return pa.concat_batches(batches)

    return parse


def misfit_of_row(text: bytes, schema: pa.Schema, dialect: CsvDialect, error: Exception) -> tuple[str, str]:
    """Return the column and the reason why a text was refused as a row of CSV with attributes of `schema`.

    The column is empty if no single one is at fault.
    """
    if isinstance(error, DataError) and not isinstance(error, UnfitValueError):
        return "", str(error)
    row = text.decode(errors="surrogateescape").removesuffix("\n").removesuffix("\r")
    values = next(csv.reader([row], **reader_options(dialect)), [])
    if len(values) != len(schema):
        return "", f"{len(values)} columns, but {len(schema)} are expected"
    for field, value in zip(schema, values, strict=True):
        if reason := text_misfit(value, field.type, dialect.null_texts):
            return field.name, reason
    return "", f"its values do not fit the attributes: {' '.join(str(error).split())}"


def _raw(values: Sequence[bytes | None], schema: pa.Schema) -> Decoded:
    kind = schema.field(0).type
    bad: list[Bad] = []
    if pa.types.is_binary(kind):
        return Decoded(pa.record_batch([pa.array(values, kind)], schema=schema), ())
    texts: list[str | None] = []
    for number, value in enumerate(values):
        try:
            texts.append(None if value is None else value.decode())
        except UnicodeDecodeError:
            bad.append(Bad(number, utf8_fault(value or b"")))
    return Decoded(pa.record_batch([pa.array(texts, kind)], schema=schema), tuple(bad))


def decoded_schema(schema: pa.Schema, metadata: Collection[str]) -> pa.Schema:
    """Return the schema of the attributes that are decoded from message values, that is, without metadata."""
    return pa.schema([field for field in schema if field.name not in metadata])
