"""The canonical text of a typed expression: every conversion is written, and every literal says its type.

Texts with the same meaning under Spark's typing rules have the same canonical text. Parsing it gives the same tree.

>>> from streams_orchestration.expressions.types import INT
>>> from streams_orchestration.expressions.typing import typed
>>> canonical(typed("(delay>15) and not  delay = 7L", {"delay": INT}))
'delay > 15 AND NOT CAST(delay AS bigint) = 7L'
"""

from __future__ import annotations

import datetime as dt
from typing import Any, assert_never, cast

from streams_orchestration.expressions.literals import number_constant
from streams_orchestration.expressions.syntax import Apply, Choice, Constant, Convert, Member, Name, Syntax
from streams_orchestration.expressions.times import UTC
from streams_orchestration.expressions.tree import (
    AttributeValue,
    Call,
    Case,
    Cast,
    Coalesce,
    Field,
    Junction,
    Literal,
    TypedNode,
    depends_on_zone,
)
from streams_orchestration.expressions.types import INT, STRING, VOID, Type
from streams_orchestration.expressions.writing import written


def canonical(node: TypedNode, zone: dt.tzinfo = UTC) -> str:
    """Return the canonical text of an expression. If its value depends on the time zone, a comment names the zone.

    For UTC there is no comment, nor for constants, which are written as points in time.

    >>> from streams_orchestration.expressions.types import TIMESTAMP
    >>> from streams_orchestration.expressions.typing import typed
    >>> from streams_orchestration.expressions.times import zone_named
    >>> berlin = zone_named("Europe/Berlin")
    >>> canonical(typed("hour(at)", {"at": TIMESTAMP}, berlin), berlin)
    'hour(at) /* Europe/Berlin */'
    >>> canonical(typed("at > TIMESTAMP '2024-01-01 00:00:00'", {"at": TIMESTAMP}, berlin), berlin)
    "at > TIMESTAMP '2023-12-31 23:00:00Z'"
    """
    text = written(_syntax(node))
    return text if zone is UTC or not depends_on_zone(node) else f"{text} /* {zone} */"


def _syntax(node: TypedNode) -> Syntax:
    """Return the syntax tree from which the canonical text of a typed node is written."""
    match node:
        case Literal():
            return _literal(node.value, node.type)
        case AttributeValue():
            return Name(node.name)
        case Call():
            return Apply(node.function.name, tuple(map(_syntax, node.arguments)))
        case Cast():
            return Convert(_syntax(node.argument), node.type, lenient=node.lenient)
        case Case():
            branches = tuple((_syntax(condition), _syntax(value)) for condition, value in node.branches)
            return Choice(branches, _syntax(node.otherwise))
        case Coalesce():
            return Apply("coalesce", tuple(map(_syntax, node.arguments)))
        case Junction():
            return Apply("and" if node.conjunction else "or", (_syntax(node.left), _syntax(node.right)))
        case Field():
            return Member(_syntax(node.argument), node.argument.type.fields[node.position])
        case _:
            assert_never(node)


def _literal(value: object, kind: Type) -> Syntax:
    """Return syntax for a value of exactly this type: a literal, or a conversion or call for types without literals."""
    given = cast("Any", value)
    if value is None:
        null = Constant(None, VOID)
        return null if kind == VOID or kind.is_interval else Convert(null, kind)
    match kind.name:
        case "decimal":
            constant = number_constant(f"{abs(given):f}BD", 0, negative=given.is_signed())
            return constant if constant.type == kind else Convert(constant, kind)
        case "struct":
            pairs = zip(kind.fields, kind.parts, given, strict=True)
            return Apply("named_struct", tuple(x for n, t, v in pairs for x in (Constant(n, STRING), _literal(v, t))))
        case "array" | "map" if not value:
            empty = tuple(Apply("array_repeat", (_literal(None, part), Constant(0, INT))) for part in kind.parts)
            return Apply("map_from_arrays", empty) if kind.name == "map" else empty[0]
        case "array":
            return Apply("array", tuple(_literal(each, kind.parts[0]) for each in given))
        case "map":
            pairs = (
                _literal(each, part) for pair in given.items() for each, part in zip(pair, kind.parts, strict=True)
            )
            return Apply("map", tuple(pairs))
        case _:
            return Constant(value, kind)
