"""A redeploy in Dagster: what a run shows of it, the check of the deployment, and the schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from sqlalchemy import update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.redeployment.outcome import OperatorAction
from streams_orchestration.compiler.redeployment.states import remedy_of_gone
from streams_orchestration.orchestration import state_check
from streams_orchestration.orchestration.application import build_application_definitions
from streams_orchestration.orchestration.asset_keys import own_key
from streams_orchestration.orchestration.previews import KEEPS_STATE, MAX_TABLE_ROWS, redeploy_metadata
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.trials import read_trial
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.errors.errors import (
    CatalogError,
    RedeployRefusedError,
    RevertedError,
    StreamsRuntimeError,
)
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.redeployment import redeploying, trial_supervision
from streams_orchestration.runtime.redeployment.draining import describe_redeploy_under_way
from streams_orchestration.runtime.rollout import reverting
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.trials.trial import revert
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.orchestration.conftest import Runtime, failure_of, step
from streams_orchestration_tests.orchestration.redeployments import KEPT, LOST, MOVED, outcome
from streams_orchestration_tests.orchestration.statuses import running
from streams_orchestration_tests.runtime import locked
from streams_orchestration_tests.runtime.locked import create_savepoint, deploy, forget

SPEC = """\
specVersion: 1
application: demo
description: one
schemas: {Row: "k string, g int"}
graph:
  - name: Source
    operator: Beacon
    outputs: [{stream: Source, schema: Row}]
    annotations: {consistent: {trigger: periodic, period: 1.0}}
  - name: New
    operator: DeDuplicate
    inputs: [Source]
    parameters: {key: k}
    annotations: {parallel: {width: 2, partitionBy: [{port: in0, attributes: [k]}]}}
  - {name: Out, operator: FileSink, inputs: [New], parameters: {file: out}}
"""
DEPLOYMENT = own_key("demo", "deployment")


def edit(spec: Path, old: str, new: str) -> None:
    assert old in spec.read_text()
    spec.write_text(spec.read_text().replace(old, new))


def checked(instance: dg.DagsterInstance) -> Any:
    """Return the last evaluation of the check."""
    key = dg.AssetCheckKey(DEPLOYMENT, KEEPS_STATE)
    (record,) = instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
    assert record.event is not None
    assert record.event.dagster_event is not None
    return record.event.dagster_event.asset_check_evaluation_data


def evaluated(spec: Path, home: Home) -> dg.AssetCheckEvaluation:
    """Evaluate the check alone, as a user does by hand."""
    defs = build_application_definitions(spec, home)
    job = dg.define_asset_job("only", selection=dg.AssetSelection.checks(dg.AssetCheckKey(DEPLOYMENT, KEEPS_STATE)))
    result = dg.Definitions.merge(defs, dg.Definitions(jobs=[job])).resolve_job_def("only").execute_in_process()
    (check,) = result.get_asset_check_evaluations()
    return check


@pytest.mark.slow
def test_a_run_shows_what_became_of_everything(defs: dg.Definitions, runtime: Runtime):
    runtime.status, runtime.redeployment = running(), outcome(KEPT, MOVED)
    job = defs.resolve_job_def("demo__redeploy")
    config = step("write_wanted_state", drop_state=["New"])
    with dg.DagsterInstance.ephemeral() as instance:
        result = job.execute_in_process(config, instance=instance)
        run = instance.get_run_by_id(result.run_id)
        assert run is not None
        assert run.tags["streams/verdict"] == "kept"
        assert checked(instance).passed
    assert ("replace", "demo", "New") in runtime.calls
    (output,) = [
        e for e in result.all_events if e.is_successful_output and e.step_key == "demo__deployment.write_wanted_state"
    ]
    metadata = output.step_output_data.metadata
    assert metadata["streams/redeploy"].value == runtime.redeployment.document()
    table = metadata["streams/actions"]
    assert isinstance(table, dg.TableMetadataValue)
    assert [dict(row.data)["name"] for row in table.records] == ["region-0", "Out"]


@pytest.mark.slow
def test_a_refusal_fails_the_run_with_reason_and_remedy(
    defs: dg.Definitions, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    gone = OperatorAction("Out", "dropped", 1, 20, "it is gone", "Out", lossy=True, remedy=remedy_of_gone("o1", "Out"))
    refused = outcome(KEPT, LOST, gone)

    def refuse(*_: Any, **__: Any) -> None:
        raise RedeployRefusedError(refused)

    monkeypatch.setattr(runtime, "deploy_plan", refuse)
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("demo__redeploy").execute_in_process(instance=instance, raise_on_error=False)
        data = failure_of(result).user_failure_data
        assert data is not None
        assert "New[0]: state of New is gone. Leave that as it is" in (data.description or "")
        assert (data.description or "").endswith(
            "replaces it `uid: o1`, or accept the loss of its state with `drop_state` Out\n"
            "(`drop_state` is in the run config of the job `demo__redeploy`: demo__deployment, write_wanted_state)"
        )
        assert data.metadata["streams/redeploy"].value == refused.document()
        check = checked(instance)
        run = instance.get_run_by_id(result.run_id)
        assert run is not None
        assert run.tags["streams/verdict"] == "refused"
    assert not check.passed
    assert check.severity is dg.AssetCheckSeverity.ERROR
    assert not runtime.called("launch_hosts"), "what runs is not touched"


@pytest.mark.slow
def test_a_run_whose_plan_was_taken_back_fails_and_says_why(
    defs: dg.Definitions, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    cause = "PE 0 failed: operator New: it is wrong (new.py, line 3)"

    def revert(*_: Any, **__: Any) -> None:
        raise RevertedError(outcome(KEPT, MOVED), cause)

    monkeypatch.setattr(runtime, "deploy_plan", revert)
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("demo__redeploy").execute_in_process(instance=instance, raise_on_error=False)
        run = instance.get_run_by_id(result.run_id)
        assert run is not None
        assert run.tags["streams/verdict"] == "reverted"
    data = failure_of(result).user_failure_data
    assert data is not None
    assert (
        "demo: the new plan failed its trial and was reverted, so the previous plan runs again, from its cut: "
        f"{cause}" in (data.description or "")
    )
    assert data.metadata["streams/reverted"].value == cause
    assert not runtime.called("launch_hosts"), "what runs is not touched"


@pytest.mark.slow
@pytest.mark.parametrize("job", ["demo__redeploy", "demo__cancel", "demo__reset"])
def test_no_error_of_an_op_sends_control_characters_to_a_terminal(
    defs: dg.Definitions, runtime: Runtime, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], job: str
):
    def fail(*_: Any, **__: Any) -> None:
        message = "PE 0 failed: boom \x1b]52;c;ZXZpbA==\x07\x9b2J\u202e"
        raise StreamsRuntimeError(message)

    for name in ("deploy_plan", "cancel_application", "reset_unit", "read_status"):
        monkeypatch.setattr(runtime, name, fail)
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def(job).execute_in_process(instance=instance, raise_on_error=False)
        assert "boom \\u001b]52" in str(failure_of(result).error)
    written = capfd.readouterr()
    assert "boom" in written.err
    assert not any(each in written.err + written.out for each in ("\x1b]", "\x07", "\x9b", "\u202e"))


def test_a_table_begins_with_what_is_lost_and_ends():
    many = outcome(*[MOVED] * MAX_TABLE_ROWS, LOST, units=2)
    (table,) = [each for each in redeploy_metadata(many).values() if isinstance(each, dg.TableMetadataValue)]
    names = [dict(row.data)["name"] for row in table.records]
    assert names[:3] == ["New[0]", "region-0", "region-1"]
    assert len(names) == MAX_TABLE_ROWS + 1
    assert names[-1] == "3 more"


CHECKS: dict[str, tuple[tuple[str, str], bool, dg.AssetCheckSeverity, str]] = {
    "nothing changes": (("one", "another"), True, dg.AssetCheckSeverity.WARN, "Nothing changes."),
    "a width": (("width: 2", "width: 3"), True, dg.AssetCheckSeverity.WARN, "All state is kept."),
    "another key": (("key: k", "key: g"), False, dg.AssetCheckSeverity.ERROR, "state of New was made under another"),
    "another name": (
        ("name: Source", "name: Other"), False, dg.AssetCheckSeverity.WARN, "Source: it is not in the new plan"
    ),
    "no spec": (("operator: Beacon", "operator: Beakon"), False, dg.AssetCheckSeverity.ERROR, "the spec has errors"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CHECKS)
def test_the_check_names_the_operators_that_would_lose_state(spec: Path, home: Home, case: str):
    change, passed, severity, words = CHECKS[case]
    deploy(home, deployable(compile_spec(spec)))
    edit(spec, *change)
    if case == "another name":
        edit(spec, "[Source]", "[Other]")
        edit(spec, "stream: Source", "stream: Other")
    check = evaluated(spec, home)
    assert (check.passed, check.severity) == (passed, severity)
    assert words in (check.description or "")


@pytest.mark.slow
def test_the_check_of_state_passes_for_an_application_that_is_not_deployed(spec: Path, home: Home):
    check = evaluated(spec, home)
    assert (check.passed, check.description) == (True, "demo is not deployed")


@pytest.mark.slow
def test_the_check_of_state_warns_if_the_deployed_options_cannot_be_read(
    spec: Path, home: Home, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        message = "the catalog is away"
        raise CatalogError(message)

    monkeypatch.setattr(state_check, "deployed_or_compiled_options", fail)
    check = evaluated(spec, home)
    assert (check.passed, check.severity, check.description) == (
        False, dg.AssetCheckSeverity.WARN, "the catalog is away"
    )  # fmt: skip


def tick(spec: Path, home: Home) -> str | None:
    """Return the reason why the schedule skips; None when it requests a run."""
    defs = build_application_definitions(spec, home)
    with dg.DagsterInstance.ephemeral() as instance:
        resources: dict[str, Any] = dict(defs.resources or {})
        context = dg.build_schedule_context(instance=instance, resources=resources)
        schedule = defs.resolve_schedule_def("demo__redeploy")
        assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
        evaluation = schedule.evaluate_tick(context)
    assert len(evaluation.run_requests or []) == (0 if evaluation.skip_message else 1)
    return evaluation.skip_message


SCHEDULED: dict[str, tuple[tuple[str, str] | None, Options, str | None]] = {
    "nothing changed": (None, Options(), "nothing has changed: demo runs as"),
    "a comment": (("description: one", "description: two # why"), Options(), "nothing has changed"),
    "a width that was asked for": (None, Options(widths=(("New", 3),)), "nothing has changed"),
    "another width in the spec, and one that was asked for": (
        ("width: 2", "width: 4"), Options(widths=(("New", 3),)), "nothing has changed"
    ),
    "another width": (("width: 2", "width: 3"), Options(), None),
    "a uid": (("name: New", "name: New\n    uid: new"), Options(), None),
    "errors": (("operator: Beacon", "operator: Beakon"), Options(), None),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", SCHEDULED)
def test_the_schedule_requests_a_run_when_the_plan_is_another_one(spec: Path, home: Home, case: str):
    change, options, skipped = SCHEDULED[case]
    deploy(home, deployable(compile_spec(spec, options)))
    if change is not None:
        edit(spec, *change)
    reason = tick(spec, home)
    assert (reason is None) == (skipped is None)
    assert skipped is None or skipped in (reason or "")


@pytest.mark.slow
def test_the_schedule_leaves_what_was_never_deployed_or_was_stopped(spec: Path, home: Home):
    assert "demo is not deployed" in (tick(spec, home) or "")
    deploy(home, deployable(compile_spec(spec)))
    cancel_application(Catalog(home), "demo", 1.0)
    edit(spec, "width: 2", "width: 3")
    assert "demo is STOPPED" in (tick(spec, home) or "")


@pytest.mark.slow
def test_the_schedule_does_not_repeat_what_was_taken_back_until_the_spec_is_another_one(
    spec: Path, home: Home, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(trial_supervision, "launch_hosts", lambda *_, **__: ())
    deploy(home, deployable(compile_spec(spec)))
    edit(spec, "width: 2", "width: 3")
    locked.begin_redeploy(home, deployable(compile_spec(spec)))
    assert describe_redeploy_under_way(Catalog(home), "demo") == "the last redeploy of demo is on trial"
    with create_catalog(home).write() as connection:
        trial = read_trial(connection, "demo")
        assert trial is not None
        revert(connection, trial, "PE 0 failed: it is wrong")
    assert describe_redeploy_under_way(Catalog(home), "demo") is None
    reason = tick(spec, home) or ""
    assert "this plan was tried and reverted: PE 0 failed: it is wrong" in reason
    assert "job demo__redeploy is started by hand" in reason
    edit(spec, "width: 3", "width: 4")
    assert tick(spec, home) is None
    edit(spec, "width: 4", "width: 2")
    assert "nothing has changed" in (tick(spec, home) or "")


@pytest.mark.slow
@pytest.mark.parametrize("trial", ["OPEN", "PASSED"])
def test_a_run_brings_the_plan_before_back(spec: Path, home: Home, monkeypatch: pytest.MonkeyPatch, trial: str):
    for where in (trial_supervision, reverting, redeploying):
        monkeypatch.setattr(where, "launch_hosts", lambda *_, **__: ())
    replace_function(monkeypatch, api, "launch_hosts", lambda *_, **__: ())
    replace_function(monkeypatch, api, "await_running_pes", lambda *_: None)
    first = deployable(compile_spec(spec))
    deploy(home, first)
    edit(spec, "width: 2", "width: 3")
    locked.begin_redeploy(home, deployable(compile_spec(spec)))
    if trial == "PASSED":
        with create_catalog(home).write() as connection:
            connection.execute(update(tables.trial).values(state="PASSED", ended_at=1.0))
        monkeypatch.setattr(redeploying, "supervise_trial", lambda *_, **__: None)
    edit(spec, "operator: Beacon", "operator: Nothing")  # the previous plan is restored even if the spec has errors
    job_def = build_application_definitions(spec, home).resolve_job_def("demo__deploy")
    with dg.DagsterInstance.ephemeral() as instance:
        assert job_def.execute_in_process(step("write_wanted_state", revert=True), instance=instance).success
        both = step("write_wanted_state", revert=True, fresh=True)
        refused = job_def.execute_in_process(both, instance=instance, raise_on_error=False)
    assert read_status(Catalog(home), "demo").fingerprint == first.fingerprint
    assert "Leave `fresh: true` and `savepoint` out" in str(failure_of(refused).user_failure_data)


@pytest.mark.slow
@pytest.mark.parametrize("excluding", [{"fresh": True}, {"redeploy": False}])
def test_a_run_whose_state_no_plan_takes_over_allows_no_loss_of_it(
    defs: dg.Definitions, runtime: Runtime, excluding: dict[str, bool]
):
    config = step("write_wanted_state", drop_state=["New"], **excluding)
    with dg.DagsterInstance.ephemeral() as instance:
        job = defs.resolve_job_def("demo__redeploy")
        result = job.execute_in_process(config, instance=instance, raise_on_error=False)
    assert "`drop_state` applies to the state of a savepoint" in str(failure_of(result).user_failure_data)
    assert not runtime.calls


@pytest.mark.slow
def test_a_run_begins_where_a_savepoint_was_taken(spec: Path, home: Home, monkeypatch: pytest.MonkeyPatch):
    replace_function(monkeypatch, api, "launch_hosts", lambda *_, **__: ())
    replace_function(monkeypatch, api, "await_running_pes", lambda *_: None)
    deploy(home, deployable(compile_spec(spec)))
    create_savepoint(home, "demo", "noon")
    forget(home, deployable(compile_spec(spec)))
    job = build_application_definitions(spec, home).resolve_job_def("demo__redeploy")
    config = step("write_wanted_state", savepoint="noon")
    with dg.DagsterInstance.ephemeral() as instance:
        assert job.execute_in_process(config, instance=instance).success
        again = job.execute_in_process(config, instance=instance, raise_on_error=False)
    assert "demo is deployed and would continue from its last complete epoch" in str(failure_of(again).error)
    assert read_status(Catalog(home), "demo").units[0].completed_epoch == 0
