"""Expressions of SPL in parameters: `{spl: "n > 1", at: "Main.spl:14:22"}` in place of an expression in SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, ValidationError, WrapValidator

from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.naming import OuterCall, Part, outer_call
from streams_orchestration.model.programs import is_program
from streams_orchestration.operators.expressions.spl.natives import NativeEntry


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    spl: str
    at: str = ""
    types: dict[str, str] = {}
    functions: tuple[NativeEntry | str, ...] = ()
    constants: dict[str, Any] = {}


class SplText(str):
    """The text of an expression of SPL.

    It never equals a plain `str`, even one with the same characters. Two `SplText` are equal if they differ only in
    their places.

    Attributes:
        at: the place in the source, `file:line:column`.
        types: maps the name of an input port to a tuple type: the SPL types of attributes that Arrow columns cannot
            express.
        functions: the functions that the expression calls: texts of the application's functions, and native ones.
        constants: the submission-time values that the expression reads, by name.
    """

    __slots__ = ("at", "constants", "functions", "types")
    at: str
    types: dict[str, str]
    functions: tuple[NativeEntry | str, ...]
    constants: dict[str, Any]

    def __new__(
        cls,
        text: str,
        at: str = "",
        types: dict[str, str] | None = None,
        functions: tuple[NativeEntry | str, ...] = (),
        constants: dict[str, Any] | None = None,
    ) -> SplText:
        """Make the text of an expression; see the class for its attributes."""
        made = super().__new__(cls, text)
        made.at = at
        made.types = types or {}
        made.functions = functions
        made.constants = constants or {}
        return made

    def __eq__(self, other: object) -> bool:
        """Compare everything but places. So a program that was moved within its source counts as unchanged."""
        return isinstance(other, SplText) and self._compared == other._compared

    @property
    def _compared(self) -> tuple[object, ...]:
        return self.text, self.types, self.functions, self.constants

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(("spl", self.text))

    def __str__(self) -> str:
        return self

    @property
    def text(self) -> str:
        """The source text of the expression, without its place."""
        return self[:]

    def with_text(self, text: str, types: dict[str, str] | None = None) -> SplText:
        """Return another text with the same place, functions and constants.

        The types are kept unless others are given.
        """
        return SplText(text, self.at, self.types if types is None else types, self.functions, self.constants)

    @property
    def natives(self) -> tuple[NativeEntry, ...]:
        """The native functions that the expression calls."""
        return tuple(each for each in self.functions if not isinstance(each, str))

    @property
    def own_functions(self) -> tuple[str, ...]:
        """The texts of the functions of the application that the expression calls."""
        return tuple(each for each in self.functions if isinstance(each, str))


def text_or_program(value: Any, handler: Callable[[Any], Any]) -> Any:
    """Validate an expression: a program of SPL, or a text that the handler validates.

    Raises:
        ValueError: the mapping has other keys than an expression has, or the handler refuses the text.
    """
    if isinstance(value, SplText):
        return value
    if not is_program(value):
        return handler(value)
    try:
        written = _Written.model_validate(value)
    except ValidationError as error:
        names = ", ".join(".".join(map(str, each["loc"])) for each in error.errors())
        message = f"an expression of SPL has the keys spl, at, types, functions and constants, not {names}"
        raise ValueError(message) from None
    return SplText(written.spl, written.at, written.types, written.functions, written.constants)


ExpressionText = Annotated[str, WrapValidator(text_or_program)]
"""The type of a parameter that is an expression, as a text or as a program of SPL."""


def place_of(at: str) -> tuple[str, int, int]:
    """Return file, line and column of a place.

    >>> place_of("ns/Main.spl:14:22"), place_of("")
    (('ns/Main.spl', 14, 22), ('', 1, 1))
    """
    file, _, rest = at.partition(".spl:")
    if not rest:
        return at, 1, 1
    line, _, column = rest.partition(":")
    return f"{file}.spl", int(line) if line.isdecimal() else 1, int(column) if column.isdecimal() else 1


def program_of(text: str, parameter: str) -> SplText:
    """Return an expression of an operator with SPL logic, after checking that the expression is also in SPL.

    Raises:
        ValueError: it is an SQL expression.
    """
    if not isinstance(text, SplText):
        message = f"{parameter}: an operator with logic in SPL must also have its expressions in SPL: {{spl: ...}}"
        raise ValueError(message)
    return text


def call_as_name(text: str, function: str) -> str:
    """Return an expression in which each call of a function without arguments is replaced by the function's name.

    >>> call_as_name('(int32) Count() + length("Count()")', "Count")
    '(int32) Count + length("Count()")'
    """
    return _replaced(text, lambda _, *call: function if call == (function, "(", ")") else None)


def over_columns(text: SplText, columns: Mapping[tuple[str, str], str], types: str) -> SplText:
    """Return an expression of SPL over the joined columns of several ports.

    Args:
        text: the expression.
        columns: the column of each attribute, by the names of port and attribute.
        types: the tuple type of all columns, as SPL writes it.
    """

    def column(before: str, port: str, mark: str, name: str) -> str | None:
        return columns.get((port, name)) if mark == "." and before not in (".", "::") else None

    return text.with_text(_replaced(text.text, column), {"In": types})


def _replaced(text: str, change: Callable[[str, str, str, str], str | None]) -> str:
    """Return a text of SPL in which some triples of tokens are replaced.

    Args:
        text: the text.
        change: returns the new text of three tokens, or None to keep them, from the token before them and the three.
    """
    from streams_orchestration.spl.language.tokens import tokenize

    tokens = tokenize(text)
    texts, offsets = ("", *tokens.texts), tokens.offsets
    parts, done = list[str](), 0
    for index in range(len(texts) - 3):
        new = change(*texts[index : index + 4])
        if new is not None:
            parts += (text[done : offsets[index]], new)
            done = offsets[index + 2] + len(texts[index + 3])
    return "".join([*parts, text[done:]])


def call_of(text: str) -> OuterCall | None:
    """Parse a text, of SQL or SPL, as a single function call. Return None if it is another expression.

    >>> call_of(SplText("Max(Src.n + 1)", "Main.spl:3:4")).arguments[0].text
    'Src.n + 1'

    Raises:
        ExpressionError: the text is not an expression.
    """
    if not isinstance(text, SplText):
        return outer_call(text)
    from streams_orchestration.spl.language.expressions import expression_of
    from streams_orchestration.spl.language.printing import text_of
    from streams_orchestration.spl.language.recovery import FaultError, NestingError
    from streams_orchestration.spl.language.tree import Call, Name

    try:
        written = expression_of(text.text)
    except (FaultError, NestingError) as error:
        raise ExpressionError(str(error), 0) from error
    if not isinstance(written, Call) or not isinstance(written.function, Name):
        return None
    parts = tuple(Part(text.with_text(text_of(each)), 0) for each in written.arguments)
    return OuterCall(written.function.name, parts)
