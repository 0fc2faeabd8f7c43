"""The loop in Dagster: measure, decide, apply, compare."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.model.profile import (
    OperatorProfile,
    PassageCost,
    PeProfile,
    Profile,
    StreamProfile,
    Transport,
    Unmeasured,
)
from streams_orchestration.model.profile_document import profile_from_mapping
from streams_orchestration.orchestration.application import build_application_definitions
from streams_orchestration.orchestration.artifacts import ArtifactStore, StageMissingError
from streams_orchestration.orchestration.decisions import NotDecoupledError
from streams_orchestration.orchestration.instance import settings_file
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import NotDeployedError
from streams_orchestration.runtime.observing.profiles.measuring import Measurement
from streams_orchestration.runtime.observing.profiles.outcomes import compare_with_profile, store_outcome
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.orchestration.conftest import Runtime, evaluated, step
from streams_orchestration_tests.orchestration.redeployments import MOVED, outcome
from streams_orchestration_tests.orchestration.shown_states import stale_states
from streams_orchestration_tests.orchestration.statuses import running

pytestmark = pytest.mark.slow

CHEAP = Transport("calibrated", PassageCost(1e-9, 0.0), PassageCost(1e-9, 0.0))
PROFILING = ("operator_profile", "decoupling_decision", "decoupling_outcome")
SPEC = """\
specVersion: 1
application: demo
schemas: {Number: "n bigint"}
graph:
  - name: Numbers
    operator: Beacon
    parameters: {iterations: 1000}
    outputs: [{stream: Numbers, schema: Number}]
    annotations: {consistent: {trigger: periodic, period: 1.0}}
  - {name: Even, operator: Filter, inputs: [Numbers], parameters: {filter: "n % 2 == 0"}}
  - {name: Results, operator: FileSink, inputs: [Even], parameters: {file: even.csv, format: csv}}
"""


def profile(rate: float = 100.0, pes: tuple[PeProfile, ...] = (), **cpu: float) -> Profile:
    """Ten seconds of `demo`, processors by operator."""
    streams = tuple(StreamProfile(name, 10 * rate, 0, 80 * rate) for name in ("Numbers", "Even"))
    operators = tuple(OperatorProfile(name, 10 * load) for name, load in cpu.items())
    return Profile("demo", 10.0, streams, operators, CHEAP, pes, (Unmeasured("Late", "why"),))


BUSY = profile(Numbers=0.05, Even=0.2, Results=0.25)


@pytest.fixture
def measured(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the answers of the next measurement and of the deployment; a test may change them."""
    answers: dict[str, Any] = {"profile": BUSY, "deployed": None}

    def measure(_catalog: Catalog, application: str, seconds: float, _pause: Any) -> Measurement:
        runtime.calls.append(("measure", application, seconds))
        return Measurement(answers["profile"], ("it was ended early",))

    def deployed(home: Home, application: str) -> Compilation:
        if answers["deployed"] is None:
            raise NotDeployedError(application, (), home.root)
        return answers["deployed"]

    replace_function(monkeypatch, api, "measure_application", measure)
    replace_function(monkeypatch, api, "read_compilation", deployed)
    replace_function(monkeypatch, api, "read_compilation_if_any", lambda _catalog, _application: answers["deployed"])
    replace_function(monkeypatch, api, "compare_with_profile", compare_with_profile)
    replace_function(monkeypatch, api, "store_outcome", store_outcome)
    return answers


def run(defs: dg.Definitions, job: str, config: dict[str, Any] | None = None, **more: Any) -> dg.ExecuteInProcessResult:
    return defs.resolve_job_def(job).execute_in_process(config, **more)


def shown(result: dg.ExecuteInProcessResult) -> dict[str, dict[str, Any]]:
    events = result.get_asset_materialization_events()
    return {e.asset_key.path[-1]: dict(e.materialization.metadata) for e in events if e.asset_key}


def rows(value: Any) -> list[dict[str, Any]]:
    return [dict(record.data) for record in value.records]


def decided(defs: dg.Definitions, measured: dict[str, Any], store: ArtifactStore) -> dict[str, dict[str, Any]]:
    run(defs, "demo__compile")
    measured["deployed"] = store.compilation("demo")
    return shown(run(defs, "demo__profile", {"ops": {"measure": {"config": {"seconds": 5}}}}))


def test_a_profile_and_a_decision_are_assets(
    defs: dg.Definitions, measured: dict[str, Any], store: ArtifactStore, runtime: Runtime
):
    actual = decided(defs, measured, store)
    assert ("measure", "demo", 5.0) in runtime.calls
    assert set(actual) == {"operator_profile", "decoupling_decision"}, "nothing was applied, so nothing is compared"
    assert rows(actual["operator_profile"]["streams/operators"])[0] == {
        "operator": "Results", "% of a processor": 25.0, "tuples/s in": 0.0, "tuples/s out": 0.0,
    }  # fmt: skip
    assert actual["operator_profile"]["streams/unmeasured"].value == 1
    assert actual["operator_profile"]["streams/remarks"].value == "it was ended early"
    decision = actual["decoupling_decision"]
    assert decision["streams/predicted_speedup"].value == pytest.approx(2.0, abs=0.01)
    assert [row["operator"] for row in rows(decision["streams/moved"])] == ["Results"]
    assert [row["stream"] for row in rows(decision["streams/cuts"])] == ["Even"]
    assert decision["streams/drawing"].value.startswith("![decoupling_decision](data:image/svg+xml;base64,")
    assert profile_from_mapping(store.get("demo", "operator_profile")) == BUSY


def test_a_decision_needs_a_profile(defs: dg.Definitions, measured: dict[str, Any]):
    run(defs, "demo__compile")
    with pytest.raises(StageMissingError, match="Run job demo__profile while it runs"):
        run(defs, "demo__profile", op_selection=["decide"])


def test_everything_that_can_be_materialized_is_so_when_nothing_runs(defs: dg.Definitions, measured: dict[str, Any]):
    graph = defs.resolve_asset_graph()
    assert not {dg.AssetKey(["demo", name]) for name in PROFILING} & graph.executable_asset_keys
    everything = dg.define_asset_job("everything", selection=dg.AssetSelection.all())
    merged = dg.Definitions.merge(defs, dg.Definitions(jobs=[everything]))
    assert merged.resolve_job_def("everything").execute_in_process().success


def test_profiling_follows_the_deployment_aside_of_the_data_path(defs: dg.Definitions):
    specs = {spec.key.path[-1]: spec for spec in defs.resolve_all_asset_specs()}
    assert {specs[name].group_name for name in PROFILING} == {"demo_profiling"}
    before = {name: {dep.asset_key.path[-1] for dep in specs[name].deps} for name in PROFILING}
    assert before == {
        "operator_profile": {"deployment"},
        "decoupling_decision": {"operator_profile"},
        "decoupling_outcome": {"operator_profile", "decoupling_decision"},
    }
    assert not [name for name in PROFILING if specs[name].automation_condition is not None]


def test_another_deployment_makes_no_profile_stale(defs: dg.Definitions):
    with dg.DagsterInstance.ephemeral() as instance:
        for number, name in enumerate(("deployment", *PROFILING, "deployment")):
            tags = {"dagster/data_version": str(number)}
            instance.report_runless_asset_event(dg.AssetMaterialization(["demo", name], tags=tags))
        assert stale_states(instance, defs, PROFILING) == {"FRESH"}


APPLY = step("write_wanted_state", fresh=True)


def test_a_decision_is_compiled_deployed_and_compared_with_what_is_measured_then(
    defs: dg.Definitions, measured: dict[str, Any], store: ArtifactStore, runtime: Runtime
):
    decided(defs, measured, store)
    runtime.status = running()
    runtime.calls.clear()
    with dg.DagsterInstance.ephemeral() as instance:
        assert run(defs, "demo__decouple", APPLY, instance=instance).success
    assert [name for name in runtime.names if name not in ("read_status", "check_cut_files")] == [
        "start over",
        "launch_hosts",
        "await_running_pes",
    ]
    measured["deployed"] = applied = store.compilation("demo")
    assert [len(pe.operators) for pe in applied.fusion.pes] == [2, 1]
    measured["profile"] = profile(
        150.0, (PeProfile(0, 4.0, 0.0, 10.0), PeProfile(1, 5.0, 0.0, 10.0)), Numbers=0.1, Even=0.3, Results=0.5
    )
    outcome = shown(run(defs, "demo__profile"))["decoupling_outcome"]
    # 100 a second took half a processor, so 200 were the most; 150 take half of one now, so 300 are
    assert outcome["streams/measured_speedup"].value == pytest.approx(1.5)
    assert outcome["streams/predicted_speedup"].value == pytest.approx(2.0, abs=0.01)
    assert outcome["streams/throughput_ratio"].value == 1.5
    assert [round(row["predicted %"], 1) for row in rows(outcome["streams/pes"])] == [37.5, 37.5]
    run(defs, "demo__profile")
    assert [each["measuredSpeedup"] for each in store.get("demo", "decoupling_outcome")] == [1.5, 1.5]


def test_a_decision_is_applied_only_if_it_exists_gains_enough_and_splits_a_pe(
    defs: dg.Definitions, measured: dict[str, Any], store: ArtifactStore, runtime: Runtime
):
    with pytest.raises(NotDecoupledError, match="Run job demo__profile"):
        run(defs, "demo__decouple", APPLY)
    decided(defs, measured, store)
    runtime.status = running()
    runtime.calls.clear()
    with pytest.raises(NotDecoupledError, match="less than the 3 times at which it is applied"):
        run(defs, "demo__decouple", {"ops": {"demo__logical_graph": {"config": {"decision_gain": 3}}}})
    found = store.get("demo", "decoupling_decision") or {}
    store.put("demo", "decoupling_decision", found | {"decision": found["decision"] | {"parts": [[0]]}})
    with pytest.raises(NotDecoupledError, match="splits no PE"):
        run(defs, "demo__decouple", APPLY)
    assert set(runtime.names) <= {"read_status"}


def test_a_decision_is_applied_with_the_state_kept(
    defs: dg.Definitions, measured: dict[str, Any], store: ArtifactStore, runtime: Runtime
):
    decided(defs, measured, store)
    runtime.status = running()
    runtime.redeployment = outcome(MOVED)
    runtime.calls.clear()
    result = run(defs, "demo__decouple")
    names = [name for name in runtime.names if name not in ("read_status", "check_cut_files")]
    assert names == ["replace", "launch_hosts", "await_running_pes"]
    step_key = "demo__deployment.write_wanted_state"
    outputs = [e.step_output_data for e in result.all_events if e.is_successful_output and e.step_key == step_key]
    assert outputs[0].metadata["streams/verdict"].value == "kept: All state is kept."


@pytest.mark.filterwarnings("ignore::dagster.BetaWarning")  # a repository made by hand
def test_the_sensor_asks_for_what_pays_and_is_off(defs: dg.Definitions, measured: dict[str, Any], store: ArtifactStore):
    sensor = defs.resolve_sensor_def("demo__decoupling_gain")
    assert sensor.default_status is dg.DefaultSensorStatus.STOPPED
    run(defs, "demo__compile")
    measured["deployed"] = store.compilation("demo")

    def tick(instance: dg.DagsterInstance) -> Any:
        run(defs, "demo__profile", instance=instance)
        return evaluated(defs, "demo__decoupling_gain", instance)

    with dg.DagsterInstance.ephemeral() as instance:
        request = (tick(instance).run_requests or [])[0]
        assert request.run_config == {"ops": {"demo__logical_graph": {"config": {"decision_gain": 1.2}}}}
        measured["profile"] = replace(BUSY, operators=(OperatorProfile("Results", 5.0), OperatorProfile("Even", 0.1)))
        assert "is less than 1.2" in (tick(instance).skip_message or "")
        measured["profile"] = BUSY
        tick(instance)
        run(defs, "demo__decouple", APPLY, instance=instance)
        measured["deployed"] = store.compilation("demo")
        assert tick(instance).skip_message == "the PEs in which the application runs have the same predicted throughput"
        measured["profile"] = profile(Numbers=0.21, Even=0.2, Results=0.2)
        assert "over the running PEs is less than 1.2" in (tick(instance).skip_message or ""), "2 over the PEs as fused"
        measured["profile"] = profile(Numbers=0.3, Even=0.2, Results=0.05)
        assert tick(instance).run_requests
        assert store.get("demo", "decoupling_decision")["decision"]["gain"] == pytest.approx(1.67, abs=0.01)
        measured["deployed"] = replace(measured["deployed"], physical=None)
        run(defs, "demo__profile", instance=instance, op_selection=["decide"])
        assert "gain" not in store.get("demo", "decoupling_decision")["decision"], "what runs is another graph"


@pytest.mark.parametrize(
    ("status", "skipped"),
    [(None, "Nothing is deployed there"), (running(state="STOPPED"), "demo is STOPPED"), (running(), None)],
)
def test_the_schedule_measures_only_what_runs(
    spec: Path, home: Home, runtime: Runtime, status: Any, skipped: str | None
):
    runtime.status = status
    defs = build_application_definitions(spec, home)
    schedule = defs.resolve_schedule_def("demo__profile")
    context = dg.build_schedule_context(resources=dict(defs.resources or {}))
    tick = schedule.evaluate_tick(context)
    assert bool(tick.run_requests) == (skipped is None)
    assert (skipped or "") in (tick.skip_message or "")


def test_measurements_wait_for_one_another_and_resets_for_nothing(spec: Path, home: Home):
    defs = build_application_definitions(spec, home)
    measuring, resetting = (defs.resolve_job_def(name).tags for name in ("demo__profile", "demo__reset"))
    assert int(measuring["dagster/priority"]) < 0 < int(resetting["dagster/priority"])
    limits = yaml.safe_load(settings_file().read_text())["concurrency"]["runs"]["tag_concurrency_limits"]
    assert {"key": "streams/work", "value": measuring["streams/work"], "limit": 1} in limits
    (measure,) = [node for node in defs.resolve_job_def("demo__profile").graph.nodes if node.name == "measure"]
    assert measure.definition.pools == {"streams_profiling"}, "a Dagster of the user's own can limit it"
