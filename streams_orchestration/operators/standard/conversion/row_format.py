"""Rows of Parse and Format: their formats, and the division of a text into rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from streams_orchestration.operators.messages.decoders import MessageFormat

RowFormat = Literal["csv", "line", "jsonl", "bin"]
LONGEST_ROW_BYTES = 1 << 20
"""A quote without its pair within this many bytes is malformed; the row then ends with its line."""


def message_format(format: str) -> MessageFormat:
    """Return the message format in which a row of the format csv, line or jsonl is decoded."""
    formats: dict[str, MessageFormat] = {"csv": "csv", "line": "raw", "jsonl": "json"}
    return formats[format]


def split_rows(text: bytes, *, quoted: bool, ended: bool) -> tuple[Sequence[bytes], bytes]:
    """Split a text into rows with their line feeds, and the unfinished rest.

    Args:
        text: a text that begins with a row.
        quoted: a line feed between quotes does not end a row.
        ended: nothing follows, so the rest is a row as well.
    """
    lines = text.splitlines(keepends=True) if b"\r" not in text else _lines(text)
    rows: list[bytes] = []
    at = 0
    while at < len(lines) and (ended or lines[at].endswith(b"\n")):
        end = at + 1
        size = len(lines[at])
        quotes = lines[at].count(b'"') if quoted else 0
        while quotes % 2 and end < len(lines) and size < LONGEST_ROW_BYTES:
            size, quotes, end = size + len(lines[end]), quotes + lines[end].count(b'"'), end + 1
        paired = quotes % 2 == 0 and (ended or lines[end - 1].endswith(b"\n"))
        if not paired and not ended and size < LONGEST_ROW_BYTES:
            break
        if not paired or size > LONGEST_ROW_BYTES:
            end = at + 1
        rows.append(b"".join(lines[at:end]))
        at = end
    return rows, b"".join(lines[at:])


def _lines(text: bytes) -> list[bytes]:
    """Split a text at line feeds only."""
    parts = text.split(b"\n")
    return [*(part + b"\n" for part in parts[:-1]), *([parts[-1]] if parts[-1] else [])]
