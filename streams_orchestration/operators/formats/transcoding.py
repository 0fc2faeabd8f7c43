r"""Conversion of texts between encodings, as bytes that come in parts and may end within a character.

>>> transcoder = Transcoder("utf-8", "latin-1")
>>> transcoder.part(b"h\xc3"), transcoder.pending, transcoder.part(b"\xa4user")
(b'h', b'\xc3', b'\xe4user')
"""

from __future__ import annotations

import codecs

from streams_orchestration.operators.errors.errors import DataError


class Transcoder:
    """A converter of one text after another from an encoding to another one."""

    def __init__(self, source: str, target: str) -> None:
        """Start without a text.

        Raises:
            ValueError: an encoding is unknown.
        """
        self.source, self.target = source, target
        for name in (source, target):
            _require_encoding(name)
        self._decoder = codecs.getincrementaldecoder(source)()
        self._encoder = codecs.getincrementalencoder(target)()

    def clear(self) -> None:
        """Forget the character that has begun."""
        self._decoder.reset()
        self._encoder.reset()

    def part(self, data: bytes) -> bytes:
        """Convert the next bytes; the bytes of a character that does not end in them wait for the next part.

        Raises:
            DataError: bytes are not characters of the first encoding, or the second one lacks a character.
        """
        try:
            return self._encoder.encode(self._decoder.decode(data))
        except UnicodeError as error:
            raise DataError(str(error)) from error

    @property
    def pending(self) -> bytes:
        """The bytes of the character that has begun."""
        return self._decoder.getstate()[0]

    def dump(self) -> list[str | int]:
        """Return the state: the waiting bytes in hexadecimal, and the states of the decoder and the encoder."""
        pending, flag = self._decoder.getstate()
        return [pending.hex(), flag, int(self._encoder.getstate())]

    def load(self, state: list[str | int]) -> None:
        """Restore a state that `dump` returned."""
        pending, flag, encoder = state
        self._decoder.setstate((bytes.fromhex(str(pending)), int(flag)))
        self._encoder.setstate(int(encoder))


def _require_encoding(name: str) -> None:
    try:
        "a".encode(name)
        b"".decode(name)
    except (LookupError, ValueError):
        message = f"{name!r} is not an encoding of texts, such as UTF-8 or ISO-8859-1"
        raise ValueError(message) from None
