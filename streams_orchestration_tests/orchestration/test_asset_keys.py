"""Assets of applications under keys that a user gives them, and all that follows the keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster.components.testing import create_defs_folder_sandbox

from streams_orchestration.cli.jobs import Jobs
from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.orchestration import epochs_sensor
from streams_orchestration.orchestration.application import build_application_definitions
from streams_orchestration.orchestration.asset_keys import (
    APPLICATION_TAG,
    NODE,
    SharedKeyError,
    change_specs,
    own_key,
)
from streams_orchestration.orchestration.instance import dagster_instance
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.orchestration.components import EXPORTING, IMPORTING, scaffolded
from streams_orchestration_tests.orchestration.conftest import DEMO, Runtime, evaluated, record
from streams_orchestration_tests.orchestration.statuses import running

pytestmark = pytest.mark.slow


def in_lake(asset: dg.AssetSpec) -> dg.AssetSpec:
    return asset.replace_attributes(key=asset.key.with_prefix("lake"), group_name="lake", tags={"tier": "1"})


def in_plant(asset: dg.AssetSpec) -> dg.AssetSpec:
    return asset.replace_attributes(key=asset.key.with_prefix("plant"))


@pytest.fixture
def renamed(spec: Path, home: Home) -> dg.Definitions:
    return build_application_definitions(spec, home, change=in_lake)


def specs_of(defs: dg.Definitions) -> dict[str, dg.AssetSpec]:
    return {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}


def test_dependencies_checks_and_columns_follow_the_keys(renamed: dg.Definitions):
    dg.Definitions.validate_loadable(renamed)
    specs = specs_of(renamed)
    assert {key.split("/")[0] for key in specs} == {"lake"}
    assert {f"lake/demo/{stage}" for stage in BY_NAME} <= specs.keys()
    assert {dep.asset_key.path[0] for spec in specs.values() for dep in spec.deps} == {"lake"}
    assert {each.group_name for each in specs.values()} == {"lake"}
    assert all(each.tags[APPLICATION_TAG] == "demo" and each.tags["tier"] == "1" for each in specs.values())
    checked = {key.asset_key.path[0] for each in renamed.asset_checks or () for key in each.check_keys}  # pyright: ignore
    assert checked == {"lake"}
    lineage = specs["lake/demo/sinks/Results"].metadata["dagster/column_lineage"]
    columns = getattr(lineage, "column_lineage", lineage).deps_by_column
    assert {each.asset_key.path[0] for origins in columns.values() for each in origins} == {"lake"}


def test_runs_record_under_the_keys(renamed: dg.Definitions, runtime: Runtime):
    with dg.DagsterInstance.ephemeral() as instance:
        assert renamed.resolve_job_def("demo__redeploy").execute_in_process(instance=instance).success
        assert renamed.resolve_job_def("demo__cancel").execute_in_process(instance=instance).success
        recorded = {key.to_user_string() for key in instance.all_asset_keys()}
    assert runtime.status is not None
    assert {"lake/demo/deployment", "lake/demo/deployment_plan", "lake/demo/pes/pe_0"} <= recorded
    assert all(key.startswith("lake/demo/") for key in recorded)


def test_the_sensor_records_under_the_keys_and_conditions_count_its_epochs(renamed: dg.Definitions, runtime: Runtime):
    runtime.status = running()
    key = dg.AssetKey(["lake", "demo", "pes", "pe_0"])
    after = epochs_sensor(key, job=renamed.resolve_job_def("demo__cancel"), epochs=1)
    with dg.DagsterInstance.ephemeral() as instance:
        events = record(instance, evaluated(renamed, "demo__failed_units", instance))
        requested = after.evaluate_tick(dg.build_sensor_context(instance=instance)).run_requests
    assert {event.asset_key.path[0] for event in events} == {"lake"}
    assert requested


@pytest.mark.usefixtures("renamed")
def test_commands_record_under_the_keys_that_the_state_directory_keeps(spec: Path, home: Home, runtime: Runtime):
    runtime.status = running()

    def recorded() -> set[str]:
        Jobs(Catalog(home), "demo").record_cancel()
        with dagster_instance(home) as instance:
            return {key.path[0] for key in instance.all_asset_keys()}

    assert recorded() == {"lake"}
    build_application_definitions(spec, home)
    assert recorded() == {"lake", "demo"}


@pytest.mark.parametrize("prefix", ["demo", "lake", "plant"])
def test_definitions_of_one_application_keep_their_own_keys(
    spec: Path, home: Home, renamed: dg.Definitions, runtime: Runtime, prefix: str
):
    """Another code location, or a test beside it, may define the application under other keys in this process."""
    defs = {
        "lake": renamed,
        "demo": build_application_definitions(spec, home),
        "plant": build_application_definitions(spec, home, change=in_plant, resource_key="plant"),
    }[prefix]
    runtime.status = running()
    with dg.DagsterInstance.ephemeral() as instance:
        for sensor in ("demo__failed_units", "demo__specs"):
            events = evaluated(defs, sensor, instance).asset_events
            assert {event.asset_key.path[0] for event in events} == {prefix}
        for job in ("demo__redeploy", "demo__cancel"):
            assert defs.resolve_job_def(job).execute_in_process(instance=instance).success
        assert {key.path[0] for key in instance.all_asset_keys()} == {prefix}


def test_two_assets_of_one_key_are_an_error(spec: Path, home: Home):
    with pytest.raises(SharedKeyError, match=r"demo/logical_graph and demo/\w+ are both given the key one\. Let"):
        build_application_definitions(spec, home, change=lambda each: each.replace_attributes(key="one"))


def test_a_function_may_go_by_the_node():
    asset = dg.AssetSpec(own_key("demo", "sinks/Results"))
    specs = change_specs("demo", lambda each: each.replace_attributes(key=str(each.metadata[NODE]).split("/")), [asset])
    assert specs["sinks/Results"].key.path == ["sinks", "Results"]


def prefixed(sandbox: Any, tmp_path: Path, name: str, text: str) -> None:
    scaffolded(sandbox, name, text, home=str(tmp_path / "home"), translation={"key_prefix": f"of_{name}"})


def test_imports_depend_on_exports_whose_keys_have_a_prefix(tmp_path: Path):
    with create_defs_folder_sandbox() as sandbox:
        for name, level in (("low", 1), ("high", 2)):
            prefixed(sandbox, tmp_path, name, EXPORTING.format(name=name, level=level))
        prefixed(sandbox, tmp_path, "reader", IMPORTING)
        with sandbox.build_all_defs() as defs:
            dg.Definitions.validate_loadable(defs)
            specs = specs_of(defs)
            sensor = next(each for each in defs.sensors or () if each.name == "specs")
            with dg.DagsterInstance.ephemeral() as instance:
                observed = sensor.evaluate_tick(dg.build_sensor_context(instance=instance, definitions=defs))
    (dep,) = specs["of_reader/reader/imports/In"].deps
    assert dep.asset_key.path == ["of_high", "high", "exports", "Out"]
    keys = {event.asset_key.path[0] for event in observed.asset_events}
    assert keys == {"of_low", "of_high", "of_reader"}


def test_a_faulty_application_keeps_its_keys_with_a_prefix(tmp_path: Path):
    with create_defs_folder_sandbox() as sandbox:
        prefixed(sandbox, tmp_path, "one", DEMO)
        prefixed(sandbox, tmp_path, "two", DEMO)  # describes the same application
        with sandbox.build_all_defs() as defs:
            dg.Definitions.validate_loadable(defs)
            assert {key for key in specs_of(defs) if key.endswith("demo/spec")} == {"of_one/demo/spec"}
