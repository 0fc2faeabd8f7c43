from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import sqlalchemy as sa
import yaml
from dagster.components.testing import create_defs_folder_sandbox
from pydantic import ValidationError

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.orchestration import StreamsResource, application
from streams_orchestration.orchestration.application import build_application_definitions
from streams_orchestration.orchestration.definitions import build_definitions
from streams_orchestration.orchestration.deployments import deploy_compiled
from streams_orchestration.orchestration.resource import VariableMissingError, resource_of
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog.address import read_catalog_url
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.requests import ContinueFromState
from streams_orchestration.runtime.hosts.launcher import host_environment
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.combinations import often
from streams_orchestration_tests.orchestration.components import loading, scaffolded
from streams_orchestration_tests.orchestration.conftest import DEMO, Runtime
from streams_orchestration_tests.orchestration.statuses import failed, running

pytestmark = pytest.mark.slow


class OnlyFrames(dg.IOManager):
    """Stands in for a user's IO manager that stores data frames and nothing else."""

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        raise TypeError(context.asset_key, obj)

    def load_input(self, context: dg.InputContext) -> Any:
        raise TypeError(context)


def users(**resources: object) -> dg.Definitions:
    """Return a user's own definitions, whose keys are those that ours once had."""
    taken = {"deployments": object(), "artifact_store": object(), "io_manager": OnlyFrames()}
    return dg.Definitions(resources=taken | resources, executor=dg.multiprocess_executor)


def specs(tmp_path: Path, *names: str) -> list[Path]:
    """Write a spec for each application."""
    files = [tmp_path / f"{name}.yaml" for name in names]
    for file in files:
        file.write_text(DEMO.replace("application: demo", f"application: {file.stem}"))
    return files


def test_applications_of_two_homes_are_merged_and_reset_each_in_its_own(
    tmp_path: Path, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    homes: list[tuple[str, Path]] = []

    def reset(catalog: Catalog, name: str, *_: Any, **__: Any) -> api.UnitReset:
        homes.append((name, catalog.home.root))
        return api.UnitReset(2, begun=True)

    runtime.status = failed(running())
    monkeypatch.setattr(runtime, "reset_unit", reset)
    parts = [build_application_definitions(spec, tmp_path / spec.stem) for spec in specs(tmp_path, "one", "two")]
    defs = dg.Definitions.merge(*parts, users())
    dg.Definitions.validate_loadable(defs)
    for name in ("one", "two"):
        config = {"ops": {"claim": {"config": {"unit": "region-0", "generation": 1}}}}
        result = defs.resolve_job_def(f"{name}__reset").execute_in_process(config)
        steps = [event.step_key for event in result.all_events if event.event_type_value == "STEP_SUCCESS"]
        assert steps == ["claim", "await_unit", "record"]
    assert homes == [("one", tmp_path / "one"), ("two", tmp_path / "two")]


@pytest.mark.parametrize(
    "job", often(["compile", "redeploy", "deploy", "cancel", "available"], ["redeploy", "available"])
)
def test_jobs_work_beside_the_resources_and_the_executor_of_a_user(
    spec: Path, home: Home, runtime: Runtime, monkeypatch: pytest.MonkeyPatch, job: str
):
    defs = dg.Definitions.merge(build_application_definitions(spec, home), users())
    if job == "deploy":
        assert defs.resolve_job_def("demo__compile").execute_in_process().success
    if job in ("available", "cancel"):
        runtime.status = running(state="COMPLETED")
    result = defs.resolve_job_def(f"demo__{job}").execute_in_process()
    assert result.success
    assert not [event for event in result.all_events if event.event_type_value in ("HANDLED_OUTPUT", "LOADED_INPUT")]


def test_a_location_of_specs_has_no_executor_of_its_own(spec: Path, home: Home):
    assert dg.Definitions.merge(build_definitions(spec.parent, home), users()).executor is dg.multiprocess_executor


@pytest.mark.parametrize("form", [str, Path, Home, lambda path: StreamsResource(home=str(path)), None])
def test_a_home_has_many_forms(tmp_path: Path, spec: Path, form: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DEMO_HOME", str(tmp_path / "there"))
    place = dg.EnvVar("DEMO_HOME") if form is None else form(tmp_path / "there")
    defs = build_application_definitions(spec, place)
    assert defs.resolve_job_def("demo__compile").execute_in_process().success
    assert list((tmp_path / "there" / "artifacts" / "demo").glob("*.json"))
    again = build_application_definitions(spec, place, name="demo")
    assert again.resources == defs.resources
    assert all(again.resources[key] is each for key, each in (defs.resources or {}).items())  # pyright: ignore


def test_the_key_is_that_of_the_directory(tmp_path: Path, spec: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "usual"))
    monkeypatch.setenv("OTHER", str(tmp_path / "c"))
    places = [None, tmp_path / "usual", tmp_path / "a" / "orders", tmp_path / "b" / "orders", dg.EnvVar("OTHER")]
    keys = [next(iter(build_application_definitions(spec, place).resources or {})) for place in places]
    assert keys[:2] == ["streams", "streams"]
    assert len(set(keys)) == 4
    assert keys[4] == "streams_other"
    chosen = build_application_definitions(spec, tmp_path / "a", resource_key="mine")
    assert list(chosen.resources or {}) == ["mine"]
    assert chosen.resolve_job_def("demo__compile").execute_in_process().success


def test_a_variable_that_is_not_set_is_named(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for setting in ("home", "catalog"):
        monkeypatch.delenv("NOT_SET", raising=False)
        resource = StreamsResource(**{"home": str(tmp_path), setting: dg.EnvVar("NOT_SET")})
        with pytest.raises(VariableMissingError, match=f"{setting} of the resource: .*NOT_SET is not set"):
            build_application_definitions(spec, resource)


def test_settings_hold_for_their_directory_alone(tmp_path: Path, spec: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_CATALOG", "sqlite:////nowhere/catalog.db")
    monkeypatch.setenv("STREAMS_MASTER", "yarn")
    monkeypatch.setenv("DEMO_CATALOG", f"sqlite:///{tmp_path}/its.db")
    resource = StreamsResource(
        home=str(tmp_path / "home"), catalog=dg.EnvVar("DEMO_CATALOG"), storage=str(tmp_path / "mounted"),
        master="local", driver_memory="2g",
    )  # fmt: skip
    compilation = compile_spec(spec, Options())
    deploy_compiled(Catalog(resource.directory()), compilation, ContinueFromState())
    assert api.list_applications(Catalog(resource.directory())) == ("demo",)
    with sa.create_engine(f"sqlite:///{tmp_path}/its.db").connect() as connection:
        (settings,) = connection.execute(sa.text("select settings from application")).scalars()
    assert '"driver_memory": "2g"' in settings
    assert '"master": "local"' in settings
    home = resource.directory()
    assert home.store.address == str(tmp_path / "mounted")
    environment = host_environment(home)
    assert environment["STREAMS_CATALOG"] == f"sqlite:///{tmp_path}/its.db"
    assert environment["STREAMS_DRIVER_MEMORY"] == "2g"
    assert "its.db" not in repr(home), "it may have a password"
    assert resource_of(home).directory() == home
    assert read_catalog_url(Home(tmp_path / "other")).database == "/nowhere/catalog.db"


def test_a_setting_that_is_misspelt_is_refused():
    with pytest.raises(ValidationError, match="catalogue"):
        StreamsResource.model_validate({"catalogue": "sqlite:////there.db"})


def component(sandbox: Any, name: str, **attributes: object) -> None:
    """Write a component for an application of this name into a sandbox."""
    scaffolded(sandbox, name, DEMO.replace("application: demo", f"application: {name}"), **attributes)


def test_components_of_two_homes_share_a_location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECOND", str(tmp_path / "second"))
    monkeypatch.setenv("CATALOG", f"sqlite:///{tmp_path}/third.db")
    with create_defs_folder_sandbox() as sandbox:
        component(sandbox, "one", home=str(tmp_path / "first"))
        component(sandbox, "two", home="{{ env.SECOND }}")
        third = {"home": str(tmp_path / "third"), "catalog": "{{ env('CATALOG') }}", "master": "yarn"}
        component(sandbox, "three", resource=third, resource_key="third")
        component(sandbox, "four", resource=third, resource_key="third")
        with sandbox.build_all_defs() as built:
            defs = dg.Definitions.merge(built, users())
            dg.Definitions.validate_loadable(defs)
            resources = {key: each for key, each in (defs.resources or {}).items() if isinstance(each, StreamsResource)}
            assert {"streams_second", "third"} < resources.keys()
            assert isinstance(resources["third"].catalog, dg.EnvVar), "Dagster shows what is not a variable"
            assert resources["third"].directory().environment["STREAMS_MASTER"] == "yarn"
            for name, place in {"one": "first", "two": "second", "three": "third"}.items():
                assert defs.resolve_job_def(f"{name}__compile").execute_in_process().success
                assert (tmp_path / place / "artifacts" / name).is_dir()
            watching = [each for each in defs.sensors or () if each.name.startswith("failed_units")]
            reset = {each.name: {job.name for job in each.jobs} for each in watching}
            assert reset["failed_units_in_third"] == {"three__reset", "four__reset"}
            assert sorted(map(len, reset.values())) == [1, 1, 2]


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"home": "{{ env.NOT_SET }}"}, "home of the resource: the environment variable NOT_SET is not set"),
        ({"resource": {"home": "there", "catalog": "{{ env.NOT_SET }}"}}, "catalog of the resource"),
    ],
)
def test_a_component_whose_variable_is_not_set_shows_it_at_its_spec(attributes: dict[str, object], said: str):
    with create_defs_folder_sandbox() as sandbox:
        component(sandbox, "one", **attributes)
        with sandbox.build_all_defs() as defs:
            dg.Definitions.validate_loadable(defs)
            (spec,) = defs.resolve_all_asset_specs()
    assert said in (spec.description or "")


@pytest.mark.parametrize(
    "wrong", [{"home": "a", "resource": {"home": "b"}}, {"resource": {"catalogue": "sqlite:////a.db"}}]
)
def test_a_component_takes_one_place_with_known_settings(wrong: dict[str, object]):
    with create_defs_folder_sandbox() as sandbox:
        component(sandbox, "one", **wrong)
        error = loading(sandbox)
    assert "both given" in error or "catalogue" in error


TEMPLATES = """
import dagster as dg
from streams_orchestration.orchestration import StreamsResource

@dg.template_var
def ours() -> StreamsResource:
    return StreamsResource(home=dg.EnvVar("SECOND"))
"""
CODE = """
import dagster as dg
from streams_orchestration.orchestration import StreamsApplicationComponent, StreamsResource

@dg.component_instance
def load(context: dg.ComponentLoadContext) -> StreamsApplicationComponent:
    return StreamsApplicationComponent(spec="application.yaml", {attribute})
"""


@pytest.mark.parametrize(
    "form", ["template", 'home=dg.EnvVar("SECOND")', 'resource=StreamsResource(home=dg.EnvVar("SECOND"))']
)
def test_a_component_takes_a_resource_of_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str):
    monkeypatch.setenv("SECOND", str(tmp_path / "second"))
    with create_defs_folder_sandbox() as sandbox:
        component(sandbox, "one", resource="{{ ours }}")
        place = sandbox.defs_folder_path / "one"
        if form == "template":
            written = yaml.safe_load((place / "defs.yaml").read_text())
            (place / "defs.yaml").write_text(yaml.safe_dump(written | {"template_vars_module": ".templates"}))
            (place / "templates.py").write_text(TEMPLATES)
        else:
            (place / "defs.yaml").unlink()
            (place / "component.py").write_text(CODE.format(attribute=form))
        with sandbox.build_all_defs() as defs:
            assert list(defs.resources or {}) == ["streams_second"]
            assert defs.resolve_job_def("one__compile").execute_in_process().success


def test_an_application_that_cannot_be_built_can_be_cancelled(
    spec: Path, home: Home, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    def faulty(*_: object, **__: object) -> dg.Definitions:
        raise LookupError

    monkeypatch.setattr(application, "build_application_definitions", faulty)
    runtime.status = running(state="STOPPED")
    _, defs = application.built_alone(application.watched_specs([spec])["demo"], resource_of(home), "mine")
    assert defs.resolve_job_def("demo__cancel").execute_in_process().success
