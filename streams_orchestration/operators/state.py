"""Operator state as bytes: named Arrow tables and JSON values in one self-checking file.

Nothing is pickled, so that a state can be read by another version of Python and holds no code.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

State = Mapping[str, Any]
"""What `Operator.checkpoint` gives and `Operator.restore` gets: name -> `pyarrow.Table` or a JSON value."""

_MAGIC = b"STREAMS-STATE-1\n"


class StateError(ValueError):
    """A stored state is not whole, or a state holds something that cannot be stored."""


def dump_state(state: State) -> bytes:
    """Serialise a state.

    Raises:
        StateError: a value is neither a table nor JSON.
    """
    tables = {name: value for name, value in state.items() if isinstance(value, pa.Table)}
    values = {name: value for name, value in state.items() if name not in tables}
    body = io.BytesIO()
    sizes: dict[str, int] = {}
    for name, table in tables.items():
        before = body.tell()
        with pa.ipc.new_stream(body, table.schema) as writer:
            writer.write_table(table)
        sizes[name] = body.tell() - before
    try:
        header = json.dumps({"values": values, "tables": sizes}, allow_nan=True).encode()
    except TypeError as error:
        message = f"a state may hold Arrow tables and JSON values only: {error}"
        raise StateError(message) from error
    content = len(header).to_bytes(8, "big") + header + body.getvalue()
    return _MAGIC + zlib.crc32(content).to_bytes(4, "big") + content


def load_state(data: bytes) -> dict[str, Any]:
    """Read a state back.

    Raises:
        StateError: the bytes are not a whole state.
    """
    start = len(_MAGIC) + 4
    content = data[start:]
    if (
        not data.startswith(_MAGIC)
        or not content
        or zlib.crc32(content) != int.from_bytes(data[len(_MAGIC) : start], "big")
    ):
        message = "it is truncated or was altered"
        raise StateError(message)
    length = int.from_bytes(content[:8], "big")
    header = json.loads(content[8 : 8 + length])
    state: dict[str, Any] = dict(header["values"])
    position = 8 + length
    for name, size in header["tables"].items():
        state[name] = pa.ipc.open_stream(pa.py_buffer(content[position : position + size])).read_all()
        position += size
    return state
