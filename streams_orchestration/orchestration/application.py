"""All Dagster definitions of one application."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack

import dagster as dg
import networkx as nx

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.compiling import compile_without_plan
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.compiler.stage import DEPLOYMENT
from streams_orchestration.compiler.stages import STAGES
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.python_file import file_of
from streams_orchestration.orchestration.artifacts import SPEC, ArtifactStore, StageMissingError
from streams_orchestration.orchestration.asset_keys import (
    KEYS,
    AssetKeys,
    SpecChange,
    change_specs,
    other_keys,
    unchanged,
)
from streams_orchestration.orchestration.decoupling import GAIN, gain_sensor
from streams_orchestration.orchestration.definition_names import sensor_name
from streams_orchestration.orchestration.deployment_asset import deployment_asset, spec_asset
from streams_orchestration.orchestration.deployment_checks import deployment_checks
from streams_orchestration.orchestration.jobs import (
    available_job,
    cancel_job,
    compile_job,
    decouple_job,
    deploy_job,
    redeploy_job,
    reset_job,
)
from streams_orchestration.orchestration.lineage_assets import external_assets
from streams_orchestration.orchestration.profiling import profile_job, profiling_specs
from streams_orchestration.orchestration.region_widths import Rescaling
from streams_orchestration.orchestration.rescale_sensor import rescale_sensor
from streams_orchestration.orchestration.resource import HomeLike, StreamsResource, resource_of
from streams_orchestration.orchestration.schedules import (
    available_schedule,
    hourly,
    nightly,
    profile_schedule,
    quarterly,
    redeploy_schedule,
)
from streams_orchestration.orchestration.sensors import own_sensor
from streams_orchestration.orchestration.spec_state import (
    SpecTimeoutError,
    WatchedSpec,
    faulty_definitions,
    in_time,
    spec_check,
    specs_sensor,
)
from streams_orchestration.orchestration.stage_assets import ApplicationSource, stage_asset, stage_spec
from streams_orchestration.orchestration.state_check import state_check
from streams_orchestration.orchestration.summaries import pictures
from streams_orchestration.runtime import api

logger = logging.getLogger(__name__)


class DefinitionSettings(TypedDict, total=False):
    """The settings of `build_application_definitions` that are in the YAML of a component."""

    options: Options | None
    redeploy: str | None
    profile: str | None
    available: str | None
    timezone: str | None
    gain: float
    rescale: Rescaling | None


def build_application_definitions(  # noqa: PLR0913 - each is a setting of its own
    spec: str | Path,
    home: HomeLike = None,
    *,
    resource_key: str | None = None,
    name: str | None = None,
    options: Options | None = None,
    redeploy: str | None = None,
    profile: str | None = None,
    available: str | None = None,
    timezone: str | None = None,
    gain: float = GAIN,
    rescale: Rescaling | None = None,
    change: SpecChange = unchanged,
    watched: bool = True,
    keys: AssetKeys | None = None,
) -> dg.Definitions:
    """Return the assets, jobs, sensors and schedules of the application that a spec describes.

    Asset keys that `change` has changed are stored in the state directory, for commands.

    A spec with errors gives definitions too; its first stage fails with the diagnostics when it is materialized. All
    schedules, and the sensors that apply decisions and change widths, are off until someone starts them.

    Args:
        spec: the path of the spec.
        home: the state directory, or a `StreamsResource` with one and its settings; by default the directory that
            STREAMS_HOME names.
        resource_key: the key of the resource; by default `streams`, or a name made from another directory's path.
        name: the name of the application; by default the one in its spec.
        options: the compiler's options, which a run may change.
        redeploy: the cron expression of the redeploy schedule; nightly by default.
        profile: the cron expression of the profile schedule; hourly by default.
        available: the cron expression of the schedule of bounded runs, which process the data that is available and
            stop; every quarter of an hour by default.
        timezone: the time zone of the cron expressions, an IANA name; UTC by default.
        gain: the least predicted gain at which the sensor applies a decoupling decision.
        rescale: the conditions on which the sensor changes the width of a parallel region.
        change: a function that may change the key, group, owners or tags of an asset's Dagster spec. Jobs, checks,
            sensors and dependencies follow a changed key.
        watched: True to add the sensors that reset failed units and observe the spec; False if one
            `failed_units_sensor` and one `specs_sensor` serve many applications.
        keys: an object that receives the keys of the assets, for those shared sensors.

    Raises:
        SpecTimeoutError: the code of a spec in Python does not end in time.
        VariableMissingError: a setting of the resource is a variable that is not set.
        StateDirectoryError: a file is where the state directory is, or would be.
        SharedKeyError: `change` gives two assets the same key.
        OSError: the spec is a file that cannot be read.
    """
    resource, path = resource_of(home), Path(spec).absolute()
    key = resource_key or resource.key()
    source = ApplicationSource(name or application_name(path), path, options or Options(), key)
    store = resource.artifacts
    keys = AssetKeys() if keys is None else keys
    watched_spec = WatchedSpec(source.name, (path,), keys=keys)
    lineage = in_time(path, lambda: known_lineage(source, store))
    compiling = [stage_spec(source, stage, lineage.nodes[stage.name]["description"]) for stage in STAGES]
    specs = change_specs(source.name, change, [*compiling, *external_assets(lineage), *profiling_specs(source)])
    others = other_keys(source.name, specs)
    keys.use(source.name, others)
    _keep_keys(store, source.name, others)
    stages = [stage_asset(source, stage, specs.pop(stage.name)) for stage in STAGES]
    compiled = [each for stage in stages for each in stage.keys]
    deployed = keys.of(source.name, "deployment")
    measuring = profile_job(source.name, key, keys)
    return dg.Definitions(
        assets=[
            spec_asset(watched_spec, specs.pop(SPEC)),
            *stages,
            deployment_asset(source, specs.pop("deployment"), keys),
            *specs.values(),
        ],
        asset_checks=[
            spec_check(watched_spec),
            deployment_checks(source.name, key, keys),
            state_check(source, keys),
        ],
        jobs=[
            compile_job(source.name, compiled),
            deploy_job(source.name, deployed),
            redeploy_job(source.name, [*compiled, deployed]),
            available_job(source.name, [*compiled, deployed]),
            decouple_job(source.name, [*compiled, deployed]),
            cancel_job(source.name, key, keys),
            measuring,
        ],
        sensors=[
            *(own_sensors(watched_spec, key) if watched else []),
            gain_sensor(source.name, gain, key, keys),
            rescale_sensor(source.name, rescale or Rescaling(), key),
        ],
        schedules=[
            redeploy_schedule(source, redeploy or nightly(source.name), timezone),
            available_schedule(source.name, available or quarterly(source.name), timezone, key),
            profile_schedule(source.name, measuring, profile or hourly(source.name), timezone, key),
        ],
        resources={key: resource},
    )


def _keep_keys(store: ArtifactStore, application: str, keys: dict[str, list[str]]) -> None:
    """Store the keys that differ from the application's own, for commands, which build no definitions.

    Log a warning if they cannot be stored.
    """
    try:
        if (store.get(application, KEYS) or {}) != keys:
            store.put(application, KEYS, keys)
    except (OSError, api.StreamsRuntimeError) as error:
        logger.warning("%s: commands record its assets under their default keys: %s", application, error)


def described_as(file: Path) -> tuple[str, str]:
    """Return the name of a spec's application, and the problem if its code does not end in time, else an empty text.

    With a problem, the name is made from the file's name.
    """
    try:
        return application_name(file), ""
    except SpecTimeoutError as error:
        return name_of_file(file), str(error)


def watched_specs(
    files: Iterable[Path], describe: Callable[[Path], tuple[str, str]] = described_as
) -> dict[str, WatchedSpec]:
    """Return application -> its spec, with a problem if its name cannot be read or several files have that name.

    `describe` returns the application's name in a file, and the problem with reading it.
    """
    described: dict[str, list[Path]] = {}
    problems: dict[str, str] = {}
    for file in files:
        name, problem = describe(file)
        if problem:
            problems[name] = problem
        described.setdefault(name, []).append(file)
    for name, paths in described.items():
        if len(paths) > 1:
            problems[name] = (
                f"{' and '.join(map(str, paths))} describe applications of this name: give all but one of them "
                "another name (`application:`), or move them to another directory"
            )
    return {name: WatchedSpec(name, tuple(paths), problems.get(name, "")) for name, paths in described.items()}


def built_alone(
    spec: WatchedSpec,
    resource: StreamsResource,
    resource_key: str,
    *,
    change: SpecChange = unchanged,
    **settings: Unpack[DefinitionSettings],
) -> tuple[WatchedSpec, dg.Definitions]:
    """Return an application's spec and definitions.

    A spec that has a problem is not built, and nothing is logged. If the definitions cannot be built, the error is
    logged, and the returned spec has the problem. In both cases the definitions show the problem, and have the job that
    cancels the application. `change` and `settings` are arguments of `build_application_definitions`.
    """
    if not spec.problem:
        try:
            file, name = spec.files[0], spec.application
            return spec, build_application_definitions(
                file,
                resource,
                resource_key=resource_key,
                name=name,
                change=change,
                watched=False,
                keys=spec.keys,
                **settings,
            )
        except Exception as error:  # whatever it is, it must not take the other applications down
            logger.exception("%s cannot be built", spec.application)
            known = isinstance(error, api.StreamsRuntimeError)
            spec = replace(spec, problem=str(error) if known else f"{type(error).__name__}: {error}")
    cancel = cancel_job(spec.application, resource_key, spec.keys)
    faulty = faulty_definitions(spec, [cancel], change)
    return spec, dg.Definitions.merge(faulty, dg.Definitions(resources={resource_key: resource}))


def own_sensors(spec: WatchedSpec, key: str) -> list[dg.SensorDefinition]:
    """Return the sensors that serve one application only: one resets failed units, the other observes the spec."""
    name = spec.application
    reset = reset_job(name, key, spec.keys)
    return [own_sensor(name, reset, key, spec.keys), specs_sensor({name: spec}, sensor_name(name, "specs"))]


def application_name(spec: Path) -> str:
    """Return the name of the application in its spec, or else a name made from the file's name.

    The name `application` counts as none.

    Raises:
        SpecTimeoutError: the code of a spec in Python does not end in time.
    """
    application = in_time(spec, lambda: read_application(spec)).application
    # A broken spec without a name is read with the name `application`.
    if application is not None and application.application != "application":
        return application.application
    return name_of_file(spec)


def name_of_file(spec: Path) -> str:
    """Return a name for an application, made from the name of its spec file.

    For `application.yaml`, the name that `dg scaffold` gives every spec, it is made from the directory's name. A
    character that a name may not have becomes `_`.
    """
    file = file_of(spec)
    name = file.parent.name if file.stem == "application" else file.stem
    return re.sub(r"\W", "_", name, flags=re.ASCII) or "application"


def known_lineage(source: ApplicationSource, store: ArtifactStore) -> nx.DiGraph[str]:
    """Return the lineage of the deployed plan, else of the last compiled one, else of the spec as it compiles now.

    If the spec does not compile either, or the compiler fails, which is logged, the lineage has the stages only. The
    descriptions of the stages and of the deployment contain a picture if the application is small enough.
    """
    try:
        compilation = api.read_compilation_if_readable(api.Catalog(store.home), source.name) or _known_compilation(
            source, store
        )
        known = compilation.logical.application == source.name
        graph = api.build_lineage_graph(compilation) if known else api.build_stage_lineage(source.name)
        drawn = pictures(compilation) if known else {}
        for name, picture in drawn.items():
            graph.nodes[name]["description"] += f"\n\n{picture}"
        if DEPLOYMENT in drawn:
            graph.nodes["deployment"]["description"] += f"\n\n{drawn[DEPLOYMENT]}"
    except ApplicationError:
        graph = api.build_stage_lineage(source.name)
    except Exception:
        # A fault in the compiler must not take the code location down, and with it every other application.
        logger.exception("%s: lineage could not be worked out", source.spec)
        graph = api.build_stage_lineage(source.name)
    graph.nodes["spec"]["location"] = str(source.spec)
    return graph


def _known_compilation(source: ApplicationSource, store: ArtifactStore) -> Compilation:
    try:
        return store.compilation(source.name)
    except (api.StreamsRuntimeError, ApplicationError):
        pass
    try:
        options = store.options(source.name)
    except StageMissingError:
        options = source.defaults
    return compile_without_plan(
        read_application(source.spec), options
    )  # no code of the user runs where assets are defined
