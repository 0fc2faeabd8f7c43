"""A step of watching an application begins the resets that are due, each one once."""

from __future__ import annotations

from typing import Any

from streams_orchestration.runtime.deployment.supervising import supervise
from streams_orchestration_tests.cli.made_up import NOW, pe, status, unit


def test_a_step_begins_each_reset_once_and_after_the_patience():
    now, known, begun = [NOW], dict[str, Any](), list[tuple[str, float]]()
    both = status(
        pes=(pe(0, state="FAILED", error="boom"), pe(1, unit="region-1", state="FAILED", error="bang")),
        units=(unit(pes=(0,)), unit(name="region-1", region=1, pes=(1,), attempts=5)),
    )
    for _ in range(8):
        seen, decisions = supervise(
            lambda: both,
            known,
            lambda failure: begun.append((failure.unit, now[0] - NOW)),
            patience=1.0,
            now=lambda: now[0],
        )
        known, now[0] = decisions.known, now[0] + 0.5
        assert seen is both
        assert [failure.unit for failure in decisions.exhausted] == ["region-1"]
    assert begun == [("region-0", 1.0)]
