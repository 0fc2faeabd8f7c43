"""Names, and what a misspelt one probably was."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest_name(word: str, known: Iterable[str]) -> str | None:
    """The known name most like a word; None when nothing is known at all."""
    candidates = sorted(known)
    folded = {name.lower(): name for name in candidates}
    if word.lower() in folded:
        return folded[word.lower()]
    matches = difflib.get_close_matches(word, candidates, n=1, cutoff=0.0)
    return matches[0] if matches else None


def close_name(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like a misspelt word, or None if none is like it."""
    folded = {name.lower(): name for name in sorted(known)}
    matches = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def nearest(word: str, known: Iterable[str]) -> str:
    """The known name most like a word, as the end of a message; empty when nothing is known."""
    match = nearest_name(word, known)
    return f"; the nearest is {match}" if match is not None else ""
