"""Parsing of types without named types, as compiled applications contain them.

>>> str(type_of_text("list<tuple<int32 n, enum{red, green} colour>>[3]"))
'list<tuple<int32 n, enum{red, green} colour>>[3]'
"""

from __future__ import annotations

from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.expressions import ExpressionReader
from streams_orchestration.spl.language.recovery import FaultError, NestingError
from streams_orchestration.spl.language.tokens import tokenize
from streams_orchestration.spl.types.joining import AttributeConflictError, joined
from streams_orchestration.spl.types.literals import LiteralError, number
from streams_orchestration.spl.types.types import (
    BoundedString,
    Collection,
    Enumeration,
    Optional,
    Primitive,
    Tuple,
    TupleAttribute,
    Type,
)


class WrittenTypeError(ValueError):
    """The text is not a type, or it names a type that the program defines."""


def type_of_text(text: str) -> Type:
    """Parse a type in which no named types occur.

    Raises:
        WrittenTypeError: the text is not a type, or contains a named type.
    """
    reader = ExpressionReader(tokenize(text))
    try:
        written = reader.type()
        if reader.kinds[reader.at] != "end":
            reader.refuse("the end of the type")
        return _type(written)
    except (FaultError, NestingError, AttributeConflictError, LiteralError) as error:
        message = f"{text!r} is not a type of SPL"
        raise WrittenTypeError(message) from error


def _type(written: tree.Type) -> Type:
    match written:
        case tree.PrimitiveType(name=name, bound=bound):
            return Primitive(name) if bound is None else BoundedString(_bound(bound))
        case tree.EnumType(words=words):
            return Enumeration(tuple(word.name for word in words))
        case tree.CollectionType(kind=kind, elements=elements, bound=bound):
            return Collection(kind, tuple(map(_type, elements)), None if bound is None else _bound(bound))
        case tree.OptionalType(content=content):
            return Optional(_type(content))
        case tree.TupleType(attributes=attributes, bases=bases):
            own = Tuple(tuple(TupleAttribute(each.name.name, _type(each.type)) for each in attributes))
            return joined((own, *(base for base in map(_type, bases) if isinstance(base, Tuple))))
        case tree.NamedType(name=name):
            message = f"{name} is the name of a type, but no type names are known here"
            raise WrittenTypeError(message)


def _bound(written: tree.Expression) -> int:
    if not isinstance(written, tree.Number):
        message = "the bound of a type must be a number"
        raise WrittenTypeError(message)
    return int(number(written.text).value)
