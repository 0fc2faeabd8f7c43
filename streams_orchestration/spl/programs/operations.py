"""Implementation of SPL operators, indexes and slices as functions over values.

>>> from streams_orchestration.spl.types.types import INT32
>>> operation("+", INT32, INT32)(2**31 - 1, 1)
-2147483648
>>> operation("*", INT32, Collection("list", (INT32,)))(2, [3, 1])
[6, 2]
"""

from __future__ import annotations

# pyright: standard
import functools
import operator
from collections.abc import Callable
from typing import Any

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.library.spl_string import decoded
from streams_orchestration.spl.programs.library.spl_time import checked
from streams_orchestration.spl.programs.values import freezing, member, same, unequal_to_itself
from streams_orchestration.spl.programs.wrapping import (
    context_of,
    float_quotient,
    ordering,
    quotient,
    remainder,
    wrapper,
)
from streams_orchestration.spl.types.types import (
    DECIMALS,
    FLOATS,
    INTEGERS,
    TIMESTAMP,
    USTRING,
    Collection,
    Optional,
    Primitive,
    Tuple,
    Type,
)

Operation = Callable[[Any, Any], Any]
_COMPARISONS: dict[str, Operation] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_PLAIN: dict[str, Operation] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_OF_DECIMALS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}


@functools.lru_cache(maxsize=4096)
def operation(symbol: str, left: Type, right: Type) -> Operation:
    """Return the function of a binary operator that always evaluates both operands; it raises RunError if it fails."""
    if symbol.startswith("."):
        return _pairwise(symbol.removeprefix("."), left, right)
    if symbol in ("==", "!="):
        return _equality(symbol, left)
    if symbol != "in":
        mapped = _mapped(symbol, left, right)
        if mapped is not None:
            return mapped
    return _scalar(symbol, left, right)


def _equality(symbol: str, type_: Type) -> Operation:
    """Return the function of `==` or `!=`. In Python a collection equals itself although it holds NaN; in SPL not."""
    differs = unequal_to_itself(type_)
    if differs is None or not isinstance(type_, Collection | Tuple | Optional):
        return _COMPARISONS[symbol]
    if symbol == "==":
        return lambda one, other: one == other and not differs(one)
    return lambda one, other: one != other or differs(one)


def _scalar(symbol: str, left: Type, right: Type) -> Operation:
    if symbol == "in":
        return member(right)
    if symbol in _COMPARISONS:
        compare, key = _COMPARISONS[symbol], ordering(left)
        return compare if key is None else lambda one, other: compare(key(one), key(other))
    if symbol in ("<<", ">>"):
        return _shift(symbol, left)
    if left in DECIMALS:
        return getattr(context_of(left), _OF_DECIMALS[symbol])
    wrap: Callable[[Any], Any] = checked if left == TIMESTAMP else wrapper(left)
    divide: Any
    if symbol == "/":
        divide = float_quotient if left in FLOATS else quotient
    elif symbol == "%":
        divide = remainder
    else:
        divide = _PLAIN[symbol]
    return divide if wrap is same else lambda one, other: wrap(divide(one, other))


def _shift(symbol: str, left: Type) -> Operation:
    wrap, mask = wrapper(left), 63 if isinstance(left, Primitive) and INTEGERS[left] == 64 else 31
    if symbol == "<<":
        return lambda value, by: wrap(value << (by & mask))
    return lambda value, by: value >> (by & mask)


def _mapped(symbol: str, left: Type, right: Type) -> Operation | None:
    """Return a function that applies an operator to each element of one operand and to the other operand.

    The result is None if neither operand is a list or map whose values have the other operand's type.
    """
    if isinstance(right, Collection) and right.elements[-1] == left:
        inner = operation(symbol, left, right.elements[-1])
        if right.kind == "map":
            return lambda one, values: {key: inner(one, value) for key, value in values.items()}
        return lambda one, values: [inner(one, value) for value in values]
    if isinstance(left, Collection) and left.elements[-1] == right:
        inner = operation(symbol, left.elements[-1], right)
        if left.kind == "map":
            return lambda values, other: {key: inner(value, other) for key, value in values.items()}
        return lambda values, other: [inner(value, other) for value in values]
    return None


def _pairwise(symbol: str, left: Type, right: Type) -> Operation:
    assert isinstance(left, Collection)
    assert isinstance(right, Collection)
    inner = operation(symbol, left.elements[-1], right.elements[-1])

    def pairs(one: Any, other: Any) -> Any:
        if len(one) != len(other) or (isinstance(one, dict) and one.keys() != other.keys()):
            message = f".{symbol} of collections of {len(one)} and {len(other)} elements, whose sizes or keys differ"
            raise RunError(message)
        if isinstance(one, dict):
            return {key: inner(value, other[key]) for key, value in one.items()}
        return [inner(*both) for both in zip(one, other, strict=True)]

    return pairs


# --- indexes


def element_at(values: Any, at: int) -> Any:
    """Return the element of a list at an index.

    Raises:
        IndexError: the index is outside of the list.
    """
    if at < 0:
        raise IndexError(at)
    return values[at]


def set_element(values: list[Any], at: int, new: Any) -> None:
    """Replace the element of a list at an index.

    Raises:
        IndexError: the index is outside of the list.
    """
    if at < 0:
        raise IndexError(at)
    values[at] = new


@functools.lru_cache(maxsize=256)
def set_bounded(bound: int) -> Callable[[dict[Any, Any], Any, Any], None]:
    """Return the function that sets the value for a key in a map.

    It raises RunError if the map would exceed its bound.
    """

    def change(values: dict[Any, Any], key: Any, new: Any) -> None:
        if len(values) >= bound and key not in values:
            message = f"a map of at most {bound} elements would have {len(values) + 1} elements"
            raise RunError(message)
        values[key] = new

    return change


def key_value(values: dict[Any, Any], key: Any) -> Any:
    """Return the value for a key in a map; raise KeyError without one."""
    return values[key]


def byte_at(text: str, at: int) -> str:
    """Return the byte at an index of an rstring; raise IndexError if there is none, RunError if it is not ASCII."""
    if text.isascii():
        return element_at(text, at)
    return decoded(bytes([element_at(text.encode(), at)]))


def part(values: Any, lower: int | None, upper: int | None) -> Any:
    """Return the elements of a list from a lower bound up to, but not including, an upper bound.

    Without a bound the slice reaches to that end of the list, as it does with an upper bound beyond it. There are no
    elements if the upper bound is below the lower one.

    Raises:
        RunError: the lower bound is outside of the list.
    """
    start = 0 if lower is None else lower
    if not 0 <= start <= len(values):
        message = f"the slice begins at {start}, outside of {len(values)} elements"
        raise RunError(message)
    return values[start : max(start, len(values) if upper is None else upper)]


def byte_part(text: str, lower: int | None, upper: int | None) -> str:
    """Return the bytes of an rstring from a lower bound up to, but not including, an upper bound, as `part` does.

    Raises:
        RunError: the lower bound is outside of the string, or a bound is within a character.
    """
    return part(text, lower, upper) if text.isascii() else decoded(part(text.encode(), lower, upper))


def index_function(container: Type) -> Callable[[Any, Any], Any]:
    """Return the function that implements `value[i]` for a type of container.

    It raises IndexError or KeyError if there is no such element, and RunError for a byte that is not ASCII.
    """
    if isinstance(container, Collection):
        if container.kind == "map":
            freeze = freezing(container.elements[0])
            return key_value if freeze is same else lambda values, key: values[freeze(key)]
        return element_at
    return element_at if container == USTRING or container == Primitive("blob") else byte_at


def slice_function(container: Type) -> Callable[[Any, Any, Any], Any]:
    """Return the function that implements `value[a:b]` for a type of container.

    That function raises RunError if the lower bound is outside of the value. It slices an rstring by bytes, and raises
    RunError if a bound is within a character.
    """
    by_elements = isinstance(container, Collection) or container in (USTRING, Primitive("blob"))
    return part if by_elements else byte_part


def present(value: Any) -> Any:
    """Return the value of an optional; raise RunError if it is null."""
    if value is None:
        message = "the value is null"
        raise RunError(message)
    return value
