"""Framing: the boundaries of messages in a stream of bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from streams_orchestration.operators.formats.spl_binary import IncompleteError, decoder
from streams_orchestration.spl.types.types import Tuple

Framing = Literal["lines", "length"]
Split = Callable[[bytes], tuple[list[bytes], bytes]]
"""A function from bytes that begin with a message to the whole messages and the incomplete rest.

It raises `FramingLostError` if the start of the next message cannot be found.
"""
LENGTH_BYTES = 4


class FramingLostError(Exception):
    """A message exceeds the size limit or is damaged, so the start of the next one is unknown."""


class Frames:
    """Splits the bytes of one connection into messages.

    Args:
        framing: `lines`: a message ends with a line feed, with an optional carriage return before it. `length`: the
            message follows its length, which is four bytes in big-endian order. A function splits in another way.
        most: the largest message size in bytes.
        skip_empty: drop messages that consist of white space only.
        skip_comments: drop messages that begin with `#`.
        ends: the bytes that are left at the end of the connection are a message.
    """

    def __init__(
        self,
        framing: Framing | Split,
        most: int,
        *,
        skip_empty: bool,
        skip_comments: bool = False,
        ends: bool = False,
    ) -> None:
        self._split = self._lines if framing == "lines" else self._lengths if framing == "length" else framing
        self._most = most
        self._skip_empty, self._skip_comments, self._ends = skip_empty, skip_comments, ends
        self._rest = b""

    def take(self, chunk: bytes) -> list[bytes]:
        """Add the next bytes, and return the messages that they complete.

        Raises:
            FramingLostError: a message is too long or damaged. Messages that the bytes complete before it are lost.
        """
        messages, self._rest = self._split(self._rest + chunk)
        if any(len(message) > self._most for message in messages) or len(self._rest) > self._most + LENGTH_BYTES:
            message = f"a message is longer than maxMessageBytes ({self._most})"
            raise FramingLostError(message)
        return self._kept(messages)

    def end(self) -> list[bytes]:
        """Return the bytes that are left, as the last message at the end of the connection; none unless `ends`."""
        if not self._ends or not self._rest:
            return []
        last, self._rest = self._rest, b""
        return self._kept([last])

    def _kept(self, messages: list[bytes]) -> list[bytes]:
        if self._skip_empty:
            messages = [message for message in messages if message.strip()]
        return [message for message in messages if not message.startswith(b"#")] if self._skip_comments else messages

    @property
    def rest(self) -> int:
        """The number of bytes of the incomplete message."""
        return len(self._rest)

    @staticmethod
    def _lines(content: bytes) -> tuple[list[bytes], bytes]:
        *lines, rest = content.split(b"\n")
        return [line.removesuffix(b"\r") for line in lines], rest

    def _lengths(self, content: bytes) -> tuple[list[bytes], bytes]:
        messages: list[bytes] = []
        at = 0
        while len(content) >= at + LENGTH_BYTES:
            begin = at + LENGTH_BYTES
            end = begin + int.from_bytes(content[at:begin], "big")
            if end - begin > self._most:
                message = f"a message of {end - begin} bytes is longer than maxMessageBytes ({self._most})"
                raise FramingLostError(message)
            if end > len(content):
                break
            messages.append(content[begin:end])
            at = end
        return messages, content[at:]


def split_at(marker: bytes) -> Split:
    """Return the function that splits after each marker, which is not part of a message.

    >>> split_at(b";")(b"one;two;th")
    ([b'one', b'two'], b'th')
    """

    def split(content: bytes) -> tuple[list[bytes], bytes]:
        *messages, rest = content.split(marker)
        return messages, rest

    return split


def blocks_of(size: int) -> Split:
    """Return the function that splits into blocks of a number of bytes.

    >>> blocks_of(3)(b"abcdefgh")
    ([b'abc', b'def'], b'gh')
    """

    def split(content: bytes) -> tuple[list[bytes], bytes]:
        whole = len(content) // size * size
        return [content[at : at + size] for at in range(0, whole, size)], content[whole:]

    return split


def tuples_of(type_: Tuple) -> Split:
    """Return the function that splits into tuples of a type in SPL's binary encoding.

    It raises FramingLostError if the bytes are not tuples.
    """
    decode = decoder(type_)

    def split(content: bytes) -> tuple[list[bytes], bytes]:
        messages: list[bytes] = []
        at = 0
        while at < len(content):
            try:
                _, end = decode(content, at)
            except IncompleteError:
                break
            except ValueError as error:
                message = f"the bytes are not tuples: {error}"
                raise FramingLostError(message) from error
            messages.append(content[at:end])
            at = end
        return messages, content[at:]

    return split
