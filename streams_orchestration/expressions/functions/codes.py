"""Functions of texts: edit distances, phonetic codes, masks, and the percent-encoding of texts in URLs."""

from __future__ import annotations

import re
import urllib.parse

from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.table import FunctionGroup

CODES = FunctionGroup("Codes of texts")


@CODES.function(
    "levenshtein(one string, other string) -> int",
    summary=(
        "Return the edit distance: how many characters must be changed, added or removed to turn one "
        "text into the other."
    ),
    examples=[("levenshtein('kitten', 'sitting')", "3")],
)
def _levenshtein(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, mark in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, another in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (mark != another))
    return row[-1]


_SOUNDS = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))


@CODES.function(
    "soundex(value string) -> string",
    summary="Return the Soundex code of a word, which depends on how it sounds.",
    examples=[("soundex('Miller')", "M460")],
    exact=True,
)
def _soundex(value: str) -> str:
    upper = value.upper()
    if not upper or not value[0].isascii() or upper[0] not in _SOUNDS:
        return value
    code, last = upper[0], _SOUNDS[upper[0]]
    for mark in upper[1:]:
        sound = _SOUNDS.get(mark)
        if sound is None:
            continue
        if sound == "7":
            continue
        if sound not in ("0", last):
            code += sound
        last = sound
    return code[:4].ljust(4, "0")


CODES.function(
    "luhn_check(value string) -> boolean",
    summary="Return true if the last digit is a valid check digit by the Luhn algorithm.",
    examples=[("luhn_check('8112189876')", "true")],
)(
    lambda value: (
        value.isascii()
        and value.isdigit()
        and sum(sum(divmod(int(mark) * (1 + place % 2), 10)) for place, mark in enumerate(reversed(value))) % 10 == 0
    )
)


@CODES.function(
    "mask(value string, [upper constant string], [lower constant string], [digit constant string], "
    "[other constant string]) -> string",
    summary=(
        "Replace upper-case letters, lower-case letters and digits by mask characters; a null mask keeps "
        "the characters."
    ),
    examples=[("mask('Ab1-')", "Xxn-")],
    exact=True,
    strict=False,
    fails=True,
)
def _mask(
    value: str | None,
    upper: str | None = "X",
    lower: str | None = "x",
    digit: str | None = "n",
    other: str | None = None,
) -> str | None:
    for by in (upper, lower, digit, other):
        if by is not None and len(by) != 1:
            message = f"mask takes single characters, and {by!r} is not one"
            raise EvaluationError(message)

    def masked(mark: str) -> str:
        by = upper if mark.isupper() else lower if mark.islower() else digit if mark.isdigit() else other
        return mark if by is None else by

    return None if value is None else "".join(map(masked, value))


CODES.function(
    "url_encode(value string) -> string",
    summary="Encode a text for use in a URL.",
    examples=[("url_encode('a b&c')", "a+b%26c")],
)(lambda value: urllib.parse.quote_plus(value, safe="*-._"))


@CODES.function(
    "url_decode(value string) -> string",
    summary="Decode a text from a URL.",
    examples=[("url_decode('a+b%26c')", "a b&c")],
    fails=True,
)
def _url_decode(value: str) -> str:
    if re.search(r"%(?![0-9a-fA-F]{2})", value):
        message = f"{value!r} is not a part of an address: a % is followed by two hexadecimal digits"
        raise EvaluationError(message)
    return urllib.parse.unquote_plus(value, errors="replace")
