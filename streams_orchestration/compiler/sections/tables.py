"""Long lists of the plan document, written directly as JSON text.

A section of the plan declares the columns of its rows once. They become a template, and values that many rows share,
such as an operator's port, are encoded once. So a table of a hundred thousand rows is written without an object for
each row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain, islice, repeat
from json.encoder import encode_basestring  # json.dumps uses it, too  # pyright: ignore
from operator import attrgetter, call
from typing import Any, cast

from streams_orchestration.model.containers import is_mapping

Encoder = Callable[[Any], str]
"""A function that encodes the values of a column, or under one key of a record, like `json.dumps`, on one line."""

TEXT: Encoder = encode_basestring
INTEGER: Encoder = str
BOOLEAN: Encoder = {False: "false", True: "true"}.__getitem__
VALUE: Encoder = partial(json.dumps, ensure_ascii=False)

FIELDS = ""
"""The key of a column whose texts have keys of their own; `fields` encodes them."""
INDENT = "  "
_CHUNK = 4096
"""The number of rows that are written at a time."""
_call = cast("Callable[[Encoder, Any], str]", call)


def numbered(encode: Encoder, values: Iterable[Any]) -> Encoder:
    """Return the encoder of an index into a list, which writes the listed value; each value is encoded once."""
    return list(map(encode, values)).__getitem__


def record(encoders: Mapping[str, Encoder]) -> Encoder:
    """Return the encoder of a tuple of values, which writes an object with fixed keys."""
    template = _template(encoders)
    return lambda value: template % tuple(map(_call, encoders.values(), value))


def extended(encode: Encoder, key: str, more: Encoder) -> Encoder:
    """Return the encoder of a tuple, which writes an object with one more key, whose value is the last two items."""
    name = encode_basestring(key)
    return lambda value: f"{encode(value[:-2])[:-1]}, {name}: {more(value[-2:])}}}"


def fields(document: Callable[[Any], dict[str, Any]]) -> Encoder:
    """Return the encoder of a value as several keys of the object around it; there are few different values."""

    def encode(value: Any) -> str:
        return VALUE(document(value))[1:-1]

    return cache(encode)


def nullable(encode: Encoder) -> Encoder:
    """Return the encoder of a tuple that writes null if the first item is negative."""
    return lambda value: "null" if value[0] < 0 else encode(value)


def listed(encode: Encoder) -> Encoder:
    """Return the encoder of a sequence of values."""
    return lambda value: f"[{', '.join(map(encode, value))}]"


def _template(keys: Iterable[str]) -> str:
    return f"{{{', '.join('%s' if key == FIELDS else f'{encode_basestring(key)}: %s' for key in keys)}}}"


class Table:
    """A list of objects with equal keys; it can be written only once."""

    def __init__(self, columns: Mapping[str, tuple[Encoder, Iterable[Any]]]) -> None:
        """Keep for each key the encoder, and the values of the rows in order."""
        self._columns = columns

    def text(self, margin: str) -> Iterator[str]:
        """Yield the table as JSON text in pieces, with one line for each row."""
        literals = _template(self._columns).split("%s")
        texts = (map(encode, values) for encode, values in self._columns.values())
        # Rows are joined from literals and texts as they come, since a string for every row would take longer.
        between = zip(texts, map(repeat, literals[1:]), strict=True)
        rows = zip(repeat(f",\n{margin}{INDENT}{literals[0]}"), *chain.from_iterable(between), strict=False)
        first = True
        while chunk := "".join(chain.from_iterable(islice(rows, _CHUNK))):
            yield f"[{chunk[1:]}" if first else chunk
            first = False
        yield "[]" if first else f"\n{margin}]"


def columns_of(rows: Sequence[Any], columns: Mapping[str, tuple[Encoder, str]]) -> Table:
    """Return a table of attributes of objects; `columns` maps each key to its encoder and attribute."""
    return Table({key: (encode, map(attrgetter(name), rows)) for key, (encode, name) in columns.items()})


def text_of(value: Any, margin: str = "") -> Iterator[str]:
    """Yield a section as JSON text in pieces: tables with a line for each row, all else indented.

    Lists are not searched for tables. The lines after the first begin with `margin`, by default empty.
    """
    if isinstance(value, Table):
        yield from value.text(margin)
    elif is_mapping(value) and value:
        inner = margin + INDENT
        before = "{\n"
        for key, entry in value.items():
            yield f"{before}{inner}{encode_basestring(key)}: "
            yield from text_of(entry, inner)
            before = ",\n"
        yield f"\n{margin}}}"
    else:
        yield json.dumps(value, indent=len(INDENT), ensure_ascii=False).replace("\n", f"\n{margin}")
