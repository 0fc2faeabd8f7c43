"""The files with the event time of a query, which lie in Spark's checkpoint and are stored and restored with it.

They form a chain as the files of other states: the whole state, then changes. Spark ignores them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streams_orchestration.operators.errors.errors import StateError
from streams_orchestration.operators.states.state import State, dump_state, load_state, plain_digest
from streams_orchestration.operators.storage.durable_files import write_whole
from streams_orchestration.runtime.errors.operator_errors import OperatorError

_DIRECTORY = "event-time"


class TimeFiles:
    """The files of one query in the directory of Spark's checkpoint."""

    def __init__(self, checkpoint: Path) -> None:
        self._directory = checkpoint / _DIRECTORY
        self._plain = b""

    def _chain(self) -> list[Path]:
        """Return the files from the oldest to the newest: the whole state, then the changes."""
        return sorted(self._directory.glob("*.state"), key=lambda path: int(path.stem))

    def load(self, operator: str) -> dict[str, Any]:
        """Return the state; empty if nothing was stored.

        Messages name the operator.

        Raises:
            OperatorError: a file is damaged.
            OSError: a file cannot be read.
        """
        try:
            state = load_state(path.read_bytes() for path in self._chain())
        except StateError as error:
            raise OperatorError(operator, f"its state in {self._directory} cannot be read: {error}") from error
        self._plain = plain_digest(state)
        return state

    def store(self, state: State, batch: int) -> None:
        """Write a state, or its changes, at the end of a batch, and remove the files that are replaced.

        Nothing is written if the state has not changed.

        Raises:
            OSError: a file cannot be written or removed.
        """
        chain = self._chain()
        files = [(int(path.stem), path.stat().st_size) for path in chain]
        dump = dump_state(state, batch, files, self._plain)
        self._plain = dump.plain
        if dump.parts:
            self._directory.mkdir(parents=True, exist_ok=True)
            write_whole(self._directory / f"{batch}.state", dump.data, durably=False)
        for path in chain[dump.kept :]:
            path.unlink()
