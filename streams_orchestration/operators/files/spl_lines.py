"""Files as IBM Streams writes them: lines (`line`, `splCsv`, `splTxt`), blocks and binary tuples, with punctuation."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from streams_orchestration.operators.contract.context import OperatorContext, Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.formats.compression import Compression
from streams_orchestration.operators.formats.spl_binary import binary_tuple, check_binary, encoder
from streams_orchestration.operators.formats.spl_bounds import check_bounds
from streams_orchestration.operators.formats.spl_texts import NO_TYPES, spl_tuple, texts_of, tuples_of
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.storage.durable_files import durable
from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.types.text import text_of
from streams_orchestration.spl.types.types import FLOAT64

LINE_FORMATS = ("line", "splCsv", "splTxt")
OWN_FORMATS = (*LINE_FORMATS, "block", "bin")
"""The formats that `write_lines_file` writes."""
DELAY = "@delay"
"""The name of the first column, with the seconds between a tuple and the tuple or mark before it."""
_MARK_BYTES = {Punctuation.WINDOW: b"\1", Punctuation.FINAL: b"\2"}
_MARKS = {Punctuation.WINDOW: "WindowMarker", Punctuation.FINAL: "FinalMarker"}


class LineWriting(NamedTuple):
    """The settings by which tuples are written in one of `OWN_FORMATS`."""

    format: str
    separator: str = ","
    quoted: bool = True
    """True to write quotes around texts."""
    encoding: str = "utf-8"
    eol: str = "\n"
    compression: Compression | None = None
    delays: bool = False
    """True if the tuples have the column `DELAY`, and their lines begin with it."""
    types: Mapping[str, str] = NO_TYPES
    """Types of SPL that the columns do not show, by attribute."""
    marks: bool = False
    """True if marks are written among the tuples."""


class WrittenMark(NamedTuple):
    """A mark among the tuples that are written."""

    mark: Punctuation
    delay: float = 0.0
    """The seconds since the tuple or mark before."""


class SinceLast:
    """The seconds from each tuple or mark of a sink to the one before it, by the time of their batches."""

    def __init__(self, context: OperatorContext) -> None:
        self._context = context
        self.last: float | None = None
        """The time of the last tuple or mark in unix seconds; None before the first."""

    def step(self) -> float:
        """Return the seconds since the last tuple or mark, and measure from now on.

        They are 0 for the first one, and if the clock was set back.
        """
        now = self._context.now
        before, self.last = now if self.last is None else self.last, now
        return max(now - before, 0.0)

    def in_front_of(self, tuples: pa.RecordBatch) -> pa.RecordBatch:
        """Return tuples with the column `DELAY` in front, and measure from now on unless there are none.

        The tuples of a batch come at once, so only the first one has a delay.
        """
        delays = np.zeros(tuples.num_rows)
        delays[:1] = self.step() if tuples.num_rows else 0.0
        return pa.RecordBatch.from_arrays([pa.array(delays), *tuples.columns], schema=with_delay(tuples.schema))


def with_delay(schema: pa.Schema) -> pa.Schema:
    """Return a schema with the column `DELAY` in front."""
    return pa.schema([pa.field(DELAY, pa.float64()), *schema])


def check_lines(schema: pa.Schema, writing: LineWriting) -> None:
    """Raise ValueError if the format of `writing`, one of `OWN_FORMATS`, cannot represent the tuples."""
    if writing.format == "block":
        if len(schema) != 1 or not pa.types.is_binary(schema.field(0).type):
            message = "format block: exactly one binary attribute is written; leave others out with suppress"
            raise ValueError(message)
        return
    if writing.format == "bin":
        check_binary(binary_tuple(schema, writing.types))
        return
    if writing.format == "line":
        if len(schema) != 1 or not pa.types.is_string(schema.field(0).type):
            message = "format line: exactly one string attribute is written; leave others out with suppress"
            raise ValueError(message)
        return
    spl_tuple(schema, (), writing.format, writing.types)


def write_lines_file(path: Path, items: Sequence[pa.RecordBatch | WrittenMark], writing: LineWriting) -> None:
    """Write tuples and marks, in order, to a new file. The framework flushes it to disk with the commit.

    In the format `block`, marks are left out. There and in `line`, a null is empty.

    Raises:
        DataError: a text cannot be written in the encoding, or a null in the format `bin`; or a value does not fit its
            type in SPL.
        OSError: the file cannot be written.
    """
    if writing.format == "block":
        _write(path, b"".join(_blocks(items)), writing)
        return
    if writing.format == "bin":
        _write(path, b"".join(part for item in items for part in binary_of(item, writing)), writing)
        return
    lines = [line for item in items for line in lines_of(item, writing)]
    _write(path, encoded(writing.eol.join([*lines, ""]), writing.encoding), writing)


def encoded(text: str, encoding: str) -> bytes:
    """Return a text in an encoding. Raise DataError if the encoding lacks one of its characters."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        message = f"{text[error.start]!r} is not a character of {encoding}; see encoding"
        raise DataError(message) from error


def _write(path: Path, content: bytes, writing: LineWriting) -> None:
    with durable(path, synced=False) as file:
        file.write(packed(content, writing.compression))


def _blocks(items: Sequence[pa.RecordBatch | WrittenMark]) -> Iterator[bytes]:
    for item in items:
        if not isinstance(item, WrittenMark):
            yield from (block or b"" for block in item.column(0).to_pylist())


def binary_of(item: pa.RecordBatch | WrittenMark, writing: LineWriting) -> Iterator[bytes]:
    """Yield the bytes of each tuple of a batch, or of a mark. A byte in front tells them apart if marks are written.

    `check_lines` has accepted the schema.

    Raises:
        DataError: a value is null although its type is not optional, or does not fit its type; see `check_bounds`.
    """
    if isinstance(item, WrittenMark):
        yield _MARK_BYTES[item.mark]
        return
    from streams_orchestration.spl.programs.columns import values_of

    type_ = binary_tuple(item.schema, writing.types)
    for column, attribute in zip(item.columns, type_.attributes, strict=True):
        check_bounds(column, attribute.type)
    encode, front = encoder(type_), b"\0" if writing.marks else b""
    try:
        columns = [values_of(item.column(each.name), each.type) for each in type_.attributes]
    except RunError as error:
        message = f"format bin: {error}; types may say that it is optional"
        raise DataError(message) from error
    names = [each.name for each in type_.attributes]
    for row in zip(*columns, strict=True):
        into = bytearray(front)
        encode(dict(zip(names, row, strict=True)), into)
        yield bytes(into)


def packed(content: bytes, compression: Compression | None) -> bytes:
    """Return bytes compressed, unchanged without a compression. Equal contents give equal bytes."""
    if compression == "gzip":
        return gzip.compress(content, mtime=0)
    return {"zlib": zlib.compress, "bzip2": bz2.compress}[compression](content) if compression else content


def unpacked(content: bytes, compression: Compression) -> bytes:
    """Return the content of compressed bytes.

    Raises:
        OSError: the bytes are damaged.
    """
    try:
        return {"gzip": gzip.decompress, "zlib": zlib.decompress, "bzip2": bz2.decompress}[compression](content)
    except (EOFError, ValueError, zlib.error) as error:  # bz2 raises ValueError for missing bytes
        message = f"the compressed content is damaged: {error}"
        raise OSError(message) from error


def merge_lines_files(files: Sequence[Path], into: Path, compression: Compression) -> None:
    """Merge compressed files, in order, into a new file that is on disk when this returns.

    Raises:
        OSError: a file cannot be read or written.
    """
    with durable(into) as target:
        target.write(packed(b"".join(unpacked(path.read_bytes(), compression) for path in files), compression))


def lines_of(item: pa.RecordBatch | WrittenMark, writing: LineWriting) -> Iterator[str]:
    """Yield one line for each tuple of a batch, or the line for a punctuation mark, without the line end.

    If `writing.delays`, a line begins with the seconds since the last tuple or mark. `check_lines` has accepted the
    schema.
    """
    if not writing.delays:
        yield from _lines(item, writing)
    elif isinstance(item, WrittenMark):
        yield from (f"{_seconds(item.delay)},{line}" for line in _lines(item, writing))
    else:
        delays = item.column(0).to_pylist()
        lines = _lines(item.select(item.schema.names[1:]), writing)
        yield from (f"{_seconds(delay)},{line}" for delay, line in zip(delays, lines, strict=True))


def _seconds(delay: float) -> str:
    return text_of(delay, FLOAT64)


def _lines(item: pa.RecordBatch | WrittenMark, writing: LineWriting) -> Iterator[str]:
    if isinstance(item, WrittenMark):
        yield f"Punctuation received: {_MARKS[item.mark]}"
        return
    if writing.format == "line":
        yield from ("" if text is None else text for text in item.column(0).to_pylist())
        return
    type_ = spl_tuple(item.schema, (), writing.format, writing.types)
    if writing.format == "splTxt":
        yield from tuples_of(item, type_)
        return
    columns = [
        texts_of(column, attribute.type, quoted=writing.quoted)
        for column, attribute in zip(item.columns, type_.attributes, strict=True)
    ]
    yield from map(writing.separator.join, zip(*columns, strict=True))
