"""Checks of the subscriptions and filters of Imports, and their conversion to texts with plain numbers."""

from __future__ import annotations

from dataclasses import replace

from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.printing import text_of
from streams_orchestration.spl.language.tokens import string_value, tokenize
from streams_orchestration.spl.language.walking import TreeNode, nodes_in, rewritten
from streams_orchestration.spl.types.literals import LiteralError, number
from streams_orchestration.spl.types.types import FLOAT64, INT64
from streams_orchestration.spl.typing.spans import Report

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
    text = text_of(rewritten(written, _plain))
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


def _check(written: tree.Expression, report: Report) -> None:
    """Report literals of other types than a subscription has; an index is an integer of any type."""
    indexes = [each.index for each in nodes_in(written, tree.Index)]
    allowed = {id(each) for index in indexes for each in nodes_in(index, tree.Number, tree.Text)}
    for each in nodes_in(written, tree.Number, tree.Text):
        if id(each) in allowed:
            continue
        if isinstance(each, tree.Text):
            if each.kind != "rstring":
                message = f"this literal is {each.kind}; one of a subscription is rstring, int64 or float64"
                report("CDISP0173E", message, each)
            continue
        try:
            type_ = number(each.text).type
        except LiteralError:  # the integer is too large, since a minus before it is not read yet
            continue
        if type_ not in (INT64, FLOAT64):
            message = f"{each.text} is {type_}; a literal of a subscription is rstring, int64 or float64, such as 5l"
            report("CDISP0173E", message, each)


def _plain(node: TreeNode) -> TreeNode | None:
    """Return a number without its suffix; None for a number too large for its type, and for any other node."""
    if not isinstance(node, tree.Number):
        return None
    try:
        return replace(node, text=str(number(node.text).value))
    except LiteralError:
        return None
