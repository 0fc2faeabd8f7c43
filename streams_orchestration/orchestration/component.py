"""An application as a Dagster component: the YAML face of `build_application_definitions`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import dagster as dg
from pydantic import Field

from streams_orchestration.compiler.options import Options
from streams_orchestration.model.assignment_document import read_assignment
from streams_orchestration.model.profile_document import read_profile
from streams_orchestration.orchestration.application import (
    HOURLY,
    NIGHTLY,
    QUARTERLY,
    application_name,
    build_application_definitions,
)
from streams_orchestration.orchestration.decoupling import GAIN
from streams_orchestration.orchestration.jobs import reset_job
from streams_orchestration.orchestration.region_widths import Rescaling
from streams_orchestration.orchestration.sensors import failed_units_sensor
from streams_orchestration.orchestration.settings import CompileOptions
from streams_orchestration.runtime.storage.home import Home

EXAMPLE = """\
specVersion: 1
application: {name}
graph:
  - name: Numbers
    operator: Beacon
    parameters: {{iterations: 1000}}
    outputs: [{{stream: Numbers, schema: "n bigint"}}]
  - name: Results
    operator: FileSink
    inputs: [Numbers]
    parameters: {{file: numbers.csv, format: csv}}
"""


class StreamsApplicationScaffolder(dg.Scaffolder[Any]):
    """Writes `defs.yaml` and a small application beside it."""

    def scaffold(self, request: dg.ScaffoldRequest[Any]) -> None:
        """See `dg scaffold defs`."""
        dg.scaffold_component(request, {"spec": "application.yaml"})
        name = request.target_path.name.replace("-", "_")
        (request.target_path / "application.yaml").write_text(EXAMPLE.format(name=name))


def _beside_the_yaml(context: dg.ResolutionContext, spec: str) -> str:
    return str(context.resolve_source_relative_path(context.resolve_value(spec, as_type=str)))


@dg.scaffold_with(StreamsApplicationScaffolder)
class StreamsApplicationComponent(dg.Component, dg.Model, dg.Resolvable):
    """Compiles a streaming application, runs it on Spark, and resets what fails.

    Example:
        ```yaml
        type: streams_orchestration.orchestration.StreamsApplicationComponent
        attributes:
          spec: application.yaml
          submission: {width: 4}
          redeploy: "0 3 * * *"
        ```
    """

    spec: Annotated[str, dg.Resolver(_beside_the_yaml, model_field_type=str)] = Field(
        description="Path of the application's spec, from the directory of defs.yaml."
    )
    home: str | None = Field(default=None, description="State directory; by default the one that STREAMS_HOME names.")
    submission: dict[str, str | int | float | bool] = Field(default_factory=dict, description="Submission-time values.")
    widths: dict[str, int] = Field(default_factory=dict, description="Widths of parallel regions by name pattern.")
    fusion: str = Field(default="automatic", description="legacy, manual or automatic.")
    pes: int | None = Field(default=None, description="Number of PEs to aim at.")
    pe_capacity: float | None = Field(default=None, description="Processors that a PE may keep busy, by the profile.")
    profile: str | None = Field(default=None, description="Path of a profile, as for --profile, from the same place.")
    decoupling: str | None = Field(default=None, description="Path of a decision, as for --decoupling.")
    redeploy: str = Field(default=NIGHTLY, description="Cron expression of the redeploy schedule, which starts off.")

    available: str = Field(
        default=QUARTERLY, description="Cron expression of the schedule that takes what is there, which starts off."
    )
    measure: str = Field(default=HOURLY, description="Cron expression of the profile schedule, which starts off.")
    gain: float = Field(
        default=GAIN, description="Predicted speed-up from which the sensor, which starts off, applies a decision."
    )
    rescale: dict[str, float] = Field(
        default_factory=dict,
        description="When the sensor rescale_of_... changes a width: target, low, least, most, pause.",
    )

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """Return the description of the component in `dg list components`."""
        return dg.ComponentTypeSpec(
            description="A streaming application: compiled in stages, run on Spark, kept consistent.",
            tags=["streaming", "spark"],
        )

    def get_asset_spec(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        """Override to change an asset's group, owners, tags or automation; the key must stay."""
        return spec

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return all definitions of the application; the first application's include the sensor for all of them."""
        together = _components(context)
        alone = all(each is not self for each in together)  # it was made by code, not by a defs.yaml
        own = build_application_definitions(
            context.path / self.spec,
            Home(Path(self.home).absolute()) if self.home else None,
            options=self._options(context.path),
            redeploy=self.redeploy,
            profile=self.measure,
            available=self.available,
            gain=self.gain,
            rescale=Rescaling.model_validate(self.rescale),
            change=self.get_asset_spec,
            watched=alone,
        )
        if alone or together[0] is not self:
            return own
        names = [application_name(Path(each.spec)) for each in together]
        sensor = failed_units_sensor({name: reset_job(name) for name in names})
        return dg.Definitions.merge(own, dg.Definitions(sensors=[sensor]))

    def _options(self, directory: Path) -> Options:
        config: dict[str, Any] = {
            "submission": {name: _text(value) for name, value in self.submission.items()},
            "widths": [{"pattern": pattern, "width": width} for pattern, width in self.widths.items()],
            "fusion": self.fusion,
            "pes": self.pes,
            "pe_capacity": self.pe_capacity,
        }
        defaults = Options(
            profile=read_profile(directory / self.profile) if self.profile else None,
            decoupling=read_assignment(directory / self.decoupling) if self.decoupling else None,
        )
        return CompileOptions(**config).options(defaults)


def _components(context: dg.ComponentLoadContext) -> list[StreamsApplicationComponent]:
    """Return all applications that a defs.yaml of this code location describes, always in the same order."""
    return context.component_tree.get_all_components(StreamsApplicationComponent)


def _text(value: str | float) -> str:
    """A value as it is written on a command line; YAML has made a number or a boolean of it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
