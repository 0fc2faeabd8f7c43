"""The pause of a redeploy is predicted from measurements, and from nothing else."""

from __future__ import annotations

import pytest

from streams_orchestration.runtime.redeployment.predicting import Measured, predicted_pause

START = {"command": 4.0, "imports": 2.0, "session": 3.0, "queries": 0.5, "workers": 0.25, "first batch": 1.0}

CASES: dict[str, tuple[Measured, bool, float | None]] = {
    "nothing was measured": (Measured(), False, None),
    "batches alone tell nothing of a restart": (Measured(batch=0.5), False, None),
    "the last redeploy": (Measured(pause=2.5, batch=0.5), False, 2.5),
    "the last redeploy rather than a start": (Measured(pause=2.5, starts=(START,)), False, 2.5),
    "queries and the first batch of a start": (Measured(starts=(START,)), False, 1.75),
    "the slowest of several hosts": (Measured(starts=(START, START | {"queries": 2.5})), False, 3.75),
    "a batch that takes longer than all that": (Measured(batch=60.0, starts=(START,)), False, 60.0),
    "a new host starts, after the command": (Measured(starts=(START,)), True, 6.75),
    "a new host, and a redeploy that took longer": (Measured(pause=9.0, starts=(START,)), True, 9.0),
    "a new host, and a quick redeploy": (Measured(pause=2.0, starts=(START,)), True, 6.75),
}


@pytest.mark.parametrize("case", CASES)
def test_a_pause_is_predicted_by_what_was_measured(case: str):
    measured, new_host, expected = CASES[case]
    assert predicted_pause(measured, new_host=new_host) == expected
