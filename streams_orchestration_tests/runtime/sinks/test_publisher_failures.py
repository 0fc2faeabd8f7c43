"""The failures of a publisher are shared by its thread and those of its deliveries."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.sinks import gathering
from streams_orchestration.runtime.sinks.publisher import Publisher, SinkFailure
from streams_orchestration.runtime.sinks.publishing import outstanding
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import StoreError
from streams_orchestration.runtime.storage.unusable_files import FileFailure
from streams_orchestration_tests.runtime.applications import compiled, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication

pytestmark = pytest.mark.usefixtures("no_hosts")


@pytest.fixture
def local(tmp_path: Path) -> LocalApplication:
    graph = [source("Rows", write_rows(tmp_path / "rows.parquet", 5)), sink("Out", "Rows", parameters={"file": "Out"})]
    return LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=1), 5)


class _Guarded(dict[str, SinkFailure]):
    """Failures that say when they are looked through without their lock."""

    publisher: Publisher

    def __iter__(self) -> Iterator[str]:
        assert self.publisher.lock.locked()
        return super().__iter__()

    def items(self) -> Any:
        assert self.publisher.lock.locked()
        return super().items()


def test_failures_are_looked_through_while_no_delivery_changes_them(local: LocalApplication):
    publisher = Publisher(local.catalog, local.name)
    failures = publisher.failing = _Guarded(Out=SinkFailure(), Gone=SinkFailure(next_try=math.inf))
    failures.publisher = publisher
    local.commit(boundary=True)
    publisher.turn()
    assert dict.keys(failures) == {"Gone"}


def failed(place: str, cause: Exception) -> OutputError:
    error = OutputError("Out", f"{place} cannot be written")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("errors", "seconds"),
    [
        pytest.param([OSError(errno.EIO, "Input/output error")] * 3, 20.0, id="a broken disk"),
        pytest.param([StoreError("s3://bucket: it cannot be reached")] * 3, 20.0, id="a storage that is away"),
        pytest.param([OSError(errno.EACCES, "Permission denied")] * 3, None, id="a right that is missing"),
        pytest.param([ConnectionError("refused")] * 3, None, id="a target that is away"),
    ],
)
def test_a_publisher_knows_how_long_its_machine_cannot_use_a_file(
    local: LocalApplication, errors: list[Exception], seconds: float | None
):
    now = 100.0
    publisher = Publisher(local.catalog, local.name, clock=lambda: now)
    assert publisher.unusable() is None
    for error in errors:
        publisher.note_failure(failed("part-1", error))
        now += 10.0
    now -= 10.0
    wanted = None if seconds is None else FileFailure(seconds, "operator Out: part-1 cannot be written")
    assert publisher.unusable() == wanted
    publisher.note_success("Out")
    assert publisher.unusable() is None


def test_a_file_that_another_host_has_published_ends_the_trouble_with_it(local: LocalApplication):
    now = 100.0
    publisher = Publisher(local.catalog, local.name, clock=lambda: now)
    publisher.note_failure(failed("part-1", OSError(errno.EIO, "Input/output error")))
    now = 190.0
    publisher.note_failure(failed("part-2", OSError(errno.EIO, "Input/output error")))
    assert publisher.unusable() == FileFailure(0.0, "operator Out: part-2 cannot be written")


def test_two_files_that_cannot_be_used_in_turn_do_not_end_the_failure_of_each_other(local: LocalApplication):
    now = 100.0
    publisher = Publisher(local.catalog, local.name, clock=lambda: now)
    for number in range(10):
        publisher.note_failure(failed(f"part-{1 + number % 2}", OSError(errno.EIO, "Input/output error")))
        now += 15.0
    assert publisher.unusable() == FileFailure(135.0, "operator Out: part-2 cannot be written")


def test_a_directory_that_cannot_be_looked_at_is_a_trouble_of_the_sink(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    def broken(directory: Path, _pattern: str) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(directory))

    publisher = Publisher(local.catalog, local.name, local.deliverers)
    local.commit(boundary=True)
    monkeypatch.setattr(gathering, "files_below", broken)
    publisher.deliver("Out", outstanding(local.catalog, local.name, deliveries=True).deliveries)
    error = read_status(local.catalog, local.name).sinks[0].error
    assert error is not None
    assert "_pending cannot be used: Input/output error; it is tried again, nothing is lost" in error
    assert publisher.unusable() is not None
