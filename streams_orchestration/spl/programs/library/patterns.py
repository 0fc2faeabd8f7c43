r"""Regular expressions of POSIX and Perl as those of Python.

Alternatives are tried from left to right, as Perl does. POSIX takes the longest match; both agree unless an alternative
is a prefix of a later one.

>>> posix("[[:digit:]]+[\\\\]").pattern
'[0-9]+[\\\\\\\\]'
"""

from __future__ import annotations

# pyright: standard
import functools
import re
from collections.abc import Callable

from streams_orchestration.spl.programs.errors import RunError

_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r" \t\n\r\f\v",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9A-Fa-f",
    "cntrl": r"\x00-\x1f\x7f",
    "print": r"\x20-\x7e",
    "graph": r"\x21-\x7e",
}
_CLASS = re.compile(r"\[:(\w+):\]")


@functools.lru_cache(maxsize=512)
def posix(pattern: str) -> re.Pattern[str]:
    """Compile an extended POSIX pattern to a pattern of Python's `re`."""
    return _compiled(_rewritten(pattern, backslash=r"\\"), pattern)


@functools.lru_cache(maxsize=512)
def perl(pattern: str) -> re.Pattern[str]:
    """Compile a Perl pattern to a pattern of Python's `re`."""
    return _compiled(_rewritten(pattern, backslash="\\"), pattern)


@functools.lru_cache(maxsize=512)
def replacement(new: str) -> Callable[[re.Match[str]], str]:
    r"""Return the function that makes the replacement of a match; only `\\1` to `\\9` and `\\0` are special."""
    parts = re.split(r"\\(\d)", new)
    texts, groups = parts[::2], [int(each) for each in parts[1::2]]

    def replace(match: re.Match[str]) -> str:
        inserted = [match[group] or "" if group <= (match.re.groups or 0) else "" for group in groups]
        return "".join(part for pair in zip(texts, [*inserted, ""], strict=True) for part in pair)

    return replace


def _compiled(pattern: str, written: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        message = f"{written!r:.60} is no regular expression: {error}"
        raise RunError(message) from None


def _rewritten(pattern: str, backslash: str) -> str:
    """Rewrite classes of characters in brackets, and a backslash there, which POSIX takes as it is."""
    out, at = list[str](), 0
    while at < len(pattern):
        if pattern[at] == "\\":
            out.append(pattern[at : at + 2])
            at += 2
        elif pattern[at] == "[":
            inside, at = _bracket(pattern, at, backslash)
            out.append(inside)
        else:
            out.append(pattern[at])
            at += 1
    return "".join(out)


def _bracket(pattern: str, at: int, backslash: str) -> tuple[str, int]:
    out, at = ["["], at + 1
    if pattern[at : at + 1] == "^":
        out.append("^")
        at += 1
    if pattern[at : at + 1] == "]":
        out.append(r"\]")
        at += 1
    while at < len(pattern) and pattern[at] != "]":
        named = _CLASS.match(pattern, at)
        if named and named[1] in _CLASSES:
            out.append(_CLASSES[named[1]])
            at = named.end()
        elif pattern[at] == "\\" and backslash == "\\":
            out.append(pattern[at : at + 2])
            at += 2
        else:
            out.append({"\\": backslash, "[": r"\["}.get(pattern[at], pattern[at]))
            at += 1
    return "".join(out) + "]", at + 1
