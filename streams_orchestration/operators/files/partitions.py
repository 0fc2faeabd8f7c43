"""Hive-style partition directories, named by attribute values: `month=1/carrier=UA`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.formats.texts import texts as texts_of
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.arrow_types import type_name

NULL = "__HIVE_DEFAULT_PARTITION__"
"""The text that represents null in a directory name."""
MAX_NAME_BYTES = 255
"""The largest length in bytes of a directory name."""
_ESCAPED = re.compile(r"""[\x00-\x1f\x7f"#%'*/:=?\\{}\[\]^]""")
"""Matches the characters that Hive and Spark escape as `%` and two hexadecimal digits."""


_HIDDEN = re.compile(r"^[_.]")
"""Matches the first character of names that readers skip."""


def check_partitions(schema: pa.Schema, names: Sequence[str]) -> None:
    """Raise ValueError if an attribute has a type whose values cannot name directories."""
    types = pa.types
    for name in names:
        kind = schema.field(name).type
        simple = (types.is_string, types.is_boolean, types.is_integer, types.is_decimal, types.is_date)
        if not any(check(kind) for check in (*simple, types.is_timestamp)):
            message = (
                f"partitionBy: {name} is {type_name(kind)}; "
                "only texts, truth values, integers, decimals, dates and timestamps can name directories"
            )
            raise ValueError(message)


def partitioned(table: pa.Table, names: Sequence[str], *, keep: bool = False) -> Iterator[tuple[str, pa.Table]]:
    """Yield each partition directory with its tuples. Directories are sorted; the order of tuples is kept.

    Args:
        table: the tuples.
        names: the attributes whose values name the directories.
        keep: keep these attributes as columns.

    Raises:
        DataError: a value is too long for a directory name.
    """
    yield from divided(table if keep else table.drop_columns(list(names)), _directories(table, names))


def divided(table: pa.Table, directories: pa.Array) -> Iterator[tuple[str, pa.Table]]:
    """Yield each directory with its tuples. Directories are sorted; the order of tuples is kept."""
    places = directories.dictionary_encode()
    codes = places.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(places.dictionary) + 1))
    by_name = sorted(enumerate(places.dictionary.to_pylist()), key=lambda item: item[1])
    for code, name in by_name:
        yield name, table.take(pa.array(order[bounds[code] : bounds[code + 1]]))


def named_directory(name: str | None) -> str:
    """Return the path for a file that IBM Streams would give a name, relative to the sink's own directory.

    Empty parts and `.` are dropped. A leading `_` or `.`, and the characters of `_ESCAPED`, are escaped.

    >>> named_directory("/data/a=1/_x.csv")
    'data/a%3D1/%5Fx.csv'

    Raises:
        DataError: the name is None or empty, has a part `..`, or has one of more than `MAX_NAME_BYTES` bytes.
    """
    parts = [part for part in (name or "").split("/") if part not in ("", ".")]
    escaped = [_HIDDEN.sub(lambda mark: f"%{ord(mark[0]):02X}", _escaped(part)) for part in parts]
    if not parts or ".." in parts or any(len(part.encode()) > MAX_NAME_BYTES for part in escaped):
        message = f"nameBy: {name!r:.80} is not a name of a file below the sink's directory"
        raise DataError(message)
    return "/".join(escaped)


def partition_values(directory: str) -> dict[str, str | None]:
    """Parse a partition directory into attribute values as texts, with None for null."""
    named = (part.partition("=") for part in directory.split("/") if part)
    return {name: None if text == NULL else unquote(text) for name, _, text in named}


def _directories(table: pa.Table, names: Sequence[str]) -> pa.Array:
    """Return the partition directory of every tuple, with `NULL` for a null."""
    parts = []
    for name in names:
        values = table.column(name).combine_chunks().dictionary_encode()
        # Hive writes times with a space, and so does Arrow; decimals are written as in other formats
        decimal = pa.types.is_decimal(values.dictionary.type)
        written = texts_of(values.dictionary) if decimal else pc.cast(values.dictionary, pa.string())
        texts = [NULL if text is None else _escaped(text) for text in written.to_pylist()]
        for text in texts:
            if len(f"{name}={text}".encode()) > MAX_NAME_BYTES:
                message = f"partitionBy: a value of {name} is too long to name a directory: {text!r:.80}"
                raise DataError(message)
        chosen = pa.array([f"{name}={text}" for text in texts], pa.string()).take(values.indices)
        parts.append(pc.fill_null(chosen, f"{name}={NULL}"))
    return pc.binary_join_element_wise(*parts, "/")


def _escaped(text: str) -> str:
    if text == NULL:
        return f"%{ord(NULL[0]):02X}{NULL[1:]}"
    return _ESCAPED.sub(lambda mark: f"%{ord(mark[0]):02X}", text)
