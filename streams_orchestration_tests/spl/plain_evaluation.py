"""A plain evaluator of typed expressions, a tuple at a time, which shares no code with the product's programs."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any

from streams_orchestration.spl.types.types import FLOATS, INTEGERS, SIGNED, USTRING, Optional, Primitive, Type
from streams_orchestration.spl.typing import typed


class NoValueError(Exception):
    """Error: the expression has no value for the tuple."""


def evaluate(node: typed.Expression, values: Mapping[str, Any]) -> Any:
    """Return the value of an expression for the attributes of a tuple."""
    match node:
        case typed.Constant(value=value):
            return value
        case typed.PortAttribute(name=name):
            return values[name]
        case typed.ListOf(elements=elements):
            return [evaluate(each, values) for each in elements]
        case typed.Convert(operand=operand):
            return evaluate(operand, values)
        case typed.Cast(operand=operand):
            return cast(evaluate(operand, values), operand.type, node.type)
        case typed.Choice(condition=condition, positive=positive, negative=negative):
            return evaluate(positive if evaluate(condition, values) else negative, values)
        case typed.Prefix(operator="!", operand=operand):
            return not evaluate(operand, values)
        case typed.Prefix(operator="-", operand=operand):
            value = evaluate(operand, values)
            return -value if node.type in FLOATS else bits(-value, node.type)
        case typed.Prefix(operator="~", operand=operand):
            assert isinstance(node.type, Primitive)
            return bits(~evaluate(operand, values), node.type)
        case typed.Postfix(operator="??", operand=operand):
            return evaluate(operand, values) is not None
        case typed.Call(signature=signature, arguments=arguments):
            return call(signature.name, [evaluate(each, values) for each in arguments], arguments[0].type)
        case typed.Binary(operator=operator, left=left, right=right):
            one = evaluate(left, values)
            if (operator == "&&" and not one) or (operator == "||" and one) or (operator == "?:" and one is not None):
                return one
            return binary(operator, one, evaluate(right, values), left.type)
        case _:
            raise AssertionError(node)


def bits(value: int, type_: Type) -> int:
    """Return the integer that the lowest bits of a value are in a type."""
    assert isinstance(type_, Primitive)
    size = INTEGERS[type_] // 8
    return int.from_bytes((value % 256**size).to_bytes(size), signed=type_ in SIGNED)


def number(value: float, type_: Type) -> Any:
    """Return a result in its type."""
    if type_ in INTEGERS:
        return bits(int(value), type_)
    if type_ == Primitive("float32"):
        try:
            return struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)
    return value


def binary(operator: str, one: Any, other: Any, type_: Type) -> Any:
    """Return the value of an operator."""
    match operator:
        case "&&" | "||" | "?:":
            return other
        case "==" | "!=":
            return (one == other) == (operator == "==")
        case "<":
            return one < other
        case ">":
            return one > other
        case "in":
            return any(one == each for each in other)
        case "+" if isinstance(one, str):
            return one + other
        case "/" if type_ in FLOATS:
            return number(divided(one, other), type_)
        case "/" | "%":
            if other == 0:
                raise NoValueError
            quotient = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
            return bits(quotient if operator == "/" else one - quotient * other, type_)
        case "<<" | ">>":
            assert isinstance(type_, Primitive)
            amount = other & (63 if INTEGERS[type_] == 64 else 31)
            return bits(one << amount if operator == "<<" else one >> amount, type_)
        case "&" | "|" | "^":
            return {"&": one & other, "|": one | other, "^": one ^ other}[operator]
        case _:
            return number({"+": one + other, "-": one - other, "*": one * other}[operator], type_)


def divided(one: float, other: float) -> float:
    """Divide as IEEE does."""
    try:
        return one / other
    except ZeroDivisionError:
        sign = math.copysign(1, one) * math.copysign(1, other)
        return math.nan if one == 0 or math.isnan(one) else sign * math.inf


def cast(value: Any, source: Type, target: Type) -> Any:
    """Return a value in another type."""
    if isinstance(target, Optional):
        return None if value is None else cast(value, source, target.content)
    if target in INTEGERS:
        if isinstance(value, float):
            limit = 2**64 if target == Primitive("uint64") else 2**63
            value = math.trunc(value) if math.isfinite(value) and -(2**63) <= value < limit else 0
        return bits(value, target)
    if target in FLOATS:
        return number(float(value), target)
    if source in INTEGERS:
        return str(value)
    if source == Primitive("boolean"):
        return "true" if value else "false"
    return value if isinstance(value, str) else f"{value:.{15 if source == Primitive('float64') else 6}g}"


def call(name: str, values: list[Any], type_: Type) -> Any:
    """Return the result of one of the functions that random expressions call."""
    match name:
        case "length":
            return len(values[0] if type_ == USTRING else values[0].encode())
        case "upper":
            return "".join(chr(ord(each) - 32) if "a" <= each <= "z" else each for each in values[0])
        case "findFirst":
            return values[0].encode().find(values[1].encode())
        case "max":
            return max(values)
        case _:
            return math.sqrt(values[0]) if values[0] >= 0 or values[0] == 0 else math.nan
