"""Variables of SPL as parts of an operator's state."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.state import State
from streams_orchestration.spl.programs.values import freezing, is_key, plain_function, same, thawing, unplain_function
from streams_orchestration.spl.types.types import BLOB, Collection, Optional, Tuple, Type

VARIABLES = "@variables"
"""The name of the part of the state with all variables except maps and sets."""


def is_divided(type_: Type) -> bool:
    """Return True if a variable is stored key by key, so that a checkpoint holds only what changed."""
    return isinstance(type_, Collection) and type_.kind in ("map", "set")


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
    """Write the differences of a collection to its stored part.

    If the collection has an order, any difference rewrites it.
    """
    key_of, value_of = _key_function(type_), _value_function(type_)
    wanted = {key_of(key): value_of(value) for key, value in values.items()}
    for key in [key for key in part if key not in wanted]:
        del part[key]
    for key, value in wanted.items():
        if key not in part or part[key] != value:
            part[key] = value


def restored(
    variables: Sequence[tuple[str, Type]], state: State, initial: dict[str, Any], kept: dict[str, DictState]
) -> dict[str, Any]:
    """Return the values of variables from the parts of a state.

    A variable without a stored value gets its initial value.
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
    encode = _blobs(type_, lambda data: base64.b64encode(data).decode())
    return plain if encode is same else lambda value: encode(plain(value))


def from_json(type_: Type) -> Callable[[Any], Any]:
    """Return the inverse of `to_json`."""
    unplain, decode = unplain_function(type_), _blobs(type_, base64.b64decode)
    return unplain if decode is same else lambda value: unplain(decode(value))


def _blobs(type_: Type, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that applies `change` to all blobs within a plain value of a type."""
    match type_:
        case Optional(content=content):
            inner = _blobs(content, change)
            return inner if inner is same else lambda value: None if value is None else inner(value)
        case Tuple(attributes=attributes):
            parts = {each.name: _blobs(each.type, change) for each in attributes}
            if all(inner is same for inner in parts.values()):
                return same
            return lambda value: {name: inner(value[name]) for name, inner in parts.items()}
        case Collection(kind="map", elements=(key, content)):
            one, other = _blobs(key, change), _blobs(content, change)
            if one is other is same:
                return same
            return lambda value: [(one(each), other(inner)) for each, inner in value]
        case Collection(elements=(element,)):
            inner = _blobs(element, change)
            return inner if inner is same else lambda value: [inner(each) for each in value]
        case _:
            return change if type_ == BLOB else same


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
