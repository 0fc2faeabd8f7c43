"""Relations between types: joined tuple types, conversions without a cast, common types."""

from __future__ import annotations

from collections.abc import Iterable

from streams_orchestration.spl.types.types import (
    EMPTY_BRACES,
    NULL,
    UNKNOWN,
    VOID,
    Collection,
    Optional,
    Tuple,
    TupleAttribute,
    Type,
)


class AttributeConflictError(ValueError):
    """An attribute has different types in two tuple types that are joined."""

    def __init__(self, first: TupleAttribute, second: TupleAttribute) -> None:
        super().__init__(f"the attribute {first.name} is both {first.type} and {second.type}")
        self.name = first.name


def joined(tuples: Iterable[Tuple]) -> Tuple:
    """Return the tuple type with the attributes of several tuple types; a repeated attribute keeps its first position.

    Raises:
        AttributeConflictError: an attribute has different types.
    """
    attributes: dict[str, TupleAttribute] = {}
    for attribute in (attribute for each in tuples for attribute in each.attributes):
        known = attributes.setdefault(attribute.name, attribute)
        if known.type != attribute.type:
            raise AttributeConflictError(known, attribute)
    return Tuple(tuple(attributes.values()))


def fits(source: Type, target: Type) -> bool:
    """Return True if a value of type `source` can be used as `target` without a cast.

    Equal types fit, an unknown type fits all, a value fits an optional of its type, and `{}` fits any set, map or
    tuple. Collections and tuples fit if their elements or attributes do.
    """
    if UNKNOWN in (source, target) or (source == target and source != VOID):
        return True
    match source, target:
        case Optional(content=inner), Optional(content=wanted):
            return fits(inner, wanted)
        case _, Optional(content=wanted):
            return source == NULL or fits(source, wanted)
        case Collection(), Collection():
            alike = source.kind == target.kind and source.bound == target.bound
            return alike and all(map(fits, source.elements, target.elements))
        case Tuple(), Tuple():
            alike = [each.name for each in source.attributes] == [each.name for each in target.attributes]
            return alike and all(
                fits(one.type, other.type) for one, other in zip(source.attributes, target.attributes, strict=True)
            )
        case _, Collection(kind="set" | "map"):
            return source == EMPTY_BRACES
        case _, Tuple():
            return source == EMPTY_BRACES
        case _:
            return False


def common(first: Type, second: Type) -> Type | None:
    """Return the common type of two values in one literal, or None if there is none; an unknown type takes the other.

    >>> from streams_orchestration.spl.types.types import INT32
    >>> str(common(INT32, NULL))
    'optional<int32>'
    """
    if VOID in (first, second):
        return None
    match first, second:
        case (Optional(content=one), Optional(content=other)):
            inner = common(one, other)
            return None if inner is None else Optional(inner)
        case (Optional(content=one), other) | (other, Optional(content=one)):
            inner = one if other == NULL else common(one, other)
            return None if inner is None else Optional(inner)
        case (Collection(), Collection()):
            return _common_collection(first, second)
        case (Tuple(), Tuple()):
            return _common_tuple(first, second)
        case _:
            return _common_simple(first, second)


def _common_simple(first: Type, second: Type) -> Type | None:
    for one, other in ((first, second), (second, first)):
        if one == UNKNOWN or (other != UNKNOWN and fits(one, other)):
            return other
        if one == NULL:
            return Optional(other)
    return None


def _common_collection(first: Collection, second: Collection) -> Type | None:
    if (first.kind, first.bound) != (second.kind, second.bound):
        return None
    elements = [common(*pair) for pair in zip(first.elements, second.elements, strict=True)]
    known = tuple(each for each in elements if each is not None)
    return Collection(first.kind, known, first.bound) if len(known) == len(elements) else None


def _common_tuple(first: Tuple, second: Tuple) -> Type | None:
    if [each.name for each in first.attributes] != [each.name for each in second.attributes]:
        return None
    attributes: list[TupleAttribute] = []
    for one, other in zip(first.attributes, second.attributes, strict=True):
        inner = common(one.type, other.type)
        if inner is None:
            return None
        attributes.append(TupleAttribute(one.name, inner))
    return Tuple(tuple(attributes))
