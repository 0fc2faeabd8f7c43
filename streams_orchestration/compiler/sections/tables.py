"""Long lists of the plan document, stored by column and written as documents or directly as JSON text.

A section of the plan declares the form of its rows once. For JSON text, the form becomes a template, and values that
many rows share, such as an operator's port, are encoded once. So a table of a hundred thousand rows is written without
an object for each row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from json.encoder import encode_basestring  # json.dumps uses it, too  # pyright: ignore
from operator import attrgetter, call
from typing import Any, NamedTuple, Protocol, cast

from streams_orchestration.model.containers import is_mapping

Encoder = Callable[[Any], str]
"""A function from a value to JSON text."""

_call = cast("Callable[[Encoder, Any], str]", call)

INDENT = "  "
_CHUNK = 4096
"""The number of rows that are written at a time."""


class Cell(Protocol):
    """The type of the values in a column, or under one key of a record; it encodes them."""

    def document(self, value: Any, /) -> Any:
        """Return the JSON form of a value in the plan document."""
        ...

    def encoder(self) -> Encoder:
        """Return the function that encodes a value like `json.dumps`, on one line."""
        ...


class Plain:
    """A cell whose value is written unchanged; all values have one type."""

    def __init__(self, encode: Encoder | None = None) -> None:
        self._encode = encode

    def document(self, value: Any) -> Any:
        """Return the value as it is, since it is JSON already."""
        return value

    def encoder(self) -> Encoder:
        """Return the encoder of the type; without one, an encoder for any JSON value."""
        return self._encode or _line


VALUE = Plain()
TEXT: Cell = Plain(encode_basestring)
INTEGER: Cell = Plain(str)
BOOLEAN: Cell = Plain({False: "false", True: "true"}.__getitem__)


class Numbered:
    """A cell whose value is an index into a list.

    A given cell writes the listed values, each of which is encoded once.
    """

    def __init__(self, cell: Cell, rows: Sequence[Any], pick: Callable[[Any], Any] | None = None) -> None:
        """Keep the listed values, or rows from which `pick` takes the values."""
        self._cell = cell
        self._rows = rows
        self._pick = pick
        self._texts: list[str] = []

    def document(self, value: int) -> Any:
        """Return the JSON value of the listed value at an index, by the cell of the constructor."""
        row = self._rows[value]
        return self._cell.document(self._pick(row) if self._pick else row)

    def encoder(self) -> Encoder:
        """Return a function from an index to the JSON text of the listed value."""
        if not self._texts:
            self._texts = list(map(self._cell.encoder(), map(self._pick, self._rows) if self._pick else self._rows))
        return self._texts.__getitem__


class RecordCell:
    """A cell whose tuple of values is written as an object with fixed keys."""

    def __init__(self, cells: Mapping[str, Cell]) -> None:
        self._cells = cells

    def document(self, value: Sequence[Any]) -> dict[str, Any]:
        """Return the object for a tuple of values."""
        return {key: cell.document(each) for (key, cell), each in zip(self._cells.items(), value, strict=False)}

    def encoder(self) -> Encoder:
        """Return a function that encodes a tuple as the JSON text of the object."""
        template, encoders = _row(self._cells)
        return lambda value: template % tuple(map(_call, encoders, value))


class Extended:
    """A cell that writes a tuple as another cell's object with one more key, whose value is the last two items."""

    def __init__(self, cell: Cell, key: str, more: Cell) -> None:
        self._cell = cell
        self._key = key
        self._more = more

    def document(self, value: Sequence[Any]) -> dict[str, Any]:
        """Return the object for a tuple of values."""
        return {**self._cell.document(value[:-2]), self._key: self._more.document(value[-2:])}

    def encoder(self) -> Encoder:
        """Return a function that encodes a tuple as the JSON text of the object."""
        encode = self._cell.encoder()
        more = self._more.encoder()
        key = encode_basestring(self._key)
        return lambda value: f"{encode(value[:-2])[:-1]}, {key}: {more(value[-2:])}}}"


class Fields:
    """A cell that is written as several keys of the surrounding object; there are few different values."""

    def __init__(self, document: Callable[[Any], dict[str, Any]]) -> None:
        self.document = document

    def encoder(self) -> Encoder:
        """Return the encoder of the keys, without the braces around them."""
        return _Texts(lambda value: _line(self.document(value))[1:-1]).__getitem__


class Shared:
    """A cell with few different values; each value is encoded only once."""

    def __init__(self, cell: Cell) -> None:
        self.document = cell.document
        self._texts = _Texts(cell.encoder())

    def encoder(self) -> Encoder:
        """Return a function that encodes each different value once and remembers its text."""
        return self._texts.__getitem__


class _Texts(dict[Any, str]):
    def __init__(self, encode: Encoder) -> None:
        self._encode = encode

    def __missing__(self, value: Any) -> str:
        text = self[value] = self._encode(value)
        return text


class Nullable:
    """A cell that writes null for a tuple with a negative first item, and writes other tuples with a given cell."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell

    def document(self, value: Sequence[int]) -> Any:
        """Return the JSON form that the given cell has for a tuple; None if the tuple's first item is negative."""
        return None if value[0] < 0 else self._cell.document(value)

    def encoder(self) -> Encoder:
        """Return the given cell's encoder, changed to write null for a tuple with a negative first item."""
        encode = self._cell.encoder()
        return lambda value: "null" if value[0] < 0 else encode(value)


class Listed:
    """A cell whose value is a sequence of values of another cell."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell

    def document(self, value: Iterable[Any]) -> list[Any]:
        """Return the JSON forms of the values, in order."""
        return list(map(self._cell.document, value))

    def encoder(self) -> Encoder:
        """Return a function that encodes a sequence as the JSON text of a list."""
        encode = self._cell.encoder()
        return lambda value: f"[{', '.join(map(encode, value))}]"


def _row(cells: Mapping[str, Cell]) -> tuple[str, list[Encoder]]:
    """Return the template of an object, and the encoders of its values."""
    parts = ["%s" if isinstance(cell, Fields) else f"{encode_basestring(key)}: %s" for key, cell in cells.items()]
    return f"{{{', '.join(parts)}}}", [cell.encoder() for cell in cells.values()]


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


class PlanColumn(NamedTuple):
    """One key of all rows of a table, with the values of the rows."""

    cell: Cell
    values: Iterable[Any]
    """The values of the rows, in order; they are iterated only once."""


class Table:
    """A list of objects with equal keys; it can be written only once."""

    def __init__(self, columns: Mapping[str, PlanColumn]) -> None:
        self._columns = columns

    def document(self) -> list[dict[str, Any]]:
        """Return the rows as a list of objects."""
        documents: list[dict[str, Any]] = []
        for values in zip(*(column.values for column in self._columns.values()), strict=True):
            document: dict[str, Any] = {}
            for (key, column), value in zip(self._columns.items(), values, strict=True):
                if isinstance(column.cell, Fields):
                    document.update(column.cell.document(value))
                else:
                    document[key] = column.cell.document(value)
            documents.append(document)
        return documents

    def text(self, margin: str) -> Iterator[str]:
        """Yield the table as JSON text in pieces, with one line for each row."""
        template, encoders = _row({key: column.cell for key, column in self._columns.items()})
        literals = template.split("%s")
        texts = (map(encode, column.values) for encode, column in zip(encoders, self._columns.values(), strict=True))
        # Rows are joined from literals and texts as they come, since a string for every row would take longer.
        between = zip(texts, map(repeat, literals[1:]), strict=True)
        rows = zip(repeat(f",\n{margin}{INDENT}{literals[0]}"), *chain.from_iterable(between), strict=False)
        first = True
        while chunk := "".join(chain.from_iterable(islice(rows, _CHUNK))):
            yield f"[{chunk[1:]}" if first else chunk
            first = False
        yield "[]" if first else f"\n{margin}]"


def columns_of(rows: Sequence[Any], cells: Mapping[str, tuple[Cell, str]]) -> Table:
    """Return a table of attributes of objects; `cells` maps each key to its cell and attribute."""
    return Table({key: PlanColumn(cell, map(attrgetter(name), rows)) for key, (cell, name) in cells.items()})


def dumps(value: Any, margin: str = "") -> str:
    """Return a document as indented JSON text, with `margin` in front of every line but the first."""
    text = json.dumps(value, indent=len(INDENT), ensure_ascii=False)
    return text.replace("\n", f"\n{margin}") if margin else text


def document_of(value: Any) -> Any:
    """Return a section with every table in it as a list; other lists, whatever is in them, are returned as they are."""
    if isinstance(value, Table):
        return value.document()
    if is_mapping(value):
        return {key: document_of(entry) for key, entry in value.items()}
    return value


def text_of(value: Any, margin: str = "") -> Iterator[str]:
    """Yield `document_of(value)` as JSON, in pieces; everything but tables as `dumps` writes it.

    The lines after the first begin with `margin`, by default empty.
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
        yield dumps(value, margin)
