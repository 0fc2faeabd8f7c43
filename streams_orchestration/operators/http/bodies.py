"""Bodies of requests as messages."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from streams_orchestration.operators.messages.decoders import MessageFormat

LINES = frozenset(("application/x-ndjson", "application/ndjson", "application/jsonl", "application/jsonlines"))
ARRAYS = frozenset(("application/json", "text/json"))
TABLES = frozenset(("text/csv", "application/csv"))


class BodyError(ValueError):
    """The body cannot be taken; `status` is that of the answer."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def messages_of(body: bytes, kind: str, format: MessageFormat, names: Sequence[str], separator: str) -> list[bytes]:
    """The messages in a body.

    Args:
        body: of the request.
        kind: its header Content-Type.
        format: of a message; `raw`: the whole body is one.
        names: attributes that a row of CSV has, for its header line.
        separator: csv.

    Raises:
        BodyError: the body is not what it says, or says what is not taken.
    """
    media, *options = (part.strip().lower() for part in kind.split(";"))
    if format == "raw":
        return [body]
    if format == "json" and media in ARRAYS:
        return _objects(body)
    if format == "json" and media in LINES:
        return [line for line in body.splitlines() if line.strip()]
    if format == "csv" and media in TABLES:
        rows = _rows(body)
        if "header=present" in options and rows:
            _check_header(rows.pop(0), names, separator)
        return rows
    wanted = "application/json or application/x-ndjson" if format == "json" else "text/csv"
    raise BodyError(415, f"Content-Type is {media or 'not there'}; {wanted} is taken")


def _objects(body: bytes) -> list[bytes]:
    """Return the elements of an array as bodies, or else the body itself."""
    try:
        value = json.loads(body)
        if not isinstance(value, list):
            return [body]
        return [json.dumps(each).encode() for each in value]
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BodyError(400, f"the body is no JSON: {reason}") from None


def _rows(body: bytes) -> list[bytes]:
    """Rows end with a line feed that is not in quotes."""
    rows: list[bytes] = []
    begun = b""
    for line in body.split(b"\n"):
        begun = begun + b"\n" + line if begun else line
        if begun.count(b'"') % 2 == 0:
            if begun.strip():
                rows.append(begun.removesuffix(b"\r"))
            begun = b""
    if begun:
        raise BodyError(400, "the body is no CSV: a quote is not closed")
    return rows


def _check_header(row: bytes, names: Sequence[str], separator: str) -> None:
    header = next(csv.reader(io.StringIO(row.decode(errors="replace")), delimiter=separator), [])
    if header != list(names):
        raise BodyError(400, f"the header line has the names {', '.join(header)}; {', '.join(names)} are wanted")
