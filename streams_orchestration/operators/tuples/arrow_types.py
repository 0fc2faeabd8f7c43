"""Conversion between the tuple types of a spec (Spark DDL) and Arrow schemas."""

from __future__ import annotations

import decimal
import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from streams_orchestration.expressions.types import in_spark, parse_type
from streams_orchestration.model.schema import Attribute, Schema, parse_schema
from streams_orchestration.operators.loading.libraries import np, pa

SHOWN_ATTRIBUTES = 8
"""The largest number of attributes that the error about a row lists."""


@functools.lru_cache(maxsize=4096)
def arrow_schema(ddl: str) -> pa.Schema:
    """Return the Arrow schema of a tuple type. An empty text gives a schema without fields.

    Raises:
        ValueError: the text is not a tuple type.
    """
    if not ddl:
        return pa.schema([])
    schema = parse_schema(ddl)
    if schema.errors:
        message = f"{ddl!r} is not a tuple type: {'; '.join(schema.errors)}"
        raise ValueError(message)
    return pa.schema([pa.field(attribute.name, arrow_type(attribute.type)) for attribute in schema.attributes])


@functools.lru_cache(maxsize=4096)
def with_required(schema: pa.Schema, required: Collection[str]) -> pa.Schema:
    """Return a copy of the schema in which exactly the `required` fields are not nullable."""
    return pa.schema([field.with_nullable(field.name not in required) for field in schema])


def required_fields(schema: pa.Schema) -> tuple[str, ...]:
    """Return the names of the fields that are not nullable."""
    return tuple(field.name for field in schema if not field.nullable)


def nulls_in(columns: Mapping[str, pa.Array], required: Iterable[str]) -> dict[int, str]:
    """Map the position of each row with a null in a required attribute to the first such attribute."""
    found: dict[int, str] = {}
    for name in required:
        if columns[name].null_count:
            places = np.flatnonzero(columns[name].is_null().to_numpy(zero_copy_only=False))
            found = dict.fromkeys(places.tolist(), name) | found
    return found


@functools.lru_cache(maxsize=4096)
def required_attributes(ddl: str) -> tuple[str, ...]:
    """Return the attributes that a tuple type declares NOT NULL; none for an empty text. Errors in it are ignored."""
    return tuple(attribute.name for attribute in parse_schema(ddl).attributes if attribute.required) if ddl else ()


def arrow_type(text: str) -> pa.DataType:
    """Return the Arrow type for the canonical DDL type of one attribute."""
    from streams_orchestration.expressions import arrow

    return arrow.arrow_type(parse_type(text))


def wanted_row(schema: pa.Schema) -> str:
    """Describe the attributes that a row is read into, at most `SHOWN_ATTRIBUTES` of them, for an error message."""
    shown = schema_ddl(pa.schema(list(schema)[:SHOWN_ATTRIBUTES]))
    more = len(schema) - SHOWN_ATTRIBUTES
    return f"a row is read as {shown}" + (f" and {more} more" if more > 0 else "")


def schema_ddl(schema: pa.Schema) -> str:
    """Return the tuple type of an Arrow schema. A field that is not nullable becomes `NOT NULL`.

    A dictionary gets the type of its values. Other memory layouts and units of time are ignored.

    Raises:
        ValueError: no attribute can have the type of a field.
    """
    attributes = (Attribute(each.name, _type_ddl(each.name, each.type), not each.nullable) for each in schema)
    return Schema(tuple(attributes)).ddl


def type_name(kind: pa.DataType) -> str:
    """Return the DDL name of an Arrow type for messages, or Arrow's own name if no attribute can have the type."""
    try:
        return _type_ddl("", kind)
    except ValueError:
        return str(kind)


def _type_ddl(name: str, kind: pa.DataType) -> str:
    from streams_orchestration.expressions.arrow import type_of

    try:
        type_ = type_of(kind)
    except ValueError as error:
        message = f"{name}: {error}"
        raise ValueError(message) from None
    if not type_.is_attribute:
        message = f"{name}: {kind} is not a type of an attribute"
        raise ValueError(message)
    return str(type_)


@functools.lru_cache(maxsize=4096)
def row_layout(schema: pa.Schema) -> tuple[int, tuple[int, ...]]:
    """Return the total bits of a row's fixed-width columns, and the positions of the other columns."""
    fixed = [pa.types.is_primitive(field.type) or pa.types.is_decimal(field.type) for field in schema]
    bits = sum(field.type.bit_width for field, simple in zip(schema, fixed, strict=True) if simple)
    return bits, tuple(position for position, simple in enumerate(fixed) if not simple)


def default_value(kind: pa.DataType) -> Any:
    """Return the empty value of a type: 0 for numbers, dates and times, false, an empty text or list.

    The value of a struct is a dictionary with the empty value of each field.
    """
    types = pa.types
    if types.is_struct(kind):
        return {part.name: default_value(part.type) for part in kind}
    if types.is_list(kind) or types.is_map(kind):
        return []
    if is_text(kind):
        return ""
    if is_binary(kind):
        return b""
    if types.is_boolean(kind):
        return False
    return decimal.Decimal(0) if types.is_decimal(kind) else 0


def fits(kind: pa.DataType, target: pa.DataType) -> bool:
    """Return True if an attribute of type `target` can represent values of `kind`.

    Neither the range nor the precision of values is checked. A struct fits if it has the target's fields.
    """
    types = pa.types
    if kind == target or types.is_null(kind):
        return True
    if types.is_dictionary(kind):
        return fits(kind.value_type, target)
    if types.is_integer(kind):
        return types.is_integer(target) or types.is_floating(target) or types.is_decimal(target)
    if types.is_floating(kind):
        return types.is_floating(target)
    if types.is_decimal(kind):
        return types.is_decimal(target) or types.is_floating(target)
    if types.is_date(kind):
        return types.is_date(target) or types.is_timestamp(target)
    if types.is_nested(kind) or types.is_nested(target):
        return _fits_nested(kind, target)
    alike = (types.is_timestamp, is_text, is_binary)
    return any(check(kind) and check(target) for check in alike)


def _fits_nested(kind: pa.DataType, target: pa.DataType) -> bool:
    types = pa.types
    if types.is_map(target):
        return types.is_map(kind) and fits(kind.key_type, target.key_type) and fits(kind.item_type, target.item_type)
    if types.is_struct(target):
        names = {kind.field(i).name for i in range(kind.num_fields)} if types.is_struct(kind) else set[str]()
        return all(part.name in names and fits(kind.field(part.name).type, part.type) for part in target)
    lists = (types.is_list, types.is_large_list, types.is_list_view, types.is_large_list_view, types.is_fixed_size_list)
    if not types.is_list(target) or types.is_map(kind) or not any(check(kind) for check in lists):
        return False
    return fits(kind.value_type, target.value_type)


def whole_range(kind: pa.DataType) -> tuple[int, int]:
    """Return the smallest and the largest value of a type of whole numbers."""
    if pa.types.is_unsigned_integer(kind):
        return 0, (1 << kind.bit_width) - 1
    limit = 1 << (kind.bit_width - 1)
    return -limit, limit - 1


def per_second(kind: pa.DataType) -> int:
    """Return how many ticks of a timestamp type make one second; 1 for any other type."""
    units = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
    return units[kind.unit] if pa.types.is_timestamp(kind) else 1


def without_unsigned(kind: pa.DataType) -> pa.DataType:
    """Return a type with unsigned integers replaced by wider signed types, and nanoseconds by microseconds.

    Unsigned integers of 64 bits become `decimal(20, 0)`. Types in lists, maps and structs are converted, too. Databases
    and Spark have neither unsigned integers nor nanoseconds.
    """
    from streams_orchestration.expressions import arrow

    return arrow.arrow_type(in_spark(arrow.type_of(kind)))


def with_leaves(kind: pa.DataType, convert: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Return a type in which `convert` replaces the types within lists, maps and structs, or the type itself."""
    types = pa.types
    if types.is_map(kind):
        return pa.map_(with_leaves(kind.key_type, convert), with_leaves(kind.item_type, convert))
    if types.is_list(kind):
        return pa.list_(with_leaves(kind.value_type, convert))
    if types.is_struct(kind):
        return pa.struct([part.with_type(with_leaves(part.type, convert)) for part in kind])
    return convert(kind)


@functools.lru_cache(maxsize=4096)
def schema_without_unsigned(schema: pa.Schema) -> pa.Schema:
    """Return a schema with the type of every field converted by `without_unsigned`."""
    return pa.schema([field.with_type(without_unsigned(field.type)) for field in schema])


def batch_without_unsigned(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with every column converted to the type from `without_unsigned`; nanoseconds are cut off."""
    schema = schema_without_unsigned(batch.schema)
    if schema == batch.schema:
        return batch
    columns = [
        column if column.type == field.type else column.cast(field.type, safe=False)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def ddl_without_unsigned(ddl: str) -> str:
    """Return a tuple type with every attribute's type converted by `without_unsigned`. NOT NULL is kept.

    >>> ddl_without_unsigned("a uint NOT NULL, b timestamp_ns")
    'a bigint NOT NULL, b timestamp'
    """
    if not ddl:
        return ddl
    attributes = parse_schema(ddl).attributes
    return Schema(tuple(each._replace(type=str(in_spark(parse_type(each.type)))) for each in attributes)).ddl


def is_text(kind: pa.DataType) -> bool:
    """Return True if the Arrow type is a string type, of any memory layout."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def is_binary(kind: pa.DataType) -> bool:
    """Return True if the Arrow type is a type of bytes, of any memory layout."""
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
