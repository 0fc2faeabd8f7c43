"""Files in SPL's binary encoding: tuples one after the other, without marks between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files.row_options import BLOCK_BYTES, RowOptions, opened
from streams_orchestration.operators.files.rows import FilePosition, FileRows
from streams_orchestration.operators.formats.spl_binary import IncompleteError, binary_tuple, decoder
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.storage.port import File


def read_binary(path: File, schema: pa.Schema, options: RowOptions, start: FilePosition) -> Iterator[FileRows]:
    """Yield the tuples of a file from a position on.

    Raises:
        DataError: the file is damaged, has bytes that are not a tuple, or ends within a tuple or before `start`.
        OSError, StorageError: the file cannot be opened.
        ValueError: SPL has no type for an attribute, or the option `types` is wrong.
    """
    with opened(path, options, start.number) as file:
        rest = b""
        while True:
            block = file.read(BLOCK_BYTES)
            rows, size = binary_rows(str(path), rest + block, schema, options.types, first=start.line, ended=not block)
            rest = (rest + block)[size:]
            if rows.num_rows:
                yield FileRows(rows, (), start)
            start = FilePosition(start.number + size, start.line + rows.num_rows)
            if not block:
                return


def binary_rows(
    place: str, content: bytes, schema: pa.Schema, types: Mapping[str, str], *, first: int, ended: bool
) -> tuple[pa.RecordBatch, int]:
    """Return the whole tuples at the beginning of some bytes, and their size.

    Args:
        place: the file or other origin, for errors.
        content: the bytes, which begin with a tuple.
        schema: the schema of the tuples.
        types: types of SPL that the columns do not show, by attribute.
        first: the number of the first tuple, from 1.
        ended: True if no bytes follow, so that an incomplete tuple is an error.

    Raises:
        DataError: the bytes are not tuples, or end within one and `ended` is true.
        ValueError: SPL has no type for an attribute, or `types` is wrong.
    """
    from streams_orchestration.spl.programs.columns import array_of
    from streams_orchestration.spl.programs.errors import RunError

    type_ = binary_tuple(schema, types)
    decode = decoder(type_)
    values: list[dict[str, Any]] = []
    at = 0
    try:
        while at < len(content):
            try:
                value, at = decode(content, at)
            except IncompleteError:
                if not ended:
                    break
                message = f"{place}: the bytes end within tuple {first + len(values)}"
                raise DataError(message) from None
            values.append(value)
        columns = [
            array_of([value[each.name] for value in values], each.type).cast(schema.field(each.name).type)
            for each in type_.attributes
        ]
    except DataError:
        raise
    except (ValueError, RunError) as error:
        message = f"{place}: tuple {first + len(values)} cannot be read: {error}"
        raise DataError(message) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema), at
