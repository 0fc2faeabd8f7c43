"""The file format of operator state: named Arrow tables and JSON values in checksummed files, whole or incremental.

A state is stored as a chain: a file with the whole state, then files with changes since the previous one. Parts that
track changes (`Incremental`) are stored incrementally; all other parts are in every file. If nothing has changed, no
file is written.

Nothing is pickled, so another version of Python can read a state, and a state contains no code.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from streams_orchestration.operators.errors.errors import StateError
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.incremental import Incremental
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.timers import Timers
from streams_orchestration.operators.states.tuple_log import TupleLog

State = Mapping[str, Any]
"""The state that `Operator.checkpoint` returns and `Operator.restore` receives.

It maps names to a `pyarrow.Table`, `KeyedState`, `DictState`, `TupleLog`, `Timers` or JSON value.
"""

SMALL = 1 << 16
"""A state of fewer bytes is always stored whole."""
SHARE = 0.5
"""Changes are stored while all changes of the chain take at most this share of the size of the whole state. Otherwise
the whole state is stored."""
MAX_CHAIN_FILES = 16
"""The largest number of files in a chain."""

_MAGIC = b"STREAMS-STATE-1\n"
_CHECKSUM, _LENGTH = 8, 8
"""The sizes in bytes of the checksum at the end, which is a text, and of the number that gives the header's length."""
_KINDS: dict[str, type[Incremental]] = {kind.kind: kind for kind in (KeyedState, DictState, TupleLog, Timers)}


class StateDump(NamedTuple):
    """The next file of a state's chain."""

    parts: Sequence[bytes | pa.Buffer]
    """The content of the file in pieces, some of which are the memory of the state: write them before the state
    changes. Empty if nothing has changed, so no file is needed.
    """
    checksum: int
    """The CRC-32 of the content."""
    kept: int
    """The number of earlier files of the chain that are still needed; 0 if this file holds the whole state."""
    plain: bytes
    """The digest of the parts that are not incremental."""

    @property
    def size(self) -> int:
        """The size of the content in bytes."""
        return sum(map(len, self.parts))

    @property
    def data(self) -> bytes:
        """The content of the file as one piece."""
        return b"".join(self.parts)


def dump_state(state: State, version: int = 0, chain: Sequence[tuple[int, int]] = (), plain: bytes = b"") -> StateDump:
    """Serialise a state, or its changes since it was last stored, and record in its parts that they are stored.

    Changes are merged into larger files so that sizes at least halve from one file of the chain to the next. That keeps
    chains short and rewrites little.

    Args:
        state: the state of the operator.
        version: a number above the versions of the chain.
        chain: version and size in bytes of the files that hold the state as last stored or loaded.
        plain: the digest of the non-incremental parts at that time, if known.

    Raises:
        StateError: a value is neither a table nor JSON, or a DictState holds a value that is not JSON.
    """
    parts = {name: value for name, value in state.items() if isinstance(value, Incremental)}
    others = _encode_plain(state)
    versions, sizes = [version for version, _ in chain], [size for _, size in chain]
    follows = bool(chain) and all(part.follows(name, versions[-1]) for name, part in parts.items())
    if follows and others.digest == plain and not any(part.has_changed(versions[-1]) for part in parts.values()):
        return StateDump((), 0, len(chain), plain)
    dump, kept = None, 0
    if parts and follows and sizes[0] >= SMALL and _few_changed(parts, versions[-1]):
        dump = _encode(parts, others, version, versions[-1])
        kept = _kept(sizes, dump.size)
        if 0 < kept < len(chain):
            dump = _encode(parts, others, version, versions[kept - 1])
    if dump is None or not kept:
        dump = _encode(parts, others, version, None)
    for name, part in parts.items():
        part.stored(name, version)
    return dump._replace(kept=kept)


def plain_digest(state: State) -> bytes:
    """Return the digest of the non-incremental parts of a loaded state; see `dump_state`."""
    return _encode_plain(state).digest


def _few_changed(parts: Mapping[str, Incremental], since: int) -> bool:
    """Return True if few rows have changed since a version, and some are left.

    Otherwise the changes are not even encoded, and the whole state is stored.
    """
    changed, rows = (
        sum(numbers) for numbers in zip(*(part.rows_to_store(since) for part in parts.values()), strict=True)
    )
    return rows > 0 and changed <= SHARE * rows


def _kept(sizes: Sequence[int], size: int) -> int:
    """Return how many files of a chain to keep before changes of this size; 0 if the state should be stored whole."""
    kept = len(sizes)
    while kept > 1 and (sizes[kept - 1] <= 2 * size or kept >= MAX_CHAIN_FILES):
        kept -= 1
        size += sizes[kept]
    return kept if sum(sizes[1:kept]) + size <= SHARE * sizes[0] else 0


def load_state(files: Iterable[bytes | pa.Buffer]) -> dict[str, Any]:
    """Restore a state from the files of its chain, in order; it is empty without files.

    Raises:
        StateError: a file is damaged, or does not follow the one before it.
    """
    state: dict[str, Any] = {}
    version: int | None = None
    for data in files:
        header, body = _decode(data)
        if header["since"] != version:
            message = "it does not continue the previous stored state"
            raise StateError(message)
        version = header["version"]
        former, state = state, dict(header["values"])
        state |= {name: _read_table(body, size) for name, size in header["tables"].items()}
        for name, (kind, sizes) in header["parts"].items():
            pieces = {piece: _read_table(body, size) for piece, size in sizes.items()}
            if header["since"] is None:
                state[name] = _KINDS[kind].load(pieces)
            else:
                state[name] = former[name]
                state[name].apply(pieces)
            state[name].stored(name, version)
    return state


class _Plain(NamedTuple):
    """The parts of a state that are always stored whole."""

    values: dict[str, Any]
    tables: dict[str, list[bytes | pa.Buffer]]
    digest: bytes


def _encode_plain(state: State) -> _Plain:
    values, tables = {}, {}
    for name, value in state.items():
        if isinstance(value, pa.Table):
            tables[name] = _written(value)
        elif not isinstance(value, Incremental):
            values[name] = value
    try:
        text = json.dumps([values, list(tables), [name for name in state if name not in values]], allow_nan=True)
    except TypeError as error:
        message = f"a state may hold Arrow tables, KeyedState, DictState and JSON values only: {error}"
        raise StateError(message) from error
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for written in tables.values():
        for piece in written:
            digest.update(piece)
    return _Plain(values, tables, digest.digest())


def _encode(parts: Mapping[str, Incremental], plain: _Plain, version: int, since: int | None) -> StateDump:
    """Return one file: a header in JSON, the tables in Arrow's stream format, and a checksum of both.

    That checksum is a text, since the CRC-32 of data with their CRC-32 as a number behind them is always the same.
    """
    sizes = {name: _size(written) for name, written in plain.tables.items()}
    header: dict[str, Any] = {"version": version, "since": since, "values": plain.values, "tables": sizes, "parts": {}}
    content: list[bytes | pa.Buffer] = [each for written in plain.tables.values() for each in written]
    for name, part in parts.items():
        try:
            pieces = part.whole() if since is None else part.changes(since)
        except TypeError as error:  # a key or value of a DictState
            message = f"a DictState may hold JSON values only, but the part {name} holds another: {error}"
            raise StateError(message) from error
        tables = {piece: _written(table) for piece, table in pieces.items()}
        content += [each for written in tables.values() for each in written]
        header["parts"][name] = part.kind, {piece: _size(written) for piece, written in tables.items()}
    text = json.dumps(header, allow_nan=True).encode()
    content = [_MAGIC, len(text).to_bytes(_LENGTH, "big"), text, *content]
    checksum = 0
    for each in content:
        checksum = zlib.crc32(each, checksum)
    end = _shown(checksum)
    content.append(end)
    content = content if _size(content) >= SMALL else [b"".join(content)]
    return StateDump(content, zlib.crc32(end, checksum), 0, plain.digest)


def _shown(checksum: int) -> bytes:
    return b"%08x" % checksum


def _decode(data: bytes | pa.Buffer) -> tuple[dict[str, Any], pa.BufferReader]:
    """Split a file into its header and its tables, after checking the checksum."""
    content, end = memoryview(data)[:-_CHECKSUM], bytes(memoryview(data)[-_CHECKSUM:])
    begin = len(_MAGIC)
    if bytes(content[:begin]) != _MAGIC or len(content) == begin or end != _shown(zlib.crc32(content)):
        message = "it is truncated or was altered"
        raise StateError(message)
    tables = begin + _LENGTH + int.from_bytes(content[begin : begin + _LENGTH], "big")
    return json.loads(bytes(content[begin + _LENGTH : tables])), pa.BufferReader(pa.py_buffer(content[tables:]))


class _Pieces:
    """A file in memory that keeps the buffers of tables, without copying them."""

    closed = False

    def __init__(self) -> None:
        self.parts: list[bytes | pa.Buffer] = []

    def write(self, data: bytes | pa.Buffer) -> None:
        self.parts.append(data)

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def _written(table: pa.Table) -> list[bytes | pa.Buffer]:
    """Return a table in Arrow's stream format, in pieces."""
    pieces = _Pieces()
    with pa.ipc.new_stream(pa.PythonFile(pieces, "w"), table.schema) as writer:
        writer.write_table(table)
    return pieces.parts


def _size(written: Sequence[bytes | pa.Buffer]) -> int:
    return sum(map(len, written))


def _read_table(body: pa.BufferReader, size: int) -> pa.Table:
    return pa.ipc.open_stream(body.read_buffer(size)).read_all()
