"""Payloads of rows from level to level: a little data in the row itself, more of it in a file that only the row names.

So tuples do not pass through the JVM, its shuffle and two more sockets. The file lives in the scratch directory of the
query and is gone once its reader has mapped it. It is written while the batch goes on: no tuple is in memory twice.
Executors of a cluster need not share a machine: there the process that has made the data holds it (`held.py`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.runtime.engine.spark.held import HELD
from streams_orchestration.runtime.transport.segments import Item, encode, write_item, writer_options

INLINE_BYTES = 64 << 10
HELD_BYTES = 1 << 20
"""Bytes of tuples that are held before they are written."""
_FILE = b"file:"
"""No Arrow IPC stream begins like this."""


class RowSender:
    """The `Sender` of tasks whose payloads are rows of Spark's.

    Args:
        place: for what is too large for a row: a directory, or what holds it and gives what a reader takes it by.
        schema: of the tuples.
    """

    def __init__(self, place: str | Callable[[pa.Buffer], bytes], schema: pa.Schema) -> None:
        self._hold = place if callable(place) else None
        self._path = None if callable(place) else Path(place) / uuid.uuid4().hex
        self._schema = schema
        self._held: list[Item] = []
        self._bytes = 0
        self._file: Any = None
        self._writer: Any = None

    def send(self, item: Item) -> None:
        """Add an item to the payload."""
        self._held.append(item)
        if isinstance(item, TupleBatch):
            self._bytes += item.nbytes
        if self._bytes >= HELD_BYTES and self._path is not None:
            self._write()

    def payload(self) -> tuple[bytes, int]:
        """Return the payload of the row for all items, and how many bytes they are; nothing can be sent afterwards."""
        if self._file is None:
            data = encode(self._held, self._schema)
            if data.size <= INLINE_BYTES:
                return data.to_pybytes(), data.size
            if self._hold is not None:
                return self._hold(data), data.size
            assert self._path is not None
            self._path.write_bytes(data)
            return _FILE + str(self._path).encode(), data.size
        self._write()
        self._writer.close()
        size = self._file.tell()
        self._file.close()
        return _FILE + str(self._path).encode(), size

    def _write(self) -> None:
        if self._file is None:
            self._file = pa.OSFile(str(self._path), "wb")
            self._writer = pa.ipc.new_stream(self._file, self._schema, options=writer_options())
        for item in self._held:
            write_item(self._writer, item, self._schema)
        self._held.clear()
        self._bytes = 0


def take_over(payload: bytes, take: Callable[[bytes], pa.Buffer]) -> pa.Buffer:
    """Return the Arrow IPC stream of a row; to be called once.

    Args:
        payload: of the row.
        take: gives what another process holds.
    """
    if payload.startswith(HELD):
        return take(payload)
    if not payload.startswith(_FILE):
        return pa.py_buffer(payload)
    path = Path(payload.removeprefix(_FILE).decode())
    data = pa.memory_map(str(path)).read_buffer()
    path.unlink()
    return data
