"""Which failures a reset cannot mend: bad data and bad state, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.tasks import stages
from streams_orchestration.runtime.tasks.batches import TaskResult
from streams_orchestration.runtime.tasks.instances import InstanceCache
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.sample_operators import RunningTotals


@pytest.fixture
def local(tmp_path: Path) -> LocalApplication:
    file = write_rows(tmp_path / "rows.parquet", 20)
    return LocalApplication(Home(tmp_path / "home"), totals(file, fusion="manual", pes=1), 5)


def failed(local: LocalApplication) -> list[TaskResult]:
    """The failed tasks of the next batch."""
    (program,) = local.programs
    plan = local.plan(program)
    assert plan is not None
    return [result for result in local.execute(program, plan) if result.error]


def remove(path: Path) -> None:
    path.unlink()


def alter(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def obstruct(path: Path) -> None:
    """Reading it fails, as on a bad disk, but the file is not known to be gone."""
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(("harm", "permanent"), [(remove, True), (alter, True), (obstruct, False)])
def test_a_state_that_is_gone_or_altered_cannot_come_back(
    harm: Callable[[Path], None], permanent: bool, local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    assert local.step(local.programs[0])
    stored = list((local.home.data(local.name) / "states").rglob("*.state"))
    assert stored
    for path in stored:
        harm(path)
    monkeypatch.setattr(stages, "_CACHE", InstanceCache())  # another worker, which has nothing in memory
    found = failed(local)
    assert found
    for result in found:
        assert result.permanent is permanent
        assert result.error is not None
        assert "cannot be read" in result.error
        assert "--fresh" in result.error


def test_a_file_that_an_operator_misses_may_be_there_after_a_reset(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    def process(_self: RunningTotals, _port: int, _batch: TupleBatch) -> None:
        raise FileNotFoundError(2, "No such file or directory", "lookup.csv")

    monkeypatch.setattr(RunningTotals, "process", process)
    found = failed(local)
    assert found
    assert not any(result.permanent for result in found)
