"""An application as a Dagster component: `build_application_definitions` configured in YAML."""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import dagster as dg
from dagster.components.utils.translation import TranslationFn, TranslationFnResolver
from pydantic import Field, PrivateAttr, SkipValidation, model_validator

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.assignment_document import read_assignment
from streams_orchestration.model.containers import scalar_text
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic
from streams_orchestration.model.profile_document import read_profile
from streams_orchestration.orchestration.application import (
    DefinitionSettings,
    built_alone,
    described_as,
    known_lineage,
    own_sensors,
    watched_specs,
)
from streams_orchestration.orchestration.asset_keys import AssetKeys, change_specs
from streams_orchestration.orchestration.component_attributes import (
    Rescale,
    ResourceAttributes,
    StreamsApplicationScaffolder,
    beside_the_yaml,
    given_resource,
    text_or_variable,
)
from streams_orchestration.orchestration.connected_lineages import connection_of, links
from streams_orchestration.orchestration.decoupling import GAIN
from streams_orchestration.orchestration.jobs import reset_job
from streams_orchestration.orchestration.lineage_assets import external_assets
from streams_orchestration.orchestration.resource import StreamsResource, resource_of
from streams_orchestration.orchestration.schedules import check_times
from streams_orchestration.orchestration.sensors import SENSOR, WORKERS, failed_units_sensor
from streams_orchestration.orchestration.settings import CompileOptions, Width
from streams_orchestration.orchestration.spec_state import WatchedSpec, in_time, specs_sensor
from streams_orchestration.orchestration.stage_assets import ApplicationSource
from streams_orchestration.orchestration.yaml_schema import Checked
from streams_orchestration.runtime import api


@dg.scaffold_with(StreamsApplicationScaffolder)
class StreamsApplicationComponent(dg.Component, Checked, dg.Model):
    """The component of a streaming application: compiled in stages, run on Spark, reset when one of its parts fails.

    Example:
        ```yaml
        type: streams_orchestration.orchestration.StreamsApplicationComponent
        attributes:
          spec: application.yaml
          submission: {width: 4}
          redeploy: "0 3 * * *"
        ```
    """

    spec: Annotated[str, dg.Resolver(beside_the_yaml, model_field_type=str)] = Field(
        description="Path of the application's spec, from the directory of defs.yaml."
    )
    home: Annotated[
        SkipValidation[str | Path | None],
        dg.Resolver(text_or_variable, model_field_type=str, inject_before_resolve=False),
    ] = Field(default=None, description="State directory; by default the one that STREAMS_HOME names.")
    resource: Annotated[
        StreamsResource | None, dg.Resolver(given_resource, model_field_type=ResourceAttributes | str)
    ] = Field(
        default=None,
        description="State directory and settings of its own, in place of home; or a template variable with a "
        "StreamsResource. `{{ env.NAME }}` is read when it is needed, and not shown.",
    )
    resource_key: str | None = Field(
        default=None,
        description="Key of the resource; by default `streams`, or a name made from another directory's path.",
    )
    submission: dict[str, str | int | float | bool] = Field(default_factory=dict, description="Submission-time values.")
    widths: dict[str, int] = Field(default_factory=dict, description="Widths of parallel regions by name pattern.")
    fusion: Literal["default", "legacy", "manual", "automatic"] = Field(
        default="automatic", description="Scheme by which operators are fused into PEs."
    )
    pes: int | None = Field(default=None, description="Number of PEs to aim at.")
    pe_capacity: float | None = Field(default=None, description="Processors that a PE may keep busy, by the profile.")
    profile: str | None = Field(default=None, description="Path of a profile, from the directory of defs.yaml.")
    decoupling: str | None = Field(default=None, description="Path of a decision, from the directory of defs.yaml.")
    redeploy: str | None = Field(
        default=None, description="Cron expression of the redeploy schedule, which is off at first; nightly by default."
    )
    available: str | None = Field(
        default=None,
        description="Cron expression of the schedule of bounded runs, which is off at first; by default every quarter "
        "of an hour.",
    )
    measure: str | None = Field(
        default=None, description="Cron expression of the profile schedule, which is off at first; hourly by default."
    )
    translation: Annotated[
        TranslationFn[dg.AssetSpec] | None,
        TranslationFnResolver[dg.AssetSpec](template_vars_for_translation_fn=lambda spec: {"spec": spec}),
    ] = Field(default=None, description="Attributes of assets, such as key_prefix, group_name and owners.")
    timezone: str | None = Field(
        default=None, description="Time zone of the cron expressions, an IANA name; UTC by default."
    )
    strict: bool = Field(
        default=False, description="Let errors of the spec fail the load, and so `dg check defs`, not only its check."
    )
    gain: float = Field(
        default=GAIN, description="Least predicted gain at which the sensor, which is off at first, applies a decision."
    )
    rescale: Rescale = Field(default_factory=Rescale, description="Conditions on which APP__rescale changes a width.")

    _keys: AssetKeys = PrivateAttr(default_factory=AssetKeys)
    _description: tuple[str, str] | None = PrivateAttr(default=None)
    _known_exports: list[dg.AssetSpec] | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _one_place(self) -> StreamsApplicationComponent:
        if self.home is not None and self.resource is not None:
            message = "home and resource are both given: put the state directory into resource"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _times_of_schedules(self) -> StreamsApplicationComponent:
        check_times({"redeploy": self.redeploy, "available": self.available, "measure": self.measure}, self.timezone)
        return self

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """Return the description of the component in `dg list components`."""
        return dg.ComponentTypeSpec(
            description="A streaming application: compiled in stages, run on Spark, kept consistent.",
            tags=["streaming", "spark"],
        )

    def get_asset_spec(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        """Return an asset as `translation` changes it; a subclass may override this to change assets in code.

        Key, group, owners, tags, kinds, description and automation may change. References to an asset follow its key.
        """
        return spec if self.translation is None else self.translation(spec, spec)

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return all definitions of the application; the first application's include the sensors for all of them.

        There are none if an earlier spec describes an application of the same name; its definitions show the error.

        Raises:
            ApplicationError: the spec has errors, and `strict` is set; or the profile or decision cannot be read.
            SpecTimeoutError: with `strict`, the code of a spec in Python does not end in time.
            StateDirectoryError: the state directory cannot be used.
        """
        together = _components(context)
        alone = all(each is not self for each in together)
        directory = context.path if context.path.is_dir() else context.path.parent  # a component of code is in a file
        path = directory / self.spec
        watched = self._watched([path]) if alone else _watched_together(together)
        mine = next(spec for spec in watched.values() if path in spec.files)
        if len(mine.files) > 1 and mine.files[0] != path:
            return dg.Definitions()  # the first of the files that describe one application shows the error
        if self.strict:
            _require_valid(mine, self._options(directory))
        settings: DefinitionSettings = {
            "options": self._options(directory),
            "redeploy": self.redeploy,
            "profile": self.measure,
            "available": self.available,
            "timezone": self.timezone,
            "gain": self.gain,
            "rescale": self.rescale,
        }
        _, own = built_alone(mine, *self.place(), **settings, change=self.get_asset_spec)
        if links(own.assets or (), "imports"):
            connect = connection_of(_exports(together, watched))

            def connected(asset: dg.AssetSpec) -> dg.AssetSpec:
                return self.get_asset_spec(connect(asset))

            _, own = built_alone(mine, *self.place(), **settings, change=connected)
        if alone:
            return dg.Definitions.merge(own, dg.Definitions(sensors=own_sensors(mine, self.place()[1])))
        if together[0] is not self:
            return own
        sensors = [*_reset_sensors(together, watched), specs_sensor(watched)]
        resources = {key: resource for resource, key in map(StreamsApplicationComponent.place, together)}
        return dg.Definitions.merge(own, dg.Definitions(sensors=sensors, resources=resources))

    @property
    def asset_keys(self) -> AssetKeys:
        """The keys that `get_asset_spec` gives the application's assets; the shared sensors read them."""
        return self._keys

    def described_as(self, file: Path) -> tuple[str, str]:
        """Return the application's name and the problem with reading its spec, as the function `described_as` does.

        The first answer is kept, so every call has to pass the component's own spec.
        """
        if self._description is None:
            self._description = described_as(file)
        return self._description

    def _watched(self, files: Sequence[Path]) -> dict[str, WatchedSpec]:
        return {name: replace(spec, keys=self._keys) for name, spec in watched_specs(files).items()}

    def place(self) -> tuple[StreamsResource, str]:
        """Return the resource with the state directory, and the resource's key.

        Raises StateDirectoryError if a file is where the usual directory is, or would be.
        """
        resource = resource_of(self.home if self.resource is None else self.resource)
        return resource, self.resource_key or resource.key()

    def exports(self, spec: WatchedSpec) -> list[dg.AssetSpec]:
        """Return the assets of the application's Exports, on which Imports of other components may depend.

        The first answer is kept. There are none if the application cannot be built. Raises
        ApplicationError if a file of an option cannot be read, and StateDirectoryError if a file is in the place of the
        usual directory.
        """
        if self._known_exports is None:
            resource, key = self.place()
            try:
                source = ApplicationSource(spec.application, spec.files[0], self._options(None), key)
                lineage = in_time(source.spec, lambda: known_lineage(source, resource.artifacts))
                self._known_exports = links(
                    change_specs(spec.application, self.get_asset_spec, external_assets(lineage)).values(), "exports"
                )
            except api.StreamsRuntimeError:  # the application's own spec asset shows the error
                self._known_exports = []
        return self._known_exports

    def _options(self, directory: Path | None) -> Options:
        """Return the compiler's options.

        The paths of the profile and of the decoupling decision begin at `directory`. If it is None, these two are left
        out; the Exports of the application do not depend on them.
        """
        chosen = CompileOptions(
            submission={name: scalar_text(value) for name, value in self.submission.items()},
            widths=[Width(pattern=pattern, width=width) for pattern, width in self.widths.items()],
            fusion=self.fusion,
            pes=self.pes,
            pe_capacity=self.pe_capacity,
        )
        defaults = Options(
            profile=read_profile(directory / self.profile) if directory and self.profile else None,
            decoupling=read_assignment(directory / self.decoupling) if directory and self.decoupling else None,
        )
        return chosen.options(defaults)


def _require_valid(spec: WatchedSpec, options: Options) -> None:
    """Raise ApplicationError if the application cannot run here, or its spec has a problem, such as a shared name."""
    if spec.problem:
        raise ApplicationError([Diagnostic.of("SO0011", spec.problem)])
    # loads the code of operators, which showing assets does without
    from streams_orchestration.compiler.checking.deployable import deployable

    file = spec.files[0]
    in_time(file, lambda: deployable(compile_spec(file, options)))


def _components(context: dg.ComponentLoadContext) -> list[StreamsApplicationComponent]:
    """Return the components of the code location that share sensors, always in the same order.

    A component that is built in code with a relative path of its spec is left out, since only it knows the base.
    """
    components = context.component_tree.get_all_components(StreamsApplicationComponent)
    return [each for each in components if Path(each.spec).is_absolute()]


def _watched_together(components: Sequence[StreamsApplicationComponent]) -> dict[str, WatchedSpec]:
    """Return application -> its spec, with the keys of the component that builds it."""
    keys = {Path(each.spec): each.asset_keys for each in reversed(components)}
    describe = {Path(each.spec): each.described_as for each in components}
    watched = watched_specs(describe, lambda file: describe[file](file))
    return {name: replace(spec, keys=keys[spec.files[0]]) for name, spec in watched.items()}


def _exports(
    components: Sequence[StreamsApplicationComponent], watched: Mapping[str, WatchedSpec]
) -> list[dg.AssetSpec]:
    """Return the assets of the Exports of all components whose applications can be built."""
    described = {spec.files[0]: spec for spec in watched.values() if not spec.problem}
    specs = [(each, described.get(Path(each.spec))) for each in components]
    return [export for each, spec in specs if spec is not None for export in each.exports(spec)]


def _reset_sensors(
    components: Sequence[StreamsApplicationComponent], watched: Mapping[str, WatchedSpec]
) -> Iterator[dg.SensorDefinition]:
    """Yield the sensors that reset failed units: one for each state directory."""
    keys = {Path(each.spec): each.place()[1] for each in components}
    applications: dict[str, list[str]] = {}
    for name, spec in watched.items():
        applications.setdefault(keys[spec.files[0]], []).append(name)
    for key, names in applications.items():
        yield failed_units_sensor(
            {name: reset_job(name, key, watched[name].keys) for name in names},
            {name: watched[name].keys for name in names},
            name=SENSOR if len(applications) == 1 else f"{SENSOR}_in_{key}",
            shared=len(applications) > WORKERS,
            key=key,
        )
