"""Compression of bytes that come in parts, in the formats zlib, gzip and bzip2.

Between two parts a compressor has a few numbers as its state, since a part refers to no earlier one.

>>> compressor, decompressor = Compressor("gzip"), Decompressor("gzip")
>>> parts = [compressor.part(b"one "), compressor.part(b"two"), compressor.end()]
>>> b"".join(map(decompressor.part, parts)), decompressor.unfinished
(b'one two', False)
"""

from __future__ import annotations

import bz2
import zlib
from typing import Any, Literal

from streams_orchestration.operators.errors.errors import DataError

Compression = Literal["zlib", "gzip", "bzip2"]

_BEGIN = {"zlib": b"\x78\x9c", "gzip": b"\x1f\x8b\x08\0\0\0\0\0\0\xff", "bzip2": b""}
_LAST_BLOCK = b"\x03\0"
_RAW = -zlib.MAX_WBITS
_WINDOWS = {"zlib": zlib.MAX_WBITS, "gzip": zlib.MAX_WBITS | 16}
_SIZES = 1 << 32


class Compressor:
    """A compressor of one stream after another. Parts of bzip2 are streams of their own, which may follow each other.

    Attributes:
        begun: True if a stream has begun and has not ended.
        check: the checksum of the stream so far; not kept for bzip2.
        size: the number of its bytes before compression; 0 for bzip2.
    """

    def __init__(self, compression: Compression) -> None:
        self.compression = compression
        self.clear()

    def clear(self) -> None:
        """Forget the stream that has begun."""
        self.begun = False
        self.check = 1 if self.compression == "zlib" else 0
        self.size = 0

    def part(self, data: bytes) -> bytes:
        """Compress data, in a new stream if none has begun, and return the next bytes with all the data."""
        begin = b"" if self.begun else _BEGIN[self.compression]
        self.begun = True
        if self.compression == "bzip2":
            return bz2.compress(data)
        self.check = (zlib.adler32 if self.compression == "zlib" else zlib.crc32)(data, self.check)
        self.size += len(data)
        deflate = zlib.compressobj(wbits=_RAW)
        return begin + deflate.compress(data) + deflate.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        """End the stream that has begun, and return its last bytes. Another stream may begin.

        The bytes are empty without such a stream, and for bzip2.
        """
        last = b""
        if self.begun and self.compression == "zlib":
            last = _LAST_BLOCK + self.check.to_bytes(4, "big")
        elif self.begun and self.compression == "gzip":
            last = _LAST_BLOCK + self.check.to_bytes(4, "little") + (self.size % _SIZES).to_bytes(4, "little")
        self.clear()
        return last


class Decompressor:
    """A decompressor of streams that follow each other.

    Attributes:
        tail: the compressed bytes of the last part that belong to the stream which has not ended.
        fresh: True if that stream began in the last part, or if the last part ended it.
    """

    def __init__(self, compression: Compression) -> None:
        self.compression = compression
        self._stream: Any = None
        self.tail = b""
        self.fresh = False

    @property
    def unfinished(self) -> bool:
        """True if a stream has begun and has not ended."""
        return self._stream is not None

    def part(self, data: bytes) -> bytes:
        """Decompress the next part, and return the bytes that it adds.

        Raises:
            DataError: the data is not compressed in this format. The whole part is lost, and the decompressor
                cannot continue.
        """
        made = list[bytes]()
        self.tail, self.fresh = data, self._stream is None
        while data:
            if self._stream is None:
                self.tail, self.fresh = data, True
                window = _WINDOWS.get(self.compression)
                self._stream = bz2.BZ2Decompressor() if window is None else zlib.decompressobj(window)
            try:
                made.append(self._stream.decompress(data))
            except (zlib.error, OSError, ValueError) as error:
                message = f"the bytes are not compressed by {self.compression}: {error}"
                raise DataError(message) from error
            data = self._stream.unused_data if self._stream.eof else b""
            if self._stream.eof:
                self._stream = None
                self.tail, self.fresh = b"", True
        return b"".join(made)
