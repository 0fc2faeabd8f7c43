from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.orchestration import containers, op_parts
from streams_orchestration.orchestration.application import build_application_definitions
from streams_orchestration.orchestration.artifacts import ArtifactStore, StageMissingError, StagesOutOfStepError
from streams_orchestration.orchestration.asset_keys import own_key
from streams_orchestration.orchestration.spec_state import observation, version_of
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.deployment import lasting_hosts
from streams_orchestration.runtime.errors.errors import (
    CatalogUnavailableError,
    CommitUnknownError,
    HostLaunchError,
    NotDeployableError,
    NotDeployedError,
)
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import list_applications
from streams_orchestration_tests.orchestration.conftest import DEMO, Runtime, step
from streams_orchestration_tests.orchestration.statuses import failed, running
from streams_orchestration_tests.runtime.readings import changed

pytestmark = pytest.mark.slow


def run(
    defs: dg.Definitions, job: str, config: Mapping[str, object] | None = None, **more: Any
) -> dg.ExecuteInProcessResult:
    return defs.resolve_job_def(job).execute_in_process(config, **more)


def recorded(result: dg.ExecuteInProcessResult) -> set[str]:
    return {e.asset_key.to_user_string() for e in result.get_asset_materialization_events() if e.asset_key}


def steps(result: dg.ExecuteInProcessResult, kind: str) -> list[str | None]:
    return [event.step_key for event in result.all_events if event.event_type_value == kind]


CHECKED = ("read_status", "check_cut_files", "read_status")
"""The calls of a run at its end: for its record, and for the checks of the deployment."""


def test_deploying_writes_launches_and_waits(defs: dg.Definitions, runtime: Runtime):
    run(defs, "demo__compile")
    result = run(defs, "demo__deploy", step("write_wanted_state", fresh=True))
    assert runtime.calls[0] == ("start over", "demo")
    assert runtime.names == ["start over", "launch_hosts", "await_running_pes", *CHECKED]
    parts = {"demo/pes/pe_0", "demo/pes/pe_1", "demo/streams/Numbers", "demo/sinks/Results"}
    assert recorded(result) == {"demo/deployment", *parts}


def test_a_reference_that_is_not_resolved_fails_the_run_and_nothing_is_deployed(
    defs: dg.Definitions, home: Home, spec: Path
):
    sink = "{file: even.csv, format: csv}"
    spec.write_text(DEMO.replace("FileSink", "HttpSink").replace(sink, "{url: 'http://127.0.0.1:1/${env:NOT_SET}'}"))
    run(defs, "demo__compile")
    with pytest.raises(NotDeployableError, match="operator Results: url: the environment variable NOT_SET is not set"):
        run(defs, "demo__deploy")
    assert list_applications(Catalog(home)) == ()


def test_measurements_show_on_the_assets(defs: dg.Definitions, runtime: Runtime):
    runtime.status = running()
    shown = {key: event.metadata for key, event in reported(run(defs, "demo__cancel")).items()}
    operators = shown["demo/deployment"]["streams/operators"]
    assert isinstance(operators, dg.TableMetadataValue)
    assert [dict(record.data) for record in operators.records] == [
        {"operator": "Results", "PE": 1, "tuples in": 1000, "tuples out": 0, "cpu seconds": 2.0},
        {"operator": "Numbers", "PE": 0, "tuples in": 0, "tuples out": 1000, "cpu seconds": 1.5},
    ]
    assert shown["demo/pes/pe_0"]["streams/cpu_seconds"].value == 1.5


def reported(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetMaterialization | dg.AssetObservation]:
    """Return the last event of each asset."""
    events: list[dg.AssetMaterialization | dg.AssetObservation] = []
    for event in result.all_events:
        if event.event_type_value == "ASSET_MATERIALIZATION":
            events.append(event.step_materialization_data.materialization)
        elif event.event_type_value == "ASSET_OBSERVATION":
            events.append(event.asset_observation_data.asset_observation)
    return {event.asset_key.to_user_string(): event for event in events}


def test_a_run_without_new_data_records_no_materialization(defs: dg.Definitions, runtime: Runtime):
    runtime.status = running(state="STOPPED")
    with dg.DagsterInstance.ephemeral() as instance:
        run(defs, "demo__cancel", instance=instance)
        again = run(defs, "demo__cancel", instance=instance)
        sink = replace(running().sinks[0], rows=501, epoch=4)
        runtime.status = running(state="STOPPED", sinks=(sink, *running().sinks[1:]))
        grown = run(defs, "demo__cancel", instance=instance)
    assert recorded(again) == set()
    assert set(reported(again)) >= {"demo/deployment", "demo/sinks/Results", "demo/streams/Numbers"}
    assert recorded(grown) == {"demo/sinks/Results"}


@pytest.mark.parametrize("state", ["FAILED", "STOPPED"])
def test_a_pe_that_does_not_work_is_not_materialized(defs: dg.Definitions, runtime: Runtime, state: str):
    runtime.status = running(pes=tuple(changed(pe, state=state) for pe in running().pes))
    result = run(defs, "demo__cancel")
    assert not [key for key in recorded(result) if "/pes/" in key]
    assert reported(result)["demo/pes/pe_0"].description == f"PE 0 is {state}"


def test_an_application_that_was_not_compiled_is_not_deployed(defs: dg.Definitions, runtime: Runtime):
    with pytest.raises(StageMissingError, match="demo__compile"):
        run(defs, "demo__deploy")
    assert not runtime.calls


def test_stages_that_do_not_belong_together_are_not_deployed(defs: dg.Definitions, runtime: Runtime):
    run(defs, "demo__compile")
    first = defs.resolve_job_def("demo__compile").execute_in_process(
        {"ops": {"demo__logical_graph": {"config": {"submission": {"width": "3"}}}}},
        asset_selection=[dg.AssetKey(["demo", "logical_graph"])],
    )
    assert first.success
    with pytest.raises(StagesOutOfStepError, match="parallel_expanded_graph is older than logical_graph"):
        run(defs, "demo__deploy")
    assert not runtime.calls


def test_a_spec_that_changed_since_is_not_deployed(defs: dg.Definitions, runtime: Runtime, spec: Path):
    run(defs, "demo__compile")
    spec.write_text(spec.read_text() + "\n")
    with pytest.raises(StagesOutOfStepError, match=r"logical_graph is older than .*demo\.yaml"):
        run(defs, "demo__deploy")


def test_redeploying_compiles_first_in_the_same_run_and_keeps_the_options(spec: Path, home: Home, runtime: Runtime):
    defs = build_application_definitions(spec, home)
    with dg.DagsterInstance.ephemeral() as instance:
        config = {"ops": {"demo__logical_graph": {"config": {"submission": {"width": "3"}}}}}
        defs.resolve_job_def("demo__compile").execute_in_process(config, instance=instance)
        spec.write_text(spec.read_text().replace("iterations: 1000", "iterations: 2000"))
        assert defs.resolve_job_def("demo__redeploy").execute_in_process(instance=instance).success
        runs = sorted(record.dagster_run.job_name for record in instance.get_run_records())
    store = ArtifactStore(home)
    assert runs == ["demo__compile", "demo__redeploy"]
    assert store.compilation("demo").options.submission == {"width": "3"}
    assert store.compilation("demo").logical.operators[0].parameters == {"iterations": 2000}
    assert runtime.names == ["replace", "launch_hosts", "await_running_pes", *CHECKED]


def test_a_redeploy_keeps_the_options_of_what_is_deployed_and_takes_those_that_are_set(
    spec: Path, home: Home, runtime: Runtime
):
    defs = build_application_definitions(spec, home)
    runtime.deployed = compile_spec(spec, Options(widths=(("Even", 3),), threading="manual"))
    store = ArtifactStore(home)
    run(defs, "demo__compile")  # with other options, and never deployed
    run(defs, "demo__redeploy")
    assert store.options("demo") == runtime.deployed.options
    wider = {"ops": {"demo__logical_graph": {"config": {"keep": True, "widths": [{"pattern": "Even", "width": 4}]}}}}
    run(defs, "demo__redeploy", wider)
    assert store.options("demo") == Options(widths=(("Even", 4),), threading="manual")
    run(defs, "demo__redeploy", {"ops": {"demo__logical_graph": {"config": {"keep": False}}}})
    assert store.options("demo") == Options()


def test_redeploying_shows_the_stages_as_compiling_does(spec: Path, home: Home, runtime: Runtime):
    defs = build_application_definitions(spec, home)
    shown: dict[str, list[Any]] = {}
    with dg.DagsterInstance.ephemeral() as instance:
        instance.report_runless_asset_event(observation(own_key("demo", "spec"), version_of(spec)))
        for job in ("demo__compile", "demo__redeploy"):
            run(defs, job, instance=instance)
            events = [instance.get_latest_materialization_event(dg.AssetKey(["demo", name])) for name in BY_NAME]
            made = [event.asset_materialization for event in events if event and event.asset_materialization]
            tags = [{k: v for k, v in (each.tags or {}).items() if "event_pointer" not in k} for each in made]
            shown[job] = [tags, [sorted(each.metadata) for each in made]]
    assert shown["demo__compile"] == shown["demo__redeploy"]
    assert len(shown["demo__compile"][0]) == len(BY_NAME)


def test_a_spec_that_does_not_compile_is_not_deployed(spec: Path, home: Home, runtime: Runtime):
    spec.write_text(spec.read_text().replace("operator: Filter", "operator: Filtr"))
    defs = build_application_definitions(spec, home)
    with pytest.raises(dg.Failure, match="Filtr"):
        run(defs, "demo__redeploy")
    assert not runtime.calls


def test_cancelling_stops_and_records_and_names_orphans(defs: dg.Definitions, runtime: Runtime, capfd: Any):
    runtime.status, runtime.orphans = running(state="STOPPED"), ("java (pid 4712)",)
    result = run(defs, "demo__cancel", {"ops": {"stop_hosts": {"config": {"timeout": 5.0}}}})
    assert runtime.calls == [("cancel_application", "demo", 5.0), ("read_status", "demo")]
    assert "demo/deployment" in reported(result)
    assert "java (pid 4712)" in capfd.readouterr().err


def test_resetting_resets_waits_and_records(defs: dg.Definitions, runtime: Runtime):
    runtime.status = failed(running())
    runtime.generation = 2
    result = run(defs, "demo__reset", {"ops": {"claim": {"config": {"unit": "region-0", "generation": 1}}}})
    assert ("reset_unit", "demo", "region-0", 1, False) in runtime.calls
    assert [name for name in runtime.names if name != "read_status"] == ["reset_unit", "await_reset"]
    assert steps(result, "STEP_SUCCESS") == ["claim", "await_unit", "record"]
    assert runtime.calls[runtime.names.index("await_reset")][2:4] == ("region-0", 1)


UNIT = running().units[0]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (
            running(units=(changed(UNIT, generation=3),)),
            "region-0 was reset again meanwhile, and works in generation 3",
        ),
        (running(state="STOPPED"), "demo is STOPPED"),
        (running(state="COMPLETED"), "demo is COMPLETED"),
        (running(life="second"), "demo was deployed again meanwhile"),
        (None, "demo is no longer deployed"),
    ],
)
def test_a_run_whose_cause_is_gone_is_skipped_and_says_why(
    defs: dg.Definitions, runtime: Runtime, status: ApplicationStatus | None, reason: str, capfd: Any
):
    runtime.status = status
    claim = {"unit": "region-0", "generation": 1, "life": "first"}
    result = run(defs, "demo__reset", {"ops": {"claim": {"config": claim}}})
    assert result.success
    assert steps(result, "STEP_SKIPPED") == ["await_unit", "record"]
    assert set(runtime.names) == {"read_status"}
    assert f"the reset is no longer needed: {reason}" in capfd.readouterr().err


@pytest.mark.parametrize("state", ["UNHEALTHY", "RESETTING"])
def test_a_unit_that_failed_once_more_is_waited_for(defs: dg.Definitions, runtime: Runtime, state: Any):
    runtime.status = running(units=(changed(UNIT, generation=3, state=state),))
    runtime.generation = 3
    result = run(defs, "demo__reset", {"ops": {"claim": {"config": {"unit": "region-0", "generation": 1}}}})
    assert steps(result, "STEP_SUCCESS") == ["claim", "await_unit", "record"]


def test_a_unit_that_does_not_come_back_fails_the_run(
    defs: dg.Definitions, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    def gone(*_: Any) -> None:
        message = "region-0 of demo needs a reset"
        raise HostLaunchError(message)

    runtime.status = failed(running())
    monkeypatch.setattr(runtime, "await_reset", gone)
    with pytest.raises(HostLaunchError):
        run(defs, "demo__reset", {"ops": {"claim": {"config": {"unit": "region-0", "generation": 1}}}})


@pytest.mark.parametrize(
    ("generation", "said"),
    [(1, "is reset to its last cut as soon as its hosts run"), (2, "continues from its last cut in generation 2")],
)
def test_a_reset_without_a_unit_is_of_all_that_have_failed(
    defs: dg.Definitions, runtime: Runtime, capfd: pytest.CaptureFixture[str], generation: int, said: str
):
    runtime.status, runtime.generation = failed(running()), generation
    run(defs, "demo__reset")
    assert [call for call in runtime.calls if call[0] == "reset_unit"] == [
        ("reset_unit", "demo", "region-0", None, False)
    ]
    assert f"region-0 {said}" in capfd.readouterr().err


def test_a_reset_without_a_unit_and_without_a_failure_names_the_units(defs: dg.Definitions, runtime: Runtime):
    runtime.status = running(state="STOPPED")
    with pytest.raises(dg.Failure, match=r"nothing has failed\. .*`unit`: region-0\."):
        run(defs, "demo__reset")
    assert not runtime.called("reset_unit")


def test_a_reset_shows_the_timeline_and_does_not_count_as_progress(defs: dg.Definitions, runtime: Runtime):
    runtime.status = running()
    config = {"ops": {"claim": {"config": {"unit": "region-0", "generation": 1}}}}
    with dg.DagsterInstance.ephemeral() as instance:
        run(defs, "demo__reset", config, instance=instance)
        result = run(defs, "demo__reset", config, instance=instance)
    assert not recorded(result)
    seen = result.get_asset_observation_events()[0]
    assert seen.asset_key == dg.AssetKey(["demo", "deployment"])
    assert "image/svg+xml" in str(seen.asset_observation_data.asset_observation.metadata["streams/timeline"].value)


def test_a_busy_catalog_is_tried_again_but_nothing_else(
    defs: dg.Definitions, runtime: Runtime, home: Home, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(op_parts, "STEP_RETRY_SECONDS", 0.01)
    config = {"ops": {"claim": {"config": {"unit": "region-0"}}}}
    cases = (
        (CatalogUnavailableError("locked"), 3, dg.DagsterError, "CatalogUnavailableError: locked"),
        (NotDeployedError("demo", (), home.root), 1, dg.Failure, r"no such application .*`demo__redeploy`"),
    )
    for error, tries, raised, message in cases:
        runtime.error = error
        runtime.calls.clear()
        with pytest.raises(raised, match=message):
            run(defs, "demo__reset", config)
        assert runtime.names == ["reset_unit"] * tries


def test_a_reset_looks_for_machines_only_from_a_container_and_tries_again_while_the_catalog_is_away(
    defs: dg.Definitions, home: Home, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    runtime.status = failed(running())
    outages: list[Exception] = []

    def registered(_: object) -> tuple[str, ...]:
        runtime.calls.append(("registered",))
        if outages:
            raise outages.pop()
        return ("north",)

    create_catalog(home)
    monkeypatch.setattr(op_parts, "STEP_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(lasting_hosts, "registered", registered)
    config = {"ops": {"claim": {"config": {"unit": "region-0"}}}}
    assert run(defs, "demo__reset", config).success
    assert "registered" not in runtime.names
    monkeypatch.setattr(containers, "CALLERS_PROCESS", "of another executor")
    monkeypatch.setattr(containers, "SAME_MACHINE", ())
    runtime.calls.clear()
    outages += [CatalogUnavailableError("locked"), CatalogUnavailableError("locked")]
    assert run(defs, "demo__reset", config).success
    assert runtime.names[:4] == ["registered"] * 3 + ["reset_unit"]


def test_steps_of_a_deployment_are_tried_again_when_the_catalog_is_away(
    defs: dg.Definitions, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(op_parts, "STEP_RETRY_SECONDS", 0.01)
    runtime.error = CatalogUnavailableError("away")
    with pytest.raises(dg.DagsterError, match="CatalogUnavailableError: away"):
        run(defs, "demo__cancel", {"ops": {"stop_hosts": {"config": {"timeout": 5.0}}}})
    assert runtime.names == ["cancel_application"] * 3


@pytest.mark.parametrize(
    ("config", "tries", "raised"),
    [
        ({"unit": "region-0"}, 1, CommitUnknownError),
        ({"unit": "region-0", "generation": 1}, 3, dg.DagsterError),
    ],
)
def test_a_reset_whose_commit_is_in_doubt_is_repeated_only_if_that_cannot_make_two(
    defs: dg.Definitions,
    runtime: Runtime,
    monkeypatch: pytest.MonkeyPatch,
    config: dict[str, object],
    tries: int,
    raised: type[Exception],
):
    monkeypatch.setattr(op_parts, "STEP_RETRY_SECONDS", 0.01)
    runtime.status = running()
    runtime.refused = "reset_unit"
    runtime.error = CommitUnknownError("there", "the connection is gone")
    with pytest.raises(raised, match="the connection is gone"):
        run(defs, "demo__reset", {"ops": {"claim": {"config": config}}})
    assert runtime.names.count("reset_unit") == tries


def test_jobs_run_in_one_process_and_end(defs: dg.Definitions):
    for name in ("compile", "deploy", "redeploy", "cancel", "reset"):
        job = defs.resolve_job_def(f"demo__{name}")
        assert job.executor_def is dg.in_process_executor
        assert job.run_tags[dg.MAX_RUNTIME_SECONDS_TAG] == "900"
