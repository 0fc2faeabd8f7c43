"""A redeploy whose units leave their cuts each time, before the plan is replaced, ends when its time is over."""

from __future__ import annotations

from itertools import count
from typing import Any, cast

import pytest

from streams_orchestration import world
from streams_orchestration.runtime.redeployment import redeploying
from streams_orchestration.runtime.redeployment.redeploying import NotDrainedError, PlanChange, switch_at_cut
from streams_orchestration.runtime.redeployment.switching import NotAtCutError
from streams_orchestration.runtime.units.holding import HeldUnits

WITHIN = 5.0


def test_a_redeploy_whose_units_always_leave_their_cuts_ends_in_time(monkeypatch: pytest.MonkeyPatch):
    seconds, holds = count(), list[HeldUnits]()

    def refuse(*_: object) -> list[str]:
        message = "region-0 has not closed its epoch"
        raise NotAtCutError(message)

    def hold_again(held: HeldUnits) -> None:
        holds.append(held)
        if len(holds) > WITHIN:
            pytest.fail("the units are held again though the time is over")

    monkeypatch.setattr(world, "monotonic", lambda: float(next(seconds)))
    monkeypatch.setattr(redeploying, "postpone_if_drained", lambda _: True)
    monkeypatch.setattr(redeploying, "carry_over", lambda _: None)
    monkeypatch.setattr(redeploying, "switch_over", refuse)
    monkeypatch.setattr(redeploying, "hold_units", hold_again)
    nothing = cast(Any, None)
    held = HeldUnits(nothing, "app", (), ["region-0"])
    with pytest.raises(NotDrainedError, match="app keeps running unchanged: region-0 has not closed its epoch after 5"):
        switch_at_cut(PlanChange(held, nothing, nothing, WITHIN, until=WITHIN))
    assert len(holds) == WITHIN
