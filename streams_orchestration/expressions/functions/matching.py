"""LIKE and functions of regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.functions.patterns import compiled, like_pattern, replacement
from streams_orchestration.expressions.table import Binding, FunctionGroup, Operand, Resolved, TupleFunction
from streams_orchestration.expressions.types import BOOLEAN, STRING

PATTERNS = FunctionGroup("Regular expressions")


def _matcher(*, ignore_case: bool = False) -> Callable[[Binding], TupleFunction]:
    def bind(binding: Binding) -> TupleFunction:
        def like(value: str, pattern: str, escape: str = "\\") -> bool:
            return like_pattern(pattern, escape, ignore_case=ignore_case).fullmatch(value) is not None

        constant = binding.constants[1]
        if constant is not None and constant[0] is not None and len(binding.arguments) == 2:
            match = like_pattern(constant[0], "\\", ignore_case=ignore_case).fullmatch
            return lambda value, _pattern: match(value) is not None
        return like

    return bind


def _like_types(operands: Sequence[Operand]) -> Resolved | None:
    if not 2 <= len(operands) <= 3 or any(each.type.is_nested for each in operands):
        return None
    return Resolved((STRING,) * len(operands), BOOLEAN)


PATTERNS.bound(
    summary=(
        "Return true if the whole text matches: `_` is any character, `%` any text. A backslash, or the character "
        "after ESCAPE, makes the next character literal."
    ),
    examples=[("'Spark' LIKE 'S%k'", "true")],
    resolver=_like_types,
    name="like",
    fails=True,
)(_matcher())
PATTERNS.bound(
    summary="Return the same as LIKE, ignoring case.",
    examples=[("'Spark' ILIKE 's%K'", "true")],
    resolver=_like_types,
    name="ilike",
    fails=True,
)(_matcher(ignore_case=True))


def _rlike(value: str, pattern: str) -> bool:
    return compiled(pattern).search(value) is not None


for _name, _example in (
    ("rlike", "'Spark' RLIKE 'a.k$'"),
    ("regexp_like", "regexp_like('Spark', 'a.k$')"),
    ("regexp", "regexp('Spark', 'a.k$')"),
):
    PATTERNS.function(
        f"{_name}(value string, pattern string) -> boolean",
        summary="Return true if a part of the text matches a regular expression.",
        examples=[(_example, "true")],
        fails=True,
    )(_rlike)


def _group(match: re.Match[str], group: int) -> str:
    if not 0 <= group <= (match.re.groups or 0):
        message = f"the regular expression {match.re.pattern!r} has no group {group}"
        raise EvaluationError(message)
    return match[group] or ""


@PATTERNS.function(
    "regexp_extract(value string, pattern string, [group int]) -> string",
    summary=(
        "Return a group (the first by default) of the first match of a regular expression; empty if nothing matches."
    ),
    examples=[("regexp_extract('100-200', '(\\\\d+)-(\\\\d+)', 2)", "200")],
    fails=True,
)
def _regexp_extract(value: str, pattern: str, group: int = 1) -> str:
    match = compiled(pattern).search(value)
    return "" if match is None else _group(match, group)


@PATTERNS.function(
    "regexp_extract_all(value string, pattern string, [group int]) -> array<string>",
    summary="Return a group (the first by default) of every match of a regular expression.",
    examples=[("regexp_extract_all('a1b22', '(\\\\d+)')", "[1, 22]")],
    fails=True,
)
def _regexp_extract_all(value: str, pattern: str, group: int = 1) -> tuple[str, ...]:
    return tuple(_group(match, group) for match in compiled(pattern).finditer(value))


@PATTERNS.function(
    "regexp_replace(value string, pattern string, replacement string, [position int]) -> string",
    summary="Replace every match at or after a position by a text, in which `$1` is the first group.",
    examples=[("regexp_replace('100-200', '(\\\\d+)', '<$1>')", "<100>-<200>")],
    fails=True,
)
def _regexp_replace(value: str, pattern: str, by: str, position: int = 1) -> str:
    if position < 1:
        message = f"positions count from 1, and {position} is not a position"
        raise EvaluationError(message)
    start = position - 1
    if start and start >= len(value):
        return value
    expression, behind = compiled(pattern), value[start:]
    if expression.search(behind) is None:
        return value
    return value[:start] + expression.sub(replacement(by, expression.groups), behind)


PATTERNS.function(
    "regexp_count(value string, pattern string) -> int",
    summary="Count the matches of a regular expression.",
    examples=[("regexp_count('a1b22', '\\\\d+')", "2")],
    fails=True,
)(lambda value, pattern: sum(1 for _ in compiled(pattern).finditer(value)))


@PATTERNS.function(
    "regexp_substr(value string, pattern string) -> string",
    summary="Return the first match of a regular expression, or null.",
    examples=[("regexp_substr('a1b22', '\\\\d+')", "1")],
    fails=True,
)
def _regexp_substr(value: str, pattern: str) -> str | None:
    match = compiled(pattern).search(value)
    return None if match is None else match[0]


@PATTERNS.function(
    "regexp_instr(value string, pattern string) -> int",
    summary="Return the position of the first match of a regular expression, or 0.",
    examples=[("regexp_instr('a1b22', '\\\\d+')", "2")],
    fails=True,
)
def _regexp_instr(value: str, pattern: str) -> int:
    match = compiled(pattern).search(value)
    return 0 if match is None else match.start() + 1


@PATTERNS.function(
    "split(value string, pattern string, [limit int]) -> array<string>",
    summary="Split at the matches of a regular expression, into at most `limit` parts.",
    examples=[("split('a1b2c', '[0-9]')", "[a, b, c]")],
    fails=True,
)
def split(value: str, pattern: str, limit: int = -1) -> tuple[str, ...]:
    """Split at the matches of a regular expression, into at most `limit` parts if it is positive.

    The last part is the rest. An empty match at the beginning splits nothing. An empty pattern splits into characters;
    those beyond the limit are dropped. A faulty pattern raises EvaluationError.
    """
    if not pattern:
        marks = tuple(value)
        return marks if limit <= 0 or limit >= len(marks) else marks[:limit]
    parts, start = list[str](), 0
    for match in compiled(pattern).finditer(value):
        if len(parts) == limit - 1 or (match.end() == 0 and match.start() == 0):
            if len(parts) == limit - 1:
                break
            continue
        parts.append(value[start : match.start()])
        start = match.end()
    return (*parts, value[start:])
