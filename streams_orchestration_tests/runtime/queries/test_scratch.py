"""A planner leaves its failure for its host in a file, on a disk that may be full."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.runtime.errors.operator_errors import OperatorFailure
from streams_orchestration.runtime.programs.batches import TaskResult
from streams_orchestration.runtime.programs.failure import Failure
from streams_orchestration.runtime.queries.scratch import Scratch
from streams_orchestration.runtime.tasks.task_results import give_answer, take_all_answers


def test_the_failure_of_a_planner_is_read_whole(tmp_path: Path):
    scratch = Scratch(str(tmp_path))
    assert scratch.failure is None
    failure = Failure("it failed", "data", OperatorFailure("Out", "ValueError: no", "ValueError", "Out.py", 1), batch=7)
    scratch.record_failure(failure)
    assert scratch.failure == failure
    assert str(failure) == "batch 7: it failed"


def test_a_failure_may_name_files_whose_names_are_not_utf_8(tmp_path: Path):
    name = "rows\udcff.csv"
    operator = OperatorFailure("Out", name, "ValueError", name, 1, values=name, origin=name)
    given = TaskResult(0, 0, failure=Failure(f"{name} is damaged", "data", operator))
    give_answer(str(tmp_path), 3, given)
    (taken,) = take_all_answers(str(tmp_path), 3)
    assert taken == given
    assert taken.failure is not None
    assert taken.failure.message == r"rows\udcff.csv is damaged"


def test_on_a_full_disk_a_planner_leaves_nothing_and_its_log_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def full(path: Path, _data: bytes) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    Scratch(str(tmp_path)).record_failure(Failure("it failed"))
    assert list(tmp_path.iterdir()) == []
    assert "failure.json cannot be written: No space left on device. Its content was to be: it failed" in caplog.text


@pytest.mark.parametrize("content", ["", "[", "{}", "[1]", '{"message": "no", "nature": "other"}'])
def test_an_unreadable_failure_is_a_fault_of_the_disk(tmp_path: Path, content: str):
    (tmp_path / "failure.json").write_text(content)
    failure: Any = Scratch(str(tmp_path)).failure
    assert "failure.json cannot be read: it is truncated or was altered; check that its disk works" in failure.message
    assert failure.nature == "unknown"
