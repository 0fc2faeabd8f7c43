"""Converts tuples to JSON objects, column by column."""

from __future__ import annotations

import functools
import itertools
import json
from typing import IO, TYPE_CHECKING, Any

from streams_orchestration.operators.formats.checks import check_years, is_within, leaves
from streams_orchestration.operators.formats.texts import frame_of, text_of, write_lines
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import is_text

if TYPE_CHECKING:
    import polars as pl

_NULL = "null"
_ESCAPES = {chr(code): json.dumps(chr(code))[1:-1] for code in (*range(0x20), ord('"'), ord("\\"))}
"""Maps each character that JSON requires to be escaped to its escape sequence."""


def json_objects(batch: pa.RecordBatch) -> pl.Series:
    """Return the text of an object for each tuple, with a member for each attribute, also if it is null.

    Numbers keep all their digits. NaN and infinities are the texts `NaN`, `Infinity` and `-Infinity`. A map becomes an
    object whose members are named by the texts of its keys.

    Raises:
        DataError: a date or time is outside the years 1 to 9999.
    """
    import polars as pl

    check_years(batch)
    parts: list[pl.Expr] = [pl.lit("{")]
    for number, (is_alike, group) in enumerate(itertools.groupby(batch.schema, lambda field: _is_alike(batch, field))):
        fields = list(group)
        if is_alike:
            objects = pl.struct(map(_alike, fields)).struct.json_encode()
            if len(fields) == len(batch.schema):
                return frame_of(batch).select(objects.alias("object")).to_series()
            parts += [pl.lit("," if number else ""), objects.str.strip_prefix("{").str.strip_suffix("}")]
            continue
        for place, field in enumerate(fields):
            parts.append(pl.lit(f"{',' if number or place else ''}{json.dumps(field.name, ensure_ascii=False)}:"))
            parts.append(_text(pl.col(field.name), field.type).fill_null(_NULL))
    return frame_of(batch).select(pl.concat_str([*parts, pl.lit("}")]).alias("object")).to_series()


def write_json_objects(file: IO[bytes], batch: pa.RecordBatch) -> None:
    """Write each tuple as a JSON object followed by a line feed.

    Raises DataError if a date or time is outside the years 1 to 9999.
    """
    if all(_is_alike(batch, field) for field in batch.schema):
        check_years(batch)
        frame_of(batch).select(_alike(field) for field in batch.schema).write_ndjson(file)
    else:
        write_lines(file, json_objects(batch))


def _is_alike(batch: pa.RecordBatch, field: pa.Field) -> bool:
    """Return True if Polars' JSON writer gives the same texts for an attribute, and can be used.

    It is several times faster.
    """
    types = pa.types
    if types.is_timestamp(field.type) or types.is_binary(field.type):
        return True
    if is_within(field.type, types.is_map):
        return False
    return all(_is_leaf_alike(leaf) for leaf in leaves(batch.column(field.name)))


def _is_leaf_alike(leaf: pa.Array) -> bool:
    types = pa.types
    if types.is_floating(leaf.type):
        return pc.all(pc.is_finite(leaf)).as_py() is not False
    checks = (types.is_integer, types.is_boolean, types.is_date, is_text)
    return any(check(leaf.type) for check in checks)


def _alike(field: pa.Field) -> pl.Expr:
    """Return the attribute in a form that Polars' writer renders correctly: times and bytes as texts."""
    import polars as pl

    value, types = pl.col(field.name), pa.types
    is_written_as_text = types.is_timestamp(field.type) or types.is_binary(field.type)
    return text_of(value, field.type).alias(field.name) if is_written_as_text else value


def json_values(column: pa.Array) -> pl.Series:
    """Return each value of a column as a JSON text; null stays null.

    Raises:
        DataError: a date or time is outside the years 1 to 9999.
    """
    import polars as pl

    batch = pa.record_batch([column], names=["value"])
    check_years(batch)
    return frame_of(batch).select(_text(pl.col("value"), column.type)).to_series()


def _text(value: pl.Expr, kind: pa.DataType) -> pl.Expr:
    """Return an expression for the JSON texts of values; null stays null."""
    import polars as pl

    types = pa.types
    if types.is_map(kind):
        element: Any = pl.element()
        entry = [_name(element.struct.field("key"), kind.key_type), pl.lit(":")]
        entry.append(_text(element.struct.field("value"), kind.item_type).fill_null(_NULL))
        return _enclosed("{", value.list.eval(pl.concat_str(entry)).list.join(","), "}")
    if types.is_list(kind):
        inner = _text(pl.element(), kind.value_type).fill_null(_NULL)
        return _enclosed("[", value.list.eval(inner).list.join(","), "]")
    if types.is_struct(kind):
        parts: list[pl.Expr] = []
        for number, part in enumerate(kind):
            parts.append(pl.lit(f"{',' if number else '{'}{json.dumps(part.name, ensure_ascii=False)}:"))
            parts.append(_text(value.struct.field(part.name), part.type).fill_null(_NULL))
        return pl.when(value.is_not_null()).then(pl.concat_str([*parts, pl.lit("}")]))
    if is_text(kind):
        return _enclosed('"', _escaped(value), '"')
    text = text_of(value, kind)
    if types.is_floating(kind):
        return pl.when(value.is_finite()).then(text).otherwise(_enclosed('"', text, '"'))
    return (
        text
        if types.is_integer(kind) or types.is_boolean(kind) or types.is_decimal(kind)
        else (_enclosed('"', text, '"'))
    )


def _name(key: pl.Expr, kind: pa.DataType) -> pl.Expr:
    return _enclosed('"', _escaped(key) if is_text(kind) else text_of(key, kind), '"')


def _enclosed(begin: str, text: pl.Expr, end: str) -> pl.Expr:
    import polars as pl

    return pl.concat_str([pl.lit(begin), text, pl.lit(end)])


def _escaped(text: pl.Expr) -> pl.Expr:
    return text.str.replace_many(*_escapes())


@functools.cache
def _escapes() -> tuple[list[str], list[str]]:
    return list(_ESCAPES), list(_ESCAPES.values())
