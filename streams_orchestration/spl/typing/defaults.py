"""Default values of types whose columns have others."""

from __future__ import annotations

from streams_orchestration.spl.types.types import (
    DECIMALS,
    INT32,
    NULL,
    Enumeration,
    Optional,
    Tuple,
    Type,
    parts_of_type,
)
from streams_orchestration.spl.typing.conversions import converted
from streams_orchestration.spl.typing.spans import Span
from streams_orchestration.spl.typing.typed import Cast, Constant, Expression, TupleOf


def own_default(type_: Type, span: Span) -> Expression | None:
    """Return the default of an enumeration, optional, decimal, or tuple with such a part; None for all other types.

    The default of all other types is the empty value of their columns.
    """
    match type_:
        case Optional():
            return converted(Constant(span, NULL, None), type_)
        case Enumeration(words=words):
            return Constant(span, type_, words[0])
        case _ if type_ in DECIMALS:
            return Cast(span, type_, Constant(span, INT32, 0))
        case Tuple() if any(_differs(part) for part in parts_of_type(type_)):
            return TupleOf(span, type_, ())
        case _:
            return None


def _differs(type_: Type) -> bool:
    return isinstance(type_, Enumeration | Optional) or type_ in DECIMALS
