"""The formats of the rows of Parse and Format."""

from __future__ import annotations

from typing import Literal

from streams_orchestration.operators.messages.decoders import MessageFormat

RowFormat = Literal["csv", "line", "jsonl", "bin"]


def message_format(format: str) -> MessageFormat:
    """Return the message format in which a row of the format csv, line or jsonl is decoded."""
    formats: dict[str, MessageFormat] = {"csv": "csv", "line": "raw", "jsonl": "json"}
    return formats[format]
