"""Splits the body of an HTTP request into messages."""

from __future__ import annotations

import csv
import io
import json
import re
from codecs import BOM_UTF8
from collections.abc import Sequence

from streams_orchestration.operators.formats.checks import utf8_fault
from streams_orchestration.operators.formats.json_reading import BLANK
from streams_orchestration.operators.messages.decoders import MessageFormat

LINES = frozenset(("application/x-ndjson", "application/ndjson", "application/jsonl", "application/jsonlines"))
ARRAYS = frozenset(("application/json", "text/json"))
TABLES = frozenset(("text/csv", "application/csv"))


_BLANK = BLANK.decode()
_SPACE = re.compile(f"[{_BLANK}]*")


class BodyError(ValueError):
    """The body is refused. `status` is the HTTP status of the response."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def messages_of(body: bytes, kind: str, format: MessageFormat, names: Sequence[str], separator: str) -> list[bytes]:
    """Return the messages in a body.

    They are the elements of a JSON array or another JSON value, the lines of JSON Lines, or the rows of CSV. Blank
    lines and rows are dropped.

    Args:
        body: the body of the request.
        kind: the header Content-Type.
        format: the format of a message. With `raw` the whole body is one message.
        names: the attributes of a CSV row, for checking a header line.
        separator: the separator, for format csv.

    Raises:
        BodyError: the media type is not accepted, or the body does not match it.
    """
    media, *options = (part.strip().lower() for part in kind.split(";"))
    if format == "raw":
        return [body]
    if format == "json" and media in ARRAYS:
        return _objects(body)
    if format == "json" and media in LINES:
        return [line.strip(BLANK) for line in body.split(b"\n") if line.strip(BLANK)]
    if format == "csv" and media in TABLES:
        rows = _rows(body.removeprefix(BOM_UTF8))
        if "header=present" in options and rows:
            _check_header(rows.pop(0), names, separator)
        return rows
    wanted = "application/json or application/x-ndjson" if format == "json" else "text/csv"
    raise BodyError(415, f"Content-Type is {media or 'missing'}; {wanted} is accepted")


def _objects(body: bytes) -> list[bytes]:
    """Return the elements of a JSON array as separate bodies, or else the body itself; raise BodyError without JSON."""
    try:
        text = body.decode()
        if not text.lstrip(_BLANK).startswith("["):
            json.loads(text)
            return [body]
        return _elements(text)
    except UnicodeDecodeError:
        raise BodyError(400, f"the body is not JSON: {utf8_fault(body)}") from None
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BodyError(400, f"the body is not JSON: {reason}") from None


def _elements(text: str) -> list[bytes]:
    """Return the texts of an array's elements unchanged, so that numbers keep their digits."""
    decoder = json.JSONDecoder(parse_float=str, parse_int=str)
    elements: list[bytes] = []
    at = _blank_end(text, text.index("[") + 1)
    while elements or text[at : at + 1] != "]":
        _, end = decoder.raw_decode(text, at)
        elements.append(text[at:end].encode())
        at = _blank_end(text, end)
        if text[at : at + 1] == "]":
            break
        if text[at : at + 1] != ",":
            message = "',' or ']' expected"
            raise json.JSONDecodeError(message, text, at)
        at = _blank_end(text, at + 1)
    if (end := _blank_end(text, at + 1)) < len(text):
        message = "Extra data"
        raise json.JSONDecodeError(message, text, end)
    return elements


def _blank_end(text: str, begin: int) -> int:
    """Return the end of the white space that begins at a position."""
    match = _SPACE.match(text, begin)
    return begin if match is None else match.end()


def _rows(body: bytes) -> list[bytes]:
    """Split a body into CSV rows at line feeds outside quotes, and drop blank rows."""
    rows: list[bytes] = []
    begun = b""
    for line in body.split(b"\n"):
        begun = begun + b"\n" + line if begun else line
        if begun.count(b'"') % 2 == 0:
            if begun.strip(b"\r\n"):
                rows.append(begun.removesuffix(b"\r"))
            begun = b""
    if begun:
        raise BodyError(400, "the body is not CSV: a quote is not closed")
    return rows


def _check_header(row: bytes, names: Sequence[str], separator: str) -> None:
    header = next(csv.reader(io.StringIO(row.decode(errors="replace")), delimiter=separator), [])
    if header != list(names):
        raise BodyError(400, f"the header line has the names {', '.join(header)}, but {', '.join(names)} are expected")
