"""Variables of SPL as parts of an operator's state."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping, Sequence
from operator import eq
from typing import Any

from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.state import State
from streams_orchestration.spl.programs.values import freezing, is_key, plain_function, same, thawing, unplain_function
from streams_orchestration.spl.types.types import BLOB, DECIMALS, FLOATS, Collection, Optional, Tuple, Type

VARIABLES = "@variables"
"""The name of the part of the state with the variables that are not parts of their own (`is_divided`)."""


def is_divided(type_: Type) -> bool:
    """Return True if a variable is stored key by key, so that a checkpoint holds only what changed.

    Keys with floats and decimals are not, since a set may hold NaN more than once, and -0.0 keeps its sign.
    """
    if not isinstance(type_, Collection) or type_.kind not in ("map", "set"):
        return False
    return _parts(type_.elements[0], dict.fromkeys([*FLOATS, *DECIMALS], _signed)) is same


def stored(variables: Sequence[tuple[str, Type]], values: dict[str, Any], kept: dict[str, DictState]) -> State:
    """Return the variables as parts of a state.

    Args:
        variables: names and types.
        values: their values.
        kept: the parts that were stored before, by name; they are changed.
    """
    parts: dict[str, Any] = {}
    simple = {name: to_json(type_)(values[name]) for name, type_ in variables if not is_divided(type_)}
    if simple:
        parts[VARIABLES] = simple
    for name, type_ in variables:
        if is_divided(type_):
            part = kept.setdefault(name, DictState())
            _update(part, type_, values[name])
            parts[name] = part
    return parts


def _update(part: DictState, type_: Type, values: dict[Any, Any]) -> None:
    """Write the differences of a collection to its stored part, which gets the order of the collection.

    A key that was removed and came again is behind those that stayed, so it is removed from the part as well.
    """
    key_of, value_of = _key_function(type_), _value_function(type_)
    alike = eq if _parts(type_, dict.fromkeys(FLOATS, _signed)) is same else _same_json
    wanted = {key_of(key): value_of(value) for key, value in values.items()}
    order = iter(wanted)
    following = next(order, None)
    for key in list(part):
        if following is not None and key == following:
            following = next(order, None)
        else:
            del part[key]
    for key, value in wanted.items():
        if key not in part or not alike(part[key], value):
            part[key] = value


def _same_json(one: Any, other: Any) -> bool:
    """Return True if two values have equal texts, in which 0.0 and -0.0 differ."""
    return json.dumps(one) == json.dumps(other)


def restored(
    variables: Sequence[tuple[str, Type]], state: State, initial: dict[str, Any], kept: dict[str, DictState]
) -> dict[str, Any]:
    """Return the values of variables from the parts of a state.

    A variable without a stored value gets its initial value. `kept` gets the stored parts in place of its own.
    """
    values = dict(initial)
    simple = state.get(VARIABLES, {})
    kept.clear()
    for name, type_ in variables:
        if not is_divided(type_):
            if name in simple:
                values[name] = from_json(type_)(simple[name])
        elif isinstance(part := state.get(name), DictState):
            kept[name] = part
            thaw, read = _read_key(type_), _read_value(type_)
            values[name] = {thaw(key): read(value) for key, value in part.items()}
    return values


# --- values as JSON


def to_json(type_: Type) -> Callable[[Any], Any]:
    """Return the function from values of a type to JSON."""
    plain = plain_function(type_)
    encode = _parts(type_, {BLOB: lambda data: base64.b64encode(data).decode(), **dict.fromkeys(FLOATS, _signed)})
    return plain if encode is same else lambda value: encode(plain(value))


def from_json(type_: Type) -> Callable[[Any], Any]:
    """Return the inverse of `to_json`."""
    unplain = unplain_function(type_)
    decode = _parts(type_, {BLOB: base64.b64decode, **dict.fromkeys(FLOATS, _unsigned)})
    return unplain if decode is same else lambda value: unplain(decode(value))


_NEGATIVE_NAN = "-nan"
"""The NaN whose sign bit is set; its text differs in SPL, and JSON has only one NaN."""


def _signed(number: float) -> float | str:
    return _NEGATIVE_NAN if math.isnan(number) and math.copysign(1.0, number) < 0 else number


def _unsigned(number: float | str) -> float:
    return math.copysign(math.nan, -1.0) if isinstance(number, str) else number


def _parts(type_: Type, changes: Mapping[Type, Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Return a function that changes all parts of a plain value that have one of the given types."""
    match type_:
        case Optional(content=content):
            inner = _parts(content, changes)
            return inner if inner is same else lambda value: None if value is None else inner(value)
        case Tuple(attributes=attributes):
            parts = {each.name: _parts(each.type, changes) for each in attributes}
            if all(inner is same for inner in parts.values()):
                return same
            return lambda value: {name: inner(value[name]) for name, inner in parts.items()}
        case Collection(kind="map", elements=(key, content)):
            one, other = _parts(key, changes), _parts(content, changes)
            if one is other is same:
                return same
            return lambda value: [(one(each), other(inner)) for each, inner in value]
        case Collection(elements=(element,)):
            inner = _parts(element, changes)
            return inner if inner is same else lambda value: [inner(each) for each in value]
        case _:
            return changes.get(type_, same)


def _key_function(type_: Type) -> Callable[[Any], Any]:
    element = type_.elements[0]  # type: ignore[union-attr]
    if is_key(element) and element != BLOB:
        return same
    thaw, encode = thawing(element), to_json(element)
    return lambda key: json.dumps(encode(thaw(key)), sort_keys=True)


def _read_key(type_: Type) -> Callable[[Any], Any]:
    element = type_.elements[0]  # type: ignore[union-attr]
    if is_key(element) and element != BLOB:
        return same
    freeze, decode = freezing(element), from_json(element)
    return lambda text: freeze(decode(json.loads(text)))


def _value_function(type_: Type) -> Callable[[Any], Any]:
    return to_json(type_.elements[1]) if type_.kind == "map" else same  # type: ignore[union-attr]


def _read_value(type_: Type) -> Callable[[Any], Any]:
    return from_json(type_.elements[1]) if type_.kind == "map" else same  # type: ignore[union-attr]
