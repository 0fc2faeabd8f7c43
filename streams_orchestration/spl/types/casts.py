"""Casts that SPL allows between types."""

from __future__ import annotations

from streams_orchestration.spl.types.joining import fits
from streams_orchestration.spl.types.types import (
    BLOB,
    COMPLEX,
    EMPTY_BRACES,
    FLOAT64,
    INTEGERS,
    REALS,
    TIMESTAMP,
    UINT8,
    UNKNOWN,
    VOID,
    XML,
    Collection,
    Enumeration,
    Optional,
    Tuple,
    Type,
    is_primitive,
    is_string,
)


def can_cast(source: Type, target: Type) -> bool:
    """Return True if SPL allows a cast between two types; the cast of a single value may still fail."""
    if source == VOID:
        return False
    if fits(source, target) or is_string(source):
        return True
    match source, target:
        case Optional(content=inner), Optional(content=wanted):
            return can_cast(inner, wanted)
        case Optional(), _:
            return is_string(target)
        case _, Optional(content=wanted):
            return can_cast(source, wanted)
        case _:
            return is_string(target) or _between_values(source, target) or _between_structures(source, target)


def initialises(source: Type, target: Type) -> bool:
    """Return True if a value of one type can initialise a variable of another: without a cast, or by an implied one."""
    return fits(source, target) or can_cast(source, target)


def _between_values(source: Type, target: Type) -> bool:
    if source in REALS:
        of_integer = isinstance(target, Enumeration) and source in INTEGERS
        return target in REALS or of_integer or (source == FLOAT64 and target == TIMESTAMP)
    if isinstance(source, Enumeration):
        return target in INTEGERS
    if source in COMPLEX:
        return target in COMPLEX
    return source == TIMESTAMP and target == FLOAT64


def _between_structures(source: Type, target: Type) -> bool:
    match source, target:
        case Collection(), Collection():
            return source.kind == target.kind and _elements_cast(source.elements, target.elements)
        case Collection(kind="list", elements=(element,)), _:
            return (target == BLOB and element in (UINT8, UNKNOWN)) or (target in COMPLEX and element in REALS)
        case _, Collection(kind="list", elements=(element,)):
            return source == BLOB and element == UINT8
        case Tuple(), Tuple():
            return all(_attribute_casts(source.type_of(each.name), each.type) for each in target.attributes)
        case Tuple(), _:
            return target == XML
        case _, Tuple():
            return source in (XML, EMPTY_BRACES)
        case _:
            return False


def _elements_cast(source: tuple[Type, ...], target: tuple[Type, ...]) -> bool:
    """Return True if all elements convert without a cast, or if all are primitive and can be cast."""
    if all(map(fits, source, target)):
        return True
    return all(map(is_primitive, (*source, *target))) and all(map(can_cast, source, target))


def _attribute_casts(source: Type | None, target: Type) -> bool:
    return source is not None and fits(source, target)
