"""Texts made safe for a terminal or for UTF-8: the characters that do harm there are shown as escapes."""

from __future__ import annotations

import re

_LINE_END = re.compile(r"\r+(?=\n|\Z)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Matches control characters except tabs and line ends, Unicode's line ends and marks of direction, and surrogates."""


def printable(text: str) -> str:
    r"""Return a text with `\u001b` and the like in place of control characters; tabs and line ends stay.

    >>> printable("a\x1b[2Jb\tc\r\n")
    'a\\u001b[2Jb\tc\n'
    """
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", _LINE_END.sub("", text))


def encodable(text: str) -> str:
    r"""Return a text with escapes in place of lone surrogates, which UTF-8 does not encode; names of files have them.

    >>> encodable("rows\udcff.csv")
    'rows\\udcff.csv'
    """
    return text.encode(errors="backslashreplace").decode()
