"""Errors of operators, as the tasks of a PE report them."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.model.printable import encodable
from streams_orchestration.model.secrets import masked
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError


@dataclass(frozen=True, slots=True)
class OperatorFailure:
    """The parts of an exception that an operator raised: its type and message, and its place as far as it is known."""

    operator: str
    """The physical name of the operator."""
    cause: str
    """The type and the message of the exception; the message alone if it says enough."""
    exception: str
    """The name of the exception's type."""
    file: str = ""
    """The file of the operator's own code that raised, or that was called last; empty if none of its code ran."""
    line: int = 0
    """The line in `file`; 0 without a file."""
    pure: bool = False
    """True if the operator keeps no state and changes nothing, so that the same tuples would make it fail again."""
    batch: int = 0
    """The number of the batch."""
    port: int | None = None
    """The input port at which the tuples or the punctuation arrived; None if the operator was called for neither."""
    mark: str = ""
    """The punctuation that arrived: `window` or `final`; empty for tuples."""
    first: int = 0
    """The number of the first tuple of the range in which the operator failed; `last` is that range's last number.

    Tuples are numbered from 1 for each batch and port.
    """
    last: int = 0
    values: str = ""
    """The tuple that failed, shortened; empty if several tuples are possible."""
    origin: str = ""
    """The file or segment that the tuples were read from, with the rows; empty if that is not known."""

    def is_again(self, before: OperatorFailure) -> bool:
        """Return True if the same line failed with the same type of exception at the same tuples as before.

        A replay may number the tuples differently, and the message may contain other tuples of the batch.
        """
        if (self.code, self.port, self.mark) != (before.code, before.port, before.mark):
            return False
        if self.values or before.values:
            return self.values == before.values
        return (self.batch, self.first, self.last) == (before.batch, before.first, before.last)

    def __post_init__(self) -> None:
        """Hide secrets and escape surrogates, since the texts go into the catalog and the logs."""
        object.__setattr__(self, "cause", encodable(masked(self.cause)))
        object.__setattr__(self, "values", encodable(masked(self.values)))
        object.__setattr__(self, "file", encodable(self.file))
        object.__setattr__(self, "origin", encodable(self.origin))

    @property
    def code(self) -> tuple[str, str, str, int]:
        """The operator, type of exception, file and line, which identify the kind of the failure."""
        return self.operator, self.exception, self.file, self.line

    @property
    def kind(self) -> str:
        """The kind of the failure as text: operator, type of exception, file and line.

        Failures of one kind count as having the same cause.
        """
        return " ".join(map(str, self.code))

    def __str__(self) -> str:
        code = f" ({self.file}, line {self.line})" if self.file else ""
        return f"{self.cause}{code}{self._place()}"

    def _place(self) -> str:
        if self.port is None:
            return ""
        if self.mark:
            return f"; at the {self.mark} marker on input port {self.port}"
        port = f"of batch {self.batch} on input port {self.port}"
        source = f", read from {self.origin}" if self.origin else ""
        if self.first == self.last:
            return f"; at tuple {self.first} {port}{', ' + self.values if self.values else ''}{source}"
        return f"; at one of the tuples {self.first} to {self.last} {port}{source}"


class OperatorError(StreamsRuntimeError):
    """An operator raised an error, its parameters or data do not suit it, or its stored state cannot be read."""

    def __init__(self, operator: str, message: str, failure: OperatorFailure | None = None) -> None:
        self.operator = operator
        self.reason = masked(message)
        self.failure = failure
        """The operator's exception, in parts; None if the failure is not an exception of an operator."""
        super().__init__(f"operator {operator}: {message}")

    def __reduce__(self) -> tuple[type[OperatorError], tuple[str, str, OperatorFailure | None]]:
        return type(self), (self.operator, self.reason, self.failure)
