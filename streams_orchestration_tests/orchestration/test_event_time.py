"""Event time in Dagster: watermarks and late tuples of materializations, and sinks that are to be complete in time."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from streams_orchestration.compiler.compilation import CompileError
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.operators.tuples.watermarks import END
from streams_orchestration.orchestration.asset_keys import AssetKeys
from streams_orchestration.orchestration.cut_checks import COMPLETE, evaluate_checks, late_at
from streams_orchestration.orchestration.deployment_checks import evaluation
from streams_orchestration.orchestration.progress import part_events
from streams_orchestration.runtime import api
from streams_orchestration.runtime.sinks.sinks import SinkStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.orchestration.statuses import NOW, running
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import OPERATORS, SCHEMAS, in_event_time, lines, through
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy


def behind(seconds: float | None, state: str = "RUNNING", *, ended: bool = False, within: float | None = 900.0) -> Any:
    watermark = END if ended else None if seconds is None else int((NOW - seconds) * 1e6)
    out = SinkStatus("Out", Path("out"), "csv", 2, 500, epoch=3, watermark=watermark, complete_within=within)
    return running(state=state, sinks=(out,), deployed_at=NOW - 1000)


CASES = {
    "in time": (behind(900), ""),
    "behind": (behind(901), "Out is complete up to 2027-01-15 07:44:59.000 UTC, 901 s ago; completeWithin is 900 s"),
    "no watermark yet": (behind(None), "Out has no watermark yet, 1000 s ago; completeWithin is 900 s"),
    "no bound": (behind(9000, within=None), ""),
    "its streams have ended": (behind(None, ended=True), ""),
    "stopped": (behind(9000, "STOPPED"), ""),
}


@pytest.mark.parametrize("case", CASES)
def test_a_sink_is_to_be_complete_within_some_seconds_of_event_time(case: str):
    status, problem = CASES[case]
    (judgement,) = (each for each in evaluate_checks(status, NOW) if each.name == COMPLETE)
    assert (problem in " ".join(judgement.problems)) and bool(problem) == bool(judgement.problems)
    event = evaluation(AssetKeys(), "demo", judgement)
    assert (event.passed, event.severity) == (not problem, dg.AssetCheckSeverity.WARN)


def test_the_sensor_looks_again_when_a_sink_becomes_late():
    assert late_at(behind(880), NOW) == NOW + 20
    assert late_at(behind(901), NOW) > NOW + 20  # the next cut


def graph(directory: Path, within: float | str | None) -> list[dict[str, Any]]:
    panes = through(
        "Panes",
        "Aggregate",
        "Rows",
        parameters={
            "window": "timeInterval, intervalDuration(2.0)",
            "groupBy": ["k"],
            "output": {"at": "paneTime()", "n": "Count()"},
        },
    )
    out = sink("Out", "Panes")
    return [
        lines("Rows", directory / "rows"),
        panes,
        out if within is None else out | {"config": {"completeWithin": within}},
    ]


@pytest.mark.slow
def test_materializations_have_the_watermark_and_the_late_tuples_that_were_dropped(tmp_path: Path):
    (tmp_path / "rows").write_text("1000 a 1\n9000 a 2\n3000 a 3\n2000 a 4\n9500 a 5\n")
    compilation = in_event_time(graph(tmp_path, 900), fusion="manual", pes=3)
    local = LocalApplication(Home(tmp_path / "home"), compilation, 10)
    for turn in range(8):
        if turn == 4:
            local.trigger()
        for program in local.programs:
            local.step(program)
        local.publish()
    status, metrics = api.read_status(local.catalog, local.name), api.read_metrics(local.catalog, local.name)
    assert [each.complete_within for each in status.sinks] == [900]
    found = part_events(AssetKeys(), status, metrics, status.pes, status.sinks, lambda _sink, _most: ())
    shown = {
        each.asset_key.path[-1]: (each.metadata.get("streams/watermark"), each.metadata.get("streams/late_dropped"))
        for each in found
        if each.asset_key.path[-2] != "pes"
    }
    at = dg.MetadataValue.timestamp(dt.datetime.fromtimestamp(9.5, dt.UTC))
    count = dg.MetadataValue.int
    assert shown == {"Rows": (at, count(0)), "Panes": (at, count(2)), "Out": (at, count(2))}

    redeploy(local, in_event_time(graph(tmp_path, 60), fusion="manual", pes=3))
    assert [each.complete_within for each in api.read_status(local.catalog, local.name).sinks] == [60]


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "no event time": (
        {"name": "Out", "operator": "FileSink", "inputs": ["Plain"], "parameters": {"file": "o"}},
        "SO0806",
        "completeWithin needs event time, but none arrives",
    ),
    "no sink": (
        through("More", "Filter", "Rows", parameters={"filter": "n > 0"}),
        "SO0806",
        "completeWithin is for sinks, but this operator has output streams",
    ),
    "no time": (sink("Out", "Rows"), "SO0401", "completeWithin must be above 0"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_bound_that_makes_no_sense_is_refused_at_its_line(tmp_path: Path, case: str):
    node, code, message = WRONG[case]
    plain = {"name": "Plain", "operator": "Lines", "outputs": [{"stream": "Plain", "schema": "T"}]}
    nodes = [
        lines("Rows", tmp_path / "rows"),
        plain | {"parameters": {"file": "f"}},
        node | {"config": {"completeWithin": 0 if case == "no time" else 900}},
    ]
    document = {"specVersion": 1, "application": "a", "schemas": SCHEMAS, "operators": OPERATORS, "graph": nodes}
    with pytest.raises(CompileError) as refused:
        compile_application(application_from_mapping(document), Options())
    found = [each for each in refused.value.diagnostics if each.severity == "error"]
    assert [(each.code, message in each.message) for each in found] == [(code, True)]
