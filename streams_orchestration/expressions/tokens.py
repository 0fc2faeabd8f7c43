"""Tokens of an expression, by the lexical rules of Spark SQL.

>>> [token.text for token in tokenize("a <=> 'it''s'")]
['a', '<=>', "it's", '']
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.hints import MARKS

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<comment>--[^\n]*|/\*.*?\*/)
    | (?P<raw>[rR](?:'[^']*'|"[^"]*"))
    | (?P<binary>[xX]'[^']*')
    | (?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:BD|bd|[LlSsYyDdFf])?(?![\w]))
    | (?P<word>[^\W\d]\w*)
    | (?P<mark><=>|<<|>>>|>>|<>|<=|>=|!=|==|\|\||->|::|[-+*/%&|^~!=<>()\[\],.:?])
    | (?P<end>$)
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"""(?P<quote>['"])(?P=quote)|\\(?P<code>u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-3][0-7]{2}|.)""", re.DOTALL
)
"""Matches a doubled quote, or a backslash with the escaped characters."""
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


@dataclass(frozen=True, slots=True)
class Token:
    """A token and its place.

    Attributes:
        kind: `word`, `quoted` (a name), `string`, `binary`, `number`, `mark` or `end`.
        text: the name without quotes, the string without quotes and escapes, the digits of a binary text, or the token
            as written.
        offset: the offset of its first character, from 0.
    """

    kind: str
    text: str
    offset: int


def tokenize(text: str) -> list[Token]:
    """Split an expression into tokens without its blanks and comments; the last one has the kind `end`.

    Raises:
        ExpressionError: a character begins no token, a quote is not closed, or an escape in a text is not a character.
    """
    tokens: list[Token] = []
    position = 0
    while True:
        match = _TOKEN.match(text, position)
        if match is None:
            raise _unreadable(text, position)
        position, kind = match.end(), match.lastgroup or "end"
        written, offset = match[kind], match.start(kind)
        if kind == "comment":
            continue
        tokens.append(Token("string" if kind == "raw" else kind, _value(kind, written, offset), offset))
        if kind == "end":
            return tokens


def name_token(name: str) -> str:
    """Return a name in backticks, with backticks in it doubled."""
    return "`" + name.replace("`", "``") + "`"


def _value(kind: str, written: str, offset: int) -> str:
    match kind:
        case "raw":
            return written[2:-1]
        case "binary":
            return written[2:-1]
        case "quoted":
            return written[1:-1].replace("``", "`")
        case "string":
            try:
                text = _ESCAPE.sub(lambda match: _unescaped(match, written[0]), written[1:-1])
                return text.encode("utf-16", "surrogatepass").decode("utf-16")  # pairs of surrogates are one character
            except (ValueError, OverflowError):
                message = f"{written} has an escape that is not a character"
                raise ExpressionError(message, offset) from None
        case _:
            return written


def _unescaped(match: re.Match[str], quote: str) -> str:
    if (doubled := match["quote"]) is not None:
        return doubled if doubled == quote else doubled * 2
    code = match["code"]
    if code[0] in "uU" and len(code) > 1:
        return chr(int(code[1:], 16))
    return chr(int(code, 8)) if len(code) == 3 else _ESCAPED.get(code, code)


def _unreadable(text: str, position: int) -> ExpressionError:
    offset = position + len(text[position:]) - len(text[position:].lstrip())
    mark = text[offset]
    if mark in "'\"`":
        return ExpressionError(f"the quote {mark} is never closed", offset)
    if mark.isdigit():
        number = re.match(r"[\w.]+", text[offset:])
        return ExpressionError(f"{number[0] if number else mark} is not a number", offset)
    if text.startswith("/*", offset):
        return ExpressionError("the comment /* is never closed", offset)
    hint = f"; {MARKS[mark]}" if mark in MARKS else ""
    return ExpressionError(f"{mark!r} has no meaning here{hint}", offset)
