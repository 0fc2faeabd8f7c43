"""Payloads of rows between levels: small ones in the row itself, large ones in a file that the row names.

So large data do not pass through the JVM, its shuffle and two more sockets. The file lies in the scratch directory of
the query, and is removed when its reader has mapped it. It is written during the batch, so no tuple is in memory twice.
Executors of a cluster need not share a machine, so there, the process that made the data keeps it for the reader
(`payload_store.py`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.engine.spark.payload_store import HELD
from streams_orchestration.runtime.transport.segments import Item, encode, write_item, writer_options

INLINE_BYTES = 64 << 10
"""The most bytes of a payload that is in the row itself."""
HELD_BYTES = 1 << 20
"""Bytes of tuples that are kept in memory before they are written to a file."""
_FILE = b"file:"
"""Prefix of a payload that names a file; no Arrow IPC stream begins with it."""


class RowSender:
    """The `Sender` of tasks whose payloads are rows of Spark's; its methods raise OSError if a file cannot be written.

    Payloads that are too large for a row go to `place`: a directory, or a function that holds them and returns the text
    by which a reader takes them.
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
        """Add an item to the payload.

        If payloads go to a directory, write the items to a file there once their tuples take `HELD_BYTES`.
        """
        self._held.append(item)
        if isinstance(item, TupleBatch):
            self._bytes += item.nbytes
        if self._bytes >= HELD_BYTES and self._path is not None:
            self._write()

    def payload(self) -> tuple[bytes, int]:
        """Return the payload for all items, and the size of the items in bytes. Nothing can be sent afterwards.

        Items of more than `INLINE_BYTES` are written to a file, or held, and the payload only names them.
        """
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


def read_payload_once(payload: bytes, take: Callable[[bytes], pa.Buffer]) -> pa.Buffer:
    """Return the Arrow IPC stream of a payload, and remove its file; call this once for a payload.

    `take` returns the data of a payload that another process holds.

    Raises:
        OSError: the payload's file is gone, or cannot be read.
        StreamsRuntimeError: the holder has ended, or does not hold the payload.
    """
    if payload.startswith(HELD):
        return take(payload)
    if not payload.startswith(_FILE):
        return pa.py_buffer(payload)
    path = Path(payload.removeprefix(_FILE).decode())
    data = pa.memory_map(str(path)).read_buffer()
    path.unlink()
    return data
