"""Constant folding: operations on known numbers, booleans and strings are computed at compile time.

Integers wrap around, floats have the width of their type. Nothing is folded that may fail at run time or is infinite.

>>> from streams_orchestration.spl.types.types import Primitive
>>> arithmetic("+", Primitive("int8"), 127, 1), arithmetic("/", INT32, -7, 2), arithmetic("%", INT32, -7, 2)
(-128, -3, -1)
"""

from __future__ import annotations

import math
import operator as python_operators
from collections.abc import Callable
from typing import Any

from streams_orchestration.spl.types.literals import single
from streams_orchestration.spl.types.types import (
    BOOLEAN,
    FLOATS,
    INT32,
    INTEGERS,
    RSTRING,
    SIGNED,
    USTRING,
    Enumeration,
    Optional,
    Primitive,
    Type,
    range_of,
)
from streams_orchestration.spl.typing.typed import Binary, Cast, Choice, Constant, Expression, Prefix

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": python_operators.eq,
    "!=": python_operators.ne,
    "<": python_operators.lt,
    "<=": python_operators.le,
    ">": python_operators.gt,
    ">=": python_operators.ge,
}
_FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "+": python_operators.add,
    "-": python_operators.sub,
    "*": python_operators.mul,
}
_INTEGERS: dict[str, Callable[[Any, Any], Any]] = {**_FLOATS, "&": int.__and__, "|": int.__or__, "^": int.__xor__}


def folded(node: Expression) -> Expression:
    """Return the constant result of an operation on constants, or the operation itself if it is not folded.

    A choice with a constant condition is folded to the chosen value, even if that is not constant.
    """
    match node:
        case Prefix(operator="-" | "~" | "!", operand=Constant() as operand):
            return _prefix(node, operand)
        case Binary(left=Constant() as left, right=Constant() as right):
            return _binary(node, left, right)
        case Cast(operand=Constant() as operand):
            return _cast(node, operand)
        case Choice(condition=Constant(value=bool() as condition)):
            return node.positive if condition else node.negative
        case _:
            return node


def arithmetic(operator: str, type_: Type, left: Any, right: Any) -> int | float | None:
    """Return the result of an arithmetic operation on constants; None if it must be computed at run time."""
    if type_ in INTEGERS:
        if operator in _INTEGERS:
            return wrapped(type_, _INTEGERS[operator](left, right))
        if operator in ("/", "%") and right:
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return wrapped(type_, quotient if operator == "/" else left - quotient * right)
        if operator in ("<<", ">>") and 0 <= right < INTEGERS[type_]:
            return wrapped(type_, left << right if operator == "<<" else left >> right)
        return None
    if type_ in FLOATS:
        if operator in _FLOATS:
            return rounded(type_, _FLOATS[operator](left, right))
        return rounded(type_, left / right) if operator == "/" and right else None
    return None


def wrapped(type_: Primitive, value: int) -> int:
    """Return an integer wrapped to the bits of its type."""
    value %= 2 ** INTEGERS[type_]
    return value - 2 ** INTEGERS[type_] if type_ in SIGNED and value > range_of(type_)[1] else value


def rounded(type_: Primitive, value: float) -> float | None:
    """Return a number rounded to a float type; None if the result is not finite."""
    value = single(value) if FLOATS[type_] == 32 else value
    return value if math.isfinite(value) else None


def _prefix(node: Prefix, operand: Constant) -> Expression:
    value = operand.value
    if node.operator == "!" and isinstance(value, bool):
        return Constant(node.span, BOOLEAN, not value)
    if not isinstance(node.type, Primitive) or isinstance(value, bool):
        return node
    if isinstance(value, int):
        return Constant(node.span, node.type, wrapped(node.type, -value if node.operator == "-" else ~value))
    if isinstance(value, float) and node.operator == "-":
        return Constant(node.span, node.type, -value)
    return node


def _binary(node: Binary, left: Constant, right: Constant) -> Expression:
    operator, one, other = node.operator, left.value, right.value
    if isinstance(one, bool) and isinstance(other, bool):
        result = _booleans(operator, one, other)
        return node if result is None else Constant(node.span, BOOLEAN, result)
    if isinstance(left.type, Enumeration | Optional) or None in (one, other):
        return node
    if operator in _COMPARISONS and left.type == right.type:
        if left.type in (RSTRING, USTRING):
            if operator not in ("==", "!="):  # the order of texts is the order of their bytes
                return node
        elif left.type not in INTEGERS and left.type not in FLOATS:
            return node
        return Constant(node.span, BOOLEAN, _COMPARISONS[operator](one, other))
    if operator == "+" and left.type in (RSTRING, USTRING) and left.type == right.type:
        return Constant(node.span, left.type, f"{one}{other}")
    result = arithmetic(operator, left.type, one, other)
    return node if result is None else Constant(node.span, node.type, result)


def _booleans(operator: str, left: bool, right: bool) -> bool | None:  # noqa: FBT001
    match operator:
        case "&&" | "&":
            return left and right
        case "||" | "|":
            return left or right
        case "==" | "!=":
            return _COMPARISONS[operator](left, right)
        case _:
            return None


def _cast(node: Cast, operand: Constant) -> Expression:
    value, target = operand.value, node.type
    if isinstance(target, Enumeration):
        if operand.type in (RSTRING, USTRING) and value in target.words:
            return Constant(node.span, target, value)
        if isinstance(value, int) and operand.type in INTEGERS and 0 <= value < len(target.words):
            return Constant(node.span, target, target.words[value])
        return node
    if not isinstance(target, Primitive) or isinstance(value, bool) or value is None:
        return node
    if isinstance(operand.type, Enumeration):
        number = operand.type.words.index(str(value))
        return Constant(node.span, target, number) if target == INT32 else node
    if isinstance(value, int):
        if target in INTEGERS:
            return Constant(node.span, target, wrapped(target, value))
        real = rounded(target, float(value)) if target in FLOATS else None
        return node if real is None else Constant(node.span, target, real)
    if isinstance(value, float) and operand.type in FLOATS:
        if target in FLOATS:
            real = rounded(target, value)
            return node if real is None else Constant(node.span, target, real)
        if target in INTEGERS and range_of(target)[0] <= math.trunc(value) <= range_of(target)[1]:
            return Constant(node.span, target, math.trunc(value))
    return node
