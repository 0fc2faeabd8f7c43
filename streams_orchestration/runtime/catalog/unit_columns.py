"""The values of columns of a unit's row that are stored as JSON, and the types of these columns, which decode them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import Dialect
from sqlalchemy.types import JSON, TypeDecorator

from streams_orchestration.runtime.catalog.cause_kinds import NO_KIND, CauseKind, read_kind

AVERAGED = 10
"""The number of drains or resets over which averages are taken (B34)."""

NO_CAUSE: dict[str, Any] = {"cause": None, "kind": NO_KIND, "give_up_at": None}
"""The columns of the cause for which a unit fails, without one."""
FORGIVEN = {"attempts": 0, **NO_CAUSE}
"""The columns that a complete epoch clears. The fields of a `RegionRecord` have the same names."""

Moment = Literal["failed", "detected", "asked", "began", "done", "committed"]
"""The moments of an outage of a unit, in their order."""


class Tries(NamedTuple):
    """The resets for causes of one kind since the last complete checkpoint."""

    kind: CauseKind
    number: int
    since: float
    """The time of the first of these resets, in unix seconds."""
    lately: bool = False
    """True for the count of recent resets for a `FilesKind`, which checkpoints keep for a while."""


class ResetDurations(NamedTuple):
    """The durations of the last drains or resets (B34)."""

    sequence: int = -1
    """Sequence id of the last completed drain or reset; -1 before the first."""
    at: float | None = None
    """The time when the last drain or reset was complete, in unix seconds; None before the first one."""
    seconds: tuple[float, ...] = ()
    """The durations of the last drains or resets in seconds, at most ten, the newest last."""

    @property
    def average(self) -> float | None:
        """The average of `seconds`; None before the first drain or reset."""
        return sum(self.seconds) / len(self.seconds) if self.seconds else None

    def add(self, sequence: int, at: float, seconds: float) -> ResetDurations:
        """Return the times with one more measurement; durations before the last `AVERAGED` are dropped."""
        return ResetDurations(sequence, at, (*self.seconds, seconds)[-AVERAGED:])


class TriesColumn(TypeDecorator[tuple[Tries, ...]]):
    """The column type of the resets for each kind of cause. Null means that there are none."""

    impl = JSON
    cache_ok = True

    def process_bind_param(self, value: Iterable[Sequence[Any]] | None, dialect: Dialect) -> Any:  # noqa: ARG002  SQLAlchemy's
        """Return the resets as they are stored, with the texts of their kinds; None stays None."""
        return None if value is None else [[str(kind), *rest] for kind, *rest in value]

    def process_result_value(self, value: Any, dialect: Dialect) -> tuple[Tries, ...]:  # noqa: ARG002  SQLAlchemy's
        """Return the resets for each kind of cause."""
        return tuple(Tries(read_kind(kind), *rest) for kind, *rest in value or ())


class DurationsColumn(TypeDecorator[ResetDurations]):
    """The column type of the durations of drains or resets. Null means that there are none."""

    impl = JSON
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> ResetDurations:  # noqa: ARG002  SQLAlchemy's
        """Return the durations."""
        if value is None:
            return ResetDurations()
        sequence, at, seconds = value
        return ResetDurations(sequence, at, tuple(seconds))
