"""The event of lineage that is due."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.runtime.lineage.progress import ENDS, RUNNING_SECONDS, NextStep, RunMoment, Sent, next_step


def moment(state: Any = "RUNNING", *, started: float = 1.0, failure: str | None = None, broken: bool = False,
           epoch: int = 0, at: float = 10.0) -> RunMoment:  # fmt: skip
    return RunMoment(state, started, failure, ("UNHEALTHY" if broken else "RUNNING", 1), {"region-0": epoch}, at)


CASES: dict[str, tuple[Sent | None, RunMoment, RunMoment | None, NextStep | None]] = {
    "it runs": (None, moment(), None, "BEGIN"),
    "it failed before anything was sent": (None, moment(failure="lost"), None, "BEGIN"),
    "it was complete before anything was sent": (None, moment("COMPLETE"), None, "BEGIN"),
    "it is being stopped before anything was sent": (None, moment("ENDING"), None, None),
    "a run was begun": (Sent("", 1.0), moment(), None, "START"),
    "nothing is complete yet": (Sent("START", 1.0), moment(), moment(), None),
    "the first cut": (Sent("START", 1.0), moment(epoch=1), moment(), "RUNNING"),
    "the next cut": (Sent("RUNNING", 1.0), moment(epoch=2), moment(epoch=1), None),
    "a cut after a while": (
        Sent("RUNNING", 1.0), moment(epoch=2, at=10.0 + RUNNING_SECONDS), moment(epoch=1), "RUNNING",
    ),
    "no cut for a while": (Sent("RUNNING", 1.0), moment(epoch=1, at=1e6), moment(epoch=1), None),
    "a unit is broken": (Sent("RUNNING", 1.0), moment(broken=True), moment(), "RUNNING"),
    "a unit works again": (Sent("RUNNING", 1.0), moment(), moment(broken=True), "RUNNING"),
    "another host goes on": (Sent("RUNNING", 1.0), moment(epoch=3), None, "RUNNING"),
    "another host goes on before the first cut": (Sent("START", 1.0), moment(), None, None),
    "it is being stopped": (Sent("RUNNING", 1.0), moment("ENDING", epoch=2, at=1e6), moment(), None),
    "it has stopped": (Sent("RUNNING", 1.0), moment("ABORT"), moment(), "ABORT"),
    "it is complete": (Sent("RUNNING", 1.0), moment("COMPLETE"), moment(), "COMPLETE"),
    "a unit is not reset any more": (Sent("RUNNING", 1.0), moment(failure="lost", broken=True), moment(), "FAIL"),
    "it was started over, and the end of the run before was not sent": (
        Sent("RUNNING", 1.0), moment(started=2.0), moment(), "ABORT",
    ),
    "it was started over": (Sent("ABORT", 1.0), moment(started=2.0), None, "BEGIN"),
    "it runs again after a forced reset": (Sent("FAIL", 1.0), moment(), None, "BEGIN"),
    "it has failed": (Sent("FAIL", 1.0), moment(failure="lost"), None, None),
    "it was stopped after it had failed": (Sent("FAIL", 1.0), moment("ABORT"), None, None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_next_step(case: str):
    sent, now, told, expected = CASES[case]
    assert next_step(sent, now, told) == expected


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("state", ["ENDING", "COMPLETE", "ABORT"])
def test_nothing_follows_the_end_of_a_run(end: Any, state: str):
    assert next_step(Sent(end, 1.0), moment(state, epoch=9, at=1e6), None) is None
