"""The text of a non-nested value, in both directions: for CSV cells, JSON strings and message keys.

Times are ISO 8601 with `T`, with `Z` for a timestamp in UTC, and with a fraction only if it is not zero. Special
numbers are NaN, Infinity and -Infinity. Decimals have all digits of their scale and no exponent. Binary is base64.
"""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from typing import IO, TYPE_CHECKING, Any

from streams_orchestration.operators.formats.checks import check_values
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.arrow_types import is_text

if TYPE_CHECKING:
    import polars as pl

INFINITE = r"[+-]?(?i:inf|infinity)"
"""Matches a text that means infinity. Any other text that is read as infinity is a number out of range."""


def frame_of(batch: pa.RecordBatch) -> pl.DataFrame:
    """Return the tuples as a Polars frame, with maps as lists of entries, since Polars has no maps."""
    import polars as pl

    schema = pa.schema([field.with_type(without_maps(field.type)) for field in batch.schema])
    if schema != batch.schema:
        columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
        batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    frame: Any = pl.from_arrow(batch)
    return frame


def without_maps(kind: pa.DataType) -> pa.DataType:
    """Return the type with maps replaced by lists of entries."""
    types = pa.types
    if types.is_map(kind):
        entry = (pa.field("key", without_maps(kind.key_type)), pa.field("value", without_maps(kind.item_type)))
        return pa.list_(pa.struct(entry))
    if types.is_list(kind):
        return pa.list_(without_maps(kind.value_type))
    if types.is_struct(kind):
        return pa.struct([part.with_type(without_maps(part.type)) for part in kind])
    return kind


def text_of(value: pl.Expr, kind: pa.DataType) -> pl.Expr:
    """Return an expression for the texts of non-nested values; null stays null."""
    import polars as pl

    types = pa.types
    if types.is_timestamp(kind):
        return value.dt.strftime(f"%Y-%m-%dT%H:%M:%S%.f{'Z' if kind.tz else ''}")
    if types.is_date(kind):
        return value.dt.strftime("%Y-%m-%d")
    if types.is_binary(kind):
        return value.bin.encode("base64")
    text = value.cast(pl.String)
    if types.is_floating(kind):
        endless = pl.when(value < 0).then(pl.lit("-Infinity")).otherwise(pl.lit("Infinity"))
        return pl.when(value.is_infinite()).then(endless).otherwise(text)
    return text


def is_plain(kind: pa.DataType) -> bool:
    """Return True if the type is Boolean or numeric."""
    types = pa.types
    return any(check(kind) for check in (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal))


def write_lines(file: IO[bytes], rows: pl.Series) -> None:
    """Write texts unchanged, with a line feed after each; a null is an empty line."""
    rows.alias("row").to_frame().write_csv(file, include_header=False, quote_style="never")


def shown(value: Any) -> str:
    """Return the text of one non-nested value for display: as in a file, except that binary is hexadecimal.

    Args:
        value: a value as Arrow and Polars return it to Python; not null.
    """
    match value:
        case bool():
            return str(value).lower()
        case Decimal():
            return f"{value:f}"
        case datetime.datetime():
            digits = "auto" if not value.microsecond else "microseconds" if value.microsecond % 1000 else "milliseconds"
            text = value.replace(tzinfo=None).isoformat(timespec=digits)
            return text if value.tzinfo is None else f"{text}Z" if not value.utcoffset() else value.isoformat()
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case bytes():
            return f"0x{value.hex()}"
        case _:
            return str(value)


def plain(value: Any) -> Any:
    """Return a value that JSON can represent: a value of a type that JSON lacks becomes its text.

    This holds within lists and dictionaries as well. The keys of dictionaries become texts, and tuples become lists.
    """
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return shown(value)


def texts(column: pa.Array) -> pa.Array:
    """Return the texts of the values of a non-nested column; null stays null."""
    import polars as pl

    if is_text(column.type):
        return column
    frame = frame_of(pa.record_batch([column], names=["value"]))
    written: Any = frame.select(text_of(pl.col("value"), column.type)).to_series().to_arrow()
    return written.cast(pa.string())


def values_of(written: pa.Array, kind: pa.DataType) -> pa.Array:
    """Parse texts to values of a non-nested type; null stays null. White space around numbers and times is ignored.

    Raises:
        pyarrow.ArrowInvalid, DataError: a text is not a value of the type.
    """
    if pa.types.is_string(kind):
        return written
    if pa.types.is_binary(kind):
        return _decoded(written)
    column = pc.cast(pc.utf8_trim_whitespace(written), kind)
    check_values(pa.record_batch([column], names=["value"]))
    if out_of_range(column, written).any():
        message = "a number is out of range"
        raise pa.ArrowInvalid(message)
    return column


def out_of_range(column: pa.Array, written: pa.Array) -> np.ndarray:
    """Return a mask of the values that became infinite because the number written was out of range."""
    if not pa.types.is_floating(column.type):
        return np.zeros(len(column), bool)
    infinite = np.isinf(column.to_numpy(zero_copy_only=False))
    if not infinite.any():
        return infinite
    rows = np.flatnonzero(infinite)
    meant = [bool(re.fullmatch(INFINITE, text.strip())) for text in written.take(pa.array(rows)).to_pylist()]
    infinite[rows[np.asarray(meant)]] = False
    return infinite


def _decoded(written: pa.Array) -> pa.Array:
    """Decode base64 texts to binary values."""
    import polars as pl

    series: Any = pl.from_arrow(written)
    try:
        return series.str.decode("base64", strict=True).to_arrow().cast(pa.binary())
    except pl.exceptions.ComputeError:
        message = "binary values are written in base64, as aGVsbG8="
        raise pa.ArrowInvalid(message) from None
