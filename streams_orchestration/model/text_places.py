r"""Lines and columns of characters within the texts of a YAML spec, in any of YAML's styles.

>>> value, scalar = 'a\nb', Scalar("p", 'a\nb', 1, 1, "f: |\n  a\n  b\n", 3, 12, "|")
>>> character_place(scalar, value.index("b"))
TextPlace(line=3, column=3)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import yaml

from streams_orchestration.model.document import LOADER
from streams_orchestration.model.location import Location

_ESCAPED = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
_DIGITS = {"x": 2, "u": 4, "U": 8}
"""Letter of an escape sequence in YAML -> the number of hexadecimal digits that follow it."""


class TextPlace(NamedTuple):
    """A place in a file; lines and columns count from 1, a column is a character."""

    line: int
    column: int


class Scalar(NamedTuple):
    """A scalar of a YAML file that is the value of a key, or an entry of a list.

    Attributes:
        path: the keys that lead to the scalar, joined by dots; entries of lists add nothing.
        value: the value as YAML reads it.
        owner: the number of the `parameters` mapping that contains the scalar.
        owner_line: the line of that mapping's key `parameters`.
        source: the text of the whole file.
        start: the index in `source` at which the scalar begins.
        end: the index in `source` after the scalar.
        style: `|`, `>` or the quote around the scalar; empty for a plain scalar.
    """

    path: str
    value: str
    owner: int
    owner_line: int
    source: str
    start: int
    end: int
    style: str


class _Written(NamedTuple):
    """A decoded character of a scalar's value, with its place in the file, where `end` is after the character."""

    character: str
    start: int
    end: int


def place_of_parameter(operator: Location, parameter: str, text: str, offset: int) -> TextPlace | None:
    """Return the place of a character in an operator's parameter, or None if the file does not contain the text.

    None also if the file cannot be read as YAML, or if the parameters of several operators begin in one line.

    Args:
        operator: the place at which the operator begins.
        parameter: the keys of the parameter joined by dots, such as `output.n`, or the first of them.
        text: the parameter's text. With a submission-time value in it, it differs from the file and is not found.
        offset: the index of the character in the text; the length of the text means the place after it.
    """
    try:
        scalars = _scalars(operator.file, Path(operator.file).stat().st_mtime_ns)
    except OSError:
        return None
    owners = {each.owner: each.owner_line for each in scalars if each.owner_line >= operator.line}
    first = min(owners, default=-1)
    if list(owners.values()).count(owners.get(first, -1)) != 1:
        return None  # operators in one line cannot be told apart
    inside = f".parameters.{parameter}."
    found = (each for each in scalars if each.owner == first and each.value == text and inside in f".{each.path}.")
    scalar = next(found, None)
    return None if scalar is None else character_place(scalar, offset)


@functools.lru_cache(maxsize=4)
def _scalars(file: str, changed: int) -> tuple[Scalar, ...]:
    """Return the scalars in the parameters of a YAML file; none if the file is not YAML or cannot be read.

    Args:
        file: the path of the file.
        changed: the file's modification time; as a part of the cache key, it makes a changed file be read again.
    """
    del changed
    try:
        source = Path(file).read_bytes().decode("utf-8-sig")
        return tuple(_parameters_in(source))
    except (OSError, ValueError, yaml.YAMLError):
        return ()


def _parameters_in(source: str) -> Iterator[Scalar]:
    parse = cast("Callable[..., Iterable[Any]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType]
    keys: list[str | None] = []
    """For each open container, the key whose value comes next; None if a key comes next, and empty in a list."""
    owner, owner_line = 0, 0
    for event in parse(source, Loader=LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            keys.append(None if isinstance(event, yaml.MappingStartEvent) else "")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            keys.pop()
        elif isinstance(event, yaml.ScalarEvent):
            value = cast("str", event.value)
            if keys and keys[-1] is None:
                keys[-1] = value
                if value == "parameters":
                    owner, owner_line = owner + 1, event.start_mark.line + 1
                continue
            path = ".".join(key for key in keys if key)
            if ".parameters." in f".{path}.":
                start, end = event.start_mark.index, event.end_mark.index
                yield Scalar(path, value, owner, owner_line, source, start, end, cast("str", event.style) or "")
        elif not isinstance(event, yaml.AliasEvent):
            continue
        if keys and keys[-1]:
            keys[-1] = None


def character_place(scalar: Scalar, offset: int) -> TextPlace | None:
    """Return the place in the file of a character of a scalar's value, or None if it cannot be found.

    Only characters other than spaces are matched, so folding and indentation of lines do not matter. A space has the
    place after the visible character before it.
    """
    visible = [character for character in scalar.value if not character.isspace()]
    written = [each for each in _written(scalar) if not each.character.isspace()]
    written = written[: len(visible)] if scalar.style else written[len(written) - len(visible) :]
    if [each.character for each in written] != visible:
        return None
    before = sum(not character.isspace() for character in scalar.value[:offset])
    if offset < len(scalar.value) and not scalar.value[offset].isspace():
        index = written[before].start
    else:
        index = written[before - 1].end if before else scalar.start
    line_start = scalar.source.rfind("\n", 0, index) + 1
    return TextPlace(scalar.source.count("\n", 0, index) + 1, index - line_start + 1)


def _written(scalar: Scalar) -> Iterator[_Written]:
    """Yield the characters of a scalar in the file with escapes decoded, but without YAML's folding of lines."""
    source, end = scalar.source, scalar.end
    match scalar.style:
        case "|" | ">":
            index = source.find("\n", scalar.start) + 1 or end
        case "'" | '"':
            index, end = source.index(scalar.style, scalar.start) + 1, end - 1
        case _:
            index = scalar.start
    while index < end:
        length, character = 1, source[index]
        if character == "'" == scalar.style:
            length = 2
        elif character == "\\" and scalar.style == '"':
            letter = source[index + 1]
            length = 2 + _DIGITS.get(letter, 0)
            digits = source[index + 2 : index + length]
            character = chr(int(digits, 16)) if digits else _ESCAPED.get(letter, letter)
        yield _Written(character, index, index + length)
        index += length
