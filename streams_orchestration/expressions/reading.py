"""The token reader of parsers, with the error for an unexpected token."""

from __future__ import annotations

from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.hints import MARKS, WORDS, type_hint
from streams_orchestration.expressions.tokens import Token
from streams_orchestration.expressions.types import DAY, DAY_TIME, YEAR_MONTH, Type, parse_type

RESERVED = frozenset(
    ("and", "or", "not", "case", "when", "then", "else", "end", "is", "in", "between", "like", "ilike", "rlike", "as")
)
"""Reserved words: as names of attributes they must be quoted."""

_OTHER_TUPLES = {
    "over": "a window function reads more than one tuple; use an Aggregate",
    "filter": "FILTER reads more than one tuple; use an Aggregate",
}
_TYPE = "a type"
LEVELS = {
    sign: level
    for level, signs in enumerate(
        (
            ("=", "==", "<=>", "<>", "!=", "<", ">", "<=", ">="),
            ("|",),
            ("^",),
            ("&",),
            ("<<", ">>", ">>>"),
            ("+", "-", "||"),
            ("*", "/", "%", "div"),
        )
    )
    for sign in signs
}
"""The precedence of binary operators, weakest first; operators of one level associate to the left."""

UNITS = frozenset(
    ("microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "dayofyear")
)
"""Units of time that are the first argument of some functions, written without quotes."""


class TokenReader:
    """A reader of tokens from left to right. The last token must have the kind `end`, as `tokenize` returns it."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    @property
    def next(self) -> Token:
        """The next token, which stays unread."""
        return self._tokens[self._position]

    def at(self, *words: str, ahead: int = 0) -> bool:
        """Return True if the next token, after `ahead` others, is one of these words in lower case or marks."""
        position = min(self._position + ahead, len(self._tokens) - 1)
        token = self._tokens[position]
        return token.kind in ("word", "mark") and token.text.lower() in words

    def at_amount(self, *, first: bool) -> bool:
        """Return True if a part of an interval follows, such as `3 DAYS`.

        After the first part, a number needs a unit.
        """
        tokens = self._tokens[self._position + self.at("-", "+") :]
        if tokens[0].kind not in ("number", "string"):
            return False
        return first or (tokens[1].kind == "word" and tokens[1].text.lower().removesuffix("s") in UNITS)

    def take(self) -> Token:
        """Read a token; the end token is never consumed."""
        token = self.next
        self._position += token.kind != "end"
        return token

    def accept(self, *words: str) -> bool:
        """Read the next token if it is one of these words or marks; return True if it was read."""
        if not self.at(*words):
            return False
        self._position += 1
        return True

    def expect(self, word: str) -> None:
        """Read the next token, which must be this word; raise ExpressionError otherwise."""
        if not self.accept(word):
            raise self.unexpected(word.upper())

    def unexpected(self, wanted: str | None = "") -> ExpressionError:
        """Return an error that says that the next token does not belong there, with a hint.

        Args:
            wanted: the syntax that is missing, for the hint; None for a value, an empty text if no syntax is missing.
        """
        token = self.next
        if token.text.lower() in _OTHER_TUPLES and self.at("(", ahead=1):
            return ExpressionError(_OTHER_TUPLES[token.text.lower()], token.offset)
        found = "the expression ends here" if token.kind == "end" else f"{token.text!r} does not belong here"
        missing = "a value" if wanted is None else wanted
        hint = self._remedy() or (f"{missing} is missing" if missing else self._remedy_of_values())
        return ExpressionError(f"{found}; {hint}" if hint else found, token.offset)

    def _remedy(self) -> str:
        """Return a hint for the next token if it is syntax of another language, else an empty text."""
        token, before = self.next, self._tokens[max(self._position - 1, 0)]
        word, former = token.text.lower(), before.text.lower()
        ahead = self._tokens[min(self._position + 1, len(self._tokens) - 1)]
        if token.kind == "mark":
            for pair in (former + word if before is not token else word, word + ahead.text, word):
                if pair in MARKS:
                    return MARKS[pair]
            if word == "(" and self._position > 1 and self._tokens[self._position - 2].text == ".":
                return f"functions have no dots: {before.text}(value)"
            return ""
        if token.kind == "word" and word in WORDS:
            return WORDS[word]
        if word == "not" and ahead.text.lower() == "null":
            return "write IS NOT NULL"
        return f"an attribute of this name is written `{token.text}`" if word in RESERVED else ""

    def _remedy_of_values(self) -> str:
        """Return a hint for a value or a comma directly after a value, where an operator is probably missing.

        It is empty for any other token.
        """
        token, before = self.next, self._tokens[max(self._position - 1, 0)]
        if self.at(","):
            ahead = self._tokens[min(self._position + 1, len(self._tokens) - 1)]
            numbers = before.kind == ahead.kind == "number"
            return "one expression is expected" + ("; numbers have no commas" if numbers else "")
        values = ("word", "quoted", "string", "number")
        if token.kind in values and before is not token and (before.kind in values or before.text in (")", "]")):
            return "" if before.text.lower() in RESERVED else "an operator between two values is missing"
        return ""

    def type(self) -> Type:
        """Read a type, including its parameters.

        Raises:
            ExpressionError: no type, or an unknown type, is written here.
        """
        start = self.next
        depth = 0
        words = list[str]()
        if self.accept("interval"):
            return self._interval_type(start.offset)
        if start.kind != "word":
            raise self.unexpected(_TYPE)
        while self.next.kind in ("word", "quoted", "number", "mark"):
            token = self.next
            if depth == 0 and words and not self.at("(", "<"):
                break
            depth += token.text.count("<") + (token.text == "(") - token.text.count(">") - (token.text == ")")
            if depth < 0:
                break
            self.take()
            words.append(f"`{token.text}`" if token.kind == "quoted" else token.text)
        try:
            return parse_type(" ".join(words))
        except ValueError as error:
            message = str(error)
            unknown = f"there is no type {start.text}"
            if message.partition(";")[0] == unknown:
                message = unknown + type_hint(start.text)
            raise ExpressionError(message, start.offset) from error

    def _interval_type(self, offset: int) -> Type:
        words = ["interval", self.take().text.lower()]
        if self.accept("to"):
            words += ["to", self.take().text.lower()]
        kind = Type(" ".join(words))
        if kind in (DAY, DAY_TIME, YEAR_MONTH):
            return kind
        message = f"there is no type {kind}; write {DAY}, {DAY_TIME} or {YEAR_MONTH}"
        raise ExpressionError(message, offset)
