"""The event of lineage that is due."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.runtime.catalog.rows import LineageRunRow
from streams_orchestration.runtime.lineage.progress import ENDS, RUNNING_SECONDS, NextStep, RunMoment, next_step


def moment(state: Any = "RUNNING", *, started: float = 1.0, failure: str | None = None, broken: bool = False,
           epoch: int = 0, at: float = 10.0) -> RunMoment:  # fmt: skip
    return RunMoment(state, started, failure, ("UNHEALTHY" if broken else "RUNNING", 1), {"region-0": epoch}, at)


def sent(event: Any, started: float) -> LineageRunRow:
    return LineageRunRow("flights", "1", started, event, {})


CASES: dict[str, tuple[LineageRunRow | None, RunMoment, RunMoment | None, NextStep | None]] = {
    "it runs": (None, moment(), None, "BEGIN"),
    "it failed before anything was sent": (None, moment(failure="lost"), None, "BEGIN"),
    "it was complete before anything was sent": (None, moment("COMPLETE"), None, "BEGIN"),
    "it is being stopped before anything was sent": (None, moment("ENDING"), None, None),
    "a run was begun": (sent("", 1.0), moment(), None, "START"),
    "nothing is complete yet": (sent("START", 1.0), moment(), moment(), None),
    "the first cut": (sent("START", 1.0), moment(epoch=1), moment(), "RUNNING"),
    "the next cut": (sent("RUNNING", 1.0), moment(epoch=2), moment(epoch=1), None),
    "a cut after a while": (
        sent("RUNNING", 1.0), moment(epoch=2, at=10.0 + RUNNING_SECONDS), moment(epoch=1), "RUNNING",
    ),
    "no cut for a while": (sent("RUNNING", 1.0), moment(epoch=1, at=1e6), moment(epoch=1), None),
    "a unit is broken": (sent("RUNNING", 1.0), moment(broken=True), moment(), "RUNNING"),
    "a unit works again": (sent("RUNNING", 1.0), moment(), moment(broken=True), "RUNNING"),
    "another host goes on": (sent("RUNNING", 1.0), moment(epoch=3), None, "RUNNING"),
    "another host goes on before the first cut": (sent("START", 1.0), moment(), None, None),
    "it is being stopped": (sent("RUNNING", 1.0), moment("ENDING", epoch=2, at=1e6), moment(), None),
    "it has stopped": (sent("RUNNING", 1.0), moment("ABORT"), moment(), "ABORT"),
    "it is complete": (sent("RUNNING", 1.0), moment("COMPLETE"), moment(), "COMPLETE"),
    "a unit is not reset any more": (sent("RUNNING", 1.0), moment(failure="lost", broken=True), moment(), "FAIL"),
    "it was started over, and the end of the run before was not sent": (
        sent("RUNNING", 1.0), moment(started=2.0), moment(), "ABORT",
    ),
    "it was started over": (sent("ABORT", 1.0), moment(started=2.0), None, "BEGIN"),
    "it runs again after a forced reset": (sent("FAIL", 1.0), moment(), None, "BEGIN"),
    "it has failed": (sent("FAIL", 1.0), moment(failure="lost"), None, None),
    "it was stopped after it had failed": (sent("FAIL", 1.0), moment("ABORT"), None, None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_next_step(case: str):
    run, now, told, expected = CASES[case]
    assert next_step(run, now, told) == expected


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("state", ["ENDING", "COMPLETE", "ABORT"])
def test_nothing_follows_the_end_of_a_run(end: Any, state: str):
    assert next_step(sent(end, 1.0), moment(state, epoch=9, at=1e6), None) is None
