from __future__ import annotations

from dataclasses import replace

import pytest

from streams_orchestration.cli.progress import LISTED_PES, RateMeter, progress_line, progress_table
from streams_orchestration.cli.terminal import rendered
from streams_orchestration.runtime.catalog.states import UnitState
from streams_orchestration_tests.cli.made_up import NOW, host, pe, status, unit


def shown(made_up, rates=None) -> str:
    return rendered(progress_table(made_up, rates or {}, NOW), colour=False, width=120)


def row_of(text: str, start: str) -> list[str]:
    return next(line for line in text.splitlines() if line.strip().startswith(start)).split()


def test_every_pe_has_a_row_with_its_totals_and_rate():
    text = shown(status(), {0: 50_000.4})
    assert row_of(text, "0 ") == ["0", "Op0", "RUNNING", "5", "0", "1,234,567", "50,000"]
    assert row_of(text, "1 ") == ["1", "Op1", "RUNNING", "5", "1,234,567", "32", "-"]
    assert "flights  RUNNING  deployed 1 min 5 s ago" in text


def test_the_unit_shows_its_epochs_and_its_resets():
    assert "region-0  PROCESSING  epoch 4 complete, 5 open, one every 10 s" in shown(status())
    text = shown(status(units=(unit(state="RESETTING", attempts=2),)))
    assert "region-0  RESETTING" in text
    assert "2 resets since, of 5 allowed" in text
    outside = shown(status(units=(unit(state="RESETTING", attempts=2, max_attempts=7, give_up_at=NOW),)))
    assert "2 resets since" in outside
    assert "allowed" not in outside, "resets for a cause outside are limited by time"


def test_an_autonomous_pe_needs_no_line_of_its_own_while_it_is_well():
    alone = unit(name="pe-1", region=None, completed_epoch=0, pes=(1,))
    assert "pe-1" not in shown(status(units=(unit(), alone)))
    assert "pe-1" in shown(status(units=(unit(), unit(name="pe-1", region=None, pes=(1,), attempts=1))))


@pytest.mark.parametrize("state", ["UNHEALTHY", "RESETTING", "MAXIMUM_RESET_ATTEMPTS_REACHED"])
def test_an_application_is_unhealthy_while_a_unit_is(state: UnitState):
    broken = status(units=(unit(state=state),), hosts=(host(state="FAILED", alive=False),))
    assert "flights  UNHEALTHY  deployed" in shown(broken)
    assert progress_line(broken, {}).startswith("flights UNHEALTHY; ")
    assert "flights  STOPPED" in shown(replace(broken, state="STOPPED"))


def test_errors_are_shown_by_their_first_line():
    text = shown(status(pes=(pe(0, state="FAILED", error="operator A: no such file\nTraceback"),)))
    assert "PE 0: operator A: no such file" in text
    assert "Traceback" not in text
    assert "host 0: out of memory" in shown(status(hosts=(host(state="FAILED", error="out of memory"),)))


def test_a_pe_that_has_committed_nothing_is_in_no_epoch():
    assert row_of(shown(status(pes=(pe(0, state="STARTING", batch=-1),))), "0 ")[3] == "-"


def test_the_time_of_a_complete_application_stands_still():
    done = status(state="COMPLETED", pes=(pe(0, state="COMPLETED", committed_at=NOW - 25),))
    assert "flights  COMPLETED  after 40 s" in shown(done)


def test_one_line_says_the_same():
    assert progress_line(status(), {0: 10.0, 1: 5.0}) == (
        "flights RUNNING; PE 0 RUNNING 0 in, 1,234,567 out; PE 1 RUNNING 1,234,567 in, 32 out; 15 rows/s; "
        "region-0 epoch 4 complete"
    )


def test_a_host_that_was_killed_is_lost_before_the_catalog_knows_it():
    gone = status(hosts=(host(alive=False),))
    assert "flights  LOST  deployed" in shown(gone)
    assert row_of(shown(gone, {0: 50_000.4}), "0 ") == ["0", "Op0", "LOST", "5", "0", "1,234,567", "-"]
    assert progress_line(gone, {0: 10.0}) == (
        "flights LOST; PE 0 LOST 0 in, 1,234,567 out; PE 1 LOST 1,234,567 in, 32 out; region-0 epoch 4 complete"
    )


def test_a_complete_or_failed_pe_is_not_lost_with_its_host():
    gone = (host(alive=False),)
    assert "flights  RUNNING" in shown(status(hosts=gone, pes=(pe(0, state="COMPLETED"),)))
    assert row_of(shown(status(hosts=gone, pes=(pe(0, state="FAILED"),))), "0 ")[2] == "FAILED"
    assert "LOST" not in shown(status(hosts=(host(alive=False, state="STOPPED"),), state="STOPPED"))


def test_the_progress_line_counts_the_states_of_many_pes():
    line = progress_line(status(pes=tuple(pe(number) for number in range(LISTED_PES + 1))), {})
    assert f"; PEs: {LISTED_PES + 1} RUNNING; " in line


def test_rates_are_taken_over_the_last_seconds():
    meter = RateMeter()
    assert meter.rates == {}
    for second in range(20):
        rows = 100 * second if second < 10 else 1000 + 10 * (second - 10)
        meter.add(status(pes=(pe(0, rows_out=rows),)), NOW + second)
    assert meter.rates == {0: 10.0}


def test_totals_that_a_reset_took_back_are_no_negative_rate():
    meter = RateMeter()
    meter.add(status(pes=(pe(0, rows_in=500),)), NOW)
    meter.add(status(pes=(pe(0, rows_in=100), pe(1, rows_in=7))), NOW + 1)
    assert meter.rates == {0: 0.0}
