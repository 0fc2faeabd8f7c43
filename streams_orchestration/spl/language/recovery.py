"""The base class of the parsers, which continue after a syntax error.

A fault is raised at a token. The innermost list that is being read catches the fault, and skips to where its next
element can begin. A missing mark whose place is clear is reported and treated as present, so nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from streams_orchestration.spl.language.tokens import MOST_FINDINGS, Finding, Tokens
from streams_orchestration.spl.language.tree import Name

DEEPEST = 200
"""The most levels of nesting in a definition, and the most operators in a chain."""
CLAUSES = frozenset({"logic", "window", "param", "output", "config", "onTuple", "onPunct"})
"""Words that begin a clause, or a part of a clause, of an invocation."""
BEYOND = frozenset({"composite", "public", "stream", "graph", "@"})
"""Tokens that occur only outside of invocations and functions."""
STATEMENTS = frozenset({"if", "while", "for", "return", "break", "continue", "mutable"})
"""Words that begin a statement."""
_BEHIND_NAMES = frozenset([",", ">", "=", ";", ")", ":", "as"])
"""Tokens that typically follow a name: a keyword before one of them was meant as a name."""
_OPERANDS = frozenset({"word", "number", "string"})
_IMPLIED_BEFORE: dict[str, frozenset[str]] = {
    ")": frozenset({"{", ";"}),
    "]": frozenset({";"}),
    "{": CLAUSES | {"graph", "type"},
    "}": frozenset({";"}),
    ";": CLAUSES | BEYOND | {"}"},
    ":": frozenset({"{", "[", "("}),
    "=": frozenset({"{", "[", "("}),
}
"""Mark -> the tokens before which its absence is reported, and the mark is treated as present."""
_ANNOTATED = frozenset({"@", "stream", "(", "composite", "public"})
"""Tokens that may follow an annotation."""
_Element = TypeVar("_Element")


class FaultError(Exception):
    """The token is not allowed at this place.

    Attributes:
        index: the index of the token.
        resume: the index of the token at which parsing continues; None if the catching list looks for one.
    """

    def __init__(self, code: str, message: str, index: int, resume: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.index = index
        self.resume = resume


class NestingError(Exception):
    """A definition is nested too deeply.

    The parser of a file catches this error only for a whole definition, so it is reported once.
    """


class TooManyFindingsError(Exception):
    """The file has more mistakes than one run reports."""


class UnclosedStringError(Exception):
    """A string at `offset` probably lacks its closing quote: it contains line breaks, and a fault follows it."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class Reader:
    """The position of a parser in the tokens of a file, and its findings so far.

    Methods that read syntax raise `FaultError` if it is wrong, and `NestingError` if it is nested too deeply. Methods
    that report a finding may raise `TooManyFindingsError`, and, unless the reader is patient, `UnclosedStringError`.
    """

    def __init__(self, tokens: Tokens, at: int = 0, *, patient: bool = False) -> None:
        """Begin at a token. A `patient` reader never raises `UnclosedStringError`."""
        self.tokens = tokens
        self.patient = patient
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.at: int = at
        self.depth: int = 0
        self.height: int = 0
        """The height of the syntax tree of the expression that was read last."""
        self.findings = list(tokens.findings)
        self._reported = -1
        self._levels: list[int] | None = None

    # --- tokens

    def accept(self, text: str) -> bool:
        """Consume the next token if it is this keyword or mark; return True if so."""
        if self.texts[self.at] != text:
            return False
        self.at += 1
        return True

    def expect(self, text: str) -> None:
        """Consume a required keyword or mark. If it is missing but its place is clear, report that and continue.

        Raises:
            FaultError: the next token is a different one.
        """
        if self.texts[self.at] == text:
            self.at += 1
        elif self._is_implied(text):
            self._refuse_unclosed(self.at)
            self.report("CDISP0008E", f"'{text}' is missing before {self.found()}", self.at)
        else:
            self.refuse(f"'{text}'")

    def identifier(self, what: str) -> Name:
        """Read a name without a namespace.

        A keyword in the place of a name is reported, and taken for the name, if a token such as `=` follows.

        Raises:
            FaultError: the next token is not a name; `what` describes the named thing in the message.
        """
        at = self.at
        if self.kinds[at] == "keyword" and self.texts[at + 1] in _BEHIND_NAMES:
            self.report("CDISP0009E", f"expected {what}, found {self.found()}", at)
        elif self.kinds[at] != "word":
            self.refuse(what)
        self.at = at + 1
        return Name(at, at, "", self.texts[at])

    def declared(self, what: str) -> Name:
        """Read a name in a declaration. Only parameters of composites may begin with `$`.

        Other such names are reported.
        """
        name = self.identifier(what)
        if name.name.startswith("$"):
            self.report(
                "CDISP0412E", f"{name.name} may not begin with $: it is not a parameter of a composite", name.first
            )
        return name

    def found(self) -> str:
        """Return the next token as messages quote it: at most 40 characters of its first line."""
        text = self.texts[self.at].partition("\n")[0]
        return f"'{text:.40}'" if text else "the end of the file"

    def refuse(self, expected: str) -> NoReturn:
        """Raise a fault that names the expected syntax and the token that was found instead."""
        code = "CDISP0011E" if expected.startswith("'") else "CDISP0009E"
        raise FaultError(code, f"expected {expected}, found {self.found()}", self.at)

    def _is_implied(self, text: str) -> bool:
        at = self.at
        implied = self.texts[at] in _IMPLIED_BEFORE.get(text, ()) and not self.is_stray(at)
        if implied or (text == "}" and self.is_beyond):
            return True
        return (text in ":=" and self.kinds[at] in _OPERANDS) or (text == ";" and self.tokens.on_new_line(at))

    @property
    def is_beyond(self) -> bool:
        """True if the next token occurs only outside of invocations and functions, or is the end of the file."""
        text = self.texts[self.at]
        return (
            (text in BEYOND and not self.is_stray(self.at))
            or not text
            or (text == "(" and self.texts[self.at + 1 : self.at + 3] == (")", "as"))
        )

    def is_stray(self, at: int) -> bool:
        """Return True for a token `@` that begins no annotation; False for other tokens.

        An annotation is a name, then perhaps parentheses, before another annotation, an invocation or a definition.
        """
        if self.texts[at] != "@" or self.kinds[at + 1] != "word":
            return self.texts[at] == "@"
        behind = at + 2
        if self.texts[behind] == "(" and self.texts[behind + 1] not in ("stream", ")"):
            depth = 0
            while self.kinds[behind] != "end":
                depth += (self.texts[behind] == "(") - (self.texts[behind] == ")")
                behind += 1
                if not depth:
                    break
        return self.texts[behind] not in _ANNOTATED

    # --- nesting

    def deeper(self) -> None:
        """Enter a level of nesting; the caller leaves it by `self.depth -= 1`.

        Raises:
            NestingError: there are too many levels.
        """
        self.depth += 1
        self.refuse_depth(0)

    def grow(self, height: int) -> None:
        """Update the height of the last expression after it was joined with another part, whose height is given.

        Raises:
            NestingError: there are too many levels.
        """
        self.height = max(height, self.height) + 1
        self.refuse_depth(self.height)

    def refuse_depth(self, more: int) -> None:
        """Raise `NestingError` if `more` levels below the current depth exceed the limit."""
        if self.depth + more > DEEPEST:
            raise NestingError

    # --- lists

    def elements(
        self, element: Callable[[], _Element], ends: Callable[[], bool], stops: frozenset[str], *, closers: str = ";}"
    ) -> tuple[_Element, ...]:
        """Read the elements of a list up to its end. Report a fault, and continue with the next element.

        If the next element is faulty at its first token, too, that fault is not reported, since the first one explains
        it.

        Args:
            element: reads one element.
            ends: returns True if the next token ends the list.
            stops: words at which skipping ends at any nesting level, since they begin a later part of the file.
            closers: the marks with which an element can end.
        """
        read: list[_Element] = []
        depth, lost = self.depth, False
        while not ends():
            begin = self.at
            try:
                read.append(element())
                lost = False
            except FaultError as fault:
                self.depth = depth
                self.caught(fault, known=lost and fault.index == begin)
                lost = True
                if fault.resume is None:
                    self.skip(begin, stops, ends, closers)
                if self.at == begin:
                    self.at += 1  # nothing else takes this token
        return tuple(read)

    def caught(self, fault: FaultError, *, known: bool = False) -> None:
        """Report a fault, unless it follows from an earlier one (`known`), and move to where parsing continues."""
        self._refuse_unclosed(fault.index)
        if not known:
            self.report(fault.code, str(fault), fault.index)
        self.at = max(self.at, fault.index) if fault.resume is None else fault.resume

    def report(self, code: str, message: str, index: int) -> None:
        """Add a finding at a token, unless it is a consequence of the previous finding.

        Raises:
            TooManyFindingsError: the limit of findings for one run is reached.
        """
        if index == self._reported or index in self.tokens.suspects:
            return
        if len(self.findings) >= MOST_FINDINGS:
            raise TooManyFindingsError
        self._reported = index
        self.findings.append(Finding(code, message, *self.tokens.place(index)))

    def skip(self, begin: int, stops: frozenset[str], ends: Callable[[], bool], closers: str = ";}") -> None:
        """Skip the rest of a faulty element, up to a word in `stops`, the next element, or the end of the list."""
        level = self.levels[begin]
        while self.kinds[self.at] != "end":
            text, deep = self.texts[self.at], self.levels[self.at] - level
            if self.at > begin and text in stops and self._stops(text):
                return
            if deep <= 0 and (text == "}" or (self.at > begin and (text in STATEMENTS or ends()))):
                return
            self.at += 1
            if text in closers and (deep <= 0 if text == ";" else deep == 1):
                return

    def _stops(self, text: str) -> bool:
        return not self.is_stray(self.at) and (text != "stream" or self.texts[self.at - 1] not in ("(", ";"))

    @property
    def levels(self) -> list[int]:
        """For each token, the number of open braces before it."""
        if self._levels is None:
            level, levels = 0, list[int]()
            for text in self.texts:
                levels.append(level)
                level += (text == "{") - (text == "}")
            self._levels = levels
        return self._levels

    def _refuse_unclosed(self, index: int) -> None:
        for before in () if self.patient else range(max(0, index - 3), index):
            if self.kinds[before] == "string" and "\n" in self.texts[before]:
                raise UnclosedStringError(self.tokens.offsets[before])
