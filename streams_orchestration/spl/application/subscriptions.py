"""Checks of the subscriptions and filters of Imports, and their conversion to texts with plain numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.printing import text_of
from streams_orchestration.spl.language.tokens import string_value, tokenize
from streams_orchestration.spl.types.literals import LiteralError, number
from streams_orchestration.spl.types.types import FLOAT64, INT64

Report = Callable[[str, str, tree.Node], None]
_Part = TypeVar("_Part")
_SQL = {"&&": "AND", "||": "OR", "!": "NOT ", "==": "="}
"""Operator of a filter -> the equivalent operator of SQL."""


def subscription_text(written: tree.Expression, name: str, report: Report) -> str:
    """Return the text of a subscription, or a filter as a condition of SQL, with numbers without suffixes.

    Report literals of a subscription that have another type.

    Args:
        written: the expression.
        name: the parameter, `subscription` or another; literals of a `subscription` are rstring, int64 or float64.
        report: takes the code, message and place of a mistake.
    """
    if name == "subscription":
        _check(written, report)
    text = text_of(_plain(written))
    return text if name == "subscription" else _as_sql(text)


def _as_sql(text: str) -> str:
    """Convert a filter of an Import to a condition of SQL.

    >>> _as_sql('!(n == 2) && s != "x"')
    "NOT (n = 2) AND s != 'x'"
    """
    tokens = tokenize(text)
    for kind, token, offset in reversed([*zip(tokens.kinds, tokens.texts, tokens.offsets, strict=True)]):
        new = _SQL.get(token, token)
        if kind == "string":
            new = "'{}'".format(string_value(token).replace("'", "''"))
        text = f"{text[:offset]}{new}{text[offset + len(token) :]}"
    return text


def _check(written: object, report: Report) -> None:
    match written:
        case tree.Index(operand=operand):  # an index is an integer of any type
            _check(operand, report)
        case tree.Number(text=text):
            try:
                type_ = number(text).type
            except LiteralError:  # the integer is too large, since a minus before it is not read yet
                return
            if type_ not in (INT64, FLOAT64):
                message = f"{text} is {type_}; a literal of a subscription is rstring, int64 or float64, such as 5l"
                report("CDISP0173E", message, written)
        case tree.Text(kind=kind) if kind != "rstring":
            report("CDISP0173E", f"this literal is {kind}; one of a subscription is rstring, int64 or float64", written)
        case tuple():
            for each in cast("tuple[object, ...]", written):
                _check(each, report)
        case tree.Node():
            for each in fields(written):
                _check(getattr(written, each.name), report)
        case _:
            pass


def _plain(part: _Part) -> _Part:
    """Return a syntax tree with the suffixes of its numbers removed, except from a number too large for its type."""
    if isinstance(part, tree.Number):
        try:
            return cast("_Part", replace(part, text=str(number(part.text).value)))
        except LiteralError:
            return part
    if isinstance(part, tuple):
        return cast("_Part", tuple(_plain(each) for each in cast("tuple[object, ...]", part)))
    if is_dataclass(part) and isinstance(part, tree.Node):
        return cast("_Part", replace(part, **{each.name: _plain(getattr(part, each.name)) for each in fields(part)}))
    return part
