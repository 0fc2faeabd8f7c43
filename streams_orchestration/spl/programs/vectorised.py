"""Expressions over whole columns by Polars, where that gives provably the same as a loop.

An expression goes this way only if every operation in it is in the tables below, none of which can fail. Polars' own
operators differ from those of SPL in division, remainders, NaN and casts, so these are written out.
"""

from __future__ import annotations

# pyright: standard
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from streams_orchestration.spl.types.types import (
    BOOLEAN,
    FLOATS,
    INTEGERS,
    RSTRING,
    SIGNED,
    TIMESTAMP,
    USTRING,
    Collection,
    Enumeration,
    Optional,
    Primitive,
    Type,
    is_string,
    range_of,
)
from streams_orchestration.spl.typing import typed

Columns = dict[str, pa.Array]


class UnsuitableError(Exception):
    """Error: an expression is not evaluated by columns."""


def polars_type(type_: Type) -> Any:
    """Return Polars' type of the values of a simple type."""
    match type_:
        case Optional(content=content):
            return polars_type(content)
        case Primitive() if type_ in INTEGERS:
            return getattr(pl, f"{'Int' if type_ in SIGNED else 'UInt'}{INTEGERS[type_]}")
        case Primitive() if type_ in FLOATS:
            return getattr(pl, f"Float{FLOATS[type_]}")
        case _ if is_string(type_) or isinstance(type_, Enumeration):
            return pl.String
        case _ if type_ == BOOLEAN:
            return pl.Boolean
        case _ if type_ == TIMESTAMP:
            return pl.Datetime("ns", "UTC")
        case _:
            raise UnsuitableError


def vectorised(expression: typed.Expression) -> pl.Expr | None:
    """Return the expression as one of Polars', over columns by the names of attributes; None if it is unsuitable."""
    try:
        return _expression(expression)
    except UnsuitableError:
        return None


def attributes_of(expression: pl.Expr) -> tuple[str, ...]:
    """Return the attributes that an expression of Polars' reads."""
    return tuple(dict.fromkeys(expression.meta.root_names()))


def evaluate(expression: pl.Expr, columns: Columns, count: int) -> pa.Array:
    """Return the value of an expression for every tuple."""
    frame = pl.DataFrame({name: pl.from_arrow(columns[name]) for name in attributes_of(expression)})
    found = frame.select(expression.alias("value")).to_series().to_arrow()
    if len(found) != count:  # a constant
        found = pa.repeat(found[0], count)
    return found.cast(pa.string()) if pa.types.is_large_string(found.type) else found


def _expression(node: typed.Expression) -> pl.Expr:
    match node:
        case typed.Constant(value=value):
            return pl.lit(value, polars_type(node.type))
        case typed.PortAttribute(name=name):
            polars_type(node.type)
            return pl.col(name)
        case typed.Convert(operand=operand):
            return _conversion(operand, node.type)
        case typed.Cast(operand=operand):
            return _cast(operand, node.type)
        case typed.Prefix(operator="!", operand=operand):
            return ~_expression(operand)
        case typed.Prefix(operator="-", operand=operand) if operand.type in FLOATS:
            return -_expression(operand)
        case typed.Prefix(operator="-", operand=operand) if operand.type in SIGNED:
            return pl.lit(0, polars_type(operand.type)) - _expression(operand)
        case typed.Postfix(operator="??", operand=operand):
            return _expression(operand).is_not_null()
        case typed.Binary(operator=operator, left=left, right=right):
            return _binary(operator, left, right)
        case typed.Choice(condition=condition, positive=positive, negative=negative):
            return pl.when(_expression(condition)).then(_expression(positive)).otherwise(_expression(negative))
        case typed.Call(signature=signature, arguments=arguments) if signature.is_builtin:
            return _call(signature.name, arguments)
        case _:
            raise UnsuitableError


def _conversion(operand: typed.Expression, target: Type) -> pl.Expr:
    if isinstance(operand, typed.Constant) and operand.value is None:
        return pl.lit(None, polars_type(target))
    if isinstance(target, Optional) and operand.type in (target, target.content):
        return _expression(operand)
    raise UnsuitableError


# --- operators

_PLAIN = {
    "+": pl.Expr.__add__,
    "-": pl.Expr.__sub__,
    "*": pl.Expr.__mul__,
    "&": pl.Expr.__and__,
    "|": pl.Expr.__or__,
    "^": pl.Expr.__xor__,
    "&&": pl.Expr.__and__,
    "||": pl.Expr.__or__,
}
_FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "+": pc.add,
    "-": pc.subtract,
    "*": pc.multiply,
    "/": pc.divide,
}
_COMPARISONS = {
    "<": pl.Expr.__lt__,
    "<=": pl.Expr.__le__,
    ">": pl.Expr.__gt__,
    ">=": pl.Expr.__ge__,
    "==": pl.Expr.__eq__,
    "!=": pl.Expr.__ne__,
}


def _binary(operator: str, left: typed.Expression, right: typed.Expression) -> pl.Expr:
    if operator in ("==", "!=") and (isinstance(left.type, Optional) or isinstance(right.type, Optional)):
        one, other = _expression(left), _expression(right)
        if left.type in FLOATS or (isinstance(left.type, Optional) and left.type.content in FLOATS):
            raise UnsuitableError
        return one.eq_missing(other) if operator == "==" else one.ne_missing(other)
    if operator == "?:":
        return pl.coalesce(_expression(left), _expression(right))
    if operator == "in":
        return _member(left, right)
    type_ = left.type
    if isinstance(type_, Collection | Optional) or isinstance(right.type, Collection | Optional):
        raise UnsuitableError
    if operator in _COMPARISONS:
        return _comparison(operator, left, right)
    if type_ in FLOATS:
        return _of_floats(operator, _expression(left), _expression(right), polars_type(type_))
    if operator in ("/", "%"):
        return _divided(operator, left, right)
    if operator in ("<<", ">>") or operator not in _PLAIN or type_ == TIMESTAMP:
        raise UnsuitableError
    return _PLAIN[operator](_expression(left), _expression(right))


def _comparison(operator: str, left: typed.Expression, right: typed.Expression) -> pl.Expr:
    """Compare as IEEE does: NaN is neither equal to anything nor before or behind it."""
    if isinstance(left.type, Enumeration) and operator not in ("==", "!="):
        raise UnsuitableError
    one, other = _expression(left), _expression(right)
    compared = _COMPARISONS[operator](one, other)
    if left.type not in FLOATS:
        return compared
    for side, node in ((one, left), (other, right)):
        if not isinstance(node, typed.Constant) or repr(node.value) == "nan":
            compared = compared | side.is_nan() if operator == "!=" else compared & side.is_not_nan()
    return compared


def _of_floats(operator: str, left: pl.Expr, right: pl.Expr, kind: Any) -> pl.Expr:
    """Calculate with floats by Arrow, which does so as IEEE says.

    Polars multiplies by the reciprocal of a constant, which rounds twice, and leaves zeros out, which loses their sign.
    """

    def calculate(sides: Sequence[pl.Series]) -> pl.Series:
        count = max(map(len, sides))
        one, other = (each.to_arrow() if len(each) == count else each.to_arrow()[0] for each in sides)
        result = pl.from_arrow(_FLOATS[operator](one, other))
        assert isinstance(result, pl.Series)
        return result

    return pl.map_batches([left, right], calculate, return_dtype=kind)


def _divided(operator: str, left: typed.Expression, right: typed.Expression) -> pl.Expr:
    """Divide integers by a constant, truncated, since by 0 the tuple fails."""
    type_ = left.type
    if type_ not in INTEGERS or not isinstance(right, typed.Constant) or right.value in (0, -1):
        raise UnsuitableError
    by = right.value
    assert isinstance(by, int)
    kind = polars_type(type_)
    value = _expression(left)
    floor = value // pl.lit(by, kind)
    if type_ in SIGNED:
        rest = value - floor * pl.lit(by, kind)
        behind = (value < 0) if by > 0 else (value > 0)
        quotient = floor + (behind & (rest != 0)).cast(kind)
    else:
        quotient = floor
    return quotient if operator == "/" else value - quotient * pl.lit(by, kind)


def _member(left: typed.Expression, right: typed.Expression) -> pl.Expr:
    simple = left.type in INTEGERS or is_string(left.type) or isinstance(left.type, Enumeration)
    literal = isinstance(right, typed.ListOf | typed.SetOf)
    if not simple or not literal or not all(isinstance(each, typed.Constant) for each in right.elements):
        raise UnsuitableError
    values = [each.value for each in right.elements if isinstance(each, typed.Constant)]
    return _expression(left).is_in(pl.Series(values, dtype=polars_type(left.type)).implode())


# --- casts


def _cast(operand: typed.Expression, target: Type) -> pl.Expr:
    source, value = operand.type, _expression(operand)
    if source == target:
        return value
    if isinstance(target, Optional) and target.content == source:
        return value
    if source in INTEGERS and target in INTEGERS:
        return value.cast(polars_type(target), wrap_numerical=True)
    if source in INTEGERS and target in FLOATS:
        if FLOATS[target] == 32 and INTEGERS[source] > 32:  # type: ignore[index]
            raise UnsuitableError
        return value.cast(pl.Float64).cast(polars_type(target))
    if source in FLOATS and target in FLOATS:
        return value.cast(polars_type(target))
    if source in FLOATS and target in INTEGERS and target != Primitive("uint64"):
        low, high = range_of(Primitive("int64"))
        inside = value.is_between(float(low), float(high), closed="left")
        return pl.when(inside).then(value).otherwise(0.0).cast(pl.Int64).cast(polars_type(target), wrap_numerical=True)
    if is_string(target) and not isinstance(target, Primitive):
        raise UnsuitableError
    if is_string(target) and (source in INTEGERS or source == BOOLEAN):
        return value.cast(pl.String)
    if target in (RSTRING, USTRING) and (is_string(source) or isinstance(source, Enumeration)):
        return value
    raise UnsuitableError


# --- functions


def _by_arrow(function: Callable[[Any], Any], expression: pl.Expr) -> pl.Expr:
    def apply(series: pl.Series) -> pl.Series:
        result = pl.from_arrow(function(series.to_arrow()))
        assert isinstance(result, pl.Series)
        return result

    return expression.map_batches(apply, return_dtype=pl.String, is_elementwise=True)


def _call(name: str, arguments: tuple[typed.Expression, ...]) -> pl.Expr:
    types = tuple(each.type for each in arguments)
    if name == "length" and len(arguments) == 1:
        text = _expression(arguments[0])
        return (text.str.len_chars() if types[0] == USTRING else text.str.len_bytes()).cast(pl.Int32)
    if name in ("upper", "lower") and types == (RSTRING,):
        return _by_arrow(pc.ascii_upper if name == "upper" else pc.ascii_lower, _expression(arguments[0]))
    if name == "findFirst" and types == (RSTRING, RSTRING):
        found = _expression(arguments[0]).str.find(_expression(arguments[1]), literal=True)
        return found.cast(pl.Int32).fill_null(-1)
    if name in ("min", "max") and types[:1] == types[1:] and (types[0] in INTEGERS or types[0] == TIMESTAMP):
        both = [_expression(each) for each in arguments]
        return pl.min_horizontal(both) if name == "min" else pl.max_horizontal(both)
    if name in ("sqrt", "floor", "ceil", "abs") and types == (Primitive("float64"),):
        return getattr(_expression(arguments[0]), name)()
    if name in ("isNaN", "isnan") and types[0] in FLOATS:
        return _expression(arguments[0]).is_nan()
    raise UnsuitableError


__all__ = ["UnsuitableError", "attributes_of", "evaluate", "polars_type", "vectorised"]
