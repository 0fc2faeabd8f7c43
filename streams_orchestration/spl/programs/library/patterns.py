r"""Conversion of POSIX and Perl regular expressions to Python's.

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
    """Compile an extended POSIX pattern to a pattern of Python's `re`; a point matches line breaks, too.

    Raises RunError if it is not a regular expression.
    """
    return _compiled(_rewritten(pattern, is_posix=True), pattern, re.DOTALL)


@functools.lru_cache(maxsize=512)
def perl(pattern: str) -> re.Pattern[str]:
    """Compile a Perl pattern to a pattern of Python's `re`. Raises RunError if it is not a regular expression."""
    return _compiled(_rewritten(pattern, is_posix=False), pattern)


Replacement = Callable[[re.Match[str]], str]
_BY_BACKSLASH = re.compile(r"\\([1-9])")
_OF_PERL = re.compile(r"\\(\d)|\$(\d+)|\$\{(\d+)\}|\$&|\$\$|\\.", re.DOTALL)
_OF_ICU = re.compile(r"\$(\d+)|\\.", re.DOTALL)


@functools.lru_cache(maxsize=512)
def replacement(new: str) -> Replacement:
    r"""Return the replacement function for a POSIX pattern, in whose text `\\1` to `\\9` are groups."""
    return _replacement(new, _BY_BACKSLASH)


@functools.lru_cache(maxsize=512)
def perl_replacement(new: str) -> Replacement:
    r"""Return the replacement function for a Perl pattern.

    In the text, `$1`, `${1}`, `\\1` and `$&` are groups, and `$$` is a dollar sign.
    """
    return _replacement(new, _OF_PERL)


@functools.lru_cache(maxsize=512)
def icu_replacement(new: str) -> Replacement:
    r"""Return the replacement function for a pattern of ustrings; `$1` is a group, and `\\$` a dollar sign."""
    return _replacement(new, _OF_ICU)


def _replacement(new: str, special: re.Pattern[str]) -> Replacement:
    """Return the function that builds the replacement text of a match.

    Args:
        new: the text of the replacement.
        special: the parts with a meaning: the number of a group, `$&`, or a character after a sign.
    """
    parts, at = list[str | int](), 0
    for found in special.finditer(new):
        number = next((group for group in found.groups() if group is not None), "0" if found[0] == "$&" else "")
        parts += [new[at : found.start()], int(number) if number else found[0][1:]]
        at = found.end()
    parts.append(new[at:])

    def replace(match: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else _group(match, part) for part in parts)

    return replace


def _group(match: re.Match[str], number: int) -> str:
    """Return the text that a group of a match captured; empty if the group does not exist or did not match."""
    return (match[number] or "") if number <= match.re.groups else ""


def _compiled(pattern: str, written: str, flags: int = 0) -> re.Pattern[str]:
    try:
        return re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        message = f"{written!r:.60} is not a regular expression: {error}"
        raise RunError(message) from None


_GNU_ESCAPES = {"<": r"\b(?=\w)", ">": r"\b(?<=\w)", "`": r"\A", "'": r"\Z"} | {
    each: f"\\{each}" for each in "wWsSbB123456789"
}
"""Escapes that the GNU C library adds to extended POSIX patterns; any other escaped character means itself."""
_REPETITIONS = re.compile(r"[*+?]+")


def _rewritten(pattern: str, *, is_posix: bool) -> str:
    """Convert a Perl pattern, or with `is_posix` a POSIX one, to Python's syntax, including POSIX character classes."""
    out, at = list[str](), 0
    while at < len(pattern):
        repeated = _REPETITIONS.match(pattern, at) if is_posix else None
        if pattern[at] == "\\":
            escaped = pattern[at + 1 : at + 2]
            out.append(_GNU_ESCAPES.get(escaped) or re.escape(escaped) if is_posix else pattern[at : at + 2])
            at += 2
        elif pattern[at] == "[":
            inside, at = _bracket(pattern, at, r"\\" if is_posix else "\\")
            out.append(inside)
        elif repeated:
            out.append(_repetition(repeated[0]))
            at = repeated.end()
        else:
            out.append(r"\Z" if is_posix and pattern[at] == "$" else pattern[at])
            at += 1
    return "".join(out)


def _repetition(signs: str) -> str:
    """Return one repetition sign with the meaning of several in a row, since Python would read them as lazy."""
    return signs[0] if len(set(signs)) == 1 else "*"


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
