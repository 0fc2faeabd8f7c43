from __future__ import annotations

from io import StringIO

from streams_orchestration.cli.display import LINE_SECONDS, Display
from streams_orchestration.cli.terminal import SafeConsole
from streams_orchestration_tests.cli.made_up import NOW, pe, status


def test_without_a_terminal_there_is_a_line_when_a_state_changes_or_time_has_passed():
    text = StringIO()
    with Display(SafeConsole(file=text, width=40)) as display:
        display.show_waiting("Starting ...")
        display.show(status(), NOW)
        display.show(status(), NOW + 1)
        display.show(status(pes=(pe(0, state="FAILED"),)), NOW + 2)
        display.show(status(pes=(pe(0, state="FAILED", rows_in=7),)), NOW + 3)
        display.show(status(pes=(pe(0, state="FAILED", rows_in=7),)), NOW + 2 + LINE_SECONDS)
        display.say("[bold] is not a markup")
    lines = text.getvalue().splitlines()
    assert ["PE 0 FAILED" in line for line in lines[1:4]] == [False, True, True]
    assert lines[0] == "Starting ..."
    assert lines[-1] == "[bold] is not a markup"
    assert len(lines) == 5


def test_on_a_terminal_the_table_is_redrawn():
    text = StringIO()
    with Display(SafeConsole(file=text, force_terminal=True, width=100)) as display:
        display.show_waiting("Starting ...")
        display.show(status(), NOW)
        display.say("region-0 failed")
    assert "region-0 failed" in text.getvalue()
    assert "rows/s" in text.getvalue()


def test_without_a_terminal_nothing_is_said_twice():
    text = StringIO()
    starting = status(pes=(pe(0, state="STARTING"),))
    with Display(SafeConsole(file=text, width=40)) as display:
        for number in range(10):
            display.show(starting, NOW + number * LINE_SECONDS)
    assert text.getvalue().count("STARTING") == 1
