"""`streams run` names the sinks that do not deliver, and why."""

from __future__ import annotations

from io import StringIO

from streams_orchestration.cli.display import LINE_SECONDS, REASON_SECONDS, Display
from streams_orchestration.cli.late_sinks import HANGING_SECONDS, LateSinks, undelivered
from streams_orchestration.cli.terminal import SafeConsole
from streams_orchestration_tests.cli.made_up import NOW, pe, sink, status

REASON = "table totals (postgresql): no password; delivery a/Out/-1/5 is tried again, nothing is lost"
FAILING = sink(operator="Out", error=f"{REASON}\nTraceback", late=3, waiting_rows=1200, delivered_at=NOW - 65)
HANGING = sink(operator="Out", late=1, waiting_rows=7, delivered_at=NOW - 65)


def lines_of(*statuses) -> list[str]:
    """Return the lines shown for statuses that follow each other, given with their times."""
    text = StringIO()
    with Display(SafeConsole(file=text)) as display:
        for made_up, now in statuses:
            display.show(made_up, now)
    return text.getvalue().splitlines()


def test_a_sink_that_cannot_deliver_is_named_at_once_and_its_reason_when_it_is_new_and_every_minute():
    well, held = status(), status(sinks=(FAILING,))
    first, second, reason, third, *later = lines_of(
        (well, NOW), (held, NOW + 1), (held, NOW + 2), (status(sinks=(FAILING,), state="STOPPED"), NOW + 3),
        (status(sinks=(FAILING,), state="STOPPED"), NOW + 3 + REASON_SECONDS),
    )  # fmt: skip
    assert "Out" not in first
    assert second.endswith("; waiting for sinks: Out (1,200 rows)")
    assert reason == f"  sink Out: 1,200 rows not visible, nothing delivered for 1 min 6 s: {REASON}"
    assert third.endswith("; waiting for sinks: Out (1,200 rows)"), "the reason was said a moment ago"
    assert later[1] == f"  sink Out: 1,200 rows not visible, nothing delivered for 2 min 8 s: {REASON}"


def test_a_sink_that_works_again_is_named_no_more():
    *_, last = lines_of((status(sinks=(FAILING,)), NOW), (status(), NOW + LINE_SECONDS))
    assert "sinks" not in last


def test_on_a_terminal_the_reasons_stand_below_the_table():
    text = StringIO()
    with Display(SafeConsole(file=text, force_terminal=True, width=200, color_system=None)) as display:
        display.show(status(sinks=(FAILING,)), NOW)
    assert f"sink Out: 1,200 rows not visible, nothing delivered for 1 min 5 s: {REASON}" in text.getvalue()


def test_a_sink_that_hangs_is_named_after_a_while_and_one_that_is_slow_is_not():
    def named(*checks: tuple[float, float]) -> bool:
        late = LateSinks()
        for after, delivered in checks:
            late.add(status(sinks=(sink(operator="Out", late=1, delivered_at=NOW + delivered),)), NOW + after)
        return late.brief() != ""

    assert not named((0, -65))
    assert named((0, -65), (HANGING_SECONDS, -65))
    assert not named((0, -65), (HANGING_SECONDS, 1))
    assert not named((0, -65), (6, 5), (HANGING_SECONDS, 5))


def test_a_complete_application_that_waits_for_a_sink_says_so():
    late = LateSinks()
    complete = status(pes=(pe(0, state="COMPLETED"),), sinks=(HANGING,))
    late.add(complete, NOW)
    assert late.brief() == "waiting for sinks: Out (7 rows)"
    assert late.lines(NOW) == [], "a delivery that has just begun needs no reason"
    late.add(complete, NOW + HANGING_SECONDS)
    assert late.lines(NOW + HANGING_SECONDS) == [
        "sink Out: 7 rows not visible, nothing delivered for 1 min 15 s: the delivery is under way, and the target has "
        "not answered yet"
    ]


def test_a_sink_that_never_delivered_has_no_time_since_its_last_delivery():
    late = LateSinks()
    late.add(status(sinks=(sink(operator="Out", late=1, waiting_rows=7, error="no space"),)), NOW)
    assert late.lines(NOW) == ["sink Out: 7 rows not visible, nothing delivered yet: no space"]


def test_at_the_end_every_sink_with_complete_epochs_that_are_not_visible_is_named():
    assert undelivered(status(sinks=(FAILING, HANGING, sink()))) == [
        f"sink Out: 1,200 rows not visible: {REASON}",
        "sink Out: 7 rows not visible: they are delivered when the application runs again",
    ]
