"""Decimals that are assigned to attributes without losing digits.

Spark rounds the digits after the decimal point of a sum, a difference or a product, down to 6, if its exact value could
have more than 38 digits (`adjusted_decimal`). An attribute with more digits after the point would lose digits silently.
Here such a result has a type of up to 76 digits, and only the value that is assigned has to fit.
"""

from __future__ import annotations

from dataclasses import replace

from streams_orchestration.expressions.tree import Call, Case, Cast, Coalesce, TypedNode
from streams_orchestration.expressions.types import Type

MOST_DIGITS = 76
"""The precision of Arrow's widest decimals."""
_SIGNS = ("negative", "positive")


def exact(node: TypedNode, scale: int) -> TypedNode:
    """Return an expression whose value keeps decimal digits that Spark's types would round away.

    An expression that needs more than `MOST_DIGITS` digits, or rounds nothing away, is returned unchanged.

    Args:
        node: an expression whose value is a decimal.
        scale: the scale of the attribute that receives the value.
    """
    match node:
        case Call(function, (one, other)) if function.name in ("+", "-", "*"):
            arguments = _of_decimal(one, scale), _of_decimal(other, scale)
            wide = _product(*arguments) if function.name == "*" else _sum(*arguments)
            if node.type.scale < min(wide.scale, scale) and wide.precision <= MOST_DIGITS:
                return replace(node, arguments=arguments, type=wide)
            return node
        case Call(function, (one,)) if function.name in _SIGNS:
            return _like(node, (_of_decimal(one, scale),))
        case Coalesce(arguments):
            return _like(node, tuple(_of_decimal(each, scale) for each in arguments))
        case Case(branches, otherwise):
            values = tuple(_of_decimal(each, scale) for each in (*(value for _, value in branches), otherwise))
            wide = _widest(node.type, values)
            if wide == node.type:
                return node
            *of_branches, last = (each if each.type == wide else Cast(each, wide) for each in values)
            conditions = (condition for condition, _ in branches)
            return Case(tuple(zip(conditions, of_branches, strict=True)), last, wide)
        case _:
            return node


def _of_decimal(node: TypedNode, scale: int) -> TypedNode:
    """Return an operand with all its digits; a conversion that would reduce its digits is left out."""
    if not node.type.is_decimal:
        return node
    if isinstance(node, Cast) and not node.lenient and node.argument.type.is_decimal:
        inner = exact(node.argument, scale)
        return inner if inner.type.scale > node.type.scale else node
    return exact(node, scale)


def _sum(one: TypedNode, other: TypedNode) -> Type:
    digits = max(one.type.scale, other.type.scale)
    return Type("decimal", max(_whole(one.type), _whole(other.type)) + digits + 1, digits)


def _product(one: TypedNode, other: TypedNode) -> Type:
    return Type("decimal", one.type.precision + other.type.precision + 1, one.type.scale + other.type.scale)


def _whole(kind: Type) -> int:
    return kind.precision - kind.scale


def _like(node: Call | Coalesce, arguments: tuple[TypedNode, ...]) -> TypedNode:
    """Return a call whose type and arguments have the decimal type of `_widest`.

    The call is unchanged if that is its type: then no argument has more digits after the point.
    """
    wide = _widest(node.type, arguments)
    if wide == node.type:
        return node
    same = tuple(each if each.type == wide else Cast(each, wide) for each in arguments)
    return replace(node, arguments=same, type=wide)


def _widest(kind: Type, values: tuple[TypedNode, ...]) -> Type:
    """Return a decimal type with as many digits after the point as the type or any of the values has.

    It has at most `MOST_DIGITS` digits in total.
    """
    kinds = [kind, *(each.type for each in values if each.type.is_decimal)]
    digits, whole = max(each.scale for each in kinds), max(map(_whole, kinds))
    if digits == kind.scale:
        return kind
    return Type("decimal", min(whole + digits, MOST_DIGITS), digits)
