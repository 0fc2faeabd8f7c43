from __future__ import annotations

from streams_orchestration.cli.regions import region_lines
from streams_orchestration.runtime.catalog.unit_columns import ResetDurations
from streams_orchestration_tests.cli.made_up import NOW, status, unit
from streams_orchestration_tests.runtime.readings import unit_event


def text(**changes: object) -> str:
    return "\n".join(line.plain for line in region_lines(status(units=(unit(**changes),)), NOW))


def test_a_region_that_was_never_reset_says_nothing_of_resets():
    output = text(since=NOW - 60, drain_timeout=30.0, reset_timeout=40.0, completed_at=NOW - 2.0)
    assert "drainTimeout 30 s, resetTimeout 40 s; last cut 4, 2.0 s old" in output
    assert "cause" not in output


def test_a_region_that_was_reset_says_why_and_what_it_took():
    moments = {"failed": 10.0, "detected": 11.0, "asked": 13.0, "began": 20.0, "done": 21.5, "committed": 22.0}
    output = text(
        reset_count=2,
        attempts=1,
        max_attempts=5,
        resets=ResetDurations(3, NOW - 30, (2.0, 1.5)),
        outage=moments,
        cause="host 0 (pid 7) is gone",
        events=(unit_event(NOW, "unhealthy", 1, 3, 0, 1.0, "host 0 (pid 7) is gone"),),
    )
    assert (
        "2 resets, 1 of 5 since the last epoch; the last 30 s ago, to epoch 3; "
        "took 1.50 s (average of the last 2: 1.75 s)" in output
    )
    assert "detect 1.0 s, decide 2.0 s, hosts 7.0 s, restart 1.5 s, first commit 0.5 s" in output
    assert "cause: host 0 (pid 7) is gone" in output


def test_resets_for_a_cause_outside_have_no_greatest_number():
    assert "2 resets, 2 since the last epoch" in text(reset_count=2, attempts=2, max_attempts=7, give_up_at=NOW + 60)


def test_a_long_cause_is_cut_short():
    event = unit_event(NOW, "unhealthy", 1, 3, 0, 1.0, "x" * 1000)
    assert 150 < len(text(reset_count=1, events=(event,)).partition("cause: ")[2]) <= 200


def test_a_region_that_is_reset_again_and_again_is_said_to_be_unstable():
    began = tuple(unit_event(NOW - seconds, "reset began", 1, 3, 0, cause="boom") for seconds in (180, 60, 30))
    assert "not stable: reset 3 times in 3 min, last cause: boom" in text(reset_count=3, events=began)
    assert "not stable" not in text(reset_count=3, events=began[1:])
