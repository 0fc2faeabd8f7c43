"""Widths by measured load: what is wanted, and when the sensor requests it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.fusion_fingerprint import fusion_fingerprint
from streams_orchestration.model.profile import OperatorProfile, Profile
from streams_orchestration.model.profile_document import mapping_of
from streams_orchestration.orchestration.application import build_application_definitions
from streams_orchestration.orchestration.artifacts import ArtifactStore
from streams_orchestration.orchestration.asset_keys import APPLICATION_TAG
from streams_orchestration.orchestration.profiling import PROFILE
from streams_orchestration.orchestration.region_widths import (
    NewWidth,
    RegionLoad,
    Rescaling,
    region_loads,
    width_change,
)
from streams_orchestration.orchestration.resource import resource_of
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.orchestration.conftest import Runtime
from streams_orchestration_tests.orchestration.statuses import failed, running

NESTED = """\
specVersion: 1
application: demo
schemas: {Row: "k string"}
composites:
  Inside:
    inputs: [In]
    outputs: [F]
    graph:
      - {name: F, operator: Filter, inputs: [In], parameters: {filter: "k != ''"}, annotations: {parallel: {width: 2}}}
graph:
  - {name: S, operator: Beacon, outputs: [{stream: S, schema: Row}]}
  - {name: X, operator: Inside, inputs: [S], outputs: [X], annotations: {parallel: {width: 2}}}
  - {name: Out, operator: FileSink, inputs: [X], parameters: {file: out}}
"""


def test_loads_are_those_of_channels_with_all_that_is_in_them(tmp_path: Path):
    path = tmp_path / "demo.yaml"
    path.write_text(NESTED)
    seconds = {"S": 9.0, "X[0].F[0]": 1.0, "X[0].F[1]": 2.0, "X[1].F[2]": 6.0, "X[1].F[3]": 1.0, "Gone": 5.0}
    profile = Profile("demo", 10.0, operators=tuple(OperatorProfile(*each) for each in seconds.items()))
    outer, inner = sorted(region_loads(compile_spec(path), profile), key=lambda load: load.region)
    assert (outer.region, outer.width, outer.busiest, outer.total) == ("X", 2, pytest.approx(0.7), pytest.approx(1.0))
    assert (inner.region, inner.width, inner.busiest, inner.total) == ("X.F", 2, 0.6, pytest.approx(0.7))


POLICY = Rescaling(target=0.5, low=0.1, least=1, most=6)
WIDTHS: dict[str, tuple[list[RegionLoad], NewWidth | None, str]] = {
    "just right": ([RegionLoad("A", 2, 0.4, 0.8)], None, "no region is over or far under"),
    "too busy": ([RegionLoad("A", 2, 0.9, 1.8)], NewWidth("A", 5, ""), "over 0.5"),
    "never wider than the policy has it": ([RegionLoad("A", 4, 0.9, 3.6)], NewWidth("A", 6, ""), "over 0.5"),
    "as wide as it may be": ([RegionLoad("A", 6, 0.9, 5.4)], None, "6 is the largest width"),
    "one channel has most of it": ([RegionLoad("A", 4, 0.9, 1.0)], None, "the other channels have little to do"),
    "idle": ([RegionLoad("A", 4, 0.05, 0.1)], NewWidth("A", 1, ""), "under 0.1"),
    "narrow already": ([RegionLoad("A", 1, 0.05, 0.05)], None, "no region"),
    "the busiest first": (
        [RegionLoad("A", 2, 0.6, 1.2), RegionLoad("B", 2, 0.9, 1.8), RegionLoad("C", 2, 0.0, 0.0)],
        NewWidth("B", 5, ""), "B takes 0.90",
    ),
    "one that cannot be helped does not hold up another": (
        [RegionLoad("A", 3, 0.9, 0.9), RegionLoad("B", 4, 0.01, 0.04)], NewWidth("B", 1, ""), "B takes 0.01"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WIDTHS)
def test_the_one_change_that_is_needed_most(case: str):
    loads, wanted, words = WIDTHS[case]
    change = width_change(loads, POLICY, None)
    assert words in (change if isinstance(change, str) else change.reason)
    assert (None if isinstance(change, str) else replace(change, reason="")) == wanted


@given(st.integers(1, 12), st.lists(st.floats(0, 1), min_size=12, max_size=12), st.floats(0.1, 1.0))
def test_a_change_is_within_bounds_and_is_not_followed_by_another_under_the_same_load(
    width: int, shares: list[float], target: float
):
    policy = Rescaling(target=target, low=target / 4, least=2, most=10)
    total = sum(shares[:width])
    change = width_change([RegionLoad("A", width, max(shares[:width]), total)], policy, None)
    if isinstance(change, str):
        return
    assert 2 <= change.width <= 10 or change.width < width
    assert change.width != width
    even = RegionLoad("A", change.width, total / change.width, total)
    again = width_change([even], policy, None)
    assert isinstance(again, str) or change.width == 10 or again.width > 1
    if change.width > width and change.width < 10:
        assert isinstance(again, str), "hysteresis"


@pytest.mark.parametrize("wrong", [{"low": 0.5}, {"least": 4, "most": 2}, {"target": 0}, {"mots": 3}])
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, Any]):
    with pytest.raises(ValueError):
        Rescaling(**wrong)


class Sensed:
    """The sensor of `demo`, of which region Even has these loads."""

    def __init__(self, spec: Path, home: Home, runtime: Runtime) -> None:
        self.defs = build_application_definitions(spec, home, rescale=Rescaling(most=4))
        self.sensor = self.defs.resolve_sensor_def("demo__rescale")
        self.store, self.runtime = ArtifactStore(home), runtime
        self.resources = {resource_of(home).key(): resource_of(home)}
        self.instance = dg.DagsterInstance.ephemeral()
        self.cursor: str | None = None
        runtime.deployed, runtime.status, runtime.under_way = compile_spec(spec), running(), None
        self.measure(0.9, 0.9)

    def measure(self, *loads: float, at: float | None = None, **changes: Any) -> None:
        """Store a profile."""
        plan = self.runtime.deployed
        operators = tuple(OperatorProfile(f"Even[{channel}]", 10 * load) for channel, load in enumerate(loads))
        mark = fusion_fingerprint(plan.logical, plan.physical, plan.fusion)
        profile = Profile("demo", 10.0, operators=operators, fingerprint=mark, measured_at=at or time.time())
        self.store.put("demo", PROFILE, mapping_of(replace(profile, **changes)))

    def tick(self) -> Any:
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, definitions=self.defs, resources=self.resources
        )
        evaluation = self.sensor.evaluate_tick(context)
        self.cursor = evaluation.cursor or self.cursor
        return evaluation

    def skipped(self) -> str:
        evaluation = self.tick()
        assert not evaluation.run_requests
        return evaluation.skip_message or ""


@pytest.fixture
def sensed(spec: Path, home: Home, runtime: Runtime) -> Sensed:
    return Sensed(spec, home, runtime)


@pytest.mark.slow
def test_a_busy_region_gets_more_channels_once(sensed: Sensed):
    assert sensed.sensor.default_status is dg.DefaultSensorStatus.STOPPED
    (request,) = sensed.tick().run_requests
    config = request.run_config["ops"]["demo__logical_graph"]["config"]
    assert config["keep"] is True
    assert config["widths"] == [{"pattern": "Even", "width": 4}]
    assert "0.90 processors, over 0.7" in request.tags["streams/reason"]
    assert "no new profile" in sensed.skipped()
    sensed.measure(0.95, 0.95)
    assert "600 s" in sensed.skipped()


@pytest.mark.slow
def test_the_request_of_the_sensor_configures_the_redeploy_job(sensed: Sensed):
    (request,) = sensed.tick().run_requests
    sensed.runtime.redeployment = None
    result = sensed.defs.resolve_job_def("demo__redeploy").execute_in_process(request.run_config)
    assert result.success
    assert sensed.store.options("demo").widths == (("Even", 4),)


def wait_for(sensed: Sensed, job: str) -> None:
    """Queue a run."""
    sensed.instance.create_run_for_job(sensed.defs.resolve_job_def(job), tags={APPLICATION_TAG: "demo"})


BLOCKED: dict[str, tuple[Callable[[Sensed], Any], str]] = {
    "stopped": (lambda each: setattr(each.runtime, "status", running(state="STOPPED")), "demo is STOPPED"),
    "a reset": (lambda each: setattr(each.runtime, "status", failed(running())), "region-0 of demo has failed"),
    "a drain": (lambda each: setattr(each.runtime, "under_way", "region-0 stands still"), "region-0 stands still"),
    "a run of the reset job": (lambda each: wait_for(each, "demo__reset"), "of demo__reset has not ended yet"),
    "a run of the redeploy job": (lambda each: wait_for(each, "demo__redeploy"), "of demo__redeploy has not ended yet"),
    "not deployed": (lambda each: setattr(each.runtime, "status", None), "no such application"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BLOCKED)
def test_nothing_is_requested_while_something_else_is_done_and_it_is_made_up_for(sensed: Sensed, case: str):
    block, words = BLOCKED[case]
    block(sensed)
    assert words in sensed.skipped()
    sensed.runtime.status, sensed.runtime.under_way = running(), None
    for run in sensed.instance.get_runs():
        sensed.instance.report_run_failed(run)
    assert sensed.tick().run_requests


@pytest.mark.slow
def test_a_profiling_run_is_in_no_ones_way(sensed: Sensed):
    wait_for(sensed, "demo__profile")
    assert sensed.tick().run_requests


@pytest.mark.slow
def test_loads_of_another_plan_are_ignored(sensed: Sensed):
    sensed.measure(0.9, 0.9, fingerprint="other")
    assert "with another plan" in sensed.skipped()


@pytest.mark.slow
@pytest.mark.parametrize("document", ['{"pes": 3}', "[1, 2]", "no JSON"])
def test_a_file_that_is_not_a_profile_is_the_reason_of_a_skipped_tick(sensed: Sensed, document: str):
    sensed.store.path("demo", PROFILE).write_text(document)
    assert re.search(
        r"profile\.json: .*job demo__profile|profile\.json: .* job that wrote it", sensed.skipped(), re.DOTALL
    )


@pytest.mark.slow
def test_an_old_profile_counts_for_nothing(sensed: Sensed):
    sensed.measure(0.9, 0.9, at=time.time() - 1000)
    assert "s old" in sensed.skipped()


@pytest.mark.slow
def test_a_change_that_was_refused_is_not_requested_again(sensed: Sensed):
    (request,) = sensed.tick().run_requests
    run = sensed.instance.create_run_for_job(sensed.defs.resolve_job_def("demo__redeploy"), tags=request.tags)
    sensed.instance.report_run_failed(run)
    sensed.cursor = None
    sensed.measure(0.9, 0.9)
    assert f"run {run.run_id} has already failed with this change" in sensed.skipped()


@pytest.mark.slow
def test_an_idle_region_gets_fewer_channels(sensed: Sensed):
    sensed.measure(0.01, 0.02)
    (request,) = sensed.tick().run_requests
    assert request.run_config["ops"]["demo__logical_graph"]["config"]["widths"] == [{"pattern": "Even", "width": 1}]


def test_the_bound_is_the_machine_where_the_policy_names_none():
    change = width_change([RegionLoad("A", 2, 1.0, 2.0)], Rescaling(), 3)
    assert isinstance(change, NewWidth)
    assert change.width == min(3, ceil(2.0 / (0.8 * 0.7)))
