"""Paths into JSON texts, such as `$.a.b[0]`, as `get_json_object` of Spark (and of Hive) follows them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

from streams_orchestration.expressions.functions.json_values import JsonNumber, json_text

_STEP = re.compile(r"\.(\*|[^.\[]+)|\[(?:(\d{1,18})|(\*)|'([^']*)')\]")


class Every(Enum):
    """A step to every part of a value: to all elements of an array, or to all fields of an object.

    `found` matches nothing by a step to all fields.
    """

    ELEMENT = "[*]"
    FIELD = ".*"


PathStep = str | int | Every
"""A step of a path: a name, an index, or `Every`."""


class _Style(Enum):
    RAW = "a text without quotes"
    QUOTED = "an array that is kept"
    FLAT = "arrays whose elements become elements of the array around them"


class _Matches(NamedTuple):
    found: bool
    """True if a step matched anything."""
    written: list[str]
    """The matches as JSON texts; one of them may be an empty array although nothing matched."""


_NONE = _Matches(found=False, written=[])


def steps_of(path: str) -> list[PathStep] | None:
    """Parse a path into steps; return None if the text is not a path."""
    if not path.startswith("$"):
        return None
    steps: list[PathStep] = []
    position = 1
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            return None
        name, index, every, quoted = match.groups()
        named = Every.FIELD if name == "*" else name
        steps.append(
            int(index) if index is not None else Every.ELEMENT if every else named if quoted is None else quoted
        )
        position = match.end()
    return steps


def found(value: Any, steps: Sequence[PathStep]) -> str | None:
    """Follow steps in a parsed value. Return the match as JSON, a text without quotes, or None without a match.

    Several matches become one array; a null that a name leads to does not match.

    >>> from streams_orchestration.expressions.functions.json_values import parsed
    >>> found(parsed('{"a": [{"b": 1}, {"b": 2}]}'), ["a", Every.ELEMENT, "b"])
    '[1,2]'
    >>> found(parsed('{"a": [{"b": 1}]}'), ["a", "b"])
    """
    matches = _matches(value, steps, _Style.RAW)
    return "".join(matches.written) if matches.found else None


def _matches(value: Any, steps: Sequence[PathStep], style: _Style) -> _Matches:
    if not steps:
        return _written(value, style)
    step, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        inner: Any = value.get(step) if isinstance(step, str) else None
        return _NONE if inner is None else _matches(inner, rest, style)
    if not isinstance(value, list):
        return _NONE
    if isinstance(step, int):
        kept = _Style.QUOTED if rest[:1] == [Every.ELEMENT] else style
        return _matches(value[step], rest, kept) if step < len(value) else _NONE
    return _of_elements(value, rest, style) if step is Every.ELEMENT else _NONE


def _written(value: Any, style: _Style) -> _Matches:
    if style is _Style.FLAT and isinstance(value, list):
        return _together([_written(each, style) for each in value])
    plain = style is _Style.RAW and isinstance(value, str) and not isinstance(value, JsonNumber)
    return _Matches(found=True, written=[str(value) if plain else json_text(value)])


def _of_elements(elements: list[Any], steps: Sequence[PathStep], style: _Style) -> _Matches:
    """Follow the steps in each element of an array, and return the matches as one array.

    A single match is returned without an array, unless the style keeps arrays or a further `[*]` follows. An element
    without a match is left out; without any match, the result is `_NONE` or an empty array.
    """
    if steps[:1] == [Every.ELEMENT]:
        return _in_array(_together([_matches(each, steps[1:], _Style.FLAT) for each in elements]))
    inside = _Style.FLAT if style is _Style.FLAT else _Style.QUOTED
    matches = [_matches(each, steps, inside) for each in elements]
    together = _together(matches)
    if style is _Style.QUOTED or sum(each.found for each in matches) > 1:
        return _in_array(together)
    return together if together.found else _NONE


def _together(matches: Sequence[_Matches]) -> _Matches:
    return _Matches(any(each.found for each in matches), [text for each in matches for text in each.written])


def _in_array(matches: _Matches) -> _Matches:
    return _Matches(matches.found, [f"[{','.join(matches.written)}]"])
