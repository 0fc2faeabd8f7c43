"""The check that values fit their types in SPL: columns of Arrow know neither bounds nor enumerations."""

from __future__ import annotations

from typing import Any

from streams_orchestration.model.short_texts import shortened
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.spl.types.types import (
    BoundedString,
    Collection,
    Enumeration,
    Optional,
    Tuple,
    Type,
    parts_of_type,
)


def check_bounds(column: pa.Array, type_: Type) -> None:
    """Refuse texts and collections that are larger than the bounds of their types, and texts that are not their words.

    Raises:
        DataError: a value does not fit.
    """
    if any(isinstance(each, BoundedString | Enumeration) or _is_bounded(each) for each in parts_of_type(type_)):
        for value in column.to_pylist():
            _check(value, type_)


def _is_bounded(type_: Type) -> bool:
    return isinstance(type_, Collection) and type_.bound is not None


def _check(value: Any, type_: Type) -> None:
    """Raise DataError if a value, as Arrow returns it, does not fit its type; null always fits."""
    if value is None:
        return
    match type_:
        case Optional(content=content):
            _check(value, content)
        case BoundedString(bound=bound) if len(value.encode()) > bound:
            message = f"{shortened(repr(value))} has more than {bound} bytes, but its type is {type_}"
            raise DataError(message)
        case Enumeration(words=words) if value not in words:
            message = f"{shortened(repr(value))} is not a value of {type_}"
            raise DataError(message)
        case Tuple(attributes=attributes):
            for each in attributes:
                _check(value[each.name], each.type)
        case Collection(kind=kind, elements=elements, bound=bound):
            if bound is not None and len(value) > bound:
                message = f"{shortened(repr(value))} has more than {bound} elements, but its type is {type_}"
                raise DataError(message)
            for each in value:
                for part, element in zip(each if kind == "map" else (each,), elements, strict=True):
                    _check(part, element)
        case _:
            pass
