"""`streams status` says what stands out; with `--metrics` everything that was measured."""

from __future__ import annotations

from dataclasses import replace

from streams_orchestration.cli.metrics import facts, metrics_tables
from streams_orchestration.cli.observing import details
from streams_orchestration.cli.terminal import rendered
from streams_orchestration_tests.cli.made_up import NOW, metrics, operator_metrics, status


def test_facts_name_who_works_who_is_behind_and_who_drops():
    assert [text.plain for text in facts(metrics())] == [
        "busiest  Delays 61% of a processor",
        "behind  PE 1 reads Delays: 9 segments, 4,500 tuples, the oldest 12 s old",
        "dropped  12 by Delays",
    ]


def test_a_reader_that_holds_its_producer_up_is_said_to():
    (stream,) = metrics().streams
    late = replace(stream, readers=(replace(stream.readers[0], lag_segments=42),))
    output = [text.plain for text in facts(metrics(streams=(late,)))]
    assert any(line.endswith("12 s old; from 32 segments on PE 0 waits for it") for line in output)


def test_unremarkable_metrics_give_no_facts():
    quiet = metrics(operators=(operator_metrics("Delays", cores=None),), streams=())
    assert list(facts(quiet)) == []


def test_the_rate_is_that_of_the_last_minute():
    lines = rendered(details(status(), NOW, metrics()), colour=False).splitlines()
    assert next(line for line in lines if line.startswith(" 0")).split()[-1] == "77"


def test_tables_have_all_figures():
    rows = [line.split() for line in rendered(metrics_tables(metrics()), colour=False, width=150).splitlines()]
    for row in (
        ["0", "10", "1.0", "100.0", "50.0", "2.0", "1,000", "500", "77"],
        ["Delays", "0", "1,000", "-", "8.0", "-", "0.00", "2,000", "61%", "1.5"],
        ["Delays", "0", "5,000", "0.0", "10", "2", "1", "10", "4,500", "tuples", "12", "s"],
        ["Delays", "0", "1,000", "0.0", "2.0", "3", "2"],
        ["Flights:0", "->", "Delays:0", "3", "4"],
        ["Delays", "dropped", "rows", "12"],
    ):
        assert row in rows


def test_why_there_is_nothing_is_said():
    assert "STREAMS_METRICS=off" in rendered(metrics_tables(metrics(measured=False)), colour=False)
    assert "No metrics are available yet" in rendered(metrics_tables(metrics(pes=())), colour=False)
