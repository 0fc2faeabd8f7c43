"""Functions of texts. Positions count characters from 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from streams_orchestration.expressions.coercion import common_of, is_implicit
from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.table import Binding, FunctionGroup, Operand, Resolved, TupleFunction
from streams_orchestration.expressions.types import BINARY, INT, STRING, VOID

MAX_TEXT_CHARACTERS = 2**24
"""The longest text that a function may make, in characters, so that a wrong count cannot exhaust memory."""

TEXTS = FunctionGroup("Texts")


def within_limit(length: int) -> int:
    """Return the length; raise EvaluationError if it exceeds `MAX_TEXT_CHARACTERS`."""
    if length > MAX_TEXT_CHARACTERS:
        message = f"the text would have {length:,} characters; {MAX_TEXT_CHARACTERS:,} are possible"
        raise EvaluationError(message)
    return length


def _text_or_bytes(operands: Sequence[Operand]) -> Resolved | None:
    """Resolve a concatenation of texts, binaries or arrays; other values are converted to text.

    None if the operands do not fit.
    """
    kinds = [each.type for each in operands]
    if kinds and all(kind.name in ("array", "void") for kind in kinds) and any(kind.name == "array" for kind in kinds):
        together = common_of(kinds)
        return None if together is None else Resolved((together,) * len(kinds), together)
    if kinds and all(kind in (BINARY, VOID) for kind in kinds) and BINARY in kinds:
        return Resolved((BINARY,) * len(kinds), BINARY)
    if any(kind.is_nested for kind in kinds):
        return None
    return Resolved((STRING,) * len(kinds), STRING)


def _joined(binding: Binding) -> TupleFunction:
    if binding.result == STRING:
        return lambda *parts: "".join(parts)
    if binding.result == BINARY:
        return lambda *parts: b"".join(parts)
    return lambda *parts: tuple(each for part in parts for each in part)


for _name, _example in (("||", ("'a' || 1", "a1")), ("concat", ("concat('a', 1, true)", "a1true"))):
    TEXTS.bound(
        summary="Concatenate the arguments: texts, binaries or arrays; null if one is null.",
        examples=[_example],
        resolver=_text_or_bytes,
        name=_name,
    )(_joined)


@TEXTS.function(
    "concat_ws(separator string, values string...) -> string",
    summary="Concatenate the arguments that are not null, with a separator between them.",
    examples=[("concat_ws('-', 'a', NULL, 'b')", "a-b")],
    strict=False,
)
def _concat_ws(separator: str | None, *values: str | None) -> str | None:
    return None if separator is None else separator.join(value for value in values if value is not None)


TEXTS.function(
    "length(value string) -> int",
    "length(value binary) -> int",
    aliases=["len", "char_length", "character_length"],
    summary="Count the characters of a text, or the bytes of a binary.",
    examples=[("length('Zoë')", "3")],
)(len)


def bytes_of(value: str | bytes) -> bytes:
    """Encode a text in UTF-8; return bytes unchanged."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


TEXTS.function(
    "octet_length(value string) -> int",
    "octet_length(value binary) -> int",
    summary="Count the bytes of a text in UTF-8, or of a binary.",
    examples=[("octet_length('Zoë')", "4")],
)(lambda value: len(bytes_of(value)))
TEXTS.function(
    "bit_length(value string) -> int",
    "bit_length(value binary) -> int",
    summary="Count the bits of a text in UTF-8, or of a binary.",
    examples=[("bit_length('Zoë')", "32")],
)(lambda value: 8 * len(bytes_of(value)))
TEXTS.function(
    "upper(value string) -> string",
    aliases=["ucase"],
    summary="Convert to upper case.",
    examples=[("upper('Spark')", "SPARK")],
)(str.upper)
TEXTS.function(
    "lower(value string) -> string",
    aliases=["lcase"],
    summary="Convert to lower case.",
    examples=[("lower('Spark')", "spark")],
)(str.lower)
TEXTS.function(
    "initcap(value string) -> string",
    summary="Convert each word's first letter to upper case, the rest to lower case; words are divided by blanks.",
    examples=[("initcap('sPark sql')", "Spark Sql")],
)(lambda value: " ".join(word[:1].title() + word[1:].lower() for word in value.split(" ")))
TEXTS.function(
    "reverse(value string) -> string",
    "reverse(values array<T>) -> array<T>",
    summary="Reverse the characters of a text, or the elements of an array.",
    examples=[("reverse('Spark')", "krapS")],
)(lambda value: value[::-1])


def _part(value: Any, start: int, length: int = 2**31 - 1) -> Any:
    """Return a substring as Spark does: positions count from 1, or from the end if negative; 0 means 1.

    It is empty for a length below 1, and is cut at the ends of the text.
    """
    first = start - 1 if start > 0 else len(value) + start if start < 0 else 0
    end = min(first + length, len(value)) if length > 0 else first
    return value[max(first, 0) : max(end, 0)] if end > first else value[:0]


TEXTS.function(
    "substring(value string, start int, [length int]) -> string",
    "substring(value binary, start int, [length int]) -> binary",
    aliases=["substr"],
    summary=(
        "Return the part from a position on; a negative position counts from the end. Also `(value "
        "FROM start FOR length)`."
    ),
    examples=[("substring('Spark SQL', -3)", "SQL")],
)(_part)
TEXTS.function(
    "left(value string, length int) -> string",
    "left(value binary, length int) -> binary",
    summary="Return the first `length` characters.",
    examples=[("left('Spark', 2)", "Sp")],
)(lambda value, length: value[: max(length, 0)])
TEXTS.function(
    "right(value string, length int) -> string",
    summary="Return the last `length` characters.",
    examples=[("right('Spark', 2)", "rk")],
)(lambda value, length: value[-length:] if length > 0 else "")
TEXTS.function(
    "btrim(value string, [characters string]) -> string",
    summary="Strip blanks, or the characters of a set, from both ends.",
    examples=[("btrim('_Spark_', '_')", "Spark")],
)(lambda value, characters=" ": value.strip(characters) if characters else value)
for _name, _strip, _where, _word, _trimmed in (
    ("trim", str.strip, "both ends", "BOTH", "Spark"),
    ("ltrim", str.lstrip, "the beginning", "LEADING", "Spark_"),
    ("rtrim", str.rstrip, "the end", "TRAILING", "_Spark"),
):

    def _trim(*arguments: str, strip: Callable[[str, str], str] = _strip) -> str:
        *characters, value = arguments
        return strip(value, characters[0] if characters else " ") if characters != [""] else value

    TEXTS.function(
        f"{_name}(value string) -> string",
        f"{_name}(characters string, value string) -> string",
        summary=f"Strip blanks, or the characters of a set, from {_where}. Also `TRIM({_word} characters FROM value)`.",
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
        summary=f"Pad on the {'left' if _before else 'right'} to a length; a longer text is cut off on the right.",
        examples=[(f"{_name}('hi', 4, '?')", _padded)],
        fails=True,
    )(_pad)
TEXTS.function(
    "repeat(value string, times int) -> string",
    summary="Repeat a text this number of times.",
    examples=[("repeat('ab', 2)", "abab")],
    fails=True,
)(lambda value, times: value * max(times, 0) if within_limit(len(value) * times) else "")
TEXTS.function(
    "space(count int) -> string",
    summary="Return a text of `count` blanks.",
    examples=[("length(space(3))", "3")],
    fails=True,
)(lambda count: " " * max(within_limit(count), 0))
TEXTS.function(
    "replace(value string, search string, [replacement string]) -> string",
    summary="Replace every occurrence of a text by another one.",
    examples=[("replace('aba', 'a', 'x')", "xbx")],
)(lambda value, search, replacement="": value.replace(search, replacement) if search else value)


@TEXTS.function(
    "translate(value string, from string, to string) -> string",
    summary=(
        "Replace each character of one set by the character at the same place in another, or remove it "
        "if the other set is shorter."
    ),
    examples=[("translate('AaBb', 'abA', '12')", "1B2")],
)
def _translate(value: str, source: str, target: str) -> str:
    table: dict[int, int | None] = {}
    for place, mark in enumerate(source):
        table.setdefault(ord(mark), ord(target[place]) if place < len(target) else None)
    return value.translate(table)


def _overlaid(operands: Sequence[Operand]) -> Resolved | None:
    """Resolve `overlay`: two texts or two binaries, a start position, and perhaps a length.

    None if the operands do not fit.
    """
    kinds = [each.type for each in operands]
    if not 3 <= len(kinds) <= 4 or not all(is_implicit(kind, INT) for kind in kinds[2:]):
        return None
    if BINARY in kinds[:2]:
        fits = all(kind in (BINARY, VOID) for kind in kinds[:2])
        return Resolved((BINARY, BINARY, INT, INT)[: len(kinds)], BINARY) if fits else None
    fits = all(is_implicit(kind, STRING) for kind in kinds[:2])
    return Resolved((STRING, STRING, INT, INT)[: len(kinds)], STRING) if fits else None


@TEXTS.function(
    summary="Replace the part at a position by a text. Also `(value PLACING replacement FROM start FOR length)`.",
    examples=[("overlay('Spark', '_', 3)", "Sp_rk")],
    resolver=_overlaid,
    name="overlay",
)
def _overlay(value: Any, replacement: Any, start: int, length: int = -1) -> Any:
    length = len(replacement) if length < 0 else length
    return _part(value, 1, start - 1) + replacement + _part(value, start + length)


TEXTS.function(
    "instr(value string, search string) -> int",
    summary="Return the first position of a text within another, from 1, or 0.",
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


TEXTS.function(
    "position(search string, value string, [start int]) -> int",
    aliases=["locate"],
    summary=(
        "Return the first position of a text within another, at or after a start, or 0. Also `(search IN value)`."
    ),
    examples=[("position('a', 'banana', 3)", "4")],
    strict=False,
)(_locate)
for _name, _test, _example, _summary in (
    ("contains", lambda value, part: part in value, "ar", "Return true if the value contains the part."),
    ("startswith", lambda value, part: value.startswith(part), "Sp", "Return true if the value begins with the part."),
    ("endswith", lambda value, part: value.endswith(part), "rk", "Return true if the value ends with the part."),
):
    TEXTS.function(
        f"{_name}(value string, part string) -> boolean",
        f"{_name}(value binary, part binary) -> boolean",
        summary=_summary,
        examples=[(f"{_name}('Spark', '{_example}')", "true")],
    )(_test)


@TEXTS.function(
    "split_part(value string, separator string, part int) -> string",
    summary=(
        "Split at a separator and return one part, counted from 1, or from the end if negative; empty if there is no "
        "such part."
    ),
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
    summary=(
        "Return the text before the separator with number `count`; for a negative count, the text after "
        "it, counted from the end."
    ),
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
    summary="Return the code point of the first character; 0 for an empty text.",
    examples=[("ascii('A')", "65")],
)(lambda value: ord(value[0]) if value else 0)
TEXTS.function(
    "chr(code bigint) -> string",
    aliases=["char"],
    summary="Return the character with this code modulo 256; empty for a negative code.",
    examples=[("chr(65)", "A")],
)(lambda code: "" if code < 0 else chr(code % 256))


@TEXTS.function(
    "find_in_set(value string, list string) -> int",
    summary="Return the place of a text in a comma-separated list, from 1, or 0.",
    examples=[("find_in_set('ab', 'abc,b,ab')", "3")],
)
def _find_in_set(value: str, listed: str) -> int:
    parts = listed.split(",")
    return parts.index(value) + 1 if "," not in value and value in parts else 0
