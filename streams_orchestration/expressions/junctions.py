"""Chains of AND or OR, and BETWEEN, which is an AND of two conditions."""

from __future__ import annotations

from collections.abc import Sequence

from streams_orchestration.expressions.syntax import Apply, Syntax


def joined(word: str, parts: Sequence[Syntax], offsets: Sequence[int] = ()) -> Syntax:
    """Join parts by AND or OR; a long chain becomes a balanced tree, so that it is not deep.

    Args:
        word: `and` or `or`.
        parts: the parts, at least one.
        offsets: the offset in the text of each word between two parts; 0 if the word is not in a text.
    """
    row, places = list(parts), list(offsets) or [0] * (len(parts) - 1)
    while len(row) > 1:
        pairs = [Apply(word, (row[i], row[i + 1]), places[i]) for i in range(0, len(row) - 1, 2)]
        row, places = [*pairs, *row[2 * len(pairs) :]], places[1::2]
    return row[0]


def junction_parts(tree: Syntax, word: str) -> list[Syntax]:
    """Return the parts of a chain of AND or OR, in order; a BETWEEN is one part, and so is any other tree."""
    if isinstance(tree, Apply) and tree.function == word and len(tree.arguments) == 2 and not is_between(tree):
        return [part for each in tree.arguments for part in junction_parts(each, word)]
    return [tree]


def is_between(tree: Apply) -> bool:
    """Return True for `value >= low AND value <= high`, the form of BETWEEN."""
    match tree:
        case Apply("and", (Apply(">=", (value, _)), Apply("<=", (same, _)))):
            return value == same
        case _:
            return False


def between(value: Syntax, low: Syntax, high: Syntax, offset: int = 0) -> Apply:
    """Return `value BETWEEN low AND high`."""
    return Apply("and", (Apply(">=", (value, low), offset), Apply("<=", (value, high), offset)), offset)
