"""Storages of Dagster's that tests make quickly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._core.execution import compute_logs
from dagster._core.storage.event_log import in_memory as events_in_memory
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs import in_memory as runs_in_memory
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from dagster._core.storage.schedules.sqlite import sqlite_schedule_storage

from streams_orchestration_tests.compiled_once import compile_once
from streams_orchestration_tests.volatile import volatile

STORAGES = (events_in_memory, sqlite_event_log, runs_in_memory, sqlite_run_storage, sqlite_schedule_storage)
"""Modules of Dagster's that create engines; those of files create one for each connection."""


@contextmanager
def quick_storages() -> Iterator[None]:
    """Let no storage wait for the disk, compile its statements once, and read Dagster's migrations once.

    Each new storage loads some eighty modules of migrations otherwise, and a test makes several storages. The output
    that Dagster captures is only written into its files: four processes would show it on the terminal for each run.
    """
    known: dict[tuple[str | None, str | None], ScriptDirectory] = {}
    read = ScriptDirectory.from_config

    def once(config: Config) -> ScriptDirectory:
        place = config.config_file_name, config.get_main_option("script_location")
        return known.setdefault(place, known.get(place) or read(config))

    patch = compile_once(*STORAGES)
    patch.setattr(ScriptDirectory, "from_config", once)
    patch.setattr(compute_logs, "tail_to_stream", lambda *_: nullcontext((None, None)))
    try:
        with volatile():
            yield
    finally:
        patch.undo()
