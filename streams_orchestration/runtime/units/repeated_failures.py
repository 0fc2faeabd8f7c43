"""Repeated failures of an operator: at the same tuples, or at others from the same line of its code.

The functions are pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from streams_orchestration.runtime.errors.operator_errors import OperatorFailure

FAILURE_WINDOW_SECONDS = 600.0
"""Seconds for which failures of the same code are counted together."""
MOST_TIMES = 16
"""The most failure times that are kept; more times would not make a pause longer."""


@dataclass(frozen=True, slots=True)
class RepeatedFailure:
    """The last failure of a PE's operators, and how often it has occurred."""

    failure: OperatorFailure
    repeats: int = 1
    """The number of times in a row that it occurred at the same tuples."""
    times: tuple[float, ...] = ()
    """The unix seconds at which the same line of code failed in the same way, within the window; the oldest first."""

    @property
    def hopeless(self) -> bool:
        """True if a pure operator failed twice at the same tuples."""
        return self.repeats > 1 and self.failure.pure

    def describe(self, error: str) -> str:
        """Return an error text with the number of times in a row that the failure occurred, if it is more than one."""
        if self.repeats > 1:
            return f"{error}; this error occurred {self.repeats} times in a row at the same tuples"
        return error

    def row(self) -> dict[str, Any]:
        """Return the value that the catalog stores."""
        return {"failure": asdict(self.failure), "repeats": self.repeats, "times": list(self.times)}


def count_repeated_failure(before: Mapping[str, Any] | None, failure: OperatorFailure, now: float) -> RepeatedFailure:
    """Return the failure with its repeats in a row, and with the times of recent failures of the same code.

    At most `MOST_TIMES` times are kept, none older than `FAILURE_WINDOW_SECONDS`.

    Args:
        before: the stored value of the previous failure; None without one.
        failure: the new failure.
        now: unix seconds.
    """
    if before is None:
        return RepeatedFailure(failure, times=(now,))
    last = OperatorFailure(**before["failure"])
    repeats = before["repeats"] + 1 if failure.is_again(last) else 1
    former = before["times"] if failure.code == last.code else ()
    times = tuple(at for at in former if abs(now - at) < FAILURE_WINDOW_SECONDS)
    return RepeatedFailure(failure, repeats, (*times, now)[-MOST_TIMES:])


def times_of_failure(row: Mapping[str, Any] | None, now: float) -> int:
    """Return how often the code that failed last has failed in `FAILURE_WINDOW_SECONDS`; 0 if no code has failed."""
    return 0 if row is None else sum(abs(now - at) < FAILURE_WINDOW_SECONDS for at in row["times"])
