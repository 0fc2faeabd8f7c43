"""Functions of texts. Positions count characters from 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from streams_orchestration.expressions.coercion import common_of, is_implicit
from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.table import Binding, Group, Operand, Resolved, Row
from streams_orchestration.expressions.types import BINARY, INT, STRING, VOID

LONGEST = 2**24
"""Characters of the longest text that a function makes of a short one, so that a wrong count takes no machine down."""

TEXTS = Group("Texts")


def within_limit(length: int) -> int:
    """Return a length; raises EvaluationError if a text of it is longer than the limit."""
    if length > LONGEST:
        message = f"the text would have {length:,} characters; {LONGEST:,} are possible"
        raise EvaluationError(message)
    return length


def named(
    group: Group, names: Sequence[str], parameters: str, summary: str, example: tuple[str, str]
) -> Callable[[Row], Row]:
    """Enter a function under several names; the example is of the first one."""

    def enter(row: Row) -> Row:
        for name in names:
            shown = (example[0].replace(names[0] + "(", name + "(", 1), example[1])
            group.function(f"{name}{parameters}", summary=summary, examples=[shown])(row)
        return row

    return enter


def _text_or_bytes(operands: Sequence[Operand]) -> Resolved | None:
    """Resolve what joins texts, binaries or arrays; anything else becomes a text."""
    kinds = [each.type for each in operands]
    if kinds and all(kind.name in ("array", "void") for kind in kinds) and any(kind.name == "array" for kind in kinds):
        together = common_of(kinds)
        return None if together is None else Resolved((together,) * len(kinds), together)
    if kinds and all(kind in (BINARY, VOID) for kind in kinds) and BINARY in kinds:
        return Resolved((BINARY,) * len(kinds), BINARY)
    if any(kind.is_nested for kind in kinds):
        return None
    return Resolved((STRING,) * len(kinds), STRING)


def _joined(binding: Binding) -> Row:
    if binding.result == STRING:
        return lambda *parts: "".join(parts)
    if binding.result == BINARY:
        return lambda *parts: b"".join(parts)
    return lambda *parts: tuple(each for part in parts for each in part)


for _name, _example in (("||", ("'a' || 1", "a1")), ("concat", ("concat('a', 1, true)", "a1true"))):
    TEXTS.bound(
        summary="All arguments one behind the other: texts, binaries or arrays; null if one is null.",
        examples=[_example],
        resolver=_text_or_bytes,
        name=_name,
    )(_joined)


@TEXTS.function(
    "concat_ws(separator string, values string...) -> string",
    summary="The arguments that are not null, with a separator between them.",
    examples=[("concat_ws('-', 'a', NULL, 'b')", "a-b")],
    strict=False,
)
def _concat_ws(separator: str | None, *values: str | None) -> str | None:
    return None if separator is None else separator.join(value for value in values if value is not None)


for _name in ("length", "len", "char_length", "character_length"):
    TEXTS.function(
        f"{_name}(value string) -> int",
        f"{_name}(value binary) -> int",
        summary="How many characters, or how many bytes of a binary.",
        examples=[(f"{_name}('Zoë')", "3")],
    )(len)


def bytes_of(value: str | bytes) -> bytes:
    """Return the bytes of a text in UTF-8; bytes as they are."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


TEXTS.function(
    "octet_length(value string) -> int",
    "octet_length(value binary) -> int",
    summary="How many bytes in UTF-8.",
    examples=[("octet_length('Zoë')", "4")],
)(lambda value: len(bytes_of(value)))
TEXTS.function(
    "bit_length(value string) -> int",
    "bit_length(value binary) -> int",
    summary="How many bits in UTF-8.",
    examples=[("bit_length('Zoë')", "32")],
)(lambda value: 8 * len(bytes_of(value)))
named(TEXTS, ["upper", "ucase"], "(value string) -> string", "In capital letters.", ("upper('Spark')", "SPARK"))(
    str.upper
)
named(TEXTS, ["lower", "lcase"], "(value string) -> string", "In small letters.", ("lower('Spark')", "spark"))(
    str.lower
)
TEXTS.function(
    "initcap(value string) -> string",
    summary="Every word with a capital letter; blanks divide words.",
    examples=[("initcap('sPark sql')", "Spark Sql")],
)(lambda value: " ".join(word[:1].title() + word[1:].lower() for word in value.split(" ")))
TEXTS.function(
    "reverse(value string) -> string",
    "reverse(values array<T>) -> array<T>",
    summary="From the end to the beginning.",
    examples=[("reverse('Spark')", "krapS")],
)(lambda value: value[::-1])


def _part(value: Any, start: int, length: int = 2**31 - 1) -> Any:
    """Return a part as Spark cuts it: from 1, or from the end for a negative start."""
    first = start - 1 if start > 0 else len(value) + start if start < 0 else 0
    end = min(first + length, len(value)) if length > 0 else first
    return value[max(first, 0) : max(end, 0)] if end > first else value[:0]


for _name in ("substring", "substr"):
    TEXTS.function(
        f"{_name}(value string, start int, [length int]) -> string",
        f"{_name}(value binary, start int, [length int]) -> binary",
        summary="The part from a position on, from the end for a negative one. Also `(value FROM start FOR length)`.",
        examples=[(f"{_name}('Spark SQL', -3)", "SQL")],
    )(_part)
TEXTS.function(
    "left(value string, length int) -> string",
    "left(value binary, length int) -> binary",
    summary="The first characters.",
    examples=[("left('Spark', 2)", "Sp")],
)(lambda value, length: value[: max(length, 0)])
TEXTS.function(
    "right(value string, length int) -> string",
    summary="The last characters.",
    examples=[("right('Spark', 2)", "rk")],
)(lambda value, length: value[-length:] if length > 0 else "")
TEXTS.function(
    "btrim(value string, [characters string]) -> string",
    summary="Without blanks, or without characters of a set, at both ends.",
    examples=[("btrim('_Spark_', '_')", "Spark")],
)(lambda value, characters=" ": value.strip(characters) if characters else value)
for _name, _strip, _where, _trimmed in (
    ("trim", str.strip, "at both ends", "Spark"),
    ("ltrim", str.lstrip, "at the beginning", "Spark_"),
    ("rtrim", str.rstrip, "at the end", "_Spark"),
):

    def _trim(*arguments: str, strip: Callable[[str, str], str] = _strip) -> str:
        *characters, value = arguments
        return strip(value, characters[0] if characters else " ") if characters != [""] else value

    TEXTS.function(
        f"{_name}(value string) -> string",
        f"{_name}(characters string, value string) -> string",
        summary=f"Without blanks, or without characters of a set, {_where}. Also `TRIM(BOTH characters FROM value)`.",
        examples=[(f"{_name}('_', '_Spark_')", _trimmed)],
    )(_trim)
for _name, _before, _padded in (("lpad", True, "??hi"), ("rpad", False, "hi??")):

    def _pad(value: str, length: int, pad: str = " ", *, before: bool = _before) -> str:
        missing = within_limit(length) - len(value)
        if missing <= 0 or not pad:
            return value[: max(length, 0)]
        filling = (pad * (missing // len(pad) + 1))[:missing]
        return filling + value if before else value + filling

    TEXTS.function(
        f"{_name}(value string, length int, [pad string]) -> string",
        summary=f"Filled {'in front' if _before else 'behind'}, or cut off, to a length.",
        examples=[(f"{_name}('hi', 4, '?')", _padded)],
        fails=True,
    )(_pad)
TEXTS.function(
    "repeat(value string, times int) -> string",
    summary="Several times one behind the other.",
    examples=[("repeat('ab', 2)", "abab")],
    fails=True,
)(lambda value, times: value * max(times, 0) if within_limit(len(value) * times) else "")
TEXTS.function(
    "space(count int) -> string",
    summary="So many blanks.",
    examples=[("length(space(3))", "3")],
    fails=True,
)(lambda count: " " * max(within_limit(count), 0))
TEXTS.function(
    "replace(value string, search string, [replacement string]) -> string",
    summary="With a text in the place of another one, wherever it stands.",
    examples=[("replace('aba', 'a', 'x')", "xbx")],
)(lambda value, search, replacement="": value.replace(search, replacement) if search else value)


@TEXTS.function(
    "translate(value string, from string, to string) -> string",
    summary="Every character of a set becomes the one at the same place of another, or goes.",
    examples=[("translate('AaBb', 'abA', '12')", "1B2")],
)
def _translate(value: str, source: str, target: str) -> str:
    table: dict[int, int | None] = {}
    for place, mark in enumerate(source):
        table.setdefault(ord(mark), ord(target[place]) if place < len(target) else None)
    return value.translate(table)


def _overlaid(operands: Sequence[Operand]) -> Resolved | None:
    """Resolve two texts or two binaries, with a start and a length."""
    kinds = [each.type for each in operands]
    if not 3 <= len(kinds) <= 4 or not all(is_implicit(kind, INT) for kind in kinds[2:]):
        return None
    if BINARY in kinds[:2]:
        fits = all(kind in (BINARY, VOID) for kind in kinds[:2])
        return Resolved((BINARY, BINARY, INT, INT)[: len(kinds)], BINARY) if fits else None
    fits = all(is_implicit(kind, STRING) for kind in kinds[:2])
    return Resolved((STRING, STRING, INT, INT)[: len(kinds)], STRING) if fits else None


@TEXTS.function(
    summary="With a text in the place of a part. Also `(value PLACING replacement FROM start FOR length)`.",
    examples=[("overlay('Spark', '_', 3)", "Sp_rk")],
    resolver=_overlaid,
    name="overlay",
)
def _overlay(value: Any, replacement: Any, start: int, length: int = -1) -> Any:
    length = len(replacement) if length < 0 else length
    return _part(value, 1, start - 1) + replacement + _part(value, start + length)


TEXTS.function(
    "instr(value string, search string) -> int",
    summary="The position of a text, or 0.",
    examples=[("instr('Spark', 'ar')", "3")],
)(lambda value, search: value.find(search) + 1)


def _locate(search: str | None, value: str | None, start: int | None = 1) -> int | None:
    if start is None:
        return 0
    if search is None or value is None:
        return None
    if start < 1:
        return 0
    return value.find(search, start - 1) + 1 if search else 1


for _name in ("position", "locate"):
    TEXTS.function(
        f"{_name}(search string, value string, [start int]) -> int",
        summary="The position of a text from a position on, or 0. Also `(search IN value)`.",
        examples=[(f"{_name}('a', 'banana', 3)", "4")],
        strict=False,
    )(_locate)
for _name, _test, _example in (
    ("contains", lambda value, part: part in value, "ar"),
    ("startswith", lambda value, part: value.startswith(part), "Sp"),
    ("endswith", lambda value, part: value.endswith(part), "rk"),
):
    TEXTS.function(
        f"{_name}(value string, part string) -> boolean",
        f"{_name}(value binary, part binary) -> boolean",
        summary={"contains": "True if the part is in it.", "startswith": "True if it begins with the part."}.get(
            _name, "True if it ends with the part."
        ),
        examples=[(f"{_name}('Spark', '{_example}')", "true")],
    )(_test)


@TEXTS.function(
    "split_part(value string, separator string, part int) -> string",
    summary="One part between separators, from 1, or from the end for a negative one; empty if there is none.",
    examples=[("split_part('11.12.13', '.', 3)", "13")],
    fails=True,
)
def _split_part(value: str, separator: str, part: int) -> str:
    if part == 0:
        message = "parts are counted from 1"
        raise EvaluationError(message)
    parts = value.split(separator) if separator else [value]
    place = part - 1 if part > 0 else len(parts) + part
    return parts[place] if 0 <= place < len(parts) else ""


@TEXTS.function(
    "substring_index(value string, separator string, count int) -> string",
    summary="Everything before so many separators; behind them, from the end, for a negative count.",
    examples=[("substring_index('a.b.c', '.', 2)", "a.b")],
)
def _substring_index(value: str, separator: str, count: int) -> str:
    if count == 0 or not separator:
        return ""
    if count > 0:
        return separator.join(value.split(separator)[:count])
    place = len(value)
    for _ in range(-count):
        place = value.rfind(separator, 0, place)
        if place < 0:
            return value
    return value[place + len(separator) :]


TEXTS.function(
    "ascii(value string) -> int",
    summary="The code of the first character; 0 of an empty text.",
    examples=[("ascii('A')", "65")],
)(lambda value: ord(value[0]) if value else 0)
named(
    TEXTS,
    ["chr", "char"],
    "(code bigint) -> string",
    "The character of a code below 256; empty for a negative one.",
    ("chr(65)", "A"),
)(lambda code: "" if code < 0 else chr(code % 256))


@TEXTS.function(
    "find_in_set(value string, list string) -> int",
    summary="The place of a text in a list with commas, or 0.",
    examples=[("find_in_set('ab', 'abc,b,ab')", "3")],
)
def _find_in_set(value: str, listed: str) -> int:
    parts = listed.split(",")
    return parts.index(value) + 1 if "," not in value and value in parts else 0
