"""`spl.string`: functions of strings. An rstring is counted in bytes, a ustring in characters.

>>> substring_bytes("häuser", 0, 3), substring("häuser", 0, 3)
('hä', 'häu')
>>> tokenize("a,b,,c", ",", True)
['a', 'b', '', 'c']
"""

from __future__ import annotations

# pyright: standard
import functools
import re
from collections.abc import Callable
from typing import Any

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.library.patterns import perl, posix, replacement
from streams_orchestration.spl.programs.library.registry import blobs_first, plain, strings_first, typed
from streams_orchestration.spl.types.types import USTRING, Type, is_string

_LOWER = str.maketrans({chr(code): chr(code + 32) for code in range(ord("A"), ord("Z") + 1)})
_UPPER = str.maketrans({chr(code + 32): chr(code) for code in range(ord("A"), ord("Z") + 1)})


def decoded(data: bytes) -> str:
    """Return bytes as the string that carries them; raise RunError if they are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        message = f"{data!r:.60} is not UTF-8, so no rstring can carry it; blob can"
        raise RunError(message) from None


def by_type(of_bytes: Callable[..., Any], of_characters: Callable[..., Any]) -> Callable[..., Any]:
    """Return a maker that chooses by the first string among the types of the arguments.

    The function over bytes is called only for strings that are not ASCII; in ASCII both are equal.
    """

    @functools.wraps(of_characters)
    def of_rstring(text: str, *rest: Any) -> Any:
        return of_characters(text, *rest) if text.isascii() else of_bytes(text, *rest)

    def make(types: tuple[Type, ...], _result: Type) -> Callable[..., Any]:
        return of_characters if types[0] == USTRING else of_rstring

    return make


def length(text: str) -> int:
    """Return the number of bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


typed("length", when=strings_first)(by_type(length, len))


def substring(text: str, start: int, count: int) -> str:
    """Return `count` characters from `start` on; a negative start shortens them and begins at 0."""
    if start < 0:
        count, start = count + start, 0
    if start > len(text):
        message = f"substring: {start} is beyond the end of {text!r:.60}"
        raise RunError(message)
    return text[start : start + count] if count > 0 else ""


def substring_bytes(text: str, start: int, count: int) -> str:
    """Return `count` bytes from `start` on."""
    data = text.encode()
    if start < 0:
        count, start = count + start, 0
    if start > len(data):
        message = f"substring: {start} is beyond the end of {text!r:.60}"
        raise RunError(message)
    return decoded(data[start : start + count]) if count > 0 else ""


typed("substring")(by_type(substring_bytes, substring))


def find_first(text: str, part: str, start: int = 0) -> int:
    """Return the index of the first occurrence from `start` on, or -1."""
    return text.find(part, max(start, 0))


def _find_first_bytes(text: str, part: str, start: int = 0) -> int:
    return text.encode().find(part.encode(), max(start, 0))


typed("findFirst", when=strings_first)(by_type(_find_first_bytes, find_first))


def find_last(text: str, part: str, start: int) -> int:
    """Return the index of the last occurrence that begins at `start` or before, or -1."""
    return -1 if start < 0 else text.rfind(part, 0, start + len(part))


def _find_last_bytes(text: str, part: str, start: int) -> int:
    data, wanted = text.encode(), part.encode()
    return -1 if start < 0 else data.rfind(wanted, 0, start + len(wanted))


typed("findLast", when=strings_first)(by_type(_find_last_bytes, find_last))


def find_first_of(text: str, characters: str, start: int = 0) -> int:
    """Return the index of the first character from `start` on that is one of the given ones, or -1."""
    return next((at for at in range(max(start, 0), len(text)) if text[at] in characters), -1)


def find_first_not_of(text: str, characters: str, start: int = 0) -> int:
    """Return the index of the first character from `start` on that is none of the given ones, or -1."""
    return next((at for at in range(max(start, 0), len(text)) if text[at] not in characters), -1)


def find_last_of(text: str, characters: str, start: int) -> int:
    """Return the index of the last character up to `start` that is one of the given ones, or -1."""
    return next((at for at in range(min(start, len(text) - 1), -1, -1) if text[at] in characters), -1)


def find_last_not_of(text: str, characters: str, start: int) -> int:
    """Return the index of the last character up to `start` that is none of the given ones, or -1."""
    return next((at for at in range(min(start, len(text) - 1), -1, -1) if text[at] not in characters), -1)


def _on_bytes(function: Callable[..., int]) -> Callable[..., int]:
    return lambda text, characters, *rest: function(text.encode(), characters.encode(), *rest)


typed("findFirstOf")(by_type(_on_bytes(find_first_of), find_first_of))
typed("findFirstNotOf")(by_type(_on_bytes(find_first_not_of), find_first_not_of))
typed("findLastOf")(by_type(_on_bytes(find_last_of), find_last_of))
typed("findLastNotOf")(by_type(_on_bytes(find_last_not_of), find_last_not_of))


@functools.lru_cache(maxsize=256)
def _any_of(delimiters: str) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(delimiters)}]")


@plain("tokenize")
def tokenize(text: str, delimiters: str, keep_empty: bool) -> list[str]:  # noqa: FBT001
    """Return the parts between delimiters; every character of `delimiters` is one."""
    if not delimiters:
        parts = [text]
    elif len(delimiters) == 1:
        parts = text.split(delimiters)
    else:
        parts = _any_of(delimiters).split(text)
    return parts if keep_empty else [part for part in parts if part]


@plain("csvTokenize")
def csv_tokenize(text: str) -> list[str]:
    """Return the values between commas; quotes hide commas and are removed."""
    parts, part, quoted, at = list[str](), "", False, 0
    while at < len(text):
        character = text[at]
        if character == "\\" and quoted and at + 1 < len(text):
            at += 1
            part += text[at]
        elif character == '"':
            quoted = not quoted
        elif character == "," and not quoted:
            parts.append(part)
            part = ""
        else:
            part += character
        at += 1
    return [*parts, part]


plain("trim")(str.strip)
plain("ltrim")(str.lstrip)
plain("rtrim")(str.rstrip)


@typed("upper")
def _upper(types: tuple[Type, ...], _: Type) -> Callable[[str], str]:
    return str.upper if types[0] == USTRING else ascii_upper


@typed("lower")
def _lower(types: tuple[Type, ...], _: Type) -> Callable[[str], str]:
    return str.lower if types[0] == USTRING else ascii_lower


def ascii_upper(text: str) -> str:
    """Return the text with the letters a to z in upper case."""
    return text.upper() if text.isascii() else text.translate(_UPPER)


def ascii_lower(text: str) -> str:
    """Return the text with the letters A to Z in lower case."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


@plain("toCharacterCode")
def to_character_code(text: str, at: int = 0) -> int:
    """Return the code of a byte."""
    data = text.encode()
    if not 0 <= at < len(data):
        message = f"toCharacterCode: there is no byte {at} in {text!r:.60}"
        raise RunError(message)
    return data[at]


@plain("fromCharacterCode")
def from_character_code(code: int) -> str:
    """Return the string of one byte."""
    return decoded(bytes([code & 255]))


def _checked(text: str, start: int, name: str) -> str:
    if not 0 <= start <= len(text):
        message = f"{name}: {start} is outside of {text!r:.60}"
        raise RunError(message)
    return text


plain("insert", when=strings_first)(
    lambda text, start, part: _checked(text, start, "insert")[:start] + part + text[start:]
)
plain("erase", when=strings_first)(
    lambda text, start, count: _checked(text, start, "erase")[:start] + text[start + max(count, 0) :]
)
plain("reverse", when=strings_first)(lambda text: text[::-1])
plain("concat", when=strings_first)(lambda *parts: "".join(parts))
plain("countLeadingZeros")(lambda value: 0 if value else 1)


@plain("compare", when=strings_first)
def compare(one: str, other: str, start: int = 0, count: int | None = None) -> int:
    """Return a negative number, 0 or a positive number by the order of two strings."""
    part = one if count is None else one[start : start + count]
    left, right = part.encode(), other.encode()
    return (left > right) - (left < right)


# --- patterns


@plain("regexMatch")
def regex_match(text: str, pattern: str) -> list[str]:
    """Return the first match and its groups, or an empty list."""
    return _match(posix(pattern), text)


@plain("regexMatchPerl")
def regex_match_perl(text: str, pattern: str) -> list[str]:
    """Return the first match of a pattern of Perl and its groups, or an empty list."""
    return _match(perl(pattern), text)


def _match(pattern: re.Pattern[str], text: str) -> list[str]:
    found = pattern.search(text)
    return [] if found is None else [found[0], *(group or "" for group in found.groups())]


@plain("regexReplace")
def regex_replace(text: str, pattern: str, new: str, all_of_them: bool) -> str:  # noqa: FBT001
    """Replace the first match or all matches; a backslash and a digit refers to a group."""
    return posix(pattern).sub(replacement(new), text, count=0 if all_of_them else 1)


@plain("regexReplacePerl")
def regex_replace_perl(text: str, pattern: str, new: str, all_of_them: bool) -> str:  # noqa: FBT001
    """Replace the first match of a pattern of Perl, or all of them."""
    return perl(pattern).sub(replacement(new), text, count=0 if all_of_them else 1)


@plain("like")
def like(text: str, pattern: str) -> bool:
    """Return True if a text matches a pattern of SQL."""
    return _like(pattern).fullmatch(text) is not None


@functools.lru_cache(maxsize=256)
def _like(pattern: str) -> re.Pattern[str]:
    parts = (
        {"%": ".*", "_": "."}.get(part) or re.escape(part[-1:]) for part in re.findall(r"\\?.", pattern, re.DOTALL)
    )
    return re.compile("".join(parts), re.DOTALL)


# --- numbers and encodings


@plain("strtoll", "strtoull")
def to_integer(text: str, base: int) -> int:
    """Return the number at the beginning of a text, as C reads it; 0 if there is none."""
    return _leading_integer(text, base)


def _leading_integer(text: str, base: int) -> int:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    written = text.strip().lower()
    sign, written = (-1, written[1:]) if written[:1] == "-" else (1, written.removeprefix("+"))
    if base in (0, 16) and written.startswith("0x"):
        written, base = written[2:], 16
    elif base == 0:
        base = 8 if written.startswith("0") else 10
    value, seen = 0, digits[:base]
    for character in written:
        if character not in seen:
            break
        value = value * base + seen.index(character)
    limit = 2**63
    return max(-limit, min(limit - 1, sign * value))


@plain("strtod")
def to_float(text: str) -> float:
    """Return the number at the beginning of a text; 0 if there is none."""
    found = re.match(r"\s*[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf|nan)", text)
    return float(found[0]) if found else 0.0


@plain("parseNumber", assigns=(0,))
def parse_number(before: float, text: str, start: int = 0) -> tuple[int, float]:
    """Return the index behind the number that a text begins with, or -1, and the number."""
    pattern = r"\s*[-+]?\d+" if isinstance(before, int) else r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
    found = re.compile(pattern).match(text, start)
    if found is None:
        return -1, before
    return found.end(), int(found[0]) if isinstance(before, int) else float(found[0])


@plain("formatNumber")
def format_number(value: float, *arguments: Any) -> str:
    """Return a number with a given precision, width and separators.

    Arguments: precision (of floats only), then whether zeros fill the width, the width, and whether groups are divided.
    """
    rest = list(arguments)
    precision = rest.pop(0) if isinstance(value, float) and rest and not isinstance(rest[0], bool) else None
    fill, width, groups = ([*rest, *(False, 0, False)[len(rest) :]])[:3]
    text = f"{value:{',' if groups else ''}{'' if precision is None else f'.{precision}f'}}"
    return text.zfill(width) if fill else text.rjust(width)


@plain("convertToUtf8", "convertFromUtf8")
def _utf8(*arguments: Any) -> str:
    return arguments[-1]


@typed("convertToBlob")
def _to_blob(types: tuple[Type, ...], _: Type) -> Callable[..., bytes]:
    return (lambda text: text.encode()) if is_string(types[0]) else bytes


@plain("convertFromBlob")
def from_blob(data: bytes, start: int = 0, count: int | None = None) -> str:
    """Return the bytes of a blob as a string."""
    return decoded(data[start:] if count is None else data[start : start + count])


plain("blobSize", when=blobs_first)(len)
plain("size", when=blobs_first)(len)
