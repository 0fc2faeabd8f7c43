"""Files as IBM Streams reads them: text lines in the formats `line`, `splCsv` and `splTxt`, and blocks of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files.row_options import BLOCK_BYTES, RowOptions, lines_of, opened
from streams_orchestration.operators.files.rows import FilePosition, FileRows, Malformed
from streams_orchestration.operators.formats.csv_dialect import CsvDialect
from streams_orchestration.operators.formats.spl_texts import cells, column_of, read_tuple, reader_of, spl_tuple
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.storage.port import File
from streams_orchestration.operators.tuples.arrow_types import wanted_row

SPL_FORMATS = ("splCsv", "splTxt")
ReadRow = Callable[[str], tuple[float, Sequence[Any]]]
"""A function from the text of a row to its delay in seconds and its values.

It raises `RefusedCellError` if a value does not fit its attribute, and ValueError for any other fault of the row.
"""


class RefusedCellError(ValueError):
    """A value of a row does not fit the attribute at its place."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column


def read_rows(
    path: File,
    format: str,
    schema: pa.Schema,
    dialect: CsvDialect,
    options: RowOptions,
    start: FilePosition,
    *,
    permissive: bool,
) -> Iterator[FileRows]:
    """Yield the rows of a file from a position on; see `LineReader`.

    Raises:
        DataError: the file is damaged or ends before `start`, or a row does not fit and `permissive` is false; in that
            case the message names the line.
        OSError, StorageError: the file cannot be opened.
        ValueError: SPL has no type for an attribute, or the option `types` is wrong.
    """
    reader = LineReader(str(path), format, schema, dialect, options, permissive=permissive)
    with opened(path, options, start.number) as file:
        for lines in lines_of(file, options):
            yield reader.read([line for line, _ in lines], start)
            start = FilePosition(start.number + sum(size for _, size in lines), start.line + len(lines))


def read_blocks(path: File, schema: pa.Schema, options: RowOptions, start: FilePosition) -> Iterator[FileRows]:
    """Yield the blocks of a file as tuples with one binary attribute; the last block may be shorter.

    Raises:
        DataError: the file is damaged or ends before `start`.
        OSError, StorageError: the file cannot be opened.
    """
    with opened(path, options, start.number) as file:
        size = options.block_size
        while block := file.read(-1 if size is None else max(size, BLOCK_BYTES // size * size)):
            parts = [block] if size is None else [block[at : at + size] for at in range(0, len(block), size)]
            yield FileRows(pa.RecordBatch.from_arrays([pa.array(parts, pa.binary())], schema=schema), (), start)
            start = FilePosition(start.number + len(block), start.line + len(parts))


class LineReader:
    """A reader of lines, which skips header lines, and in `splCsv` and `splTxt` lines that are blank or begin with `#`.

    Args:
        place: the name of the file or input, for errors.
        format: the format of the rows.
        schema: the schema of the tuples.
        dialect: the separator and quotes of `splCsv`.
        options: the options.
        permissive: True to return malformed rows beside the others.

    Raises:
        ValueError: SPL has no type for an attribute, or the option `types` is wrong.
    """

    def __init__(
        self, place: str, format: str, schema: pa.Schema, dialect: CsvDialect, options: RowOptions, *, permissive: bool
    ) -> None:
        self._place, self._permissive = place, permissive
        self._schema, self._options = schema, options
        self._skips_comments = format in SPL_FORMATS
        self._read = _row_reader(format, schema, dialect, options)

    def read(self, lines: Sequence[bytes], start: FilePosition) -> FileRows:
        """Return the rows of consecutive lines, the first of which is at `start`.

        Raises:
            DataError: a row does not fit, and malformed rows are not returned; the message names the line.
        """
        options = self._options
        values: list[Sequence[Any]] = []
        delays: list[float] = []
        malformed: list[Malformed] = []
        for number, line in enumerate(lines, start.line):
            if number <= options.header_lines:
                continue
            if self._skips_comments and (not (bare := line.lstrip()) or bare.startswith(b"#")):
                continue
            try:
                delay, row = self._read(line.decode(options.encoding))
            except (ValueError, OverflowError) as error:
                column = error.column if isinstance(error, RefusedCellError) else ""
                if not self._permissive:
                    at = f"line {number}{f', column {column}' if column else ''}"
                    message = f"{self._place}, {at}: {error}; {wanted_row(self._schema)}"
                    raise DataError(message) from None
                text = line.decode(options.encoding, errors="replace")
                malformed.append(Malformed(len(values) + len(malformed), number, column, str(error), text))
                continue
            values.append(row)
            delays.append(delay)
        turned = zip(*values, strict=True) if values else ((),) * len(self._schema)
        columns = [column_of(column, field.type) for column, field in zip(turned, self._schema, strict=True)]
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        return FileRows(batch, tuple(malformed), start, np.array(delays) if options.has_delay else None)


def _row_reader(format: str, schema: pa.Schema, dialect: CsvDialect, options: RowOptions) -> ReadRow:
    if format == "line":
        return lambda text: (0.0, (text,))
    type_ = spl_tuple(schema, options.required, format, options.types)
    if format == "splTxt":
        return lambda text: _of_tuple(*_after_delay(text, options), type_)
    readers = [
        reader_of(field.type, attribute.type, quoted=dialect.quoted)
        for field, attribute in zip(schema, type_.attributes, strict=True)
    ]
    names, texts = schema.names, [pa.types.is_string(field.type) for field in schema]

    def read(text: str) -> tuple[float, Sequence[Any]]:
        delay, text = _after_delay(text, options)
        parts = cells(text, dialect.separator, texts)
        if len(parts) > len(names) and not (options.ignore_extra or parts[len(names) :] == [""]):
            message = f"{len(parts)} values for {len(names)} attributes; see ignoreExtraCSVValues"
            raise ValueError(message)
        row: list[Any] = []
        for place, (name, value) in enumerate(zip(names, readers, strict=True)):
            part = parts[place] if place < len(parts) else None
            if name in options.defaults and (part is None or not part.strip()):
                row.append(options.defaults[name])
            elif part is None:
                message = "the row has no value for it; give it one with defaultTuple"
                raise RefusedCellError(name, message)
            else:
                row.append(_read(name, value, part))
        return delay, row

    return read


def _read(name: str, read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except ValueError as error:
        raise RefusedCellError(name, str(error)) from None


def _after_delay(text: str, options: RowOptions) -> tuple[float, str]:
    """Return the delay in seconds at the beginning of a row, and the rest of the row; 0 without `hasDelayField`."""
    if not options.has_delay:
        return 0.0, text
    delay, found, rest = text.partition(",")
    try:
        seconds = float(delay)
    except ValueError:
        seconds = -1.0
    if not found or not 0 <= seconds < float("inf"):
        message = f"{delay!r:.60} is not a number of seconds, with which a row begins under hasDelayField"
        raise ValueError(message)
    return seconds, rest


def _of_tuple(delay: float, text: str, type_: Any) -> tuple[float, Sequence[Any]]:
    return delay, list(read_tuple(text, type_).values())


class LineStream:
    """Rows of lines that arrive in pieces: the bytes of several tuples.

    Attributes:
        rest: the bytes of a line whose end has not arrived.
        lines: the number of lines so far.

    Raises:
        ValueError: SPL has no type for an attribute, or the option `types` is wrong.
    """

    def __init__(
        self, format: str, schema: pa.Schema, dialect: CsvDialect, options: RowOptions, *, permissive: bool
    ) -> None:
        self._reader = LineReader("the bytes", format, schema, dialect, options, permissive=permissive)
        self._eol = options.eol
        self.rest = b""
        self.lines = 0

    def more(self, content: bytes, *, ended: bool) -> FileRows | None:
        """Add the next bytes, and return the rows of the lines that are complete now; None if no line is.

        Args:
            content: the next bytes.
            ended: nothing follows, so the rest is a line as well.

        Raises:
            DataError: a row does not fit, and malformed rows are not set aside.
        """
        *lines, self.rest = (self.rest + content).split((self._eol or "\n").encode())
        if ended and self.rest:
            lines, self.rest = [*lines, self.rest], b""
        if not lines:
            return None
        if self._eol is None:
            lines = [line.removesuffix(b"\r") for line in lines]
        start = FilePosition(line=self.lines + 1)
        self.lines += len(lines)
        return self._reader.read(lines, start)
