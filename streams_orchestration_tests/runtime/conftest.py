import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import event
from sqlalchemy.pool import Pool

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
settings.load_profile("untimed")


@pytest.fixture(autouse=True, scope="package")
def volatile() -> Iterator[None]:
    """Nothing waits for the disk: these tests kill processes in thought only."""

    def relax(connection: Any, _record: Any, _proxy: Any) -> None:
        connection.execute("PRAGMA synchronous=OFF")

    patch = pytest.MonkeyPatch()
    patch.setattr(os, "fsync", lambda _descriptor: None)
    event.listen(Pool, "checkout", relax)
    yield
    event.remove(Pool, "checkout", relax)
    patch.undo()
