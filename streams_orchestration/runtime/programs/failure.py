"""The failure of a task or a query, with its cause in words and the nature of the cause.

A task writes it as JSON into its answer. The planner passes it on to the host in the directory of the query, and the
host writes it into the row of the PE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from streams_orchestration.model.printable import encodable
from streams_orchestration.model.secrets import masked
from streams_orchestration.operators.errors.errors import AbortedError, DataError, RefusedError, StateError
from streams_orchestration.operators.errors.external_errors import is_outside
from streams_orchestration.runtime.errors.errors import explained
from streams_orchestration.runtime.errors.operator_errors import OperatorError, OperatorFailure
from streams_orchestration.runtime.storage.unusable_files import is_of_disk

Nature = Literal["data", "outside", "disk", "unknown"]
"""The nature of a cause.

After `data`, the same input would fail again. A cause that is `outside` of the application passes by itself. For `disk`
this holds as well, and the machine cannot use a file; the query may run on another machine.
"""


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a task or a query failed."""

    message: str
    """The cause in words, without the PE, the batch and the log: whoever shows the failure knows the PE and its log."""
    nature: Nature = "unknown"
    operator: OperatorFailure | None = None
    """The exception of an operator that is the cause; None if the cause is not an exception of an operator."""
    batch: int | None = None
    """The number of the batch that failed; None if the query failed outside of a batch."""

    def __post_init__(self) -> None:
        """Hide secrets and escape surrogates, since the message goes into the catalog and the logs."""
        object.__setattr__(self, "message", encodable(masked(self.message)))

    @classmethod
    def of(cls, error: Exception, batch: int | None = None) -> Failure:
        """Return the failure for an exception, with the nature of its cause; `batch` is None outside of a batch."""
        operator = error.failure if isinstance(error, OperatorError) else None
        return cls(explained(error), _nature(error), operator, batch)

    def __str__(self) -> str:
        return self.message if self.batch is None else f"batch {self.batch}: {self.message}"

    @property
    def outside(self) -> bool:
        """True if the cause is outside of the application."""
        return self.nature in ("outside", "disk")


def _nature(error: Exception) -> Nature:
    cause = error.__cause__ if isinstance(error, OperatorError) else None
    if isinstance(cause, DataError | RefusedError | StateError) and not isinstance(cause, AbortedError):
        return "data"
    if is_of_disk(error):
        return "disk"
    return "outside" if is_outside(error) else "unknown"
