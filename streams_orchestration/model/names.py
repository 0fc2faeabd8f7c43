"""Names of applications and files, and suggestions for misspelt names."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Iterable

APPLICATION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
"""Matches names of applications. They become parts of file names and values of Dagster's tags, so at most 63 characters
are allowed."""
IDENTIFIER_RULE = "letters, digits and _, not starting with a digit"
APPLICATION_RULE = f"{IDENTIFIER_RULE}, 63 characters at most"
LONGEST_NAME = 200
"""The most characters in the full name of an operator or stream, since names of files contain it and more."""


def application_name_of(text: str) -> str:
    """Return an application name of at most 63 characters, made from a text such as the name of a main composite.

    It begins with `_` if it would begin with a digit, and is `_` if nothing else is left.

    >>> application_name_of("com.acme::Main")
    'com_acme_Main'
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[:63]
    return name if APPLICATION_NAME.fullmatch(name) else f"_{name}"[:63]


def leaves_directory(path: str) -> bool:
    """Return True if a relative path names a place outside of the directory from which it starts.

    >>> leaves_directory("a/../../b"), leaves_directory("a/../b"), leaves_directory("/b")
    (True, False, False)
    """
    return posixpath.normpath(path).split("/")[0] == ".."


def nearest_name(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to a word; None only if no name is known."""
    candidates = sorted(known)
    folded = {name.lower(): name for name in candidates}
    if word.lower() in folded:
        return folded[word.lower()]
    matches = difflib.get_close_matches(word, candidates, n=1, cutoff=0.0)
    return matches[0] if matches else None


def close_name(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to a word in any case, or None if none is similar enough."""
    folded = {name.lower(): name for name in sorted(known)}
    matches = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the most similar known name as the end of a message; empty if no name is known."""
    match = nearest_name(word, known)
    return f"; the nearest is {match}" if match is not None else ""
