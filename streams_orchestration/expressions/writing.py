"""The writer of expressions, from a syntax tree to a text that parses to the same tree.

>>> from streams_orchestration.expressions.parsing import parse
>>> written(parse("(a) + ((2 * b)) is NULL and `c`"))
'a + 2 * b IS NULL AND c'
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from streams_orchestration.expressions.junctions import is_between, joined, junction_parts
from streams_orchestration.expressions.reading import LEVELS, RESERVED
from streams_orchestration.expressions.syntax import (
    Apply,
    Choice,
    Constant,
    Convert,
    Member,
    Name,
    Syntax,
)
from streams_orchestration.expressions.times import DAY as MICROS_OF_A_DAY
from streams_orchestration.expressions.times import HOUR, MINUTE, SECOND, UTC, write_date, write_timestamp
from streams_orchestration.expressions.tokens import name_token
from streams_orchestration.expressions.types import Type

_OR, _AND, _NOT, _PREDICATE, _COMPARISON = range(5)
_SIGNED = _COMPARISON + max(LEVELS.values()) + 1
_POSTFIX = _SIGNED + 1
"""The highest precedence level, of `.field` and `[index]`; levels go from the weakest to the strongest.

The `LEVELS` of binary operators begin at the level of comparisons."""
_PREFIX = {"negative": "-", "positive": "+", "~": "~"}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS = """
    regexp null true false div distinct escape any some all unknown both leading trailing from for placing select with
    to over filter interval date timestamp timestamp_ntz timestamp_ltz current_date current_timestamp localtimestamp
"""
_QUOTED = RESERVED.union(_WORDS.split())
"""Words that are syntax in some contexts, so attributes with these names are written in backticks."""
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0", "\b": "\\b", "\x1a": "\\Z"}
_LETTERS = {"tinyint": "Y", "smallint": "S", "bigint": "L"}


@dataclass(frozen=True, slots=True)
class Given:
    """A placeholder for the value of a `Constant` that is known only at submission.

    Attributes:
        text: the reference that the value replaces.
    """

    text: str


def written(tree: Syntax) -> str:
    """Return the text of an expression, with brackets only if they are necessary."""
    return _text(tree, _OR)


def _text(tree: Syntax, least: int) -> str:
    """Return the text of a part, in brackets if its precedence level is too low for its place."""
    text, level = _part(tree)
    return text if level >= least else f"({text})"


def _part(tree: Syntax) -> tuple[str, int]:
    match tree:
        case Constant():
            text = constant_text(tree.value, tree.type)
            text = text.replace("Z'", "'") if tree.local else text
            return text, _SIGNED if tree.type.is_numeric or isinstance(tree.value, Given) else _POSTFIX
        case Name():
            return name_text(tree.name), _POSTFIX
        case Member():
            return f"{_text(tree.argument, _POSTFIX)}.{name_text(tree.field)}", _POSTFIX
        case Convert():
            word = "TRY_CAST" if tree.lenient else "CAST"
            return f"{word}({_text(tree.argument, _OR)} AS {tree.type})", _POSTFIX
        case Choice():
            branches = "".join(f" WHEN {written(when)} THEN {written(then)}" for when, then in tree.branches)
            otherwise = "" if tree.otherwise is None else f" ELSE {written(tree.otherwise)}"
            return f"CASE{branches}{otherwise} END", _POSTFIX
        case Apply():
            return _applied(tree)


def _applied(tree: Apply) -> tuple[str, int]:
    name, arguments = tree.function, tree.arguments
    match name, len(arguments):
        case "and" | "or", 2:
            return _junction(tree)
        case "not", 1:
            return _negation(arguments[0])
        case "isnull", 1:
            return f"{_text(arguments[0], _COMPARISON + 1)} IS NULL", _PREDICATE
        case "in", count if count > 1:
            return _within(tree, "IN"), _PREDICATE
        case (("like" | "ilike" | "rlike"), 2 | 3) if name != "rlike" or len(arguments) == 2:
            return _pattern(tree, ""), _PREDICATE
        case "[]", 2:
            return f"{_text(arguments[0], _POSTFIX)}[{written(arguments[1])}]", _POSTFIX
        case _, 1 if name in _PREFIX:
            return _PREFIX[name] + _text(arguments[0], _POSTFIX), _SIGNED
        case _, 2 if name in LEVELS:
            level = _COMPARISON + LEVELS[name]
            left = level + (level == _COMPARISON)
            return f"{_text(arguments[0], left)} {name.upper()} {_text(arguments[1], level + 1)}", level
        case _:
            return _call(name, arguments), _POSTFIX


def _junction(tree: Apply) -> tuple[str, int]:
    if is_between(tree):
        return _between(tree, ""), _PREDICATE
    level = _AND if tree.function == "and" else _OR
    parts = junction_parts(tree, tree.function)
    if joined(tree.function, parts) != tree:
        parts = list(tree.arguments)
    return f" {tree.function.upper()} ".join(_text(part, level + 1) for part in parts), level


def _negation(argument: Syntax) -> tuple[str, int]:
    """Return the text and the level of a negation: `a NOT LIKE b` for predicates with this form, else `NOT a`."""
    match argument:
        case Apply("isnull", (value,)):
            return f"{_text(value, _COMPARISON + 1)} IS NOT NULL", _PREDICATE
        case Apply("in", (_, _, *_)):
            return _within(argument, "NOT IN"), _PREDICATE
        case Apply(("like" | "ilike" | "rlike"), (_, _)):
            return _pattern(argument, "NOT "), _PREDICATE
        case Apply() if is_between(argument):
            return _between(argument, "NOT "), _PREDICATE
        case _:
            return f"NOT {_text(argument, _NOT)}", _NOT


def _between(tree: Apply, before: str) -> str:
    low, high = tree.arguments
    assert isinstance(low, Apply)
    assert isinstance(high, Apply)
    value, *limits = (_text(each, _COMPARISON + 1) for each in (*low.arguments, high.arguments[1]))
    return f"{value} {before}BETWEEN {limits[0]} AND {limits[1]}"


def _within(tree: Apply, words: str) -> str:
    value, *others = tree.arguments
    return f"{_text(value, _COMPARISON + 1)} {words} ({', '.join(map(written, others))})"


def _pattern(tree: Apply, before: str) -> str:
    value, pattern, *escape = (_text(each, _COMPARISON + 1) for each in tree.arguments)
    return f"{value} {before}{tree.function.upper()} {pattern}" + "".join(f" ESCAPE {each}" for each in escape)


def _call(name: str, arguments: tuple[Syntax, ...]) -> str:
    """Return `name(arguments)`, with brackets where an argument would be read as a form like `position(a IN b)`."""
    texts = [written(each) for each in arguments]
    if arguments and (isinstance(arguments[0], Name) or _part(arguments[0])[1] < _COMPARISON):
        first = arguments[0]
        if name in ("position", "locate"):
            texts[0] = _text(first, _COMPARISON)
        elif isinstance(first, Name) and name.startswith(("timestampadd", "timestampdiff", "date")):
            texts[0] = name_token(first.name)
    return f"{name}({', '.join(texts)})"


def name_text(name: str) -> str:
    """Return the name of an attribute or field, in backticks if needed."""
    return name if _PLAIN.fullmatch(name) and name.lower() not in _QUOTED else name_token(name)


def text_literal(value: str) -> str:
    """Return a text in quotes, escaped so that `${...}` in it is not substituted."""
    escaped = "".join(_ESCAPES.get(mark, mark) for mark in value)
    return "'" + escaped.replace("${", "\\u0024{") + "'"


def constant_text(value: object, kind: Type) -> str:
    """Return a constant value as a literal of its type; NaN and infinities are casts of texts.

    Null is `NULL` whatever its type, and a `Given` its own text.

    Args:
        value: the value as in evaluation, not nested: dates are days, points in time microseconds.
        kind: the type of the value.
    """
    match value:
        case Given():
            return value.text
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case str():
            return text_literal(value)
        case bytes():
            return f"X'{value.hex().upper()}'"
        case int() if kind.is_integral:
            return f"{value}{_LETTERS.get(kind.name, '')}"
        case int():
            return _moment(value, kind)
        case float():
            return _floating(value, kind)
        case _:
            text = f"{value:f}"
            return text if "." in text else f"{text}BD"


def _floating(value: float, kind: Type) -> str:
    text = repr(value)
    if text.lstrip("-") in ("nan", "inf"):
        words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
        return f"CAST('{words[text]}' AS {kind})"
    return f"{text}F" if kind.name == "float" else text if "e" in text else f"{text}D"


def _moment(value: int, kind: Type) -> str:
    match kind.name:
        case "date":
            return f"DATE '{write_date(value)}'"
        case "timestamp":
            return f"TIMESTAMP '{write_timestamp(value, UTC)}Z'"
        case "timestamp_ntz":
            return f"TIMESTAMP_NTZ '{write_timestamp(value, None)}'"
        case "interval year to month":
            return f"INTERVAL '{_signed(value, 12, '-')}' YEAR TO MONTH"
        case "interval day":
            return f"INTERVAL '{value // MICROS_OF_A_DAY}' DAY"
        case _:
            days, rest = divmod(abs(value), MICROS_OF_A_DAY)
            clock = f"{rest // HOUR:02}:{rest % HOUR // MINUTE:02}:{rest % MINUTE // SECOND:02}"
            fraction = f".{rest % SECOND:06}" if rest % SECOND else ""
            return f"INTERVAL '{'-' if value < 0 else ''}{days} {clock}{fraction}' DAY TO SECOND"


def _signed(value: int, per: int, mark: str) -> str:
    large, small = divmod(abs(value), per)
    return f"{'-' if value < 0 else ''}{large}{mark}{small}"
