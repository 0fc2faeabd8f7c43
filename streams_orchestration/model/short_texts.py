"""Texts that are cut, and lists that name only their first items, for messages and tables."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice


def shortened(text: str, most: int = 80) -> str:
    """Return a text of at most `most` characters; one that is cut ends with `...`.

    >>> shortened("temperature", 8)
    'tempe...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def first_names(names: Collection[str], most: int) -> str:
    """Return at most `most` names, and the number of the others.

    >>> first_names(["A", "B", "C", "D"], 2)
    'A, B and 2 more'
    """
    more = len(names) - most
    return ", ".join(islice(names, most)) + (f" and {more} more" if more > 0 else "")
