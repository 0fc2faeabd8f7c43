"""Files and databases of tests that do not wait for the disk."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.pool import Pool

from streams_orchestration.operators.storage import durable_files


@contextmanager
def volatile() -> Iterator[None]:
    """Let nothing in this process wait for the disk; it is for tests that cut no power but in thought."""

    def relax(connection: Any, record: Any, _proxy: Any) -> None:
        if isinstance(connection, sqlite3.Connection) and "relaxed" not in record.info:
            connection.execute("PRAGMA synchronous=OFF")
            record.info["relaxed"] = True

    def in_turn(action: Callable[[Path], None], paths: Sequence[Path]) -> None:
        for path in paths:
            action(path)

    patch = pytest.MonkeyPatch()
    patch.setattr(os, "fsync", lambda _descriptor: None)
    patch.setattr(durable_files, "in_parallel", in_turn)  # threads would be started for nothing
    event.listen(Pool, "checkout", relax)
    try:
        yield
    finally:
        event.remove(Pool, "checkout", relax)
        patch.undo()
