"""Storages of Dagster's that tests make quickly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from streams_orchestration_tests.volatile import volatile


@contextmanager
def quick_storages() -> Iterator[None]:
    """Let no storage wait for the disk, and read Dagster's migrations once.

    Each new storage loads some eighty modules of migrations otherwise, and a test makes several storages.
    """
    known: dict[tuple[str | None, str | None], ScriptDirectory] = {}
    read = ScriptDirectory.from_config

    def once(config: Config) -> ScriptDirectory:
        place = config.config_file_name, config.get_main_option("script_location")
        return known.setdefault(place, known.get(place) or read(config))

    patch = pytest.MonkeyPatch()
    patch.setattr(ScriptDirectory, "from_config", once)
    try:
        with volatile():
            yield
    finally:
        patch.undo()
