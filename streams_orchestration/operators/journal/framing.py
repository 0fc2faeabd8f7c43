"""Framing: the boundaries of messages in a stream of bytes."""

from __future__ import annotations

from typing import Literal

Framing = Literal["lines", "length"]
LENGTH_BYTES = 4


class FramingLostError(Exception):
    """A message exceeds the size limit, so the start of the next one is unknown."""


class Frames:
    """Splits the bytes of one connection into messages.

    Args:
        framing: `lines`: a message ends with a line feed, with an optional carriage return before it. `length`: the
            message follows its length, which is four bytes in big-endian order.
        most: the largest message size in bytes.
        skip_empty: drop messages that consist of white space only.
    """

    def __init__(self, framing: Framing, most: int, *, skip_empty: bool) -> None:
        self._split = self._lines if framing == "lines" else self._lengths
        self._most = most
        self._skip_empty = skip_empty
        self._rest = b""

    def take(self, chunk: bytes) -> list[bytes]:
        """Add the next bytes, and return the messages that they complete.

        Raises:
            FramingLostError: a message is too long.
        """
        messages, self._rest = self._split(self._rest + chunk)
        if any(len(message) > self._most for message in messages) or len(self._rest) > self._most + LENGTH_BYTES:
            message = f"a message is longer than maxMessageBytes ({self._most})"
            raise FramingLostError(message)
        return [message for message in messages if message.strip()] if self._skip_empty else messages

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
