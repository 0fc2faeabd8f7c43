"""Operators that go by the clock: they are called at a time, also without input.

The time of a batch is that at which it was planned, for all operators of a PE. It is in `context.now`, and never goes
back for one operator. A batch that is not committed has no effects, so a repetition may have another time. After a
reset to a cut other batches come at other times; what an operator does by the clock is then not repeated exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams_orchestration.operators.contract import Operator


class ClockOperator(Operator):
    """Base class of operators that may use the clock, depending on their parameters."""

    @classmethod
    def goes_by_clock(cls, parameters: Mapping[str, Any]) -> bool:
        """Return True if an operator with these parameters, unprocessed as in the spec, uses the clock."""
        return True

    def on_time(self) -> None:
        """Handle the time `context.now`, before the tuples of the batch come; may submit tuples and marks."""

    def wake(self) -> float | None:
        """Return the unix time at which the operator wants to be called without input, or None.

        Asked at the end of each batch. A batch is planned for that time if none comes before.
        """
        return None
