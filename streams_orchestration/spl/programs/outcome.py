"""The outcome of a program for a batch: submitted tuples and marks, values of expressions, or an error."""

from __future__ import annotations

# pyright: standard
from dataclasses import dataclass, field
from typing import Any

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.types.types import Tuple


@dataclass
class PortOutput:
    """The tuples that were submitted to an output port, by column, and the punctuation marks between them.

    Attributes:
        marks: for each punctuation mark, the number of tuples before it, and the word that names it.
        order: a list that several ports share; it gets the port's number for each submitted tuple or mark.
        number: the number of the output port.
    """

    type: Tuple
    columns: list[list[Any]] = field(default_factory=list[list[Any]])
    marks: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    order: list[int] | None = None
    number: int = 0

    def __post_init__(self) -> None:
        self.columns = self.columns or [[] for _ in self.type.attributes]

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def add(self, value: dict[str, Any]) -> None:
        """Add a tuple."""
        for column, attribute in zip(self.columns, self.type.attributes, strict=True):
            column.append(value[attribute.name])
        if self.order is not None:
            self.order.append(self.number)

    def mark(self, word: str) -> None:
        """Add a punctuation mark after the tuples so far."""
        self.marks.append((len(self), word))
        if self.order is not None:
            self.order.append(self.number)

    def clear(self) -> None:
        """Remove all tuples and punctuation marks, and empty `order` for all ports that share it."""
        for column in self.columns:
            column.clear()
        self.marks.clear()
        if self.order is not None:
            self.order.clear()

    def tuples(self) -> list[dict[str, Any]]:
        """Return the tuples one by one."""
        names = [each.name for each in self.type.attributes]
        return [dict(zip(names, row, strict=True)) for row in zip(*self.columns, strict=True)]


class FailedError(RunError):
    """The program failed at a tuple.

    Attributes:
        place: the file and line of the failed operation.
        position: the position of the tuple in the batch.
    """

    def __init__(self, message: str, place: str, position: int) -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.place = place
        self.position = position
