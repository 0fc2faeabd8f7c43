"""`spl.string`: functions of strings. Positions in an rstring count bytes, in a ustring characters.

A search from a negative start begins at 0, and a search backwards from there finds nothing.

>>> substring_bytes("häuser", 0, 3), substring("häuser", 0, 3)
('hä', 'häu')
>>> tokenize("a,b,,c", ",", True)
['a', 'b', '', 'c']
"""

from __future__ import annotations

# pyright: standard
import codecs
import functools
import re
from collections.abc import Callable
from typing import Any, cast

from streams_orchestration.spl.language.tokens import string_text, string_value
from streams_orchestration.spl.language.tokens import tokenize as tokenize_program
from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.library.patterns import (
    icu_replacement,
    perl,
    perl_replacement,
    posix,
    replacement,
)
from streams_orchestration.spl.programs.library.registry import blobs_first, plain, strings_first, typed
from streams_orchestration.spl.programs.library.searches import OF_OTHERS, search_among
from streams_orchestration.spl.types.types import USTRING, BoundedString, Type

_LOWER = str.maketrans({chr(code): chr(code + 32) for code in range(ord("A"), ord("Z") + 1)})
_UPPER = str.maketrans({chr(code + 32): chr(code) for code in range(ord("A"), ord("Z") + 1)})


def decoded(data: bytes) -> str:
    """Decode the bytes of an rstring; raise RunError if they are not valid UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        message = f"{data!r:.60} is not UTF-8, so it cannot be an rstring; use a blob"
        raise RunError(message) from None


def cut(text: str, bound: int) -> str:
    """Return an rstring shortened to at most `bound` bytes.

    If the limit is within a character, the character is left out.
    """
    if len(text) <= bound and text.isascii():
        return text
    return text.encode()[:bound].decode(errors="ignore")


def by_type(of_bytes: Callable[..., Any], of_characters: Callable[..., Any]) -> Callable[..., Any]:
    """Return a maker that chooses the function over bytes for rstrings, and the one over characters for ustrings.

    For an rstring in ASCII, where both give equal results, the function over characters is called, too.
    """

    @functools.wraps(of_characters)
    def of_rstring(text: str, *rest: Any) -> Any:
        return of_characters(text, *rest) if text.isascii() else of_bytes(text, *rest)

    def make(types: tuple[Type, ...], _result: Type) -> Callable[..., Any]:
        return of_characters if types[0] == USTRING else of_rstring

    return make


def length(text: str) -> int:
    """Return the length of a text in bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


typed("length", when=strings_first)(by_type(length, len))


def substring(text: str, start: int, count: int) -> str:
    """Return `count` characters from `start` on, or as many as there are; a count of 0 or below gives an empty text.

    A negative start shortens the result, which then begins at 0.

    Raises:
        RunError: the start is beyond the end of the text.
    """
    begin, end = _bounds(text, len(text), start, count)
    return text[begin:end]


def substring_bytes(text: str, start: int, count: int) -> str:
    """Return `count` bytes from the byte `start` on, or as many as there are, as a string.

    A negative start reads from the first byte, and shortens the count by as much. A count of 0 or below gives an empty
    string.

    Raises:
        RunError: `start` is beyond the end of the text, or the bytes begin or end within a character.
    """
    data = text.encode()
    begin, end = _bounds(text, len(data), start, count)
    return decoded(data[begin:end])


def _bounds(text: str, size: int, start: int, count: int) -> tuple[int, int]:
    """Return the bounds of a substring, in characters or bytes; raise RunError if `start` is beyond the size."""
    if start < 0:
        count, start = count + start, 0
    if count <= 0:
        return 0, 0
    if start > size:
        message = f"substring: {start} is beyond the end of {text!r:.60}"
        raise RunError(message)
    return start, start + count


@typed("substring")
def _substring(types: tuple[Type, ...], result: Type) -> Callable[..., Any]:
    if types[0] == USTRING:  # IBM Streams moves a start beyond the end of a ustring to the end
        return lambda text, start, count: substring(text, min(start, len(text)), count)
    return by_type(substring_bytes, substring)(types, result)


def _on_bytes(function: Callable[..., int]) -> Callable[..., int]:
    return lambda text, characters, *rest: function(text.encode(), characters.encode(), *rest)


def _find_first(text: Any, part: Any, start: int = 0) -> int:
    return text.find(part, max(start, 0))


def _find_last(text: Any, part: Any, start: int) -> int:
    return -1 if start < 0 else text.rfind(part, 0, start + len(part))


for _name, _search in (
    *(("findFirst", _find_first), ("findLast", _find_last)),
    *((name, search_among(name, lambda others: others.__contains__)) for name in OF_OTHERS),
):
    typed(_name, when=strings_first)(by_type(_on_bytes(_search), _search))


@functools.lru_cache(maxsize=256)
def _any_of(delimiters: str) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(delimiters)}]")


@plain("tokenize", when=lambda types: len(types) == 3)
def tokenize(text: str, delimiters: str, keep_empty: bool) -> list[str]:  # noqa: FBT001
    """Split a text at each character of `delimiters`; without delimiters, the text is the only part.

    Empty parts are dropped unless `keep_empty` is true.
    """
    if not delimiters:
        parts = [text]
    elif len(delimiters) == 1:
        parts = text.split(delimiters)
    else:
        parts = _any_of(delimiters).split(text)
    return parts if keep_empty else [part for part in parts if part]


@plain("tokenize", when=lambda types: len(types) == 5, assigns=(4,))
def tokenize_to(
    text: str,
    delimiter: str,
    keep_empty: bool,  # noqa: FBT001
    of_characters: bool,  # noqa: FBT001
    _: list[str],
) -> tuple[None, list[str]]:
    """Split a text at delimiters, and assign the parts to the last argument.

    If `of_characters` is true, every character in `delimiter` is a delimiter, otherwise the whole string is one. With
    an empty `delimiter`, the text is the only part. Empty parts are dropped unless `keep_empty` is true.
    """
    if of_characters or not delimiter:
        return None, tokenize(text, delimiter, keep_empty)
    return None, [part for part in text.split(delimiter) if part or keep_empty]


plain("csvTokenize")(lambda text: text.split(","))
plain("trim")(str.strip)
plain("ltrim")(str.lstrip)
plain("rtrim")(str.rstrip)


typed("upper")(by_type(lambda text: text.translate(_UPPER), str.upper))
typed("lower")(by_type(lambda text: text.translate(_LOWER), str.lower))
typed("toCharacterCode")(by_type(lambda text: text.encode()[0], lambda text: ord(text[0]) if text else 0))
plain("concat", when=strings_first)(lambda one, other: one + other)


@typed("appendM", when=strings_first, assigns=(0,))
def _append_text(types: tuple[Type, ...], _: Type) -> Callable[[str, str], tuple[None, str]]:
    bound = cast("BoundedString", types[0]).bound
    return lambda text, more: (None, cut(text + more, bound))


# --- patterns


@typed("regexMatch")
def _regex_match(types: tuple[Type, ...], _: Type) -> Callable[[str, str], list[str]]:
    compiled = perl if types[0] == USTRING else posix
    return lambda text, pattern: _match(compiled(pattern), text)


@plain("regexMatchPerl")
def regex_match_perl(text: str, pattern: str) -> list[str]:
    """Return the text of a Perl pattern's first match and the texts of its groups; an empty list without a match.

    Raises RunError for a faulty pattern.
    """
    return _match(perl(pattern), text)


def _match(pattern: re.Pattern[str], text: str) -> list[str]:
    found = pattern.search(text)
    return [] if found is None else [found[0], *(group or "" for group in found.groups())]


@typed("regexReplace")
def _regex_replace(types: tuple[Type, ...], _: Type) -> Callable[..., str]:
    return _replacing(*((perl, icu_replacement) if types[0] == USTRING else (posix, replacement)))


@typed("regexReplacePerl")
def _regex_replace_perl(_types: tuple[Type, ...], _: Type) -> Callable[..., str]:
    return _replacing(perl, perl_replacement)


def _replacing(
    compiled: Callable[[str], re.Pattern[str]], replaced: Callable[[str], Callable[[re.Match[str]], str]]
) -> Callable[..., str]:
    """Return a function that replaces a pattern's first match, or all its matches."""
    return lambda text, pattern, new, everywhere: compiled(pattern).sub(replaced(new), text, 0 if everywhere else 1)


# --- literals and encodings


@plain("makeRStringLiteral")
def make_literal(text: str) -> str:
    """Return a text as an SPL string literal."""
    return string_text(text)


@plain("makeUStringLiteral")
def make_ustring_literal(text: str) -> str:
    """Return a text as an SPL string literal with the suffix of a ustring."""
    return f"{make_literal(text)}u"


@plain("interpretRStringLiteral", "interpretUStringLiteral")
def interpret_literal(text: str) -> str:
    """Return the value of an SPL string literal.

    Raises:
        RunError: the text is not a literal of a string.
    """
    tokens = tokenize_program(text)
    if tokens.kinds != ("string", "end") or tokens.findings:
        message = f"{text!r:.60} is not a literal of a string"
        raise RunError(message)
    return string_value(tokens.texts[0])


def _codec(name: str) -> codecs.CodecInfo:
    try:
        return codecs.lookup(name)
    except LookupError:
        message = f"there is no encoding {name!r:.60}"
        raise RunError(message) from None


@plain("convertToUtf8")
def convert_to_utf8(data: str | list[int], encoding: str) -> str:
    """Decode bytes from an encoding to a text; raise RunError for an unknown encoding.

    Bytes that are not of the encoding become U+FFFD.
    """
    codec, given = _codec(encoding), data.encode() if isinstance(data, str) else bytes(data)
    return codec.decode(given, "replace")[0]


@plain("convertFromUtf8")
def convert_from_utf8(text: str, encoding: str) -> list[int]:
    """Encode a text in an encoding, and return the bytes; raise RunError for an unknown encoding.

    A character that the encoding lacks becomes a question mark.
    """
    return list(_codec(encoding).encode(text, "replace")[0])


@plain("convertFromUtf8ToString")
def convert_from_utf8_to_string(text: str, encoding: str) -> str:
    """Encode a text in an encoding, and return the bytes as an rstring.

    Raises RunError for an unknown encoding, and for bytes that are not UTF-8.
    """
    return decoded(bytes(convert_from_utf8(text, encoding)))


plain("convertToBlob")(str.encode)


@plain("convertFromBlob")
def from_blob(data: bytes) -> str:
    """Return the bytes of a blob as an rstring; raise RunError if they are not UTF-8."""
    return decoded(data)


plain("blobSize", when=blobs_first)(len)
plain("size", when=blobs_first)(len)
