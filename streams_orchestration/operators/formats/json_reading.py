"""Converts JSON objects to tuples: with Arrow if it can parse them, else object by object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.formats.checks import check_nulls, check_values, is_within, leaves
from streams_orchestration.operators.formats.json_objects import ObjectReader, RefusedValueError
from streams_orchestration.operators.formats.texts import values_of
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa, pa_json
from streams_orchestration.operators.tuples.arrow_types import type_name, with_leaves

ONE_BY_ONE = 256
"""Up to this many objects are parsed one by one if one of them is refused; more are halved first."""
_OPEN, _CLOSE, _NEWLINE = b"{}\n"
BLANK = b" \t\r\n"
"""The white space characters of JSON."""


class RefusedObject(NamedTuple):
    """A text that is not an object with the attributes, with the reason."""

    row: int
    """The position among the texts."""
    column: str
    """The attribute at fault; empty if the fault is not in a single attribute."""
    reason: str


class Objects(NamedTuple):
    """The result of parsing several texts."""

    batch: pa.RecordBatch
    """The tuples of the texts that were not refused, in order."""
    refused: tuple[RefusedObject, ...] = ()


def check_json_schema(schema: pa.Schema, format: str) -> None:
    """Raise ValueError if a map has nested keys, which cannot name the members of an object."""
    for field in schema:
        if is_within(field.type, lambda kind: pa.types.is_map(kind) and pa.types.is_nested(kind.key_type)):
            message = (
                f"format {format}: the attribute {field.name} is {type_name(field.type)}, which {format} cannot hold: "
                "keys of a map are texts, numbers, dates or times"
            )
            raise ValueError(message)


def read_objects(texts: Sequence[bytes], schema: pa.Schema) -> Objects:
    """Return the tuples of texts that contain one object each, and the texts that do not fit.

    Missing members are null, unknown members are ignored.

    Args:
        texts: the texts, none of them blank.
        schema: the schema of the tuples.
    """
    if not texts:
        return Objects(pa.RecordBatch.from_pylist([], schema=schema))
    if not is_within(schema_type(schema), pa.types.is_map):
        try:
            return Objects(read_lines(b"\n".join(_on_one_line(text) for text in texts) + b"\n", len(texts), schema))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
            pass
        if len(texts) > ONE_BY_ONE:
            middle = len(texts) // 2
            first = read_objects(texts[:middle], schema)
            second = read_objects(texts[middle:], schema)
            moved = (each._replace(row=each.row + middle) for each in second.refused)
            return Objects(pa.concat_batches([first.batch, second.batch]), (*first.refused, *moved))
    return _one_by_one(texts, schema)


def read_lines(content: bytes, count: int, schema: pa.Schema) -> pa.RecordBatch:
    """Parse lines that contain one object each, all at once with Arrow.

    Args:
        content: the lines; the last one ends with a line feed as well.
        count: the number of lines.
        schema: the schema of the tuples.

    Raises:
        pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, ValueError: a line does not fit, or Arrow cannot decide.
    """
    if not _is_object_a_line(content, count):
        message = "an object is expected, one in each line"  # else parts of two lines could make one
        raise DataError(message)
    content.decode()
    read_as = pa.schema([field.with_type(_read_as(field.type)) for field in schema])
    options = pa_json.ReadOptions(use_threads=False, block_size=len(content) + 1)
    parse = pa_json.ParseOptions(explicit_schema=read_as, unexpected_field_behavior="ignore", newlines_in_values=False)
    table = pa_json.read_json(pa.BufferReader(content), read_options=options, parse_options=parse)
    if table.num_rows != count:
        message = f"{table.num_rows} objects in {count} lines"
        raise DataError(message)
    columns = [_to_attribute_type(table.column(field.name).combine_chunks(), field.type) for field in schema]
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    check_values(batch)
    check_nulls(batch)
    if any(_has_infinite(leaf) for column in columns for leaf in leaves(column)):
        message = "a number may be out of range"  # or the text has the number as Infinity
        raise DataError(message)
    return batch


def schema_type(schema: pa.Schema) -> pa.DataType:
    """Return the schema's attributes as a struct type."""
    return pa.struct(list(schema))


def _is_object_a_line(content: bytes, count: int) -> bool:
    """Return True if each line begins and ends with the braces of an object."""
    characters = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(characters == _NEWLINE)
    if len(ends) != count or content[0] != _OPEN:
        return False
    begins = ends[:-1] + 1
    return bool((characters[ends - 1] == _CLOSE).all() and (characters[begins] == _OPEN).all())


def _on_one_line(text: bytes) -> bytes:
    """Return a JSON object on one line. Its line breaks are between tokens, so spaces can replace them."""
    text = text.strip(BLANK)
    return text.replace(b"\n", b" ") if b"\n" in text else text


def _read_as(kind: pa.DataType) -> pa.DataType:
    """Return the type that Arrow parses for an attribute type: times and bytes are parsed as texts first."""
    types = pa.types
    return with_leaves(kind, lambda leaf: pa.string() if types.is_temporal(leaf) or types.is_binary(leaf) else leaf)


def _to_attribute_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert an array that was parsed by `_read_as` to its attribute type."""
    types = pa.types
    if array.type == kind:
        return array
    if types.is_list(kind):
        inner = _to_attribute_type(array.values, kind.value_type)
        return pa.ListArray.from_arrays(array.offsets, inner, type=kind, mask=array.is_null())
    if types.is_struct(kind):
        parts = [_to_attribute_type(array.field(i), kind.field(i).type) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
    return values_of(array, kind)


def _has_infinite(leaf: pa.Array) -> bool:
    return pa.types.is_floating(leaf.type) and bool(pc.any(pc.is_inf(leaf)).as_py())


def _one_by_one(texts: Sequence[bytes], schema: pa.Schema) -> Objects:
    reader = ObjectReader(schema)
    rows: list[list[object]] = []
    refused: list[RefusedObject] = []
    for number, text in enumerate(texts):
        try:
            rows.append(reader.read(text))
        except RefusedValueError as error:
            refused.append(RefusedObject(number, error.column, error.reason))
    columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
    return Objects(pa.RecordBatch.from_arrays(columns, schema=schema), tuple(refused))
