"""Decoders: the values of messages become tuples; those that are no tuples are named with the reason."""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Literal, NamedTuple, TypeGuard, cast

from streams_orchestration.operators.arrow_types import type_name
from streams_orchestration.operators.errors import DataError
from streams_orchestration.operators.libraries import np, pa, pa_csv
from streams_orchestration.operators.misfits import text_misfit
from streams_orchestration.operators.standard.file_rows import RawRow, sift
from streams_orchestration.operators.standard.json_lines import (
    check_json_schema,
    is_object,
    misfit_of_object,
    parse_content,
    parse_objects,
)

MessageFormat = Literal["json", "csv", "raw"]


Parser = Callable[[Sequence[bytes]], "pa.RecordBatch"]
"""A tuple for each message; raises when any of them is none."""


class Bad(NamedTuple):
    """A message that is no tuple."""

    position: int
    reason: str


class Decoded(NamedTuple):
    """Tuples of messages, in order."""

    batch: pa.RecordBatch
    bad: tuple[Bad, ...]
    """By position among the messages; they have no tuple in the batch."""


def check_decodable(schema: pa.Schema, format: MessageFormat, separator: str) -> None:
    """Raises ValueError when no message of the format can have these attributes."""
    _check_format(schema, format)
    if format != "csv" and separator != ",":
        message = "separator goes with format csv only"
        raise ValueError(message)


def _check_format(schema: pa.Schema, format: MessageFormat) -> None:
    match format:
        case "json":
            check_json_schema(schema, "json")
        case "raw":
            kinds = [field.type for field in schema]
            if len(kinds) != 1 or not (pa.types.is_string(kinds[0]) or pa.types.is_binary(kinds[0])):
                message = "format raw: one attribute has the message, a string or binary; others come from metadata"
                raise ValueError(message)
        case _:
            if nested := next((field for field in schema if pa.types.is_nested(field.type)), None):
                message = f"format csv: the attribute {nested.name} is {type_name(nested.type)}, which csv cannot hold"
                raise ValueError(message)


def decode(values: Sequence[bytes | None], schema: pa.Schema, format: MessageFormat, separator: str = ",") -> Decoded:
    """The tuples of messages.

    Args:
        values: of the messages; None has no value, a mark that its key was deleted.
        schema: of what is decoded.
        format: of the values. JSON: an object; members that are not there are null, others are ignored. CSV: one row,
            values by position. Raw: the bytes themselves.
        separator: csv.
    """
    if format == "raw":
        return _raw(values, schema)
    parse = _json_parser(schema) if format == "json" else _csv_parser(schema, separator)
    if values and _are_all_full(values):
        try:
            return Decoded(parse(values), ())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, DataError):
            pass
    rows = [RawRow(number, value) for number, value in enumerate(values) if value and not value.isspace()]
    suspects = [(n, False) for n, row in enumerate(rows) if format == "json" and not is_object(row.text)]

    def explain(row: RawRow, error: Exception) -> tuple[str, str]:
        if format == "json":
            return misfit_of_object(row.text, schema, error)
        return misfit_of_row(row.text, schema, separator, error)

    sifted = sift(rows, lambda part: parse([row.text for row in part]), suspects, explain, schema)
    full = {row.line for row in rows}
    empty = [Bad(number, "the message has no value") for number in range(len(values)) if number not in full]
    bad = (
        Bad(row.line, f"column {row.column}: {row.reason}" if row.column else row.reason) for row in sifted.malformed
    )
    return Decoded(sifted.batch, tuple(sorted((*empty, *bad))))


def _are_all_full(values: Sequence[bytes | None]) -> TypeGuard[Sequence[bytes]]:
    """Has each of them more than white space?"""
    return all(values) and not any(map(bytes.isspace, cast("Sequence[bytes]", values)))


def _json_parser(schema: pa.Schema) -> Parser:
    def parse(texts: Sequence[bytes]) -> pa.RecordBatch:
        content = b"\n".join(texts)
        if _is_object_a_line(texts, content):
            return parse_content(content, len(texts), schema)
        lines = [_on_one_line(text.strip()) for text in texts]
        if not all(line.startswith(b"{") and line.endswith(b"}") for line in lines):
            message = "an object is wanted, one in each message"  # else parts of two messages could make one
            raise DataError(message)
        return parse_objects(lines, schema)

    return parse


def _is_object_a_line(texts: Sequence[bytes], joined: bytes) -> bool:
    """Does each text begin and end with the braces of an object, and have no line break?"""
    breaks = np.count_nonzero(np.frombuffer(joined, np.uint8) == ord("\n"))
    return (
        breaks == len(texts) - 1
        and b"\r" not in joined
        and set(map(itemgetter(0), texts)) == {ord("{")}
        and set(map(itemgetter(-1), texts)) == {ord("}")}
    )


def _on_one_line(value: bytes) -> bytes:
    """Line breaks of JSON stand between its tokens only."""
    return value.replace(b"\r", b" ").replace(b"\n", b" ") if b"\n" in value or b"\r" in value else value


@functools.cache
def csv_nulls() -> frozenset[str]:
    """Texts that are null where they stand without quotes."""
    return frozenset(pa_csv.ConvertOptions().null_values)


def _csv_parser(schema: pa.Schema, separator: str) -> Parser:
    strings = [field.name for field in schema if pa.types.is_string(field.type)]
    others = [name for name in schema.names if name not in strings]

    def read_columns(content: bytes, names: list[str], *, null_in_quotes: bool) -> pa.Table:
        return pa_csv.read_csv(
            pa.BufferReader(content),
            pa_csv.ReadOptions(use_threads=False, block_size=len(content) + 1, column_names=schema.names),
            pa_csv.ParseOptions(delimiter=separator, newlines_in_values=True, ignore_empty_lines=False),
            pa_csv.ConvertOptions(
                column_types=schema,
                strings_can_be_null=True,
                quoted_strings_can_be_null=null_in_quotes,
                include_columns=names,
            ),
        )

    def read(content: bytes) -> pa.Table:
        """A text in quotes is no null; a number in quotes may be one, as where all values stand in quotes."""
        if b'"' not in content or not strings or not others:
            return read_columns(content, schema.names, null_in_quotes=not strings)
        table = read_columns(content, others, null_in_quotes=True)
        for name, column in zip(strings, read_columns(content, strings, null_in_quotes=False).columns, strict=True):
            table = table.append_column(schema.field(name), column)
        return table.select(schema.names)

    def parse(texts: Sequence[bytes]) -> pa.RecordBatch:
        lines = [text.removesuffix(b"\n").removesuffix(b"\r") for text in texts]
        if any(line.count(b'"') % 2 for line in lines):
            message = "a quote is not closed"
            raise DataError(message)
        if any(b"\n" in line or b"\r" in line for line in lines):
            tables = [read(line + b"\n") for line in lines]  # one by one: what a row is must not depend on others
        else:
            tables = [read(b"\n".join(lines) + b"\n")]
        expected = len(lines) // len(tables)  # all in one table, or one in each
        if any(table.num_rows != expected for table in tables):
            message = "it is not one row"
            raise DataError(message)
        batches = pa.concat_tables(tables).combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=schema)

    return parse


def misfit_of_row(text: bytes, schema: pa.Schema, separator: str, error: Exception) -> tuple[str, str]:
    """Return the column and the reason why a text was refused as a row of CSV with attributes of `schema`."""
    if isinstance(error, DataError):
        return "", str(error)
    row = text.decode(errors="surrogateescape").removesuffix("\n").removesuffix("\r")
    values = next(csv.reader([row], delimiter=separator), [])
    if len(values) != len(schema):
        return "", f"{len(values)} columns, {len(schema)} are wanted"
    for field, value in zip(schema, values, strict=True):
        if reason := text_misfit(value, field.type):
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
        except UnicodeDecodeError as error:
            bad.append(Bad(number, f"not UTF-8 text: {error}"))
    return Decoded(pa.record_batch([pa.array(texts, kind)], schema=schema), tuple(bad))
