"""Evaluation of expressions over whole columns by Arrow, where the results provably equal the results of a loop.

An expression is vectorised only if every operation in it is in the tables below, none of which can fail. Arrow's
unchecked operations wrap around, truncate and follow IEEE as SPL does. Its casts and shifts are guarded here for the
values that they leave undefined.
"""

from __future__ import annotations

# pyright: standard
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streams_orchestration.spl.programs.columns import array_of, arrow_type
from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.types.types import (
    BOOLEAN,
    FLOAT64,
    FLOATS,
    INTEGERS,
    RSTRING,
    SIGNED,
    TIMESTAMP,
    USTRING,
    Enumeration,
    Optional,
    Primitive,
    Type,
    is_string,
)
from streams_orchestration.spl.typing import typed

Vector = Any
"""An Arrow array with a value for each tuple, or a scalar that applies to all tuples."""
Step = Callable[[Mapping[str, pa.Array]], Vector]


class UnsuitableError(Exception):
    """The expression cannot be evaluated by columns."""


@dataclass(frozen=True)
class ByColumns:
    """An expression that is evaluated by columns.

    Attributes:
        names: the attributes that the expression reads.
        step: the function that evaluates the expression over the columns of these attributes.
    """

    names: tuple[str, ...]
    step: Step

    def evaluate(self, columns: Mapping[str, pa.Array], count: int) -> pa.Array:
        """Return the value of the expression for each of `count` tuples."""
        found = self.step(columns)
        return pa.repeat(found, count) if isinstance(found, pa.Scalar) else found


def by_columns(expression: typed.Expression) -> ByColumns | None:
    """Return an expression's evaluation by columns; None if it must be evaluated tuple by tuple."""
    names = dict[str, None]()
    try:
        step = _step(expression, names)
    except UnsuitableError:
        return None
    return ByColumns(tuple(names), step)


def _step(node: typed.Expression, names: dict[str, None]) -> Step:
    """Return the function over columns for a node; add the attributes that the node reads to `names`."""
    match node:
        case typed.Constant(value=value):
            return _constant(value, node.type)
        case typed.PortAttribute(name=name):
            _check_simple(node.type)
            names[name] = None
            return lambda columns: columns[name]
        case typed.Convert(operand=operand):
            return _conversion(operand, node.type, names)
        case typed.Cast(operand=operand):
            return _chained(_cast(operand.type, node.type), _step(operand, names))
        case typed.Prefix(operator=operator, operand=operand):
            return _chained(_prefix(operator, operand.type), _step(operand, names))
        case typed.Postfix(operator="??", operand=operand):
            return _chained(pc.is_valid, _step(operand, names))
        case typed.Binary(operator="in", left=left, right=right):
            return _chained(_membership(left.type, right), _step(left, names))
        case typed.Binary(operator=operator, left=left, right=right):
            return _chained(_binary(operator, left.type, right), _step(left, names), _step(right, names))
        case typed.Choice(condition=condition, positive=positive, negative=negative):
            return _chained(pc.if_else, *(_step(each, names) for each in (condition, positive, negative)))
        case typed.Call(signature=signature, arguments=arguments) if signature.is_builtin:
            return _chained(_function(signature.name, arguments), *(_step(each, names) for each in arguments))
        case _:
            raise UnsuitableError


def _chained(function: Callable[..., Vector], *operands: Step) -> Step:
    """Return the composition of a function with the functions that compute its arguments from columns."""
    if len(operands) == 1:
        (only,) = operands
        return lambda columns: function(only(columns))
    if len(operands) == 2:
        first, second = operands
        return lambda columns: function(first(columns), second(columns))
    return lambda columns: function(*(each(columns) for each in operands))


def _check_simple(type_: Type) -> None:
    """Raise UnsuitableError unless values of the type are numbers, booleans, strings, words or times."""
    plain = type_.content if isinstance(type_, Optional) else type_
    simple = plain in INTEGERS or plain in FLOATS or plain in (BOOLEAN, TIMESTAMP)
    if not simple and not is_string(plain) and not isinstance(plain, Enumeration):
        raise UnsuitableError


def _array_of(values: list[Any], type_: Type) -> pa.Array:
    """Return constants as a column; raise UnsuitableError if a column cannot hold them, such as half of a character."""
    try:
        return array_of(values, type_)
    except RunError:
        raise UnsuitableError from None


def _constant(value: Any, type_: Type) -> Step:
    _check_simple(type_)
    scalar = pa.scalar(None, arrow_type(type_)) if value is None else _array_of([value], type_)[0]
    return lambda _: scalar


def _conversion(operand: typed.Expression, target: Type, names: dict[str, None]) -> Step:
    if isinstance(operand, typed.Constant) and operand.value is None:
        return _constant(None, target)
    if isinstance(target, Optional) and operand.type in (target, target.content):
        return _step(operand, names)
    raise UnsuitableError


# --- operators

_COMPARISONS: dict[str, Callable[..., Vector]] = {
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
    "==": pc.equal,
    "!=": pc.not_equal,
}
_NUMBERS: dict[str, Callable[..., Vector]] = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_INTEGERS: dict[str, Callable[..., Vector]] = {
    **_NUMBERS,
    "&": pc.bit_wise_and,
    "|": pc.bit_wise_or,
    "^": pc.bit_wise_xor,
}
_FLOATS: dict[str, Callable[..., Vector]] = {**_NUMBERS, "/": pc.divide}
_BOOLEANS: dict[str, Callable[..., Vector]] = {
    "&&": pc.and_,
    "||": pc.or_,
    "&": pc.and_,
    "|": pc.or_,
}


def _prefix(operator: str, type_: Type) -> Callable[[Vector], Vector]:
    """Return the function over vectors for a prefix operator."""
    if operator == "!":
        return pc.invert
    if operator == "-" and (type_ in FLOATS or type_ in SIGNED):
        return pc.negate
    if operator == "-" and type_ in INTEGERS:
        zero = pa.scalar(0, arrow_type(type_))
        return lambda value: pc.subtract(zero, value)
    if operator == "~" and type_ in INTEGERS:
        return pc.bit_wise_not
    raise UnsuitableError


def _binary(operator: str, type_: Type, right: typed.Expression) -> Callable[..., Vector]:
    """Return the function over vectors for a binary operator.

    For some operators the right operand must be a constant.
    """
    if operator == "?:":
        return pc.coalesce
    if isinstance(type_, Optional) or isinstance(right.type, Optional):
        if operator in ("==", "!=") and not _has_floats(type_):
            return _same_or_absent if operator == "==" else lambda *sides: pc.invert(_same_or_absent(*sides))
        raise UnsuitableError
    if operator in _COMPARISONS:
        if isinstance(type_, Enumeration) and operator not in ("==", "!="):
            raise UnsuitableError
        return _COMPARISONS[operator]
    if type_ in INTEGERS and operator in ("/", "%", "<<", ">>"):
        return _by_constant(operator, type_, right)
    if type_ in (RSTRING, USTRING) and operator == "+":
        return lambda left, other: pc.binary_join_element_wise(left, other, "")
    table = (
        _INTEGERS if type_ in INTEGERS else _FLOATS if type_ in FLOATS else _BOOLEANS if type_ == BOOLEAN else {}
    )  # other operations give other values in Arrow, or may fail
    if operator not in table:
        raise UnsuitableError
    return table[operator]


def _has_floats(type_: Type) -> bool:
    return type_ in FLOATS or (isinstance(type_, Optional) and type_.content in FLOATS)


def _same_or_absent(left: Vector, right: Vector) -> Vector:
    """Compare optional values for equality: two nulls are equal, and null differs from every value."""
    both = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(both, pc.fill_null(pc.equal(left, right), fill_value=False))


def _by_constant(operator: str, type_: Type, right: typed.Expression) -> Callable[..., Vector]:
    """Return the function over vectors for `/`, `%`, `<<` or `>>` of integers with a constant right operand.

    Raise UnsuitableError if the right operand is not a constant, or if the operation could fail for it.
    """
    assert isinstance(type_, Primitive)
    if not isinstance(right, typed.Constant) or not isinstance(right.value, int):
        raise UnsuitableError
    by = right.value
    if operator in ("<<", ">>"):
        return _shift(operator, type_, by)
    if by in (0, -1):  # a division by 0 fails, one by -1 may overflow
        raise UnsuitableError
    return pc.divide if operator == "/" else _remainder


def _shift(operator: str, type_: Primitive, by: int) -> Callable[..., Vector]:
    """Return the function that shifts integers by a constant, non-negative number of bits.

    Arrow leaves a number unchanged if the shift is at least the width of its type without the sign. Such a shift to the
    right takes two steps.
    """
    bits, kind = INTEGERS[type_], arrow_type(type_)
    amount = by & (63 if bits == 64 else 31)
    if operator == "<<":
        factor = pa.scalar((1 << amount) % (1 << bits), pa.uint64()).cast(kind, safe=False)
        return lambda left, _: pc.multiply(left, factor)
    if type_ in SIGNED:
        most, one = pa.scalar(min(amount, bits - 2), kind), pa.scalar(int(amount > bits - 2), kind)
        return lambda left, _: pc.shift_right(pc.shift_right(left, most), one)
    if amount >= bits:
        return lambda left, _: pc.subtract(left, left)
    return lambda left, _: pc.shift_right(left, pa.scalar(amount, kind))


def _remainder(left: Vector, by: Vector) -> Vector:
    return pc.subtract(left, pc.multiply(pc.divide(left, by), by))


def _membership(type_: Type, container: typed.Expression) -> Callable[[Vector], Vector]:
    simple = type_ in INTEGERS or is_string(type_) or isinstance(type_, Enumeration)
    literal = isinstance(container, typed.ListOf | typed.SetOf)
    if not simple or not literal or not all(isinstance(each, typed.Constant) for each in container.elements):
        raise UnsuitableError
    values = [each.value for each in container.elements if isinstance(each, typed.Constant)]
    wanted = _array_of(values, type_)
    return lambda value: pc.is_in(value, value_set=wanted)


# --- casts


def _cast(source: Type, target: Type) -> Callable[[Vector], Vector]:
    kind = arrow_type(target)
    if source == target or (isinstance(target, Optional) and target.content == source):
        return _as_it_is
    if source in INTEGERS and target in FLOATS and FLOATS[target] == 32 and INTEGERS[source] > 32:  # type: ignore[index]
        raise UnsuitableError
    if source in FLOATS and target in INTEGERS:
        if target == Primitive("uint64"):
            raise UnsuitableError
        return lambda value: _truncated(value, kind)
    if (source in INTEGERS or source in FLOATS) and (target in INTEGERS or target in FLOATS):
        return lambda value: pc.cast(value, kind, safe=False)
    if target in (RSTRING, USTRING) and (source in INTEGERS or source == BOOLEAN):
        return lambda value: pc.cast(value, kind)
    if target in (RSTRING, USTRING) and (is_string(source) or isinstance(source, Enumeration)):
        return _as_it_is
    raise UnsuitableError


def _as_it_is(value: Vector) -> Vector:
    return value


def _truncated(value: Vector, kind: pa.DataType) -> Vector:
    """Return floats truncated towards zero; a float outside of the range of 64-bit integers becomes 0."""
    wide = pc.cast(value, pa.float64())
    inside = pc.and_(pc.greater_equal(wide, -(2.0**63)), pc.less(wide, 2.0**63))
    return pc.cast(pc.cast(pc.if_else(inside, wide, 0.0), pa.int64(), safe=False), kind, safe=False)


# --- functions

_OF_DOUBLES: dict[str, Callable[[Vector], Vector]] = {
    "sqrt": pc.sqrt,
    "floor": pc.floor,
    "ceil": pc.ceil,
    "abs": pc.abs,
}
_OF_TEXTS: dict[tuple[str, Type], Callable[[Vector], Vector]] = {
    ("length", RSTRING): pc.binary_length,
    ("length", USTRING): pc.utf8_length,
    ("upper", RSTRING): pc.ascii_upper,
    ("lower", RSTRING): pc.ascii_lower,
}


def _function(name: str, arguments: tuple[typed.Expression, ...]) -> Callable[..., Vector]:
    types = tuple(each.type for each in arguments)
    if len(types) == 1:
        (type_,) = types
        if (name, type_) in _OF_TEXTS:
            return _OF_TEXTS[name, type_]
        if name in ("isNaN", "isnan") and type_ in FLOATS:
            return pc.is_nan
        if name in _OF_DOUBLES and type_ == FLOAT64:
            return _OF_DOUBLES[name]
    if name in ("min", "max") and types[:1] == types[1:] and (types[0] in INTEGERS or types[0] == TIMESTAMP):
        return pc.min_element_wise if name == "min" else pc.max_element_wise
    if name == "findFirst" and types == (RSTRING, RSTRING) and isinstance(arguments[1], typed.Constant):
        pattern = arguments[1].value
        return lambda text, _: pc.find_substring(text, pattern)
    raise UnsuitableError


__all__ = ["ByColumns", "UnsuitableError", "by_columns"]
