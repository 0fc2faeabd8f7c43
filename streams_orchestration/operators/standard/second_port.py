"""The second output port of FileSource: malformed rows, or the files that have been read."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from streams_orchestration.operators.libraries import pa
from streams_orchestration.operators.standard.file_rows import Malformed

LOGGED = 5
"""Malformed rows that are logged one by one; then the log has their number whenever it has grown tenfold."""
_MALFORMED = {"file": "string", "line": "int64", "column": "string", "reason": "string", "text": "string"}


def is_file_port(schema: pa.Schema | None) -> bool:
    """Are the tuples a text and an int, as those of the second output port in Streams."""
    return schema is not None and {field.type for field in schema} == {pa.string(), pa.int32()} and len(schema) == 2


def check_second_port(schema: pa.Schema | None, *, permissive: bool) -> None:
    """Raises ValueError when the port would never get a tuple, or tuples of another type."""
    if is_file_port(schema):
        return
    if schema is None or any(_MALFORMED.get(field.name) != str(field.type) for field in schema):
        message = (
            "the second output port has attributes among `file string, line bigint, column string, reason string, "
            "text string` for malformed rows, or a string and an int for the files that were read"
        )
        raise ValueError(message)
    if not permissive:
        message = "the second output port never gets a malformed row, since one fails; say parsing: permissive"
        raise ValueError(message)


def malformed_columns(file: object, rows: Sequence[Malformed]) -> dict[str, list[Any]]:
    """Malformed rows of a file as columns."""
    return {
        "file": [str(file)] * len(rows),
        "line": [row.line for row in rows],
        "column": [row.column for row in rows],
        "reason": [row.reason for row in rows],
        "text": [row.text for row in rows],
    }


def log_malformed(logger: logging.Logger, file: object, rows: Sequence[Malformed], before: int) -> None:
    """Write malformed rows of a file into the log, of which there were some before."""
    for count, row in enumerate(rows, before + 1):
        if count <= LOGGED:
            column = f", column {row.column}" if row.column else ""
            logger.warning("%s: line %d%s: %s", file, row.line, column, row.reason)
        elif str(count).strip("0") == "1":
            logger.warning("%s: %d malformed rows up to line %d", file, count, row.line)
