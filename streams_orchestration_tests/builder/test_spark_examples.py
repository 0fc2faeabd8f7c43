"""Queries from Spark's guide, brought in by their functions alone, and tested as any application is."""

from __future__ import annotations

import datetime
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

import streams_orchestration.builder.operators as op
from streams_orchestration.builder import Application
from streams_orchestration_tests.builder import spark_examples

pytestmark = [pytest.mark.java, pytest.mark.deep]
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
EVENT, WORD = "user string, timestamp timestamp", "word string, timestamp timestamp"
IMPRESSION = "impressionAdId bigint, impressionTime timestamp"
CLICK = "clickAdId bigint, clickTime timestamp"
COUNT = "window struct<start: timestamp, end: timestamp>, word string, count bigint"


def at(seconds: float) -> datetime.datetime:
    return START + datetime.timedelta(seconds=seconds)


def function(name: str, *watermarks: tuple[str, str]) -> Any:
    times = {stream: {"attribute": attribute, "delay": "10 minutes"} for stream, attribute in watermarks}
    return op.DataFrame(function=f"{spark_examples.__name__}:{name}", watermarks=times)


def application() -> Application:
    app = Application("examples")
    words = app.stream(op.FileSource(file="words.csv", format="csv"), schema=WORD, name="Words")
    words.consistent(period=1)
    counts = app.stream(function("word_counts", ("Words", "timestamp")), words, schema=COUNT, name="Counts")
    events = app.stream(op.FileSource(file="events.csv", format="csv"), schema=EVENT, name="Events")
    events.consistent(period=1)
    ended = app.stream(
        function("sessions", ("Events", "timestamp")), events, schema=spark_examples.SESSION, name="Ended"
    )
    shown = app.stream(op.FileSource(file="shown.csv", format="csv"), schema=IMPRESSION, name="Shown")
    clicks = app.stream(op.FileSource(file="clicks.csv", format="csv"), schema=CLICK, name="Clicks")
    shown.consistent(period=1)
    clicks.consistent(period=1)
    times = ("Shown", "impressionTime"), ("Clicks", "clickTime")
    both = app.stream(function("clicked", *times), shown, clicks, schema=f"{IMPRESSION}, {CLICK}", name="Clicked")
    for stream, name in ((counts, "CountsOut"), (ended, "EndedOut"), (both, "ClickedOut")):
        stream.to_files(name, name=name)
    return app


def test_functions_of_the_guide_do_here_what_they_do_there():
    words = [("abc"[number % 3], at(70 * number)) for number in range(60)]
    events = [(f"u{number % 2}", at(40 * number + 1000 * (number // 8))) for number in range(40)]
    shown = [(number, at(60 * number)) for number in range(40)]
    clicks = [(number, at(60 * number + 1000 * (number % 5))) for number in range(0, 40, 2)]
    tables = application().test({"Words": words, "Events": events, "Shown": shown, "Clicks": clicks}, batch=15)
    counts = {(row["window"]["start"], row["word"]): row["count"] for row in tables["CountsOut"].to_pylist()}
    assert counts == counted(words)
    ended = Counter((row["user"], row["events"], row["seconds"]) for row in tables["EndedOut"].to_pylist())
    assert ended == in_sessions(events)
    clicked = {row["impressionAdId"]: row["clickAdId"] for row in tables["ClickedOut"].to_pylist()}
    wanted = {number for number, time in clicks if time <= at(60 * number + 3600)}
    assert clicked == {number: number if number in wanted else None for number, _ in shown}


def counted(words: list[tuple[str, datetime.datetime]]) -> dict[tuple[datetime.datetime, str], int]:
    """(Start of a window, word) -> how often it comes."""
    counts: Counter[tuple[datetime.datetime, str]] = Counter()
    for word, time in words:
        latest = int((time - START).total_seconds()) // 300 * 300
        counts.update([(at(latest), word), (at(latest - 300), word)])
    return dict(counts)


def in_sessions(events: list[tuple[str, datetime.datetime]]) -> Counter[tuple[str, int, int]]:
    """User, events and seconds of every session."""
    matches: Counter[tuple[str, int, int]] = Counter()
    for user in {user for user, _ in events}:
        times = [time for each, time in events if each == user]
        breaks = [0, *(n for n, (a, b) in enumerate(pairwise(times), 1) if (b - a).total_seconds() > 300), len(times)]
        for first, last in pairwise(breaks):
            matches[user, last - first, int((times[last - 1] - times[first]).total_seconds())] += 1
    return matches
