"""Files of operators' states: each is written once, and read by the worker that runs the operator next.

A small file is not written: the commit takes its content into the row of the state. So it is durable with the commit,
and gone with the row.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.operators.errors.errors import StateError
from streams_orchestration.operators.states.state import State, StateDump, dump_state, load_state
from streams_orchestration.runtime.errors.operator_errors import OperatorError
from streams_orchestration.runtime.programs.batches import StateFile, StoredState
from streams_orchestration.runtime.storage.store import Store, StoreError

SMALL_STATE = 4 << 10
"""The most bytes of a file of a state that the catalog holds."""
SMALL_STATES = 32 << 10
"""The most bytes of the newest small files of a PE, one for each operator, since every batch reads them again."""


def small_state(program: PeProgram) -> int:
    """Return the most bytes of a file that the catalog holds for an operator of a PE.

    A chain has less than three times as many bytes of such files, because sizes halve from one change to the next.
    """
    return min(SMALL_STATE, SMALL_STATES // max(program.stateful, 1))


def state_data(state: State, batch: int, former: StoredState | None, plain: bytes) -> StateDump:
    """Return the data of a state to write, and the number of its earlier files that are to be read before these data.

    The parts of the state record that they are stored. There are no data if nothing has changed. `former` is the state
    that the operator was restored from, or that was stored last. `plain` is the digest of its plain parts.

    Raises:
        StateError: the state holds something that cannot be stored.
    """
    files = () if former is None else former.files
    return dump_state(state, batch, [(file.batch, file.size) for file in files], plain)


def store_dump(
    store: Store, directory: str, generation: int, batch: int, operator: int, dump: StateDump, small: int
) -> StateFile:
    """Write a new file of a state, and return it; a small file is not written, but has its content with it.

    A written file is durable after `Store.sync`, and garbage until a commit names it. A small file has at most `small`
    bytes. The state is the one at the end of the batch.

    Raises:
        OSError: the file cannot be written.
    """
    if dump.size <= small:
        return StateFile("", dump.size, dump.checksum, batch, content=base64.b64encode(dump.data).decode())
    address = f"{directory}/g{generation}-b{batch}-o{operator}-{world.new_id()[:8]}.state"
    store.write(address, *dump.parts)
    return StateFile(address, dump.size, dump.checksum, batch)


def content_of(store: Store, file: StateFile) -> bytes:
    """Return the content of a file of a state, which is not checked; empty if the catalog's text is damaged.

    Raises:
        OSError: the file cannot be read.
    """
    if not file.content:
        return store.read(file.path)
    try:
        return base64.b64decode(file.content, validate=True)
    except binascii.Error:
        return b""  # no file is empty, so the checksum refuses these bytes


def read_state(store: Store, stored: StoredState) -> dict[str, Any]:
    """Return a stored state.

    Raises:
        OperatorError: a file is gone or was altered (then a `StateError` is the cause), or cannot be read.
    """
    with _readable(store, stored) as contents:
        return load_state(contents)


def check_state(store: Store, stored: StoredState) -> None:
    """Check all files of a state, which may be a Spark checkpoint, by reading them.

    Raises:
        OperatorError: a file is gone, was altered, or cannot be read.
    """
    with _readable(store, stored) as contents:
        for _ in contents:
            pass


@contextmanager
def _readable(store: Store, stored: StoredState) -> Generator[Iterator[bytes]]:
    """Yield an iterator over the checked contents of a state's files; an error names the file that cannot be read."""
    current = ""

    def contents() -> Iterator[bytes]:
        nonlocal current
        for file in stored.files:
            current = store.title(file.path) if file.path else "in the catalog"
            data = content_of(store, file)
            if len(data) != file.size or zlib.crc32(data) != file.checksum:
                message = "it is truncated or was altered"
                raise StateError(message)
            yield data

    try:
        yield contents()
    except (OSError, StateError) as error:
        mend = "" if isinstance(error, StoreError) else "; restore it from a copy, or start over with --fresh"
        # a disk may come back, a file that is gone does not: only then is it the state itself that is bad
        cause = StateError(str(error)) if isinstance(error, FileNotFoundError) else error
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise OperatorError(stored.operator, f"its state {current} cannot be read: {reason}{mend}") from cause
