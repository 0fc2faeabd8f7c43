"""The holder of a watermark: the connection, the partition, or the kept tuple that keeps it from rising."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from streams_orchestration.operators.tuples.watermarks import END, IDLE

HolderKind = Literal["connection", "partition", "source", "tuple", "operator", "idle", "unconnected", "end"]
"""The kinds of holders.

- connection: the least watermark among the operator's connections (EV19).
- partition: the least of the greatest times of a source's partitions (EV52).
- source: the greatest time of an operator that makes watermarks, and that names no partitions (EV17).
- tuple: the least time among the tuples that the operator keeps (EV62).
- operator: the operator itself, which sets its watermark (EV23).
- idle: nothing, since all connections or partitions are idle (EV51).
- unconnected: nothing, since no exported stream is connected to the operator's Imports (EV48).
- end: nothing, since all streams have ended (EV25).
"""


@dataclass(frozen=True, slots=True)
class Holder:
    """The cause that holds back the watermark of one operator: a connection, a partition or a tuple."""

    kind: HolderKind
    name: str = ""
    """The stream of a connection, or the name of a partition; empty for other kinds."""
    ticks: int | None = None
    """The connection's watermark, or the time of the tuple or partition, in ticks; None if there is none yet."""
    tuples: int | None = None
    """The number of tuples of the partition so far; None for other kinds."""
    inputs: int = 0
    """The number of connections or partitions."""
    idle: int = 0
    """The number of connections or partitions in `inputs` that are idle."""
    waiting: int = 0
    """The number of partitions that are not read, since they are too far ahead (EV65)."""

    def document(self, watermark: int | None, ticks: int) -> dict[str, Any]:
        """Return the holder with the watermark as JSON, times in unix seconds; None for `IDLE` and `END`.

        Args:
            watermark: the operator's watermark in ticks; None before the first one.
            ticks: the number of ticks in a second.
        """
        return {
            "watermark": _seconds(watermark, ticks),
            "holder": self.kind,
            "name": self.name,
            "time": _seconds(self.ticks, ticks),
            "tuples": self.tuples,
            "inputs": self.inputs,
            "idle": self.idle,
            "waiting": self.waiting,
        }


def _seconds(value: int | None, ticks: int) -> float | None:
    return None if value is None or value in (IDLE, END) else value / ticks
