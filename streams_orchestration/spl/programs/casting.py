"""Functions that cast SPL values from one type to another.

>>> from streams_orchestration.spl.types.types import FLOAT64, INT32, INT64
>>> cast_function(INT64, INT32)(3_000_000_000), cast_function(FLOAT64, INT32)(-3.99)
(-1294967296, -3)
"""

from __future__ import annotations

# pyright: standard
import functools
from typing import Any

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.library.spl_string import cut
from streams_orchestration.spl.programs.library.spl_time import from_seconds, to_seconds
from streams_orchestration.spl.programs.values import (
    Function,
    first_entries,
    freezing,
    is_compound,
    same,
    text_function,
    thawing,
    value_function,
)
from streams_orchestration.spl.programs.wrapping import decimal_of, truncated, whole, wrapper
from streams_orchestration.spl.types.literals import single
from streams_orchestration.spl.types.types import (
    BLOB,
    DECIMALS,
    FLOATS,
    INTEGERS,
    REALS,
    TIMESTAMP,
    BoundedString,
    Collection,
    Enumeration,
    Optional,
    Primitive,
    Tuple,
    Type,
    is_string,
    range_of,
)


@functools.lru_cache(maxsize=4096)
def cast_function(source: Type, target: Type) -> Function:
    """Return the function that casts or converts values; the function `same` if values do not change.

    It raises RunError for a value that has no counterpart in the target type.
    """
    if source == target:
        return same
    if isinstance(target, Optional):
        return _into_optional(source, target.content)
    if isinstance(source, Optional):
        text = text_function(source.content)
        return lambda value: "null" if value is None else text(value)
    if is_string(target):
        return _into_string(source, target)
    if is_string(source):
        return value_function(target)
    return _between_values(source, target) or _between_structures(source, target)


def _into_optional(source: Type, content: Type) -> Function:
    cast = cast_function(source.content if isinstance(source, Optional) else source, content)
    return cast if cast is same else lambda value: None if value is None else cast(value)


def _into_string(source: Type, target: Type) -> Function:
    text = text_function(source)
    if not isinstance(target, BoundedString):
        return text
    bound = target.bound
    return lambda value: cut(text(value), bound)


def _between_values(source: Type, target: Type) -> Function | None:
    if source in INTEGERS and target in INTEGERS:
        (low, high), (least, most) = range_of(source), range_of(target)  # type: ignore[arg-type]
        return same if least <= low and high <= most else wrapper(target)
    if target in INTEGERS and source in FLOATS:
        wrap, limit = wrapper(target), 2.0 ** (64 if target == Primitive("uint64") else 63)
        return lambda value: wrap(truncated(value, limit))
    if target in DECIMALS and source in REALS:
        return decimal_of(target)
    if target in INTEGERS and source in DECIMALS:
        wrap = wrapper(target)
        return lambda value: wrap(whole(value))
    if target in FLOATS and source in REALS:
        return single if FLOATS[target] == 32 else same if source in FLOATS else float  # type: ignore[index]
    if isinstance(source, Enumeration) and target in INTEGERS:
        wrap, places = wrapper(target), {word: at for at, word in enumerate(source.words)}
        return lambda value: wrap(places[value])
    if isinstance(target, Enumeration) and source in INTEGERS:
        return lambda value: _word(value, target)
    if target == TIMESTAMP and source in FLOATS:
        return from_seconds
    return to_seconds if source == TIMESTAMP and target in FLOATS else None


def _word(value: int, target: Enumeration) -> str:
    if not 0 <= value < len(target.words):
        message = f"{target} has no word {value}"
        raise RunError(message)
    return target.words[value]


def _between_structures(source: Type, target: Type) -> Function:
    match source, target:
        case Tuple(), Tuple(attributes=attributes):
            parts = [
                (each.name, cast_function(source.type_of(each.name) or each.type, each.type)) for each in attributes
            ]
            if all(cast is same for _, cast in parts):
                names = [name for name, _ in parts]
                return lambda value: {name: value[name] for name in names}
            return lambda value: {name: cast(value[name]) for name, cast in parts}
        case Collection(kind="list", elements=(element,)), Collection(elements=(wanted,)):
            cast = cast_function(element, wanted)
            return bounded(target, same if cast is same else lambda value: list(map(cast, value)))
        case Collection(kind="set", elements=(element,)), Collection(elements=(wanted,)):
            cast, thaw, freeze = cast_function(element, wanted), thawing(element), freezing(wanted)
            return bounded(
                target,
                same if cast is same else lambda value: dict.fromkeys([freeze(cast(thaw(key))) for key in value]),
            )
        case Collection(kind="map", elements=(key, content)), Collection(elements=(wanted, inner)):
            cast, cast_value = cast_function(key, wanted), cast_function(content, inner)
            thaw, freeze = thawing(key), freezing(wanted)
            if cast is cast_value is same:
                return bounded(target, same)
            return bounded(
                target,
                lambda value: first_entries((freeze(cast(thaw(one))), cast_value(each)) for one, each in value.items()),
            )
        case Collection(), _ if target == BLOB:
            return bytes
        case _, Collection() if source == BLOB:
            return list
        case _:
            return same  # an empty literal, whose value is one of the wanted type


def bounded(target: Collection, cast: Function) -> Function:
    """Return a cast that also raises RunError if its result has more elements than the target type allows."""
    bound = target.bound
    if bound is None:
        return cast

    def within(value: Any) -> Any:
        found = cast(value)
        if len(found) > bound:
            message = f"{target} would have {len(found)} elements"
            raise RunError(message)
        return found

    return within


def makes_new(source: Type, target: Type) -> bool:
    """Return True if the cast gives a new value, or values of the type cannot be changed in place.

    The new value may still share its compound parts with the old one.
    """
    return not is_compound(target) or cast_function(source, target) is not same
