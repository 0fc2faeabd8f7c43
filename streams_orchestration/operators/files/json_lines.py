"""JSON Lines files (one object per line) as record batches, with errors that name the line."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files.rows import FilePosition, FileRows, Malformed
from streams_orchestration.operators.formats.json_reading import BLANK, RefusedObject, read_lines, read_objects
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.storage.input_files import go_to, open_decompressed
from streams_orchestration.operators.storage.port import File
from streams_orchestration.operators.tuples.arrow_types import wanted_row

BLOCK_BYTES = 4 << 20


def read_json_lines(path: File, schema: pa.Schema, start: FilePosition, *, permissive: bool) -> Iterator[FileRows]:
    """Yield the objects as attributes of `schema`. Missing members are null, unknown members are ignored.

    Only a line feed ends a line. Blank lines are skipped, and so is a byte order mark at the beginning.

    Args:
        path: the path of the file.
        schema: the schema of the tuples.
        start: the position of the first row to read.
        permissive: set aside rows that do not fit.

    Raises:
        DataError: the file is damaged or ends before `start`, or a line does not fit and `permissive` is false; in
            that case the message names the line.
        OSError, StorageError: the file cannot be opened.
    """
    with open_decompressed(path) as file:
        go_to(file, path, start.number)
        while lines := file.readlines(BLOCK_BYTES):
            yield _rows(path, lines, schema, start, permissive=permissive)._replace(start=start)
            start = FilePosition(start.number + sum(map(len, lines)), start.line + len(lines))


def _rows(path: File, lines: list[bytes], schema: pa.Schema, start: FilePosition, *, permissive: bool) -> FileRows:
    if start.number == 0:
        lines = [lines[0].removeprefix(BOM_UTF8), *lines[1:]]
    content = b"".join(lines)
    try:
        return FileRows(read_lines(content if content.endswith(b"\n") else content + b"\n", len(lines), schema))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
        pass
    full = [number for number, line in enumerate(lines) if line.strip(BLANK)]
    read = read_objects([lines[number] for number in full], schema)
    if read.refused and not permissive:
        first = read.refused[0]
        place = f"line {start.line + full[first.row]}{f', column {first.column}' if first.column else ''}"
        message = f"{path}, {place}: {first.reason}; {wanted_row(schema)}"
        raise DataError(message)
    return FileRows(read.batch, tuple(_malformed(each, full, lines, start) for each in read.refused))


def _malformed(refused: RefusedObject, full: Sequence[int], lines: Sequence[bytes], start: FilePosition) -> Malformed:
    number = full[refused.row]
    text = lines[number].decode(errors="replace").rstrip("\r\n")
    return Malformed(refused.row, start.line + number, refused.column, refused.reason, text)
