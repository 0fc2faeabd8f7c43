"""Event time in Python: annotations, windows, late tuples, and types of results."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
import yaml

import streams_orchestration.builder.operators as op
from streams_orchestration.builder import (
    Application,
    BuildError,
    Stream,
    Watermark,
    calendar,
    event_time,
    functions,
    session,
    time_interval,
    use,
)
from streams_orchestration.operators import Operator, TupleBatch
from streams_orchestration.operators.event_time.clause import parse_event_time_window

TYPE = "k string, v bigint, at bigint, head struct<on: timestamp>"


class Sets(Operator):
    watermark_mode: ClassVar[Any] = "manual"

    def process(self, port: int, batch: TupleBatch) -> None:
        self.submit(batch)


def source(app: Application, **more: Any) -> Stream:
    return app.stream(op.FileSource(file="a.jsonl", format="jsonl"), schema=TYPE, name="Src", **more)


def graph_of(app: Application) -> dict[str, Any]:
    return {each["name"]: each for each in yaml.safe_load(app.to_yaml())["graph"]}


def test_an_annotation_has_the_keys_of_a_spec():
    app = Application("test")
    note = event_time(
        "at", lag="${lag}", minimum_gap=0.5, resolution="Microseconds", idle_after=30, max_ahead=60, confirmations=2,
        ahead_of="at", on_null="ignore", max_drift=600,
    )  # fmt: skip
    source(app, event_time=note).to_files("out", name="Out")
    assert graph_of(app)["Src"]["annotations"]["eventTime"] == {
        "eventTimeAttribute": "at",
        "resolution": "Microseconds",
        "lag": "${lag}",
        "minimumGap": 0.5,
        "idleAfter": 30,
        "maxAhead": 60,
        "confirmations": 2,
        "aheadOf": "at",
        "onNull": "ignore",
        "maxDrift": 600,
    }


def test_a_stream_begins_event_time_as_its_operator_does():
    app = Application("test")
    source(app).event_time("at", lag=5).to_files("out", name="Out")
    assert graph_of(app)["Src"]["annotations"]["eventTime"] == {"eventTimeAttribute": "at", "lag": 5}
    (graph,) = app.compile().event_time.graphs
    assert (graph.attribute, graph.sources, graph.operators) == ("at", (0,), (0, 1))


@pytest.mark.parametrize(
    "window",
    [
        time_interval(10),
        time_interval(0.5, every=0.25, discard=15, offset=1, by="pane", early=0.1, partitioned=True),
        session(30, discard=5, partitioned=True),
        calendar("week", "Europe/Berlin", discard=3600),
    ],
)
def test_windows_are_clauses_of_a_spec(window: str):
    assert parse_event_time_window(window) is not None


def test_an_aggregate_with_late_tuples_gives_two_streams():
    app = Application("test")
    read = source(app, event_time=event_time("at"))
    counts, late = read.aggregate(
        time_interval(10), late="TooLate", name="Agg", group_by=["k"], n=functions.count(), at="paneTime()"
    )
    counts.to_files("counts", name="Counts")
    late.to_files("late", name="Late")
    assert graph_of(app)["Agg"]["outputs"] == [
        {"stream": "Agg", "schema": "k string, n bigint, at bigint"},
        {"stream": "TooLate", "schema": TYPE},
    ]
    done = app.compile()
    assert [
        each.outputs for each in done.event_time.operators if done.physical.operators[each.operator].name == "Agg"
    ] == [(0, 1)]


@pytest.mark.parametrize(("attribute", "kind"), [("at", "bigint"), ("head.on", "timestamp")])
def test_times_of_panes_have_the_type_of_the_event_time(attribute: str, kind: str):
    app = Application("test")
    read = source(app, event_time=event_time(attribute)).filter("v > 0")
    read.aggregate(time_interval(10), name="Agg", start="intervalStart()", n="paneIndex()").to_files("out", name="Out")
    assert graph_of(app)["Agg"]["outputs"] == [{"stream": "Agg", "schema": f"start {kind}, n bigint"}]


def test_a_class_brings_its_mode_along():
    app = Application("test")
    read = source(app, event_time=event_time("at"))
    read.apply(use(Sets), schema=TYPE, name="Own").to_files("out", name="Out")
    done = app.compile()
    modes = {done.physical.operators[each.operator].name: each.mode for each in done.event_time.operators}
    assert modes == {"Src": "outputEventTime", "Own": "manual", "Out": "inputWatermark"}


def imported(**more: Any) -> Application:
    app = Application("test")
    taken = app.import_stream(TYPE, name="In", event_time=event_time("at", **more), application="other", streamId="s")
    panes = taken.aggregate(time_interval(10), n="Count()", at="paneTime()", name="Panes")
    panes.to_files("out", name="Out")
    return app


def test_an_import_takes_the_watermarks_of_the_exporter():
    graph = graph_of(imported(resolution="Milliseconds"))
    assert graph["In"]["parameters"]["eventTime"] == {"attribute": "at", "resolution": "Milliseconds"}
    assert imported().compile().event_time.graphs[0].imports == ("In",)
    with pytest.raises(
        BuildError, match="an Import gets its watermarks from the exporting application, so lag belongs there"
    ):
        imported(lag=5)


def test_a_test_gives_an_import_its_tuples_and_its_watermarks():
    late, timely = ("a", 1, 5_000, None), ("a", 2, 15_000, None)
    assert imported().test({"In": [timely, late]})["Out"].to_pylist() == [{"n": 1, "at": 19_999}]
    rows = imported().test({"In": [timely, Watermark(5_000), late]})["Out"].to_pylist()
    assert rows == [{"n": 1, "at": 9_999}, {"n": 1, "at": 19_999}]
