"""Tokens read one after the other, and the error that one does not belong where it stands."""

from __future__ import annotations

from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.tokens import Token

_OTHER_TUPLES = {
    "over": "a window function looks at more than one tuple; use an Aggregate",
    "filter": "FILTER looks at more than one tuple; use an Aggregate",
}
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
"""Operators between two values with their levels, from the weakest to the strongest; one level groups from the left."""


class TokenReader:
    """Tokens that are read from left to right."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    @property
    def next(self) -> Token:
        """The token that is not read yet."""
        return self._tokens[self._position]

    def at(self, *words: str, ahead: int = 0) -> bool:
        """Return True if the next token, or one further ahead, is one of these words or marks."""
        position = min(self._position + ahead, len(self._tokens) - 1)
        token = self._tokens[position]
        return token.kind in ("word", "mark") and token.text.lower() in words

    def take(self) -> Token:
        """Read a token; the one at the end stays."""
        token = self.next
        self._position += token.kind != "end"
        return token

    def accept(self, *words: str) -> bool:
        """Read a token if it is one of these; return True if it was."""
        if not self.at(*words):
            return False
        self._position += 1
        return True

    def expect(self, word: str) -> None:
        """Read a token; raises ExpressionError if it is another one."""
        if not self.accept(word):
            raise self.unexpected(word)

    def unexpected(self, wanted: str = "") -> ExpressionError:
        """Return the error that the next token does not belong here."""
        token = self.next
        if token.text.lower() in _OTHER_TUPLES and self.at("(", ahead=1):
            return ExpressionError(_OTHER_TUPLES[token.text.lower()], token.offset)
        found = "the expression ends here" if token.kind == "end" else f"{token.text!r} does not belong here"
        hint = f"; {wanted.upper()} is missing" if wanted else ""
        if token.kind == "word" and token.text.lower() == "as":
            hint = "; an expression has no name of its own"
        if self.at(","):
            hint = hint or "; one expression is wanted"
        return ExpressionError(found + hint, token.offset)
