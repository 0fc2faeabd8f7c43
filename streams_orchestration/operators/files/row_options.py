"""Options of files whose rows are lines of text, or blocks of bytes, as IBM Streams has them, and their raw lines."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, Any

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.formats.compression import Compression
from streams_orchestration.operators.storage.input_files import go_to, open_decompressed
from streams_orchestration.operators.storage.port import File

BLOCK_BYTES = 4 << 20
_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, OSError)


@dataclass(frozen=True)
class RowOptions:
    """The options of one FileSource.

    Attributes:
        compression: the compression of the file; None derives it from the file's name.
        encoding: the encoding of texts.
        eol: the marker after each line; None means a line feed, with or without a carriage return.
        header_lines: the number of lines to skip at the beginning.
        defaults: the values of attributes that are missing or blank in a row of `splCsv`.
        required: the attributes that are never null.
        types: types of SPL that the columns do not show, by attribute.
        ignore_extra: ignore values after the last attribute.
        has_delay: each row begins with a number of seconds.
        block_size: the bytes of a block; None reads the whole file as one.
    """

    compression: Compression | None = None
    encoding: str = "utf-8"
    eol: str | None = None
    header_lines: int = 0
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    required: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict[str, str])
    ignore_extra: bool = False
    has_delay: bool = False
    block_size: int | None = None


def require_single_bytes(encoding: str) -> None:
    """Raise ValueError unless line feeds and separators are single bytes in an encoding, as in UTF-8 and ISO 8859.

    An unknown encoding is refused as well.
    """
    with suppress(LookupError, UnicodeError):
        if all(mark.encode(encoding) == mark.encode() for mark in "\n\r,#\"'"):
            return
    message = f"encoding: {encoding!r} is not an encoding with a line feed of one byte, such as UTF-8 or ISO-8859-1"
    raise ValueError(message)


@contextmanager
def opened(path: File, options: RowOptions, place: int) -> Iterator[IO[bytes]]:
    """Open a file at a byte of its decompressed content.

    With `options.compression`, a place after the end is not refused: nothing is left to be read.

    Raises:
        DataError: the file is damaged, which may show only while it is read, or it ends before the place.
        OSError, StorageError: the file cannot be opened.
    """
    if options.compression is None:
        with open_decompressed(path) as file:
            go_to(file, path, place)
            yield file
        return
    with path.open("rb") as packed:
        try:
            if options.compression == "zlib":
                file: Any = io.BytesIO(zlib.decompress(packed.read()))
            else:
                file = (gzip if options.compression == "gzip" else bz2).open(packed, "rb")
            file.seek(place)
            yield io.BufferedReader(file)
        except _DAMAGE as error:
            message = f"{path}: cannot be read to its end, it is damaged or not compressed by {options.compression}"
            raise DataError(message) from error


def lines_of(file: IO[bytes], options: RowOptions) -> Iterator[list[tuple[bytes, int]]]:
    """Yield the lines of a file in lists of about `BLOCK_BYTES`.

    Each line is without its end, beside its size in bytes with the end.
    """
    if options.eol is None:
        while lines := file.readlines(BLOCK_BYTES):
            yield [(line.removesuffix(b"\n").removesuffix(b"\r"), len(line)) for line in lines]
        return
    marker, rest = options.eol.encode(options.encoding), b""
    while block := file.read(BLOCK_BYTES):
        *lines, rest = (rest + block).split(marker)
        if lines:
            yield [(line, len(line) + len(marker)) for line in lines]
    if rest:
        yield [(rest, len(rest))]
