"""Tokens of SPL, and findings about text that is not a token.

>>> tokenize("param filter : n >= 1.5w; // half").texts
('param', 'filter', ':', 'n', '>', '=', '1.5w', ';', '')
"""

from __future__ import annotations

import bisect
import functools
import re
from dataclasses import dataclass

MOST_FINDINGS = 100
"""The number of findings after which parsing a file ends."""
_KEYWORDS = """
    as attribute blob boolean break complex32 complex64 complex128 composite config continue decimal32 decimal64
    decimal128 else enum expression false float32 float64 float128 for function graph if in input int8 int16 int32
    int64 list logic map matrix mutable namespace null onPunct onTuple operator optional output param public return
    rstring set stateful static stream timestamp true tuple type uint8 uint16 uint32 uint64 use ustring var void
    while window xml
"""
KEYWORDS = frozenset(_KEYWORDS.split())
"""Words that are never identifiers."""
# An atomic group, not `*+`: before Python 3.11.5 that skips a comment which does not end.
_TOKEN = re.compile(
    r"""(?>(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*)(?:
      (?P<word>\$?[A-Za-z_][A-Za-z0-9_]*)
    | (?P<number>0x[0-9A-Fa-f]+[su]?
        | (?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[sufd][bhwlq]?|[bhwlq][sufd]?)?)
    | (?P<string>"(?:[^"\\]++|\\.)*+"[rux]?|'(?:[^'\\]++|\\.)*+'[rux]?)
    | (?P<mark>\.(?:<<|>>|[<>=!]=|[-+*/%&^|<>]) | <<=?|&&|\|\||\+\+|--|\?\?|\?:|:: | [-+*/%&^|<=!]=
        | (?!/\*)[-+*/%&^|<>=!~?:;,.(){}\[\]@])
    | (?P<end>\Z)
    | (?P<comment>/\*)
    | (?P<unclosed>["'])
    | (?P<wrong>[^\x00-\x7f]+|.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_LINE_END = ";)}] \t\r"
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_ESCAPED = _LETTERS | {each: each for each in "\"'\\?"}
_UNPRINTABLE = (*range(32), 127, *range(0xD800, 0xE000))
_ESCAPES = {code: f"\\u{code:04x}" for code in _UNPRINTABLE} | {
    ord(value): f"\\{letter}" for letter, value in _ESCAPED.items() if letter not in "'?"
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake in the text of a file.

    Attributes:
        code: the id of the message in Streams, or one of our own codes.
        line: the line, from 1.
        column: the character in the line, from 1.
    """

    code: str
    message: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a file; the last one has the kind `end`, and its place is the end of the text.

    Attributes:
        text: the text of the file.
        kinds: for each token `word`, `keyword`, `number`, `string`, `mark` or `end`.
        texts: each token as it is written.
        offsets: the offset of each token's first character, from 0.
        findings: the places where the text is not a token.
        suspects: the indexes of the tokens directly after such places; a fault at one of them is a consequence.
    """

    text: str
    kinds: tuple[str, ...]
    texts: tuple[str, ...]
    offsets: tuple[int, ...]
    findings: tuple[Finding, ...]
    suspects: frozenset[int]

    def place(self, index: int) -> tuple[int, int]:
        """Return the line and the column of a token, both counted from 1."""
        return place_in(self.text, self.offsets[index])

    def adjoin(self, index: int) -> bool:
        """Return True if a token and the next one have no space between them."""
        return self.offsets[index] + len(self.texts[index]) == self.offsets[index + 1]

    def on_new_line(self, index: int) -> bool:
        """Return True if a token begins on a later line than the token before it, or is the first token."""
        before = index - 1
        return index == 0 or "\n" in self.text[self.offsets[before] + len(self.texts[before]) : self.offsets[index]]


def place_in(text: str, offset: int) -> tuple[int, int]:
    """Return the line and the column of an offset in a text, both counted from 1."""
    begins = _line_begins(text)
    line = bisect.bisect_right(begins, offset)
    return line, offset - begins[line - 1] + 1


@functools.lru_cache(maxsize=64)
def _line_begins(text: str) -> list[int]:
    """Return the offset of the first character of each line."""
    return [0, *(match.end() for match in re.finditer("\n", text))]


def tokenize(text: str, cut: frozenset[int] = frozenset()) -> Tokens:
    """Split a text into tokens; text that is not a token is skipped and reported.

    After `MOST_FINDINGS` mistakes, the rest of the text is left out.

    Args:
        text: the text of a file.
        cut: the offsets of strings that end at the end of their line, because their closing quote is missing.
    """
    return _Lexer(text, cut).tokens()


def string_value(written: str) -> str:
    """Return the value of a string token, without quotes and suffix; an unknown escape means the character itself."""
    inner = written[1 : written.rfind(written[0])]
    if "\\" not in inner:
        return inner
    value = _ESCAPE.sub(_unescaped, inner)
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")  # joins \ud83d\ude00


def string_text(value: str) -> str:
    """Return a string literal in double quotes; quotes, backslashes and unprintable characters are escaped."""
    return f'"{value.translate(_ESCAPES)}"'


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPED.get(code, code)


class _Lexer:
    def __init__(self, text: str, cut: frozenset[int]) -> None:
        self.text = text
        self.cut = cut
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self.offsets: list[int] = []
        self.findings: list[Finding] = []
        self.suspects: set[int] = set()

    def tokens(self) -> Tokens:
        position: int | None = 0
        while position is not None:
            position = self._tokens_from(position if len(self.findings) < MOST_FINDINGS else len(self.text))
        kinds, texts, offsets = tuple(self.kinds), tuple(self.texts), tuple(self.offsets)
        return Tokens(self.text, kinds, texts, offsets, tuple(self.findings), frozenset(self.suspects))

    def _tokens_from(self, position: int) -> int | None:
        """Read tokens up to the next mistake; return the offset after the mistake, or None at the end of the text.

        Report the mistake, and wrong escapes in the strings before it.
        """
        kinds, texts, offsets, cut = self.kinds, self.texts, self.offsets, self.cut
        for match in _TOKEN.finditer(self.text, position):
            kind = match.lastgroup or "end"
            written, offset = match[kind], match.start(kind)
            if kind == "word":
                if written in KEYWORDS:
                    kind = "keyword"
            elif kind == "string":
                if offset in cut:
                    return self._cut_string(offset)
                if "\\" in written:
                    self._check_escapes(written, offset)
            elif kind not in ("mark", "number", "end"):
                return self._mistake(kind, written, offset)
            kinds.append(kind)
            texts.append(written)
            offsets.append(offset)
            if kind == "end":
                return None
        raise AssertionError  # the pattern matches everything, the end too

    def _mistake(self, kind: str, written: str, offset: int) -> int:
        match kind:
            case "unclosed":
                return self._cut_string(offset)
            case "comment":
                self._report("the comment that begins here does not end; '*/' is missing", offset)
                self.suspects.add(len(self.kinds))
                return len(self.text)
            case _:
                self._report(f"{_shown(written)} is not a character of SPL outside of strings and comments", offset)
                self.suspects.add(len(self.kinds))
                return offset + len(written)

    def _cut_string(self, offset: int) -> int:
        """Report an unclosed string, and take the rest of its line as the string; return the offset after it.

        Brackets, semicolons and blanks at the end of the line are not part of the string.
        """
        quote = self.text[offset]
        self._report(f"the string that begins here does not end; {quote} is missing", offset)
        line = self.text.find("\n", offset)
        end = len(self.text) if line < 0 else line
        rest = self.text[offset + 1 : end]
        end = offset + 1 + len(rest.rstrip(_LINE_END))
        self.kinds.append("string")
        self.texts.append(self.text[offset:end])
        self.offsets.append(offset)
        self.suspects.add(len(self.kinds))
        return end

    def _check_escapes(self, written: str, offset: int) -> None:
        for match in _ESCAPE.finditer(written):
            if len(match[1]) == 1 and match[1] not in _ESCAPED:
                message = f"\\{match[1]} is not an escape of SPL; write a backslash as \\\\"
                self._report(message, offset + match.start())

    def _report(self, message: str, offset: int) -> None:
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding("SO0701", message, *place_in(self.text, offset)))


def _shown(written: str) -> str:
    return repr(written) if written.isprintable() else f"U+{ord(written[0]):04X}"
