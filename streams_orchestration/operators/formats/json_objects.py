"""Converts one JSON object to the values of a tuple, or gives the reason why it does not fit."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from streams_orchestration.model.short_texts import shortened
from streams_orchestration.operators.formats.checks import NULL, utf8_fault
from streams_orchestration.operators.formats.misfits import form_of, is_read
from streams_orchestration.operators.formats.texts import values_of
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import required_fields, type_name, whole_range

Read = Callable[[Any], Any]
"""Converts a non-null JSON value to a value for Arrow. Raises ValueError if it does not fit the type."""
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
LARGEST_FLOAT = 3.4028235677973366e38
"""The smallest magnitude that a 32-bit float cannot represent."""


class RefusedValueError(ValueError):
    """A text is not a JSON object that fits the attributes."""

    column = ""
    """The attribute at fault; empty if the fault is not in a single attribute."""

    @property
    def reason(self) -> str:
        """The reason why the text was refused."""
        return str(self)


class NumberText(str):
    """A number with a point or an exponent, kept as the text in the document."""

    __slots__ = ()


class Members(list[tuple[str, Any]]):
    """The members of an object in order, duplicates included."""

    __slots__ = ()


class _Constant(NumberText):
    """An unquoted NaN or infinity, which JSON does not allow but many writers produce."""

    __slots__ = ()


_DECODER = json.JSONDecoder(object_pairs_hook=Members, parse_float=NumberText, parse_constant=_Constant)


def parsed(text: bytes) -> Any:
    """Parse a JSON text; numbers with a point or an exponent keep their text.

    Raises:
        RefusedValueError: the text is not valid JSON.
    """
    if reason := utf8_fault(text):
        raise RefusedValueError(reason)
    try:
        return _DECODER.decode(text.decode().rstrip())
    except json.JSONDecodeError as error:
        message = f"it is not JSON at character {error.pos + 1}: {error.msg}"
        raise RefusedValueError(message) from None
    except RecursionError:
        message = "it is nested too deeply"
        raise RefusedValueError(message) from None
    except ValueError as error:  # Python refuses whole numbers of thousands of digits
        message = f"it cannot be read: {error}"
        raise RefusedValueError(message) from None


class ObjectReader:
    """Converts JSON objects to tuples of one schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self._fields = {
            field.name: (position, field.type, _reader(field.type)) for position, field in enumerate(schema)
        }
        self._required = [(name, self._fields[name][0]) for name in required_fields(schema)]

    def read(self, text: bytes) -> list[Any]:
        """Return the values in the order of the attributes, as Arrow takes them.

        Missing members are None, unknown members are ignored.

        Raises:
            RefusedValueError: the text is not an object, or the object does not fit or has an attribute twice.
        """
        members = parsed(text)
        if not isinstance(members, Members):
            message = "an object is expected"
            raise RefusedValueError(message)
        values: list[Any] = [None] * len(self._fields)
        seen: set[str] = set()
        for name, value in members:
            if name not in self._fields:
                continue
            if name in seen:
                raise _of_column(name, "the object has this member twice")
            seen.add(name)
            position, kind, read = self._fields[name]
            try:
                values[position] = None if value is None else read(value)
            except (ValueError, ArithmeticError):
                raise _of_column(name, _misfit(value, kind)) from None
        for name, position in self._required:
            if values[position] is None:
                raise _of_column(name, NULL)
        return values


def _of_column(name: str, reason: str) -> RefusedValueError:
    error = RefusedValueError(reason)
    error.column = name
    return error


def _reader(kind: pa.DataType) -> Read:
    types = pa.types
    if types.is_struct(kind):
        return _struct({part.name: _reader(part.type) for part in kind})
    if types.is_map(kind):
        return _map(kind.key_type, _reader(kind.item_type))
    if types.is_list(kind):
        inner = _reader(kind.value_type)
        return lambda value: [None if each is None else inner(each) for each in _required_type(value, list)]
    if types.is_boolean(kind):
        return lambda value: _required_type(value, bool)
    if types.is_integer(kind):
        return _whole(*whole_range(kind))
    if types.is_floating(kind):
        return _real(kind.bit_width)
    if types.is_decimal(kind):
        return lambda value: _from_text(_number_text(value), kind)
    if types.is_string(kind):
        return _text
    return lambda value: _from_text(_text(value), kind)


def _required_type(value: Any, kind: type) -> Any:
    return value if type(value) is kind else _refuse()


def _struct(readers: Mapping[str, Read]) -> Read:
    def read(value: Any) -> dict[str, Any]:
        members = [(name, each) for name, each in _required_type(value, Members) if name in readers]
        if len({name for name, _ in members}) < len(members):
            _refuse()
        return {name: None if each is None else readers[name](each) for name, each in members}

    return read


def _map(key: pa.DataType, inner: Read) -> Read:
    def read(value: Any) -> list[tuple[Any, Any]]:
        members = _required_type(value, Members)
        if len({name for name, _ in members}) < len(members):
            _refuse()
        return [(_from_text(_text(name), key), None if each is None else inner(each)) for name, each in members]

    return read


def _whole(least: int, most: int) -> Read:
    return lambda value: value if type(value) is int and least <= value <= most else _refuse()


def _real(bits: int) -> Read:
    def read(value: Any) -> float:
        if isinstance(value, str) and value in _NUMBERS and type(value) is not NumberText:
            return _NUMBERS[value]
        number = float(value) if type(value) in (int, NumberText) else _refuse()
        return number if math.isfinite(number) and (bits == 64 or abs(number) < LARGEST_FLOAT) else _refuse()

    return read


def _number_text(value: Any) -> str:
    if type(value) is int:
        return str(value)
    return value if isinstance(value, str) and not isinstance(value, _Constant) else _refuse()


def _text(value: Any) -> str:
    value = _required_type(value, str)
    value.encode()  # half of a surrogate pair is not text
    return value


def _from_text(text: str, kind: pa.DataType) -> Any:
    return values_of(pa.array([text], pa.string()), kind)[0].as_py()


def _refuse() -> Any:
    raise ValueError


def _misfit(value: Any, kind: pa.DataType) -> str:
    """Return why a value does not fit a type."""
    types = pa.types
    if type(value) is not str:
        form = form_of(_shown(value), kind) if type(value) in (int, NumberText) else ""
        return f"{shortened(_shown(value))} is not a valid {type_name(kind)}{form}"
    try:
        value.encode()
    except UnicodeEncodeError:
        return f"{shortened(ascii(value))} has half of a surrogate pair, which is not a character"
    plain = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    form = ": write it without quotes" if plain and is_read(value, kind) else form_of(value, kind)
    return f"{shortened(repr(value))} is not a valid {type_name(kind)}{form}"


def _shown(value: Any) -> str:
    """Return a value in JSON notation."""
    if isinstance(value, Members):
        return "{" + ", ".join(f"{json.dumps(name)}: {_shown(each)}" for name, each in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return str(value) if isinstance(value, NumberText) else json.dumps(value, ensure_ascii=False)
