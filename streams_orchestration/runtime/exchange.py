"""What a row carries from level to level: a little data in itself, much of it in a file that only the row names.

So tuples do not pass through the JVM, its shuffle and two more sockets. The file lives in the scratch directory of the
query and is gone once its reader has mapped it.
"""

from __future__ import annotations

import uuid
from pathlib import Path

import pyarrow as pa

INLINE_BYTES = 64 << 10
_FILE = b"file:"
"""No Arrow IPC stream begins like this."""


def hand_over(directory: str, data: pa.Buffer) -> bytes:
    """The payload of a row for an Arrow IPC stream."""
    if data.size <= INLINE_BYTES:
        return data.to_pybytes()
    path = Path(directory) / uuid.uuid4().hex
    with path.open("wb") as file:
        file.write(data)
    return _FILE + str(path).encode()


def take_over(payload: bytes) -> pa.Buffer:
    """The Arrow IPC stream of a row; to be called once."""
    if not payload.startswith(_FILE):
        return pa.py_buffer(payload)
    path = Path(payload.removeprefix(_FILE).decode())
    data = pa.memory_map(str(path)).read_buffer()
    path.unlink()
    return data
