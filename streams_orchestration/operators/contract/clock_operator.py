"""Operators that use the clock: the runtime calls them at a requested time, even without input.

All operators of a PE see the time at which the batch was planned. It is in `context.now`, and never decreases for one
operator. A batch that is not committed has no effects, so its repetition may have another time. After a reset to a cut,
batches are planned at other times, so actions that depend on the clock are not repeated exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from streams_orchestration.operators.contract.operator import Operator


class ClockOperator(Operator):
    """Base class of operators that may use the clock, depending on their parameters."""

    clock_by_choice: ClassVar[bool] = False
    """True if the operator uses the clock only with the parameter `by: clock`."""

    @classmethod
    def goes_by_clock(cls, parameters: Mapping[str, Any]) -> bool:
        """Return True if an operator with these raw parameters uses the clock: always, or by `clock_by_choice`."""
        return not cls.clock_by_choice or parameters.get("by") == "clock"

    def on_time(self) -> None:
        """Act on the time `context.now`, before the tuples of the batch are processed; may submit tuples and marks."""

    def wake(self) -> float | None:
        """Return the unix time at which the operator wants to be called without input; None, the default, for never.

        The runtime calls this at the end of each batch, and plans a batch for that time at the latest.
        """
        return None
