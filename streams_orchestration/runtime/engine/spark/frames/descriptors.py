"""The input of a query's sources in a batch: planned by one of them, repeated by the others.

A query of Spark's has a source for every place in which a view stands, each in a Python process of its own. Spark asks
all of them for every batch, and all must come to the same one.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from streams_orchestration.operators.durable_files import write_whole
from streams_orchestration.runtime.programs.batches import Segment
from streams_orchestration.runtime.queries.scratch import Scratch

READ, WRITTEN = 0, 1
"""Levels of the answers that tasks give: those that read, and those that write."""


@dataclass(frozen=True, slots=True)
class PortBatch:
    """The input of one port in a batch."""

    segments: tuple[Segment, ...] = ()
    filters: dict[str, str] = field(default_factory=dict)
    """Stream -> the condition under which its tuples are taken."""
    marker: int | None = None
    """Event time of a row that is there for the watermark only, in microseconds since 1970."""


@dataclass(frozen=True, slots=True)
class FrameBatch:
    """A batch of a query, by (operator, port) as `operator:port`."""

    ports: dict[str, PortBatch]


_codec: TypeAdapter[FrameBatch] = TypeAdapter(FrameBatch)
port_codec: TypeAdapter[PortBatch] = TypeAdapter(PortBatch)


class BatchRecord:
    """Files in the scratch directory of a query that its sources share."""

    def __init__(self, scratch: Scratch) -> None:
        self._directory = Path(scratch.path) / "frames"

    def lead(self) -> bool:
        """Return True if this process is the one that plans, which is the first to call this."""
        self._directory.mkdir(exist_ok=True)
        try:
            os.close(os.open(self._directory / "leader", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def begin(self, batch: int) -> None:
        """Note the batch behind which the query begins."""
        self._write("first", json.dumps(batch).encode())

    def first(self) -> int:
        """Behind which batch it begins."""
        return json.loads((self._directory / "first").read_bytes())

    def plan(self, batch: int, planned: FrameBatch) -> None:
        """Write down a batch before any source names it."""
        self._write(str(batch), _codec.dump_json(planned))
        (self._directory / str(batch - 2)).unlink(missing_ok=True)

    def is_planned(self, batch: int) -> bool:
        """Return True if there is such a batch."""
        return (self._directory / str(batch)).exists()

    def port(self, batch: int, operator: int, port: int) -> PortBatch:
        """Return the input of a port in a planned batch."""
        return _codec.validate_json((self._directory / str(batch)).read_bytes()).ports.get(
            f"{operator}:{port}", PortBatch()
        )

    def _write(self, name: str, data: bytes) -> None:
        write_whole(self._directory / name, data, durably=False)
