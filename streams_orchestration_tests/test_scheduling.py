"""The distribution of tests to workers, what these report, and their end."""

from __future__ import annotations

import atexit
import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from streams_orchestration_tests import crashes
from streams_orchestration_tests.conftest import LONG_GROUPS, WORKER, pytest_unconfigure, turn
from streams_orchestration_tests.reports import QUICK_SECONDS, is_shown
from streams_orchestration_tests.scheduling import LEAST_PARTS, MOST_TESTS, QuickGroupScheduling

TESTS = ["a.py::one", "a.py::two@java", "a.py::three", "b.py::four@java", "b.py::five[x@y]", "b.py::six"]


class Worker:
    """A worker that notes which tests it is to run."""

    gateway = SimpleNamespace(id="gw")
    shutting_down = False

    def __init__(self) -> None:
        self.waiting: list[int] = []
        self.run: list[str] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.waiting += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def test_each_test_runs_once_a_group_in_one_worker_and_what_is_over_is_forgotten():
    option = SimpleNamespace(loadscopereorder=False, maxprocesses=None)
    config: Any = SimpleNamespace(getvalue=lambda _: ["popen", "popen"], option=option)
    scheduling, workers = QuickGroupScheduling(config), [Worker(), Worker()]
    for worker in workers:
        scheduling.add_node(worker)  # type: ignore[arg-type]
        scheduling.add_node_collection(worker, TESTS)  # type: ignore[arg-type]
    scheduling.schedule()
    while any(worker.waiting for worker in workers):
        for worker in workers:
            if worker.waiting:
                index = worker.waiting.pop(0)
                worker.run.append(TESTS[index])
                scheduling.mark_test_complete(worker, index)  # type: ignore[arg-type]
    assert sorted([*workers[0].run, *workers[1].run]) == sorted(TESTS)
    assert [{name.endswith("@java") for name in worker.run} for worker in workers].count({True, False}) <= 1
    assert [*scheduling.assigned_work.values()] == [{}, {}]
    assert scheduling.tests_finished
    assert all(worker.shutting_down for worker in workers)


def test_a_worker_gets_several_tests_of_a_module_at_once_and_few_at_the_end():
    option = SimpleNamespace(loadscopereorder=False, maxprocesses=None)
    config: Any = SimpleNamespace(getvalue=lambda _: ["popen", "popen"], option=option)
    scheduling, workers = QuickGroupScheduling(config), [Worker(), Worker()]
    tests = ["a.py::one@java", *(f"{module}.py::{number}" for module in "bcd" for number in range(400))]
    for worker in workers:
        scheduling.add_node(worker)  # type: ignore[arg-type]
        scheduling.add_node_collection(worker, tests)  # type: ignore[arg-type]
    scheduling.schedule()
    parts: list[list[str]] = []
    while scheduling.workqueue:
        worker = min(workers, key=lambda worker: len(worker.waiting))
        for index in worker.waiting[:]:
            known = len(worker.waiting)
            scheduling.mark_test_complete(worker, index)  # type: ignore[arg-type]
            parts.append([tests[each] for each in worker.waiting[known:]])
            worker.waiting.remove(index)
    parts = [part for part in parts if part]
    assert all(len({name.partition("::")[0] for name in part}) == 1 for part in parts)
    assert max(map(len, parts)) == MOST_TESTS
    assert all(len(part) == 1 for part in parts[-LEAST_PARTS:])


def test_groups_of_tests_begin_before_slow_tests_and_these_before_quick_ones():
    def item(*marks: pytest.MarkDecorator) -> Any:
        named = {mark.name: mark.mark for mark in marks}
        return SimpleNamespace(get_closest_marker=named.get, fixturenames=())

    wanted = [item(pytest.mark.xdist_group(name)) for name in (*LONG_GROUPS, "another")]
    wanted += [item(pytest.mark.slow), item()]
    found = wanted[::-1]
    found.sort(key=turn)
    assert found == wanted


def test_tests_of_one_parameter_of_a_fixture_do_not_begin_before_longer_groups(request: pytest.FixtureRequest):
    if WORKER not in os.environ:
        pytest.skip("tests are sorted in workers only")
    turns = [turn(each) for each in request.session.items]
    assert turns == sorted(turns)


@pytest.mark.parametrize(
    ("when", "outcome", "seconds", "wanted"),
    [
        ("setup", "passed", 0.0, False),
        ("teardown", "passed", 0.0, False),
        ("call", "passed", 0.0, True),
        ("setup", "skipped", 0.0, True),
        ("teardown", "failed", 0.0, True),
        ("setup", "passed", QUICK_SECONDS, True),
    ],
)
def test_a_worker_reports_what_is_shown(when: str, outcome: str, seconds: float, wanted: bool):
    report = {"when": when, "outcome": outcome, "duration": seconds}
    assert is_shown("testreport", {"data": report}) is wanted
    assert is_shown("runtest_protocol_complete", {})
    assert not is_shown("logstart", {})


@pytest.mark.parametrize("is_worker", [True, False])
def test_a_worker_alone_leaves_the_client_of_s3_as_it_is_at_its_end(is_worker: bool, monkeypatch: pytest.MonkeyPatch):
    files, kept = SimpleNamespace(ensure_s3_finalized=lambda: None), []
    monkeypatch.setitem(sys.modules, "pyarrow.fs", files)  # type: ignore[arg-type]
    monkeypatch.setattr(atexit, "unregister", kept.append)
    monkeypatch.setattr(crashes, "note_end", lambda _: None)
    monkeypatch.setenv(WORKER, "gw0") if is_worker else monkeypatch.delenv(WORKER, raising=False)
    pytest_unconfigure()
    assert kept == [files.ensure_s3_finalized] * is_worker
