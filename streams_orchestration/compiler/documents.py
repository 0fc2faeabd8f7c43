"""Serialization of graphs, plans and compilations as JSON."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

Stage = TypeVar("Stage")


@cache
def _adapter(type_: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(type_)


def prepare(type_: type[Any]) -> None:
    """Build the serializer of a type ahead of `dump` and `load`; a compilation's takes some tenths of a second."""
    _adapter(type_)


def dump(value: object, type_: type[Any] | None = None) -> bytes:
    """Return a graph, a plan or a whole compilation as JSON; `load` restores an equal one.

    With a type, a value of a subclass is written as one of this type, without the fields of the subclass.
    """
    return _adapter(type_ or type(value)).dump_json(value)


def load(type_: type[Stage], content: bytes | str) -> Stage:
    """Return the value of the given type that `dump` wrote.

    Raises:
        pydantic.ValidationError: the content is not of that type.
    """
    return _adapter(type_).validate_json(content)
