"""Implicit conversions, as nodes of typed trees."""

from __future__ import annotations

from streams_orchestration.spl.types.joining import fits
from streams_orchestration.spl.types.types import (
    EMPTY_BRACES,
    NULL,
    RSTRING,
    UNKNOWN,
    BoundedString,
    Collection,
    Optional,
    Tuple,
    Type,
)
from streams_orchestration.spl.typing.typed import (
    Cast,
    Constant,
    Convert,
    Expression,
    ListOf,
    MapOf,
    SetOf,
    TupleOf,
)


def converted(value: Expression, target: Type) -> Expression | None:
    """Return a typed value converted implicitly to another type, or None if the program must cast it.

    A value is returned unchanged if it has the type, or if one of the types is unknown. The elements of a literal are
    converted one by one, so that a `Convert` node always has a single value.
    """
    source = value.type
    if source == target or UNKNOWN in (source, target):
        return value
    if isinstance(value, ListOf | SetOf | MapOf | TupleOf):
        literal = _literal(value, target)
        if literal is not None:
            return literal
    if isinstance(target, Optional):
        return _optional(value, target)
    if isinstance(target, BoundedString) and isinstance(value, Constant) and source == RSTRING:
        return Cast(value.span, target, value)
    if target == RSTRING and isinstance(source, BoundedString):
        return Cast(value.span, target, value)
    return Convert(value.span, target, value) if fits(source, target) else None


def _optional(value: Expression, target: Optional) -> Expression | None:
    if isinstance(value, Constant) and value.type == NULL:
        return Constant(value.span, target, None)
    if isinstance(value.type, Optional):
        return Convert(value.span, target, value) if fits(value.type, target) else None
    content = converted(value, target.content)
    return None if content is None else Convert(value.span, target, content)


def _literal(value: ListOf | SetOf | MapOf | TupleOf, target: Type) -> Expression | None:
    match value, target:
        case MapOf(type=type_), Collection(kind="set") if type_ == EMPTY_BRACES:
            return SetOf(value.span, target, ())
        case MapOf(type=type_), Tuple() if type_ == EMPTY_BRACES:
            return TupleOf(value.span, target, ())
        case (ListOf(), Collection(kind="list")) | (SetOf(), Collection(kind="set")):
            elements = _all(value.elements, target.elements[0])
            return None if elements is None else type(value)(value.span, target, elements)
        case MapOf(), Collection(kind="map"):
            keys = _all(tuple(key for key, _ in value.entries), target.elements[0])
            values = _all(tuple(each for _, each in value.entries), target.elements[1])
            if keys is None or values is None:
                return None
            return MapOf(value.span, target, tuple(zip(keys, values, strict=True)))
        case TupleOf(), Tuple() if value.attributes:
            names = tuple(name for name, _ in value.attributes)
            if names != tuple(each.name for each in target.attributes):
                return None
            parts = [
                converted(each, to.type) for (_, each), to in zip(value.attributes, target.attributes, strict=True)
            ]
            known = tuple(part for part in parts if part is not None)
            if len(known) < len(parts):
                return None
            return TupleOf(value.span, target, tuple(zip(names, known, strict=True)))
        case _:
            return None


def _all(values: tuple[Expression, ...], target: Type) -> tuple[Expression, ...] | None:
    parts = [converted(each, target) for each in values]
    known = tuple(part for part in parts if part is not None)
    return known if len(known) == len(parts) else None
