"""Expressions of SPL as parameters: `{spl: "n > 1", at: "Main.spl:14:22"}` where an expression of ours may stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, ValidationError, WrapValidator

from streams_orchestration.model.programs import is_program


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    spl: str
    at: str = ""
    types: dict[str, str] = {}


class SplText(str):
    """The text of an expression of SPL; it differs from every text that is none of SPL's.

    Attributes:
        at: the place in the source, `file:line:column`.
        types: the tuple type of each input port whose columns do not say it, by its name, as SPL writes it.
    """

    __slots__ = ("at", "types")
    at: str
    types: dict[str, str]

    def __new__(cls, text: str, at: str = "", types: dict[str, str] | None = None) -> SplText:
        """Return a text with its place."""
        made = super().__new__(cls, text)
        made.at = at
        made.types = types or {}
        return made

    def __eq__(self, other: object) -> bool:
        """Compare texts and types, not places, so that a moved program is the same."""
        return isinstance(other, SplText) and self.text == other.text and self.types == other.types

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(("spl", self.text))

    def __str__(self) -> str:
        return self

    @property
    def text(self) -> str:
        """The text alone."""
        return self[:]


def text_or_program(value: Any, handler: Callable[[Any], Any]) -> Any:
    """Validate an expression: a program of SPL, or what the handler takes."""
    if isinstance(value, SplText):
        return value
    if not is_program(value):
        return handler(value)
    try:
        written = _Written.model_validate(value)
    except ValidationError as error:
        names = ", ".join(".".join(map(str, each["loc"])) for each in error.errors())
        message = f"an expression of SPL has the keys spl, at and types; {names} is wrong"
        raise ValueError(message) from None
    return SplText(written.spl, written.at, written.types)


ExpressionText = Annotated[str, WrapValidator(text_or_program)]
"""A parameter that is an expression."""


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
    """Return an expression beside logic, which must be one of SPL, too.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(text, SplText):
        message = f"{parameter}: beside logic in SPL an expression is written in SPL, too: {{spl: ...}}"
        raise ValueError(message)
    return text
