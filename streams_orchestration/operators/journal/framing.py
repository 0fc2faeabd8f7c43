"""Framing: the boundaries of messages in a stream of bytes."""

from __future__ import annotations

from typing import Literal

Framing = Literal["lines", "length"]
LENGTH_BYTES = 4


class FrameError(Exception):
    """A message is longer than it may be; where the next one begins is not known."""


class Frames:
    """The messages of one connection.

    Args:
        framing: `lines`: a message ends with a line feed, a carriage return in front of it belongs to it; `length`: its
            length is in front of it, four bytes, the highest first.
        most: bytes of a message.
        skip_empty: a message of nothing but blanks is none.
    """

    def __init__(self, framing: Framing, most: int, *, skip_empty: bool) -> None:
        self._split = self._lines if framing == "lines" else self._lengths
        self._most = most
        self._skip_empty = skip_empty
        self._rest = b""

    def take(self, chunk: bytes) -> list[bytes]:
        """Return the messages that end in the next bytes.

        Raises:
            FrameError: one is too long.
        """
        messages, self._rest = self._split(self._rest + chunk)
        if any(len(message) > self._most for message in messages) or len(self._rest) > self._most + LENGTH_BYTES:
            message = f"a message is longer than maxMessageBytes ({self._most})"
            raise FrameError(message)
        return [message for message in messages if message.strip()] if self._skip_empty else messages

    @property
    def rest(self) -> int:
        """Bytes of a message that has not ended."""
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
                raise FrameError(message)
            if end > len(content):
                break
            messages.append(content[begin:end])
            at = end
        return messages, content[at:]
