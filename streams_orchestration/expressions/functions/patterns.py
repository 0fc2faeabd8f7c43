r"""Patterns of LIKE and regular expressions, compiled once.

Spark uses Java's regular expressions. Syntax that Python shares keeps its meaning; other syntax is translated or
refused: classes within classes, possessive quantifiers, `\\h`, `\\R` and so on.
"""

from __future__ import annotations

import functools
import re

from streams_orchestration.expressions.errors import EvaluationError

_ONLY_IN_JAVA = re.compile(r"\\[hHRXNkG]|&&|\[[^\]]*\[(?!:)|(?<!\\)(?<!\\p)\{(?!\d+(?:,\d*)?\})")
_SHORTHANDS = {r"\z": r"\Z", r"\Z": r"(?=\n?\Z)"}
_UNICODE_CLASSES = {
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Upper": "A-Z",
    "Lower": "a-z",
    "Space": r" \t\n\x0b\f\r",
    "Punct": r"!-/:-@\[-`{-~",
    "XDigit": "0-9a-fA-F",
    "Blank": r" \t",
    "ASCII": r"\x00-\x7f",
}
_FAULTS = {
    "missing )": "( is not closed",
    "unbalanced parenthesis": ") closes nothing",
    "unterminated character set": "[ is not closed",
    "bad character range": "the range is backwards",
    "nothing to repeat": "nothing is before the quantifier",
    "multiple repeat": "a quantifier follows another one",
    "min repeat greater than max repeat": "the least number of repetitions is greater than the most",
    "bad escape": "the escape has no meaning",
    "unknown extension": "the group has an unknown kind",
    "invalid group reference": "the group does not exist",
    "look-behind requires fixed-width pattern": "a look-behind has to have one length",
}
"""Beginning of Python's message about a faulty regular expression -> our message."""
PATTERN_ERRORS = (re.error, OverflowError, RecursionError)
"""Errors that `re.compile` raises for a faulty pattern."""
_DIGITS = re.compile(r"[0-9]{1,9}")
_CLASS = re.compile(r"\\\\|\\(p)\{(\w+)\}|\\z|\\Z")


@functools.lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    r"""Compile a regular expression of Java; classes such as `\\d` match only ASCII characters, as in Java.

    Raises:
        EvaluationError: the pattern is invalid, or uses syntax that only Java has.
    """
    if odd := _ONLY_IN_JAVA.search(pattern.replace("\\\\", "")):
        message = f"the regular expression {pattern!r} uses {odd[0]!r}, which is not supported"
        raise EvaluationError(message)
    try:
        return re.compile(_CLASS.sub(_translated, pattern), re.ASCII if not _needs_unicode(pattern) else 0)
    except PATTERN_ERRORS as error:
        message = f"{pattern!r:.200} is not a regular expression: {fault_of(error)}"
        raise EvaluationError(message) from error


def fault_of(error: Exception) -> str:
    """Return a message about one of `PATTERN_ERRORS`; for re.error with its position from 1, and 1 if it is unknown."""
    if not isinstance(error, re.error):
        return "a number of repetitions is too large" if isinstance(error, OverflowError) else "it is nested too deeply"
    fault = next((ours for theirs, ours in _FAULTS.items() if error.msg.startswith(theirs)), "it is malformed")
    return f"{fault}, at character {(error.pos or 0) + 1}"


def _needs_unicode(pattern: str) -> bool:
    return "(?u" in pattern or "(?U" in pattern


def _translated(match: re.Match[str]) -> str:
    if match[1] is None:
        return _SHORTHANDS.get(match[0], match[0])
    if match[2] not in _UNICODE_CLASSES:
        message = f"the class {match[0]} of a regular expression is not supported"
        raise EvaluationError(message)
    return f"[{_UNICODE_CLASSES[match[2]]}]"


@functools.lru_cache(maxsize=4096)
def replacement(text: str, groups: int) -> str:
    """Convert a replacement of Java (`$` and the number of a group, and a backslash as escape) to one of Python.

    A digit behind `$1` belongs to the number if there is such a group, else it is text.

    Raises:
        EvaluationError: the replacement is not valid in Java, or names a group that does not exist.
    """
    written, position = "", 0
    while position < len(text):
        mark = text[position]
        if mark == "\\" and position + 1 < len(text):
            written += re.escape(text[position + 1]) if text[position + 1] == "\\" else text[position + 1]
            position += 2
        elif mark == "$" and (digits := _DIGITS.match(text, position + 1)):
            number = digits[0]
            while len(number) > 1 and int(number) > groups:
                number = number[:-1]
            if int(number) > groups:
                message = f"{text!r} is not a replacement: the regular expression has no group {number}"
                raise EvaluationError(message)
            written += f"\\g<{int(number)}>"
            position += 1 + len(number)
        elif mark in "\\$":
            message = f"{text!r} is not a replacement: {mark} has no meaning at character {position + 1}"
            raise EvaluationError(message)
        else:
            written += mark
            position += 1
    return written


@functools.lru_cache(maxsize=4096)
def like_pattern(pattern: str, escape: str, *, ignore_case: bool = False) -> re.Pattern[str]:
    """Return the regular expression of a pattern of LIKE.

    Raises:
        EvaluationError: the escape character is last, or precedes a character that needs no escape.
    """
    parts, position = list[str](), 0
    while position < len(pattern):
        mark = pattern[position]
        if mark == escape:
            following = pattern[position + 1 : position + 2]
            if following not in ("_", "%", escape) or not following:
                message = f"{pattern!r} is not a pattern: {escape} must be followed by _, % or {escape}"
                raise EvaluationError(message)
            parts.append(re.escape(following))
            position += 1
        else:
            parts.append({"_": ".", "%": ".*"}.get(mark, re.escape(mark)))
        position += 1
    return re.compile("".join(parts), re.DOTALL | (re.IGNORECASE if ignore_case else 0))
