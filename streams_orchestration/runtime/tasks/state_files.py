"""Files of operators' states: each is written once, and read by the worker that runs the operator next."""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from streams_orchestration import world
from streams_orchestration.operators.states.state import State, StateDump, StateError, dump_state, load_state
from streams_orchestration.runtime.errors import OperatorError
from streams_orchestration.runtime.programs.batches import StateFile, StoredState
from streams_orchestration.runtime.storage.store import Store, StoreError


def state_data(state: State, batch: int, former: StoredState | None, plain: bytes) -> StateDump:
    """Return the data of a state to write, and the number of its earlier files that are to be read before these data.

    Args:
        state: the state of the operator.
        batch: the batch at whose end the state is stored.
        former: the state that the operator was restored from, or that was stored last.
        plain: the digest of the plain parts of that former state.

    Raises:
        StateError: the state holds something that cannot be stored.
    """
    files = () if former is None else former.files
    return dump_state(state, batch, [(file.batch, file.size) for file in files], plain)


def write_state_file(
    store: Store, directory: str, generation: int, batch: int, operator: int, dump: StateDump
) -> StateFile:
    """Write a new file, which is durable after `Store.sync`. Until a commit names the file, it is garbage."""
    address = f"{directory}/g{generation}-b{batch}-o{operator}-{world.new_id()[:8]}.state"
    store.write(address, *dump.parts)
    return StateFile(address, dump.size, dump.checksum, batch)


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
        OperatorError: see `read_state`.
    """
    with _readable(store, stored) as contents:
        for _ in contents:
            pass


@contextmanager
def _readable(store: Store, stored: StoredState) -> Generator[Iterator[bytes]]:
    """Yield an iterator over the checked contents of a state's files; an error names the file that cannot be read.

    Raises:
        OperatorError: a file cannot be read, or does not have the recorded checksum.
    """
    current = ""

    def contents() -> Iterator[bytes]:
        nonlocal current
        for file in stored.files:
            current = file.path
            data = store.read(file.path)
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
        raise OperatorError(
            stored.operator, f"its state {store.title(current)} cannot be read: {reason}{mend}"
        ) from cause
