"""Names and calls in an expression, found from its text without types.

>>> sorted(names_of("CASE WHEN delay > 15 THEN place.city ELSE upper(`a b`) END"))
['a b', 'delay', 'place']
>>> outer_call("Average(delay > 15)")
OuterCall(name='Average', arguments=(Part(text='delay > 15', offset=8),))
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from streams_orchestration.expressions.parsing import parse
from streams_orchestration.expressions.syntax import Apply, Name, Syntax, parts_of
from streams_orchestration.expressions.tokens import Token, tokenize


class Part(NamedTuple):
    """A part of a text without surrounding spaces, with its offset in the text."""

    text: str
    offset: int


class OuterCall(NamedTuple):
    """A function call that makes up a whole expression."""

    name: str
    arguments: tuple[Part, ...]


@functools.lru_cache(maxsize=8192)
def names_of(text: str) -> frozenset[str]:
    """Return the attribute names in an expression, spelled as in its text.

    Raises:
        ExpressionError: the text is not an expression.
    """
    return frozenset(_names(parse(text)))


def _names(tree: Syntax) -> set[str]:
    names, pending = set[str](), [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Name):
            names.add(node.name)
        pending.extend(parts_of(node))
    return names


def attribute_of(text: str) -> str | None:
    """Return the name if an expression is just an attribute, possibly in brackets; None otherwise.

    Raises:
        ExpressionError: the text is not an expression.
    """
    tree = parse(text)
    return tree.name if isinstance(tree, Name) else None


def is_call(text: str, function: str) -> bool:
    """Return True if an expression is a call of this function without arguments, ignoring case.

    Raises:
        ExpressionError: the text is not an expression.
    """
    tree = parse(text)
    return isinstance(tree, Apply) and tree.function == function.lower() and not tree.arguments


def outer_call(text: str) -> OuterCall | None:
    """Split a call into its name and arguments; return None if the text is not a call.

    Raises:
        ExpressionError: a character begins no token, or a quote is never closed.
    """
    *tokens, end = tokenize(text)
    if len(tokens) < 3 or tokens[0].kind != "word" or not _is(tokens[1], "(") or not _is(tokens[-1], ")"):
        return None
    depth = 0
    start = tokens[1].offset + 1
    parts = list[Part]()
    for token in tokens[1:]:
        depth += _is(token, "([") - _is(token, ")]")
        if (depth == 1 and _is(token, ",")) or depth == 0:
            parts.append(_part(text, start, token.offset))
            start = token.offset + 1
            if depth == 0 and token is not tokens[-1]:
                return None
    del end
    arguments = tuple(parts) if len(parts) > 1 or (parts and parts[0].text) else ()
    return OuterCall(tokens[0].text, arguments) if depth == 0 else None


def _is(token: Token, marks: str) -> bool:
    return token.kind == "mark" and token.text in marks


def _part(text: str, start: int, end: int) -> Part:
    written = text[start:end]
    return Part(written.strip(), start + len(written) - len(written.lstrip()))
