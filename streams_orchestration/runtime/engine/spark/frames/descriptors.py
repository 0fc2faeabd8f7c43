"""The input of a query's sources in a batch: one source plans it, and the others read the plan.

A Spark query has a source for every use of a view, each in a Python process of its own. Spark asks all of them for
every batch, and all must return the same batch.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from streams_orchestration.operators.storage.durable_files import write_whole
from streams_orchestration.runtime.engine.spark.frames.output_delays import OutputDelay
from streams_orchestration.runtime.programs.batches import Segment
from streams_orchestration.runtime.queries.scratch import Scratch

READ, WRITTEN = 0, 1
"""The levels under which tasks that read and tasks that write give their answers."""


@dataclass(frozen=True, slots=True)
class PortBatch:
    """The input of one port in a batch."""

    segments: tuple[Segment, ...] = ()
    filters: dict[str, str] = field(default_factory=dict[str, str])
    """The name of a stream -> the condition that its tuples must meet."""
    marker: int | None = None
    """Event time, in microseconds since 1970, of a row that only advances the watermark.

    None if the batch has no such row.
    """


@dataclass(frozen=True, slots=True)
class FrameBatch:
    """A batch of a query, with the input of each port under the key `operator:port`."""

    ports: dict[str, PortBatch]


_codec: TypeAdapter[FrameBatch] = TypeAdapter(FrameBatch)
_delays: TypeAdapter[dict[str, OutputDelay]] = TypeAdapter(dict[str, OutputDelay])
port_codec: TypeAdapter[PortBatch] = TypeAdapter(PortBatch)


class BatchRecord:
    """Files in the scratch directory of a query through which its sources share planned batches.

    Methods raise OSError if a file cannot be read or written, and FileNotFoundError if it was not written before.
    """

    def __init__(self, scratch: Scratch) -> None:
        self._directory = Path(scratch.path) / "frames"

    def lead(self) -> bool:
        """Claim the planning of the query, and return True if this process was the first to do so."""
        self._directory.mkdir(exist_ok=True)
        try:
            os.close(os.open(self._directory / "leader", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def record_first(self, batch: int) -> None:
        """Record the batch after which the query begins."""
        self._write("first", json.dumps(batch).encode())

    def first(self) -> int:
        """Return the batch that `record_first` has recorded before."""
        return json.loads((self._directory / "first").read_bytes())

    def plan(self, batch: int, planned: FrameBatch) -> None:
        """Record a planned batch, and delete the record and the files of the batch before the last one.

        Call this before any source names the batch.
        """
        self._write(str(batch), _codec.dump_json(planned))
        (self._directory / str(batch - 2)).unlink(missing_ok=True)
        shutil.rmtree(self.released(batch - 2), ignore_errors=True)

    def released(self, batch: int) -> Path:
        """Return the path of the directory for the tuples that have waited and go to Spark with a batch."""
        return self._directory / f"{batch}-released"

    def set_delays(self, delays: dict[str, OutputDelay]) -> None:
        """Record the delays of the query's output ports, under the keys `operator:port`."""
        self._directory.mkdir(exist_ok=True)
        self._write("delays", _delays.dump_json(delays))

    def delays(self) -> dict[str, OutputDelay]:
        """Return the delays that `set_delays` has recorded before."""
        return _delays.validate_json((self._directory / "delays").read_bytes())

    def is_planned(self, batch: int) -> bool:
        """Return True if the batch is recorded."""
        return (self._directory / str(batch)).exists()

    def port(self, batch: int, operator: int, port: int) -> PortBatch:
        """Return the input of a port in a batch that `plan` recorded; empty if the port gets no rows."""
        return _codec.validate_json((self._directory / str(batch)).read_bytes()).ports.get(
            f"{operator}:{port}", PortBatch()
        )

    def _write(self, name: str, data: bytes) -> None:
        write_whole(self._directory / name, data, durably=False)
