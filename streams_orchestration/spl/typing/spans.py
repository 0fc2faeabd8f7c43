"""Source texts, the places in them, and the mistakes that are found there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streams_orchestration.spl.language.tokens import Tokens, tokenize
from streams_orchestration.spl.language.tree import Node


@dataclass(frozen=True, eq=False)
class Source:
    """A text with its tokens: `file` is its name in messages, `line` and `column` are the place of its beginning."""

    file: str
    tokens: Tokens
    line: int = 1
    column: int = 1

    @classmethod
    def of(cls, text: str, file: str = "", line: int = 1, column: int = 1) -> Source:
        """Return the source for a text that is not a whole file, such as canonical text."""
        return cls(file, tokenize(text), line, column)

    def place(self, index: int) -> tuple[int, int]:
        """Return the line and the column of a token, both counted from 1."""
        line, column = self.tokens.place(index)
        return line + self.line - 1, column + self.column - 1 if line == 1 else column


@dataclass(frozen=True)
class LinedSource(Source):
    """A source text whose lines are lines of a file that need not be consecutive."""

    lines: tuple[int, ...] = ()

    def place(self, index: int) -> tuple[int, int]:
        """Return the line and the column of a token in the file, both counted from 1."""
        line, column = self.tokens.place(index)
        return (self.lines[line - 1], column) if line <= len(self.lines) else super().place(index)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a source, from its first to its last token."""

    source: Source
    first: int
    last: int

    @property
    def line(self) -> int:
        """The line of the first token, from 1."""
        return self.source.place(self.first)[0]

    @property
    def column(self) -> int:
        """The column of the first token, from 1."""
        return self.source.place(self.first)[1]

    @property
    def text(self) -> str:
        """The source text of the span, with single blanks in place of all white space."""
        tokens = self.source.tokens
        end = tokens.offsets[self.last] + len(tokens.texts[self.last])
        return " ".join(tokens.text[tokens.offsets[self.first] : end].split())

    def __str__(self) -> str:
        line, column = self.source.place(self.first)
        return f"{self.source.file}:{line}:{column}"


@dataclass(frozen=True, slots=True)
class Mistake:
    """An error or a warning in a program; for a mistake in a composite's body, `within` names the invocation."""

    code: str
    message: str
    span: Span
    within: str = ""


Report = Callable[[str, str, Node], None]
"""A function that reports a mistake, given as its code, its message, and the node at which it is."""


def mistake_reporter(source: Source, mistakes: list[Mistake]) -> Report:
    """Return a function that adds a mistake at a node of a file to `mistakes`."""

    def report(code: str, message: str, node: Node) -> None:
        mistakes.append(Mistake(code, message, Span(source, node.first, node.last)))

    return report
