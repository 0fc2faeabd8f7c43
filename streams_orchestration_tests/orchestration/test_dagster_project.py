"""The project of the page of Dagster, run: two applications in two state directories, and what follows their sinks."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from streams_orchestration.orchestration import StreamsResource
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.commands import wait_for
from streams_orchestration_tests.orchestration.dagster_page import (
    COPIES,
    SCAFFOLDED,
    loaded,
    run,
    two_applications,
)

pytestmark = [pytest.mark.slow, SCAFFOLDED, pytest.mark.usefixtures("no_host_stays", "engine_of_hosts")]

RESULTS, LARGEST = dg.AssetKey(["numbers", "sinks", "Results"]), dg.AssetKey("largest")


def record(defs: dg.Definitions, instance: dg.DagsterInstance, key: str, home: Path) -> None:
    """Have the sensor of a state directory record what its applications have done, as the daemon does."""
    resources = {key: StreamsResource(home=str(home))}
    context = dg.build_sensor_context(instance=instance, definitions=defs, resources=resources)
    tick = defs.resolve_sensor_def(f"failed_units_in_{key}").evaluate_tick(context)
    for event in tick.asset_events:
        instance.report_runless_asset_event(event)


def test_a_project_runs_two_applications_and_what_follows_their_sinks(
    scaffolded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    project = two_applications(scaffolded, tmp_path / "project", COPIES)
    home, other = project / "home", project / "other"
    with dg.DagsterInstance.from_config(str(project / "dagster")) as instance, loaded(project, monkeypatch) as defs:
        cursor = dg.evaluate_automation_conditions(defs, instance).cursor
        run(project, "dg", "launch", "--assets", '+key:"numbers/deployment" or +key:"copies/deployment"')
        for place, application in ((home, "numbers"), (other, "copies")):
            wait_for(Home(place), lambda status: status.state == "COMPLETED", application)
        copied = pl.read_csv(f"{other}/results/copies/copies/*")
        assert copied["n"].sort().to_list() == [1, 2, 3]
        (launched,) = instance.get_run_records()
        assert launched.dagster_run.is_success
        record(defs, instance, "streams", home)
        record(defs, instance, "other", other)
        for sink in (RESULTS, dg.AssetKey(["copies", "sinks", "Copies"])):
            assert instance.get_latest_materialization_event(sink) is not None
        after = dg.evaluate_automation_conditions(defs, instance, cursor=cursor)
        assert after.get_num_requested(LARGEST) == 1
        job = defs.resolve_implicit_global_asset_job_def().get_subset(asset_selection={LARGEST})
        done = job.execute_in_process(instance=instance)
        (made,) = done.asset_materializations_for_node("largest")
        assert (made.metadata["largest"].value, made.metadata["rows"].value) == (99, 100)
        assert (made.tags or {})[f"dagster/input_data_version/{RESULTS.to_user_string()}"].partition("@")[0].isdigit()
