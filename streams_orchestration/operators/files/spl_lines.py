"""Text files as IBM Streams writes them: lines in the formats `line`, `splCsv` and `splTxt`, with punctuation."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from streams_orchestration.operators.context import Punctuation
from streams_orchestration.operators.durable_files import durable
from streams_orchestration.operators.errors import DataError
from streams_orchestration.operators.files.row_options import Compression
from streams_orchestration.operators.formats.spl_texts import spl_tuple, texts_of, tuples_of
from streams_orchestration.operators.libraries import pa

LINE_FORMATS = ("line", "splCsv", "splTxt")
_MARKS = {Punctuation.WINDOW: "WindowMarker", Punctuation.FINAL: "FinalMarker"}


class LineWriting(NamedTuple):
    """The settings by which tuples are written as lines."""

    format: str
    separator: str = ","
    quoted: bool = True
    """True to write quotes around texts."""
    encoding: str = "utf-8"
    eol: str = "\n"
    compression: Compression | None = None


def check_lines(schema: pa.Schema, writing: LineWriting) -> None:
    """Raise ValueError if the format of `writing`, one of `LINE_FORMATS`, cannot represent the tuples."""
    if writing.format == "line":
        if len(schema) != 1 or not pa.types.is_string(schema.field(0).type):
            message = "format line: exactly one string attribute is written; leave others out with suppress"
            raise ValueError(message)
        return
    spl_tuple(schema, (), writing.format)


def write_lines_file(path: Path, items: Sequence[pa.RecordBatch | Punctuation], writing: LineWriting) -> None:
    """Write tuples and marks, in order, to a new file. The framework flushes it to disk with the commit.

    Raises:
        DataError: a text cannot be written in the encoding.
    """
    lines = [line for item in items for line in lines_of(item, writing)]
    text = writing.eol.join([*lines, ""])
    try:
        content = text.encode(writing.encoding)
    except UnicodeEncodeError as error:
        message = f"{text[error.start]!r} is no character of {writing.encoding}; see encoding"
        raise DataError(message) from error
    with durable(path, synced=False) as file:
        file.write(packed(content, writing.compression))


def packed(content: bytes, compression: Compression | None) -> bytes:
    """Return compressed bytes. Equal contents give equal bytes."""
    if compression == "gzip":
        return gzip.compress(content, mtime=0)
    return {"zlib": zlib.compress, "bzip2": bz2.compress}[compression](content) if compression else content


def unpacked(content: bytes, compression: Compression) -> bytes:
    """Return the content of compressed bytes."""
    return {"gzip": gzip.decompress, "zlib": zlib.decompress, "bzip2": bz2.decompress}[compression](content)


def merge_lines_files(files: Sequence[Path], into: Path, compression: Compression) -> None:
    """Merge compressed files, in order, into a new file that is on disk when this returns.

    Raises:
        OSError: a file cannot be read or written.
    """
    with durable(into) as target:
        target.write(packed(b"".join(unpacked(path.read_bytes(), compression) for path in files), compression))


def lines_of(item: pa.RecordBatch | Punctuation, writing: LineWriting) -> Iterator[str]:
    """Yield one line for each tuple of a batch, or the line for a punctuation mark."""
    if isinstance(item, Punctuation):
        yield f"Punctuation received: {_MARKS[item]}"
        return
    if writing.format == "line":
        yield from ("" if text is None else text for text in item.column(0).to_pylist())
        return
    type_ = spl_tuple(item.schema, (), writing.format)
    if writing.format == "splTxt":
        yield from tuples_of(item, type_)
        return
    columns = [
        texts_of(column, attribute.type, quoted=writing.quoted)
        for column, attribute in zip(item.columns, type_.attributes, strict=True)
    ]
    yield from map(writing.separator.join, zip(*columns, strict=True))
