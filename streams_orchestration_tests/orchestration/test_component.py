from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox

from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.orchestration import StreamsApplicationComponent, spec_state
from streams_orchestration.orchestration.component_attributes import EXAMPLE
from streams_orchestration.orchestration.definitions import build_definitions
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.orchestration.components import EXPORTING, IMPORTING, loading, scaffolded
from streams_orchestration_tests.orchestration.conftest import DEMO

pytestmark = pytest.mark.slow


class Owned(StreamsApplicationComponent):
    def get_asset_spec(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        return spec.replace_attributes(owners=["team:streams"])


def attributes(tmp_path: Path, **more: object) -> dict[str, object]:
    (tmp_path / "demo.yaml").write_text(DEMO)
    return {"spec": str(tmp_path / "demo.yaml"), "home": str(tmp_path / "home"), **more}


def test_yaml_and_python_give_the_same_definitions(tmp_path: Path):
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=Owned,
            defs_yaml_contents={
                "type": f"{Owned.__module__}.{Owned.__name__}",
                "attributes": attributes(tmp_path, submission={"width": "2"}, widths={"Even": 3}, redeploy="0 1 * * *"),
            },
        )
        with sandbox.load_component_and_build_defs(defs_path=path) as (component, defs):
            assert isinstance(component, StreamsApplicationComponent)
            keys = {key.to_user_string() for key in defs.resolve_all_asset_keys()}
            assert {f"demo/{stage}" for stage in BY_NAME} <= keys
            assert "demo/streams/Even[2]" in keys
            assert all(spec.owners == ["team:streams"] for spec in defs.resolve_all_asset_specs())
            assert defs.resolve_schedule_def("demo__redeploy").cron_schedule == "0 1 * * *"
            assert defs.resolve_job_def("demo__compile").execute_in_process().success


def test_one_sensor_watches_all_applications(tmp_path: Path):
    with create_defs_folder_sandbox() as sandbox:
        for name in ("one", "two", "three"):
            spec = DEMO.replace("application: demo", f"application: {name}")
            scaffolded(sandbox, name, spec, home=str(tmp_path / "home"))
        with sandbox.build_all_defs() as defs:
            dg.Definitions.validate_loadable(defs)
            (sensor,) = [each for each in defs.sensors or () if each.name.startswith("failed_units")]
            assert {job.name for job in sensor.jobs} == {"one__reset", "two__reset", "three__reset"}


def test_two_components_of_one_application_are_an_error_of_that_application_only(tmp_path: Path):
    with create_defs_folder_sandbox() as sandbox:
        for name in ("one", "two"):
            scaffolded(sandbox, name, DEMO, home=str(tmp_path / "home"))
        good = DEMO.replace("application: demo", "application: good")
        scaffolded(sandbox, "three", good, home=str(tmp_path / "home"))
        with sandbox.build_all_defs() as defs:
            dg.Definitions.validate_loadable(defs)
            keys = {key.to_user_string() for key in defs.resolve_all_asset_keys()}
    assert {key for key in keys if key.startswith("demo/")} == {"demo/spec"}
    assert "good/sinks/Results" in keys


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (DEMO.replace("operator: Filter", "operator: Filtr"), "Filtr"),
        (DEMO.replace("n % 2 == 0", "m % 2 == 0"), "m % 2"),
        (DEMO, ""),
    ],
)
def test_a_strict_component_does_not_load_with_errors_in_its_spec(tmp_path: Path, spec: str, said: str):
    for strict in (True, False):
        with create_defs_folder_sandbox() as sandbox:
            scaffolded(sandbox, "one", spec, home=str(tmp_path / "home"), strict=strict)
            error = loading(sandbox)
            assert (said in error) if strict and said else (error == "")


@pytest.mark.parametrize(
    "wrong", [{"fusion": "legac"}, {"rescale": {"maks": 3}}, {"rescale": {"least": 3, "most": 2}}, {"timezon": "UTC"}]
)
def test_options_have_types(tmp_path: Path, wrong: dict[str, object]):
    with create_defs_folder_sandbox() as sandbox:
        scaffolded(sandbox, "one", DEMO, home=str(tmp_path / "home"), **wrong)
        assert next(iter(wrong)) in loading(sandbox)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"redeploy": "0 3 * *"}, "redeploy: '0 3 * *' is not a cron expression of five fields"),
        ({"measure": "61 * * * *"}, "measure: '61 * * * *' is not a cron expression"),
        ({"timezone": "Europe/Berln"}, "timezone: 'Europe/Berln' is not an IANA name of a time zone"),
    ],
)
def test_a_time_of_a_schedule_that_is_none_is_named(wrong: dict[str, Any], said: str):
    with pytest.raises(ValueError, match=re.escape(said)):
        StreamsApplicationComponent(spec="application.yaml", **wrong)


def test_schedules_are_in_the_time_zone_of_the_component(tmp_path: Path):
    with create_defs_folder_sandbox() as sandbox:
        scaffolded(sandbox, "one", DEMO, home=str(tmp_path / "home"), timezone="Europe/Berlin")
        with sandbox.build_all_defs() as defs:
            names = ("demo__redeploy", "demo__available", "demo__profile")
            assert {defs.resolve_schedule_def(name).execution_timezone for name in names} == {"Europe/Berlin"}


def test_a_scaffolded_application_compiles(tmp_path: Path):
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=StreamsApplicationComponent)
        written = yaml.safe_load((path / "defs.yaml").read_text())
        assert written["type"] == "streams_orchestration.orchestration.component.StreamsApplicationComponent"
        written["attributes"]["home"] = str(tmp_path / "home")
        (path / "defs.yaml").write_text(yaml.safe_dump(written))
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            job = next(job for job in defs.resolve_all_job_defs() if job.name.endswith("__compile"))
            assert job.execute_in_process().success


def test_an_import_of_a_component_depends_on_the_exports_of_others(tmp_path: Path):
    with create_defs_folder_sandbox() as sandbox:
        for name, level in (("low", 1), ("high", 2)):
            scaffolded(sandbox, name, EXPORTING.format(name=name, level=level), home=str(tmp_path / "home"))
        scaffolded(sandbox, "reader", IMPORTING, home=str(tmp_path / "home"))
        scaffolded(sandbox, "broken", ": : :", home=str(tmp_path / "home"))
        with sandbox.build_all_defs() as defs:
            dg.Definitions.validate_loadable(defs)
            (spec,) = [spec for spec in defs.resolve_all_asset_specs() if spec.key.path == ["reader", "imports", "In"]]
    assert [dep.asset_key.path for dep in spec.deps] == [["high", "exports", "Out"]]


PYTHON = """
import streams_orchestration.builder.operators as op
from streams_orchestration.builder import Application

shop = Application("shop")
orders = shop.stream(op.Beacon(iterations=3), schema="n bigint")
orders.to_files("orders")
"""


def test_a_file_of_python_is_a_spec(tmp_path: Path):
    (tmp_path / "shop_application.py").write_text(PYTHON)
    spec = f"{tmp_path}/shop_application.py:shop"
    with create_defs_folder_sandbox() as sandbox:
        contents = {
            "type": "streams_orchestration.orchestration.component.StreamsApplicationComponent",
            "attributes": {"spec": spec, "home": str(tmp_path / "home")},
        }
        path = sandbox.scaffold_component(component_cls=StreamsApplicationComponent, defs_yaml_contents=contents)
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            assert defs.resolve_job_def("shop__compile").execute_in_process().success
            kinds = {spec.key.path[-1]: spec.kinds for spec in defs.resolve_all_asset_specs()}
            assert kinds["spec"] == {"python"}
    definitions = build_definitions(tmp_path, Home(tmp_path / "home"))
    assert definitions.resolve_job_def("shop__compile").execute_in_process().success


def test_the_component_is_registered():
    from dagster.components.core.package_entry import get_package_objects_in_module

    import streams_orchestration.orchestration as registered

    assert "StreamsApplicationComponent" in dict(get_package_objects_in_module(registered))


def test_a_spec_whose_code_does_not_end_is_waited_for_once_by_all_components(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(spec_state, "LOAD_SECONDS", 0.2)
    read = tmp_path / "read"
    with create_defs_folder_sandbox() as sandbox:
        for name in ("one", "two", "three"):
            own = {"spec": "application.py"} if name == "one" else {}
            path = scaffolded(sandbox, name, EXAMPLE.format(name=name), home=str(tmp_path / "home"), **own)
            if own:
                (path / "application.yaml").unlink()
                code = f"import threading\nopen({str(read)!r}, 'a').write('x')\nthreading.Event().wait()\n"
                (path / "application.py").write_text(code)
        with sandbox.build_all_defs() as defs:
            dg.Definitions.validate_loadable(defs)
            assert {"one__cancel", "two__redeploy", "three__redeploy"} <= {job.name for job in defs.jobs or ()}
    assert read.read_text() == "x"
